"""Charts and notebooks' HTML with hostile names, opened in a real browser."""

import re

import pyarrow as pa
import pytest

import seepage as sp

HOSTILE = [
    "</script><img src=x onerror=document.title=1>",
    "<!--<script>document.title=1",
    "<svg onload=document.title=1>",
    "\"><img src=x onerror='document.title=1'>",
    "<script>document.title=1</script>",
    "javascript:document.title=1",
    "constructor",
]


@pytest.fixture(scope="module")
def table():
    columns = [
        [f"{name}{(i * (j + 2) + i // 3) % 3}" for i in range(60)]
        for j, name in enumerate(HOSTILE)
    ]
    return pa.table(columns, names=HOSTILE)


@pytest.fixture(scope="module")
def found(table):
    return sp.analyse(table, 1.0, mechanism="grr", name=HOSTILE[0], command=HOSTILE[1])


@pytest.fixture(scope="module")
def plan(table):
    return sp.calibrate(table, 3.0, guarantee="worst")


SETTLED = """() => new Promise((resolve) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 0))))"""


@pytest.fixture
def shown(opened):
    """Open a text of HTML; return its words, after a look at what it did."""

    def show(text):
        page = opened(text, ready="body")
        page.evaluate(SETTLED)
        assert page.title() != "1"
        return page.inner_text("body")

    return show


def test_names_can_be_read_in_the_picture_and_none_runs(shown, found, tmp_path):
    sp.save_chart(found.chart(), tmp_path / "chart.svg")
    words = shown((tmp_path / "chart.svg").read_text(encoding="utf-8"))
    for begin in (
        "< /script><",
        "< !--< scri",
        "<svg onload",
        '"><img src=',
        "constructor",
    ):
        assert begin in words


def test_no_script_in_a_name_runs_in_a_notebook(shown, table, found, plan):
    """All results stand on one page, as in a notebook."""
    results = [found, found.matrix, found.totals, found.matrix.pairs, plan]
    results.append(sp.Records.from_data(table))
    text = shown("<p>next</p>".join(result._repr_html_() for result in results))
    words = re.split(r"^next$", text, flags=re.MULTILINE)
    assert len(words) == len(results)
    assert all(HOSTILE[0][:9] in each for each in words)


def test_charts_in_a_notebook_hold_nothing_that_ends_their_script(found, plan):
    for chart in (found.chart(), found.totals.chart(), plan.chart()):
        text = chart.to_html()
        assert text.count("</script") == text.count("<script")
        assert "<!--" not in text
        assert "< /script><img" in text
