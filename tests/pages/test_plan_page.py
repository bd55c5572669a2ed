"""The page of a plan: what it says, and in a real browser."""

import math
import re
from html import unescape
from itertools import pairwise

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
from seepage.designs.forms.form import Form
from seepage.designs.strategies import NO_NOISE
from seepage.pages.plan_page import plan_page
from seepage.pages.plan_questions import budget, merged_answers
from seepage.pages.plan_view import STRATEGY_LABELS
from seepage.pages.questionnaire import questionnaire_page
from seepage.plan.advice import order_sentence, precision_sentence
from seepage.plan.plan_precision import plan_precision
from seepage.plan.promises import but_for, ground, promise, unpromised
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
    assert f"divided into {len(designed.forms)} groups by lot" in promise(designed)
    assert promise(designed).endswith("answers to one question at most 7.4 times.")
    assert ground(designed).startswith("It is proven")
    assert "2,000 records" in ground(designed)
    assert "nothing else about the person" in ground(designed)
    gaps = dict(unpromised(designed))
    assert {"The whole set of answers.", "Asking twice.", "Declining."} <= set(gaps)
    assert "People who know more." in gaps


def test_one_form_says_whether_answers_get_noise_alone_or_together():
    pairs = counts()
    for channel, noise in (
        (product(sex=1.0, ill=1.0), "each answer gets noise"),
        (matrix(pairs.domain, ["sex", "ill"], 1.0), "the answers together get noise"),
    ):
        asked = f"Everyone is asked the same 2 questions, and {noise}. "
        assert promise(forms_plan(pairs, [channel], limit=2.0)).startswith(asked)


def test_an_assumption_is_no_promise():
    plan = sp.calibrate(sp.load_pairs("adult").select(["sex", "race"]), 2.0)
    assert plan.kind == "assumed"
    assert "promises" not in promise(plan)
    assert "RESTS ON AN ASSUMPTION" in ground(plan)
    assert '<p class="callout decide"><b>Not proven.</b>' in plan_page(plan)


def test_a_delta_stands_in_the_promise_itself():
    table = sp.make_survey(4_000).select(["coffee", "sleep"])
    plan = sp.calibrate(table, 2.0, mechanism="gauss", delta=1e-5)
    delta = max(planned.total_delta for planned in plan.attributes)
    assert f"7.4 times{but_for(delta)}." in promise(plan)
    [stated] = re.findall("7.4 times, but for delta ([^ ]+) in", promise(plan))
    assert 0 < delta <= float(stated) * (1 + 1e-8)
    assert f"odds change at most 7.4 times, delta {stated}, epsilon" in repr(plan)


def test_totals_for_a_population_name_confidence_and_sample():
    table = sp.make_survey(4_000).select(["coffee", "sleep"])
    plan = sp.calibrate(table, 2.0, mechanism="grr", scope="population")
    assert f"{100 * plan.confidence:g} % confidence" in promise(plan)
    assert "random sample with one record per person" in ground(plan)


def test_public_and_left_out_attributes_are_named():
    pairs = counts()
    plan = forms_plan(
        pairs,
        [product(sex=1.0)],
        public=["job"],
        limit={"sex": 2.0, "age": 1.0, "ill": None, "job": None},
    )
    page = plan_page(plan)
    assert "not asked, but protected: the limit holds for it" in page
    assert "not asked, and not protected" in page
    assert "public: known without asking" in page
    gaps = dict(unpromised(plan))
    assert gaps["Public answers."].startswith("job:")
    assert gaps["Questions without a limit."].startswith("ill:")


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


def test_the_policy_allows_no_script(tab, tmp_path, designed):
    place = tmp_path / "plan.html"
    page_text = plan_page(designed).replace(
        "<main>", "<main><script>document.title='run'</script>"
    )
    place.write_text(page_text, encoding="utf-8")
    tab.goto(place.as_uri())
    assert tab.title().startswith("A plan: ")


