"""`shape_form`: the mechanism of least variance of one form within limits, from its counts."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from scipy.linalg import helmert

from seepage._numerics import Floats, Integers, one_blas_thread
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.admissible_reports import (
    MARGIN,
    MAX_LIMIT,
    MIN_LIMIT,
    AdmissibleReports,
    RatioLimit,
    answer_limits,
    mixture_thresholds,
)
from seepage.designs.report_search import STARTS, search_reports
from seepage.designs.shaped_mechanism import AnswerCounts, ShapedMechanism, wanted_rows
from seepage.errors import InputError

MAX_CELLS = 48
"""Maximum number of cells of a shaped form; more would take minutes."""

BISECTION_STEPS = 60
"""Number of bisection steps for the budget of the product."""

START_SCALE = 0.999
"""Factor on the product's budgets for its reports to start the search strictly inside the cone."""


def form_table(
    counted: PairCounts | Records, sources: Sequence[str], targets: Iterable[str]
) -> AnswerCounts:
    """Return the counts of the cells of a form, and of targets by cell; several need records."""
    domain = counted.domain
    sizes = tuple(domain[name].size for name in sources)
    if isinstance(counted, PairCounts):
        counts = counted.marginal(sources[0])
        tables = {
            name: np.diag(counts) if name == sources[0] else counted.table(name, sources[0])
            for name in targets
        }
    else:
        cells = answer_cells(counted, sources)
        counts = np.bincount(cells, counted.weights, minlength=int(np.prod(sizes))).astype(np.int64)
        group = counted.groups(())
        tables = {
            name: counts_by_cell(counted, name, cells, len(counts), group)[0] for name in targets
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
    records: Records, name: str, cells: Integers, cell_count: int, groups: Integers
) -> Integers:
    """Return numbers of records by group, value of an attribute, and cell."""
    size = records.domain[name].size
    shape = (int(groups.max(initial=0)) + 1, size, cell_count)
    flat = (groups * size + records.column(name)) * cell_count + cells
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
    rows: Mapping[int, Floats] | None = None,
    cone: Callable[[Sequence[RatioLimit], Floats], AdmissibleReports] = AdmissibleReports,
    gap: float = 1e-3,
    stop: Callable[[], bool] = lambda: False,
    starts: int = STARTS,
) -> ShapedMechanism:
    """Return the mechanism of least variance for a form's answers within limits, from counts alone.

    Parameters
    ----------
    table
        The counts of the form's cells, and of every protected attribute, asked or not, by cell.
    limits
        Maximum leakage in nats about each protected attribute.
    epsilons
        For each answer, the largest change of a report's log-likelihood when it alone changes.
    record_limit
        Largest log-likelihood ratio of a report between two records; None for the sum of budgets of
        the product of randomised responses within the same limits.
    rule
        `"answer"`: `epsilons` are limits; `"record"`: they only bound the budgets of that product.
    known
        Further limits, conditional on attributes that an adversary may know of the person.
    wanted
        Weights of the tables to estimate, by the indices of their answers; by default the
        frequencies of each answer.
    rows
        B of the answers of which another statistic than the frequencies is wanted, by index
        [`designs.wanted`].
    cone
        Returns the cone of admissible reports, from limits and nominal frequencies.
    gap
        Relative optimality gap at which the search stops.
    stop
        Called throughout the search, which ends with the reports found if it returns True.
    starts
        Number of reports of the mixture from which linear programs start in each round.

    Notes
    -----
    With K cells and r wanted values, each round of the search takes some 2^r + 40 linear programs
    in K unknowns (.1 ms for K = 15, 1 ms for K = 32), and 10 to 40 rounds.
    """
    target_limits = [table.ratio_limit(name, limit) for name, limit in limits.items()]
    caps = [min(epsilon, MAX_LIMIT) for epsilon in epsilons]
    budgets = product_budgets(target_limits, table.sizes, caps)
    record = _record_limit(record_limit, epsilons, budgets)
    identity = np.eye(len(table.counts), dtype=np.int64)
    all_limits = [*target_limits, *known]
    if rule == "answer" and len(table.sizes) > 1:
        all_limits += answer_limits(table.sources, table.sizes, epsilons)
    all_limits.append(RatioLimit(", ".join(table.sources), identity, record, "record"))
    frequencies = table.counts / table.counts.sum()
    tables = wanted or {(axis,): 1.0 for axis in range(len(table.sizes))}
    functions = _contrasts(table.sizes, tables, rows or {})
    admissible = cone(all_limits, frequencies)
    _check_informative(admissible, functions, limits, record)
    offset = float(((functions @ frequencies) ** 2).sum())
    product = product_reports(table.sizes, [START_SCALE * eps for eps in budgets], frequencies)
    product = product[admissible.admits(product)]
    with one_blas_thread():
        mixture = search_reports(
            admissible, functions, offset=offset, gap=gap, known=product, stop=stop, starts=starts
        )
    bound = mixture.lower_bound - offset
    return ShapedMechanism(
        mixture_thresholds(mixture.reports, mixture.shares, all_limits),
        table,
        all_limits,
        tables,
        rows=rows,
        lower_bound=bound if bound > 0 else None,
        proven=mixture.proven,
    )


