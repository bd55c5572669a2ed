"""The verdict of an analysis: the decision, its basis, and the next step for undecided
limits.

A limit has three states.  *Within*: an upper bound (a certified or statistical total)
is at most the limit.  *Exceeded*: a lower bound (the leakage of known reports) is above
it.  *Not certifiable*: neither; an upper bound above a limit proves nothing, so it is
never called exceeded.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from seepage._core import checks
from seepage._core.errors import Setting, Text
from seepage._core.results import Result, json_ready
from seepage._core.rounding import round_down
from seepage._core.text import delta_text, lower_text, upper_text
from seepage.leakage.equivalent_attributes import same_attributes
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.strongest_leaks import find_leaks
from seepage.totals.guarantees import GUARANTEES, NEEDS_RECORDS
from seepage.totals.result import TotalLeakage, TotalsComparison

State = Literal["within", "exceeded", "not certifiable"]


STATES: tuple[State, ...] = ("exceeded", "not certifiable", "within")
"""In order of urgency."""


OWN = "own report"
"""Name of the lower bound that an attribute's own report gives: the contrast of its
mechanism."""


@dataclass(frozen=True)
class Judgement:
    """One attribute against its limit.

    Parameters
    ----------
    attribute, limit, state
        Its name, its limit in nats and the state; both None if it has no limit.
    upper, upper_by
        The upper bound in nats that holds for every report (delta 0), and its
        guarantee; infinity and "" if no such certified or statistical total was
        computed.
    relaxed, relaxed_by, delta
        The smallest total that holds up to a delta, its guarantee, and the delta; as
        above.
    lower, lower_by
        The lower bound in nats, and the reports that attain it.
    """

    attribute: str
    limit: float | None
    state: State | None
    upper: float
    upper_by: str
    relaxed: float
    relaxed_by: str
    delta: float
    lower: float
    lower_by: str

    @property
    def proof(self) -> tuple[float, str, float]:
        """The total that may keep the limit, its guarantee and delta; with delta 0 if
        it does.
        """
        if self.upper <= self.relaxed or (
            self.limit is not None and self.upper <= self.limit
        ):
            return self.upper, self.upper_by, 0.0
        return self.relaxed, self.relaxed_by, self.delta

    @property
    def texts(self) -> tuple[str, str]:
        """Both bounds with two decimals: rounded outwards, or to nearest if they are
        one number.
        """
        if self.upper - self.lower <= 1e-9 * self.upper < math.inf:
            return (f"{self.lower:.2f}",) * 2
        return lower_text(self.lower), upper_text(self.upper)


@dataclass(frozen=True, repr=False, eq=False)
class Verdict(Result):
    """The decision on a set of budgets and the state of every limit, see `judge`.

    Parameters
    ----------
    decision, basis, settle
        One sentence each: the decision with its reason; the guarantees it rests on; the
        next step that may decide limits that are not certifiable ("" if there are
        none).
    judgements
        One for each attribute, in the order of the table.

    Examples
    --------
    >>> import seepage as sp
    >>> verdict = sp.analyse("adult", 0.1, limit=3.0).verdict
    >>> verdict["sex"].state, round(verdict["sex"].upper, 6)
    ('within', 1.5)
    """

    decision: str
    basis: str
    settle: str
    judgements: tuple[Judgement, ...]

    def __getitem__(self, name: str) -> Judgement:
        """Return the judgement of one attribute."""
        names = [judgement.attribute for judgement in self.judgements]
        return self.judgements[names.index(checks.choice(name, "attribute", names))]

    def names(self, state: State) -> list[str]:
        """Return the names of the attributes whose limit is in a state."""
        checks.choice(state, "state", STATES)
        return [j.attribute for j in self.judgements if j.state == state]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON-compatible data; infinity is the text "inf"."""
        return {
            "decision": str(self.decision),
            "basis": self.basis,
            "settle": str(self.settle),
            "attributes": [
                json_ready(vars(judgement)) for judgement in self.judgements
            ],
        }

    def _headline(self) -> str:
        counts = ", ".join(f"{len(self.names(state))} {state}" for state in STATES)
        return f"Verdict({counts})"

    def _columns(self) -> dict[str, Any]:
        keys = [field.name for field in fields(Judgement)]
        return {
            key: [getattr(judgement, key) for judgement in self.judgements]
            for key in keys
        }


