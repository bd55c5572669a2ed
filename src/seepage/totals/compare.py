"""`compare_totals`: every guarantee side by side, and which assumptions the table refutes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from seepage import _checks
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.release import View
from seepage.totals.compute import Settings, compute
from seepage.totals.result import (
    GUARANTEES,
    KINDS,
    GuaranteeError,
    Progress,
    TotalLeakage,
)
from seepage.totals.total import prepare

__all__ = ["TotalsComparison", "compare_prepared", "compare_totals"]


@dataclass(frozen=True, eq=False)
class TotalsComparison:
    """Totals under several guarantees: certified first, then statistical, assumed, lower bounds.

    Parameters
    ----------
    totals
        The totals, in that order.
    refused
        Guarantees that lack what they need, with the reason and the way out.
    refuted
        For each assumed guarantee the attributes whose total lies below the witness: there the
        assumption is wrong for this table.
    """

    totals: tuple[TotalLeakage, ...]
    refused: dict[str, str]
    refuted: dict[str, tuple[str, ...]]

    def __getitem__(self, guarantee: str) -> TotalLeakage:
        """Return the totals under one guarantee."""
        known = {total.guarantee: total for total in self.totals}
        if guarantee in self.refused:
            raise GuaranteeError(self.refused[guarantee])
        return known[_checks.choice(guarantee, "guarantee", known)]

    def chart(self) -> Any:
        """Return all totals in one Altair chart, refuted assumptions marked."""
        from seepage.charts.results import totals_chart

        rows = [
            row
            for total in self.totals
            for row in total.chart_rows(self.refuted.get(total.guarantee, ()))
        ]
        return totals_chart(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON; numbers as in `TotalLeakage.to_dict`."""
        return {
            "totals": {total.guarantee: total.to_dict() for total in self.totals},
            "refused": dict(self.refused),
            "refuted": {name: list(attributes) for name, attributes in self.refuted.items()},
        }

    def to_frame(self, frame: Callable[[dict[str, Any]], Any] | None = None) -> Any:
        """Return one row an attribute and one column a guarantee, as a PyArrow table.

        `to_frame(pandas.DataFrame)` and `to_frame(polars.DataFrame)` give those.
        """
        columns: dict[str, Any] = {"attribute": list(self.totals[0].domain.names)}
        columns |= {total.guarantee: total.values for total in self.totals}
        for name, attributes in self.refuted.items():
            columns[f"{name} refuted"] = [a in attributes for a in columns["attribute"]]
        if frame is not None:
            return frame(columns)
        import pyarrow as pa

        return pa.table(columns)


def compare_totals(
    data: Any,
    epsilon: Any,
    mechanism: Any = None,
    guarantees: Iterable[str] = tuple(GUARANTEES),
    *,
    delta: Any = 0.0,
    view: View = "report",
    structure: Any = None,
    target_delta: float = 0.01,
    confidence: float = 0.95,
    reports: int = 20_000,
    sample: int | None = None,
    seed: int | None = 0,
    progress: Progress | None = None,
    **table: Any,
) -> TotalsComparison:
    """Return the totals under every guarantee that can be computed, side by side.

    Parameters
    ----------
    data, epsilon, mechanism, delta, view, structure
        As in `total_leakage`.
    guarantees
        The guarantees to compare; all by default.
    target_delta, confidence, reports, sample, seed, progress, table
        As in `total_leakage`.

    Returns
    -------
    TotalsComparison
        Sorted into certified, statistical, assumed and lower bounds.  An assumed total with delta
        0 that lies below the witness is refuted: the table itself has reports that say more.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.data.records import Records
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [1000] * 4)
    >>> found = compare_totals(coins, epsilon=1.0, mechanism="grr")
    >>> [(total.guarantee, total.kind) for total in found.totals][:3]
    [('exact', 'certified'), ('merged', 'certified'), ('worst', 'certified')]
    >>> found.refuted
    {'independent': ('a', 'b', 'differ')}
    """
    settings = Settings(structure, target_delta, confidence, reports, seed, progress)
    names = [_checks.choice(name, "guarantee", GUARANTEES) for name in guarantees]
    known, matrix = prepare(
        data, epsilon, mechanism, delta, view, sample=sample, seed=seed, **table
    )
    return compare_prepared(known, matrix, names, settings)


def compare_prepared(
    known: PairCounts | Records,
    matrix: LeakageMatrix,
    names: Iterable[str],
    settings: Settings,
) -> TotalsComparison:
    """Return the comparison for data that are counted and a matrix that is there already."""
    totals: list[TotalLeakage] = []
    refused: dict[str, str] = {}
    for name in names:
        try:
            totals.append(compute(name, known, matrix, settings))
        except GuaranteeError as reason:
            refused[name] = str(reason)
    order = list(GUARANTEES)
    totals.sort(key=lambda total: (KINDS.index(total.kind), order.index(total.guarantee)))
    return TotalsComparison(tuple(totals), refused, _refuted(totals))


def _refuted(totals: list[TotalLeakage]) -> dict[str, tuple[str, ...]]:
    witnesses = [total for total in totals if total.guarantee == "witness"]
    found: dict[str, tuple[str, ...]] = {}
    for total in totals:
        if total.kind != "assumed" or not witnesses:
            continue
        below = (total.values < witnesses[0].values) & (total.deltas == 0)
        names = tuple(n for n, low in zip(total.domain.names, below, strict=True) if low)
        if names:
            found[total.guarantee] = names
    return found
