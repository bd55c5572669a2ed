"""Errors and totals of other strategies against simulation and enumeration."""

from itertools import product

import numpy as np
import pytest

import seepage as sp
from benchmarks import strategies
from benchmarks.strategies import corr_rr, fake_data

COLLECTIONS = 300
LIMIT = 1.5


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    first = rng.integers(0, 2, 1_000)
    codes = np.stack(
        [first, np.where(rng.random(1_000) < 0.8, first, 0), rng.integers(0, 2, 1_000)],
        axis=1,
    )
    domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in "abc"])
    return sp.Records(domain, codes)


def frequencies(people):
    return [marginal / people.records for marginal in people.pairs().marginals]


def grr(rng, answers, epsilon):
    keep = 1 / (1 + np.exp(-epsilon))
    return np.where(rng.random(answers.shape) < keep, answers, 1 - answers)


def estimated(share, epsilon):
    keep = 1 / (1 + np.exp(-epsilon))
    return (share - (1 - keep)) / (2 * keep - 1)


def squared_error(estimates, people):
    """Return the mean over collections and attributes of the error of both values."""
    truth = np.array([f[1] for f in frequencies(people)])
    return float(2 * ((np.array(estimates) - truth) ** 2).mean())


def sample(rng, people):
    everyone = np.repeat(people.codes.astype(int), people.weights, axis=0)
    return everyone[rng.integers(0, len(everyone), 1_000)]


def test_the_error_of_fake_data_is_that_of_a_simulation(people):
    rng = np.random.default_rng(5)
    amplified = np.log1p(3 * np.expm1(LIMIT))
    estimates = []
    for _ in range(COLLECTIONS):
        answers = sample(rng, people)
        true = rng.integers(0, 3, 1_000)[:, None] == np.arange(3)
        fakes = rng.integers(0, 2, answers.shape)
        reports = np.where(true, grr(rng, answers, amplified), fakes)
        shares = 3 * (reports.mean(axis=0) - 2 / 3 / 2)
        estimates.append(estimated(shares, amplified))
    uniform = [np.full(2, 0.5)] * 3
    outcome = fake_data(people.pairs(), LIMIT, uniform)
    assert squared_error(estimates, people) == pytest.approx(
        outcome.errors[0], rel=0.15
    )
    assert outcome.errors[0] == pytest.approx(10 * outcome.errors[1])


def test_the_error_of_corr_rr_is_that_of_a_simulation(people):
    rng = np.random.default_rng(6)
    f = np.array(frequencies(people))
    copied = strategies._copy_chances(f, LIMIT, 1_000)
    estimates = []
    for _ in range(COLLECTIONS):
        answers = sample(rng, people)
        split = grr(rng, answers[:100], LIMIT / 3)
        pivots = rng.integers(0, 3, 900)
        everyone = np.arange(900)
        report = grr(rng, answers[100:][everyone, pivots], LIMIT)
        same = rng.random((900, 3)) < copied[pivots]
        reports = np.where(same, report[:, None], 1 - report[:, None])
        reports[everyone, pivots] = report
        first = estimated(split.mean(axis=0), LIMIT / 3)
        second = estimated(reports.mean(axis=0), LIMIT)
        estimates.append(0.1 * first + 0.9 * second)
    outcome = corr_rr(people.pairs(), LIMIT, 0.0)
    assert squared_error(estimates, people) == pytest.approx(
        outcome.errors[0], rel=0.15
    )
    assert 0 < outcome.squared_bias < outcome.errors[-1]


def record_likelihoods(people, likelihood):
    """Return P(report given value) of each target, from that given each record."""
    given = np.array([likelihood(record) for record in people.codes])
    for target in range(3):
        rows = []
        for value in (0, 1):
            chosen = people.codes[:, target] == value
            weights = people.weights[chosen]
            rows.append(np.average(given[chosen], axis=0, weights=weights))
        yield np.array(rows)


@pytest.mark.parametrize("prior", ["uniform", "true"])
def test_the_total_of_fake_data_is_that_of_all_reports(people, prior):
    fakes = [np.full(2, 0.5)] * 3 if prior == "uniform" else frequencies(people)
    keep = 1 / (1 + np.exp(-np.log1p(3 * np.expm1(LIMIT))))
    every = list(product((0, 1), repeat=3))

    def likelihood(record):
        given = []
        for report in every:
            terms = []
            for j in range(3):
                own = keep if report[j] == record[j] else 1 - keep
                others = [fakes[i][report[i]] for i in range(3) if i != j]
                terms.append(own * np.prod(others))
            given.append(np.mean(terms))
        return np.array(given)

    largest = max(
        float(np.log(rows.max(axis=0) / rows.min(axis=0)).max())
        for rows in record_likelihoods(people, likelihood)
    )
    outcome = fake_data(people.pairs(), LIMIT, fakes)
    assert outcome.total == pytest.approx(largest, abs=1e-9)


def test_the_total_of_corr_rr_is_that_of_all_reports(people):
    f = np.array(frequencies(people))
    keep = 1 / (1 + np.exp(-LIMIT))
    largest = 0.0
    for number in strategies.PEOPLE:
        copied = strategies._copy_chances(f, LIMIT, number)

        def likelihood(record, copied=copied):
            given = []
            for report in product((0, 1), repeat=3):
                terms = []
                for j in range(3):
                    term = keep if report[j] == record[j] else 1 - keep
                    for i in range(3):
                        if i != j:
                            same = report[i] == report[j]
                            term *= copied[j, i] if same else 1 - copied[j, i]
                    terms.append(term)
                given.append(np.mean(terms))
            return np.array(given)

        for rows in record_likelihoods(people, likelihood):
            rows = rows[:, rows.max(axis=0) > 0]
            largest = max(
                largest, float(np.log(rows.max(axis=0) / rows.min(axis=0)).max())
            )
    assert corr_rr(people.pairs(), LIMIT, 0.0).total == pytest.approx(largest, abs=1e-9)
    assert largest < LIMIT + 1e-12
