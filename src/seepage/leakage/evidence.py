"""`Leakage`: a value with its witness, the evidence that attains it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import UNIT, Booleans, Floats, round_up
from seepage.data.channel import Channel, as_matrix
from seepage.leakage.likely_sets import CELL_ROUNDINGS, LikelySets, profile

Label = str | int


@dataclass(frozen=True)
class Witness:
    """What attains a leakage: two target values and a report that tells them apart.

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
        """Return the evidence in words.

        Parameters
        ----------
        value
            The leakage in nats.
        source, target
            The names of the two attributes, to be put before their values.

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


@dataclass(frozen=True)
class Leakage:
    """A correlation-induced leakage in nats, with its witness.

    Parameters
    ----------
    value
        The leakage l >= 0: reports are at most exp(l) times likelier under one target value than
        under another.
    witness
        What attains it; None where nothing is told apart.
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


def two_level_leakage(
    G: Channel | ArrayLike,
    sets: LikelySets,
    delta: float = 0.0,
    report: Callable[[Booleans], Any] = lambda likely: None,
) -> Leakage:
    """Return the leakage of a channel through reports with these likely sets, with its witness.

    Parameters
    ----------
    G
        P(source given target), rows target values.
    sets
        The likely sets of the report and their contrast.
    delta
        The mechanism's relaxation, from which that of the leakage follows.
    report
        Makes a report out of a likely set, for the witness.

    Notes
    -----
    The value is rounded up, so it is a bound in the strict sense; cost O(m^2 t), or O(m t) for
    singletons, with m target and t source values.
    """
    matrix = as_matrix(G)
    value, first, second, likely = sets.best_pair(matrix)
    certified = relaxation(matrix, value, sets.contrast, delta)
    if value == 0:
        return Leakage(0.0, None, certified, certified)
    favoured = likely.nonzero()[0].tolist()
    if isinstance(G, Channel):
        targets, sources = G.given.values, G.output.values
        witness = Witness(
            targets[first], targets[second], tuple(sources[u] for u in favoured), report(likely)
        )
    else:
        witness = Witness(first, second, tuple(favoured), report(likely))
    paper = delta * float(matrix[first][likely].sum()) if delta else 0.0
    return Leakage(value, witness, certified, max(certified, paper))


def relaxation(channel: Floats, value: float, epsilon: float, delta: float) -> float:
    """Return delta' with which a target's channel is (value, delta')-LDP, rounded up.

    delta' = delta (e^l - 1)/(e^eps - 1) = delta E(e^l) [theory: The certified delta]: the optimum
    over all (eps, delta)-LDP mechanisms, and never above the paper's delta A.  At epsilon 0 it is
    delta times the largest total variation distance between two rows.  Above 0 it stays above 0
    even where it is too small for a float.
    """
    if delta == 0:
        return 0.0
    if epsilon == 0:
        distance = profile(channel, 0.0)[0]
        share = distance + 2 * CELL_ROUNDINGS * UNIT if distance > 0 else 0.0
    else:
        share = math.exp(value - epsilon) * math.expm1(-value) / math.expm1(-epsilon)
    if share == 0 and value == 0:
        return 0.0
    operations = 2 * channel.shape[1] + math.ceil(epsilon)
    return min(delta, math.nextafter(round_up(delta * share, operations), math.inf))


def labels(channel: Any, axis: int, size: int) -> tuple[Label, ...]:
    """Return the names along an axis of a channel, or its numbers for a plain array."""
    if isinstance(channel, Channel):
        return (channel.given, channel.output)[axis].values
    return tuple(range(size))
