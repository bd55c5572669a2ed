"""Channels of forms, from answers to reports: a product of mechanisms, or one matrix.

A product has one report for each answer; a matrix has one report for all answers
together.
"""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.rounding import summed_up
from seepage._core.text import shortest_above
from seepage.channel.domain import Domain
from seepage.designs.forms.question import (
    Budget,
    IntegerText,
    Question,
    Stored,
    check_frequencies,
    parse_integer,
    rounded_frequencies,
)
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.transition_matrix import MatrixMechanism

if TYPE_CHECKING:
    from seepage.designs.shaped.shaped_report import ShapedReport


REPORT = "report"
"""The name of the one report of a matrix channel."""


class ProductChannel(
    Stored, frozen=True, kw_only=True, tag="product", tag_field="type"
):
    """One report for each answer, perturbed independently.

    Parameters
    ----------
    questions
        The questions, in order.
    """

    questions: tuple[Question, ...]

    def __post_init__(self) -> None:
        """Check that a form's channel asks for different attributes."""
        _check_asked(self.attributes)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that a form's channel asks for."""
        return tuple(question.attribute for question in self.questions)

    @property
    def record(self) -> float:
        """Leakage of a form's channel about the whole record: the sum of budgets,
        rounded up.
        """
        return summed_up(question.epsilon for question in self.questions)

    @property
    def epsilons(self) -> Floats:
        """The budget of each question in a form's channel."""
        return np.array([question.epsilon for question in self.questions])

    @property
    def mechanism_names(self) -> tuple[str, ...]:
        """The name of the mechanism of each question in a form's channel."""
        return tuple(question.mechanism for question in self.questions)

    @classmethod
    def of(
        cls,
        attributes: Iterable[str],
        mechanisms: Iterable[str],
        epsilons: Iterable[float],
    ) -> "ProductChannel":
        """Return the channel of a form with one question per attribute, with these
        mechanisms and budgets.
        """
        asked = zip(attributes, mechanisms, epsilons, strict=True)
        return cls(
            questions=tuple(
                Question(attribute=name, mechanism=mechanism, epsilon=epsilon)
                for name, mechanism, epsilon in asked
            )
        )

    def mechanisms(self, domain: Domain) -> dict[str, Mechanism]:
        """Return the mechanism of each report of a form's channel, by attribute."""
        return {
            question.attribute: question.mechanism_for(domain[question.attribute].size)
            for question in self.questions
        }


class AnswerLeakage(Stored, frozen=True, kw_only=True):
    """Leakage in nats of a shaped report about its answers, given others or not, for
    the table.

    Parameters
    ----------
    changes
        Largest change of the report's log-likelihood when one answer changes, whatever
        is known, for each answer.
    one, two
        Largest leakage about an answer given one or two of the other answers; None if
        the form has fewer others.
    xor, xor_of
        Largest leakage about the exclusive or of answers, and the attributes of those
        answers.
    """

    changes: tuple[Budget, ...]
    one: Budget | None = None
    two: Budget | None = None
    xor: Budget | None = None
    xor_of: tuple[str, ...] = ()

    @property
    def answer(self) -> float:
        """The largest change of a matrix channel's log-likelihood by one answer."""
        return max(self.changes)

    def __str__(self) -> str:
        """Return what a matrix channel leaks about its answers, in words."""
        parts = [
            ("one answer changed", self.answer),
            ("to whoever knows one other answer of the form", self.one),
            ("two of them", self.two),
            (f"about the xor of {', '.join(self.xor_of)}", self.xor),
        ]
        return ", ".join(
            f"{what} {shortest_above(nats)}" for what, nats in parts if nats is not None
        )


