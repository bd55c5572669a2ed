"""The leakage bound of channels with thousands of values, most of whose cells are zero.

`leakage_bound`, `leakage_curve` and `epsilon_for_leakage` come here with a sparse matrix of SciPy;
`exact_leakage` takes one itself.  Only the cells that are not zero are held.  A set S that favours
target value x over x' holds source values that x can have, so that x is compared with all others
over these alone.
"""

import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import LARGE_EPSILON, Floats, log_ratio
from seepage.errors import ChannelError
from seepage.leakage.evidence import Leakage, Witness, two_level_leakage
from seepage.leakage.exact import exact_leakage
from seepage.leakage.likely_sets import LikelySets, best_singleton, profile
from seepage.leakage.operands import (
    Sparse,
    SparseLike,
    as_operand,
    dense,
    is_sparse,
    rows_are_equal,
)

__all__ = [
    "sparse_exact_leakage",
    "sparse_leakage_bound",
    "sparse_profile",
    "sparse_saturation",
]

COMPILED_FROM = 1 << 25
"""From this many cells compared (m n, n those that are not zero), loading the kernel pays."""

Pair = tuple[int, int]
"""Two target values x and x' by their numbers; twice the same where nothing tells any apart."""


def sparse_leakage_bound(G: SparseLike, epsilon: Any, delta: Any = 0.0) -> Leakage:
    """Return what `leakage_bound` returns, for a sparse channel, which it calls this for.

    Parameters
    ----------
    G
        P(source given target): a sparse matrix of SciPy, m target values by t source values.
    epsilon, delta
        The budget of the mechanism that releases the source.

    Notes
    -----
    Two rows x and x' are compared by their profile [theory: The bound], of which only the source
    values that x can have need work.  The largest ratio of the winning two is computed from both
    rows as `leakage_bound` does, and rounded up like it.  Where several pairs of target values
    attain the maximum, the witness may be another one of them.

    With n cells that are not zero and n_u target values that can have u, the cost is O(m n) with
    NumPy, O(sum over u of n_u^2) compiled; memory O(n + m + t), for small channels O(m n) of at
    most `COMPILED_FROM` cells.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> found = sparse_leakage_bound(csr_array([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]]), 1.0)
    >>> round(found.value, 4), found.witness.likelier, found.witness.likely
    (0.7063, 1, (1, 2))
    """
    budget, slack = _checks.epsilon(epsilon), _checks.delta(delta)
    channel = _checked(G, "G")
    if rows_are_equal(channel):
        return Leakage(0.0, None)
    pair = _best_pair(channel, budget) if budget else _furthest_pair(channel, 0.0)
    found = two_level_leakage(_rows(channel, pair), LikelySets("all", budget), slack)
    if found.witness is None:
        return found
    likelier, other = int(found.witness.likelier), int(found.witness.other)
    witness = Witness(pair[likelier], pair[other], found.witness.likely)
    return Leakage(found.value, witness, found.relaxation, found.paper_relaxation)


def sparse_exact_leakage(G: SparseLike, C: Any) -> Leakage:
    """Return `exact_leakage(G, C)`, for a sparse channel G.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> randomised_response = [[0.75, 0.25], [0.25, 0.75]]
    >>> found = sparse_exact_leakage(csr_array([[0.9, 0.1], [0.2, 0.8]]), randomised_response)
    >>> round(found.value, 4), found.witness.report
    (0.7732, 1)
    """
    return exact_leakage(_checked(G, "G"), C)


def sparse_profile(channel: Sparse, value: float) -> float:
    """Return the hockey-stick profile E(e^value) of a sparse channel, as `ratios.profile` does."""
    return profile(_rows(channel, _furthest_pair(channel, value)), value)[0]


def sparse_saturation(channel: Sparse) -> float:
    """Return the level to which the bound rises as epsilon grows, rounded up.

    Infinite where a source value is possible under some target values only.
    """
    by_columns = channel.tocsc()
    targets = np.diff(by_columns.indptr)
    if ((targets > 0) & (targets < channel.shape[0])).any():
        return math.inf
    starts = by_columns.indptr[:-1][targets > 0]
    ends = [part.reduceat(by_columns.data, starts) for part in (np.maximum, np.minimum)]
    return float(best_singleton(np.array([ends]), np.array([math.inf])).value[0])


def _checked(given: SparseLike, name: str) -> Sparse:
    if not is_sparse(given):
        raise ChannelError(f"{name} must be a sparse matrix of SciPy, got {type(given).__name__}")
    return as_operand(given, name)


def _rows(channel: Sparse, pair: Pair) -> Floats:
    """Return two rows, zeros included: 2 t numbers."""
    return dense(channel[list(pair)])


def _compiled_pays(channel: Sparse) -> bool:
    """Say whether to use the compiled kernel: for large work, or once it is loaded anyway."""
    loaded = "seepage.leakage.compiled_sparse" in sys.modules
    return loaded or channel.shape[0] * channel.nnz >= COMPILED_FROM


def _best_pair(channel: Sparse, epsilon: float) -> Pair:
    """Return the x and x' with the largest ratio over every S."""
    if _compiled_pays(channel):
        from seepage.leakage.compiled_sparse import best_pair

        return best_pair(channel, epsilon)
    value, pair = 0.0, (0, 0)
    for likelier, cells, others in _each_row(channel):
        while True:
            likely = _above(cells, others, value) > 0
            gaps = np.where(likely, cells - others, 0.0).sum(axis=1)
            lows = np.where(likely, others, 0.0).sum(axis=1)
            ratios = log_ratio(gaps, lows, epsilon)
            other = int(ratios.argmax())
            ratio = float(ratios[other])
            if ratio <= value:
                break
            value, pair = ratio, (likelier, other)
    return pair


def _furthest_pair(channel: Sparse, value: float) -> Pair:
    """Return the x and x' with the largest sum of max(0, G[x,u] - H G[x',u]), H = exp(value)."""
    if _compiled_pays(channel):
        from seepage.leakage.compiled_sparse import furthest_pair

        return furthest_pair(channel, value)
    most, pair = 0.0, (0, 0)
    for likelier, cells, others in _each_row(channel):
        sums = _above(cells, others, value).sum(axis=1)
        other = int(sums.argmax())
        if sums[other] > most:
            most, pair = float(sums[other]), (likelier, other)
    return pair


def _above(cells: Floats, others: Floats, value: float) -> Floats:
    """Return max(0, G[x,u] - H G[x',u]), H = exp(value); an H beyond e^1380 as that."""
    half = min(value / 2, LARGE_EPSILON)
    with np.errstate(over="ignore"):
        rise = 2 * math.sinh(half) * others * math.exp(half)
    return np.maximum(cells - others - rise, 0.0)


def _each_row(channel: Sparse) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield each x, its cells that are not zero, and all rows' cells at the same source values."""
    by_columns = channel.tocsc()
    for row, (begin, end) in enumerate(zip(channel.indptr, channel.indptr[1:], strict=False)):
        sources = channel.indices[begin:end]
        yield row, channel.data[begin:end], dense(by_columns[:, sources])
