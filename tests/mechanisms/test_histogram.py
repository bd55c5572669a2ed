"""SHE and the Gaussian mechanism, beyond the tests of every mechanism in
test_contract.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import laplace, norm

from reproduction.paper_tables import bayes_guesses
from seepage._core.errors import InputError
from seepage.mechanisms.gaussian import Gaussian
from seepage.mechanisms.histogram import MIN_EPSILON, SHE
from seepage.mechanisms.reports import VectorReports

EPSILONS = [0.0, 1e-12, 1e-6, 0.3, 1.0, 5.0, 50.0, 700.0, 800.0, 1e5]
BUDGETS = [
    (0.0, 1e-6),
    (1e-12, 1e-9),
    (1.0, 1e-6),
    (1.0, 0.9),
    (50.0, 1e-12),
    (700.0, 1e-6),
]


def she_hit_rate(k: int, epsilon: float) -> Decimal:
    """The integral of f(y - 1) F(y)^(k-1) dy, the power expanded, with hundreds of
    digits.
    """
    with localcontext(prec=900):
        rate = Decimal(epsilon) / 2
        half = Decimal("0.5")
        shrink = (-rate).exp()
        between = Decimal(0)
        power = Decimal(1)
        weight = Decimal(1)
        for i in range(k):  # power = shrink^(i-1), weight = C(k-1, i) (-1/2)^i
            part = 1 / shrink - 1 if i == 0 else rate
            if i > 1:
                power *= shrink
                part = (1 - power) / (i - 1)
            between += weight * part
            weight = -weight * (k - 1 - i) / (2 * (i + 1))
        below = shrink * half**k / k
        above = (1 - (1 - shrink / 2) ** k) / (k * shrink)
        return below + shrink / 2 * between + above


def of(mechanism: SHE | Gaussian, vectors: object) -> VectorReports:
    return VectorReports(
        mechanism.describe(), np.atleast_2d(np.asarray(vectors, dtype=float))
    )


# Budgets ------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_she_epsilon_is_recomputed_from_its_scale(epsilon: float) -> None:
    mechanism = SHE(4, epsilon)
    assert mechanism.epsilon <= epsilon
    assert mechanism.epsilon == pytest.approx(epsilon, rel=1e-15)
    if epsilon:
        assert (
            2 / Fraction(mechanism.scale)
            <= Fraction(mechanism.epsilon)
            <= Fraction(epsilon)
        )


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_she_realises_at_most_its_epsilon(epsilon: float) -> None:
    mechanism = SHE(4, epsilon)
    assert 0 <= mechanism.realised_epsilon <= mechanism.epsilon
    if 1e-6 <= epsilon <= 80:
        assert mechanism.realised_epsilon == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 5e-324, MIN_EPSILON / 2])
def test_she_at_epsilon_0_reports_the_zero_vector(epsilon: float) -> None:
    mechanism = SHE(3, epsilon)
    assert mechanism.epsilon == mechanism.realised_epsilon == 0
    for secure in (False, True):
        reports = mechanism.perturb([0, 1, 2, 1], None if secure else 1)
        assert not reports.vectors.any()
    assert mechanism.log_likelihood(reports).tolist() == [[0.0] * 3] * 4
    assert mechanism.hit_rate == pytest.approx(1 / 3)
    guesses = mechanism.infer(mechanism.perturb([0] * 6000, 1), 2)
    assert np.abs(np.bincount(guesses, minlength=3) - 2000).max() < 5 * math.sqrt(
        6000 * 2 / 9
    )


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_gaussian_is_within_its_delta(epsilon: float, delta: float) -> None:
    mechanism = Gaussian(4, epsilon, delta)
    assert mechanism.epsilon == mechanism.realised_epsilon == epsilon
    assert mechanism.delta < mechanism.realised_delta <= delta
    assert mechanism.delta == pytest.approx(delta, rel=1e-8)


def test_gaussian_counts_a_huge_epsilon_as_ten_thousand() -> None:
    assert Gaussian(2, 1e300, 1e-6).epsilon == 10_000


@pytest.mark.parametrize("delta", [0.0, 1e-300, 1.0, -0.1, math.nan, "0.1", None])
def test_gaussian_rejects_a_delta_out_of_range(delta: object) -> None:
    with pytest.raises(InputError, match="delta"):
        Gaussian(4, 1.0, delta)  # type: ignore[arg-type]


# Noise --------------------------------------------------------------------------------


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize(
    "mechanism", [SHE(5, 0.8), SHE(5, 30.0), Gaussian(5, 0.8, 1e-5)]
)
def test_noise_has_its_variance_and_no_other(
    mechanism: SHE | Gaussian, secure: bool
) -> None:
    codes = np.arange(20_000) % 5
    vectors = mechanism.perturb(codes, None if secure else 11).vectors
    noise = (vectors - np.eye(5)[codes]).ravel() / math.sqrt(mechanism.noise_variance)
    spread = math.sqrt((6 if isinstance(mechanism, SHE) else 3) - 1) / math.sqrt(
        len(noise)
    )
    assert abs(noise.mean()) < 5 / math.sqrt(len(noise))
    assert abs(np.mean(noise**2) - 1) < 5 * spread < 0.3


@pytest.mark.parametrize("mechanism", [SHE(3, 1.0), Gaussian(3, 1.0, 1e-5)])
def test_secure_reports_are_on_the_grid(mechanism: SHE | Gaussian) -> None:
    vectors = mechanism.perturb([0, 1, 2] * 500).vectors
    grid = mechanism.grid
    cells = (vectors - grid.origin) / grid.step
    assert (cells == np.round(cells)).all()


def test_signs_of_seeded_laplace_noise_are_even_and_independent_of_size() -> None:
    noise = SHE(4, 2.0).perturb(np.zeros(50_000, dtype=int), 5).vectors[:, 1:].ravel()
    positive = noise > 0
    assert abs(positive.mean() - 0.5) < 2.5 / math.sqrt(len(noise))
    assert abs(np.corrcoef(positive, np.abs(noise))[0, 1]) < 5 / math.sqrt(len(noise))


# The attack ---------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 16, 128, 1000])
@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 1.0, 5.0, 20.0, 100.0, 700.0])
def test_she_hit_rate_against_hundreds_of_digits(k: int, epsilon: float) -> None:
    mechanism = SHE(k, epsilon)
    exact = she_hit_rate(k, epsilon)
    assert abs(Decimal(mechanism.hit_rate) - exact) < Decimal("1e-13")
    if k > 1:
        contrast = float((exact * (k - 1) / (1 - exact)).ln())
        assert mechanism.guess_contrast == pytest.approx(contrast, rel=1e-12, abs=1e-10)


@pytest.mark.parametrize("k", [1, 2, 7, 300])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (4.0, 0.2), (50.0, 1e-6)])
def test_gaussian_hit_rate_against_quadrature(
    k: int, epsilon: float, delta: float
) -> None:
    mechanism = Gaussian(k, epsilon, delta)

    def true_entry_largest(z: float) -> float:
        return float(norm.pdf(z) * norm.cdf(z + 1 / mechanism.sigma) ** (k - 1))

    exact = quad(true_entry_largest, -12, 12, epsabs=1e-12, limit=200)[0]
    assert mechanism.hit_rate == pytest.approx(exact, abs=1e-10)


def test_hit_rate_of_two_values_is_the_chance_that_one_entry_exceeds_the_other() -> (
    None
):
    gauss = Gaussian(2, 1.0, 1e-6)
    assert gauss.hit_rate == pytest.approx(
        norm.cdf(1 / (gauss.sigma * math.sqrt(2))), abs=1e-14
    )


priors = st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any)
entries = st.lists(st.floats(-4, 4), min_size=3, max_size=3)


@settings(max_examples=200)
@given(entries, priors, st.booleans())
def test_guess_has_the_largest_posterior(
    vector: list[float], weights: list[int], she: bool
) -> None:
    mechanism = SHE(3, 1.5) if she else Gaussian(3, 1.5, 0.01)
    prior = np.array(weights) / sum(weights)
    reports = of(mechanism, vector)
    guess = int(bayes_guesses(mechanism, reports, prior)[0])
    with np.errstate(divide="ignore"):
        posterior = mechanism.log_likelihood(reports)[0] + np.log(prior)
    assert prior[guess] > 0
    assert posterior[guess] == pytest.approx(posterior.max(), abs=1e-9)


def test_uniform_prior_is_the_largest_entry() -> None:
    mechanism = SHE(6, 1.0)
    reports = mechanism.perturb(np.arange(5000) % 6, 3)
    uniform = bayes_guesses(mechanism, reports, np.full(6, 1 / 6))
    assert (uniform == reports.vectors.argmax(axis=1)).all()
    assert (uniform == mechanism.infer(reports, 1)).all()


def test_tied_likelihoods_go_to_the_largest_entry_and_equal_entries_to_chance() -> None:
    mechanism = SHE(3, 1.0)
    likelihood = mechanism.log_likelihood(of(mechanism, [2.0, 3.0, 0.5]))[0]
    assert likelihood[0] == likelihood[1] > likelihood[2]
    assert mechanism.infer(of(mechanism, [2.0, 3.0, 0.5])).tolist() == [1]
    prior = np.array([0.5, 0.4, 0.1])
    assert bayes_guesses(mechanism, of(mechanism, [2.0, 3.0, 0.5]), prior).tolist() == [
        0
    ]
    guesses = mechanism.infer(of(mechanism, [[2.0, 2.0, 0.5]] * 4000), 7)
    assert set(guesses.tolist()) == {0, 1}
    assert abs(guesses.mean() - 0.5) < 5 * 0.5 / math.sqrt(4000)


def test_breaking_ties_by_the_entry_is_as_good_as_any_rule() -> None:
    """The paper's posterior, ties broken at random, hits as often as the closed form
    says.
    """
    mechanism = SHE(4, 1.0)
    size = 60_000
    codes = np.arange(size) % 4
    evidence = np.clip(2 * mechanism.perturb(codes, 9).vectors - 1, -1, 1)
    keys = np.random.default_rng(10).random(evidence.shape)
    best = evidence == evidence.max(axis=1, keepdims=True)
    hits = np.mean(np.where(best, keys, -1).argmax(axis=1) == codes)
    assert np.mean(best.sum(axis=1) > 1) > 0.1
    spread = math.sqrt(mechanism.hit_rate * (1 - mechanism.hit_rate) / size)
    assert abs(hits - mechanism.hit_rate) < 5 * spread


@pytest.mark.parametrize(
    ("mechanism", "noise"),
    [
        (she := SHE(3, 1.0), laplace(scale=she.scale)),
        (gauss := Gaussian(3, 1.0, 1e-3), norm(scale=gauss.sigma)),
    ],
)
def test_likelihoods_have_the_ratios_of_the_density(
    mechanism: SHE | Gaussian, noise
) -> None:
    vectors = mechanism.perturb(np.arange(300) % 3, 3).vectors
    density = noise.logpdf(vectors[:, None] - np.eye(3)).sum(axis=2)
    found = mechanism.log_likelihood(of(mechanism, vectors))
    assert found - found[:, :1] == pytest.approx(density - density[:, :1], abs=1e-12)


# Leakage ------------------------------------------------------------------------------

CHANNEL = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.3, 0.3, 0.4]])


def log_ratio_of(
    mechanism: SHE | Gaussian, vector: object, channel: np.ndarray = CHANNEL
) -> float:
    """Return ln of one report's largest likelihood ratio between two target values."""
    likelihood = mechanism.log_likelihood(of(mechanism, vector))[0]
    rows = channel @ np.exp(likelihood - likelihood.max())
    return math.log(rows.max() / rows.min())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 40.0])
