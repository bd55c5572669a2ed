"""Plans whose totals their own forms contradict do not load; every honest one does."""

import itertools
import math
import tempfile
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage as sp
from plan_examples import (
    DOMAIN,
    counts,
    forms_plan,
    matrix,
    people,
    plan_of_forms,
    product,
    survey_design,
    three_forms,
)
from seepage._core.errors import InputError
from seepage.channel.domain import Attribute, Domain
from seepage.channel.records import Records
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_channels import MatrixChannel, ProductChannel
from seepage.designs.forms.question import Question
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.transition_matrix import MatrixMechanism
from seepage.pages.plan_page import plan_page
from seepage.plan.contradictions import least_relaxed_leakage, least_totals
from seepage.workflow.plan import Plan
from seepage.workflow.within_limits import plan_of_design

PAIRS = counts()
NO_LIMITS = dict.fromkeys(DOMAIN.names)


def reloaded(plan):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        plan.save(path)
        return Plan.load(path)


def refusal(plan):
    with pytest.raises(InputError) as caught:
        reloaded(plan)
    message = str(caught.value)
    assert "\n" not in message
    return message


def forged(plan, number=0, **claim):
    """The plan with other claims of one of its forms, and the digest that fits them."""
    forms = list(plan.forms)
    forms[number] = msgspec.structs.replace(forms[number], **claim)
    limits = [None] * len(plan.listed)
    listed = [
        msgspec.structs.replace(stored, limit=limit)
        for stored, limit in zip(plan.listed, limits, strict=True)
    ]
    return msgspec.structs.replace(plan, forms=tuple(forms), listed=tuple(listed))


def nearly_identical(names, rest=1e-4):
    """The matrix that sends the answers themselves, but for a small probability."""
    cells = math.prod(DOMAIN[name].size for name in names)
    rows = (1 - rest) * np.eye(cells) + rest / cells
    return MatrixChannel.of(names, MatrixMechanism(rows))


# Honest plans -------------------------------------------------------------------------


def honest_plans():
    yield three_forms(PAIRS)
    yield plan_of_design(survey_design())
    table = people(800)
    for guarantee, mechanism in [
        ("exact", "grr"),
        ("exact", None),
        ("merged", None),
        ("worst", "oue"),
        ("sampled", "grr"),
        ("sampled", "rappor"),
        ("independent", "ss"),
        ("sum", "exp"),
    ]:
        plan = sp.calibrate(table, 1.5, guarantee=guarantee, mechanism=mechanism)
        assert plan.totals.max() <= 1.5
        yield plan
    yield sp.calibrate(table, 1.5, guarantee="independent", view="inferred")
    yield sp.calibrate(table, 2.0, guarantee="merged", mechanism="gauss", delta=1e-6)
    for scope in ("table", "population"):
        searched = {"scope": scope, "effort": 0.1}
        yield sp.design(table, 1.5, **searched)
        yield sp.design(table, {**NO_LIMITS, "ill": 0.7}, **searched)
    searched = {"scope": "table", "effort": 0.1}
    yield sp.design(table, 2.0, known=["sex"], shape="never", **searched)
    yield sp.design(table, {**NO_LIMITS, "ill": 2.0}, public=["sex"], **searched)


def test_every_honest_plan_loads():
    number = 0
    for plan in honest_plans():
        assert reloaded(plan) == plan
        number += 1
    assert number > 12


