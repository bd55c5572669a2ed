"""`Channel`: a row-stochastic matrix P(output given input) with named axes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Floats
from seepage.data import Attribute
from seepage.errors import ChannelError, InputError

ROW_SUM_TOLERANCE = 1e-9
NUMBER_KINDS = "biufO"
"""`dtype.kind` of arrays that can hold probabilities; `Fraction`s come as objects."""


def as_matrix(channel: "Channel | ArrayLike", name: str = "channel") -> Floats:
    """Return the read-only float64 matrix of a channel or array-like.

    A ChannelError is raised unless entries are finite and at least 0 and rows sum to 1 within 1e-9.
    """
    if isinstance(channel, Channel):
        return channel.matrix
    try:
        given = np.asarray(channel)
        matrix = given.astype(np.float64) if given.dtype.kind in NUMBER_KINDS else None
    except (TypeError, ValueError, OverflowError):
        matrix = None
    if matrix is None:
        raise ChannelError(f"{name} must be a matrix of probabilities", parameter=name)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ChannelError(
            f"{name} must be a matrix with at least one row and column, got shape {matrix.shape}",
            parameter=name,
        )
    _check_probabilities(matrix, name)
    matrix.setflags(write=False)
    return matrix


def _check_probabilities(matrix: Floats, name: str) -> None:
    # Of small matrices argmin is faster than min; it finds NaN first.  Sums of cells up to 2 are
    # finite.
    within = matrix.item(matrix.argmin()) >= 0 and matrix.item(matrix.argmax()) <= 2
    if within and _rows_sum_to_one(matrix):
        return
    bad = matrix[~(matrix >= 0) | (matrix == np.inf)]
    if bad.size:
        raise ChannelError(
            f"{name} must hold probabilities of at least 0, got {bad[0]}", parameter=name
        )
    with np.errstate(over="ignore"):
        sums = np.asarray(matrix.sum(axis=1))
        hint = "; it looks transposed" if _rows_sum_to_one(matrix.T) else ""
    row = int(np.argmax(np.abs(sums - 1)))
    raise ChannelError(
        f"each row of {name} must sum to 1, but row {row} sums to {sums[row]:.12g}{hint}"
    )


def _rows_sum_to_one(matrix: Floats) -> bool:
    sums = matrix.sum(axis=1).tolist()
    return bool(1 - min(sums) <= ROW_SUM_TOLERANCE and max(sums) - 1 <= ROW_SUM_TOLERANCE)


@dataclass(frozen=True, eq=False)
class Channel:
    """P(output given input) as a row-stochastic matrix with named axes.

    Functions of a channel and the mechanism of its output compare these axes, so that a transposed
    or swapped matrix raises a ChannelError instead of giving a wrong number.

    Parameters
    ----------
    matrix
        The probabilities, shape (inputs, outputs); each row sums to 1.
    given
        The attribute of the input, one value per row.
    output
        The attribute of the output, one value per column.
    unseen
        Values of the input that never occurred and therefore have no row.

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
        _checks.instance(self.given, "given", Attribute, "an Attribute")
        _checks.instance(self.output, "output", Attribute, "an Attribute")
        name = f"the channel of {self.output.name!r} given {self.given.name!r}"
        matrix = as_matrix(self.matrix, name)
        if matrix.shape != (self.given.size, self.output.size):
            raise ChannelError(
                f"{name} must be {self.given.size} x {self.output.size}, "
                f"got {matrix.shape[0]} x {matrix.shape[1]}",
                parameter=name,
            )
        object.__setattr__(self, "matrix", matrix)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of input and output values."""
        return self.given.size, self.output.size

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"Channel({self.output.name} given {self.given.name}, {rows} x {columns})"


def stationary(transitions: Channel | ArrayLike) -> Floats:
    """Return the stationary distribution of a chain; raise an InputError if it is not unique.

    Examples
    --------
    >>> stationary([[0.9, 0.1], [0.3, 0.7]]).round(4).tolist()
    [0.75, 0.25]
    """
    from scipy.sparse.csgraph import connected_components

    matrix = as_matrix(transitions, "transitions")
    _, classes = connected_components(matrix > 0, connection="strong")
    leaving = (matrix > 0) & (classes[:, None] != classes)
    closed = set(classes.tolist()) - set(classes[leaving.any(axis=1)].tolist())
    if len(closed) > 1:
        raise InputError(
            "these transitions have more than one stationary distribution; "
            "give initial, the distribution of the first value"
        )
    recurrent = classes == closed.pop()
    distribution = np.zeros(len(matrix))
    distribution[recurrent] = _state_reduction(matrix[np.ix_(recurrent, recurrent)])
    return distribution


def _state_reduction(matrix: Floats) -> Floats:
    """Return the stationary distribution of an irreducible chain, by state reduction, O(k^3).

    Nothing is subtracted, so every probability has a small *relative* error, also of states that
    are nearly never visited [Grassmann, Taksar and Heyman 1985; O'Cinneide 1993].
    """
    reduced = matrix.copy()
    for k in range(len(reduced) - 1, 0, -1):
        reduced[:k, k] /= reduced[k, :k].sum()
        reduced[:k, :k] += np.outer(reduced[:k, k], reduced[k, :k])
    weights = np.ones(len(reduced))
    for k in range(1, len(reduced)):
        weights[k] = weights[:k] @ reduced[:k, k]
    return np.asarray(weights / weights.sum())
