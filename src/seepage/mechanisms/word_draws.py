"""Draws of one report from a fixed number of 64-bit words, as clients make them.

A client draws without rejection, so if k does not divide 2^64 its uniform choices
deviate by about one part in 2^64.  The thresholds are those of `Mechanism.draw`,
lowered by just so much that the largest ratio of two probabilities of one report is
still at most e^epsilon, exactly.

Each draw is an integer function of the value's code and the words; `docs/wire.md` is
the specification, and the JavaScript client draws the same reports from the same words.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar, Protocol

from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.direct import GRR, ApproximateGRR, DirectResponse, Exponential
from seepage.mechanisms.exact_probabilities import CERTAIN, chance
from seepage.mechanisms.rappor import BasicRAPPOR
from seepage.mechanisms.subset_selection import SubsetSelection
from seepage.mechanisms.transition_matrix import MatrixMechanism
from seepage.mechanisms.unary import OUE, RAPPOR, ApproximateSUE, UnaryEncoding

Words = Iterator[int]


class WordDraw(Protocol):
    """How a report is drawn from words."""

    kind: ClassVar[str]
    """The name of the draw in the wire form."""

    @property
    def words(self) -> int:
        """The number of 64-bit words that one report is drawn from."""

    def report(self, code: int, words: Words) -> int | list[int]:
        """Return the report of a value's code, drawn from words."""

    def to_wire(self) -> dict[str, Any]:
        """Return the numbers of a draw from words as integers, and thresholds as
        digits.
        """


@dataclass(frozen=True)
class DirectDraw:
    """Keep the value if the word is below `keep`, else any of the k values.

    Of the remaining M = 2^64 - keep words each value gets at least floor(M / k), so
    with R = p / q every ratio is at most R if keep <= (p - q)(2^64 - k).
    """

    kind: ClassVar[str] = "direct"
    words: ClassVar[int] = 1

    k: int
    keep: int

    @classmethod
    def of(cls, mechanism: DirectResponse) -> "DirectDraw":
        """Return the draw from words with the largest `keep` that the rule allows."""
        if mechanism.k == 1:
            return cls(1, 0)
        uneven = Fraction(mechanism.k, CERTAIN)
        return cls(mechanism.k, chance(mechanism.kept_share * (1 - uneven)))

    @classmethod
    def from_wire(cls, channel: Mapping[str, Any]) -> "DirectDraw":
        """Return the draw from words of a wire form."""
        return cls(int(channel["k"]), int(channel["keep"]))

    def to_wire(self) -> dict[str, Any]:
        """Return `keep` of a draw from words as digits."""
        return {"keep": str(self.keep)}

    def report(self, code: int, words: Words) -> int:
        """Return the value, or one uniform over all k values, drawn from words."""
        word = next(words)
        if word < self.keep:
            return code
        return (word - self.keep) * self.k // (CERTAIN - self.keep)


@dataclass(frozen=True)
class SubsetDraw:
    """Choose `size` of the k values; the person's is among them if a word is below
    `force`.

    A choice among n <= k candidates has probabilities within (1 +- k / 2^64) / n, so a
    subset of w values has at least (1 - k / 2^64)^w of its uniform probability and a
    forced one at most (1 + k / 2^64)^(w-1); `force` is lowered accordingly:

        force / (1 - force) * (k / w) * (1 + u)^(w-1) / (1 - u)^w <= R - 1,

    with u = k / 2^64 and (1 - u)^w / (1 + u)^(w-1) >= 1 - (2w - 1) u.
    """

    kind: ClassVar[str] = "subset"

    k: int
    size: int
    force: int

    @classmethod
    def of(cls, mechanism: SubsetSelection) -> "SubsetDraw":
        """Return the draw from words with the largest `force` that the rule allows."""
        k = mechanism.k
        size = mechanism.size
        if k == 1:
            return cls(k, size, 0)
        uneven = Fraction((2 * size - 1) * k, CERTAIN)
        share = mechanism.kept_share
        odds = share / (1 - share) * (1 - uneven)
        return cls(k, size, chance(odds / (1 + odds)))

    @classmethod
    def from_wire(cls, channel: Mapping[str, Any]) -> "SubsetDraw":
        """Return the draw of a subset from words, of a wire form."""
        return cls(int(channel["k"]), int(channel["size"]), int(channel["force"]))

    @property
    def words(self) -> int:
        """The number of words that one draw of a subset takes: one for `force` and one
        for each value.
        """
        return 1 + self.size

    def to_wire(self) -> dict[str, Any]:
        """Return the size of a subset drawn from words, and `force` as digits."""
        return {"size": self.size, "force": str(self.force)}

    def report(self, code: int, words: Words) -> list[int]:
        """Return a random subset drawn from words; other values are chosen by the
        shuffle of Fisher and Yates.
        """
        values = list(range(self.k))
        taken = 0
        if next(words) < self.force:
            _swap(values, 0, code)
            taken = 1
        for index in range(self.size):
            word = next(words)
            if index >= taken:
                _swap(values, index, index + (word * (self.k - index) >> 64))
        return sorted(values[: self.size])


