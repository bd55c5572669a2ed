"""NumPy or Numba by the size of the channel alone, and both give the same."""

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage import leakage_bound
from seepage._core.log_ratios import log_ratio
from seepage.leakage.dinkelbach import (
    COMPILED_CELLS,
    NEGLIGIBLE,
    _hidden,
    dinkelbach,
    use_compiled,
)
from strategies import UNIT

BUDGETS = [0.0, 1e-12, 0.3, 1.0, 4.0, 50.0, 690.0]


@st.composite
def channels(draw):
    """Draw a channel of any shape: with zeros, smooth or all but independent."""
    shape = draw(st.tuples(st.integers(1, 24), st.integers(1, 24)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    spread = draw(st.sampled_from([0.05, 1.0, 1e9]))
    channel = rng.dirichlet(np.full(shape[1], spread), shape[0])
    if draw(st.booleans()):
        channel = np.round(channel, 2)
        channel[:, 0] += 1 - channel.sum(axis=1)
        channel = np.maximum(channel, 0.0)
    return channel


def by_numba(channel, budget):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("seepage.leakage.dinkelbach.COMPILED_CELLS", 0)
        return dinkelbach(channel, budget)


@settings(max_examples=150)
@given(channels(), st.sampled_from(BUDGETS))
def test_the_kernel_equals_numpy(channel, budget):
    found = by_numba(channel, budget)
    by_numpy = dinkelbach(channel, budget)
    close = {"rtol": 1e-13, "atol": 16 * UNIT * -np.expm1(-budget)}
    added = min(_hidden(found.value, budget, None), NEGLIGIBLE * by_numpy.value)
    nearest = np.clip(found.value, by_numpy.value - added, by_numpy.value)
    np.testing.assert_allclose(found.value, nearest, **close)
    likelier = channel[found.likelier]
    other = channel[found.other]
    gap = (likelier - other)[found.likely].sum()
    low = other[found.likely].sum()
    np.testing.assert_allclose(found.value, log_ratio(gap, low, budget), **close)


def test_the_size_of_the_channel_and_the_budget_choose_the_engine():
    targets = 64
    sources = COMPILED_CELLS // targets**2
    assert use_compiled((targets, sources), 1.0)
    assert not use_compiled((targets, sources - 1), 1.0)
    assert not use_compiled((targets - 1, sources), 1.0)
    assert not use_compiled((targets, sources), 700.0)


@pytest.mark.parametrize("size", [160, 162])
def test_both_engines_have_the_same_witness_around_the_threshold(size):
    assert use_compiled((size, size), 1.0) == (size == 162)
    channel = np.random.default_rng(size).dirichlet(np.ones(size), size)
    chosen = leakage_bound(channel, 1.0)
    for cells in (0, 1 << 62):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("seepage.leakage.dinkelbach.COMPILED_CELLS", cells)
            found = leakage_bound(channel, 1.0)
        assert found.value == pytest.approx(chosen.value, rel=1e-13)
        assert found.witness == chosen.witness


NUMBERS = """
import sys
import numpy as np, seepage as sp
from seepage.leakage.dinkelbach import COMPILED_CELLS

def channel(size, zeros):
    counts = np.random.default_rng(size).integers(0, 3 if zeros else 1000, (size, size))
    counts[:, 0] += 1
    return counts / counts.sum(axis=1, keepdims=True)

def told(leakage):
    witness = leakage.witness
    evidence = witness and [witness.likelier, witness.other, *witness.likely]
    return [leakage.value.hex(), evidence]

matrix = sp.leakage_matrix("adult", 1.0)
names = matrix.domain.names
pairs = [(target, source) for target in names for source in names if target != source]
adult = [told(matrix[pair]) for pair in pairs]
assert len(adult) == 210
values = [value.hex() for value in matrix.values.ravel().tolist()]
numba_for_adult = "numba" in sys.modules
around = [told(sp.leakage_bound(channel(size, zeros), 1.0))
          for size in (158, 160, 161, 162, 164) for zeros in (True, False)]
assert 160**3 < COMPILED_CELLS <= 162**3
numbers = [adult, values, around]
"""


def test_the_same_input_has_the_same_number_and_witness_whatever_ran_before():
    """All 210 pairs of Adult, and channels on both sides of the threshold, bit for bit.

    In a fresh process, and in this one after other channels, large ones for Numba among
    them.
    """
    script = f"{NUMBERS}\nimport json\nprint(json.dumps([numbers, numba_for_adult]))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    fresh, numba_for_adult = json.loads(done.stdout)
    assert not numba_for_adult, (
        "Adult is below the threshold, so Numba is not loaded for it"
    )
    for size in (3, 40, 200):
        for epsilon in (0.1, 1.0, 800.0):
            leakage_bound(
                np.random.default_rng(size).dirichlet(np.ones(size), size), epsilon
            )
    assert "numba" in sys.modules
    here = {}
    exec(NUMBERS, here)
    assert json.loads(json.dumps(here["numbers"])) == fresh
