"""`check_mechanism` finds what is wrong, and `register` warns of supports that are
dependent.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from contract import make

import seepage as sp
from seepage.mechanisms.goodness_of_fit import counts_fit
from seepage.mechanisms.mechanism_registry import MECHANISMS
from seepage.mechanisms.reports import ValueReports


class TwoLevelHadamard(sp.HadamardResponse):
    """Hadamard response with the closed forms of two levels, whose sets are only K of
    2^k.
    """

    name = "two-level hadamard"
    likely_sets = sp.TwoLevelMechanism.likely_sets
    pure_leakage = sp.TwoLevelMechanism.pure_leakage


class Understated(sp.GRR):
    name = "understated"

    def __init__(self, k, epsilon):
        super().__init__(k, epsilon)
        self.true = Fraction(9, 10)
        self.other = self._other_probability(self.true, 1)

    epsilon = property(lambda self: 0.7 * self.contrast)
    realised_epsilon = epsilon


class Biased(sp.OUE):
    name = "biased"
    one_hot_map = property(
        lambda self: (self.support[0] - self.support[1], 1.02 * self.support[1])
    )


class Overconfident(sp.OUE):
    name = "overconfident"

    def variance(self, n, frequency=0.0):
        return super().variance(n, frequency) * 0.7**2


class Misdrawn(sp.GRR):
    name = "misdrawn"
    keep = 1 << 62


class Drifted(sp.OUE):
    """Bits of the other values are drawn 4% too often: no single report is far off, all
    are.
    """

    name = "drifted"
    drawn = property(lambda self: (self.true, self.other * Fraction(104, 100)))


class Misguessed(sp.OUE):
    name = "misguessed"
    miss_rate = 0.5


class Leaky(sp.OUE):
    name = "leaky"

    def leakage(self, G):
        return sp.GRR(self.k, self.epsilon).leakage(G)


@pytest.mark.parametrize(
    ("family", "wrong"),
    [
        (Biased, {"estimates"}),
        (Overconfident, {"estimates"}),
        (Misdrawn, {"probabilities", "budget", "estimates", "attack"}),
        (Drifted, {"probabilities", "estimates"}),
        (Leaky, {"leakage"}),
        (TwoLevelHadamard, {"probabilities", "leakage"}),
    ],
)
def test_each_fault_is_found_and_no_other_is_blamed(family, wrong):
    assert set(sp.check_mechanism(family)) == wrong


def test_a_report_that_is_stated_to_be_impossible_is_not_drawn_once():
    """Against a report of probability 0 no budget holds."""
    assert counts_fit(np.array([40_000, 0]), np.array([1.0, 0.0]))
    assert not counts_fit(np.array([39_999, 1]), np.array([1.0, 0.0]))


def test_an_understated_epsilon_is_named_with_the_true_one():
    found = sp.check_mechanism(Understated)
    assert "exceeds" in found["budget"]  # 0.9 is too much at epsilon 0.1
    alone = sp.check_mechanism(Understated(4, 1.0))
    contrast = math.log(9 / 10 * 3 / (1 / 10))
    assert alone["budget"].endswith(f"a report has {contrast:.4f}")


def test_guesses_that_do_not_follow_the_channel_are_found():
    assert set(sp.check_mechanism(Misguessed)) == {"attack"}


def test_an_instance_is_checked_as_it_is_and_another_object_raises():
    assert sp.check_mechanism(make("matrix", 3, 2.0)) == {}
    assert sp.check_mechanism(sp.BasicRAPPOR(5, 0.25, 0.1, 0.9)) == {}
    for other in (3, sp.PairCounts, "no such mechanism"):
        with pytest.raises(sp.InputError, match="mechanism must be"):
            sp.check_mechanism(other)


def test_register_warns_of_dependent_supports_and_says_by_how_much_the_leakage_is_off():
    channel = sp.load_pairs("adult").channel("sex", "occupation")
    families = TwoLevelHadamard, sp.HadamardResponse
    assumed, true = (
        f(channel.output.size, 1.0).leakage(channel).value for f in families
    )
    assert (round(assumed, 3), round(true, 3)) == (0.4, 0.221)
    try:
        with pytest.warns(
            sp.SeepageWarning, match="'two-level hadamard' do not support values"
        ):
            sp.register(TwoLevelHadamard)
    finally:
        MECHANISMS.remove("two-level hadamard")


def test_a_mechanism_for_two_values_only_is_registered_and_checked_as_an_object():
    class Binary(sp.RAPPOR):
        name = "binary"

        def __init__(self, k, epsilon):
            if k != 2:
                raise sp.InputError("k must be 2")
            super().__init__(k, epsilon)

    try:
        assert sp.register(Binary) is Binary
        assert sp.check_mechanism(Binary(2, 1.0)) == {}
    finally:
        MECHANISMS.remove("binary")


def test_a_name_is_replaced_only_on_request():
    class First(sp.GRR):
        name = "mine"

    class Second(sp.OUE):
        name = "mine"

    try:
        sp.register(First)
        with pytest.raises(sp.InputError, match="registered already"):
            sp.register(Second)
        assert sp.register(Second, replace=True) is Second
        assert isinstance(sp.mechanism("mine", 3, 1.0), sp.OUE)
    finally:
        MECHANISMS.remove("mine")


# Hadamard response and basic RAPPOR by name -------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 8, 20])
def test_hadamard_probabilities_are_those_of_the_matrix(k):
    """Sylvester's matrix by Kronecker products, rows 1 to k."""
    epsilon = 1.3
    size = 1 << k.bit_length()
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.kron(np.array([[1, 1], [1, -1]]), matrix)
    growth = math.exp(epsilon)
    expected = np.where(matrix[1 : k + 1] > 0, growth, 1) * 2 / (size * (growth + 1))
    tested = sp.HadamardResponse(k, epsilon)
    assert tested.channel() == pytest.approx(expected, rel=1e-12)
    everything = ValueReports.of(tested.describe(), np.arange(size), size)
    likelihoods = np.exp(tested.log_likelihood(everything)).T
    assert likelihoods == pytest.approx(expected, rel=1e-12)


