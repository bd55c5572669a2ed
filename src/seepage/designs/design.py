"""`Design`: forms with budgets and shares, what they promise, and what error to expect."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from seepage._numerics import Floats, Integers, shortest_above
from seepage._results import Result, json_ready
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.designs.shaped.shaped_mechanism import ShapedMechanism
from seepage.designs.strategies import OPTIMAL_SMP, Strategy


class KnownAnswers(NamedTuple):
    """What is told beyond the totals, all rounded up; None where there are not so many answers.

    The first needs no data; the others are for the table that the frequencies come from.
    """

    answer: float
    """By how much changing one answer changes a report's log-likelihood, whatever is known."""
    one: float | None
    """The most told about an answer to whoever knows one of the others."""
    two: float | None
    """The most told about an answer to whoever knows two of the others."""
    xor: float | None
    """The most told about the exclusive or of answers."""
    xor_of: tuple[str, ...]
    """The attributes of these answers."""

    @classmethod
    def of(cls, made: ShapedMechanism) -> "KnownAnswers":
        """Compute everything for a mechanism."""
        most, xor = len(made.sources) - 1, made.worst_xor
        return cls(
            max(made.answer_changes.values()),
            made.given_answers(1) if most >= 1 else None,
            made.given_answers(2) if most >= 2 else None,
            None if xor is None else xor.leakage,
            () if xor is None else tuple(name for name, _ in xor.answers),
        )

    def __str__(self) -> str:
        parts = [f"one answer changed {shortest_above(self.answer)}"]
        if self.one is not None:
            parts.append(f"to whoever knows one other answer {shortest_above(self.one)}")
        if self.two is not None:
            parts.append(f"two {shortest_above(self.two)}")
        if self.xor is not None:
            parts.append(f"about the xor of {', '.join(self.xor_of)} {shortest_above(self.xor)}")
        return ", ".join(parts)


@dataclass(frozen=True)
class DesignedForm:
    """One form of a design.

    Parameters
    ----------
    attributes
        The attributes asked, by name.
    mechanisms, epsilons
        The mechanism and the budget of each.
    share
        The share of people who get the form.
    totals
        What its reports tell about each attribute of the table, asked or not, at most.
    guarantee
        What the totals rest on.
    record
        What it tells about the whole record at most: the sum of its budgets.
    matrix
        The mechanism, where one shaped report tells about all answers.  `epsilons` are then what
        changing one answer changes a report by at most.
    """

    attributes: tuple[str, ...]
    mechanisms: tuple[str, ...]
    epsilons: tuple[float, ...]
    share: float
    totals: tuple[float, ...]
    guarantee: str
    record: float
    matrix: ShapedMechanism | None = field(default=None, compare=False)

    @property
    def known_answers(self) -> KnownAnswers | None:
        """What a shaped report tells to whoever knows other answers; None for other forms."""
        return None if self.matrix is None else KnownAnswers.of(self.matrix)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the thresholds, which are the plan's."""
        told = self.known_answers
        fields = {name: value for name, value in vars(self).items() if name != "matrix"}
        return {**fields, "shaped": None if told is None else told._asdict()}


