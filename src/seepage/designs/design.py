"""`Design`: forms with budgets and shares, what they promise, and what error to expect."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from seepage._numerics import Floats, Integers, shortest_above
from seepage._results import Result, json_ready
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.designs.forms.form_problem import ToldAnswers
from seepage.designs.shaped.shaped_mechanism import ShapedMechanism
from seepage.designs.strategies import OPTIMAL_SMP, Strategy


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
    def known_answers(self) -> ToldAnswers | None:
        """What a shaped report tells to whoever knows other answers; None for other forms."""
        return None if self.matrix is None else ToldAnswers.of(self.matrix)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the thresholds, which are the plan's."""
        told = self.known_answers
        fields = {name: value for name, value in vars(self).items() if name != "matrix"}
        return {**fields, "shaped": None if told is None else msgspec.structs.asdict(told)}


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

    @property
    def of_smp(self) -> float | None:
        """The error as a share of that of SMP with the best shares; None where it has none."""
        found = [one.error for one in self.comparison if one.name == OPTIMAL_SMP]
        return self.error / found[0] if found else None

    def questions(self) -> Iterator[tuple[int, DesignedForm, str, str, float]]:
        """Yield every question: number of the form from 1, form, attribute, mechanism, budget."""
        for number, form in enumerate(self.forms, 1):
            for question in zip(form.attributes, form.mechanisms, form.epsilons, strict=True):
                yield number, form, *question

    def remarks(self) -> Iterator[str]:
        """Yield what is told beyond the totals, and to whom."""
        if self.known:
            yield (
                f"totals are conditional on {', '.join(self.known)}, which the adversary is taken "
                "to know of the person"
            )
        shaped = [form for form in self.forms if form.matrix is not None]
        of = "the sum of its budgets" if len(shaped) < len(self.forms) else "its epsilon"
        yield (
            f"about the whole record a form tells at most {math.ceil(self.record * 1e3) / 1e3:g}, "
            f"{of}; an adversary who knows more of the person can learn more than a total"
        )
        if shaped:
            yield _shaped_note(shaped)

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
        index = {name: k for k, name in enumerate(self.domain.names)}
        limits = [limit if math.isfinite(limit) else None for limit in self.limits.tolist()]
        return {
            "form": [number for number, *_ in rows],
            "share": [form.share for _, form, *_ in rows],
            "attribute": [name for _, _, name, _, _ in rows],
            "mechanism": [mechanism for _, _, _, mechanism, _ in rows],
            "epsilon": [epsilon for *_, epsilon in rows],
            "total": [form.totals[index[name]] for _, form, name, _, _ in rows],
            "limit": [limits[index[name]] for _, _, name, _, _ in rows],
            "record": [form.record for _, form, *_ in rows],
            "guarantee": [form.guarantee for _, form, *_ in rows],
        }

    def _headline(self) -> str:
        against = "" if self.of_smp is None else f", {self.of_smp:.3g} of the best SMP"
        return (
            f"Design({len(self.forms)} forms, {self.whom}, error {self.error:.3g}{against}, "
            f"gap {self.gap:.2g}, whole record at most {self.record:.3g})"
        )


def _shaped_note(forms: Sequence[DesignedForm]) -> str:
    """Return what the most telling of some shaped forms tell beyond their totals."""
    told = [form.known_answers for form in forms if form.known_answers is not None]
    worst: dict[str, list[float | None]] = {
        "changing one answer changes a report by": [*(one.answer for one in told)],
        "whoever knows one other answer learns": [one.one for one in told],
        "two": [one.two for one in told],
        "the worst exclusive or of answers is told about by": [one.xor for one in told],
    }
    found = {words: [v for v in values if v is not None] for words, values in worst.items()}
    parts = [f"{words} at most {shortest_above(max(v))}" for words, v in found.items() if v]
    return f"{len(told)} forms send one shaped report: {', '.join(parts)}"
