"""Charts and notebooks' HTML with hostile names, opened in a real browser."""

import html
import re

import pyarrow as pa
import pyarrow.csv
import pytest

import seepage as sp
from command import run

HOSTILE = [
    "</script><img src=x onerror=document.title=1>",
    "<!--<script>document.title=1",
    "<svg onload=document.title=1>",
    "\"><img src=x onerror='document.title=1'>",
    "<script>document.title=1</script>",
    "javascript:document.title=1",
    "constructor",
]
FILE = "<img src=x onerror=document.title=1>.csv"


@pytest.fixture(scope="module")
def table():
    columns = [
        [f"{name}{(i * (j + 2) + i // 3) % 3}" for i in range(60)] for j, name in enumerate(HOSTILE)
    ]
    return pa.table(columns, names=HOSTILE)


@pytest.fixture(scope="module")
def found(table):
    return sp.analyse(table, 1.0, mechanism="grr", name=HOSTILE[0], command=HOSTILE[1])


@pytest.fixture(scope="module")
def plan(table):
    return sp.calibrate(table, 3.0, guarantee="worst")


@pytest.fixture(scope="module")
def saved_charts(found, tmp_path_factory):
    """The text of the analysis's chart, by the ending of its file."""
    folder = tmp_path_factory.mktemp("charts")
    for kind in ("html", "svg"):
        sp.save_chart(found.chart(), folder / f"chart.{kind}")
    return {place.suffix: place.read_text(encoding="utf-8") for place in folder.iterdir()}


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


@pytest.mark.parametrize(
    "command",
    [
        ["analyse"],
        ["calibrate", "--limit", "2", "--guarantee", "worst"],
        ["benchmark", "mechanisms", "--epsilon", "1"],
        ["benchmark", "analysers", "--epsilon", "1", "--reference", "grr"],
    ],
)
def test_no_script_in_a_name_runs_on_a_chart_s_page(shown, table, tmp_path, command):
    pyarrow.csv.write_csv(table, tmp_path / FILE)
    done = run(*command, FILE, "--chart", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in html.unescape(text)
    assert "script-src" not in html.unescape(text)
    shown(text)


def test_names_can_be_read_on_the_page_and_in_the_picture(shown, saved_charts):
    for kind in (".html", ".svg"):
        words = shown(saved_charts[kind])
        for begin in ("< /script><", "< !--< scri", "<svg onload", '"><img src=', "constructor"):
            assert begin in words


def test_a_mark_says_its_numbers_under_the_pointer(opened, found, saved_charts):
    page = opened(saved_charts[".html"], ready="body")
    tips = page.locator("path > title").all_text_contents()
    assert len(tips) == len(HOSTILE) * (len(HOSTILE) - 1)
    assert any(f"leakage: {found.matrix[HOSTILE[1], HOSTILE[2]].value:.4f}" in tip for tip in tips)


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
