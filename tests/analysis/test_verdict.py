"""The verdict: three states that are true of the table, and sentences that say what to
do.
"""

import itertools
import math
import re

import numpy as np
import pyarrow as pa
import pytest

import seepage as sp
from seepage._core.text import lower_text, upper_text
from seepage.analysis.verdict import judge
from seepage.channel.domain import MISSING
from seepage.leakage.equivalent_attributes import equivalent_groups, same_attributes
from seepage.leakage.exact_leakage import exact_leakage
from seepage.leakage.strongest_leaks import find_leaks
from seepage.totals.totals_comparison import TotalsComparison


def domain_of(sizes):
    return sp.Domain(
        [
            sp.Attribute(f"x{k}", tuple(map(str, range(size))))
            for k, size in enumerate(sizes)
        ]
    )


COPIES = sp.Records(domain_of([2, 2, 2]), [[0, 0, 0], [1, 1, 1]], [600, 400])


def verdict_of(people, guarantees, limit, epsilon=1.0, **more):
    return sp.analyse(
        people,
        epsilon,
        mechanism="grr",
        guarantee=guarantees,
        limit=limit,
        people=0,
        **more,
    ).verdict


def test_a_limit_that_a_certified_total_keeps_is_within():
    found = verdict_of(COPIES, ["exact", "worst"], 3.1)
    assert found.names("within") == ["x0", "x1", "x2"]
    assert found.decision.startswith(
        "These budgets keep the limits: all 3 attributes stay within"
    )
    assert (
        "3 within, by exact (the largest log-likelihood ratio over all combinations of "
        "reports, in" in found.basis
    )
    assert found.settle == ""


def test_a_limit_that_reports_are_known_to_exceed_is_exceeded():
    for guarantees in (["exact"], ["witness"], ["witness", "worst", "independent"]):
        found = verdict_of(COPIES, guarantees, 2.5)
        assert found.names("exceeded") == ["x0", "x1", "x2"]
        assert found.decision.startswith("Do not collect with these budgets: ")
        assert "change the odds about x" in found.decision
        assert "at least 20 times, 12.2 times (2.5 nats) are allowed" in found.decision
        assert f"proven by {guarantees[0]}" in found.basis


@pytest.mark.parametrize("guarantee", ["worst", "exact"])
def test_a_limit_equal_to_the_sum_of_budgets_is_kept(guarantee):
    found = verdict_of(COPIES, [guarantee], 3.0)
    assert found.names("within") == ["x0", "x1", "x2"]
    assert [judgement.upper for judgement in found.judgements] == [3.0] * 3
    below = verdict_of(COPIES, [guarantee], math.nextafter(3.0, 0.0))
    assert below.names("within") == []
    tenths = verdict_of(
        COPIES, [guarantee], 0.3, epsilon=0.1
    )  # three floats 0.1 exceed 0.3
    assert tenths.names("within") == []
    assert verdict_of(COPIES, [guarantee], 0.1 * 3, epsilon=0.1).names("within")


def test_an_upper_bound_above_a_limit_proves_nothing():
    for guarantees in (["worst"], ["independent", "worst"], ["independent"]):
        found = verdict_of(COPIES, guarantees, 2.5)
        assert found.names("not certifiable") == ["x0", "x1", "x2"]
        assert found.names("exceeded") == found.names("within") == []
        assert "no limit is proven exceeded" in found.decision
        assert "To settle it, compute totals that look at records" in found.settle
    counted = sp.analyse(COPIES.pairs(), 1.0, guarantee=["exact", "worst"], limit=2.5)
    assert "analyse the table itself" in counted.verdict.settle


