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
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np
from scipy.linalg import helmert
from scipy.optimize import nnls

from seepage._numerics import Floats, largest_log_ratio, one_blas_thread, round_up
from seepage.designs.admissible_reports import (
    AdmissibleReports,
    AnswerCounts,
    RatioLimit,
    answer_limits,
    mixture_thresholds,
    product_budgets,
    product_reports,
    realised_ratio,
)
from seepage.designs.report_channels import AnswerLeakage
from seepage.designs.report_search import STARTS, ReportSearch
from seepage.mechanisms.exact_draws import Thresholds, log_above
from seepage.mechanisms.transition_matrix import MatrixMechanism, least_squares_inverse

MAX_BIAS = 1e-9
"""Maximum bias of an estimate's coefficients that counts as unbiased."""

CUTOFFS = (1e-13, 1e-10, 1e-8)
"""Cutoffs of singular values relative to the largest, tried in order."""

MIN_SHARE = 1e-9
"""Minimum share theta of a report of a smaller mixture."""

MAX_RESIDUAL = 1e-8
"""Maximum residual of the equations for which the number of reports is reduced."""

MAX_CORRECTION = 0.01
"""Maximum relative change of a share that corrects a residual."""


@dataclass(frozen=True, eq=False)
class ShapedReport:
    """One report for all answers of a form: its matrix, its leakage and its variances.

    Parameters
    ----------
    mechanism
        The matrix, one row per cell.
    table
        The counts of the answers; the nominal frequencies are their shares.
    wanted
        The weights of the tables to estimate, by the indices of their answers.
    rows
        B of the answers of which another statistic than the frequencies is wanted, by
        index.
    data_free
        The limits of changing one answer and of changing any, which hold for all data.
    """

    mechanism: MatrixMechanism
    table: AnswerCounts
    wanted: Mapping[tuple[int, ...], float]
    rows: Mapping[int, Floats]
    data_free: Sequence[RatioLimit]

    @property
    def nominal(self) -> Floats:
        """The nominal frequencies of the cells."""
        return np.asarray(self.table.counts / self.table.counts.sum())

    @cached_property
    def reports(self) -> Floats:
        """The likelihoods of each report, one row each, with mean 1 at the nominal
        frequencies.
        """
        channel = self.mechanism.channel()
        return np.asarray((channel / (self.nominal @ channel)).T)

    # Estimates ------------------------------------------------------------------------

    @cached_property
    def variances(self) -> dict[tuple[int, ...], float]:
        """Variance of each wanted table's estimated frequencies times n, summed over
        its cells.

        For people drawn from the population, noise and sampling together, at the
        nominal frequencies.  Infinite where there is no unbiased estimate.
        """
        chances = self.nominal @ self.mechanism.channel()
        variances = {}
        for axes in self.wanted:
            rows = self.coefficients(axes)
            variances[axes] = math.inf
            if rows is not None:
                second = float((chances @ rows**2).sum())
                variances[axes] = second - float(((chances @ rows) ** 2).sum())
        return variances

    def coefficients(self, axes: tuple[int, ...]) -> Floats | None:
        """Return A with C A = B', of least variance at the nominal frequencies; else
        None.

        C is the matrix of the report, B that of a table of some answers, by their
        indices.
        """
        channel = self.mechanism.channel()
        wanted = wanted_rows(self.table.sizes, axes, self.rows)
        for cutoff in CUTOFFS:
            inverse = least_squares_inverse(channel, self.nominal @ channel, cutoff)
            coefficients = inverse @ wanted.T
            if np.abs(channel @ coefficients - wanted.T).max() <= MAX_BIAS:
                return np.asarray(coefficients)
        return None

    # Privacy --------------------------------------------------------------------------

    @cached_property
    def answer_leakage(self) -> AnswerLeakage:
        """Leakages about the answers beyond the totals, in nats, rounded up."""
        others = len(self.table.sources) - 1
        xor, xor_of = self._worst_xor()
        return AnswerLeakage(
            changes=tuple(self._answer_changes()),
            one=self.given_answers(1) if others >= 1 else None,
            two=self.given_answers(2) if others >= 2 else None,
            xor=xor if xor_of else None,
            xor_of=xor_of,
        )

    def _answer_changes(self) -> list[float]:
        """Return the largest change of the log-likelihood when one answer changes, for
        each.
        """
        sources = self.table.sources
        sizes = self.table.sizes
        changes = dict.fromkeys(sources, 0.0)
        for limit in answer_limits(sources, sizes, [0.0] * len(sizes)):
            realised = log_above(realised_ratio(self.mechanism.thresholds, limit))
            changes[limit.name] = max(changes[limit.name], realised)
        return list(changes.values())

    def given_answers(self, known: int) -> float:
        """Return the largest leakage about an answer given the values of `known` other
        answers.

        In nats, exact for the table of `counts`, rounded up; the maximum over the
        answers, the sets of other answers, and their values.
        """
        largest = 0.0
        axes = range(len(self.table.sizes))
        for axis in axes:
            for others in combinations(
                [other for other in axes if other != axis], known
            ):
                kept = sorted((axis, *others))
                means = self._conditional(kept)
                lines = np.moveaxis(means, kept.index(axis), 0)
                largest = max(largest, _largest_log_ratio(lines))
        return self._rounded_up(largest)

    def _conditional(self, kept: Sequence[int]) -> Floats:
        """Return P(report | some answers), one axis per answer; NaN for answers without
        records.
        """
        sizes = self.table.sizes
        table = self.table.counts.reshape(sizes)
        channel = self.mechanism.channel()
        drop = tuple(axis for axis in range(len(sizes)) if axis not in kept)
        weighted = (table[..., None] * channel.reshape(*sizes, -1)).sum(axis=drop)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(weighted / table.sum(axis=drop)[..., None])

    def _worst_xor(self) -> tuple[float, tuple[str, ...]]:
        """Return the largest leakage about the exclusive or of at least two answers,
        and of which.

        An answer of more than two values enters as the question whether it is a certain
        value.
        """
        counts = self.table.counts
        sizes = self.table.sizes
        weighted = counts[:, None] * self.mechanism.channel()
        codes = np.array(list(np.ndindex(*sizes)))
        worst = -1.0
        names = tuple[str, ...]()
        choices = [[None, *range(1 if size == 2 else 0, size)] for size in sizes]
        for values in product(*choices):
            asked = [
                (axis, value) for axis, value in enumerate(values) if value is not None
            ]
            xor = (
                sum((codes[:, axis] == value).astype(int) for axis, value in asked) % 2
                == 1
            )
            if len(asked) < 2 or not (counts[xor].any() and counts[~xor].any()):
                continue
            sums = np.stack([weighted[xor].sum(axis=0), weighted[~xor].sum(axis=0)])
            numbers = np.array([counts[xor].sum(), counts[~xor].sum()])
            leakage = _largest_log_ratio(sums / numbers[:, None])
            if leakage > worst:
                worst = leakage
                names = tuple(self.table.sources[axis] for axis, _ in asked)
        return self._rounded_up(worst), names

    def _rounded_up(self, leakage: float) -> float:
        return round_up(leakage, 8 * self.mechanism.k + 64)


