"""`Design`: forms with budgets and shares, their totals, and the expected errors."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from seepage._numerics import Floats, Integers, shortest_above
from seepage._results import Result, json_ready
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.designs.strategies import OPTIMAL_SMP, Strategies, error_of

if TYPE_CHECKING:
    from seepage.designs.shaped.shaped_mechanism import ShapedMechanism


Nats = Annotated[float, msgspec.Meta(ge=0)]


class AnswerLeakage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Leakage in nats of a shaped report about its answers, given others or not, for the table.

    Parameters
    ----------
    answer
        Largest change of the report's log-likelihood when one answer changes, whatever is known.
    one, two
        Largest leakage about an answer given one or two of the other answers; None if the form has
        fewer others.
    xor, xor_of
        Largest leakage about the exclusive or of answers, and the attributes of those answers.
    """

    answer: Nats
    one: Nats | None = None
    two: Nats | None = None
    xor: Nats | None = None
    xor_of: tuple[str, ...] = ()

    @classmethod
    def of(cls, made: "ShapedMechanism") -> "AnswerLeakage":
        """Return the leakages of a mechanism about its answers, in nats, rounded up."""
        others, xor = len(made.sources) - 1, made.worst_xor
        return cls(
            answer=max(made.answer_changes.values()),
            one=made.given_answers(1) if others >= 1 else None,
            two=made.given_answers(2) if others >= 2 else None,
            xor=None if xor is None else xor.leakage,
            xor_of=() if xor is None else tuple(name for name, _ in xor.answers),
        )

    def __str__(self) -> str:
        parts = [
            ("one answer changed", self.answer),
            ("to whoever knows one other answer", self.one),
            ("two", self.two),
            (f"about the xor of {', '.join(self.xor_of)}", self.xor),
        ]
        return ", ".join(
            f"{what} {shortest_above(nats)}" for what, nats in parts if nats is not None
        )


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
        Upper bound in nats of the leakage of its reports about each attribute of the table, asked
        or not.
    guarantee
        The guarantee of the totals.
    record
        Upper bound of the leakage about the whole record: the sum of its budgets.
    matrix
        The mechanism of a form with one shaped report for all answers.  `epsilons` are then the
        largest changes of the report's log-likelihood when one answer changes.
    """

    attributes: tuple[str, ...]
    mechanisms: tuple[str, ...]
    epsilons: tuple[float, ...]
    share: float
    totals: tuple[float, ...]
    guarantee: str
    record: float
    matrix: "ShapedMechanism | None" = field(default=None, compare=False)

    @property
    def answer_leakage(self) -> AnswerLeakage | None:
        """Leakage of a shaped report given other answers; None for other forms."""
        return None if self.matrix is None else AnswerLeakage.of(self.matrix)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields except the matrix, whose thresholds are in the plan."""
        leakages = self.answer_leakage
        fields = {name: value for name, value in vars(self).items() if name != "matrix"}
        return {**fields, "shaped": None if leakages is None else msgspec.structs.asdict(leakages)}


@dataclass(frozen=True, eq=False, repr=False)
class Design(Result):
    """Forms with shares that keep every total within its limit, and their expected errors.

    Parameters
    ----------
    pairs
        The pair counts of the records.
    limits
        The maximum total of each attribute in nats; infinite if it is not protected.
    public, known
        Attributes released in the clear, and attributes that the adversary knows of the person.
    forms
        The forms, in descending order of their shares.
    errors
        The expected squared error of each attribute's frequencies, summed over its values, noise
        and sampling together; infinite if it is not asked, 0 if it is constant.
    joint
        The same for each pair of the option `joint`, by the names of the two.
    weights
        The weight of each attribute's error.
    gap
        Upper bound of (weighted error) / (least weighted error over all forms considered) - 1.
    considered
        The number of forms whose budgets were fitted.
    comparison
        Other strategies within the same limit, each with its errors; the design last.  A tuple;
        `comparison.to_pandas()` has one row per strategy.
    ended
        Why the search ended: `"no better form"`, `"time"` or `"interrupted"`.
    seed
        Seed of the search.
    notes
        Further remarks for the reader.
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
    comparison: Strategies
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
        """Upper bound of the leakage of any form about the whole record, in nats."""
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
        """The error relative to that of SMP with the best shares; None if SMP is not compared."""
        smp_error = error_of(OPTIMAL_SMP, self.comparison)
        return None if smp_error is None else self.error / smp_error

    def questions(self) -> Iterator[tuple[int, DesignedForm, str, str, float]]:
        """Yield every question: number of the form from 1, form, attribute, mechanism, budget."""
        for number, form in enumerate(self.forms, 1):
            for question in zip(form.attributes, form.mechanisms, form.epsilons, strict=True):
                yield number, form, *question

    def remarks(self) -> Iterator[str]:
        """Yield remarks on leakage beyond the totals: the record, and adversaries who know more."""
        if self.known:
            yield (
                f"totals are conditional on {', '.join(self.known)}, which the adversary is "
                "assumed to know of the person"
            )
        shaped = [form for form in self.forms if form.matrix is not None]
        bound = "the sum of its budgets" if len(shaped) < len(self.forms) else "its epsilon"
        yield (
            "the leakage of a form about the whole record is at most "
            f"{math.ceil(self.record * 1e3) / 1e3:g}, {bound}; an adversary who knows more of the "
            "person can learn more than a total"
        )
        if shaped:
            yield _shaped_note(shaped)

    def chart(self) -> Any:
        """Return a chart of the errors of the design and of other strategies within the limit."""
        from seepage.charts.results import comparison_chart

        rows = [
            {
                "strategy": strategy.name,
                "error": strategy.error,
                "basis": "certified" if strategy.certified else "by assumption",
            }
            for strategy in self.comparison
        ]
        return comparison_chart(rows, "expected squared error, mean over attributes")

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain JSON."""
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
    """Return a remark on the largest leakage of shaped forms beyond their totals."""
    leakages = [form.answer_leakage for form in forms if form.answer_leakage is not None]
    clauses = {
        "answer": "changing one answer changes a report's log-likelihood by",
        "one": "whoever knows one other answer learns about an answer",
        "two": "whoever knows two",
        "xor": "the leakage about an exclusive or of answers is",
    }
    parts = []
    for name, clause in clauses.items():
        values = [value for form in leakages if (value := getattr(form, name)) is not None]
        if values:
            parts.append(f"{clause} at most {shortest_above(max(values))}")
    sending = "1 form sends" if len(leakages) == 1 else f"{len(leakages)} forms send"
    return f"{sending} one shaped report: {', '.join(parts)}"
