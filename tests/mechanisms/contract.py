"""What the contract tests share: the registry, and comparisons; more is in the package
itself.
"""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seepage.mechanisms.arrow_reports import open_parquet, reports_from_arrow
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.direct import true_probability
from seepage.mechanisms.exact_probabilities import CERTAIN
from seepage.mechanisms.mechanism_registry import mechanism, registered
from seepage.mechanisms.reports import Reports
from seepage.mechanisms.transition_matrix import MatrixMechanism

MATRIX = "matrix"
NAMES = [*sorted(registered()), MATRIX]
PURE = [name for name in sorted(registered()) if not registered()[name].approximate]
EPSILONS = [0.0, 1e-12, 1e-3, 1.0, 5.0, 50.0, 700.0]
DELTA = 1e-3

PLAUSIBLE = 1e-4
IMPOSSIBLE = 1e-6
"""A true claim must be more likely than the first, a false one less likely than the
second."""

OTHER_BUDGETS = {"basic-rappor": (0.25, 4.0), "hadamard": (0.6, 1.5)}
"""Factors of the budgets that tests tell apart, of mechanisms whose guesses depend on
it less."""

every_mechanism = pytest.mark.parametrize("name", NAMES)
every_registered = pytest.mark.parametrize("name", NAMES[:-1])


def make(name: str, k: int, epsilon: float, delta: float = DELTA) -> Mechanism:
    """A registered mechanism, or GRR as a matrix each of whose outputs is split in
    two.
    """
    if name == MATRIX:
        return MatrixMechanism.from_thresholds(
            split_thresholds(k, epsilon).reshape(k, 2 * k)
        )
    return mechanism(name, k, epsilon, delta if registered()[name].approximate else 0.0)


def other_budgets(name: str) -> tuple[float, float]:
    return OTHER_BUDGETS.get(name, (0.7, 1.3))


def split_thresholds(k: int, epsilon: float) -> np.ndarray:
    other = math.ceil(CERTAIN // 2 * (1 - true_probability(k, epsilon)) / max(1, k - 1))
    thresholds = np.full((k, k, 2), other, dtype=object)
    thresholds[np.arange(k), np.arange(k)] = CERTAIN // 2 - other * (k - 1)
    return np.tile(thresholds[0], (k, 1, 1)) if epsilon == 0 else thresholds


def likelihoods(tested: Mechanism, reports: Reports) -> np.ndarray:
    """P(report given value), one row a report."""
    return np.exp(tested.log_likelihood(reports))


def write(reports: Reports, path: Path) -> None:
    """Write a Parquet file with the one column `report`."""
    field = reports.field("report")
    pq.write_table(
        pa.table([reports.array()], schema=pa.schema([field])),
        path,
        write_page_checksum=True,
    )


def read(path: Path) -> Reports:
    with open_parquet(path) as parquet:
        table = parquet.read()
        return reports_from_arrow(table.column(0), table.schema.field(0))


def same(first: Reports, second: Reports) -> bool:
    fields = [
        field.name for field in dataclasses.fields(first) if field.name != "origin"
    ]
    return dict(first.origin) == dict(second.origin) and all(
        np.array_equal(getattr(first, field), getattr(second, field))
        for field in fields
    )
