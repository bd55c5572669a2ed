"""Leakages by mechanism, budget and pair (Fig. 4), and against measures of correlation
(Fig. 5).
"""

from itertools import permutations
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.charts import curve_panels
from seepage.charts.panels import bar_panels, histogram_panels, spread_panels
from seepage.data import Attribute, Domain
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.leakage.channel_leakage import leakage_bound, leakage_curve
from seepage.leakage.matrix import leakage_matrix
from seepage.study.correlation import Metric, correlation_matrix
from seepage.study.reproduction.findings import Claim, Comparison, Finding, Row
from seepage.study.reproduction.paper_data import (
    ALL,
    MECHANISMS,
    PAPERS,
    SEED,
    Data,
    correlations,
    estimated,
    exact_and_summed,
    grr_leakages,
    ordered_pairs,
    plug_in,
)

# (a) Occupation, education and income about sex in Adult, by mechanism ----------------

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
    found.claim("level", necklace.saturation)
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
    }
    axis = {"panel": "CelebA, GRR", "axis": "Leakage about Male (nats)"}
    points = [
        {**axis, "series": label, "x": row["epsilon"], "y": row[key]}
        for key, label in series.items()
        for row in rows
    ]
    found.charts[""] = curve_panels(
        points,
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
    totals = {"total_exact": exact["Male"], "total_sum": summed["Male"]}
    return row | totals | {"total_statistical": epsilon + joint.plug_in}


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
        values = grr_leakages(pairs)
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
        share = float((values < CLOSE_TO_ZERO).mean())
        found.claim("small", share, label=label, pairs=len(values))
    found.charts[""] = histogram_panels(found.rows, "Leakage (nats)", "Share of pairs")


# Significance of the estimates --------------------------------------------------------

LEVEL = 0.05
TESTED_SURROGATES = 199
"""Enough for the level: the least p-value is 1/200."""


def significance(data: Data, found: Finding) -> None:
    """Find the ordered pairs whose estimate is not significant, by dataset and budget."""
    for label, pairs in data.some(*ALL).items():
        for epsilon in (1.0, LARGEST_BUDGET):
            estimates = estimated(pairs, "grr", epsilon, surrogates=TESTED_SURROGATES)
            exact = grr_leakages(pairs, epsilon)
            p_values = ordered_pairs(estimates.p_values)
            weak = p_values >= LEVEL
            found.rows.append(
                {
                    "data": label,
                    "epsilon": epsilon,
                    "pairs": len(weak),
                    "not_significant": int(weak.sum()),
                    "largest_p_value": float(p_values.max()),
                    "largest_exact": float(exact[weak].max(initial=0.0)),
                }
            )
            words: Any = {"label": label, "epsilon": epsilon, "pairs": len(weak)}
            found.claim("pairs", int(weak.sum()), **words)
    found.words["surrogates"] = TESTED_SURROGATES


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
    for label, pairs in data.every_table().items():
        row: Row = {"data": label, **_observed(pairs)}
        found.rows.append(row)
        for key in found.paper.claims:
            found.claim(key, row[key], label=label)


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


# The 4 x 4 example of the appendix ----------------------------------------------------

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
    """Find the appendix's example: the leakages in both directions, exact and
    simulated.
    """
    exact = _pairs(PERCENT * (RECORDS // 100))
    rng = np.random.default_rng(SEED)
    experiments = [_sample(rng) for _ in range(EXPERIMENTS)]
    for cell in found.paper.table.items():
        row = _example_row(exact, experiments, *cell)
        found.rows.append(row)
        found.comparisons += _compare_example(row)
    bounds = [
        leakage_bound(_sample(rng).channel("X^", "Xk"), 1.0).value
        for _ in range(SAMPLES)
    ]
    found.claim("nmi", correlation_matrix(exact, "nmi")["Xk", "X^"])
    found.claim("pcc", correlation_matrix(exact, "pcc")["Xk", "X^"])
    found.claim("noise", float(np.std(bounds)))
    bars = [
        {
            "panel": f"Epsilon {row['epsilon']:g}",
            "group": row["direction"].replace("->", "→"),
            "series": series,
            "value": row[key],
        }
        for row in found.rows
        for key, series in BARS.items()
    ]
    found.charts[""] = bar_panels(bars, "Leakage (nats)", x_title="Source → target")


def _example_row(
    exact: PairCounts,
    experiments: list[PairCounts],
    cell: str,
    printed: tuple[float, ...],
) -> Row:
    budget, direction = cell.split(", ")
    epsilon = float(budget)
    (source, target) = direction.split(" -> ")
    domain = exact.domain
    place = (domain.index(target), domain.index(source))
    samples = enumerate(experiments)
    estimates = [
        plug_in(sample, "grr", epsilon, number)[place] for number, sample in samples
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
    theory = Claim(
        f"{name}, theoretical", printed=row["paper_theoretical"], within=0.001
    )
    experiment = Claim(
        f"{name}, simulated", printed=row["paper_experimental"], within=noise
    )
    return [theory.compare(row["bound"]), experiment.compare(row["simulated"])]


def _pairs(joint: Any) -> PairCounts:
    domain = Domain([Attribute(name, tuple("1234")) for name in ("Xk", "X^")])
    return PairCounts(domain, [joint.sum(axis=1), joint.sum(axis=0)], joint.ravel())


def _sample(rng: np.random.Generator) -> PairCounts:
    counts = rng.multinomial(RECORDS, PERCENT.ravel() / 100)
    return _pairs(counts.reshape(PERCENT.shape))
