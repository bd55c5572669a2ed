"""What the contract tests share: the registry, every report of a small alphabet, comparisons."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from seepage.errors import InputError
from seepage.mechanisms import Mechanism, mechanism, registered
from seepage.mechanisms.reports import BitReports, HashReports, Reports, ValueReports

NAMES = sorted(registered())
PURE = [name for name in NAMES if not registered()[name].approximate]
EPSILONS = [0.0, 1e-12, 1e-3, 1.0, 5.0, 50.0, 700.0]
DELTA = 1e-3

PLAUSIBLE, IMPOSSIBLE = 1e-4, 1e-6
"""A true claim must be more likely than the first, a false one less likely than the second."""

every_mechanism = pytest.mark.parametrize("name", NAMES)


def make(name: str, k: int, epsilon: float, delta: float = DELTA) -> Mechanism:
    return mechanism(name, k, epsilon, delta if registered()[name].approximate else 0.0)


def accepted(tested: Mechanism, candidates: Reports) -> list[Reports]:
    """Those candidates that the mechanism does not refuse as reports of its own."""
    kept = []
    for row in range(len(candidates)):
        try:
            tested.log_likelihood(candidates[row : row + 1])
        except InputError:
            continue
        kept.append(candidates[row : row + 1])
    return kept


def every_report(tested: Mechanism, seeds: int) -> list[list[Reports]]:
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
        buckets = np.arange(64, dtype=np.uint8)
        drawn = np.random.default_rng(1).integers(2**63, size=seeds, dtype=np.uint64)
        groups = (HashReports(origin, np.full(64, seed), buckets) for seed in drawn)
        return [accepted(tested, group) for group in groups]
    pytest.fail(f"there is no enumeration of {tested.reports.__name__}")


def likelihoods(tested: Mechanism, group: list[Reports]) -> np.ndarray:
    """P(report given value), one row a report."""
    return np.exp(np.concatenate([tested.log_likelihood(report) for report in group]))


def told(tested: Mechanism, report: Reports, channel: np.ndarray) -> float:
    """What one report tells about the target: ln of the largest ratio between its values."""
    logarithms = tested.log_likelihood(report)[0]
    rows = channel @ np.exp(logarithms - logarithms.max())
    return math.log(rows.max() / rows.min())


def same(first: Reports, second: Reports) -> bool:
    fields = [field.name for field in dataclasses.fields(first) if field.name != "origin"]
    return dict(first.origin) == dict(second.origin) and all(
        np.array_equal(getattr(first, field), getattr(second, field)) for field in fields
    )
