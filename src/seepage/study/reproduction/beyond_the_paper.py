"""Beyond the paper: where its sum is exceeded, the whole report, the certified delta."""

from typing import Any

import numpy as np

from seepage.charts.panels import bar_panels
from seepage.charts.scatter import agreement_chart
from seepage.data.domain import Attribute, Domain
from seepage.data.records import Records
from seepage.leakage.matrix import leakage_matrix
from seepage.study.reproduction.findings import Finding, PaperItem
from seepage.study.reproduction.paper_data import MECHANISMS, SEED, Data
from seepage.totals import total_leakage

SETS, SIZE = 60, 10
EPSILONS = (0.5, 1.0, 2.0)
BUDGET = 0.9264
"""The equal budget for all of CelebA that the sum of leakages allows under the limit 10."""

DELTA = 1e-5

RICH = ("RAPPOR", "OUE", "BLH", "OLH", "SHE")


def find(data: Data, paper: PaperItem) -> Finding:
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
    return Finding(rows, comparisons, _charts(rows))


def _record(part: str, name: str, epsilon: float, paper: float, mine: float) -> dict[str, Any]:
    row = {"part": part, "name": name, "epsilon": epsilon}
    return {**row, "paper_way": float(paper), "ours": float(mine)}


def _coins() -> float:
    """Return the exact total minus the sum, of two coins and whether they differ."""
    domain = Domain([Attribute(name, ("0", "1")) for name in ("first", "second", "differ")])
    coins = Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    exact = total_leakage(coins, 1.0, mechanism="grr", guarantee="exact")["differ"]
    summed = total_leakage(coins, 1.0, mechanism="grr", guarantee="independent")["differ"]
    return exact - summed


def _sums(people: Records) -> list[dict[str, Any]]:
    """Return sum and exact total of every target in random sets of attributes."""
    rng = np.random.default_rng(SEED)
    rows = []
    for number in range(SETS):
        chosen = np.sort(rng.choice(len(people.domain), SIZE, replace=False)).tolist()
        part, epsilon = people.select(chosen), EPSILONS[number % len(EPSILONS)]
        exact = total_leakage(part, epsilon, mechanism="grr", guarantee="exact").values
        summed = total_leakage(
            part.pairs(), epsilon, mechanism="grr", guarantee="independent"
        ).values
        rows += [
            _record("exact total", f"set {number + 1}: {name}", epsilon, total, mine)
            for name, total, mine in zip(part.domain.names, summed, exact, strict=True)
        ]
    return rows


def _witnesses(people: Records) -> list[dict[str, Any]]:
    """Return the sum and what a found report leaks, for every attribute of CelebA."""
    summed = total_leakage(people.pairs(), BUDGET, mechanism="grr", guarantee="independent").values
    found = total_leakage(people, BUDGET, mechanism="grr", guarantee="witness", seed=SEED).values
    return [
        _record("witness", name, BUDGET, total, leak)
        for name, total, leak in zip(people.domain.names, summed, found, strict=True)
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
            leakage_matrix(pairs, 1.0, mechanism=name, view="inferred").tcpl / bound,
            leakage_matrix(pairs, 1.0, mechanism=name).tcpl / bound,
        )
        for name, title in MECHANISMS.items()
    ]


def _relaxations(data: Data) -> list[dict[str, Any]]:
    """Return f* and the certified delta', both over delta, of every ordered pair of Adult."""
    pairs = data.pairs("adult")
    matrix = leakage_matrix(pairs, 1.0, delta=DELTA)
    rows = []
    for target in pairs.domain.names:
        for source in pairs.domain.names:
            if source != target:
                found = matrix[target, source]
                shares = found.paper_relaxation / DELTA, found.relaxation / DELTA
                rows.append(_record("relaxation", f"{source} → {target}", 1.0, *shares))
    return rows


def _charts(rows: list[dict[str, Any]]) -> dict[str, Any]:
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
