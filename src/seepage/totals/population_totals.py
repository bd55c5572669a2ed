"""`exact` totals for the people behind a table, from a sample of them.

They hold with a confidence, for all attributes at once, if the records are drawn from these people
at random, one per person [theory-population].  Which limit is used is decided before looking, by
the sizes of attributes and the mechanisms alone:

* GRR-like reports with one contrast: KL_inf on the numbers of differences;
* any other reports: KL_inf on all combinations of answers where they are few, else kl on the range
  of each report's likelihoods.

A declared value that never occurred counts with every distribution.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from seepage._numerics import Floats, round_up, rounding
from seepage._results import Progress
from seepage.data.records import Records
from seepage.leakage.deviations import (
    GUARD,
    Limits,
    kl_inf_limits,
    kl_lower,
    kl_upper,
    mixture_radius,
)
from seepage.totals.report_columns import ReportColumns, TwoLevelColumns
from seepage.totals.report_limits import FORM_ROUNDS, counts_by_difference, difference_weights
from seepage.totals.result import GuaranteeError

SCOPES = ("table", "population")
"""Whom totals hold for: the people in the table, or those whom it was drawn from."""

MOST_CELLS = 1 << 24
"""The most (target value, report tuple) combinations of one target."""

MOST_ATOMS = 1 << 22
"""Combinations of report, target value and answers up to which KL_inf is used in general."""

BLOCK = 1 << 16
"""Reports whose limits are computed at once."""


class _Target(NamedTuple):
    """One target: its place, the other attributes' columns, reports and combinations of answers."""

    place: int
    sources: list[int]
    reports: int
    cells: int


def _targets(columns: Sequence[ReportColumns]) -> list[_Target]:
    found = []
    for place in range(len(columns)):
        sources = [k for k in range(len(columns)) if k != place and columns[k].k > 1]
        reports = math.prod(columns[k].count for k in sources)
        found.append(_Target(place, sources, reports, math.prod(columns[k].k for k in sources)))
    return found


def _table_cells(columns: Sequence[ReportColumns]) -> int:
    return max(max(t.reports, t.cells) * columns[t.place].k for t in _targets(columns))


def population_fits(columns: Sequence[ReportColumns]) -> bool:
    """Return whether `exact` totals for people can be computed."""
    return _table_cells(columns) <= MOST_CELLS


def exact_population_totals(
    data: Records,
    columns: Sequence[ReportColumns],
    confidence: float,
    progress: Progress | None = None,
) -> Floats:
    """Return upper limits of the exact total of every attribute, for people.

    Parameters
    ----------
    data
        The records, a random sample of the people.
    columns
        What each attribute's report can say.
    confidence
        Of all totals together.
    progress
        Called with the targets done and in all.

    Notes
    -----
    c = ln(N / beta) with N = 2 sum over targets of values times report tuples of the others.  The
    target's own report is independent of the others' given the target, so its best log-ratio
    between x and x' is added.  O(s^2) passes over the report tuples of each target.
    """
    size = _table_cells(columns)
    if size > MOST_CELLS:
        raise GuaranteeError(
            f"exact totals for the population need {size:.3g} combinations of reports, at most "
            f"{MOST_CELLS:.3g} fit; choose fewer attributes, or guarantee 'merged' or 'worst'"
        )
    targets = _targets(columns)
    number = 2 * sum(columns[target.place].k * target.reports for target in targets)
    c = math.log(max(number, 1)) - math.log1p(-confidence)
    totals = np.zeros(len(columns))
    for target in targets:
        totals[target.place] = _exact_total(data, columns, target, c)
        if progress is not None:
            progress(target.place + 1, len(columns))
    return totals


