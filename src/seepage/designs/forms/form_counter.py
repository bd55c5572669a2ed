"""`FormCounter`: joint counts of the attributes of a form, from bitmaps."""

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import InputError
from seepage.channel.records import Records
from seepage.designs.forms.search_work import SearchWork

MAX_STRATA = 1 << 12
"""Maximum number of combinations of public and known values."""


COMPILED_FROM = 1 << 18
"""Records x attributes from which the compiled kernels save more time than loading them
takes."""


MAX_PACKED_STEMS = 24
"""Capacity of the cache of bitmaps, one entry per stem."""


WORD = 64
"""Bits per word of a bitmap."""


WORK_PER_TABLE = 0.03


WORK_PER_AND = 2e-6


WORK_PER_CODE = 6e-6
"""Work of a table: at least, per word and pair of values, and per code of a record."""


PAIRS, NIBBLES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)


BYTES, ONES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
"""Masks to count the bits of a word, which add pairs, nibbles and bytes of it."""


class FormTable(NamedTuple):
    """The conditional distributions of one form's answers.

    Parameters
    ----------
    attributes
        The attributes asked, by index, in the order of the axes.
    sizes
        Their alphabet sizes.
    counts
        N: strata x combinations of answers (last attribute fastest) x values of all
        attributes of the table.
    shares
        P(answers and public values given the value of each attribute and the known
        values), of the same shape.
    """

    attributes: tuple[int, ...]
    sizes: Integers
    counts: Floats
    shares: Floats


