"""The options of a design, checked, as the conditions of a search for forms."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats
from seepage.data.domain import Domain, for_each
from seepage.data.records import Records
from seepage.designs.equal_budgets import chosen, positive_limit
from seepage.designs.forms.a_optimal import Precisions
from seepage.designs.forms.form_problem import MAX_FORM, FormProblem, Indices
from seepage.designs.forms.form_totals import ExactForms
from seepage.errors import InputError

MIN_LIMIT = 1e-6
"""Budgets are found to 1e-7; a smaller limit means millions of times the error of limit 1."""


def make_form_problem(
    records: Records,
    limit: Any,
    *,
    public: Iterable[str],
    left_out: Iterable[str],
    known: Iterable[str],
    weights: Any,
    least: Any,
    record_limit: Any,
    together: Any,
    never: Any,
    largest: int | None,
    joint: Any,
    scope: str,
) -> FormProblem:
    """Return the conditions of a design; see `find_design` for the options."""
    domain = records.domain
    if not records.records:
        raise InputError("a design needs at least one record, and these have none")
    clear, absent = chosen(domain, public, "public"), chosen(domain, left_out, "left_out")
    held = chosen(domain, known, "known")
    collected = _collected(domain, clear, absent, held)
    limits = _limits(domain, limit, clear | held)
    pairs = [_pair(domain, pair, "joint") for pair in _checks.items(joint, "joint")]
    apart = _apart(domain, never)
    items = _items(domain, collected, _groups(domain, together))
    most = max(MAX_FORM, *map(len, items))
    if largest is not None:
        most = _checks.integer(largest, "largest", 1)
    _check_items(domain, items, apart, most)
    _check_joint(domain, pairs, collected, apart)
    public_indices, known_indices = (np.flatnonzero(part).tolist() for part in (clear, held))
    scorer = ExactForms(records, public_indices, known_indices)
    if scope == "table":  # the certifier does so for the population
        _check_public(domain, scorer, limits)
    problem = FormProblem(
        domain,
        scorer,
        Precisions(records, pairs),
        limits,
        collected,
        _weights(domain, weights, collected, len(pairs)),
        np.array([_checks.epsilon(value, "least") for value in for_each(domain, least, "least")]),
        items,
        apart,
        math.inf if record_limit is None else _limit(record_limit, "record_limit"),
        most,
        scope == "population",
        tuple(public_indices),
        tuple(known_indices),
    )
    _check_least(problem)
    return problem


def _collected(domain: Domain, public: Booleans, absent: Booleans, known: Booleans) -> Booleans:
    """Return which attributes are asked: those with several values, not public nor left out."""
    for other, word in ((absent, "left out"), (known, "known")):
        if (public & other).any():
            name = domain.names[int(np.argmax(public & other))]
            raise InputError(f"{name!r} cannot be both public and {word}")
    collected = ~(public | absent) & (np.array(domain.sizes) > 1)
    if not collected.any():
        raise InputError(
            "at least one attribute must be asked, all are public, left out or constant"
        )
    return collected


def _limits(domain: Domain, limit: Any, unprotected: Booleans) -> Floats:
    given = for_each(domain, limit, "limit")
    limits = np.array([math.inf if value is None else _limit(value) for value in given])
    limits[unprotected] = np.inf
    if not np.isfinite(limits).any():
        raise InputError("limit must be given for at least one attribute, none is protected")
    return limits


def _limit(value: Any, what: str = "limit") -> float:
    limit = positive_limit(value, what)
    if limit < MIN_LIMIT:
        raise InputError(f"{what} must be at least {MIN_LIMIT:g} for a design, got {limit:g}")
    return limit


def _weights(domain: Domain, weights: Any, collected: Booleans, joint: int) -> Floats:
    found = np.array([_checks.weight(w, "weights") for w in for_each(domain, weights, "weights")])
    found = np.where(collected, found, 0.0)
    if not found.any():
        raise InputError("weights must be above 0 for at least one attribute that is asked")
    return np.concatenate([found, np.ones(joint)])


def _indices(domain: Domain, names: Any, what: str) -> list[int]:
    indices = [domain.index(name) for name in _checks.items(names, f"each of {what}")]
    if len(set(indices)) < max(2, len(indices)):
        raise InputError(f"each of {what} must name different attributes, at least two")
    return indices


def _pair(domain: Domain, names: Any, what: str) -> tuple[int, int]:
    indices = _indices(domain, names, what)
    if len(indices) != 2:
        raise InputError(f"each of {what} must name two attributes, got {len(indices)}")
    return min(indices), max(indices)


def _groups(domain: Domain, together: Any) -> list[set[int]]:
    """Return groups of attributes asked together, those with a common attribute joined."""
    groups = list[set[int]]()
    for names in _checks.items(together, "together"):
        merged = set(_indices(domain, names, "together"))
        apart = [group for group in groups if not group & merged]
        for group in groups:
            if group & merged:
                merged |= group
        groups = [*apart, merged]
    return groups


def _apart(domain: Domain, never: Any) -> Booleans:
    apart = np.zeros((len(domain), len(domain)), dtype=np.bool_)
    for names in _checks.items(never, "never"):
        i, j = _pair(domain, names, "never")
        apart[i, j] = apart[j, i] = True
    return apart


def _items(domain: Domain, collected: Booleans, groups: list[set[int]]) -> tuple[Indices, ...]:
    for group in groups:
        absent = [domain.names[j] for j in sorted(group) if not collected[j]]
        if absent:
            raise InputError(f"{absent[0]!r} is to be asked together with others, but is not asked")
    grouped = set().union(*groups)
    single = [(j,) for j in np.flatnonzero(collected).tolist() if j not in grouped]
    return tuple(sorted([*single, *(tuple(sorted(group)) for group in groups)]))


def _check_items(domain: Domain, items: tuple[Indices, ...], apart: Booleans, largest: int) -> None:
    for item in items:
        clash = np.argwhere(apart[np.ix_(item, item)])
        if len(clash):
            first, second = (domain.names[item[index]] for index in clash[0].tolist())
            raise InputError(f"{first!r} and {second!r} are both together and never together")
        if len(item) > largest:
            raise InputError(
                f"{len(item)} attributes are to be asked together, the largest form has {largest}"
            )


def _check_joint(
    domain: Domain, pairs: list[tuple[int, int]], collected: Booleans, apart: Booleans
) -> None:
    for i, j in pairs:
        first, second = domain.names[i], domain.names[j]
        if apart[i, j]:
            raise InputError(
                f"the joint distribution of {first!r} and {second!r} is wanted, but they are "
                "never to be asked together"
            )
        if not (collected[i] and collected[j]):
            absent = first if not collected[i] else second
            raise InputError(f"a joint distribution with {absent!r} is wanted, but it is not asked")


def _check_public(domain: Domain, scorer: ExactForms, limits: Floats) -> None:
    """Raise where what is public already tells more than a limit allows."""
    if not scorer.public:
        return
    told = scorer.totals(scorer.table(()), np.zeros(0))
    over = np.flatnonzero(told > limits)
    if len(over):
        k = int(over[0])
        raise InputError(
            f"the limit of {domain.names[k]!r} is {limits[k]:g}, and what is public already tells "
            f"{told[k]:.4g}; raise it, leave it unprotected, or declare the public "
            "attributes as known"
        )


def _check_least(problem: FormProblem) -> None:
    for j in np.flatnonzero(problem.collected).tolist():
        if problem.caps[j] == 0:
            raise InputError(
                f"{problem.domain.names[j]!r} can have no budget: what is public already tells all "
                "that a limit allows; raise the limit or leave it out"
            )
        if problem.caps[j] < problem.least[j]:
            raise InputError(
                f"{problem.domain.names[j]!r} can have a budget of {problem.caps[j]:.4g} at most, "
                f"below its least useful one, {problem.least[j]:g}; raise the limit, lower "
                "`least`, or leave it out"
            )
