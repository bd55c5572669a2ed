"""Sparse channels: the same numbers as the dense functions, in the memory of their cells."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

import seepage as sp
from seepage.errors import ChannelError, InputError
from seepage.leakage.sparse import sparse_exact_leakage, sparse_leakage_bound


def channel(rows, columns, density, seed, common=0.0):
    """Random rows; with `common`, so much of each row is on the first column."""
    cells = random_array(
        (rows, columns), density=density, rng=np.random.default_rng(seed), format="lil"
    )
    cells[:, 0] = common
    dense = cells.toarray()
    dense[dense.sum(axis=1) == 0, -1] = 1.0
    return dense / dense.sum(axis=1, keepdims=True)


def attained(G, epsilon, witness):
    """The log-ratio that a witness attains, from its definition."""
    likely = list(witness.likely)
    high, low = G[witness.likelier, likely].sum(), G[witness.other, likely].sum()
    return np.log1p(np.expm1(epsilon) * high) - np.log1p(np.expm1(epsilon) * low)


@given(
    st.integers(1, 8),
    st.integers(1, 8),
    st.floats(0.1, 1),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.2, 3.0]),
    st.sampled_from([0.0, 1e-12, 0.3, 1.0, 8.0, 50.0, 690.0]),
)
def test_bound_equals_the_dense_one(rows, columns, density, seed, common, epsilon):
    G = channel(rows, columns, density, seed, common)
    dense = sp.leakage_bound(G, epsilon, 1e-6)
    found = sparse_leakage_bound(csr_array(G), epsilon, 1e-6)
    np.testing.assert_allclose(found.value, dense.value, rtol=1e-13, atol=1e-15)
    if found.value:
        assert attained(G, epsilon, found.witness) == pytest.approx(
            found.value, rel=1e-9, abs=1e-14
        )
        np.testing.assert_allclose(found.relaxation, dense.relaxation, rtol=1e-9)
    assert found.relaxation >= dense.relaxation * (1 - 1e-9)


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 10**6), st.booleans())
def test_exact_equals_the_dense_one(rows, columns, seed, sparse_mechanism):
    G, C = channel(rows, columns, 0.5, seed), channel(columns, columns + 1, 0.6, seed + 1)
    dense = sp.exact_leakage(G, C)
    found = sparse_exact_leakage(csr_array(G), csr_array(C) if sparse_mechanism else C)
    np.testing.assert_allclose(found.value, dense.value, rtol=1e-12, atol=1e-14)


def test_a_larger_channel_equals_the_dense_one():
    G = channel(300, 400, 0.05, 3, common=2.0)
    for epsilon in (0.1, 2.0):
        dense, found = sp.leakage_bound(G, epsilon), sparse_leakage_bound(csr_array(G), epsilon)
        assert found.value == pytest.approx(dense.value, rel=1e-12)
        assert (found.witness.likelier, found.witness.other, found.witness.likely) == (
            dense.witness.likelier,
            dense.witness.other,
            dense.witness.likely,
        )


def test_many_reports_come_in_blocks(monkeypatch):
    monkeypatch.setattr("seepage.leakage.sparse.CELLS_AT_ONCE", 64)
    G, C = channel(20, 30, 0.3, 8), channel(30, 50, 0.9, 9)
    dense, found = sp.exact_leakage(G, C), sparse_exact_leakage(csr_array(G), C)
    assert found.value == pytest.approx(dense.value, rel=1e-12)
    assert found.witness.report == dense.witness.report


def test_what_is_no_sparse_channel_is_refused():
    G = csr_array([[0.5, 0.5], [1.0, 0.0]])
    with pytest.raises(ChannelError, match="G must be a sparse matrix"):
        sparse_leakage_bound([[1.0]], 1.0)
    with pytest.raises(ChannelError, match=r"each row of G must sum to 1, row 1 sums to 0\.5"):
        sparse_leakage_bound(csr_array([[1.0, 0.0], [0.0, 0.5]]), 1.0)
    with pytest.raises(ChannelError, match="finite and at least 0"):
        sparse_leakage_bound(csr_array([[2.0, -1.0]]), 1.0)
    with pytest.raises(ChannelError, match="G has 2 source values but C has 1 rows"):
        sparse_exact_leakage(G, [[1.0]])
    with pytest.raises(InputError, match="epsilon must be at most 690"):
        sparse_leakage_bound(G, 700.0)


@pytest.mark.slow
def test_ten_thousand_values_in_less_than_two_gigabytes():
    script = """
        import resource, numpy as np
        from scipy.sparse import csr_array, hstack, random_array
        from seepage.leakage.sparse import sparse_exact_leakage, sparse_leakage_bound
        m, rng = 10_000, np.random.default_rng(1)
        cells = random_array((m, m), density=0.002, rng=rng, format="csr")
        cells = cells + csr_array((np.full(m, 2.0), (np.arange(m), np.zeros(m, int))), (m, m))
        G = csr_array(cells.multiply(1 / cells.sum(axis=1)[:, None]))
        C = random_array((m, m), density=0.001, rng=rng, format="csr") + csr_array(
            (np.ones(m), (np.arange(m), np.arange(m))), (m, m))
        C = csr_array(C.multiply(1 / C.sum(axis=1)[:, None]))
        assert 0 < sparse_leakage_bound(G, 1.0).value < 1
        assert sparse_exact_leakage(G, C).value == np.inf
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) * 1024 < 2e9
