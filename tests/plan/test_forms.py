"""Plans of several forms: made, saved, rejected, certified, and their wire form."""

import copy
import hashlib
import json
import math
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan_examples import (
    DOMAIN,
    counts,
    forms_plan,
    matrix,
    people,
    plan_of_forms,
    product,
    three_forms,
)
from seepage._core.errors import InputError
from seepage._core.rounding import summed_up
from seepage.channel.domain import Attribute, Domain
from seepage.channel.records import Records
from seepage.designs.forms.form import Form, cumulative, integer_shares
from seepage.designs.forms.form_channels import MatrixChannel, ProductChannel
from seepage.designs.forms.question import Question, parse_integer
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.mechanism_registry import registered
from seepage.mechanisms.transition_matrix import MatrixMechanism
from seepage.plan.plan_check import matrix_totals
from seepage.totals.total import total_leakage
from seepage.workflow.plan import Plan

PAIRS = counts()
PLAN = three_forms(PAIRS)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "plan.json"
    PLAN.save(path)
    return path


def edited(path, keys, value):
    content = part = json.loads(path.read_text())
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    path.write_text(json.dumps(content))


# The model ----------------------------------------------------------------------------


def test_a_plan_of_forms_is_saved_and_loaded(saved):
    loaded = Plan.load(saved)
    assert loaded == PLAN
    assert loaded.collection == PLAN.collection
    assert [form.attributes for form in loaded.forms] == [
        ("sex", "job"),
        ("job", "ill"),
        ("sex", "ill", "age"),
    ]


def test_the_budgets_and_totals_of_several_forms():
    assert PLAN.collected == DOMAIN
    assert [planned.form for planned in PLAN.attributes] == [2, 2, 2, 2]
    assert PLAN.totals.tolist() == [3.5] * 4
    assert [form.record for form in PLAN.forms[:2]] == [summed_up([1.0, 0.8]), 3.5]
    assert PLAN["job"].mechanism == "ss, grr"
    assert PLAN["sex"].mechanism == "grr, matrix"
    assert [n for n, _ in PLAN["job"].asking] == [1, 2]
    assert PLAN["job"].epsilon == 2.0
    assert PLAN["age"].epsilon == PLAN.forms[2].record
    assert not PLAN.is_single
    with pytest.raises(InputError, match="forms"):
        _ = PLAN.mechanisms
    assert repr(PLAN).startswith(
        "Plan(3 forms, 4 of 4 attributes collected, odds change at most 34 times, "
        "epsilon 0.8 to 2"
    )
    assert PLAN.to_arrow()["forms"].to_pylist() == [2, 2, 1, 2]
    assert sum(form.chance for form in PLAN.forms) == 2**64
    exact = PAIRS.marginals[0] / PAIRS.records
    assert PLAN["sex"].frequencies == pytest.approx(exact, abs=0.01)
    assert all(100 * share == round(100 * share) for share in PLAN["sex"].frequencies)


def test_an_attribute_of_two_plans_has_the_forms_of_each():
    """A plan that is made from another one must not change what that one says."""
    first = forms_plan(PAIRS, [product(sex=1.0, job=1.0, age=1.0, ill=1.0)])
    second = forms_plan(PAIRS, [product(sex=1.0, job=1.0, age=1.0), product(ill=0.5)])
    made = Plan(listed=first.listed, forms=second.forms, provenance=first.provenance)
    assert made["ill"].epsilon == 0.5
    assert first["ill"].epsilon == 1.0


def test_guarantees_of_forms_make_one_of_the_plan():
    channels = [product(sex=1.0), product(job=1.0)]

    def plan(*guarantees):
        forms = [
            Form.of(channel, name, [1.0] * 4)
            for channel, name in zip(channels, guarantees, strict=True)
        ]
        return plan_of_forms(PAIRS, forms, limit=1.0)

    assert (plan("exact", "exact").guarantee, plan("exact", "exact").kind) == (
        "exact",
        "certified",
    )
    assert (plan("exact", "merged").guarantee, plan("exact", "merged").kind) == (
        "by form",
        "certified",
    )
    assert plan("exact", "independent").kind == "assumed"
    with pytest.raises(InputError, match="guarantee must be one of"):
        plan("exact", None)


