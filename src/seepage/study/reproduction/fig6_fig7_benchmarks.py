"""Fig. 6 b to e: analysers against a reference.  Fig. 7: utility against leakage on Adult."""

from dataclasses import asdict
from typing import Any

from seepage.charts.scatter import analyser_chart, mechanism_chart
from seepage.data.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms import mechanism
from seepage.study.benchmarks import benchmark_analysers, benchmark_mechanisms
from seepage.study.reproduction.error_tables import library_subset_selection
from seepage.study.reproduction.findings import Finding, Row, not_compared
from seepage.study.reproduction.paper_data import (
    ALL,
    MECHANISMS,
    NEAR_ADULT,
    SEED,
    STAND_INS,
    Data,
    inferred_tcpl,
    is_stand_in,
)

EPSILONS = (1.0, 3.0, 5.0)

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
        found.charts[panel] = _chart(found.rows, panel)
    found.rows += _panel_rows("e, estimated", tables, "statistical:oue", ["ITS"], epsilons=(1.0,))
    found.not_compared_on(data.absent_labels())


def _panel_rows(
    panel: str,
    tables: dict[str, PairCounts],
    reference: str,
    chosen: list[str],
    epsilons: tuple[float, ...] = EPSILONS,
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


def _chart(rows: list[Row], panel: str) -> Any:
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
    for score in benchmark_mechanisms(pairs, EPSILONS, seed=SEED).scores:
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
