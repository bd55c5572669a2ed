"""The page of a plan: what it says, and in a real browser."""

import math
import re
from html import unescape

import numpy as np
import pyarrow as pa
import pytest
from test_report_browser import CONTRAST, UNNAMED

import seepage as sp
from plan_examples import (
    counts,
    forms_plan,
    matrix,
    plan_for,
    plan_of_forms,
    product,
    survey_design,
)
from plan_pages import ODD, binary_pairs, many_forms, with_matrix
from seepage._core.text import points
from seepage.designs.forms.form import Form
from seepage.designs.strategies import NO_NOISE
from seepage.pages.plan_page import compare_page, plan_page
from seepage.pages.questionnaire import questionnaire_page
from seepage.plan.advice import advice, people_sentence
from seepage.plan.plan_precision import (
    answer_variances,
    pairs_together,
    plan_precision,
)
from seepage.plan.promises import ground, promise, unpromised
from seepage.workflow.within_limits import plan_of_design


@pytest.fixture(scope="module")
def found():
    return survey_design()


@pytest.fixture(scope="module")
def designed(found):
    return plan_of_design(found)


def _wide(page):
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_the_first_sentences_say_what_is_promised_and_on_what_it_rests(designed):
    assert f"one of {len(designed.forms)} forms" in promise(designed)
    assert "at most 2 nats" in promise(designed)
    assert "factor of at most 7.4" in promise(designed)
    assert ground(designed).startswith("It is proven")
    assert "2,000 records" in ground(designed)
    assert "nothing else about the person" in ground(designed)
    gaps = dict(unpromised(designed))
    assert {"The whole record.", "Repeats.", "Declining."} <= set(gaps)
    assert "Adversaries with further knowledge." in gaps


def test_one_form_says_whether_answers_get_noise_alone_or_together():
    pairs = counts()
    for channel, noise in (
        (product(sex=1.0, ill=1.0), "each answer gets noise"),
        (matrix(pairs.domain, ["sex", "ill"], 1.0), "the answers together get noise"),
    ):
        asked = f"Everyone is asked for the same 2 attributes, and {noise}. "
        assert promise(forms_plan(pairs, [channel], limit=2.0)).startswith(asked)


def test_an_assumption_is_no_promise():
    plan = sp.calibrate(sp.load_pairs("adult").select(["sex", "race"]), 2.0)
    assert plan.kind == "assumed"
    assert "promises" not in promise(plan)
    assert "RESTS ON AN ASSUMPTION" in ground(plan)
    assert 'class="note warning"' in plan_page(plan)


def test_totals_for_a_population_name_confidence_and_sample():
    table = sp.make_survey(4_000).select(["coffee", "sleep"])
    plan = sp.calibrate(table, 2.0, mechanism="grr", scope="population")
    assert f"confidence {plan.confidence:g}" in promise(plan)
    assert "random sample with one record per person" in ground(plan)


def test_a_design_for_the_population_is_compared_with_its_confidence(opened):
    people = sp.make_survey(4_000).select(["coffee", "screen", "sleep"])
    plan = sp.design(people, 2.0, shape="never")
    assert plan.scope == "population"
    page = opened(plan_page(plan))
    rows = {
        row.split("\t")[0]: row for row in page.locator(".ways tr").all_inner_texts()
    }
    assert "with confidence 0.95" in rows["this plan"]
    assert "worst" in rows["equal split (SPL)"]
    assert "confidence" not in rows["equal split (SPL)"]


def test_public_and_left_out_attributes_are_named():
    pairs = counts()
    plan = forms_plan(
        pairs,
        [product(sex=1.0)],
        public=["job"],
        limit={"sex": 2.0, "age": 1.0, "ill": None, "job": None},
    )
    page = plan_page(plan)
    assert ">not collected<" in page
    assert ">public<" in page
    gaps = dict(unpromised(plan))
    assert gaps["Public attributes."].startswith("job:")
    assert gaps["Attributes without a limit."].startswith("ill:")


def test_forms_that_rest_on_different_guarantees_name_the_weakest():
    pairs = binary_pairs(2)
    forms = [
        Form.of(product(**{"question 1": 1.0}), "exact", [1.0, 1.0]),
        Form.of(product(**{"question 2": 1.0}), "independent", [1.0, 1.0]),
    ]
    plan = plan_of_forms(pairs, forms, limit=1.0)
    assert "(independent, exact). The weakest: It RESTS ON AN ASSUMPTION" in ground(
        plan
    )
    assert "promises" not in promise(plan)


