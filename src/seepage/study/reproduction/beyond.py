"""Beyond the paper: where its sum is exceeded, the whole report, the certified delta."""

import math
from typing import Any

import numpy as np

from seepage.charts.panels import bar_panels
from seepage.charts.scatter import agreement_chart
from seepage.data.domain import Attribute, Domain
from seepage.data.records import Records
from seepage.leakage.matrix import leakage_matrix
from seepage.study.reproduction.findings import Comparison, Finding, absent, ours, stated
from seepage.study.reproduction.paper_data import MECHANISMS, SEED, Data
from seepage.totals import total_leakage

__all__ = ["find"]

SETS, SIZE = 60, 10
EPSILONS = (0.5, 1.0, 2.0)
LIMIT, BUDGET = 10.0, 0.9264
"""A limit, and the equal budget for all of CelebA that the sum of leakages allows under it."""

DELTA = 1e-5

SHOWS = (
    "The paper calls the budget plus the sum of leakages an upper bound of the total, from "
    "sequential composition; measures mechanisms by the value an attacker guesses from a report; "
    "and gives an approximate mechanism's leakage the relaxation f* = delta A."
)
NOTES = (
    "Sequential composition needs the reports to be independent given the target. Attributes that "
    "depend on each other in other ways break that: two coins and whether they differ leak "
    "nothing pairwise, and ln cosh(1) = 0.4338 together at epsilon 1. On CelebA the sum is "
    f"exceeded in many of {SETS} random sets of {SIZE} attributes (chart a; exact totals are the "
    "supremum over all reports together).",
    f"With all 40 attributes, budget {BUDGET} is what the sum allows under the limit {LIMIT:g}. "
    "A search among reports on one half of the people finds some that leak more than the limit, "
    "measured on the other half. So the sum is an assumption, and is called `independent` here.",
    "Whoever keeps the whole report of RAPPOR, OUE, BLH, OLH or SHE reaches the bound of Algorithm "
    "2 (chart b): every set of values can be made likely by some report. The lower numbers of the "
    "paper are those of an attacker who reduces the report to one guess.",
    "The certified relaxation is delta' = delta (e^l - 1)/(e^epsilon - 1), the optimum over all "
    "(epsilon, delta)-LDP mechanisms; it is never above f* (chart c) and makes the channel from "
    "target to report (l, delta')-LDP in the set-wise sense.",
)


def find(data: Data) -> Finding:
    """Return the three parts, the paper's number beside ours in each row."""
    rows: list[dict[str, Any]] = []
    comparisons: list[Comparison] = [_coins()]
    if data.at_hand("celeba"):
        rows += _sums(data.celeba)
        witnesses = _witnesses(data.celeba)
        comparisons += _compare_sums(rows) + _compare_witnesses(witnesses)
        rows += witnesses
    else:
        why = "CelebA is not at hand"
        comparisons.append(absent("Where the sum is exceeded", "never", why, "Totals"))
    reports, relaxations = _reports(data), _relaxations(data)
    comparisons += _compare_reports(reports) + _compare_relaxations(relaxations)
    rows += reports + relaxations
    return Finding(SHOWS, rows, comparisons, NOTES, _charts(rows))


def _record(part: str, name: str, epsilon: float, paper: float, mine: float) -> dict[str, Any]:
    return {
        "part": part,
        "name": name,
        "epsilon": epsilon,
        "paper_way": float(paper),
        "ours": float(mine),
    }


def _coins() -> Comparison:
    domain = Domain([Attribute(name, ("0", "1")) for name in ("first", "second", "differ")])
    coins = Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    exact = total_leakage(coins, 1.0, mechanism="grr", guarantee="exact")["differ"]
    summed = total_leakage(coins.pairs(), 1.0, mechanism="grr", guarantee="independent")["differ"]
    return stated(
        "Two coins and whether they differ: exact total minus the sum (nats)",
        "the sum is an upper bound",
        exact - summed,
        most=0.0,
        explained=True,
        group="Totals",
    )


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