def judge(
    matrix: LeakageMatrix,
    totals: TotalsComparison,
    limits: Sequence[float | None],
    design: str = "`design`",
) -> Verdict:
    """Return the verdict on totals and limits.

    Parameters
    ----------
    matrix
        The leakages: lower bounds from single reports.
    totals
        The totals by guarantee: upper bounds, and lower bounds from their witnesses.
    limits
        The largest allowed total of each attribute in nats, None for no limit.
    design
        The command that designs a collection from the same data within the same limits,
        as code.
    """
    judgements = []
    known = zip(matrix.domain.names, limits, lower_bounds(matrix, totals), strict=True)
    for k, (name, limit, lower) in enumerate(known):
        (upper, upper_by, _), relaxed = _upper_bounds(totals, k)
        state: State | None = None
        if limit is not None:
            state = "within" if min(upper, relaxed[0]) <= limit else "not certifiable"
            state = "exceeded" if lower[0] > limit else state
        judgements.append(
            Judgement(name, limit, state, upper, upper_by, *relaxed, *lower)
        )
    states = {judgement.state for judgement in judgements}
    groups = same_attributes(matrix.pairs)
    settle = ""
    if "exceeded" in states or states == {None}:
        settle = f"Next: {design} asks each person some of the questions and keeps every limit."
        settle = settle if "exceeded" in states else f"No limit is set. {settle}"
    elif "not certifiable" in states:
        settle = _next_step(matrix, totals, design)
    decision = _strongest(matrix) if states <= {None} else _decision(judgements, groups)
    return Verdict(decision, _basis(judgements, totals), settle, tuple(judgements))


def _upper_bounds(totals: TotalsComparison, k: int) -> list[tuple[float, str, float]]:
    """Return the smallest total with delta 0, and with a delta: value, guarantee,
    delta.
    """
    bounds = [
        (float(total.values[k]), total.guarantee, float(total.deltas[k]))
        for total in totals.totals
        if total.kind in ("certified", "statistical")
    ]
    return [
        min(
            (bound for bound in bounds if (bound[2] > 0) == relaxed),
            default=(math.inf, "", 0.0),
        )
        for relaxed in (False, True)
    ]


def lower_bounds(
    matrix: LeakageMatrix, totals: TotalsComparison
) -> list[tuple[float, str]]:
    """Return the lower bound on each attribute's total, and the reports that attain it.

    The maximum of the contrast of the attribute's own mechanism (with delta 0), the
    leakage of one other report, and the value of a witness of joint reports.  For a
    sample and for smoothed channels only the first is a lower bound.
    """
    largest = []
    for k, (own, slack) in enumerate(matrix.direct.T.tolist()):
        bounds = [(0.0 if slack > 0 else round_down(own, 8), OWN)]
        if matrix.pairs.population is None and not any(matrix.smoothing.values()):
            bounds.append(_strongest_source(matrix, k))
            bounds += [_witness_value(total, k) for total in totals.totals]
        largest.append(max(bounds, key=lambda bound: bound[0]))
    return largest


def _strongest_source(matrix: LeakageMatrix, k: int) -> tuple[float, str]:
    """Return the largest leakage about a target from one source with delta 0, and its
    name.
    """
    relaxed = np.array([release.delta > 0 for release in matrix.releases])
    row = np.where(relaxed, 0.0, matrix.values[k])
    source = int(np.argmax(row))
    return round_down(
        float(row[source]), 64
    ), f"report of {matrix.domain.names[source]}"


def _witness_value(total: TotalLeakage, k: int) -> tuple[float, str]:
    """Return the log-likelihood ratio of a total's witness and its guarantee; 0 without
    one.
    """
    evidence = total.evidence[k] if k < len(total.evidence) else None
    if total.kind == "assumed" or evidence is None or math.isnan(evidence.counted):
        return 0.0, ""
    return round_down(
        min(evidence.counted, float(total.values[k])), 64
    ), total.guarantee


# Sentences ----------------------------------------------------------------------------


def total_text(total: TotalLeakage, k: int) -> str:
    """Return a total with two decimals: an exact one to nearest, a lower bound down,
    others up.
    """
    value = float(total.values[k])
    if total.guarantee == "exact" and total.scope == "table" and value < math.inf:
        return f"{value:.2f}"
    return lower_text(value) if total.kind == "lower bound" else upper_text(value)


def _listed(names: Sequence[str], groups: Sequence[Sequence[str]]) -> str:
    """Return the first names, equivalent attributes as "a = b", and the number of the
    others.
    """
    joined = {
        name: tuple(n for n in names if n in group)
        for group in groups
        for name in group
    }
    shown = list(dict.fromkeys(joined.get(name, (name,)) for name in names))[:3]
    listed = ", ".join(" = ".join(alike) for alike in shown)
    more = len(names) - sum(map(len, shown))
    return f"{listed} and {more} more" if more else listed