def _exact_total(
    data: Records, columns: Sequence[ReportColumns], target: _Target, c: float
) -> float:
    column = columns[target.place]
    own = column.own()
    best = float(own.max())
    if column.k < 2 or not target.sources:
        return best
    counts = data.counts((*target.sources, target.place)).reshape(-1, column.k)
    for limits in _likelihood_limits(columns, target, counts.astype(np.float64), c):
        with np.errstate(divide="ignore"):
            upper, lower = np.log(limits.upper), np.log(limits.lower)
        for x, other in permutations(range(column.k), 2):
            ratio = float((upper[:, x] - lower[:, other]).max())
            best = max(best, ratio + float(own[x, other]))
    sizes = [columns[k].k for k in target.sources]
    return round_up(best, 16) + rounding([*sizes, column.k])


def _likelihood_limits(
    columns: Sequence[ReportColumns], target: _Target, counts: Floats, c: float
) -> Iterator[Limits]:
    """Yield limits of the likelihood of every report tuple under every value, block by block."""
    sources = [columns[k] for k in target.sources]
    people = counts.sum(axis=0)
    contrast = _one_contrast(sources)
    if contrast is not None:
        table = counts_by_difference(counts, [source.k for source in sources])
        levels = difference_weights(np.full(len(sources), contrast), each=False)
        for begin in range(0, target.reports, BLOCK):
            block = np.moveaxis(table[:, begin : begin + BLOCK], 0, -1)
            shares = block / np.maximum(people, 1.0)[:, None]
            radius = mixture_radius(people, c)
            yield kl_inf_limits(levels, shares, radius, levels[-1], levels[0], FORM_ROUNDS)
        return
    matrices = [source.matrix().astype(np.float64) for source in sources]
    if target.reports * target.cells * len(people) <= MOST_ATOMS:
        yield _by_answers(matrices, counts, people, c)
    else:
        yield _by_range(matrices, counts, people, c)


def _one_contrast(sources: Sequence[ReportColumns]) -> float | None:
    """Return the contrast of GRR-like reports that all have the same one, else None."""
    contrasts = {
        source.contrast
        if isinstance(source, TwoLevelColumns)
        and (source.sets.kind == "singletons" or source.k == source.count == 2)
        else None
        for source in sources
    }
    contrast = contrasts.pop() if len(contrasts) == 1 else None
    return None if contrast == math.inf else contrast


def _by_answers(matrices: list[Floats], counts: Floats, people: Floats, c: float) -> Limits:
    """Return KL_inf limits from the distribution over all combinations of answers."""
    weights: Floats = np.ones((1, 1))
    for matrix in matrices:
        weights = np.asarray(np.kron(weights, matrix), dtype=np.float64)
    shares = counts / np.maximum(people, 1.0)
    least, most = (part[:, None] for part in (weights.min(axis=0), weights.max(axis=0)))
    return kl_inf_limits(
        weights.T[:, None, :], shares.T[None], mixture_radius(people, c), least, most, FORM_ROUNDS
    )


def _by_range(matrices: list[Floats], counts: Floats, people: Floats, c: float) -> Limits:
    """Return kl limits from the mean and the range of each report's likelihood."""
    means, least, most = counts / np.maximum(people, 1.0), np.ones(1), np.ones(1)
    done = 1
    for matrix in matrices:
        means = matrix.T @ means.reshape(done, len(matrix), -1)
        done *= matrix.shape[1]
        least = np.multiply.outer(least, matrix.min(axis=0)).reshape(-1)
        most = np.multiply.outer(most, matrix.max(axis=0)).reshape(-1)
    low, width = least[:, None], (most - least)[:, None]
    scaled = np.divide(
        means.reshape(done, -1) - low, width, out=np.zeros((done, len(people))), where=width > 0
    )
    scaled, radius = np.clip(scaled, 0.0, 1.0), c / np.maximum(people, 0.5)
    seen = people > 0
    upper = np.where(seen, kl_upper(scaled, radius, 4), 1.0)
    lower = np.where(seen, kl_lower(scaled, radius, 4), 0.0)
    return Limits((low + width * lower) * (1 - GUARD), (low + width * upper) * (1 + GUARD))
