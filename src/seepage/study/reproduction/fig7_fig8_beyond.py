"""Utility against leakage (Fig. 7), calibrated budgets (Fig. 8), totals that exceed the
sum.
"""

import math
import re
from dataclasses import asdict
from typing import Any

import numpy as np

from seepage import _checks
from seepage.charts import curve_panels
from seepage.charts.panels import agreement_chart, mechanism_chart
from seepage.data import Attribute, Domain
from seepage.data.inputs import check_whole_table
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.form_problem import equal_split
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms import mechanism
from seepage.plan.designed_plan import calibrate
from seepage.study.benchmarks import benchmark_mechanisms
from seepage.study.reproduction.findings import Finding, Row
from seepage.study.reproduction.paper_data import (
    MECHANISMS,
    NEAR_ADULT,
    PRESENT,
    SEED,
    STAND_INS,
    Data,
    exact_and_summed,
    presence,
)
from seepage.totals.total import total_leakage

# Fig. 7 -------------------------------------------------------------------------------

DOCUMENTED = "Adult, documented columns"


def fig7(data: Data, found: Finding) -> None:
    """Find Fig. 7: utility and leakage of the eight mechanisms, and OLH relative to SS."""
    adult = {DOCUMENTED: data.pairs("adult")}
    if presence("adult") == PRESENT:
        adult[NEAR_ADULT] = data.near_adult
    tables = adult | data.some("celeba", "cardio", *STAND_INS)
    for letter, (label, pairs) in zip("abcdef", tables.items(), strict=False):
        rows = _score_rows(label, pairs)
        scores = {row["mechanism"]: row for row in rows if row["epsilon"] == 1}
        keys = "normalised_tcpl_inferred", "normalised_tcpl"
        inferred, whole = (scores["OLH"][key] / scores["SS"][key] for key in keys)
        if label in adult:
            found.claim("frequency", scores["OLH"]["frequency_error"], label=label)
            found.claim("mean", _mean_error(pairs, "olh"), label=label)
            found.claim("leakage", inferred, label=label)
            found.claim("whole", whole, label=label)
        else:
            found.claim("elsewhere", inferred, label=label)
        found.rows += rows
        found.charts[letter] = mechanism_chart(rows).properties(title=label)


def _score_rows(label: str, pairs: PairCounts) -> list[Row]:
    rows = []
    for score in benchmark_mechanisms(pairs, rng=SEED).scores:
        row = {"data": label, **asdict(score), "mechanism": MECHANISMS[score.mechanism]}
        del row["estimates"]
        rows.append(row)
    return rows


def _mean_error(pairs: PairCounts, name: str) -> float:
    """Return the expected NMSE of the frequencies of one attribute, averaged over
    attributes.
    """
    errors = []
    for attribute, marginal in zip(pairs.domain, pairs.marginals, strict=True):
        frequencies = marginal / pairs.records
        variance = mechanism(name, attribute.size, 1.0).variance(
            pairs.records, frequencies
        )
        errors.append(float(variance.sum() / (frequencies**2).sum()))
    return sum(errors) / len(errors)


# Fig. 8 -------------------------------------------------------------------------------

STEP = 0.01
"""The increment of the budget in the paper's Algorithm 3."""


def calibrate_as_the_paper(pairs: PairCounts, limit: Any) -> float:
    """Return the budget of the paper's Algorithm 3, which exceeds the limit.

    It starts at limit / n, increases the budget by `STEP` while the largest total is
    below the limit, and returns the budget after the last increase: one step beyond the
    first that reaches the limit.  The inner loop includes j = i, whose leakage about
    itself is the budget.

    Parameters
    ----------
    pairs
        The pair counts of a table, not of a sample.
    limit
        The maximum total of every attribute, in nats.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.study.reproduction.fig7_fig8_beyond import calibrate_as_the_paper
    >>> budget = calibrate_as_the_paper(sp.load_pairs("adult"), 5.0)
    >>> totals = budget + sp.leakage_matrix(sp.load_pairs("adult"), budget).values.sum(
    ...     axis=1
    ... )
    >>> bool(totals.max() > 5.0)
    True
    """
    allowed = _checks.epsilon(limit, "limit")
    check_whole_table(pairs, "sum", "budgets")
    budget = allowed / len(pairs.domain)
    largest = 0.0
    while largest < allowed:
        largest = max(largest, _largest_sum(pairs, budget))
        budget += STEP
    return budget


def _largest_sum(pairs: PairCounts, budget: float) -> float:
    """Return the largest sum of a budget and the leakages about an attribute."""
    return float((budget + leakage_matrix(pairs, budget).values.sum(axis=1)).max())


LIMITS = (1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0)

SUBSET_SIZE = 21
"""The number of attributes in the paper's figure."""

SELECTION_BUDGET = 0.3
"""The budget at which the most favourable subset is selected."""

