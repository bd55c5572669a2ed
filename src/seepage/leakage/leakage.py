"""`Leakage` and `Witness`: a leakage, and the values and the report that attain it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._core import checks
from seepage._core.arrays import Booleans
from seepage._core.errors import InputError
from seepage._core.odds import measured_odds
from seepage._core.text import delta_text
from seepage.channel.channel import Channel
from seepage.leakage.leakage_profile import PROFILE_POINTS, LeakageProfile

Label = str | int


NAMED_VALUES = 5
"""Number of likely values that a sentence names; it counts the others."""


@dataclass(frozen=True)
class Witness:
    """The two target values and the report that attain a leakage.

    Parameters
    ----------
    likelier, other
        The target values x and x': the report is exp(leakage) times likelier under the
        first.
    likely
        The source values S that the report makes likely.
    report
        The report y itself where the mechanism is known; otherwise None.
    """

    likelier: Label
    other: Label
    likely: tuple[Label, ...]
    report: Any = None

    def sentence(
        self, value: float, source: str = "", target: str = "", delta: float = 0.0
    ) -> str:
        """Return the witness of a leakage as a sentence.

        Parameters
        ----------
        value
            The leakage in nats.
        source, target
            The names of the two attributes, placed before their values.
        delta
            The delta with which the leakage holds.

        Examples
        --------
        >>> Witness("Female", "Male", ("Wife",)).sentence(0.25)
        'a report that favours Wife is 1.29 times likelier under Female than under Male'
        >>> Witness(1, 2, ("yes",)).sentence(0.25, "smoker", "sex")
        'a report that favours smoker yes is 1.29 times likelier under sex 1 than under
        sex 2'
        """
        value = checks.real(value, "value")
        checks.text(source, "source")
        checks.text(target, "target")
        favoured = self._favoured(source)
        times = _times(value)
        likelier = _value_of(target, self.likelier)
        other = _value_of(target, self.other)
        return (
            f"a report that favours {favoured} is {times} likelier "
            f"under {likelier} than under {other}{delta_text(delta)}"
        )

    def _favoured(self, source: str) -> str:
        """Return the likely values of a witness in words, after the name of the
        source.
        """
        names = ", ".join(map(str, self.likely[:NAMED_VALUES])) or "nothing"
        text = _value_of(source, names)
        if len(self.likely) > NAMED_VALUES:
            text += f" and {len(self.likely) - NAMED_VALUES} more"
        return text


def _value_of(attribute: str, value: Label) -> str:
    """Return a value of a leakage's witness after the name of its attribute, if there
    is one.
    """
    if not attribute:
        return str(value)
    return f"{attribute} {value}"


def _times(leakage: float) -> str:
    """Return a leakage as how many times likelier a report is, rounded up."""
    if math.isinf(leakage):
        return "infinitely"
    return f"{measured_odds(leakage)} times"


def named_witness(
    G: Channel | ArrayLike,
    likelier: int,
    other: int,
    likely: Booleans,
    *,
    report: Any = None,
) -> Witness:
    """Return the witness of a leakage with the value names of a `Channel`, or with
    indices for an array.
    """
    favoured = likely.nonzero()[0].tolist()
    if not isinstance(G, Channel):
        return Witness(likelier, other, tuple(favoured), report)
    targets = G.given.values
    sources = G.output.values
    names = tuple(sources[u] for u in favoured)
    return Witness(targets[likelier], targets[other], names, report)


@dataclass(frozen=True)
class Leakage:
    """A correlation-induced leakage in nats, with its witness.

    Parameters
    ----------
    value
        The leakage l >= 0: reports are at most exp(l) times likelier under one target
        value than under another.
    witness
        The target values and the report that attain it; None where the leakage is 0.
    delta
        The certified delta with which it holds: the channel from target to report is
        (l, delta)-LDP.
    paper_delta
        The paper's f* = delta A, never below the certified delta of the same bound;
        equal to it at epsilon 0, where the paper's listing sets none.
    delta_at
        The delta of any other leakage, as a function; None where it is not known.

    Examples
    --------
    >>> float(Leakage(0.25, None))
    0.25
    """

    value: float
    witness: Witness | None
    delta: float = 0.0
    paper_delta: float = 0.0
    delta_at: Callable[[float], float] | None = field(
        default=None, repr=False, compare=False
    )

    def __float__(self) -> float:
        """Return the leakage in nats, without its delta."""
        return self.value

    def profile(self, leakages: Sequence[float] | None = None) -> LeakageProfile:
        """Return delta(l), the whole trade of which the leakage's (value, delta) is one
        point.

        Parameters
        ----------
        leakages
            The leakages l in nats, at least 0; 0 to twice the value by default.

        Examples
        --------
        >>> import seepage as sp
        >>> matrix = sp.leakage_matrix(
        ...     "adult", 1.0, mechanism="approximate-grr", delta=0.01
        ... )
        >>> leakage = matrix["sex", "relationship"]
        >>> leakage.profile([0.5, leakage.value, 0.8]).deltas.round(4).tolist()
        [0.0559, 0.006, 0.0]
        """
        if self.delta_at is None:
            raise InputError("this leakage has no profile: it is 0, or a saved bound")
        if leakages is None:
            end = 10.0
            if math.isfinite(self.value):
                end = 2 * self.value
            levels = np.linspace(0.0, end, PROFILE_POINTS)
        else:
            items = checks.items(leakages, "l")
            levels = np.array([checks.epsilon(item, "leakages") for item in items])
        deltas = np.array([self.delta_at(float(level)) for level in levels])
        return LeakageProfile(levels, deltas, (self.value, self.delta))
