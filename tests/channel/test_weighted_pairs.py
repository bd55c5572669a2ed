"""Pair counts of records: sums of weights and the batch kernel by bits of weights
agree.
"""

import numpy as np
import pytest

from seepage.channel import records as module
from seepage.channel.domain import Attribute, Domain
from seepage.channel.records import Records
from strategies import pair_counts


def drawn(sizes, rows, most, seed=1):
    rng = np.random.default_rng(seed)
    domain = Domain(
        [Attribute(f"a{i}", tuple(map(str, range(k)))) for i, k in enumerate(sizes)]
    )
    return Records(
        domain, rng.integers(0, sizes, (rows, len(sizes))), rng.integers(1, most, rows)
    )


@pytest.mark.parametrize("rows", [0, 1, 50])
@pytest.mark.parametrize("sizes", [(3,), (2, 2), (1, 4, 3), (2, 3, 2, 5, 2)])
def test_both_ways_agree_with_people_one_by_one(sizes, rows, monkeypatch):
    found = drawn(sizes, rows, 9)
    people = np.repeat(found.codes, found.weights, axis=0).astype(np.int64)
    truth = pair_counts(
        dict(zip(found.domain.names, people.T, strict=True)), list(sizes)
    ).counts
    assert np.array_equal(found.pairs().counts, truth)
    monkeypatch.setattr(module, "MAX_WEIGHTED", -1)
    assert np.array_equal(drawn(sizes, rows, 9).pairs().counts, truth)


@pytest.mark.parametrize("most", [10**6, 2**53 // 6])
def test_large_weights_are_counted_exactly(most):
    found = drawn((2, 3), 6, most)
    cells = {}
    for row, weight in zip(found.codes.tolist(), found.weights.tolist(), strict=True):
        cells[tuple(row)] = weight
    table = found.pairs().table("a0", "a1")
    assert {cell: int(count) for cell, count in np.ndenumerate(table) if count} == cells
