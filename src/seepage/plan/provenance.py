"""`Provenance`: what a plan was computed from."""

from typing import Annotated, Any

import msgspec

from seepage._version import __version__
from seepage.data.pairs import PairCounts


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
