"""Leakages by mechanism, budget and pair (Fig. 4), and against measures of correlation
(Fig. 5).
"""

import math
from itertools import permutations
from typing import Any

import numpy as np

from reproduction.charts import bar_panels, histogram_panels
from reproduction.fig5_correlation import LARGEST_BUDGET
from reproduction.findings import Finding, Row
from reproduction.paper_data import (
    ALL,
    MECHANISMS,
    SEED,
    Data,
    estimated,
    exact_and_summed,
    grr_leakages,
    ordered_pairs,
    other_datasets,
    plug_in,
)
from seepage._core.arrays import Floats
from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.charts.style import curve_panels
from seepage.leakage.curve import leakage_curve
from seepage.leakage.matrix import leakage_matrix

# (a) Occupation, education and income about sex in Adult, by mechanism ----------------

FIG4A_MECHANISMS = ("grr", "rappor", "exp", "olh", "oue")


SOURCES = ("occupation", "education", "income")


SURROGATES = 10_000


def fig4a(data: Data, found: Finding) -> None:
    """Find Fig. 4 a: the leakages by mechanism and source."""
    pairs = data.pairs("adult")
    chosen = [("sex", source) for source in SOURCES]
    for name in FIG4A_MECHANISMS:
        estimates = estimated(pairs, name, 1.0, pairs=chosen, surrogates=SURROGATES)
        inferred = leakage_matrix(pairs, 1.0, mechanism=name, view="inferred")
        report = leakage_matrix(pairs, 1.0, mechanism=name)
        found.rows += [
            {
                "mechanism": MECHANISMS[name],
                "source": one.source,
                "target": one.target,
                "epsilon": one.epsilon,
                "statistical": one.plug_in,
                "p_value": one.p_value,
                "corrected": one.corrected,
                "corrected_low": one.lower,
                "corrected_high": one.upper,
                "inferred_value": inferred[one.target, one.source].value,
                "whole_report": report[one.target, one.source].value,
            }
            for one in (estimates[pair] for pair in chosen)
        ]
    _compare_fig4a(found)
    panels = {
        "The guessed value (the paper)": ("statistical", "inferred_value"),
        "The whole report": ("whole_report", None),
    }
    bars = [
        {
            "panel": panel,
            "group": row["source"],
            "series": row["mechanism"],
            "value": row[bar],
            "mark": line and row[line],
        }
        for panel, (bar, line) in panels.items()
        for row in found.rows
    ]
    titles: dict[str, Any] = {"colour_title": "Mechanism", "x_title": "Source"}
    found.charts[""] = bar_panels(
        bars, "Leakage about sex (nats)", mark="closed form", **titles
    )


def _compare_fig4a(found: Finding) -> None:
    rows, shape = found.rows, (len(FIG4A_MECHANISMS), len(SOURCES))
    inferred = np.array([row["inferred_value"] for row in rows]).reshape(shape)
    whole = np.array([row["whole_report"] for row in rows]).reshape(shape)
    mean = dict(zip(FIG4A_MECHANISMS, inferred.sum(axis=1) / len(SOURCES), strict=True))
    gaps = [abs(row["statistical"] - row["inferred_value"]) for row in rows]
    p_value = max(row["p_value"] for row in rows)
    found.claim("grr", (inferred[0] / inferred[1:].max(axis=0)).min())
    found.claim("occupation", (inferred[:, 0] / inferred[:, 1]).min())
    found.claim("education", (inferred[:, 1] == inferred.min(axis=1)).sum())
    found.claim(
        "mean", max(mean["rappor"], mean["exp"]) / min(mean["olh"], mean["oue"])
    )
    found.claim("p_value", p_value, estimates=len(rows), surrogates=SURROGATES)
    found.claim("gap", max(gaps))
    found.claim("whole", whole[-1, 0] / whole[0, 0])


# (b) Beard, necklace and smile about sex in CelebA, over budgets ----------------------

FACES = {"No_Beard": "Beard", "Wearing_Necklace": "Necklace", "Smiling": "Smiling"}


EPSILONS = np.arange(0.5, 8.01, 0.5).tolist()


