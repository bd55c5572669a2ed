"""Estimates of several forms combined by inverse variance.

Each form that asks for an attribute gives an unbiased estimate of its frequencies from its own
people.  The estimates are weighted by

    n_f / v(f),

n_f the number of people with form f and v(f) the variance of one report's estimate, noise and
sampling together, summed over the values at nominal frequencies.  The plan states these, and they
were fixed before the collection, so the weights do not depend on the reports and the weighted mean
is unbiased; if the true frequencies are the nominal ones, its summed variance is minimal and
precisions add: 1/v = sum_f n_f / v(f).

The standard error is that of the mean over the n people who reported.  Given these people, forms
are assigned at random, which adds to the variance of a frequency f, besides the noise,

    f (1 - f) n / (n - 1) (sum_f w_f^2 / n_f - 1 / n),   w the weights,

the variance of a weighted mean over disjoint random samples of a finite population [Cochran 1977,
chapter 2]; it is 0 if everyone is asked.

The same formula predicts the variance of a plan before the collection: v / n for n people drawn
from the population, with 1 / v = sum_f s_f / v(f) and s_f the share of form f.
"""

import math
from collections.abc import Sequence
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from seepage._numerics import Floats, nearest_distribution
from seepage.designs.equal_budgets import equal_split
from seepage.mechanisms import Estimate, Mechanism, best_mechanism
from seepage.mechanisms.exact_probabilities import CERTAIN
from seepage.mechanisms.transition_matrix import IDENTITY_TOLERANCE, least_squares_inverse
from seepage.plan.form import MatrixChannel, Unbounded, build_mechanism
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import Alternative

NORMAL = 1.96
"""Half-width of a 95 % interval, in standard errors."""


class FormEstimate(NamedTuple):
    """Estimated frequencies from the reports of one form.

    Parameters
    ----------
    frequencies
        Unbiased estimates of the frequencies among the form's people.
    noise
        Their variances, given the form's people.
    records
        The number of people with the form.
    unit_variance
        v(f): the variance of one report's estimate, summed over values, at nominal frequencies.
    """

    frequencies: Floats
    noise: Floats
    records: int
    unit_variance: float


def nominal_frequencies(plan: Plan, name: str) -> Floats:
    """Return the nominal frequencies of an attribute; uniform if the plan has none."""
    planned = plan[name]
    size = planned.attribute.size
    return np.array(planned.frequencies) if planned.frequencies else np.full(size, 1.0 / size)


def informative_mechanisms(plan: Plan, index: int) -> dict[str, Mechanism]:
    """Return the mechanisms of a product form whose reports carry information, in plan order."""
    mechanisms = plan.channels[index]
    names = [name for name in plan.domain.names if name in mechanisms]
    return {name: mechanisms[name] for name in names if mechanisms[name].informative}


def form_weights(estimates: Sequence[FormEstimate]) -> Floats:
    """Return the weight of each form, n_f / v(f), normalised to sum 1.

    If all v(f) are 0 (an attribute with one value), weights are proportional to n_f.
    """
    precisions = np.array([e.records / max(e.unit_variance, 1e-300) for e in estimates])
    return np.asarray(precisions / precisions.sum())


def combine(
    estimates: Sequence[FormEstimate], people: int, *, consistent: bool = False
) -> Estimate:
    """Return the weighted mean of the forms' estimates, with its standard errors.

    Parameters
    ----------
    estimates
        The estimate of each form.
    people
        The number of people who reported, over all forms.
    consistent
        Project the frequencies onto the nearest distribution.

    Examples
    --------
    >>> estimates = [
    ...     FormEstimate(np.array([0.4, 0.6]), np.array([0.01, 0.01]), 100, 2.0),
    ...     FormEstimate(np.array([0.6, 0.4]), np.array([0.01, 0.01]), 300, 2.0),
    ... ]
    >>> combine(estimates, 400).frequencies.round(6).tolist()
    [0.55, 0.45]
    """
    weights = form_weights(estimates)
    weighted = list(zip(weights, estimates, strict=True))
    frequencies = np.sum([w * estimate.frequencies for w, estimate in weighted], axis=0)
    noise = np.sum([w**2 * estimate.noise for w, estimate in weighted], axis=0)
    asked = np.array([estimate.records for estimate in estimates])
    share = np.clip(frequencies, 0.0, 1.0)
    excess = max(0.0, float((weights**2 / asked).sum()) - 1.0 / people)
    assignment = share * (1.0 - share) * people / max(1, people - 1) * excess
    if consistent:
        frequencies = nearest_distribution(frequencies)
    return Estimate(frequencies, np.sqrt(noise + assignment), int(asked.sum()), consistent)


