"""Estimated tables: exact without noise, weighted, and with intervals that cover."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import seepage as sp
from plan_examples import (
    DOMAIN,
    collected,
    counts,
    forms_plan,
    matrix,
    people,
    plan_for,
    product,
    table_of,
    three_forms,
)
from seepage._core.errors import InputError, SeepageWarning
from seepage.collection.ratio_intervals import ratio_intervals

PAIRS = counts()
PEOPLE = people(3000, seed=4)
CLEAR = plan_for(PAIRS, 40.0)
"""At epsilon 40 reports are the answers."""


def frame():
    found = PEOPLE.to_pandas()
    found["age"] = pd.cut(
        found.age, [17, 39, 59, 90], labels=DOMAIN["age"].values
    ).astype(str)
    return found


def cells(weights=None):
    """The table of ill, age and sex, counted in clear."""
    found = frame().assign(w=1.0 if weights is None else weights)
    names = ["ill", "age", "sex"]
    whole = found.groupby(names, observed=False).w.sum() / found.w.sum()
    levels = [DOMAIN[name].values for name in names]
    return whole.reindex(pd.MultiIndex.from_product(levels), fill_value=0.0).to_numpy()


@pytest.fixture(scope="module")
def clear():
    return CLEAR.table(CLEAR.perturb(PEOPLE), "ill", by=["age", "sex"])


def test_without_noise_a_table_is_that_of_the_answers(clear):
    truth = cells()
    n = PEOPLE.num_rows
    assert np.allclose(clear.values, truth, atol=1e-12)
    covariance = (np.diag(truth) - np.outer(truth, truth)) / (n - 1)
    assert np.allclose(clear.covariance, covariance, atol=1e-12)
    assert clear.people == {1: n}
    assert clear.equivalent_people == pytest.approx(n, rel=1e-3)


def test_without_noise_shares_have_wilsons_interval():
    ill = CLEAR.table(CLEAR.perturb(PEOPLE), "ill", by="sex").shares()
    found = frame()
    men = found[found.sex == "M"]
    share = ill["yes", "M"]
    assert share.value == pytest.approx((men.ill == "yes").mean())
    wilson = stats.binomtest(int((men.ill == "yes").sum()), len(men)).proportion_ci(
        method="wilson"
    )
    assert share.interval == pytest.approx(tuple(wilson), abs=2e-4)
    assert sum(ill[value, "F"].value for value in ("no", "yes")) == pytest.approx(1.0)


def test_comparisons_without_noise_are_those_of_two_samples():
    table = CLEAR.table(CLEAR.perturb(PEOPLE), "ill", by="age")
    old = DOMAIN["age"].values[2]
    young = DOMAIN["age"].values[0]
    found = frame()
    groups = [found[found.age == age].ill == "yes" for age in (old, young)]
    p, n = [group.mean() for group in groups], [len(group) for group in groups]
    difference = table.difference("yes", [old, young])
    error = np.sqrt(sum(s * (1 - s) / m for s, m in zip(p, n, strict=True)))
    assert difference.value == pytest.approx(p[0] - p[1])
    assert difference.standard_error == pytest.approx(error, rel=1e-3)
    low = p[0] - p[1] - 1.96 * error
    high = p[0] - p[1] + 1.96 * error
    assert difference.interval == pytest.approx((low, high), abs=0.06 * error)
    log_error = np.sqrt(sum(1 / (s * (1 - s) * m) for s, m in zip(p, n, strict=True)))
    odds = table.odds_ratio("yes", [old, young])
    expected = p[0] * (1 - p[1]) / (p[1] * (1 - p[0]))
    assert odds.value == pytest.approx(expected)
    assert odds.standard_error == pytest.approx(expected * log_error, rel=1e-3)
    ends = expected * np.exp(1.96 * log_error * np.array([-1, 1]))
    assert odds.interval == pytest.approx(tuple(ends), rel=0.02)
    assert table.ratio("yes", [old, young]).value == pytest.approx(p[0] / p[1])


def test_the_test_of_independence_is_pearsons_without_noise(clear):
    reports = CLEAR.perturb(PEOPLE)
    table = CLEAR.table(reports, "ill", by="sex")
    counted = np.round(table.frequencies * PEOPLE.num_rows)
    pearson = stats.chi2_contingency(counted, correction=False)
    found = table.test()
    assert found.degrees == 1
    assert found.statistic == pytest.approx(pearson.statistic, rel=0.02, abs=0.02)
    age = CLEAR.table(reports, "ill", by="age")
    assert age.test().p_value < 1e-12
    with pytest.raises(InputError, match="table of two attributes, got 3"):
        clear.test()


def test_independent_attributes_are_rejected_as_often_as_stated():
    pairs, codes = table_of(np.outer([50, 30], [40, 20, 40]) // 10)
    plan = plan_for(pairs, 1.5)
    rng = np.random.default_rng(3)
    levels = []
    for _ in range(120):
        drawn = [rng.choice(column, 2500) for column in codes]
        levels.append(
            plan.table(collected(plan, drawn, rng), "a", by="b").test().p_value
        )
    assert stats.kstest(levels, "uniform").pvalue > 1e-3


def test_means_of_bins_and_of_scores(clear):
    found = frame()
    middle = found.age.map(
        dict(zip(DOMAIN["age"].values, (29.0, 50.0, 75.0), strict=True))
    )
    with pytest.warns(sp.SeepageWarning, match="midpoints .* off by 15: no interval"):
        mean = clear.mean("age")
    assert mean.value == pytest.approx(middle.mean())
    assert mean.standard_error == pytest.approx(
        middle.std() / np.sqrt(len(found)), rel=1e-3
    )
    with pytest.warns(sp.SeepageWarning, match="midpoints"):
        by_sex = clear.mean("age", given="sex")
    assert by_sex["F"].value == pytest.approx(middle[found.sex == "F"].mean())
    assert clear.mean("ill", scores=[0, 1]).value == pytest.approx(
        (found.ill == "yes").mean()
    )
    with pytest.raises(InputError, match="which are no numbers themselves"):
        clear.mean("ill")


def test_one_attribute_is_estimated_as_plan_estimate_does():
    plan = three_forms(PAIRS)
    reports = plan.perturb(PEOPLE, rng=1)
    for name in DOMAIN.names:
        alone = plan.estimate(reports)[name]
        table = plan.table(reports, name)
        assert np.allclose(table.values, alone.frequencies)
        assert table.standard_errors == pytest.approx(alone.standard_errors, rel=0.03)
        weighted = plan.estimate(reports, weights=np.full(len(PEOPLE), 2.0))[name]
        assert np.allclose(weighted.frequencies, alone.frequencies)
        assert np.allclose(weighted.standard_errors, table.standard_errors)


def test_consistency_is_on_request():
    plan = plan_for(PAIRS, 0.2)
    table = plan.table(plan.perturb(PEOPLE, rng=5), "job", by="ill")
    assert table.values.min() < 0
    nearest = table.consistent()
    assert nearest.values.min() >= 0
    assert nearest.values.sum() == pytest.approx(1.0)
    assert np.array_equal(nearest.standard_errors, table.standard_errors)


def test_the_price_of_asking_together_is_stated():
    """The half-width of the widest cell is that of collections with the form that is
    meant.

    A plan has no joint frequencies: the price is that of independent attributes.
    """
    plan = forms_plan(PAIRS, [product(sex=4.0), product(job=4.0)], limit=4.0)
    with pytest.raises(
        InputError, match="design with want 'sex x job' would: 10% of 2,000 people"
    ) as e:
        plan.table(plan.perturb(PEOPLE, rng=1), "sex", by="job")
    assert "the variance of other estimates rises by 11%" in str(e.value)
    stated = float(
        re.search("independent attributes within ([0-9.]+) points", str(e.value))[1]
    )
    together = forms_plan(PAIRS, [product(sex=2.0, job=2.0)], limit=4.0)
    data = people(20_000)
    data = data.set_column(0, "sex", people(20_000, seed=77)["sex"])
    errors = together.table(
        together.perturb(data, rng=2), "sex", by="job"
    ).standard_errors
    assert stated == pytest.approx(100 * 1.96 * errors.max() * 10, rel=0.05)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_intervals_of_rare_shares_cover(noise):
    """A share of 1 % in a group of 500, with and without noise of reports."""
    rng = np.random.default_rng(5)
    n = 500
    share = 0.01
    a = rng.binomial(n, share, 20_000) / n + rng.normal(0, noise, 20_000)
    known = np.clip(a, 0, 1)
    variance = known * (1 - known) / n + noise**2
    zeros = np.zeros_like(a)
    found = ratio_intervals(a, zeros + 1.0, variance, zeros, zeros, sampling=1 / n)
    covered = np.mean((found[:, 0] <= share) & (share <= found[:, 1]))
    assert 0.93 < covered < 0.98
    if noise == 0.0:
        error = np.sqrt(variance)
        assert np.mean(np.abs(a - share) <= 1.96 * error) < 0.9


def test_frames_charts_and_mistakes(clear):
    shares = clear.shares(given=["age", "sex"])
    columns = shares.to_pandas()
    assert list(columns) == [
        "ill",
        "age",
        "sex",
        "estimate",
        "standard_error",
        "lower",
        "upper",
    ]
    assert clear.to_dict()["people_by_form"] == {"1": 3000}
    for result in (shares, clear, clear.shares(given="age")):
        assert "mark" in str(result.chart().to_dict())
    for call, message in (
        (lambda: clear["yes"], "one value of each of ill, age, sex"),
        (lambda: clear.shares(given=["ill", "age", "sex"]), "not all"),
        (lambda: clear.difference(), "two groups"),
        (
            lambda: clear.difference("yes", ["F", "M"]),
            "one value of each other attribute",
        ),
        (lambda: clear.shares(given="jab"), "must be one of ill, age, sex"),
        (lambda: clear.mean("age", given="age"), "of which it is the mean"),
        (
            lambda: clear.mean("age", scores=[1, 2]),
            "must have one number for each of the 3 values",
        ),
    ):
        with pytest.raises(InputError, match=message):
            call()


# Weights ------------------------------------------------------------------------------


def test_weighted_tables_without_noise_are_those_of_the_weighted_answers():
    weights = np.where(frame().sex == "F", 3.0, 1.0)
    reports = CLEAR.perturb(PEOPLE)
    found = CLEAR.table(reports, "ill", by=["age", "sex"], weights=weights)
    assert np.allclose(found.values, cells(weights), atol=1e-12)
    named = CLEAR.table(
        reports.append_column("w", [weights]), "ill", by="sex", weights="w"
    )
    assert np.allclose(named.frequencies, found.frequencies.sum(axis=1))
    assert found.effective == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_weights_undo_unequal_sampling():
    """People drawn in proportion to 1 / w: weighted estimates and errors are right."""
    plan = forms_plan(
        PAIRS, [product(sex=2.0, ill=1.5), matrix(DOMAIN, ["ill", "sex"], 2.0)]
    )
    population = people(20_000, seed=6)
    sex = np.asarray(population["sex"])
    chance = np.where(sex == "F", 3.0, 1.0)
    truth = np.mean(np.asarray(population["ill"]) == "yes")
    women = np.mean(sex == "F")
    rng = np.random.default_rng(2)
    scores = []
    shares = []
    for _ in range(60):
        rows = rng.choice(len(sex), 3000, p=chance / chance.sum())
        reports = plan.perturb(population.take(rows), rng=int(rng.integers(1 << 40)))
        found = plan.estimate(reports, weights=1 / chance[rows])
        share = found.share("sex", "F")
        ill = found.share("ill", "yes")
        scores.append((ill.value - truth) / ill.standard_error)
        shares.append((share.value - women) / share.standard_error)
    for found in (scores, shares):
        tail = stats.chi2.cdf(np.sum(np.square(found)), len(found))
        assert 1e-3 < tail < 1 - 1e-3


def test_raking_meets_known_totals_and_says_what_is_wrong():
    beside = frame()[["sex", "job"]]
    totals = {
        "sex": {"F": 60, "M": 40},
        "job": {"clerk": 1, "nurse": 2, "smith": 3, "other": 4},
    }
    weights = sp.rake_weights(beside, totals)
    for name, known in totals.items():
        found = pd.Series(weights).groupby(beside[name]).sum() / weights.sum()
        for value, total in known.items():
            assert found[value] == pytest.approx(total / sum(known.values()))
    with pytest.raises(InputError, match="'M' is only in one of them"):
        sp.rake_weights(beside, {"sex": {"F": 1.0}})
    with pytest.raises(
        InputError, match="totals must be given for at least one attribute"
    ):
        sp.rake_weights(beside, {})
    impossible = beside.assign(also=beside.sex)
    with pytest.raises(InputError, match="raking does not converge"):
        sp.rake_weights(impossible, {"sex": {"F": 1, "M": 1}, "also": {"F": 1, "M": 3}})


def test_weights_that_identify_people_are_warned_of():
    reports = CLEAR.perturb(PEOPLE)
    rng = np.random.default_rng(1)
    with pytest.warns(
        SeepageWarning, match="3,000 of 3,000 people have a weight that fewer than 5"
    ):
        CLEAR.estimate(reports, weights=rng.random(3000) + 1)
    for weights, message in (
        ([1.0], "one number for each of 3,000 reports"),
        (-np.ones(3000), "at least 0"),
        (["a"] * 3000, "must be numbers"),
        ("w", "the reports have no column 'w'"),
    ):
        with pytest.raises(InputError, match=message):
            CLEAR.estimate(reports, weights=weights)
