"""`Leak`: the leakage of one source about one target, by name; ordered pairs by
rank.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import DomainError
from seepage._core.odds import odds_above, odds_below
from seepage._core.text import delta_text
from seepage.channel.domain import MISSING, Domain
from seepage.leakage.leakage import Witness


@dataclass(frozen=True, repr=False)
class Leak:
    """The leakage of one source about one target, with the evidence that there is.

    Parameters
    ----------
    target, source
        The names of the attributes, in the order of `matrix[target, source]`.
    leakage
        The leakage in nats: of the table, or estimated from reports.
    interval
        Its lower and upper confidence limit for the population; None where they are not
        computed.
    witness
        The two target values and the likely set that attain `supported`, if that is
        given, else the leakage; None where there is none, or where it is not computed.
    supported
        The largest leakage among target values that are not missing and have enough
        records; None where it is not computed.
    targets, sources
        The attributes equivalent to each, itself included; empty where they are not
        computed.
    delta
        The delta with which `leakage` and `supported` hold in the table.

    Examples
    --------
    >>> import seepage as sp
    >>> matrix = sp.leakage_matrix("adult", 1.0, mechanism="grr")
    >>> matrix.interval()["sex", "relationship"].sentence()
    'relationship -> sex: 2.04x, 2.01x to 2.06x in the population'
    """

    target: str
    source: str
    leakage: float
    interval: tuple[float, float] | None = None
    witness: Witness | None = None
    supported: float | None = None
    targets: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    delta: float = 0.0

    @property
    def lower(self) -> float:
        """The lower confidence limit of a pair's leak; 0, which always holds, where it
        is not computed.
        """
        return self.interval[0] if self.interval else 0.0

    @property
    def upper(self) -> float:
        """The upper confidence limit of a pair's leak; infinity, which always holds,
        where it is not computed.
        """
        return self.interval[1] if self.interval else math.inf

    @property
    def rank(self) -> float:
        """The sort key of a pair's leak, min(lower, supported); 0 without a witness, or
        if it is a missing value.
        """
        if self.witness is None or self.supported is None:
            return 0.0
        if self.witness.likely == (MISSING,):
            return 0.0
        return min(self.lower, self.supported)

    def sentence(self) -> str:
        """Return the leak of a pair in words: the witness, or else how many times the
        odds change, with the interval.

        Where rare or missing values have a larger leakage, the witness is given with
        its own.
        """
        if self.witness is not None:
            return self._witness_sentence(self.witness)
        text = (
            f"{self.source} -> {self.target}: {odds_above(self.leakage)}"
            f"{delta_text(self.delta)}"
        )
        if self.interval is None:
            return text
        limits = f"{odds_below(self.lower)} to {odds_above(self.upper)}"
        return f"{text}, {limits} in the population"

    def _witness_sentence(self, witness: Witness) -> str:
        """Return the witness of a pair's leak in words, with its own leakage where that
        is smaller.
        """
        value = self.leakage if self.supported is None else self.supported
        text = witness.sentence(value, self.source, self.target, self.delta)
        if odds_above(value) == odds_above(self.leakage):
            return text
        return f"{text} (more for rare or missing values)"

    def to_dict(self) -> dict[str, Any]:
        """Return the leak of a pair as plain values, its witness in words."""
        return {
            "target": self.target,
            "source": self.source,
            "targets": self.targets,
            "sources": self.sources,
            "lower": self.lower,
            "leakage": self.leakage,
            "delta": self.delta,
            "upper": self.upper,
            "supported": self.supported,
            "witness": self.sentence() if self.witness else "",
        }

    def __repr__(self) -> str:
        """Return the leak of a pair in one line."""
        odds = f"odds change {odds_above(self.leakage)}{delta_text(self.delta)}"
        if self.interval is not None:
            lower, upper = self.interval
            odds += f", {odds_below(lower)} to {odds_above(upper)} in the population"
        return f"Leak({self.source!r} -> {self.target!r}, {odds})"


def target_and_source(domain: Domain, pair: Any, name: str) -> tuple[int, int]:
    """Return the indices of the two attributes of a pair's leak, `name[target,
    source]`.
    """
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise DomainError(
            f"a leakage has a target and a source: give {name}[target, source], "
            f"got {checks.shown(pair)}"
        )
    return domain.index(pair[0]), domain.index(pair[1])


def ranked_pairs(values: Floats, ties: Floats) -> Iterator[tuple[int, int]]:
    """Return all pairs (target, source) by descending leak, and by descending `ties`
    where equal.
    """
    off_diagonal = np.flatnonzero(~np.eye(len(values), dtype=np.bool_))
    ranks = np.lexsort((-ties.flat[off_diagonal], -values.flat[off_diagonal]))
    targets, sources = np.divmod(off_diagonal[ranks], len(values))
    return zip(targets.tolist(), sources.tolist(), strict=True)
