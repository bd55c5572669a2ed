"""What a plan leaves out: columns that are not asked, not protected, or no answers.

It stands beside a plan's first sentence, in its `repr` and in a warning: a limit about
"every attribute" is no promise about a column that the plan does not know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seepage._core.text import number_of, short_list
from seepage.designs.changes import people_change
from seepage.plan.attributes import PlannedAttribute
from seepage.plan.plan_content import PlanContent

SHOWN = 5
"""Maximum number of names of a clause."""


RARE = 0.1
"""Share of the people below which all answers but one are rare."""


NOTABLE = 0.9
"""Factor of the people without a rare question up to which its price is named."""


OR_OTHER = " or other"
"""How an answer ends that a common one and rare ones share."""


@dataclass(frozen=True)
class LeftOut:
    """The columns of a plan's table by what the plan does with them.

    Parameters
    ----------
    columns
        The number of columns of the table.
    asked, public
        The attributes that are asked, and those that are released as they are.
    rare
        Attributes that are protected but not asked, because all of their answers but
        one are rare.
    unasked
        Further attributes that are protected but not asked.
    known
        Attributes that are taken as known to everyone who sees reports.
    unlimited
        Further attributes without a limit in a plan that has limits, asked or not.
    too_rare
        Columns with answers too rare to protect.
    single
        Attributes with one answer only, about which nothing is promised.
    same
        Columns that say the same as another, and that one.
    no_answers
        Columns that are no answers, and the kind of each.
    """

    columns: int
    asked: tuple[str, ...]
    public: tuple[str, ...]
    rare: tuple[str, ...]
    unasked: tuple[str, ...]
    known: tuple[str, ...]
    unlimited: tuple[str, ...]
    too_rare: tuple[str, ...]
    single: tuple[str, ...]
    same: Mapping[str, str]
    no_answers: Mapping[str, str]

    @property
    def unpromised(self) -> int:
        """The number of columns left out of the limits, about which these say
        nothing.
        """
        groups: tuple[Any, ...] = (
            self.known,
            self.unlimited,
            self.too_rare,
            self.single,
            self.same,
            self.no_answers,
        )
        return sum(len(group) for group in groups)


def left_out_of(plan: PlanContent) -> LeftOut:
    """Return which columns of its table a plan leaves out, and of what."""
    stated = plan.provenance.stated
    too_rare = tuple(stated.too_rare)
    same = stated.columns.same
    no_answers = stated.columns.no_answers
    rare = list[str]()
    unasked = list[str]()
    known = list[str]()
    unlimited = list[str]()
    single = list[str]()
    asked = list[str]()
    for planned in plan.attributes:
        if planned.public:
            continue
        if planned.asking:
            asked.append(planned.name)
        if planned.name in stated.known:
            known.append(planned.name)
        elif len(planned.values) == 1:
            single.append(planned.name)
        elif planned.limit is None:
            unlimited.append(planned.name)
        elif planned.asking:
            continue
        elif planned.name in stated.protected:
            rare.append(planned.name)
        else:
            unasked.append(planned.name)
    if all(planned.limit is None for planned in plan.attributes):
        unlimited = []  # the plan has no limits, and states its totals
    columns = len(plan.attributes) + len(too_rare) + len(same) + len(no_answers)
    return LeftOut(
        columns=columns,
        asked=tuple(asked),
        public=tuple(plan.public),
        rare=tuple(rare),
        unasked=tuple(unasked),
        known=tuple(known),
        unlimited=tuple(unlimited),
        too_rare=too_rare,
        single=tuple(single),
        same=same,
        no_answers=no_answers,
    )


def left_out_sentence(plan: PlanContent) -> str:
    """Return what a plan leaves out, in one sentence; empty if it asks every column.

    With the price of asking what is rare, at most, where the search has computed it,
    and what not asking a rare question that is asked would save, from a tenth of the
    people on.
    """
    left_out = left_out_of(plan)
    clauses = [
        *_dear_clauses(plan),
        *_joined_clauses(plan),
        *_protected_clauses(plan, left_out),
        *_unpromised_clauses(left_out),
    ]
    if not clauses:
        return ""
    asked = f"{len(left_out.asked):,} of {number_of(left_out.columns, 'column')}"
    verb = "is asked" if len(left_out.asked) == 1 else "are asked"
    return f"{asked} {verb}; {'; '.join(clauses)}."


def _dear_clauses(plan: PlanContent) -> list[str]:
    """Return what the questions with rare answers save at least if they are left out.

    Prices are of the forms that the search found: a new search may save more.
    """
    saved = {
        change.attributes[0]: change.people
        for change in plan.priced
        if change.kind == "drop" and change.people <= NOTABLE
    }
    dear = [
        f"{planned.name} has rare answers (without it at least "
        f"{people_change(saved[planned.name])})"
        for planned in plan.attributes
        if planned.name in saved and _has_rare_answers(planned)
    ]
    if len(dear) > SHOWN:
        return [*dear[:SHOWN], f"{len(dear) - SHOWN:,} more have rare answers"]
    return dear


def _joined_clauses(plan: PlanContent) -> list[str]:
    """Return which questions count rare answers with a common one.

    "Untested or other" is true for a person who is positive, but no share of those who
    are is estimated: it is the user who says whether that matters.
    """
    joined = list[str]()
    for planned in plan.attributes:
        label = planned.attribute.catch_all
        if planned.asking and label is not None and label.endswith(OR_OTHER):
            joined.append(f"{planned.name} ({label!r})")
    if not joined:
        return []
    return [f"rare answers count with a common one: {short_list(joined, SHOWN)}"]


def _has_rare_answers(planned: PlannedAttribute) -> bool:
    """Return whether all answers of an attribute but one are rare, so that it is left
    out.
    """
    if len(planned.frequencies) < 2:
        return False
    return sorted(planned.frequencies)[-2] < RARE


def _protected_clauses(plan: PlanContent, left_out: LeftOut) -> list[str]:
    """Return which columns left out are protected and not asked, and which are
    public.
    """
    clauses = list[str]()
    if left_out.rare:
        price = _price_of_asking(plan, left_out.rare)
        clauses.append(
            f"{_are(left_out.rare, 'with rare answers')} protected but not asked"
            f"{price}: {short_list(left_out.rare, SHOWN)}"
        )
    if left_out.unasked:
        names = short_list(left_out.unasked, SHOWN)
        clauses.append(f"{_are(left_out.unasked)} protected but not asked: {names}")
    if left_out.public:
        names = short_list(left_out.public, SHOWN)
        clauses.append(f"{_are(left_out.public)} public: {names}")
    return clauses


def _are(names: Sequence[str], what: str = "") -> str:
    """Return how many columns are left out, the subject of a clause: "3 with rare
    answers are".
    """
    words = [f"{len(names):,}", what, "is" if len(names) == 1 else "are"]
    return " ".join(word for word in words if word)


def _price_of_asking(plan: PlanContent, names: Sequence[str]) -> str:
    """Return what asking columns that are left out costs at most, in brackets; empty if
    it is not known.

    Of all of them together, else of the dearest of them.
    """
    prices = dict[frozenset[str], float]()
    for change in plan.priced:
        if change.kind == "add":
            prices[frozenset(change.attributes)] = change.people
    together = prices.get(frozenset(names))
    if together is not None:
        subject = "it" if len(names) == 1 else "them"
        return f" (asking {subject}: {people_change(together)} at most)"
    single = [
        prices[frozenset([name])] for name in names if frozenset([name]) in prices
    ]
    if not single:
        return ""
    return f" (asking one of them: {people_change(max(single))} at most)"


def _unpromised_clauses(left_out: LeftOut) -> list[str]:
    """Return which columns are left out of the promise, by reason."""
    reasons = list[str]()
    if left_out.known:
        names = short_list(left_out.known, SHOWN)
        reasons.append(f"{names} (taken as known to everyone who sees reports)")
    if left_out.unlimited:
        names = short_list(left_out.unlimited, SHOWN)
        reasons.append(f"{names} (no limit)")
    if left_out.too_rare:
        reasons.append(f"{short_list(left_out.too_rare, SHOWN)} (answers too rare)")
    if left_out.single:
        reasons.append(f"{short_list(left_out.single, SHOWN)} (one answer)")
    if left_out.same:
        pairs = [f"{name} (same as {twin})" for name, twin in left_out.same.items()]
        reasons.append(short_list(pairs, SHOWN))
    names_of_kind = dict[str, list[str]]()
    for name, kind in left_out.no_answers.items():
        names_of_kind.setdefault(kind, []).append(name)
    for kind, of_kind in names_of_kind.items():
        reasons.append(f"{short_list(of_kind, SHOWN)} ({kind})")
    if not reasons:
        return []
    return [f"nothing is promised about {', '.join(reasons)}"]
