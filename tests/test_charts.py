"""Every result can be drawn: the charts hold what the results say, and files appear
whole.
"""

import inspect
import re
from functools import cache
from importlib import resources

import pyarrow as pa
import pytest

import seepage as sp
from reproduction import charts as paper_charts
from seepage.charts import (
    benchmark_charts,
    estimate_charts,
    leakage_curves,
    result_charts,
)
from seepage.charts.style import OBJECT_MEMBERS, curve_panels, printable_names
from seepage.datasets.survey import survey_joint


@pytest.fixture(scope="module")
def pairs():
    return sp.load_pairs("adult").select(["sex", "race", "income"])


@pytest.fixture(scope="module")
def survey():
    people = sp.Records.from_data(sp.make_survey(2_000), domain=survey_joint().domain)
    return people.select(["coffee", "screen", "sleep"])


def _rows(chart):
    """Return every data value inside a chart's specification."""
    found = []

    def walk(node):
        if isinstance(node, dict):
            values = node.get("data", {}).get("values") if "data" in node else None
            if isinstance(values, list):
                found.extend(values)
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    walk(chart.to_dict())
    return found


def test_the_heat_map_holds_every_leakage_with_its_direction(pairs):
    matrix = sp.leakage_matrix(pairs, 1.0, mechanism="grr")
    cells = {
        (row["target"], row["source"]): row["leakage"] for row in _rows(matrix.chart())
    }
    assert len(cells) == 6
    assert cells["sex", "race"] == matrix["sex", "race"].value
    text = matrix.chart().to_json()
    assert "Source: what is released" in text
    assert "grr; epsilon 1; view: report" in text


def test_the_curve_has_its_saturation(pairs):
    curve = sp.leakage_curve(pairs.channel("sex", "income"), [0.0, 1.0, 4.0])
    rows = _rows(curve.chart())
    assert "income -> sex" in curve.chart().to_json()
    level = [row["y"] for row in rows if row["series"] == "saturation"]
    assert level == [curve.saturation] * 3


def test_totals_are_drawn_by_kind_and_refuted_ones_marked(survey):
    names = ["exact", "worst", "independent", "witness"]
    found = sp.analyse(survey, 1.0, mechanism="grr", guarantee=names).totals
    chart = found.chart("a survey")
    rows = [row for row in _rows(chart) if "kind" in row]
    kinds = {row["kind"] for row in rows}
    assert kinds == {"certified", "assumed", "lower bound"}
    assert (
        chart.to_dict()["title"] == "What each attribute gives away in total: a survey"
    )
    scale = chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]
    told = ["exact (certified)", "worst (certified)", "independent (assumed)"]
    assert scale["domain"] == [*told, "witness (lower bound)"]  # no other is drawn
    marked = {row["attribute"] for row in rows if row["refuted"]}
    assert marked == set(found.refuted["independent"])
    alone = {row["guarantee"] for row in _rows(found["exact"].chart()) if "kind" in row}
    assert alone == {"exact", "worst"}


def test_a_plan_is_drawn_against_its_limits(survey):
    plan = sp.calibrate(survey, limit=2.0, guarantee="exact", mechanism="grr")
    rows = _rows(plan.chart())
    budgets = {row["attribute"]: row["epsilon"] for row in rows if "form" in row}
    totals = {row["attribute"]: row for row in rows if "total" in row}
    assert budgets.keys() == totals.keys() == set(survey.domain.names)
    for name, row in totals.items():
        assert budgets[name] <= row["total"] <= row["limit"]


def test_the_chart_of_an_audit_has_every_claim():
    spec = {
        "attributes": {"a": {"keep": 0.75, "k": 2}, "b": {"k": 3, "p": 1.0, "q": 0.2}}
    }
    found = sp.audit(spec, claim=1.1)
    rows = list({row["attribute"]: row for row in _rows(found.chart())}.values())
    assert [row["attribute"] for row in rows] == [
        "a",
        "b: infinite",
        "(record): infinite",
    ]
    assert [row["claim"] for row in rows] == [1.1, 1.1, None]
    assert [row["verdict"] for row in rows] == [one.verdict for one in found.claims]
    assert (
        rows[0]["lower"] == rows[0]["epsilon"] == rows[0]["upper"] == found["a"].epsilon
    )
    assert rows[1]["epsilon"] is rows[1]["upper"] is None