@given(
    st.lists(st.floats(0, 1e300), min_size=1, max_size=9).filter(
        lambda some: sum(some) > 0
    )
)
def test_shares_are_rounded_to_integers_that_sum_to_all(shares):
    rounded = integer_shares(shares)
    total = sum(map(Fraction, shares))
    assert sum(rounded) == 2**64
    assert min(rounded) >= 0
    for share, whole in zip(shares, rounded, strict=True):
        assert abs(Fraction(whole, 2**64) - Fraction(share) / total) <= Fraction(
            len(shares), 2**64
        )


@pytest.mark.parametrize("shares", [[], [0.0], [1.0, -1.0], [math.nan], [math.inf]])
def test_invalid_shares_raise(shares):
    with pytest.raises(InputError):
        integer_shares(shares)


def test_forms_with_share_0_are_dropped():
    channels = [product(sex=1.0), product(job=1.0), product(age=1.0)]
    plan = forms_plan(PAIRS, channels, [1.0, 1e-30, 0.0])
    assert [(form.share, form.chance) for form in plan.forms] == [(1.0, 2**64)]
    assert cumulative(PLAN.forms)[-1] == 2**64


@pytest.mark.parametrize(
    "text", ["", "-1", "01", "1.0", " 1", "1e3", "\u0663", str(2**64 + 1), 1]
)
def test_texts_that_are_not_integers_up_to_2_to_the_64_raise(text):
    with pytest.raises(InputError, match="integer out of 2\\^64"):
        parse_integer(text)


def test_a_total_above_its_limit_names_its_form():
    forms = [
        Form.of(product(sex=1.0), "worst", [1.0] * 4),
        Form.of(product(ill=2.0), "worst", [2.0] * 4),
    ]
    with pytest.raises(InputError, match=r"limit 1\.5, got 2\.0 in form 2"):
        plan_of_forms(PAIRS, forms, limit=1.5)
    with pytest.raises(
        InputError, match="form 1 must have one total for each of 4 attributes"
    ):
        plan_of_forms(PAIRS, [Form.of(product(sex=1.0), "worst", [1.0] * 3)], limit=1.5)
    assert plan_of_forms(PAIRS, forms, limit=2.0)["sex"].form == 2


def test_the_record_leakage_is_at_least_the_sum_of_budgets():
    budgets = [0.1] * 3
    form = Form.of(product(sex=0.1, job=0.1, ill=0.1), "worst", [1.0] * 4)
    assert Fraction(form.record) >= sum(map(Fraction, budgets))
    assert form.record == summed_up(budgets) == np.nextafter(0.3, 1)
    assert product(sex=1e308, ill=1e308).record == math.inf


# The file -----------------------------------------------------------------------------


MATRIX = ["plan", "forms", 2, "channel"]


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["plan", "forms", 0, "share"], "1", "must sum to 2^64"),
        (
            ["plan", "forms", 1, "channel", "questions", 0, "attribute"],
            "jab",
            "form 2 asks for",
        ),
        (
            ["plan", "forms", 1, "channel", "questions", 0, "attribute"],
            "ill",
            "at most once",
        ),
        ([*MATRIX, "attributes"], ["sex", "sex", "age"], "at most once"),
        (
            [*MATRIX, "attributes"],
            ["sex", "ill"],
            "form 3: a matrix over sex, ill must have 4 rows",
        ),
        ([*MATRIX, "attributes"], ["sex", "ill", "aga"], "did you mean 'age'?"),
        ([*MATRIX, "epsilon"], 1.0, "must be at least that of its thresholds"),
        ([*MATRIX, "thresholds", 0, 0], "5", "rows of integers >= 0 that sum to 2^64"),
        ([*MATRIX, "thresholds", 0, 0], 5, "Expected `str`"),
        ([*MATRIX, "thresholds", 0], ["1"], "of the same length"),
        ([*MATRIX, "thresholds"], [], "of the same length"),
        ([*MATRIX, "frequencies"], [1.0], "must be 12 numbers"),
        ([*MATRIX, "questions"], [], "unknown field `questions`"),
    ],
)
def test_invalid_forms_are_named(saved, keys, value, message):
    edited(saved, keys, value)
    with pytest.raises(InputError) as caught:
        Plan.load(saved)
    assert message in str(caught.value)


