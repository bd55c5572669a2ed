"""Fig. 6 b to e: analysers against a reference.  Fig. 7: utility against leakage on Adult.

Beyond the paper: where its sum is exceeded, the whole report, the certified delta.
"""

from dataclasses import asdict
from itertools import permutations
from typing import Any

import numpy as np

from seepage.charts.panels import bar_panels
from seepage.charts.scatter import agreement_chart, analyser_chart, mechanism_chart
from seepage.data.domain import Attribute, Domain
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
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
    exact_and_summed,
    is_stand_in,
)
from seepage.totals import total_leakage

EPSILONS = (1.0, 3.0, 5.0)

# Fig. 6 ------------------------------------------------------------------------------------------

REFERENCES = {"bound": "Algorithm 2", "grr": "GRR, exact", "oue:inferred": "OUE, guessed value"}


def find_analysers(data: Data, paper: PaperItem) -> Finding:
    """Return the four panels' scores and their regions beside the paper's."""
    every, faces = data.some(*ALL), data.some("celeba")
    panels = [
        ("b", faces, "bound", paper.regions["b"]),
        ("c", data.some(*STAND_INS), "bound", paper.regions["c"]),
        ("d", every, "grr", {"ITS": "P1"}),
        ("d", faces, "grr", {"CBP": "R1"}),
        ("e", every, "oue:inferred", {"ITS": "R2"}),
    ]
    rows: list[dict[str, Any]] = []
    for panel, tables, reference, regions in panels:
        rows += _panel(panel, tables, reference, list(regions))
    comparisons = [
        _compare_region(paper, rows, panel=panel, data=label, analyser=analyser, region=region)
        for panel in "bcde"
        for label in every
        for name, tables, _, regions in panels
        if name == panel and label in tables
        for analyser, region in regions.items()
    ]
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


def _compare_region(paper: PaperItem, rows: list[dict[str, Any]], **cell: str) -> Comparison:
    """Return how often an analyser lies in the paper's region on one dataset."""
    hits = sum(all(row[key] == value for key, value in cell.items()) for row in rows)
    where = " (on DSS)" if is_stand_in(cell["data"]) else ""
    return paper.claim("region", hits, where=where, label=cell["data"], **cell)


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


# Beyond the paper --------------------------------------------------------------------------------

SETS, SIZE = 60, 10
SET_EPSILONS = (0.5, 1.0, 2.0)
BUDGET = 0.9264
"""The equal budget for all of CelebA that the sum of leakages allows under the limit 10."""

DELTA = 1e-5

RICH = ("RAPPOR", "OUE", "BLH", "OLH", "SHE")


def find_beyond(data: Data, paper: PaperItem) -> Finding:
    """Return the three parts, the paper's number beside ours in each row."""
    rows: list[dict[str, Any]] = []
    comparisons = [paper.claim("coins", _coins())]
    if data.at_hand("celeba"):
        sums, witnesses = _sums(data.celeba), _witnesses(data.celeba)
        excess = [row["ours"] - row["paper_way"] for row in sums]
        worst = max(witnesses, key=lambda row: float(row["ours"]))
        more = sum(row["ours"] > row["paper_way"] for row in witnesses)
        comparisons += [
            paper.claim("exceeded", sum(gap > 0 for gap in excess), targets=len(sums)),
            paper.claim("excess", max(excess)),
            paper.claim("witness", worst["ours"], target=worst["name"]),
            paper.claim("found", more),
        ]
        rows += sums + witnesses
    else:
        comparisons += paper.without(["CelebA"])
    reports, relaxations = _reports(data), _relaxations(data)
    whole = {row["name"]: row["ours"] for row in reports}
    ratios = [row["ours"] / row["paper_way"] for row in relaxations if row["paper_way"] > 0]
    comparisons += [
        paper.claim("rich", min(whole[name] for name in RICH)),
        paper.claim("GRR", whole["GRR"]),
        paper.claim("EXP", whole["EXP"]),
        paper.claim("median", float(np.median(ratios))),
        paper.claim("least", min(ratios)),
        paper.claim("largest", max(ratios)),
    ]
    rows += reports + relaxations
    return Finding(rows, comparisons, _beyond_charts(rows))


