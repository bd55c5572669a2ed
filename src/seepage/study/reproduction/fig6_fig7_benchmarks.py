"""Fig. 6 b to e: analysers against a reference.  Fig. 7: utility against leakage on Adult."""

from dataclasses import asdict
from typing import Any

from seepage.charts.scatter import analyser_chart, mechanism_chart
from seepage.data.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms import mechanism
from seepage.study.analyser_benchmark import benchmark_analysers
from seepage.study.mechanism_benchmark import benchmark_mechanisms
from seepage.study.reproduction.error_tables import library_subset_selection
from seepage.study.reproduction.findings import Comparison, Finding, PaperItem, not_compared
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


def fig6(data: Data, paper: PaperItem) -> Finding:
    """Return Fig. 6 b to e: the scores of the analysers, and their regions."""
    tables, celeba = data.some(*ALL), data.some("celeba")
    panels = [
        ("b", celeba, "bound", paper.regions["b"]),
        ("c", data.some(*STAND_INS), "bound", paper.regions["c"]),
        ("d", tables, "grr", {"ITS": "P1"}),
        ("d", celeba, "grr", {"CBP": "R1"}),
        ("e", tables, "oue:inferred", {"ITS": "R2"}),
    ]
    rows: list[dict[str, Any]] = []
    for panel, panel_tables, reference, regions in panels:
        rows += _panel_rows(panel, panel_tables, reference, list(regions))
    comparisons = [
        _compare_region(paper, rows, panel=panel, data=label, analyser=analyser, region=region)
        for panel in "bcde"
        for label in tables
        for name, panel_tables, _, regions in panels
        if name == panel and label in panel_tables
        for analyser, region in regions.items()
    ]
    charts = {panel: _chart(rows, panel) for panel in dict.fromkeys(row["panel"] for row in rows)}
    rows += _panel_rows("e, estimated", tables, "statistical:oue", ["ITS"], epsilons=(1.0,))
    return Finding(rows, comparisons + paper.not_compared_on(data.absent_labels()), charts)


def _panel_rows(
    panel: str,
    tables: dict[str, PairCounts],
    reference: str,
    chosen: list[str],
    epsilons: tuple[float, ...] = EPSILONS,
) -> list[dict[str, Any]]:
    """Return the scores as rows, without run times, which are not reproducible."""
    benchmark = benchmark_analysers(tables, epsilons, reference=reference, chosen=chosen, seed=SEED)
    rows = [{"panel": panel, **asdict(score)} for score in benchmark.scores]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def _compare_region(paper: PaperItem, rows: list[dict[str, Any]], **cell: str) -> Comparison:
    """Return the number of budgets at which an analyser is in the paper's region on a dataset."""
    hits = sum(all(row[key] == value for key, value in cell.items()) for row in rows)
    where = " (on DSS)" if is_stand_in(cell["data"]) else ""
    return paper.claim("region", hits, where=where, label=cell["data"], **cell)


def _chart(rows: list[dict[str, Any]], panel: str) -> Any:
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


def fig7(data: Data, paper: PaperItem) -> Finding:
    """Return Fig. 7: utility and leakage of the eight mechanisms, and OLH relative to SS."""
    tables = {DOCUMENTED: data.pairs("adult")}
    comparisons: list[Comparison] = []
    if data.records_at_hand("adult"):
        tables[NEAR_ADULT] = data.near_adult
    rows: list[dict[str, Any]] = []
    for label, pairs in tables.items():
        scores = _score_rows(label, pairs)
        comparisons += _compare_fig7(paper, label, pairs, scores)
        rows += scores
    if NEAR_ADULT not in tables:
        reason = "the records of Adult are not at hand"
        comparisons.append(not_compared(NEAR_ADULT, "0.6", reason, NEAR_ADULT))
    others = ("celeba", "cardio", *STAND_INS)
    for label, pairs in data.some(*others).items():
        ratio = inferred_tcpl(pairs, "olh") / inferred_tcpl(pairs, "ss")
        comparisons.append(paper.claim("elsewhere", ratio, label=label))
    comparisons += paper.not_compared_on(data.absent_labels(*others))
    chart = mechanism_chart([row for row in rows if row["data"] == DOCUMENTED])
    return Finding(rows, comparisons, {"": chart})


def _score_rows(label: str, pairs: PairCounts) -> list[dict[str, Any]]:
    rows = []
    for score in benchmark_mechanisms(pairs, EPSILONS, seed=SEED).scores:
        row = {"data": label, **asdict(score), "mechanism": MECHANISMS[score.mechanism]}
        del row["server_seconds"]
        rows.append(row)
    return rows


def _compare_fig7(
    paper: PaperItem, label: str, pairs: PairCounts, rows: list[dict[str, Any]]
) -> list[Comparison]:
    scores = {(row["mechanism"], row["epsilon"]): row for row in rows}
    olh, ss = scores["OLH", 1.0], scores["SS", 1.0]
    values = {
        "frequency": olh["frequency_error"],
        "mean": _mean_error(pairs, "olh"),
        "leakage": olh["normalised_tcpl_inferred"] / ss["normalised_tcpl_inferred"],
    }
    if label == NEAR_ADULT:
        rounded = leakage_matrix(pairs, 1.0, mechanism=library_subset_selection(pairs, 1.0)).tcpl
        values["library"] = inferred_tcpl(pairs, "olh") / rounded
    values["gap"] = max(abs(row["zero_one_error"] - row["expected_zero_one_error"]) for row in rows)
    values["whole"] = olh["normalised_tcpl"] / ss["normalised_tcpl"]
    return [paper.claim(name, value, label=label) for name, value in values.items()]


def _mean_error(pairs: PairCounts, name: str) -> float:
    """Return the expected NMSE of the frequencies of one attribute, averaged over attributes."""
    errors = []
    for attribute, marginal in zip(pairs.domain, pairs.marginals, strict=True):
        frequencies = marginal / pairs.records
        variance = mechanism(name, attribute.size, 1.0).variance(pairs.records, frequencies)
        errors.append(float(variance.sum() / (frequencies**2).sum()))
    return sum(errors) / len(errors)
