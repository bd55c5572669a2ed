"""One attribute of a plan: its values, in which forms it is asked for, and what is promised."""

from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Literal

import msgspec

from seepage._results import json_ready
from seepage.data.domain import Attribute
from seepage.errors import InputError
from seepage.mechanisms import Mechanism
from seepage.plan.form import Form, check_frequencies
from seepage.plan.question import Budget, Question, Unbounded

ASKED = "forms that ask for it"
"""Key under which an attribute of a plan knows its forms."""


class PlannedAttribute(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True
):
    """One attribute of a plan, and what is promised about it.

    Parameters
    ----------
    name
        The attribute's name.
    public
        Whether its value is public already: released as it is, without a mechanism.
    limit
        The largest admissible total in nats; None for no limit.
    total, total_delta
        What all reports of one form together leak about it, the largest over all forms, and the
        delta with which that holds.
    form
        The number of the form that attains it, from 1.
    values, edges
        The values in the order of their codes, and the bin edges of a binned number.
    frequencies
        Nominal frequencies of the values, fixed beforehand: they decide how much each form counts
        in an estimate.  Empty: all alike.

    Notes
    -----
    `forms`, `mechanism`, `epsilon`, `delta`, `parameters` and `made` say how a plan collects it;
    an attribute outside of a plan is not collected.
    """

    name: str
    public: bool = False
    limit: Budget | None = None
    total: Unbounded
    total_delta: Budget = 0.0
    form: Annotated[int, msgspec.Meta(ge=1)] = 1
    values: tuple[str, ...]
    edges: tuple[float | Literal["inf", "-inf"], ...] = ()
    frequencies: tuple[Budget, ...] = ()

    def __post_init__(self) -> None:
        if self.attribute.size and self.frequencies:
            check_frequencies(self.frequencies, self.attribute.size, f"{self.name!r}")

    @classmethod
    def of(cls, attribute: Attribute, **fields: object) -> "PlannedAttribute":
        """Return a planned attribute with these values and bin edges."""
        return cls(
            name=attribute.name,
            values=attribute.values,
            edges=tuple(json_ready(attribute.edges)),
            **fields,  # type: ignore[arg-type]
        )

    @cached_property
    def attribute(self) -> Attribute:
        """The attribute with its values and bin edges."""
        return Attribute(self.name, self.values, tuple(map(float, self.edges)))

    # How it is collected ------------------------------------------------------------------------

    @property
    def asking(self) -> tuple[tuple[int, Form], ...]:
        """The forms that ask for it, each with its number."""
        return tuple(self.__dict__.get(ASKED, ()))

    @property
    def mechanism(self) -> str | None:
        """The names of the mechanisms that perturb it; None where it is not collected."""
        used = [question.mechanism if question else "matrix" for question in self._questions]
        return ", ".join(dict.fromkeys(used)) or None

    @property
    def epsilon(self) -> float:
        """The largest stated budget over its forms; 0 where it is not collected."""
        if len(self._questions) == 1 and (question := self._questions[0]) is not None:
            return question.epsilon
        budgets = [
            question.epsilon if (question := form.question(self.name)) else float(form.record)
            for _, form in self.asking
        ]
        return max(budgets, default=0.0)

    @property
    def delta(self) -> float:
        """The largest stated relaxation over its forms."""
        return max((question.delta for question in self._questions if question), default=0.0)

    @property
    def parameters(self) -> dict[str, float]:
        """Further parameters of its mechanism; empty where several forms ask for it."""
        alone = self._questions[0] if len(self._questions) == 1 else None
        return dict(alone.parameters) if alone else {}

    @cached_property
    def made(self) -> Mechanism | None:
        """The mechanism of the one form that asks for it; None where none does."""
        if not self.asking:
            return None
        if len(self.asking) > 1 or self._questions[0] is None:
            raise InputError(
                f"{self.name!r} is asked for in {len(self.asking)} forms or together with others, "
                "so it has no mechanism of its own; see `Plan.forms`"
            )
        return self._questions[0].made_for(self.attribute.size)

    @property
    def _questions(self) -> list[Question | None]:
        return [form.question(self.name) for _, form in self.asking]

    # What is promised ---------------------------------------------------------------------------

    @property
    def exceeds(self) -> bool:
        """Whether the total is above its limit."""
        return self.limit is not None and not float(self.total) <= self.limit


def asked_in(forms: Iterable[Form], planned: PlannedAttribute) -> PlannedAttribute:
    """Return the same attribute, which knows the forms that ask for it."""
    known = msgspec.structs.replace(planned)
    asking = [(n, form) for n, form in enumerate(forms, 1) if planned.name in form.attributes]
    known.__dict__[ASKED] = tuple(asking)
    return known