class FormCounter:
    """Counts the answers of forms on one table of records.

    Parameters
    ----------
    records
        The records.
    public, known
        Indices of attributes that are released in the clear, and of those that the
        adversary knows of the person.
    work
        Counts the work of tables, and of their totals.

    Notes
    -----
    Compiled: the records are sorted by the answers to a form's first attributes (the stem) and
    cached as bitmaps of values, 64 people per word; each further attribute then costs one AND and
    one popcount per word and value.  A record of w people is one row for each bit set in w.
    NumPy: one histogram per attribute.
    """

    def __init__(
        self,
        records: Records,
        public: Sequence[int] = (),
        known: Sequence[int] = (),
        work: SearchWork | None = None,
    ) -> None:
        self.records = records
        self.work = work or SearchWork()
        self.public = tuple(public)
        self.known = tuple(known)
        self.sizes: Integers = np.array(records.domain.sizes, dtype=np.int64)
        self.starts: Integers = np.cumsum(self.sizes) - self.sizes
        self.width = int(self.sizes.sum())
        self.codes = np.ascontiguousarray(records.codes, dtype=np.int64) + self.starts
        self.strata = records.groups(dict.fromkeys((*known, *public)))
        groups = records.groups(dict.fromkeys(known))
        self.stratum_count = int(self.strata.max(initial=0)) + 1
        if self.stratum_count > MAX_STRATA:
            raise InputError(
                f"public and known attributes have {self.stratum_count:,} combinations of values, "
                f"at most {MAX_STRATA:,} fit; name fewer of them"
            )
        group_of = np.zeros(self.stratum_count, dtype=np.int64)
        group_of[self.strata] = groups
        self.people = self._histogram(groups, int(groups.max(initial=0)) + 1)[group_of]
        """Number of people with the known values of each stratum and each value."""
        self.occurs: Booleans = self.people > 0
        self._packed = lru_cache(MAX_PACKED_STEMS)(self._pack)

    def cells(self, attributes: Sequence[int]) -> int:
        """Return the number of entries of a form's table."""
        answers = math.prod(int(self.sizes[j]) for j in attributes)
        return answers * self.stratum_count * self.width

    def table(self, attributes: Sequence[int]) -> FormTable:
        """Return the table of a form; its stem, all attributes but the last, is cached."""
        order = tuple(attributes)
        self.work.spend(self._table_work(order))
        large = order and self.codes.size >= COMPILED_FROM
        compiled = large and checks.is_installed("numba")
        counts = (
            self._count_compiled(order)
            if compiled
            else self._histogram(*self._cells(order))
        )
        counts = counts.reshape(self.stratum_count, -1, self.width)
        scale = np.divide(
            1, self.people, out=np.zeros_like(self.people), where=self.occurs
        )
        return FormTable(
            order, self.sizes[list(order)], counts, counts * scale[:, None, :]
        )

    def _table_work(self, order: tuple[int, ...]) -> float:
        """Return the work of counting a form."""
        rows = len(self.codes)
        values = self.width * int(self.sizes[order[-1]]) if order else self.width
        by_word = rows / WORD * values * WORK_PER_AND
        by_row = rows * len(self.sizes) * WORK_PER_CODE
        return WORK_PER_TABLE + min(by_word, by_row)

    def _cells(self, order: tuple[int, ...]) -> tuple[Integers, int]:
        """Return the stratum and answers of each distinct record as one index, and
        their number.
        """
        cell = self.strata
        count = self.stratum_count
        for j in order:
            size = int(self.sizes[j])
            cell = cell * size + self.records.codes[:, j]
            count = count * size
        return cell, count

    def _histogram(self, cell: Integers, rows: int) -> Floats:
        """Return the number of people by cell and value, by one histogram per
        attribute.
        """
        counts = np.zeros((rows, self.width))
        for k, start in enumerate(self.starts):
            size = int(self.sizes[k])
            index = cell * size + self.records.codes[:, k]
            part = np.bincount(index, self.records.weights, minlength=rows * size)
            counts[:, start : start + size] = part.reshape(rows, size)
        return counts

    @cached_property
    def _rows(self) -> tuple[Integers, Integers, Any]:
        """Rows of the compiled kernels: record, bit of its weight, and column of each
        value.
        """
        weights = self.records.weights
        bits = range(int(weights.max(initial=1)).bit_length())
        indices = [np.flatnonzero((weights >> bit) & 1) for bit in bits]
        rows = np.concatenate(indices)
        columns = self.codes[rows].astype(np.min_scalar_type(self.width))
        return rows, np.repeat(bits, list(map(len, indices))), columns

    def _pack(self, stem: tuple[int, ...]) -> tuple[Any, Integers, Integers, int]:
        """Return the bitmaps of the records sorted by the answers to the stem.

        Words x values, the cell and the weight of each word, and the number of cells.
        """
        cell, count = self._cells(stem)
        rows, bits, columns = self._rows
        spread = int(bits.max(initial=0)) + 1
        keys = cell[rows] * spread + bits
        smallest = keys.astype(
            np.min_scalar_type(count * spread)
        )  # radix sort up to 16 bits
        order = np.argsort(smallest, kind="stable")
        keys = keys[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        ranks = np.arange(len(keys)) - np.repeat(
            starts, np.diff(starts, append=len(keys))
        )
        is_first = ranks % WORD == 0
        bitmaps = _compiled(_make_bitmaps)(
            columns, order, np.cumsum(is_first) - 1, ranks % WORD, self.width
        )
        cells, weight_bits = np.divmod(keys[is_first], spread)
        return bitmaps, cells, 1 << weight_bits, count

    def _count_compiled(self, order: tuple[int, ...]) -> Floats:
        """Return N from the records sorted by the stem, all attributes but the last."""
        *packed, count = self._packed(order[:-1])
        start = int(self.starts[order[-1]])
        size = int(self.sizes[order[-1]])
        return np.asarray(_compiled(_count_with)(*packed, start, size, count))


@cache
def _compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel compiled by Numba: 0.05 ms a form of CelebA, of which NumPy takes
    50.
    """
    import numba

    entry: Any = numba.njit(cache=True, nogil=True, error_model="numpy")
    return cast(Callable[..., Any], entry(kernel))


def _make_bitmaps(columns: Any, order: Any, words: Any, bits: Any, width: int) -> Any:
    """Return bitmaps, words x values: row order[i] is bit bits[i] of word words[i]."""
    bitmaps = np.zeros((words[-1] + 1, width), np.uint64)
    for i in range(len(order)):
        row = columns[order[i]]
        bitmap = bitmaps[words[i]]
        bit = np.uint64(1) << np.uint64(bits[i])
        for k in range(len(row)):
            bitmap[row[k]] |= bit
    return bitmaps


def _count_with(
    bitmaps: Any, cells: Any, weights: Any, start: int, size: int, count: int
) -> Any:
    """Return the counts of the stem's cells and one more attribute, (cells x size) x
    values.
    """
    words, width = bitmaps.shape
    counts = np.zeros((count * size, width))
    sums = np.zeros((size, width), np.int64)
    for word in range(words):
        weight = weights[word]
        for u in range(size):
            answer = bitmaps[word, start + u]
            if answer:
                for v in range(width):
                    both = bitmaps[word, v] & answer
                    both -= (
                        both >> np.uint64(1)
                    ) & PAIRS  # LLVM makes one popcount of these
                    both = (both & NIBBLES) + ((both >> np.uint64(2)) & NIBBLES)
                    both = (both + (both >> np.uint64(4))) & BYTES
                    sums[u, v] += weight * np.int64((both * ONES) >> np.uint64(56))
        if word + 1 == words or cells[word + 1] != cells[word]:
            base = cells[word] * size
            for u in range(size):
                for v in range(width):
                    counts[base + u, v] = sums[u, v]
                    sums[u, v] = 0
    return counts
