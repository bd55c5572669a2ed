"""What an audit found about one claim: realised epsilon, verdict and witness."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from seepage._core.errors import Setting, Text, escaped
from seepage._core.log_ratios import LARGE_EPSILON
from seepage._core.odds import measured_odds
from seepage._core.text import ceiling_text, delta_text, floor_text

State = Literal["holds", "refuted", "not decided"]


STATES: tuple[State, ...] = ("refuted", "not decided", "holds")
"""The verdicts, the gravest first."""


TOLERANCE = 1e-9
"""Amount by which an exact epsilon may exceed a claim: rows of a matrix sum to 1 within
as much."""


RECORD = "(record)"
"""The name of the row about all attributes of a person."""


def likelihood_ratio(epsilon: float) -> str:
    """Return the likelihood ratio of an audited claim as text: e^epsilon, rounded to
    nearest.

    Examples
    --------
    >>> likelihood_ratio(2.0), likelihood_ratio(4.944), likelihood_ratio(1000.0)
    ('7.4', '140', '1e434')
    """
    if epsilon > LARGE_EPSILON:
        return _power_of_ten(epsilon)
    return _three_digits(math.exp(epsilon))


def proven_likelihood_ratio(epsilon: float) -> str:
    """Return the likelihood ratio that an audit proves against a claim as text:
    e^epsilon, two digits rounded down.

    Examples
    --------
    >>> proven_likelihood_ratio(1.674)
    '5.3'
    """
    if epsilon > LARGE_EPSILON:
        return _power_of_ten(epsilon)
    ratio = math.exp(epsilon)
    step = 10.0 ** (math.floor(math.log10(ratio)) - 1)
    return _three_digits(math.floor(ratio / step) * step)


def _power_of_ten(epsilon: float) -> str:
    """Return the e^epsilon of a large claim as a power of ten."""
    return f"1e{epsilon / math.log(10):.0f}"


def _three_digits(ratio: float) -> str:
    """Return the e^epsilon of a claim with up to three digits."""
    if 99.5 <= ratio < 1e6:
        return f"{ratio:.0f}"
    return f"{ratio:.2g}"


@dataclass(frozen=True)
class AuditedClaim:
    """A claim about one attribute, or about the whole record, and what the audit found.

    Parameters
    ----------
    attribute
        The attribute, or "(record)".
    claim, claimed_delta
        The claim; None if there is none.
    lower, upper
        Limits of the realised epsilon at the claimed delta: equal where it is exact,
        the upper one infinite where there is none.
    delta
        The delta realised at the claimed epsilon: an upper bound from parameters, a
        lower limit from samples; 0 without a claim.
    witness
        The most telling report in words.
    needed
        Number of further samples per value that would decide, if frequencies stay; None
        if unknown.
    within_noise
        Whether the estimate differs from the claim by no more than its noise: what
        further samples would decide is then unknown, and so is how many.
    samples
        Number of samples; 0 for published parameters.
    """

    attribute: str
    claim: float | None
    claimed_delta: float
    lower: float
    upper: float
    delta: float
    witness: str
    needed: int | None = None
    within_noise: bool = False
    samples: int = 0

    @property
    def epsilon(self) -> float:
        """The epsilon realised beside a claim: exact, or the lower limit that samples
        prove.
        """
        if self.samples:
            return self.lower
        return self.upper

    @property
    def verdict(self) -> State:
        """Whether the claim holds, is refuted, or is not decided; "holds" without a
        claim.
        """
        if self.claim is None:
            return "holds"
        allowed = self.claim + TOLERANCE * max(1.0, self.claim)
        if self.upper <= allowed:
            return "holds"
        if self.lower > allowed:
            return "refuted"
        return "not decided"

    @property
    def claim_words(self) -> str:
        """The claimed epsilon in words."""
        if self.claim is None:
            return "no claim"
        return f"claim {self.claim:g}"

    @property
    def epsilon_words(self) -> str:
        """The realised epsilon in words, rounded up: to the claim, where it holds."""
        highest = ceiling_text(self.upper * (1 - TOLERANCE))
        claim = math.inf if self.claim is None else self.claim
        if self.verdict == "holds" and float(highest) > claim:
            highest = f"{claim:g}"
        if self.lower == self.upper:
            return highest
        lowest = floor_text(self.lower)
        if math.isinf(self.upper):
            return f"at least {lowest}"
        return f"at least {lowest}, at most {highest}"

    @property
    def odds_words(self) -> str:
        """How many times a report changes the odds, realised and claimed, in words."""
        realised = f"{likelihood_ratio(self.upper)} times"
        if math.isinf(self.upper):
            realised = "without bound"
        if self.lower < self.upper:
            realised = f"at least {proven_likelihood_ratio(self.lower)} times"
        if self.lower < self.upper < math.inf:
            realised += f", at most {measured_odds(self.upper)}"
        if self.claim is None:
            return realised
        return f"{realised}, claimed {likelihood_ratio(self.claim)}"

    @property
    def delta_words(self) -> str:
        """The delta realised at the claim in words; empty where there is none."""
        if self.claim is None or self.delta <= TOLERANCE:
            return ""
        if self.samples:
            return f", delta at least {floor_text(self.delta)} at the claim"
        return f"{delta_text(self.delta)} at the claim"

    @property
    def sentence(self) -> str:
        """The witness against a claim, and what the claim allows."""
        witness = escaped(self.witness)
        if self.claim is None:
            return witness
        allowed = likelihood_ratio(self.claim)
        if self.claimed_delta:
            allowed += f" and delta {self.claimed_delta:g}"
        return f"{witness}; the claim allows {allowed}"

    @property
    def next_step(self) -> Text:
        """How many samples more would decide a claim; empty if it is decided."""
        if self.verdict != "not decided":
            return Text()
        if self.within_noise:
            return Text(f"it cannot be told from the claim: {self._supported}")
        if self.needed is not None:
            return Text(
                f"about {self.needed:,} samples more for each value would decide"
            )
        if math.isinf(self.upper):
            return Text(
                "samples alone can refute a claim; to support it, list all possible "
                "reports (",
                Setting("reports"),
                ")",
            )
        return Text("no stated number of samples more would decide")

    @property
    def _supported(self) -> str:
        """Which claims the samples refute, and which they support, in words."""
        refuted = "these samples refute no claim"
        if self.lower:
            refuted = f"these samples refute claims below {floor_text(self.lower)}"
        if math.isinf(self.upper):
            return f"{refuted}, and support none"
        return f"{refuted}, and support those of {ceiling_text(self.upper)} and more"

    @property
    def row(self) -> dict[str, Any]:
        """The claim as one row of a table, texts without control characters."""
        return {
            **asdict(self),
            "attribute": escaped(self.attribute),
            "witness": escaped(self.witness),
            "epsilon": self.epsilon,
            "verdict": self.verdict,
        }