def test_what_reports_do_not_tell_and_unbounded_totals_are_shown(opened):
    forms = [Form.of(product(sex=0.0, ill=1.0), "worst", [1.0, 1.0, 1.0, math.inf])]
    plan = plan_of_forms(counts(), forms, limit=None)
    page = opened(plan_page(plan))
    assert "everything: no bound" in page.inner_text(".attributes")
    assert page.inner_text(".precision tbody tr >> nth=0").split() == ["sex", "-"]


def test_the_page_reads_top_to_bottom(opened, designed):
    page = opened(plan_page(designed, name="people.csv"))
    assert page.inner_text("h1") == "people.csv"
    sentence = people_sentence(designed, plan_precision(designed))
    assert page.inner_text(".headline >> nth=0") == sentence
    assert page.inner_text(".headline >> nth=1") == promise(designed)
    assert page.locator(".forms thead th").count() == len(designed.forms) + 2
    assert page.locator(".forms tbody td.cell").count() == sum(
        len(form.attributes) for form in designed.forms
    )
    rows = page.locator(".attributes tbody tr")
    assert rows.count() == 3
    assert "2 (a factor of 7.4)" in rows.nth(0).inner_text()
    assert page.inner_text(".ways tbody tr >> nth=0").startswith("no privacy")
    assert page.locator(".sign tbody tr").count() == 3
    together, pairs = pairs_together(designed)
    assert f"{len(together)} of {len(pairs)} cross-tables" in page.inner_text(
        "#precision"
    )
    assert designed.digest in page.inner_text(".paste")
    assert _wide(page) <= 0


def test_precision_is_that_of_the_design(opened, designed, found):
    page = opened(plan_page(designed))
    table = page.inner_text(".ways")
    cells = re.findall(
        r"^(.*?)\s+([\d,]+) \(([\d.]+) ×", table.replace("\t", " "), re.MULTILINE
    )
    times = {name: float(ratio) for name, _, ratio in cells}
    for one in found.comparison[:-1]:
        if one.name != NO_NOISE:
            assert times[one.name] == pytest.approx(one.error / found.error, rel=0.01)
    people = {name: int(number.replace(",", "")) for name, number, _ in cells}
    needed = designed.people_for(0.03)
    assert people["this plan"] == pytest.approx(needed, rel=0.01)
    without = max((f * (1 - f)).max() for f in map(np.array, frequencies(designed)))
    assert people[NO_NOISE] == pytest.approx(without * (1.96 / 0.03) ** 2, rel=0.01)


def frequencies(plan):
    return [plan[name].frequencies for name in plan.collected.names]


def test_two_plans_are_compared_for_the_same_people(opened, designed):
    other = plan_for(counts(), 1.0)
    page = opened(compare_page({"a.json": designed, "b.json": other}))
    text = page.inner_text("main")
    assert people_sentence(designed, plan_precision(designed)) in text
    assert people_sentence(other, plan_precision(other)) in text
    people = plan_precision(designed).people
    width = 1.96 * np.sqrt(answer_variances(other)["sex"].sum() / 2 / people)
    rows = dict(
        row.split("\t", 1) for row in page.locator(".pair tr").all_inner_texts()
    )
    assert rows["sex"] == f"not asked\t± {points(width)}"
    assert page.inner_text(".headline").startswith(
        "For every share within 3.0 points, a.json needs"
    )
    assert _wide(page) <= 0


@pytest.mark.parametrize("make", [with_matrix, many_forms, lambda: plan_for(counts())])
def test_text_has_contrast_in_light_and_dark_and_a_phone_scrolls_down_only(
    opened, make
):
    page = opened(plan_page(make()))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
        assert page.evaluate(CONTRAST) == []
    assert page.evaluate(UNNAMED) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert _wide(page) <= 0


