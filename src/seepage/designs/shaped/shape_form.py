"""Shaping one form from tables of counts: its limits, its product, its mechanism."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert

from seepage._numerics import Floats, Integers, one_blas_thread
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.shaped.admissible_reports import (
    MARGIN,
    MAX_LIMIT,
    MIN_LIMIT,
    AdmissibleReports,
    RatioLimit,
    whole_thresholds,
)
from seepage.designs.shaped.report_search import STARTS, search_reports
from seepage.designs.shaped.shaped_mechanism import ShapedMechanism, table_rows
from seepage.errors import InputError

MAX_CELLS = 48
"""Cells of a form that is shaped; more would take minutes."""

HALVINGS = 60

INSIDE = 0.999
"""The share of the product's budgets at which its reports start the search."""


class AnswerCounts(NamedTuple):
    """The counts that a form is shaped on.

    Cells are the answers' codes as a number in mixed radix, the last attribute fastest.
    """

    sources: tuple[str, ...]
    sizes: tuple[int, ...]
    counts: Integers
    """The number of records in each cell."""
    targets: Mapping[str, Integers]
    """For each protected attribute one row per value and one column per cell: numbers of records.

    An attribute that is asked may be among them."""
    names: tuple[str, ...] = ()
    """Names of the cells, for display."""

    def ratio_limit(self, name: str, limit: float) -> RatioLimit:
        """Return the limit of a protected attribute, over the values that occur."""
        return RatioLimit(name, occurring(self.targets[name]), limit)


def form_table(
    counted: PairCounts | Records, sources: Sequence[str], targets: Iterable[str]
) -> AnswerCounts:
    """Return the counts of the cells of a form, and of targets by cell."""
    domain = counted.domain
    sizes = tuple(domain[name].size for name in sources)
    if isinstance(counted, PairCounts):
        if len(sources) > 1:
            raise InputError("several sources need records; give the table itself")
        counts = counted.marginal(sources[0])
        tables = {
            name: np.diag(counts) if name == sources[0] else counted.table(name, sources[0])
            for name in targets
        }
    else:
        cells = answer_cells(counted, sources)
        counts = np.bincount(cells, counted.weights, minlength=int(np.prod(sizes))).astype(np.int64)
        one = counted.groups(())
        tables = {
            name: counts_by_cell(counted, name, cells, len(counts), one)[0] for name in targets
        }
    if not counts.sum():
        raise InputError("shaping needs at least one record, and there is none")
    labels = itertools.product(*(domain[name].values for name in sources))
    return AnswerCounts(tuple(sources), sizes, counts, tables, tuple(map(", ".join, labels)))


def answer_cells(records: Records, sources: Sequence[str]) -> Integers:
    """Return the cell of each distinct record."""
    columns = [records.column(name) for name in sources]
    return np.asarray(np.ravel_multi_index(columns, [records.domain[n].size for n in sources]))


def counts_by_cell(
    records: Records, name: str, cells: Integers, many: int, groups: Integers
) -> Integers:
    """Return numbers of records by group, value of an attribute, and cell."""
    size = records.domain[name].size
    shape = (int(groups.max(initial=0)) + 1, size, many)
    flat = (groups * size + records.column(name)) * many + cells
    counts = np.bincount(flat, records.weights, minlength=math.prod(shape))
    return counts.astype(np.int64).reshape(shape)