@settings(max_examples=25)
@given(data=st.data())
def test_a_plan_of_any_table_loads_with_values_that_never_occur(data):
    """Declared values without a record are promised as if they occurred."""
    sizes = data.draw(st.lists(st.integers(2, 3), min_size=2, max_size=3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shown = [data.draw(st.integers(1, size)) for size in sizes]
    domain = Domain(
        Attribute(f"a{index}", tuple("xyz"[:size])) for index, size in enumerate(sizes)
    )
    columns = [rng.integers(0, number, 200) for number in shown]
    records = Records(domain, np.stack(columns, axis=1))
    shape = data.draw(st.sampled_from(["never", "forms"]))
    plan = sp.design(records, 1.0, scope="table", shape=shape)
    assert reloaded(plan) == plan
    for form in plan.forms:
        for name in form.attributes:
            least = least_totals(plan, form)[domain.index(name)]
            assert form.total_values[domain.index(name)] >= least * (1 - 1e-9) - 1e-12
    mechanism = data.draw(st.sampled_from(["grr", "oue"]))
    guarantee = data.draw(st.sampled_from(["exact", "sampled", "worst"]))
    reloaded(sp.calibrate(records, 1.0, guarantee=guarantee, mechanism=mechanism))


# Forged plans -------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["sex"], ["sex", "ill"], ["sex", "ill", "age"]])
@pytest.mark.parametrize(
    ("guarantee", "scope"),
    [("worst", "table"), ("exact", "table"), ("exact", "population")],
)
def test_a_nearly_identical_matrix_with_totals_of_1_does_not_load(
    names, guarantee, scope
):
    form = Form.of(nearly_identical(names), guarantee, [1.0] * len(DOMAIN))
    plan = plan_of_forms(PAIRS, [form], limit=1.0, scope=scope, confidence=0.95)
    message = refusal(plan)
    assert "its reports tell at least" in message
    assert "and its total is 1; plan anew" in message


@pytest.mark.parametrize("delta", [1e-9, 1e-300, 0.5])
@pytest.mark.parametrize("asked", ["product", "matrix"])
def test_a_delta_that_no_question_has_does_not_load(asked, delta):
    channel = product(sex=9.0, ill=9.0)
    if asked == "matrix":
        channel = matrix(DOMAIN, ["sex", "ill"], 9.0)
    for guarantee in ("exact", "worst"):
        form = Form.of(channel, guarantee, [1.0] * 4, [delta] * 4)
        message = refusal(plan_of_forms(PAIRS, [form], limit=1.0))
        assert f"have delta {delta:g}, and none of its questions has a delta" in message


def test_a_delta_of_one_question_hides_no_other_report():
    """A total of 1 with delta 1e-9 is refuted by a GRR report of epsilon 9."""
    slack = Question(attribute="job", mechanism="gauss", epsilon=1.0, delta=1e-9)
    channel = ProductChannel(questions=(*product(sex=9.0).questions, slack))
    form = Form.of(channel, "merged", [1.0] * 4, [1e-9] * 4)
    assert "tell at least 9 about 'sex'" in refusal(plan_of_forms(PAIRS, [form]))


def test_a_delta_hides_no_report_of_a_sampled_total():
    form = Form.of(product(sex=9.0), "sampled", [1.0] * 4, [1e-6] * 4)
    plan = plan_of_forms(PAIRS, [form], confidence=0.95)
    assert "tell at least 9 about 'sex'" in refusal(plan)


def test_a_pure_total_of_gaussian_noise_does_not_load():
    noisy = Question(attribute="job", mechanism="gauss", epsilon=1.0, delta=1e-9)
    form = Form.of(ProductChannel(questions=(noisy,)), "merged", [5.0] * 4)
    assert "tell at least inf about 'job'" in refusal(plan_of_forms(PAIRS, [form]))


@pytest.mark.parametrize("asked", ["product", "matrix"])
def test_the_worst_total_of_an_attribute_that_is_not_asked_is_the_sum_of_budgets(asked):
    channel = product(sex=1.0, ill=2.0)
    if asked == "matrix":
        channel = matrix(DOMAIN, ["sex", "ill"], 3.0)
    totals = [channel.record] * 4
    honest = forms_plan(PAIRS, [channel])
    assert reloaded(honest) == honest
    totals[DOMAIN.index("age")] = 1.0
    assert "about 'age', and its total is 1;" in refusal(forged(honest, totals=totals))


def test_a_matrix_has_no_assumed_or_sampled_totals():
    for guarantee in ("sampled", "independent", "merged"):
        form = Form.of(nearly_identical(["sex"]), guarantee, [20.0] * 4)
        plan = plan_of_forms(PAIRS, [form], confidence=0.95)
        assert f"cannot have the guarantee {guarantee!r}" in refusal(plan)


@settings(max_examples=40)
@given(data=st.data())
def test_a_total_below_the_least_of_any_distribution_does_not_load(data):
    """Each total of an asked attribute may be lowered to its least value, not below."""
    plan = data.draw(st.sampled_from(FORMS))
    number = data.draw(st.integers(0, len(plan.forms) - 1))
    form = plan.forms[number]
    least = least_totals(plan, form)
    asked = [DOMAIN.index(name) for name in form.attributes]
    index = data.draw(st.sampled_from(asked))
    if form.guarantee == "worst" or least[index] > 0:
        share = data.draw(st.floats(0.0, 0.999))
        totals = list(form.totals)
        totals[index] = float(least[index]) * share
        assert "plan anew" in refusal(forged(plan, number, totals=totals))


FORMS = [
    forms_plan(PAIRS, [product(sex=1.0, job=2.0), matrix(DOMAIN, ["sex", "ill"], 2.0)]),
    plan_of_forms(
        PAIRS,
        [
            Form.of(product(sex=1.0, job=("oue", 2.0)), "exact", [3.0] * 4),
            Form.of(nearly_identical(["job", "ill"]), "exact", [20.0] * 4),
        ],
    ),
]


# What is known or public --------------------------------------------------------------


def stated(plan, **settings):
    """The plan with these settings and without notes."""
    provenance = msgspec.structs.replace(plan.provenance, settings=settings)
    return msgspec.structs.replace(plan, provenance=provenance, notes=())


def test_a_forged_plan_shows_what_it_takes_as_known():
    """Totals of known attributes are not checked, so its page says which they are."""
    near = Form.of(nearly_identical(["sex"]), "exact", [0.0, 20.0, 20.0, 20.0])
    totals = [0.0 if name == "sex" else 20.0 for name in DOMAIN.names]
    near = msgspec.structs.replace(near, totals=totals)
    plan = stated(plan_of_forms(PAIRS, [near]), known=["sex"])
    loaded = reloaded(plan)
    assert "sex: taken as known to everyone" in plan_page(loaded)
    assert "tell at least" in refusal(stated(plan))


def test_what_is_known_or_public_has_no_limit():
    plan = three_forms(PAIRS)
    with pytest.raises(InputError, match="stated as known, and it is no attribute"):
        stated(plan, known=["height"])
    limited = msgspec.structs.replace(plan.listed[0], limit=50.0)
    listed = (limited, *plan.listed[1:])
    plan = msgspec.structs.replace(plan, listed=listed)
    with pytest.raises(InputError, match="public or known, so it cannot have a limit"):
        stated(plan, known=[limited.name])


def test_worst_totals_do_not_stand_beside_public_values():
    plan = forms_plan(PAIRS, [product(sex=1.0)])
    assert plan.guarantee == "worst"
    listed = [
        msgspec.structs.replace(stored, public=stored.name == "job", limit=None)
        for stored in plan.listed
    ]
    shown = msgspec.structs.replace(plan, listed=tuple(listed))
    assert "tell at least inf about" in refusal(shown)


def test_a_wanted_statistic_of_no_attribute_does_not_load():
    with pytest.raises(InputError, match="each of want must be"):
        stated(three_forms(PAIRS), want=["sex"])


@pytest.mark.parametrize(
    "settings",
    [
        {"known": "sex"},
        {"known": {"sex": 1}},
        {"columns": []},
        {"columns": {"same": ["a"]}},
        {"too rare": "a"},
        {"fixing records": "many"},
        {"title": 3},
        {"precision": "0.03"},
        {"precision": None},
        {"people": 0},
        {"objective": "none"},
        {"design": {"late gain": "big"}},
        {"design": 1},
    ],
)
def test_settings_of_another_type_do_not_load(settings):
    with pytest.raises(InputError, match="settings of a plan: "):
        stated(three_forms(PAIRS), **settings)


# The bounds ---------------------------------------------------------------------------


def all_supports(mechanism):
    """P(set of supported values | value), for every set of three values."""
    sets = list(itertools.product([0, 1], repeat=mechanism.k))
    rows = np.ones((mechanism.k, len(sets)))
    for value in range(mechanism.k):
        for index, members in enumerate(sets):
            for other, is_member in enumerate(members):
                chance = mechanism.true if other == value else mechanism.other
                rows[value, index] *= float(chance if is_member else 1 - chance)
    return rows


@pytest.mark.parametrize("name", ["grr", "ss", "oue", "rappor"])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.1])
def test_the_least_leakage_at_a_delta_is_below_that_of_all_reports(name, delta):
    """The hockey-stick divergence of all reports at that leakage is at least delta."""
    question = Question(attribute="age", mechanism=name, epsilon=2.0)
    mechanism = question.mechanism_for(3)
    least = least_relaxed_leakage(mechanism, delta)
    rows = mechanism.channel() if mechanism.size else all_supports(mechanism)
    assert rows.sum(axis=1) == pytest.approx(1.0)
    gains = [
        np.maximum(row - np.exp(least) * other, 0).sum()
        for row in rows
        for other in rows
    ]
    assert max(gains) >= delta * (1 - 1e-6)
    assert least <= mechanism.contrast


def test_randomised_response_has_its_least_leakage_at_a_delta_in_closed_form():
    p = math.e / (1 + math.e)
    expected = math.log((p - 0.01) / (1 - p))
    assert least_relaxed_leakage(GRR(2, 1.0), 0.01) == pytest.approx(expected)
    assert least_relaxed_leakage(GRR(1, 0.0), 0.01) == 0.0
