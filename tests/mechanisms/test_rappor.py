"""Basic RAPPOR: one report, and many of one permanent response."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core.errors import InputError
from seepage.mechanisms.rappor import BasicRAPPOR

SETTINGS = [
    (0.5, 0.5, 0.75),
    (0.25, 0.1, 0.9),
    (1 / 3, 0.0, 1.0),
    (0.9, 0.35, 0.65),
    (0.0, 0.2, 0.7),
]
CHANCES = st.floats(0.01, 0.99)


def exact_epsilon(f, p, q, reports):
    """Return exp(epsilon) of so many reports of two bits, over all reports, in
    fractions.
    """
    flip, p, q = Fraction(f) / 2, Fraction(p), Fraction(q)
    patterns = list(itertools.product([0, 1], repeat=reports))

    def seen(one, pattern):
        return math.prod(one if bit else 1 - one for bit in pattern)

    def bit(value, pattern):
        kept = 1 - flip if value else flip
        return kept * seen(q, pattern) + (1 - kept) * seen(p, pattern)

    ratios = [(bit(1, pattern), bit(0, pattern)) for pattern in patterns]
    return max(
        true * other_two / (other * true_two)
        for (true, other), (true_two, other_two) in itertools.product(ratios, ratios)
        if other * true_two
    )


@pytest.mark.parametrize(("f", "p", "q"), SETTINGS)
def test_one_report_follows_the_formulas(f, p, q):
    mechanism = BasicRAPPOR(6, f, p, q)
    true = f * (p + q) / 2 + (1 - f) * q
    other = f * (p + q) / 2 + (1 - f) * p
    assert mechanism.support == pytest.approx((true, other), rel=1e-14)
    expected = math.log(true * (1 - other) / (other * (1 - true)))
    assert mechanism.epsilon == pytest.approx(expected, rel=1e-12)
    assert mechanism.epsilon == pytest.approx(mechanism.epsilon_after(1), rel=1e-13)
    assert math.exp(mechanism.epsilon) == pytest.approx(
        float(exact_epsilon(f, p, q, 1))
    )


def test_the_papers_setting_is_the_default():
    mechanism = BasicRAPPOR(6)
    assert mechanism.describe() == {
        "mechanism": "basic-rappor",
        "k": 6,
        "f": 0.5,
        "p": 0.5,
        "q": 0.75,
    }
    assert mechanism.support == (0.6875, 0.5625)
    assert mechanism.epsilon == pytest.approx(
        math.log(0.6875 * 0.4375 / (0.5625 * 0.3125))
    )
    assert mechanism.epsilon_infinity == pytest.approx(2 * math.log(3))


@pytest.mark.parametrize(("f", "p", "q"), SETTINGS)
@pytest.mark.parametrize("reports", [1, 2, 3, 4])
def test_many_reports_by_enumeration(f, p, q, reports):
    truth = exact_epsilon(f, p, q, reports)
    found = BasicRAPPOR(2, f, p, q).epsilon_after(reports)
    assert found == pytest.approx(math.log(truth), rel=1e-12)


@given(CHANCES, CHANCES, CHANCES)
def test_epsilon_after_increases_to_that_of_the_permanent_response(f, one, two):
    mechanism = BasicRAPPOR(3, f, min(one, two), max(one, two))
    rising = [mechanism.epsilon_after(n) for n in (1, 2, 5, 50, 10**6, 2**53)]
    for fewer, more in itertools.pairwise([*rising, mechanism.epsilon_infinity]):
        assert fewer <= more * (1 + 1e-12)
    if max(one, two) - min(one, two) > 0.01:
        assert rising[-1] == pytest.approx(mechanism.epsilon_infinity, rel=1e-9)


def test_without_permanent_noise_many_reports_reveal_the_value():
    mechanism = BasicRAPPOR(3, 0.0, 0.25, 0.75)
    assert mechanism.epsilon == pytest.approx(2 * math.log(3))
    assert mechanism.epsilon_after(10) == pytest.approx(20 * math.log(3))
    assert mechanism.epsilon_after(10**6) == mechanism.epsilon_infinity == math.inf


@pytest.mark.parametrize(
    ("f", "p", "q"), [(1.0, 0.1, 0.9), (0.5, 0.3, 0.3), (0.5, 1 / 3, 1 / 3)]
)
def test_parameters_with_epsilon_0(f, p, q):
    mechanism = BasicRAPPOR(4, f, p, q)
    assert (
        mechanism.epsilon
        == mechanism.realised_epsilon
        == mechanism.epsilon_after(1)
        == 0
    )
    with pytest.raises(InputError, match="no information"):
        mechanism.estimate(mechanism.perturb([0, 1], 1))


@pytest.mark.parametrize(
    ("f", "p", "q"), [*SETTINGS, (1e-30, 0.0, 1.0), (0.5, 0.3, 0.3)]
)
def test_the_drawn_distribution_is_within_the_stated_epsilon(f, p, q):
    mechanism = BasicRAPPOR(4, f, p, q)
    stated = (mechanism.true, mechanism.other)
    drawn, limit = (
        true * (1 - other) / (other * (1 - true))
        for true, other in (mechanism.drawn, stated)
    )
    assert 1 <= drawn <= limit
    assert mechanism.realised_epsilon <= mechanism.epsilon
    assert math.exp(mechanism.realised_epsilon) >= drawn * (1 - 1e-12)


def test_estimates_are_unbiased_and_their_errors_right():
    mechanism = BasicRAPPOR(5, 0.3, 0.2, 0.9)
    codes = np.repeat(np.arange(5), [800, 600, 400, 200, 0])
    truth = np.bincount(codes, minlength=5) / len(codes)
    rng = np.random.default_rng(4)
    runs = [mechanism.estimate(mechanism.perturb(codes, rng)) for _ in range(300)]
    scores = np.array([(run.frequencies - truth) / run.standard_errors for run in runs])
    assert np.abs(scores.mean(axis=0)).max() < 5 / math.sqrt(len(runs))
    spread = scores.std()
    assert 0.9 < spread < 1.1
    assert not 0.9 < spread * 0.7 < 1.1
    assert not 0.9 < spread * 1.3 < 1.1


def test_one_value():
    mechanism = BasicRAPPOR(1)
    assert (
        mechanism.epsilon
        == mechanism.epsilon_infinity
        == mechanism.epsilon_after(9)
        == 0
    )
    assert mechanism.estimate(mechanism.perturb([0, 0], 1)).frequencies.tolist() == [
        1.0
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "k must be"),
        ((4, 1.5, 0.5, 0.75), "f must be between"),
        ((4, 0.5, -0.1, 0.75), "p must be between"),
        ((4, 0.5, 0.5, math.nan), "q must be between"),
        ((4, 0.5, 0.75, 0.5), "p must be at most q"),
        ((4, 0.0, 0.0, 0.5), "leave every bit random"),
        ((4, 0.0, 0.5, 1.0), "leave every bit random"),
        ((4, 0.5, 0.0, 0.0), "leave every bit random"),
        ((4, 0.5, 1.0, 1.0), "leave every bit random"),
    ],
)
def test_invalid_parameters_raise(arguments, message):
    with pytest.raises(InputError, match=message):
        BasicRAPPOR(*arguments)


@pytest.mark.parametrize("reports", [0, -1, 1.5, True])
def test_an_invalid_number_of_reports_raises(reports):
    with pytest.raises(InputError, match="reports must be"):
        BasicRAPPOR(4).epsilon_after(reports)