def shape_form(
    table: AnswerCounts,
    limits: Mapping[str, float],
    *,
    epsilons: Sequence[float],
    record_limit: float | None = None,
    rule: str = "answer",
    known: Sequence[RatioLimit] = (),
    wanted: Mapping[tuple[int, ...], float] | None = None,
    cone: Callable[[Sequence[RatioLimit], Floats], AdmissibleReports] = AdmissibleReports,
    gap: float = 1e-3,
    stop: Callable[[], bool] = lambda: False,
    starts: int = STARTS,
) -> ShapedMechanism:
    """Return the best report for a form's answers within limits, from counts alone.

    Parameters
    ----------
    table
        The form with its counts and, for every protected attribute of the table, asked or not, the
        counts by cell.
    limits
        What reports may tell about each protected attribute.
    epsilons
        For each answer, the most that changing it alone may change a report's log-likelihood.
    record_limit
        The most that two records may differ by; None for what the product of randomised responses
        within the same limits spends.
    rule
        `"answer"`: `epsilons` are limits of their own; `"record"`: they bound the product only.
    known
        Further limits, for adversaries who know something of the person.
    wanted
        Weights of the tables to estimate, by the positions of their answers; each answer's own
        frequencies by default.
    cone
        Makes the admissible reports from limits and nominal frequencies.
    gap
        When to stop: the variance is within this share of its lower bound.
    stop
        Asked all the time whether to end with the reports found.
    starts
        Reports in use from which linear programs start in each round; fewer are faster.

    Notes
    -----
    With K cells and r wanted values, each round of the search takes some 2^r + 40 linear programs
    in K unknowns (.1 ms for K = 15, 1 ms for K = 32), and 10 to 40 rounds.
    """
    check_cells(table.sources, table.sizes)
    fixed = [table.ratio_limit(name, limit) for name, limit in limits.items()]
    budgets = product_budgets(fixed, table.sizes, [min(own, MAX_LIMIT) for own in epsilons])
    record = _record_limit(record_limit, epsilons, budgets)
    promised = [*fixed, *known, *_own_limits(table, epsilons, record, rule)]
    frequencies = table.counts / table.counts.sum()
    tables = wanted or {(axis,): 1.0 for axis in range(len(table.sizes))}
    functions = _contrasts(table.sizes, tables)
    admissible = cone(promised, frequencies)
    _check_informative(admissible, functions, limits, record)
    offset = float(((functions @ frequencies) ** 2).sum())
    first = product_reports(table.sizes, [INSIDE * budget for budget in budgets], frequencies)
    first = first[admissible.admits(first)]
    with one_blas_thread():
        found = search_reports(
            admissible, functions, offset=offset, gap=gap, known=first, stop=stop, starts=starts
        )
    bound = found.lower_bound - offset
    return ShapedMechanism(
        whole_thresholds(found.reports, found.shares, promised),
        sources=table.sources,
        sizes=table.sizes,
        counts=table.counts,
        limits=promised,
        wanted=tables,
        cell_names=table.names,
        lower_bound=bound if bound > 0 else None,
        proven=found.proven,
    )


def _record_limit(
    given: float | None, epsilons: Sequence[float], budgets: Sequence[float]
) -> float:
    """Return the most that two records may differ by."""
    if len(epsilons) > 1:
        return sum(budgets) if given is None else float(given)
    return epsilons[0] if given is None else min(float(given), epsilons[0])


def _own_limits(
    table: AnswerCounts, epsilons: Sequence[float], record: float, rule: str
) -> list[RatioLimit]:
    """Return the limits of the answers themselves, one by one and all together."""
    whole = np.eye(len(table.counts), dtype=np.int64)
    one_by_one = rule == "answer" and len(table.sizes) > 1
    return [
        *(answer_limits(table.sources, table.sizes, epsilons) if one_by_one else []),
        RatioLimit(", ".join(table.sources), whole, record, "record"),
    ]


def check_cells(sources: Sequence[str], sizes: Sequence[int]) -> None:
    """Raise an InputError where a form has too many cells to be shaped."""
    cells = math.prod(sizes)
    if cells > MAX_CELLS:
        raise InputError(
            f"the answers {', '.join(sources)} must have at most {MAX_CELLS} cells together, got "
            f"{cells:,}; ask fewer attributes or pool rare values"
        )


def occurring(counts: Integers) -> Integers:
    """Return the rows of values that occur."""
    return np.asarray(counts[counts.sum(axis=1) > 0])


