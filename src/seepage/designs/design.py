"""`Design`: forms with budgets and shares, their totals, and the expected errors."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import msgspec
import numpy as np

from seepage._numerics import Floats, Integers, shortest_above
from seepage._results import Result, json_ready
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.designs.form import Form
from seepage.designs.strategies import BEYOND, OPTIMAL_SMP, Strategies
from seepage.designs.wanted import parse_want, spread
from seepage.errors import Setting, Text


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
    importance
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
    want
        The means and joint tables that are wanted.  Errors of attributes whose mean is wanted are
        those of the scaled mean [`designs.wanted`]; see `means`.
    people
        The number of people that the errors are for; by default as many as the table has records.
    settings
        What the plan states of the options: objective, people or precision, title and author.
    """

    pairs: PairCounts
    limits: Floats
    public: tuple[str, ...]
    known: tuple[str, ...]
    forms: tuple[Form, ...]
    errors: Floats
    joint: dict[tuple[str, str], float]
    importance: Floats
    gap: float
    considered: int
    comparison: Strategies
    ended: str
    seed: int
    notes: tuple[str, ...] = ()
    scope: str = "table"
    confidence: float | None = None
    want: tuple[str, ...] = ()
    people: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def domain(self) -> Domain:
        """The attributes of the table."""
        return self.pairs.domain

    @property
    def means(self) -> dict[str, float]:
        """The expected squared errors of the wanted means, in their own units."""
        scores, names = parse_want(self.domain, self.want).scores, self.domain.names
        return {names[j]: spread(v, float(self.errors[j])) for j, v in scores.items()}

    @property
    def totals(self) -> Floats:
        """The largest total of each attribute over all forms."""
        return np.asarray(np.max([form.total_values for form in self.forms], axis=0))

    @property
    def attained(self) -> Integers:
        """The form, counted from 0, that attains each attribute's largest total."""
        return np.asarray(np.argmax([form.total_values for form in self.forms], axis=0))

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
        used = self.importance > 0
        return float(
            (self.importance[used] * self.errors[used]).sum() / self.importance[used].sum()
        )

    @property
    def of_smp(self) -> float | None:
        """The error relative to that of SMP with the best shares; None if SMP is not compared.

        By the objective: of the means over the attributes, or of the largest errors per value.
        """
        by, sizes = self.settings.get("objective", "mean"), self.domain.sizes
        of_value = dict(zip(self.domain.names, sizes, strict=True))
        found = {one.name: one.objective_error(by, of_value) for one in self.comparison}
        smp = found.get(OPTIMAL_SMP)
        return None if smp is None else found[self.comparison[-1].name] / smp

    def remarks(self) -> Iterator[str]:
        """Yield remarks on leakage beyond the totals: the record, and adversaries who know more."""
        if self.known:
            yield (
                f"totals are conditional on {', '.join(self.known)}, which the adversary is "
                "assumed to know of the person"
            )
        if clear := list(self._unprotected()):
            yield Text(
                f"sent nearly as answered, since no limit protects them: {', '.join(clear)} (",
                Setting("left_out"),
                ")",
            )
        shaped = [form for form in self.forms if not form.is_product]
        bound = "the sum of its budgets" if len(shaped) < len(self.forms) else "its epsilon"
        yield (
            "the leakage of a form about the whole record is at most "
            f"{math.ceil(self.record * 1e3) / 1e3:g}, {bound}; an adversary who knows other "
            "answers of the person can learn more than a total, but no more than that"
        )
        if shaped:
            yield _shaped_note(shaped)

    def _unprotected(self) -> Iterator[str]:
        """Yield the attributes without a limit that are asked, with their largest budgets."""
        for name, limit in zip(self.domain.names, self.limits.tolist(), strict=True):
            budgets = [
                epsilon
                for form in self.forms
                for asked, epsilon in zip(form.attributes, form.epsilons.tolist(), strict=True)
                if asked == name
            ]
            if budgets and math.isinf(limit):
                yield f"{name} at epsilon {max(budgets):.3g}"

    def chart(self) -> Any:
        """Return a chart of the errors of the design and of other strategies within the limit."""
        from seepage.charts.results import comparison_chart

        rows = [
            {
                "strategy": strategy.name,
                "error": strategy.error,
                "basis": "beyond the limit"
                if strategy.name in BEYOND
                else "certified"
                if strategy.certified
                else "by assumption",
            }
            for strategy in self.comparison
        ]
        return comparison_chart(rows, "expected squared error, mean over attributes")

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain JSON."""
        asdict = msgspec.structs.asdict
        stored = {one.name: getattr(self, one.name) for one in fields(self)}
        derived = {
            "attributes": self.domain.names,
            "totals": self.totals,
            "forms": [_form_fields(form) for form in self.forms],
            "joint": [[*pair, error] for pair, error in self.joint.items()],
            "means": self.means,
            "error": self.error,
            "comparison": [{**asdict(one), "error": one.error} for one in self.comparison],
        }
        del stored["pairs"], stored["importance"]
        return dict(json_ready({**stored, **derived}))

    def _columns(self) -> dict[str, Sequence[Any]]:
        rows = list[dict[str, Any]]()
        for number, form in enumerate(self.forms, 1):
            budgets = form.epsilons.tolist()
            for name, how, epsilon in zip(form.attributes, form.mechanisms, budgets, strict=True):
                k = self.domain.index(name)
                question = {"attribute": name, "mechanism": how, "epsilon": epsilon}
                limit = float(self.limits[k]) if math.isfinite(self.limits[k]) else None
                total = {"total": float(form.totals[k]), "limit": limit}
                whole = {"record": form.record, "guarantee": form.guarantee}
                rows.append({"form": number, "share": form.share, **question, **total, **whole})
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _headline(self) -> str:
        against = "" if self.of_smp is None else f", {self.of_smp:.3g} of the best SMP"
        return (
            f"Design({len(self.forms)} forms, {self.whom}, error {self.error:.3g}{against}, "
            f"gap {self.gap:.2g}, whole record at most {self.record:.3g})"
        )


def _form_fields(form: Form) -> dict[str, Any]:
    """Return a form as plain JSON, without the thresholds of a matrix, which are in the plan."""
    leakages = form.answer_leakage
    names = ("attributes", "mechanisms", "epsilons", "share", "totals", "guarantee", "record")
    fields = {name: getattr(form, name) for name in names}
    return {**fields, "shaped": None if leakages is None else msgspec.structs.asdict(leakages)}


def _shaped_note(forms: Sequence[Form]) -> str:
    """Return a remark on the largest leakage of shaped forms beyond their totals."""
    leakages = [form.answer_leakage for form in forms if form.answer_leakage is not None]
    clauses = {
        "answer": "changing one answer changes a report's log-likelihood by",
        "one": "whoever knows one other answer of the form learns about an answer",
        "two": "whoever knows two of them",
        "xor": "the leakage about an exclusive or of answers is",
    }
    parts = []
    for name, clause in clauses.items():
        values = [value for form in leakages if (value := getattr(form, name)) is not None]
        if values:
            parts.append(f"{clause} at most {shortest_above(max(values))}")
    sending = "1 form sends" if len(leakages) == 1 else f"{len(leakages)} forms send"
    return f"{sending} one shaped report: {', '.join(parts)}"
