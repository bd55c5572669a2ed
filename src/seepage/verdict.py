"""The verdict of an analysis: what to do, what it rests on, and what would settle the rest.

A limit has three states.  *Within*: a certified or statistical total is at most the limit.
*Exceeded*: reports are known that tell more.  *Not certifiable*: neither; an upper bound above a
limit proves nothing, so it is never called exceeded.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from seepage import _checks
from seepage._numerics import round_down
from seepage._results import Result, json_ready, listed
from seepage.leakage.matrix import LeakageMatrix
from seepage.strongest_leaks import same_attributes
from seepage.totals import TotalLeakage, TotalsComparison
from seepage.totals.result import direct_leakage

State = Literal["within", "exceeded", "not certifiable"]
STATES: tuple[State, ...] = ("exceeded", "not certifiable", "within")
"""In the order in which a reader needs them."""

OWN = "own report"
"""What a lower limit rests on where no joint report was found to say more."""


@dataclass(frozen=True)
class Judgement:
    """One attribute against its limit.

    Parameters
    ----------
    attribute, limit, state
        Its name, its limit in nats and the state; both None where it has no limit.
    upper, upper_by, delta
        The total that holds and decides, the guarantee it comes from and its delta; infinite and
        "" where no total that holds was computed.
    lower, lower_by
        The most that reports are known to tell, and how it is known.
    """

    attribute: str
    limit: float | None
    state: State | None
    upper: float
    upper_by: str
    delta: float
    lower: float
    lower_by: str


@dataclass(frozen=True, repr=False, eq=False)
class Verdict(Result):
    """What to do, what that rests on and what would settle the rest, see `judge`.

    Parameters
    ----------
    decision, basis, settle
        Sentences: what to do and why; what it rests on; what would settle what is open ("" where
        nothing is).
    judgements
        One for each attribute, in the order of the table.
    """

    decision: str
    basis: str
    settle: str
    judgements: tuple[Judgement, ...]

    def names(self, state: State) -> list[str]:
        """Return the attributes in one state."""
        _checks.choice(state, "state", STATES)
        return [one.attribute for one in self.judgements if one.state == state]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON holds it; numbers as in `TotalLeakage.to_dict`."""
        return {
            "decision": self.decision,
            "basis": self.basis,
            "settle": self.settle,
            "attributes": [json_ready(vars(one)) for one in self.judgements],
        }

    def _headline(self) -> str:
        counts = ", ".join(f"{len(self.names(state))} {state}" for state in STATES)
        return f"Verdict({counts})"

    def _columns(self) -> dict[str, Any]:
        keys = [field.name for field in fields(Judgement)]
        return {key: [getattr(one, key) for one in self.judgements] for key in keys}


def judge(
    matrix: LeakageMatrix, totals: TotalsComparison, limits: Sequence[float | None]
) -> Verdict:
    """Return the verdict on totals and limits, one limit for each attribute or None.

    Parameters
    ----------
    matrix
        The leakages, for what single reports are known to tell.
    totals
        The totals by guarantee.
    limits
        The allowed total of each attribute in nats.
    """
    judgements = tuple(
        _judged(name, limit, *_upper(totals, k, limit), *lower)
        for k, (name, limit, lower) in enumerate(
            zip(matrix.domain.names, limits, _lowers(matrix, totals), strict=True)
        )
    )
    open_ = [one for one in judgements if one.state == "not certifiable"]
    settle = _settle(matrix, totals) if open_ or all(limit is None for limit in limits) else ""
    twins = same_attributes(matrix)
    return Verdict(_decision(judgements, twins), _basis(judgements, totals), settle, judgements)


def _judged(
    name: str,
    limit: float | None,
    upper: float,
    upper_by: str,
    delta: float,
    lower: float,
    lower_by: str,
) -> Judgement:
    state: State | None = None
    if limit is not None:
        state = "exceeded" if lower > limit else "within" if upper <= limit else "not certifiable"
    return Judgement(name, limit, state, upper, upper_by, delta, lower, lower_by)


