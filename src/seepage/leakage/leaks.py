"""Leakages and leaks as results, with their witnesses."""

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Booleans
from seepage.data.channel import Channel

Label = str | int


@dataclass(frozen=True)
class Witness:
    """The two target values and the report that attain a leakage.

    Parameters
    ----------
    likelier, other
        The target values x and x': the report is exp(leakage) times likelier under the first.
    likely
        The source values S that the report makes likely.
    report
        The report y itself where the mechanism is known; otherwise None.
    """

    likelier: Label
    other: Label
    likely: tuple[Label, ...]
    report: Any = None

    def sentence(self, value: float, source: str = "", target: str = "") -> str:
        """Return the witness as a sentence.

        Parameters
        ----------
        value
            The leakage in nats.
        source, target
            The names of the two attributes, placed before their values.

        Examples
        --------
        >>> Witness("Female", "Male", ("Wife",)).sentence(0.25)
        'a report that favours Wife is 1.28 times likelier under Female than under Male'
        >>> Witness(1, 2, ("yes",)).sentence(0.25, "smoker", "sex")
        'a report that favours smoker yes is 1.28 times likelier under sex 1 than under sex 2'
        """
        value = _checks.real(value, "value")
        _checks.text(source, "source"), _checks.text(target, "target")
        favoured = ", ".join(map(str, self.likely[:5])) or "nothing"
        favoured = f"{source} {favoured}" if source else favoured
        likelier, other = (f"{target} {x}" if target else x for x in (self.likelier, self.other))
        more = f" and {len(self.likely) - 5} more" if len(self.likely) > 5 else ""
        times = "infinitely" if math.isinf(value) else f"{math.exp(min(value, 700.0)):.3g} times"
        return (
            f"a report that favours {favoured}{more} is {times} likelier "
            f"under {likelier} than under {other}"
        )


def named_witness(
    G: Channel | ArrayLike, likelier: int, other: int, likely: Booleans, report: Any
) -> Witness:
    """Return a witness with the value names of a `Channel`, or with indices for an array."""
    favoured = likely.nonzero()[0].tolist()
    if not isinstance(G, Channel):
        return Witness(likelier, other, tuple(favoured), report)
    targets, sources = G.given.values, G.output.values
    names = tuple(sources[u] for u in favoured)
    return Witness(targets[likelier], targets[other], names, report)


@dataclass(frozen=True)
class Leakage:
    """A correlation-induced leakage in nats, with its witness.

    Parameters
    ----------
    value
        The leakage l >= 0: reports are at most exp(l) times likelier under one target value than
        under another.
    witness
        The target values and the report that attain it; None where the leakage is 0.
    relaxation
        The certified delta': the channel from target to report is (l, delta')-LDP.
    paper_relaxation
        The paper's f* = delta A, never below `relaxation`; equal to it at epsilon 0, where the
        paper's listing sets none.

    Examples
    --------
    >>> float(Leakage(0.25, None))
    0.25
    """

    value: float
    witness: Witness | None
    relaxation: float = 0.0
    paper_relaxation: float = 0.0

    def __float__(self) -> float:
        return self.value