def test_no_she_report_exceeds_the_leakage(epsilon: float) -> None:
    mechanism = SHE(3, epsilon)
    leakage = mechanism.leakage(CHANNEL)
    seen = mechanism.perturb(np.arange(3000) % 3, 5).vectors
    corners = np.stack(
        np.meshgrid([0.0, 0.5, 1.0], [0.0, 0.5, 1.0], [0.0, 0.5, 1.0]), axis=-1
    )
    most = max(log_ratio_of(mechanism, y) for y in (*seen, *corners.reshape(-1, 3)))
    assert most <= leakage.value + 1e-12
    assert log_ratio_of(mechanism, leakage.witness.report.vectors[0]) == pytest.approx(
        leakage.value
    )


def test_gaussian_leakage_is_a_supremum() -> None:
    mechanism = Gaussian(3, 1.0, 1e-6)
    leakage = mechanism.pure_leakage(CHANNEL)
    assert leakage.value == pytest.approx(math.log(0.5 / 0.1))
    assert leakage.witness.likely == (2,)
    steps = [
        log_ratio_of(mechanism, [0, 0, nats * mechanism.sigma**2])
        for nats in (1, 5, 20)
    ]
    assert steps == sorted(steps)
    assert steps[-1] < leakage.value
    assert log_ratio_of(mechanism, leakage.witness.report.vectors[0]) == pytest.approx(
        leakage.value
    )


