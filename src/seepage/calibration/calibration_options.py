"""Options of calibrations and designs, checked without any data."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from seepage._core import checks
from seepage._core.options import option
from seepage.tables.table_options import DataOptions
from seepage.totals.total_settings import TotalSettings


def positive_limit(value: Any, what: str = "limit") -> float:
    """Return a limit in nats, checked to be above 0."""
    limit = checks.epsilon(value, what)
    if limit == 0:
        raise checks.violation(
            what, "above 0", value, ": a total of 0 collects nothing"
        )
    return limit


def choice_of(*options: str) -> dict[str, Any]:
    """Return how an option is read that has one of some values."""
    return {"choices": options, "check": partial(checks.choice, options=options)}


@dataclass(frozen=True, kw_only=True)
class PlanningOptions(DataOptions):
    """Options of functions that plan a collection within limits.

    Parameters
    ----------
    limit
        The maximum total of every attribute, in nats.  Or one for each: a sequence, or
        a mapping by name, with `"*"` for all others.
    public
        Attributes whose values are public.
    left_out
        Attributes that are not collected.
    sample
        Number of records to draw at random, by the seed; all by default.
    """

    limit: Any = field(
        kw_only=False, metadata={"option": True, "type": float, "each": True}
    )
    public: Sequence[str] = option(())
    left_out: Sequence[str] = option(())
    sample: int | None = option(None, metavar="N")

    def records_options(self, rng: int | None, scope: str) -> dict[str, Any]:
        """Return the options of reading `data` that were given, with scope, sample and
        seed.
        """
        given = {
            name: value for name, value in self.reading.items() if name != "progress"
        }
        if scope == "population":
            given |= {"scope": scope, "rng": rng}
        return (
            given
            if self.sample is None
            else {**given, "sample": self.sample, "rng": rng}
        )


@dataclass(frozen=True, kw_only=True)
class CalibrationOptions(PlanningOptions, TotalSettings):
    """Options of `calibrate`.

    Parameters
    ----------
    mechanism
        A mechanism; by default any, and the one of least variance is planned.  By name,
        for all or by attribute: its own leakage is used, else the bound that holds for
        any mechanism.
    guarantee
        Guarantee of the totals: worst, exact, merged, sampled, independent, sum, or
        `"auto"`.  See `total_leakage`; `"auto"` is `"independent"` for pair counts, and
        for records `"exact"` if it fits, else `"sampled"`.
    audit
        Search for a witness against a guarantee that is an assumption; needs records.
    delta
        Delta of (epsilon, delta)-LDP; totals then have one too.
    view
        `"report"`: the adversary keeps the whole report; `"inferred"`: only the
        inferred value.
    scope
        For whom totals hold: the `"population"` that the records are a random sample of
        (the default for records and `"auto"`, `"exact"` or `"merged"`), or the people
        in the `"table"`. For the population they are upper confidence limits, and
        budgets the largest that pass, which costs no confidence [theory-population:
        Budgets chosen by looking].
    """

    mechanism: Any = option(None, short="-m", type=str)
    guarantee: str = option("auto")
    audit: bool = option(True, check=checks.flag)
    scope: str | None = option(None, **choice_of("population", "table"))
    delta: Any = option(0.0, type=float)
    view: Literal["report", "inferred"] = "report"

    def __post_init__(self) -> None:
        super().__post_init__()
        from seepage.totals.guarantees import GUARANTEES

        checks.choice(self.guarantee, "guarantee", ("auto", *GUARANTEES))

    def of_totals(self, scope: str) -> dict[str, Any]:
        """Return the keywords of `total_leakage`, for a scope."""
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
