"""`Question`: an attribute asked by a form, its budget and its stored numbers."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_probabilities import CERTAIN
from seepage.mechanisms.mechanism_registry import MECHANISMS
from seepage.mechanisms.rappor import BasicRAPPOR

Budget = Annotated[float, msgspec.Meta(ge=0)]


Relaxation = Annotated[float, msgspec.Meta(ge=0, lt=1)]


Unbounded = Budget | Literal["inf"]
"""A number of at least 0; infinity is the text "inf", as JSON has no infinity."""


def stored_number(value: float) -> Any:
    """Return a number of a question as JSON has it: an infinite one as the text "inf"
    or "-inf".
    """
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
        """Return the question's mechanism for an attribute with k values."""
        name = self.mechanism
        epsilon = self.epsilon
        delta = self.delta
        family: Any = MECHANISMS[checks.choice(name, "mechanism", MECHANISMS)]
        if delta > 0 and not family.approximate:
            raise InputError(f"mechanism {name!r} has delta 0, got delta {delta}")
        budget = [epsilon]
        if family is BasicRAPPOR:  # its probabilities are its parameters
            budget = []
        elif family.approximate:
            budget = [epsilon, delta]
        try:
            mechanism: Mechanism = family(k, *budget, **self.parameters)
        except TypeError:
            parameters = ", ".join(sorted(self.parameters))
            raise InputError(
                f"mechanism {name!r} does not take the parameters {parameters}"
            ) from None
        if family is BasicRAPPOR and mechanism.epsilon > epsilon:
            raise InputError(
                f"epsilon of {name!r} must be {mechanism.epsilon!r}, got {epsilon!r}"
            )
        return mechanism

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


def parse_integer(text: str) -> int:
    """Return the integer of decimal digits in a stored question; raise unless it is
    from 0 to 2^64.

    Examples
    --------
    >>> parse_integer("18446744073709551616") == 2**64
    True
    """
    is_digits = (
        isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 20
    )
    if not is_digits or str(int(text)) != text or int(text) > CERTAIN:
        raise checks.violation("an integer out of 2^64", "decimal digits", text)
    return int(text)


def check_frequencies(frequencies: Sequence[float], size: int, what: str) -> None:
    """Raise unless a question's nominal frequencies are a distribution over `size`
    values.
    """
    shares: Floats = np.asarray(frequencies, dtype=np.float64)
    if len(shares) != size or not abs(shares.sum() - 1.0) <= 1e-9 or shares.min() < 0:
        raise InputError(
            f"the frequencies of {what} must be {size} numbers of at least 0 with sum 1"
        )


def rounded_frequencies(counts: Any) -> list[float]:
    """Return a question's nominal frequencies: shares of counts in whole percent, with
    sum 1, by largest remainders.

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
