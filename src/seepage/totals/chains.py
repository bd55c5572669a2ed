"""Markov chains as users give them: transitions onward, and back by Bayes' rule."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Floats
from seepage.channel import Channel, as_matrix
from seepage.errors import InputError
from seepage.pairs import PairCounts

__all__ = [
    "backward_channels",
    "count_steps",
    "from_pairs",
    "read_budgets",
    "read_matrices",
    "repeated",
    "stationary",
]

STATIONARY_TOLERANCE = 1e-9
"""A second singular value of P - 1 below this means a second stationary distribution."""


def count_steps(epsilon: Any, steps: int | None, known: int | None) -> int:
    """Return the number of steps, on which all that is given must agree."""
    told = [known]
    told += [None if np.ndim(epsilon) == 0 else len(epsilon)]
    told += [None if steps is None else _checks.whole(steps, "steps", 1)]
    counts = {count for count in told if count is not None}
    if not counts:
        raise InputError("the number of steps must be given: steps=..., or one epsilon each")
    if len(counts) > 1:
        raise InputError(
            "epsilon, steps and transitions must be for the same number of steps, "
            f"got {' and '.join(map(str, sorted(counts)))}"
        )
    return counts.pop()


def read_budgets(epsilon: Any, steps: int) -> Floats:
    """Return the budget of each step."""
    given = [epsilon] * steps if np.ndim(epsilon) == 0 else epsilon
    return np.array([_checks.epsilon(budget) for budget in given])


def read_matrices(given: Any, name: str) -> list[Floats]:
    """Return one square channel, or several of the same size."""
    matrices = [as_matrix(part, name) for part in (given if _are_several(given) else [given])]
    shapes = {matrix.shape for matrix in matrices}
    if len(shapes) > 1 or any(rows != columns for rows, columns in shapes):
        raise InputError(f"{name} must be square matrices of one size, got {sorted(shapes)}")
    return matrices


def _are_several(given: Any) -> bool:
    """Say whether the first thing given is a matrix, not a row; what is neither is one thing."""
    if isinstance(given, Channel):
        return False
    try:
        return isinstance(given[0], Channel) or np.ndim(given[0]) == 2
    except (TypeError, ValueError, IndexError):
        return False


def repeated(matrices: list[Floats], steps: int, name: str) -> list[Floats]:
    """Return one matrix for each step but one, from one for all or one for each."""
    if len(matrices) == 1:
        return matrices * (steps - 1)
    if len(matrices) != steps - 1:
        raise InputError(
            f"{steps} steps have {steps - 1} {name}, got {len(matrices)}; give one for all, or "
            "one for each"
        )
    return matrices


def from_pairs(pairs: PairCounts) -> tuple[list[Floats], list[Floats]]:
    """Return the channels onward and back between consecutive attributes."""
    later = range(1, len(pairs.domain))
    onward = [pairs.channel(target=t - 1, source=t).matrix for t in later]
    back = [pairs.channel(target=t, source=t - 1).matrix for t in later]
    return onward, back


def backward_channels(
    given: list[Floats],
    onward: list[Floats],
    backward: Any,
    initial: ArrayLike | None,
    steps: int,
) -> list[Floats]:
    """Return P(previous value given value) of every step but the first."""
    if backward is not None:
        if initial is not None:
            raise InputError("give backward or initial, not both: one follows from the other")
        matrices = read_matrices(backward, "backward")
        if matrices[0].shape != given[0].shape:
            raise InputError(
                f"backward must be of the size of transitions, {given[0].shape}, "
                f"got {matrices[0].shape}"
            )
        return repeated(matrices, steps, "backward transitions")
    if initial is None:
        if len(given) > 1:
            raise InputError("transitions that change need initial or backward beside them")
        return [_reverse(given[0], stationary(given[0]))] * (steps - 1)
    share = as_matrix(np.atleast_2d(np.asarray(initial)), "initial")[0]
    if len(share) != len(given[0]):
        raise InputError(f"initial must have {len(given[0])} probabilities, got {len(share)}")
    back = []
    for matrix in onward:
        back.append(_reverse(matrix, share))
        share = share @ matrix
    return back


def _reverse(matrix: Floats, share: Floats) -> Floats:
    """Return P(previous given next) by Bayes' rule.

    A value that cannot be next has no row; the row of one that can stands in for it, which
    changes no maximum over pairs of rows.
    """
    joint = (share[:, None] * matrix).T
    reached = joint.sum(axis=1)
    joint[reached == 0] = joint[np.argmax(reached > 0)]
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def stationary(transitions: Channel | ArrayLike) -> Floats:
    """Return the stationary distribution of a chain, refused where it is not unique.

    Examples
    --------
    >>> stationary([[0.9, 0.1], [0.3, 0.7]]).round(4).tolist()
    [0.75, 0.25]
    """
    matrix = as_matrix(transitions, "transitions")
    _, singular, right = np.linalg.svd((matrix - np.eye(len(matrix))).T)
    if len(matrix) > 1 and singular[-2] < STATIONARY_TOLERANCE:
        raise InputError(
            "these transitions have more than one stationary distribution; "
            "give initial, the distribution of the first value, or backward"
        )
    share = np.abs(right[-1])
    return np.asarray(share / share.sum())
