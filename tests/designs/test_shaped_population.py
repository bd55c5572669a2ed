"""Shaped reports for the population: limits against a general solver, and on the people
behind.
"""

import math

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

import seepage as sp
from seepage.confidence.level_of_maxima import level_of_maxima
from seepage.designs.forms.form_counter import FormCounter
from seepage.designs.shaped import certified_report as certified_module
from seepage.designs.shaped.admissible_reports import AnswerCounts, RatioLimit
from seepage.designs.shaped.certified_report import (
    CertifiedReports,
    certified_report,
    tilted,
)
from seepage.designs.shaped.population_leakages import (
    kept_share,
    population_leakages,
    split_records,
)
from shaping import shape, shape_for_population, total_variance

DOMAIN = sp.Domain(
    [sp.Attribute("job", ("a", "b", "c", "d")), sp.Attribute("sex", ("f", "m"))]
)
PEOPLE = np.array([[0.20, 0.12], [0.15, 0.08], [0.10, 0.15], [0.05, 0.15]])
"""The shares of jobs and sexes among the people."""


def sample(n, seed):
    """Return n people drawn at random."""
    draws = np.random.default_rng(seed)
    return sp.Records.from_joint(
        DOMAIN, draws.multinomial(n, PEOPLE.ravel()).reshape(4, 2)
    )


def true_leakage(report):
    """Return what reports tell about sex among the people."""
    return report.mechanism.leakage((PEOPLE / PEOPLE.sum(axis=0)).T).value


@pytest.mark.parametrize(
    "seeds",
    [range(2), pytest.param(range(2, 40), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_limits_hold_for_the_population(seeds):
    for seed in seeds:
        report, leakages = shape_for_population(
            sample(20_000, seed), "job", {"sex": 0.3}, 2.0, rng=seed
        )
        assert true_leakage(report) <= leakages["sex"] <= 0.3
        assert report.mechanism.realised_epsilon <= 2.0


def test_a_report_shaped_to_a_table_leaks_more_in_the_population():
    made = [shape(sample(2_000, seed), "job", {"sex": 0.3}, 2.0) for seed in range(6)]
    assert sum(true_leakage(one) > 0.3 for one in made) >= 4


@pytest.mark.slow
def test_more_records_allow_lower_variance():
    few, many = (
        total_variance(shape_for_population(sample(n, 1), "job", {"sex": 0.3}, 2.0)[0])
        for n in (20_000, 2_000_000)
    )
    whole = total_variance(shape(sample(2_000_000, 1), "job", {"sex": 0.3}, 2.0))
    assert whole < many < few
    assert many < 1.15 * whole


def test_a_form_is_certified_too():
    draws = np.random.default_rng(3)
    base = draws.integers(0, 2, 60_000)
    flips = draws.random((3, 60_000)) < [[0.3], [0.4], [0.45]]
    codes = np.column_stack([base ^ flip for flip in flips])
    names = ("a", "b", "c")
    records = sp.Records(sp.Domain([sp.Attribute(n, ("0", "1")) for n in names]), codes)
    report, leakages = shape_for_population(records, ["a", "b"], 1.0)
    assert set(leakages) == set(names)
    assert max(leakages.values()) <= 1.0
    assert max(report.answer_leakage.changes) <= 1.0
    table = total_variance(shape(records, ["a", "b"], 1.0))
    assert table < total_variance(report) < 1.3 * table


@pytest.mark.parametrize("limits", [{}, {"country": 0.1}])
def test_without_a_secret_only_the_budget_limits_reports(limits):
    """An attribute of one value is no secret."""
    domain = sp.Domain([*DOMAIN, sp.Attribute("country", ("here",))])
    records = sp.Records(
        domain, [[job, 0, 0] for job in range(4)], [900, 700, 400, 300]
    )
    report, leakages = shape_for_population(records, "job", limits, 2.0)
    assert leakages == dict.fromkeys(limits, 0.0)
    assert 1.9 < report.mechanism.realised_epsilon <= 2.0


def test_values_without_records_may_have_any_distribution():
    counts = np.array([[400, 0], [300, 1], [200, 0], [100, 0]])
    records = sp.Records.from_joint(DOMAIN, counts)
    report, _ = shape_for_population(records, "job", {"sex": 0.1}, 2.0)
    women = counts[:, 0] / counts[:, 0].sum()
    leakages = [
        report.mechanism.leakage(np.stack([women, men])).value for men in np.eye(4)
    ]
    assert 0.05 < max(leakages) <= 0.1


def test_the_kept_share_is_the_largest_that_is_certified():
    records = sample(2_000, 1)
    counter = FormCounter(records)
    limits = {"sex": 0.2}
    made = shape(records, "job", {"sex": 0.3}, 2.0)
    rest = AnswerCounts.of(counter, ["job"], ["sex"])
    level = level_of_maxima(1, 0.95)
    kept = kept_share(made.reports, rest, limits, level)
    for share, within in ((kept * 0.9999, True), (kept * 1.001, False)):
        mixed = (share * made.reports + 1 - share).T
        assert (population_leakages(mixed, rest, level)["sex"] <= 0.2) == within
    _, leakages = certified_report(made, limits, counter, counter, level)
    assert 0.199 < leakages["sex"] <= 0.2


def test_a_report_of_which_hardly_a_share_is_certified_is_dropped():
    records = sample(200, 1)
    counter = FormCounter(records)
    made = shape(records, "job", {"sex": 0.3}, 2.0)
    assert certified_report(made, {"sex": 1e-6}, counter, counter, 4.0) is None


def test_too_many_people_to_split_raise():
    many = sp.Records(DOMAIN, [[0, 0], [1, 1]], [2**52, 2**51])
    with pytest.raises(sp.InputError, match="fewer than 10\\^9 records"):
        split_records(many, 0)


def test_the_split_is_a_fifth_and_the_rest():
    records = sample(10_007, 2)
    fifth, rest = split_records(records, rng=1)
    assert fifth.records == 2_001
    assert (fifth.counts() + rest.counts() == records.counts()).all()
    again, _ = split_records(records, rng=1)
    other, _ = split_records(records, rng=2)
    assert again == fifth != other


# The limits themselves ----------------------------------------------------------------

SHARES = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4]])