def _upper(totals: TotalsComparison, k: int, limit: float | None) -> tuple[float, str, float]:
    """Return the total that holds for an attribute and decides: value, guarantee, delta.

    The smallest certified one where it keeps the limit; else the smallest of all, with its delta.
    """
    found = [
        (float(total.values[k]), total.guarantee, float(total.deltas[k]), total.kind)
        for total in totals.totals
        if total.kind in ("certified", "statistical")
    ]
    certified = min((one[:3] for one in found if one[3] == "certified"), default=None)
    if certified is not None and limit is not None and certified[0] <= limit:
        return certified
    return min((one[:3] for one in found), default=(math.inf, "", 0.0))


def _lowers(matrix: LeakageMatrix, totals: TotalsComparison) -> list[tuple[float, str]]:
    """Return for each attribute the most that reports are known to tell, and how that is known.

    The own report of a mechanism with delta 0 tells its contrast; one other report tells its
    leakage; joint reports tell what a witness found.  Of a sample, or where leakages are robust
    bounds, only the first is known.
    """
    found = []
    for k, release in enumerate(matrix.releases):
        own, slack = direct_leakage(release, matrix.view)
        known = [(0.0 if slack > 0 else round_down(own, 8), OWN)]
        exact = not matrix.radius and not any(matrix.smoothing.values())
        if matrix.pairs.population is None and exact:
            known += _told_by_others(matrix, k)
            known += [_witnessed(total, k) for total in totals.totals]
        found.append(max(known, key=lambda one: one[0]))
    return found


def _told_by_others(matrix: LeakageMatrix, k: int) -> list[tuple[float, str]]:
    relaxed = np.array([release.delta > 0 for release in matrix.releases])
    row = np.where(relaxed, 0.0, matrix.values[k])
    source = int(np.argmax(row))
    return [(round_down(float(row[source]), 64), f"report of {matrix.domain.names[source]}")]


def _witnessed(total: TotalLeakage, k: int) -> tuple[float, str]:
    """Return what the evidence of a total proves, 0 where it has none for an attribute."""
    evidence = total.evidence[k] if k < len(total.evidence) else None
    if total.kind == "assumed" or evidence is None or math.isnan(evidence.counted):
        return 0.0, ""
    return round_down(min(evidence.counted, float(total.values[k])), 64), total.guarantee


# Sentences ---------------------------------------------------------------------------------------

MEANINGS = {
    "exact": "the largest log-ratio over all reports in this table",
    "merged": "all sources taken as one, in this table",
    "worst": "the sum of all budgets, whatever the data",
    "sampled": "reports drawn at random from this table",
    "witness": "reports that a search found in this table",
    OWN: "the attribute's own report",
}
"""What a state rests on, in words."""


def lowered(value: float) -> str:
    """Return a lower limit with two decimals, rounded down."""
    if not math.isfinite(value):
        return "infinitely many"
    return f"{math.floor(100 * value + 1e-9) / 100:.2f}"


def raised(value: float) -> str:
    """Return an upper limit with two decimals, rounded up."""
    return f"{math.ceil(100 * value - 1e-9) / 100:.2f}" if math.isfinite(value) else "infinity"


def _together(names: Sequence[str], twins: Sequence[Sequence[str]]) -> list[str]:
    """Return names, those of attributes that determine each other as one."""
    joined = {name: [n for n in names if n in group] for group in twins for name in group}
    return list(dict.fromkeys(" = ".join(joined.get(name, [name])) for name in names))


