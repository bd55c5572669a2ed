"""Options of `audit` as one object, checked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from seepage._core import checks
from seepage.tables.table_options import DataOptions

CONSTRAINTS: dict[str, checks.Check] = {
    "delta": checks.delta,
    "record_claim": checks.epsilon,
    "samples": partial(checks.draws, minimum=1),
    "rounds": partial(checks.integer, minimum=1, maximum=checks.MAX_RECORDS),
    "attribute": checks.text,
    "confidence": checks.confidence,
}
"""What each option of an audit must be, if it is not the default."""


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """Options of `audit`, which describes them.

    Parameters
    ----------
    table
        How the data are read.
    """

    claim: Any
    delta: float
    record_claim: float | None
    values: Sequence[Any] | None
    reports: Sequence[Any] | None
    samples: int
    rounds: int | None
    memoised: bool | None
    linked: bool | Sequence[Sequence[str]] | None
    attribute: str | None
    confidence: float
    rng: Any
    data: Any
    reported: str | Sequence[str]
    guarantee: str | Iterable[str]
    command: str
    table: DataOptions

    def __post_init__(self) -> None:
        """Check the options of an audit."""
        for name, check in CONSTRAINTS.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check(value, name))
