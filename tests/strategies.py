"""Tables of counts that Hypothesis draws, and the channels they stand for."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

import oracles
from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import PairCounts
from seepage.mechanisms.transition_matrix import MatrixMechanism

EPSILONS = [0.0, 1e-12, 1e-3, 0.5, 1.0, 3.0, 10.0, 50.0, 690.0, 700.0, 800.0]
UNIT = 2.0**-53

epsilons = st.sampled_from(EPSILONS) | st.floats(1e-200, 20.0)


@st.composite
def tables(draw, least=1, targets=4, sources=6):
    """Draw counts, target values by source values, every row with at least one record.

    Small counts give zero cells and ties; wide ones rare values; one row repeated with
    a little noise gives attributes that are all but independent.
    """
    shape = draw(st.integers(least, targets)), draw(st.integers(1, sources))
    kind = draw(st.sampled_from(["few", "many", "wide", "nearly independent"]))
    cells = {
        "few": st.integers(0, 3),
        "many": st.integers(1, 1000),
        "wide": st.integers(0, 40).map(lambda power: 2**power // 3),
        "nearly independent": st.integers(0, 2),
    }[kind]
    rows = [[draw(cells) for _ in range(shape[1])] for _ in range(shape[0])]
    if kind == "nearly independent":
        shared = [draw(st.integers(1, 1000)) for _ in range(shape[1])]
        rows = [
            [10**6 * u + c for u, c in zip(shared, row, strict=True)] for row in rows
        ]
    counts = np.array(rows, dtype=np.int64)
    counts[counts.sum(axis=1) == 0, 0] = 1
    return counts


def shares(counts):
    """Return the channel of a table twice: in exact fractions, and rounded to
    floats.
    """
    exact = [[Fraction(int(cell), int(row.sum())) for cell in row] for row in counts]
    return exact, counts / counts.sum(axis=1, keepdims=True)


def just_above(value, truth, epsilon, roundings=32):
    """Say whether a value is not below the truth, and within 1e-12 of it but for cell
    roundings.

    A cell of a channel is itself rounded; each rounding of a cell moves a log-ratio by
    up to (1 - exp(-epsilon)) units.
    """
    with localcontext() as context:
        context.prec = oracles.DIGITS
        above = Decimal(float(value)) - truth
        most = truth * Decimal("1e-12") + Decimal(
            -np.expm1(-epsilon) * roundings * UNIT
        )
        return -truth * Decimal("1e-40") <= above <= most


def exponential(utility, epsilon):
    """Return the exponential mechanism of a utility, values by outputs [paper, Appendix
    A].
    """
    scores = np.asarray(utility, dtype=np.float64)
    sensitivity = np.ptp(scores, axis=0).max() or 1.0
    weights = np.exp(epsilon * (scores - scores.max()) / (2 * sensitivity))
    return MatrixMechanism(
        weights / weights.sum(axis=1, keepdims=True), name="exp-utility"
    )


def attribute(name, size):
    return Attribute(name, tuple(f"{name}{code}" for code in range(size)))


def pair_counts(columns, sizes=None):
    """Return the pair counts of coded columns, by bincount."""
    codes = [np.asarray(column) for column in columns.values()]
    sizes = sizes or [int(column.max()) + 1 for column in codes]
    domain = Domain(
        attribute(name, size) for name, size in zip(columns, sizes, strict=True)
    )
    tables = [
        np.bincount(codes[a] * sizes[b] + codes[b], minlength=sizes[a] * sizes[b])
        for a, b in combinations(range(len(codes)), 2)
    ]
    marginals = [np.bincount(c, minlength=k) for c, k in zip(codes, sizes, strict=True)]
    return PairCounts(
        domain, marginals, np.concatenate([np.zeros(0, dtype=np.int64), *tables])
    )
