"""Tables I and II: errors of the statistical estimates, from how the paper may have read its data.

Table I compares them with the exact leakage of the same guess, Table II with the bound.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from seepage._numerics import Floats
from seepage.charts.scatter import agreement_chart
from seepage.data.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms import GRR, Mechanism
from seepage.study.reproduction.findings import Claim, Comparison, Finding, PaperItem
from seepage.study.reproduction.paper_data import MECHANISMS, NEAR_ADULT, STAND_INS, Data, plug_in

EPSILONS = (1.0, 3.0)

COLLECTIONS = 8
"""Draws of all reports behind a mean error, where a rare value makes single ones differ widely."""

COLUMNS_TWO = (
    *("data", "mechanism", "epsilon", "paper", "nmse", "nmse_closed_form"),
    *("collections", "infinite_estimates"),
)
"""The columns of Table II as a file."""

SMALL = 1e-3
"""Below this an NMSE is noise of the simulation, and is compared by order of magnitude."""

INCOMPLETE = "Adult, incomplete records in the estimates only"
MERGED = "CVD, rare bands merged"
NEAR_CARDIO = "CVD, near reading"

EXPLAINED = ("Adult, documented columns", NEAR_ADULT, "CVD, documented columns", NEAR_CARDIO)
"""Where the notes give the reason of a deviation, and a reading on the page shows it."""


class TableReading(NamedTuple):
    """A table as the paper may have read it.

    Parameters
    ----------
    label
        What it is called on the page: the dataset, then the reading.
    paper
        Under which name the paper prints numbers beside it; empty for none.
    pairs
        Its pair counts.
    collections
        How many draws of all reports the errors are means of.
    wider
        Counts of some of the columns with more records: estimates of pairs among those come from
        here, while the theory is that of `pairs`.
    """

    label: str
    paper: str
    pairs: PairCounts
    collections: int = 1
    wider: PairCounts | None = None

    def estimates(self, mechanism: Any, epsilon: float) -> Iterator[Floats]:
        """Yield the estimates of each collection."""
        for collection in range(self.collections):
            found = plug_in(self.pairs, mechanism, epsilon, collection)
            if self.wider is not None:
                among = [self.pairs.domain.index(name) for name in self.wider.domain.names]
                found = found.copy()
                found[np.ix_(among, among)] = plug_in(self.wider, mechanism, epsilon, collection)
            yield found

    def row(
        self,
        name: str,
        epsilon: float,
        theory: Floats,
        printed: float | None = None,
        how: Any = None,
    ) -> dict[str, Any]:
        """Return how far estimates are from a theory, beside the printed error.

        `how` replaces the mechanism that the name stands for, such as one with another set size.
        """
        found = [nmse(one, theory) for one in self.estimates(how or name, epsilon)]
        errors, infinite = zip(*found, strict=True)
        return {
            "data": self.label,
            "mechanism": MECHANISMS[name],
            "epsilon": int(epsilon),
            "paper": printed,
            "nmse": float(np.mean(errors)),
            "lowest": min(errors),
            "highest": max(errors),
            "collections": self.collections,
            "infinite_estimates": max(infinite),
        }


def table_readings(data: Data) -> list[TableReading]:
    """Return the readings of both tables, of the datasets at hand."""
    found = [TableReading(label, label, pairs) for label, pairs in data.some("celeba").items()]
    if data.records_at_hand("adult"):
        found.append(TableReading(NEAR_ADULT, "Adult", data.near_adult, COLLECTIONS))
    if data.records_at_hand("cardio"):
        found.append(TableReading(NEAR_CARDIO, "CVD", data.near_cardio, COLLECTIONS))
    for label, pairs in data.some("adult", "cardio").items():
        found.append(TableReading(f"{label}, documented columns", label, pairs))
    return found + [TableReading(name, "", pairs) for name, pairs in data.some(*STAND_INS).items()]


def variants(data: Data) -> list[TableReading]:
    """Return readings that show the reason of a deviation from Table I.

    Estimates of Adult from incomplete records too, against the theory of complete ones; and CVD
    without its rarest bins, for which the paper has nothing.
    """
    found = []
    if data.records_at_hand("adult"):
        wider = data.incomplete_adult
        found.append(TableReading(INCOMPLETE, "Adult", data.near_adult, COLLECTIONS, wider))
    if data.records_at_hand("cardio"):
        found.append(TableReading(MERGED, "", data.merged_cardio, COLLECTIONS))
    return found


def nmse(estimates: Floats, theory: Floats) -> tuple[float, int]:
    """Return sum (L~ - L*)^2 / sum (L*)^2 over ordered pairs, and how many estimates are infinite.

    Infinite ones, of a report never seen under some target value, are left out of both sums; a
    table without a single one of them must have left such values out.
    """
    others = ~np.eye(len(theory), dtype=np.bool_)
    finite = others & np.isfinite(estimates)
    error = ((estimates[finite] - theory[finite]) ** 2).sum() / (theory[finite] ** 2).sum()
    return float(error), int((others & ~finite).sum())


def library_subset_selection(pairs: PairCounts, epsilon: float) -> Mapping[str, Mechanism]:
    """Return, for each attribute, GRR with the leakage of the guess from subset selection.

    The subset has the size that the paper's library gives it: k / (e^eps + 1) rounded to the
    nearest integer, where the paper's text rounds down.  A guess from it is right with
    probability a = p / omega, as that of GRR with contrast ln a (k - 1) / (1 - a).
    """
    found: dict[str, Mechanism] = {}
    for attribute in pairs.domain:
        k = attribute.size
        omega = max(1, int(np.rint(k / (np.exp(epsilon) + 1))))
        p = omega * np.exp(epsilon) / (omega * np.exp(epsilon) + k - omega)
        a = p / omega
        contrast = float(np.log(a * (k - 1) / (1 - a))) if k > 1 else 0.0
        found[attribute.name] = GRR(k, max(contrast, 0.0))
    return found


def find_table_one(data: Data, paper: PaperItem) -> Finding:
    """Return Table I: estimates against the exact leakage of the same guess."""
    cells = [(name, epsilon) for name in ("grr", "exp") for epsilon in EPSILONS]
    rows: list[dict[str, Any]] = []
    comparisons: list[Comparison] = []
    for reading in table_readings(data) + variants(data):
        own = []
        for column, (name, epsilon) in enumerate(cells):
            theory = leakage_matrix(reading.pairs, epsilon, mechanism=name, view="inferred").values
            value = paper.table[reading.paper][column] if reading.paper else None
            own.append(reading.row(name, epsilon, theory, value))
        comparisons += _compare_one(paper, reading.label, own)
        rows += own
    comparisons += paper.without(label for label in paper.table if label not in _present(rows))
    return Finding(rows, comparisons, {"": _error_chart(rows)})


def _compare_one(paper: PaperItem, label: str, rows: list[dict[str, Any]]) -> list[Comparison]:
    if label == MERGED:
        return [_compare_cell(row) for row in rows]
    worst, told = max(row["nmse"] for row in rows), label in EXPLAINED
    if rows[0]["paper"] is None:
        return [paper.claim("stand_in", worst, label=label)]
    cells = [_compare_cell(row, factor=3, explained=told) for row in rows]
    return [*cells, paper.claim("explained" if told else "largest", worst, label=label)]


def find_table_two(data: Data, paper: PaperItem) -> Finding:
    """Return Table II: estimates of eight mechanisms against the bound."""
    rows: list[dict[str, Any]] = []
    for reading in table_readings(data):
        for epsilon in EPSILONS:
            bound = leakage_matrix(reading.pairs, epsilon).values
            for column, name in enumerate(MECHANISMS):
                how: Any = name
                if name == "ss" and reading.paper and "documented" not in reading.label:
                    how = library_subset_selection(reading.pairs, epsilon)
                exact = leakage_matrix(reading.pairs, epsilon, mechanism=how, view="inferred")
                value = (
                    paper.table[f"{reading.paper}, {epsilon:g}"][column] if reading.paper else None
                )
                row = reading.row(name, epsilon, bound, value, how)
                row["nmse_closed_form"] = nmse(exact.values, bound)[0]
                rows.append({key: row[key] for key in COLUMNS_TWO})
    labels = dict.fromkeys(row.partition(",")[0] for row in paper.table)
    missing = paper.without(label for label in labels if label not in _present(rows))
    return Finding(rows, [*map(_compare_two, rows), *missing], {"": _error_chart(rows)})


def _compare_two(row: dict[str, Any]) -> Comparison:
    noise = row["paper"] is not None and row["paper"] < SMALL
    tolerance = {"factor": 3.0} if noise else {"within": 0.15}
    return _compare_cell(row, **tolerance, explained="documented" in row["data"])


def _compare_cell(row: dict[str, Any], **tolerance: Any) -> Comparison:
    """Return an error of ours beside the printed one, where there is one."""
    what = f"{row['data']}: {row['mechanism']}, epsilon {row['epsilon']}"
    return Claim(what, printed=row["paper"], group=row["data"], **tolerance).compare(row["nmse"])


def _present(rows: list[dict[str, Any]]) -> set[str]:
    return {row["data"].partition(",")[0] for row in rows}


def _error_chart(rows: list[dict[str, Any]]) -> Any:
    """Return printed errors against ours, the near readings and the documented columns."""
    points = [
        {
            "panel": panel,
            "series": row["data"].partition(",")[0],
            "kind": row["mechanism"],
            "label": f"epsilon {row['epsilon']}",
            "x": row["paper"],
            "y": row["nmse"],
        }
        for panel in ("Near reading", "Documented columns")
        for row in rows
        if row["paper"] is not None
        and row["data"].partition(", ")[2] in ("", panel[0].lower() + panel[1:])
    ]
    return agreement_chart(points, "NMSE printed in the paper", "NMSE, ours")