def test_an_edit_of_any_field_of_any_form_is_detected(saved):
    original = json.loads(saved.read_text())
    tried = 0
    for number, form in enumerate(original["plan"]["forms"]):
        for field in form:
            for value in (None, 0, "1", [], {}):
                if form[field] == value:
                    continue
                content = copy.deepcopy(original)
                content["plan"]["forms"][number][field] = value
                saved.write_text(json.dumps(content))
                with pytest.raises(InputError):
                    Plan.load(saved)
                tried += 1
    assert tried > 60


def test_a_matrix_must_not_exceed_its_epsilon():
    made = MatrixMechanism([[0.75, 0.25], [0.25, 0.75]])
    assert MatrixChannel.of(["sex"], made).epsilon == pytest.approx(math.log(3))
    channel = MatrixChannel.of(["sex"], made)
    assert msgspec.structs.replace(channel, epsilon=2.0).record == 2.0
    with pytest.raises(InputError, match="at least that of its thresholds"):
        msgspec.structs.replace(channel, epsilon=np.nextafter(made.realised_epsilon, 0))


@given(
    st.lists(
        st.tuples(
            st.floats(1e-6, 1e6),
            st.dictionaries(
                st.sampled_from(DOMAIN.names), st.floats(0, 20), min_size=1
            ),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_forms_are_saved_and_loaded(tmp_path_factory, forms):
    plan = forms_plan(
        PAIRS, [product(**asked) for _, asked in forms], [share for share, _ in forms]
    )
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    plan.save(path)
    loaded = Plan.load(path)
    assert loaded == plan
    assert (loaded.digest, loaded.collection) == (plan.digest, plan.collection)
    assert plan.totals.max() == max(float(form.record) for form in plan.forms)
    assert set(plan.collected.names) == {name for _, asked in forms for name in asked}


# The wire form ------------------------------------------------------------------------


def parts(content):
    if isinstance(content, dict):
        for key, part in content.items():
            assert isinstance(key, str)
            assert key.isascii()
            yield from parts(part)
    elif isinstance(content, list):
        for part in content:
            yield from parts(part)
    else:
        yield content


def test_the_wire_holds_text_and_integers_only():
    assert {type(part) for part in parts(PLAN.wire)} == {str, int}
    written = json.dumps(
        PLAN.wire, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    assert PLAN.collection == hashlib.sha256(written.encode()).hexdigest()
    assert [form["type"] for form in PLAN.wire["forms"]] == [
        "product",
        "product",
        "matrix",
    ]
    assert [form["until"] for form in PLAN.wire["forms"]] == [
        str(x) for x in cumulative(PLAN.forms)
    ]
    assert PLAN.wire["forms"][2]["attributes"] == ["sex", "ill", "age"]
    assert PLAN.wire["attributes"][2]["edges"] == ["18.0", "40.0", "60.0", "90.0"]


def test_the_wire_form_changes_only_with_the_meaning_of_reports():
    other = forms_plan(PAIRS, [form.channel for form in PLAN.forms], [0.5, 0.2, 0.3])
    assert other.collection != PLAN.collection
    again = three_forms(counts(1000))
    assert again != PLAN
    assert again.collection == PLAN.collection


@pytest.mark.parametrize("k", [1, 2, 5, 16])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 4.0])
@pytest.mark.parametrize("name", ["grr", "exp", "rappor", "oue", "ss"])
def test_the_probabilities_of_the_wire_form_are_those_of_the_mechanism(
    name, epsilon, k
):
    """Probability of supporting the own value, from what a client is told; never above
    it.
    """
    made = registered()[name](k, epsilon)
    pairs = counts_of(Domain([Attribute("a", tuple(map(str, range(k))))]))
    question = Question(attribute="a", mechanism=name, epsilon=epsilon)
    plan = forms_plan(pairs, [ProductChannel(questions=(question,))])
    told = plan.wire["forms"][0]["questions"][0]
    chance = {
        key: Fraction(int(value), 2**64)
        for key, value in told.items()
        if key in CHANCES
    }
    if told["draw"] == "direct":
        true = chance["keep"] + (1 - chance["keep"]) / k
    elif told["draw"] == "bits":
        true = chance["true"]
        assert made.drawn[1] == chance["other"]
    else:
        true = chance["force"] + (1 - chance["force"]) * Fraction(told["size"], k)
    assert 0 <= made.drawn[0] - true <= Fraction(64 * k, 2**64)


CHANCES = ("keep", "true", "other", "force")


def counts_of(domain):
    return Records(domain, [[0] * len(domain)]).pairs()


def test_a_mechanism_without_a_wire_form_is_named():
    plan = forms_plan(PAIRS, [product(sex=1.0, age=("she", 1.0)), product(job=1.0)])
    with pytest.raises(
        InputError, match="'age' is collected by 'she', which a client cannot draw"
    ):
        _ = plan.wire
    louder = forms_plan(PAIRS, [product(sex=1.0, age=("she", 2.0)), product(job=1.0)])
    assert len(plan.collection) == 64
    assert louder.collection != plan.collection


# Certifying ---------------------------------------------------------------------------


def brute_total(records, target, channel):
    """ln of the largest likelihood ratio of a matrix report, cell by cell in
    fractions.
    """
    rows = [[int(cell) for cell in row] for row in channel.thresholds]
    names = channel.attributes
    sizes = [records.domain[n].size for n in channel.attributes]
    chances = {}
    for codes, weight in zip(
        records.codes.tolist(), records.weights.tolist(), strict=True
    ):
        cell = 0
        for name, size in zip(names, sizes, strict=True):
            cell = cell * size + codes[records.domain.index(name)]
        own = chances.setdefault(
            codes[records.domain.index(target)], [0, [0] * len(rows[0])]
        )
        own[0] += weight
        own[1] = [sum_ + weight * t for sum_, t in zip(own[1], rows[cell], strict=True)]
    ratio = max(
        Fraction(a[1][y], a[0]) / Fraction(b[1][y], b[0])
        for a in chances.values()
        for b in chances.values()
        for y in range(len(rows[0]))
        if a[1][y]
    )
    return math.log(ratio)


def test_totals_of_a_matrix_are_exact():
    records = Records.from_data(people(300), domain=DOMAIN)
    channel = matrix(DOMAIN, ["age", "sex"], 1.2)
    found = matrix_totals(channel, "exact", records)
    for name, total in zip(DOMAIN.names, found, strict=True):
        truth = brute_total(records, name, channel)
        assert truth <= total <= truth + 1e-9
        assert total <= channel.epsilon
    assert matrix_totals(channel, "worst", records.pairs()) == [channel.epsilon] * 4
    seen = matrix_totals(channel, "exact", records, ["ill"])
    assert seen[3] == math.inf
    assert all(more > less for more, less in zip(seen[:3], found[:3], strict=True))
    with pytest.raises(InputError, match="got 'merged'"):
        matrix_totals(channel, "merged", records)


def test_a_matrix_that_is_a_product_has_the_totals_of_the_product():
    records = Records.from_data(people(300), domain=DOMAIN)
    grr = [GRR(DOMAIN[name].size, 1.0) for name in ("sex", "age")]
    rows = [[[int(p * 2**64) for p in row] for row in made.channel()] for made in grr]
    joint = np.kron(*(np.array(part, dtype=object) for part in rows)) // 2**64
    joint[:, -1] += 2**64 - joint.sum(axis=1)
    channel = MatrixChannel.of(["sex", "age"], MatrixMechanism.from_thresholds(joint))
    budgets = {"sex": 1.0, "job": 0.0, "age": 1.0, "ill": 0.0}
    how = {"sex": "grr", "job": None, "age": "grr", "ill": None}
    expected = total_leakage(records, budgets, mechanism=how, guarantee="exact").values
    assert np.allclose(matrix_totals(channel, "exact", records), expected, atol=1e-9)


def test_public_attributes_count_in_the_totals_of_a_matrix():
    records = Records.from_data(people(2000), domain=DOMAIN)
    channel = matrix(DOMAIN, ["sex", "ill"], 1.0)
    alone = matrix_totals(channel, "exact", records)
    beside = matrix_totals(channel, "exact", records, ["job"])
    assert beside[1] == math.inf
    assert all(more >= less for more, less in zip(beside, alone, strict=True))
    with pytest.raises(
        InputError, match=r"guarantee of a form with one report must be .*exact"
    ):
        matrix_totals(channel, "worst", records, ["job"])


def test_every_form_is_checked():
    records = Records.from_data(people(500), domain=DOMAIN)
    channels = (
        product(sex=1.0, ill=0.5),
        product(job=0.7),
        matrix(DOMAIN, ["sex", "ill"], 1.0),
    )
    forms = [Form.of(channel, "exact", [2.0] * 4) for channel in channels]
    plan = plan_of_forms(records.pairs(), forms, shares=[1.0, 2.0, 1.0], limit=2.0)
    checked = plan.check(records)
    budgets = {"sex": 1.0, "job": 0.0, "age": 0.0, "ill": 0.5}
    how = {"sex": "grr", "job": None, "age": None, "ill": "grr"}
    first = total_leakage(records, budgets, mechanism=how, guarantee="exact").values
    second = leakage_matrix(records, [0.0, 0.7, 0.0, 0.0], mechanism="grr").values[:, 1]
    second = second + np.array([0.0, 0.7, 0.0, 0.0])
    last = matrix_totals(plan.forms[2].channel, "exact", records)
    by_form = np.array([first, second, last])
    assert checked.totals == pytest.approx(by_form.max(axis=0), rel=1e-12)
    assert by_form[checked.forms - 1, range(4)] == pytest.approx(
        checked.totals, rel=1e-12
    )
    assert checked.within
    with pytest.raises(InputError, match=r"exact.* needs? records"):
        plan.check(records.pairs())


def test_a_plan_for_a_population_is_checked_on_a_table():
    forms = [Form.of(product(sex=1.0), "exact", [2.0] * 4)]
    settings = {"limit": 2.0, "scope": "population"}
    with pytest.raises(InputError, match="must have a confidence"):
        plan_of_forms(PAIRS, forms, **settings)
    plan = plan_of_forms(PAIRS, forms, confidence=0.95, **settings)
    assert plan.scope == "population"
    found = plan.check(people(100))
    assert (found.within, found.kind, found.records) == (True, "certified", 100)
    assert found["sex"] == pytest.approx(1.0)


@pytest.mark.parametrize("records", [31, 997])
def test_a_plan_does_not_tell_exact_frequencies(records):
    """A file that goes to every client has frequencies in whole percent."""
    plan = three_forms(counts(records))
    for planned in plan.attributes:
        assert sum(planned.frequencies) == pytest.approx(1.0, abs=1e-12)
        assert all(abs(100 * f - round(100 * f)) < 1e-9 for f in planned.frequencies)
