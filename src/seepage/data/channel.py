"""`Channel`: a matrix of conditional probabilities that knows its axes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._numerics import Floats
from seepage.data.domain import Attribute
from seepage.errors import ChannelError

__all__ = ["Channel", "as_matrix"]

ROW_SUM_TOLERANCE = 1e-9
NUMBERS = "biufO"
"""The kinds of NumPy arrays that can hold probabilities; fractions come as objects."""


def as_matrix(channel: "Channel | ArrayLike", name: str = "channel") -> Floats:
    """Return the matrix of a channel or array, or refuse what is no channel.

    Entries are finite and at least 0, and each row sums to 1 within 1e-9.
    """
    if isinstance(channel, Channel):
        return channel.matrix
    try:
        given = np.asarray(channel)
        matrix = given.astype(np.float64) if given.dtype.kind in NUMBERS else None
    except (TypeError, ValueError):
        matrix = None
    if matrix is None:
        raise ChannelError(f"{name} must be a matrix of probabilities")
    if matrix.ndim != 2 or not matrix.size:
        raise ChannelError(
            f"{name} must be a matrix with at least one row and column, got shape {matrix.shape}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        sums = matrix.sum(axis=1)
    if not (matrix.min() >= 0 and np.abs(sums - 1).max() <= ROW_SUM_TOLERANCE):
        raise ChannelError(_what_is_wrong(matrix, sums, name))
    matrix.flags.writeable = False
    return matrix


def _what_is_wrong(matrix: Floats, sums: Floats, name: str) -> str:
    bad = matrix[~(matrix >= 0) | (matrix == np.inf)]
    if bad.size:
        return f"{name} must hold probabilities of at least 0, got {bad[0]}"
    row = int(np.argmax(np.abs(sums - 1)))
    hint = "; it looks transposed" if _columns_sum_to_one(matrix) else ""
    return f"each row of {name} must sum to 1, but row {row} sums to {sums[row]:.12g}{hint}"


def _columns_sum_to_one(matrix: Floats) -> bool:
    return bool(np.abs(matrix.sum(axis=0) - 1).max() <= ROW_SUM_TOLERANCE)


@dataclass(frozen=True, eq=False)
class Channel:
    """P(output given input), rows inputs and columns outputs, with named axes.

    `a @ b` feeds the output of `a` into `b`; it refuses where the two axes are not the same
    attribute, so a transposed or swapped matrix fails instead of giving a wrong number.

    Parameters
    ----------
    matrix
        The probabilities; each row sums to 1.
    given
        The input's attribute, one value a row.
    output
        The output's attribute, one value a column.
    unseen
        Values of the input that never occurred and so have no row.

    Examples
    --------
    >>> sex = Attribute("sex", ("Female", "Male"))
    >>> smoker = Attribute("smoker", ("no", "yes"))
    >>> Channel([[0.9, 0.1], [0.8, 0.2]], given=sex, output=smoker)
    Channel(smoker given sex, 2 x 2)
    """

    matrix: Floats
    given: Attribute
    output: Attribute
    unseen: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        name = f"the channel of {self.output.name!r} given {self.given.name!r}"
        matrix = as_matrix(self.matrix, name)
        if matrix.shape != (self.given.size, self.output.size):
            raise ChannelError(
                f"{name} must be {self.given.size} x {self.output.size}, "
                f"got {matrix.shape[0]} x {matrix.shape[1]}"
            )
        object.__setattr__(self, "matrix", matrix)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of inputs and of outputs."""
        return self.given.size, self.output.size

    def __matmul__(self, other: Any) -> "Channel":
        if not isinstance(other, Channel):
            return NotImplemented
        if self.output != other.given:
            raise ChannelError(
                f"the output {self.output.name!r} ({self.output.size} values) of one channel is "
                f"not the input {other.given.name!r} ({other.given.size} values) of the other"
            )
        product = self.matrix @ other.matrix
        product /= product.sum(axis=1, keepdims=True)
        return Channel(product, self.given, other.output, self.unseen)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"Channel({self.output.name} given {self.given.name}, {rows} x {columns})"