def _swap(values: list[int], first: int, second: int) -> None:
    """Swap two values of the shuffle that draws a subset from words."""
    values[first], values[second] = values[second], values[first]


@dataclass(frozen=True)
class BitsDraw:
    """Set the bit of each value if its word is below `true` (the person's) or
    `other`.
    """

    kind: ClassVar[str] = "bits"

    k: int
    true: int
    other: int

    @classmethod
    def of(cls, mechanism: UnaryEncoding) -> "BitsDraw":
        """Return the draw of bits from words, with the probabilities that the mechanism
        draws.
        """
        true, other = mechanism.drawn
        return cls(mechanism.k, chance(true), chance(other))

    @classmethod
    def from_wire(cls, channel: Mapping[str, Any]) -> "BitsDraw":
        """Return the draw of bits from words, of a wire form."""
        return cls(int(channel["k"]), int(channel["true"]), int(channel["other"]))

    @property
    def words(self) -> int:
        """The number of words that one draw of bits takes: one for each value."""
        return self.k

    def to_wire(self) -> dict[str, Any]:
        """Return both thresholds of a draw of bits from words as digits."""
        return {"true": str(self.true), "other": str(self.other)}

    def report(self, code: int, words: Words) -> list[int]:
        """Return the values whose bit is set, one word drawn for each."""
        present = []
        for value in range(self.k):
            threshold = self.true if value == code else self.other
            if next(words) < threshold:
                present.append(value)
        return present


@dataclass(frozen=True)
class MatrixDraw:
    """Look the word up in the cumulative thresholds of the value's row, which sum to
    2^64.
    """

    kind: ClassVar[str] = "matrix"
    words: ClassVar[int] = 1

    rows: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, mechanism: MatrixMechanism) -> "MatrixDraw":
        """Return the draw from words with the thresholds of a matrix mechanism."""
        return cls(tuple(map(tuple, mechanism.thresholds.tolist())))

    @classmethod
    def from_wire(cls, channel: Mapping[str, Any]) -> "MatrixDraw":
        """Return the draw from words by thresholds of a wire form."""
        return cls(tuple(tuple(map(int, row)) for row in channel["thresholds"]))

    def to_wire(self) -> dict[str, Any]:
        """Return the thresholds of a draw from words as digits, one row per value."""
        return {"thresholds": [[str(cell) for cell in row] for row in self.rows]}

    def report(self, code: int, words: Words) -> int:
        """Return the index of the first cumulative threshold above the drawn word."""
        return bisect_right(list(accumulate(self.rows[code])), next(words))


WORD_DRAWS: dict[type[Mechanism], Any] = {
    GRR: DirectDraw,
    Exponential: DirectDraw,
    ApproximateGRR: DirectDraw,
    SubsetSelection: SubsetDraw,
    RAPPOR: BitsDraw,
    OUE: BitsDraw,
    ApproximateSUE: BitsDraw,
    BasicRAPPOR: BitsDraw,
    MatrixMechanism: MatrixDraw,
}
"""Draws by mechanism.  Exact types: a subclass may draw differently."""


DRAWS_BY_KIND = {
    draw.kind: draw for draw in (DirectDraw, SubsetDraw, BitsDraw, MatrixDraw)
}
"""Draws by their name in the wire form."""


def word_draw(mechanism: Mechanism) -> WordDraw | None:
    """Return how a client draws a mechanism's reports from words; None if it cannot.

    Examples
    --------
    >>> word_draw(GRR(2, 0.0))
    DirectDraw(k=2, keep=0)
    >>> word_draw(OUE(3, 0.0)).true == 2**63
    True
    """
    kind = WORD_DRAWS.get(type(mechanism))
    if kind is None:
        return None
    draw: WordDraw = kind.of(mechanism)
    return draw
