"""Distinct and sampled records: the same however a table is cut, joined or thinned."""

from itertools import pairwise

import numpy as np
import pytest

from seepage.counting import record_samples as module
from seepage.counting.distinct_records import DistinctRecords, RecordSample, runs

SIZES = (3, 4, 2)
RNG = np.random.default_rng(5)
CODES = [RNG.integers(0, size, 900).astype(np.uint8) for size in SIZES]
CUTS = [0, 1, 40, 41, 300, 650, 900]


def gathered(make, cuts):
    """Return what is gathered of the table in these pieces, the last two in another
    part.
    """
    whole = make()
    other = make()
    for place, (begin, end) in enumerate(pairwise(cuts)):
        part = other if place >= len(cuts) - 3 else whole
        part.add([column[begin:end] for column in CODES], SIZES, begin, None)
    whole.merge(other)
    return whole


def as_dict(gathering):
    columns, weights = gathering.rows()
    return dict(zip(map(tuple, columns.T.tolist()), weights.tolist(), strict=True))


@pytest.mark.parametrize("fewest", [0, 1 << 18])
def test_distinct_records_for_any_buffer_size(monkeypatch, fewest):
    monkeypatch.setattr(module, "MIN_BUFFER", fewest)
    found = gathered(DistinctRecords, CUTS)
    records, counts = np.unique(np.stack(CODES), axis=1, return_counts=True)
    assert as_dict(found) == dict(
        zip(map(tuple, records.T.tolist()), counts.tolist(), strict=True)
    )
    assert found.seen == 900


@pytest.mark.parametrize("size", [1, 7, 60])
def test_a_sample_is_the_same_for_any_buffer_size(monkeypatch, size):
    whole = RecordSample(size, seed=3)
    whole.add(CODES, SIZES, 0, None)
    monkeypatch.setattr(module, "MIN_BUFFER", 0)
    for cuts in (CUTS, list(range(0, 901, 20))):
        found = gathered(lambda: RecordSample(size, seed=3), cuts)
        assert as_dict(found) == as_dict(whole)
        assert sum(as_dict(found).values()) == size
        assert found.seen == whole.seen == 900


def test_dropped_records_keep_their_index():
    """A priority belongs to the record's number in the table, whether others are left
    out.
    """
    kept = np.arange(900) % 3 > 0
    one = RecordSample(20, seed=3)
    two = RecordSample(20, seed=3)
    one.add([column[kept] for column in CODES], SIZES, 0, kept)
    for begin in range(0, 900, 100):
        part = slice(begin, begin + 100)
        two.add(
            [column[part][kept[part]] for column in CODES], SIZES, begin, kept[part]
        )
    assert as_dict(one) == as_dict(two)
    assert one.seen == two.seen == 600


def test_records_of_several_words_are_sorted_by_the_first():
    words = [np.array(word, dtype=np.uint64) for word in ([2, 1, 1, 2], [0, 9, 5, 0])]
    order, starts = runs(words)
    assert order[:2].tolist() == [2, 1]
    assert starts.tolist() == [True, True, True, False]
