"""Counting: against copying the bytes, group-bys, bincount, and PyArrow's decoding
alone.
"""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray

import seepage as sp
from benchmarks import Figure, at_least, at_most, best_of, count_codes, seconds
from seepage.channel.domain import Attribute, Domain

BINARY_ROWS = 10_000_000
BINARY_SIZES = (2,) * 40
MIXED_ROWS, MIXED_SIZES = 5_000_000, tuple(int(k) for k in np.linspace(2, 40, 27))
SAMPLED_PAIRS = 13
"""Group-bys and bincount are timed on this many pairs; the time for all is in
proportion."""

Codes = list[NDArray[np.uint8]]


def main() -> list[Figure]:
    """Measure counting in memory and from Parquet."""
    return [*_binary(), *_mixed()]


def _binary() -> Iterator[Figure]:
    codes, domain = _random_codes(BINARY_ROWS, BINARY_SIZES), _domain(BINARY_SIZES)
    what = f"all pairs of {BINARY_ROWS // 10**6}M x {len(codes)} binary"
    count_codes(codes, domain)  # compiles or loads the kernel
    copies = [np.zeros_like(column) for column in codes]
    best = best_of(
        {
            "count": lambda: count_codes(codes, domain),
            "copy": lambda: _copy(codes, copies),
        }
    )
    yield at_most(
        f"{what}, in memory", best["count"], "copying the bytes", best["copy"], 6
    )
    yield _beside(
        f"{what}, in memory", best["count"], "bincount", _bincounts(codes, BINARY_SIZES)
    )
    table = pa.table(
        {f"a{i}": pa.array(column.view(np.int8)) for i, column in enumerate(codes)}
    )
    yield _from_parquet(f"{what}, int8 in Parquet", table, count_codes(codes, domain))


def _mixed() -> Iterator[Figure]:
    codes, domain = _random_codes(MIXED_ROWS, MIXED_SIZES), _domain(MIXED_SIZES)
    what = f"all pairs of {MIXED_ROWS // 10**6}M x {len(codes)}, 2 to 40 values"
    count = best_of({"count": lambda: count_codes(codes, domain)})["count"]
    peer = f"Polars group-bys ({SAMPLED_PAIRS} pairs timed)"
    yield at_least(f"{what}, in memory", count, peer, _group_bys(codes), 10)
    yield _beside(
        f"{what}, in memory", count, "bincount", _bincounts(codes, MIXED_SIZES)
    )
    columns = {
        attribute.name: pa.DictionaryArray.from_arrays(
            column.view(np.int8), attribute.values
        )
        for attribute, column in zip(domain, codes, strict=True)
    }
    yield _from_parquet(
        f"{what}, text in Parquet", pa.table(columns), count_codes(codes, domain)
    )


def _copy(codes: Codes, copies: Codes) -> None:
    for source, place in zip(codes, copies, strict=True):
        np.copyto(place, source)


def _random_codes(rows: int, sizes: tuple[int, ...]) -> Codes:
    generator = np.random.default_rng(1)
    return [generator.integers(0, size, rows, dtype=np.uint8) for size in sizes]


def _domain(sizes: tuple[int, ...]) -> Domain:
    return Domain(
        Attribute(f"a{i}", tuple(f"value {v:02}" for v in range(size)))
        for i, size in enumerate(sizes)
    )


def _group_bys(codes: Codes) -> float:
    frame = pl.DataFrame({f"a{i}": column for i, column in enumerate(codes)})
    return _time_of_all(codes, lambda a, b: frame.group_by(f"a{a}", f"a{b}").len())


def _bincounts(codes: Codes, sizes: tuple[int, ...]) -> float:
    def bincount(a: int, b: int) -> NDArray[np.intp]:
        joint = codes[a] * np.intp(sizes[b]) + codes[b]
        return np.bincount(joint, minlength=sizes[a] * sizes[b])

    return _time_of_all(codes, bincount)


def _time_of_all(codes: Codes, count: Callable[[int, int], object]) -> float:
    """Return the time for all pairs, in proportion to that of an even sample of
    them.
    """
    pairs = list(combinations(range(len(codes)), 2))
    sample = pairs[:: len(pairs) // SAMPLED_PAIRS][:SAMPLED_PAIRS]
    best = best_of({str(pair): partial(count, *pair) for pair in sample}, repeats=2)
    return sum(best.values()) / len(sample) * len(pairs)


def _beside(what: str, ours: float, peer: str, theirs: float) -> Figure:
    """Return a figure that has no target, for a peer of which a sample was timed."""
    against = f"{peer} ({SAMPLED_PAIRS} pairs timed) {seconds(theirs)}"
    return Figure(what, seconds(ours), against, f"{theirs / ours:,.0f} x faster")


def _from_parquet(what: str, table: pa.Table, expected: sp.PairCounts) -> Figure:
    """Count a table from Parquet beside PyArrow's quicker way of decoding it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        pq.write_table(table, path)
        assert np.array_equal(sp.count_pairs(path).counts, expected.counts)
        best = best_of(
            {
                "count": lambda: sp.count_pairs(path),
                "batches": lambda: sum(
                    b.num_rows for b in ds.dataset(path).to_batches()
                ),
                "table": lambda: pq.read_table(path),
            },
            repeats=3,
        )
    decode = min(best["batches"], best["table"])
    return at_most(what, best["count"], "PyArrow decoding alone", decode, 2)
