"""Forms: the attributes that a person is asked for, their channel, and the totals of
its reports.

Everyone is given one form, drawn independently of the record, so the form itself leaks
nothing about it.  The search fits forms, the design reports them, and the plan stores
them.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Floats, Integers
from seepage._core.errors import InputError, Setting, Text
from seepage._core.odds import measured_odds
from seepage._core.rounding import summed_up
from seepage._core.text import shortest_above
from seepage.designs.forms.form_channels import (
    AnswerLeakage,
    MatrixChannel,
    ProductChannel,
)
from seepage.designs.forms.question import (
    Budget,
    IntegerText,
    Question,
    Stored,
    Unbounded,
    parse_integer,
    stored_number,
)
from seepage.mechanisms.exact_probabilities import CERTAIN


class Form(Stored, frozen=True, kw_only=True):
    """Questions for a share of the people, their channel, and the totals of its
    reports.

    Parameters
    ----------
    channel
        The channel from answers to reports.
    guarantee
        The guarantee of the totals.
    totals, total_deltas
        Total leakage in nats of the form's reports about every attribute of the domain,
        asked or not, and its delta; empty deltas are zeros.
    observed
        Of a design for the population: the same totals on the table itself, rounded up
        to 0.01, for display; empty if unknown.
    digits
        The probability that a person is given this form: an integer out of 2^64, as
        digits.  It is 0 until a design or a plan assigns shares (`with_shares`);
        `share` in the plan's file.

    Examples
    --------
    >>> form = Form.of(ProductChannel.of(["sex"], ["grr"], [1.0]), "worst", [1.0, 1.0])
    >>> form.attributes, form.epsilons.tolist(), form.record, form.share
    (('sex',), [1.0], 1.0, 0.0)
    """

    channel: ProductChannel | MatrixChannel
    guarantee: str
    totals: tuple[Unbounded, ...]
    total_deltas: tuple[Budget, ...] = ()
    observed: tuple[Unbounded, ...] = ()
    digits: IntegerText = msgspec.field(default="0", name="share")

    def __post_init__(self) -> None:
        """Check that a form's deltas and observed totals go with its totals."""
        for name in ("total_deltas", "observed"):
            numbers = getattr(self, name)
            if numbers and len(numbers) != len(self.totals):
                raise InputError(
                    f"{name} must be one for each of {len(self.totals)} totals, got "
                    f"{len(numbers)}"
                )

    @classmethod
    def of(
        cls,
        channel: ProductChannel | MatrixChannel,
        guarantee: str,
        totals: Iterable[float],
        deltas: Iterable[float] = (),
    ) -> "Form":
        """Return the form of a channel with these totals, which may be infinite, and
        without a share.
        """
        total_deltas = tuple(map(float, deltas))
        return cls(
            channel=channel,
            guarantee=guarantee,
            totals=tuple(stored_number(_total(total)) for total in totals),
            total_deltas=total_deltas if any(total_deltas) else (),
        )

    @property
    def chance(self) -> int:
        """The share of a form as an integer out of 2^64."""
        return parse_integer(self.digits)

    @property
    def share(self) -> float:
        """The share of people who are given the form."""
        return self.chance / CERTAIN

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that a form asks for."""
        return self.channel.attributes

    @property
    def is_product(self) -> bool:
        """Whether each answer to a form has a report of its own."""
        return isinstance(self.channel, ProductChannel)

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The name of the mechanism of each answer to a form; "shaped" for one report
        for all answers.
        """
        return self.channel.mechanism_names

    @property
    def epsilons(self) -> Floats:
        """The budget of each answer to a form; of a shaped report its changes, see
        `AnswerLeakage`.
        """
        return self.channel.epsilons

    @property
    def max_budget(self) -> float:
        """The largest budget of a form, which is the equal one where budgets are
        equal.
        """
        return float(self.epsilons.max())

    @property
    def record(self) -> float:
        """Upper bound of the leakage of the form about the whole record, in nats.

        The sum of its budgets, or the epsilon of its matrix.
        """
        return self.channel.record

    @property
    def record_delta(self) -> float:
        """The delta of a form's `record`: the sum of those of its mechanisms, rounded
        up.
        """
        questions = map(self.question, self.attributes)
        return summed_up(question.delta for question in questions if question)

    @property
    def total_values(self) -> Floats:
        """The totals of a form as numbers."""
        return np.array(self.totals, dtype=np.float64)

    @property
    def deltas(self) -> tuple[float, ...]:
        """The delta of every total of a form."""
        return self.total_deltas or (0.0,) * len(self.totals)

    @property
    def answer_leakage(self) -> AnswerLeakage | None:
        """Leakage of a form's shaped report about its answers; None for other forms."""
        return (
            self.channel.answer_leakage
            if isinstance(self.channel, MatrixChannel)
            else None
        )

    def question(self, name: str) -> Question | None:
        """Return a form's question of an attribute; None if it is not asked, or in a
        matrix.
        """
        if not isinstance(self.channel, ProductChannel):
            return None
        return next((q for q in self.channel.questions if q.attribute == name), None)


