"""`compare_limits`: people needed against the limit."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from seepage._core import checks
from seepage._core.errors import InputError
from seepage._core.odds import odds_text
from seepage._core.results import Result, json_ready
from seepage.confidence.union_bound import divided
from seepage.designs.design_options import (
    DEFAULT_WIDTH,
    DesignKeywords,
    DesignOptions,
    design_limit,
)
from seepage.designs.strategies import OPTIMAL_SMP, UNIFORM_SMP
from seepage.tables.codebook_options import CodebookOptions
from seepage.tables.opened_table import merged_reading
from seepage.workflow.plan import Plan
from seepage.workflow.within_limits import (
    plan_of_design,
    warm_start,
)

MAX_LIMITS = 20
"""Maximum number of limits that are compared: each has a share of the confidence."""


# Several limits -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class LimitComparison(Result):
    """Plans of one table for several limits, and what each limit costs.

    Parameters
    ----------
    plans
        The plans, in ascending order of their limits.
    limits
        The limit of each plan in nats.
    people, width
        The number of people that half-widths are for, and the half-width that people
        are for.
    confidence
        Confidence of the limits of all plans together; None for `scope="table"`.
    """

    plans: tuple[Plan, ...]
    limits: tuple[float, ...]
    people: int
    width: float
    confidence: float | None

    UPPER_NATS = ("limit", "record")

    def _columns(self) -> dict[str, Sequence[Any]]:
        """Return the columns of the plans of several limits in long form."""
        from seepage.plan.plan_precision import plan_precision

        rows = list[dict[str, Any]]()
        for limit, plan in zip(self.limits, self.plans, strict=True):
            precision = plan_precision(plan)
            variance = precision.people * precision.half_width**2
            people = None
            if math.isfinite(variance):
                people = math.ceil(variance / self.width**2 * (1 - 1e-12))
            ratio = None
            smp = precision.named(OPTIMAL_SMP, UNIFORM_SMP)
            if smp is not None:
                ratio = precision.ratio(smp)
            row = {
                "limit": limit,
                "half_width": math.sqrt(variance / self.people),
                "people": people,
                "record": max(form.record for form in plan.forms),
                "forms": len(plan.forms),
                "one_question_each": ratio,
            }
            rows.append(row)
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison of several limits, and what it is for, as plain
        JSON.
        """
        stated = {
            "people": self.people,
            "width": self.width,
            "confidence": self.confidence,
            "designs": self._columns(),
        }
        return dict(json_ready(stated))

    def chart(self) -> Any:
        """Return the people needed against the limits compared, by way to ask."""
        from seepage.charts.limit_chart import limit_chart

        odds = [math.exp(limit) for limit in self.limits]
        return limit_chart(
            list(self._points(odds)), limits=odds, width=f"{100 * self.width:g}"
        )

    def _points(self, odds: Sequence[float]) -> Iterator[dict[str, Any]]:
        """Yield the number of people of each way to ask at each limit compared."""
        columns = self._columns()
        for number, limit in enumerate(odds):
            people = columns["people"][number]
            if people is None:
                continue
            ratio = columns["one_question_each"][number]
            if ratio is not None:
                rival = math.ceil(people * ratio)
                yield {"series": "One question each", "odds": limit, "people": rival}
            clear = self._people_without_privacy(self.plans[number])
            yield {"series": "No privacy", "odds": limit, "people": clear}
            yield {"series": "This plan", "odds": limit, "people": people}

    def _people_without_privacy(self, plan: Plan) -> int:
        """Return how many people the precision of a compared plan takes without any
        noise.
        """
        from seepage.plan.plan_precision import plan_precision

        precision = plan_precision(plan)
        scale = (precision.half_width / self.width) ** 2
        return math.ceil(precision.without_privacy * scale)

    def _headline(self) -> str:
        """Return the plans of several limits in one line."""
        limits = ", ".join(odds_text(limit) for limit in self.limits)
        points = f"{100 * self.width:g} points"
        return (
            f"LimitComparison(odds change at most {limits} times; "
            f"{self.people:,} people, or ± {points})"
        )


def compare_limits(
    data: Any, limits: Sequence[float], **options: Unpack[DesignKeywords]
) -> LimitComparison:
    """Return plans for several limits, with the precision and the whole record of each.

    The records are read once, and each limit has a search of its own.  For the
    population each plan has the confidence 1 - (1 - confidence) / (number of limits),
    rounded up, so that all limits hold together, and one plan may be chosen by looking
    at all of them.

    Parameters
    ----------
    data
        As in `design`.
    limits
        The limits of every attribute, at most 20: numbers of nats, or odds such as
        `"7.4x"`.
    **options
        As in `design`, for all plans together; `people` and `precision` set what
        half-widths and numbers of people are for (by default as many people as the
        table has, and 3 points).  Also `known`, `public`, `left_out`, `keep`, `want`,
        `importance`, `objective`, `record_limit`, `never`, `largest`, `scope`,
        `confidence`, `looks`, `answers`, `order`, `codebook`, `shape`, `mechanism`,
        `title`, `sample`, `start`, `effort`, `rounds`, `seconds` and `rng`; and of
        reading a table `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine` and `progress`.

    Returns
    -------
    LimitComparison
        `to_pandas()` has a row for each limit, `plans` the plans; Ctrl-C ends the
        searches.

    Examples
    --------
    >>> import seepage as sp
    >>> people = sp.make_survey(1_000).select(["coffee", "sleep"])
    >>> found = sp.compare_limits(people, [2, 1], shape="never")
    >>> found.limits, [plan.confidence for plan in found.plans]
    ((1.0, 2.0), [0.975, 0.975])
    >>> strict, loose = found.to_arrow()["half_width"].to_pylist()
    >>> strict > loose
    True
    """
    from seepage.designs.design_search import read_records, search_design

    keywords = DesignKeywords.__annotations__
    checks.options(options, keywords, ["data", "limits", *keywords])
    book = CodebookOptions.read(options.pop("codebook", None))
    settled: Any = book.settled(options)
    data, settled = merged_reading(data, settled)
    candidates = checks.items(limits, "limits", "a sequence of limits")
    compared = sorted({design_limit(limit, "each of limits") for limit in candidates})
    if not 1 <= len(compared) <= MAX_LIMITS:
        raise InputError(
            f"limits must be 1 to {MAX_LIMITS} numbers, got {len(compared)}",
            parameter="limits",
        )
    each = [DesignOptions(limit=limit, **settled) for limit in compared]
    shared = each[0]
    plans = list[Plan]()
    records, notes = read_records(data, shared)
    level = divided(shared.confidence, len(each))
    start = warm_start(shared.start)
    for limit_options in each:
        searched = replace(limit_options, confidence=level, start=start)
        result = search_design(records, searched, notes)
        plans.append(plan_of_design(result))
        if result.ended == "interrupted" and shared.rounds is None:
            break
    confidence = None
    if shared.scope == "population":
        confidence = shared.confidence
    return LimitComparison(
        plans=tuple(plans),
        limits=tuple(compared[: len(plans)]),
        people=shared.people or records.records,
        width=shared.precision or DEFAULT_WIDTH,
        confidence=confidence,
    )
