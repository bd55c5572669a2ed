"""Totals beyond the paper's sum."""

import numpy as np

from reproduction.charts import agreement_chart
from reproduction.findings import Finding, Row
from reproduction.paper_data import PRESENT, SEED, Data, exact_and_summed, presence
from seepage.channel.domain import Attribute, Domain
from seepage.channel.records import Records
from seepage.totals.total import total_leakage

# Beyond the paper ---------------------------------------------------------------------

SETS = 60


SET_SIZE = 10
"""Random sets of attributes of CelebA whose exact totals are computed, and their
size."""


SET_EPSILONS = (0.5, 1.0, 2.0)


BUDGET = 0.9264
"""The largest equal budget of all attributes of CelebA with sums of leakages of at most
10."""


def beyond(data: Data, found: Finding) -> None:
    """Find exact totals and witnesses that exceed the paper's sum."""
    found.claim("coins", _coins())
    if presence("celeba") != PRESENT:
        reason = "the data are not at hand"
        found.not_compared("Where the sum is exceeded", "never", reason, "Totals")
        return
    totals = _exact_totals(data.celeba)
    witnesses = _witnesses(data.celeba)
    excess = [row["ours"] - row["paper_way"] for row in totals]
    largest = max(witnesses, key=lambda row: float(row["ours"]))
    found.claim("exceeded", sum(gap > 0 for gap in excess), targets=len(totals))
    found.claim("excess", max(excess))
    found.claim("witness", largest["ours"], target=largest["name"])
    found.claim("found", sum(row["ours"] > row["paper_way"] for row in witnesses))
    found.rows += totals + witnesses
    points = [
        {
            "panel": "CelebA: 60 random sets of 10 attributes",
            "kind": "target",
            "series": f"epsilon {row['epsilon']:g}",
            "label": row["name"],
            "x": row["paper_way"],
            "y": row["ours"],
        }
        for row in sorted(totals, key=lambda row: float(row["epsilon"]))
    ]
    titles = "Budget plus sum of leakages (nats)", "Exact total (nats)"
    found.charts[""] = agreement_chart(points, *titles, log=False)


def _row(part: str, name: str, epsilon: float, paper_way: float, ours: float) -> Row:
    row = {"part": part, "name": name, "epsilon": epsilon}
    return {**row, "paper_way": float(paper_way), "ours": float(ours)}


def _coins() -> float:
    """Return the exact total minus the sum of leakages, for two coins and their
    difference.
    """
    domain = Domain(
        [Attribute(name, ("0", "1")) for name in ("first", "second", "differ")]
    )
    coins = Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    exact, summed = exact_and_summed(coins, 1.0)
    return exact["differ"] - summed["differ"]


def _exact_totals(people: Records) -> list[Row]:
    """Return the sum of leakages and the exact total of every target in random sets."""
    rng = np.random.default_rng(SEED)
    rows = []
    for number in range(SETS):
        chosen = np.sort(
            rng.choice(len(people.domain), SET_SIZE, replace=False)
        ).tolist()
        subset = people.select(chosen)
        epsilon = SET_EPSILONS[number % len(SET_EPSILONS)]
        exact, summed = exact_and_summed(subset, epsilon)
        rows += [
            _row(
                "exact total",
                f"set {number + 1}: {name}",
                epsilon,
                summed[name],
                exact[name],
            )
            for name in subset.domain.names
        ]
    return rows


def _witnesses(people: Records) -> list[Row]:
    """Return the sum of leakages and the witness, for every attribute of CelebA."""
    summed = total_leakage(people.pairs(), BUDGET, mechanism="grr", guarantee="sum")
    witness = total_leakage(
        people, BUDGET, mechanism="grr", guarantee="witness", rng=SEED
    )
    return [
        _row("witness", name, BUDGET, summed[name], witness[name])
        for name in people.domain.names
    ]
