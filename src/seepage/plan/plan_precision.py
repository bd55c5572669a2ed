"""Expected precision of the estimates of a plan, and of other strategies within its
limits.

The variance of an estimate from n people drawn from the population is v / n, with

    1 / v = sum_f s_f / v(f),

s_f the share of form f and v(f) as in `seepage.collection.frequencies`.
"""

import math
from itertools import combinations
from typing import Any, NamedTuple

import msgspec
import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.results import json_ready
from seepage.designs.strategies import NO_NOISE, Strategy
from seepage.plan.content import BY_FORM, PlanContent
from seepage.plan.report_vectors import (
    informative_forms,
    joint_variances,
    nominal_frequencies,
    wanted_rows,
)
from seepage.totals.guarantees import GUARANTEES

NORMAL = 1.96
"""Half-width of a 95 % interval, in standard errors."""


DEFAULT_PEOPLE = 10_000
"""Number of people for half-widths if the plan has no number of records."""


DEFAULT_WIDTH = 0.03
"""Half-width that every share is to have, unless the plan states another or a number of
people."""


NO_BETTER = 1.03
"""Ratio of people up to which one question each counts as no worse."""


THIS_PLAN = "this plan"
"""Name of the plan among the strategies."""


class Precision(NamedTuple):
    """The precision of a plan and of its alternatives, for a number of people."""

    people: int
    half_width: float
    """The largest half-width of a share, over all answers."""
    without_privacy: int
    """People for the same half-width if everyone answers everything without noise."""
    objective: str
    strategies: tuple[Strategy, ...]
    """The plan first."""
    sizes: dict[str, int]
    """The numbers of values of the attributes with at least two; 2 where the mean is
    wanted, whose half-width is then relative to its range."""
    compared: tuple[str, ...]
    """The attributes of which every strategy has an error."""

    def width(self, strategy: Strategy, name: str) -> float:
        """Return the half-width of an estimated share, root mean square over the
        values.
        """
        error = float(strategy.errors.get(name, math.inf))
        return NORMAL * math.sqrt(error / self.sizes[name])

    def error(self, strategy: Strategy) -> float:
        """Return the error of a strategy by the plan's objective, over the attributes
        compared.
        """
        sizes = {name: self.sizes[name] for name in self.compared}
        return strategy.objective_error(self.objective, sizes)

    def ratio(self, strategy: Strategy) -> float:
        """Return how many times as many people a strategy needs for the plan's
        precision.
        """
        if strategy.name == NO_NOISE:
            return self.without_privacy / self.people
        own = self.error(self.strategies[0])
        return self.error(strategy) / own if own > 0 else math.nan

    def named(self, *names: str) -> Strategy | None:
        """Return the first strategy that there is of these names."""
        found = {strategy.name: strategy for strategy in self.strategies}
        return next((found[name] for name in names if name in found), None)


def points(width: float) -> str:
    """Return a half-width in percentage points with two digits, rounded up.

    Examples
    --------
    >>> points(0.00801), points(0.2), points(0.034), points(math.inf)
    ('0.81', '20', '3.4', 'not known')
    """
    if not math.isfinite(width):
        return "not known"
    if width <= 0:
        return "0"
    grown = 100 * width
    digits = 1 - math.floor(math.log10(grown))
    return f"{math.ceil(grown * 10.0**digits - 1e-9) / 10.0**digits:.{max(0, digits)}f}"


def plan_precision(plan: PlanContent) -> Precision:
    """Return the precision of a plan and of its alternatives, for the people that it
    states.

    Those of the option `people`, else as many as its `precision` needs, else as many as
    every share needs to be known within `DEFAULT_WIDTH`.  Attributes with one value are
    excluded: there is nothing to estimate.
    """
    settings = plan.provenance.settings
    variances = answer_variances(plan)
    sizes = {name: len(each) for name, each in variances.items() if len(each) > 1}
    largest = max((float(variances[name].max()) for name in sizes), default=0.0)
    base: Any = settings.get("people") or plan.provenance.records or DEFAULT_PEOPLE
    wanted: Any = settings.get("precision", DEFAULT_WIDTH)
    is_counted = "people" in settings or not 0 < largest < math.inf
    people = base if is_counted else people_needed(largest, wanted)
    width = NORMAL * math.sqrt(largest / people)
    sampling = max((_sampling(plan, name) for name in sizes), default=0.0)
    errors = {name: float(v.sum()) / people for name, v in variances.items()}
    others = [other.for_people(base / people) for other in plan.alternatives]
    compared = tuple(
        name
        for name in sizes
        if math.isfinite(errors[name]) and all(name in other.errors for other in others)
    )
    this_plan = Strategy(
        name=THIS_PLAN,
        rests_on=_with_confidence(plan, plan.guarantee),
        certified=plan.kind != "assumed",
        errors=json_ready(errors),
        record=json_ready(max(form.record for form in plan.forms)),
    )
    shown = [
        msgspec.structs.replace(other, rests_on=_with_confidence(plan, other.rests_on))
        for other in (others if compared else ())
    ]
    return Precision(
        people,
        width,
        people_needed(sampling, width) if 0 < width < math.inf else 0,
        str(settings.get("objective", "mean")),
        (this_plan, *shown),
        sizes,
        compared,
    )


def _sampling(plan: PlanContent, name: str) -> float:
    """Return the largest variance of an answer's share for one person without noise."""
    f = nominal_frequencies(plan, name)
    rows = wanted_rows(plan, name)
    if rows is None:
        return float((f * (1 - f)).max())
    return float(f @ (rows**2).sum(axis=0) - ((rows @ f) ** 2).sum()) / 2


