"""Fig. 4: leakage by mechanism (a), by budget (b), of all pairs of CVD (c), histograms (d)."""

from itertools import permutations

import numpy as np

from seepage.charts.panels import bar_panels, curve_panels, histogram_panels
from seepage.data.records import Records
from seepage.leakage.bound import leakage_curve
from seepage.leakage.matrix import leakage_matrix
from seepage.study.reproduction.findings import Finding, Row
from seepage.study.reproduction.paper_data import (
    MECHANISMS,
    SEED,
    Data,
    estimated,
    exact_and_summed,
    is_stand_in,
    ordered_pairs,
    plug_in,
)

# (a) Occupation, education and income about sex in Adult, by mechanism --------------------------

FIG4A_MECHANISMS = ("grr", "rappor", "exp", "olh", "oue")
SOURCES = ("occupation", "education", "income")
SURROGATES = 999


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
                "source": source,
                "target": target,
                "epsilon": 1.0,
                "statistical": estimates[target, source].plug_in,
                "interval_low": estimates[target, source].lower,
                "interval_high": estimates[target, source].upper,
                "p_value": estimates[target, source].p_value,
                "inferred_value": inferred[target, source].value,
                "whole_report": report[target, source].value,
            }
            for target, source in chosen
        ]
    _compare_fig4a(found)
    panels = {
        "The guessed value (the paper)": ("statistical", "inferred_value"),
        "The whole report": ("whole_report", None),
    }
    bars = [
        {"panel": panel, "group": row["source"], "series": row["mechanism"], "value": row[bar],
         "mark": line and row[line]}
        for panel, (bar, line) in panels.items()
        for row in found.rows
    ]  # fmt: skip
    found.charts[""] = bar_panels(
        bars,
        "Leakage about sex (nats)",
        mark="closed form",
        colour_title="Mechanism",
        x_title="Source",
    )


def _compare_fig4a(found: Finding) -> None:
    rows = found.rows
    inferred = {(row["mechanism"], row["source"]): row["inferred_value"] for row in rows}
    whole = {(row["mechanism"], row["source"]): row["whole_report"] for row in rows}
    names = [MECHANISMS[name] for name in FIG4A_MECHANISMS]
    mean = {name: sum(inferred[name, source] for source in SOURCES) / 3 for name in names}
    largest = {s: max(inferred[name, s] for name in names[1:]) for s in SOURCES}
    smallest = {name: min(inferred[name, s] for s in SOURCES) for name in names}
    ratios = [inferred[name, "occupation"] / inferred[name, "education"] for name in names]
    p_value = max(row["p_value"] for row in rows)
    gaps = [abs(row["statistical"] - row["inferred_value"]) for row in rows]
    found.claim("grr", min(inferred["GRR", s] / largest[s] for s in SOURCES))
    found.claim("occupation", min(ratios))
    found.claim("education", sum(inferred[n, "education"] == smallest[n] for n in names))
    found.claim("mean", max(mean["RAPPOR"], mean["EXP"]) / min(mean["OLH"], mean["OUE"]))
    found.claim("p_value", p_value, estimates=len(rows), surrogates=SURROGATES)
    found.claim("gap", max(gaps))
    found.claim("whole", whole["OUE", "occupation"] / whole["GRR", "occupation"])


# (b) Beard, necklace and smile about sex in CelebA, over budgets --------------------------------

FACES = {"No_Beard": "Beard", "Wearing_Necklace": "Necklace", "Smiling": "Smiling"}
EPSILONS = np.arange(0.5, 8.01, 0.5).tolist()


def fig4b(data: Data, found: Finding) -> None:
    """Find Fig. 4 b: leakages by budget, the exact total and the paper's sum."""
    people = data.celeba.select(["Male", *FACES])
    rows = found.rows
    rows += [_budget_row(people, epsilon) for epsilon in EPSILONS]
    necklace = leakage_curve(people.pairs().channel("Male", "Wearing_Necklace"), [6.0])
    shares = [row[label] / row["epsilon"] for row in rows for label in FACES.values()]
    found.claim("level", necklace.saturation)
    found.claim("stable", float(necklace.values[0]) / necklace.saturation)
    found.claim("beard", rows[-1]["Beard"] / rows[-1]["Necklace"])
    found.claim("necklace", rows[-1]["Necklace"] / rows[-1]["Smiling"])
    found.claim("budget", max(shares))
    found.claim("sum", min(row["total_sum"] - row["total_exact"] for row in rows))
    found.claim("tight", max(row["total_sum"] / row["total_exact"] for row in rows))
    series = {label: f"{label} → Male" for label in FACES.values()}
    series |= {"total_exact": "Total of Male, exact", "total_sum": "Total of Male, sum (assumed)"}
    axis = {"panel": "CelebA, GRR", "axis": "Leakage about Male (nats)"}
    found.charts[""] = curve_panels(
        [
            {**axis, "series": label, "x": row["epsilon"], "y": row[key]}
            for key, label in series.items()
            for row in rows
        ],
        x_title="Epsilon of every attribute",
        series=list(series.values()),
        dashed={series["total_sum"]: 1},
        diagonal="leakage = epsilon",
    )


