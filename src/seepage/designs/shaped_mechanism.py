"""`ShapedMechanism`: one report for all answers of a form, its leakage and its variance."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers, largest_log_ratio, round_up
from seepage._results import Result
from seepage.designs.admissible_reports import RatioLimit, answer_limits, realised_ratio
from seepage.errors import InputError
from seepage.mechanisms.base import Estimate, integer_codes
from seepage.mechanisms.exact_draws import Thresholds, log_above
from seepage.mechanisms.reports import ValueReports
from seepage.mechanisms.transition_matrix import MatrixMechanism, least_squares_inverse

MAX_BIAS = 1e-9
"""Maximum bias of an estimate's coefficients that counts as unbiased."""

CUTOFFS = (1e-13, 1e-10, 1e-8)
"""Cutoffs of singular values relative to the largest, tried in order."""

MAX_CHARTED = 60
"""Maximum number of reports in a chart."""


class AnswerCounts(NamedTuple):
    """The counts of a form's answers, by cell.

    A cell is a combination of answers, in row-major order: the last attribute is the fastest.
    """

    sources: tuple[str, ...]
    sizes: tuple[int, ...]
    counts: Integers
    """The number of records in each cell."""
    targets: Mapping[str, Integers]
    """Numbers of records of each protected attribute, asked or not: one row per value, one column
    per cell."""
    names: tuple[str, ...] = ()
    """Names of the cells, for display."""

    def ratio_limit(self, name: str, limit: float) -> RatioLimit:
        """Return the limit of a protected attribute, over the values that occur."""
        return RatioLimit(name, occurring(self.targets[name]), limit)

    def possible(self, name: str) -> Booleans:
        """Return whether each value of a protected attribute may occur in each cell."""
        values = np.arange(len(self.targets[name]))[:, None]
        if name not in self.sources:
            return np.ones(self.targets[name].shape, dtype=bool)
        answers = np.unravel_index(np.arange(len(self.counts)), self.sizes)
        return np.asarray(answers[self.sources.index(name)] == values)


def occurring(counts: Integers) -> Integers:
    """Return the rows with a positive sum: values that occur."""
    return np.asarray(counts[counts.sum(axis=1) > 0])


class WorstXor(NamedTuple):
    """The binary questions "is the answer this value?" whose exclusive or leaks most."""

    answers: tuple[tuple[str, int], ...]
    """Attribute and code of the value, one for each question."""
    leakage: float
    """Nats, rounded up."""


