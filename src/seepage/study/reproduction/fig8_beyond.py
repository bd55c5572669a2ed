"""Fig. 8, calibrated budgets; beyond the paper: exact totals, whole reports, certified delta'."""

import math
import re
from itertools import permutations
from typing import Any

import numpy as np

from seepage import _checks
from seepage.charts.panels import bar_panels, curve_panels
from seepage.charts.scatter import agreement_chart
from seepage.data.domain import Attribute, Domain
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.calibration import find_budgets
from seepage.designs.equal_budgets import equal_split
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms.direct import GRR
from seepage.study.reproduction.findings import Finding, Row
from seepage.study.reproduction.paper_data import (
    MECHANISMS,
    SEED,
    Data,
    exact_and_summed,
    inferred_tcpl,
)
from seepage.totals.result import check_whole_table
from seepage.totals.total import total_leakage

STEP = 0.01
"""The increment of the budget in the paper's Algorithm 3."""


def calibrate_as_the_paper(pairs: PairCounts, limit: Any) -> float:
    """Return the budget of the paper's Algorithm 3, which exceeds the limit.

    It starts at limit / n, increases the budget by `STEP` while the largest total is below the
    limit, and returns the budget after the last increase: one step beyond the first that reaches
    the limit.  The inner loop includes j = i, whose leakage about itself is the budget.

    Parameters
    ----------
    pairs
        The pair counts of a table, not of a sample.
    limit
        The maximum total of every attribute, in nats.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.study.reproduction.fig8_beyond import calibrate_as_the_paper
    >>> budget = calibrate_as_the_paper(sp.load_pairs("adult"), 5.0)
    >>> totals = budget + sp.leakage_matrix(sp.load_pairs("adult"), budget).values.sum(axis=1)
    >>> bool(totals.max() > 5.0)
    True
    """
    allowed = _checks.epsilon(limit, "limit")
    check_whole_table(pairs, "independent", "budgets")
    budget, largest = allowed / len(pairs.domain), 0.0
    while largest < allowed:
        leakages = leakage_matrix(pairs, budget).values
        largest = max(largest, float((budget + leakages.sum(axis=1)).max()))
        budget += STEP
    return budget


LIMITS = (1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0)

SUBSET_SIZE = 21
"""The number of attributes in the paper's figure."""

RANDOM_SUBSETS = 40

SELECTION_BUDGET = 0.3
"""The budget at which the most favourable subset is selected."""

SERIES = {
    "celeba": "calibrated, CelebA's own",
    "lfw": "calibrated, LFW's",
    "spl": "equal split (SPL)",
}


def fig8(data: Data, found: Finding) -> None:
    """Find Fig. 8: budgets and errors by limit, for all shared attributes and two subsets."""
    celeba, lfw = _shared_attributes(data)
    names = list(celeba.domain.names)
    favourable = _most_favourable(celeba)
    subsets = {
        f"all {len(names)}": names,
        f"first {SUBSET_SIZE}": names[:SUBSET_SIZE],
        f"most favourable {SUBSET_SIZE}": favourable,
    }
    for label, chosen in subsets.items():
        selected = celeba.select(chosen), lfw.select(chosen)
        rows = [_limit_row(label, *selected, limit) for limit in LIMITS]
        _compare_subset(found, label, rows)
        found.rows += rows
    factors = _random_factors(celeba)
    all_rows = found.rows[: len(LIMITS)]
    found.claim("random", float(np.median(factors)))
    if data.at_hand("lfw-scores"):
        _, signs = _shared_attributes(data, "lfw-scores")
        gains = [_equal_budget(signs, row["limit"]) / row["budget_lfw"] for row in all_rows]
        found.claim("scores", max(gains))
    else:
        found.not_compared_on(["LFW's scores"])
    found.claim("simulated", _largest_error_gap(celeba, all_rows))
    found.words |= {
        "shared": len(names),
        "favourable": ", ".join(favourable),
        "least": min(factors),
        "most": max(factors),
    }
    found.charts[""] = _budget_chart(found.rows)


def _shared_attributes(data: Data, name: str = "lfw") -> tuple[PairCounts, PairCounts]:
    """Return CelebA and LFW with their common attributes, under CelebA's names."""
    celeba, lfw = data.pairs("celeba"), data.pairs(name)
    lfw_names = {_normalised(name): name for name in lfw.domain.names}
    shared = [name for name in celeba.domain.names if _normalised(name) in lfw_names]
    chosen = [lfw_names[_normalised(name)] for name in shared]
    return celeba.select(shared), lfw.select(chosen).rename(dict(zip(chosen, shared, strict=True)))


def _normalised(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.casefold())


