"""Mechanisms and analysers compared: Tables I and II, Fig. 6 b to e and Fig. 7.

The tables have the errors of the statistical estimates, for several readings of the datasets: Table
I against the exact leakage of the inferred value, Table II against the bound.  Fig. 6 compares
analysers with a reference, Fig. 7 utility with leakage on Adult.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from seepage._numerics import Floats
from seepage.charts.scatter import agreement_chart, analyser_chart, mechanism_chart
from seepage.data.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms import mechanism
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.direct import GRR
from seepage.study.benchmarks import benchmark_analysers
from seepage.study.mechanism_benchmark import benchmark_mechanisms
from seepage.study.reproduction.findings import Claim, Comparison, Finding, Row, not_compared
from seepage.study.reproduction.paper_data import (
    ALL,
    MECHANISMS,
    NEAR_ADULT,
    SEED,
    STAND_INS,
    Data,
    inferred_tcpl,
    is_stand_in,
    plug_in,
)

EPSILONS = (1.0, 3.0)

COLLECTIONS = 8
"""Collections over which errors are averaged, if rare values make them vary widely."""

COLUMNS_TWO = (
    *("data", "mechanism", "epsilon", "paper", "nmse", "nmse_closed_form"),
    *("collections", "infinite_estimates"),
)
"""The columns of Table II in its CSV file."""

SMALL = 1e-3
"""An NMSE below this is simulation noise, and is compared by order of magnitude."""

INCOMPLETE = "Adult, incomplete records in the estimates only"
MERGED = "CVD, rare bands merged"
NEAR_CARDIO = "CVD, near reading"

EXPLAINED = ("Adult, documented columns", NEAR_ADULT, "CVD, documented columns", NEAR_CARDIO)
"""Readings whose deviations the notes explain."""


class TableReading(NamedTuple):
    """A dataset with a choice of columns and bins that the paper may have used.

    Parameters
    ----------
    label
        Its name on the page: the dataset, then the reading.
    paper
        The name under which the paper prints numbers for it; empty for none.
    pairs
        Its pair counts.
    collections
        The number of simulated collections over which errors are averaged.
    wider
        Counts of some of the columns with more records: estimates of pairs among those columns are
        taken from here, while the theory is that of `pairs`.
    """

    label: str
    paper: str
    pairs: PairCounts
    collections: int = 1
    wider: PairCounts | None = None

    def estimates(self, mechanism: Any, epsilon: float) -> Iterator[Floats]:
        """Yield the matrix of estimates of each collection."""
        for collection in range(self.collections):
            estimates = plug_in(self.pairs, mechanism, epsilon, collection)
            if self.wider is not None:
                block = [self.pairs.domain.index(name) for name in self.wider.domain.names]
                estimates = estimates.copy()
                wider = plug_in(self.wider, mechanism, epsilon, collection)
                estimates[np.ix_(block, block)] = wider
            yield estimates

    def row(
        self,
        name: str,
        epsilon: float,
        theory: Floats,
        printed: float | None = None,
        mechanism: Any = None,
    ) -> Row:
        """Return a row of the table: NMSE of the estimates from a theory, and the printed error.

        `mechanism` replaces the mechanism of this name, for example by one with another set size.
        """
        used = mechanism or name
        scores = [nmse(estimates, theory) for estimates in self.estimates(used, epsilon)]
        errors, infinite = zip(*scores, strict=True)
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
    """Return the readings of both tables, for the datasets present."""
    readings = [TableReading(label, label, pairs) for label, pairs in data.some("celeba").items()]
    if data.records_at_hand("adult"):
        readings.append(TableReading(NEAR_ADULT, "Adult", data.near_adult, COLLECTIONS))
    if data.records_at_hand("cardio"):
        readings.append(TableReading(NEAR_CARDIO, "CVD", data.near_cardio, COLLECTIONS))
    for label, pairs in data.some("adult", "cardio").items():
        readings.append(TableReading(f"{label}, documented columns", label, pairs))
    stand_ins = data.some(*STAND_INS).items()
    return readings + [TableReading(label, "", pairs) for label, pairs in stand_ins]


def variants(data: Data) -> list[TableReading]:
    """Return readings that explain deviations from Table I.

    Adult with estimates from incomplete records, compared with the theory of complete ones; CVD
    without its rarest bins, for which the paper prints nothing.
    """
    readings = []
    if data.records_at_hand("adult"):
        wider = data.incomplete_adult
        readings.append(TableReading(INCOMPLETE, "Adult", data.near_adult, COLLECTIONS, wider))
    if data.records_at_hand("cardio"):
        readings.append(TableReading(MERGED, "", data.merged_cardio, COLLECTIONS))
    return readings


def nmse(estimates: Floats, theory: Floats) -> tuple[float, int]:
    """Return sum (L~ - L*)^2 / sum (L*)^2 over ordered pairs, and the number of infinite estimates.

    Infinite estimates, of a report never observed with some target value, are left out of both
    sums; the paper, which prints finite errors, must have left out such values too.
    """
    off_diagonal = ~np.eye(len(theory), dtype=np.bool_)
    finite = off_diagonal & np.isfinite(estimates)
    error = ((estimates[finite] - theory[finite]) ** 2).sum() / (theory[finite] ** 2).sum()
    return float(error), int((off_diagonal & ~finite).sum())


def library_subset_selection(pairs: PairCounts, epsilon: float) -> tuple[Mechanism, ...]:
    """Return, for each attribute, the GRR with the leakage of the value inferred from SS.

    The set size omega is that of the paper's library: k / (e^eps + 1) rounded to the nearest
    integer, where the paper's text rounds down.  The inferred value is right with probability
    a = p / omega, as that of GRR with contrast ln a (k - 1) / (1 - a).
    """
    equivalent = []
    for k in pairs.domain.sizes:
        omega = max(1, int(np.rint(k / (np.exp(epsilon) + 1))))
        p = omega * np.exp(epsilon) / (omega * np.exp(epsilon) + k - omega)
        a = p / omega
        contrast = float(np.log(a * (k - 1) / (1 - a))) if k > 1 else 0.0
        equivalent.append(GRR(k, max(contrast, 0.0)))
    return tuple(equivalent)


def table1(data: Data, found: Finding) -> None:
    """Find Table I: estimates against the exact leakage of the inferred value."""
    cells = [(name, epsilon) for name in ("grr", "exp") for epsilon in EPSILONS]
    for reading in table_readings(data) + variants(data):
        rows = []
        for column, (name, epsilon) in enumerate(cells):
            theory = leakage_matrix(reading.pairs, epsilon, mechanism=name, view="inferred").values
            printed = found.paper.table[reading.paper][column] if reading.paper else None
            rows.append(reading.row(name, epsilon, theory, printed))
        _compare_table1(found, reading.label, rows)
        found.rows += rows
    present = _present(found.rows)
    found.not_compared_on(label for label in found.paper.table if label not in present)
    found.charts[""] = _error_chart(found.rows)


def _compare_table1(found: Finding, label: str, rows: list[Row]) -> None:
    if label == MERGED:
        found.comparisons += [_compare_cell(row) for row in rows]
        return
    largest, explained = max(row["nmse"] for row in rows), label in EXPLAINED
    if rows[0]["paper"] is None:
        found.claim("stand_in", largest, label=label)
        return
    found.comparisons += [_compare_cell(row, factor=3, explained=explained) for row in rows]
    found.claim("explained" if explained else "largest", largest, label=label)


def table2(data: Data, found: Finding) -> None:
    """Find Table II: estimates of eight mechanisms against the bound."""
    table = found.paper.table
    for reading in table_readings(data):
        for epsilon in EPSILONS:
            bound = leakage_matrix(reading.pairs, epsilon).values
            for column, name in enumerate(MECHANISMS):
                mechanism: Any = name
                if name == "ss" and reading.paper and "documented" not in reading.label:
                    mechanism = library_subset_selection(reading.pairs, epsilon)
                exact = leakage_matrix(reading.pairs, epsilon, mechanism=mechanism, view="inferred")
                printed = table[f"{reading.paper}, {epsilon:g}"][column] if reading.paper else None
                row = reading.row(name, epsilon, bound, printed, mechanism)
                row["nmse_closed_form"] = nmse(exact.values, bound)[0]
                found.rows.append({key: row[key] for key in COLUMNS_TWO})
    found.comparisons += map(_compare_table2, found.rows)
    present, labels = _present(found.rows), dict.fromkeys(row.partition(",")[0] for row in table)
    found.not_compared_on(label for label in labels if label not in present)
    found.charts[""] = _error_chart(found.rows)


def _compare_table2(row: Row) -> Comparison:
    is_noise = row["paper"] is not None and row["paper"] < SMALL
    tolerance = {"factor": 3.0} if is_noise else {"within": 0.15}
    return _compare_cell(row, **tolerance, explained="documented" in row["data"])


def _compare_cell(row: Row, **tolerance: Any) -> Comparison:
    """Return our error compared with the printed one, if there is one."""
    what = f"{row['data']}: {row['mechanism']}, epsilon {row['epsilon']}"
    return Claim(what, printed=row["paper"], group=row["data"], **tolerance).compare(row["nmse"])


def _present(rows: list[Row]) -> set[str]:
    return {row["data"].partition(",")[0] for row in rows}


def _error_chart(rows: list[Row]) -> Any:
    """Return the chart of our errors against printed ones: near readings, documented columns."""
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


BENCHMARK_EPSILONS = (1.0, 3.0, 5.0)

# Fig. 6 ------------------------------------------------------------------------------------------

REFERENCES = {"bound": "Algorithm 2", "grr": "GRR, exact", "oue:inferred": "OUE, guessed value"}


def fig6(data: Data, found: Finding) -> None:
    """Find Fig. 6 b to e: the scores of the analysers, and their regions."""
    tables, celeba, regions = data.some(*ALL), data.some("celeba"), found.paper.regions
    panels = [
        ("b", celeba, "bound", regions["b"]),
        ("c", data.some(*STAND_INS), "bound", regions["c"]),
        ("d", tables, "grr", {"ITS": "P1"}),
        ("d", celeba, "grr", {"CBP": "R1"}),
        ("e", tables, "oue:inferred", {"ITS": "R2"}),
    ]
    for panel, panel_tables, reference, expected in panels:
        found.rows += _panel_rows(panel, panel_tables, reference, list(expected))
    for panel in "bcde":
        for label in tables:
            for name, panel_tables, _, expected in panels:
                if name == panel and label in panel_tables:
                    for analyser, region in expected.items():
                        _compare_region(found, panel, label, analyser, region)
    for panel in dict.fromkeys(row["panel"] for row in found.rows):
        found.charts[panel] = _analyser_panel(found.rows, panel)
    found.rows += _panel_rows("e, estimated", tables, "statistical:oue", ["ITS"], epsilons=(1.0,))
    found.not_compared_on(data.absent_labels())


def _panel_rows(
    panel: str,
    tables: dict[str, PairCounts],
    reference: str,
    chosen: list[str],
    epsilons: tuple[float, ...] = BENCHMARK_EPSILONS,
) -> list[Row]:
    """Return the scores as rows, without run times, which are not reproducible."""
    benchmark = benchmark_analysers(tables, epsilons, reference=reference, chosen=chosen, seed=SEED)
    rows = [{"panel": panel, **asdict(score)} for score in benchmark.scores]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def _compare_region(found: Finding, panel: str, label: str, analyser: str, region: str) -> None:
    """Compare the number of budgets at which an analyser is in the paper's region on a dataset."""
    cell = {"panel": panel, "data": label, "analyser": analyser, "region": region}
    hits = sum(cell.items() <= row.items() for row in found.rows)
    where = " (on DSS)" if is_stand_in(label) else ""
    found.claim("region", hits, where=where, label=label, **cell)


