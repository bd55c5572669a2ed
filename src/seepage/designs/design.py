"""`Design`: what a search finds, for the plan: forms, their errors, and a comparison."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seepage._numerics import Floats, shortest_above
from seepage.data.pairs import PairCounts
from seepage.designs.form import Form
from seepage.designs.strategies import Strategy
from seepage.errors import Setting, Text


@dataclass(frozen=True, eq=False)
class Design:
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
    wanted
        The same for the statistics of the option `want`, by their texts; means in their own units.
    error
        The weighted mean of `errors`, which the search minimises.
    gap
        Upper bound of (weighted error) / (least weighted error over all forms considered) - 1.
    considered
        The number of forms whose budgets were fitted.
    comparison
        Other strategies within the same limit, each with its errors; the design last.
    ended
        Why the search ended: `"no better form"`, `"time"` or `"interrupted"`.
    notes
        Further remarks for the reader.
    scope, confidence
        For whom the limits hold: the people in the `"table"`, or with this confidence the
        `"population"` that it is a sample of.
    people
        The number of people that the errors are for; by default as many as the table has records.
    settings
        What the plan states of the options: seed, objective, people or precision, title, author.
    """

    pairs: PairCounts
    limits: Floats
    public: tuple[str, ...]
    known: tuple[str, ...]
    forms: tuple[Form, ...]
    errors: Floats
    wanted: dict[str, float]
    error: float
    gap: float
    considered: int
    comparison: tuple[Strategy, ...]
    ended: str
    notes: tuple[str, ...] = ()
    scope: str = "table"
    confidence: float | None = None
    people: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def record(self) -> float:
        """Upper bound of the leakage of any form about the whole record, in nats."""
        return max(form.record for form in self.forms)

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
        for name, limit in zip(self.pairs.domain.names, self.limits.tolist(), strict=True):
            budgets = [
                epsilon
                for form in self.forms
                for asked, epsilon in zip(form.attributes, form.epsilons.tolist(), strict=True)
                if asked == name
            ]
            if budgets and math.isinf(limit):
                yield f"{name} at epsilon {max(budgets):.3g}"


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
