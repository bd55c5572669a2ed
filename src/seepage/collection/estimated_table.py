"""Estimated tables of attributes that a form asks for together, and what follows from
them.

The cells of a table t have an unbiased estimate with its covariance [`cell_sums`].
A smooth function g of t has standard error sqrt(grad g' Sigma grad g) (delta method);
intervals are in `estimated_cells`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.nearest_distribution import nearest_distribution
from seepage._core.results import json_ready
from seepage.channel.domain import Attribute
from seepage.collection.cell_sums import sum_table
from seepage.collection.estimated_cells import (
    NORMAL_QUANTILE,
    Estimated,
    EstimatedCells,
    IndependenceTest,
    Labels,
    as_labels,
    as_texts,
)
from seepage.collection.frequencies import score_error
from seepage.collection.ratio_intervals import SharePair, ratio_intervals, within_unit
from seepage.collection.report_files import open_reports
from seepage.designs.want import attribute_scores, warn_of_midpoints
from seepage.plan.plan_content import PlanContent
from seepage.plan.report_vectors import joint_variances, summing_matrix
from seepage.tables.labels import value_label

JOINT_SHARE = 0.1
"""Share of the people who would be asked for attributes together, in the price of doing
so."""


@dataclass(frozen=True, eq=False, repr=False)
class Table(EstimatedCells):
    """An estimated table: the frequency of every combination of values, with its
    covariance.

    Parameters
    ----------
    what, attributes, values, standard_errors, intervals
        See `EstimatedCells`: unbiased estimates, so they may be negative and need not
        sum to 1.
    covariance
        The covariance of the estimates, for the population.
    people
        The number of people who answered each form that asks for the attributes, by its
        number.
    effective
        The effective number of people with the weights of people and forms.

    Examples
    --------
    >>> import seepage as sp
    >>> survey = sp.make_survey(20_000).select(["coffee", "sleep"])
    >>> plan = sp.design(survey, 3.0, want="coffee x sleep", effort=0.05)
    >>> table = plan.table(plan.perturb(survey, rng=1), "sleep", by="coffee")
    >>> share = table.shares()[survey["sleep"][0].as_py(), survey["coffee"][0].as_py()]
    >>> share.interval[0] < share.value < share.interval[1]
    True
    """

    covariance: Floats
    people: Mapping[int, int]
    effective: float

    @property
    def records(self) -> int:
        """The number of reports that a table is estimated from."""
        return sum(self.people.values())

    @property
    def frequencies(self) -> Floats:
        """The estimated table itself, one axis per attribute."""
        return self.values.reshape(self._shape)

    @property
    def equivalent_people(self) -> float:
        """Number of people whose unperturbed answers would give a table of the same
        precision.

        The variance of unperturbed answers, summed over the cells, over that of the
        estimates.
        """
        shares = np.clip(self.values, 0.0, 1.0)
        total = float(np.trace(self.covariance))
        if total <= 0:
            return float("inf")
        unperturbed = max(0.0, float(1.0 - shares @ shares))
        return unperturbed / total

    def _headline(self) -> str:
        """Return an estimated table in one line."""
        names = " by ".join(attribute.name for attribute in self.attributes)
        clear = f"as precise as {self.equivalent_people:,.0f} unperturbed answers"
        return f"Table({names}, {self.records:,} reports, {clear})"

    def to_dict(self) -> dict[str, Any]:
        """Return the estimated table as JSON-compatible data."""
        return {
            **super().to_dict(),
            "covariance": json_ready(self.covariance),
            "people_by_form": {str(form): count for form, count in self.people.items()},
            "equivalent_people": json_ready(self.equivalent_people),
        }

    def consistent(self) -> EstimatedCells:
        """Return the distribution nearest to the estimated table: not below 0, sum 1;
        errors are those of the estimates.

        It is biased where frequencies are near 0.
        """
        nearest = nearest_distribution(self.values)
        return EstimatedCells(
            self.what, self.attributes, nearest, self.standard_errors, self.intervals
        )

    def _axis(self, name: str) -> int:
        """Return the axis of an attribute in the estimated table."""
        names = [attribute.name for attribute in self.attributes]
        return names.index(checks.choice(name, "attribute", names))

    # Shares and means -----------------------------------------------------------------

    def shares(self, given: Labels | None = None) -> EstimatedCells:
        """Return the share in the estimated table of each combination of the other
        values, given some attributes.

        Parameters
        ----------
        given
            The attributes that are given; by default all but the first.
        """
        names = [attribute.name for attribute in self.attributes]
        if given is None:
            given = names[1:]
        axes = [self._axis(name) for name in as_texts(given, "given")]
        if not axes or len(set(axes)) == len(self.attributes):
            raise InputError(
                "given must be some of the attributes of the table, not all",
                parameter="given",
            )
        others = " and ".join(name for i, name in enumerate(names) if i not in axes)
        what = f"share of {others} given {' and '.join(names[axis] for axis in axes)}"
        groups = summing_matrix(self._shape, axes)
        return self._ratios(
            what, self.attributes, np.eye(len(self.values)), groups.T @ groups
        )

    def _ratios(
        self,
        what: str,
        attributes: tuple[Attribute, ...],
        parts: Floats,
        wholes: Floats,
    ) -> EstimatedCells:
        """Return ratios of two linear functions of the table's cells, one row of
        `parts` and `wholes` each.

        Shares, if every row of `parts` is 0 or 1: the sampling variance then follows
        the share.
        """
        a = parts @ self.values
        m = wholes @ self.values
        ratio = np.divide(a, m, out=np.full_like(a, np.nan), where=m != 0)
        are_shares = bool(np.isin(parts, (0.0, 1.0)).all())
        covariance = self.covariance
        if np.isinf(covariance).any():  # one person: nothing is known of the errors
            errors = np.full_like(ratio, np.inf)
            ends = (0.0, 1.0) if are_shares else (-np.inf, np.inf)
            intervals = np.tile(ends, (len(ratio), 1))
            return EstimatedCells(what, attributes, ratio, errors, intervals)
        aa = _row_products(parts, covariance, parts)
        am = _row_products(parts, covariance, wholes)
        mm = _row_products(wholes, covariance, wholes)
        square = aa - 2.0 * ratio * am + ratio**2 * mm
        errors = np.sqrt(np.maximum(square, 0.0)) / np.abs(np.where(m == 0, np.nan, m))
        sampling = 1.0 / self.effective if are_shares else 0.0
        intervals = ratio_intervals(a, m, aa, am, mm, sampling=sampling)
        if are_shares:
            intervals = within_unit(intervals)
        return EstimatedCells(what, attributes, ratio, errors, intervals)

    def mean(self, name: str, *, given: Labels = (), scores: Any = None) -> Any:
        """Return the mean of a numeric attribute of the estimated table, or its mean
        given others as `EstimatedCells`.

        Parameters
        ----------
        name
            The attribute.
        given
            Attributes in whose groups means are taken; by default everybody.
        scores
            One number for each value; by default the values as numbers, the means
            within intervals on the part that fixed them, whose errors widen the
            intervals, or the midpoints of bins.
        """
        axis = self._axis(name)
        numbers = attribute_scores(self.attributes[axis], scores)
        axes = [self._axis(other) for other in as_texts(given, "given")]
        if axis in axes:
            raise InputError(f"given must not have {name!r}, of which it is the mean")
        if scores is None:
            warn_of_midpoints(self.attributes[axis], numbers)
        codes = np.indices(self._shape)[axis].ravel()
        what = f"mean of {name}"
        if not axes:
            everybody = np.ones((1, len(self.values)))
            means = self._ratios(what, (), everybody * numbers[codes], everybody)
            return self._widened(means, axis, numbers, everybody)._number(0)
        groups = summing_matrix(self._shape, axes)
        attributes = tuple(self.attributes[other] for other in axes)
        what += f" given {' and '.join(attribute.name for attribute in attributes)}"
        means = self._ratios(what, attributes, groups * numbers[codes], groups)
        return self._widened(means, axis, numbers, groups)

    def _widened(
        self, means: EstimatedCells, axis: int, scores: Floats, groups: Floats
    ) -> EstimatedCells:
        """Return means from the estimated table with the errors of the scores of an
        attribute's values.
        """
        attribute = self.attributes[axis]
        cells = groups * self.values
        by_value = summing_matrix(self._shape, [axis])
        totals = cells.sum(axis=1)
        errors = np.zeros(len(totals))
        for group, total in enumerate(totals.tolist()):
            if total > 0:
                shares = by_value @ cells[group] / total
                errors[group] = score_error(attribute, scores, shares)
        if not errors.any():
            return means
        further = (NORMAL_QUANTILE * errors)[:, None]
        middle = means.values[:, None]
        widths = np.hypot(means.intervals - middle, further)
        intervals = middle + widths * np.array([-1.0, 1.0])
        return replace(
            means,
            standard_errors=np.hypot(means.standard_errors, errors),
            intervals=intervals,
        )

    # Comparisons of two groups --------------------------------------------------------

    def difference(self, value: Any = None, groups: Sequence[Labels] = ()) -> Estimated:
        """Return the share of a value of the table's first attribute in one group minus
        that in another.

        Parameters
        ----------
        value
            A value of the first attribute, as text or number; by default the last of
            two.
        groups
            Two groups, each by its values of the other attributes; by default the last
            and the first of two.
        """
        return self._compared(value, groups, _difference)

    def ratio(self, value: Any = None, groups: Sequence[Labels] = ()) -> Estimated:
        """Return the share of a value in one group of the table over that in another;
        see `difference`.
        """
        return self._compared(value, groups, _ratio, bounded=True)

    def odds_ratio(self, value: Any = None, groups: Sequence[Labels] = ()) -> Estimated:
        """Return the odds of a value in one group of the table over those in another;
        see `difference`.
        """
        return self._compared(value, groups, _odds_ratio, bounded=True)

    def _compared(
        self,
        value: Any,
        groups: Any,
        function: Callable[[Any, Any], Any],
        bounded: bool = False,
    ) -> Estimated:
        """Return a function of the shares of a value in two groups of the estimated
        table.
        """
        self._check_errors_are_known()
        value, groups = self._value_and_groups(value, groups)
        code = self.attributes[0].code(value_label(value))
        parts = np.zeros((4, *self._shape))
        for row, group in enumerate(groups):
            cell = self._group_cell(group)
            parts[2 * row][(code, *cell)] = 1.0
            parts[2 * row + 1][(slice(None), *cell)] = 1.0
        flat = parts.reshape(4, -1)
        pair = SharePair(
            flat @ self.values, flat @ self.covariance @ flat.T, 1.0 / self.effective
        )
        return pair.function(function, bounded)

    def _check_errors_are_known(self) -> None:
        """Raise for a table from the reports of one person, whose covariance is
        infinite.
        """
        if np.isinf(self.covariance).any():
            raise InputError(
                "the reports of one person have no standard errors; "
                "two people are needed at least"
            )

    def _value_and_groups(self, value: Any, groups: Any) -> tuple[Any, list[Any]]:
        """Return the value and the two groups of a table's comparison, by default those
        of two.
        """
        outcome = self.attributes[0]
        others = self.attributes[1:]
        groups = checks.items(groups, "groups")
        if value is None and outcome.size == 2:
            value = outcome.values[1]
        if not groups and len(others) == 1 and others[0].size == 2:
            groups = list(others[0].values[::-1])
        if value is None or len(groups) != 2:
            raise InputError(
                "a comparison needs a value of the first attribute and two groups, as "
                "in difference('yes', ['high', 'low'])"
            )
        return value, groups

    def _group_cell(self, group: Labels) -> tuple[int, ...]:
        """Return the codes of a group's values of the table's other attributes."""
        others = self.attributes[1:]
        labels = as_labels(group, "each of groups")
        if len(labels) != len(others):
            raise InputError(
                f"a group must have one value of each other attribute, got {group!r}"
            )
        labelled = zip(others, labels, strict=True)
        return tuple(attribute.code(label) for attribute, label in labelled)

    # Association ----------------------------------------------------------------------

    def test(self) -> IndependenceTest:
        """Return the Wald test that the two attributes of the estimated table are
        independent.
        """
        from scipy.special import chdtrc

        self._check_errors_are_known()
        if len(self.attributes) != 2:
            raise InputError(
                "independence is tested in a table of two attributes, got "
                f"{len(self.attributes)}"
            )
        t = self.frequencies
        total = float(self.values.sum())
        rows = t.sum(axis=1) / total
        columns = t.sum(axis=0) / total
        identity = np.eye(len(self.values)).reshape(-1, *self._shape)
        gradient = (
            identity
            - identity.sum(axis=2)[:, :, None] * columns
            - rows[:, None] * identity.sum(axis=1)[:, None, :]
        )[:, :-1, :-1].reshape(len(self.values), -1)
        departures = (t / total - np.outer(rows, columns))[:-1, :-1].ravel()
        inverse = np.linalg.pinv(gradient.T @ self.covariance @ gradient)
        statistic = float(departures @ inverse @ departures)
        degrees = len(departures)
        return IndependenceTest(statistic, degrees, float(chdtrc(degrees, statistic)))


def _row_products(left: Floats, covariance: Floats, right: Floats) -> Floats:
    """Return l' V r of each row l of `left` and r of `right`, V a table's
    covariance.
    """
    products = np.einsum("ij,jk,ik->i", left, covariance, right, optimize=True)
    return np.asarray(products)


def _difference(share: Any, other: Any) -> Any:
    """Return the difference of two shares of a table."""
    return share - other


def _ratio(share: Any, other: Any) -> Any:
    """Return the ratio of two shares of a table."""
    return share / other


def _odds_ratio(share: Any, other: Any) -> Any:
    """Return the odds ratio of two shares of a table."""
    return share * (1.0 - other) / ((1.0 - share) * other)


def estimate_table(
    plan: PlanContent, reports: Any, names: Labels, by: Labels, weights: Any
) -> Table:
    """Return the estimated table of attributes that some form asks for together.

    Parameters
    ----------
    plan, reports
        The plan; and the table that `perturb` returned, or the path of a file of
        reports.
    names, by
        The attributes, and those that are given in shares and comparisons.
    weights
        Survey weights: a column beside the reports, or one number per report.
    """
    together = [*as_texts(names, "names"), *as_texts(by, "by")]
    asked = [plan.collected[name].name for name in together]
    if not asked or len(set(asked)) < len(asked):
        raise InputError(
            f"the attributes of a table must be different, got {', '.join(asked)}"
        )
    check_asked_together(plan, asked)
    source = open_reports(plan, reports)
    sums = sum_table(plan, source, asked, weights)
    people = {form + 1: count for form, count in sums.people.items() if count}
    attributes = tuple(plan.domain[name] for name in asked)
    values = sums.mean
    variances = np.diag(sums.covariance)
    zeros = np.zeros(len(sums.mean))
    intervals = ratio_intervals(
        values, zeros + 1.0, variances, zeros, zeros, sampling=1.0 / sums.effective
    )
    return Table(
        what=f"frequency of {' and '.join(asked)}",
        attributes=attributes,
        values=values,
        standard_errors=np.sqrt(np.maximum(variances, 0.0)),
        intervals=within_unit(intervals),
        covariance=sums.covariance,
        people=people,
        effective=sums.effective,
    )


def check_asked_together(plan: PlanContent, names: Sequence[str]) -> None:
    """Raise where no form asks for all these attributes, with the price of asking them
    together.

    The price is computed for the form of these attributes alone that keeps the smallest
    limit for any data [`joint_variances`], asked of `JOINT_SHARE` of the people.
    """
    if any(set(names) <= set(form.attributes) for form in plan.forms):
        return
    both = "all of"
    if len(names) == 2:
        both = "both"
    together = f"no form asks for {both} {' and '.join(map(repr, names))}"
    option = f"design with want {' x '.join(names)!r}"
    limits = [planned.limit for planned in plan.attributes if planned.limit]
    people = plan.provenance.records
    if not limits or not people:
        raise InputError(
            f"{together}, so their table cannot be estimated; {option} asks for them"
        )
    variance = float(joint_variances(plan, names).max()) / (JOINT_SHARE * people)
    raise InputError(
        f"{together}; {option} would: {JOINT_SHARE:.0%} of {people:,} people asked for "
        f"them alone within limit {min(limits):g}, whoever they are, give every cell "
        f"of independent attributes within {100 * NORMAL_QUANTILE * variance**0.5:.2g} "
        "points, and the variance of other estimates rises by "
        f"{1 / (1 - JOINT_SHARE) - 1:.0%}; where the data allow it, design finds better"
    )