def test_shares_are_drawn_with_their_intervals_from_0_to_100(survey):
    """Of two answers one is drawn."""
    plan = sp.calibrate(survey, limit=2.0, guarantee="worst")
    found = plan.estimate(plan.perturb(sp.make_survey(2_000), rng=1))
    chart = found.chart()
    rows = {row["label"]: row for row in _rows(chart)}
    assert list(rows) == [f"{a.name}: {a.values[1]}" for a in survey.domain]
    share = found.share("coffee", "yes")
    assert rows["coffee: yes"] == {
        "label": "coffee: yes",
        "share": 100 * share.value,
        "lower": 100 * share.interval[0],
        "upper": 100 * share.interval[1],
    }
    assert '"domain": [0, 100]' in chart.to_json(indent=None)
    assert "image/svg+xml" in chart._repr_mimebundle_()


def test_coefficients_are_drawn_beside_0(survey):
    plan = sp.calibrate(survey, limit=4.0, guarantee="worst")
    found = plan.regress(
        plan.perturb(sp.make_survey(2_000), rng=1), "coffee ~ sleep + screen"
    )
    chart = found.chart()
    rows = {row["term"]: row for row in _rows(chart) if "term" in row}
    assert tuple(rows) == found.names
    for name, row in rows.items():
        estimate = found[name]
        assert (row["lower"], row["upper"]) == pytest.approx(estimate.interval)
        assert row["coefficient"] == estimate.value
    assert "image/svg+xml" in chart._repr_mimebundle_()


def test_a_coefficient_without_an_estimate_is_a_text(tmp_path):
    rows = [
        {"term": "a", "coefficient": 1.0, "lower": 0.5, "upper": 1.5},
        {"term": "b", "coefficient": float("inf"), "lower": 2.0, "upper": float("inf")},
    ]
    words = _words(estimate_charts.coefficients_chart(rows, "ill"), tmp_path)
    assert {"a", "b", "at least 2"} <= set(words)


def _words(chart, folder):
    sp.save_chart(chart, folder / "chart.svg")
    return re.findall(r"<text[^>]*>([^<]*)</text>", (folder / "chart.svg").read_text())


def test_a_curve_without_budgets_is_rejected_and_one_budget_is_a_point(pairs, tmp_path):
    channel = pairs.channel("sex", "income")
    with pytest.raises(sp.InputError, match="epsilons must not be empty"):
        sp.leakage_curve(channel, []).chart()
    sp.save_chart(sp.leakage_curve(channel, [1.0]).chart(), tmp_path / "one.svg")
    assert 'aria-roledescription="point"' in (tmp_path / "one.svg").read_text()


def test_a_matrix_without_leakage_has_a_scale(tmp_path):
    table = pa.table({"a": ["x"] * 9, "b": ["y"] * 9})
    counted = sp.count_pairs(table)
    for chart in (
        sp.leakage_curve(counted.channel("a", "b"), [0.0, 1.0]).chart(),
        sp.analyse(counted, 1.0, mechanism="grr", guarantee=["worst"]).totals.chart(),
    ):
        assert {"0.0", "1.0"} <= set(_words(chart, tmp_path))
    assert '"log"' not in sp.benchmark_mechanisms(counted, [1.0]).chart().to_json()


def test_a_small_heat_map_has_room_for_its_titles(pairs):
    two = sp.leakage_matrix(pairs.select(["sex", "race"]), 1.0).chart().to_dict()
    assert two["width"] == two["height"] >= 200


def test_the_axes_of_analysers_begin_at_0_and_budgets_are_in_order(pairs, tmp_path):
    scores = sp.benchmark_analysers(
        pairs, [10.0, 1.0, 5.0], reference="grr", analysers=["ITS", "EXP-ANL"]
    )
    words = _words(scores.chart(), tmp_path)
    assert [word for word in words if word in ("1", "5", "10")] == ["1", "5", "10"]
    ticks = [float(word) for word in words if re.fullmatch(r"[-−]?[0-9.]+", word)]
    assert min(ticks) == 0
    assert not any(word.startswith(("-", "−")) for word in words)


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_charts_are_saved_in_every_format(pairs, tmp_path, ending):
    path = tmp_path / f"chart.{ending}"
    sp.save_chart(sp.leakage_matrix(pairs, 1.0).chart(), path)
    assert path.stat().st_size > 1000
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


