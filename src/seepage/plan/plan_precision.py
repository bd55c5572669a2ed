"""Expected precision of the estimates of a plan, and of other strategies within its limits.

The variance of an estimate from n people drawn from the population is v / n, with

    1 / v = sum_f s_f / v(f),

s_f the share of form f and v(f) as in `seepage.collection.frequencies`.
"""

import math
from typing import NamedTuple

import msgspec

from seepage._results import json_ready
from seepage.collection.frequencies import report_variance
from seepage.collection.report_sums import MatrixSums, nominal_frequencies, product_variance
from seepage.designs.equal_budgets import equal_split
from seepage.designs.report_channels import MatrixChannel, Unbounded
from seepage.designs.strategies import SPLIT, UNIFORM_SMP, Strategy
from seepage.mechanisms import best_mechanism, mechanism
from seepage.mechanisms.exact_draws import CERTAIN
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import BY_FORM, wanted_of
from seepage.totals.result import GUARANTEES

NORMAL = 1.96
"""Half-width of a 95 % interval, in standard errors."""

DEFAULT_PEOPLE = 10_000
"""Number of people for half-widths if the plan has no number of records."""

MAX_ALTERNATIVES = 3
"""Maximum number of alternatives beside the plan in the table of attributes."""

THIS_PLAN = "this plan"
"""Name of the plan among the strategies."""


class Precision(NamedTuple):
    """The precision of a plan and of its alternatives, for a number of people."""

    people: int
    strategies: tuple[Strategy, ...]
    """The plan first."""
    sizes: dict[str, int]
    """The numbers of values of the attributes with at least two; 2 where the mean is wanted, whose
    half-width is then relative to its range."""
    compared: tuple[str, ...]
    """The attributes of which every strategy has an error."""

    def width(self, strategy: Strategy, name: str) -> float:
        """Return the half-width of an estimated share, root mean square over the values."""
        return half_width(float(strategy.errors.get(name, math.inf)), self.sizes[name])

    def error(self, strategy: Strategy) -> float:
        """Return the mean error of a strategy over the attributes that all have."""
        return strategy.mean_error(self.compared)


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


def plan_precision(plan: Plan) -> Precision:
    """Return the precision of a plan and of its alternatives, for its number of records.

    Attributes with one value are excluded: there is nothing to estimate.
    """
    people = plan.provenance.records or DEFAULT_PEOPLE
    errors = {name: v / people for name, v in expected_variances(plan).items()}
    means = [plan.domain.names[j] for j in wanted_of(plan).scores]
    sizes = {
        name: 2 if name in means else plan.domain[name].size
        for name in errors
        if plan.domain[name].size > 1
    }
    others = alternatives(plan)
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
    )
    shown = [
        msgspec.structs.replace(other, rests_on=_basis(plan, other))
        for other in (others if compared else ())
    ]
    return Precision(people, (this_plan, *shown), sizes, compared)


def _basis(plan: Plan, other: Strategy) -> str:
    if other.certified:
        return _with_confidence(plan, other.rests_on)
    is_marked = other.rests_on.startswith("assum")
    return other.rests_on if is_marked else f"assumed: {other.rests_on}"


def _with_confidence(plan: Plan, guarantee: str) -> str:
    """Return a guarantee with its confidence, or with its kind if it is not certified."""
    if plan.scope == "population" and guarantee in ("exact", "merged", BY_FORM):
        return f"{guarantee}, with confidence {plan.confidence:.4g}"
    kind = GUARANTEES[guarantee].kind if guarantee in GUARANTEES else "certified"
    return guarantee if kind == "certified" else f"{guarantee} ({kind})"


