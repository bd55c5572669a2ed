"""Options of `analyse` as one object, checked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from seepage._core import checks
from seepage._core.odds import limit_in_nats
from seepage.channel.domain import for_each
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.release_options import ChannelOptions
from seepage.leakage.uncertainty import RowsWithin, uncertainty_of
from seepage.totals.total_settings import TotalSettings

CONSTRAINTS: dict[str, checks.Check] = {
    "keep": checks.texts,
    "people": checks.draws,
    "name": checks.text,
    "command": checks.text,
}
"""What each option of `analyse` alone must be; limits are checked by attribute."""


@dataclass(frozen=True, kw_only=True)
class AnalysisOptions(ChannelOptions, TotalSettings):
    """Options of `analyse`, which describes them."""

    limit: Any = None
    keep: Sequence[str] = ()
    guarantee: str | Iterable[str] = "auto"
    sample: int | None = None
    people: int | None = None
    name: str | None = None
    command: str = ""

    def __post_init__(self) -> None:
        """Check the options of an analysis."""
        super().__post_init__()
        checks.constrain(self, CONSTRAINTS)


def checked_limits(limit: Any, matrix: LeakageMatrix) -> tuple[float | None, ...]:
    """Return the option `limit` of an analysis by attribute, None where it has none."""
    values = for_each(matrix.domain, limit, "limit")
    return tuple(None if value is None else limit_in_nats(value) for value in values)


def stated_distances(uncertainty: Any, matrix: LeakageMatrix) -> tuple[float, ...]:
    """Return the option `uncertainty` of an analysis, the distance of the rows about
    each target; () if all are 0.
    """
    stated = uncertainty_of(matrix.domain, uncertainty)
    if stated is None:
        return ()
    if not isinstance(stated, RowsWithin):
        raise checks.violation(
            "uncertainty", "a number or one for each attribute", uncertainty
        )
    matrix.within(stated)  # raises with smoothing
    return stated.by_target