def _largest_log_ratio(lines: Floats) -> float:
    """Return the largest log-ratio along the first axis, NaN (not occurring) excluded."""
    values = np.moveaxis(lines, 0, -1)
    return float(
        largest_log_ratio(values, values, np.array([0]), 0.0, ~np.isnan(values))[0]
    )


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
    """Return the report of least variance for a form's answers within limits, from
    counts alone.

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
    With K cells and r wanted values, each round of the search takes some 2^r + 40 linear programs
    in K unknowns (.1 ms for K = 15, 1 ms for K = 32), and 10 to 40 rounds.  Every limit is checked
    on the integer thresholds, in exact arithmetic.
    """
    about = [table.ratio_limit(name, limit) for name, limit in limits.items()]
    data_free = _data_free_limits(table, epsilons, record_limit)
    frequencies = table.counts / table.counts.sum()
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
    """Return the report of some thresholds; None if it does not estimate every wanted
    table.
    """
    mechanism = MatrixMechanism.from_thresholds(thresholds, "shaped")
    report = ShapedReport(mechanism, table, wanted, rows, data_free)
    return report if math.isfinite(sum(report.variances.values())) else None


def _data_free_limits(
    table: AnswerCounts, epsilons: Sequence[float], record_limit: float
) -> list[RatioLimit]:
    """Return the limits of changing one answer, and of changing any."""
    identity = np.eye(len(table.counts), dtype=np.int64)
    record = RatioLimit(", ".join(table.sources), identity, record_limit)
    if len(epsilons) == 1:
        return [record._replace(limit=min(record_limit, epsilons[0]))]
    return [*answer_limits(table.sources, table.sizes, epsilons), record]


def _fewest_reports(search: ReportSearch, wanted: Floats) -> tuple[Floats, Floats]:
    """Return a subset of the reports, with shares of the same variance.

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
    if (
        corrected is None
    ):  # sum theta w <= 1: `mixture_thresholds` adds the rest as neutral report
        corrected = shares / (shares @ pool).max()
    return pool, corrected


def _corrected(reports: Floats, shares: Floats) -> Floats | None:
    """Return shares with sum theta w = 1, of least squared relative change; None if
    that is large.

    It is large where the reports hardly determine a cell that never occurs.
    """
    scaled = (shares[:, None] * reports).T
    missing = 1 - scaled.sum(axis=1)
    change = np.linalg.lstsq(scaled, missing, rcond=None)[0]
    return shares + shares * change if np.abs(change).max() < MAX_CORRECTION else None


# Wanted tables ------------------------------------------------------------------------


def table_rows(sizes: Sequence[int], axes: Sequence[int]) -> Floats:
    """Return the 0/1 matrix that sums cells of all answers to cells of a table of some
    answers.
    """
    codes = np.array(list(np.ndindex(*sizes)))[:, list(axes)]
    shape = [sizes[axis] for axis in axes]
    index = np.ravel_multi_index(codes.T, shape)
    return np.asarray(index == np.arange(math.prod(shape))[:, None], dtype=np.float64)


def wanted_rows(
    sizes: Sequence[int], axes: tuple[int, ...], rows: Mapping[int, Floats]
) -> Floats:
    """Return the matrix from cells of all answers to a wanted table, or to a statistic
    of one.
    """
    table = table_rows(sizes, axes)
    return (
        np.asarray(rows[axes[0]] @ table)
        if len(axes) == 1 and axes[0] in rows
        else table
    )


def _contrasts(
    sizes: Sequence[int],
    wanted: Mapping[tuple[int, ...], float],
    rows: Mapping[int, Floats],
) -> Floats:
    """Return orthonormal contrasts of the wanted tables, times the roots of their
    weights.

    The m shares of a table sum to 1, so m - 1 orthonormal contrasts determine them,
    with the same total variance.  Of another statistic all rows are returned.
    """
    contrasts = []
    for axes, weight in wanted.items():
        table = wanted_rows(sizes, axes, rows)
        if len(axes) > 1 or axes[0] not in rows:
            table = helmert(len(table)) @ table
        contrasts.append(math.sqrt(weight) * table)
    return np.vstack(contrasts)
