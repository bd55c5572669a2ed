"""Draw the pictures of the documentation from the bundled Adult counts.

With `--committed` those of README, which are part of the repository; a test keeps them current.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import seepage as sp
from seepage.charts.panels import about_chart
from seepage.designs.strategies import CALIBRATED, DESIGN, OPTIMAL_SMP, SPLIT

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
ASSETS = Path(__file__).parents[1] / "docs" / "assets"

EPSILONS = np.linspace(0.0, 8.0, 81).tolist()


def matrix(pairs: sp.PairCounts) -> Any:
    """Return the heat map of all leakages at epsilon 1."""
    return sp.leakage_matrix(pairs, epsilon=1.0).chart()


def curve(pairs: sp.PairCounts) -> Any:
    """Return the leakage of relationship about sex against epsilon."""
    return sp.leakage_curve(pairs.channel("sex", "relationship"), EPSILONS).chart()


def analysers(pairs: sp.PairCounts) -> Any:
    """Return undershoot against overshoot of every analyser."""
    return sp.benchmark_analysers({"adult": pairs}, [1.0]).chart()


def mechanisms(pairs: sp.PairCounts) -> Any:
    """Return utility against leakage of every mechanism."""
    return sp.benchmark_mechanisms(pairs, [1.0, 3.0]).chart()


def shaped(pairs: sp.PairCounts) -> Any:
    """Return the reports of a shaped mechanism for occupation with little leakage about sex."""
    made = sp.shape(pairs, "occupation", limit={"sex": 0.25}, epsilon=3.0, scope="table")
    return made.chart()


def about_sex(pairs: sp.PairCounts) -> Any:
    """Return the leakage about sex of a noisy answer about each other attribute, as a bar chart."""
    others = [name for name in pairs.domain.names if name not in ("sex", "fnlwgt", "education-num")]
    found = sp.leakage_matrix(pairs.select(["sex", *others]), 1.0, mechanism="grr")
    rows = [
        {"source": name, "leakage": found["sex", name].value, "delta": 0.0, "own": False}
        for name in others
    ]
    rows.append({"source": "sex itself, if it is asked", "leakage": 1.0, "delta": 0.0, "own": True})
    how = "randomised response, epsilon 1"
    return about_chart(rows, "sex", f"Nobody was asked. Adult, {pairs.records:,} people, {how}")


STRATEGIES = {
    DESIGN: "seepage design: some questions each",
    OPTIMAL_SMP: "one question each (SMP)",
    CALIBRATED: "everything, calibrated",
    SPLIT: "everything, limit split equally (SPL)",
}
"""Strategies of a design's comparison in the order of the picture, with their labels."""


def people_needed(_: sp.PairCounts) -> Any:
    """Return the number of people that each strategy needs for the precision of a design."""
    import altair as alt

    found = sp.find_design(
        sp.make_survey(100_000), 2.0, shape="never", drop=["employment", "region"]
    )
    errors = {one.name: one.error for one in found.comparison}
    needed = [round(10_000 * errors[name] / found.error, -2) for name in STRATEGIES]
    rows = [
        {"strategy": name, "people": people}
        for name, people in zip(STRATEGIES.values(), needed, strict=True)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(  # type: ignore[no-untyped-call]
        y=alt.Y("strategy:N", sort=None, title=None, axis=alt.Axis(labelLimit=280)),
        x=alt.X(
            "people:Q",
            title="people who must be asked",
            scale=alt.Scale(domain=[0, 1.15 * max(needed)]),
            axis=alt.Axis(format=",d", tickCount=4),
        ),
    )
    ours = alt.datum.strategy == STRATEGIES[DESIGN]
    colour = alt.when(ours).then(alt.value("#0072B2")).otherwise(alt.value("#999999"))
    bars = base.mark_bar().encode(color=colour)
    texts = base.mark_text(align="left", dx=4, fontSize=12).encode(
        text=alt.Text("people:Q", format=",d")
    )
    title = alt.TitleParams(
        "The same limit, the same precision, fewer people",
        subtitle=[
            f"A synthetic survey of {len(found.domain)} attributes; all reports of a person "
            "together leak at most 2 nats about any of them,",
            f"with confidence {found.confidence} for the population that its "
            f"{found.people:,} records were drawn from",
        ],
        anchor="start",
        fontSize=16,
        subtitleFontSize=12,
    )
    chart = (bars + texts).properties(title=title, width=440, height=130)
    return chart.configure_axis(labelFontSize=12, titleFontSize=12, grid=False).configure_view(
        stroke=None
    )


COMMITTED: dict[str, Callable[[sp.PairCounts], Any]] = {
    "about-sex.svg": about_sex,
    "people-needed.svg": people_needed,
}

PAGES = ("adult.html", "plan.html")

CHARTS: dict[str, Callable[[sp.PairCounts], Any]] = {
    "matrix.svg": matrix,
    "curve.svg": curve,
    "analysers.svg": analysers,
    "mechanisms.svg": mechanisms,
    "shaped.svg": shaped,
}


def make_pictures(folder: Path) -> None:
    """Write every picture, the report page of Adult, and the page of a plan, into a folder."""
    pairs = sp.load_pairs("adult")
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in CHARTS.items():
        sp.save_chart(draw(pairs), folder / name)
    command = "seepage analyse adult --epsilon 1 --limit 5 --report adult.html"
    sp.analyse("adult", 1.0, limit=5.0, command=command).report(folder / "adult.html")
    plan = sp.design(sp.make_survey(100_000), 2.0, drop=["employment", "region"])
    plan.report(folder / "plan.html", name="A synthetic survey")


def make_committed(folder: Path) -> None:
    """Write README's pictures into a folder."""
    pairs = sp.load_pairs("adult")
    for name, draw in COMMITTED.items():
        sp.save_chart(draw(pairs), folder / name)


if __name__ == "__main__":
    if "--committed" in sys.argv:
        make_committed(ASSETS)
    else:
        make_pictures(PICTURES)