def test_the_first_screen_decides(opened, designed):
    page = opened(
        plan_page(designed, name="people.csv"), viewport={"width": 1440, "height": 900}
    )
    precision = plan_precision(designed)
    assert page.inner_text("h1") == order_sentence(designed, precision)
    assert page.inner_text(".lead") == precision_sentence(precision)
    assert page.inner_text(".odds .big") == "7.4 ×"
    titles = ["Choose this plan if", "Choose one question each if"]
    assert page.locator(".choice h2").all_inner_texts() == titles
    for part in (".mosaic", ".people", ".odds", ".choose"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 900, part
    assert page.locator(".mosaic").bounding_box()["width"] >= 0.4 * 1440
    assert page.locator("text=nats >> visible=true").count() == len(
        page.locator("summary", has_text="nats").all()
    )


def test_costly_privacy_is_said_first(opened):
    page = opened(plan_page(many_forms()))
    callout = page.locator(".callout")
    assert "out of proportion" in callout.inner_text()
    assert callout.bounding_box()["y"] < page.locator("h1").bounding_box()["y"]
    without = plan_precision(many_forms()).without_privacy
    assert f"without it {without:,}" in callout.inner_text().replace("1,070", "1,068")


@pytest.mark.parametrize(
    ("attributes", "forms"), [(1, 1), (2, 1), (22, 19), (42, 34), (1500, 600)]
)
def test_a_page_has_at_most_three_thousand_pixels(opened, attributes, forms):
    plan = many_forms(attributes, forms) if attributes > 2 else _plain(attributes)
    window = {"width": 1440, "height": 900}
    page = opened(plan_page(plan), viewport=window)
    assert page.evaluate("document.documentElement.scrollHeight") <= 3000
    assert _wide(page) <= 0
    page.set_viewport_size({"width": 390, "height": 844})
    assert _wide(page) <= 0


def test_long_names_and_answers_take_two_lines(opened):
    rng = np.random.default_rng(4)
    labels = np.array(
        [f"an answer that says a lot about {topic}" for topic in "abcdef"]
    )
    wording = "a question that somebody worded with great care and patience"
    columns = {
        f"{number} {wording}": labels[rng.integers(0, 6, 2_000)] for number in range(15)
    }
    plan = sp.calibrate(pa.table(columns), 2.0, guarantee="worst")
    page = opened(plan_page(plan), viewport={"width": 1440, "height": 900})
    assert page.evaluate("document.documentElement.scrollHeight") <= 3000
    assert _wide(page) <= 0
    for row in page.locator(".questions tbody tr").all():
        assert row.bounding_box()["height"] <= 60


@pytest.mark.parametrize("width", [1440, 1024, 768, 600, 390])
def test_names_without_a_space_are_not_too_wide(opened, width):
    """As of columns of real files."""
    people = sp.make_survey(1_000, rng=1).select(["coffee", "sleep", "transport"])
    names = ["text_while_driving_30d", "hours_tv_per_school_day", "x" * 60]
    plan = sp.calibrate(people.rename_columns(names), 2.0, guarantee="worst")
    page = opened(plan_page(plan), viewport={"width": width, "height": 844})
    assert _wide(page) <= 0


@pytest.mark.parametrize("width", [1024, 768, 701])
def test_questions_with_prices_are_not_too_wide(opened, designed, width):
    page = opened(plan_page(designed), viewport={"width": width, "height": 844})
    assert page.locator(".questions th:has-text('People fewer')").count()
    longest = page.locator(".questions tbody th bdi").first
    longest.evaluate("e => { e.textContent = 'text_while_driving_30d' }")
    assert _wide(page) <= 0


def test_bars_of_people_are_long_enough_on_paper(opened, designed):
    page = opened(plan_page(designed), viewport={"width": 694, "height": 1040})
    page.emulate_media(media="print")
    bars = page.locator(".people .bars").first.bounding_box()
    assert bars["width"] >= 120
    assert page.locator(".mosaic text.wide:visible").count() == 0


def test_letters_of_groups_do_not_collide(opened):
    page = opened(plan_page(many_forms(42, 34)))
    for width in (1440, 768, 390):
        page.set_viewport_size({"width": width, "height": 844})
        boxes = [
            text.bounding_box()
            for text in page.locator(".mosaic svg:first-child text.strong").all()
            if text.is_visible()
        ]
        assert boxes or width == 390  # where each group is too narrow
        for left, right in pairwise(sorted(boxes, key=lambda box: box["x"])):
            assert left["x"] + left["width"] <= right["x"]


def _plain(attributes):
    """A plan that asks everyone everything."""
    table = sp.make_survey(1_000, rng=1).select(["coffee", "sleep"][:attributes])
    return sp.calibrate(table, 2.0, guarantee="worst")


def test_details_have_every_group_and_every_total(opened, designed):
    page = opened(plan_page(designed))
    assert page.locator(".groups tbody tr").count() == len(designed.forms)
    assert page.locator(".groups").is_visible() is False
    page.click("summary:has-text('Every group')")
    row = page.inner_text(".groups tbody tr >> nth=0")
    largest = max(designed.forms, key=lambda form: form.chance)
    assert f"{100 * largest.share:.2f} %" in row
    for name in largest.attributes:
        question = largest.question(name)
        assert name in row
        assert question is None or f"{name} {budget(question.epsilon)} (" in row
    page.click("summary:has-text('What is told about every question')")
    rows = page.locator(".totals tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == list(designed.domain.names)
    assert designed.digest in unescape(plan_page(designed))


def test_unbounded_totals_and_silent_reports_are_said(opened):
    forms = [Form.of(product(sex=0.0, ill=1.0), "worst", [1.0, 1.0, 1.0, math.inf])]
    plan = plan_of_forms(counts(), forms, limit=None)
    page = opened(plan_page(plan))
    rows = page.locator(".questions tbody tr").all_inner_texts()
    by_name = {row.split()[0]: row for row in rows}
    assert "none" in by_name["sex"]
    assert "no bound" in by_name[plan.domain.names[3]]


def test_people_by_strategy_are_those_of_the_design(opened, designed, found):
    page = opened(plan_page(designed))
    page.click("summary:has-text('Other ways to ask')")
    people = {}
    for row in page.locator(".ways tbody tr").all():
        texts = row.locator("th, td").all_inner_texts()
        people[texts[0]] = int(texts[1].split(" ")[0].replace(",", ""))
    needed = designed.people_for(0.03)
    assert people["This plan"] == pytest.approx(needed, rel=0.01)
    by_name = {one.name: one.error / found.error for one in found.comparison[:-1]}
    for name, label in STRATEGY_LABELS.items():
        if name in by_name and name != NO_NOISE:
            assert people[label] == pytest.approx(by_name[name] * needed, rel=0.01)


@pytest.mark.parametrize("make", [with_matrix, many_forms, lambda: plan_for(counts())])
def test_text_has_contrast_in_light_and_dark(opened, make):
    page = opened(plan_page(make()))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
        assert page.evaluate(CONTRAST) == []
    assert page.evaluate(UNNAMED) == []


def test_paper_shows_the_details_in_light(opened):
    page = opened(plan_page(with_matrix()), color_scheme="dark")
    assert page.locator(".groups").is_visible() is False
    page.emulate_media(media="print")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    assert page.locator("nav").is_visible() is False
    assert page.locator(".groups tbody tr >> nth=0").is_visible()
    assert page.pdf().startswith(b"%PDF")


def test_hostile_names_are_text(opened):
    plan = forms_plan(
        binary_pairs(6, names=ODD), [product(**{name: 1.0}) for name in ODD], limit=2.0
    )
    page = opened(plan_page(plan, name=ODD[0]), viewport={"width": 390, "height": 844})
    assert ODD[0] in page.inner_text(".bar .file")
    shown = page.locator(".questions tbody th bdi").all_text_contents()
    assert sorted(shown) == sorted(ODD)
    assert page.locator("script, b:has-text('bold')").count() == 0
    assert _wide(page) <= 0


def test_what_was_merged_and_left_out_is_said():
    people = sp.make_survey(4_000).select(["age", "income", "coffee"])
    days = pa.array(np.random.default_rng(1).integers(0, 31, len(people)))
    people = people.append_column("days", days)
    plan = sp.design(people, 1.0, effort=0.02, title="Days")
    assert plan.provenance.settings["values"] == {"days": 31}
    page = unescape(plan_page(plan))
    assert "What counts as which answer" in page
    assert merged_answers(plan)["days"] in page
    assert "<title>Days: " in page
    assert "<title>Days</title>" in questionnaire_page(plan)


def test_opened_details_fit_on_paper(opened, designed):
    """A4 with margins of 13 mm is 694 px wide; Chromium would shrink a wider page."""
    page = opened(plan_page(designed), viewport={"width": 694, "height": 1040})
    page.emulate_media(media="print")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.locator(".ways").is_visible()
    assert _wide(page) <= 0
