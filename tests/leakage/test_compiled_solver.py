"""The compiled kernel gives what NumPy gives, on any shape."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage._numerics import log_ratio
from seepage.leakage import compiled_solver, leakage_bound, likely_sets
from seepage.leakage.compiled_solver import dinkelbach_all_sets
from seepage.leakage.solver import NEGLIGIBLE, _hidden, dinkelbach
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
        patch.setattr(compiled_solver, "PARALLEL_FROM", 0 if parallel else 1 << 62)
        found = dinkelbach_all_sets(channels, epsilon)
    close = {"rtol": 1e-13, "atol": 16 * UNIT * -np.expm1(-budget)}
    by_numpy = dinkelbach(channels, epsilon).value
    added = np.minimum(_hidden(found.value, epsilon, None), NEGLIGIBLE * by_numpy)
    nearest = np.clip(found.value, by_numpy - added, by_numpy)
    np.testing.assert_allclose(found.value, nearest, **close)
    np.testing.assert_allclose(found.value, attained(found, channels, epsilon), **close)


def test_the_kernel_is_used_once_it_is_loaded_and_the_work_is_worth_it(monkeypatch):
    calls = []

    def spy(channels, epsilon):
        calls.append(channels.shape)
        return dinkelbach_all_sets(channels, epsilon)

    monkeypatch.setattr(compiled_solver, "dinkelbach_all_sets", spy)
    rng = np.random.default_rng(5)
    large, small = rng.dirichlet(np.ones(32), (1, 32)), rng.dirichlet(np.ones(3), (1, 3))
    for channels, epsilon in ((large, 1.0), (small, 1.0), (large, 700.0)):
        likely_sets.best_of_all(channels, np.array([epsilon]))
    assert calls == [(1, 32, 32)]


def test_the_work_of_a_process_adds_up_to_loading_the_kernel(monkeypatch):
    monkeypatch.setattr(likely_sets, "_cells_compared", 0)
    monkeypatch.setattr(likely_sets, "LOADING_CELLS", 3 * 40**3)
    monkeypatch.delitem(sys.modules, "seepage.leakage.compiled_solver")
    assert likely_sets.should_use_kernel(3 * 40**3), "one large channel loads it at once"
    channel = np.random.default_rng(6).dirichlet(np.ones(40), 40)
    for calls in (1, 2):
        leakage_bound(channel, 1.0)
        leakage_bound(channel[:4, :4] / channel[:4, :4].sum(axis=1, keepdims=True), 1.0)
        assert likely_sets._cells_compared == calls * 40**3
    assert likely_sets.should_use_kernel(40**3)


def test_the_kernel_gives_the_public_functions_what_numpy_gives(monkeypatch):
    channel = np.random.default_rng(6).dirichlet(np.ones(40), 40)
    compiled = leakage_bound(channel, 1.0)
    monkeypatch.setattr(likely_sets, "should_use_kernel", lambda cells: False)
    by_numpy = leakage_bound(channel, 1.0)
    assert compiled.value == pytest.approx(by_numpy.value, rel=1e-13)
    assert compiled.witness == by_numpy.witness
