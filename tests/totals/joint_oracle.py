"""Totals by full enumeration of reports, written without the package's totals."""

import itertools
import math

import numpy as np
from hypothesis import strategies as st

from seepage.channel.domain import Domain
from seepage.channel.records import Records
from seepage.mechanisms.reports import BitReports
from strategies import attribute


def domain_of(sizes):
    return Domain(attribute(f"a{i}", size) for i, size in enumerate(sizes))


def tuples_of(joint):
    return Records.from_joint(domain_of(joint.shape), joint)


@st.composite
def joints(draw, most=4, size=4):
    """Draw a joint table of counts with at least one record; zero cells are common."""
    sizes = draw(st.lists(st.integers(1, size), min_size=1, max_size=most))
    cells = math.prod(sizes)
    counts = draw(
        st.lists(st.sampled_from([0, 0, 1, 2, 7, 50]), min_size=cells, max_size=cells)
    )
    counts[draw(st.integers(0, cells - 1))] += 1
    return np.array(counts).reshape(sizes)


def two_level_columns(size, kind, contrast, likely=1):
    """Return every column that favours some values: 1 for them, e^-contrast for the
    others.
    """
    if size == 1:
        return np.ones((1, 1))
    counts = {"singletons": [1], "subsets": [likely], "all": range(1, size)}[kind]
    sets = [s for count in counts for s in itertools.combinations(range(size), count)]
    return np.array(
        [[1.0 if u in s else math.exp(-contrast) for s in sets] for u in range(size)]
    )


def report_matrix(mechanism):
    """Return P(report given value) with one column a report, enumerating bit
    reports.
    """
    if mechanism.reports is not BitReports:
        return mechanism.channel()
    bits = np.array(list(itertools.product([False, True], repeat=mechanism.k)))
    if mechanism.likely_sets.kind != "all":
        bits = bits[bits.sum(axis=1) == mechanism.likely_sets.size]
    reports = BitReports(mechanism.describe(), BitReports.pack(bits))
    with np.errstate(divide="ignore"):
        return np.exp(mechanism.log_likelihood(reports)).T


def report_laws(joint, matrices, target):
    """Return p(y given x) for every value x of the target that occurs, reports y as
    columns.
    """
    table = joint.astype(float)
    laws = []
    for x in np.flatnonzero(_marginal(joint, target)):
        law = np.take(table, x, axis=target) / _marginal(joint, target)[x]
        others = [m for axis, m in enumerate(matrices) if axis != target]
        for matrix in others:
            law = np.tensordot(law, matrix, axes=(0, 0))
        laws.append(np.multiply.outer(law, matrices[target][x]).ravel())
    return np.array(laws)


def _marginal(joint, axis):
    return joint.sum(axis=tuple(a for a in range(joint.ndim) if a != axis))


def exact_total(joint, matrices, target):
    """Return ln sup over y, x, x' of p(y given x) / p(y given x')."""
    laws = report_laws(joint, matrices, target)
    high = laws.max(axis=0)
    low = laws.min(axis=0)
    possible = high > 0
    with np.errstate(divide="ignore"):
        return float(np.log(high[possible] / low[possible]).max())


def hockey_stick(laws, value):
    """Return the largest sum over y of (p(y given x) - e^value p(y given x'))+."""
    gaps = [
        np.maximum(first - math.exp(value) * second, 0.0).sum()
        for first, second in itertools.permutations(laws, 2)
    ]
    return max(gaps, default=0.0)


def smallest_value(laws, delta):
    """Return the smallest L with hockey stick at most delta."""
    low = 0.0
    high = 60.0
    if hockey_stick(laws, low) <= delta:
        return 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (
            (low, middle) if hockey_stick(laws, middle) <= delta else (middle, high)
        )
    return high


def xor(weight=1):
    """Two fair coins and whether they differ."""
    joint = np.zeros((2, 2, 2), dtype=np.int64)
    for a, b in itertools.product(range(2), repeat=2):
        joint[a, b, a ^ b] = weight
    return joint


def tree_joint(rng, sizes, parents, most=6):
    """Return integers proportional to a joint that follows a tree.

    `parents[i]` is the parent of attribute i, an earlier one; None for a root.  Each
    conditional is a table of small integers, and every row is scaled to the same sum.
    """
    joint = np.ones((1,) * len(sizes), dtype=object)
    for node, size in enumerate(sizes):
        parent = parents[node]
        rows = 1 if parent is None else sizes[parent]
        table = rng.integers(0, most, (rows, size)).astype(object)
        table[np.arange(rows), rng.integers(0, size, rows)] += 1
        sums = table.sum(axis=1)
        table = table * (math.lcm(*sums) // sums)[:, None]
        shape = [1] * len(sizes)
        shape[node] = size
        if parent is not None:
            shape[parent] = rows
        joint = joint * table.reshape(shape)
    divisor = math.gcd(*joint.ravel().tolist())
    return (joint // divisor).astype(np.int64)
