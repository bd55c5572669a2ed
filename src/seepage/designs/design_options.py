"""`DesignOptions` and `CalibrationOptions`, and the constraints of a design on given records."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats
from seepage._options import option
from seepage.data.domain import Domain, for_each
from seepage.data.records import Records
from seepage.data.table.options import DataOptions
from seepage.designs.equal_budgets import attribute_masks, positive_limit
from seepage.designs.form_problem import MAX_FORM, FormProblem, Indices, Precisions
from seepage.designs.form_search import time_limit
from seepage.designs.form_totals import ExactForms, FormCounter
from seepage.errors import InputError, Setting
from seepage.totals.result import GUARANTEES, SCOPES
from seepage.totals.total import TotalSettings

SHAPES = ("never", "single", "forms", "record")
"""Values of the option `shape`."""

MAX_SEED = 2**64 - 1
"""Maximum seed: the plan states it, as an integer in JSON."""

MIN_LIMIT = 1e-6
"""Minimum limit in nats: budgets are accurate to 1e-7, and the error grows as 1 / limit^2."""


@dataclass(frozen=True, kw_only=True)
class PlanningOptions(DataOptions):
    """Options of functions that plan a collection within limits.

    Parameters
    ----------
    limit
        The maximum total of every attribute in nats, or one for each (a sequence, or a mapping by
        name, with `"*"` for all others).
    public, left_out
        Attributes whose values are public, and attributes that are not collected.
    least
        The minimum useful budget, for all or by attribute.
    sample
        Number of records to draw at random, by the seed; None for all records.
    """

    limit: Any = field(
        kw_only=False,
        metadata={
            "help": "The allowed total of every attribute, in nats.",
            "type": float,
            "each": "Another limit for one attribute.",
        },
    )
    public: Sequence[str] = option((), "Attributes that are public already.")
    left_out: Sequence[str] = option((), "Attributes that are not collected.")
    least: Any = option(0.0, "Minimum budget of a collected attribute.", type=float)
    sample: int | None = option(None, "Plan with N records drawn at random.", metavar="N")

    def records_options(self, seed: int | None) -> dict[str, Any]:
        """Return the options of reading `data` that were given, with the sample's seed."""
        given = {name: value for name, value in self.reading.items() if name != "progress"}
        return given if self.sample is None else {**given, "sample": self.sample, "seed": seed}


