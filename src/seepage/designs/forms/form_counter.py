"""`FormCounter`: joint counts of the attributes of a form, from bitmaps."""

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import InputError
from seepage.channel.domain import PERCENT
from seepage.channel.no_answer import completed
from seepage.channel.records import Records
from seepage.designs.forms.search_work import SearchWork

MAX_STRATA = 1 << 12
"""Maximum number of combinations of public and known values."""


COMPILED_FROM = 1 << 18
"""Records x attributes from which the compiled kernels save more time than loading them
takes."""


MAX_PACKED_STEMS = 24
"""Capacity of the cache of bitmaps, one entry per stem."""


MAX_EXACT = 2**62
"""Largest count of people times a factor that is kept in 64 bits."""


WORD = 64
"""Bits per word of a bitmap."""


WORK_PER_TABLE = 0.03
"""Work of a table at least."""


WORK_PER_AND = 2e-6
"""Work of a table per word and pair of values."""


WORK_PER_CODE = 6e-6
"""Work of a table per code of a record."""


PAIRS = np.uint64(0x5555555555555555)
"""Mask to add the bits of a word in pairs."""


NIBBLES = np.uint64(0x3333333333333333)
"""Mask to add these sums in nibbles."""


BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
"""Mask to add these sums in bytes."""


ONES = np.uint64(0x0101010101010101)
"""Factor that adds the bytes of a word in the first of them."""


class FormTable(NamedTuple):
    """The conditional distributions of one form's answers.

    Parameters
    ----------
    attributes
        The attributes asked, by index, in the order of the axes.
    sizes
        The number of answers that a report of each can be of.
    counts
        N: strata x combinations of answers (last attribute fastest) x protected values
        of all attributes of the table.  Expected numbers: people without an answer are
        spread over the answers by its shares.
    shares
        P(answers and public values given the value of each attribute and the known
        values), of the same shape.
    """

    attributes: tuple[int, ...]
    sizes: Integers
    counts: Floats
    shares: Floats


