"""Beyond the paper: exact totals against its sums, whole reports, and the certified delta'."""

from itertools import permutations
from typing import Any

import numpy as np

from seepage.charts.panels import bar_panels
from seepage.charts.scatter import agreement_chart
from seepage.data.domain import Attribute, Domain
from seepage.data.records import Records
from seepage.leakage.matrix import leakage_matrix
from seepage.study.reproduction.findings import Finding, Row
from seepage.study.reproduction.paper_data import (
    MECHANISMS,
    SEED,
    Data,
    exact_and_summed,
    inferred_tcpl,
)
from seepage.totals import total_leakage

SETS, SET_SIZE = 60, 10
"""Random sets of attributes of CelebA whose exact totals are computed, and their size."""

SET_EPSILONS = (0.5, 1.0, 2.0)

BUDGET = 0.9264
"""The largest equal budget of all attributes of CelebA with sums of leakages of at most 10."""

DELTA = 1e-5

RICH = ("RAPPOR", "OUE", "BLH", "OLH", "SHE")
"""Mechanisms whose report holds more than the inferred value: bits, hashes, noisy histograms."""


def beyond(data: Data, found: Finding) -> None:
    """Find totals, whole reports and relaxations, computed as in the paper and by us."""
    found.claim("coins", _coins())
    if data.at_hand("celeba"):
        totals, witnesses = _exact_totals(data.celeba), _witnesses(data.celeba)
        excess = [row["ours"] - row["paper_way"] for row in totals]
        largest = max(witnesses, key=lambda row: float(row["ours"]))
        found.claim("exceeded", sum(gap > 0 for gap in excess), targets=len(totals))
        found.claim("excess", max(excess))
        found.claim("witness", largest["ours"], target=largest["name"])
        found.claim("found", sum(row["ours"] > row["paper_way"] for row in witnesses))
        found.rows += totals + witnesses
        found.charts["a"] = _agreement(
            sorted(totals, key=lambda row: float(row["epsilon"])),
            "(a) CelebA: 60 random sets of 10 attributes",
            "target",
            "Budget plus sum of leakages (nats)",
            "Exact total (nats)",
        )
    else:
        found.not_compared_on(["CelebA"])
    reports, relaxations = _whole_reports(data), _relaxations(data)
    whole = {row["name"]: row["ours"] for row in reports}
    ratios = [row["ours"] / row["paper_way"] for row in relaxations if row["paper_way"] > 0]
    found.claim("rich", min(whole[name] for name in RICH))
    found.claim("GRR", whole["GRR"])
    found.claim("EXP", whole["EXP"])
    found.claim("median", float(np.median(ratios)))
    found.claim("least", min(ratios))
    found.claim("largest", max(ratios))
    found.rows += reports + relaxations
    panel = "(b) Adult, epsilon 1: normalised TCPL (1 = Algorithm 2)"
    bars = [
        {"panel": panel, "group": row["name"], "series": label, "value": row[key]}
        for row in reports
        for key, label in {"paper_way": "guessed value", "ours": "whole report"}.items()
    ]
    found.charts["b"] = bar_panels(bars, "Normalised TCPL", width=520)
    found.charts["c"] = _agreement(
        relaxations,
        "(c) Adult, epsilon 1: relaxation of each ordered pair",
        "pair",
        "The paper's f* / delta",
        "Certified delta' / delta",
    )


def _agreement(rows: list[Row], panel: str, kind: str, x_title: str, y_title: str) -> Any:
    """Return the chart of our values against those of the paper's way."""
    points = [
        {
            "panel": panel,
            "series": kind if kind == "pair" else f"epsilon {row['epsilon']:g}",
            "kind": kind,
            "label": row["name"],
            "x": row["paper_way"],
            "y": row["ours"],
        }
        for row in rows
    ]
    return agreement_chart(points, x_title, y_title, log=False)


def _row(part: str, name: str, epsilon: float, paper_way: float, ours: float) -> Row:
    row = {"part": part, "name": name, "epsilon": epsilon}
    return {**row, "paper_way": float(paper_way), "ours": float(ours)}


def _coins() -> float:
    """Return the exact total minus the sum of leakages, for two coins and their difference."""
    domain = Domain([Attribute(name, ("0", "1")) for name in ("first", "second", "differ")])
    coins = Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    exact, summed = exact_and_summed(coins, 1.0)
    return exact["differ"] - summed["differ"]


def _exact_totals(people: Records) -> list[Row]:
    """Return the sum of leakages and the exact total of every target in random sets."""
    rng = np.random.default_rng(SEED)
    rows = []
    for number in range(SETS):
        chosen = np.sort(rng.choice(len(people.domain), SET_SIZE, replace=False)).tolist()
        subset, epsilon = people.select(chosen), SET_EPSILONS[number % len(SET_EPSILONS)]
        exact, summed = exact_and_summed(subset, epsilon)
        rows += [
            _row("exact total", f"set {number + 1}: {name}", epsilon, summed[name], exact[name])
            for name in subset.domain.names
        ]
    return rows


def _witnesses(people: Records) -> list[Row]:
    """Return the sum of leakages and the witness, for every attribute of CelebA."""
    summed = total_leakage(people.pairs(), BUDGET, mechanism="grr", guarantee="independent")
    witness = total_leakage(people, BUDGET, mechanism="grr", guarantee="witness", seed=SEED)
    return [
        _row("witness", name, BUDGET, summed[name], witness[name]) for name in people.domain.names
    ]


def _whole_reports(data: Data) -> list[Row]:
    """Return the normalised TCPL of each mechanism on Adult: inferred value, whole report."""
    pairs = data.pairs("adult")
    bound = leakage_matrix(pairs, 1.0).tcpl
    return [
        _row(
            "whole report",
            title,
            1.0,
            inferred_tcpl(pairs, name) / bound,
            leakage_matrix(pairs, 1.0, mechanism=name).tcpl / bound,
        )
        for name, title in MECHANISMS.items()
    ]


def _relaxations(data: Data) -> list[Row]:
    """Return f* / delta of the paper and the certified delta' / delta, for all pairs of Adult."""
    pairs = data.pairs("adult")
    matrix = leakage_matrix(pairs, 1.0, delta=DELTA)
    rows = []
    for target, source in permutations(pairs.domain.names, 2):
        leakage = matrix[target, source]
        ratios = leakage.paper_relaxation / DELTA, leakage.relaxation / DELTA
        rows.append(_row("relaxation", f"{source} → {target}", 1.0, *ratios))
    return rows
