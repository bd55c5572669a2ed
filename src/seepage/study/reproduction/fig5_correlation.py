"""Correlation against leakage: Fig. 5, the observations OB1 to OB3, and the 4 x 4 example."""

from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.charts.panels import bar_panels, spread_panels
from seepage.data.domain import Attribute, Domain
from seepage.data.pairs import PairCounts
from seepage.leakage.bound import leakage_bound
from seepage.leakage.matrix import leakage_matrix
from seepage.study.correlation import correlation_matrix
from seepage.study.reproduction.findings import Claim, Comparison, Finding, Row
from seepage.study.reproduction.paper_data import (
    ALL,
    SEED,
    Data,
    estimated,
    is_stand_in,
    ordered_pairs,
)

# Fig. 5 ------------------------------------------------------------------------------------------

TITLES = {"nmi": "NMI", "pcc": "|PCC|"}
BIN_WIDTH = 0.1
MIN_PAIRS = 5
"""Minimum number of pairs of a bin whose range counts as spread."""


def fig5(data: Data, found: Finding) -> None:
    """Find Fig. 5: mean and spread of the leakage in bins of NMI and |PCC|."""
    from scipy.stats import spearmanr

    measures = _measures(data)
    for metric, title in TITLES.items():
        bins = _bins(title, measures[metric], measures["leakage"])
        rank = float(spearmanr(measures[metric], measures["leakage"]).statistic)
        ranges = [row["most"] - row["least"] for row in bins if row["pairs"] >= MIN_PAIRS]
        found.claim("rank", rank, measure=title)
        found.claim(f"range_{metric}", max(ranges))
        found.rows += bins
    found.not_compared_on(data.absent_labels())
    points = [
        {
            "panel": f"{row['metric']} against leakage",
            "x_title": row["metric"],
            "middle": (row["from"] + row["to"]) / 2,
            "low": max(row["mean"] - row["standard_deviation"], row["least"]),
            "high": min(row["mean"] + row["standard_deviation"], row["most"]),
            **{name: row[name] for name in ("mean", "least", "most", "pairs")},
        }
        for row in found.rows
    ]
    found.charts[""] = spread_panels(points, "Leakage (nats), GRR, epsilon 1")


def _measures(data: Data) -> dict[str, Floats]:
    """Return NMI, |PCC| and leakage (GRR, epsilon 1) of all ordered pairs of all datasets."""
    tables = list(data.some(*ALL).values())
    matrices = {
        "nmi": [correlation_matrix(pairs, "nmi").values for pairs in tables],
        "pcc": [np.abs(correlation_matrix(pairs, "pcc").values) for pairs in tables],
        "leakage": [leakage_matrix(pairs, 1.0, mechanism="grr").values for pairs in tables],
    }
    return {name: np.concatenate([*map(ordered_pairs, m)]) for name, m in matrices.items()}


def _bins(title: str, values: Floats, leakages: Floats) -> list[Row]:
    """Return a row per bin of the measure: number of pairs, mean, deviation, range of leakages."""
    indices = np.minimum((values / BIN_WIDTH).astype(np.int64), round(1 / BIN_WIDTH) - 1)
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


# Observations OB1 to OB3 -------------------------------------------------------------------------

ASYMMETRY_THRESHOLD = 0.1
"""A pair is asymmetric if its two leakages differ by more than this share of the larger."""

LARGEST_BUDGET, SATURATING_BUDGET = 8.0, 700.0
"""The paper's largest budget, and one at which finite leakages have saturated."""

WEAK_NMI = 0.05

OBSERVED = {
    "asymmetric_share": "OB1: asymmetric pairs",
    "saturated_share": "OB2: saturated at epsilon 8",
    "largest_at_weak_nmi": "OB3: largest at NMI < 0.05",
}


def observations(data: Data, found: Finding) -> None:
    """Find the quantities of the observations OB1 to OB3, for every dataset."""
    for label, pairs in data.every_table().items():
        row: Row = {"data": label, **_observed(pairs)}
        found.rows.append(row)
        keys = OBSERVED if is_stand_in(label) else (*OBSERVED, "misordered_share")
        prefix = "stand_in_" if is_stand_in(label) else ""
        for key in keys:
            found.claim(prefix + key, row[key], label=label)
    found.not_compared_on(data.absent_labels())
    panel = "Share of pairs, or of the budget"
    bars = [
        {"panel": panel, "group": title, "series": row["data"], "value": row[key]}
        for key, title in OBSERVED.items()
        for row in found.rows
    ]
    found.charts[""] = bar_panels(bars, "Share", colour_title="Data", width=660)