class ShapedMechanism(MatrixMechanism, Result):
    """A mechanism on one attribute or on the product of several, shaped to limits.

    Made by `shape`.  Its input is a cell: a combination of answers in row-major order, the last
    attribute fastest (`cell_codes`).

    Parameters
    ----------
    thresholds
        Integers out of 2^64, one row per cell.
    table
        The attributes asked, their alphabet sizes, and the number of records in each cell; the
        nominal frequencies are their shares.
    limits
        The limits of the leakage; the realised leakage is computed in exact arithmetic.
    wanted
        The weights of the tables to estimate, by the indices of their answers.
    rows
        B of the answers of which another statistic than the frequencies is wanted, by index.
    lower_bound, proven
        Lower bound of n times the total variance of any admissible mechanism, None if unknown; and
        whether it is proven, or relative to the reports found by linear programs.
    certified, confidence
        For the population: upper limits of the leakage about each target, which hold at once with
        this confidence.  Without them the realised leakage about targets is for the table.
    """

    def __init__(
        self,
        thresholds: Thresholds,
        table: AnswerCounts,
        limits: Sequence[RatioLimit],
        wanted: Mapping[tuple[int, ...], float],
        *,
        rows: Mapping[int, Floats] | None = None,
        lower_bound: float | None = None,
        proven: bool = False,
        certified: Mapping[str, float] | None = None,
        confidence: float | None = None,
    ) -> None:
        self._set_thresholds(thresholds, "shaped")
        self.sources, self.sizes, self.counts = table.sources, table.sizes, table.counts
        self.limits, self.wanted, self.rows = tuple(limits), dict(wanted), dict(rows or {})
        self.cell_names = table.names or tuple(map(str, range(self.k)))
        self._certified = dict(certified or {})
        self.confidence = confidence
        self.lower_bound, self.proven = lower_bound, proven

    @property
    def nominal(self) -> Floats:
        """The nominal frequencies of the cells."""
        return np.asarray(self.counts / self.counts.sum())

    # Privacy ------------------------------------------------------------------------------------

    @cached_property
    def promises(self) -> dict[tuple[str, str], tuple[float, float]]:
        """(limit, realised leakage) in nats by kind and name; computed exactly, rounded up.

        Kinds are `"target"` (about an attribute), `"answer"` (one answer changes, whatever else is
        known), `"record"` (any two records) and `"known"` (about an attribute, given others).
        """
        promises: dict[tuple[str, str], tuple[float, float]] = {}
        for limit in self.limits:
            key = (limit.kind, limit.name)
            realised = self._certified.get(limit.name) if limit.kind == "target" else None
            if realised is None:
                realised = log_above(realised_ratio(self.thresholds, limit))
            _, largest = promises.get(key, (limit.limit, 0.0))
            promises[key] = (limit.limit, max(largest, realised))
        return promises

    def realised(self, kind: str = "target") -> dict[str, float]:
        """Return the realised leakage in nats by name, for one kind of limit."""
        _checks.choice(kind, "kind", ("target", "answer", "record", "known"))
        return {name: value for (of, name), (_, value) in self.promises.items() if of == kind}

    @cached_property
    def answer_changes(self) -> dict[str, float]:
        """Largest change of a report's log-likelihood when one answer changes, by attribute."""
        changes = dict.fromkeys(self.sources, 0.0)
        for limit in answer_limits(self.sources, self.sizes, [0.0] * len(self.sizes)):
            realised = log_above(realised_ratio(self.thresholds, limit))
            changes[limit.name] = max(changes[limit.name], realised)
        return changes

    def given_answers(self, known: int) -> float:
        """Return the largest leakage about an answer given the values of `known` other answers.

        In nats, exact for the table of `counts`, rounded up; the maximum over the answers, the sets
        of other answers, and their values.
        """
        count = _checks.integer(known, "known", 0, len(self.sources) - 1)
        largest = 0.0
        axes = range(len(self.sizes))
        for axis in axes:
            for others in combinations([other for other in axes if other != axis], count):
                kept = sorted((axis, *others))
                means = self._conditional(kept)
                lines = np.moveaxis(means, kept.index(axis), 0)
                largest = max(largest, _largest_log_ratio(lines))
        return round_up(largest, 8 * self.k + 64)

    def _conditional(self, kept: Sequence[int]) -> Floats:
        """Return P(report | some answers), one axis per answer; NaN for answers without records."""
        table = self.counts.reshape(self.sizes)
        drop = tuple(axis for axis in range(len(self.sizes)) if axis not in kept)
        weighted = (table[..., None] * self.channel().reshape(*self.sizes, -1)).sum(axis=drop)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(weighted / table.sum(axis=drop)[..., None])

    @cached_property
    def worst_xor(self) -> WorstXor | None:
        """Largest leakage about the exclusive or of at least two answers; None for one answer.

        An answer of more than two values enters as the question whether it is a certain value.
        """
        weighted = self.counts[:, None] * self.channel()
        codes = np.array(list(np.ndindex(*self.sizes)))
        worst = WorstXor((), -1.0)
        choices = [[None, *range(1 if size == 2 else 0, size)] for size in self.sizes]
        for values in product(*choices):
            asked = [(axis, value) for axis, value in enumerate(values) if value is not None]
            if len(asked) < 2:
                continue
            xor = sum((codes[:, axis] == value).astype(int) for axis, value in asked) % 2 == 1
            numbers = self.counts[xor].sum(), self.counts[~xor].sum()
            if not all(numbers):
                continue
            sums = np.stack([weighted[xor].sum(axis=0), weighted[~xor].sum(axis=0)])
            leakage = _largest_log_ratio(sums / np.array(numbers)[:, None])
            if leakage > worst.leakage:
                answers = tuple((self.sources[axis], int(value)) for axis, value in asked)
                worst = WorstXor(answers, leakage)
        if worst.leakage < 0:
            return None
        return worst._replace(leakage=round_up(worst.leakage, 8 * self.k + 64))

    # Estimates ----------------------------------------------------------------------------------

    def _coefficients(self, wanted: Floats) -> Floats | None:
        """Return A with C A = B', of least variance at the nominal frequencies; else None."""
        channel = self.channel()
        for cutoff in CUTOFFS:
            inverse = least_squares_inverse(channel, self.nominal @ channel, cutoff)
            coefficients = inverse @ wanted.T
            if np.abs(channel @ coefficients - wanted.T).max() <= MAX_BIAS:
                return np.asarray(coefficients)
        return None

    @cached_property
    def _inverse(self) -> Floats | None:
        return self._coefficients(np.eye(self.k))

    def marginals(self, reports: ValueReports) -> dict[str, Estimate]:
        """Return the estimated frequencies of each answer, with their standard errors.

        Linear in the reports and unbiased for every distribution of the answers, with the least
        variance at the nominal one.  Answers that are not in `wanted` may have no estimate.
        """
        self.check_reports(reports)
        if not len(reports):
            raise InputError("there is no estimate without reports, got none")
        shares = np.bincount(reports.below(self.outputs), minlength=self.outputs) / len(reports)
        estimates = {}
        for axis, source in enumerate(self.sources):
            rows = self._coefficients(table_rows(self.sizes, [axis]))
            if rows is not None:
                frequencies = shares @ rows
                noise = np.maximum(shares @ rows**2 - frequencies, 0.0) / len(reports)
                estimates[source] = Estimate(frequencies, np.sqrt(noise), len(reports), False)
        return estimates

    @cached_property
    def _estimates(self) -> dict[tuple[int, ...], Floats]:
        """The coefficients A of each wanted table; raises if a table has none."""
        tables = {axes: self._coefficients(self._wanted_rows(axes)) for axes in self.wanted}
        missing = [axes for axes, rows in tables.items() if rows is None]
        if missing:
            raise InputError(f"the reports do not estimate {self._label(missing[0])}")
        return {axes: rows for axes, rows in tables.items() if rows is not None}

    def _wanted_rows(self, axes: tuple[int, ...]) -> Floats:
        return wanted_rows(self.sizes, axes, self.rows)

    def _label(self, axes: Sequence[int]) -> str:
        return ", ".join(self.sources[axis] for axis in axes)

    @cached_property
    def variances(self) -> dict[str, float]:
        """Variance of each wanted table's estimated frequencies times n, summed over its cells.

        For people drawn from the population, noise and sampling together, at the nominal
        frequencies.
        """
        chances = self.nominal @ self.channel()
        return {
            self._label(axes): float((chances @ rows**2).sum() - ((chances @ rows) ** 2).sum())
            for axes, rows in self._estimates.items()
        }

    @property
    def nominal_variance(self) -> float:
        """The sum of `variances`, weighted by `wanted`."""
        return sum(
            weight * variance
            for weight, variance in zip(self.wanted.values(), self.variances.values(), strict=True)
        )

    @cached_property
    def worst_variance(self) -> float:
        """Variance from noise, times n, at the worst distribution of the answers.

        Given the people's answers it is sum_z f_z (sum_y C[z, y] |a_y|^2 - |b_z|^2) for each wanted
        table, a_y the coefficients of report y and b_z the columns of B, |b_z| = 1 for frequencies:
        linear in f, so largest at one cell.  Sampling adds 1 - |f|^2 for each table of frequencies.
        """
        noise = [
            weight
            * (
                self.channel() @ (self._estimates[axes] ** 2).sum(axis=1)
                - (self._wanted_rows(axes) ** 2).sum(axis=0)
            )
            for axes, weight in self.wanted.items()
        ]
        return float(np.sum(noise, axis=0).max())

    @property
    def scope(self) -> str:
        """For whom the limits about targets hold: `"table"` or `"population"`."""
        return "table" if self.confidence is None else "population"

    @property
    def gap(self) -> float | None:
        """Optimality gap nominal_variance / lower_bound - 1; None if the bound is unknown."""
        return None if self.lower_bound is None else self.nominal_variance / self.lower_bound - 1

    # Cells and display --------------------------------------------------------------------------

    def cell_codes(self, answers: Mapping[str, ArrayLike]) -> Integers:
        """Return the cell of each record from the codes of its answers, by attribute."""
        given = _checks.mapping(answers, "answers", "a mapping from attributes to codes")
        missing = [source for source in self.sources if source not in given]
        if missing:
            raise InputError(f"answers must have codes of {missing[0]!r}", parameter="answers")
        columns = [
            integer_codes(given[source], size, f"answers of {source!r}")
            for source, size in zip(self.sources, self.sizes, strict=True)
        ]
        if len(set(map(len, columns))) > 1:
            raise InputError("answers must have one code for each record", parameter="answers")
        return np.asarray(np.ravel_multi_index(columns, self.sizes), dtype=np.int64)

    def _headline(self) -> str:
        if self.confidence is not None:
            known = f"for the population at {self.confidence:.4g}"
        else:
            gap = "unknown" if self.gap is None else f"{self.gap:.1g}"
            known = f"gap {gap}{'' if self.proven else ' within the reports found'}"
        return (
            f"ShapedMechanism({', '.join(self.sources)}: {self.k} cells, {self.outputs} reports, "
            f"epsilon {self.epsilon:.4g}, n x variance {self.nominal_variance:.4g}, {known})"
        )

    def _columns(self) -> dict[str, Any]:
        rows = [(kind, name, *values) for (kind, name), values in self.promises.items()]
        names = ("promise", "attribute", "limit", "realised")
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

    def chart(self) -> Any:
        """Return a heat map of the likeliest reports: log-likelihood ratio by report and cell.

        Cells are sorted by the share of the first value of the first protected target.
        """
        from seepage.charts.results import report_chart

        channel = self.channel()
        chances = self.nominal @ channel
        shown = np.argsort(-chances)[:MAX_CHARTED]
        table = self.limits[0].counts
        order = np.argsort(table[0] / np.maximum(table.sum(axis=0), 1), kind="stable")
        rows = [
            {
                "cell": self.cell_names[cell],
                "report": index + 1,
                "share": float(chances[report]),
                "ratio": float(np.log(channel[cell, report] / chances[report])),
            }
            for index, report in enumerate(shown)
            for cell in order
        ]
        realised = list(self.realised().items())[:3]
        leakages = ", ".join(f"{name} {value:.3g}" for name, value in realised)
        subtitle = f"{', '.join(self.sources)}; leakage at most: {leakages}" if leakages else ""
        return report_chart(rows, [self.cell_names[cell] for cell in order], subtitle)

    __repr__ = Result.__repr__


def table_rows(sizes: Sequence[int], axes: Sequence[int]) -> Floats:
    """Return the 0/1 matrix that sums cells of all answers to cells of a table of some answers."""
    codes = np.array(list(np.ndindex(*sizes)))[:, list(axes)]
    shape = [sizes[axis] for axis in axes]
    index = np.ravel_multi_index(codes.T, shape)
    return np.asarray(index == np.arange(math.prod(shape))[:, None], dtype=np.float64)


def wanted_rows(sizes: Sequence[int], axes: tuple[int, ...], rows: Mapping[int, Floats]) -> Floats:
    """Return the matrix from cells of all answers to a wanted table, or to a statistic of one."""
    table = table_rows(sizes, axes)
    return np.asarray(rows[axes[0]] @ table) if len(axes) == 1 and axes[0] in rows else table


def _largest_log_ratio(lines: Floats) -> float:
    """Return the largest log-ratio along the first axis, NaN (not occurring) excluded."""
    values = np.moveaxis(lines, 0, -1)
    return float(largest_log_ratio(values, values, np.array([0]), 0.0, ~np.isnan(values))[0])
