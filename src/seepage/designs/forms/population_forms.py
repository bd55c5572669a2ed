"""`exact` totals of forms as upper limits for the people whom the records were drawn from.

The search looks at guesses of them, which are as fast as the totals of the table.
"""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats, summed_up
from seepage.data.records import Records
from seepage.designs.forms.form_problem import MAX_FORM
from seepage.designs.forms.form_totals import ExactForms, FormCounter, FormScorer, FormTable
from seepage.errors import InputError
from seepage.totals.form_total_limits import form_level, form_total_limits

MAX_WEIGHTS = 1 << 23
"""Weights of all reports and values of a form whose limits are computed: 64 MB an array."""

MEMORY = 30
"""Forms of a size over which the excess of limits over totals is averaged."""


class PopulationForms(FormScorer):
    """`exact` totals of forms of GRR reports, as upper limits for people.

    Parameters
    ----------
    records
        A random sample of the people, one record per person.
    confidence
        Of all totals together, of whichever forms are chosen.
    largest
        The most attributes of a form; the form of all attributes that may be asked counts besides.
    asked
        Indices of the attributes that may be asked; by default all.
    counter
        What counts forms of these records, by public and known values; by default a new one.
    compiled
        Whether to count with the compiled kernels; None where the table is large enough.

    Notes
    -----
    Known values are conditions like the target's: every combination of both counts as statements
    of its own, and one without records leaves the sum of budgets.  Public values are a part of the
    report: one that never occurred with some value leaves no limit at all [theory-population:
    What else the adversary has].  Reports about what is known tell nothing more.

    The claim holds for one ascending family of budgets per form that is fixed beforehand, such as
    equal budgets, and the largest that pass.  Some 10 ms for six binary questions and 80 values
    with equal budgets, 100 ms otherwise.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [50_000] * 4)
    >>> scorer = PopulationForms(coins)
    >>> scorer.totals(scorer.table([0, 1]), np.array([1.0, 1.0])).round(3).tolist()
    [1.016, 1.016, 0.447]
    """

    def __init__(
        self,
        records: Records,
        confidence: float = 0.95,
        largest: int = MAX_FORM,
        asked: Sequence[int] | None = None,
        counter: FormCounter | None = None,
        compiled: bool | None = None,
    ) -> None:
        self.counter = FormCounter(records, compiled=compiled) if counter is None else counter
        self.confidence = _checks.inner_probability(confidence, "confidence")
        sizes = self.counter.sizes
        self.asked_sizes = sizes if asked is None else sizes[list(asked)]
        self.largest = min(largest, len(self.asked_sizes))
        with np.errstate(divide="ignore"):
            people = np.where(self.counter.seen, 1 / self.counter.scale, 0.0)
        self.people = np.rint(people)
        self.public, self.known = self.counter.public, self.counter.known
        self.targets = np.ones(len(sizes), dtype=np.bool_)
        self.targets[[*self.public, *self.known]] = False
        self.strata = math.prod(sizes[[*self.public, *self.known]].tolist())
        self._told: dict[int, Floats] = {}

    def level(self, asked: int) -> float:
        """Return the c of each statement about a form that asks so many attributes."""
        numbers = {*range(1, self.largest + 1), len(self.asked_sizes)}
        if asked and asked not in numbers:
            raise InputError(f"a form has at most {self.largest} attributes, got {asked}")
        values = int(self.counter.sizes[self.targets].sum()) * self.strata
        return form_level(self.asked_sizes, values, asked, len(numbers), self.confidence)

    def totals(self, table: FormTable, epsilons: Floats, rounds: int = 3) -> Floats:
        """Return upper limits of the total of every attribute of the table."""
        return self._limits(table, epsilons, self.level(len(table.attributes)), rounds)

    def told(self, asked: int) -> Floats:
        """Return what public values alone tell at most, at the level of forms of a size."""
        if asked not in self._told:
            nothing = self.counter.table(())
            self._told[asked] = self._limits(nothing, np.zeros(0), self.level(asked), 6)
        return self._told[asked]

    def _limits(self, table: FormTable, epsilons: Floats, c: float, rounds: int) -> Floats:
        counter, strata = self.counter, len(self.people)
        counts = table.shares.reshape(strata, -1, counter.width) * self.people[:, None, :]
        counts = np.rint(counts).reshape(strata, *table.sizes.tolist(), counter.width)
        held = [index for index, j in enumerate(table.attributes) if j in self.known]
        left = [index for index, j in enumerate(table.attributes) if j not in self.known]
        budgets = np.asarray(epsilons, dtype=np.float64)[left]
        totals = np.full(len(counter.sizes), np.inf if self.public else summed_up(budgets.tolist()))
        if strata == self.strata:
            totals = form_total_limits(
                counts.sum(axis=tuple(1 + index for index in held)),
                self.people,
                counter.starts,
                [table.attributes[index] for index in left],
                table.sizes[left].tolist(),
                budgets,
                c,
                rounds,
                bool(self.public),
            )
        totals[list(self.known)] = 0.0
        totals[counter.sizes == 1] = 0.0
        return totals

    def rarest(self, protected: Booleans) -> str:
        """Return which value of some attributes the fewest records have, in words.

        Known and public values included: none has a combination of them that never occurred.
        """
        domain, counter = self.counter.records.domain, self.counter
        given = [*self.known, *self.public]
        indices = np.unique(counter.strata, return_index=True)[1]
        rows = counter.records.codes[indices][:, given].astype(np.int64)
        combinations = [tuple(row) for row in rows.tolist()]
        if len(combinations) < self.strata:
            occurred = set(combinations)
            every = product(*(range(int(counter.sizes[j])) for j in given))
            values = next(one for one in every if one not in occurred)
            return f"there is no record where {self._listed(given, values)}"
        inside = counter.plain_table(()).shares * self.people
        inside[:, np.repeat(~(protected & self.targets), counter.sizes)] = np.inf
        stratum, column = np.unravel_index(int(np.argmin(inside)), inside.shape)
        k = int(np.searchsorted(counter.starts, column, side="right")) - 1
        value = domain[k].values[column - int(counter.starts[k])]
        number, where = round(inside[stratum, column]), ""
        if given:
            where = f" where {self._listed(given, combinations[stratum])},"
        return (
            f"{domain.names[k]!r} has the value {value!r}{where} in {number:,} of "
            f"{counter.records.records:,} records"
        )

    def _listed(self, given: Sequence[int], values: Sequence[int]) -> str:
        domain = self.counter.records.domain
        return " and ".join(
            f"{domain.names[j]!r} is {domain[j].values[value]!r}"
            for j, value in zip(given, values, strict=True)
        )


