"""The verdict of an analysis: the decision, its basis, and the next step for undecided
limits.

A limit has three states.  *Within*: an upper bound (a certified or statistical total)
is at most the limit.  *Exceeded*: a lower bound (the leakage of known reports) is above
it.  *Not certifiable*: neither; an upper bound above a limit proves nothing, so it is
never called exceeded.  It is called probably exceeded where the total under the
assumption of `independent` is above it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from seepage._core import checks
from seepage._core.errors import Setting, Text
from seepage._core.odds import limit_as_typed, measured_odds, odds_at_least
from seepage._core.results import Result, json_ready
from seepage._core.rounding import round_down
from seepage._core.text import delta_text, lower_text, upper_text
from seepage.leakage.equivalent_attributes import same_attributes
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.strongest_leaks import find_leaks
from seepage.totals.guarantees import GUARANTEES, NEEDS_RECORDS
from seepage.totals.total_result import TotalLeakage
from seepage.totals.totals_comparison import TotalsComparison

State = Literal["within", "exceeded", "not certifiable"]


STATES: tuple[State, ...] = ("exceeded", "not certifiable", "within")
"""In order of urgency."""


LISTED = 3
"""Maximum number of attributes that a sentence names."""


PROBABLE = "independent"
"""Name of the guarantee that says what is probable where nothing is proven."""


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
    probable
        The total under the assumption of `independent` with delta 0, in nats; None if
        it was not computed.
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
    probable: float | None = None

    @property
    def probably_exceeded(self) -> bool:
        """Whether the verdict on a limit is open, and the probable total is above
        it.
        """
        if self.state != "not certifiable" or self.limit is None:
            return False
        return self.probable is not None and self.probable > self.limit

    @property
    def standing(self) -> str:
        """The state of a limit in the verdict's words, with what is probable where
        nothing is proven.
        """
        if self.probably_exceeded:
            return "probably exceeded"
        return self.state or "no limit"

    @property
    def proof(self) -> tuple[float, str, float]:
        """The total by which the verdict may say that a limit is kept, its guarantee
        and delta; with delta 0 if it does.
        """
        if self.upper <= self.relaxed or (
            self.limit is not None and self.upper <= self.limit
        ):
            return self.upper, self.upper_by, 0.0
        return self.relaxed, self.relaxed_by, self.delta

    @property
    def texts(self) -> tuple[str, str]:
        """Both bounds of a judgement with two decimals: rounded outwards, or to nearest
        if they are one number.
        """
        if self.upper - self.lower <= 1e-9 * self.upper < math.inf:
            nearest = f"{self.lower:.2f}"
            return nearest, nearest
        return lower_text(self.lower), upper_text(self.upper)

    @property
    def at_least(self) -> str:
        """The lower bound of a judgement and what attains it, in words; "" if nothing
        is certain, as of reports that hold but for a delta.
        """
        if self.lower <= 0:
            return ""
        return f"{self.texts[0]} {self.lower_by}"


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
        """Return the verdict's judgement of one attribute."""
        names = [judgement.attribute for judgement in self.judgements]
        known_name = checks.choice(name, "attribute", names)
        return self.judgements[names.index(known_name)]

    def names(self, state: State) -> list[str]:
        """Return the names of the attributes whose limit the verdict says is in a
        state.
        """
        checks.choice(state, "state", STATES)
        in_state = _in_state(self.judgements, state)
        return [judgement.attribute for judgement in in_state]

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
        """Return the verdict on limits in one line."""
        counts = ", ".join(f"{len(self.names(state))} {state}" for state in STATES)
        return f"Verdict({counts})"

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the verdict on limits in long form."""
        keys = [field.name for field in fields(Judgement)]
        return {
            key: [getattr(judgement, key) for judgement in self.judgements]
            for key in keys
        }


@dataclass(frozen=True)
class UpperBound:
    """A certified or statistical total of one attribute: value in nats, guarantee and
    delta.
    """

    value: float = math.inf
    guarantee: str = ""
    delta: float = 0.0


@dataclass(frozen=True)
class LowerBound:
    """A leakage that reports attain: value in nats, and which reports."""

    value: float
    reports: str


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
    judgements = list[Judgement]()
    attained = lower_bounds(matrix, totals)
    probable = _probable_totals(totals, len(limits))
    for k, name in enumerate(matrix.domain.names):
        bounds = _upper_bounds(totals, k)
        upper = _smallest([bound for bound in bounds if bound.delta == 0])
        relaxed = _smallest([bound for bound in bounds if bound.delta > 0])
        lower = attained[k]
        judgement = Judgement(
            attribute=name,
            limit=limits[k],
            state=_state(limits[k], lower.value, min(upper.value, relaxed.value)),
            upper=upper.value,
            upper_by=upper.guarantee,
            relaxed=relaxed.value,
            relaxed_by=relaxed.guarantee,
            delta=relaxed.delta,
            lower=lower.value,
            lower_by=lower.reports,
            probable=probable[k],
        )
        judgements.append(judgement)
    has_limits = any(judgement.limit is not None for judgement in judgements)
    if has_limits:
        decision = _decision(judgements, same_attributes(matrix.pairs))
    else:
        decision = _strongest(matrix)
    return Verdict(
        decision=decision,
        basis=_basis(judgements, totals),
        settle=_settle(judgements, matrix, totals, design),
        judgements=tuple(judgements),
    )


def _state(limit: float | None, lower: float, upper: float) -> State | None:
    """Return the verdict on a limit from the bounds on what reports tell; None without
    a limit.
    """
    if limit is None:
        return None
    if lower > limit:
        return "exceeded"
    if upper <= limit:
        return "within"
    return "not certifiable"


def _in_state(judgements: Sequence[Judgement], state: State | None) -> list[Judgement]:
    """Return the verdict's judgements whose limit is in a state."""
    return [judgement for judgement in judgements if judgement.state == state]