def _analyser_panel(rows: list[Row], panel: str) -> Any:
    """Return the chart of a panel; panels d and e show all datasets together."""
    chosen = [
        {**row, "reference": REFERENCES[row["reference"]]} for row in rows if row["panel"] == panel
    ]
    if panel in "bc":
        return analyser_chart([{**row, "data": f"({panel}) {row['data']}"} for row in chosen])
    title = f"({panel}) All datasets"
    return analyser_chart(
        [{**row, "data": title, "analyser": f"{row['analyser']}, {row['data']}"} for row in chosen]
    )


# Fig. 7 ------------------------------------------------------------------------------------------

DOCUMENTED = "Adult, documented columns"


def fig7(data: Data, found: Finding) -> None:
    """Find Fig. 7: utility and leakage of the eight mechanisms, and OLH relative to SS."""
    tables = {DOCUMENTED: data.pairs("adult")}
    if data.records_at_hand("adult"):
        tables[NEAR_ADULT] = data.near_adult
    for label, pairs in tables.items():
        rows = _score_rows(label, pairs)
        _compare_fig7(found, label, pairs, rows)
        found.rows += rows
    if NEAR_ADULT not in tables:
        reason = "the records of Adult are not at hand"
        found.comparisons.append(not_compared(NEAR_ADULT, "0.6", reason, NEAR_ADULT))
    others = ("celeba", "cardio", *STAND_INS)
    for label, pairs in data.some(*others).items():
        ratio = inferred_tcpl(pairs, "olh") / inferred_tcpl(pairs, "ss")
        found.claim("elsewhere", ratio, label=label)
    found.not_compared_on(data.absent_labels(*others))
    found.charts[""] = mechanism_chart([row for row in found.rows if row["data"] == DOCUMENTED])