def _budget_row(people: Records, epsilon: float) -> Row:
    pairs = people.pairs()
    matrix = leakage_matrix(pairs, epsilon, mechanism="grr")
    estimates = estimated(pairs, "grr", epsilon, target="Male")
    joint = estimated(people, "grr", epsilon, target="Male", sources=list(FACES)).only
    row: Row = {"epsilon": epsilon}
    for source, label in FACES.items():
        row[label] = matrix["Male", source].value
        row[f"{label}_statistical"] = estimates["Male", source].plug_in
    exact, summed = exact_and_summed(people, epsilon)
    row |= {"total_exact": exact["Male"], "total_sum": summed["Male"]}
    row["total_statistical"] = epsilon + joint.plug_in
    return row


# (c) Heat map of CVD, and (d) histograms of the leakages in every dataset -----------------------

SIMULATIONS = 100
CLOSE_TO_ZERO = 0.2
"""A leakage below this, at epsilon 1, counts as close to 0."""

DIRECTIONS = {"to_cholesterol": ("cholesterol", "cardio"), "to_cardio": ("cardio", "cholesterol")}
"""(target, source) of the two leakages that the paper prints."""


def fig4c(data: Data, found: Finding) -> None:
    """Find Fig. 4 c: the leakage matrix of CVD, exact and estimated."""
    pairs = data.pairs("cardio")
    matrix, names = leakage_matrix(pairs, 1.0, mechanism="grr"), pairs.domain.names
    estimates = plug_in(pairs, "grr", 1.0)
    found.rows += [
        {"target": target, "source": source, "exact": float(matrix.values[i, j]),
         "statistical": float(estimates[i, j])}
        for (i, target), (j, source) in permutations(enumerate(names), 2)
    ]  # fmt: skip
    simulations = [
        estimated(pairs, "grr", 1.0, pairs=DIRECTIONS.values(), seed=SEED + number, threads=1)
        for number in range(SIMULATIONS)
    ]
    for name, (target, source) in DIRECTIONS.items():
        simulated = [estimates[target, source].plug_in for estimates in simulations]
        printed = found.paper.claims[name].printed or 0.0
        distance = float(abs(printed - np.mean(simulated)) / np.std(simulated, ddof=1))
        words = {"target": target, "source": source, "printed": printed}
        found.claim(name, matrix[target, source].value)
        found.claim("distance", distance, simulations=SIMULATIONS, **words)
    to_cholesterol, to_cardio = (matrix[pair].value for pair in DIRECTIONS.values())
    found.claim("small", float((ordered_pairs(matrix.values) < CLOSE_TO_ZERO).mean()))
    found.claim("asymmetry", to_cholesterol / to_cardio)
    found.charts[""] = matrix.chart()


def fig4d(data: Data, found: Finding) -> None:
    """Find Fig. 4 d: the histogram of the leakages in every dataset present."""
    edges = np.linspace(0, 1, 21)
    for label, pairs in data.every_table().items():
        values = ordered_pairs(leakage_matrix(pairs, 1.0, mechanism="grr").values)
        counts = np.histogram(np.minimum(values, 1.0), edges)[0]
        found.rows += [
            {"data": label, "from": round(float(low), 2), "to": round(float(low) + 0.05, 2),
             "pairs": int(count), "share": count / len(values)}
            for low, count in zip(edges, counts, strict=False)
        ]  # fmt: skip
        share = float((values < CLOSE_TO_ZERO).mean())
        kind = "stand_in" if is_stand_in(label) else "small"
        found.claim(kind, share, label=label, pairs=len(values))
    found.not_compared_on(data.absent_labels())
    bars = [
        {"series": row["data"], "low": row["from"], "high": row["to"], "share": row["share"]}
        for row in found.rows
    ]
    found.charts[""] = histogram_panels(bars, "Leakage (nats)", "Share of pairs")
