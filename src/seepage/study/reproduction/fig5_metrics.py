"""Fig. 5: conventional measures of correlation against leakage."""

from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.charts.panels import spread_panels
from seepage.leakage.matrix import leakage_matrix
from seepage.study.correlation import correlation_matrix
from seepage.study.reproduction.findings import Comparison, Finding, absent, stated
from seepage.study.reproduction.paper_data import STAND_INS, Data, ordered_pairs

__all__ = ["find", "measured"]

NAMES = ("celeba", "adult", "cardio", *STAND_INS)
TITLES = {"nmi": "NMI", "pcc": "|PCC|"}
WIDTH = 0.1
FEWEST = 5
"""A bin with fewer pairs is in the table but says nothing about spread."""

SHOWS = (
    "Mean and standard deviation of the leakage (GRR, epsilon 1) against the normalised mutual "
    "information and against the absolute Pearson coefficient, over all datasets: leakage grows "
    "with either, but varies widely at the same correlation, by about 0.6 at NMI 0.5."
)
NOTES = (
    "NMI is mutual information over joint entropy, as in the paper's 4 x 4 example. So normalised, "
    "none of our datasets has a pair with NMI between 0.4 and 0.9: those of the figure come from "
    "DSS, or from columns that we do not know. The spread is measured in the bin where it is "
    "widest.",
    "Points are means, blue bars one standard deviation to either side (within the range), grey "
    "lines the range.",
)


def find(data: Data) -> Finding:
    """Return mean and spread of the leakage in bins of each measure."""
    measures = measured(data)
    rows: list[dict[str, Any]] = []
    for metric in ("nmi", "pcc"):
        rows += _binned(metric, measures[metric], measures["leakage"])
    comparisons = _compare(measures, rows)
    comparisons += [
        absent(f"{label}: its pairs", "part of the figure", "not at hand")
        for label in [*data.missing(*NAMES), "DSS"]
    ]
    return Finding(SHOWS, rows, comparisons, NOTES, {"": _chart(rows)})


def measured(data: Data) -> dict[str, Floats]:
    """Return NMI, |PCC| and leakage (GRR, epsilon 1) of all ordered pairs of all datasets."""
    parts: dict[str, list[Floats]] = {"nmi": [], "pcc": [], "leakage": []}
    for pairs in data.some(*NAMES).values():
        parts["nmi"].append(ordered_pairs(correlation_matrix(pairs, "nmi").values))
        parts["pcc"].append(np.abs(ordered_pairs(correlation_matrix(pairs, "pcc").values)))
        parts["leakage"].append(ordered_pairs(leakage_matrix(pairs, 1.0, mechanism="grr").values))
    return {name: np.concatenate(values) for name, values in parts.items()}


def _binned(metric: str, values: Floats, leakages: Floats) -> list[dict[str, Any]]:
    bins = np.minimum((values / WIDTH).astype(np.int64), round(1 / WIDTH) - 1)
    rows = []
    for one in np.unique(bins).tolist():
        inside = leakages[bins == one]
        rows.append(
            {
                "metric": TITLES[metric],
                "from": round(one * WIDTH, 2),
                "to": round((one + 1) * WIDTH, 2),
                "pairs": len(inside),
                "mean": float(inside.mean()),
                "standard_deviation": float(inside.std()),
                "least": float(inside.min()),
                "most": float(inside.max()),
            }
        )
    return rows


def _compare(measures: dict[str, Floats], rows: list[dict[str, Any]]) -> list[Comparison]:
    from scipy.stats import spearmanr

    leakages = measures["leakage"]
    found = []
    for metric, title in TITLES.items():
        rank = float(spearmanr(measures[metric], leakages).statistic)
        widest = max(
            row["most"] - row["least"]
            for row in rows
            if row["metric"] == title and row["pairs"] >= FEWEST
        )
        found += [
            stated(
                f"Rank correlation of {title} with leakage",
                "leakage grows with the measure",
                rank,
                least=0.3,
            ),
            stated(
                f"Widest range of leakage within a tenth of {title} (nats)",
                "varies widely, by about 0.6 at NMI 0.5" if metric == "nmi" else "varies widely",
                widest,
                least=0.5,
            ),
        ]
    return found


def _chart(rows: list[dict[str, Any]]) -> Any:
    points = [
        {
            "panel": f"{row['metric']} against leakage",
            "x_title": row["metric"],
            "middle": (row["from"] + row["to"]) / 2,
            "mean": row["mean"],
            "low": max(row["mean"] - row["standard_deviation"], row["least"]),
            "high": min(row["mean"] + row["standard_deviation"], row["most"]),
            "least": row["least"],
            "most": row["most"],
            "pairs": row["pairs"],
        }
        for row in rows
    ]
    return spread_panels(points, "Leakage (nats), GRR, epsilon 1")
