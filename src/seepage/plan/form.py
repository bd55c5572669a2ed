"""Forms: which attributes a person is asked for, and how the answers become reports.

A collection consists of forms.  Everyone is given one of them, drawn without looking at the
record, so the form itself tells nothing about it.  A form's channel is a product (one report for
each answer) or one matrix from all its answers together to a single report.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage.data.domain import Domain
from seepage.designs.forms.form_problem import ToldAnswers
from seepage.errors import InputError
from seepage.mechanisms import BasicRAPPOR, MatrixMechanism, Mechanism, registered
from seepage.mechanisms.exact_probabilities import CERTAIN, float_above

Budget = Annotated[float, msgspec.Meta(ge=0)]
Relaxation = Annotated[float, msgspec.Meta(ge=0, lt=1)]
Unbounded = Budget | Literal["inf"]
"""A number of at least 0; JSON has no infinity, so it is the text "inf"."""


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a plan as files hold it: immutable, and decoded strictly."""


def build_mechanism(
    name: str, k: int, epsilon: float, delta: float, parameters: Mapping[str, float]
) -> Mechanism:
    """Return a mechanism from what a plan says of it.

    Parameters
    ----------
    name
        A registered name, or `"basic-rappor"`.
    k
        The alphabet size.
    epsilon, delta
        The stated budget; a delta above 0 only for approximate mechanisms.
    parameters
        What the constructor takes besides: `f`, `p` and `q` of basic RAPPOR, whose epsilon
        follows from them and must be the one stated.

    Examples
    --------
    >>> build_mechanism("grr", 4, 1.0, 0.0, {})
    GRR(mechanism=grr, k=4, epsilon=1.0)
    """
    families: dict[str, Any] = {**registered(), BasicRAPPOR.name: BasicRAPPOR}
    family = families[_checks.choice(name, "mechanism", families)]
    if delta > 0 and not family.approximate:
        raise InputError(f"mechanism {name!r} has delta 0, got delta {delta}")
    budget = [] if family is BasicRAPPOR else [epsilon, delta] if family.approximate else [epsilon]
    try:
        made: Mechanism = family(k, *budget, **parameters)
    except TypeError:
        given = ", ".join(sorted(parameters))
        raise InputError(f"mechanism {name!r} does not take the parameters {given}") from None
    if family is BasicRAPPOR and made.epsilon > epsilon:
        raise InputError(f"epsilon of {name!r} must be {made.epsilon!r}, got {epsilon!r}")
    return made


class Question(Stored, frozen=True, kw_only=True):
    """One question: the answer is perturbed by a mechanism of its own.

    Parameters
    ----------
    attribute
        The name of the attribute asked for.
    mechanism
        The name of the mechanism that perturbs the answer.
    epsilon, delta
        The budget that the mechanism is made with.
    parameters
        Further parameters of the mechanism.

    Examples
    --------
    >>> Question(attribute="sex", mechanism="grr", epsilon=1.0).made_for(2)
    GRR(mechanism=grr, k=2, epsilon=1.0)
    """

    attribute: str
    mechanism: str
    epsilon: Budget
    delta: Relaxation = 0.0
    parameters: dict[str, float] = msgspec.field(default_factory=dict)

    def made_for(self, k: int) -> Mechanism:
        """Return the mechanism for an attribute with k values."""
        return build_mechanism(self.mechanism, k, self.epsilon, self.delta, self.parameters)

    @classmethod
    def of(cls, attribute: str, made: Mechanism) -> "Question":
        """Return the question whose answer this mechanism perturbs."""
        described = made.describe()
        return cls(
            attribute=attribute,
            mechanism=described.pop("mechanism"),
            epsilon=described.pop("epsilon", made.epsilon),
            delta=described.pop("delta", 0.0),
            parameters={name: described[name] for name in described if name != "k"},
        )


WholeNumber = Annotated[str, msgspec.Meta(pattern=r"^(0|[1-9][0-9]{0,19})$")]
"""An integer from 0 to 2^64 as decimal digits: JSON numbers lose those above 2^53."""