def _settle(
    judgements: Sequence[Judgement],
    matrix: LeakageMatrix,
    totals: TotalsComparison,
    design: str,
) -> str:
    """Return the verdict's next step for limits that are exceeded, undecided or not
    set.
    """
    states = {judgement.state for judgement in judgements}
    by_design = (
        f"Next: {design} asks each person some of the questions and keeps every limit."
    )
    if "exceeded" in states:
        return by_design
    if states == {None}:
        return f"No limit is set. {by_design}"
    if "not certifiable" in states:
        return _next_step(matrix, totals, design)
    return ""


def _upper_bounds(totals: TotalsComparison, k: int) -> list[UpperBound]:
    """Return the certified and statistical totals of an attribute, by which the verdict
    says that its limit is kept.
    """
    return [
        UpperBound(float(total.values[k]), total.guarantee, float(total.deltas[k]))
        for total in totals.totals
        if total.kind in ("certified", "statistical")
    ]


def _probable_totals(totals: TotalsComparison, count: int) -> list[float | None]:
    """Return the total of each attribute that the verdict calls probable, of sources
    independent given it; None where it was not computed or has a delta.
    """
    probable: list[float | None] = [None] * count
    for total in totals.totals:
        if total.guarantee != PROBABLE:
            continue
        for k, value in enumerate(total.values.tolist()):
            if total.deltas[k] == 0:
                probable[k] = value
    return probable


def _smallest(bounds: Sequence[UpperBound]) -> UpperBound:
    """Return the smallest upper bound for a verdict, of equal ones the first guarantee
    by name.
    """
    return min(
        bounds,
        key=lambda bound: (bound.value, bound.guarantee, bound.delta),
        default=UpperBound(),
    )


def lower_bounds(matrix: LeakageMatrix, totals: TotalsComparison) -> list[LowerBound]:
    """Return the lower bound on each attribute's total, by which the verdict refutes,
    and the reports that attain it.

    The maximum of the contrast of the attribute's own mechanism (with delta 0), the
    leakage of one other report, and the value of a witness of joint reports.  For a
    sample and for smoothed channels only the first is a lower bound.
    """
    counts_are_exact = matrix.pairs.population is None
    is_smoothed = any(matrix.smoothing.values())
    largest = list[LowerBound]()
    for k, (own, slack) in enumerate(matrix.direct.T.tolist()):
        contrast = 0.0
        if slack == 0:
            contrast = round_down(own, 8)
        bounds = [LowerBound(contrast, OWN)]
        if counts_are_exact and not is_smoothed:
            bounds.append(_strongest_source(matrix, k))
            bounds += [_witness_value(total, k) for total in totals.totals]
        largest.append(max(bounds, key=lambda bound: bound.value))
    return largest