def report_variance(mechanism: Mechanism, nominal: Floats) -> float:
    """Return v(f) of a mechanism: variance of one report's estimate, summed over values."""
    return max(0.0, float(mechanism.variance(1, nominal).sum() + 1.0 - nominal @ nominal))


def marginal_estimate(
    plan: Plan, name: str, mechanism: Mechanism, frequencies: Floats, records: int
) -> FormEstimate:
    """Return a form's estimate of an attribute, with the mechanism's closed-form variance."""
    noise = mechanism.variance(records, np.clip(frequencies, 0.0, 1.0))
    unit_variance = report_variance(mechanism, nominal_frequencies(plan, name))
    return FormEstimate(frequencies, noise, records, unit_variance)


def joint_estimate(
    plan: Plan,
    names: Sequence[str],
    mechanisms: Sequence[Mechanism],
    joint: Floats,
    marginals: Sequence[Floats],
    records: int,
) -> FormEstimate:
    """Return a form's estimate of the joint frequencies of two attributes, in row-major order.

    Notes
    -----
    The estimates are means of X^_u Y^_v over all reports.  Given the people, the variance of a
    cell is (M[u, v] - F[u, v]) / n, with M the mean of the second moment s(u) t(v): s is
    1 + Var(X^_u given u) for people with the value u and Var(X^_u given another) for others, from
    the mechanism's own closed form; t likewise.
    """
    noise = _joint_variances(mechanisms, joint, marginals) / records
    nominal = [nominal_frequencies(plan, name) for name in names]
    product = np.outer(*nominal)
    noise_alone = _joint_variances(mechanisms, product, nominal).sum()
    unit_variance = float(noise_alone + 1.0 - (product**2).sum())
    return FormEstimate(joint.ravel(), noise.ravel(), records, unit_variance)


def _joint_variances(
    mechanisms: Sequence[Mechanism], joint: Floats, marginals: Sequence[Floats]
) -> Floats:
    """Return the variance of X^_u Y^_v of one report, for given joint and marginal frequencies."""
    rows, columns = (np.clip(marginal, 0.0, 1.0) for marginal in marginals)
    cells = np.clip(joint, 0.0, 1.0)
    row = np.maximum(rows[:, None], cells)
    column = np.maximum(columns[None, :], cells)
    neither = np.clip(1.0 - row - column + cells, 0.0, 1.0)
    (s_own, s_other), (t_own, t_other) = (_second_moments(mechanism) for mechanism in mechanisms)
    second_moment = (
        cells * s_own * t_own
        + (row - cells) * s_own * t_other
        + (column - cells) * s_other * t_own
        + neither * s_other * t_other
    )
    return np.asarray(np.maximum(second_moment - cells, 0.0))


def _second_moments(mechanism: Mechanism) -> tuple[float, float]:
    """Return E[X^_u^2] for people with the value u, and for people with another value."""
    own, other = (float(np.mean(mechanism.variance(1, share))) for share in (1.0, 0.0))
    return 1.0 + own, other


class MatrixEstimator:
    """Weighted least squares estimates from the reports of one matrix form.

    With C the channel from cells of answers to reports, and D the diagonal of report probabilities
    at nominal frequencies, A = D^-1/2 (C D^-1/2)^+ B' has C A = B': A[y] is an unbiased estimate of
    the marginal B from one report y.

    Parameters
    ----------
    plan
        The plan.
    channel
        The channel of the form.
    """

    def __init__(self, plan: Plan, channel: MatrixChannel) -> None:
        self.values = {name: plan.domain[name].size for name in channel.attributes}
        self._channel = channel.mechanism.channel()
        if channel.frequencies:
            self._cells = np.array(channel.frequencies)
        else:
            nominal = [nominal_frequencies(plan, name) for name in self.values]
            self._cells = np.asarray(reduce(np.multiply.outer, nominal)).ravel()

    @cached_property
    def _inverse(self) -> Floats:
        """D^-1/2 (C D^-1/2)^+, one row per report and one column per cell."""
        return least_squares_inverse(self._channel, self._cells @ self._channel)

    def marginal_matrix(self, *names: str) -> Floats:
        """Return B, the 0-1 matrix that sums cells of all answers to cells of some attributes."""
        codes = np.unravel_index(np.arange(len(self._cells)), tuple(self.values.values()))
        of_name = dict(zip(self.values, codes, strict=True))
        shape = [self.values[name] for name in names]
        cells = np.ravel_multi_index([of_name[name] for name in names], shape)
        return np.asarray(cells == np.arange(np.prod(shape))[:, None], dtype=np.float64)

    def coefficients(self, *names: str) -> Floats | None:
        """Return A, one row per report and one column per cell of some attributes.

        None if C A = B' has no solution, so that no unbiased estimate exists.
        """
        marginal = self.marginal_matrix(*names).T
        estimator = self._inverse @ marginal
        exact = np.abs(self._channel @ estimator - marginal).max() <= IDENTITY_TOLERANCE
        return np.asarray(estimator) if exact else None

    def unit_variance(self, *names: str) -> float:
        """Return v(f): the variance of one report's estimate, summed, at nominal frequencies."""
        coefficients = self.coefficients(*names)
        if coefficients is None:
            return np.inf
        nominal = self.marginal_matrix(*names) @ self._cells
        second = float((self._cells @ self._channel) @ (coefficients**2).sum(axis=1))
        return second - float(nominal @ nominal)