@dataclass(frozen=True, kw_only=True)
class DesignOptions(PlanningOptions):
    """Options of `design` and `find_design`; a limit may be None: not protected.

    Parameters
    ----------
    mechanism
        `"grr"` for GRR throughout; None: a form of one question may use another mechanism if that
        is more precise.
    known
        Attributes whose values the adversary knows of the person: totals are conditional on them.
        For the population, every value needs records with every combination of known and public
        values.  If a combination of known values has none, the sum of a form's budgets is kept
        within the limit; if one of public values has none, it raises.  With public or known
        attributes reports are not shaped.
    weights
        Weight of each attribute's error.
    record_limit
        The maximum sum of budgets of a form, which bounds its leakage about the whole record.
    together, never
        Groups of attributes that are only asked together; pairs never asked together.
    largest
        The maximum number of attributes of a form; by default 8.
    joint
        Pairs whose joint distribution is estimated: its error counts like that of an attribute.
    scope, confidence
        For whom every limit holds: `"population"`, with this confidence for all limits at once,
        if the records are a random sample of it with one record per person (table option
        `person`), and then a sample of them too; or `"table"`, for the people in the table only.
    shape
        The forms that may send one shaped report, if it is more precise and has at most 32
        combinations of answers: `"never"`, `"single"` for forms of one attribute, `"forms"` for
        all.  A change of one answer then changes a report's log-likelihood by at most its limit,
        and the leakage about the whole record is at most that of the product of the same form.
        `"record"`: like `"forms"`, without the limit on changes of one answer.
    seconds
        Time limit of the search, after the records are read; Ctrl-C ends it too.  Either way the
        best design so far is returned, certified like any other.
    seed
        Seed of the search and the sample.  The same seed gives the same design unless the time
        limit ends the search.
    """

    mechanism: str | None = None
    known: Sequence[str] = option((), "Attributes that the adversary knows.")
    weights: Any = option(1.0, "Weight of its variance.", name="weight", type=Mapping[str, float])
    record_limit: float | None = option(None, "Maximum sum of the budgets of a form.")
    together: Sequence[Sequence[str]] = option((), "Only asked together.")
    never: Sequence[Sequence[str]] = option((), "Never asked together.", metavar="A,B")
    joint: Sequence[Sequence[str]] = option(
        (), "Also estimate their joint frequencies.", metavar="A,B"
    )
    largest: int | None = option(None, "Maximum number of attributes of a form.")
    scope: str = option(
        "population",
        "Whom limits hold for: the population that the records are a random sample of, or the "
        "table.",
        choices=("population", "table"),
    )
    confidence: float = option(0.95, "Confidence of all limits together.")
    shape: str = option(
        "forms",
        "Which forms may send one shaped report; record: without a limit per changed answer.",
        choices=SHAPES,
    )
    seconds: float = option(60.0, "Time limit of the search.")
    seed: int = option(0, "Seed of sample and search.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mechanism is not None:
            _checks.choice(self.mechanism, "mechanism", ("grr",))
        time_limit(self.seconds)
        _checks.integer(self.seed, "seed", 0, MAX_SEED)
        _checks.choice(self.scope, "scope", SCOPES)
        _checks.choice(self.shape, "shape", SHAPES)
        _checks.inner_probability(self.confidence, "confidence")
        if self.record_limit is not None:
            design_limit(self.record_limit, "record_limit")
        if self.largest is not None:
            _checks.integer(self.largest, "largest", 1)


def design_limit(value: Any, what: str = "limit") -> float:
    """Return a limit of a design, checked to be large enough."""
    limit = positive_limit(value, what)
    if limit < MIN_LIMIT:
        raise InputError(
            f"{what} must be at least {MIN_LIMIT:g} for a design, got {limit:g}", parameter=what
        )
    return limit


@dataclass(frozen=True, kw_only=True)
class CalibrationOptions(PlanningOptions):
    """Options of `calibrate` and `find_budgets`; if `least` is too large, they say what to drop.

    Parameters
    ----------
    mechanism
        A mechanism by name, for all or by attribute: its own leakage is used.  None for the bound
        that holds for any mechanism; a plan then uses the one of least variance.
    guarantee
        The guarantee of the totals, by the names of `total_leakage`; `"auto"` is `"independent"`
        for pair counts, and for records `"exact"` if it fits, else `"sampled"`.
    audit
        Search for a witness against a guarantee that is an assumption; needs records.
    delta, view, target_delta, reports, seed
        As in `total_leakage`.
    scope, confidence
        For whom totals hold.  `"population"`: they are upper confidence limits for the population
        that the records were drawn from, and budgets the largest that pass, which costs no
        confidence [theory-population: Budgets chosen by looking].  That is the default for records
        and `"auto"`, `"exact"` or `"merged"`; else it is `"table"`.
    """

    mechanism: Any = option(
        None, "A mechanism; by default any, and the best one is planned.", short="-m", type=str
    )
    guarantee: str = option("auto", "worst, exact, merged, sampled, independent, or auto.")
    audit: bool = option(True, "Search for a witness against assumed totals.")
    scope: str | None = option(
        None,
        "Whom totals hold for: the population that the records are a random sample of (the "
        "default where exact or merged totals allow it), or the table.",
        choices=("population", "table"),
    )
    confidence: float = option(0.95, "Confidence of all totals together.")
    delta: Any = 0.0
    view: Literal["report", "inferred"] = "report"
    target_delta: float = option(0.01, "For sampled totals: their delta.")
    reports: int = option(20_000, "For sampled totals: how many reports are drawn.")
    seed: int | None = option(0, "Seed of the sample and of sampled totals.")

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.choice(self.guarantee, "guarantee", ("auto", *GUARANTEES))
        _checks.flag(self.audit, "audit")
        settings = self.of_totals("table" if self.scope is None else self.scope)
        TotalSettings(**{one.name: settings[one.name] for one in fields(TotalSettings)})

    def of_totals(self, scope: str) -> dict[str, Any]:
        """Return the keywords of `total_leakage`, for a scope."""
        names = ("target_delta", "confidence", "reports", "seed", "progress", "delta", "view")
        return {"scope": scope, **{name: getattr(self, name) for name in names}}


# Constraints on given records --------------------------------------------------------------------


def make_form_problem(records: Records, options: DesignOptions) -> FormProblem:
    """Return the constraints of a design, checked against the records."""
    domain = records.domain
    if not records.records:
        raise InputError("a design needs at least one record, and these have none")
    is_public, is_left_out, is_known = attribute_masks(
        domain, options.public, options.left_out, options.known
    )
    collected = ~(is_public | is_left_out) & (np.array(domain.sizes) > 1)
    if not collected.any():
        raise InputError(
            "at least one attribute must be asked, all are public, left out or constant"
        )
    limits = _limits(domain, options.limit, is_public | is_known)
    pairs = [_pair(domain, pair, "joint") for pair in _checks.items(options.joint, "joint")]
    never_together = _never_together(domain, options.never)
    items = _items(domain, collected, _groups(domain, options.together))
    max_attributes = options.largest or max(MAX_FORM, *map(len, items))
    _check_items(domain, items, never_together, max_attributes)
    _check_joint(domain, pairs, collected, never_together)
    strata = (np.flatnonzero(mask).tolist() for mask in (is_public, is_known))
    scorer = ExactForms(FormCounter(records, *strata))
    if options.scope == "table":  # for the population the certifier checks it
        _check_public(domain, scorer, limits)
    problem = FormProblem(
        domain,
        scorer,
        Precisions(records, pairs),
        limits,
        collected,
        _weights(domain, options.weights, collected, len(pairs)),
        np.array([_checks.epsilon(v, "least") for v in for_each(domain, options.least, "least")]),
        items,
        never_together,
        math.inf if options.record_limit is None else options.record_limit,
        max_attributes,
        options.scope == "population",
    )
    _check_least(problem)
    return problem


def _limits(domain: Domain, limit: Any, unprotected: Booleans) -> Floats:
    given = for_each(domain, limit, "limit")
    limits = np.array([math.inf if value is None else design_limit(value) for value in given])
    limits[unprotected] = np.inf
    if not np.isfinite(limits).any():
        raise InputError(
            "limit must be given for at least one attribute, none is protected", parameter="limit"
        )
    return limits


def _weights(domain: Domain, weights: Any, collected: Booleans, joint: int) -> Floats:
    """Return the weight of every quantity: attributes, 0 if not asked, then 1 per joint pair."""
    values = np.array([_checks.weight(w, "weights") for w in for_each(domain, weights, "weights")])
    values = np.where(collected, values, 0.0)
    if not values.any():
        raise InputError(
            "weights must be above 0 for at least one attribute that is asked", parameter="weights"
        )
    return np.concatenate([values, np.ones(joint)])


def _indices(domain: Domain, names: Any, what: str) -> list[int]:
    indices = [domain.index(name) for name in _checks.items(names, f"each of {what}")]
    if len(set(indices)) < max(2, len(indices)):
        raise InputError(
            f"each of {what} must name different attributes, at least two", parameter=what
        )
    return sorted(indices)


def _pair(domain: Domain, names: Any, what: str) -> tuple[int, int]:
    first, second, *more = _indices(domain, names, what)
    if more:
        raise InputError(
            f"each of {what} must name two attributes, got {2 + len(more)}", parameter=what
        )
    return first, second


def _groups(domain: Domain, together: Any) -> list[set[int]]:
    """Return groups of attributes asked together; groups with a common attribute are merged."""
    groups = list[set[int]]()
    for names in _checks.items(together, "together"):
        merged = set(_indices(domain, names, "together"))
        disjoint = [group for group in groups if not group & merged]
        for group in groups:
            if group & merged:
                merged |= group
        groups = [*disjoint, merged]
    return groups


def _never_together(domain: Domain, never: Any) -> Booleans:
    """Return the symmetric mask of the pairs of `never`."""
    mask = np.zeros((len(domain), len(domain)), dtype=np.bool_)
    for names in _checks.items(never, "never"):
        i, j = _pair(domain, names, "never")
        mask[i, j] = mask[j, i] = True
    return mask


def _items(domain: Domain, collected: Booleans, groups: list[set[int]]) -> tuple[Indices, ...]:
    """Return the groups, and every other attribute asked as a group of one."""
    for group in groups:
        not_asked = [domain.names[j] for j in sorted(group) if not collected[j]]
        if not_asked:
            raise InputError(
                f"{not_asked[0]!r} is to be asked together with others, but is not asked"
            )
    grouped = set().union(*groups)
    single = [(j,) for j in np.flatnonzero(collected).tolist() if j not in grouped]
    return tuple(sorted([*single, *(tuple(sorted(group)) for group in groups)]))


def _check_items(
    domain: Domain, items: tuple[Indices, ...], never_together: Booleans, largest: int
) -> None:
    for item in items:
        clash = np.argwhere(never_together[np.ix_(item, item)])
        if len(clash):
            first, second = (domain.names[item[index]] for index in clash[0].tolist())
            raise InputError(f"{first!r} and {second!r} are both together and never together")
        if len(item) > largest:
            raise InputError(
                f"{len(item)} attributes are to be asked together, the largest form has {largest}"
            )


def _check_joint(
    domain: Domain, pairs: list[tuple[int, int]], collected: Booleans, never_together: Booleans
) -> None:
    for i, j in pairs:
        first, second = domain.names[i], domain.names[j]
        if never_together[i, j]:
            raise InputError(
                f"joint has {first!r} and {second!r}, which ",
                Setting("never"),
                " forbids to ask together",
                parameter="joint",
            )
        if not (collected[i] and collected[j]):
            not_asked = first if not collected[i] else second
            raise InputError(
                f"joint must name attributes that are asked, {not_asked!r} is not",
                parameter="joint",
            )


def _check_public(domain: Domain, scorer: ExactForms, limits: Floats) -> None:
    """Raise if the public attributes alone leak more than a limit allows."""
    if not scorer.counter.public:
        return
    leakages = scorer.totals(scorer.counter.table(()), np.zeros(0))
    exceeded = np.flatnonzero(leakages > limits)
    if len(exceeded):
        k = int(exceeded[0])
        raise InputError(
            f"the limit of {domain.names[k]!r} must be at least the leakage of the public "
            f"attributes alone, {leakages[k]:.4g}, got {limits[k]:g}; raise it, leave it "
            "unprotected, or declare the public attributes as known"
        )


def _check_least(problem: FormProblem) -> None:
    """Raise if the largest budget of an attribute is 0 or below its minimum useful one."""
    for j in np.flatnonzero(problem.collected).tolist():
        if problem.caps[j] == 0:
            raise InputError(
                f"{problem.domain.names[j]!r} can have no budget: the public attributes alone "
                "use up a limit; raise the limit or leave it out"
            )
        if problem.caps[j] < problem.least[j]:
            raise InputError(
                f"{problem.domain.names[j]!r} can have a budget of {problem.caps[j]:.4g} at most, "
                f"below its least useful one, {problem.least[j]:g}; raise the limit, lower ",
                Setting("least"),
                ", or leave it out",
            )
