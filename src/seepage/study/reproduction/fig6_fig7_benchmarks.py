"""Fig. 6 b to e: analysers against a reference.  Fig. 7: utility against leakage on Adult."""

from dataclasses import asdict
from typing import Any

from seepage.charts.scatter import analyser_chart, mechanism_chart
from seepage.data.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms import mechanism
from seepage.study.benchmark import benchmark_analysers, benchmark_mechanisms
from seepage.study.reproduction.error_tables import library_subset_selection
from seepage.study.reproduction.findings import Comparison, Finding, PaperItem, absent
from seepage.study.reproduction.paper_data import (
    ALL,
    MECHANISMS,
    NEAR_ADULT,
    SEED,
    STAND_INS,
    Data,
    is_stand_in,
)

EPSILONS = (1.0, 3.0, 5.0)

# Fig. 6 ------------------------------------------------------------------------------------------

LARGER = {
    "SPL-ANL": "R2",
    "GRF 0.2": "R3",
    "GRF 0.4": "R3",
    "ITS": "R1",
    "GRR-ANL": "R1",
    "EXP-ANL": "R1",
}
"""The paper's regions on DSS (c), whose attributes have more than two values."""

BINARY = {
    "SPL-ANL": "R2",
    "GRF 0.2": "R3",
    "GRF 0.4": "R3",
    "CBP": "R1",
    "ITS": "P1",
    "GRR-ANL": "P1",
    "EXP-ANL": "R1",
}
"""The paper's regions on CelebA (b)."""

REFERENCES = {"bound": "Algorithm 2", "grr": "GRR, exact", "oue:inferred": "OUE, guessed value"}


def find_analysers(data: Data, paper: PaperItem) -> Finding:
    """Return the four panels' scores and their regions beside the paper's."""
    every, faces = data.some(*ALL), data.some("celeba")
    panels = [
        ("b", faces, "bound", BINARY),
        ("c", data.some(*STAND_INS), "bound", LARGER),
        ("d", every, "grr", {"ITS": "P1"}),
        ("d", faces, "grr", {"CBP": "R1"}),
        ("e", every, "oue:inferred", {"ITS": "R2"}),
    ]
    rows: list[dict[str, Any]] = []
    comparisons: list[Comparison] = []
    for panel, tables, reference, regions in panels:
        rows += _panel(panel, tables, reference, list(regions))
    for panel in "bcde":
        for label in every:
            expected = {
                analyser: region
                for name, tables, _, regions in panels
                if name == panel and label in tables
                for analyser, region in regions.items()
            }
            comparisons += _regions(paper, rows, panel, label, expected)
    charts = {panel: _chart(rows, panel) for panel in dict.fromkeys(row["panel"] for row in rows)}
    rows += _panel("e, estimated", every, "statistical:oue", ["ITS"], epsilons=(1.0,))
    return Finding(rows, comparisons + paper.without(data.absent_labels()), charts)


def _panel(
    panel: str,
    tables: dict[str, PairCounts],
    reference: str,
    chosen: list[str],
    epsilons: tuple[float, ...] = EPSILONS,
) -> list[dict[str, Any]]:
    """Return the scores as rows, without the time they took, which no rerun gives again."""
    found = benchmark_analysers(tables, epsilons, reference=reference, chosen=chosen, seed=SEED)
    rows = [{"panel": panel, **asdict(score)} for score in found.scores]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def _regions(
    paper: PaperItem,
    rows: list[dict[str, Any]],
    panel: str,
    label: str,
    expected: dict[str, str],
) -> list[Comparison]:
    where = " (on DSS)" if is_stand_in(label) else ""
    found = []
    for analyser, region in expected.items():
        cell = (panel, label, analyser, region)
        keys = ("panel", "data", "analyser", "region")
        hits = sum(tuple(row[key] for key in keys) == cell for row in rows)
        words = {"panel": panel, "label": label, "analyser": analyser, "region": region}
        found.append(paper.claim("region", hits, where=where, **words))
    return found


def _chart(rows: list[dict[str, Any]], panel: str) -> Any:
    """Return a panel's chart; with many datasets, one panel whose shapes are the datasets."""
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


def find_mechanisms(data: Data, paper: PaperItem) -> Finding:
    """Return utility and leakage of the eight mechanisms, and OLH relative to SS."""
    tables = {DOCUMENTED: data.pairs("adult")}
    comparisons: list[Comparison] = []
    if data.records_at_hand("adult"):
        tables[NEAR_ADULT] = data.near_adult
    rows: list[dict[str, Any]] = []
    for label, pairs in tables.items():
        own = _scores(label, pairs)
        comparisons += _compare(paper, label, pairs, own)
        rows += own
    if NEAR_ADULT not in tables:
        why = "the records of Adult are not at hand"
        comparisons.append(absent(NEAR_ADULT, "0.6", why, NEAR_ADULT))
    others = ("celeba", "cardio", *STAND_INS)
    for label, pairs in data.some(*others).items():
        ratio = _guessed(pairs, "olh") / _guessed(pairs, "ss")
        comparisons.append(paper.claim("elsewhere", ratio, label=label))
    comparisons += paper.without(data.absent_labels(*others))
    chart = mechanism_chart([row for row in rows if row["data"] == DOCUMENTED])
    return Finding(rows, comparisons, {"": chart})


def _scores(label: str, pairs: PairCounts) -> list[dict[str, Any]]:
    rows = []
    for score in benchmark_mechanisms(pairs, EPSILONS, seed=SEED).scores:
        row = {"data": label, **asdict(score), "mechanism": MECHANISMS[score.mechanism]}
        del row["server_seconds"]
        rows.append(row)
    return rows


def _compare(
    paper: PaperItem, label: str, pairs: PairCounts, rows: list[dict[str, Any]]
) -> list[Comparison]:
    scores = {(row["mechanism"], row["epsilon"]): row for row in rows}
    olh, ss = scores["OLH", 1.0], scores["SS", 1.0]
    found = {
        "frequency": olh["frequency_error"],
        "mean": _mean_error(pairs, "olh"),
        "leakage": olh["normalised_tcpl_inferred"] / ss["normalised_tcpl_inferred"],
    }
    if label == NEAR_ADULT:
        rounded = leakage_matrix(pairs, 1.0, mechanism=library_subset_selection(pairs, 1.0)).tcpl
        found["library"] = _guessed(pairs, "olh") / rounded
    found["gap"] = max(abs(row["zero_one_error"] - row["expected_zero_one_error"]) for row in rows)
    found["whole"] = olh["normalised_tcpl"] / ss["normalised_tcpl"]
    return [paper.claim(name, value, label=label) for name, value in found.items()]


def _mean_error(pairs: PairCounts, name: str) -> float:
    """Return the expected NMSE of each attribute's frequencies by itself, averaged."""
    errors = []
    for attribute, marginal in zip(pairs.domain, pairs.marginals, strict=True):
        share = marginal / pairs.records
        variance = mechanism(name, attribute.size, 1.0).variance(pairs.records, share)
        errors.append(float(variance.sum() / (share**2).sum()))
    return sum(errors) / len(errors)


def _guessed(pairs: PairCounts, name: str) -> float:
    """Return the total leakage of the guess from a mechanism's report."""
    return leakage_matrix(pairs, 1.0, mechanism=name, view="inferred").tcpl
