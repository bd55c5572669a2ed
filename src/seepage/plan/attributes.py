"""Attributes of a plan: what is stored and what is shown of each."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal, cast

import msgspec

from seepage.channel.domain import Attribute
from seepage.channel.pairs import PairCounts
from seepage.designs.forms.form import Form
from seepage.designs.forms.question import (
    Budget,
    Stored,
    check_frequencies,
    rounded_frequencies,
    stored_number,
)
from seepage.totals.guarantees import GUARANTEES, KINDS

PlanKind = Literal["certified", "statistical", "assumed"]
"""The kinds of those guarantees."""


class StoredAttribute(Stored, frozen=True, kw_only=True):
    """One attribute in the file of a plan: its values, and what is promised about it.

    Parameters
    ----------
    name
        The attribute's name.
    public
        Whether its value is public: identity release, without a mechanism.
    limit
        The largest admissible total in nats; None for no limit.
    values, edges
        The values in the order of their codes, and the bin edges of a binned number.
    merged
        Further values and what each is coded as, `"*"` for all others, see `Attribute`.
    frequencies
        Nominal frequencies of the values, fixed in advance: they give the weights of
        the forms in an estimate.  Empty: uniform.
    """

    name: str
    public: bool = False
    limit: Budget | None = None
    values: tuple[str, ...]
    edges: tuple[float | Literal["inf", "-inf"], ...] = ()
    frequencies: tuple[Budget, ...] = ()
    merged: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.attribute.size and self.frequencies:
            check_frequencies(self.frequencies, self.attribute.size, f"{self.name!r}")

    @property
    def attribute(self) -> Attribute:
        """The attribute with its values and bin edges."""
        return Attribute(
            self.name, self.values, tuple(map(float, self.edges)), self.merged
        )


def stored_attributes(
    pairs: PairCounts,
    limits: Iterable[float],
    public: Iterable[str] = (),
    *,
    with_frequencies: bool = False,
) -> tuple[StoredAttribute, ...]:
    """Return the attributes of a plan.

    Parameters
    ----------
    pairs
        The pair counts that it was computed from.
    limits
        The largest admissible total of each attribute; infinity for no limit.
    public
        The attributes that are public.
    with_frequencies
        Store nominal frequencies, in whole percent.
    """
    names = set(public)
    return tuple(
        StoredAttribute(
            name=attribute.name,
            values=attribute.values,
            edges=tuple(map(stored_number, attribute.edges)),
            merged=attribute.merged,
            public=attribute.name in names,
            limit=None if limit == math.inf else float(limit),
            frequencies=tuple(rounded_frequencies(marginal))
            if with_frequencies
            else (),
        )
        for attribute, limit, marginal in zip(
            pairs.domain, limits, pairs.marginals, strict=True
        )
    )


class PlannedAttribute(StoredAttribute, frozen=True, kw_only=True):
    """One attribute of a plan, with its limit, its total, and the forms that ask for
    it.

    Parameters
    ----------
    name, public, limit, values, edges, frequencies
        As in the file of the plan.
    asking
        The forms that ask for it, each with its number from 1.
    mechanism
        The names of the mechanisms that perturb it; None if it is not collected.
    epsilon, delta
        The largest stated budget over its forms, 0 if it is not collected, and the
        largest delta.
    total, total_delta
        Total leakage in nats of all reports of one form about it, the maximum over all
        forms, and its delta.
    form
        The number of the form that attains it, from 1.
    observed
        For a population: the largest total on the table itself, for display; None if
        unknown.
    """

    asking: tuple[tuple[int, Form], ...]
    mechanism: str | None
    epsilon: float
    delta: float
    total: float
    total_delta: float
    form: int
    observed: float | None

    @classmethod
    def of(
        cls, stored: StoredAttribute, index: int, forms: Sequence[Form]
    ) -> "PlannedAttribute":
        """Return an attribute of a plan, by its index in the domain, with the plan's
        forms.
        """
        totals = [float(form.totals[index]) for form in forms]
        observed = [float((form.observed or form.totals)[index]) for form in forms]
        asking = tuple(
            one for one in enumerate(forms, 1) if stored.name in one[1].attributes
        )
        asked = [(form.question(stored.name), form.record) for _, form in asking]
        names = [question.mechanism if question else "matrix" for question, _ in asked]
        return cls(
            **msgspec.structs.asdict(stored),
            asking=asking,
            mechanism=", ".join(dict.fromkeys(names)) or None,
            epsilon=max(
                (one.epsilon if one else record for one, record in asked), default=0.0
            ),
            delta=max(
                (question.delta for question, _ in asked if question), default=0.0
            ),
            total=max(totals),
            total_delta=max(form.deltas[index] for form in forms),
            form=totals.index(max(totals)) + 1,
            observed=max(observed) if any(form.observed for form in forms) else None,
        )


def weakest_kind(forms: Iterable[Form], scope: str = "table") -> PlanKind:
    """Return the weakest kind of the guarantees of some forms.

    For a population `"certified"` totals are statistical, except those of guarantee
    `"worst"`.
    """
    names = {form.guarantee for form in forms}
    kind = max((GUARANTEES[name].kind for name in names), key=list(KINDS).index)
    is_proven = scope == "table" or names == {"worst"}
    return cast(PlanKind, kind if is_proven or kind != "certified" else "statistical")
