"""Streams are counted by threads: exactly, in bounded memory, and ending cleanly."""

import signal
import subprocess
import sys
import threading
import time
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bincount_oracle import by_bincount, count_codes, domain_of
from kernels import KERNELS, counted_by
from seepage._core import threads
from seepage._core.errors import DomainError
from seepage.counting import accumulate
from seepage.counting.accumulate import count_batches, count_scan
from seepage.tables.scan import CodedBatch


class Scan:
    """A stand-in for a scan whose values are discovered batch by batch."""

    def __init__(self, batches, orders, domain, restarts=0):
        self.batches = batches
        self.orders = orders
        self.domain = domain
        self.names = domain.names
        self.restarts = restarts
        self.source = SimpleNamespace(rows_total=None)

    def read(self, consume, progress=None):
        for _ in range(self.restarts):
            consume(self._batches(self.batches[:2], None))
        return consume(self._batches(self.batches, progress))

    def _batches(self, parts, progress):
        sizes = (0,) * len(self.names)
        rows = 0
        for codes in parts:
            sizes = tuple(map(max, sizes, (int(column.max()) + 1 for column in codes)))
            yield CodedBatch(codes, sizes, rows, None)
            rows += len(codes[0])
            if progress is not None:
                progress(rows, self.source.rows_total)

    def finish(self):
        return self.domain, self.orders


def discovered_scan(batches=7, rows=400, restarts=0):
    """Return a scan that meets larger codes later, and the counts it must give."""
    generator = np.random.default_rng(4)
    sizes = (2, 35, 300)
    parts = [
        tuple(
            generator.integers(0, max(1, size * (step + 1) // batches), rows).astype(
                np.uint16
            )
            for size in sizes
        )
        for step in range(batches)
    ]
    orders = [generator.permutation(size) for size in sizes]
    domain = domain_of(sizes)
    places = [np.argsort(order) for order in orders]
    columns = zip(*parts, strict=True)
    whole = [place[np.concatenate(c)] for place, c in zip(places, columns, strict=True)]
    return Scan(parts, orders, domain, restarts), by_bincount(whole, domain)


@pytest.mark.parametrize("kernel", KERNELS)
def test_scan_of_growing_alphabets(kernel):
    scan, expected = discovered_scan()
    with counted_by(kernel):
        assert count_scan(scan) == expected


def test_a_second_reading_forgets_what_was_counted():
    scan, expected = discovered_scan(restarts=2)
    assert count_scan(scan) == expected


def test_progress_tells_rows_read():
    scan, _ = discovered_scan(batches=5, rows=10)
    seen = []
    count_scan(scan, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(rows, None) for rows in (10, 20, 30, 40, 50)]


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([1, 2, 3, 40, 300]), min_size=1, max_size=5),
    rows=st.integers(0, 400),
    slices=st.integers(1, 100),
    kernel=st.sampled_from(KERNELS),
)
def test_codes_in_any_slices_equal_bincount(sizes, rows, slices, kernel):
    generator = np.random.default_rng(rows)
    codes = [generator.integers(0, size, rows) for size in sizes]
    domain = domain_of(sizes)
    with counted_by(kernel):
        assert count_codes(codes, domain, slices) == by_bincount(codes, domain)


class DecodingError(Exception):
    pass


def counting_threads():
    return [t.name for t in threading.enumerate() if t.name.startswith("seepage-count")]


@pytest.mark.parametrize("problem", [DecodingError, KeyboardInterrupt])
def test_what_decoding_raises_surfaces_and_ends_the_threads(problem):
    def batches():
        for _ in range(3):
            yield [np.zeros(10, np.uint8)] * 2, (2, 2)
        raise problem("half way")

    with pytest.raises(problem, match="half way"):
        count_batches(batches(), 2)
    assert not counting_threads()


@pytest.mark.parametrize("last", [1, 50])
def test_what_counting_raises_surfaces_as_itself(last):
    def batches():
        for number in range(last):
            yield [np.full(10, 2 * (number == 0), np.uint8)] * 2, (2, 2)

    with pytest.raises(DomainError, match="must be below 2, got 2"):
        count_batches(batches(), 2)
    assert not counting_threads()


def test_few_batches_are_alive_at_a_time(monkeypatch):
    gone = []
    most = 0
    quick_add = accumulate.PairAccumulator.add

    def slow_add(self, *arguments, **options):
        time.sleep(0.002)
        quick_add(self, *arguments, **options)

    monkeypatch.setattr(accumulate.PairAccumulator, "add", slow_add)

    def batches():
        nonlocal most
        for number in range(60):
            column = np.zeros(1000, np.uint8)
            weakref.finalize(column, gone.append, number)
            most = max(most, number + 1 - len(gone))
            yield [column], (1,)

    assert count_batches(batches(), 1).rows == 60_000
    assert len(gone) == 60
    assert most <= 2 * threads.usable_cores() + accumulate.DECODED_AHEAD + 1


def test_large_tables_are_counted_by_one_thread():
    assert accumulate._max_pending((2,) * 40, 2) == 2 + accumulate.DECODED_AHEAD
    assert accumulate._max_pending((20_000, 20_000), 8) == 1
    assert accumulate._max_pending((5000, 5000), 8) == 2
    assert accumulate._max_pending((7,), 8) == 8 + accumulate.DECODED_AHEAD


def test_repeated_counts_are_equal():
    generator = np.random.default_rng(9)
    codes = [generator.integers(0, 12, 300_000, dtype=np.uint8) for _ in range(6)]
    digests = {count_codes(codes, domain_of((12,) * 6)).digest for _ in range(5)}
    assert len(digests) == 1


@pytest.mark.posix
def test_interrupt_ends_quickly_and_cleanly():
    script = (
        "import itertools, signal, numpy as np\n"
        "from seepage.counting import accumulate as count\n"
        # a shell starts its background jobs with interrupts ignored
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "count.compiled_pays = lambda rows, sizes: False\n"
        "columns = [np.zeros(200_000, np.uint8)] * 10\n"
        "print('counting', flush=True)\n"
        "count.count_batches(((columns, (2,) * 10) for _ in itertools.count()), 10)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "counting\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode in (-signal.SIGINT, 130)