def _compare_sums(rows: list[dict[str, Any]]) -> list[Comparison]:
    excess = [row["ours"] - row["paper_way"] for row in rows]
    return [
        stated(
            f"CelebA: targets, of {len(rows)}, whose exact total exceeds the sum",
            "the sum is an upper bound",
            sum(gap > 0 for gap in excess),
            most=0,
            explained=True,
            group="Totals",
        ),
        ours("CelebA: largest excess of an exact total over the sum (nats)", max(excess), "Totals"),
    ]


def _witnesses(people: Records) -> list[dict[str, Any]]:
    """Return the sum and what a found report leaks, for every attribute of CelebA."""
    summed = total_leakage(people.pairs(), BUDGET, mechanism="grr", guarantee="independent").values
    found = total_leakage(people, BUDGET, mechanism="grr", guarantee="witness", seed=SEED).values
    return [
        _record("witness", name, BUDGET, total, leak)
        for name, total, leak in zip(people.domain.names, summed, found, strict=True)
    ]


def _compare_witnesses(rows: list[dict[str, Any]]) -> list[Comparison]:
    worst = max(rows, key=lambda row: float(row["ours"]))
    return [
        stated(
            f"CelebA, all 40, budget {BUDGET}: what a found report leaks about {worst['name']}",
            f"every total is at most {LIMIT:g}",
            worst["ours"],
            most=LIMIT,
            explained=True,
            group="Totals",
        ),
        ours(
            "CelebA, all 40: attributes about which a found report leaks more than the sum",
            sum(row["ours"] > row["paper_way"] for row in rows),
            "Totals",
        ),
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


def _compare_reports(rows: list[dict[str, Any]]) -> list[Comparison]:
    whole = {row["name"]: row["ours"] for row in rows}
    rich = ("RAPPOR", "OUE", "BLH", "OLH", "SHE")
    what = (
        "Adult, epsilon 1: normalised TCPL of the whole report, least of RAPPOR, OUE, BLH, OLH, SHE"
    )
    return [
        ours(what, min(whole[name] for name in rich), "Whole report"),
        ours("Adult, epsilon 1: the same of GRR", whole["GRR"], "Whole report"),
        ours("Adult, epsilon 1: the same of EXP", whole["EXP"], "Whole report"),
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


def _compare_relaxations(rows: list[dict[str, Any]]) -> list[Comparison]:
    ratios = [row["ours"] / row["paper_way"] for row in rows if row["paper_way"] > 0]
    return [
        ours(
            "Adult, epsilon 1: certified delta' over f*, median", float(np.median(ratios)), "Delta"
        ),
        ours("Adult, epsilon 1: certified delta' over f*, least", min(ratios), "Delta"),
        stated(
            "Adult, epsilon 1: certified delta' over f*, largest",
            "f* is a relaxation that suffices",
            max(ratios),
            most=math.nextafter(1.0, 2.0),
            group="Delta",
        ),
    ]


def _charts(rows: list[dict[str, Any]]) -> dict[str, Any]:
    charts = {}
    sums = [row for row in rows if row["part"] == "exact total"]
    if sums:
        charts["a"] = agreement_chart(
            [
                {
                    "panel": "(a) CelebA: 60 random sets of 10 attributes",
                    "series": f"epsilon {row['epsilon']:g}",
                    "kind": "target",
                    "label": row["name"],
                    "x": row["paper_way"],
                    "y": row["ours"],
                }
                for row in sorted(sums, key=lambda row: float(row["epsilon"]))
            ],
            "Budget plus sum of leakages (nats)",
            "Exact total (nats)",
            log=False,
        )
    charts["b"] = bar_panels(
        [
            {
                "panel": "(b) Adult, epsilon 1: normalised TCPL (1 = Algorithm 2)",
                "group": row["name"],
                "series": label,
                "value": row[key],
            }
            for row in rows
            if row["part"] == "whole report"
            for key, label in (("paper_way", "guessed value"), ("ours", "whole report"))
        ],
        "Normalised TCPL",
        width=520,
    )
    charts["c"] = agreement_chart(
        [
            {
                "panel": "(c) Adult, epsilon 1: relaxation of each ordered pair",
                "series": "pair",
                "kind": "pair",
                "label": row["name"],
                "x": row["paper_way"],
                "y": row["ours"],
            }
            for row in rows
            if row["part"] == "relaxation"
        ],
        "The paper's f* / delta",
        "Certified delta' / delta",
        log=False,
    )
    return charts