def precision_sentence(plan: Plan, precision: Precision) -> str:
    """Return a sentence on the half-width of one share, by the plan and by its alternatives."""
    if not precision.sizes:
        return ""
    name = min(precision.sizes, key=lambda name: plan.domain[name].size)
    this_plan, values = precision.strategies[0], plan.domain[name].values
    share = f"the share of each value of {name}"
    if len(values) == 2:
        share = f"the share of people with {name} = {values[1]}"
    source = "as many as the table has records" if plan.provenance.records else "say"
    text = (
        f"With {precision.people:,} people ({source}), {share} will be known to within "
        f"{points(precision.width(this_plan, name))} percentage points, 19 times out of 20"
    )
    compared = [
        f"within {points(precision.width(other, name))} with {other.name}"
        for other in shown_strategies(precision)[1:]
        if precision.width(other, name) < math.inf
    ]
    return text + (f"; {', '.join(compared)}." if compared else ".")


def shown_strategies(precision: Precision) -> list[Strategy]:
    """Return the plan and up to `MAX_ALTERNATIVES` certified others, of SMP only the best."""
    this_plan, *others = precision.strategies
    others = [other for other in others if other.certified and "RS+FD" not in other.name]
    smp = [other for other in others if "SMP" in other.name]
    if len(smp) > 1:
        best = min(smp, key=precision.error)
        others = [other for other in others if other not in smp or other is best]
    return [this_plan, *others[:MAX_ALTERNATIVES]]


# Expected variances -------------------------------------------------------------------------------


def expected_variances(plan: Plan) -> dict[str, float]:
    """Return v of each collected attribute; infinity if it cannot be estimated from the reports.

    Parameters
    ----------
    plan
        The plan, at whose nominal frequencies v is computed: whole percent, where a design has the
        table's own frequencies.

    Examples
    --------
    >>> import seepage as sp
    >>> people = sp.make_survey(1_000).select(["coffee", "sleep"])
    >>> found = sp.find_design(people, 1.0)
    >>> plan = sp.design(people, 1.0)
    >>> again = [v / 1_000 for v in expected_variances(plan).values()]
    >>> [round(float(v / error), 3) for v, error in zip(again, found.errors, strict=True)]
    [1.0, 1.0]
    """
    precisions = dict.fromkeys(plan.collected.names, 0.0)
    for index, form in enumerate(plan.forms):
        for name, variance in _unit_variances(plan, index).items():
            precisions[name] += form.chance / CERTAIN / variance if variance > 0 else math.inf
    return {name: 1 / p if p else math.inf for name, p in precisions.items()}


def _unit_variances(plan: Plan, index: int) -> dict[str, float]:
    """Return v(f) of each attribute that a form asks for."""
    channel, mechanisms = plan.forms[index].channel, plan.form_mechanisms[index]
    if isinstance(channel, MatrixChannel):
        estimator = MatrixSums(plan, channel)
        return {name: estimator.unit_variance(name) for name in channel.attributes}
    return {name: product_variance(plan, mechanisms, [name]) for name in mechanisms}


def half_width(error: float, values: int) -> float:
    """Return the half-width of a 95 % interval of a frequency: root mean square over the values.

    Parameters
    ----------
    error
        The expected squared error, summed over the values.
    values
        The number of values, k.

    Notes
    -----
    1.96 sqrt(error / k).  For two values it is the half-width of either.

    Examples
    --------
    >>> round(half_width(0.5 / 10_000, 2), 6)
    0.0098
    """
    return NORMAL * math.sqrt(error / values)


def alternatives(plan: Plan) -> tuple[Strategy, ...]:
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
        Strategy(
            name=SPLIT,
            rests_on="worst",
            certified=True,
            errors=_errors(plan, equal_split(limit, count), 1),
        ),
        Strategy(
            name=UNIFORM_SMP,
            rests_on="one report with epsilon = limit",
            certified=True,
            errors=_errors(plan, limit, count),
        ),
    )


def _errors(plan: Plan, epsilon: float, one_in: int) -> dict[str, Unbounded]:
    """Return v / n of each attribute if one person in `one_in` reports it with budget epsilon."""
    errors, people = dict[str, Unbounded](), plan.provenance.records or DEFAULT_PEOPLE
    for attribute in plan.collected:
        nominal = nominal_frequencies(plan, attribute.name)
        best = mechanism(best_mechanism(attribute.size, epsilon), attribute.size, epsilon)
        errors[attribute.name] = one_in * report_variance(best, nominal) / people
    return errors
