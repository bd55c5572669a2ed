"""Fig. 4c and 4d: the heat map of CVD, and how large leakages are in every dataset."""

from typing import Any

import numpy as np

from seepage.charts.panels import histogram_panels
from seepage.data.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix
from seepage.study.reproduction.findings import Comparison, Finding, absent, ours, printed, stated
from seepage.study.reproduction.paper_data import (
    LABELS,
    REPLICAS,
    SEED,
    STAND_INS,
    Data,
    ordered_pairs,
    plug_in,
)
from seepage.study.statistical import estimate_leakage

__all__ = ["find_heat_map", "find_histogram"]

SIMULATIONS = 100
CLOSE_TO_ZERO = 0.2
"""A leakage below this share of epsilon counts as close to 0."""

HEAT_SHOWS = (
    "A heat map of the leakage between seven attributes of CVD under GRR at epsilon 1. Two values "
    "are printed: 0.3381 from Cardio to Cholesterol, and 0.1769 back. Most cells are close to 0, "
    "and the matrix is not symmetric."
)
HISTOGRAM_SHOWS = (
    "Histograms of the leakage of all ordered pairs of attributes in the four datasets, GRR at "
    "epsilon 1: most values are close to 0."
)
DIRECTIONS = {("cholesterol", "cardio"): 0.3381, ("cardio", "cholesterol"): 0.1769}
"""(target, source): the paper's printed leakage."""


def find_heat_map(data: Data) -> Finding:
    """Return the leakage matrix of CVD, exact and estimated."""
    if not data.at_hand("cardio"):
        return Finding(HEAT_SHOWS, [], [absent("Everything", "Fig. 4c", "CVD is not at hand")])
    pairs = data.pairs("cardio")
    matrix = leakage_matrix(pairs, 1.0, mechanism="grr")
    estimates = plug_in(pairs, "grr", 1.0)
    rows: list[dict[str, Any]] = [
        {
            "target": target,
            "source": source,
            "exact": float(matrix.values[i, j]),
            "statistical": float(estimates[i, j]),
        }
        for i, target in enumerate(pairs.domain.names)
        for j, source in enumerate(pairs.domain.names)
        if i != j
    ]
    simulated = _simulations(pairs)
    comparisons: list[Comparison] = []
    for (target, source), paper in DIRECTIONS.items():
        arrow = f"L({source} → {target})"
        mean, deviation = simulated[target, source]
        comparisons += [
            printed(arrow, paper, matrix[target, source].value, 0.01),
            stated(
                f"{arrow}: distance of the printed value from {SIMULATIONS} simulations, "
                "in standard deviations",
                f"{paper} is one such estimate",
                abs(paper - mean) / deviation,
                most=3.0,
            ),
        ]
    values = ordered_pairs(matrix.values)
    comparisons += [
        stated(
            f"Share of the 42 cells below {CLOSE_TO_ZERO}",
            "most leakages are close to 0",
            float((values < CLOSE_TO_ZERO).mean()),
            least=0.5,
        ),
        stated(
            "L(cardio → cholesterol) over L(cholesterol → cardio)",
            "the leakage is not symmetric",
            matrix["cholesterol", "cardio"].value / matrix["cardio", "cholesterol"].value,
            least=1.5,
        ),
    ]
    notes = (
        "The exact values are 0.3353 and 0.1761. The paper's are estimates from 50 reports a "
        "record; the same estimate, made 100 times with other seeds, scatters with a standard "
        "deviation of 0.002 and lies a little too high on average, so the printed values are what "
        "such a simulation gives.",
    )
    return Finding(HEAT_SHOWS, rows, comparisons, notes, {"": matrix.chart()})


def _simulations(pairs: PairCounts) -> dict[tuple[str, str], tuple[float, float]]:
    """Return mean and standard deviation of the estimates over seeds."""
    drawn: dict[tuple[str, str], list[float]] = {direction: [] for direction in DIRECTIONS}
    for seed in range(SEED, SEED + SIMULATIONS):
        found = estimate_leakage(
            pairs,
            mechanism="grr",
            epsilon=1.0,
            pairs=list(DIRECTIONS),
            replicas=REPLICAS,
            surrogates=0,
            seed=seed,
            threads=1,
        )
        for direction, values in drawn.items():
            values.append(found[direction].plug_in)
    return {d: (float(np.mean(v)), float(np.std(v, ddof=1))) for d, v in drawn.items()}


def find_histogram(data: Data) -> Finding:
    """Return the histogram of leakages in every dataset at hand."""
    names = ("celeba", "adult", "cardio", *STAND_INS)
    tables = data.some(*names)
    if data.records_at_hand("adult"):
        tables["Adult, near reading"] = data.near_adult
    edges = np.linspace(0, 1, 21)
    rows: list[dict[str, Any]] = []
    comparisons: list[Comparison] = []
    for label, pairs in tables.items():
        values = ordered_pairs(leakage_matrix(pairs, 1.0, mechanism="grr").values)
        counts = np.histogram(np.minimum(values, 1.0), edges)[0]
        rows += [
            {"data": label, "from": round(float(low), 2), "to": round(float(low) + 0.05, 2),
             "pairs": int(count), "share": count / len(values)}
            for low, count in zip(edges, counts, strict=False)
        ]  # fmt: skip
        what = f"{label}: share of {len(values):,} ordered pairs below {CLOSE_TO_ZERO}"
        share = float((values < CLOSE_TO_ZERO).mean())
        if label in {LABELS[name] for name in STAND_INS}:
            comparisons.append(ours(what, share))
        else:
            claim = "most leakages are close to 0"
            comparisons.append(stated(what, claim, share, least=0.5, explained=True))
    comparisons += [
        absent(f"{label}: share below {CLOSE_TO_ZERO}", "most are close to 0", "not at hand")
        for label in [*data.missing(*names), "DSS"]
    ]
    notes = (
        "No copy of DSS was found; Diabetes 130 and NIST ACS stand in for it, under their own "
        "names.",
        "In Adult with all its columns and categories, fewer than half of the leakages are close "
        "to 0: categories with a handful of records (one person from Holland-Netherlands) tell "
        "almost surely what those records have elsewhere. In the near reading of the paper's "
        "columns (see Table II), which leaves such categories out, more than half are below 0.2.",
    )
    return Finding(HISTOGRAM_SHOWS, rows, comparisons, notes, {"": _histogram(rows)})


def _histogram(rows: list[dict[str, Any]]) -> Any:
    bars = [
        {"series": row["data"], "low": row["from"], "high": row["to"], "share": row["share"]}
        for row in rows
    ]
    return histogram_panels(bars, "Leakage (nats)", "Share of pairs")
