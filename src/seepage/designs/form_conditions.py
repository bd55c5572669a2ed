"""The options of a design as the constraints of a search for forms, on given records."""

import math
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats
from seepage.data.domain import Domain, for_each
from seepage.data.records import Records
from seepage.designs.design_options import DesignOptions, design_limit
from seepage.designs.equal_budgets import attribute_masks
from seepage.designs.forms.form_problem import MAX_FORM, FormProblem, Indices, Precisions
from seepage.designs.forms.form_totals import ExactForms, FormCounter
from seepage.errors import InputError, Setting


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
