"""Corr-RR and CoP: published strategies that perturb a person's answers jointly.

Both estimate with a bias, so that an error has two parts: squared bias, which more people do not
reduce, and variance.  No plan can run them; they are compared only.
"""

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from seepage._numerics import Floats, Integers, largest_within
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.leakage.matrix import leakage_matrix
from seepage.totals import independent_totals

FIRST_PHASE = 0.1
"""Share of the people in the first phase of Corr-RR."""

LEAST_INFORMATION = 0.6
"""Pointwise mutual information, in bits, from which CoP perturbs an attribute given another."""

DISTORTION = 0.1
"""How far the distribution of a report of CoP may be from the one that it aims at."""

LEAST_CHANCE = 1e-6
"""The least probability of a report of CoP."""

MAX_EPSILON = 16.0
"""Largest budget of the linear program of CoP, which has e^eps as a coefficient."""

MAX_VALUES, MAX_CELLS = 40, 20_000
"""Maximum number of values of an attribute, and of cells of all matrices of CoP: the linear program
takes about 2 s then, and 6 s for a single matrix of 68 values."""

SIMULATED_PEOPLE = 5_000
"""People drawn from the table for the bias of CoP."""


Given = dict[tuple[int, int], dict[int, Floats]]
"""Matrices of CoP by parent and its reported value, then by child."""


class JointErrors(NamedTuple):
    """The epsilon of each report, and the errors of each attribute, for a number of people."""

    epsilon: float
    errors: list[float]
    biases: list[float]
    """The part of each error that more people do not reduce."""


def correlated_response(pairs: PairCounts, limit: float, people: int) -> JointErrors | None:
    """Return Corr-RR [Seeam, Zheng and Hu 2026]; None if alphabets differ in size.

    A tenth of the people report all d attributes by GRR at limit / d.  Each of the others reports
    one random attribute, the pivot, by GRR at the whole limit; the report of any other attribute is
    that of the pivot with some probability p, else another value, so that it tells nothing more.
    All are estimated as reports of GRR, and the two phases are averaged.

    Notes
    -----
    As in the authors' code (github.com/shafizurRseeam/Corr-RR): values correspond by their index;
    the p of a pivot a and another attribute b minimises the error of a if b is the pivot.  Here it
    follows from the table's frequencies, in place of the estimates of the first phase.
    """
    count, sizes = len(pairs.domain), set(pairs.domain.sizes)
    if len(sizes) > 1 or sizes == {1}:
        return None
    f = np.array(pairs.marginals) / pairs.records
    first, second = FIRST_PHASE * people, (1 - FIRST_PHASE) * people
    q, gap = _direct_response(limit, f.shape[1])
    reported = q + gap * f
    copied = _copy_chances(f, gap, second)[:, :, None]
    others = (1 - reported) / (f.shape[1] - 1)
    drawn = copied * reported[:, None] + (1 - copied) * others[:, None]
    drawn[np.diag_indices(count)] = reported
    g = drawn.mean(axis=0)
    low, split_gap = _direct_response(limit / count, f.shape[1])
    split = low + split_gap * f
    variances = FIRST_PHASE**2 * split * (1 - split) / (first * split_gap**2)
    variances += (1 - FIRST_PHASE) ** 2 * g * (1 - g) / (second * gap**2)
    biases = (((1 - FIRST_PHASE) * ((g - q) / gap - f)) ** 2).sum(axis=1)
    return JointErrors(limit, (variances.sum(axis=1) + biases).tolist(), biases.tolist())


def _direct_response(epsilon: float, k: int) -> tuple[float, float]:
    """Return q and p - q of GRR."""
    weight = math.exp(-epsilon)
    return weight / (1 + (k - 1) * weight), -math.expm1(-epsilon) / (1 + (k - 1) * weight)


