"""Keywords of totals that only some guarantees use."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from seepage._core import checks
from seepage.tables.table_options import DataOptions

CONSTRAINTS: dict[str, checks.Check] = {
    "target_delta": checks.inner_probability,
    "confidence": checks.inner_probability,
    "reports": partial(checks.integer, minimum=1, maximum=checks.MAX_RECORDS),
    "rng": checks.seed,
}
"""What each of the `TotalSettings` must be."""


@dataclass(frozen=True, kw_only=True)
class TotalSettings(DataOptions):
    """Options of totals that only some guarantees use, see `total_leakage`."""

    target_delta: float = 0.01
    confidence: float = 0.95
    reports: int = 20_000
    rng: Any = 0

    def __post_init__(self) -> None:
        """Check the settings of sampled and witness totals."""
        super().__post_init__()
        checks.constrain(self, CONSTRAINTS)