def _observed(pairs: PairCounts) -> dict[str, float]:
    from scipy.stats import kendalltau

    leakages = leakage_matrix(pairs, 1.0, mechanism="grr").values
    indices = np.triu_indices(len(leakages), 1)
    upper, lower = leakages[indices], leakages.T[indices]
    gaps = np.abs(upper - lower)
    largest = ordered_pairs(leakage_matrix(pairs, LARGEST_BUDGET, mechanism="grr").values)
    saturation = ordered_pairs(leakage_matrix(pairs, SATURATING_BUDGET, mechanism="grr").values)
    nmi, values = ordered_pairs(correlation_matrix(pairs, "nmi").values), ordered_pairs(leakages)
    return {
        "asymmetric_share": float((gaps > ASYMMETRY_THRESHOLD * np.maximum(upper, lower)).mean()),
        "largest_gap": float(gaps.max()),
        "saturated_share": float((largest >= 0.9 * saturation).mean()),
        "finite_level_share": float((saturation < SATURATING_BUDGET / 2).mean()),
        "largest_at_weak_nmi": float(values[nmi < WEAK_NMI].max(initial=0.0)),
        "misordered_share": float((1 - kendalltau(nmi, values).statistic) / 2),
    }


# The 4 x 4 example of the appendix ---------------------------------------------------------------

PERCENT = np.array([[20, 0, 0, 0], [0, 20, 0, 0], [10, 15, 3, 2], [10, 15, 3, 2]])
RECORDS = 100_000
EXPERIMENTS = 50
SAMPLES = 200

BARS = {
    "paper_theoretical": "paper, theoretical",
    "bound": "ours, bound",
    "paper_experimental": "paper, experimental",
    "simulated": "ours, simulated",
}


def example(data: Data, found: Finding) -> None:
    """Find the appendix's example: the leakages in both directions, exact and simulated."""
    exact = _pairs(PERCENT * (RECORDS // 100))
    rng = np.random.default_rng(SEED)
    experiments = [_sample(rng) for _ in range(EXPERIMENTS)]
    for cell in found.paper.table.items():
        row = _example_row(exact, experiments, *cell)
        found.rows.append(row)
        found.comparisons += _compare_example(row)
    bounds = [leakage_bound(_sample(rng).channel("X^", "Xk"), 1.0).value for _ in range(SAMPLES)]
    found.claim("nmi", correlation_matrix(exact, "nmi")["Xk", "X^"])
    found.claim("pcc", correlation_matrix(exact, "pcc")["Xk", "X^"])
    found.claim("noise", float(np.std(bounds)))
    bars = [
        {"panel": f"Epsilon {row['epsilon']:g}", "group": row["direction"].replace("->", "→"),
         "series": series, "value": row[key]}
        for row in found.rows
        for key, series in BARS.items()
    ]  # fmt: skip
    found.charts[""] = bar_panels(
        bars, "Leakage (nats)", width=180, columns=3, x_title="Source → target"
    )


def _example_row(
    exact: PairCounts, experiments: list[PairCounts], cell: str, printed: tuple[float, ...]
) -> Row:
    budget, direction = cell.split(", ")
    epsilon = float(budget)
    source, target = direction.split(" -> ")
    estimates = [
        estimated(
            sampled, "grr", epsilon, pairs=[(target, source)], seed=SEED + number, threads=1
        ).only.plug_in
        for number, sampled in enumerate(experiments)
    ]
    return {
        "epsilon": epsilon,
        "direction": direction,
        "paper_theoretical": printed[0],
        "bound": leakage_bound(exact.channel(target, source), epsilon).value,
        "grr": leakage_matrix(exact, epsilon, mechanism="grr")[target, source].value,
        "paper_experimental": printed[1],
        "simulated": float(np.mean(estimates)),
        "simulated_deviation": float(np.std(estimates, ddof=1)),
    }


def _compare_example(row: Row) -> list[Comparison]:
    name = f"L({row['direction'].replace('->', '→')}), epsilon {row['epsilon']:g}"
    noise = 3 * row["simulated_deviation"] / row["simulated"]
    theory = Claim(f"{name}, theoretical", printed=row["paper_theoretical"], within=0.001)
    experiment = Claim(f"{name}, simulated", printed=row["paper_experimental"], within=noise)
    return [theory.compare(row["bound"]), experiment.compare(row["simulated"])]


def _pairs(joint: Any) -> PairCounts:
    values = ("1", "2", "3", "4")
    domain = Domain([Attribute("Xk", values), Attribute("X^", values)])
    return PairCounts(domain, [joint.sum(axis=1), joint.sum(axis=0)], joint.ravel())


def _sample(rng: np.random.Generator) -> PairCounts:
    counts = rng.multinomial(RECORDS, PERCENT.ravel() / 100)
    return _pairs(counts.reshape(PERCENT.shape))