def test_hadamard_leaks_as_its_matrix_and_at_most_the_bound():
    rng = np.random.default_rng(5)
    for k in (2, 5, 12):
        tested = sp.HadamardResponse(k, 2.0)
        matrix = sp.MatrixMechanism(tested.channel())
        for channel in rng.dirichlet(np.full(k, 0.3), size=(20, 4)):
            value = tested.leakage(channel).value
            assert value == pytest.approx(matrix.leakage(channel).value, rel=1e-9)
            assert value <= sp.leakage_bound(channel, 2.0).value * (1 + 1e-12)
        assert tested.inferred_channel() == pytest.approx(
            matrix.inferred_channel(), rel=1e-9
        )


def test_basic_rappor_by_name_has_the_lifetime_budget_and_the_papers_setting():
    named = sp.mechanism("basic-rappor", 6, 2 * math.log(3))
    assert named.f == pytest.approx(0.5, rel=1e-12)
    for epsilon in (0.0, 1e-3, 1.0, 2.0, 50.0, 700.0):
        named = sp.mechanism("basic-rappor", 4, epsilon)
        assert named.epsilon <= named.epsilon_infinity <= epsilon
        assert named.epsilon_infinity == pytest.approx(epsilon, rel=1e-6)
        assert named.epsilon < math.log(3) * (1 + 1e-12)
    with pytest.raises(sp.InputError, match="delta 0"):
        sp.mechanism("basic-rappor", 4, 1.0, 0.1)


# Mechanisms that do not estimate every frequency --------------------------------------


def test_a_binary_report_of_ten_values_says_what_it_estimates():
    """Duchi et al.: P(1 given v) linear in v, for the mean of numbers."""
    high = np.linspace(1, math.e, 10) / (1 + math.e)
    duchi = sp.MatrixMechanism(np.column_stack([high, 1 - high]), name="duchi")
    assert duchi.estimable == "1 linear combination of the 10 frequencies"
    assert sp.OUE(3, 1.0).estimable == "every frequency"
    assert (
        sp.OUE(3, 0.0).estimable
        == sp.MatrixMechanism([[1.0], [1.0]]).estimable
        == "nothing"
    )
    reports = duchi.perturb([0, 5], 1)
    with pytest.raises(
        sp.InputError, match="estimate 1 linear combination of the 10 frequencies"
    ):
        duchi.estimate(reports)
    assert sp.check_mechanism(duchi) == {}


@pytest.mark.parametrize("seed", range(25))
def test_matrices_with_empty_cells_keep_the_contract(seed):
    """Columns that are partly or wholly empty, at a stated epsilon."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    outputs = int(rng.integers(2, 6))
    matrix = rng.dirichlet(np.ones(outputs), k) * (rng.random((k, outputs)) < 0.75)
    matrix[matrix.sum(axis=1) == 0] = 1.0
    matrix /= matrix.sum(axis=1, keepdims=True)
    mechanism = sp.MatrixMechanism(matrix, epsilon=float(rng.uniform(0, 3)))
    assert sp.check_mechanism(mechanism) == {}