def people_needed(variance: float, width: float) -> int:
    """Return n = V (1.96 / h)^2, rounded up: the people for a half-width h of a 95 %
    interval.

    Examples
    --------
    >>> people_needed(0.25, 0.03)
    1068
    """
    return math.ceil(variance * (NORMAL / width) ** 2 * (1 - 1e-12))


def people_for(plan: PlanContent, width: float) -> int:
    """Return how many people must be asked for every share to be known within a
    half-width.

    n = V (1.96 / width)^2, with V the largest variance of an answer's estimate for one
    person, noise and sampling together, at the plan's nominal frequencies; each share
    then lies within `width` of its estimate 19 times of 20.

    Parameters
    ----------
    plan
        The plan.
    width
        The half-width, as a share: 0.03 for 3 percentage points.

    Examples
    --------
    >>> import seepage as sp
    >>> plan = sp.calibrate("survey", 2.0, columns=["coffee"], guarantee="worst")
    >>> plan.people_for(0.03), plan.people_for(0.015)
    (1840, 7360)
    """
    checks.inner_probability(width, "width")
    variances = {
        name: float(each.max()) for name, each in answer_variances(plan).items()
    }
    for name, variance in variances.items():
        if not math.isfinite(variance):
            raise InputError(
                f"{name!r} cannot be estimated from the reports, with any number"
            )
    return max(1, people_needed(max(variances.values()), width))


def _with_confidence(plan: PlanContent, guarantee: str) -> str:
    """Return a guarantee with its confidence, or with its kind if it is not certified."""
    if plan.scope == "population" and guarantee in ("exact", "merged", BY_FORM):
        return f"{guarantee}, with confidence {plan.confidence:.4g}"
    kind = GUARANTEES[guarantee].kind if guarantee in GUARANTEES else "certified"
    return guarantee if kind == "certified" else f"{guarantee} ({kind})"


def pairs_together(
    plan: PlanContent,
) -> tuple[set[tuple[str, str]], list[tuple[str, str]]]:
    """Return the pairs of attributes that some form asks for together, and all pairs."""
    together = {
        pair
        for form in plan.forms
        for pair in combinations(sorted(form.attributes, key=plan.domain.index), 2)
    }
    return together, list(combinations(plan.collected.names, 2))


def cross_tables(plan: PlanContent, precision: Precision) -> str:
    """Return which cross-tables the plan can answer, and what another one would cost at
    most.

    A form of the two questions alone, each with half of the smallest limit, keeps every
    limit by composition, whoever the people are; its people come on top.
    """
    together, pairs = pairs_together(plan)
    text = f"{len(together)} of {len(pairs)} cross-tables of two questions can be estimated: "
    text += "those that a form asks for together."
    limits = [p.limit for p in plan.attributes if p.limit is not None]
    missing = [pair for pair in pairs if pair not in together]
    if not missing or not limits or plan.public:
        return text
    missing.sort(key=lambda pair: plan.domain[pair[0]].size * plan.domain[pair[1]].size)
    ends = [missing[0]] if len(missing) == 1 else [missing[0], missing[-1]]
    costs = [
        f"{rounded_people(people_needed(joint_variances(plan, pair).max(), precision.half_width))} "
        f"({' by '.join(pair)})"
        for pair in ends
    ]
    return (
        f"{text} Any other one needs its own form: name it as wanted in a new design. For the same "
        f"precision that takes at most {' to '.join(costs)} further people for each."
    )


def people_text(precision: Precision, ratio: float) -> str:
    """Return the people for the same precision: their number, and how many times the
    plan's.
    """
    if not math.isfinite(ratio):
        return "not known"
    return f"{rounded_people(math.ceil(ratio * precision.people))} ({ratio:.3g} ×)"


def rounded_people(number: int) -> str:
    """Return a number of people, rounded up to three digits.

    Examples
    --------
    >>> rounded_people(4207), rounded_people(987), rounded_people(123_456)
    ('4,210', '987', '124,000')
    """
    unit = 10 ** max(0, len(str(number)) - 3)
    return f"{math.ceil(number / unit) * unit:,}"


# Expected variances -------------------------------------------------------------------


def answer_variances(plan: PlanContent) -> dict[str, Floats]:
    """Return the variance V of each answer's estimated share, for one person.

    Forms are weighted by s_f / v(f), as in estimates: V = sum_f w_f^2 v_u(f) / s_f,
    with v_u(f) the part of answer u in v(f).  A mean that is wanted counts like a share
    of two values.
    """
    return {name: _variances(plan, name) for name in plan.collected.names}


def _variances(plan: PlanContent, name: str) -> Floats:
    """Return the variances of one attribute; infinite if no form determines it."""
    is_mean = wanted_rows(plan, name) is not None
    forms = informative_forms(plan, [name])
    if not forms:
        return np.full(2 if is_mean else plan.domain[name].size, np.inf)
    shares = np.array([plan.forms[index].share for index in forms])
    each = [
        np.full(2, f.variance / 2) if is_mean else f.variances for f in forms.values()
    ]
    sums = np.sum(each, axis=1)
    if (sums <= 0).any():
        return np.zeros(len(each[0]))
    precision = shares / sums
    weights = precision / precision.sum()
    return np.asarray((weights**2 / shares) @ np.array(each))
