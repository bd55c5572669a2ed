"""The leakage of a report of several answers that no distribution makes smaller."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from seepage.designs.shaped.least_leakage import least_leakage
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.transition_matrix import MatrixMechanism

SIZES = [[2], [2, 2], [3, 2], [2, 2, 2], [4, 3]]


def least_of_all_distributions(channel, sizes, axis):
    """ln min over p, q of max over y of (p W)[y] / (q W)[y], the largest over pairs.

    With u = e^L q: minimise the sum of u subject to p W <= u W and sum p = 1.
    """
    answers = np.indices(sizes)[axis].ravel()
    largest = 0.0
    for value in range(sizes[axis]):
        for other in set(range(sizes[axis])) - {value}:
            likely = channel[answers == value]
            unlikely = channel[answers == other]
            zeros = np.zeros(len(likely))
            ones = np.ones(len(likely))
            found = linprog(
                np.concatenate([zeros, ones]),
                A_ub=np.hstack([likely.T, -unlikely.T]),
                b_ub=np.zeros(channel.shape[1]),
                A_eq=[np.concatenate([ones, zeros])],
                b_eq=[1.0],
            )
            assert found.status == 0
            largest = max(largest, float(np.log(found.fun)))
    return largest


@settings(max_examples=60)
@given(sizes=st.sampled_from(SIZES), seed=st.integers(0, 2**32), axis=st.integers(0, 2))
def test_no_distribution_leaks_less(sizes, seed, axis):
    rng = np.random.default_rng(seed)
    cells = int(np.prod(sizes))
    rows = rng.dirichlet(np.full(2 * cells, 0.5), cells) + 1e-3
    mechanism = MatrixMechanism(rows / rows.sum(axis=1, keepdims=True))
    axis %= len(sizes)
    least = least_leakage(mechanism.thresholds, sizes, axis)
    channel = mechanism.channel()
    assert least <= least_of_all_distributions(channel, sizes, axis) + 1e-6
    answers = np.indices(sizes)[axis].ravel()
    for _ in range(5):
        joint = rng.dirichlet(np.full(cells, 0.2))
        given_value = [
            np.where(answers == value, joint, 0.0) for value in range(sizes[axis])
        ]
        reports = [
            part @ channel / part.sum() for part in given_value if part.sum() > 0
        ]
        total = max(np.log(one / other).max() for one in reports for other in reports)
        if len(reports) == sizes[axis]:
            assert total >= least - 1e-9


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", ["nearly identical", "product of GRR"])
def test_the_bound_is_the_least_of_all_distributions_for_forged_matrices(sizes, kind):
    cells = int(np.prod(sizes))
    rows = 0.99 * np.eye(cells) + 0.01 / cells
    if kind == "product of GRR":
        rows = reduce(np.kron, [GRR(size, 2.0).channel() for size in sizes])
    mechanism = MatrixMechanism(rows)
    for axis in range(len(sizes)):
        least = least_leakage(mechanism.thresholds, sizes, axis)
        expected = least_of_all_distributions(mechanism.channel(), sizes, axis)
        assert least == pytest.approx(expected, abs=1e-4)
        if kind == "product of GRR":
            assert least == pytest.approx(2.0, abs=1e-9)


def test_an_exclusive_or_can_leak_nothing_about_its_answers():
    """Fair coins: the report of their exclusive or is independent of each."""
    answers = np.indices([2, 2]).sum(axis=0).ravel() % 2
    rows = np.where(answers[:, None] == [0, 1], 0.9, 0.1)
    assert least_leakage(MatrixMechanism(rows).thresholds, [2, 2], 0) == 0.0


def test_one_value_leaks_nothing():
    rows = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert least_leakage(MatrixMechanism(rows).thresholds, [1, 2], 0) == 0.0