def largest_mean(shares, weights, radius):
    """Return the largest mean over distributions within a relative entropy, by
    SLSQP.
    """
    within = {
        "type": "ineq",
        "fun": lambda q: (
            radius - np.sum(shares * np.log(np.where(shares > 0, shares / q, 1.0)))
        ),
    }
    whole = {"type": "eq", "fun": lambda q: q.sum() - 1}
    found = minimize(
        lambda q: -q @ weights,
        np.full(4, 0.25) * 0.5 + 0.5 * shares,
        bounds=[(1e-9, 1)] * 4,
        constraints=[within, whole],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return -found.fun


def test_tilted_distributions_have_the_largest_mean():
    weights = np.array([[3.0, 1.0, 2.0, 5.0]])
    radius = np.array([0.02, 0.02])
    found = tilted(SHARES, weights, radius, np.ones((2, 4), dtype=bool))
    assert np.allclose(found.sum(axis=2), 1.0)
    for shares, mean in zip(SHARES, (found @ weights[0])[0], strict=True):
        assert mean == pytest.approx(largest_mean(shares, weights[0], 0.02), rel=2e-4)


def test_a_certificate_covers_every_distribution_within_the_radius():
    """The stated limit is the largest log-ratio of means within one joint radius."""
    counts = np.array([[500, 300, 200, 0], [100, 200, 300, 400]])
    channel = np.array([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6], [0.3, 0.7]])
    target = AnswerCounts(("z",), (4,), counts.sum(axis=0), {"x": counts})
    level = level_of_maxima(1, 0.95)
    price = 0.5 * math.log(math.pi) + math.lgamma(1001) - math.lgamma(1000.5)
    total = (level - math.log(2) + 2 * price) / 1000  # of one joint statement

    def log_ratio(part, weights, x, other):
        high = largest_mean(counts[x] / 1000, weights, part * total)
        low = -largest_mean(counts[other] / 1000, -weights, (1 - part) * total)
        return math.log(high / low)

    worst = 0.0
    for weights in channel.T:
        for pair in ((0, 1), (1, 0)):
            found = minimize_scalar(
                lambda part, w=weights, xs=pair: -log_ratio(part, w, *xs),
                bounds=(0.01, 0.99),
                method="bounded",
                options={"xatol": 1e-3},
            )
            worst = max(worst, -found.fun)
    assert population_leakages(channel, target, level)["x"] == pytest.approx(
        worst, rel=1e-4
    )


def test_certified_reports_are_certified_by_a_sample(monkeypatch):
    monkeypatch.setattr(certified_module, "SAMPLE_RATIO", 1.0)
    counts = np.array([[500, 300, 200, 10], [100, 200, 300, 400]])
    frequencies = counts.sum(axis=0) / counts.sum()
    target = AnswerCounts(("z",), (4,), counts.sum(axis=0), {"x": counts})
    limits = [RatioLimit("x", counts, 0.5), RatioLimit("r", np.eye(4, dtype=int), 2.0)]
    cone = CertifiedReports(limits, frequencies, target, {"x": 0.5}, 8.0)
    draws = np.random.default_rng(1)
    reports = [cone.best_report(draws.normal(size=4)) for _ in range(10)] + list(
        cone.initial_reports()
    )
    for report in reports:
        channel = np.column_stack([report, 10 - report]) / 10
        leakages = population_leakages(channel, target, 8.0)
        assert leakages["x"] <= 0.5 + 1e-3
    assert max(np.ptp(report) for report in reports) > 0.3