def test_a_phone_shows_every_column_without_scrolling_sideways(opened, designed):
    page = opened(plan_page(designed), viewport={"width": 390, "height": 844})
    wider = """[...document.querySelectorAll('.scroll')]
      .filter((one) => one.scrollWidth > one.clientWidth)
      .map((one) => one.getAttribute('aria-label'))"""
    assert page.evaluate(wider) == []
    row = " ".join(page.inner_text(".attributes tbody tr >> nth=0").split())
    assert "2 (a factor of 7.4)" in row
    labels = page.evaluate(
        """[...document.querySelector('.attributes tbody tr').querySelectorAll('td')]
      .map((cell) => getComputedStyle(cell, '::before').content)"""
    )
    assert labels[0] == '"all reports tell at most"'
    assert labels[-2:] == ['"limit"', '"rests on"']
    assert all(label != '""' for label in labels)


def test_what_must_be_decided_is_read_before_how_rivals_do():
    domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b")])
    same = sp.Records(domain, [[0, 0], [1, 1]], [500, 500])
    plan = sp.design(same, 1.0, scope="table")
    precision = plan_precision(plan)
    rivals = advice(plan, precision)
    assert rivals
    page = unescape(plan_page(plan))
    sentences = [people_sentence(plan, precision), promise(plan), ground(plan)]
    places = [page.index(text) for text in [*sentences, *rivals]]
    assert places == sorted(places)
    assert places[-1] > page.index('id="precision"')


def test_forty_attributes_in_sixty_forms_fit_a_screen(opened):
    text = plan_page(many_forms())
    assert len(text) < 500_000
    page = opened(text)
    assert page.locator(".forms.dense tbody tr").count() == 40
    assert page.evaluate("document.querySelector('.forms').offsetWidth") <= 1280
    assert page.locator("details ol li").count() == 60
    assert page.locator("details ol li >> nth=0").is_visible() is False


def test_a_matrix_says_that_one_report_holds_all_answers(opened):
    plan = with_matrix()
    page = opened(plan_page(plan))
    assert page.locator(".forms td.cell.shaped", has_text="shaped").count() == 3
    legend = " ".join(page.inner_text(".legend-line").split())
    budgets = [
        q.epsilon
        for form in plan.forms
        for name in form.attributes
        if (q := form.question(name))
    ]
    assert f" {max(budgets):.2f}: the larger, the less noise. ⊞ shaped" in legend
    page.click("text=Every form in words")
    assert "as one report for all answers together" in page.inner_text("details ol")


def test_paper_shows_every_form_in_light(opened):
    page = opened(plan_page(with_matrix()), color_scheme="dark")
    page.emulate_media(media="print")
    assert (
        page.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert page.locator("nav").is_visible() is False
    assert page.locator("details ol li >> nth=0").is_visible()
    assert page.pdf().startswith(b"%PDF")


def test_hostile_names_are_text(opened):
    plan = forms_plan(
        binary_pairs(6, names=ODD), [product(**{name: 1.0}) for name in ODD], limit=2.0
    )
    page = opened(plan_page(plan, name=ODD[0]), viewport={"width": 390, "height": 844})
    assert page.inner_text("h1") == ODD[0]
    shown = page.locator(".attributes tbody th bdi").all_text_contents()
    assert shown == ODD
    assert page.locator("script, b").count() == 0
    assert _wide(page) <= 0


def test_the_policy_allows_no_script(tab, tmp_path, designed):
    place = tmp_path / "plan.html"
    page_text = plan_page(designed).replace(
        "<main>", "<main><script>document.title='run'</script>"
    )
    place.write_text(page_text, encoding="utf-8")
    tab.goto(place.as_uri())
    assert tab.title() == "Plan of a collection: a plan"


def test_the_page_says_what_was_merged_and_two_designs_of_one_title_are_told_apart():
    people = sp.make_survey(4_000).select(["age", "income", "coffee"])
    days = pa.array(np.random.default_rng(1).integers(0, 31, len(people)))
    ill = pa.array(np.where(np.arange(len(people)) % 100, "no", "yes"))
    people = people.append_column("days", days).append_column("ill", ill)
    found = {
        str(limit): sp.design(people, limit, seconds=0.5, title="Days")
        for limit in (1.0, 2.0)
    }
    assert found["1.0"].provenance.settings["values"] == {"days": 31}
    page = plan_page(found["1.0"])
    assert "(merged from 31 values)" in page
    assert "does not name, such as ill, whose answers but one are too rare." in page
    assert '<td data-label="whole record, nats">everything</td>' in page
    text = compare_page(found)
    assert "Days (1.0) needs" in text
    assert "Days (2.0) needs" in text
    assert "<title>Days</title>" in questionnaire_page(found["1.0"])
