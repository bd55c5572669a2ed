"""Leakage: exact, bounded, as a curve, and as the matrix of a whole table.

Here are leakages as results, with their witnesses, and the strongest leaks of a table.

A leakage is a maximum over values, so rare and missing values lead a ranking by
leakage.  Leaks are ranked by min(lower, supported): the lower confidence limit for the
population, `LeakageMatrix.interval`, and the leakage among values with enough records.
Attributes that determine each other (education and education-num) form one group, with
one entry per two groups.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from seepage._core import checks
from seepage._core.arrays import Booleans
from seepage._core.text import delta_text
from seepage.channel.channel import Channel

if TYPE_CHECKING:
    from seepage.leakage.leakage_profile import LeakageProfile


Label = str | int


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
        """Return the witness as a sentence.

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
        'a report that favours Wife is 1.28 times likelier under Female than under Male'
        >>> Witness(1, 2, ("yes",)).sentence(0.25, "smoker", "sex")
        'a report that favours smoker yes is 1.28 times likelier under sex 1 than under sex 2'
        """
        value = checks.real(value, "value")
        checks.text(source, "source"), checks.text(target, "target")
        favoured = ", ".join(map(str, self.likely[:5])) or "nothing"
        favoured = f"{source} {favoured}" if source else favoured
        likelier, other = (
            f"{target} {x}" if target else x for x in (self.likelier, self.other)
        )
        more = f" and {len(self.likely) - 5} more" if len(self.likely) > 5 else ""
        times = (
            "infinitely"
            if math.isinf(value)
            else f"{math.exp(min(value, 700.0)):.3g} times"
        )
        return (
            f"a report that favours {favoured}{more} is {times} likelier "
            f"under {likelier} than under {other}{delta_text(delta)}"
        )


def named_witness(
    G: Channel | ArrayLike, likelier: int, other: int, likely: Booleans, report: Any
) -> Witness:
    """Return a witness with the value names of a `Channel`, or with indices for an
    array.
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
        return self.value

    def profile(self, leakages: Sequence[float] | None = None) -> "LeakageProfile":
        """Return delta(l), the whole trade of which (value, delta) is one point.

        Parameters
        ----------
        leakages
            The leakages l in nats, at least 0; 0 to twice the value by default.

        Examples
        --------
        >>> import seepage as sp
        >>> how = {"mechanism": "approximate-grr", "delta": 0.01}
        >>> leakage = sp.leakage_matrix("adult", 1.0, **how)["sex", "relationship"]
        >>> leakage.profile([0.5, leakage.value, 0.8]).deltas.round(4).tolist()
        [0.0559, 0.006, 0.0]
        """
        from seepage.leakage.leakage_profile import leakage_profile

        return leakage_profile(self, leakages)
