"""Leakage over time: a sequence of reports of one attribute whose values follow a Markov chain.

The backward leakage of step t is that of the reports up to t about the value at t, the forward
leakage that of the reports from t on:

    BPL_t = eps_t + bound(P(X_(t-1) given X_t), BPL_(t-1)),
    FPL_t = eps_t + bound(P(X_(t+1) given X_t), FPL_(t+1)),
    TPL_t = BPL_t + FPL_t - eps_t

[Cao et al. 2017, "Quantifying differential privacy under temporal correlations"; theory-totals].
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import UNIT, Floats, round_down, round_up, summed_up
from seepage._options import takes
from seepage._results import Result, json_ready
from seepage.data.channel import Channel, as_matrix, stationary
from seepage.data.domain import sample_caution
from seepage.data.inputs import as_pairs
from seepage.data.table.options import DataOptions
from seepage.errors import InputError, Setting
from seepage.leakage.likely_sets import LikelySets, best_of_all

MAX_STEPS = 10**6

DIRECTIONS = ("backward", "forward", "total")


def _number_of_steps(epsilon: Any, steps: int | None, *counts: int) -> int:
    """Return the number of steps; raise an InputError if epsilon, steps and `counts` disagree."""
    given: set[int] = {*counts, *_checks.array(epsilon, "epsilon").shape[:1]}
    if steps is not None:
        given.add(_checks.integer(steps, "steps", 1, MAX_STEPS))
    if not given:
        raise InputError(
            "the number of steps must be given: ", Setting("steps"), ", or one epsilon per step"
        )
    if len(given) > 1:
        raise InputError(
            "data, epsilon and steps must be for the same number of steps, "
            f"got {' and '.join(map(str, sorted(given)))}"
        )
    return given.pop()


def _channels(
    data: Any, initial: ArrayLike | None, links: int
) -> tuple[list[Floats], list[Floats]]:
    """Return P(next value given value) of every step but the last, and P(previous given value)."""
    matrix = as_matrix(data, "transitions")
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"transitions must be a square matrix, got {matrix.shape}", parameter="transitions"
        )
    if initial is None:
        return [matrix] * links, [_reverse(matrix, stationary(matrix))] * links
    distribution = as_matrix(np.atleast_2d(_checks.array(initial, "initial")), "initial")[0]
    if len(distribution) != len(matrix):
        rule = f"must have {len(matrix)} probabilities"
        raise InputError(f"initial {rule}, got {len(distribution)}", parameter="initial")
    reversed_channels = []
    for _ in range(links):
        reversed_channels.append(_reverse(matrix, distribution))
        distribution = distribution @ matrix
    return [matrix] * links, reversed_channels


def _reverse(matrix: Floats, distribution: Floats) -> Floats:
    """Return P(previous given next) by Bayes' rule, from the distribution of the previous value.

    The row of a next value of probability 0 is undefined; it is replaced by the row of one of
    positive probability, which changes no maximum over pairs of rows.
    """
    joint = (distribution[:, None] * matrix).T
    probabilities = joint.sum(axis=1)
    joint[probabilities == 0] = joint[np.argmax(probabilities > 0)]
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _reversal_error(size: int, links: int) -> float:
    """Return a bound of the relative error of reversed transitions, all sums of positive terms."""
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
    supremum
        Suprema of (backward, forward, total) over any number of steps; None if budgets or
        transitions change over time.  Infinite if the leakage is unbounded at this budget.
    notes
        Caveats: whether the transitions were counted in a sample of records.
    """

    epsilons: Floats
    backward: Floats
    forward: Floats
    total: Floats
    supremum: tuple[float, float, float] | None
    notes: tuple[str, ...] = ()

    kind = "assumed"
    """Valid only if the values follow the Markov chain."""

    def _series(self) -> dict[str, Floats]:
        return {"epsilon": self.epsilons, **{name: getattr(self, name) for name in DIRECTIONS}}

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a JSON object; infinity is the string "inf"."""
        suprema = self.supremum and dict(zip(DIRECTIONS, self.supremum, strict=True))
        content = {"kind": self.kind, **self._series(), "supremum": suprema, "notes": self.notes}
        return dict(json_ready(content))

    def _columns(self) -> dict[str, Sequence[Any]]:
        series = {name: values.tolist() for name, values in self._series().items()}
        return {"step": range(1, len(self.total) + 1), **series}

    def _headline(self) -> str:
        supremum = "" if self.supremum is None else f", supremum {self.supremum[2]:.4g}"
        largest = f"largest total {self.total.max():.4g}{supremum}"
        return f"StreamLeakage({len(self.total)} steps, {self.kind}, {largest})"


@dataclass(frozen=True, kw_only=True)
class StreamOptions(DataOptions):
    """Options of `stream_leakage`.

    Parameters
    ----------
    epsilon
        The budget of every step, or one per step.
    steps
        The number of reports, unless `epsilon` or `data` determine it.
    initial
        With transitions only: the distribution of the first value; by default the stationary one.
    """

    epsilon: Any = field(kw_only=False)
    steps: int | None = None
    initial: ArrayLike | None = None


@takes(StreamOptions)
def stream_leakage(data: Any, options: StreamOptions) -> StreamLeakage:
    """Return the leakage over time of a sequence of reports of one attribute.

    Parameters
    ----------
    data
        A table (a frame, a path, the name of a dataset, `Records` or `PairCounts`) whose
        attributes are the steps in order, from which the transitions in both directions are
        counted.  Or the transitions P(next value given value), a k x k matrix for all steps.

    Returns
    -------
    StreamLeakage
        Backward, forward and total leakage of each step in nats, rounded up, and their suprema.

    Notes
    -----
    One `leakage_bound` per step and direction, O(k^3).  For a constant budget and constant
    transitions the supremum is in closed form: see `leakage_supremum`.

    Examples
    --------
    >>> sticky = [[0.8, 0.2], [0.2, 0.8]]
    >>> leakage = stream_leakage(sticky, epsilon=0.1, steps=10)
    >>> leakage.backward.round(3).tolist()[:3], round(leakage.supremum[0], 3)
    ([0.1, 0.16, 0.196], 0.249)
    """
    notes: tuple[str, ...] = ()
    error = 0.0
    if _are_transitions(data):
        if options.reading:
            name = min(options.reading)
            raise InputError(f"{name} has no effect: transitions are no table", parameter=name)
        count = _number_of_steps(options.epsilon, options.steps)
        to_next, to_previous = _channels(data, options.initial, count - 1)
        error = _reversal_error(len(to_next[0]), len(to_next)) if to_next else 0.0
    else:
        if options.initial is not None:
            raise InputError(
                "initial goes with transitions; counts tell the distribution themselves",
                parameter="initial",
            )
        pairs = as_pairs(data, **options.reading)
        caution = sample_caution(pairs)
        notes = () if caution is None else (caution,)
        count = _number_of_steps(options.epsilon, options.steps, len(pairs.domain))
        to_next = [pairs.channel(target=t - 1, source=t).matrix for t in range(1, count)]
        to_previous = [pairs.channel(target=t, source=t - 1).matrix for t in range(1, count)]
    epsilons = [options.epsilon] * count if np.ndim(options.epsilon) == 0 else options.epsilon
    budgets = np.array([_checks.epsilon(budget) for budget in epsilons])
    bpl = _accumulate(to_previous, budgets, error)
    fpl = _accumulate(to_next[::-1], budgets[::-1])[::-1]
    tpl = round_up(bpl + fpl - budgets, 2)
    suprema = _suprema(budgets, to_next, to_previous, error)
    return StreamLeakage(budgets, bpl, fpl, tpl, suprema, notes)


def _are_transitions(data: Any) -> bool:
    """Return whether data are matrices rather than a table: a channel, an array or numbers."""
    if isinstance(data, (list, tuple)):
        return not (data and isinstance(data[0], (str, os.PathLike)))
    return isinstance(data, (Channel, np.ndarray, int, float))


def leakage_supremum(channel: Channel | ArrayLike, epsilon: Any, error: float = 0.0) -> float:
    """Return the supremum of the iteration l <- epsilon + bound(G, l), in nats.

    In closed form: for a pair of rows and a set S with A = G_x(S) and B = G_x'(S),
    h = e^(l - epsilon) solves, with w = e^-epsilon,

        B h^2 + (w (1 - B) - A) h - w (1 - A) = 0   (one positive root);

    the supremum is the maximum over pairs and S [Cao et al. 2017, Theorem 5].  It is infinite iff
    B = 0 and A >= w for some pair.

    Parameters
    ----------
    channel
        G, P(neighbouring value given value).
    epsilon
        The budget of every step.
    error
        Bound of the relative error of the channel's entries.

    Notes
    -----
    Policy iteration: each iteration takes the fixed point of the map that is largest at the
    present value; below the largest fixed point that map lies above the identity, so the value
    increases until it is reached.  A few iterations of O(m^2 t).  Rounded up.

    Examples
    --------
    >>> round(leakage_supremum([[0.8, 0.2], [0.2, 0.8]], 0.1), 4)
    0.2488
    >>> leakage_supremum([[1.0, 0.0], [0.0, 1.0]], 0.1)
    inf
    """
    matrix, budget = as_matrix(channel), _checks.epsilon(epsilon)
    value = budget
    while True:
        larger = _largest_supremum(matrix, value, budget, error)
        if larger <= value:
            return value
        value = larger


def _largest_supremum(matrix: Floats, value: float, budget: float, error: float) -> float:
    """Return the largest supremum over pairs of rows, each with its best set at `value`."""
    if math.isinf(value) or budget == 0:
        return value
    best, sets = budget, LikelySets("all", value)
    for row in matrix:
        chosen = sets.best_of_pairs(row, matrix)[1]
        high = np.where(chosen, row, 0.0).sum(axis=1) * (1 + error)
        low = np.where(chosen, matrix, 0.0).sum(axis=1) * (1 - error)
        best = max(best, float(_suprema_of_sets(high, low, budget, len(row) + 2).max()))
    return best


def _suprema_of_sets(high: Floats, low: Floats, budget: float, terms: int) -> Floats:
    """Return epsilon + ln h for probabilities A, rounded up first, and B, rounded down first."""
    A, B = np.minimum(round_up(high, terms), 1.0), round_down(low, terms)
    w = round_down(math.exp(-budget), 2)
    slope = w * (1 - B) - A
    root = np.sqrt(slope**2 + 4 * B * w * (1 - A))
    with np.errstate(divide="ignore", invalid="ignore"):
        falling = 2 * w * (1 - A) / (slope + root)
        rising = (root - slope) / (2 * B)
    h = np.where(slope > 0, falling, np.where(B > 0, rising, math.inf))
    flat = (high <= low) | (high == 0)
    return np.where(flat, budget, round_up(budget + np.log(np.where(flat, 1.0, h)), 16))


def _accumulate(channels: Sequence[Floats], budgets: Floats, error: float = 0.0) -> Floats:
    """Return l_t = eps_t + bound(channel_(t-1), l_(t-1)), rounded up.

    Relative errors of at most `error` change a ratio by (1 + error) / (1 - error) at most.
    """
    values = [float(budgets[0])]
    bounds: dict[tuple[int, float], float] = {}
    for channel, budget in zip(channels, budgets[1:], strict=True):
        key = id(channel), values[-1]
        if key not in bounds:
            found = float(best_of_all(channel[None], np.array([values[-1]])).value[0])
            bounds[key] = min(found + 3 * error, values[-1])
        values.append(summed_up((float(budget), bounds[key])))
    return np.array(values)


def _suprema(
    budgets: Floats, to_next: Sequence[Floats], to_previous: Sequence[Floats], error: float
) -> tuple[float, float, float] | None:
    """Return the suprema of (BPL, FPL, TPL); None if budgets or transitions change over time."""
    directions = (to_previous, to_next)
    constant = all(np.array_equal(part, parts[0]) for parts in directions for part in parts)
    if not to_next or not constant or np.ptp(budgets) > 0:
        return None
    bpl = leakage_supremum(to_previous[0], budgets[0], error)
    fpl = leakage_supremum(to_next[0], budgets[0])
    return bpl, fpl, round_up(bpl + fpl - float(budgets[0]), 2)