REPORT = "report"
"""The name of the one report of a matrix channel."""


def whole_number(text: str) -> int:
    """Return the integer that decimal digits stand for; raise where it is not from 0 to 2^64.

    Examples
    --------
    >>> whole_number("18446744073709551616") == 2**64
    True
    """
    plain = isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 20
    if not plain or str(int(text)) != text or int(text) > CERTAIN:
        raise InputError(
            f"an integer out of 2^64 must be decimal digits, got {_checks.shown(text)}"
        )
    return int(text)


class ProductChannel(Stored, frozen=True, kw_only=True, tag="product", tag_field="type"):
    """One report for each answer, each perturbed on its own.

    Parameters
    ----------
    questions
        What is asked, in this order.
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
        """The sum of budgets, rounded up: how much the form tells about the whole record."""
        return sum_above(question.epsilon for question in self.questions)

    def mechanisms(self, domain: Domain) -> dict[str, Mechanism]:
        """Return the mechanism of each report, by attribute."""
        return {
            question.attribute: question.made_for(domain[question.attribute].size)
            for question in self.questions
        }


class MatrixChannel(Stored, frozen=True, kw_only=True, tag="matrix", tag_field="type", dict=True):
    """One report for all answers together, drawn from a row of integers out of 2^64.

    Parameters
    ----------
    attributes
        The attributes asked for.  Their answers are one cell, numbered in mixed radix with the
        last attribute the fastest.
    epsilon
        The budget of the whole record: at least the largest log-ratio within a column.
    thresholds
        One row per cell and one column per report: integers out of 2^64 as decimal digits; each
        row sums to 2^64.
    frequencies
        Nominal frequencies of the cells, fixed beforehand; they decide which of the unbiased
        estimates is taken.  Empty: attributes are taken for independent.
    told
        What the report tells to whoever knows other answers; for the reader.
    """

    attributes: tuple[str, ...]
    epsilon: Budget
    thresholds: tuple[tuple[WholeNumber, ...], ...]
    frequencies: tuple[Budget, ...] = ()
    told: ToldAnswers | None = None

    def __post_init__(self) -> None:
        _check_asked(self.attributes)
        if len({len(row) for row in self.thresholds}) != 1:
            raise InputError("the rows of thresholds must be of one length, at least one of them")
        if not self.made.realised_epsilon <= self.epsilon:
            raise InputError(
                f"the epsilon of a matrix must be at least that of its thresholds, "
                f"{self.made.realised_epsilon!r}, got {self.epsilon!r}"
            )
        if self.frequencies:
            check_frequencies(self.frequencies, len(self.thresholds), "the cells of a matrix")

    @cached_property
    def made(self) -> MatrixMechanism:
        """The mechanism over the cells."""
        rows = [[whole_number(cell) for cell in row] for row in self.thresholds]
        return MatrixMechanism.from_thresholds(rows)

    @property
    def record(self) -> float:
        """How much the form tells about the whole record: its epsilon."""
        return self.epsilon

    def mechanisms(self, domain: Domain) -> dict[str, Mechanism]:
        """Return the one mechanism; raise where its rows are not the cells of the answers."""
        cells = math.prod(domain[name].size for name in self.attributes)
        if cells != self.made.k:
            raise InputError(
                f"a matrix over {', '.join(self.attributes)} must have {cells} rows, one for each "
                f"cell, got {self.made.k}"
            )
        return {REPORT: self.made}

    @classmethod
    def of(
        cls,
        attributes: Iterable[str],
        made: MatrixMechanism,
        *,
        epsilon: float | None = None,
        frequencies: Sequence[float] = (),
        told: ToldAnswers | None = None,
    ) -> "MatrixChannel":
        """Return the channel that draws with a mechanism's own integers."""
        return cls(
            attributes=tuple(attributes),
            epsilon=made.realised_epsilon if epsilon is None else epsilon,
            thresholds=tuple(tuple(map(str, row)) for row in made.thresholds.tolist()),
            frequencies=tuple(map(float, frequencies)),
            told=told,
        )


