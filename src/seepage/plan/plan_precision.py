"""Expected precision of the estimates of a plan, and of other strategies within its
limits.

The variance of an estimate from n people drawn from the population is v / n, with

    1 / v = sum_f s_f / v(f),

s_f the share of form f and v(f) as in `seepage.collection.frequencies`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import msgspec
import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.results import json_ready
from seepage._core.text import rounded_people
from seepage.designs.design_options import DEFAULT_WIDTH
from seepage.designs.search_progress import NORMAL
from seepage.designs.strategies import NO_NOISE, Strategy
from seepage.plan.plan_content import BY_FORM, PlanContent
from seepage.plan.report_vectors import (
    informative_forms,
    joint_variances,
    nominal_frequencies,
    wanted_rows,
)
from seepage.totals.guarantees import GUARANTEES

UNCOVERED = 0.05
"""Share of collections in which an interval need not hold."""


DEFAULT_PEOPLE = 10_000
"""Number of people for half-widths if the plan has no number of records."""


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
    shares: int = 0
    """The number of shares that are estimated, one fewer than the values for each
    attribute of two."""
    joint_half_width: float = math.inf
    """A half-width that all shares together keep, in 95 % of collections."""

    def width(self, strategy: Strategy, name: str) -> float:
        """Return the precision of an estimated share, its half-width, root mean square
        over the values.
        """
        error = float(strategy.errors.get(name, math.inf))
        return NORMAL * math.sqrt(error / self.sizes[name])

    def error(self, strategy: Strategy) -> float:
        """Return the precision of a strategy as an error by the plan's objective, over
        the attributes compared.
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
        """Return the first strategy of these names whose precision there is."""
        by_name = {strategy.name: strategy for strategy in self.strategies}
        for name in names:
            if name in by_name:
                return by_name[name]
        return None


def plan_precision(plan: PlanContent) -> Precision:
    """Return the precision of a plan and of its alternatives, for the people that it
    states.

    Those of the option `people`, else as many as its `precision` needs, else as many as
    every share needs to be known within `DEFAULT_WIDTH`.  Attributes with one value are
    excluded: there is nothing to estimate.
    """
    variances = answer_variances(plan)
    sizes = {name: len(each) for name, each in variances.items() if len(each) > 1}
    largest = max((float(variances[name].max()) for name in sizes), default=0.0)
    people = _people_of(plan, largest)
    width = NORMAL * math.sqrt(largest / people)
    errors = {name: float(each.sum()) / people for name, each in variances.items()}
    scale = _known_people(plan) / people
    others = [strategy.for_people(scale) for strategy in plan.alternatives]
    compared = tuple(name for name in _known_to_all(others, errors) if name in sizes)
    if not compared:
        others = []
    this_plan = Strategy(
        name=THIS_PLAN,
        rests_on=_with_confidence(plan, plan.guarantee),
        certified=plan.kind != "assumed",
        errors=json_ready(errors),
        record=json_ready(max(form.record for form in plan.forms)),
    )
    shown = [
        msgspec.structs.replace(
            strategy, rests_on=_with_confidence(plan, strategy.rests_on)
        )
        for strategy in others
    ]
    return Precision(
        people=people,
        half_width=width,
        without_privacy=_people_without_noise(plan, sizes, width),
        objective=str(plan.provenance.settings.get("objective", "mean")),
        strategies=(this_plan, *shown),
        sizes=sizes,
        compared=compared,
        shares=sum(len(each) for each in _distinct_shares(variances, sizes)),
        joint_half_width=joint_half_width(_distinct_shares(variances, sizes), people),
    )


def _distinct_shares(
    variances: Mapping[str, Floats], sizes: Iterable[str]
) -> list[Floats]:
    """Return the variances of the shares of each attribute for the plan's precision; of
    two answers, which determine each other, one.
    """
    return [
        variances[name][:1] if len(variances[name]) == 2 else variances[name]
        for name in sizes
    ]


