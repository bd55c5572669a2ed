"""Total leakage of a form's reports about every attribute of the table, asked or not.

The leakage of a form's reports about attribute k depends on the counts

    N[t, z, x] = people of stratum t with the answers z and the value x of attribute k,

for every k of the table, asked or not.  The values of all attributes are columns of one
table, so one transform computes all targets.  Strata are the combinations of values of
attributes that are released in the clear (public) or that the adversary knows of the
person (known); without such attributes there is one stratum.

The total of attribute k is

    T_k = ln max over y, x, x' of p(y given x) / p(y given x'),

y the reports of all attributes asked, x and x' values of k that occur.  For GRR with
budget eps the likelihood of a report about an answer z is 1 for z = y and e^-eps
otherwise, up to a factor: one pass along each axis of the form's table of shares turns
answers into reports, for all targets at once.  The attribute's own report is in it
where it is asked.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from seepage import _checks
from seepage._numerics import (
    Booleans,
    Floats,
    Integers,
    largest_log_ratio,
    rounding,
    summed_up,
)
from seepage.data.records import Records
from seepage.errors import InputError

if TYPE_CHECKING:
    from seepage.designs.population_certifier import PopulationForms

MAX_CELLS = 1 << 22
"""Maximum entries of a form's table, (strata x answers) x values: 32 MB of doubles."""

MAX_STRATA = 1 << 12
"""Maximum number of combinations of public and known values."""

COMPILED_FROM = 1 << 18
"""Records x attributes from which the compiled kernels save more time than loading them
takes."""

MAX_PACKED_STEMS = 24
"""Capacity of the cache of bitmaps, one entry per stem."""

