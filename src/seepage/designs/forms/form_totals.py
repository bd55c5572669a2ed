"""What the reports of a form tell about every attribute of the table, asked or not.

A form asks some attributes.  What its reports tell about attribute k depends on the counts

    N[t, z, x] = people of stratum t with the answers z and the value x of attribute k,

for every k of the table, asked or not.  All attributes' values stand side by side as columns of
one table, so one transform serves all targets.  Strata are the values of attributes that the
adversary sees in the clear (public), or knows of the person (known); one stratum without them.

The total of attribute k is

    T_k = ln max over y, x, x' of p(y given x) / p(y given x'),

y the reports of all attributes asked, x and x' values of k that occur.  For GRR with budget eps
the likelihood of a report about an answer z is 1 for z = y and e^-eps otherwise, up to a factor:
one pass along each axis of the form's table of shares turns answers into reports, for all targets
at once.  The attribute's own report is in it where it is asked.
"""

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from seepage._numerics import Booleans, Floats, Integers, round_up, rounding, summed_up
from seepage.data.records import Records
from seepage.errors import InputError

MAX_CELLS = 1 << 22
"""The largest table of a form, (strata x answers) x values: 32 MB."""

MAX_STRATA = 1 << 12
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
        The attributes asked, by index, in the order of the axes.
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


class FormCounter:
    """Counts forms of one table.

    Parameters
    ----------
    records
        The people.
    public, known
        Indices of attributes that are released in the clear, and of those that the adversary
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
        self.records, self.public, self.known = records, tuple(public), tuple(known)
        self.sizes: Integers = np.array(records.domain.sizes, dtype=np.int64)
        self.starts: Integers = np.cumsum(self.sizes) - self.sizes
        self.width = int(self.sizes.sum())
        self.codes = np.ascontiguousarray(records.codes, dtype=np.int64) + self.starts
        work = len(records) * len(records.domain)
        self.compiled = work >= COMPILED_FROM if compiled is None else compiled
        self.strata = records.groups(dict.fromkeys((*known, *public)))
        groups = records.groups(dict.fromkeys(known))
        self.stratum_count = int(self.strata.max(initial=0)) + 1
        if self.stratum_count > MAX_STRATA:
            raise InputError(
                f"public and known attributes have {self.stratum_count:,} combinations of values, "
                f"at most {MAX_STRATA:,} fit; name fewer of them"
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
        cells = groups[:, None] * self.width + self.codes
        weights = np.repeat(self.records.weights, self.codes.shape[1])
        found = np.bincount(cells.ravel(), weights, minlength=count * self.width)
        return found.reshape(count, self.width).astype(np.float64)

    def cells(self, attributes: Sequence[int]) -> int:
        """Return the number of entries of a form's table."""
        answers = math.prod(int(self.sizes[j]) for j in attributes)
        return answers * self.stratum_count * self.width

    def fits(self, attributes: Sequence[int]) -> bool:
        """Return whether a form's table can be made."""
        return self.cells(attributes) <= MAX_CELLS

    def table(self, attributes: Sequence[int]) -> FormTable:
        """Return the counts of a form, the last attribute counted within the others."""
        order = tuple(attributes)
        return self._made(order, self._compiled(order) if self.compiled and order else None)

    def plain_table(self, attributes: Sequence[int]) -> FormTable:
        """Return the counts of a form without the compiled kernels."""
        return self._made(tuple(attributes), None)

    def _made(self, order: tuple[int, ...], found: Floats | None) -> FormTable:
        counts = self._numpy(order) if found is None else found
        sizes = self.sizes[list(order)]
        answers = int(np.prod(sizes))
        shares = counts.reshape(self.stratum_count, answers, -1) * self.scale[:, None, :]
        return FormTable(order, sizes, shares.reshape(-1, self.width))

    def _numpy(self, order: tuple[int, ...]) -> Floats:
        if len(order) == 1 and self.stratum_count == 1:
            return self._single(order[0])
        cell = self.strata.copy()
        for j in order:
            cell = cell * self.sizes[j] + self.records.codes[:, j]
        rows = self.stratum_count * math.prod(int(self.sizes[j]) for j in order)
        found = np.zeros((rows, self.width))
        for k, start in enumerate(self.starts):
            size = int(self.sizes[k])
            index = cell * size + self.records.codes[:, k]
            part = np.bincount(index, self.records.weights, minlength=rows * size)
            found[:, start : start + size] = part.reshape(rows, size)
        return found

    def _single(self, j: int) -> Floats:
        """Return the counts of one answer, which are pair counts."""
        pairs = self.records.pairs()
        tables = [pairs.table(j, k) for k in range(len(self.sizes))]
        return np.hstack(tables).astype(np.float64)

    @cached_property
    def _rows(self) -> tuple[Any, Integers, Integers]:
        """Rows of the compiled kernels: value columns, bit of the weight, stratum."""
        weights = self.records.weights
        indices, bits = [], []
        for bit in range(int(weights.max(initial=1)).bit_length()):
            chosen = np.flatnonzero((weights >> bit) & 1)
            indices.append(chosen)
            bits.append(np.full(len(chosen), bit))
        rows = np.concatenate(indices)
        smallest = np.min_scalar_type(self.width)
        return self.codes[rows].astype(smallest), np.concatenate(bits), self.strata[rows]

    def _compiled(self, order: tuple[int, ...]) -> Floats:
        from seepage.designs.forms import compiled_forms

        stem, last = order[:-1], order[-1]
        found = self._sorted.pop(stem, None)
        if found is None:
            sizes = self.sizes[list(stem)]
            found = compiled_forms.sort_rows(*self._rows, stem, self.starts, sizes, self.width)
            while len(self._sorted) >= KEPT:
                self._sorted.popitem(last=False)
        self._sorted[stem] = found
        answers = math.prod(int(self.sizes[j]) for j in stem) * self.stratum_count
        start, size = int(self.starts[last]), int(self.sizes[last])
        return np.asarray(compiled_forms.count_with(*found, start, size, answers))


