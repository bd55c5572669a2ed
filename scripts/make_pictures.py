"""Draw the pictures of the documentation from the bundled Adult counts.

With `--committed` README's first one, which a test keeps current; with `--plan` those
of one plan from Adult's records (in `SEEPAGE_DATA`): its strategies, and screenshots by
Chromium of its page, its questionnaire, its evidence, the page of its results and that
of an analysis; with `--app` that of the app.  All are part of the repository but for
the pages.
"""

import math
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

import seepage as sp
from seepage.charts.result_charts import about_chart
from seepage.charts.style import chart_of, finish
from seepage.designs.strategies import NO_NOISE, OPTIMAL_SMP, SPLIT
from seepage.plan.plan_precision import THIS_PLAN, plan_precision

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
ASSETS = Path(__file__).parents[1] / "docs" / "assets"

EPSILONS = np.linspace(0.0, 8.0, 17).tolist()


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
    """Return a heat map of the reports about occupation that leak little about sex.

    One column for each of the likeliest reports y: ln P(y | occupation) / P(y).
    """
    table = pairs.table("occupation", "sex")
    people = sp.Records.from_joint(pairs.domain.select(["occupation", "sex"]), table)
    limits = {"occupation": 3.0, "sex": 0.25}
    plan = sp.design(people, limits, left_out=["sex"], scope="table")
    channel = plan.form_mechanisms[0]["report"].channel()
    chances = table.sum(axis=1) / table.sum() @ channel
    names = people.domain["occupation"].values
    order = [
        names[cell] for cell in np.argsort(table[:, 0] / table.sum(axis=1)).tolist()
    ]
    rows: list[dict[str, Any]] = [
        {
            "cell": name,
            "report": number,
            "ratio": math.log(channel[cell, report] / chances[report]),
        }
        for number, report in enumerate(_decreasing(chances)[:60], 1)
        for cell, name in enumerate(names)
    ]
    largest = max(abs(row["ratio"]) for row in rows)
    colour = alt.Color(
        "ratio:Q",
        title="ln P(report | value) / P(report)",
        scale=alt.Scale(scheme="blueorange", domain=[-largest, largest]),
    )
    reports = alt.X(
        "report:O",
        title="Report, the likeliest first",
        axis=alt.Axis(labels=False, ticks=False),
    )
    cells = alt.Y("cell:N", sort=order, title=None, axis=alt.Axis(labelLimit=260))
    title = alt.TitleParams(
        "What each report says", subtitle="occupation; at most 0.25 about sex"
    )
    chart = chart_of(rows).mark_rect().encode(x=reports, y=cells, color=colour)
    return finish(chart.properties(width=460, height=22 * len(names), title=title))


def _decreasing(chances: Any) -> list[int]:
    """Return indices by decreasing chance, equal ones in their order whatever the last
    digits.
    """
    order: list[int] = np.argsort(-chances.round(9), kind="stable").tolist()
    return order


def about_sex(pairs: sp.PairCounts) -> Any:
    """Return the leakage about sex of a noisy answer about each other attribute, as a
    bar chart.
    """
    others = [
        name
        for name in pairs.domain.names
        if name not in ("sex", "fnlwgt", "education-num")
    ]
    found = sp.leakage_matrix(pairs.select(["sex", *others]), 1.0, mechanism="grr")
    rows = [
        {
            "source": name,
            "leakage": found["sex", name].value,
            "delta": 0.0,
            "own": False,
        }
        for name in others
    ]
    rows.append(
        {
            "source": "sex itself, if it is asked",
            "leakage": 1.0,
            "delta": 0.0,
            "own": True,
        }
    )
    how = "randomised response, epsilon 1"
    return about_chart(
        rows, "sex", f"Nobody was asked. Adult, {pairs.records:,} people, {how}"
    )


