"""The verdict, what people experience, what-ifs and saving, in a real browser."""

import csv
import io
from xml.etree import ElementTree

import pytest
from report_pages import ProcessorClock, analysed, synthetic

import seepage as sp
from seepage.pages.analysis_page import report_page

DOMAIN = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "c")])
COPIES = sp.Records(DOMAIN, [[0, 0, 0], [1, 1, 1]], [6_000, 4_000])


def copies(guarantees, limit, **more):
    return sp.analyse(
        COPIES, 1.0, mechanism="grr", guarantee=guarantees, limit=limit, **more
    )


@pytest.fixture(scope="module")
def lived_page():
    """The page of a table with drawn people, a name that a spreadsheet could run among
    them.
    """
    domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("=1+1", "b", "c")])
    people = sp.Records(domain, COPIES.codes, COPIES.weights)
    found = sp.analyse(
        people, 1.0, mechanism="grr", guarantee=["exact", "worst"], limit=2.0
    )
    return report_page(found)


@pytest.mark.parametrize(
    ("guarantees", "limit", "state", "decision"),
    [
        (["exact"], 3.5, "within", "These budgets keep the limits"),
        (["exact"], 2.5, "exceeded", "Do not collect with these budgets"),
        (
            ["worst", "independent"],
            2.5,
            "not certifiable",
            "no limit is proven exceeded",
        ),
    ],
)
def test_the_three_states(opened, guarantees, limit, state, decision):
    page = opened(copies(guarantees, limit, people=0))
    assert page.locator("#limits .state").all_inner_texts() == [state] * 3
    assert decision in page.inner_text("#decision")
    assert ("To settle it" in page.inner_text("#decision")) == (
        state == "not certifiable"
    )
    rest = page.inner_text("#limits") + page.inner_text("#totals")
    assert ("exceeded" in rest) == (state == "exceeded")


def test_rows_over_their_limit_come_first_and_nothing_decisive_scrolls(opened):
    page = opened(copies(["exact", "worst"], [4.0, 2.5, None], people=0))
    names = page.locator("#limits .name").all_inner_texts()
    assert names == ["b", "a", "c"]
    assert page.locator("#limits .state").all_inner_texts() == ["exceeded", "within"]
    inner = """() => [...document.querySelectorAll("#verdict *, #people *, #totals *")]
      .filter((n) => n.scrollHeight > n.clientHeight + 2 && n.clientHeight > 0
        && ["auto", "scroll"].includes(getComputedStyle(n).overflowY)).length"""
    assert page.evaluate(inner) == 0


def test_a_what_if_is_labelled_and_can_be_reset(opened):
    page = opened(copies(["exact"], 2.5))
    assert not page.is_visible("#whatif")
    before = page.inner_text("#verdict")
    page.focus("#epsilon")
    page.keyboard.press("Home")
    assert "everything else on this page is as analysed" in page.inner_text("#whatif")
    assert page.inner_text("#pair-body .witness >> nth=0").startswith("As analysed: ")
    assert page.inner_text("#verdict") == before
    page.click("#back")
    assert not page.is_visible("#whatif")
    assert page.inner_text("#epsilon-value") == "1.00, as analysed"
    assert page.inner_text("#pair-body .witness >> nth=0").startswith("Seeing a report")


def test_people_are_shown_with_what_was_promised(opened, lived_page):
    page = opened(lived_page)
    text = page.inner_text("#people")
    assert "1,000 people were drawn" in text
    assert "no guarantee" in text
    tips = page.locator("#people .picture path > title").all_text_contents()
    assert sum("promised epsilon" in tip for tip in tips) == 3
    assert "% above, 0% if unrelated" in page.text_content("#people svg")
    page.click("#people summary")
    assert "with confidence 95%" in page.inner_text("#people table")
    none = opened(copies(["worst"], 2.0, people=0))
    assert "No people were drawn" in none.inner_text("#people")


def test_tables_and_pictures_are_saved(opened, lived_page):
    page = opened(lived_page)
    with page.expect_download() as waiting:
        page.locator("#limits >> text=Save as CSV").click()
    text = waiting.value.path().read_text(encoding="utf-8")
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0][:3] == ["attribute", "limit", "state"]
    assert sorted(row[0] for row in rows[1:]) == ["'=1+1", "b", "c"]
    assert waiting.value.suggested_filename.endswith("-limits.csv")
    for place in ("#people", "#totals"):
        with page.expect_download() as waiting:
            page.locator(f"{place} >> text=Save as SVG").click()
        root = ElementTree.fromstring(waiting.value.path().read_text(encoding="utf-8"))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        marks = [node.get("fill") for node in root.iter() if node.tag.endswith("path")]
        assert {"#0072B2", "#9CCDEB"} & set(marks)


def test_a_page_says_that_it_holds_shares_of_pairs(opened):
    page = opened(report_page(copies(["exact"], 2.5)))
    assert "from the pair counts of the data" in page.inner_text("header")
    assert page.locator("#pair .distributions").count() == 2


def test_the_phone_shows_the_selected_cell(opened, forty_page):
    page = opened(forty_page(2), viewport={"width": 390, "height": 800})
    inside = """() => { const m = seepage.map;
      const box = document.querySelector("#map-scroll");
      const at = m.label + (m.order.indexOf(seepage.pair.source) + 0.5) * m.cell;
      return at >= box.scrollLeft && at <= box.scrollLeft + box.clientWidth; }"""
    assert (
        page.evaluate("document.querySelector('#map-scroll').scrollLeft") == 0
    )  # with names
    for source in (0, 17, 39, 5):
        page.evaluate(f"seepage.setPair({(source + 1) % 40}, {source})")
        assert page.evaluate(inside)


def test_names_are_whole_while_there_is_room(opened):
    names = [f"a rather long name of an attribute, number {k}" for k in range(4)]
    page = opened(analysed(synthetic(4, 3, names=names), limit=2.0))
    assert sorted(page.locator("#limits .name").all_inner_texts()) == names
    labels = page.locator("#totals .picture .role-axis-label text").all_text_contents()
    assert set(names) <= set(labels)


def test_print_and_dark_keep_the_people(opened, lived_page):
    page = opened(lived_page, color_scheme="dark")
    for scheme in ("dark", "light"):
        page.emulate_media(media="print", color_scheme=scheme)
        assert page.is_visible("#people svg")
        assert not page.is_visible("#people button")


@pytest.mark.parametrize("values", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_hundred_attributes_stay_usable(opened, values):
    text = report_page(analysed(synthetic(100, values), limit=20.0))
    assert len(text.encode()) < 5_000_000
    clock = ProcessorClock()
    opened(text, before=clock.start)
    assert 0 < clock.seconds_until_painted() < 1.0
