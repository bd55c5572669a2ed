"""`Provenance`: how a plan was made, and from which records."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from seepage import __version__
from seepage._core.errors import InputError
from seepage._core.results import json_ready
from seepage.channel.pairs import PairCounts
from seepage.designs.forms.question import Stored

Number = Annotated[int, msgspec.Meta(ge=0)]


class ColumnsLeftOut(msgspec.Struct, frozen=True, rename={"no_answers": "no answers"}):
    """The columns of a table that are no attributes, each with its twin or its kind."""

    same: dict[str, str] = {}
    no_answers: dict[str, str] = {}


class SearchStated(
    msgspec.Struct,
    frozen=True,
    rename={
        "late_gain": "late gain",
        "shaped_sets": "shaped sets",
        "shaped_on": "shaped on",
    },
    kw_only=True,
):
    """What a plan states of its search, as far as it is shown or started from again."""

    late_gain: float = 0.0
    ended: str = ""
    rounds: Number = 0
    sets: list[list[str]] = []
    shaped_sets: list[list[str]] = []
    shaped_on: str = ""
    wanted: dict[str, float | Literal["inf"]] = {}


class StatedSettings(
    msgspec.Struct,
    frozen=True,
    rename={"too_rare": "too rare", "fixing_records": "fixing records"},
):
    """The settings that the sentences and the page of a plan are made from.

    Parameters
    ----------
    known
        Attributes that are taken as known to everyone who sees reports.
    columns
        The columns of the table that are no attributes.
    too_rare, protected
        Columns with answers too rare to protect, and to ask.
    fixing_records
        The number of records that fixed the answers.
    title, objective, people, precision, want, design
        As `design` was given them, and what it states of its search.
    """

    known: list[str] = []
    columns: ColumnsLeftOut = ColumnsLeftOut()
    too_rare: list[str] = []
    protected: list[str] = []
    fixing_records: Number = 0
    title: str = ""
    objective: Literal["mean", "largest"] = "mean"
    people: Annotated[int, msgspec.Meta(ge=1)] | msgspec.UnsetType = msgspec.UNSET
    precision: Annotated[float, msgspec.Meta(gt=0, lt=1)] | msgspec.UnsetType = (
        msgspec.UNSET
    )
    want: list[str] = []
    design: SearchStated = SearchStated()


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
    records: Number
    seepage: str
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    population: Number | msgspec.UnsetType = msgspec.UNSET
    person: Annotated[str, msgspec.Meta(min_length=1)] | msgspec.UnsetType = (
        msgspec.UNSET
    )

    def __post_init__(self) -> None:
        """Check the settings in a plan's provenance."""
        try:
            _ = self.stated
        except msgspec.ValidationError as problem:
            raise InputError(f"settings of a plan: {problem}") from None

    @property
    def stated(self) -> StatedSettings:
        """The settings in a plan's provenance that sentences and pages are made from,
        checked.
        """
        return msgspec.convert(self.settings, StatedSettings)

    @property
    def reading(self) -> dict[str, Any]:
        """Table options in a plan's provenance by which records are read as those that
        it was computed from.
        """
        if not self.person:
            return {}
        return {"person": self.person}

    @property
    def known(self) -> list[str]:
        """The attributes that by a plan's provenance are taken as known to everyone who
        sees reports.
        """
        return self.stated.known

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
