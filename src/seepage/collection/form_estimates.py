"""Estimates of several forms made one.

Each form that asks for an attribute gives an unbiased estimate of its frequencies from its own
people.  They are weighted by

    n_f / v(f),

n_f the number of people with form f and v(f) the variance of one report's estimate, noise and
sampling together, summed over the values at nominal frequencies.  The plan states these, and they
were fixed before the collection, so the weights do not depend on the reports and the weighted mean
is unbiased; where the true frequencies are the nominal ones, its summed variance is the least and
precisions add: 1/v = sum_f n_f / v(f).

The standard error is that of the mean over all n people who reported.  Given these people, who was
given which form is drawn, so that besides the noise a frequency f varies by

    f (1 - f) n / (n - 1) (sum_f w_f^2 / n_f - 1 / n),   w the weights,

the variance of a weighted mean over disjoint random samples of a finite population [Cochran 1977,
chapter 2]; it is 0 where everyone is asked.

Before anybody is asked the same formula tells how precise a plan will be: v / n for n people drawn
from the population, with 1 / v = sum_f s_f / v(f) and s_f the share of form f.
"""

import math
from collections.abc import Sequence
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from seepage._numerics import Floats, nearest_distribution
from seepage.designs.equal_budgets import equal_split
from seepage.mechanisms import Estimate, Mechanism
from seepage.mechanisms.best_mechanism import best_mechanism
from seepage.mechanisms.exact_probabilities import CERTAIN
from seepage.plan.form import MatrixChannel, Unbounded, build_mechanism
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import Alternative

TOLERANCE = 1e-6
"""How far C A may be from B' by rounding; further off, the reports do not tell the marginal."""

NORMAL = 1.96
"""Half the width of a 95 % interval, in standard errors."""


class FormPart(NamedTuple):
    """What the reports of one form say about some frequencies.

    Parameters
    ----------
    frequencies
        Unbiased estimates of the frequencies among the form's people.
    noise
        Their variances, given the form's people.
    records
        The number of people with the form.
    spread
        v(f): the variance of one report's estimate, summed, at nominal frequencies.
    """

    frequencies: Floats
    noise: Floats
    records: int
    spread: float


def nominal_frequencies(plan: Plan, name: str) -> Floats:
    """Return the nominal frequencies of an attribute; all alike where the plan has none."""
    planned = plan[name]
    size = planned.attribute.size
    return np.array(planned.frequencies) if planned.frequencies else np.full(size, 1.0 / size)


def form_weights(parts: Sequence[FormPart]) -> Floats:
    """Return the weight of each form, of sum 1: proportional to n_f / v(f).

    A spread of 0 (an attribute with one value) counts as any other.
    """
    precisions = np.array([part.records / max(part.spread, 1e-300) for part in parts])
    return np.asarray(precisions / precisions.sum())


def combine(parts: Sequence[FormPart], people: int, *, consistent: bool = False) -> Estimate:
    """Return the estimate of all forms together.

    Parameters
    ----------
    parts
        What each form says.
    people
        The number of all people who reported.
    consistent
        Move the frequencies to the nearest distribution.

    Examples
    --------
    >>> parts = [
    ...     FormPart(np.array([0.4, 0.6]), np.array([0.01, 0.01]), 100, 2.0),
    ...     FormPart(np.array([0.6, 0.4]), np.array([0.01, 0.01]), 300, 2.0),
    ... ]
    >>> combine(parts, 400).frequencies.round(6).tolist()
    [0.55, 0.45]
    """
    weights = form_weights(parts)
    frequencies = np.sum([w * part.frequencies for w, part in zip(weights, parts, strict=True)], 0)
    noise = np.sum([w**2 * part.noise for w, part in zip(weights, parts, strict=True)], axis=0)
    asked = np.array([part.records for part in parts])
    share = np.clip(frequencies, 0.0, 1.0)
    unequal = max(0.0, float((weights**2 / asked).sum()) - 1.0 / people)
    drawn = share * (1.0 - share) * people / max(1, people - 1) * unequal
    if consistent:
        frequencies = nearest_distribution(frequencies)
    return Estimate(frequencies, np.sqrt(noise + drawn), int(asked.sum()), consistent)


def report_spread(made: Mechanism, nominal: Floats) -> float:
    """Return v(f) of a mechanism's report: noise and sampling, summed, at nominal frequencies."""
    return max(0.0, float(made.variance(1, nominal).sum() + 1.0 - nominal @ nominal))


def marginal_part(
    plan: Plan, name: str, made: Mechanism, frequencies: Floats, records: int
) -> FormPart:
    """Return what estimated frequencies of an attribute say, with the mechanism's own variance."""
    noise = made.variance(records, np.clip(frequencies, 0.0, 1.0))
    spread = report_spread(made, nominal_frequencies(plan, name))
    return FormPart(frequencies, noise, records, spread)


def joint_part(
    plan: Plan,
    names: Sequence[str],
    made: Sequence[Mechanism],
    joint: Floats,
    marginals: Sequence[Floats],
    records: int,
) -> FormPart:
    """Return what estimated joint frequencies of two attributes say, row by row.

    Notes
    -----
    The estimates are means of X^_u Y^_v over all reports.  Given the people, the variance of a
    cell is (M[u, v] - F[u, v]) / n, with M the mean of the second moment s(u) t(v): s is
    1 + Var(X^_u given u) for people with the value u and Var(X^_u given another) for others, from
    the mechanism's own closed form; t likewise.
    """
    noise = _joint_variances(made, joint, marginals) / records
    likely = [nominal_frequencies(plan, name) for name in names]
    nominal = np.outer(*likely)
    spread = _joint_variances(made, nominal, likely).sum() + 1.0 - (nominal**2).sum()
    return FormPart(joint.ravel(), noise.ravel(), records, float(spread))


