"""Adding a mechanism: one class, one line; the contract, tables and benchmarks then
cover it.
"""

from fractions import Fraction

import pytest
import test_contract

import seepage as sp
from seepage._core import checks
from seepage.mechanisms.exact_probabilities import exp_below
from seepage.mechanisms.mechanism_registry import MECHANISMS
from seepage.mechanisms.unary import UnaryEncoding


class Generous(UnaryEncoding):
    """A unary encoding whose true bit stays 1 three times in four.

    q follows from the budget: e^epsilon = p (1 - q) / (q (1 - p)), so q = 3 / (3 +
    e^epsilon).
    """

    name = "generous"

    def __init__(self, k, epsilon):
        budget = checks.epsilon(epsilon)
        true = Fraction(3, 4)
        other = min(true, Fraction(3, 1) / (3 + exp_below(budget)))
        super().__init__(k, true, other, epsilon=budget)


@pytest.fixture
def registered():
    yield sp.register(Generous)
    MECHANISMS.remove("generous")


def test_it_is_registered_by_name(registered):
    assert sp.mechanism("generous", 4, 1.0).epsilon == pytest.approx(1.0, rel=1e-12)


def test_it_passes_the_contract(registered):
    test_contract.test_probabilities_of_all_reports_sum_to_one("generous", 4)
    for secure in (False, True):
        test_contract.test_reports_are_as_likely_as_stated_and_no_other_way(
            "generous", secure
        )


def test_leakage_matrix_and_benchmarks_accept_it(registered):
    pairs = sp.load_pairs("adult").select(["sex", "race", "income"])
    bound = sp.leakage_matrix(pairs, 1.0)
    own = sp.leakage_matrix(pairs, 1.0, mechanism="generous")
    assert own.values == pytest.approx(bound.values, abs=1e-12)
    score = sp.benchmark_mechanisms(pairs, [1.0], mechanisms=["generous"]).scores[0]
    assert score.zero_one_error == pytest.approx(
        score.expected_zero_one_error, abs=0.01
    )


def test_a_wrong_parameterisation_is_detected(registered):
    class Wrong(Generous):
        def __init__(self, k, epsilon):
            UnaryEncoding.__init__(
                self, k, Fraction(3, 4), Fraction(1, 4), epsilon=epsilon
            )

    assert Wrong(4, 1.0).epsilon == pytest.approx(2.197, abs=1e-3)
