"""People without an answer: shares, draws, and totals against a direct computation."""

import math
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seepage as sp
from seepage._core.errors import DomainError
from seepage.channel.domain import Attribute, Domain
from seepage.channel.no_answer import (
    MIN_SHARE_RECORDS,
    answer_shares,
    completed,
    drawn_answers,
)
from seepage.channel.records import Records
from seepage.collection.identified_people import IdentifiedPeople
from seepage.collection.perturb_table import given_answers
from seepage.collection.reference_client import given_answer
from seepage.confidence.total_limits import form_total_limits
from seepage.designs.forms.form_counter import FormCounter
from seepage.designs.forms.form_totals import ExactFormTotals
from seepage.designs.shaped.report_thresholds import report_totals
from seepage.mechanisms.exact_probabilities import CERTAIN
from seepage.mechanisms.transition_matrix import MatrixMechanism

DOMAIN = Domain(
    [
        Attribute("sex", ("F", "M"), shares=(30, 70), protects_missing=True),
        Attribute("job", ("a", "b", "c"), shares=(50, 49, 1)),
        Attribute("ill", ("no", "yes")),
        Attribute("age", ("young", "old"), shares=(0, 100), protects_missing=True),
    ]
).as_coded()


def random_records(seed, rows=60, domain=DOMAIN):
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 3, rows)
    columns = [(base + rng.integers(0, 2, rows)) % size for size in domain.sizes]
    return Records(domain, np.stack(columns, axis=1), rng.integers(1, 9, rows))


# The attribute ------------------------------------------------------------------------


def test_the_two_forms_of_an_attribute():
    coded = DOMAIN["job"]
    assert coded.values == ("a", "b", "c", "(missing)")
    assert coded.answers == 3
    assert coded.as_reported.values == ("a", "b", "c")
    assert coded.as_reported.as_coded == coded.as_coded == coded
    assert coded.catch_all == coded.as_reported.catch_all == "(missing)"
    assert DOMAIN["ill"].as_coded is DOMAIN["ill"]
    assert Domain.from_dicts(DOMAIN.to_dicts()) == DOMAIN
    reported = DOMAIN.as_reported()
    assert Domain.from_dicts(reported.to_dicts()) == reported
    assert reported.as_coded() == DOMAIN != reported


@pytest.mark.parametrize(
    ("values", "shares", "message"),
    [
        (("a", "b"), (50, 49), "must sum to 100, got 99"),
        (("a", "b"), (100,), "one share for each answer"),
        (("a", "b"), (50, 30, 20), "one share for each answer"),
        (("(missing)", "a"), (50, 50), "last or not at all"),
        (("a", "b"), (101, -1), "each of shares"),
        (("a", "b"), (0.5, 0.5), "each of shares"),
    ],
)
def test_shares_that_are_none_raise(values, shares, message):
    with pytest.raises(sp.InputError, match=message):
        Attribute("x", values, shares=shares)


def test_nothing_is_protected_without_shares():
    with pytest.raises(DomainError, match="must have shares to protect"):
        Attribute("x", ("a", "(missing)"), protects_missing=True)


# Shares -------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=8))
def test_shares_are_whole_and_rest_on_people_enough(counts):
    shares = answer_shares(counts)
    assert sum(shares) == 100
    assert min(shares) >= 0
    ordered = sorted(zip(counts, shares, strict=True))
    for (count, share), (more, larger) in pairwise(ordered):
        assert larger >= share - 1 or count == more
    rare = [index for index, count in enumerate(counts) if count < MIN_SHARE_RECORDS]
    changed = list(counts)
    if len(rare) > 1 and sum(counts[i] for i in rare) >= MIN_SHARE_RECORDS:
        together = sum(changed[i] for i in rare)
        for index in rare:
            changed[index] = 0
        changed[rare[0]] = min(together, MIN_SHARE_RECORDS - 1)
        changed[rare[1]] = together - changed[rare[0]]
        if changed[rare[1]] < MIN_SHARE_RECORDS:
            assert sorted(answer_shares(changed)) == sorted(shares)


