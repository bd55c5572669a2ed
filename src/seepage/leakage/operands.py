"""The two kinds of matrices that leakages are computed from: dense ones, and sparse ones of SciPy.

A sparse channel is held by its cells that are not zero, never as a whole matrix.
"""

import sys
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from seepage._numerics import Floats
from seepage.data.channel import NUMBERS, ROW_SUM_TOLERANCE, Channel, as_matrix
from seepage.errors import ChannelError

__all__ = [
    "Operand",
    "Sparse",
    "SparseLike",
    "as_operand",
    "dense",
    "is_sparse",
    "rows_are_equal",
]

Sparse: TypeAlias = Any
"""A SciPy sparse array by rows, indices ascending, each once, no zero held: see `as_operand`."""

Operand: TypeAlias = Any
"""A matrix of floats, or `Sparse`."""

SparseLike: TypeAlias = Any
"""Any two-dimensional sparse matrix or array of SciPy."""


def is_sparse(given: Any) -> bool:
    """Return whether something is a sparse matrix or array of SciPy, without importing SciPy."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(given))


def as_operand(given: Channel | ArrayLike | SparseLike, name: str) -> Operand:
    """Return the matrix of a channel, sparse if it was given sparse, or refuse what is none.

    Entries are finite and at least 0, and each row sums to 1 within 1e-9, as in `as_matrix`.
    """
    return _by_rows(given, name) if is_sparse(given) else as_matrix(given, name)


def _by_rows(given: SparseLike, name: str) -> Sparse:
    from scipy import sparse

    if given.dtype.kind not in NUMBERS:
        raise ChannelError(f"{name} must be a matrix of probabilities, got {given.dtype}")
    if given.ndim != 2 or 0 in given.shape:
        raise ChannelError(
            f"{name} must be a matrix with at least one row and column, got shape {given.shape}"
        )
    by_rows: Any = sparse.csr_array
    matrix = by_rows(given, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    bad = matrix.data[~(matrix.data >= 0) | (matrix.data == np.inf)]
    if bad.size:
        raise ChannelError(f"{name} must hold probabilities of at least 0, got {bad[0]}")
    sums = _sums(matrix, 1)
    if np.abs(sums - 1).max() > ROW_SUM_TOLERANCE:
        row = int(np.abs(sums - 1).argmax())
        turned = np.abs(_sums(matrix, 0) - 1).max() <= ROW_SUM_TOLERANCE
        raise ChannelError(
            f"each row of {name} must sum to 1, but row {row} sums to {sums[row]:.12g}"
            f"{'; it looks transposed' if turned else ''}"
        )
    return matrix


def _sums(matrix: Sparse, axis: int) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(matrix.sum(axis=axis))


def dense(part: Operand) -> Floats:
    """Return a small part of a matrix with its zeros."""
    return np.asarray(part.toarray() if is_sparse(part) else part)


def rows_are_equal(matrix: Operand) -> bool:
    """Return whether all rows are the same, so that nothing can leak."""
    if not is_sparse(matrix):
        return bool((matrix == matrix[0]).all())
    lengths = np.diff(matrix.indptr)
    if (lengths != lengths[0]).any():
        return False
    rows = len(lengths)
    parts = (matrix.indices.reshape(rows, -1), matrix.data.reshape(rows, -1))
    return all(bool((part == part[0]).all()) for part in parts)
