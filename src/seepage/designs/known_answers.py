"""What a shaped report tells to an adversary who knows other answers of the person."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from seepage.designs.shaped_mechanism import ShapedMechanism

if TYPE_CHECKING:
    from seepage.designs.design import DesignedForm


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
        parts = [f"one answer changed {self.answer:.4g}"]
        if self.one is not None:
            parts.append(f"to whoever knows one other answer {self.one:.4g}")
        if self.two is not None:
            parts.append(f"two {self.two:.4g}")
        if self.xor is not None:
            parts.append(f"about the xor of {', '.join(self.xor_of)} {self.xor:.4g}")
        return ", ".join(parts)


def shaped_note(forms: "Sequence[DesignedForm]") -> str:
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
            parts.append(f"{words} at most {max(found):.4g}")
    return f"{len(told)} forms send one shaped report: {', '.join(parts)}"