class Form(Stored, frozen=True, kw_only=True):
    """What some people are asked for, how many they are, and what their reports tell.

    Parameters
    ----------
    share
        The probability that a person is given this form: an integer out of 2^64, as digits.
    channel
        How answers become reports.
    guarantee
        The name of what the totals rest on.
    totals, total_deltas
        What the form's reports together leak about every attribute of the domain, asked or not,
        and the delta with which that holds; no deltas stand for zeros.
    record
        What the form tells about the whole record: the sum of its budgets, or the epsilon of its
        matrix.
    """

    share: WholeNumber
    channel: ProductChannel | MatrixChannel
    guarantee: str
    totals: tuple[Unbounded, ...]
    total_deltas: tuple[Budget, ...] = ()
    record: Unbounded

    def __post_init__(self) -> None:
        if not self.chance:
            raise InputError("the share of a form must be at least 1 out of 2^64, got 0")
        if self.total_deltas and len(self.total_deltas) != len(self.totals):
            raise InputError(
                f"total_deltas must be one for each of {len(self.totals)} totals, "
                f"got {len(self.total_deltas)}"
            )

    @property
    def chance(self) -> int:
        """The share as an integer out of 2^64."""
        return whole_number(self.share)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes asked for."""
        return self.channel.attributes

    @property
    def is_product(self) -> bool:
        """Whether each answer has a report of its own."""
        return isinstance(self.channel, ProductChannel)

    @property
    def deltas(self) -> tuple[float, ...]:
        """The delta of every total."""
        return self.total_deltas or (0.0,) * len(self.totals)

    def question(self, name: str) -> Question | None:
        """Return the question for an attribute; None where it has none of its own."""
        if not isinstance(self.channel, ProductChannel):
            return None
        return next((q for q in self.channel.questions if q.attribute == name), None)


def cumulative(forms: Iterable[Form]) -> list[int]:
    """Return the running sums of shares out of 2^64: a uniform word below the first is form 1."""
    return list(accumulate(form.chance for form in forms))


def whole_shares(shares: Iterable[float]) -> list[int]:
    """Return integers out of 2^64 near these shares, which need not sum to 1, that do.

    Rounded down; what is left goes to the largest share.

    Examples
    --------
    >>> whole_shares([1.0, 3.0]) == [2**62, 3 * 2**62]
    True
    """
    given = _checks.numbers(shares, "shares")
    if not all(math.isfinite(share) and share >= 0 for share in given) or not any(given):
        raise InputError("shares must be numbers of at least 0, one of them above 0")
    exact = [Fraction(share) for share in given]
    total = sum(exact)
    rounded = [math.floor(share * CERTAIN / total) for share in exact]
    rounded[exact.index(max(exact))] += CERTAIN - sum(rounded)
    return rounded


def sum_above(budgets: Iterable[float]) -> float:
    """Return the sum of budgets, rounded up."""
    try:
        return float_above(sum((Fraction(budget) for budget in budgets), Fraction(0)))
    except OverflowError:
        return math.inf


def check_frequencies(frequencies: Sequence[float], size: int, what: str) -> None:
    """Raise where nominal frequencies are not a distribution over so many values."""
    given: Floats = np.asarray(frequencies, dtype=np.float64)
    if len(given) != size or not abs(given.sum() - 1.0) <= 1e-9 or given.min() < 0:
        raise InputError(
            f"the frequencies of {what} must be {size} numbers of at least 0 with sum 1"
        )


def _check_asked(names: Sequence[str]) -> None:
    if not names:
        raise InputError("a form must ask for at least one attribute, got none")
    twice = {name for name in names if list(names).count(name) > 1}
    if twice:
        raise InputError(f"a form must ask for {min(twice)!r} at most once")