def _decision(judgements: Sequence[Judgement], twins: Sequence[Sequence[str]]) -> str:
    judged = [one for one in judgements if one.state is not None]
    if not judged:
        return "No limit is set, so there is nothing to decide: set one with limit (--limit)."
    by_state = {state: [one for one in judged if one.state == state] for state in STATES}
    over, unclear = by_state["exceeded"], by_state["not certifiable"]
    count = f"{len(judged)} attribute{'s' * (len(judged) != 1)}"
    if over:
        over = sorted(over, key=lambda one: (one.limit or 0.0) - one.lower)
        top = over[0]
        names = listed(_together([one.attribute for one in over], twins))
        verb = "exceeds its limit" if len(over) == 1 else "exceed their limits"
        return (
            f"Do not collect with these budgets: {names} {verb} ({len(over)} of {count}); "
            f"reports tell at least {lowered(top.lower)} nats about {top.attribute}, "
            f"{top.limit:g} are allowed."
        )
    if unclear:
        names = listed(_together([one.attribute for one in unclear], twins))
        return (
            f"Do not rely on these budgets yet: no limit is proven exceeded, but for "
            f"{len(unclear)} of {count} ({names}) no total certifies it either."
        )
    closest = min(judged, key=lambda one: (one.limit or 0.0) - one.upper)
    whole = f"all {count} stay within their limits"
    if len(judged) == 1:
        whole = "the attribute stays within its limit"
    return (
        f"These budgets keep the limits: {whole}; closest is {closest.attribute} with "
        f"{raised(closest.upper)} of {closest.limit:g} nats."
    )


def _basis(judgements: Sequence[Judgement], totals: TotalsComparison) -> str:
    judged = [one for one in judgements if one.state is not None]
    if not judged:
        if not judgements:
            return ""
        top = max(judgements, key=lambda one: one.lower)
        told = f"{lowered(top.lower)} nats about {top.attribute}"
        return f"Reports are known to tell {told} ({_meaning(top.lower_by)})."
    parts = []
    for state in STATES:
        chosen = [one for one in judged if one.state == state]
        if not chosen:
            continue
        if state == "not certifiable":
            parts.append(f"{len(chosen)} not certifiable: the smallest total that holds is larger")
            continue
        by = dict.fromkeys(one.lower_by if state == "exceeded" else one.upper_by for one in chosen)
        word = "proven by" if state == "exceeded" else "by"
        reasons = "; ".join(_reason(name, totals) for name in by)
        parts.append(f"{len(chosen)} {state}, {word} {reasons}" + _but_for_delta(chosen))
    return f"It rests on: {'. '.join(parts)}."


def _but_for_delta(chosen: Sequence[Judgement]) -> str:
    """Return how many limits only rare reports exceed, where totals with a delta say so."""
    rare = [one for one in chosen if one.lower > (one.limit or 0.0) >= one.upper]
    if not rare:
        return ""
    delta = max(one.delta for one in rare)
    return f" (with delta {delta:g}, {len(rare)} of them would be within by {rare[0].upper_by})"


def _reason(name: str, totals: TotalsComparison) -> str:
    total = next((total for total in totals.totals if total.guarantee == name), None)
    terms = ""
    if total is not None and total.confidence is not None:
        terms = f", delta {total.deltas.max():g}, confidence {total.confidence:.0%}"
    meaning = _meaning(name)
    return f"{name} ({meaning}{terms})" if meaning != name else f"{name}{terms}"


def _meaning(name: str) -> str:
    return MEANINGS.get(name, f"one {name}" if name.startswith("report of") else name)


def _settle(matrix: LeakageMatrix, totals: TotalsComparison) -> str:
    """Return what would certify or refute what is open, as a thing to do."""
    known = {total.guarantee: total.kind for total in totals.totals}
    named = all(release.mechanism is not None or release.public for release in matrix.releases)
    if matrix.pairs.population is not None:
        return "To settle it, analyse all records: a sample certifies only the sum of all budgets."
    if any("needs records" in reason for reason in totals.unavailable.values()):
        return "To settle it, analyse the table itself: pair counts cannot certify totals."
    if not {"exact", "sampled", "witness"} & set(known):
        how = "" if named else " and name the mechanism (--mechanism grr)"
        return f"To settle it, compute totals that look at records (--totals all){how}."
    if not named and not {"exact", "sampled"} & set(known):
        return (
            "To settle it, name the mechanism (--mechanism grr): totals of a known one are smaller."
        )
    return "To settle it, choose budgets that are certified to keep the limit: `seepage calibrate`."
