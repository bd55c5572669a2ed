"""The root search: accurate, never above the root, and few evaluations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.calibration.largest_within import NothingWithinError, largest_within


@given(
    st.floats(0.01, 50),
    st.floats(0.1, 5),
    st.sampled_from([1.0, 0.5, 2.0]),
    st.floats(0.5, 1.5),
)
def test_the_root_search_is_accurate_and_never_above(limit, slope, power, most):
    """The largest b with slope b^power <= limit, up to `most` times limit."""

    def excess(budget):
        return slope * budget**power - limit

    top = most * limit
    truth = min(top, (limit / slope) ** (1 / power))
    found = largest_within(excess, top)
    assert excess(found) <= 0 or found == top
    assert truth - 2e-9 <= found <= truth * (1 + 1e-12)


def test_the_root_search_takes_few_evaluations():
    calls = []

    def excess(budget):
        calls.append(budget)
        return budget + np.tanh(budget) - 3

    largest_within(excess, 10.0)
    assert len(calls) < 60


def test_the_root_search_handles_jumps_and_infinity():
    assert largest_within(
        lambda b: -1.0 if b < 0.3 else math.inf, 1.0
    ) == pytest.approx(0.3)
    assert largest_within(lambda b: -1.0, 2.0) == 2.0
    with pytest.raises(NothingWithinError, match=r"excess at 0 is 0\.5"):
        largest_within(lambda b: 0.5, 1.0)