class ExactCounts(NamedTuple):
    """The counts of one form's answers as integers, times a common factor.

    Parameters
    ----------
    sizes
        The number of answers of each attribute asked.
    counts
        N times the factor, as in `FormTable`.
    people
        The number of people by stratum and combination of answers, times the factor;
        also those of whom nothing is promised.
    factor
        A power of 100; 1 where everyone has an answer.
    """

    sizes: tuple[int, ...]
    counts: Integers
    people: Integers
    factor: int


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

    Attributes
    ----------
    answers
        The number of values of each attribute that a report can be of.
    sizes, starts, width
        The number of protected values of each attribute as a target, the index of the
        first one among the columns of a table, and the number of columns.  They are the
        answers, and "(missing)" where it is protected.

    Notes
    -----
    Compiled: the records are sorted by the answers to a form's first attributes (the
    stem) and cached as bitmaps of values, 64 people per word; each further attribute
    then costs one AND and one popcount per word and value.  A record of w people is one
    row for each bit set in w. NumPy: one histogram per attribute.
    """

    def __init__(
        self,
        records: Records,
        public: Sequence[int] = (),
        known: Sequence[int] = (),
        work: SearchWork | None = None,
    ) -> None:
        """Prepare to count the tables of forms over the records."""
        self.records = records
        self.work = work or SearchWork()
        self.public = tuple(public)
        self.known = tuple(known)
        self._alphabets: Integers = np.array(records.domain.sizes, dtype=np.int64)
        self._first_columns: Integers = np.cumsum(self._alphabets) - self._alphabets
        self._columns = int(self._alphabets.sum())
        self.codes = (
            np.ascontiguousarray(records.codes, dtype=np.int64) + self._first_columns
        )
        self.strata = records.groups(dict.fromkeys((*known, *public)))
        groups = records.groups(dict.fromkeys(known))
        self.stratum_count = int(self.strata.max(initial=0)) + 1
        if self.stratum_count > MAX_STRATA:
            raise InputError(
                f"public and known attributes have {self.stratum_count:,} combinations "
                f"of values, at most {MAX_STRATA:,} fit; name fewer of them"
            )
        group_of = np.zeros(self.stratum_count, dtype=np.int64)
        group_of[self.strata] = groups
        people = self._histogram(groups, int(groups.max(initial=0)) + 1)[group_of]
        self._protected = self._protected_columns(people.sum(axis=0))
        self.answers: Integers = np.array(
            [attribute.answers for attribute in records.domain], dtype=np.int64
        )
        owners = np.repeat(np.arange(len(self._alphabets)), self._alphabets)
        self.sizes: Integers = np.bincount(
            owners[self._protected], minlength=len(self._alphabets)
        )
        self.starts: Integers = np.cumsum(self.sizes) - self.sizes
        self.width = int(self.sizes.sum())
        self.people = people[:, self._protected]
        """Number of people with the known values of each stratum and each value."""
        self.occurs: Booleans = self.people > 0
        self._packed = lru_cache(MAX_PACKED_STEMS)(self._pack)

    def _protected_columns(self, people: Floats) -> Integers:
        """Return the columns that are counted by form: values about which something is
        promised.

        All answers; "(missing)" of an attribute with shares where it is protected, and
        where it is a stratum that occurs.
        """
        columns = list[int]()
        strata = {*self.public, *self.known}
        for j, attribute in enumerate(self.records.domain):
            start = int(self._first_columns[j])
            columns += range(start, start + attribute.answers)
            if attribute.answers == attribute.size:
                continue
            missing = start + attribute.answers
            is_stratum = j in strata and bool(people[missing])
            if attribute.protects_missing or is_stratum:
                columns.append(missing)
        return np.array(columns, dtype=np.int64)

    def cells(self, attributes: Sequence[int]) -> int:
        """Return the number of entries of a form's table."""
        answers = math.prod(int(self.answers[j]) for j in attributes)
        return answers * self.stratum_count * self.width

    def table(self, attributes: Sequence[int]) -> FormTable:
        """Count the table of a form; its stem, all attributes but the last, is
        cached.
        """
        order = tuple(attributes)
        self.work.spend(self._table_work(order))
        counts, factor = self._completed(order, self._coded_counts(order))
        if self.width < self._columns:
            counts = counts[:, :, self._protected]
        if factor > 1:
            counts = counts / factor
        scale = np.divide(
            1, self.people, out=np.zeros_like(self.people), where=self.occurs
        )
        return FormTable(
            order, self.answers[list(order)], counts, counts * scale[:, None, :]
        )

    def exact_counts(self, attributes: Sequence[int]) -> "ExactCounts":
        """Return the counts of a form's table as integers, times a common factor."""
        order = tuple(attributes)
        coded = self._coded_counts(order)
        large = PERCENT ** len(order) * self.records.records >= MAX_EXACT
        integers = coded.astype(np.int64).astype(object if large else np.int64)
        counts, factor = self._completed(order, integers)
        first = slice(0, int(self._alphabets[0]))
        return ExactCounts(
            sizes=tuple(self.answers[list(order)].tolist()),
            counts=counts[:, :, self._protected],
            people=counts[:, :, first].sum(axis=2),
            factor=factor,
        )

    def _coded_counts(self, order: tuple[int, ...]) -> Floats:
        """Count a form's table of coded records: strata x combinations of codes x
        columns.
        """
        large = order and self.codes.size >= COMPILED_FROM
        if large and checks.is_installed("numba"):
            counts = self._count_compiled(order)
        else:
            counts = self._histogram(*self._cells(order))
        return counts.reshape(self.stratum_count, -1, self._columns)

    def _completed(self, order: tuple[int, ...], counts: Any) -> tuple[Any, int]:
        """Return a form's counts in which people without an answer are spread, and
        their factor.
        """
        sizes = self._alphabets[list(order)].tolist()
        if sizes == self.answers[list(order)].tolist():
            return counts, 1
        domain = self.records.domain
        by_answer = counts.reshape(len(counts), *sizes, self._columns)
        by_answer = np.moveaxis(by_answer, 0, -1)
        spread, factor = completed(by_answer, [domain[j] for j in order])
        table = np.moveaxis(spread, -1, 0)
        return table.reshape(len(counts), -1, self._columns), factor

    def _table_work(self, order: tuple[int, ...]) -> float:
        """Return the work of counting a form."""
        rows = len(self.codes)
        values = self.width * int(self.sizes[order[-1]]) if order else self.width
        by_word = rows / WORD * values * WORK_PER_AND
        by_row = rows * len(self.sizes) * WORK_PER_CODE
        return WORK_PER_TABLE + min(by_word, by_row)

    def _cells(self, order: tuple[int, ...]) -> tuple[Integers, int]:
        """Return the stratum and answers to a form of each record to count as one
        index, and their number.
        """
        cell = self.strata
        count = self.stratum_count
        for j in order:
            size = int(self._alphabets[j])
            cell = cell * size + self.records.codes[:, j]
            count = count * size
        return cell, count

    def _histogram(self, cell: Integers, rows: int) -> Floats:
        """Count the people by cell of a form and value, by one histogram per
        attribute.
        """
        counts = np.zeros((rows, self._columns))
        for k, start in enumerate(self._first_columns):
            size = int(self._alphabets[k])
            index = cell * size + self.records.codes[:, k]
            part = np.bincount(index, self.records.weights, minlength=rows * size)
            counts[:, start : start + size] = part.reshape(rows, size)
        return counts

    @cached_property
    def _rows(self) -> tuple[Integers, Integers, Any]:
        """Rows of the compiled counter of forms: record, bit of its weight, and column
        of each value.
        """
        weights = self.records.weights
        bits = range(int(weights.max(initial=1)).bit_length())
        indices = [np.flatnonzero((weights >> bit) & 1) for bit in bits]
        rows = np.concatenate(indices)
        columns = self.codes[rows].astype(np.min_scalar_type(self._columns))
        return rows, np.repeat(bits, list(map(len, indices))), columns

    def _pack(self, stem: tuple[int, ...]) -> tuple[Any, Integers, Integers, int]:
        """Return the bitmaps to count with of the records sorted by the answers to a
        form's stem.

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
            columns, order, np.cumsum(is_first) - 1, ranks % WORD, self._columns
        )
        cells, weight_bits = np.divmod(keys[is_first], spread)
        return bitmaps, cells, 1 << weight_bits, count

    def _count_compiled(self, order: tuple[int, ...]) -> Floats:
        """Count a form's table from the records sorted by the stem, all attributes but
        the last.
        """
        *packed, count = self._packed(order[:-1])
        start = int(self._first_columns[order[-1]])
        size = int(self._alphabets[order[-1]])
        return np.asarray(_compiled(_count_with)(*packed, start, size, count))


@cache
def _compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a form counter's kernel compiled by Numba: 0.05 ms a form of CelebA, of
    which NumPy takes 50.
    """
    import numba

    entry: Any = numba.njit(cache=True, nogil=True, error_model="numpy")
    return cast(Callable[..., Any], entry(kernel))


def _make_bitmaps(columns: Any, order: Any, words: Any, bits: Any, width: int) -> Any:
    """Return the bitmaps of a form counter, words x values: row order[i] is bit bits[i]
    of word words[i].
    """
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
    """Count the cells of a form's stem and one more attribute, (cells x size) x
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
