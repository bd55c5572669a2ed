"""`ShapedReport`: one report for all answers of a form."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.log_ratios import largest_log_ratio
from seepage._core.rounding import round_up
from seepage.designs.forms.form_channels import AnswerLeakage
from seepage.designs.shaped.admissible_reports import (
    AnswerCounts,
    RatioLimit,
    answer_limits,
)
from seepage.designs.shaped.report_thresholds import realised_ratio
from seepage.mechanisms.exact_probabilities import log_above
from seepage.mechanisms.transition_matrix import MatrixMechanism, least_squares_inverse

MAX_BIAS = 1e-9
"""Maximum bias of an estimate's coefficients that counts as unbiased."""


CUTOFFS = (1e-13, 1e-10, 1e-8)
"""Cutoffs of singular values relative to the largest, tried in order."""


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
        """The nominal frequencies of the cells of a shaped report."""
        return self.table.frequencies

    @cached_property
    def reports(self) -> Floats:
        """The likelihoods of each output of a shaped report, one row each, with mean 1
        at the nominal frequencies.
        """
        channel = self.mechanism.channel()
        return np.asarray((channel / (self.nominal @ channel)).T)

    # Estimates ------------------------------------------------------------------------

    @cached_property
    def variances(self) -> dict[tuple[int, ...], float]:
        """Variance of each wanted table estimated from a shaped report times n, summed
        over its cells.

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
        """Return A with C A = B' for a shaped report, of least variance at the nominal
        frequencies; else None.

        C is the matrix of the report, B that of a table of some answers, by their
        indices.
        """
        channel = self.mechanism.channel()
        wanted = statistic_rows(self.table.sizes, axes, self.rows)
        for cutoff in CUTOFFS:
            inverse = least_squares_inverse(channel, self.nominal @ channel, cutoff)
            coefficients = inverse @ wanted.T
            if np.abs(channel @ coefficients - wanted.T).max() <= MAX_BIAS:
                return np.asarray(coefficients)
        return None

    # Privacy --------------------------------------------------------------------------

    @cached_property
    def answer_leakage(self) -> AnswerLeakage:
        """Leakages of a shaped report about the answers beyond the totals, in nats,
        rounded up.
        """
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
        """Return the largest change of a shaped report's log-likelihood when one answer
        changes, for each.
        """
        sources = self.table.sources
        sizes = self.table.sizes
        changes = dict.fromkeys(sources, 0.0)
        for limit in answer_limits(sources, sizes, [0.0] * len(sizes)):
            realised = log_above(realised_ratio(self.mechanism.thresholds, limit))
            changes[limit.name] = max(changes[limit.name], realised)
        return list(changes.values())

    def given_answers(self, known: int) -> float:
        """Return the largest leakage of a shaped report about an answer given the
        values of `known` other answers.

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
        """Return P(shaped report | some answers), one axis per answer; NaN for answers
        without records.
        """
        sizes = self.table.sizes
        table = self.table.counts.astype(np.float64).reshape(sizes)
        channel = self.mechanism.channel()
        drop = tuple(axis for axis in range(len(sizes)) if axis not in kept)
        weighted = (table[..., None] * channel.reshape(*sizes, -1)).sum(axis=drop)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(weighted / table.sum(axis=drop)[..., None])

    def _worst_xor(self) -> tuple[float, tuple[str, ...]]:
        """Return the largest leakage of a shaped report about the exclusive or of at
        least two answers, and of which.

        An answer of more than two values enters as the question whether it is a certain
        value.
        """
        counts = self.table.counts.astype(np.float64)
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
        """Return a leakage of a shaped report rounded up, by what its sums may err."""
        return round_up(leakage, 8 * self.mechanism.k + 64)


def _largest_log_ratio(lines: Floats) -> float:
    """Return the largest log-ratio of a shaped report along the first axis, NaN (not
    occurring) excluded.
    """
    values = np.moveaxis(lines, 0, -1)
    return float(
        largest_log_ratio(values, values, np.array([0]), 0.0, ~np.isnan(values))[0]
    )


# Wanted tables ------------------------------------------------------------------------


def table_rows(sizes: Sequence[int], axes: Sequence[int]) -> Floats:
    """Return the 0/1 matrix that sums a shaped report's cells of all answers to cells
    of a table of some answers.
    """
    codes = np.array(list(np.ndindex(*sizes)))[:, list(axes)]
    shape = [sizes[axis] for axis in axes]
    index = np.ravel_multi_index(codes.T, shape)
    return np.asarray(index == np.arange(math.prod(shape))[:, None], dtype=np.float64)


def statistic_rows(
    sizes: Sequence[int], axes: tuple[int, ...], rows: Mapping[int, Floats]
) -> Floats:
    """Return the matrix from a shaped report's cells of all answers to a wanted table,
    or to a statistic of one.
    """
    table = table_rows(sizes, axes)
    return (
        np.asarray(rows[axes[0]] @ table)
        if len(axes) == 1 and axes[0] in rows
        else table
    )