def fig4b(data: Data, found: Finding) -> None:
    """Find Fig. 4 b: leakages by budget, the exact total and the paper's sum."""
    people = data.celeba.select(["Male", *FACES])
    rows = found.rows
    rows += [_budget_row(people, epsilon) for epsilon in EPSILONS]
    necklace = leakage_curve(people.pairs().channel("Male", "Wearing_Necklace"), [6.0])
    shares = [
        row[f"{label}_statistical"] / row["epsilon"]
        for row in rows
        for label in FACES.values()
    ]
    others = data.pairs("celeba")
    levels = [
        leakage_curve(others.channel("Male", name), [6.0]).saturation
        for name in others.domain.names
        if name not in ("Male", "Wearing_Necklace")
    ]
    found.claim("level", necklace.saturation, unrelated=levels)
    found.claim("stable", float(necklace.values[0]) / necklace.saturation)
    found.claim("beard", rows[-1]["Beard"] / rows[-1]["Necklace"])
    found.claim("necklace", rows[-1]["Necklace"] / rows[-1]["Smiling"])
    found.claim("budget", max(shares))
    found.claim("sum", min(row["total_sum"] - row["total_exact"] for row in rows))
    found.claim("tight", max(row["total_sum"] / row["total_exact"] for row in rows))
    series = {label: f"{label} → Male" for label in FACES.values()}
    series |= {
        "total_exact": "Total of Male, exact",
        "total_sum": "Total of Male, sum (assumed)",
        "total_statistical": "Total of Male, estimated (the paper's way)",
    }
    axis = {"panel": "CelebA, GRR", "axis": "Leakage about Male (nats)"}
    points = [
        {**axis, "series": label, "x": row["epsilon"], "y": row[key]}
        for key, label in series.items()
        for row in rows
        if row[key] is not None
    ]
    found.charts[""] = curve_panels(
        points,
        x_title="Epsilon of every attribute",
        series=list(series.values()),
        dashed={series["total_sum"]: 1, series["total_statistical"]: 2},
        diagonal="leakage = epsilon",
    )


def _budget_row(people: Records, epsilon: float) -> Row:
    pairs = people.pairs()
    matrix = leakage_matrix(pairs, epsilon, mechanism="grr")
    estimates = estimated(pairs, "grr", epsilon, target="Male")
    row: Row = {"epsilon": epsilon}
    for source, label in FACES.items():
        row[label] = matrix["Male", source].value
        row[f"{label}_statistical"] = estimates["Male", source].plug_in
    exact, summed = exact_and_summed(people, epsilon)
    row["total_exact"] = exact["Male"]
    row["total_sum"] = summed["Male"]
    row["total_statistical"] = _estimated_total(people, epsilon)
    return row


def _estimated_total(people: Records, epsilon: float) -> float | None:
    """Return the joint estimate from the reports of the sources and of the target
    itself, as in the authors' code; None where it is infinite, as some report was never
    seen with one of the sexes.
    """
    own = Attribute("own report", people.domain["Male"].values)
    codes = np.column_stack([people.codes, people.codes[:, :1]])
    table = Records(Domain([*people.domain, own]), codes, people.weights)
    sources = [own.name, *FACES]
    total = estimated(table, "grr", epsilon, target="Male", sources=sources).only
    if math.isinf(total.plug_in):
        return None
    return total.plug_in


# (c) Heat map of CVD, and (d) histograms of the leakages in every dataset -------------

SIMULATIONS = 100


CLOSE_TO_ZERO = 0.2
"""A leakage below this, at epsilon 1, counts as close to 0."""


DIRECTIONS = {
    "to_cholesterol": ("cholesterol", "cardio"),
    "to_cardio": ("cardio", "cholesterol"),
}
"""(target, source) of the two leakages that the paper prints."""