def _record_limit(
    given: float | None, epsilons: Sequence[float], budgets: Sequence[float]
) -> float:
    """Return the largest log-likelihood ratio of a report between two records."""
    if len(epsilons) > 1:
        return sum(budgets) if given is None else float(given)
    return epsilons[0] if given is None else min(float(given), epsilons[0])


# The product of randomised responses -------------------------------------------------------------


def product_reports(sizes: Sequence[int], budgets: Sequence[float], frequencies: Floats) -> Floats:
    """Return the reports of independent randomised responses, one row each."""
    likelihoods: Floats = np.ones((1, 1))
    for size, budget in zip(sizes, budgets, strict=True):
        response = np.ones((size, size))
        np.fill_diagonal(response, math.exp(budget))
        likelihoods = np.asarray(np.kron(likelihoods, response), dtype=np.float64)
    return np.asarray(likelihoods / (likelihoods @ frequencies)[:, None])


def product_budgets(
    limits: Sequence[RatioLimit], sizes: Sequence[int], epsilons: Sequence[float]
) -> list[float]:
    """Return the largest equal budgets of independent randomised responses within all limits.

    Each is at most its answer's epsilon.  The leakage increases with every budget, so bisection
    finds them.
    """
    rows = [limit.rows for limit in limits]
    stacked = np.vstack([np.zeros((0, math.prod(sizes))), *rows])
    starts = np.cumsum([0, *map(len, rows)])[:-1]
    ratios = np.exp([min(limit.limit, MAX_LIMIT) - MARGIN for limit in limits])[:, None]

    def is_within(budget: float) -> bool:
        capped = [min(budget, epsilon) for epsilon in epsilons]
        means = stacked @ product_reports(sizes, capped, np.full(stacked.shape[1], 1.0)).T
        if not len(starts):
            return True
        highest = np.maximum.reduceat(means, starts)
        return bool((highest <= ratios * np.minimum.reduceat(means, starts)).all())

    low, high = 0.0, max(epsilons)
    if is_within(high):
        low = high
    for _ in range(BISECTION_STEPS if low < high else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if is_within(middle) else (low, middle)
    return [min(low, epsilon) for epsilon in epsilons]


# Wanted tables ----------------------------------------------------------------------------------


def _contrasts(
    sizes: Sequence[int], wanted: Mapping[tuple[int, ...], float], rows: Mapping[int, Floats]
) -> Floats:
    """Return orthonormal contrasts of the wanted tables, times the roots of their weights.

    The m shares of a table sum to 1, so m - 1 orthonormal contrasts determine them, with the same
    total variance.  Of another statistic all rows are returned.
    """
    contrasts = []
    for axes, weight in wanted.items():
        table = wanted_rows(sizes, axes, rows)
        if len(axes) > 1 or axes[0] not in rows:
            table = helmert(len(table)) @ table
        contrasts.append(math.sqrt(weight) * table)
    return np.vstack(contrasts)


def _check_informative(
    cone: AdmissibleReports, functions: Floats, limits: Mapping[str, float], record: float
) -> None:
    """Raise unless the wanted functions are in the span of the admissible reports."""
    if not len(functions):
        raise InputError(
            "sources must have at least two values, or there is nothing to ask", parameter="sources"
        )
    projected = cone.span @ (cone.span.T @ functions.T)
    if np.abs(projected - functions.T).max(initial=0.0) <= 1e-9:
        return
    if record < MIN_LIMIT:
        raise InputError(
            f"no report within a record limit of {record:g} is informative; give a record_limit "
            f"of at least {MIN_LIMIT:g}"
        )
    zero = [name for name, limit in limits.items() if limit < MIN_LIMIT]
    raise InputError(
        f"no report with leakage 0 about {', '.join(zero)} estimates the wanted tables; the "
        f"smallest valid limit is {MIN_LIMIT:g}"
    )
