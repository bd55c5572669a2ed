"""Sparse channels: the same numbers as the dense functions, in the memory of their cells."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import coo_array, csc_matrix, csr_array, random_array

import seepage as sp
from seepage.data.channel import rows_are_equal
from seepage.data.domain import Attribute
from seepage.errors import ChannelError
from seepage.leakage import bound as module

EPSILONS = [0.0, 1e-12, 0.3, 1.0, 8.0, 50.0, 690.0, 700.0, 800.0, 1500.0]
KINDS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


@pytest.fixture(params=[False, True], ids=["numpy", "compiled"])
def compiled(request, monkeypatch):
    """Both kernels, whatever is loaded."""
    monkeypatch.setattr(module, "_use_compiled", lambda channel: request.param)


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
    """The log-ratio that a witness attains, from its definition, for any epsilon."""
    likely = list(witness.likely)
    high, low = G[witness.likelier, likely].sum(), G[witness.other, likely].sum()
    with np.errstate(divide="ignore"):
        log_lambda = epsilon + np.log(-np.expm1(-epsilon))
        above = np.logaddexp(0.0, log_lambda + np.log(high))
        return above - np.logaddexp(0.0, log_lambda + np.log(low))


def assert_same_bound(G, epsilon, delta=1e-6):
    """Compare every field; the witness by what it attains, for several may attain the same."""
    dense, found = (
        sp.leakage_bound(G, epsilon, delta=delta),
        sp.leakage_bound(csr_array(G), epsilon, delta=delta),
    )
    assert found.value == pytest.approx(dense.value, rel=1e-13, abs=1e-15)
    assert found.relaxation == pytest.approx(dense.relaxation, rel=1e-11)
    assert (found.witness is None) == (dense.witness is None)
    if found.witness is None:
        assert found.paper_relaxation == pytest.approx(dense.paper_relaxation, rel=1e-11)
        return
    mass = G[found.witness.likelier, list(found.witness.likely)].sum()
    assert found.paper_relaxation == pytest.approx(max(delta * mass, found.relaxation), rel=1e-9)
    gap = attained(G, epsilon, found.witness) - attained(G, epsilon, dense.witness)
    assert abs(gap) <= 1e-12 * max(1.0, dense.value)
    assert found.witness.report is None


@pytest.mark.usefixtures("compiled")
@settings(deadline=None)
@given(
    st.integers(1, 8),
    st.integers(1, 8),
    st.floats(0.1, 1),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.2, 3.0]),
    st.sampled_from(EPSILONS),
)
def test_bound_equals_the_dense_one(rows, columns, density, seed, common, epsilon):
    assert_same_bound(channel(rows, columns, density, seed, common), epsilon)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    "G",
    [
        [[1.0]],
        [[0.5, 0.5]],
        [[1.0], [1.0], [1.0]],
        [[0.0, 1.0, 0.0], [0.0, 0.4, 0.6]],
        [[0.3, 0.0, 0.7], [0.3, 0.0, 0.7]],
        [[1.0, 0.0], [0.0, 1.0]],
        [[0.5 + 1e-12, 0.5 - 1e-12], [0.5, 0.5]],
        [[1 - 1e-200, 1e-200, 0.0], [1 - 1e-100, 0.0, 1e-100], [1.0, 0.0, 0.0]],
        [[1 - 1e-310, 1e-310], [0.5, 0.5], [1 - 1e-300, 1e-300]],
        [[0.5, 0.5 - 9e-10, 0.0], [0.0, 0.0, 1.0 + 9e-10], [0.0, 0.0, 1.0]],
    ],
    ids=["1x1", "one row", "one column", "zero column", "equal", "disjoint", "near", "tiny",
         "subnormal", "inexact sums"],
)  # fmt: skip
def test_corners_equal_the_dense_ones(G, epsilon):
    assert_same_bound(np.array(G), epsilon)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("epsilon", [1200.0, 1500.0])
def test_tiny_cells_count_where_budgets_are_huge(epsilon):
    """The largest ratio is eps + ln of the largest cell that another row lacks."""
    shares = 10.0 ** -np.arange(60, 40, -2)
    G = np.column_stack([np.ones(11), np.vstack([np.diag(shares), np.zeros(10)])])
    found = sp.leakage_bound(csr_array(G / G.sum(axis=1, keepdims=True)), epsilon)
    assert found.value == pytest.approx(epsilon + np.log(shares.max()), rel=1e-12)
    assert found.witness.likely == (10,)


@pytest.mark.usefixtures("compiled")
def test_rounding_of_a_likelier_pair_does_not_hide_a_better_one():
    """1e-79 - H 1e-106 is rounded by more than the whole cell 1e-202, which tells far more."""
    G = csr_array([[1.0, 1e-106, 0.0], [1.0, 1e-79, 1e-279], [1.0, 1e-98, 1e-202]])
    found = sp.leakage_bound(G, 700.0)
    assert found.value == pytest.approx(700 + np.log(1e-202), rel=1e-12)
    assert (found.witness.likelier, found.witness.other, found.witness.likely) == (2, 0, (2,))


@pytest.mark.usefixtures("compiled")
def test_a_larger_channel_equals_the_dense_one():
    G = channel(300, 400, 0.05, 3, common=2.0)
    for epsilon in (0.0, 0.1, 2.0, 30.0):
        dense, found = (sp.leakage_bound(given, epsilon, delta=1e-6) for given in (G, csr_array(G)))
        assert found.witness == dense.witness
        assert found.value == pytest.approx(dense.value, rel=1e-14)
        assert found.relaxation == pytest.approx(dense.relaxation, rel=1e-12)
        assert found.paper_relaxation == pytest.approx(dense.paper_relaxation, rel=1e-12)


@settings(deadline=None)
@given(
    st.integers(1, 7),
    st.integers(1, 7),
    st.integers(0, 10**6),
    st.tuples(st.booleans(), st.booleans()).filter(any),
)
def test_exact_equals_the_dense_one(rows, columns, seed, given_sparse):
    G, C = channel(rows, columns, 0.5, seed), channel(columns, columns + 1, 0.6, seed + 1)
    dense = sp.exact_leakage(G, C)
    operands = zip((G, C), given_sparse, strict=True)
    found = sp.exact_leakage(*(csr_array(part) if how else part for part, how in operands))
    np.testing.assert_allclose(found.value, dense.value, rtol=1e-12, atol=1e-14)
    if found.witness is not None:
        column = C[:, found.witness.report]
        assert found.witness.likely == tuple(np.flatnonzero(column == column.max()).tolist())
        seen = G @ column
        with np.errstate(divide="ignore"):
            told = np.log(seen[found.witness.likelier]) - np.log(seen[found.witness.other])
        np.testing.assert_allclose(told, dense.value, rtol=1e-9, atol=1e-13)


def test_exact_of_a_larger_channel_equals_the_dense_one():
    G, C = channel(200, 150, 0.1, 6, common=1.0), channel(150, 170, 0.2, 7)
    C = 0.5 * C + 0.5 / 170
    dense, found = sp.exact_leakage(G, C), sp.exact_leakage(csr_array(G), C)
    assert found.value == pytest.approx(dense.value, rel=1e-12)
    assert found.witness == dense.witness
    assert (found.relaxation, found.paper_relaxation) == (0.0, 0.0)


def test_many_reports_are_computed_in_blocks(monkeypatch):
    G, C = channel(20, 30, 0.3, 8), channel(30, 50, 0.9, 9)
    C[:, [3, 4, 20]] = 0.0
    C /= C.sum(axis=1, keepdims=True)
    whole = sp.exact_leakage(G, C)
    monkeypatch.setattr("seepage.leakage.release.MAX_PRODUCT_CELLS", 64)
    for correlation in (G, csr_array(G)):
        for mechanism in (C, csr_array(C)):
            found = sp.exact_leakage(correlation, mechanism)
            assert found.value == pytest.approx(whole.value, rel=1e-12)
            assert found.witness == whole.witness


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("array", [True, False], ids=["array", "matrix"])
def test_every_sparse_format_is_accepted(kind, array):
    G = channel(6, 6, 0.5, 11, common=0.5)
    given = getattr(sparse, f"{kind}_{'array' if array else 'matrix'}")(G)
    assert sp.leakage_bound(given, 1.0) == sp.leakage_bound(csr_array(G), 1.0)
    assert sp.exact_leakage(given, given) == sp.exact_leakage(csr_array(G), csr_array(G))
    np.testing.assert_array_equal(given.toarray(), G)


def test_cells_given_twice_are_added_and_zeros_do_not_count():
    twice = coo_array(([0.5, 0.25, 0.25, 0.0, 1.0], ([0, 0, 0, 0, 1], [0, 1, 1, 2, 2])), (2, 3))
    plain = csr_array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    assert sp.leakage_bound(twice, 1.0) == sp.leakage_bound(plain, 1.0)
    assert twice.nnz == 5, "what was given is left as it was"
    unsorted = csr_array(([0.25, 0.75, 1.0], [1, 0, 1], [0, 2, 3]), shape=(2, 2))
    assert sp.leakage_bound(unsorted, 1.0) == sp.leakage_bound(csr_array(unsorted.toarray()), 1.0)
    whole = csr_array(np.eye(3, dtype=np.int8))
    assert sp.leakage_bound(whole, 1.0).value == 1.0


def test_named_channels_keep_their_names():
    color = Attribute("color", ("red", "green", "blue"))
    answer = Attribute("answer", ("no", "yes"))
    C = np.array([[0.8, 0.2], [0.5, 0.5], [0.3, 0.7]])
    named = sp.Channel(C, color, answer)
    G = channel(4, 3, 0.9, 2)
    assert sp.exact_leakage(csr_array(G), named).witness == sp.exact_leakage(G, named).witness
    assert sp.exact_leakage(csr_array(G), named).witness.report in answer.values
    found = sp.exact_leakage(named, csr_array([[0.9, 0.1], [0.2, 0.8]]))
    assert (found.witness.likelier, found.witness.other) == ("blue", "red")
    assert found.witness.likely == ("yes",)


@pytest.mark.usefixtures("compiled")
def test_curve_and_its_inverse_equal_the_dense_ones():
    for G in (channel(30, 20, 0.2, 5, common=1.0), channel(9, 5, 1.0, 5), np.eye(3)):
        dense, found = sp.leakage_curve(G, EPSILONS), sp.leakage_curve(csr_array(G), EPSILONS)
        np.testing.assert_allclose(found.values, dense.values, rtol=1e-12)
        assert found.saturation == pytest.approx(dense.saturation, rel=1e-14)
        assert len(sp.leakage_curve(csr_array(G), []).values) == 0
        for leakage in (0.0, 1e-9, 0.2, 0.9, 3.0, 60.0):
            budget = sp.epsilon_for_leakage(csr_array(G), leakage)
            assert budget == pytest.approx(sp.epsilon_for_leakage(G, leakage), rel=1e-12)


def test_equal_rows_are_recognised_without_a_dense_matrix():
    row = np.array([0.25, 0.0, 0.75])
    assert rows_are_equal(csr_array(np.tile(row, (5, 1))))
    assert not rows_are_equal(csr_array([[0.25, 0.0, 0.75], [0.25, 0.75, 0.0]]))
    assert not rows_are_equal(csr_array([[0.25, 0.0, 0.75], [0.75, 0.0, 0.25]]))
    assert not rows_are_equal(csr_array([[1.0, 0.0, 0.0], [0.25, 0.0, 0.75]]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (csr_array([[1.0, 0.0], [0.0, 0.5]]), r"of channel must sum to 1, but row 1 sums to 0\.5"),
        (csr_array([[1.0, 0.0], [0.0, 0.0]]), r"row 1 sums to 0$"),
        (csr_array([[0.5, 1.0], [0.5, 0.0]]), r"row 0 sums to 1\.5; it looks transposed"),
        (csr_array([[2.0, -1.0]]), r"channel must hold probabilities of at least 0, got -1\.0"),
        (csr_array([[np.nan, 1.0]]), "at least 0, got nan"),
        (csc_matrix([[np.inf, 1.0]]), "at least 0, got inf"),
        (csr_array([[1e308, 1e308]]), "row 0 sums to inf"),
        (csr_array((0, 3)), r"at least one row and column, got shape \(0, 3\)"),
        (csr_array((3, 0)), r"at least one row and column, got shape \(3, 0\)"),
        (coo_array(np.array([0.5, 0.5])), r"at least one row and column, got shape \(2,\)"),
        (csr_array([[1.0 + 0j]]), "channel must be a matrix of probabilities, got complex128"),
    ],
)  # fmt: skip
def test_an_invalid_channel_raises_in_one_line(given, message):
    for call in (
        lambda: sp.leakage_bound(given, 1.0),
        lambda: sp.exact_leakage(given, [[1.0, 0.0], [0.0, 1.0]]),
    ):
        with pytest.raises(ChannelError, match=message) as raised:
            call()
        assert "\n" not in str(raised.value)


def test_axes_must_agree():
    G = csr_array([[0.5, 0.5], [1.0, 0.0]])
    with pytest.raises(ChannelError, match="channel has 2 source values but mechanism has 1 rows"):
        sp.exact_leakage(G, [[1.0]])
    with pytest.raises(ChannelError, match="mechanism must hold probabilities"):
        sp.exact_leakage(G, csr_array([[1.5, -0.5], [0.5, 0.5]]))


def run(script):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_large_libraries_are_imported_only_when_used():
    script = """
        import sys, seepage as sp
        sp.leakage_bound([[0.9, 0.1], [0.2, 0.8]], 1.0)
        sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]])
        heavy = ("scipy", "numba", "pyarrow", "pandas")
        print(any(name.split(".")[0] in heavy for name in sys.modules))
        from scipy.sparse import csr_array
        sp.leakage_bound(csr_array([[0.9, 0.1], [0.2, 0.8]]), 1.0)
        print("numba" in sys.modules)
    """
    assert run(script) == ["False", "False"]


@pytest.mark.slow
def test_ten_thousand_values_in_less_than_two_gigabytes():
    script = """
        import numpy as np, seepage as sp
        from pathlib import Path
        from scipy.sparse import csr_array, random_array
        m, rng = 10_000, np.random.default_rng(1)
        cells = random_array((m, m), density=0.002, rng=rng, format="csr")
        cells = cells + csr_array((np.full(m, 2.0), (np.arange(m), np.zeros(m, int))), (m, m))
        G = csr_array(cells.multiply(1 / cells.sum(axis=1)[:, None]))
        C = random_array((m, m), density=0.001, rng=rng, format="csr") + csr_array(
            (np.ones(m), (np.arange(m), np.arange(m))), (m, m))
        C = csr_array(C.multiply(1 / C.sum(axis=1)[:, None]))
        assert 0 < sp.leakage_bound(G, 1.0, delta=1e-6).value < 1
        assert 0 < sp.leakage_bound(G, 0.0, delta=1e-6).relaxation < 1e-6
        assert sp.exact_leakage(G, C).value == np.inf
        status = Path("/proc/self/status").read_text()
        print(status.split("VmHWM:")[1].split()[0])
    """
    assert int(run(script)[0]) * 1024 < 2e9


def test_a_value_that_all_but_one_target_can_have_excludes_that_one():
    """There is no level that such a source's leakage stays below; columns of zeros say nothing."""
    excluding = np.array([[0.5, 0.5, 0.0], [0.3, 0.3, 0.4], [0.3, 0.3, 0.4]])
    telling = np.array([[0.0, 0.5, 0.0, 0.5, 0.0], [0.0, 0.2, 0.0, 0.8, 0.0]])
    for channel, saturation in ((excluding, np.inf), (telling, np.log(2.5))):
        held = csr_array(channel)
        assert sp.leakage_curve(held, [1.0]).saturation == pytest.approx(saturation)
        assert sp.epsilon_for_leakage(held, 0.7) == sp.epsilon_for_leakage(channel, 0.7) < np.inf
