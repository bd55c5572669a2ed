"""Leakage over time: a sequence of reports of one attribute whose values follow a
Markov chain.

The backward leakage of step t is that of the reports up to t about the value at t, the
forward leakage that of the reports from t on:

    BPL_t = eps_t + bound(P(X_(t-1) given X_t), BPL_(t-1)),
    FPL_t = eps_t + bound(P(X_(t+1) given X_t), FPL_(t+1)),
    TPL_t = BPL_t + FPL_t - eps_t

[Cao et al. 2017, "Quantifying differential privacy under temporal correlations";
theory-totals].
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError, Setting
from seepage._core.odds import odds_above
from seepage._core.results import Result, json_ready
from seepage._core.rounding import UNIT, round_up, summed_up
from seepage._core.text import sample_caution
from seepage.channel.channel import Channel, as_matrix
from seepage.leakage.likely_sets import LikelySets
from seepage.tables.read import as_pairs
from seepage.tables.table_options import DataOptions, TableKeywords

MAX_STEPS = 10**6
"""Maximum number of steps of a stream."""


def _number_of_steps(epsilon: Any, steps: int | None, *counts: int) -> int:
    """Return the number of steps of a stream; raise an InputError if epsilon, steps and
    `counts` disagree.
    """
    numbers: set[int] = {*counts, *checks.array(epsilon, "epsilon").shape[:1]}
    if steps is not None:
        numbers.add(checks.integer(steps, "steps", 1, MAX_STEPS))
    if not numbers:
        raise InputError(
            "the number of steps must be given: ",
            Setting("steps"),
            ", or one epsilon per step",
        )
    if len(numbers) > 1:
        raise InputError(
            "data, epsilon and steps must be for the same number of steps, "
            f"got {' and '.join(map(str, sorted(numbers)))}"
        )
    return numbers.pop()


def _channels(
    data: Any, initial: ArrayLike | None, links: int
) -> tuple[list[Floats], list[Floats]]:
    """Return P(next value given value) of every step of a stream but the last, and
    P(previous given value).
    """
    matrix = as_matrix(data, "transitions")
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"transitions must be a square matrix, got {matrix.shape}",
            parameter="transitions",
        )
    if initial is None:
        return [matrix] * links, [_reverse(matrix, stationary(matrix))] * links
    distribution = as_matrix(
        np.atleast_2d(checks.array(initial, "initial")), "initial"
    )[0]
    if len(distribution) != len(matrix):
        rule = f"must have {len(matrix)} probabilities"
        raise InputError(
            f"initial {rule}, got {len(distribution)}", parameter="initial"
        )
    reversed_channels = []
    for _ in range(links):
        reversed_channels.append(_reverse(matrix, distribution))
        distribution = distribution @ matrix
    return [matrix] * links, reversed_channels


def _reverse(matrix: Floats, distribution: Floats) -> Floats:
    """Return P(previous given next) of a stream by Bayes' rule, from the distribution
    of the previous value.

    The row of a next value of probability 0 is undefined; it is replaced by the row of
    one of positive probability, which changes no maximum over pairs of rows.
    """
    joint = (distribution[:, None] * matrix).T
    probabilities = joint.sum(axis=1)
    joint[probabilities == 0] = joint[np.argmax(probabilities > 0)]
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _reversal_error(size: int, links: int) -> float:
    """Return a bound of the relative error of a stream's reversed transitions, all sums
    of positive terms.
    """
    return (16.0 * size**3 + 4.0 * (size + 2) * (links + 1)) * UNIT


@dataclass(frozen=True, eq=False, repr=False)
class StreamLeakage(Result):
    """The leakage of a sequence of reports about the value at each step, in nats.

    Parameters
    ----------
    epsilons
        The budget of each step.
    backward, forward
        The leakage about each step's value of the reports up to it, and from it on.
    total
        That of all reports together: backward + forward - epsilon.
    notes
        Caveats: whether the transitions were counted in a sample of records.
    """

    epsilons: Floats
    backward: Floats
    forward: Floats
    total: Floats
    notes: tuple[str, ...] = ()

    kind = "assumed"
    """Valid only if the values follow the Markov chain."""

    def _series(self) -> dict[str, Floats]:
        """Return the leakages of a stream by step, by name."""
        leakages = {
            name: getattr(self, name) for name in ("backward", "forward", "total")
        }
        return {"epsilon": self.epsilons, **leakages}

    def to_dict(self) -> dict[str, Any]:
        """Return the leakage of a stream as a JSON object."""
        return dict(
            json_ready({"kind": self.kind, **self._series(), "notes": self.notes})
        )

    UPPER_NATS = ("backward", "forward", "total")

    def _columns(self) -> dict[str, Sequence[Any]]:
        """Return the columns of the leakage of a stream by step in long form."""
        series = {name: values.tolist() for name, values in self._series().items()}
        return {"step": range(1, len(self.total) + 1), **series}

    def _headline(self) -> str:
        """Return the leakage of a stream by step in one line."""
        largest = f"largest change of odds {odds_above(float(self.total.max()))}"
        return f"StreamLeakage({len(self.total)} steps, {self.kind}, {largest})"


def stream_leakage(
    data: Any,
    epsilon: ArrayLike,
    *,
    steps: int | None = None,
    initial: ArrayLike | None = None,
    **table: Unpack[TableKeywords],
) -> StreamLeakage:
    """Return the leakage over time of a sequence of reports of one attribute.

    Parameters
    ----------
    data
        A table (a frame, a path, the name of a dataset, `Records` or `PairCounts`)
        whose attributes are the steps in order, from which the transitions in both
        directions are counted.  Or the transitions P(next value given value), a k x k
        matrix for all steps.
    epsilon
        The budget of every step, or one per step.
    steps
        The number of reports, unless `epsilon` or `data` determine it.
    initial
        With transitions only: the distribution of the first value; by default the
        stationary one.
    **table
        How a table is read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

    Returns
    -------
    StreamLeakage
        Backward, forward and total leakage of each step in nats, rounded up.

    Notes
    -----
    One `leakage_bound` per step and direction, O(k^3).

    Examples
    --------
    >>> sticky = [[0.8, 0.2], [0.2, 0.8]]
    >>> leakage = stream_leakage(sticky, epsilon=0.1, steps=10)
    >>> leakage.backward.round(3).tolist()[:3]
    [0.1, 0.16, 0.196]
    """
    reading = DataOptions.from_keywords(table, stream_leakage)
    notes: tuple[str, ...] = ()
    error = 0.0
    if _are_transitions(data):
        if reading.keywords:
            name = min(reading.keywords)
            raise InputError(
                f"{name} has no effect: transitions are no table", parameter=name
            )
        count = _number_of_steps(epsilon, steps)
        to_next, to_previous = _channels(data, initial, count - 1)
        if to_next:
            error = _reversal_error(len(to_next[0]), len(to_next))
    else:
        if initial is not None:
            raise InputError(
                "initial goes with transitions; counts tell the distribution "
                "themselves",
                parameter="initial",
            )
        pairs = as_pairs(data, **reading.keywords)
        caution = sample_caution(pairs)
        if caution is not None:
            notes = (caution,)
        count = _number_of_steps(epsilon, steps, len(pairs.domain))
        to_next = [
            pairs.channel(target=t - 1, source=t).matrix for t in range(1, count)
        ]
        to_previous = [
            pairs.channel(target=t, source=t - 1).matrix for t in range(1, count)
        ]
    epsilons: Any = [epsilon] * count if np.ndim(epsilon) == 0 else epsilon
    budgets = np.array([checks.epsilon(budget) for budget in epsilons])
    bpl = _accumulate(to_previous, budgets, error)
    fpl = _accumulate(to_next[::-1], budgets[::-1])[::-1]
    tpl = round_up(bpl + fpl - budgets, 2)
    return StreamLeakage(budgets, bpl, fpl, tpl, notes)


def _are_transitions(data: Any) -> bool:
    """Return whether the data of a stream are matrices rather than a table: a channel,
    an array or numbers.
    """
    if isinstance(data, (list, tuple)):
        return not (data and isinstance(data[0], (str, os.PathLike)))
    return isinstance(data, (Channel, np.ndarray, int, float))


def _accumulate(
    channels: Sequence[Floats], budgets: Floats, error: float = 0.0
) -> Floats:
    """Return the leakage of a stream step by step, l_t = eps_t + bound(channel_(t-1),
    l_(t-1)), rounded up.

    Relative errors of at most `error` change a ratio by (1 + error) / (1 - error) at
    most.
    """
    values = [float(budgets[0])]
    bounds: dict[tuple[int, float], float] = {}
    for channel, budget in zip(channels, budgets[1:], strict=True):
        key = id(channel), values[-1]
        if key not in bounds:
            bound = LikelySets("all", values[-1]).best_pair(channel).value
            bounds[key] = min(bound + 3 * error, values[-1])
        values.append(summed_up((float(budget), bounds[key])))
    return np.array(values)


def stationary(transitions: Channel | ArrayLike) -> Floats:
    """Return the stationary distribution of a stream's chain; raise an InputError if it
    is not unique.

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
    """Return the stationary distribution of a stream's irreducible chain, by state
    reduction, O(k^3).

    Nothing is subtracted, so every probability has a small *relative* error, also of
    states that are nearly never visited [Grassmann, Taksar and Heyman 1985; O'Cinneide
    1993].
    """
    reduced = matrix.copy()
    for k in range(len(reduced) - 1, 0, -1):
        reduced[:k, k] /= reduced[k, :k].sum()
        reduced[:k, :k] += np.outer(reduced[:k, k], reduced[k, :k])
    weights = np.ones(len(reduced))
    for k in range(1, len(reduced)):
        weights[k] = weights[:k] @ reduced[:k, k]
    return np.asarray(weights / weights.sum())