def joint_half_width(variances: Sequence[Floats], people: int) -> float:
    """Return the joint precision of all shares: the half-width h that they keep
    together in 95 % of collections.

    The h with sum over shares of 2 (1 - Phi(h / s)) = 0.05, s the standard error of a
    share: by the union bound, whatever the dependence of the estimates.

    Examples
    --------
    >>> alone = joint_half_width([np.array([0.25])], 1068)
    >>> three = joint_half_width([np.array([0.25])] * 3, 1068)
    >>> round(alone, 4), round(three, 4)
    (0.03, 0.0366)
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    if not variances:
        return math.inf
    errors = np.sqrt(np.concatenate(variances) / people)
    if not np.isfinite(errors).all() or not errors.any():
        return math.inf if not np.isfinite(errors).all() else 0.0
    errors = errors[errors > 0]

    def excess(width: float) -> float:
        """Return how much too often a share of the plan is outside a half-width."""
        return float(2 * ndtr(-width / errors).sum()) - UNCOVERED

    largest = float(errors.max())
    return float(
        brentq(excess, 1e-9 * largest, 10 * largest * math.log(9 + errors.size))
    )


def _known_to_all(
    strategies: Sequence[Strategy], errors: Mapping[str, float]
) -> list[str]:
    """Return the attributes whose precision is compared: the plan and every strategy
    have an error of them.
    """
    names = [name for name, error in errors.items() if math.isfinite(error)]
    for strategy in strategies:
        names = [name for name in names if name in strategy.errors]
    return names


def _known_people(plan: PlanContent) -> float:
    """Return the number of people that the precision of a plan's alternatives is
    for.
    """
    stated: Any = plan.provenance.settings.get("people")
    return stated or plan.provenance.records or DEFAULT_PEOPLE


def _people_of(plan: PlanContent, largest: float) -> Any:
    """Return how many people a plan's precision is stated for, with the largest
    variance.
    """
    settings = plan.provenance.settings
    if "people" in settings or not 0 < largest < math.inf:
        return _known_people(plan)
    wanted: Any = settings.get("precision", DEFAULT_WIDTH)
    return people_needed(largest, wanted)


def _people_without_noise(plan: PlanContent, sizes: Iterable[str], width: float) -> int:
    """Return how many people give a plan's precision if everyone answers without
    noise.
    """
    if not 0 < width < math.inf:
        return 0
    largest = max((_sampling(plan, name) for name in sizes), default=0.0)
    return people_needed(largest, width)


def _sampling(plan: PlanContent, name: str) -> float:
    """Return the largest variance of an answer's share for one person without noise,
    the best precision of a plan.
    """
    f = nominal_frequencies(plan, name)
    rows = wanted_rows(plan, name)
    if rows is None:
        return float((f * (1 - f)).max())
    return float(f @ (rows**2).sum(axis=0) - ((rows @ f) ** 2).sum()) / 2


def people_needed(variance: float, width: float) -> int:
    """Return the people for a precision: n = V (1.96 / h)^2, rounded up, for a
    half-width h of a 95 % interval.

    Examples
    --------
    >>> people_needed(0.25, 0.03)
    1068
    """
    return math.ceil(variance * (NORMAL / width) ** 2 * (1 - 1e-12))


def people_for(plan: PlanContent, width: float) -> int:
    """Return how many people a plan's precision needs: for every share to be known
    within a half-width.

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
    """Return the guarantee beside a plan's precision with its confidence, or with its
    kind if it is not certified.
    """
    if plan.scope == "population" and guarantee in ("exact", "merged", BY_FORM):
        return f"{guarantee}, with confidence {plan.confidence:.4g}"
    if guarantee not in GUARANTEES:
        return guarantee
    kind = GUARANTEES[guarantee].kind
    if kind == "certified":
        return guarantee
    return f"{guarantee} ({kind})"


def pairs_together(
    plan: PlanContent,
) -> tuple[set[tuple[str, str]], list[tuple[str, str]]]:
    """Return the pairs of attributes with a joint precision: those that some form of a
    plan asks for together, and all pairs.
    """
    together = set[tuple[str, str]]()
    for form in plan.forms:
        names = sorted(form.attributes, key=plan.domain.index)
        together.update(combinations(names, 2))
    return together, list(combinations(plan.collected.names, 2))


def cross_tables(plan: PlanContent, precision: Precision) -> str:
    """Return which cross-tables the plan can answer with what precision, and what
    another one would cost at most.

    A form of the two questions alone, each with half of the smallest limit, keeps every
    limit by composition, whoever the people are; its people come on top.
    """
    together, pairs = pairs_together(plan)
    text = (
        f"{len(together)} of {len(pairs)} cross-tables of two questions can be "
        "estimated: those that a form asks for together."
    )
    has_limits = any(planned.limit is not None for planned in plan.attributes)
    missing = [pair for pair in pairs if pair not in together]
    if not missing or not has_limits or plan.public:
        return text
    missing.sort(key=lambda pair: plan.domain[pair[0]].size * plan.domain[pair[1]].size)
    smallest_and_largest = dict.fromkeys([missing[0], missing[-1]])
    costs = [_cost_of_table(plan, pair, precision) for pair in smallest_and_largest]
    return (
        f"{text} Any other one needs its own form: name it as wanted in a new design. "
        f"For the same precision that takes at most {' to '.join(costs)} further "
        "people for each."
    )


def _cost_of_table(
    plan: PlanContent, pair: tuple[str, str], precision: Precision
) -> str:
    """Return how many further people the precision of the table of two attributes
    takes.
    """
    variance = joint_variances(plan, pair).max()
    people = people_needed(variance, precision.half_width)
    return f"{rounded_people(people)} ({' by '.join(pair)})"


def people_text(precision: Precision, ratio: float) -> str:
    """Return the people for the plan's precision in words: their number, and how many
    times the plan's.
    """
    if not math.isfinite(ratio):
        return "not known"
    return f"{rounded_people(math.ceil(ratio * precision.people))} ({ratio:.3g} ×)"


# Expected variances -------------------------------------------------------------------


def answer_variances(plan: PlanContent) -> dict[str, Floats]:
    """Return the variance V of each answer's estimated share in a plan, for one person.

    Forms are weighted by s_f / v(f), as in estimates: V = sum_f w_f^2 v_u(f) / s_f,
    with v_u(f) the part of answer u in v(f).  A mean that is wanted counts like a share
    of two values.
    """
    return {name: _variances(plan, name) for name in plan.collected.names}


def _variances(plan: PlanContent, name: str) -> Floats:
    """Return the variances of one attribute in a plan; infinite if no form determines
    it.
    """
    is_mean = wanted_rows(plan, name) is not None
    forms = informative_forms(plan, [name])
    if not forms:
        return np.full(2 if is_mean else plan.domain[name].size, np.inf)
    shares = np.array([plan.forms[index].share for index in forms])
    variances = np.array([vectors.variances for vectors in forms.values()])
    if is_mean:
        sums_of_forms = [vectors.variance for vectors in forms.values()]
        variances = np.repeat(np.array(sums_of_forms)[:, None] / 2, 2, axis=1)
    sums = variances.sum(axis=1)
    if (sums <= 0).any():
        return np.zeros(variances.shape[1])
    precision = shares / sums
    weights = precision / precision.sum()
    return np.asarray((weights**2 / shares) @ variances)
