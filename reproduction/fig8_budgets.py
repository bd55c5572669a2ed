"""Utility against leakage (Fig. 7), calibrated budgets (Fig. 8), totals that exceed the
sum.
"""

import math
import re
from typing import Any

import numpy as np

from reproduction.findings import Finding, Row
from reproduction.paper_data import Data
from seepage.analysis.table_comparison import compare_tables
from seepage.calibration.published import calibrate_as_the_paper, largest_sum
from seepage.channel.pairs import PairCounts
from seepage.charts.style import curve_panels
from seepage.designs.forms.form_problem import equal_split
from seepage.leakage.matrix import leakage_matrix
from seepage.leakage.uncertainty import MeasuredRows
from seepage.workflow.within_limits import calibrate

LIMITS = (1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0)


SUBSET_SIZE = 21
"""The number of attributes in the paper's figure."""


SELECTION_BUDGET = 0.3
"""The budget at which the most favourable subset is selected."""


SERIES = {
    "celeba": "calibrated, CelebA's own",
    "lfw": "calibrated, LFW's",
    "robust": "calibrated, LFW's within the distance to CelebA",
    "algorithm_3": "Algorithm 3 as published, CelebA's own",
    "spl": "equal split (SPL)",
}


SINGLE_LIMIT = 3.0
"""The limit of single attributes that budgets from LFW must keep on CelebA."""


def fig8(data: Data, found: Finding) -> None:
    """Find Fig. 8: budgets and errors by limit, for all shared attributes and two
    subsets.
    """
    celeba, lfw = _shared_attributes(data)
    names = list(celeba.domain.names)
    favourable = _most_favourable(celeba)
    subsets = {
        f"all {len(names)}": names,
        f"first {SUBSET_SIZE}": names[:SUBSET_SIZE],
        f"most favourable {SUBSET_SIZE}": favourable,
    }
    for label, chosen in subsets.items():
        own = celeba.select(chosen)
        other = _recoded_as(own, lfw.select(chosen))
        rows = [_limit_row(label, own, other, limit) for limit in LIMITS]
        _compare_subset(found, label, rows)
        found.rows += rows
    _compare_single_limits(found, celeba, _recoded_as(celeba, lfw))
    found.words |= {"shared": len(names), "favourable": ", ".join(favourable)}
    found.charts[""] = _budget_chart(found.rows)


def _shared_attributes(data: Data) -> tuple[PairCounts, PairCounts]:
    """Return CelebA and LFW with their common attributes, under CelebA's names."""
    celeba = data.pairs("celeba")
    lfw = data.pairs("lfw")
    lfw_names = {_normalised(name): name for name in lfw.domain.names}
    shared = [name for name in celeba.domain.names if _normalised(name) in lfw_names]
    chosen = [lfw_names[_normalised(name)] for name in shared]
    return celeba.select(shared), lfw.select(chosen).rename(
        dict(zip(chosen, shared, strict=True))
    )


def _recoded_as(pairs: PairCounts, other: PairCounts) -> PairCounts:
    """Return the counts of another table of the same attributes under their values."""
    return PairCounts(pairs.domain, other.marginals, other.counts)


def _compare_single_limits(found: Finding, celeba: PairCounts, lfw: PairCounts) -> None:
    """Compare totals of single attributes with a limit that budgets from LFW keep."""
    comparison = compare_tables(lfw, celeba, 1.0, limit=SINGLE_LIMIT)
    together, *single = comparison.limits
    pairs = len(celeba.domain) * (len(celeba.domain) - 1)
    found.claim("single", sum(not one.holds for one in single), limits=len(single))
    found.claim("worst_single", max(one.total for one in single) / SINGLE_LIMIT)
    found.claim("together", together.total / together.limit)
    found.claim("understated", comparison.understated / pairs)
    found.claim("excess", float(comparison.excess.max()))


def _normalised(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.casefold())


