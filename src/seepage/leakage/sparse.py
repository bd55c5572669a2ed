"""Leakage of channels with thousands of values, most of whose cells are zero.

The dense functions hold an m x t matrix; here only the cells that are not zero are held, and two
target values are compared over the source values that they share.
"""

from typing import Any, TypeAlias

import numpy as np

from seepage import _checks
from seepage._numerics import LARGE_EPSILON, Floats
from seepage.channel import ROW_SUM_TOLERANCE, as_matrix
from seepage.errors import ChannelError, InputError
from seepage.evidence import Leakage, Witness, two_level_leakage
from seepage.leakage.exact import SCALE, _log_ratios
from seepage.ratios import LikelySets

__all__ = ["sparse_exact_leakage", "sparse_leakage_bound"]

Sparse: TypeAlias = Any
"""A SciPy sparse array, by rows."""

CELLS_AT_ONCE = 1 << 24
"""Cells of the product that are held at once: 128 MB."""


def sparse_leakage_bound(G: Any, epsilon: Any, delta: Any = 0.0) -> Leakage:
    """Return what `leakage_bound` returns, for a sparse channel.

    Parameters
    ----------
    G
        P(source given target): a SciPy sparse array, m target values by t source values.
    epsilon, delta
        The budget of the mechanism that releases the source; epsilon at most 690.

    Notes
    -----
    Two rows x and x' are compared by their profile [THEORY section 3], of which only the source
    values that both can have need work:

        E(H) = sum_u max(0, G[x,u] - H G[x',u]) = G_x - sum over common u of min(G[x,u], H G[x',u])

    with G_x the sum of row x.  Rows without a common source value leak epsilon, and nothing leaks
    more.  Cost O(sum over u of n_u^2), n_u the number of target values that can have u; memory
    O(cells that are not zero + m).  At epsilon 0 the relaxation is the whole delta, which is safe
    but may be more than `leakage_bound` gives.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> found = sparse_leakage_bound(csr_array([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]]), 1.0)
    >>> round(found.value, 4), found.witness.likelier, found.witness.likely
    (0.7063, 1, (1, 2))
    """
    from seepage.leakage.sparse_compiled import climb

    budget, slack = _checks.epsilon(epsilon), _checks.delta(delta)
    if budget > LARGE_EPSILON:
        raise InputError(f"epsilon must be at most {LARGE_EPSILON:g} for a sparse channel")
    channel = _checked(G, "G")
    if budget == 0 or _rows_are_equal(channel):
        certified = 0.0 if _rows_are_equal(channel) else slack
        return Leakage(0.0, None, certified, certified)
    by_columns = channel.tocsc()
    by_columns.sort_indices()
    first, second = climb(channel, by_columns, budget)
    if first == second:
        return Leakage(0.0, None)
    return _between(channel, first, second, budget, slack)


def _between(channel: Sparse, first: int, second: int, epsilon: float, delta: float) -> Leakage:
    """Return the leakage between two rows, granted the rounding of the longest two."""
    rows = channel[[first, second]]
    used = np.unique(rows.indices)
    longest = 2 * int(np.diff(channel.indptr).max())
    matrix = np.zeros((2, max(longest, len(used))))
    matrix[:, : len(used)] = rows[:, used].toarray()
    found = two_level_leakage(matrix, LikelySets("all", epsilon), delta)
    if found.witness is None:
        return found
    targets = (first, second)
    witness = Witness(
        targets[int(found.witness.likelier)],
        targets[int(found.witness.other)],
        tuple(int(used[int(u)]) for u in found.witness.likely if int(u) < len(used)),
    )
    return Leakage(found.value, witness, found.relaxation, found.paper_relaxation)


def sparse_exact_leakage(G: Any, C: Any) -> Leakage:
    """Return what `exact_leakage` returns, for a sparse channel.

    Parameters
    ----------
    G
        P(source given target): a SciPy sparse array, m target values by t source values.
    C
        P(report given source): t source values by r reports, sparse or not.

    Notes
    -----
    The product is made for some reports at a time: memory O(cells + 2^24), cost O(n r) with n
    the cells of G that are not zero.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> randomised_response = [[0.75, 0.25], [0.25, 0.75]]
    >>> found = sparse_exact_leakage(csr_array([[0.9, 0.1], [0.2, 0.8]]), randomised_response)
    >>> round(found.value, 4), found.witness.report
    (0.7732, 1)
    """
    from scipy.sparse import issparse

    channel = _checked(G, "G")
    dense = not issparse(C)
    mechanism: Any = as_matrix(C, "C") if dense else _checked(C, "C").tocsc()
    targets, sources = channel.shape
    if sources != mechanism.shape[0]:
        raise ChannelError(
            f"G has {sources} source values but C has {mechanism.shape[0]} rows; they must be equal"
        )
    if _rows_are_equal(channel):
        return Leakage(0.0, None)
    step = max(1, CELLS_AT_ONCE // max(targets, sources))
    best = Leakage(0.0, None)
    for begin in range(0, mechanism.shape[1], step):
        block = mechanism[:, begin : begin + step]
        found = _exact_in_block(channel, block if dense else block.toarray(), begin)
        best = max(best, found, key=float)
    return best


def _exact_in_block(channel: Sparse, block: Floats, begin: int) -> Leakage:
    """Return the leakage through some reports; see `exact_leakage` for the arithmetic."""
    highest = block.max(axis=0)
    possible = np.flatnonzero(highest)
    if not len(possible):
        return Leakage(0.0, None)
    columns = np.ldexp(block[:, possible], SCALE - np.frexp(highest[possible])[1])
    shared = columns.min(axis=0)
    seen = channel @ (columns - shared)
    ratios = _log_ratios(seen, shared, len(block))
    place = int(ratios.argmax())
    first, second = int(seen[:, place].argmax()), int(seen[:, place].argmin())
    if ratios[place] <= 0 or first == second:
        return Leakage(max(0.0, float(ratios[place])), None)
    column = int(possible[place])
    likely = np.flatnonzero(block[:, column] == highest[column])
    witness = Witness(first, second, tuple(likely.tolist()), begin + column)
    return Leakage(float(ratios[place]), witness)


def _rows_are_equal(channel: Sparse) -> bool:
    return not (channel - channel[[0] * channel.shape[0]]).count_nonzero()


def _checked(given: Any, name: str) -> Sparse:
    """Return a sparse channel by rows, each index once and no zero held, or refuse it."""
    from scipy import sparse

    if not sparse.issparse(given) or len(getattr(given, "shape", ())) != 2:
        raise ChannelError(f"{name} must be a sparse matrix with rows and columns")
    by_rows: Any = sparse.csr_array
    matrix = by_rows(given, dtype=np.float64, copy=True)
    if 0 in matrix.shape:
        raise ChannelError(f"{name} must have at least one row and one column")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        raise ChannelError(f"the entries of {name} must be finite and at least 0")
    sums = np.asarray(matrix.sum(axis=1))
    wrong = np.flatnonzero(abs(sums - 1) > ROW_SUM_TOLERANCE)
    if len(wrong):
        raise ChannelError(
            f"each row of {name} must sum to 1, row {wrong[0]} sums to {sums[wrong[0]]:.6g}"
        )
    return matrix