def _most_favourable(pairs: PairCounts) -> list[str]:
    """Return `SUBSET_SIZE` attributes: greedily remove the one that lowers the largest sum most."""
    names = list(pairs.domain.names)
    values = leakage_matrix(pairs, SELECTION_BUDGET).values
    while len(names) > SUBSET_SIZE:
        largest_without = [
            np.delete(np.delete(values, k, 0), k, 1).sum(axis=1).max() for k in range(len(names))
        ]
        removed = int(np.argmin(largest_without))
        values = np.delete(np.delete(values, removed, 0), removed, 1)
        del names[removed]
    return names


def _equal_budget(pairs: PairCounts, limit: float) -> float:
    """Return the largest equal budget whose sums of leakages are within the limit."""
    return float(find_budgets(pairs, limit, guarantee="independent", audit=False).epsilons[0])


def _limit_row(label: str, celeba: PairCounts, lfw: PairCounts, limit: float) -> Row:
    budgets = {
        "spl": equal_split(limit, len(celeba.domain)),
        "celeba": _equal_budget(celeba, limit),
        "lfw": _equal_budget(lfw, limit),
        "algorithm_3": calibrate_as_the_paper(celeba, limit),
    }
    row: Row = {"attributes": label, "limit": limit}
    row |= {f"budget_{name}": budget for name, budget in budgets.items()}
    row |= {f"error_{name}": 1 / (1 + math.exp(budget)) for name, budget in budgets.items()}
    for name in ("lfw", "algorithm_3"):
        leakages = leakage_matrix(celeba, budgets[name]).values.sum(axis=1)
        row[f"sum_at_{name}"] = float(budgets[name] + leakages.max())
    return row


def _random_factors(celeba: PairCounts) -> list[float]:
    """Return calibrated budget / equal split at limit 3, for random subsets of attributes."""
    rng = np.random.default_rng(SEED)
    factors = []
    for _ in range(RANDOM_SUBSETS):
        chosen = np.sort(rng.choice(len(celeba.domain), SUBSET_SIZE, replace=False)).tolist()
        budget = _equal_budget(celeba.select(chosen), 3.0)
        factors.append(budget / equal_split(3.0, SUBSET_SIZE))
    return factors


def _compare_subset(found: Finding, label: str, rows: list[Row]) -> None:
    gains = [row["budget_celeba"] / row["budget_spl"] for row in rows]
    values = {
        "gain": math.exp(float(np.mean(np.log(gains)))),
        "near": min(row["budget_lfw"] / row["budget_celeba"] for row in rows),
        "error": max(row["error_celeba"] / row["error_spl"] for row in rows),
        "lfw": sum(row["sum_at_lfw"] > row["limit"] for row in rows),
        "algorithm_3": sum(row["sum_at_algorithm_3"] > row["limit"] for row in rows),
    }
    for name, value in values.items():
        found.claim(name, value, label=label, limits=len(rows))


def _largest_error_gap(celeba: PairCounts, rows: list[Row]) -> float:
    """Return the maximum of |simulated 0-1 error - 1 / (1 + e^epsilon)| over rows."""
    rng = np.random.default_rng(SEED)
    gaps = []
    for row in rows:
        mechanism = GRR(2, row["budget_celeba"])
        wrong = 0
        for marginal in celeba.marginals:
            codes = np.repeat([0, 1], marginal)
            wrong += int((mechanism.infer(mechanism.perturb(codes, rng), rng) != codes).sum())
        error = wrong / (celeba.records * len(celeba.domain))
        gaps.append(abs(error - row["error_celeba"]))
    return float(max(gaps))


def _budget_chart(rows: list[Row]) -> Any:
    """Return the chart of budgets (a) and errors (b) by limit, for each set of attributes."""
    points = [
        {
            "panel": f"({letter}) {label} attributes",
            "axis": axis,
            "series": name,
            "x": row["limit"],
            "y": row[f"{quantity}_{key}"],
        }
        for label in dict.fromkeys(row["attributes"] for row in rows)
        for letter, quantity, axis in (
            ("a", "budget", "Budget of each attribute"),
            ("b", "error", "0-1 error of GRR"),
        )
        for row in rows
        if row["attributes"] == label
        for key, name in SERIES.items()
    ]
    return curve_panels(
        points,
        x_title="Allowed total (nats)",
        series=list(SERIES.values()),
        dashed={SERIES["lfw"]: 1, SERIES["spl"]: 2},
    )


# Beyond the paper ------------------------------------------------------------------------------

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
    rows = []
    for name, title in MECHANISMS.items():
        whole = leakage_matrix(pairs, 1.0, mechanism=name).tcpl
        ratios = inferred_tcpl(pairs, name) / bound, whole / bound
        rows.append(_row("whole report", title, 1.0, *ratios))
    return rows


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
