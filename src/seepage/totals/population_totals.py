"""Upper limits of `exact` totals for the population from which the records were drawn.

As for a form (`form_total_limits`): the likelihood of a report tuple y of all sources under the
target value x is a mean over the people with x, which has an upper and a lower limit, each wrong
with probability at most e^-c; T <= ln max over y, x != x' of upper_x(y) / lower_x'(y)
[theory-population].  Which limit is used depends on the sizes of attributes and on mechanisms
alone, never on the counts:

* GRR-like reports of one contrast: KL_inf on the counts of people by number of differences;
* any other reports: KL_inf on all combinations of answers where they are few, else kl on the range
  of each report's likelihoods.

A declared value that never occurred may have any distribution of the other attributes.
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
from seepage.totals.form_total_limits import (
    NEWTON_ITERATIONS,
    counts_by_difference,
    difference_weights,
)
from seepage.totals.likelihood_columns import LikelihoodColumns, TwoLevelColumns
from seepage.totals.result import GuaranteeError

MAX_CELLS = 1 << 24
"""Maximum number of (target value, report tuple) cells of one target."""

MAX_ATOMS = 1 << 22
"""Maximum number of (report, target value, answers) cells for KL_inf on combinations of answers."""

BLOCK = 1 << 16
"""Report tuples whose limits are computed in one call."""


class _Target(NamedTuple):
    """A target and its sources, by index, with the size of their joint channel.

    `reports` counts the sources' report tuples, `cells` the combinations of their values.
    """

    attribute: int
    sources: list[int]
    reports: int
    cells: int


def _targets(columns: Sequence[LikelihoodColumns]) -> list[_Target]:
    targets = []
    for index in range(len(columns)):
        sources = [k for k in range(len(columns)) if k != index and columns[k].k > 1]
        reports = math.prod(columns[k].count for k in sources)
        targets.append(_Target(index, sources, reports, math.prod(columns[k].k for k in sources)))
    return targets


def _table_cells(columns: Sequence[LikelihoodColumns]) -> int:
    """Return the number of cells of the largest table: target values by report or value tuples."""
    return max(max(t.reports, t.cells) * columns[t.attribute].k for t in _targets(columns))


def population_is_feasible(columns: Sequence[LikelihoodColumns]) -> bool:
    """Return whether the tables of `exact_population_totals` are within `MAX_CELLS`."""
    return _table_cells(columns) <= MAX_CELLS


def exact_population_totals(
    data: Records,
    columns: Sequence[LikelihoodColumns],
    confidence: float,
    progress: Progress | None = None,
) -> Floats:
    """Return upper limits of the exact totals of all attributes, valid at once with `confidence`.

    c = ln(N / beta), beta = 1 - confidence, N = 2 sum over targets of values times report tuples of
    the sources (union bound).  The
    target's own report is independent of the others' given the target, so its best log-ratio
    between x and x' is added.  O(s^2) passes over the report tuples of each target.
    """
    size = _table_cells(columns)
    if size > MAX_CELLS:
        raise GuaranteeError(
            f"exact totals for the population need {size:.3g} combinations of reports, at most "
            f"{MAX_CELLS:.3g} fit; choose fewer attributes, or guarantee 'merged' or 'worst'"
        )
    targets = _targets(columns)
    statements = 2 * sum(columns[target.attribute].k * target.reports for target in targets)
    c = math.log(max(statements, 1)) - math.log1p(-confidence)
    totals = []
    for target in targets:
        totals.append(_total_limit(data, columns, target, c))
        if progress is not None:
            progress(len(totals), len(columns))
    return np.array(totals)


def _total_limit(
    data: Records, columns: Sequence[LikelihoodColumns], target: _Target, c: float
) -> float:
    column = columns[target.attribute]
    own = column.max_log_ratios()
    best = float(own.max())
    if column.k < 2 or not target.sources:
        return best
    counts = data.counts((*target.sources, target.attribute)).reshape(-1, column.k)
    for limits in _likelihood_limits(columns, target, counts.astype(np.float64), c):
        with np.errstate(divide="ignore"):
            upper, lower = np.log(limits.upper), np.log(limits.lower)
        for x, other in permutations(range(column.k), 2):
            ratio = float((upper[:, x] - lower[:, other]).max())
            best = max(best, ratio + float(own[x, other]))
    sizes = [columns[k].k for k in target.sources]
    return round_up(best, 16) + rounding([*sizes, column.k])


def _likelihood_limits(
    columns: Sequence[LikelihoodColumns], target: _Target, counts: Floats, c: float
) -> Iterator[Limits]:
    """Yield blocks of limits of p(y given x), report tuples y by target values x."""
    sources = [columns[k] for k in target.sources]
    people = counts.sum(axis=0)
    contrast = _common_contrast(sources)
    if contrast is not None:
        table = counts_by_difference(counts, [source.k for source in sources])
        weights = difference_weights(np.full(len(sources), contrast), by_set=False)
        radius = mixture_radius(people, c)
        for start in range(0, target.reports, BLOCK):
            block = np.moveaxis(table[:, start : start + BLOCK], 0, -1)
            shares = block / np.maximum(people, 1.0)[:, None]
            yield kl_inf_limits(weights, shares, radius, weights[-1], weights[0], NEWTON_ITERATIONS)
        return
    matrices = [source.matrix().astype(np.float64) for source in sources]
    if target.reports * target.cells * len(people) <= MAX_ATOMS:
        yield _limits_by_answers(matrices, counts, people, c)
    else:
        yield _limits_by_range(matrices, counts, people, c)


def _common_contrast(sources: Sequence[LikelihoodColumns]) -> float | None:
    """Return the contrast that all sources share if all reports are GRR-like, else None."""
    contrasts = {
        source.contrast
        if isinstance(source, TwoLevelColumns)
        and (source.sets.kind == "singletons" or source.k == source.count == 2)
        else None
        for source in sources
    }
    contrast = contrasts.pop() if len(contrasts) == 1 else None
    return None if contrast == math.inf else contrast


def _limits_by_answers(matrices: list[Floats], counts: Floats, people: Floats, c: float) -> Limits:
    """Return KL_inf limits of p(y given x) from the counts of all combinations of answers."""
    weights: Floats = np.ones((1, 1))
    for matrix in matrices:
        weights = np.asarray(np.kron(weights, matrix), dtype=np.float64)
    shares = counts / np.maximum(people, 1.0)
    minimum, maximum = weights.min(axis=0)[:, None], weights.max(axis=0)[:, None]
    radius = mixture_radius(people, c)
    return kl_inf_limits(
        weights.T[:, None, :], shares.T[None], radius, minimum, maximum, NEWTON_ITERATIONS
    )


def _limits_by_range(matrices: list[Floats], counts: Floats, people: Floats, c: float) -> Limits:
    """Return kl limits of p(y given x) from its estimate and the range of the likelihoods of y."""
    means, minimum, maximum = counts / np.maximum(people, 1.0), np.ones(1), np.ones(1)
    reports = 1
    for matrix in matrices:
        means = matrix.T @ means.reshape(reports, len(matrix), -1)
        reports *= matrix.shape[1]
        minimum = np.multiply.outer(minimum, matrix.min(axis=0)).reshape(-1)
        maximum = np.multiply.outer(maximum, matrix.max(axis=0)).reshape(-1)
    low, width = minimum[:, None], (maximum - minimum)[:, None]
    scaled = np.divide(
        means.reshape(reports, -1) - low,
        width,
        out=np.zeros((reports, len(people))),
        where=width > 0,
    )
    scaled, radius = np.clip(scaled, 0.0, 1.0), c / np.maximum(people, 0.5)
    seen = people > 0
    upper = np.where(seen, kl_upper(scaled, radius, 4), 1.0)
    lower = np.where(seen, kl_lower(scaled, radius, 4), 0.0)
    return Limits((low + width * lower) * (1 - GUARD), (low + width * upper) * (1 + GUARD))