def _copy_chances(f: Floats, gap: float, people: float) -> Floats:
    """Return the probability that b's report copies the pivot a's, [a, b]."""
    a, b, scale = f[:, None], f[None, :], people * gap**2
    offset, slope = 1 - a - b, 2 * b - 1
    alpha = (1 - gap) / f.shape[1] + gap / 2 * (offset + 2 * a)
    beta = gap / 2 * slope
    linear = (offset * slope / 2 + beta * (1 - 2 * alpha) / scale).sum(axis=2)
    square = (slope**2 / 4 - beta**2 / scale).sum(axis=2)
    flat = np.abs(square) < 1e-12
    return np.where(flat, 0.5, np.clip(-linear / (2 * np.where(flat, 1.0, square)), 0.0, 1.0))


def coordinated_perturbation(records: Records, limit: float, people: int) -> JointErrors | None:
    """Return CoP [Jayawardana, Ding and Thilakarathna 2026]; None if its matrices are too large.

    The budget of every attribute is the largest with the total `independent` within the limit.  A
    random attribute is perturbed, then those of which the reported value tells much, each by a
    matrix for that value, and so on; then a random one of the rest.  A matrix is a linear program:
    the most right reports of uniform values, within the budget, such that the reports are
    distributed nearly as the attribute is given that value (for a random one: uniformly).
    Frequencies are estimated by those of the reports.

    Notes
    -----
    As in the authors' code (github.com/SandaruJayawardana/CoP-artifacts-PETS), of which the part
    that estimates frequencies is missing.  The bias is that of people drawn from the table.
    """
    pairs, sizes = records.pairs(), records.domain.sizes
    children = _children(pairs)
    aims = [np.full(k, 1 / k) for k in sizes] + [aim for *_, aim in children]
    if max(sizes) > MAX_VALUES or sum(len(aim) ** 2 for aim in aims) > MAX_CELLS:
        return None

    def excess(epsilon: float) -> float:
        return float(independent_totals(leakage_matrix(pairs, epsilon))[0].max()) - limit

    epsilon = largest_within(excess, limit)
    slacks = [DISTORTION] * len(sizes) + [DISTORTION / sizes[parent] for parent, *_ in children]
    matrices = optimised_responses(aims, slacks, min(epsilon, MAX_EPSILON))
    if not matrices:
        return None
    given: Given = {}
    for (parent, value, child, _), matrix in zip(children, matrices[len(sizes) :], strict=True):
        given.setdefault((parent, value), {})[child] = matrix
    rng = np.random.default_rng(0)
    codes = records.sample(SIMULATED_PEOPLE, rng).astype(np.int64)
    reports = perturb_jointly(codes, matrices[: len(sizes)], given, rng)
    errors, biases = list[float](), list[float]()
    for column, marginal in zip(reports.T, pairs.marginals, strict=True):
        g = np.bincount(column, minlength=len(marginal)) / len(column)
        variance = float((g * (1 - g)).sum())
        squares = float(((g - marginal / pairs.records) ** 2).sum())
        biases.append(max(0.0, squares - variance / len(column)))
        errors.append(biases[-1] + variance / people)
    return JointErrors(epsilon, errors, biases)


def _children(pairs: PairCounts) -> list[tuple[int, int, int, Floats]]:
    """Return (parent, its value, child, P(child given value)), the most informative child first.

    Probabilities are the authors': one more in every cell of a table, cells below 3 set to 0.
    """
    found = []
    for parent, child in permutations(range(len(pairs.domain)), 2):
        table = pairs.table(parent, child) + 1.0
        table[table < 3] = 0.0
        rows = np.maximum(table.sum(axis=1, keepdims=True), 1.0)
        chances = table / rows
        shares = np.maximum(table.sum(axis=0), 1.0) / max(1.0, table.sum())
        largest = (chances / shares).max(axis=1)
        found += [
            (-largest[value], parent, value, child, chances[value])
            for value in np.flatnonzero(largest > 2**LEAST_INFORMATION).tolist()
        ]
    return [one[1:] for one in sorted(found, key=lambda one: one[:4])]