def _record(part: str, name: str, epsilon: float, paper: float, mine: float) -> dict[str, Any]:
    row = {"part": part, "name": name, "epsilon": epsilon}
    return {**row, "paper_way": float(paper), "ours": float(mine)}


def _coins() -> float:
    """Return the exact total minus the sum, of two coins and whether they differ."""
    domain = Domain([Attribute(name, ("0", "1")) for name in ("first", "second", "differ")])
    coins = Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    exact, summed = exact_and_summed(coins, 1.0)
    return exact["differ"] - summed["differ"]


def _sums(people: Records) -> list[dict[str, Any]]:
    """Return sum and exact total of every target in random sets of attributes."""
    rng = np.random.default_rng(SEED)
    rows = []
    for number in range(SETS):
        chosen = np.sort(rng.choice(len(people.domain), SIZE, replace=False)).tolist()
        part, epsilon = people.select(chosen), SET_EPSILONS[number % len(SET_EPSILONS)]
        exact, summed = exact_and_summed(part, epsilon)
        rows += [
            _record("exact total", f"set {number + 1}: {name}", epsilon, summed[name], exact[name])
            for name in part.domain.names
        ]
    return rows


def _witnesses(people: Records) -> list[dict[str, Any]]:
    """Return the sum and what a found report leaks, for every attribute of CelebA."""
    summed = total_leakage(people.pairs(), BUDGET, mechanism="grr", guarantee="independent")
    found = total_leakage(people, BUDGET, mechanism="grr", guarantee="witness", seed=SEED)
    return [
        _record("witness", name, BUDGET, summed[name], found[name]) for name in people.domain.names
    ]


def _reports(data: Data) -> list[dict[str, Any]]:
    """Return each mechanism's normalised total leakage on Adult, by guess and by whole report."""
    pairs = data.pairs("adult")
    bound = leakage_matrix(pairs, 1.0).tcpl
    return [
        _record(
            "whole report",
            title,
            1.0,
            _guessed(pairs, name) / bound,
            leakage_matrix(pairs, 1.0, mechanism=name).tcpl / bound,
        )
        for name, title in MECHANISMS.items()
    ]


def _relaxations(data: Data) -> list[dict[str, Any]]:
    """Return f* and the certified delta', both over delta, of every ordered pair of Adult."""
    pairs = data.pairs("adult")
    matrix = leakage_matrix(pairs, 1.0, delta=DELTA)
    rows = []
    for target, source in permutations(pairs.domain.names, 2):
        found = matrix[target, source]
        shares = found.paper_relaxation / DELTA, found.relaxation / DELTA
        rows.append(_record("relaxation", f"{source} → {target}", 1.0, *shares))
    return rows


def _beyond_charts(rows: list[dict[str, Any]]) -> dict[str, Any]:
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: float(row["epsilon"])):
        parts.setdefault(row["part"], []).append(row)
    charts = {}
    if "exact total" in parts:
        charts["a"] = agreement_chart(
            [
                _point("(a) CelebA: 60 random sets of 10 attributes", "target", row)
                for row in parts["exact total"]
            ],
            "Budget plus sum of leakages (nats)",
            "Exact total (nats)",
            log=False,
        )
    panel = "(b) Adult, epsilon 1: normalised TCPL (1 = Algorithm 2)"
    views = {"paper_way": "guessed value", "ours": "whole report"}
    bars = [
        {"panel": panel, "group": row["name"], "series": label, "value": row[key]}
        for row in parts["whole report"]
        for key, label in views.items()
    ]
    charts["b"] = bar_panels(bars, "Normalised TCPL", width=520)
    charts["c"] = agreement_chart(
        [
            _point("(c) Adult, epsilon 1: relaxation of each ordered pair", "pair", row, "pair")
            for row in parts["relaxation"]
        ],
        "The paper's f* / delta",
        "Certified delta' / delta",
        log=False,
    )
    return charts


def _point(panel: str, kind: str, row: dict[str, Any], series: str = "") -> dict[str, Any]:
    return {
        "panel": panel,
        "series": series or f"epsilon {row['epsilon']:g}",
        "kind": kind,
        "label": row["name"],
        "x": row["paper_way"],
        "y": row["ours"],
    }
