"""`TotalsComparison`: the totals by several guarantees, side by side."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from seepage._core import checks
from seepage._core.errors import GuaranteeError
from seepage._core.progress import begin_stage
from seepage._core.results import Result
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.leakage.matrix import LeakageMatrix
from seepage.totals.compute_total import compute_total
from seepage.totals.guarantees import GUARANTEES, KINDS
from seepage.totals.total_result import (
    TotalLeakage,
    _totals_as_odds,
    largest_total_odds,
)
from seepage.totals.total_settings import TotalSettings


@dataclass(frozen=True, eq=False, repr=False)
class TotalsComparison(Result):
    """Totals under several guarantees: certified first, then statistical, assumed,
    lower bounds.

    Parameters
    ----------
    totals
        The totals, in that order.
    unavailable
        The guarantees that could not be computed, with the reason and an alternative.
    refuted
        For each assumed guarantee the attributes whose total lies below the witness:
        the table violates the assumption there.
    """

    totals: tuple[TotalLeakage, ...]
    unavailable: dict[str, str]
    refuted: dict[str, tuple[str, ...]]

    def __getitem__(self, guarantee: str) -> TotalLeakage:
        """Return the totals under one of the guarantees compared."""
        by_guarantee = {total.guarantee: total for total in self.totals}
        checks.choice(guarantee, "guarantee", [*by_guarantee, *self.unavailable])
        if guarantee in self.unavailable:
            raise GuaranteeError(self.unavailable[guarantee])
        return by_guarantee[guarantee]

    def chart_rows(self) -> list[dict[str, Any]]:
        """Return the totals under all guarantees as rows for a chart, refuted
        assumptions marked.
        """
        rows = []
        for total in self.totals:
            rows += total.chart_rows(self.refuted.get(total.guarantee, ()))
        return rows

    def chart(self, name: str = "") -> Any:
        """Return the totals under all guarantees in one Altair chart, titled with the
        data's name if given.

        Refuted assumptions are marked.
        """
        from seepage.charts.result_charts import totals_chart

        return totals_chart(self.chart_rows(), checks.text(name, "name"))

    def _columns(self) -> dict[str, Sequence[Any]]:
        """Return the columns of totals by guarantee in long form."""
        columns: dict[str, list[Any]] = {"attribute": [], "guarantee": []}
        refuted = []
        for total in self.totals:
            for name, values in total._columns().items():
                columns.setdefault(name, []).extend(values)
            refuted_names = self.refuted.get(total.guarantee, ())
            refuted += [name in refuted_names for name in total.domain.names]
        return {**columns, "refuted": refuted}

    def _shown_columns(self) -> dict[str, Sequence[Any]]:
        """Return the totals as notebooks show them, as odds."""
        return _totals_as_odds(self._columns())

    def _headline(self) -> str:
        """Return totals by guarantee in one line."""
        largest = [
            f"{total.guarantee} {largest_total_odds(total)}" for total in self.totals
        ]
        refuted = ""
        if self.refuted:
            refuted = f"; refuted: {', '.join(self.refuted)}"
        shown = ", ".join(largest) or "none"
        return f"TotalsComparison(largest change of odds: {shown}{refuted})"


def compare_totals(
    counted: PairCounts | Records,
    matrix: LeakageMatrix,
    guarantees: Iterable[str],
    settings: TotalSettings,
) -> TotalsComparison:
    """Return the totals under each guarantee that can be computed, side by side.

    Sorted by kind: certified, statistical, assumed, lower bound.  An assumed total with
    delta 0 that lies below the witness is refuted: the table violates the assumption.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain(
    ...     [sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")]
    ... )
    >>> coins = sp.Records(
    ...     domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [1000] * 4
    ... )
    >>> found = sp.analyse(coins, epsilon=1.0, mechanism="grr", guarantee="all").totals
    >>> [(total.guarantee, total.kind) for total in found.totals][:3]
    [('exact', 'certified'), ('merged', 'certified'), ('worst', 'certified')]
    >>> found.refuted
    {'independent': ('a', 'b', 'differ'), 'sum': ('a', 'b', 'differ')}
    """
    totals: list[TotalLeakage] = []
    unavailable: dict[str, str] = {}
    for guarantee in guarantees:
        begin_stage(settings.progress, f"{guarantee} totals")
        try:
            totals.append(compute_total(guarantee, counted, matrix, settings))
        except GuaranteeError as reason:
            unavailable[guarantee] = reason.text
    totals.sort(key=_strength)
    return TotalsComparison(tuple(totals), unavailable, _refuted(totals))


def _strength(total: TotalLeakage) -> tuple[int, int]:
    """Return the place of a total's kind and guarantee among those compared, the
    strongest first.
    """
    kind = list(KINDS).index(total.kind)
    guarantee = list(GUARANTEES).index(total.guarantee)
    return kind, guarantee


def _refuted(totals: Sequence[TotalLeakage]) -> dict[str, tuple[str, ...]]:
    """Return the attributes whose assumed total is below the witness, by guarantee."""
    by_guarantee = {total.guarantee: total for total in totals}
    refuted: dict[str, tuple[str, ...]] = {}
    if "witness" not in by_guarantee:
        return refuted
    witness = by_guarantee["witness"]
    for total in totals:
        below = (total.values < witness.values) & (total.deltas == 0)
        if total.kind == "assumed" and below.any():
            refuted[total.guarantee] = tuple(compress(total.domain.names, below))
    return refuted