def test_the_next_step_names_python_parameters():
    def next_step(mechanism, guarantee):
        how = {
            "mechanism": mechanism,
            "guarantee": guarantee,
            "people": 0,
            "reports": 20,
        }
        above = math.nextafter(1.0, 2.0)  # three of it exceed the limit
        found = sp.analyse(COPIES, above, limit=3.0, **how)
        return found.verdict.settle

    assert next_step(None, ["worst"]) == (
        "To settle it, compute totals that look at records (guarantee='all') "
        "and name the mechanism (mechanism='grr')."
    )
    assert next_step("grr", ["worst"]).endswith("look at records (guarantee='all').")
    assert next_step(None, ["witness"]).startswith(
        "To settle it, name the mechanism (mechanism="
    )
    assert next_step("grr", ["sampled"]).startswith(
        "To settle it, `seepage design DATA --limit 3` (DATA: a file of the records, "
        "counts do not suffice) finds who is asked what"
    )


def test_the_next_step_is_the_design_of_the_same_table(monkeypatch, tmp_path):
    some = {"columns": ["x0", "x1"], "name": "my table.csv"}
    found = sp.analyse(COPIES, 1.0, limit=1.5, guarantee="exact", **some).verdict
    design = "seepage design 'my table.csv' --columns x0,x1 --limit 1.5"
    assert found.settle.startswith(f"Next: `{design}` asks each person")
    single = sp.analyse(COPIES, 1.0, limit=[1.5, None, 2], guarantee="exact").verdict
    assert (
        "`seepage design DATA --limit 1.5 --limit-of x1=none --limit-of x2=2`"
        in single.settle
    )
    monkeypatch.setenv(
        "SEEPAGE_DATA", str(tmp_path)
    )  # counts are bundled, records not at hand
    none = sp.analyse(
        "adult", 1.0, mechanism="grr", columns=["sex", "relationship"]
    ).verdict
    assert none.settle.startswith(
        "No limit is set. Next: `seepage design DATA --columns sex,relationship "
        "--limit 7.4x` (DATA: a file of the records, counts do not suffice) asks each "
        "person"
    )
    assert none.decision.startswith(
        "sex gives away relationship: a report that favours sex Female"
    )