def _decision(judgements: Sequence[Judgement], groups: Sequence[Sequence[str]]) -> str:
    judged = [j for j in judgements if j.state is not None]
    exceeded = [j for j in judged if j.state == "exceeded"]
    undecided = [j for j in judged if j.state == "not certifiable"]
    count = f"{len(judged)} attribute{'s' * (len(judged) != 1)}"
    if exceeded:
        exceeded.sort(key=lambda j: (j.limit or 0.0) - j.lower)
        top = exceeded[0]
        names = _listed([j.attribute for j in exceeded], groups)
        verb = "exceeds its limit" if len(exceeded) == 1 else "exceed their limits"
        return (
            f"Do not collect with these budgets: {names} {verb} ({len(exceeded)} of {count}); "
            f"reports tell at least {top.texts[0]} nats about {top.attribute}, "
            f"{top.limit:g} are allowed."
        )
    if undecided:
        names = _listed([j.attribute for j in undecided], groups)
        return (
            f"Do not rely on these budgets yet: no limit is proven exceeded, but for "
            f"{len(undecided)} of {count} ({names}) no total certifies it either."
        )
    closest = min(judged, key=lambda j: (j.limit or 0.0) - j.proof[0])
    value, _, delta = closest.proof
    whole = f"all {count} stay within their limits"
    if len(judged) == 1:
        whole = "the attribute stays within its limit"
    return (
        f"These budgets keep the limits: {whole}; closest is {closest.attribute} with "
        f"{upper_text(value)}{delta_text(delta)} of {closest.limit:g} nats."
    )


def _strongest(matrix: LeakageMatrix) -> str:
    """Return the strongest leak as a sentence, the decision without a limit."""
    for leak in find_leaks(matrix, 1):
        return f"{leak.source} gives away {leak.target}: {leak.sentence()}."
    return "No attribute is established to tell anything about another."


def _basis(judgements: Sequence[Judgement], totals: TotalsComparison) -> str:
    parts = []
    for state in STATES:
        chosen = [j for j in judgements if j.state == state]
        if chosen and state == "not certifiable":
            parts.append(
                f"{len(chosen)} not certifiable: the smallest total that holds is larger"
            )
        elif chosen:
            proofs = [j.lower_by if state == "exceeded" else j.proof[1] for j in chosen]
            verb = "proven by" if state == "exceeded" else "by"
            reasons = "; ".join(_reason(name, totals) for name in dict.fromkeys(proofs))
            parts.append(f"{len(chosen)} {state}, {verb} {reasons}")
    return f"It rests on: {'. '.join(parts)}." if parts else ""


def _reason(name: str, totals: TotalsComparison) -> str:
    """Return what a bound rests on, and in brackets what that means."""
    if name not in GUARANTEES:
        meaning = "the attribute's own report" if name == OWN else f"one {name}"
        return f"{name} ({meaning})"
    meaning = GUARANTEES[name].meaning + ("" if name == "worst" else ", in this table")
    for total in totals.totals:
        if total.guarantee == name and total.confidence is not None:
            meaning += (
                f", delta {total.deltas.max():g}, confidence {total.confidence:.0%}"
            )
    return f"{name} ({meaning})"


NAMED = Setting("mechanism", "grr")


def _next_step(matrix: LeakageMatrix, totals: TotalsComparison, design: str) -> str:
    """Return the next step that may certify or refute undecided limits, as one
    sentence.
    """
    computed = {total.guarantee for total in totals.totals}
    named = all(
        release.mechanism is not None or release.public for release in matrix.releases
    )
    if matrix.pairs.population is not None:
        return "To settle it, analyse all records: a sample certifies only the sum of all budgets."
    if any(NEEDS_RECORDS in reason for reason in totals.unavailable.values()):
        return (
            "To settle it, analyse the table itself: pair counts cannot certify totals."
        )
    if not {"exact", "sampled", "witness"} & computed:
        how = "" if named else Text(" and name the mechanism (", NAMED, ")")
        every = Setting("guarantee", "all")
        return Text(
            "To settle it, compute totals that look at records (", every, ")", how, "."
        )
    if not named and not {"exact", "sampled"} & computed:
        return Text(
            "To settle it, name the mechanism (",
            NAMED,
            "): totals of a known one are smaller.",
        )
    return f"To settle it, {design} finds who is asked what, certified to keep every limit."
