"""The paper's worked example, simulated."""

from typing import Any

import msgspec
import numpy as np

from reproduction.charts import bar_panels
from reproduction.findings import Claim, Comparison, Finding, Row
from reproduction.paper_data import SEED, Data, plug_in
from seepage.benchmarks.correlation import correlation_matrix
from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import PairCounts
from seepage.leakage.bound import leakage_bound
from seepage.leakage.matrix import leakage_matrix

# The 4 x 4 example of the appendix ----------------------------------------------------

PERCENT = np.array([[20, 0, 0, 0], [0, 20, 0, 0], [10, 15, 3, 2], [10, 15, 3, 2]])


RECORDS = 100_000


EXPERIMENTS = 50


SAMPLES = 200


OF_A_SAMPLE = "the bound of a sample of 100,000 records, as the experiment draws it"
"""The reading of the printed theoretical values."""


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
        "bound_deviation": float(
            np.std(
                [
                    leakage_bound(sample.channel(target, source), epsilon).value
                    for sample in experiments
                ],
                ddof=1,
            )
        ),
        "grr": leakage_matrix(exact, epsilon, mechanism="grr")[target, source].value,
        "paper_experimental": printed[1],
        "simulated": float(np.mean(estimates)),
        "simulated_deviation": float(np.std(estimates, ddof=1)),
    }


def _compare_example(row: Row) -> list[Comparison]:
    name = f"L({row['direction'].replace('->', '→')}), epsilon {row['epsilon']:g}"
    exact = Claim(f"{name}, theoretical", printed=row["paper_theoretical"], digits=4)
    theory = exact.compare(row["bound"])
    if theory.verdict != "confirmed":
        of_sample = msgspec.structs.replace(exact, chosen=OF_A_SAMPLE)
        theory = of_sample.compare(row["bound"], noise=row["bound_deviation"])
    experiment = Claim(
        f"{name}, simulated", printed=row["paper_experimental"], digits=4
    )
    return [
        theory,
        experiment.compare(row["simulated"], noise=row["simulated_deviation"]),
    ]


def _pairs(joint: Any) -> PairCounts:
    domain = Domain([Attribute(name, tuple("1234")) for name in ("Xk", "X^")])
    return PairCounts(domain, [joint.sum(axis=1), joint.sum(axis=0)], joint.ravel())


def _sample(rng: np.random.Generator) -> PairCounts:
    counts = rng.multinomial(RECORDS, PERCENT.ravel() / 100)
    return _pairs(counts.reshape(PERCENT.shape))
