"""Options of `analyse` as one object, checked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from seepage._core import checks
from seepage.leakage.release_options import ChannelOptions
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
        super().__post_init__()
        checks.constrain(self, CONSTRAINTS)
