"""What the contract tests share: the registry, every report of a small alphabet, comparisons."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from seepage.errors import InputError
from seepage.mechanisms import mechanism, registered
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.direct import true_probability
from seepage.mechanisms.exact_draws import CERTAIN
from seepage.mechanisms.reports import BitReports, HashReports, Reports, ValueReports
from seepage.mechanisms.transition_matrix import MatrixMechanism

MATRIX = "matrix"
NAMES = [*sorted(registered()), MATRIX]
PURE = [name for name in sorted(registered()) if not registered()[name].approximate]
EPSILONS = [0.0, 1e-12, 1e-3, 1.0, 5.0, 50.0, 700.0]
DELTA = 1e-3

PLAUSIBLE, IMPOSSIBLE = 1e-4, 1e-6
"""A true claim must be more likely than the first, a false one less likely than the second."""

every_mechanism = pytest.mark.parametrize("name", NAMES)
every_registered = pytest.mark.parametrize("name", NAMES[:-1])


def make(name: str, k: int, epsilon: float, delta: float = DELTA) -> Mechanism:
    """A registered mechanism, or GRR as a matrix each of whose outputs is split in two."""
    if name == MATRIX:
        return MatrixMechanism.from_thresholds(split_thresholds(k, epsilon).reshape(k, 2 * k))
    return mechanism(name, k, epsilon, delta if registered()[name].approximate else 0.0)


def split_thresholds(k: int, epsilon: float) -> np.ndarray:
    other = math.ceil(CERTAIN // 2 * (1 - true_probability(k, epsilon)) / max(1, k - 1))
    thresholds = np.full((k, k, 2), other, dtype=object)
    thresholds[np.arange(k), np.arange(k)] = CERTAIN // 2 - other * (k - 1)
    return np.tile(thresholds[0], (k, 1, 1)) if epsilon == 0 else thresholds


def accepted(tested: Mechanism, candidates: Reports) -> Reports:
    """Return the candidates that the mechanism accepts as its reports."""
    kept = np.ones(len(candidates), dtype=bool)
    for row in range(len(candidates)):
        try:
            tested.log_likelihood(candidates[row : row + 1])
        except InputError:
            kept[row] = False
    return candidates[kept]


def every_report(tested: Mechanism, seeds: int) -> list[Reports]:
    """Groups of reports, each complete: one of the group is drawn, whatever the value.

    Reports of local hashing are complete for each seed, of which some are taken.
    """
    origin, k = tested.describe(), tested.k
    if tested.reports is ValueReports:
        outputs = tested.channel().shape[1]
        return [accepted(tested, ValueReports(origin, np.arange(outputs, dtype=np.uint8)))]
    if tested.reports is BitReports:
        sets = np.array(list(itertools.product([False, True], repeat=k)))
        return [accepted(tested, BitReports(origin, BitReports.pack(sets)))]
    if tested.reports is HashReports:
        tried = HashReports(origin, np.zeros(64, np.uint64), np.arange(64, dtype=np.uint8))
        buckets = accepted(tested, tried).buckets
        drawn = np.random.default_rng(1).integers(2**63, size=seeds, dtype=np.uint64)
        return [HashReports(origin, np.full(len(buckets), seed), buckets) for seed in drawn]
    pytest.fail(f"there is no enumeration of {tested.reports.__name__}")


def likelihoods(tested: Mechanism, reports: Reports) -> np.ndarray:
    """P(report given value), one row a report."""
    return np.exp(tested.log_likelihood(reports))


def told(tested: Mechanism, reports: Reports, channel: np.ndarray) -> np.ndarray:
    """What each report tells about the target: ln of the largest ratio between its values."""
    logarithms = tested.log_likelihood(reports)
    rows = channel @ np.exp(logarithms - logarithms.max(axis=1, keepdims=True)).T
    return np.log(rows.max(axis=0) / rows.min(axis=0))


def same(first: Reports, second: Reports) -> bool:
    fields = [field.name for field in dataclasses.fields(first) if field.name != "origin"]
    return dict(first.origin) == dict(second.origin) and all(
        np.array_equal(getattr(first, field), getattr(second, field)) for field in fields
    )