SERIES = {
    "celeba": "calibrated, CelebA's own",
    "lfw": "calibrated, LFW's",
    "spl": "equal split (SPL)",
}


def fig8(data: Data, found: Finding) -> None:
    """Find Fig. 8: budgets and errors by limit, for all shared attributes and two
    subsets.
    """
    celeba, lfw = _shared_attributes(data)
    names = list(celeba.domain.names)
    favourable = _most_favourable(celeba)
    subsets = {
        f"all {len(names)}": names,
        f"first {SUBSET_SIZE}": names[:SUBSET_SIZE],
        f"most favourable {SUBSET_SIZE}": favourable,
    }
    for label, chosen in subsets.items():
        selected = celeba.select(chosen), lfw.select(chosen)
        rows = [_limit_row(label, *selected, limit) for limit in LIMITS]
        _compare_subset(found, label, rows)
        found.rows += rows
    found.words |= {"shared": len(names), "favourable": ", ".join(favourable)}
    found.charts[""] = _budget_chart(found.rows)


def _shared_attributes(data: Data) -> tuple[PairCounts, PairCounts]:
    """Return CelebA and LFW with their common attributes, under CelebA's names."""
    celeba = data.pairs("celeba")
    lfw = data.pairs("lfw")
    lfw_names = {_normalised(name): name for name in lfw.domain.names}
    shared = [name for name in celeba.domain.names if _normalised(name) in lfw_names]
    chosen = [lfw_names[_normalised(name)] for name in shared]
    return celeba.select(shared), lfw.select(chosen).rename(
        dict(zip(chosen, shared, strict=True))
    )


def _normalised(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.casefold())


def _most_favourable(pairs: PairCounts) -> list[str]:
    """Return `SUBSET_SIZE` attributes: greedily remove the one that lowers the largest
    sum most.
    """
    names = list(pairs.domain.names)
    values = leakage_matrix(pairs, SELECTION_BUDGET).values
    while len(names) > SUBSET_SIZE:
        largest_without = [
            np.delete(np.delete(values, k, 0), k, 1).sum(axis=1).max()
            for k in range(len(names))
        ]
        removed = int(np.argmin(largest_without))
        values = np.delete(np.delete(values, removed, 0), removed, 1)
        del names[removed]
    return names


def _equal_budget(pairs: PairCounts, limit: float) -> float:
    """Return the largest equal budget whose sums of leakages are within the limit."""
    return float(calibrate(pairs, limit, guarantee="sum", audit=False).epsilons[0])


def _limit_row(label: str, celeba: PairCounts, lfw: PairCounts, limit: float) -> Row:
    budgets = {
        "spl": equal_split(limit, len(celeba.domain)),
        "celeba": _equal_budget(celeba, limit),
        "lfw": _equal_budget(lfw, limit),
        "algorithm_3": calibrate_as_the_paper(celeba, limit),
    }
    row: Row = {"attributes": label, "limit": limit}
    row |= {f"budget_{name}": budget for name, budget in budgets.items()}
    row |= {
        f"error_{name}": 1 / (1 + math.exp(budget)) for name, budget in budgets.items()
    }
    sums = {
        f"sum_at_{name}": _largest_sum(celeba, budgets[name])
        for name in ("lfw", "algorithm_3")
    }
    return row | sums


def _compare_subset(found: Finding, label: str, rows: list[Row]) -> None:
    gains = [row["budget_celeba"] / row["budget_spl"] for row in rows]
    values = {
        "gain": math.exp(float(np.mean(np.log(gains)))),
        "near": min(row["budget_lfw"] / row["budget_celeba"] for row in rows),
        "error": max(row["error_celeba"] / row["error_spl"] for row in rows),
        "lfw": sum(row["sum_at_lfw"] > row["limit"] for row in rows),
        "algorithm_3": sum(row["sum_at_algorithm_3"] > row["limit"] for row in rows),
    }
    favourable = (
        {"chosen": "the most favourable of the sets tried"} if "most" in label else {}
    )
    for name, value in values.items():
        found.claim(name, value, favourable, label=label, limits=len(rows))


def _budget_chart(rows: list[Row]) -> Any:
    """Return the chart of budgets (a) and errors (b) by limit, for each set of
    attributes.
    """
    quantities = {"budget": "(a) {} attributes", "error": "(b) {} attributes"}
    axes = {"budget": "Budget of each attribute", "error": "0-1 error of GRR"}
    points = [
        {
            "panel": panel.format(row["attributes"]),
            "axis": axes[quantity],
            "series": name,
            "x": row["limit"],
            "y": row[f"{quantity}_{key}"],
        }
        for row in rows
        for quantity, panel in quantities.items()
        for key, name in SERIES.items()
    ]
    return curve_panels(
        points,
        x_title="Allowed total (nats)",
        series=list(SERIES.values()),
        dashed={SERIES["lfw"]: 1, SERIES["spl"]: 2},
    )


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