@dataclass(frozen=True, eq=False, repr=False)
class Design(Result):
    """Forms with shares that keep every total within its limit, and what error to expect.

    Parameters
    ----------
    pairs
        The pair counts of the people.
    limits
        The allowed total of each attribute; infinite where it is not protected.
    public, known
        Attributes that are released in the clear, and that the adversary knows of the person.
    forms
        The forms, the largest share first.
    errors
        The expected squared error of each attribute's frequencies, summed over its values, noise
        and sampling together; infinite where it is not asked, 0 where it is constant.
    joint
        The same of each pair whose joint distribution is wanted, by the names of the two.
    weights
        How much the error of each attribute counts.
    gap
        By which share the weighted error is above the least one over all forms considered, at
        most.
    considered
        The number of forms whose budgets were fitted.
    comparison
        Other ways to spend the same limit, the design last; each with its errors.
    ended
        Why the search ended: `"no better form"`, `"time"` or `"interrupted"`.
    seed
        Of the search.
    notes
        What a reader must know besides.
    scope, confidence
        For whom the limits hold: the people in the `"table"`, or with this confidence the
        `"population"` that it is a sample of.
    """

    pairs: PairCounts
    limits: Floats
    public: tuple[str, ...]
    known: tuple[str, ...]
    forms: tuple[DesignedForm, ...]
    errors: Floats
    joint: dict[tuple[str, str], float]
    weights: Floats
    gap: float
    considered: int
    comparison: tuple[Strategy, ...]
    ended: str
    seed: int
    notes: tuple[str, ...] = ()
    scope: str = "table"
    confidence: float | None = None

    @property
    def domain(self) -> Domain:
        """The attributes of the table."""
        return self.pairs.domain

    @property
    def people(self) -> int:
        """The number of people that the errors are for."""
        return self.pairs.records

    @property
    def totals(self) -> Floats:
        """The largest total of each attribute over all forms."""
        return np.asarray(np.max([form.totals for form in self.forms], axis=0))

    @property
    def attained(self) -> Integers:
        """The form, counted from 0, that attains each attribute's largest total."""
        return np.asarray(np.argmax([form.totals for form in self.forms], axis=0))

    @property
    def record(self) -> float:
        """What the most telling form tells about the whole record at most."""
        return max(form.record for form in self.forms)

    @property
    def whom(self) -> str:
        """For whom the limits hold, in words."""
        if all(form.guarantee == "worst" for form in self.forms):
            return "for everybody"
        if self.scope == "table":
            return "for this table only"
        return f"for the population at {self.confidence:g}"

    @property
    def error(self) -> float:
        """The weighted mean of the attributes' errors."""
        used = self.weights > 0
        return float((self.weights[used] * self.errors[used]).sum() / self.weights[used].sum())

    def questions(self) -> Iterator[tuple[int, DesignedForm, str, str, float]]:
        """Yield every question: number of the form from 1, form, attribute, mechanism, budget."""
        for number, form in enumerate(self.forms, 1):
            for question in zip(form.attributes, form.mechanisms, form.epsilons, strict=True):
                yield number, form, *question

    def chart(self) -> Any:
        """Return the errors of the design and of other ways to spend the limit, as a chart."""
        from seepage.charts.results import comparison_chart

        rows = [
            {
                "strategy": one.name,
                "error": one.error,
                "basis": "certified" if one.certified else "by assumption",
            }
            for one in self.comparison
        ]
        return comparison_chart(rows, "expected squared error, mean over attributes")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON holds it."""
        strategies = [{**vars(one), "error": one.error} for one in self.comparison]
        return dict(
            json_ready(
                {
                    "attributes": list(self.domain.names),
                    "limits": self.limits,
                    "totals": self.totals,
                    "public": self.public,
                    "known": self.known,
                    "forms": [form.to_dict() for form in self.forms],
                    "errors": self.errors,
                    "joint": [[*pair, error] for pair, error in self.joint.items()],
                    "error": self.error,
                    "gap": self.gap,
                    "considered": self.considered,
                    "comparison": strategies,
                    "people": self.people,
                    "scope": self.scope,
                    "confidence": self.confidence,
                    "ended": self.ended,
                    "seed": self.seed,
                    "notes": self.notes,
                }
            )
        )

    def _columns(self) -> dict[str, Sequence[Any]]:
        rows = list(self.questions())
        place = {name: k for k, name in enumerate(self.domain.names)}
        return {
            "form": [number for number, *_ in rows],
            "share": [form.share for _, form, *_ in rows],
            "attribute": [name for _, _, name, _, _ in rows],
            "mechanism": [mechanism for _, _, _, mechanism, _ in rows],
            "epsilon": [epsilon for *_, epsilon in rows],
            "total": [form.totals[place[name]] for _, form, name, _, _ in rows],
            "limit": [_finite(self.limits[place[name]]) for _, _, name, _, _ in rows],
            "record": [form.record for _, form, *_ in rows],
            "guarantee": [form.guarantee for _, form, *_ in rows],
        }

    def _headline(self) -> str:
        best = next((one for one in self.comparison if one.name == OPTIMAL_SMP), None)
        against = "" if best is None else f", {self.error / best.error:.3g} of the best SMP"
        return (
            f"Design({len(self.forms)} forms, {self.whom}, error {self.error:.3g}{against}, "
            f"gap {self.gap:.2g}, whole record at most {self.record:.3g})"
        )


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def shaped_note(forms: Sequence[DesignedForm]) -> str:
    """Return what the most telling of some shaped forms tell beyond their totals."""
    told = [form.known_answers for form in forms if form.known_answers is not None]
    worst: dict[str, list[float | None]] = {
        "changing one answer changes a report by": [*(one.answer for one in told)],
        "whoever knows one other answer learns": [one.one for one in told],
        "two": [one.two for one in told],
        "the worst exclusive or of answers is told about by": [one.xor for one in told],
    }
    parts = []
    for words, values in worst.items():
        found = [value for value in values if value is not None]
        if found:
            parts.append(f"{words} at most {shortest_above(max(found))}")
    return f"{len(told)} forms send one shaped report: {', '.join(parts)}"
