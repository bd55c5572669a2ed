"""What the reports of a form tell about every attribute of the table, asked or not.

The total of attribute k is

    T_k = ln max over y, x, x' of p(y given x) / p(y given x'),

y the reports of all attributes asked, x and x' values of k that occur.  For GRR with budget eps
the likelihood of a report about an answer z is 1 for z = y and e^-eps otherwise, up to a factor:
one pass along each axis of the form's table of shares turns answers into reports, for all targets
at once.  The attribute's own report is in it where it is asked.
"""

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from seepage._numerics import Booleans, Floats, Integers, round_up, rounding, summed_up
from seepage.data.records import Records
from seepage.designs.form_counts import FormCounter, FormTable


class FormScorer(Protocol):
    """Certified totals of a form: all that the search for a design asks of a guarantee.

    Another guarantee, such as one for a population, or another channel than a product of GRR
    reports, is another class with these methods.
    """

    guarantee: str

    def fits(self, attributes: Sequence[int]) -> bool:
        """Return whether the totals of a form can be computed."""
        ...

    def table(self, attributes: Sequence[int]) -> FormTable:
        """Return what the totals of a form are computed from, at any budgets."""
        ...

    def totals(self, table: FormTable, epsilons: Floats) -> Floats:
        """Return the total of every attribute of the table at some budgets, rounded up."""
        ...


class ExactForms:
    """`exact` totals of forms of GRR reports, on the joint distribution of a table.

    Parameters
    ----------
    records
        The people.
    public, known
        Places of attributes released in the clear, and of those that the adversary knows of the
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

    guarantee = "exact"

    def __init__(
        self,
        records: Records,
        public: Sequence[int] = (),
        known: Sequence[int] = (),
        compiled: bool | None = None,
    ) -> None:
        self.counter = FormCounter(records, public, known, compiled)
        self.public_places, self.known_places = tuple(public), tuple(known)
        sizes = self.counter.layout.sizes
        self._guards = np.array([rounding([int(size)]) for size in sizes])
        self._buffer = np.empty((0, 0))

    @property
    def public(self) -> bool:
        """Whether any attribute is released in the clear."""
        return bool(self.public_places)

    @property
    def known(self) -> bool:
        """Whether the adversary knows any attribute of the person."""
        return bool(self.known_places)

    def again(self, attributes: Sequence[int], epsilons: Floats) -> Floats:
        """Return the totals of a form counted anew, by NumPy."""
        counter = self.counter
        plain = counter.plain_table(attributes)
        budgets = np.asarray(epsilons, dtype=np.float64)
        found = largest_ratios(
            plain.shares, plain.sizes, budgets, counter.seen, counter.layout.starts
        )
        return self._rounded(found, plain.attributes, budgets)

    def fits(self, attributes: Sequence[int]) -> bool:
        """Return whether the table of a form can be made."""
        return self.counter.fits(attributes)

    def table(self, attributes: Sequence[int]) -> FormTable:
        """Return the counts of a form."""
        return self.counter.table(attributes)

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
        layout, seen = self.counter.layout, self.counter.seen
        if not self.counter.compiled:
            return largest_ratios(table.shares, table.sizes, epsilons, seen, layout.starts)
        from seepage.designs import compiled_forms

        if self._buffer.shape != table.shares.shape:
            self._buffer = np.empty_like(table.shares)
        return compiled_forms.largest_ratios(
            table.shares, table.sizes, epsilons, seen, layout, self._buffer
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
