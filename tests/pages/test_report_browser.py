"""The page of an analysis in a real browser, used as a person would: pointer, keys,
narrow, dark, print.
"""

import csv
import io
import json
import math
import re

import pytest
from report_pages import ProcessorClock, analysed, synthetic

import seepage as sp
from seepage._core.odds import measured_odds, odds_text
from seepage.analysis.analysis import sealed
from seepage.pages.analysis_page import report_page

ODD = [
    "</script><script>alert(1)</script>",
    "\"double\" 'single' & <b>bold</b>",
    "年齢",
    "الجنس",
    "a name that goes on and on " * 5,
    "{{script}}",
]

CONTRAST = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (rgb) => { const [r, g, b] = rgb.map((c) => { const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const paper = (node) => { for (let n = node; n; n = n.parentElement) {
    const [r, g, b, a = 1] = parse(getComputedStyle(n).backgroundColor);
    if (a > 0) return [r, g, b]; }
    return parse(getComputedStyle(document.body).backgroundColor); };
  const bad = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some(
      (c) => c.nodeType === 3 && c.textContent.trim());
    if (!own || node.closest("script, [hidden], .on-fill") || node.disabled) continue;
    if (!node.getClientRects().length) continue;
    const style = getComputedStyle(node);
    const ink = node instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(parse(ink).slice(0, 3)), light(paper(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const text = node.textContent.slice(0, 30);
    if (ratio < 4.5) bad.push([node.tagName, node.className, text, ratio]);
  }
  return bad;
}"""

UNNAMED = """() => [...document.querySelectorAll(
  "input, select, button, canvas, [role=region], [role=img]")]
  .filter((n) => !(n.labels && n.labels.length) && !n.getAttribute("aria-label")
    && !n.getAttribute("aria-labelledby") && !n.textContent.trim())
  .map((n) => n.outerHTML.slice(0, 80))"""

COINS = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]
"""Two coins, and whether they differ."""


def coins(**more):
    domain = sp.Domain(
        [sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")]
    )
    return sp.Records(domain, COINS, [1000] * 4, **more)


def copies():
    domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "c")])
    return sp.Records(domain, [[0, 0, 0], [1, 1, 1]], [6_000, 4_000])


def judged(guarantees, limit, **more):
    return sp.analyse(
        copies(), 1.0, mechanism="grr", guarantee=guarantees, limit=limit, **more
    )


def _box(page, content, target, source):
    """Return the box of a pair in the map."""
    names = content.domain.names
    return page.get_by_role("button", name=f"{names[source]} about {names[target]}:")


def test_a_page_without_scripts_says_so(tab, tmp_path, adult_page):
    place = tmp_path / "quiet.html"
    place.write_text(adult_page, encoding="utf-8")
    tools = tab.context.new_cdp_session(tab)
    tools.send("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        tab.goto(place.as_uri())
        assert "Allow scripts" in tab.inner_text("noscript")
        assert "Do not rely on this yet" in tab.inner_text("#verdict")
        assert "times as often" in tab.inner_text("#leaks")
        assert "times" in tab.inner_text("#pair-odds")
    finally:
        tools.detach()


def test_the_first_screen_decides(opened, adult_page):
    page = opened(adult_page, viewport={"width": 1440, "height": 900})
    assert page.inner_text("h1").startswith("6 of 15 questions probably give away")
    picture = page.locator("#totals").bounding_box()
    assert picture["width"] >= 0.4 * 1440
    assert picture["y"] + picture["height"] <= 900
    assert f"limit {odds_text(5.0)} ×" in page.inner_text("#totals")
    seen = page.inner_text("main")
    folded = page.locator("summary").all_inner_texts()
    assert "nats" not in seen.replace("\n".join(folded), "").split("Details")[0]


def test_a_box_opens_its_pair_and_so_do_the_two_selects(opened, adult, adult_page):
    page = opened(adult_page)
    page.get_by_role("button", name="occupation about sex:").click()
    matrix = sp.leakage_matrix(adult, 1.0)
    leak = matrix.leak_among("sex", "occupation", 500)
    assert page.inner_text("#pair-odds") == f"{measured_odds(leak.value)} times"
    sentence = page.inner_text("#pair-sentence")
    assert f"“{leak.witness.likelier}”" in sentence
    assert page.inner_text("#pair-kind-1") == leak.witness.other
    page.select_option("#pair-source", label="sex")
    page.select_option("#pair-target", label="occupation")
    back = matrix.leak_among("occupation", "sex", 500)
    assert page.inner_text("#pair-odds") == f"{measured_odds(back.value)} times"
    pressed = page.locator("#map-table button[aria-pressed=true]")
    assert pressed.count() == 1
    assert pressed.get_attribute("aria-label").startswith("sex about occupation")
    page.select_option("#pair-target", label="sex")
    assert page.inner_text("#pair-sentence") == "Choose two different questions."


def test_the_slider_shows_other_noise_and_says_so(opened, adult, adult_page):
    page = opened(adult_page)
    assert not page.is_visible("#whatif")
    verdict = page.inner_text("#verdict")
    page.focus("#noise")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert page.inner_text("#noise-value") == "7.39 times"
    assert page.is_visible("#whatif")
    assert page.inner_text("#pair-sentence").startswith("As analysed: ")
    assert page.inner_text("#verdict") == verdict
    exact = sp.leakage_matrix(adult, 2.0).leak_among("sex", "occupation", 500).value
    box = page.get_by_role("button", name="occupation about sex:")
    assert float(box.inner_text()) == pytest.approx(math.exp(exact), abs=0.051)
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    assert page.inner_text("#noise-value") == "2.72 times, as analysed"
    assert not page.is_visible("#whatif")


def test_the_map_is_worked_with_keys(opened, adult_page):
    page = opened(adult_page)
    page.focus("#map-table button[aria-pressed=true]")
    labels = set()
    for key in ("ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
        focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
        pressed = page.locator("#map-table button[aria-pressed=true]")
        assert pressed.get_attribute("aria-label") == focused
        labels.add(focused)
    assert len(labels) == 4
    assert page.locator("#map-table button[tabindex='0']").count() == 1


def test_every_control_is_reached_by_tab(opened):
    page = opened(analysed(synthetic(3, 2)))
    wanted = set(
        page.eval_on_selector_all("input, select", "all => all.map(n => n.id)")
    )
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
        if wanted <= reached:
            break
    assert wanted <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_and_controls_have_names(opened, adult_page, scheme):
    page = opened(adult_page, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(UNNAMED) == []
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_the_details_name_what_the_verdict_rests_on(opened, adult, adult_page):
    page = opened(adult_page)
    found = analysed(adult, limit=5.0)
    details = page.text_content("#details")
    assert found.verdict.decision in details
    assert found.verdict.basis in details
    first = found.leaks(1)[0]
    assert f"{first.source} → {first.target}" in details
    assert "one finding: education and education-num" in page.inner_text("#leaks")
    assert adult.digest in page.text_content("#methods")
    assert "48,842" in page.text_content("#methods")


@pytest.mark.parametrize(
    ("guarantees", "limit", "state", "order"),
    [
        (["exact"], 3.5, "within", "Within the limit"),
        (["exact"], 2.5, "exceeded", "Do not collect like this"),
        (["worst", "independent"], 2.5, "probably exceeded", "Do not rely on this yet"),
        (["worst"], 2.5, "not certifiable", "Do not rely on this yet"),
    ],
)
def test_the_states_of_a_limit(opened, guarantees, limit, state, order):
    page = opened(judged(guarantees, limit, people=0))
    assert page.inner_text(".order") == order
    page.click("summary:has-text('What was computed')")
    states = page.locator("#limits tbody tr td:nth-child(2)").all_inner_texts()
    assert states == [state] * 3
    assert ("To settle it" in page.inner_text("#verdict")) == (
        state in ("probably exceeded", "not certifiable")
    )


def test_rows_over_their_limit_come_first(opened):
    page = opened(judged(["exact", "worst"], [4.0, 2.5, None], people=0))
    names = page.locator("#limits tbody th").all_text_contents()
    assert names == ["b", "a", "c"]
    assert page.inner_text("h1") == "1 of 2 questions gives away more than the limit."


def test_refuted_assumptions_are_marked(opened):
    page = opened(sp.analyse(coins(), 1.0, mechanism="grr", guarantee="all", limit=2.0))
    assert "Refuted for 6" in page.text_content("#rests")
    page.click("summary:has-text('What was computed')")
    assert page.locator("#limits td", has_text="refuted").count() == 6
    heads = page.locator("#limits thead th").all_inner_texts()
    for kind in ("certified", "statistical", "assumed", "lower bound"):
        assert any(f"({kind})" in head for head in heads)
    assert page.inner_text("h1").startswith("None of the 3 questions")


def test_names_are_shown_as_they_are_and_run_nothing(opened):
    page = opened(
        analysed(synthetic(6, 3, names=ODD), limit=2.0, name="</title><script>alert(3)")
    )
    assert "</title><script>alert(3)" in page.inner_text(".bar .file")
    shown = page.locator("#limits tbody th").all_text_contents()
    assert sorted(shown) == sorted(ODD)
    for target in range(6):
        page.evaluate(f"seepage.setPair({target}, {(target + 1) % 6})")
    assert page.evaluate("document.scripts.length") == 2
    assert page.locator("b", has_text=re.compile("^bold$")).count() == 0


def test_a_script_that_slips_in_does_not_run(tab, tmp_path):
    page_text = report_page(analysed(synthetic(2, 2)))
    place = tmp_path / "changed.html"
    place.write_text(
        page_text.replace(
            '<main id="main">', '<main id="main"><script>window.slipped = 1</script>'
        )
    )
    tab.goto(place.as_uri())
    assert tab.locator("main script").count() == 1
    assert tab.evaluate("window.slipped === undefined")


@pytest.mark.parametrize(
    "attributes", [1, pytest.param(2, marks=pytest.mark.slow), 15, 40]
)
def test_a_narrow_window_does_not_scroll_sideways(opened, attributes, forty_page):
    made = (
        forty_page(2)
        if attributes == 40
        else analysed(synthetic(attributes, 2), limit=3.0)
    )
    page = opened(made, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_print_shows_everything_on_white(opened, adult_page):
    page = opened(adult_page, color_scheme="dark")
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert len(printed) > 50_000
    page.emulate_media(media="print")
    assert (
        page.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert not page.is_visible("nav")
    assert not page.is_visible("button.btn >> nth=0")
    assert page.is_visible("#limits tbody tr >> nth=0")


def test_forty_questions_are_quick(opened, forty_page):
    clock = ProcessorClock()
    opened(forty_page(5), before=clock.start)
    assert 0 < clock.seconds_until_painted() < 0.7


def test_one_attribute_has_no_map(opened):
    page = opened(analysed(synthetic(1, 3), limit=3.0))
    assert page.locator("#map").count() == 0
    assert page.inner_text("h1") == "The question gives away no more than the limit."


def test_names_from_right_to_left_keep_their_place(opened):
    """A sentence with such names isolates them."""
    names = ["الجنس", "العمر", "דת"]
    page = opened(analysed(synthetic(3, 3, names=names), limit=2.0))
    assert (
        page.locator("#leaks h3 bdi").count() == 2 * page.locator(".leak-card").count()
    )
    isolated = page.eval_on_selector_all(
        "#map-table th > *",
        "all => all.every((n) => n.querySelector('bdi') || n.tagName === 'BDI')",
    )
    assert isolated


def test_a_sample_is_labelled_as_such(opened, adult, adult_page):
    few = adult.select(["sex", "race", "income"])
    sample = sp.PairCounts(few.domain, few.marginals, few.counts, population=10**6)
    page = opened(analysed(sample, epsilon=0.1, limit=5.0, name="adult"))
    size = "sample of 48,842 of 1,000,000 records"
    assert size in page.inner_text(".bar .file")
    assert page.is_visible("#caution")
    assert f"from a {size}: valid only if" in page.inner_text("#caution")
    assert size in page.text_content("#methods")
    assert page.evaluate(CONTRAST) == []
    whole = opened(adult_page)
    assert whole.locator("#caution").count() == 0
    assert "48,842 records, 15 questions" in whole.inner_text(".bar .file")


def test_people_are_shown_with_what_was_promised(opened):
    page = opened(judged(["exact", "worst"], 2.0))
    text = page.text_content("#people")
    assert "1,000 people were drawn" in text
    assert "no guarantee" in text
    tips = page.locator("#people .picture path > title").all_text_contents()
    assert sum("promised epsilon" in tip for tip in tips) == 3
    assert "with confidence 95%" in text
    none = opened(judged(["worst"], 2.0, people=0))
    assert "No people were drawn" in none.text_content("#people")


def test_tables_are_saved(opened):
    domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("=1+1", "b", "c")])
    people = sp.Records(domain, copies().codes, copies().weights)
    found = sp.analyse(people, 1.0, mechanism="grr", guarantee=["exact"], limit=2.0)
    page = opened(found)
    page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    with page.expect_download() as waiting:
        page.click("text=Save the limits as CSV")
    text = waiting.value.path().read_text(encoding="utf-8")
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0][:3] == ["attribute", "limit", "state"]
    assert sorted(row[0] for row in rows[1:]) == ["'=1+1", "b", "c"]
    assert waiting.value.suggested_filename.endswith("-limits.csv")
    with page.expect_download() as waiting:
        page.click("text=Save these numbers as CSV")
    assert "attribute" in waiting.value.path().read_text(encoding="utf-8")


def test_a_page_says_that_it_holds_shares_of_pairs(opened):
    page = opened(report_page(judged(["exact"], 2.5)))
    assert "from the counts of the data" in page.inner_text("footer")


def test_a_witness_that_is_not_confirmed_says_so(opened, tmp_path):
    """Held-out people who never make such reports have a leakage of minus infinity."""
    domain = sp.Domain(
        [sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")]
    )
    coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [1000] * 4)
    result = sp.analyse(coins, 1.0, mechanism="grr", guarantee="witness").to_dict()
    for found, held_out in zip(
        result["totals"]["witness"]["evidence"], ["-inf", "inf", 0.5], strict=True
    ):
        found |= {"held_out": held_out, "own": None}
    (tmp_path / "result.json").write_text(json.dumps(sealed(result)), encoding="utf-8")
    text = opened(sp.Analysis.load(tmp_path / "result.json")).text_content("#rests")
    assert "not confirmed by people held out of the search" in text
    assert "infinitely many nats on people not searched" in text
    assert "0.50 nats on people not searched" in text
    assert "NaN" not in text


def test_witnesses_of_a_sample_refute_by_name(opened):
    """They are of kind assumed, as all totals of a sample."""
    domain = sp.Domain(
        [sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")]
    )
    codes = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]
    coins = sp.Records(domain, codes, [1000] * 4, population=10**6)
    found = sp.analyse(
        coins, 1.0, mechanism="grr", guarantee=["independent", "witness"]
    )
    text = opened(found).text_content("#rests")
    assert "Refuted for 3" in text
    assert "NaN" not in text
