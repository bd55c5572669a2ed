"""The page in a real browser, used as a person would: pointer, keys, narrow, dark,
print.
"""

import json

import pytest
from report_pages import ProcessorClock, analysed, synthetic

import seepage as sp
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
    if (a > 0) return [r, g, b]; } return parse(getComputedStyle(document.body).backgroundColor); };
  const bad = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
    if (!own || node.closest("script, [hidden], .on-fill") || node.disabled) continue;
    if (!node.getClientRects().length) continue;
    const style = getComputedStyle(node);
    const ink = node instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(parse(ink).slice(0, 3)), light(paper(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push([node.tagName, node.className, node.textContent.slice(0, 30), ratio]);
  }
  return bad;
}"""

UNNAMED = """() => [...document.querySelectorAll(
  "input, select, button, canvas, [role=region], [role=img]")]
  .filter((n) => !(n.labels && n.labels.length) && !n.getAttribute("aria-label")
    && !n.getAttribute("aria-labelledby") && !n.textContent.trim())
  .map((n) => n.outerHTML.slice(0, 80))"""

STEPS = 15
MOVE = """(steps) => { const slider = document.querySelector("#epsilon");
  for (let i = 0; i < steps; i++) { slider.value = i % (Number(slider.max) + 1);
    slider.dispatchEvent(new Event("input", {bubbles: true})); document.body.offsetHeight; } }"""


def _seconds_per_step(page, clock):
    """Return the CPU time of the page for one step of the slider, layout included."""
    before = clock.seconds()
    page.evaluate(MOVE, STEPS)
    return (clock.seconds() - before) / STEPS


def _cell(page, target, source):
    """Return where the cell of a pair is, on the canvas."""
    return page.evaluate(
        """([target, source]) => { const m = seepage.map;
        return {x: m.label + (m.order.indexOf(source) + 0.5) * m.cell,
                y: m.head + (m.order.indexOf(target) + 0.5) * m.cell}; }""",
        [target, source],
    )


def test_a_page_without_scripts_says_so(tab, tmp_path, adult_page):
    place = tmp_path / "quiet.html"
    place.write_text(adult_page, encoding="utf-8")
    tools = tab.context.new_cdp_session(tab)
    tools.send("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        tab.goto(place.as_uri())
        assert tab.inner_text("h1") == "adult"
        assert "allow scripts" in tab.inner_text("noscript")
        assert "Do not rely on these budgets yet" in tab.inner_text("#verdict")
    finally:
        tools.detach()


def test_a_click_opens_a_pair_and_swap_turns_it(opened, adult, adult_page):
    page = opened(adult_page)
    sex, occupation = (adult.domain.index(name) for name in ("sex", "occupation"))
    page.locator("#map-canvas").click(position=_cell(page, sex, occupation))
    assert page.inner_text("#pair-title") == "occupation → sex"
    exact = sp.leakage_matrix(adult, 1.0)["sex", "occupation"].value
    assert f"{exact:.2f} nats" in page.inner_text("#pair-body")
    assert f"occupation → sex: {exact:.4f}" in page.inner_text("#map-readout")
    page.get_by_role("button", name="Swap direction").click()
    assert page.inner_text("#pair-title") == "sex → occupation"


def test_the_slider_changes_the_map_at_once(opened, adult, adult_page):
    page = opened(adult_page)
    page.click("#map-table summary")
    before = page.inner_text("#map-table table")
    page.focus("#epsilon")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert page.inner_text("#epsilon-value") == "2.00"
    assert page.inner_text("#map-table table") != before
    cells = "all => all.map((row) => [...row.cells].map((cell) => cell.innerText))"
    head, *rows = page.eval_on_selector_all("#map-table tr", cells)
    exact = sp.leakage_matrix(adult, 2.0)
    assert sorted(row[0] for row in rows) == sorted(adult.domain.names)
    for target, *shown in rows:
        for source, cell in zip(head[1:], shown, strict=True):
            if source != target:
                assert float(cell) == pytest.approx(
                    exact[target, source].value, abs=5.1e-4
                )


def test_the_map_is_worked_with_keys(opened, adult_page):
    page = opened(adult_page)
    page.focus("#map-canvas")
    before = page.inner_text("#map-readout")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    after = page.inner_text("#map-readout")
    assert after != before
    page.keyboard.press("Enter")
    assert after.startswith(page.inner_text("#pair-title"))
    assert page.evaluate("document.activeElement.id") == "pair-title"


def test_every_control_is_reached_by_tab(opened):
    page = opened(analysed(synthetic(3, 2)))
    wanted = set(
        page.eval_on_selector_all("input, select, canvas", "all => all.map(n => n.id)")
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
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(UNNAMED) == []
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_nothing_moves_for_people_who_want_no_motion(opened):
    page = opened(analysed(synthetic(2, 2)))
    for motion, scrolls in (("reduce", "auto"), ("no-preference", "smooth")):
        page.emulate_media(reduced_motion=motion)
        style = "getComputedStyle(document.documentElement).scrollBehavior"
        assert page.evaluate(style) == scrolls


def test_the_verdict_names_what_it_rests_on_and_the_established_leaks(
    opened, adult, adult_page
):
    page = opened(adult_page)
    found = analysed(adult, limit=5.0)
    verdict = page.inner_text("#verdict")
    assert found.verdict.decision in verdict
    assert found.verdict.basis in verdict
    first = found.leaks(1)[0]
    assert f"{first.source} → {first.target}" in page.inner_text("#leaks li >> nth=0")
    assert "one finding: education and education-num" in page.inner_text("#leaks")
    methods = page.inner_text("#methods")
    assert adult.digest in methods
    assert "48,842" in methods


def test_refuted_assumptions_are_marked(opened):
    from seepage.channel.records import Records

    domain = sp.Domain(
        [sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")]
    )
    coins = Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [1000] * 4)
    page = opened(sp.analyse(coins, 1.0, mechanism="grr", guarantee="all", limit=2.0))
    totals = page.inner_text("#totals")
    assert "Refuted for 6" in totals
    witnessed = page.locator("#totals tbody tr").first.locator("td").last.text_content()
    assert f"witnessed {witnessed})" in totals  # rounded as in the table
    assert page.locator("#totals .picture text", has_text="refuted").count() == 6
    tips = page.locator("#totals .picture path > title").all_text_contents()
    for kind in ("certified", "statistical", "assumed", "lower bound"):
        assert sum(f"({kind})" in tip for tip in tips) >= 3
    assert "3 within, by exact" in page.inner_text("#verdict")


def test_names_are_shown_as_they_are_and_run_nothing(opened):
    page = opened(
        analysed(synthetic(6, 3, names=ODD), limit=2.0, name="</title><script>alert(3)")
    )
    assert page.inner_text("h1") == "</title><script>alert(3)"
    shown = page.locator("#limits .name").all_inner_texts()
    assert sorted(shown) == sorted(name.strip() for name in ODD)
    for target in range(6):
        page.evaluate(f"seepage.setPair({target}, {(target + 1) % 6})")
    assert page.evaluate("document.scripts.length") == 2
    assert page.locator("b").count() == 0


def test_a_script_that_slips_in_does_not_run(tab, tmp_path):
    page_text = report_page(analysed(synthetic(2, 2)))
    place = tmp_path / "changed.html"
    place.write_text(
        page_text.replace("<main>", "<main><script>window.slipped = 1</script>")
    )
    tab.goto(place.as_uri())
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
    page = opened(made, viewport={"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


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
    rows = page.locator("#limits .rows")
    assert rows.evaluate("n => n.scrollHeight <= n.clientHeight + 1")


def test_forty_attributes_are_quick(opened, forty_page):
    clock = ProcessorClock()
    page = opened(forty_page(5), before=clock.start)
    assert 0 < clock.seconds_until_painted() < 0.7
    assert 0 < _seconds_per_step(page, clock) < 0.05


@pytest.mark.slow
def test_a_hundred_and_fifty_attributes_are_usable(opened):
    clock = ProcessorClock()
    page = opened(
        analysed(synthetic(150, 2, records=500), limit=20.0), before=clock.start
    )
    assert 0 < clock.seconds_until_painted() < 1.5
    page.evaluate("seepage.setPair(0, 1)")
    assert page.locator("#pair .direction").count() == 2


def test_one_attribute_has_no_pairs(opened):
    page = opened(analysed(synthetic(1, 3), limit=3.0))
    assert "no pairs" in page.inner_text("#pair-title")
    assert ", 1 attribute;" in page.inner_text("#setting")
    assert "the attribute stays within its limit" in page.inner_text("#verdict")
    assert not page.is_visible("#map-canvas")


def test_names_from_right_to_left_keep_the_direction_of_an_arrow(opened):
    """Without isolation, two such names and the arrow between them change places."""
    names = ["الجنس", "العمر", "דת"]
    page = opened(analysed(synthetic(3, 3, names=names), limit=2.0))
    order = """(id) => { const node = document.getElementById(id).firstChild;
      const place = (text) => { const range = document.createRange();
        const at = node.data.indexOf(text);
        range.setStart(node, at); range.setEnd(node, at + text.length);
        return range.getBoundingClientRect().left; };
      return [%s].map(place); }"""
    for target, source in ((0, 1), (1, 0), (2, 0)):
        page.evaluate(f"seepage.setPair({target}, {source})")
        wanted = ", ".join(f"'{text}'" for text in (names[source], "→", names[target]))
        for place in ("pair-title", "map-readout"):
            lefts = page.evaluate(order % wanted, place)
            assert lefts == sorted(lefts), place


def test_a_mechanism_with_a_delta_has_other_budgets(opened):
    pairs = synthetic(3, 3)
    page = opened(
        sp.analyse(pairs, 1.0, mechanism="gauss", delta=1e-6, guarantee="worst")
    )
    assert "gauss, epsilon 1 each, delta 1e-06" in page.inner_text("#setting")
    page.focus("#epsilon")
    page.keyboard.press("ArrowLeft")
    exact = sp.leakage_matrix(pairs, 0.7, mechanism="gauss", delta=1e-6)
    shown = page.evaluate("Array.from(seepage.matrix())")
    assert shown == pytest.approx(exact.values.ravel().tolist(), abs=2e-6)


def test_budgets_of_each_attribute_start_the_map(opened):
    pairs = synthetic(3, 4)
    budgets = [0.5, 1.0, 2.0]
    mechanisms = ["grr", "oue", "ss"]
    page = opened(analysed(pairs, budgets, mechanisms))
    exact = sp.leakage_matrix(pairs, budgets, mechanism=mechanisms)
    shown = page.evaluate("Array.from(seepage.matrix())")
    assert shown == pytest.approx(exact.values.ravel().tolist(), abs=2e-6)
    assert "Largest epsilon, the others in proportion: 2.00" in page.inner_text(
        "#map-controls"
    )


def test_a_sample_is_labelled_as_such(opened, adult, adult_page):
    few = adult.select(["sex", "race", "income"])
    sample = sp.PairCounts(few.domain, few.marginals, few.counts, population=10**6)
    page = opened(analysed(sample, epsilon=0.1, limit=5.0, name="adult"))
    size = "sample of 48,842 of 1,000,000 records"
    assert page.inner_text("#setting").startswith(f"{size}, 3 attributes;")
    assert page.is_visible("#caution")
    assert f"from a {size}: valid only if" in page.inner_text("#caution")
    assert size in page.inner_text("#methods")
    assert page.evaluate(CONTRAST) == []
    whole = opened(adult_page)
    assert not whole.is_visible("#caution")
    assert whole.inner_text("#setting").startswith("48,842 records, 15 attributes;")


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
    text = opened(sp.Analysis.load(tmp_path / "result.json")).inner_text("#totals")
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
    text = opened(found).inner_text("#totals")
    assert "Refuted for 3" in text
    assert "NaN" not in text