WORD = 64
"""Bits per word of a bitmap."""

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

    Notes
    -----
    Compiled: the records are sorted by the answers to a form's first attributes (the stem) and
    cached as bitmaps of values, 64 people per word; each further attribute then costs one AND and
    one popcount per word and value.  A record of w people is one row for each bit set in w.
    NumPy: one histogram per attribute.
    """

    def __init__(
        self, records: Records, public: Sequence[int] = (), known: Sequence[int] = ()
    ) -> None:
        self.records = records
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
        large = order and self.codes.size >= COMPILED_FROM
        compiled = large and _checks.is_installed("numba")
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


class ExactForms:
    """`exact` totals of forms of GRR reports, on the joint distribution of a table.

    Parameters
    ----------
    counter
        Counter of the answers.  With its public values t and known values s, reports y
        are compared by p(y, t given x, s) / p(y, t given x', s), over the x and x' that
        occur with s.

    Notes
    -----
    Rounded up by more than the rounding errors (`seepage._numerics.rounding`), and at most
    the sum of the budgets, where nothing is public.

    Cost: O(cells x values x axes) for a transform; 0.1 ms for six binary answers and 80
    values.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain(
    ...     [sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")]
    ... )
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> counter = FormCounter(coins)
    >>> ExactForms(counter).totals(counter.table([0, 1]), np.array([1.0, 1.0])).round(
    ...     4
    ... ).tolist()
    [1.0, 1.0, 0.4338]
    """

    def __init__(self, counter: FormCounter) -> None:
        self.counter = counter
        self._guards = np.array([rounding([int(size)]) for size in counter.sizes])

    def fits(self, attributes: Sequence[int]) -> bool:
        """Return whether a form's table has at most `MAX_CELLS` entries."""
        return self.counter.cells(attributes) <= MAX_CELLS

    def totals(self, table: FormTable, epsilons: Floats) -> Floats:
        """Return the total of every attribute of the table, rounded up."""
        budgets = np.asarray(epsilons, dtype=np.float64)
        likelihoods = report_likelihoods(table.shares, table.sizes, budgets)
        guards = float(self._guards[list(table.attributes)].sum()) + self._guards
        starts = self.counter.starts
        occurs = self.counter.occurs[:, None, :]
        totals = largest_log_ratio(likelihoods, likelihoods, starts, guards, occurs)
        return (
            totals
            if self.counter.public
            else np.minimum(totals, summed_up(budgets.tolist()))
        )


def report_likelihoods(shares: Floats, sizes: Integers, epsilons: Floats) -> Floats:
    """Return the likelihood of every report, up to factors: strata x reports x values.

    Parameters
    ----------
    shares, sizes
        As in `FormTable`.
    epsilons
        The budget of each attribute asked.
    """
    strata, stride, width = shares.shape
    likelihoods = shares
    for size, epsilon in zip(sizes.tolist(), epsilons.tolist(), strict=True):
        stride //= size
        axes = likelihoods.reshape(-1, size, stride * width)
        floor = math.exp(-epsilon)
        weight = -math.expm1(-epsilon)
        likelihoods = floor * axes.sum(axis=1, keepdims=True) + weight * axes
    return likelihoods.reshape(strata, -1, width)


# Estimates for the population ---------------------------------------------------------

MAX_WEIGHTS = 1 << 23
"""Maximum number of weights, reports x values, of a form's limits: 64 MB per array of
doubles."""

AVERAGING_WINDOW = 30
"""Number of forms of a size over which (limit - total) / budgets is averaged,
exponentially."""


class ScreenedForms(ExactForms):
    """Fast estimates of the population limits, to screen candidate forms; not
    certified.

    T_k + u_k + r_k E, with T_k the table's total, u_k the excess of the population
    limit over the table's value for the leakage of public values alone, E the sum of
    the budgets of attributes that are not known, and r_k the mean of (limit - T_k -
    u_k) / E over the forms of the same size whose limits were computed.

    Parameters
    ----------
    population
        The certified limits.
    limits, caps
        The maximum total and the largest budget of each attribute.  Different caps
        allow different budgets in a form, whose limits then cost more.
    """

    def __init__(
        self, population: "PopulationForms", limits: Floats, caps: Floats
    ) -> None:
        super().__init__(population.counter)
        self.population = population
        self.caps = caps
        self.protected = np.isfinite(limits)
        self.limits = limits[self.protected]
        count = len(self.counter.sizes)
        self.rates = np.zeros((count + 1, count))
        self.observed = np.zeros(count + 1, dtype=np.int64)

    def fits(self, attributes: Sequence[int]) -> bool:
        """Return whether a form's limits can be computed, and public values alone keep
        them.
        """
        questions = len(attributes)
        if self.population.public:
            leakages = self.population.public_leakage(questions)[self.protected]
            if not (leakages < (1 - 1e-6) * self.limits).all():
                return False
        caps = self.caps[[j for j in attributes if j not in self.population.known]]
        equal = len(caps) < 2 or float(np.ptp(caps)) == 0
        weights = questions + 1 if equal else 1 << min(questions, 64)
        return self.counter.cells(attributes) * weights <= MAX_WEIGHTS

    def totals(self, table: FormTable, epsilons: Floats) -> Floats:
        """Return the estimated limit of the total of every attribute, in nats."""
        spent = self._spent(table, epsilons)
        estimates = (
            self._base(table, epsilons) + self.rates[len(table.attributes)] * spent
        )
        return (
            estimates
            if self.population.public
            else np.asarray(np.minimum(estimates, spent))
        )

    def _spent(self, table: FormTable, epsilons: Floats) -> float:
        """Return E, the sum of the budgets of attributes that the adversary does not
        know.
        """
        known = np.isin(table.attributes, self.population.known)
        return summed_up(np.asarray(epsilons)[~known].tolist())

    def _base(self, table: FormTable, epsilons: Floats) -> Floats:
        """Return T_k + u_k of every attribute k."""
        totals = super().totals(table, epsilons)
        if not self.population.public:
            return totals
        with np.errstate(invalid="ignore"):
            leakages = self.population.public_leakage(len(table.attributes))
            return totals + np.nan_to_num(leakages - self._public_totals, posinf=0.0)

    @cached_property
    def _public_totals(self) -> Floats:
        """The table's leakage of public values alone."""
        return super().totals(self.counter.table(()), np.zeros(0))

    def learn(self, table: FormTable, epsilons: Floats, limits: Floats) -> None:
        """Update the mean rates r_k with the computed limits of a form."""
        questions = len(table.attributes)
        spent = self._spent(table, epsilons)
        if spent <= 0:
            return
        with np.errstate(invalid="ignore"):
            rates = np.nan_to_num(
                (limits - self._base(table, epsilons)) / spent, posinf=0.0
            )
        weight = 1 / min(self.observed[questions] + 1, AVERAGING_WINDOW)
        self.rates[questions] += weight * (
            np.maximum(rates, 0.0) - self.rates[questions]
        )
        self.observed[questions] += 1
