"""Totals of a form whose answers are one report: exact, in integers."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Integers
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.errors import InputError
from seepage.mechanisms.exact_math import log_above
from seepage.mechanisms.randomness import exact_cells
from seepage.plan.form import MatrixChannel

BY_MATRIX = ("exact", "worst")
"""The guarantees that the totals of a matrix can rest on."""


def matrix_totals(
    channel: MatrixChannel,
    guarantee: str,
    known: PairCounts | Records,
    public: Sequence[str] = (),
) -> list[float]:
    """Return what the one report of a matrix tells about every attribute, asked or not.

    ln max over y, x, x' of P(y | x) / P(y | x'), P(y | x) = sum_z n[x, z] T[z, y] / (n_x 2^64),
    with n the counts of target value x and cell z of the answers, T the thresholds.

    Parameters
    ----------
    channel
        The channel.
    guarantee
        `"exact"`: as above, in integers, rounded up; `"worst"`: the epsilon of the matrix, for
        any distribution.
    known
        Records; pair counts suffice for `"worst"`.
    public
        Attributes that the adversary sees besides the report.

    Notes
    -----
    O(k cells outputs) integer products for a target with k values.
    """
    if guarantee not in BY_MATRIX:
        raise InputError(
            f"the totals of a matrix form rest on {' or '.join(BY_MATRIX)}, got {guarantee!r}"
        )
    if guarantee == "worst":
        if public:
            raise InputError("totals by 'worst' do not count public attributes; use 'exact'")
        return [channel.epsilon] * len(known.domain)
    if not isinstance(known, Records):
        raise InputError("the exact totals of a matrix need records, got pair counts")
    codes = [known.column(name).astype(np.int64) for name in channel.attributes]
    sizes = [known.domain[name].size for name in channel.attributes]
    cells = np.ravel_multi_index(codes, sizes)
    seen = known.groups(public)
    thresholds = exact_cells(int, channel.made.thresholds)
    return [
        math.inf
        if name in public and np.count_nonzero(known.marginal(name)) > 1
        else _total(known, name, cells, seen, thresholds)
        for name in known.domain.names
    ]


def _total(
    known: Records, target: str, cells: Integers, seen: Integers, thresholds: NDArray[np.object_]
) -> float:
    """Return the total of one target; `seen` numbers what is public of each record."""
    values, groups = known.column(target).astype(np.int64), int(seen.max(initial=-1)) + 1
    shape = (known.domain[target].size, groups, len(thresholds))
    index = np.ravel_multi_index((values, seen, cells), shape)
    counts = np.bincount(index, known.weights, minlength=math.prod(shape)).astype(np.int64)
    occurring = np.flatnonzero(people := known.marginal(target))
    tables = exact_cells(int, counts.reshape(shape)[occurring])
    chances = (tables @ thresholds).reshape(len(occurring), -1)
    people = exact_cells(int, people[occurring])
    ratio = Fraction(1)
    for column in chances.T:
        likely = [Fraction(chance, count) for chance, count in zip(column, people, strict=True)]
        if max(likely) > 0:
            if not min(likely):
                return math.inf
            ratio = max(ratio, max(likely) / min(likely))
    return log_above(ratio)
