"""Where a plan comes from: what it was computed from, and what it was chosen over."""

from typing import Annotated, Any

import msgspec

from seepage import __version__
from seepage.data.pairs import PairCounts
from seepage.plan.question import Unbounded


class Provenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a plan was computed from.

    Parameters
    ----------
    digest
        SHA-256 of the pair counts, `PairCounts.digest`.
    records
        How many records they count.
    population
        Where those are a sample, how many records it was drawn from; not set otherwise.
    seepage
        The version of this package.
    settings
        What the caller chose, as plain JSON.
    """

    digest: str
    records: Annotated[int, msgspec.Meta(ge=0)]
    seepage: str
    settings: dict[str, Any] = {}
    population: Annotated[int, msgspec.Meta(ge=0)] | msgspec.UnsetType = msgspec.UNSET

    @classmethod
    def of(cls, pairs: PairCounts, settings: dict[str, Any]) -> "Provenance":
        """Return the provenance of a plan that was computed from these counts."""
        return cls(
            digest=pairs.digest,
            records=pairs.records,
            population=msgspec.UNSET if pairs.population is None else pairs.population,
            seepage=__version__,
            settings=settings,
        )


class Alternative(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another way to collect the same attributes within the same limits.

    Parameters
    ----------
    name
        What it is.
    rests_on
        Why its totals stay within the limits, or what must hold for that.
    certified
        Whether they do so without any assumption.
    variances
        By attribute, the variance of an estimate from one person, summed over the values at the
        nominal frequencies, noise and sampling together; from n people it is this over n.
    """

    name: str
    rests_on: str
    certified: bool
    variances: dict[str, Unbounded]
