"""Options of calibrations and designs, checked without any data."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from seepage._core import checks
from seepage._core.errors import InputError, Setting, Text
from seepage._core.odds import limit_in_nats
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.tables.table_options import DataOptions
from seepage.totals.guarantees import GUARANTEES
from seepage.totals.total_settings import TotalSettings


def positive_limit(value: Any, what: str = "limit") -> float:
    """Return the limit of a calibration in nats, given in nats or as odds, checked to
    be above 0.
    """
    limit = limit_in_nats(value, what)
    if limit == 0:
        raise checks.violation(
            what, "above 0", value, ": a total of 0 collects nothing"
        )
    return limit


COMPLETE_RECORDS = Text(
    "a plan is certified on all records, as its clients code them, and ",
    Setting("missing", "drop"),
    " leaves out those with a missing value, who are asked too",
)
"""Why complete records certify no plan: a form asks few attributes, and who fills it in
is not known to have answers to the others."""


def check_all_records(counted: PairCounts | Records) -> None:
    """Raise if a calibration's records are without those with a missing value."""
    if isinstance(counted, Records) and counted.origin.complete:
        raise InputError(COMPLETE_RECORDS, parameter="data")


PLANNING_CONSTRAINTS: dict[str, checks.Check] = {"keep": checks.texts}
"""What the options must be that `calibrate` and `design` share."""


@dataclass(frozen=True, kw_only=True)
class PlanningOptions(DataOptions):
    """Options of functions that plan a collection within limits, see `design`."""

    limit: Any
    public: Sequence[str] = ()
    left_out: Sequence[str] = ()
    keep: Sequence[str] = ()
    sample: int | None = None

    def __post_init__(self) -> None:
        """Check the options that calibrations and designs share."""
        super().__post_init__()
        checks.constrain(self, PLANNING_CONSTRAINTS)
        if self.dropping:
            raise InputError(COMPLETE_RECORDS, parameter="missing")

    def records_options(self, rng: int | None, scope: str) -> dict[str, Any]:
        """Return the options of a calibration or design for reading `data`, with scope,
        sample and seed.
        """
        reading = dict(self.reading)
        reading.pop("progress", None)
        if scope == "population":
            reading["scope"] = scope
            reading["rng"] = rng
        if self.sample is not None:
            reading["sample"] = self.sample
            reading["rng"] = rng
        return reading


CONSTRAINTS: dict[str, checks.Check] = {
    "audit": checks.flag,
    "scope": partial(checks.choice, options=("population", "table")),
    "guarantee": partial(checks.choice, options=("auto", *GUARANTEES)),
}
"""What each option of `calibrate` alone must be; limits are checked by attribute."""


@dataclass(frozen=True, kw_only=True)
class CalibrationOptions(PlanningOptions, TotalSettings):
    """Options of `calibrate`, which describes them."""

    mechanism: Any = None
    guarantee: str = "auto"
    audit: bool = True
    scope: str | None = None
    delta: Any = 0.0
    view: Literal["report", "inferred"] = "report"
    uncertainty: Any = 0.0

    def __post_init__(self) -> None:
        """Check the options of a calibration."""
        super().__post_init__()
        checks.constrain(self, CONSTRAINTS)
        if self.is_uncertain and self.scope == "population":
            raise InputError(
                "uncertainty is a distance that is assumed, and scope 'population' "
                "bounds that of sampling: use one of them",
                parameter="scope",
            )

    @property
    def is_uncertain(self) -> bool:
        """Whether a calibration's option `uncertainty` says that rows are known only up
        to a distance.
        """
        value = self.uncertainty
        return not (isinstance(value, int | float) and value == 0)

    def of_totals(self, scope: str) -> dict[str, Any]:
        """Return the options of a calibration that are keywords of `total_leakage`, for
        a scope.
        """
        names = (
            "target_delta",
            "confidence",
            "reports",
            "rng",
            "progress",
            "delta",
            "view",
        )
        return {"scope": scope, **{name: getattr(self, name) for name in names}}
