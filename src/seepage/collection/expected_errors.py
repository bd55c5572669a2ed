"""How precise the estimates of a plan will be, before anybody is asked.

The variance of an attribute's estimate from n people, summed over its values, is

    v / n,   1 / v = sum_f s_f / v(f),

s_f the share of form f and v(f) the variance of one report's estimate at the nominal frequencies,
noise and sampling together [form_estimates].  It is for people drawn from the population.
"""

import math

import numpy as np

from seepage._numerics import Floats
from seepage.collection.form_estimates import MatrixEstimator, nominal_frequencies
from seepage.designs.equal_budgets import equal_split
from seepage.mechanisms.randomness import CERTAIN
from seepage.plan.alternative import Alternative
from seepage.plan.form import MatrixChannel
from seepage.plan.plan import Plan
from seepage.plan.question import Unbounded, best_mechanism, build_mechanism

NORMAL = 1.96
"""Half the width of a 95 % interval, in standard errors."""


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
    for place, form in enumerate(plan.forms):
        for name, spread in _spreads(plan, place).items():
            precisions[name] += form.chance / CERTAIN / spread if spread > 0 else math.inf
    return {name: 1 / each if each else math.inf for name, each in precisions.items()}


def _spreads(plan: Plan, place: int) -> dict[str, float]:
    """Return v(f) of each attribute that a form asks for."""
    channel, made = plan.forms[place].channel, plan.channels[place]
    if isinstance(channel, MatrixChannel):
        estimator = MatrixEstimator(plan, channel)
        return {name: estimator.spread(name) for name in channel.attributes}
    spreads = dict[str, float]()
    for name, mechanism in made.items():
        nominal = nominal_frequencies(plan, name)
        spreads[name] = float(mechanism.variance(1, nominal).sum()) + _sampling(nominal)
    return spreads


def _sampling(nominal: Floats) -> float:
    return max(0.0, 1.0 - float(nominal @ nominal))


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
        noise = np.asarray(made.variance(1, nominal)).sum()
        found[attribute.name] = one_in * (float(noise) + _sampling(nominal))
    return found