def expected_variances(plan: Plan) -> dict[str, float]:
    """Return v of each collected attribute; infinity if it cannot be estimated from the reports.

    Parameters
    ----------
    plan
        The plan.

    Examples
    --------
    >>> import seepage as sp
    >>> people = sp.make_survey(1_000).select(["coffee", "sleep"])
    >>> found = sp.find_design(people, 1.0)
    >>> plan = sp.design(people, 1.0)
    >>> again = [v / 1_000 for v in expected_variances(plan).values()]
    >>> bool(np.allclose(again, found.errors))
    True
    """
    precisions = dict.fromkeys(plan.collected.names, 0.0)
    for index, form in enumerate(plan.forms):
        for name, variance in _unit_variances(plan, index).items():
            precisions[name] += form.chance / CERTAIN / variance if variance > 0 else math.inf
    return {name: 1 / p if p else math.inf for name, p in precisions.items()}


def _unit_variances(plan: Plan, index: int) -> dict[str, float]:
    """Return v(f) of each attribute that a form asks for."""
    channel, mechanisms = plan.forms[index].channel, plan.channels[index]
    if isinstance(channel, MatrixChannel):
        estimator = MatrixEstimator(plan, channel)
        return {name: estimator.unit_variance(name) for name in channel.attributes}
    return {
        name: report_variance(m, nominal_frequencies(plan, name)) for name, m in mechanisms.items()
    }


def half_width(variance: float, values: int, people: int) -> float:
    """Return the half-width of a 95 % interval of a frequency: root mean square over the values.

    Parameters
    ----------
    variance
        v, summed over the values.
    values
        The number of values.
    people
        The number of people who are asked.

    Notes
    -----
    1.96 sqrt(v / (k n)).  For two values it is the half-width of either.

    Examples
    --------
    >>> round(half_width(0.5, 2, 10_000), 6)
    0.0098
    """
    return NORMAL * math.sqrt(variance / (values * people))


def alternatives(plan: Plan) -> tuple[Alternative, ...]:
    """Return other strategies within the plan's limits: those the plan states, else SPL and SMP.

    Both hold for any data: the equal split by sequential composition, and a single report with the
    smallest limit as its budget.  Empty for a plan without limits, or with public attributes, which
    leak besides.
    """
    if plan.alternatives:
        return plan.alternatives
    limits = [planned.limit for planned in plan.attributes if planned.limit is not None]
    asked = plan.collected.names
    public = any(planned.public for planned in plan.attributes)
    if not limits or min(limits) <= 0 or public or len(asked) < 2:
        return ()
    limit, count = min(limits), len(asked)
    return (
        Alternative(
            name="equal split (SPL)",
            rests_on="worst",
            certified=True,
            variances=_variances(plan, equal_split(limit, count), 1),
        ),
        Alternative(
            name="one random attribute each (SMP)",
            rests_on="one report with epsilon = limit",
            certified=True,
            variances=_variances(plan, limit, count),
        ),
    )


def _variances(plan: Plan, epsilon: float, one_in: int) -> dict[str, Unbounded]:
    """Return v of each attribute if one person in `one_in` reports it with budget epsilon."""
    variances = dict[str, Unbounded]()
    for attribute in plan.collected:
        nominal = nominal_frequencies(plan, attribute.name)
        name = best_mechanism(attribute.size, epsilon)
        mechanism = build_mechanism(name, attribute.size, epsilon, 0.0, {})
        variances[attribute.name] = one_in * report_variance(mechanism, nominal)
    return variances