class ScreenedForms(FormScorer):
    """Guesses of the limits for people, as fast as the table's totals.

    T_k + u_k + r_k E, with T_k the table's total, u_k by how much the limit of what public values
    tell is above the table's, E the sum of the budgets of what is not known, and r_k the mean of
    (limit - T_k - u_k) / E over forms of the same size whose limits were computed.

    Parameters
    ----------
    exact
        Totals of the table.
    people
        The limits.
    limits, caps
        The allowed total and the largest budget of each attribute: where the latter differ, so
        may the budgets of a form.
    """

    def __init__(
        self, exact: ExactForms, people: PopulationForms, limits: Floats, caps: Floats
    ) -> None:
        self.exact, self.counter, self.people, self.caps = exact, exact.counter, people, caps
        self.protected = np.isfinite(limits)
        self.limits = limits[self.protected]
        count = len(self.counter.sizes)
        self.rates = np.zeros((count + 1, count))
        self.learnt = np.zeros(count + 1, dtype=np.int64)
        self._excess: dict[int, Floats] = {}

    def exact_is_feasible(self, attributes: Sequence[int]) -> bool:
        """Return whether the limits of a form can be computed, and be kept."""
        asked = len(attributes)
        if self.people.public:
            told = self.people.told(asked)[self.protected]
            if not (told < (1 - 1e-6) * self.limits).all():
                return False
        caps = self.caps[[j for j in attributes if j not in self.people.known]]
        equal = len(caps) < 2 or float(np.ptp(caps)) == 0
        weights = asked + 1 if equal else 1 << min(asked, 64)
        return self.counter.cells(attributes) * weights <= MAX_WEIGHTS

    def totals(self, table: FormTable, epsilons: Floats) -> Floats:
        """Return guessed limits of the total of every attribute."""
        whole = self._spent(table, epsilons)
        found = self._base(table, epsilons) + self.rates[len(table.attributes)] * whole
        return found if self.people.public else np.asarray(np.minimum(found, whole))

    def _spent(self, table: FormTable, epsilons: Floats) -> float:
        """Return the sum of the budgets of what the adversary does not know."""
        known = np.isin(table.attributes, self.people.known)
        return summed_up(np.asarray(epsilons)[~known].tolist())

    def _base(self, table: FormTable, epsilons: Floats) -> Floats:
        found, asked = self.exact.totals(table, epsilons), len(table.attributes)
        if not self.people.public:
            return found
        if asked not in self._excess:
            told = self.exact.totals(self.exact.table(()), np.zeros(0))
            with np.errstate(invalid="ignore"):
                self._excess[asked] = np.nan_to_num(self.people.told(asked) - told, posinf=0.0)
        return found + self._excess[asked]

    def learn(self, table: FormTable, epsilons: Floats, limits: Floats) -> None:
        """Note how far the limits of a form are above its totals."""
        asked, whole = len(table.attributes), self._spent(table, epsilons)
        if whole <= 0:
            return
        with np.errstate(invalid="ignore"):
            rates = np.nan_to_num((limits - self._base(table, epsilons)) / whole, posinf=0.0)
        share = 1 / min(self.learnt[asked] + 1, MEMORY)
        self.rates[asked] += share * (np.maximum(rates, 0.0) - self.rates[asked])
        self.learnt[asked] += 1