def _strongest_source(matrix: LeakageMatrix, k: int) -> LowerBound:
    """Return the largest leakage from one source with delta 0 that a verdict refutes
    by, and its name.
    """
    relaxed = np.array([release.delta > 0 for release in matrix.releases])
    row = np.where(relaxed, 0.0, matrix.values[k])
    source = int(np.argmax(row))
    largest = round_down(float(row[source]), 64)
    return LowerBound(largest, f"report of {matrix.domain.names[source]}")


def _witness_value(total: TotalLeakage, k: int) -> LowerBound:
    """Return the log-likelihood ratio of a witness that a verdict refutes by, and its
    guarantee; 0 without one.
    """
    nothing = LowerBound(0.0, "")
    if total.kind == "assumed" or k >= len(total.evidence):
        return nothing
    witness = total.evidence[k]
    if witness is None or math.isnan(witness.counted):
        return nothing
    attained = min(witness.counted, float(total.values[k]))
    return LowerBound(round_down(attained, 64), total.guarantee)


# Sentences ----------------------------------------------------------------------------


def total_text(total: TotalLeakage, k: int) -> str:
    """Return a total of a verdict with two decimals: an exact one to nearest, a lower
    bound down, others up.
    """
    value = float(total.values[k])
    if total.guarantee == "exact" and total.scope == "table" and value < math.inf:
        return f"{value:.2f}"
    if total.kind == "lower bound":
        return lower_text(value)
    return upper_text(value)


def _listed(names: Sequence[str], groups: Sequence[Sequence[str]]) -> str:
    """Return the first names of a verdict, equivalent attributes as "a = b", and the
    number of the others.
    """
    alike_of = dict[str, tuple[str, ...]]()
    for group in groups:
        alike = tuple(name for name in names if name in group)
        alike_of.update(dict.fromkeys(group, alike))
    sets = list(dict.fromkeys(alike_of.get(name, (name,)) for name in names))
    shown = sets[:LISTED]
    listed = ", ".join(" = ".join(alike) for alike in shown)
    more = len(names) - sum(map(len, shown))
    if more:
        return f"{listed} and {more} more"
    return listed


def _decision(judgements: Sequence[Judgement], groups: Sequence[Sequence[str]]) -> str:
    """Return the verdict's decision on the limits that are set, by the most urgent
    state.
    """
    judged = [judgement for judgement in judgements if judgement.state is not None]
    exceeded = _in_state(judged, "exceeded")
    undecided = _in_state(judged, "not certifiable")
    count = f"{len(judged)} attributes"
    if len(judged) == 1:
        count = "1 attribute"
    if exceeded:
        number_probable = sum(judgement.probably_exceeded for judgement in undecided)
        return _decision_against(exceeded, number_probable, count, groups)
    if undecided:
        return _decision_open(undecided, count, groups)
    return _decision_for(judged, count)


def _decision_open(
    undecided: Sequence[Judgement], count: str, groups: Sequence[Sequence[str]]
) -> str:
    """Return the verdict's decision where limits are undecided, with what is
    probable.
    """
    probable = [judgement for judgement in undecided if judgement.probably_exceeded]
    if not probable:
        names = _listed([judgement.attribute for judgement in undecided], groups)
        return (
            f"Do not rely on these budgets yet: no limit is proven exceeded, but for "
            f"{len(undecided)} of {count} ({names}) no total certifies it either."
        )
    probable.sort(key=lambda j: (j.limit or 0.0) - (j.probable or 0.0))
    names = _listed([judgement.attribute for judgement in probable], groups)
    verb = "exceed their limits"
    if len(probable) == 1:
        verb = "exceeds its limit"
    return (
        f"Do not rely on these budgets: {names} probably {verb} ({len(probable)} of "
        f"{count}); no limit is proven exceeded, and for {len(undecided)} no total "
        "certifies it either."
    )


def _decision_against(
    exceeded: Sequence[Judgement],
    number_probable: int,
    count: str,
    groups: Sequence[Sequence[str]],
) -> str:
    """Return the verdict's decision where limits are exceeded; it names the one by the
    most.
    """
    by_excess = sorted(exceeded, key=lambda j: (j.limit or 0.0) - j.lower)
    top = by_excess[0]
    names = _listed([judgement.attribute for judgement in by_excess], groups)
    verb = "exceed their limits"
    if len(exceeded) == 1:
        verb = "exceeds its limit"
    probably = ""
    if number_probable:
        probably = f", and {number_probable} more probably"
    return (
        f"Do not collect with these budgets: {names} {verb} ({len(exceeded)} of "
        f"{count}{probably}); all reports of a person change the odds about "
        f"{top.attribute} at least {odds_at_least(top.lower)} times, "
        f"{_limit_in_words(top)} are allowed."
    )