def _most_favourable(pairs: PairCounts) -> list[str]:
    """Return `SUBSET_SIZE` attributes: greedily remove the one that lowers the largest
    sum most.
    """
    names = list(pairs.domain.names)
    values = leakage_matrix(pairs, SELECTION_BUDGET).values
    while len(names) > SUBSET_SIZE:
        largest_without = [
            np.delete(np.delete(values, k, 0), k, 1).sum(axis=1).max()
            for k in range(len(names))
        ]
        removed = int(np.argmin(largest_without))
        values = np.delete(np.delete(values, removed, 0), removed, 1)
        del names[removed]
    return names


def _equal_budget(pairs: PairCounts, limit: float) -> float:
    """Return the largest equal budget whose sums of leakages are within the limit."""
    return float(calibrate(pairs, limit, guarantee="sum", audit=False).epsilons[0])


def _robust_budget(celeba: PairCounts, lfw: PairCounts, limit: float) -> float:
    """Return the largest equal budget from LFW whose sums are within the limit for all
    rows as far from LFW's as CelebA's are.
    """
    measured = MeasuredRows(lfw, celeba, ("LFW", "CelebA"))
    plan = calibrate(lfw, limit, guarantee="sum", audit=False, uncertainty=measured)
    return float(plan.epsilons[0])


def _limit_row(label: str, celeba: PairCounts, lfw: PairCounts, limit: float) -> Row:
    budgets = {
        "spl": equal_split(limit, len(celeba.domain)),
        "celeba": _equal_budget(celeba, limit),
        "lfw": _equal_budget(lfw, limit),
        "robust": _robust_budget(celeba, lfw, limit),
        "algorithm_3": calibrate_as_the_paper(celeba, limit),
    }
    row: Row = {"attributes": label, "limit": limit}
    row |= {f"budget_{name}": budget for name, budget in budgets.items()}
    row |= {
        f"error_{name}": 1 / (1 + math.exp(budget)) for name, budget in budgets.items()
    }
    sums = {
        f"sum_at_{name}": largest_sum(celeba, budgets[name])
        for name in ("lfw", "robust", "algorithm_3")
    }
    return row | sums


def _compare_subset(found: Finding, label: str, rows: list[Row]) -> None:
    gains = [row["budget_celeba"] / row["budget_spl"] for row in rows]
    values = {
        "gain": math.exp(float(np.mean(np.log(gains)))),
        "near": min(row["budget_lfw"] / row["budget_celeba"] for row in rows),
        "error": max(row["error_celeba"] / row["error_spl"] for row in rows),
        "lfw": sum(row["sum_at_lfw"] > row["limit"] for row in rows),
        "robust": sum(row["sum_at_robust"] > row["limit"] for row in rows),
        "algorithm_3": sum(row["sum_at_algorithm_3"] > row["limit"] for row in rows),
    }
    chosen = {"chosen": "one of three sets; the paper does not list its 21 attributes"}
    for name, value in values.items():
        found.claim(name, value, chosen, label=label, limits=len(rows))


def _budget_chart(rows: list[Row]) -> Any:
    """Return the chart of budgets (a) and errors (b) by limit, for each set of
    attributes.
    """
    quantities = {"budget": "(a) {} attributes", "error": "(b) {} attributes"}
    axes = {"budget": "Budget of each attribute", "error": "0-1 error of GRR"}
    points = [
        {
            "panel": panel.format(row["attributes"]),
            "axis": axes[quantity],
            "series": name,
            "x": row["limit"],
            "y": row[f"{quantity}_{key}"],
        }
        for row in rows
        for quantity, panel in quantities.items()
        for key, name in SERIES.items()
    ]
    return curve_panels(
        points,
        x_title="Allowed total (nats)",
        series=list(SERIES.values()),
        dashed={SERIES["lfw"]: 1, SERIES["robust"]: 3, SERIES["spl"]: 2},
    )
