"""Leakages against measures of correlation (Fig. 5), and the paper's observations."""

import numpy as np

from reproduction.charts import spread_panels
from reproduction.findings import Finding, Row
from reproduction.paper_data import (
    PAPERS,
    Data,
    correlations,
    grr_leakages,
    ordered_pairs,
    other_datasets,
)
from seepage._core.arrays import Floats
from seepage.benchmarks.correlation import Metric
from seepage.channel.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix

# Fig. 5 -------------------------------------------------------------------------------

METRICS: dict[Metric, str] = {"nmi": "NMI", "pcc": "|PCC|"}


BIN_WIDTH = 0.1


MIN_PAIRS = 5
"""Minimum number of pairs of a bin whose range counts as spread."""


def fig5(data: Data, found: Finding) -> None:
    """Find Fig. 5: mean and spread of the leakage in bins of NMI and |PCC|."""
    from scipy.stats import spearmanr

    tables = data.some(*PAPERS).values()
    leakages = np.concatenate([grr_leakages(pairs) for pairs in tables])
    for metric, title in METRICS.items():
        values = np.abs(
            np.concatenate([correlations(pairs, metric) for pairs in tables])
        )
        bins = _bins(title, values, leakages)
        ranges = [
            row["most"] - row["least"] for row in bins if row["pairs"] >= MIN_PAIRS
        ]
        found.claim("rank", float(spearmanr(values, leakages).statistic), measure=title)
        found.claim(f"range_{metric}", max(ranges))
        found.rows += bins
    found.charts[""] = spread_panels(found.rows, "Leakage (nats), GRR, epsilon 1")


def _bins(title: str, values: Floats, leakages: Floats) -> list[Row]:
    """Return a row per bin of the measure: number of pairs, mean, deviation, range of
    leakages.
    """
    indices = np.minimum(
        (values / BIN_WIDTH).astype(np.int64), round(1 / BIN_WIDTH) - 1
    )
    bins = {index: leakages[indices == index] for index in np.unique(indices).tolist()}
    return [
        {
            "metric": title,
            "from": round(index * BIN_WIDTH, 2),
            "to": round((index + 1) * BIN_WIDTH, 2),
            "pairs": len(inside),
            "mean": float(inside.mean()),
            "standard_deviation": float(inside.std()),
            "least": float(inside.min()),
            "most": float(inside.max()),
        }
        for index, inside in bins.items()
    ]


# Observations OB1 to OB3 --------------------------------------------------------------

ASYMMETRY_THRESHOLD = 0.1
"""A pair is asymmetric if its two leakages differ by more than this share of the
larger."""


LARGEST_BUDGET = 8.0


SATURATING_BUDGET = 700.0
"""The paper's largest budget, and one at which finite leakages have saturated."""


WEAK_NMI = 0.05


def observations(data: Data, found: Finding) -> None:
    """Find the quantities of the observations OB1 to OB3, for every dataset."""
    found.rows += [
        {"data": label, **_observed(pairs)}
        for label, pairs in data.every_table().items()
    ]
    for row in found.rows:
        for key in found.paper.claims:
            numbers = {other["data"]: other[key] for other in found.rows}
            unrelated = other_datasets(numbers, row["data"])
            found.claim(key, row[key], unrelated=unrelated, label=row["data"])


def _observed(pairs: PairCounts) -> dict[str, float]:
    from scipy.stats import kendalltau

    leakages = leakage_matrix(pairs, 1.0, mechanism="grr").values
    indices = np.triu_indices(len(leakages), 1)
    upper = leakages[indices]
    lower = leakages.T[indices]
    gaps = np.abs(upper - lower)
    largest, saturation = (
        grr_leakages(pairs, e) for e in (LARGEST_BUDGET, SATURATING_BUDGET)
    )
    nmi = correlations(pairs, "nmi")
    values = ordered_pairs(leakages)
    return {
        "asymmetric_share": float(
            (gaps > ASYMMETRY_THRESHOLD * np.maximum(upper, lower)).mean()
        ),
        "largest_gap": float(gaps.max()),
        "saturated_share": float((largest >= 0.9 * saturation).mean()),
        "finite_level_share": float((saturation < SATURATING_BUDGET / 2).mean()),
        "largest_at_weak_nmi": float(values[nmi < WEAK_NMI].max(initial=0.0)),
        "misordered_share": float((1 - kendalltau(nmi, values).statistic) / 2),
    }
