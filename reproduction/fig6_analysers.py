"""Analysers compared (Fig. 6 b to e)."""

from dataclasses import asdict
from typing import Any

from reproduction.findings import Finding, Row
from reproduction.paper_data import (
    ALL,
    SEED,
    STAND_INS,
    Data,
    other_datasets,
    standing,
)
from seepage.benchmarks.analyser_benchmark import benchmark_analysers
from seepage.charts.benchmark_charts import analyser_chart

BENCHMARK_EPSILONS = (1.0, 3.0, 5.0)


NAMED_TOGETHER = 2
"""Datasets with the same scores up to which the legend names each."""


NO_BETTER_GUESS = (
    "ITS is GRR's exact leakage, and no guess from a report with this epsilon is right "
    "more often than GRR's value"
)


BY_DEFINITION = {
    ("b", "SPL-ANL"): "epsilon is at least every leakage",
    ("c", "SPL-ANL"): "epsilon is at least every leakage",
    ("b", "EXP-ANL"): "EXP realises half of epsilon, and so leaks less",
    ("c", "EXP-ANL"): "EXP realises half of epsilon, and so leaks less",
    (
        "b",
        "GRR-ANL",
    ): "of two values every likely set is one value: GRR attains the bound",
    (
        "b",
        "ITS",
    ): "ITS is by definition GRR's exact leakage, which attains the bound here",
    ("d", "ITS"): "ITS is by definition GRR's exact leakage",
    ("e", "ITS"): NO_BETTER_GUESS,
}
"""Why an analyser lies in its region whatever the data, by panel."""


# Fig. 6 -------------------------------------------------------------------------------

REFERENCES = {
    "bound": "Algorithm 2",
    "grr": "GRR, exact",
    "oue:inferred": "OUE, guessed value",
}


def fig6(data: Data, found: Finding) -> None:
    """Find Fig. 6 b to e: the scores of the analysers, and their regions."""
    tables = data.some(*ALL)
    celeba = data.some("celeba")
    regions = found.paper.regions
    panels = [
        ("b", celeba, "bound", regions["b"]),
        ("c", data.some(*STAND_INS), "bound", regions["c"]),
        ("d", tables, "grr", ["ITS"]),
        ("d", celeba, "grr", ["CBP"]),
        ("e", tables, "oue:inferred", ["ITS"]),
        ("e, estimated", tables, "statistical:oue", ["ITS"]),
    ]
    for panel, shown, reference, analysers in panels:
        epsilons = BENCHMARK_EPSILONS if panel in regions else (1.0,)
        how: Any = {"reference": reference, "analysers": list(analysers), "rng": SEED}
        scores = benchmark_analysers(shown, epsilons, **how).scores
        found.rows += [{"panel": panel, **asdict(score)} for score in scores]
    places = dict.fromkeys(
        (row["panel"], row["data"], row["analyser"]) for row in found.rows
    )
    compared = [place for place in places if place[0] in regions]
    labels = list(tables)
    for place in sorted(compared, key=lambda place: (place[0], labels.index(place[1]))):
        _compare_region(found, *place)
    for panel in regions:
        if any(row["panel"] == panel for row in found.rows):
            found.charts[panel] = _analyser_panel(found.rows, panel)


def _compare_region(found: Finding, panel: str, label: str, analyser: str) -> None:
    """Compare the number of budgets at which an analyser is in the paper's region on a
    dataset.
    """
    region = found.paper.regions[panel][analyser]
    cell = {"panel": panel, "data": label, "analyser": analyser, "region": region}
    hits = sum(cell.items() <= row.items() for row in found.rows)
    elsewhere = {key: cell[key] for key in ("panel", "analyser", "region")}
    tables = {row["data"] for row in found.rows if row["panel"] == panel}
    numbers = {
        table: sum(
            {**elsewhere, "data": table}.items() <= row.items() for row in found.rows
        )
        for table in sorted(tables)
    }
    status = standing(label)
    if analyser == "CBP":
        status = {"untestable": "our reconstruction of a text that is not at hand"}
    elif (panel, analyser) in BY_DEFINITION:
        status = {"by_definition": BY_DEFINITION[panel, analyser]}
    found.claim(
        "region",
        hits,
        status,
        unrelated=other_datasets(numbers, label),
        where=" (on DSS)" if panel == "c" else "",
        label=label,
        **cell,
    )


def _analyser_panel(rows: list[Row], panel: str) -> Any:
    """Return the chart of a panel; panels d and e show all datasets together."""
    chosen = [
        {**row, "reference": REFERENCES[row["reference"]]}
        for row in rows
        if row["panel"] == panel
    ]
    if panel in "bc":
        return analyser_chart(
            [{**row, "data": f"({panel}) {row['data']}"} for row in chosen]
        )
    title = f"({panel}) All datasets"
    return analyser_chart(
        [
            {**row, "data": title, "analyser": f"{row['analyser']}, {row['data']}"}
            for row in _marks_in_one_place_joined(chosen)
        ]
    )


def _marks_in_one_place_joined(rows: list[Row]) -> list[Row]:
    """Return rows with one for all datasets of which an analyser has the same scores,
    as far as a chart can show.
    """
    datasets: dict[tuple[Any, ...], list[str]] = {}
    for row in rows:
        datasets.setdefault(_place(row), []).append(row["data"])
    joined = []
    for row in rows:
        together = datasets[_place(row)]
        if row["data"] == together[0]:
            label = " and ".join(together)
            if len(together) > NAMED_TOGETHER:
                label = f"{len(together)} datasets"
            joined.append({**row, "data": label})
    return joined


def _place(row: Row) -> tuple[Any, ...]:
    """Return where the mark of a score is, and what it is a mark of."""
    scores = (round(row[axis], 6) for axis in ("undershoot", "overshoot"))
    return row["analyser"], row["epsilon"], *scores
