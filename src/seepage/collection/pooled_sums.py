"""What the reports of all forms say about attributes and pairs of attributes.

Forms have different people, so estimates are combined by inverse variance at nominal frequencies
[`form_estimates`]; where the spread between groups of reports gives the precision, the groups of
all forms that ask for a pair stand side by side, each weighted alike.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.collection.form_estimates import (
    FormPart,
    MatrixEstimator,
    combine,
    nominal_frequencies,
)
from seepage.collection.report_source import open_reports
from seepage.collection.report_sums import MOST_GROUPS, ReportSums, sum_reports
from seepage.data.domain import Attribute
from seepage.errors import InputError
from seepage.mechanisms import Estimate, Mechanism
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


class PooledSums:
    """Sums over the reports of each form.

    Parameters
    ----------
    plan
        The plan.
    forms
        The sums of each form that people have and whose reports tell anything, by its place.
    records
        The number of all people who reported.
    """

    def __init__(self, plan: Plan, forms: Mapping[int, FormSums], records: int) -> None:
        self._plan = plan
        self.forms = dict(forms)
        self.records = records

    @property
    def told(self) -> list[str]:
        """The attributes that some reports tell, in the order of the domain."""
        return [name for name in self._plan.domain.names if self._parts_of(name)]

    def marginal(self, name: str) -> Estimate:
        """Return the estimated frequencies of an attribute."""
        return combine(self._parts_of(name), self.records)

    def _parts_of(self, name: str) -> list[FormPart]:
        found = [marginal_part(self._plan, sums, name) for sums in self.forms.values()]
        return [part for part in found if part is not None]

    def joint_parts(self, first: Attribute, second: Attribute) -> list[FormPart]:
        """Return what each form says about the joint frequencies of two attributes."""
        return [part for _, part in self._both(first, second)]

    def _both(self, first: Attribute, second: Attribute) -> list[tuple[FormSums, FormPart]]:
        found = [
            (sums, joint_part(self._plan, sums, first, second)) for sums in self.forms.values()
        ]
        return [(sums, part) for sums, part in found if part is not None]

    def terms(self, target: str, source: str) -> tuple[Floats, Floats, Floats]:
        """Return the sums of the two and of the target by group, and the groups' sizes.

        The groups of all forms that ask for both, each weighted by 1 / v(f).
        """
        both = self._both(self._plan.domain[target], self._plan.domain[source])
        least = min(part.spread for _, part in both)
        weights = [least / part.spread if part.spread else 1.0 for _, part in both]
        scaled = [
            [weight * term for term in sums.terms(target, source)]
            for weight, (sums, _) in zip(weights, both, strict=True)
        ]
        joint, marginal, sizes = (np.concatenate(terms) for terms in zip(*scaled, strict=True))
        return joint, marginal, sizes


def pool_reports(
    plan: Plan, reports: Any, places: Iterable[int], names: Iterable[str] | None = None
) -> PooledSums:
    """Return the sums over the reports of some forms.

    Parameters
    ----------
    plan, reports
        The plan and its reports.
    places
        The places of the forms.
    names
        The attributes; by default all, and forms whose reports tell nothing are left out.
    """
    source = open_reports(plan, reports)
    answered = [place for place in places if source.people[place]]
    if not answered:
        raise InputError("there is no estimate without reports, got none")
    chosen = None if names is None else list(names)
    telling = [place for place in answered if _tells(plan, place, chosen)]
    if not telling and chosen is None:
        raise InputError("reports at epsilon 0 carry no information, so nothing is estimated")
    sums = {place: sum_form(plan, source, place, chosen) for place in telling or answered}
    return PooledSums(plan, sums, source.records)


def _tells(plan: Plan, place: int, names: Sequence[str] | None) -> bool:
    """Return whether the reports of a form tell all of these attributes, or any one."""
    made = plan.channels[place]
    if not plan.forms[place].is_product:
        return True
    if names is None:
        return any(mechanism.informative for mechanism in made.values())
    return all(made[name].informative for name in names)


def marginal_part(plan: Plan, sums: FormSums, name: str) -> FormPart | None:
    """Return what one form says about the frequencies of an attribute; None for nothing."""
    if isinstance(sums, MatrixSums):
        asked = name in sums.estimator.names
        return sums.estimator.part((name,), sums.counts.sum(axis=0)) if asked else None
    if name not in sums.mechanisms:
        return None
    made, nominal = sums.mechanisms[name], nominal_frequencies(plan, name)
    frequencies = sums.marginal(name).sum(axis=0) / sums.records
    return FormPart(
        frequencies,
        made.variance(sums.records, np.clip(frequencies, 0.0, 1.0)),
        sums.records,
        float(made.variance(1, nominal).sum() + 1.0 - nominal @ nominal),
    )


def joint_part(plan: Plan, sums: FormSums, first: Attribute, second: Attribute) -> FormPart | None:
    """Return what one form says about the joint frequencies of two attributes; None for nothing.

    Notes
    -----
    The mean of X^_u Y^_v over all reports, row by row.  Given the people, the variance of a cell
    is (M[u, v] - F[u, v]) / n, with M the mean of the second moment s(u) t(v): s is
    1 + Var(X^_u given u) for people with the value u and Var(X^_u given another) for others, from
    the mechanism's own closed form; t likewise.
    """
    if isinstance(sums, MatrixSums):
        asked = {first.name, second.name} <= set(sums.estimator.names)
        names = (first.name, second.name)
        return sums.estimator.part(names, sums.counts.sum(axis=0)) if asked else None
    if not {first.name, second.name} <= set(sums.mechanisms):
        return None
    made = sums.mechanisms[first.name], sums.mechanisms[second.name]
    joint = sums.joint(first.name, second.name).sum(axis=0) / sums.records
    rows, columns = (
        sums.marginal(each.name).sum(axis=0) / sums.records for each in (first, second)
    )
    noise = _variances(*made, joint, rows, columns) / sums.records
    likely = [nominal_frequencies(plan, each.name) for each in (first, second)]
    nominal = np.outer(*likely)
    spread = _variances(*made, nominal, *likely).sum() + 1.0 - (nominal**2).sum()
    return FormPart(joint.ravel(), noise.ravel(), sums.records, float(spread))


def _variances(
    first: Mechanism, second: Mechanism, joint: Floats, rows: Floats, columns: Floats
) -> Floats:
    """Return the variance of one report's X^_u Y^_v, for estimated frequencies."""
    cells = np.clip(joint, 0.0, 1.0)
    own = np.maximum(np.clip(rows, 0.0, 1.0)[:, None], cells)
    theirs = np.maximum(np.clip(columns, 0.0, 1.0)[None, :], cells)
    neither = np.clip(1.0 - own - theirs + cells, 0.0, 1.0)
    (hit, miss), (other_hit, other_miss) = _second_moments(first), _second_moments(second)
    second_moment = (
        cells * hit * other_hit
        + (own - cells) * hit * other_miss
        + (theirs - cells) * miss * other_hit
        + neither * miss * other_miss
    )
    return np.asarray(np.maximum(second_moment - cells, 0.0))


def _second_moments(mechanism: Mechanism) -> tuple[float, float]:
    """Return E[X^_u^2] for people with the value u, and for others."""
    own, other = (float(np.mean(mechanism.variance(1, share))) for share in (1.0, 0.0))
    return 1.0 + own, other