def test_an_assumed_total_below_a_limit_certifies_nothing():
    xor = sp.Records(
        domain_of([2, 2, 2]), [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [500] * 4
    )
    assert verdict_of(xor, ["independent"], 1.2).names("not certifiable") == [
        "x0",
        "x1",
        "x2",
    ]
    assert verdict_of(xor, ["independent", "exact"], 1.2).names("exceeded") == [
        "x0",
        "x1",
        "x2",
    ]


def test_an_own_budget_above_the_limit_is_exceeded_without_any_total():
    found = verdict_of(COPIES, ["worst"], 1.5, epsilon=[1.0, 2.0, 1.0])
    assert found.names("exceeded") == ["x0", "x1", "x2"]  # a copy of x1 tells as much
    assert [one.lower_by for one in found.judgements] == [
        "report of x1",
        "own report",
        "report of x1",
    ]


@pytest.mark.parametrize("seed", range(6))
def test_states_are_true_of_the_table(seed):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(2, 4, 3).tolist()
    people = sp.Records.from_joint(domain_of(sizes), generator.integers(0, 40, sizes))
    names = ["exact", "merged", "worst", "independent", "witness"]
    every = sp.analyse(people, 0.9, mechanism="grr", guarantee=names, rng=seed).totals
    truth = every["exact"].values
    states = set()
    for size in (1, 2, 3):
        for chosen in itertools.combinations(names, size):
            some = TotalsComparison(tuple(every[name] for name in chosen), {}, {})
            for limit in np.linspace(0.5, 3.0, 11).tolist():
                for one, total in zip(
                    judge(every["exact"].matrix, some, [limit] * 3).judgements,
                    truth,
                    strict=True,
                ):
                    states.add(one.state)
                    assert one.state != "exceeded" or total > limit
                    assert one.state != "within" or total <= limit
                    assert one.lower <= total <= one.upper or not one.upper_by
                    if "exact" in chosen and abs(total - limit) > 1e-9:
                        assert one.state == ("exceeded" if total > limit else "within")
    assert states == {"within", "exceeded", "not certifiable"}


def test_of_a_sample_only_the_own_reports_are_known():
    people = sp.Records(
        domain_of([2, 2, 2]), COPIES.codes, COPIES.weights, population=5_000
    )
    found = verdict_of(people, ["exact", "witness", "worst"], 2.5)
    assert found.names("not certifiable") == ["x0", "x1", "x2"]
    assert "analyse all records" in found.settle


def test_limits_of_single_attributes_and_none_at_all():
    found = verdict_of(COPIES, ["exact"], [None, 3.1, 2.0])
    assert [one.state for one in found.judgements] == [None, "within", "exceeded"]
    assert "x2 exceeds its limit (1 of 2 attributes)" in found.decision
    undecided = verdict_of(COPIES, ["worst"], None)
    assert "times likelier" in undecided.decision or "established" in undecided.decision


def test_a_limit_exceeded_by_rare_reports_is_within_with_a_delta():
    found = verdict_of(COPIES, ["sampled", "exact"], 2.9995, target_delta=0.4)
    assert found.names("exceeded") == ["x0", "x1", "x2"]
    assert all(one.relaxed <= one.limit < one.upper for one in found.judgements)
    assert {(one.relaxed_by, one.delta) for one in found.judgements} == {
        ("sampled", 0.4)
    }


def test_numbers_in_sentences_are_rounded_to_the_safe_side():
    assert (lower_text(4.999), upper_text(4.991), upper_text(5.0)) == (
        "4.99",
        "5.00",
        "5.00",
    )
    assert (lower_text(math.inf), upper_text(math.inf)) == (
        "infinitely many",
        "infinity",
    )


def test_the_verdict_is_saved_and_a_result():
    found = sp.analyse(
        COPIES, 1.0, mechanism="grr", guarantee=["exact"], limit=2.0, people=0
    )
    saved = found.to_dict()["verdict"]
    assert saved["decision"] == found.verdict.decision
    assert saved["attributes"][0]["state"] == "exceeded"
    assert repr(found.verdict) == "Verdict(3 exceeded, 0 not certifiable, 0 within)"
    assert found.verdict.to_csv().splitlines()[1].startswith("x0,2.0,exceeded,")


def test_equivalent_attributes_are_joined_in_sentences():
    found = verdict_of(COPIES, ["exact"], 2.5)
    assert (
        "budgets: x0 = x1 = x2 exceed their limits (3 of 3 attributes)"
        in found.decision
    )
    open_ = verdict_of(COPIES, ["worst"], 2.5)
    assert "(x0 = x1 = x2)" in open_.decision


# Leaks --------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [None, "grr", "oue", "she"])
def test_leakages_among_frequent_values_are_those_of_the_smaller_channel(mechanism):
    generator = np.random.default_rng(3)
    counts = generator.integers(0, 30, (4, 3))
    counts[1], counts[3] = [1, 0, 0], [0, 3, 0]
    people = sp.Records.from_joint(domain_of([4, 3]), counts)
    matrix = sp.leakage_matrix(people, 1.0, mechanism=mechanism)
    found = matrix.leak_among("x0", "x1", 10).value
    part = sp.Records.from_joint(domain_of([2, 3]), counts[[0, 2]])
    assert found == pytest.approx(
        sp.leakage_matrix(part, 1.0, mechanism=mechanism).values[0, 1], rel=1e-12
    )
    assert found < matrix.values[0, 1]
    assert matrix.leak_among("x0", "x1", 10_000).value == 0
    assert matrix.leak_among("x0", "x1", 0).value == matrix.values[0, 1]


def survey():
    """Return a table with two names for one thing, a missing value and a rare one that
    lead.
    """
    generator = np.random.default_rng(1)
    level = generator.integers(0, 3, 4_000)
    job = np.where(
        generator.random(4_000) < 0.5, level, generator.integers(0, 3, 4_000)
    )
    sick = generator.random(4_000) < 0.004
    other = generator.random(4_000) < 0.004
    return pa.table(
        {
            "level": pa.array([f"level {code}" for code in level]),
            "level-number": pa.array(level.astype(str)),
            "job": pa.array(
                [
                    None if rare else f"job {code}"
                    for rare, code in zip(other, job, strict=True)
                ]
            ),
            "sick": pa.array(sick.astype(str)),
            "other": pa.array(other.astype(str)),
        }
    )


def test_rare_and_missing_values_do_not_lead_and_equivalent_attributes_are_one_leak():
    matrix = sp.leakage_matrix(survey(), 1.0, mechanism="grr")
    plain = {(leak.target, leak.source) for leak in matrix.strongest(4)}
    assert ("level", "level-number") in plain
    assert ("other", "job") in plain
    assert MISSING in matrix.domain["job"].values
    assert same_attributes(matrix.pairs) == [("level", "level-number")]
    first = find_leaks(matrix, 2)
    assert {(leak.targets, leak.sources) for leak in first} == {
        (("level", "level-number"), ("job",)),
        (("job",), ("level", "level-number")),
    }
    assert all(MISSING not in leak.sentence() for leak in first)


def test_two_rare_attributes_are_not_equivalent():
    matrix = sp.leakage_matrix(survey(), 1.0)
    assert len(equivalent_groups(matrix.pairs)) == 4


def test_restricted_leakage_is_that_of_the_channel_itself():
    matrix = sp.leakage_matrix(survey(), 1.0, mechanism="grr")
    leak = matrix.leak_among("level", "job", 0)
    channel = matrix.channel("level", "job")
    truth = exact_leakage(channel, sp.GRR(channel.output.size, 1.0))
    assert leak.value == pytest.approx(truth.value, rel=1e-12)


def test_leaks_with_a_lower_limit_of_0_are_not_listed():
    rng = np.random.default_rng(0)
    people = pa.table(
        {name: rng.choice(["a", "b", "c"], 300).tolist() for name in "xyz"}
    )
    matrix = sp.leakage_matrix(people, 1.0, mechanism="grr")
    assert matrix.values.max() > 0
    assert find_leaks(matrix) == []


def test_attributes_that_are_not_named_are_counted_singly():
    """education = education-num are two of Adult's fifteen."""
    decision = sp.analyse("adult", 1.0, limit=3.0, guarantee="worst").verdict.decision
    assert "15 of 15 attributes (age, workclass, fnlwgt and 12 more)" in decision


def test_what_is_probable_is_said_where_nothing_is_proven():
    found = sp.analyse("adult", 1.0, limit=3.0).verdict
    assert "13 of 15 attributes); no limit is proven exceeded" in found.decision
    assert found["sex"].standing == "probably exceeded"
    assert found["sex"].state == "not certifiable"
    assert found["sex"].probable == pytest.approx(
        sp.total_leakage("adult", 1.0, guarantee="independent")["sex"]
    )
    assert "13 of them probably exceeded, by independent" in found.basis
    silent = [j for j in found.judgements if not j.probably_exceeded]
    assert all(judgement.probable <= 3.0 for judgement in silent)


def test_a_large_table_is_searched_for_reports_that_exceed_the_limit(tmp_path):
    """Beyond 131,072 records exact totals are not computed unasked."""
    people = sp.make_survey(140_000)
    found = sp.analyse(people, 1.0, mechanism="grr", limit=1.5)
    computed = {total.guarantee for total in found.totals.totals}
    assert computed == {"worst", "independent", "witness"}
    assert found.experienced is None
    for judgement in found.verdict.judgements:
        if judgement.state == "exceeded":
            assert judgement.lower_by == "witness"
    assert found.verdict.names("exceeded")
    names = ["education", "education-num", "sex", "race", "age"]
    decision = sp.analyse("adult", 1.0, limit=3.0, columns=names).verdict.decision
    assert (
        "5 of 5 attributes (education = education-num, sex, race and 1 more)"
        in decision
    )


def test_the_likelihood_ratio_of_a_leak_and_its_nats_agree():
    leaks = sp.analyse("adult", 1.0).leaks()
    told = [leak.sentence() for leak in leaks]
    assert any("more for rare or missing values" in sentence for sentence in told)
    for leak, sentence in zip(leaks, told, strict=True):
        times = float(re.search(r" is ([0-9.]+) times", sentence)[1])
        shown = leak.leakage
        if "more for rare" in sentence:
            shown = leak.supported
        assert math.log(times) == pytest.approx(shown, abs=0.01)
