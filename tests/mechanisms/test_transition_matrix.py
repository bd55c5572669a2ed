"""Mechanisms given by a transition matrix: integer thresholds, estimates, leakage."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from contract import read, write
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage as sp
from seepage._core.errors import ChannelError, GuaranteeError, InputError
from seepage.leakage.delta import delta_of_reports
from seepage.mechanisms.exact_probabilities import CERTAIN, exp_below, largest_ratio
from seepage.mechanisms.mechanism_registry import MECHANISMS

SURVEY = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])


def random_matrix(seed, k, outputs):
    return np.random.default_rng(seed).dirichlet(np.full(outputs, 0.7), size=k)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 8))
def test_thresholds_never_exceed_the_largest_ratio_of_the_matrix(seed, k, outputs):
    matrix = random_matrix(seed, k, outputs)
    mechanism = sp.MatrixMechanism(matrix)
    stated = max(
        Fraction(max(column)) / Fraction(min(column)) for column in matrix.T.tolist()
    )
    assert all(sum(row) == CERTAIN for row in mechanism.thresholds.tolist())
    assert largest_ratio(mechanism.thresholds) <= stated
    assert mechanism.epsilon == mechanism.realised_epsilon
    assert mechanism.epsilon <= math.log(stated) * (1 + 1e-15) + 1e-300
    assert np.allclose(mechanism.channel(), matrix, atol=1e-7)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 6), st.integers(2, 4))
def test_leakage_is_that_of_exact_leakage(seed, k, outputs, targets):
    mechanism = sp.MatrixMechanism(random_matrix(seed, k, outputs))
    G = np.random.default_rng(seed).dirichlet(np.full(k, 0.4), size=targets)
    found = mechanism.leakage(G)
    expected = sp.exact_leakage(G, mechanism.channel())
    assert found.value == pytest.approx(expected.value, rel=1e-12, abs=1e-12)
    assert found.value <= mechanism.epsilon
    assert found.witness.report.values.tolist() == [expected.witness.report]
    assert found.witness.likelier == expected.witness.likelier


@pytest.mark.parametrize("epsilon", [1e-15, 1e-9, 1e-3, 1.0, 30.0])
def test_leakage_of_exact_thresholds_is_rounded_up(epsilon):
    """Against fractions: two values, two outputs, a target that is the value itself."""
    kept = math.floor(CERTAIN / (1 + math.exp(-epsilon)))
    rows = [[kept, CERTAIN - kept], [CERTAIN - kept, kept]]
    mechanism = sp.MatrixMechanism.from_thresholds(rows)
    exact = Fraction(kept, CERTAIN - kept)
    assert Fraction(math.exp(mechanism.epsilon)) >= exact * (1 - Fraction(1, 10**15))
    assert mechanism.leakage(np.eye(2)).value == pytest.approx(
        mechanism.epsilon, rel=1e-12
    )
    mixed = [[0.75, 0.25], [0.25, 0.75]]
    seen = [3 * Fraction(a) + Fraction(b) for a, b in (rows[0], rows[1])]
    excess = float(seen[0] / seen[1] - 1)
    assert mechanism.leakage(mixed).value == pytest.approx(
        math.log1p(excess), rel=1e-12
    )
    assert mechanism.leakage(mixed).value >= math.log1p(excess) * (1 - 1e-15)


def test_estimates_are_least_squares_and_unbiased_for_every_distribution():
    mechanism = sp.MatrixMechanism(random_matrix(3, 3, 5))
    channel = mechanism.channel()
    weights = mechanism.contributions(
        type(mechanism.perturb([0], 1)).of(mechanism.describe(), np.arange(5), 5)
    )
    assert np.allclose(channel @ weights, np.eye(3), atol=1e-12)
    inverse = np.diag(1 / channel.mean(axis=0))
    gls = np.linalg.inv(channel @ inverse @ channel.T) @ channel @ inverse
    assert np.allclose(weights, gls.T, atol=1e-9)


@pytest.mark.parametrize(
    "matrix", [[[0.5, 0.5]] * 2, [[0.5, 0.5], [0.4, 0.6], [0.3, 0.7]]]
)
def test_estimates_of_deficient_rank_raise(matrix):
    mechanism = sp.MatrixMechanism(matrix)
    assert not mechanism.informative
    with pytest.raises(
        InputError, match=r"must have full row rank to distinguish . values"
    ):
        mechanism.estimate(mechanism.perturb([0, 1], 1))
    with pytest.raises(
        InputError, match=r"must have full row rank to distinguish . values"
    ):
        mechanism.variance(10)


def test_guesses_are_the_likeliest_values():
    mechanism = sp.MatrixMechanism(SURVEY)
    reports = mechanism.perturb([0, 1] * 500, 2)
    guesses = mechanism.infer(reports, 3)
    told = np.array(reports.values)
    assert guesses[told != 1].tolist() == (told[told != 1] == 2).astype(int).tolist()
    assert 0.3 < guesses[told == 1].mean() < 0.7, (
        "the second output is as likely under both"
    )
    assert mechanism.inferred_channel() == pytest.approx(
        np.array([[0.75, 0.25], [0.35, 0.65]])
    )


def test_its_reports_are_identified_by_name_and_thresholds(tmp_path):
    mechanism = sp.MatrixMechanism(SURVEY, name="survey")
    again = sp.MatrixMechanism.from_thresholds(
        mechanism.thresholds.tolist(), name="survey"
    )
    assert again.describe() == mechanism.describe()
    assert mechanism.describe()["mechanism"] == "survey"
    write(mechanism.perturb([0, 1], 3), tmp_path / "reports.parquet")
    assert again.estimate(read(tmp_path / "reports.parquet")).records == 2
    for other in (
        sp.MatrixMechanism(SURVEY),
        sp.MatrixMechanism(SURVEY[:, ::-1], name="survey"),
    ):
        with pytest.raises(InputError, match="must come from"):
            other.estimate(mechanism.perturb([0, 1], 3))
    with pytest.raises(ValueError, match="read-only"):
        mechanism.thresholds[0, 0] = 1


def test_leakage_matrix_accepts_it():
    pairs = sp.load_pairs("adult").select(["sex", "income"])
    how = {"sex": sp.MatrixMechanism(SURVEY), "income": "grr"}
    matrix = sp.leakage_matrix(pairs, 1.0, mechanism=how)
    expected = sp.exact_leakage(pairs.channel("income", "sex"), SURVEY).value
    assert matrix["income", "sex"].value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.eye(2), "possible under all"),
        ([[0.5, 0.4], [0.5, 0.5]], "must sum to 1"),
        ([0.5, 0.5], "at least one row"),
        ([[1.5, -0.5], [0.5, 0.5]], "at least 0"),
    ],
)
def test_bad_matrices_raise(matrix, message):
    with pytest.raises((InputError, ChannelError), match=message):
        sp.MatrixMechanism(matrix)


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ([[CERTAIN, 0], [0, CERTAIN]], "possible under all"),
        ([[CERTAIN, 1]], "sum to 2"),
        ([[0.5, 0.5]], "sum to 2"),
        ([[CERTAIN + 1, -1]], "sum to 2"),
        ([], "sum to 2"),
    ],
)
def test_bad_thresholds_raise(thresholds, message):
    with pytest.raises(InputError, match=message):
        sp.MatrixMechanism.from_thresholds(thresholds)


def test_an_impossible_output_is_never_drawn():
    mechanism = sp.MatrixMechanism([[0.5, 0.0, 0.5, 0.0], [0.25, 0.0, 0.75, 0.0]])
    assert set(mechanism.perturb([0, 1] * 500, 1).values.tolist()) == {0, 2}
    assert mechanism.epsilon == pytest.approx(math.log(2))


def _as_matrix(mechanism):
    """The transition matrix of a mechanism at epsilon 1, by enumeration of its
    reports.
    """
    k = mechanism.k
    name = mechanism.name
    if name == "grr":
        return mechanism.channel()
    sets = [np.array(bits) for bits in itertools.product([0, 1], repeat=k)]
    if name == "ss":
        size = mechanism.size
        inside = (
            size
            * math.exp(mechanism.epsilon)
            / (size * math.exp(mechanism.epsilon) + k - size)
        )
        rows = [s for s in sets if s.sum() == size]
        chance = {
            1: inside / math.comb(k - 1, size - 1),
            0: (1 - inside) / math.comb(k - 1, size),
        }
        return np.array([[chance[s[u]] for s in rows] for u in range(k)])
    half = math.exp(0.5) / (1 + math.exp(0.5))
    p, q = (0.5, 1 / (1 + math.e)) if name == "oue" else (half, 1 - half)
    on = q + (p - q) * np.eye(k)  # P(bit given value)
    return np.array(
        [[np.where(s, on[u], 1 - on[u]).prod() for s in sets] for u in range(k)]
    )


@pytest.mark.parametrize(
    ("name", "k"), [("grr", 5), ("oue", 5), ("rappor", 5), ("ss", 9)]
)
def test_the_papers_attacker_on_a_matrix_is_that_of_the_mechanism(name, k):
    """Guesses are uniform among the values tied for the largest likelihood."""
    own = sp.mechanism(name, k, 1.0)
    assert name != "ss" or own.size == 2
    matrix = sp.MatrixMechanism(_as_matrix(own))
    assert matrix.inferred_channel() == pytest.approx(own.inferred_channel(), abs=1e-9)
    G = np.random.default_rng(3).dirichlet(np.ones(k), size=3)
    ours, theirs = (
        sp.exact_leakage(G, m.inferred_channel()).value for m in (own, matrix)
    )
    assert theirs == pytest.approx(ours, abs=1e-9)
    codes = np.arange(k).repeat(8_000)
    guesses = matrix.infer(matrix.perturb(codes, rng=1), rng=2)
    assert (guesses == codes).mean() == pytest.approx(own.hit_rate, abs=0.01)


def test_tied_outputs_are_guessed_uniformly():
    """An output that says nothing is guessed as any value, not always as the first."""
    silent = sp.MatrixMechanism([[0.5, 0.5], [0.5, 0.5]])
    assert silent.inferred_channel().tolist() == [[0.5, 0.5], [0.5, 0.5]]
    guesses = silent.infer(silent.perturb(np.zeros(4_000, dtype=int), rng=1), rng=2)
    assert 0.45 < guesses.mean() < 0.55


# A stated epsilon, and its delta ------------------------------------------------------


def telling(k, epsilon, delta):
    """Randomised response that gives the value away with probability delta."""
    other = (1 - delta) / (math.exp(epsilon) + k - 1)
    noisy = other * (1 + math.expm1(epsilon) * np.eye(k))
    return sp.MatrixMechanism(np.hstack([noisy, delta * np.eye(k)]), epsilon=epsilon)


def hockey_stick(thresholds, epsilon):
    """The hockey-stick divergence of two rows, in exact fractions of e^epsilon."""
    factor = exp_below(epsilon)
    return max(
        sum(
            max(Fraction(0), high - factor * low)
            for high, low in zip(*pair, strict=True)
        )
        / CERTAIN
        for pair in itertools.permutations(thresholds.tolist(), 2)
    )


@given(
    st.integers(2, 4).flatmap(
        lambda outputs: st.lists(
            st.lists(st.integers(0, 5), min_size=outputs, max_size=outputs).filter(any),
            min_size=2,
            max_size=4,
        )
    ),
    st.sampled_from([0.0, 1e-9, 0.5, 1.0, 3.0, 700.0]),
)
def test_a_stated_epsilon_has_the_delta_of_the_hockey_stick(rows, epsilon):
    matrix = np.array([[cell / sum(row) for cell in row] for row in rows])
    mechanism = sp.MatrixMechanism(matrix, epsilon=epsilon)
    truth = hockey_stick(mechanism.thresholds, mechanism.epsilon)
    assert mechanism.epsilon <= epsilon
    assert Fraction(mechanism.delta) >= truth
    assert mechanism.delta == pytest.approx(float(truth), rel=1e-12, abs=1e-30)
    assert mechanism.delta == pytest.approx(
        hockey_stick_of_floats(matrix, mechanism.epsilon), abs=1e-12
    )
    many = delta_of_reports(np.eye(len(rows)), mechanism.channel(), mechanism.epsilon)
    if mechanism.delta:
        assert many == pytest.approx(mechanism.delta, rel=1e-9, abs=1e-13)


def hockey_stick_of_floats(matrix, epsilon):
    return max(
        np.maximum(high - math.exp(min(epsilon, 700.0)) * low, 0.0).sum()
        for high, low in itertools.permutations(matrix, 2)
    )


def test_ratios_within_the_stated_epsilon_have_delta_0():
    matrix = [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]]
    pure = sp.MatrixMechanism(matrix)
    stated = sp.MatrixMechanism(matrix, epsilon=2.0)
    assert (stated.epsilon, stated.delta) == (pure.epsilon, 0.0)
    assert np.array_equal(stated.thresholds, pure.thresholds)
    smaller = sp.MatrixMechanism(matrix, epsilon=1.0)
    assert smaller.epsilon == 1.0
    assert smaller.delta == pytest.approx(0.5 - math.e * 0.1)
    again = sp.MatrixMechanism.from_thresholds(smaller.thresholds, epsilon=1.0)
    assert again.describe() == smaller.describe()
    assert again.delta == smaller.delta


@pytest.mark.parametrize("k", [2, 4])
def test_partly_empty_columns_are_under_the_contract(k):
    mechanism = telling(k, 1.0, 0.05)
    assert mechanism.delta == pytest.approx(0.05)
    assert sp.check_mechanism(mechanism) == {}
    with pytest.raises(InputError, match="which no finite epsilon allows with delta 0"):
        sp.MatrixMechanism(mechanism.channel())


@pytest.mark.parametrize("seed", range(20))
def test_leakage_with_a_delta_is_that_of_the_channel(seed):
    rng = np.random.default_rng(seed)
    channel = rng.dirichlet(np.ones(3), size=4)
    channel[0, 0] = 0.0
    channel /= channel.sum(axis=1, keepdims=True)
    mechanism = telling(3, 1.0, 0.02)
    leakage = mechanism.leakage(channel)
    bound = sp.leakage_bound(channel, 1.0, delta=0.02)
    assert leakage.value == bound.value
    mixed = channel @ mechanism.channel()
    truth = hockey_stick_of_floats(mixed, leakage.value)
    assert truth <= leakage.delta <= truth + 1e-12
    assert leakage.delta <= bound.delta
    assert mechanism.pure_leakage(channel).value == math.inf


def test_totals_of_partly_empty_columns():
    survey = sp.Records.from_data(sp.make_survey(2_000)).select(["coffee", "sleep"])
    sizes = survey.domain.sizes
    mechanisms = [telling(size, 0.5, 0.001) for size in sizes]
    how = {"mechanism": mechanisms}
    epsilons = [mechanism.epsilon for mechanism in mechanisms]
    for guarantee in ("worst", "sum", "independent", "merged", "sampled"):
        total = sp.total_leakage(survey, epsilons, guarantee=guarantee, **how)
        assert np.isfinite(total.values).all()
        assert (total.deltas > 0).all()
    for guarantee in ("exact", "witness"):
        with pytest.raises(GuaranteeError, match="likelihood ratios of matrix have no"):
            sp.total_leakage(survey, epsilons, guarantee=guarantee, **how)


def test_a_factory_is_registered_benchmarked_and_totalled():
    sp.register(telling)
    try:
        assert sp.check_mechanism("telling") == {}
        mechanism = sp.mechanism("telling", 3, 1.0, 0.01)
        assert mechanism.describe()["mechanism"] == "telling"
        matrix = sp.leakage_matrix("adult", 1.0, mechanism="telling", delta=0.01)
        assert (matrix.values <= sp.leakage_matrix("adult", 1.0).values + 1e-12).all()
        assert matrix.deltas.max() > 0
        scores = sp.benchmark_mechanisms(
            "adult", [1.0], mechanisms=["telling"], delta=0.01, columns=["sex", "race"]
        ).scores
        assert scores[0].mechanism == "telling"
        assert scores[0].delta > 0
        with pytest.raises(InputError, match="needs a delta above 0"):
            sp.mechanism("telling", 3, 1.0)
    finally:
        MECHANISMS.remove("telling")


def test_a_factory_that_exceeds_its_budget_raises():
    sp.register(lambda k, epsilon: sp.GRR(k, 2 * epsilon), name="twice")
    try:
        with pytest.raises(
            InputError, match=r"must keep \(1, 0\), got .* with \(2, 0\)"
        ):
            sp.mechanism("twice", 3, 1.0)
        with pytest.raises(InputError, match="has delta 0"):
            sp.mechanism("twice", 3, 1.0, 0.1)
    finally:
        MECHANISMS.remove("twice")
    for factory, name, message in [
        (lambda k, epsilon: None, "", "needs one: register"),
        (lambda k: None, "one", r"must take \(k, epsilon\)"),
        (lambda k, epsilon: None, "public", "stands for a public attribute"),
    ]:
        with pytest.raises(InputError, match=message):
            sp.register(factory, name=name)
    with pytest.raises(InputError, match="name is for functions"):
        sp.register(sp.GRR, name="other")
