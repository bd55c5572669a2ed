"""The relaxation of Algorithm 2: the paper's f* beside the certified delta."""

import numpy as np

from reproduction.charts import agreement_chart
from reproduction.findings import Finding
from reproduction.paper_data import PAPERS, Data
from seepage.leakage.bound import leakage_bound

DELTA = 1e-3

BUDGETS = (0.5, 1.0, 3.0)


def deltas(data: Data, found: Finding) -> None:
    """Find f* and the certified delta of every ordered pair of three datasets."""
    for label, pairs in data.some(*PAPERS).items():
        names = pairs.domain.names
        for epsilon in BUDGETS:
            for target in names:
                for source in names:
                    if source == target:
                        continue
                    leakage = leakage_bound(
                        pairs.channel(target, source), epsilon, delta=DELTA
                    )
                    found.rows.append(
                        {
                            "data": label,
                            "epsilon": epsilon,
                            "target": target,
                            "source": source,
                            "leakage": leakage.value,
                            "paper_delta": leakage.paper_delta,
                            "certified_delta": leakage.delta,
                        }
                    )
        _compare(found, label)
    points = [
        {
            "panel": row["data"],
            "series": f"epsilon {row['epsilon']:g}",
            "kind": "ordered pair",
            "label": f"{row['source']} → {row['target']}",
            "x": row["paper_delta"],
            "y": row["certified_delta"],
        }
        for row in found.rows
        if row["epsilon"] == 1.0 and row["certified_delta"] > 0
    ]
    titles = "f* of Algorithm 2", "Certified delta"
    found.charts[""] = agreement_chart(points, *titles)


def _compare(found: Finding, label: str) -> None:
    """Compare f* with the certified delta on one dataset."""
    rows = [row for row in found.rows if row["data"] == label]
    paper = np.array([row["paper_delta"] for row in rows])
    certified = np.array([row["certified_delta"] for row in rows])
    found.claim("covered", float((paper - certified).min()), {}, label=label)
    possible = certified > 0
    ratios = paper[possible] / certified[possible]
    found.claim("median", float(np.median(ratios)), {}, label=label)
    found.claim("largest", float(ratios.max()), {}, label=label)
    found.claim("below", float(certified.max() / DELTA), {}, label=label)