def optimised_responses(
    aims: Sequence[Floats], slacks: Sequence[float], epsilon: float
) -> list[Floats]:
    """Return the matrix P(report given value) of each aim, from one linear program for all.

    None at all if the solver fails.

    Examples
    --------
    >>> [matrix] = optimised_responses([np.full(3, 1 / 3)], [0.1], 1.0)
    >>> matrix.diagonal().round(4).tolist()
    [0.5761, 0.5761, 0.5761]
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_diag

    programs = {k: _program(k, epsilon) for k in {len(aim) for aim in aims}}
    rows = [np.zeros(len(aim) * (len(aim) - 1)) for aim in aims]
    parts = zip(rows, aims, slacks, strict=True)
    solved = linprog(
        np.concatenate([-np.eye(len(aim)).ravel() for aim in aims]),
        A_ub=block_diag([programs[len(aim)][0] for aim in aims], format="csr"),
        b_ub=np.concatenate([[*row, *row, *(aim + s), *(s - aim)] for row, aim, s in parts]),
        A_eq=block_diag([programs[len(aim)][1] for aim in aims], format="csr"),
        b_eq=np.ones(sum(map(len, aims))),
        bounds=(LEAST_CHANCE, 1.0),
        method="highs",
    )
    if solved.x is None:
        return []
    ends = np.cumsum([len(aim) ** 2 for aim in aims])[:-1]
    cells = zip(np.split(np.asarray(solved.x), ends), aims, strict=True)
    matrices = [part.reshape(len(aim), -1) for part, aim in cells]
    return [matrix / matrix.sum(axis=1, keepdims=True) for matrix in matrices]


def _program(k: int, epsilon: float) -> tuple[Any, Any]:
    """Return the inequalities of a k x k matrix X and its sums of rows, as sparse matrices.

    X[i, i] <= e^eps X[j, i] and X[j, i] <= X[i, i] for j != i, and mean over j of X[j, i] between
    two limits, as two rows for each i.
    """
    from scipy.sparse import csr_array, eye_array, kron, vstack

    j, i = (part[~np.eye(k, dtype=np.bool_)] for part in np.indices((k, k)))
    each, ones = eye_array(k * k, format="csr"), csr_array(np.ones((1, k)))
    diagonal, other = each[i * (k + 1)], each[j * k + i]
    mean = kron(ones, eye_array(k)) / k
    unequal = [diagonal - np.exp(epsilon) * other, other - diagonal, mean, -mean]
    return vstack(unequal, format="csr"), kron(eye_array(k), ones, format="csr")


def perturb_jointly(
    codes: Integers, alone: Sequence[Floats], given: Given, rng: np.random.Generator
) -> Integers:
    """Return a report of each answer, by breadth-first search from random attributes.

    Parameters
    ----------
    codes
        The answers, one row per person.
    alone
        The matrix of each attribute that is reached from no other.
    given
        The matrices of the children of an attribute that reported a value, in their order.
    rng
        The random generator.
    """
    everyone, queue = np.arange(len(codes)), np.empty_like(codes)
    reports, queued = np.full_like(codes, -1), np.zeros(len(codes), dtype=np.int64)
    order = rng.permuted(np.tile(np.arange(codes.shape[1]), (len(codes), 1)), axis=1)

    def draw(people: Integers, attribute: int, matrix: Floats) -> None:
        chances = matrix[codes[people, attribute]].cumsum(axis=1)[:, :-1]
        reports[people, attribute] = (rng.random((len(people), 1)) >= chances).sum(axis=1)
        queue[people, queued[people]] = attribute
        queued[people] += 1

    for step in range(codes.shape[1]):
        unseen = np.take_along_axis(reports < 0, order, axis=1).argmax(axis=1)
        root = np.where(queued == step, order[everyone, unseen], -1)
        for attribute, matrix in enumerate(alone):
            draw(np.flatnonzero(root == attribute), attribute, matrix)
        reached, value = queue[:, step], reports[everyone, queue[:, step]]
        for (parent, reported), matrices in given.items():
            people = np.flatnonzero((reached == parent) & (value == reported))
            for child, matrix in matrices.items():
                draw(people[reports[people, child] < 0], child, matrix)
    return reports
