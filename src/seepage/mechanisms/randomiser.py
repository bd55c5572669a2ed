"""`Randomiser`: the published parameters of somebody else's randomiser, as transition matrices."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage.data.channel import as_matrix
from seepage.errors import InputError
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.two_level import TwoLevelMechanism
from seepage.mechanisms.unary import UnaryEncoding

MAX_BITS = 12
"""Maximum number of bits of a unary encoding whose 2^k reports are listed."""


class Bits(UnaryEncoding):
    """Unary encoding with given bit probabilities.

    Parameters
    ----------
    k
        The alphabet size.
    p, q
        The probability of a 1 for the bit of the true value, and for any other: 0 < q <= p < 1.
    """

    name = "bits"

    def __init__(self, k: int, p: float, q: float) -> None:
        super().__init__(k, Fraction(p), Fraction(q), p=p, q=q)


@dataclass(frozen=True, eq=False)
class RandomisedAttribute:
    """How one attribute is randomised.

    Parameters
    ----------
    name, values
        The attribute and the labels of its values.
    channel
        The labels of the reports and P(report given value), if they are few.
    pair
        For a mechanism that treats all values alike, what a report says of two values, given each
        of them: two rows, columns as in `PAIR_WORDS`.
    bits
        The probabilities p and q of a unary encoding: a 1 for the true value, and for another.
    mechanism
        The mechanism, if it is one of this package.
    copies
        The number h of independent pairs in one report: the hash functions of RAPPOR.
    """

    name: str
    values: tuple[str, ...]
    channel: tuple[tuple[str, ...], Floats] | None = None
    pair: Floats | None = None
    bits: tuple[float, float] | None = None
    mechanism: Mechanism | None = None
    copies: int = 1

    @cached_property
    def _table(self) -> tuple[tuple[str, ...], Floats]:
        if self.channel is not None:
            return self.channel
        if self.bits is not None and self.copies == 1 and len(self.values) <= MAX_BITS:
            return _bit_matrix(len(self.values), *self.bits)
        raise InputError(
            f"the randomiser of {self.name!r} has too many reports for a matrix: a matrix can have "
            f"those of at most {MAX_BITS} bits, of no hash functions and of no real numbers"
        )

    @property
    def reports(self) -> tuple[str, ...]:
        """The labels of the reports, see `matrix`."""
        return self._table[0]

    @property
    def matrix(self) -> Floats:
        """P(report given value): one row per value, one column per report.

        Raises an InputError where there are too many reports.
        """
        return self._table[1]


class Randomiser(Mapping[str, RandomisedAttribute]):
    """Randomisers of one or several attributes, by name, from published parameters.

    Parameters
    ----------
    attributes
        One `RandomisedAttribute` for each attribute: `.values`, `.reports` and `.matrix`.
    rounds
        How often each attribute is reported.
    memoised
        Whether the first report is stored and repeated; for RAPPOR, the permanent response.
    linked
        Whether the reports of a person can be linked; or groups of attributes whose reports can be.

    Notes
    -----
    A specification is JSON: a matrix (rows values, columns reports), the parameters of one
    attribute, or `{"attributes": {name: parameters, ...}, "rounds": 1, "memoised": false,
    "linked": true}`.  The parameters are `values` (labels) or `k` (their number) and one of

    * `mechanism` and `epsilon` (and `delta`): a registered mechanism;
    * `p` and `q`: one bit for each value, 1 with probability p for the true value and q for others;
    * `f`, `p`, `q`, and `h`, `cohorts`: RAPPOR [Erlingsson, Pihur and Korolova 2014];
    * `p`, `p0`, `p1`: forced response, an honest answer with probability p, else no (p0) or yes
      (p1);
    * `keep`: the true value with this probability, else one of the others uniformly;
    * `matrix`, and `reports` (labels).

    Examples
    --------
    >>> survey = Randomiser.read({"p": 4 / 6, "p0": 1 / 6, "p1": 1 / 6, "values": ["no", "yes"]})
    >>> survey["value"].reports, survey["value"].matrix.round(4).tolist()
    (('no', 'yes'), [[0.8333, 0.1667], [0.1667, 0.8333]])
    >>> Randomiser.read({"keeep": 0.5, "k": 3})
    Traceback (most recent call last):
    seepage.errors.InputError: there is no key 'keeep' in 'value'; did you mean 'keep'?
    """

    def __init__(
        self,
        attributes: Sequence[RandomisedAttribute],
        rounds: int = 1,
        memoised: bool = False,
        linked: bool | Sequence[Sequence[str]] = True,
    ) -> None:
        kind = RandomisedAttribute, "a RandomisedAttribute"
        given = _checks.items(attributes, "attributes")
        made = [_checks.instance(one, "each of attributes", *kind) for one in given]
        self._attributes = {one.name: one for one in made}
        self.rounds = _checks.integer(rounds, "rounds", 1, _checks.MAX_RECORDS)
        self.memoised = _checks.flag(memoised, "memoised")
        self.linked = linked if isinstance(linked, bool) else self._groups(linked)

    def _groups(self, linked: Any) -> tuple[tuple[str, ...], ...]:
        groups = tuple(
            tuple(_checks.texts(one, "linked")) for one in _checks.items(linked, "linked")
        )
        named = [_checks.choice(name, "each of linked", self) for group in groups for name in group]
        if len(set(named)) < len(named):
            raise _checks.violation("linked", "groups without a common attribute", groups)
        return groups + tuple((name,) for name in self if name not in named)

    def __getitem__(self, name: str) -> RandomisedAttribute:
        if name not in self:
            hint = _checks.near_miss(name, self._attributes)
            raise InputError(f"the randomiser has no attribute {_checks.shown(name)}{hint}")
        return self._attributes[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._attributes

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)

    def __repr__(self) -> str:
        return f"Randomiser({', '.join(self)}; {self.rounds} rounds)"

    @classmethod
    def read(cls, source: Any) -> "Randomiser":
        """Return the randomiser of a specification: a mapping, a matrix, or a JSON or CSV file."""
        if isinstance(source, Randomiser):
            return source
        from seepage.mechanisms.specification import read_specification

        return read_specification(source)


# Matrices ----------------------------------------------------------------------------------------

PAIR_WORDS = (
    "that supports {0} and {1}",
    "that supports {0} and not {1}",
    "that supports {1} and not {0}",
    "that supports neither {0} nor {1}",
)
"""What a report says of two values, {0} and {1}."""


def of_two_bits(p: Fraction, q: Fraction) -> Floats:
    """Return P(both, first, second, none of two values supported), given each of them."""
    return _symmetric_pair(p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q))


def _symmetric_pair(both: Fraction, own: Fraction, other: Fraction, none: Fraction) -> Floats:
    return np.array([[both, own, other, none], [both, other, own, none]], dtype=np.float64)


def _bit_matrix(k: int, p: float, q: float) -> tuple[tuple[str, ...], Floats]:
    """Return the 2^k reports of a unary encoding as texts of bits, and their matrix."""
    bits = np.array(list(itertools.product((0, 1), repeat=k)))
    chances = np.where(np.eye(k, dtype=bool)[:, None], p, q)
    matrix = np.where(bits, chances, 1 - chances).prod(axis=2)
    return tuple("".join(map(str, row)) for row in bits), matrix


def of_mechanism(name: str, values: tuple[str, ...], made: Mechanism) -> RandomisedAttribute:
    """Return a mechanism of this package, with its matrix or that of two values."""
    channel = pair = bits = None
    if isinstance(made, TwoLevelMechanism) and made.k > 1:
        p, w, others = made.true, made.size, made.k - 1
        if w is None:
            pair = of_two_bits(p, made.other)
        else:
            inside, outside = Fraction(w - 1, others), Fraction(w, others)
            chances = (p * inside, p * (1 - inside), (1 - p) * outside, (1 - p) * (1 - outside))
            pair = _symmetric_pair(*chances)
    if isinstance(made, UnaryEncoding):
        bits = float(made.true), float(made.other)
    else:
        with suppress(InputError):  # too many reports
            matrix = as_matrix(made.channel())
            same = matrix.shape[1] == len(values)
            channel = values if same else tuple(map(str, range(matrix.shape[1]))), matrix
    return RandomisedAttribute(name, values, channel, pair, bits, made)
