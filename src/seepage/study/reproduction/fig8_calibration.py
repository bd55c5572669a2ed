"""Fig. 8: budgets calibrated on CelebA's own counts and on LFW's; the paper's Algorithm 3."""

import math
import re
from typing import Any

import numpy as np

from seepage import _checks
from seepage.charts.panels import curve_panels
from seepage.data.pairs import PairCounts
from seepage.designs.calibration import find_budgets
from seepage.designs.equal_budgets import equal_split
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms import GRR
from seepage.study.reproduction.findings import Finding, Row
from seepage.study.reproduction.paper_data import SEED, Data
from seepage.totals.guarantees import check_whole_table

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
    >>> from seepage.study.reproduction.fig8_calibration import calibrate_as_the_paper
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
        rows = [_row(label, *selected, limit) for limit in LIMITS]
        _compare(found, label, rows)
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
    found.charts[""] = _chart(found.rows)


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


def _row(label: str, celeba: PairCounts, lfw: PairCounts, limit: float) -> Row:
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


def _compare(found: Finding, label: str, rows: list[Row]) -> None:
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


def _chart(rows: list[Row]) -> Any:
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