class MatrixChannel(
    Stored, frozen=True, kw_only=True, tag="matrix", tag_field="type", dict=True
):
    """One report for all answers together, drawn from a row of integers out of 2^64.

    Parameters
    ----------
    attributes
        The attributes asked for.  A cell is a combination of their answers, in
        row-major order: the last attribute is the fastest.
    epsilon
        The budget of the whole record: at least the largest log-ratio within a column.
    thresholds
        One row per cell and one column per report: integers out of 2^64 as decimal
        digits; each row sums to 2^64.
    frequencies
        Nominal frequencies of the cells, fixed in advance; they weight the unbiased
        estimate. Empty: the product of the attributes' nominal frequencies.
    answer_leakage
        Leakage of the report about its answers, for the reader.
    """

    attributes: tuple[str, ...]
    epsilon: Budget
    thresholds: tuple[tuple[IntegerText, ...], ...]
    frequencies: tuple[Budget, ...] = ()
    answer_leakage: AnswerLeakage | None = None

    def __post_init__(self) -> None:
        """Check the questions and frequencies of a form's matrix channel."""
        _check_asked(self.attributes)
        if len({len(row) for row in self.thresholds}) != 1:
            raise InputError(
                "thresholds must have at least one row, all of the same length",
                parameter="thresholds",
            )
        if not self.mechanism.realised_epsilon <= self.epsilon:
            raise InputError(
                f"the epsilon of a matrix must be at least that of its thresholds, "
                f"{self.mechanism.realised_epsilon!r}, got {self.epsilon!r}"
            )
        if self.frequencies:
            check_frequencies(
                self.frequencies, len(self.thresholds), "the cells of a matrix"
            )

    @cached_property
    def mechanism(self) -> MatrixMechanism:
        """The mechanism of a form's matrix channel over the cells."""
        rows = [[parse_integer(cell) for cell in row] for row in self.thresholds]
        return MatrixMechanism.from_thresholds(rows)

    @property
    def record(self) -> float:
        """Leakage of a form's matrix channel about the whole record: its epsilon."""
        return self.epsilon

    @property
    def epsilons(self) -> Floats:
        """The largest change of a matrix channel's log-likelihood by each answer; else
        the whole epsilon.
        """
        known = self.answer_leakage
        return np.array(
            known.changes if known else [self.epsilon] * len(self.attributes)
        )

    @property
    def mechanism_names(self) -> tuple[str, ...]:
        """The name "shaped" for each answer of a form's matrix channel."""
        return ("shaped",) * len(self.attributes)

    def mechanisms(self, domain: Domain) -> dict[str, Mechanism]:
        """Return the one mechanism of a form's matrix channel by the name "report";
        raise unless it has one row per cell.
        """
        cells = math.prod(domain[name].size for name in self.attributes)
        if cells != self.mechanism.k:
            raise InputError(
                f"a matrix over {', '.join(self.attributes)} must have {cells} rows, "
                f"one for each cell, got {self.mechanism.k}"
            )
        return {REPORT: self.mechanism}

    @classmethod
    def of(
        cls,
        attributes: Iterable[str],
        mechanism: MatrixMechanism,
        *,
        frequencies: Sequence[float] = (),
        answer_leakage: AnswerLeakage | None = None,
    ) -> "MatrixChannel":
        """Return the matrix channel of a form with the integer thresholds of a
        mechanism.
        """
        return cls(
            attributes=tuple(attributes),
            epsilon=mechanism.realised_epsilon,
            thresholds=tuple(
                tuple(map(str, row)) for row in mechanism.thresholds.tolist()
            ),
            frequencies=tuple(map(float, frequencies)),
            answer_leakage=answer_leakage,
        )

    @classmethod
    def of_shaped(cls, report: "ShapedReport") -> "MatrixChannel":
        """Return the matrix channel of a form with a shaped report."""
        return cls.of(
            report.table.sources,
            report.mechanism,
            frequencies=rounded_frequencies(report.nominal),
            answer_leakage=report.answer_leakage,
        )


def _check_asked(names: Sequence[str]) -> None:
    """Raise unless a form's channel asks for at least one attribute, each once."""
    if not names:
        raise InputError("a form must ask for at least one attribute, got none")
    duplicates = {name for name in names if list(names).count(name) > 1}
    if duplicates:
        raise InputError(f"a form must ask for {min(duplicates)!r} at most once")
