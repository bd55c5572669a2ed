"""Fig. 8, and the paper's own calibration (Algorithm 3).

The budget that each attribute may have, from CelebA's own counts and from LFW's.
"""

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
from seepage.study.reproduction.findings import Comparison, Finding, PaperItem
from seepage.study.reproduction.paper_data import SEED, Data
from seepage.totals.result import check_whole_table

STEP = 0.01
"""By how much the paper's Algorithm 3 raises the budget."""


def calibrate_as_the_paper(pairs: PairCounts, limit: Any) -> float:
    """Return the budget of the paper's Algorithm 3, which breaks the limit.

    It starts at limit / n, raises the budget by `STEP` while the largest total is below the limit,
    and returns the budget after the last raise: one step beyond the first that reaches the limit.
    The inner loop includes j = i, whose leakage about itself is the budget.

    Parameters
    ----------
    pairs
        The pair counts of a table, not of a sample.
    limit
        The allowed total of every attribute.

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
SUBSET = 21
RANDOM_SUBSETS = 40
TYPICAL = 0.3
"""The budget at which the most favourable subset is chosen."""

SERIES = {
    "celeba": "calibrated, CelebA's own",
    "lfw": "calibrated, LFW's",
    "spl": "equal split (SPL)",
}


def find(data: Data, paper: PaperItem) -> Finding:
    """Return budgets and errors over limits, for all shared attributes and for two subsets."""
    faces, public = _shared(data)
    names = list(faces.domain.names)
    favourable = _most_favourable(faces)
    sets = {
        f"all {len(names)}": names,
        f"first {SUBSET}": names[:SUBSET],
        f"most favourable {SUBSET}": favourable,
    }
    rows = [
        _row(label, faces.select(chosen), public.select(chosen), limit)
        for label, chosen in sets.items()
        for limit in LIMITS
    ]
    factors = _random_factors(faces)
    every = rows[: len(LIMITS)]
    comparisons = [one for label in sets for one in _compare(paper, label, rows)]
    comparisons.append(paper.claim("random", float(np.median(factors))))
    if data.at_hand("lfw-scores"):
        _, signs = _shared(data, "lfw-scores")
        gains = [_budget(signs, row["limit"]) / row["budget_lfw"] for row in every]
        comparisons.append(paper.claim("scores", max(gains)))
    else:
        comparisons += paper.without(["LFW's scores"])
    comparisons.append(paper.claim("simulated", _gap(faces, every)))
    words = {
        "shared": len(names),
        "favourable": ", ".join(favourable),
        "least": min(factors),
        "most": max(factors),
    }
    return Finding(rows, comparisons, {"": _chart(rows)}, words)


def _shared(data: Data, name: str = "lfw") -> tuple[PairCounts, PairCounts]:
    """Return CelebA and LFW with the attributes of the same meaning, under CelebA's names."""
    faces, public = data.pairs("celeba"), data.pairs(name)
    theirs = {_plain(name): name for name in public.domain.names}
    shared = [name for name in faces.domain.names if _plain(name) in theirs]
    chosen = public.select([theirs[_plain(name)] for name in shared])
    return faces.select(shared), chosen.rename({theirs[_plain(name)]: name for name in shared})


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.casefold())


def _most_favourable(pairs: PairCounts) -> list[str]:
    """Return the attributes left when the most leaking one is dropped again and again."""
    names = list(pairs.domain.names)
    values = leakage_matrix(pairs, TYPICAL).values
    while len(names) > SUBSET:
        without = [
            np.delete(np.delete(values, k, 0), k, 1).sum(axis=1).max() for k in range(len(names))
        ]
        worst = int(np.argmin(without))
        values = np.delete(np.delete(values, worst, 0), worst, 1)
        del names[worst]
    return names


def _budget(pairs: PairCounts, limit: float) -> float:
    """Return the largest equal budget that the sum of leakages allows."""
    return float(find_budgets(pairs, limit, guarantee="independent", audit=False).epsilons[0])


def _row(label: str, faces: PairCounts, public: PairCounts, limit: float) -> dict[str, Any]:
    budgets = {
        "spl": equal_split(limit, len(faces.domain)),
        "celeba": _budget(faces, limit),
        "lfw": _budget(public, limit),
        "algorithm_3": calibrate_as_the_paper(faces, limit),
    }
    row: dict[str, Any] = {"attributes": label, "limit": limit}
    row |= {f"budget_{name}": budget for name, budget in budgets.items()}
    row |= {f"error_{name}": 1 / (1 + math.exp(budget)) for name, budget in budgets.items()}
    for name in ("lfw", "algorithm_3"):
        leakages = leakage_matrix(faces, budgets[name]).values.sum(axis=1)
        row[f"sum_at_{name}"] = float(budgets[name] + leakages.max())
    return row


def _random_factors(faces: PairCounts) -> list[float]:
    """Return the factor over the equal split at limit 3, of random subsets."""
    rng = np.random.default_rng(SEED)
    factors = []
    for _ in range(RANDOM_SUBSETS):
        chosen = np.sort(rng.choice(len(faces.domain), SUBSET, replace=False)).tolist()
        factors.append(_budget(faces.select(chosen), 3.0) / equal_split(3.0, SUBSET))
    return factors


def _compare(paper: PaperItem, label: str, rows: list[dict[str, Any]]) -> list[Comparison]:
    chosen = [row for row in rows if row["attributes"] == label]
    gains = [row["budget_celeba"] / row["budget_spl"] for row in chosen]
    found = {
        "gain": math.exp(float(np.mean(np.log(gains)))),
        "near": min(row["budget_lfw"] / row["budget_celeba"] for row in chosen),
        "error": max(row["error_celeba"] / row["error_spl"] for row in chosen),
        "lfw": sum(row["sum_at_lfw"] > row["limit"] for row in chosen),
        "algorithm_3": sum(row["sum_at_algorithm_3"] > row["limit"] for row in chosen),
    }
    return [paper.claim(k, value, label=label, limits=len(chosen)) for k, value in found.items()]


def _gap(faces: PairCounts, rows: list[dict[str, Any]]) -> float:
    """Return how far the 0-1 error of a simulated collection is from 1 / (1 + e^epsilon)."""
    rng = np.random.default_rng(SEED)
    gaps = []
    for row in rows:
        mechanism = GRR(2, row["budget_celeba"])
        wrong = 0
        for marginal in faces.marginals:
            codes = np.repeat([0, 1], marginal)
            wrong += int((mechanism.infer(mechanism.perturb(codes, rng), rng) != codes).sum())
        error = wrong / (faces.records * len(faces.domain))
        gaps.append(abs(error - row["error_celeba"]))
    return float(max(gaps))


def _chart(rows: list[dict[str, Any]]) -> Any:
    """Return budgets and errors of the same attributes side by side."""
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
