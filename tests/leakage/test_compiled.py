"""The compiled kernel gives what NumPy gives, on any shape."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage._numerics import log_ratio
from seepage.leakage import compiled_solver as _compiled
from seepage.leakage import likely_sets as ratios
from seepage.leakage.compiled_solver import climb_all_subsets
from seepage.leakage.solver import ANY, climb
from strategies import UNIT

BUDGETS = [0.0, 1e-12, 0.3, 1.0, 4.0, 50.0, 690.0]


@st.composite
def stacks(draw):
    """Draw a stack of channels of any shape: sparse, smooth or all but independent."""
    shape = draw(st.tuples(st.integers(1, 3), st.integers(1, 24), st.integers(1, 24)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    spread = draw(st.sampled_from([0.05, 1.0, 1e9]))
    channels = rng.dirichlet(np.full(shape[2], spread), shape[:2])
    if draw(st.booleans()):
        channels = np.round(channels, 2)
        channels[..., 0] += 1 - channels.sum(axis=2)
        channels = np.maximum(channels, 0.0)
    return channels


def by_numpy(channels, epsilon):
    return climb(channels, epsilon, ANY)


def attained(best, channels, epsilon):
    """Return the log-ratio of each channel's own pair of rows and set."""
    every = np.arange(len(channels))
    likelier, other = channels[every, best.likelier], channels[every, best.other]
    gap = np.where(best.likely, likelier - other, 0.0).sum(axis=1)
    return log_ratio(gap, np.where(best.likely, other, 0.0).sum(axis=1), epsilon)


@settings(max_examples=150)
@given(stacks(), st.sampled_from(BUDGETS), st.booleans())
def test_the_kernel_equals_numpy(channels, budget, parallel):
    epsilon = np.full(len(channels), budget)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_compiled, "PARALLEL_FROM", 0 if parallel else 1 << 62)
        found = climb_all_subsets(channels, epsilon)
    close = {"rtol": 1e-13, "atol": 16 * UNIT * -np.expm1(-budget)}
    np.testing.assert_allclose(found.value, by_numpy(channels, epsilon).value, **close)
    np.testing.assert_allclose(found.value, attained(found, channels, epsilon), **close)


def test_the_kernel_is_used_once_it_is_loaded_and_the_work_is_worth_it(monkeypatch):
    calls = []

    def spy(channels, epsilon):
        calls.append(channels.shape)
        return climb_all_subsets(channels, epsilon)

    monkeypatch.setattr(_compiled, "climb_all_subsets", spy)
    rng = np.random.default_rng(5)
    large, small = rng.dirichlet(np.ones(32), (1, 32)), rng.dirichlet(np.ones(3), (1, 3))
    for channels, epsilon in ((large, 1.0), (small, 1.0), (large, 700.0)):
        ratios.best_of_all(channels, np.array([epsilon]))
    assert calls == [(1, 32, 32)]


def test_large_work_loads_the_kernel(monkeypatch):
    channels = np.random.default_rng(6).dirichlet(np.ones(40), (1, 40))
    monkeypatch.setattr(ratios, "COMPILED_LOADED_FROM", 1 << 62)
    without = ratios.best_of_all(channels, np.array([1.0]))
    monkeypatch.setattr(ratios, "COMPILED_FROM", 0)
    assert ratios._compiled_pays(channels, np.array([1.0]))
    assert ratios.best_of_all(channels, np.array([1.0])).value == pytest.approx(without.value)