def _score_rows(label: str, pairs: PairCounts) -> list[Row]:
    rows = []
    for score in benchmark_mechanisms(pairs, BENCHMARK_EPSILONS, seed=SEED).scores:
        row = {"data": label, **asdict(score), "mechanism": MECHANISMS[score.mechanism]}
        del row["server_seconds"]
        rows.append(row)
    return rows


def _compare_fig7(found: Finding, label: str, pairs: PairCounts, rows: list[Row]) -> None:
    scores = {(row["mechanism"], row["epsilon"]): row for row in rows}
    olh, ss = scores["OLH", 1.0], scores["SS", 1.0]
    ratio = olh["normalised_tcpl_inferred"] / ss["normalised_tcpl_inferred"]
    gaps = [abs(row["zero_one_error"] - row["expected_zero_one_error"]) for row in rows]
    found.claim("frequency", olh["frequency_error"], label=label)
    found.claim("mean", _mean_error(pairs, "olh"), label=label)
    found.claim("leakage", ratio, label=label)
    if label == NEAR_ADULT:
        rounded = leakage_matrix(pairs, 1.0, mechanism=library_subset_selection(pairs, 1.0)).tcpl
        found.claim("library", inferred_tcpl(pairs, "olh") / rounded, label=label)
    found.claim("gap", max(gaps), label=label)
    found.claim("whole", olh["normalised_tcpl"] / ss["normalised_tcpl"], label=label)


def _mean_error(pairs: PairCounts, name: str) -> float:
    """Return the expected NMSE of the frequencies of one attribute, averaged over attributes."""
    errors = []
    for attribute, marginal in zip(pairs.domain, pairs.marginals, strict=True):
        frequencies = marginal / pairs.records
        variance = mechanism(name, attribute.size, 1.0).variance(pairs.records, frequencies)
        errors.append(float(variance.sum() / (frequencies**2).sum()))
    return sum(errors) / len(errors)