UNDRAWABLE = (
    "a\x00",
    "a\x1b[2J",
    "a\x7f",
    "a\x85",
    "\ufffe",
    "\uffff",
    "a\\x00",
    "a\nb",
)


@cache
def _charts(names):
    table = pa.table([["x", "y", "y"] * 9] * len(names), names=names)
    found = sp.analyse(table, 1.0, mechanism="grr")
    return (
        found.chart(),
        found.totals.chart(),
        sp.calibrate(table, 3.0, guarantee="worst").chart(),
    )


MEMBERS = tuple(sorted(OBJECT_MEMBERS))


@pytest.mark.parametrize(
    ("names", "word", "ending"),
    [
        (UNDRAWABLE, r"a\x1b[2J", "svg"),
        (UNDRAWABLE, r"a\x1b[2J", "png"),
        (MEMBERS, "constructor", "svg"),
        pytest.param(MEMBERS, "constructor", "png", marks=pytest.mark.slow),
    ],
    ids=["control svg", "control png", "member svg", "member png"],
)
def test_any_name_can_be_drawn(tmp_path, names, word, ending):
    for chart in _charts(names):
        if ending == "svg":
            assert word in [text.strip() for text in _words(chart, tmp_path)]
        else:
            sp.save_chart(chart, tmp_path / f"chart.{ending}")
        drawn = {row.get("attribute") or row["source"] for row in _rows(chart)}
        assert len(drawn) == len(names)


def test_names_are_drawable_and_those_that_differ_stay_different():
    @printable_names
    def drawn(names, *, order):
        return names, order

    given = [
        "a\x01",
        "a\\x01",
        "toString",
        "toString ",
        "</SCRIPT>",
        "< /SCRIPT>",
        "<=50K",
        "\ud800",
    ]
    names, order = drawn(given, order={"toString": [1, None]})
    assert names == [
        "a\\x01 ",
        "a\\x01",
        "toString  ",
        "toString ",
        "< /SCRIPT> ",
        "< /SCRIPT>",
        "<=50K",
        "\\ud800",
    ]
    assert order == {"toString  ": [1, None]}


def test_every_chart_takes_any_name():
    charts = [
        function
        for module in (
            benchmark_charts,
            estimate_charts,
            leakage_curves,
            paper_charts,
            result_charts,
        )
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    ]
    assert len(charts) == 17
    assert all(function.__wrapped__ for function in [curve_panels, *charts])


def test_the_page_draws_each_kind_of_the_charts_in_its_own_colours():
    styles = resources.files("seepage.pages") / "templates" / "css"
    page = (styles / "analysis.css").read_text(encoding="utf-8")
    for colour in result_charts.KINDS.values():
        assert f'.picture path[fill="{colour}"]' in page


def test_people_are_drawn_most_affected_first(survey):
    found = sp.analyse(survey, 1.0, mechanism="grr", people=100).experienced
    chart = found.chart("a survey")
    rows = _rows(chart)[:3]
    excess = [row["share"] - row["permuted_share"] for row in rows]
    assert excess == sorted(excess, reverse=True)
    assert chart.to_dict()["title"]["text"] == "Promised and experienced: a survey"


def test_questions_of_shaped_reports_are_drawn_in_grey_beside_budgets():
    def question(form, attribute, epsilon):
        how = "shaped" if epsilon is None else "grr"
        named = {"form": form, "share": 0.5, "attribute": attribute}
        return {**named, "mechanism": how, "epsilon": epsilon}

    totals = [{"attribute": name, "total": 1.0, "limit": 2.0} for name in "ab"]
    asked = [question(1, "a", 1.0), question(2, "a", None), question(2, "b", None)]
    for questions, grey in ((asked, 2), (asked[1:], 2), (asked[:1], 0)):
        drawn = result_charts.forms_chart(questions, totals, "exact, certified")
        svg = drawn._repr_mimebundle_()["image/svg+xml"]
        assert svg.count(f'fill="{result_charts.SHAPED}"') == grey