class FormScorer(ABC):
    """Certified totals of a form: all that the search for a design asks of a guarantee.

    Another guarantee, such as one for a population, or another channel than a product of GRR
    reports, is another class.
    """

    guarantee = "exact"
    counter: FormCounter

    def fits(self, attributes: Sequence[int]) -> bool:
        """Return whether the totals of a form can be computed."""
        return self.counter.fits(attributes)

    def table(self, attributes: Sequence[int]) -> FormTable:
        """Return what the totals of a form are computed from, at any budgets."""
        return self.counter.table(attributes)

    @abstractmethod
    def totals(self, table: FormTable, epsilons: Floats) -> Floats:
        """Return the total of every attribute of the table at some budgets, rounded up."""


class ExactForms(FormScorer):
    """`exact` totals of forms of GRR reports, on the joint distribution of a table.

    Parameters
    ----------
    records
        The people.
    public, known
        Indices of attributes released in the clear, and of those that the adversary knows of the
        person.  With public values t and known values s, reports y are compared by
        p(y, t given x, s) / p(y, t given x', s), over the x and x' that occur with s.
    compiled
        Whether to use the compiled kernels; None where the table is large enough.

    Notes
    -----
    Rounded up by more than the rounding errors (`seepage.totals.result.rounding`), and at most
    the sum of the budgets, where nothing is public.

    Cost: O(cells x values x axes) for a transform; 0.1 ms for six binary answers and 80 values.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> scorer = ExactForms(coins)
    >>> scorer.totals(scorer.table([0, 1]), np.array([1.0, 1.0])).round(4).tolist()
    [1.0, 1.0, 0.4338]
    """

    def __init__(
        self,
        records: Records,
        public: Sequence[int] = (),
        known: Sequence[int] = (),
        compiled: bool | None = None,
    ) -> None:
        self.counter = FormCounter(records, public, known, compiled)
        sizes = self.counter.sizes
        self._guards = np.array([rounding([int(size)]) for size in sizes])
        self._buffer = np.empty((0, 0))

    @property
    def public(self) -> bool:
        """Whether any attribute is released in the clear."""
        return bool(self.counter.public)

    @property
    def known(self) -> bool:
        """Whether the adversary knows any attribute of the person."""
        return bool(self.counter.known)

    def again(self, attributes: Sequence[int], epsilons: Floats) -> Floats:
        """Return the totals of a form counted anew, by NumPy."""
        plain, seen = self.counter.plain_table(attributes), self.counter.seen
        budgets = np.asarray(epsilons, dtype=np.float64)
        found = largest_ratios(plain.shares, plain.sizes, budgets, seen, self.counter.starts)
        return self._rounded(found, plain.attributes, budgets)

    def totals(self, table: FormTable, epsilons: Floats) -> Floats:
        """Return the total of every attribute of the table, rounded up."""
        budgets = np.asarray(epsilons, dtype=np.float64)
        return self._rounded(self._ratios(table, budgets), table.attributes, budgets)

    def _rounded(self, ratios: Floats, attributes: Sequence[int], budgets: Floats) -> Floats:
        """Return logarithms rounded up by more than the rounding errors in the ratios."""
        guard = float(self._guards[list(attributes)].sum())
        totals = round_up(np.log(ratios), 8) + (guard + self._guards)
        if self.public:
            return totals
        return np.minimum(totals, summed_up(budgets.tolist()))

    def _ratios(self, table: FormTable, epsilons: Floats) -> Floats:
        counter, given = self.counter, (table.shares, table.sizes, epsilons)
        if not counter.compiled:
            return largest_ratios(*given, counter.seen, counter.starts)
        from seepage.designs.forms import compiled_forms

        if self._buffer.shape != table.shares.shape:
            self._buffer = np.empty_like(table.shares)
        return compiled_forms.largest_ratios(
            *given, counter.seen, counter.starts, counter.sizes, self._buffer
        )


def largest_ratios(
    shares: Floats, sizes: Integers, epsilons: Floats, seen: Booleans, starts: Integers
) -> Floats:
    """Return the largest ratio of likelihoods for each attribute, not rounded.

    Parameters
    ----------
    shares, sizes
        As in `FormTable`.
    epsilons
        The budget of each attribute asked.
    seen
        Which values occur in each stratum; the others have no likelihood.
    starts
        The first column of each attribute's values.
    """
    strata, width = seen.shape
    likelihoods = shares.reshape(strata, -1, width)
    stride = likelihoods.shape[1]
    for size, epsilon in zip(sizes.tolist(), epsilons.tolist(), strict=True):
        stride //= size
        axes = likelihoods.reshape(-1, size, stride * width)
        floor, weight = math.exp(-epsilon), -math.expm1(-epsilon)
        likelihoods = floor * axes.sum(axis=1, keepdims=True) + weight * axes
    likelihoods = likelihoods.reshape(strata, -1, width)
    high = np.where(seen[:, None, :], likelihoods, 0.0)
    low = np.where(seen[:, None, :], likelihoods, np.inf)
    most = np.maximum.reduceat(high, starts, axis=2)
    least = np.minimum.reduceat(low, starts, axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = np.where(most > 0, most / least, 1.0)
    return np.asarray(np.maximum(quotients.reshape(-1, len(starts)).max(axis=0), 1.0))