def test_gaussian_leakage_is_infinite_where_a_value_is_impossible() -> None:
    mechanism = Gaussian(3, 1.0, 1e-6)
    assert mechanism.pure_leakage([[0.5, 0.5, 0.0], [0.4, 0.5, 0.1]]).value == math.inf
    assert mechanism.pure_leakage(
        [[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]]
    ).value == pytest.approx(math.log(0.5 / 0.4))
    assert mechanism.leakage([[0.5, 0.5, 0.0]]).value == 0


def test_gaussian_relaxed_leakage_is_the_bound_with_its_share_of_delta() -> None:
    mechanism = Gaussian(3, 1.0, 1e-6)
    relaxed = mechanism.leakage(CHANNEL)
    assert relaxed.value == pytest.approx(SHE(3, 1.0).leakage(CHANNEL).value)
    share = math.expm1(relaxed.value) / math.expm1(1.0)
    assert relaxed.delta == pytest.approx(mechanism.delta * share)


# Damaged reports ----------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [SHE(3, 1.0), Gaussian(3, 1.0, 1e-3)])
@pytest.mark.parametrize(
    "vectors", [[[0.1, 0.2]], [[0.1, math.nan, 0.2]], [[0.1, math.inf, 2]]]
)
def test_damaged_reports_raise(
    mechanism: SHE | Gaussian, vectors: list[list[float]]
) -> None:
    reports = of(mechanism, vectors)
    for use in (mechanism.estimate, mechanism.infer, mechanism.log_likelihood):
        with pytest.raises(InputError, match="reports must hold"):
            use(reports)
