"""The truth that tests compare with: slow, plain, and written without the package.

* `algorithm_1` and `algorithm_2` are the paper's two listings, line by line;
* `best_ratio` tries every set in exact fractions, `exact_ratio` every report;
* `leakage` and `exact` turn them into nats with some sixty correct digits;
* `certified_relaxation` is a linear program;
* `bit_matrix` lists the reports of a unary encoding.

Floats are taken as the rationals they are, so nothing is rounded before the last
logarithm.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
from scipy.optimize import linprog

DIGITS = 60

Matrix = Sequence[Sequence[float]]
Exact = list[list[Fraction]]
Sets = Callable[[int], Iterable[tuple[int, ...]]]


# The paper's listings -----------------------------------------------------------------


def algorithm_1(conditional: Matrix, transition: Matrix) -> float:
    """Algorithm 1 of the paper as printed, with a row of the transition matrix as C.

    The equation it refers to takes the column of one output; the two agree where the
    matrix is symmetric, as it is for GRR and EXP.
    """
    leakage = 0.0
    for source_value in range(len(transition)):
        c = transition[source_value]
        for x, x_prime in permutations(range(len(conditional)), 2):
            g = conditional[x]
            g_prime = conditional[x_prime]
            above = sum(c[i] * g[i] for i in range(len(c)))
            below = sum(c[i] * g_prime[i] for i in range(len(c)))
            leakage = max(leakage, math.log(above / below))
    return leakage


def algorithm_2(
    conditional: Matrix, epsilon: float, delta: float = 0.0
) -> tuple[float, float]:
    """Algorithm 2 of the paper as printed: the leakage bound and its relaxation f*.

    A ratio with zero below counts as infinite, one of zero by zero as zero.
    """
    leakage = 0.0
    relaxation = 0.0
    for x, x_prime in permutations(range(len(conditional)), 2):
        g = conditional[x]
        g_prime = conditional[x_prime]
        ratios = [
            (
                g[i] / g_prime[i] if g_prime[i] else (math.inf if g[i] else 0.0),
                g[i],
                g_prime[i],
            )
            for i in range(len(g))
        ]
        ratios.sort(key=lambda item: item[0], reverse=True)
        a = 0.0
        b = 0.0
        for q, element, element_prime in ratios:
            if q >= (1 + a * (math.exp(epsilon) - 1)) / (
                1 + b * (math.exp(epsilon) - 1)
            ):
                a = a + element
                b = b + element_prime
        h = (1 + a * (math.exp(epsilon) - 1)) / (1 + b * (math.exp(epsilon) - 1))
        f = delta * a
        if leakage < math.log(h):
            leakage = math.log(h)
            relaxation = f
    return leakage, relaxation


# Which inputs a report can make likely ------------------------------------------------


def singletons(size: int) -> Iterable[tuple[int, ...]]:
    return ((value,) for value in range(size))


def every_subset(size: int) -> Iterable[tuple[int, ...]]:
    return (
        chosen
        for count in range(size + 1)
        for chosen in combinations(range(size), count)
    )


def subsets_of(count: int) -> Sets:
    return lambda size: combinations(range(size), count)


# Exact values -------------------------------------------------------------------------


def exactly(matrix: Matrix) -> Exact:
    """Return the rationals that the floats (or fractions) of a matrix are."""
    return [[Fraction(cell) for cell in row] for row in np.asarray(matrix).tolist()]


def growth(epsilon: float) -> Fraction:
    """Return lambda = e^epsilon - 1 to sixty digits."""
    with localcontext() as context:
        context.prec = 2 * DIGITS
        number = Decimal(epsilon)
        if number < Decimal("1e-20"):
            return Fraction(number + number**2 / 2 + number**3 / 6 + number**4 / 24)
        return Fraction(number.exp() - 1)


def best_ratio(channel: Exact, lam: Fraction, sets: Sets) -> Fraction:
    """Return max over x, x', S of (1 + lam G_x(S)) / (1 + lam G_x'(S)), less 1."""
    whole = math.lcm(*(cell.denominator for row in channel for cell in row))
    rows = [[int(cell * whole) for cell in row] for row in channel]
    best = 0
    base = 1
    for chosen in sets(len(channel[0])):
        sums = [sum(row[u] for u in chosen) for row in rows]
        gain = lam.numerator * (max(sums) - min(sums))
        below = lam.denominator * whole + lam.numerator * min(sums)
        if gain * base > best * below:
            best = gain
            base = below
    return Fraction(best, base)


def ratio_of(
    row: Sequence[Fraction], other: Sequence[Fraction], lam: Fraction
) -> Fraction:
    """Return (1 + lam A) / (1 + lam B), less 1, where A and B are the sums of two
    rows.
    """
    return lam * (sum(row) - sum(other)) / (1 + lam * sum(other))


def exact_ratio(channel: Exact, transition: Exact) -> Fraction | None:
    """Return max over y, x, x' of W[x,y] / W[x',y], less 1; None where it is
    infinite.
    """
    best = Fraction(0)
    for y in range(len(transition[0])):
        seen = [
            sum((g * c[y] for g, c in zip(row, transition, strict=True)), Fraction(0))
            for row in channel
        ]
        if max(seen) > 0 and min(seen) == 0:
            return None
        if max(seen) > 0:
            best = max(best, (max(seen) - min(seen)) / min(seen))
    return best


def log1p(value: Fraction) -> Decimal:
    """Return ln(1 + value) to sixty digits."""
    with localcontext() as context:
        context.prec = 2 * DIGITS
        number = Decimal(value.numerator) / Decimal(value.denominator)
        if abs(number) < Decimal("1e-20"):
            return number - number**2 / 2 + number**3 / 3 - number**4 / 4
        return (1 + number).ln()


def leakage(channel: Matrix, epsilon: float, sets: Sets = every_subset) -> Decimal:
    """Return the leakage in nats of a two-level report with these likely sets."""
    return log1p(best_ratio(exactly(channel), growth(epsilon), sets))


def exact(channel: Matrix, transition: Matrix) -> Decimal:
    """Return the leakage in nats of a mechanism with this transition matrix."""
    found = exact_ratio(exactly(channel), exactly(transition))
    return Decimal("Infinity") if found is None else log1p(found)


def saturation(channel: Matrix) -> Decimal:
    """Return ln max over u, x, x' of G[x,u] / G[x',u]."""
    rows = exactly(channel)
    identity = [
        [Fraction(int(i == j)) for j in range(len(rows[0]))]
        for i in range(len(rows[0]))
    ]
    found = exact_ratio(rows, identity)
    return Decimal("Infinity") if found is None else log1p(found)


def bit_matrix(k: int, p: float, q: float) -> np.ndarray:
    """Return P(bits given value) of a unary encoding, one column for each of the 2^k
    reports.
    """
    return np.array(
        [
            [
                math.prod(
                    (p if i == value else q) if bit else 1 - (p if i == value else q)
                    for i, bit in enumerate(bits)
                )
                for bits in product((0, 1), repeat=k)
            ]
            for value in range(k)
        ]
    )


# Linear program -----------------------------------------------------------------------


def certified_relaxation(
    channel: Matrix, value: float, epsilon: float, delta: float
) -> float:
    """Return the largest delta' that an (epsilon, delta)-LDP mechanism can force at
    this value.

    For two target values: maximise sum_u (G[x,u] - e^value G[x',u]) c_u over the
    probabilities c_u of one set of reports, with c_u <= e^epsilon c_v + delta and the
    same for its complement.
    """
    matrix = np.asarray(channel, dtype=float)
    identity = np.eye(matrix.shape[1])
    rules = []
    limits = []
    for u, v in permutations(range(matrix.shape[1]), 2):
        rules += [identity[u] - math.exp(epsilon) * identity[v]]
        rules += [math.exp(epsilon) * identity[v] - identity[u]]
        limits += [delta, math.expm1(epsilon) + delta]
    best = 0.0
    for x, x_prime in permutations(range(len(matrix)), 2):
        weights = matrix[x] - math.exp(value) * matrix[x_prime]
        scale = np.abs(weights).max()
        if scale > 0 and rules:
            found = linprog(-weights / scale, A_ub=rules, b_ub=limits, bounds=(0, 1))
            best = max(best, -float(found.fun or 0.0) * scale)
    return best
