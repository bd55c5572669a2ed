"""Attributes of a plan: what is stored and what is shown of each."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal, cast

import msgspec

from seepage.channel.domain import Attribute
from seepage.channel.no_answer import completed_frequencies
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
"""The kinds of the guarantees of a plan's totals."""


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
    shares, protects_missing
        How a person without an answer is given one, and whether having none is
        protected, see `Attribute`.
    scores, score_errors
        The number that each answer stands for in a mean, and its error.
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
    shares: tuple[int, ...] = ()
    protects_missing: bool = False
    scores: tuple[float, ...] = ()
    score_errors: tuple[Budget, ...] = ()

    def __post_init__(self) -> None:
        """Check the nominal frequencies of a plan's attribute."""
        if self.attribute.size and self.frequencies:
            check_frequencies(self.frequencies, self.attribute.size, f"{self.name!r}")

    @property
    def attribute(self) -> Attribute:
        """The plan's attribute with its values and bin edges."""
        return Attribute(
            name=self.name,
            values=self.values,
            edges=tuple(map(float, self.edges)),
            merged=self.merged,
            shares=self.shares,
            protects_missing=self.protects_missing,
            scores=self.scores,
            score_errors=self.score_errors,
        )


def stored_attributes(
    pairs: PairCounts,
    limits: Iterable[float],
    public: Iterable[str] = (),
    *,
    with_frequencies: bool = False,
) -> tuple[StoredAttribute, ...]:
    """Return the attributes of a plan as they are stored.

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
            values=attribute.as_reported.values,
            edges=tuple(map(stored_number, attribute.edges)),
            merged=attribute.merged,
            shares=attribute.shares,
            protects_missing=attribute.protects_missing,
            scores=attribute.scores,
            score_errors=attribute.score_errors,
            public=attribute.name in names,
            limit=_promised(limit, attribute),
            frequencies=tuple(
                rounded_frequencies(completed_frequencies(marginal, attribute))
            )
            if with_frequencies
            else (),
        )
        for attribute, limit, marginal in zip(
            pairs.domain, limits, pairs.marginals, strict=True
        )
    )


def _promised(limit: float, attribute: Attribute) -> float | None:
    """Return the limit of a plan's attribute; None where there is none, or one answer
    only.

    Between one answer and itself odds do not change: that promises nothing, and people
    with another answer may exist that its records do not show.
    """
    if limit == math.inf or attribute.protected_answers < 2:
        return None
    return float(limit)


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
        asking = tuple(
            (number, form)
            for number, form in enumerate(forms, 1)
            if stored.name in form.attributes
        )
        total = max(totals)
        return cls(
            **msgspec.structs.asdict(stored),
            asking=asking,
            mechanism=_mechanism_names(stored.name, asking),
            epsilon=_largest_budget(stored.name, asking),
            delta=_largest_delta(stored.name, asking),
            total=total,
            total_delta=max(form.deltas[index] for form in forms),
            form=totals.index(total) + 1,
            observed=_largest_observed(index, forms),
        )


def _mechanism_names(name: str, asking: Sequence[tuple[int, Form]]) -> str | None:
    """Return the names of the mechanisms that perturb an attribute of the plan; None
    for none.
    """
    names = dict[str, None]()
    for _, form in asking:
        question = form.question(name)
        names["matrix" if question is None else question.mechanism] = None
    return ", ".join(names) or None


def _largest_budget(name: str, asking: Sequence[tuple[int, Form]]) -> float:
    """Return the largest budget of a plan's attribute; that of a matrix is its whole
    record's.
    """
    largest = 0.0
    for _, form in asking:
        question = form.question(name)
        budget = form.record if question is None else question.epsilon
        largest = max(largest, budget)
    return largest


def _largest_delta(name: str, asking: Sequence[tuple[int, Form]]) -> float:
    """Return the largest delta of the own mechanisms of a plan's attribute."""
    largest = 0.0
    for _, form in asking:
        question = form.question(name)
        if question is not None:
            largest = max(largest, question.delta)
    return largest


def _largest_observed(index: int, forms: Sequence[Form]) -> float | None:
    """Return the largest total of a plan's attribute on the table itself; None if no
    form states one.
    """
    if not any(form.observed for form in forms):
        return None
    return max(float((form.observed or form.totals)[index]) for form in forms)


def weakest_kind(forms: Iterable[Form], scope: str = "table") -> PlanKind:
    """Return the weakest kind of the guarantees of some forms, for a plan's attribute.

    For a population `"certified"` totals are statistical, except those of guarantee
    `"worst"`.
    """
    names = {form.guarantee for form in forms}
    kind = max((GUARANTEES[name].kind for name in names), key=list(KINDS).index)
    holds_for_certain = scope == "table" or names == {"worst"}
    if kind == "certified" and not holds_for_certain:
        return "statistical"
    return cast(PlanKind, kind)