STRATEGIES = {
    NO_NOISE: "without privacy",
    THIS_PLAN: "seepage design: some questions each",
    OPTIMAL_SMP: "one question each (SMP)",
    SPLIT: "everything, limit split equally (SPL)",
}
"""Strategies beside a plan in the order of the picture, with their labels."""


def people_needed(plan: sp.Plan) -> Any:
    """Return the number of people that each strategy needs for the precision of a
    plan.
    """
    import altair as alt

    precision = plan_precision(plan)
    ratios = {one.name: precision.ratio(one) for one in precision.strategies}
    needed = [
        math.ceil(precision.people * ratios[name] / 100) * 100 for name in STRATEGIES
    ]
    rows = [
        {"strategy": name, "people": people}
        for name, people in zip(STRATEGIES.values(), needed, strict=True)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(  # type: ignore[no-untyped-call]
        y=alt.Y("strategy:N", sort=None, title=None, axis=alt.Axis(labelLimit=280)),
        x=alt.X(
            "people:Q",
            title="people who must be asked (logarithmic)",
            scale=alt.Scale(type="log", domain=[500, 3 * max(needed)]),
            axis=alt.Axis(format=",d", tickCount=4),
        ),
    )
    ours = alt.datum.strategy == STRATEGIES[THIS_PLAN]
    colour = alt.when(ours).then(alt.value("#0072B2")).otherwise(alt.value("#999999"))
    points = base.mark_circle(size=110, opacity=1).encode(color=colour)
    texts = base.mark_text(align="left", dx=9, fontSize=12).encode(
        text=alt.Text("people:Q", format=",d")
    )
    title = alt.TitleParams(
        "People to ask for every share to within 3 points",
        subtitle=[
            f"UCI Adult, {len(plan.collected)} questions; all that a person sends "
            "changes the odds between two answers to any at most 7.4 times,",
            f"with confidence {plan.confidence} for the population that its "
            f"{plan.provenance.records:,} records were drawn from",
        ],
        anchor="start",
        fontSize=16,
        subtitleFontSize=12,
    )
    chart = (points + texts).properties(title=title, width=440, height=130)
    return chart.configure_axis(
        labelFontSize=12, titleFontSize=12, grid=False
    ).configure_view(stroke=None)


def screenshot(page: Path, picture: Path, width: int, height: int) -> None:
    """Draw the top of a page as Chromium shows it; of a questionnaire, with several
    questions.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for _ in range(50):  # each new person draws a form
            shown = browser.new_page(viewport={"width": width, "height": height})
            shown.goto(page.as_uri())
            shown.wait_for_timeout(300)
            if shown.locator("fieldset").count() != 1:
                break
        shown.screenshot(path=picture)
        browser.close()


QUESTIONS = {
    "age": "How old are you?",
    "workclass": "Who do you work for?",
    "education": "What is your highest level of education?",
    "marital-status": "What is your marital status?",
    "occupation": "What is your occupation?",
    "relationship": "What are you to the head of your household?",
    "race": "What is your race?",
    "sex": "What is your sex?",
    "capital-gain": "What were your capital gains last year, in dollars?",
    "capital-loss": "What were your capital losses last year, in dollars?",
    "hours-per-week": "How many hours do you work per week?",
    "native-country": "Where were you born?",
    "income": "What is your yearly income, in dollars?",
}


def make_plan_pictures(folder: Path) -> None:
    """Write the pictures of one plan from Adult's records into a folder."""
    records = sp.dataset("adult").read()
    title = "Working lives 2026"
    plan = sp.design(records, "7.4x", effort=0.5, objective="largest", title=title)
    sp.save_chart(people_needed(plan), folder / "people-needed.svg")
    with tempfile.TemporaryDirectory() as place:
        pages = {stem: Path(place) / f"{stem}.html" for stem in SCREENSHOTS}
        book = Path(place) / "book.csv"
        rows = [f'{name},,"{question}"' for name, question in QUESTIONS.items()]
        book.write_text("\n".join(["attribute,value,label", *rows]), encoding="utf-8")
        plan.report(pages["plan-page"])
        _, pages["evidence-page"], _ = plan.evidence(Path(place) / "evidence")
        plan.write_questionnaire(pages["questionnaire"], labels=book)
        reports = plan.perturb(records, rng=1)
        sp.write_results(plan, reports, pages["results-page"], name=title)
        sp.analyse("adult", 1.0, mechanism="grr").report(pages["report-page"])
        for stem, (width, height) in SCREENSHOTS.items():
            screenshot(pages[stem], folder / f"{stem}.png", width, height)


def make_app_picture(folder: Path) -> None:
    """Write a picture of the app's fourth step, with the plan of a synthetic survey."""
    from playwright.sync_api import sync_playwright

    with (
        sync_playwright() as playwright,
        sp.open("survey", browser=False) as app,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(app.address)
        page.wait_for_selector("table.columns", timeout=60_000)
        page.click("text=What do they give away?")
        page.wait_for_selector("#verdict h1", timeout=60_000)
        page.click("text=Find a plan that keeps it")
        page.click("button:has-text('Search')")
        page.wait_for_selector(".plan-pictures", timeout=120_000)
        page.screenshot(path=folder / "app.png")
        browser.close()


COMMITTED: dict[str, Callable[[sp.PairCounts], Any]] = {
    "about-sex.svg": about_sex,
}

SCREENSHOTS = {
    "report-page": (1000, 700),
    "plan-page": (1000, 700),
    "questionnaire": (760, 640),
    "results-page": (1000, 700),
    "evidence-page": (1000, 650),
}
"""Pages as pictures: width and height of the window."""

BY_PLAN = ("people-needed.svg", *(f"{stem}.png" for stem in SCREENSHOTS))
"""Pictures of one plan from Adult's records, and of the analysis."""

PAGES = ("adult.html", "plan.html")

CHARTS: dict[str, Callable[[sp.PairCounts], Any]] = {
    "matrix.svg": matrix,
    "curve.svg": curve,
    "analysers.svg": analysers,
    "mechanisms.svg": mechanisms,
    "shaped.svg": shaped,
}


NUMBER = re.compile(r"\d+\.\d+(e-?\d+)?")


def _save_if_different(chart: Any, file: Path) -> None:
    """Save a chart unless the file shows the same, its numbers but for their last
    digits.
    """
    with tempfile.TemporaryDirectory() as place:
        drawn = Path(place) / file.name
        sp.save_chart(chart, drawn)
        if not file.exists() or _rounded(drawn) != _rounded(file):
            shutil.copyfile(drawn, file)


def _rounded(picture: Path) -> str:
    return NUMBER.sub(
        lambda one: f"{float(one[0]):.6g}", picture.read_text(encoding="utf-8")
    )


def make_pictures(folder: Path) -> None:
    """Write every picture, the report page of Adult, and the page of a plan, into a
    folder.
    """
    pairs = sp.load_pairs("adult")
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in CHARTS.items():
        _save_if_different(draw(pairs), folder / name)
    command = "seepage analyse adult --epsilon 1 --report adult.html"
    sp.analyse("adult", 1.0, command=command).report(folder / "adult.html")
    plan = sp.design(sp.make_survey(100_000), 2.0, drop=["employment", "region"])
    plan.report(folder / "plan.html", name="A synthetic survey")


def make_committed(folder: Path) -> None:
    """Write README's first picture into a folder."""
    pairs = sp.load_pairs("adult")
    for name, draw in COMMITTED.items():
        sp.save_chart(draw(pairs), folder / name)


if __name__ == "__main__":
    if "--committed" in sys.argv:
        make_committed(ASSETS)
    elif "--plan" in sys.argv:
        make_plan_pictures(ASSETS)
    elif "--app" in sys.argv:
        make_app_picture(ASSETS)
    else:
        make_pictures(PICTURES)
