"""`RecordOrigin`: how records were read, which certificates depend on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seepage.channel.source_files import SourceFile

if TYPE_CHECKING:
    from seepage.tables.fixed_domain import FixedDomain


@dataclass(frozen=True, kw_only=True)
class RecordOrigin:
    """How records were read.

    Parameters
    ----------
    fixed
        How the domain was fixed, where that was on a part of the records; else None.
    declared
        Whether the domain was given or fixed on others; else they certify nothing for a
        population.
    pooled
        Whether values were merged by these very counts: nothing is certified for a
        population.
    complete
        Whether records with a missing value were left out: the others certify no plan.
    person
        The column that identified the people, of each of whom one record was kept; else
        None.
    sources
        The files that the records were read from; empty if they are not known.
    columns
        The columns of the table that are no attributes, as a plan states them; see
        `DataCheck.unused`.
    """

    fixed: "FixedDomain | None" = None
    declared: bool = True
    pooled: bool = False
    complete: bool = False
    person: str | None = None
    sources: tuple[SourceFile, ...] = ()
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """Return what a plan states of the records' origin: how the domain was fixed,
        and the columns left out.
        """
        settings = dict[str, Any]()
        if self.fixed is not None:
            settings |= self.fixed.settings()
        if self.columns:
            settings["columns"] = self.columns
        return settings


STATED = RecordOrigin()
"""The origin of records that are stated as codes of a domain, not read from a table."""