def _decision_for(judged: Sequence[Judgement], count: str) -> str:
    """Return the verdict's decision where all limits are kept; it names the closest
    one.
    """
    closest = min(judged, key=lambda j: (j.limit or 0.0) - j.proof[0])
    value, _, delta = closest.proof
    whole = f"all {count} stay within their limits"
    if len(judged) == 1:
        whole = "the attribute stays within its limit"
    return (
        f"These budgets keep the limits: {whole}; closest is {closest.attribute}, "
        f"whose odds change at most {measured_odds(value)} times{delta_text(delta)}; "
        f"{_limit_in_words(closest)} are allowed."
    )


def _limit_in_words(judgement: Judgement) -> str:
    """Return the limit of a judgement as odds, with the nats that were typed."""
    limit = judgement.limit or 0.0
    typed = limit_as_typed(limit)
    if typed.endswith("x"):
        return f"{typed.removesuffix('x')} times"
    return f"{measured_odds(limit)} times ({typed} nats)"


def _strongest(matrix: LeakageMatrix) -> str:
    """Return the strongest leak as a sentence, the verdict's decision without a
    limit.
    """
    for leak in find_leaks(matrix, 1):
        return f"{leak.source} gives away {leak.target}: {leak.sentence()}."
    return "No attribute is established to tell anything about another."


def _basis(judgements: Sequence[Judgement], totals: TotalsComparison) -> str:
    """Return the verdict's basis: how many limits are in each state, and what that
    rests on.
    """
    exceeded = _in_state(judgements, "exceeded")
    undecided = _in_state(judgements, "not certifiable")
    within = _in_state(judgements, "within")
    parts = list[str]()
    if exceeded:
        reasons = _reasons([judgement.lower_by for judgement in exceeded], totals)
        parts.append(f"{len(exceeded)} exceeded, proven by {reasons}")
    if undecided:
        parts.append(
            f"{len(undecided)} not certifiable: the smallest total that holds is larger"
        )
        probable = [judgement for judgement in undecided if judgement.probably_exceeded]
        if probable:
            parts[-1] += (
                f"; {len(probable)} of them probably exceeded, by {PROBABLE} "
                f"({GUARANTEES[PROBABLE].meaning})"
            )
    if within:
        reasons = _reasons([judgement.proof[1] for judgement in within], totals)
        parts.append(f"{len(within)} within, by {reasons}")
    if not parts:
        return ""
    return f"It rests on: {'. '.join(parts)}."


def _reasons(names: Sequence[str], totals: TotalsComparison) -> str:
    """Return what the bounds of a verdict rest on, each once."""
    return "; ".join(_reason(name, totals) for name in dict.fromkeys(names))


def _reason(name: str, totals: TotalsComparison) -> str:
    """Return what a bound of a verdict rests on, and in brackets what that means."""
    if name == OWN:
        return f"{name} (the attribute's own report)"
    if name not in GUARANTEES:
        return f"{name} (one {name})"
    meaning = GUARANTEES[name].meaning
    if name != "worst":
        meaning += ", in this table"
    for total in totals.totals:
        if total.guarantee == name and total.confidence is not None:
            meaning += (
                f", delta {total.deltas.max():g}, confidence {total.confidence:.0%}"
            )
    return f"{name} ({meaning})"


NAMED = Setting("mechanism", "grr")
"""The option that names a mechanism, for the next step."""


def _next_step(matrix: LeakageMatrix, totals: TotalsComparison, design: str) -> str:
    """Return the verdict's next step that may certify or refute undecided limits, as
    one sentence.
    """
    computed = {total.guarantee for total in totals.totals}
    named = all(
        release.mechanism is not None or release.public for release in matrix.releases
    )
    if matrix.pairs.population is not None:
        return (
            "To settle it, analyse all records: a sample certifies only the sum of all "
            "budgets."
        )
    if any(NEEDS_RECORDS in reason for reason in totals.unavailable.values()):
        return (
            "To settle it, analyse the table itself: pair counts cannot certify totals."
        )
    if not {"exact", "sampled", "witness"} & computed:
        how: str = Text(" and name the mechanism (", NAMED, ")")
        if named:
            how = ""
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
    return (
        f"To settle it, {design} finds who is asked what, certified to keep every "
        "limit."
    )