def answer_limits(
    sources: Sequence[str], sizes: Sequence[int], epsilons: Sequence[float]
) -> list[RatioLimit]:
    """Return the limits of one answer changed: cells that differ in this answer only."""
    cells = np.arange(math.prod(sizes)).reshape(tuple(sizes))
    unit = np.eye(cells.size, dtype=np.int64)
    return [
        RatioLimit(source, unit[line], epsilon, "answer")
        for axis, (source, epsilon) in enumerate(zip(sources, epsilons, strict=True))
        for line in np.moveaxis(cells, axis, -1).reshape(-1, sizes[axis])
    ]


# The product of randomised responses -------------------------------------------------------------


def product_reports(sizes: Sequence[int], budgets: Sequence[float], frequencies: Floats) -> Floats:
    """Return the reports of independent randomised responses, one row each."""
    likelihoods: Floats = np.ones((1, 1))
    for size, budget in zip(sizes, budgets, strict=True):
        own = np.ones((size, size))
        np.fill_diagonal(own, math.exp(budget))
        likelihoods = np.asarray(np.kron(likelihoods, own), dtype=np.float64)
    return np.asarray(likelihoods / (likelihoods @ frequencies)[:, None])


def product_budgets(
    limits: Sequence[RatioLimit], sizes: Sequence[int], epsilons: Sequence[float]
) -> list[float]:
    """Return the largest equal budgets of randomised responses that keep all limits.

    None is above its answer's own limit.  The leakage grows with every budget, so bisection finds
    them.
    """
    rows = [one.rows for one in limits]
    stacked = np.vstack([np.zeros((0, math.prod(sizes))), *rows])
    starts = np.cumsum([0, *map(len, rows)])[:-1]
    most = np.exp([min(one.limit, MAX_LIMIT) - MARGIN for one in limits])[:, None]

    def keeps(budget: float) -> bool:
        own = [min(budget, epsilon) for epsilon in epsilons]
        means = stacked @ product_reports(sizes, own, np.full(stacked.shape[1], 1.0)).T
        if not len(starts):
            return True
        highest = np.maximum.reduceat(means, starts)
        return bool((highest <= most * np.minimum.reduceat(means, starts)).all())

    low, high = 0.0, max(epsilons)
    if keeps(high):
        low = high
    for _ in range(HALVINGS if low < high else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return [min(low, epsilon) for epsilon in epsilons]


# What is wanted ----------------------------------------------------------------------------------


def _contrasts(sizes: Sequence[int], wanted: Mapping[tuple[int, ...], float]) -> Floats:
    """Return orthonormal contrasts of the wanted tables, times the roots of their weights.

    The mean of a table's shares is known, so m - 1 contrasts say all about m shares; the summed
    variance is the same.
    """
    tables = {axes: table_rows(sizes, axes) for axes in wanted}
    return np.vstack(
        [
            math.sqrt(weight) * helmert(len(tables[axes])) @ tables[axes]
            for axes, weight in wanted.items()
        ]
    )


def _check_informative(
    cone: AdmissibleReports, functions: Floats, limits: Mapping[str, float], record: float
) -> None:
    """Raise an InputError where no admissible report tells anything of what is wanted."""
    if not len(functions):
        raise InputError("sources must have at least two values, or there is nothing to ask")
    inside = cone.span @ (cone.span.T @ functions.T)
    if np.abs(inside - functions.T).max(initial=0.0) <= 1e-9:
        return
    if record < MIN_LIMIT:
        raise InputError(
            f"every report within a record limit of {record:g} is useless; give a record_limit "
            f"of at least {MIN_LIMIT:g}"
        )
    closed = [name for name, limit in limits.items() if limit < MIN_LIMIT]
    raise InputError(
        f"every report that tells nothing about {', '.join(closed)} is useless for what is "
        f"wanted; the smallest limit that would do is {MIN_LIMIT:g}"
    )
