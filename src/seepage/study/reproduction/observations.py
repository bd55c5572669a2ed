"""The three observations OB1 to OB3, as measured statements about every dataset at hand."""

from typing import Any

import numpy as np

from seepage.charts.panels import bar_panels
from seepage.data.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix
from seepage.study.correlation import correlation_matrix
from seepage.study.reproduction.findings import Comparison, Finding, absent, ours, stated
from seepage.study.reproduction.paper_data import LABELS, STAND_INS, Data, ordered_pairs

__all__ = ["find"]

NAMES = ("celeba", "adult", "cardio", *STAND_INS)
UNEQUAL = 0.1
"""Two directions differ if the smaller is at least this share below the larger."""

LARGE, BEYOND = 8.0, 700.0
"""The paper's largest budget, and one at which every leakage has reached its level."""

WEAK = 0.05

SHOWS = (
    "Three observations: leakage between two attributes is not symmetric (OB1); most of the time "
    "it saturates as the budget grows (OB2); conventional measures of correlation do not "
    "characterise it (OB3)."
)
NOTES = (
    "OB1: the share of pairs whose two directions differ by more than a tenth of the larger, GRR "
    "at epsilon 1.",
    "OB2: the share of ordered pairs whose leakage at epsilon 8 has reached 90 % of its level; the "
    "level is infinite where a source value never occurs with some target value. It holds most of "
    "the time on CelebA and CVD, almost all of whose cells are occupied, and on Adult without its "
    "rare categories; with them, about half of Adult's pairs never saturate, nor do most pairs of "
    "the stand-ins. The paper's own explanation of OB2 says so: only if all joint probabilities "
    "are above 0.",
    "OB3: among pairs with NMI below 0.05, hardly correlated by that measure, the largest leakage "
    "as a share of the whole budget; and the share of pairs of pairs that NMI puts in the wrong "
    "order.",
)


def find(data: Data) -> Finding:
    """Return the measures behind each observation, for every dataset."""
    tables = data.some(*NAMES)
    if data.records_at_hand("adult"):
        tables["Adult, near reading"] = data.near_adult
    rows: list[dict[str, Any]] = [
        {"data": label, **_measure(pairs)} for label, pairs in tables.items()
    ]
    comparisons = [one for row in rows for one in _compare(row)]
    comparisons += [
        absent(f"{label}: OB1 to OB3", "among the four datasets", "the data are not at hand", label)
        for label in [*data.missing(*NAMES), "DSS"]
    ]
    return Finding(SHOWS, rows, comparisons, NOTES, {"": _chart(rows)})


def _measure(pairs: PairCounts) -> dict[str, float]:
    from scipy.stats import kendalltau

    leakages = leakage_matrix(pairs, 1.0, mechanism="grr").values
    upper = np.triu_indices(len(leakages), 1)
    forth, back = leakages[upper], leakages.T[upper]
    gaps = np.abs(forth - back)
    late = ordered_pairs(leakage_matrix(pairs, LARGE, mechanism="grr").values)
    level = ordered_pairs(leakage_matrix(pairs, BEYOND, mechanism="grr").values)
    nmi, values = ordered_pairs(correlation_matrix(pairs, "nmi").values), ordered_pairs(leakages)
    return {
        "asymmetric_share": float((gaps > UNEQUAL * np.maximum(forth, back)).mean()),
        "largest_gap": float(gaps.max()),
        "saturated_share": float((late >= 0.9 * level).mean()),
        "finite_level_share": float((level < BEYOND / 2).mean()),
        "largest_at_weak_nmi": float(values[nmi < WEAK].max(initial=0.0)),
        "misordered_share": float((1 - kendalltau(nmi, values).statistic) / 2),
    }


def _compare(row: dict[str, Any]) -> list[Comparison]:
    label = row["data"]
    if label in {LABELS[name] for name in STAND_INS}:
        keys = {
            "asymmetric_share": "OB1, share of asymmetric pairs",
            "saturated_share": "OB2, share of saturated pairs",
            "largest_at_weak_nmi": "OB3, largest leakage at NMI below 0.05",
        }
        return [ours(f"{label}: {what}", row[key], label) for key, what in keys.items()]
    return [
        stated(
            f"{label}: OB1, share of asymmetric pairs",
            "not necessarily symmetric",
            row["asymmetric_share"],
            least=0.5,
            group=label,
        ),
        stated(
            f"{label}: OB2, share of ordered pairs saturated at epsilon 8",
            "saturates most of the time",
            row["saturated_share"],
            least=0.5,
            explained=True,
            group=label,
        ),
        stated(
            f"{label}: OB3, largest leakage at NMI below {WEAK}, of budget 1",
            "metrics do not characterise leakage",
            row["largest_at_weak_nmi"],
            least=0.3,
            group=label,
        ),
        ours(f"{label}: OB3, share misordered by NMI", row["misordered_share"], label),
    ]


def _chart(rows: list[dict[str, Any]]) -> Any:
    statements = {
        "asymmetric_share": "OB1: asymmetric pairs",
        "saturated_share": "OB2: saturated at epsilon 8",
        "largest_at_weak_nmi": "OB3: largest at NMI < 0.05",
    }
    bars = [
        {"panel": "Share of pairs, or of the budget", "group": label, "series": row["data"],
         "value": row[key]}
        for key, label in statements.items()
        for row in rows
    ]  # fmt: skip
    return bar_panels(bars, "Share", colour_title="Data", width=660)