def fig4c(data: Data, found: Finding) -> None:
    """Find Fig. 4 c: the leakage matrix of CVD, exact and estimated."""
    pairs = data.pairs("cardio")
    matrix = leakage_matrix(pairs, 1.0, mechanism="grr")
    names = pairs.domain.names
    estimates = plug_in(pairs, "grr", 1.0)
    found.rows += [
        {
            "target": target,
            "source": source,
            "exact": float(matrix.values[i, j]),
            "statistical": float(estimates[i, j]),
        }
        for (i, target), (j, source) in permutations(enumerate(names), 2)
    ]
    simulations = [
        estimated(
            pairs, "grr", 1.0, pairs=DIRECTIONS.values(), rng=SEED + number, threads=1
        )
        for number in range(SIMULATIONS)
    ]
    for name, (target, source) in DIRECTIONS.items():
        simulated = [estimates[target, source].plug_in for estimates in simulations]
        printed = found.paper.claims[name].printed or 0.0
        distance = float(abs(printed - np.mean(simulated)) / np.std(simulated, ddof=1))
        words: Any = {"target": target, "source": source, "printed": printed}
        others = ordered_pairs(matrix.values)
        found.claim(
            name,
            float(np.mean(simulated)),
            noise=float(np.std(simulated, ddof=1)),
            unrelated=others[others != matrix[target, source].value],
        )
        found.claim("exact", matrix[target, source].value, **words)
        found.claim("distance", distance, simulations=SIMULATIONS, **words)
    to_cholesterol, to_cardio = (matrix[pair].value for pair in DIRECTIONS.values())
    found.claim("small", float((ordered_pairs(matrix.values) < CLOSE_TO_ZERO).mean()))
    found.claim("asymmetry", to_cholesterol / to_cardio)
    found.charts[""] = matrix.chart()


def fig4d(data: Data, found: Finding) -> None:
    """Find Fig. 4 d: the histogram of the leakages in every dataset present."""
    edges = np.linspace(0, 1, 21)
    leakages = {
        label: grr_leakages(pairs) for label, pairs in data.every_table().items()
    }
    shares = {
        label: float((values < CLOSE_TO_ZERO).mean())
        for label, values in leakages.items()
    }
    for label, values in leakages.items():
        counts = np.histogram(np.minimum(values, 1.0), edges)[0]
        found.rows += [
            {
                "data": label,
                "from": round(float(low), 2),
                "to": round(float(low) + 0.05, 2),
                "pairs": int(count),
                "share": count / len(values),
            }
            for low, count in zip(edges, counts, strict=False)
        ]
        found.claim(
            "small",
            shares[label],
            unrelated=other_datasets(shares, label),
            label=label,
            pairs=len(values),
        )
    found.charts[""] = histogram_panels(found.rows, "Leakage (nats)", "Share of pairs")


# Significance of the estimates --------------------------------------------------------

LEVEL = 0.05


TESTED_SURROGATES = 199
"""Enough for the map of all pairs: the least p-value is 1/200."""


BORDERLINE = (0.02, 0.1)
"""p-values of the map that are computed again with `SURROGATES` surrogates."""


def significance(data: Data, found: Finding) -> None:
    """Find the ordered pairs whose estimate is not significant, by dataset and
    budget.
    """
    for label, pairs in data.some(*ALL).items():
        for epsilon in (1.0, LARGEST_BUDGET):
            estimates = estimated(pairs, "grr", epsilon, surrogates=TESTED_SURROGATES)
            exact = grr_leakages(pairs, epsilon)
            p_values = ordered_pairs(estimates.p_values)
            tested_again = _test_borderline(pairs, epsilon, p_values)
            weak = p_values >= LEVEL
            found.rows.append(
                {
                    "data": label,
                    "epsilon": epsilon,
                    "pairs": len(weak),
                    "tested_again": tested_again,
                    "not_significant": int(weak.sum()),
                    "largest_p_value": float(p_values.max()),
                    "largest_exact": float(exact[weak].max(initial=0.0)),
                }
            )
            words: Any = {"label": label, "epsilon": epsilon, "pairs": len(weak)}
            found.claim("pairs", int(weak.sum()), **words)
    found.words["surrogates"] = TESTED_SURROGATES
    found.words["again"] = f"{SURROGATES:,}"


def _test_borderline(pairs: PairCounts, epsilon: float, p_values: Floats) -> int:
    """Compute borderline p-values again, in place; return their number."""
    low, high = BORDERLINE
    names = pairs.domain.names
    places = list(permutations(names, 2))
    chosen = np.flatnonzero((p_values >= low) & (p_values <= high)).tolist()
    if not chosen:
        return 0
    again = estimated(
        pairs,
        "grr",
        epsilon,
        pairs=[places[place] for place in chosen],
        surrogates=SURROGATES,
    )
    for place in chosen:
        p_values[place] = again[places[place]].p_value
    return len(chosen)
