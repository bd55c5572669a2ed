"""Keywords of leakages: budgets, mechanisms, view, delta."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from seepage._core import checks
from seepage.tables.table_options import DataOptions

RELEASE_CONSTRAINTS: dict[str, checks.Check] = {
    "view": partial(checks.choice, options=("report", "inferred")),
}
"""What each of the `ReleaseOptions` must be; the others are checked by attribute."""

SMOOTHING_CONSTRAINTS: dict[str, checks.Check] = {
    "min_count": checks.weight,
    "prior": checks.weight,
    "truncate": checks.weight,
}
"""What each option of smoothing must be."""


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(DataOptions):
    """Options of how attributes are released, see `leakage_matrix`."""

    epsilon: Any
    mechanism: Any = None
    view: Literal["report", "inferred"] = "report"
    delta: Any = 0.0

    def __post_init__(self) -> None:
        """Check the options of releases."""
        super().__post_init__()
        checks.constrain(self, RELEASE_CONSTRAINTS)


@dataclass(frozen=True, kw_only=True)
class ChannelOptions(ReleaseOptions):
    """Options of the channels that leakages are computed from: smoothing, and how far
    their rows may be from the table's.
    """

    min_count: float = 0.0
    prior: float = 0.0
    truncate: float = 0.0
    uncertainty: Any = 0.0

    def __post_init__(self) -> None:
        """Check the options of releases and of smoothing."""
        super().__post_init__()
        checks.constrain(self, SMOOTHING_CONSTRAINTS)


@dataclass(frozen=True, kw_only=True)
class MatrixOptions(ChannelOptions):
    """Options of `leakage_matrix`, which describes them."""

    c_min: Any = None