def test_a_single_person_of_the_part_is_not_published():
    with_one = answer_shares([500, 480, 1])
    assert with_one == answer_shares([500, 480, 0]) or with_one[2] > 5
    assert answer_shares([500, 480, 19]) == (50, 25, 25)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_a_word_draws_alike_in_the_table_and_in_the_client(words):
    for attribute in DOMAIN:
        if attribute.shares:
            wire = {"values": attribute.as_reported.values, "shares": attribute.shares}
            drawn = drawn_answers(np.array(words, dtype=np.uint64), attribute.shares)
            expected = [given_answer(wire, attribute.answers, word) for word in words]
            assert drawn.tolist() == expected


def test_draws_have_the_shares_exactly():
    """Of each hundred equal parts of all words, the first and the last one."""
    for shares in ((30, 70), (50, 49, 1), (0, 100), (1, 0, 99)):
        starts = [-(-CERTAIN * part // 100) for part in range(101)]
        expected = np.repeat(range(len(shares)), shares)
        firsts = np.array(starts[:-1], dtype=np.uint64)
        lasts = np.array([start - 1 for start in starts[1:]], dtype=np.uint64)
        assert drawn_answers(firsts, shares).tolist() == expected.tolist()
        assert drawn_answers(lasts, shares).tolist() == expected.tolist()


# Totals -------------------------------------------------------------------------------


def input_rows(matrix, attribute):
    """The rows of a mechanism with that of no answer, s C, last."""
    if not attribute.shares:
        return matrix
    return np.vstack([matrix, np.array(attribute.shares) / 100 @ matrix])


def direct_total(records, target, likelihoods):
    """max ln P(y | x) / P(y | x'), from P(y | record); x protected values."""
    attribute = records.domain[target]
    rows = []
    for value in range(attribute.answers + attribute.protects_missing):
        having = records.column(target) == value
        weights = records.weights * having
        if weights.any():
            rows.append(weights @ likelihoods / weights.sum())
    return max(
        (math.log((a / b).max()) for a, b in product(rows, rows)),
        default=0.0,
    )


def grr(k, epsilon):
    return sp.GRR(k, epsilon).channel()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("asked", [(0,), (1,), (0, 1), (1, 2, 3), (0, 1, 2, 3)])
def test_totals_are_those_of_one_more_input(seed, asked):
    records = random_records(seed)
    epsilons = np.linspace(0.4, 1.3, len(asked))
    likelihoods = np.ones((len(records), 1))
    for j, epsilon in zip(asked, epsilons, strict=True):
        attribute = DOMAIN[j]
        rows = input_rows(grr(attribute.answers, epsilon), attribute)
        own = rows[records.column(j)]
        likelihoods = (likelihoods[:, :, None] * own[:, None]).reshape(len(records), -1)
    counter = FormCounter(records)
    totals = ExactFormTotals(counter).totals(counter.table(asked), epsilons)
    for j, name in enumerate(DOMAIN.names):
        direct = direct_total(records, name, likelihoods)
        stated = direct
        if j in asked:
            stated = max(direct, epsilons[asked.index(j)])
        assert totals[j] == pytest.approx(stated, abs=1e-9)
        assert totals[j] >= direct - 1e-14


@pytest.mark.parametrize("seed", range(3))
def test_totals_of_one_report_of_all_answers(seed):
    records = random_records(seed)
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(0.3, 1.0, (6, 4))
    mechanism = MatrixMechanism(matrix / matrix.sum(axis=1, keepdims=True))
    counter = FormCounter(records)
    totals = report_totals(counter, ["sex", "job"], mechanism.thresholds)
    sex, job = (DOMAIN[name] for name in ("sex", "job"))
    draws_sex = input_rows(np.eye(2), sex)[records.column("sex")]
    draws_job = input_rows(np.eye(3), job)[records.column("job")]
    cells = (draws_sex[:, :, None] * draws_job[:, None]).reshape(len(records), -1)
    likelihoods = cells @ (mechanism.thresholds.astype(float) / CERTAIN)
    for j, name in enumerate(DOMAIN.names):
        direct = direct_total(records, name, likelihoods)
        assert totals[j] == pytest.approx(direct, abs=1e-9)


def test_completed_counts_keep_every_person():
    records = random_records(1)
    counts = records.counts(["sex", "job", "ill"])
    attributes = [DOMAIN[name] for name in ("sex", "job", "ill")]
    answers, factor = completed(counts, attributes)
    assert answers.shape == (2, 3, 2)
    assert factor == 100**2
    assert answers.sum() == factor * records.records


def test_integers_beyond_64_bits_are_exact():
    codes = random_records(0).codes
    records = Records(DOMAIN, codes, [2**45] * len(codes))
    few = Records(DOMAIN, codes)
    asked = [0, 1, 3]
    large = FormCounter(records).exact_counts(asked)
    small = FormCounter(few).exact_counts(asked)
    assert (large.counts == small.counts.astype(object) * 2**45).all()


def test_limits_from_spread_counts_are_at_least_those_of_the_mixtures():
    """Each person without an answer has the mean weight of her completions."""
    rng = np.random.default_rng(3)
    domain = Domain(
        [Attribute("a", ("0", "1"), shares=(40, 60)).as_coded, DOMAIN["ill"]]
    )
    records = Records(
        domain, np.stack([rng.integers(0, 3, 900), rng.integers(0, 2, 900)], axis=1)
    )
    counter = FormCounter(records)
    table = counter.table((0,))
    starts, epsilon = counter.starts, 1.2
    limits = form_total_limits(
        table.counts, counter.people, starts, [0], np.array([epsilon]), c=4.0, sizes=[2]
    )
    from seepage._core.log_ratios import largest_log_ratio
    from seepage.confidence.mean_limits import kl_inf_interval, mixture_radius

    weights = np.array([1.0, math.exp(-epsilon)])
    counts = records.counts(["a", "ill"]).astype(float)
    mixed = np.array([[0.4, 0.6] @ weights, [0.6, 0.4] @ weights])
    for y in range(2):
        atoms = np.array([weights[0 ^ y], weights[1 ^ y], mixed[y]])
        people = counts.sum(axis=0)
        interval = kl_inf_interval(
            atoms,
            (counts / people).T,
            mixture_radius(people, 4.0),
            np.full(2, weights.min()),
            np.full(2, weights.max()),
            rounds=3,
        )
        exact = largest_log_ratio(
            interval.upper[None, None], interval.lower[None, None], np.array([0]), 0.0
        )
        assert limits[1] >= exact[0] - 1e-12
    assert limits[1] > 0


# The draw -----------------------------------------------------------------------------


def coded_people(count):
    return [np.full(count, attribute.size - 1) for attribute in DOMAIN]


def test_an_identified_person_keeps_her_answer():
    names = [f"person {index}" for index in range(4_000)]
    people = IdentifiedPeople(b"k" * 32, "digest", names)
    other_plan = IdentifiedPeople(b"k" * 32, "another digest", names)
    reported = DOMAIN.as_reported()
    first = given_answers(reported, coded_people(4_000), people)
    second = given_answers(reported, coded_people(4_000), other_plan)
    for name in ("sex", "job", "age"):
        assert (first[name] == second[name]).all()
    shares = np.bincount(first["sex"], minlength=2) / 4_000
    assert shares == pytest.approx([0.3, 0.7], abs=5 * 0.5 / 4_000**0.5)
    both = np.bincount(2 * first["sex"] + (first["job"] == 0), minlength=4) / 4_000
    expected = np.outer([0.3, 0.7], [0.5, 0.5]).ravel()
    assert both == pytest.approx(expected, abs=5 * 0.5 / 4_000**0.5)


def test_a_plan_gives_reports_of_people_without_answers():
    """The reports have the chances of the mixture, as the certificate assumes."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], 4_000),
            "job": rng.choice(["a", "b", "c", None], 4_000, p=[0.5, 0.2, 0.2, 0.1]),
        }
    )
    plan = sp.design(table, 2.0, shape="never", largest=1, effort=0.02)
    job = plan.domain["job"]
    assert job.values == ("a", "b", "c")
    assert job.protects_missing
    nobody = pa.table({"sex": ["F"] * 20_000, "job": pa.nulls(20_000, pa.string())})
    reports = plan.perturb(nobody, rng=1)
    estimate = plan.estimate(reports)["job"].frequencies
    shares = np.array(job.shares) / 100
    assert estimate == pytest.approx(shares, abs=0.06)
