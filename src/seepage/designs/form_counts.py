"""The joint counts of a form's answers with every attribute of the table.

A form asks some attributes.  What its reports tell about attribute k depends on the counts

    N[t, z, x] = people of stratum t with the answers z and the value x of attribute k,

for every k of the table, asked or not.  All attributes' values stand side by side as columns of
one table, so one transform serves all targets.  Strata are the values of attributes that the
adversary sees in the clear (public), or knows of the person (known); one stratum without them.
"""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from seepage._numerics import Booleans, Floats, Integers
from seepage.data.records import Records
from seepage.errors import InputError

MOST_CELLS = 1 << 22
"""The largest table of a form, (strata x answers) x values: 32 MB."""

MOST_STRATA = 1 << 12
"""The most combinations of public and known values."""

COMPILED_FROM = 1 << 21
"""Records x attributes from which loading the compiled kernels pays."""

KEPT = 24
"""Sorted tables that are kept for the next form with the same stem."""


@dataclass(frozen=True, eq=False)
class FormTable:
    """The counts of one form.

    Parameters
    ----------
    attributes
        The attributes asked, by place, in the order of the axes.
    sizes
        Their numbers of values.
    shares
        P(answers and public values given the value of each attribute and the known values): one
        row per stratum and combination of answers (last attribute fastest), one column for each
        value of each attribute of the table.
    """

    attributes: tuple[int, ...]
    sizes: Integers
    shares: Floats


@dataclass(frozen=True, eq=False)
class _Columns:
    """Positions of every attribute's values among the columns of a table."""

    sizes: Integers
    starts: Integers = field(init=False)

    def __post_init__(self) -> None:
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        object.__setattr__(self, "starts", starts.astype(np.int64))

    @property
    def width(self) -> int:
        return int(self.sizes.sum())


class FormCounter:
    """Counts forms of one table.

    Parameters
    ----------
    records
        The people.
    public, known
        Places of attributes that are released in the clear, and of those that the adversary
        knows of the person.
    compiled
        Whether to use the compiled kernels; None where the table is large enough.

    Notes
    -----
    Compiled: the records are sorted by the answers to a form's first attributes (the stem) and
    kept as bitmaps of values, 64 people a word; a further attribute then costs one AND and
    popcount a word and value.  A record that w people share is one row for each bit set in w.
    NumPy: one histogram for each attribute.
    """

    def __init__(
        self,
        records: Records,
        public: Sequence[int] = (),
        known: Sequence[int] = (),
        compiled: bool | None = None,
    ) -> None:
        self.records = records
        self.layout = _Columns(np.array(records.domain.sizes, dtype=np.int64))
        self.codes = np.ascontiguousarray(records.codes, dtype=np.int64) + self.layout.starts
        work = len(records) * len(records.domain)
        self.compiled = work >= COMPILED_FROM if compiled is None else compiled
        self.strata = records.groups(dict.fromkeys((*known, *public)))
        groups = records.groups(dict.fromkeys(known))
        self.stratum_count = int(self.strata.max(initial=0)) + 1
        if self.stratum_count > MOST_STRATA:
            raise InputError(
                f"public and known attributes have {self.stratum_count:,} combinations of values, "
                f"at most {MOST_STRATA:,} fit; name fewer of them"
            )
        people = self._people(groups)
        order = np.zeros(self.stratum_count, dtype=np.int64)
        order[self.strata] = groups
        with np.errstate(divide="ignore"):
            self.scale = np.where(people > 0, 1 / people, 0.0)[order]
        self.seen: Booleans = self.scale > 0
        self._sorted: OrderedDict[tuple[int, ...], Any] = OrderedDict()

    def _people(self, groups: Integers) -> Floats:
        """Return how many people of each group of known values have each value."""
        count = int(groups.max(initial=0)) + 1
        cells = groups[:, None] * self.layout.width + self.codes
        weights = np.repeat(self.records.weights, self.codes.shape[1])
        found = np.bincount(cells.ravel(), weights, minlength=count * self.layout.width)
        return found.reshape(count, self.layout.width).astype(np.float64)

    def cells(self, attributes: Sequence[int]) -> int:
        """Return the number of entries of a form's table."""
        answers = math.prod(int(self.layout.sizes[j]) for j in attributes)
        return answers * self.stratum_count * self.layout.width

    def fits(self, attributes: Sequence[int]) -> bool:
        """Return whether a form's table can be made."""
        return self.cells(attributes) <= MOST_CELLS

    def table(self, attributes: Sequence[int]) -> FormTable:
        """Return the counts of a form, the last attribute counted within the others."""
        order = tuple(attributes)
        return self._made(order, self._compiled(order) if self.compiled and order else None)

    def plain_table(self, attributes: Sequence[int]) -> FormTable:
        """Return the counts of a form without the compiled kernels."""
        return self._made(tuple(attributes), None)

    def _made(self, order: tuple[int, ...], found: Floats | None) -> FormTable:
        counts = self._numpy(order) if found is None else found
        sizes = self.layout.sizes[list(order)]
        answers = int(np.prod(sizes))
        shares = counts.reshape(self.stratum_count, answers, -1) * self.scale[:, None, :]
        return FormTable(order, sizes, shares.reshape(-1, self.layout.width))

    def _numpy(self, order: tuple[int, ...]) -> Floats:
        cell = self.strata.copy()
        for j in order:
            cell = cell * self.layout.sizes[j] + self.records.codes[:, j]
        rows = self.stratum_count * math.prod(int(self.layout.sizes[j]) for j in order)
        found = np.zeros((rows, self.layout.width))
        for k, start in enumerate(self.layout.starts):
            size = int(self.layout.sizes[k])
            index = cell * size + self.records.codes[:, k]
            part = np.bincount(index, self.records.weights, minlength=rows * size)
            found[:, start : start + size] = part.reshape(rows, size)
        return found

    @cached_property
    def _rows(self) -> tuple[Any, Integers, Integers]:
        """Rows of the compiled kernels: value columns, bit of the weight, stratum."""
        weights = self.records.weights
        places, bits = [], []
        for bit in range(int(weights.max(initial=1)).bit_length()):
            chosen = np.flatnonzero((weights >> bit) & 1)
            places.append(chosen)
            bits.append(np.full(len(chosen), bit))
        rows = np.concatenate(places)
        smallest = np.min_scalar_type(self.layout.width)
        return self.codes[rows].astype(smallest), np.concatenate(bits), self.strata[rows]

    def _compiled(self, order: tuple[int, ...]) -> Floats:
        from seepage.designs import compiled_forms

        stem, last = order[:-1], order[-1]
        found = self._sorted.pop(stem, None)
        if found is None:
            sizes = self.layout.sizes[list(stem)]
            found = compiled_forms.sort_rows(*self._rows, stem, self.layout, sizes)
            while len(self._sorted) >= KEPT:
                self._sorted.popitem(last=False)
        self._sorted[stem] = found
        answers = math.prod(int(self.layout.sizes[j]) for j in stem) * self.stratum_count
        start, size = int(self.layout.starts[last]), int(self.layout.sizes[last])
        return compiled_forms.count_with(found, start, size, answers)
