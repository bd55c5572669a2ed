"""Sums over the reports of one form, whatever its channel, by groups of reports."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.collection.matrix_estimates import MatrixEstimator
from seepage.collection.report_source import open_reports
from seepage.collection.report_sums import MOST_GROUPS, ReportSums, sum_reports
from seepage.errors import InputError
from seepage.plan.form import REPORT, MatrixChannel
from seepage.plan.plan import Plan


class MatrixSums:
    """How often each report of a matrix form occurs, by groups of reports.

    Parameters
    ----------
    estimator
        Turns them into estimates.
    counts
        One row per group and one column per report.
    """

    def __init__(self, estimator: MatrixEstimator, counts: Floats) -> None:
        self.estimator = estimator
        self.counts = counts

    @cached_property
    def sizes(self) -> Floats:
        """The number of reports in each group."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def records(self) -> int:
        """The number of reports."""
        return round(float(self.sizes.sum()))

    def marginal(self, name: str) -> Floats:
        """Return the sum over each group of the unbiased one-hot vectors, shape (groups, k)."""
        return np.asarray(self.counts @ self._told(name))

    def joint(self, first: str, second: str) -> Floats:
        """Return the same of both attributes, shape (groups, k of first, k of second)."""
        shape = [self.estimator.size(name) for name in (first, second)]
        return np.asarray(self.counts @ self._told(first, second)).reshape(-1, *shape)

    def terms(self, target: str, source: str) -> tuple[Floats, Floats, Floats]:
        """Return the sums of the two and of the target by group, and the groups' sizes."""
        return self.joint(target, source), self.marginal(target), self.sizes

    def _told(self, *names: str) -> Floats:
        found = self.estimator.coefficients(*names)
        if found is None:
            raise InputError(f"the reports do not tell {' and '.join(map(repr, names))}")
        return found


FormSums = ReportSums | MatrixSums


def sum_form(plan: Plan, reports: Any, place: int, names: Iterable[str] | None = None) -> FormSums:
    """Return the sums over the reports of one form.

    Parameters
    ----------
    plan, reports
        The plan and its reports.
    place
        The place of the form.
    names
        The attributes, for a product; by default all whose reports tell anything.
    """
    channel = plan.forms[place].channel
    if not isinstance(channel, MatrixChannel):
        return sum_reports(plan, reports, names, place)
    source, estimator = open_reports(plan, reports), MatrixEstimator(plan, channel)
    groups = min(MOST_GROUPS, int(source.people[place]))
    counts, begin = np.zeros((groups, estimator.outputs)), 0
    for (batch,) in source.batches([REPORT], place):
        values = batch.below(estimator.outputs)  # type: ignore[attr-defined]
        group = (begin + np.arange(len(values))) % groups
        cells = np.bincount(group * estimator.outputs + values, minlength=counts.size)
        counts += cells.reshape(counts.shape)
        begin += len(values)
    return MatrixSums(estimator, counts)