def with_shares(forms: Iterable[Form], shares: Iterable[float]) -> tuple[Form, ...]:
    """Return forms with shares in proportion to these, out of 2^64.

    A form whose share rounds to 0 is dropped.
    """
    return tuple(
        msgspec.structs.replace(form, digits=str(chance))
        for form, chance in zip(forms, integer_shares(shares), strict=True)
        if chance
    )


NEARLY_CLEAR = 4.0
"""Budget from which an answer is sent nearly as it was given: odds of 55."""


def remarks(
    forms: Sequence[Form], unprotected: Iterable[str], known: Sequence[str]
) -> Iterator[str]:
    """Yield remarks on leakage of forms beyond the totals: the record, and adversaries
    who know more.

    Parameters
    ----------
    forms
        The forms of a design.
    unprotected
        The attributes without a limit that are not known.
    known
        Attributes that the adversary knows of the person.
    """
    if known:
        yield (
            f"totals are conditional on {', '.join(known)}, which is taken as known to "
            "everyone who sees reports"
        )
    budgets = _largest_budgets(forms)
    clear = list[str]()
    for name in unprotected:
        if budgets.get(name, 0.0) >= NEARLY_CLEAR:
            clear.append(f"{name} at epsilon {budgets[name]:.3g}")
    if clear:
        yield Text(
            "sent nearly as answered, since no limit protects them: "
            f"{', '.join(clear)} (",
            Setting("left_out"),
            ")",
        )
    shaped = [form for form in forms if not form.is_product]
    bound = "the sum of its budgets" if len(shaped) < len(forms) else "its epsilon"
    record = max(form.record for form in forms)
    yield (
        "a form changes the odds between two whole records at most "
        f"{measured_odds(record)} times, e to {bound}; an adversary who knows other "
        "answers of the person can learn more than a total, but no more than that"
    )
    if shaped:
        yield _shaped_remark(shaped)


def _largest_budgets(forms: Iterable[Form]) -> dict[str, float]:
    """Return the largest budget of each attribute in any form."""
    budgets = dict[str, float]()
    for form in forms:
        for name, epsilon in zip(form.attributes, form.epsilons.tolist(), strict=True):
            budgets[name] = max(epsilon, budgets.get(name, 0.0))
    return budgets


def _shaped_remark(forms: Sequence[Form]) -> str:
    """Return a remark on the largest leakage of shaped forms beyond their totals."""
    leakages = [
        form.answer_leakage for form in forms if form.answer_leakage is not None
    ]
    clauses = {
        "answer": "changing one answer changes a report's log-likelihood by",
        "one": "whoever knows one other answer of the form learns about an answer",
        "two": "whoever knows two of them",
        "xor": "the leakage about an exclusive or of answers is",
    }
    parts = []
    for name, clause in clauses.items():
        values = [
            value for form in leakages if (value := getattr(form, name)) is not None
        ]
        if values:
            parts.append(f"{clause} at most {shortest_above(max(values))}")
    sending = "1 form sends" if len(leakages) == 1 else f"{len(leakages)} forms send"
    return f"{sending} one shaped report: {', '.join(parts)}"


def _total(value: Any) -> float:
    """Return a total of a form as a number."""
    number = checks.real(value, "total")
    if not number >= 0:
        raise InputError(f"a total must be at least 0, got {value!r}")
    return number


def cumulative(forms: Iterable[Form]) -> list[int]:
    """Return the cumulative shares of forms out of 2^64: a uniform 64-bit word below
    the first is form 1.
    """
    return list(accumulate(form.chance for form in forms))


def form_of_words(forms: Iterable[Form], words: NDArray[np.uint64]) -> Integers:
    """Return the index, from 0, of the form that each uniform word draws."""
    ends = np.array(cumulative(forms)[:-1], dtype=np.uint64)
    return np.asarray(np.searchsorted(ends, words, side="right"))


def integer_shares(shares: Iterable[float]) -> list[int]:
    """Return integer shares of the forms with sum 2^64 in proportion to these shares.

    Rounded down; the remainder is added to the largest share.

    Examples
    --------
    >>> integer_shares([1.0, 3.0]) == [2**62, 3 * 2**62]
    True
    """
    numbers = checks.numbers(shares, "shares")
    are_shares = all(math.isfinite(share) and share >= 0 for share in numbers)
    if not are_shares or not any(numbers):
        raise checks.violation(
            "shares", "numbers of at least 0, one of them above 0", numbers
        )
    exact = [Fraction(share) for share in numbers]
    total = sum(exact)
    rounded = [math.floor(share * CERTAIN / total) for share in exact]
    rounded[exact.index(max(exact))] += CERTAIN - sum(rounded)
    return rounded
