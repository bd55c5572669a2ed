"""`shape_form`: the one report of least variance for all answers of a form, within
limits.

A form of GRR reports is one channel from its answers to reports.  Lowering budgets
until a leakage is within its limit adds noise in every direction, which the limits do
not require: a report is a vector w of likelihoods over the answers, and each limit is
linear in w (`AdmissibleReports`).  The best mixture of admissible reports is an
A-optimal design (`search_reports`).
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.linalg import helmert
from scipy.optimize import nnls

from seepage._core.arrays import Floats
from seepage._core.threads import one_blas_thread
from seepage.designs.shaped.admissible_reports import (
    AdmissibleReports,
    AnswerCounts,
    RatioLimit,
    answer_limits,
    product_budgets,
    product_reports,
)
from seepage.designs.shaped.report_search import STARTS, ReportSearch
from seepage.designs.shaped.report_thresholds import mixture_thresholds
from seepage.designs.shaped.shaped_report import ShapedReport, statistic_rows
from seepage.mechanisms.exact_probabilities import Thresholds
from seepage.mechanisms.transition_matrix import MatrixMechanism

MIN_SHARE = 1e-9
"""Minimum share theta of a report of a smaller mixture."""


MAX_RESIDUAL = 1e-8
"""Maximum residual of the equations for which the number of reports is reduced."""


MAX_CORRECTION = 0.01
"""Maximum relative change of a share that corrects a residual."""


def shape_form(
    table: AnswerCounts,
    limits: Mapping[str, float],
    *,
    epsilons: Sequence[float],
    record_limit: float,
    wanted: Mapping[tuple[int, ...], float] | None = None,
    rows: Mapping[int, Floats] | None = None,
    cone: Callable[
        [Sequence[RatioLimit], Floats], AdmissibleReports
    ] = AdmissibleReports,
    gap: float = 1e-3,
    stop: Callable[[], bool] = lambda: False,
    starts: int = STARTS,
) -> ShapedReport | None:
    """Shape a form: return the report of least variance for its answers within limits,
    from counts alone.

    None if the reports within the limits differ too little to be computed.

    Parameters
    ----------
    table
        The counts of the form's cells, and of every protected attribute, asked or not,
        by cell.
    limits
        Maximum leakage in nats about each protected attribute.
    epsilons
        For each answer, the largest change of a report's log-likelihood when it alone
        changes.
    record_limit
        Largest log-likelihood ratio of a report between two records.
    wanted
        Weights of the tables to estimate, by the indices of their answers; by default
        the frequencies of each answer.
    rows
        B of the answers of which another statistic than the frequencies is wanted, by
        index [`designs.wanted`].
    cone
        Returns the cone of admissible reports, from limits and nominal frequencies.
    gap
        Relative optimality gap at which the search stops.
    stop
        Called throughout the search, which ends with the reports found if it returns
        True.
    starts
        Number of reports of the mixture from which linear programs start in each round.

    Notes
    -----
    With K cells and r wanted values, each round of the search takes some 2^r + 40
    linear programs in K unknowns (.1 ms for K = 15, 1 ms for K = 32), and 10 to 40
    rounds.  Every limit is checked on the integer thresholds, in exact arithmetic.
    """
    about = [table.ratio_limit(name, limit) for name, limit in limits.items()]
    data_free = _data_free_limits(table, epsilons, record_limit)
    frequencies = table.frequencies
    tables = wanted or {(axis,): 1.0 for axis in range(len(table.sizes))}
    functions = _contrasts(table.sizes, tables, rows or {})
    admissible = cone([*about, *data_free], frequencies)
    budgets = product_budgets(about, table.sizes, epsilons)
    start = product_reports(table.sizes, budgets, frequencies)
    with one_blas_thread():
        search = ReportSearch(
            admissible, functions, admissible.shrunk(start), starts, stop
        )
        if not search.is_solved:
            return None
        search.run(gap, float(((functions @ frequencies) ** 2).sum()))
    reports, shares = _fewest_reports(search, functions)
    thresholds = mixture_thresholds(reports, shares, [*about, *data_free])
    return shaped_report(thresholds, table, tables, rows or {}, data_free)


def shaped_report(
    thresholds: Thresholds,
    table: AnswerCounts,
    wanted: Mapping[tuple[int, ...], float],
    rows: Mapping[int, Floats],
    data_free: Sequence[RatioLimit],
) -> ShapedReport | None:
    """Return the report of a shaped form with some thresholds; None if it does not
    estimate every wanted table.
    """
    mechanism = MatrixMechanism.from_thresholds(thresholds, "shaped")
    report = ShapedReport(mechanism, table, wanted, rows, data_free)
    return report if math.isfinite(sum(report.variances.values())) else None


def _data_free_limits(
    table: AnswerCounts, epsilons: Sequence[float], record_limit: float
) -> list[RatioLimit]:
    """Return the limits in shaping a form of changing one answer, and of changing
    any.
    """
    identity = np.eye(len(table.counts), dtype=np.int64)
    record = RatioLimit(", ".join(table.sources), identity, record_limit)
    if len(epsilons) == 1:
        return [record._replace(limit=min(record_limit, epsilons[0]))]
    return [*answer_limits(table.sources, table.sizes, epsilons), record]


def _fewest_reports(search: ReportSearch, wanted: Floats) -> tuple[Floats, Floats]:
    """Return a subset of the reports of a shaped form, with shares of the same
    variance.

    Any shares with sum theta w = 1 and sum theta (M w) w' = B keep the coefficients M
    unbiased, and the second moment, sum theta |M w|^2 = sum theta w . prices, the same.
    A basic solution of these equations has no more reports than equations.
    """
    pool = search.pool
    shares = search.shares
    scores = pool @ search.mixture.coefficients.T
    products = (scores[:, :, None] * pool[:, None, :]).reshape(len(pool), -1)
    equations = np.hstack([pool, products]).T
    right = np.concatenate([np.ones(pool.shape[1]), wanted.ravel()])
    scale = np.abs(equations).max(axis=1)
    equations = equations / scale[:, None]
    right = right / scale
    factors, residual = nnls(equations * shares, right, maxiter=30 * len(shares))
    basic = factors * shares > MIN_SHARE
    if residual < MAX_RESIDUAL:
        fewer = _corrected(pool[basic], (factors * shares)[basic])
        if fewer is not None:
            return pool[basic], fewer
    corrected = _corrected(pool, shares)
    if corrected is None:
        # sum theta w <= 1: `mixture_thresholds` adds the rest as neutral report
        corrected = shares / (shares @ pool).max()
    return pool, corrected


def _corrected(reports: Floats, shares: Floats) -> Floats | None:
    """Return shares of a shaped form's reports with sum theta w = 1, of least squared
    relative change; None if that is large.

    It is large where the reports hardly determine a cell that never occurs.
    """
    scaled = (shares[:, None] * reports).T
    missing = 1 - scaled.sum(axis=1)
    change = np.linalg.lstsq(scaled, missing, rcond=None)[0]
    return shares + shares * change if np.abs(change).max() < MAX_CORRECTION else None


def _contrasts(
    sizes: Sequence[int],
    wanted: Mapping[tuple[int, ...], float],
    rows: Mapping[int, Floats],
) -> Floats:
    """Return orthonormal contrasts of the wanted tables to shape a form by, times the
    roots of their weights.

    The m shares of a table sum to 1, so m - 1 orthonormal contrasts determine them,
    with the same total variance.  Of another statistic all rows are returned.
    """
    contrasts = []
    for axes, weight in wanted.items():
        table = statistic_rows(sizes, axes, rows)
        if len(axes) > 1 or axes[0] not in rows:
            table = helmert(len(table)) @ table
        contrasts.append(math.sqrt(weight) * table)
    return np.vstack(contrasts)