def _joint_variances(
    made: Sequence[Mechanism], joint: Floats, marginals: Sequence[Floats]
) -> Floats:
    """Return the variance of one report's X^_u Y^_v, for estimated frequencies."""
    rows, columns = (np.clip(marginal, 0.0, 1.0) for marginal in marginals)
    cells = np.clip(joint, 0.0, 1.0)
    own = np.maximum(rows[:, None], cells)
    theirs = np.maximum(columns[None, :], cells)
    neither = np.clip(1.0 - own - theirs + cells, 0.0, 1.0)
    (hit, miss), (other_hit, other_miss) = (_second_moments(mechanism) for mechanism in made)
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


class MatrixEstimator:
    """Estimates from the reports of one matrix form.

    Parameters
    ----------
    plan
        The plan.
    channel
        The channel of the form.
    """

    def __init__(self, plan: Plan, channel: MatrixChannel) -> None:
        self.names = channel.attributes
        self.sizes = [plan.domain[name].size for name in self.names]
        self._channel = channel.mechanism.channel()
        self.outputs = channel.mechanism.outputs
        if channel.frequencies:
            self._cells = np.array(channel.frequencies)
        else:
            nominal = [nominal_frequencies(plan, name) for name in self.names]
            self._cells = np.asarray(reduce(np.multiply.outer, nominal)).ravel()

    def size(self, name: str) -> int:
        """Return the number of values of an attribute."""
        return self.sizes[self.names.index(name)]

    @cached_property
    def _inverse(self) -> Floats:
        """D^-1/2 (C D^-1/2)^+, one row per report and one column per cell."""
        chances = self._cells @ self._channel
        scale = np.zeros_like(chances)
        np.divide(1.0, np.sqrt(chances), out=scale, where=chances > 0)
        return np.asarray(scale[:, None] * np.linalg.pinv(self._channel * scale))

    def marginal_of(self, *names: str) -> Floats:
        """Return B: for each cell of some attributes' values, the cells of all answers in it."""
        indices = [self.names.index(name) for name in names]
        codes = np.unravel_index(np.arange(len(self._cells)), self.sizes)
        shape = [self.sizes[index] for index in indices]
        own = np.ravel_multi_index([codes[index] for index in indices], shape)
        return np.asarray(own == np.arange(np.prod(shape))[:, None], dtype=np.float64)

    def coefficients(self, *names: str) -> Floats | None:
        """Return A: what each report counts for the joint values of some attributes.

        None where the reports do not tell them.
        """
        wanted = self.marginal_of(*names).T
        found = self._inverse @ wanted
        exact = np.abs(self._channel @ found - wanted).max() <= TOLERANCE
        return np.asarray(found) if exact else None

    def part(self, names: Sequence[str], counts: Floats) -> FormPart | None:
        """Return what so many reports of each kind say about the joint values of attributes.

        Notes
        -----
        The variance of an estimated frequency f given the people is (m - f) / n, with m the mean
        of A[y]^2, which is its own unbiased estimate.
        """
        found = self.coefficients(*names)
        if found is None:
            return None
        records = int(counts.sum())
        frequencies = counts @ found / records
        noise = np.maximum(counts @ found**2 / records - np.clip(frequencies, 0.0, 1.0), 0.0)
        return FormPart(frequencies, noise / records, records, self.spread(*names))

    def spread(self, *names: str) -> float:
        """Return the variance of one report's estimate, summed, at nominal frequencies."""
        found = self.coefficients(*names)
        if found is None:
            return np.inf
        nominal = self.marginal_of(*names) @ self._cells
        second = float((self._cells @ self._channel) @ (found**2).sum(axis=1))
        return second - float(nominal @ nominal)


def expected_variances(plan: Plan) -> dict[str, float]:
    """Return v of each attribute that is collected; infinite where the reports do not tell it.

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
        for name, spread in _spreads(plan, index).items():
            precisions[name] += form.chance / CERTAIN / spread if spread > 0 else math.inf
    return {name: 1 / each if each else math.inf for name, each in precisions.items()}


def _spreads(plan: Plan, index: int) -> dict[str, float]:
    """Return v(f) of each attribute that a form asks for."""
    channel, made = plan.forms[index].channel, plan.channels[index]
    if isinstance(channel, MatrixChannel):
        estimator = MatrixEstimator(plan, channel)
        return {name: estimator.spread(name) for name in channel.attributes}
    return {name: report_spread(m, nominal_frequencies(plan, name)) for name, m in made.items()}


def half_width(variance: float, values: int, people: int) -> float:
    """Return half the width of a 95 % interval of a frequency: root mean square over the values.

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
    """Return other ways to keep the plan's limits: those it carries, else SPL and SMP.

    Both keep them whatever the data: the equal split by the sum of budgets, and a single report
    with the smallest limit as its budget.  A plan without limits or with public attributes, which
    tell something besides, has none.
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
    """Return v of each attribute where one person in so many reports it with this budget."""
    found = dict[str, Unbounded]()
    for attribute in plan.collected:
        nominal = nominal_frequencies(plan, attribute.name)
        name = best_mechanism(attribute.size, epsilon)
        made = build_mechanism(name, attribute.size, epsilon, 0.0, {})
        found[attribute.name] = one_in * report_spread(made, nominal)
    return found
