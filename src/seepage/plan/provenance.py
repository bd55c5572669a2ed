"""`Provenance`: how a plan was made, and from which records."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from seepage import __version__
from seepage._core.results import json_ready
from seepage.channel.pairs import PairCounts
from seepage.designs.forms.question import Stored


class Provenance(Stored, frozen=True, kw_only=True):
    """The data and settings that a plan was computed from.

    Parameters
    ----------
    digest
        SHA-256 of the pair counts, `PairCounts.digest`.
    records
        The number of records.
    population
        If they are a sample, the number of records that it was drawn from; not set
        otherwise.
    seepage
        The version of this package.
    settings
        Settings of the caller, as plain JSON.
    person
        The column that identifies the people, of each of whom one record was read; not
        set if every record was a person of its own.
    """

    digest: str
    records: Annotated[int, msgspec.Meta(ge=0)]
    seepage: str
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    population: Annotated[int, msgspec.Meta(ge=0)] | msgspec.UnsetType = msgspec.UNSET
    person: Annotated[str, msgspec.Meta(min_length=1)] | msgspec.UnsetType = (
        msgspec.UNSET
    )

    @property
    def reading(self) -> dict[str, Any]:
        """Table options by which records are read as those that the plan was computed
        from.
        """
        if not self.person:
            return {}
        return {"person": self.person}

    @property
    def known(self) -> list[str]:
        """The attributes that the adversary is assumed to know of the person."""
        names = self.settings.get("known")
        return [str(name) for name in names] if isinstance(names, list) else []

    @classmethod
    def of(
        cls, pairs: PairCounts, settings: Mapping[str, Any], person: str | None = None
    ) -> "Provenance":
        """Return the provenance of a plan that was computed from these counts.

        The settings take a round trip through JSON, so that a plan that is loaded
        equals the one that was saved.
        """
        return cls(
            digest=pairs.digest,
            records=pairs.records,
            population=msgspec.UNSET if pairs.population is None else pairs.population,
            seepage=__version__,
            settings=msgspec.json.decode(msgspec.json.encode(json_ready(settings))),
            person=msgspec.UNSET if person is None else person,
        )
