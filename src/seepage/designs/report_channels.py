"""Channels of forms, from answers to reports: a product of mechanisms, or one matrix.

A product has one report for each answer; a matrix has one report for all answers
together.
"""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np

from seepage import _checks
from seepage._numerics import Floats, summed_up
from seepage._options import MECHANISMS
from seepage._results import shortest_above
from seepage.data import Domain
from seepage.errors import InputError
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_draws import CERTAIN
from seepage.mechanisms.transition_matrix import MatrixMechanism
from seepage.mechanisms.unary import BasicRAPPOR

if TYPE_CHECKING:
    from seepage.designs.shape_form import ShapedReport

Budget = Annotated[float, msgspec.Meta(ge=0)]
Relaxation = Annotated[float, msgspec.Meta(ge=0, lt=1)]
Unbounded = Budget | Literal["inf"]
"""A number of at least 0; infinity is the text "inf", as JSON has no infinity."""


def stored_number(value: float) -> Any:
    """Return a number as JSON has it: an infinite one as the text "inf" or "-inf"."""
    return str(value) if math.isinf(value) else value


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a plan that is saved to a file: immutable, and decoded strictly."""


class Question(Stored, frozen=True, kw_only=True):
    """One question, whose answer is perturbed by its own mechanism.

    Parameters
    ----------
    attribute
        The name of the attribute asked for.
    mechanism
        The name of the mechanism that perturbs the answer.
    epsilon, delta
        The budget of the mechanism; a delta above 0 only for approximate ones.
    parameters
        Further parameters of the mechanism: `f`, `p` and `q` of basic RAPPOR, whose
        epsilon follows from them and must be at most the stated one.

    Examples
    --------
    >>> Question(attribute="sex", mechanism="grr", epsilon=1.0).mechanism_for(2)
    GRR(mechanism=grr, k=2, epsilon=1.0)
    """

    attribute: str
    mechanism: str
    epsilon: Budget
    delta: Relaxation = 0.0
    parameters: dict[str, float] = msgspec.field(default_factory=dict)

    def mechanism_for(self, k: int) -> Mechanism:
        """Return the mechanism for an attribute with k values."""
        name = self.mechanism
        epsilon = self.epsilon
        delta = self.delta
        family: Any = MECHANISMS[_checks.choice(name, "mechanism", MECHANISMS)]
        if delta > 0 and not family.approximate:
            raise InputError(f"mechanism {name!r} has delta 0, got delta {delta}")
        budget = [epsilon, delta] if family.approximate else [epsilon]
        try:
            made: Mechanism = family(
                k, *([] if family is BasicRAPPOR else budget), **self.parameters
            )
        except TypeError:
            given = ", ".join(sorted(self.parameters))
            raise InputError(
                f"mechanism {name!r} does not take the parameters {given}"
            ) from None
        if family is BasicRAPPOR and made.epsilon > epsilon:
            raise InputError(
                f"epsilon of {name!r} must be {made.epsilon!r}, got {epsilon!r}"
            )
        return made

    @classmethod
    def of(cls, attribute: str, mechanism: Mechanism) -> "Question":
        """Return the question whose answer this mechanism perturbs."""
        described = mechanism.describe()
        return cls(
            attribute=attribute,
            mechanism=described.pop("mechanism"),
            epsilon=described.pop("epsilon", mechanism.epsilon),
            delta=described.pop("delta", 0.0),
            parameters={name: described[name] for name in described if name != "k"},
        )


IntegerText = Annotated[str, msgspec.Meta(pattern=r"^(0|[1-9][0-9]{0,19})$")]
"""An integer from 0 to 2^64 as decimal digits: JSON numbers are exact only up to
2^53."""

REPORT = "report"
"""The name of the one report of a matrix channel."""


def parse_integer(text: str) -> int:
    """Return the integer of decimal digits; raise unless it is from 0 to 2^64.

    Examples
    --------
    >>> parse_integer("18446744073709551616") == 2**64
    True
    """
    is_digits = (
        isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 20
    )
    if not is_digits or str(int(text)) != text or int(text) > CERTAIN:
        raise _checks.violation("an integer out of 2^64", "decimal digits", text)
    return int(text)


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
        _check_asked(self.attributes)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes asked for."""
        return tuple(question.attribute for question in self.questions)

    @property
    def record(self) -> float:
        """Leakage of the form about the whole record: the sum of budgets, rounded up."""
        return summed_up(question.epsilon for question in self.questions)

    @property
    def epsilons(self) -> Floats:
        """The budget of each question."""
        return np.array([question.epsilon for question in self.questions])

    @property
    def mechanism_names(self) -> tuple[str, ...]:
        """The name of the mechanism of each question."""
        return tuple(question.mechanism for question in self.questions)

    @classmethod
    def of(
        cls,
        attributes: Iterable[str],
        mechanisms: Iterable[str],
        epsilons: Iterable[float],
    ) -> "ProductChannel":
        """Return the channel of one question per attribute, with these mechanisms and
        budgets.
        """
        asked = zip(attributes, mechanisms, epsilons, strict=True)
        return cls(
            questions=tuple(
                Question(attribute=name, mechanism=mechanism, epsilon=epsilon)
                for name, mechanism, epsilon in asked
            )
        )

    def mechanisms(self, domain: Domain) -> dict[str, Mechanism]:
        """Return the mechanism of each report, by attribute."""
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
        """The largest change over all answers."""
        return max(self.changes)

    def __str__(self) -> str:
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
        """The mechanism over the cells."""
        rows = [[parse_integer(cell) for cell in row] for row in self.thresholds]
        return MatrixMechanism.from_thresholds(rows)

    @property
    def record(self) -> float:
        """Leakage of the form about the whole record: its epsilon."""
        return self.epsilon

    @property
    def epsilons(self) -> Floats:
        """The largest change of the log-likelihood by each answer; else the whole
        epsilon.
        """
        known = self.answer_leakage
        return np.array(
            known.changes if known else [self.epsilon] * len(self.attributes)
        )

    @property
    def mechanism_names(self) -> tuple[str, ...]:
        """The name "shaped" for each answer."""
        return ("shaped",) * len(self.attributes)

    def mechanisms(self, domain: Domain) -> dict[str, Mechanism]:
        """Return the one mechanism by the name "report"; raise unless it has one row
        per cell.
        """
        cells = math.prod(domain[name].size for name in self.attributes)
        if cells != self.mechanism.k:
            raise InputError(
                f"a matrix over {', '.join(self.attributes)} must have {cells} rows, one for each "
                f"cell, got {self.mechanism.k}"
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
        """Return the channel with the integer thresholds of a mechanism."""
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
        """Return the channel of a shaped report, which it keeps as `shaped`."""
        channel = cls.of(
            report.table.sources,
            report.mechanism,
            frequencies=rounded_frequencies(report.nominal),
            answer_leakage=report.answer_leakage,
        )
        msgspec.structs.force_setattr(channel, "shaped", report)
        return channel

    @cached_property
    def shaped(self) -> "ShapedReport":
        """The shaped report with its variances; a file has its thresholds only."""
        raise InputError("a matrix that was read from a file has no variances")


def check_frequencies(frequencies: Sequence[float], size: int, what: str) -> None:
    """Raise unless nominal frequencies are a distribution over `size` values."""
    given: Floats = np.asarray(frequencies, dtype=np.float64)
    if len(given) != size or not abs(given.sum() - 1.0) <= 1e-9 or given.min() < 0:
        raise InputError(
            f"the frequencies of {what} must be {size} numbers of at least 0 with sum 1"
        )


def rounded_frequencies(counts: Any) -> list[float]:
    """Return the shares of counts in whole percent, with sum 1, by largest remainders.

    A plan's file goes to every client; nominal frequencies only weight unbiased
    estimates, so exact ones would tell about the pilot's records for nothing.

    Examples
    --------
    >>> rounded_frequencies([1, 1, 1])
    [0.34, 0.33, 0.33]
    """
    shares = 100.0 * np.asarray(counts, dtype=np.float64) / np.sum(counts)
    percent = np.floor(shares)
    missing = round(100 - percent.sum())
    percent[np.argsort(percent - shares, kind="stable")[:missing]] += 1
    return [float(share) for share in percent / 100]


def _check_asked(names: Sequence[str]) -> None:
    if not names:
        raise InputError("a form must ask for at least one attribute, got none")
    duplicates = {name for name in names if list(names).count(name) > 1}
    if duplicates:
        raise InputError(f"a form must ask for {min(duplicates)!r} at most once")
