"""Upper confidence limits of the `exact` totals of forms, for the population of the records.

The search uses fast estimates of these limits (`ScreenedForms`), as cheap as the table's totals.
"""

import math
from collections.abc import Sequence
from functools import cache, cached_property
from itertools import product

import numpy as np

from seepage._numerics import Booleans, Floats, summed_up
from seepage.designs.forms.form_totals import ExactForms, FormCounter, FormTable
from seepage.errors import InputError
from seepage.totals.population_totals import form_level, form_total_limits

MAX_WEIGHTS = 1 << 23
"""Maximum number of weights, reports x values, of a form's limits: 64 MB per array of doubles."""

AVERAGING_WINDOW = 30
"""Number of forms of a size over which (limit - total) / budgets is averaged, exponentially."""


class PopulationForms:
    """Upper confidence limits of the `exact` totals of forms of GRR reports.

    Parameters
    ----------
    counter
        Counter of forms on a random sample of the population, one record per person.
    confidence
        Confidence level of all totals of all forms at once (union bound), so that any form may be
        selected.
    largest
        The maximum number of attributes of a form; the form of all attributes is also covered.
    collected
        Indices of the attributes that may be asked.

    Notes
    -----
    Known values are conditions like the target's value: the union bound has one statement for
    every combination of both, and if one has no records the limit is the sum of the budgets.
    Public values are a part of the report: one that never occurred with some value of the target
    leaves no finite limit [theory-population: What else the adversary has].  Reports about known
    attributes leak nothing more.

    The limits are valid for one ascending family of budgets per form that is fixed beforehand,
    such as equal budgets, and for the largest budgets of it that pass.  Some 10 ms for six binary
    questions and 80 values with equal budgets, 100 ms otherwise.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [50_000] * 4)
    >>> counter = FormCounter(coins)
    >>> limits = PopulationForms(counter, 0.95, largest=8, collected=[0, 1, 2])
    >>> limits.totals(counter.table([0, 1]), np.array([1.0, 1.0])).round(3).tolist()
    [1.016, 1.016, 0.447]
    """

    def __init__(
        self, counter: FormCounter, confidence: float, largest: int, collected: Sequence[int]
    ) -> None:
        self.counter, self.confidence, sizes = counter, confidence, counter.sizes
        self.collected_sizes = sizes[list(collected)]
        self.largest = min(largest, len(self.collected_sizes))
        self.public, self.known = counter.public, counter.known
        self.targets = np.ones(len(sizes), dtype=np.bool_)
        self.targets[[*self.public, *self.known]] = False
        self.strata = math.prod(sizes[[*self.public, *self.known]].tolist())
        self.public_leakage = cache(self._public_leakage)

    def level(self, questions: int) -> float:
        """Return c = ln(N / beta) of the union bound over all N statements on forms of a size."""
        form_sizes = {*range(1, self.largest + 1), len(self.collected_sizes)}
        if questions and questions not in form_sizes:
            raise InputError(f"a form has at most {self.largest} attributes, got {questions}")
        values = int(self.counter.sizes[self.targets].sum()) * self.strata
        return form_level(self.collected_sizes, values, questions, len(form_sizes), self.confidence)

    def totals(self, table: FormTable, epsilons: Floats, rounds: int = 3) -> Floats:
        """Return the upper limit of the total of every attribute of the table, in nats."""
        return self._limits(table, epsilons, self.level(len(table.attributes)), rounds)

    def _public_leakage(self, questions: int) -> Floats:
        """Return the upper limit of the leakage of public values alone, at `level(questions)`."""
        return self._limits(self.counter.table(()), np.zeros(0), self.level(questions), 6)

    def _limits(self, table: FormTable, epsilons: Floats, c: float, rounds: int) -> Floats:
        counter, strata = self.counter, len(table.counts)
        counts = table.counts.reshape(strata, *table.sizes.tolist(), counter.width)
        known = [axis for axis, j in enumerate(table.attributes) if j in self.known]
        unknown = [axis for axis, j in enumerate(table.attributes) if j not in self.known]
        budgets = np.asarray(epsilons, dtype=np.float64)[unknown]
        totals = np.full(len(counter.sizes), np.inf if self.public else summed_up(budgets.tolist()))
        if strata == self.strata:
            totals = form_total_limits(
                counts.sum(axis=tuple(1 + axis for axis in known)),
                counter.people,
                counter.starts,
                [table.attributes[axis] for axis in unknown],
                budgets,
                c,
                rounds,
                bool(self.public),
            )
        totals[list(self.known)] = 0.0
        totals[counter.sizes == 1] = 0.0
        return totals

    def rarest(self, protected: Booleans) -> str:
        """Return a clause on the value of the protected attributes with the fewest records.

        By stratum of known and public values; if one of their combinations has no record, the
        clause names it instead.
        """
        domain, counter = self.counter.records.domain, self.counter
        conditions = [*self.known, *self.public]
        indices = np.unique(counter.strata, return_index=True)[1]
        rows = counter.records.codes[indices][:, conditions].astype(np.int64)
        combinations = [tuple(row) for row in rows.tolist()]
        if len(combinations) < self.strata:
            occurring = set(combinations)
            every = product(*(range(int(counter.sizes[j])) for j in conditions))
            values = next(codes for codes in every if codes not in occurring)
            return f"there is no record where {self._listed(conditions, values)}"
        counts = counter.table(()).counts[:, 0].copy()
        counts[:, np.repeat(~(protected & self.targets), counter.sizes)] = np.inf
        stratum, column = np.unravel_index(int(np.argmin(counts)), counts.shape)
        k = int(np.searchsorted(counter.starts, column, side="right")) - 1
        value = domain[k].values[column - int(counter.starts[k])]
        number, where = round(counts[stratum, column]), ""
        if conditions:
            where = f" where {self._listed(conditions, combinations[stratum])},"
        return (
            f"{domain.names[k]!r} has the value {value!r}{where} in {number:,} of "
            f"{counter.records.records:,} records"
        )

    def _listed(self, attributes: Sequence[int], values: Sequence[int]) -> str:
        domain = self.counter.records.domain
        return " and ".join(
            f"{domain.names[j]!r} is {domain[j].values[value]!r}"
            for j, value in zip(attributes, values, strict=True)
        )


class ScreenedForms(ExactForms):
    """Fast estimates of the population limits, to screen candidate forms; not certified.

    T_k + u_k + r_k E, with T_k the table's total, u_k the excess of the population limit over the
    table's value for the leakage of public values alone, E the sum of the budgets of attributes
    that are not known, and r_k the mean of (limit - T_k - u_k) / E over the forms of the same size
    whose limits were computed.

    Parameters
    ----------
    population
        The certified limits.
    limits, caps
        The maximum total and the largest budget of each attribute.  Different caps allow different
        budgets in a form, whose limits then cost more.
    """

    def __init__(self, population: PopulationForms, limits: Floats, caps: Floats) -> None:
        super().__init__(population.counter)
        self.population, self.caps = population, caps
        self.protected = np.isfinite(limits)
        self.limits = limits[self.protected]
        count = len(self.counter.sizes)
        self.rates = np.zeros((count + 1, count))
        self.observed = np.zeros(count + 1, dtype=np.int64)

    def fits(self, attributes: Sequence[int]) -> bool:
        """Return whether a form's limits can be computed, and public values alone keep them."""
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
        estimates = self._base(table, epsilons) + self.rates[len(table.attributes)] * spent
        return estimates if self.population.public else np.asarray(np.minimum(estimates, spent))

    def _spent(self, table: FormTable, epsilons: Floats) -> float:
        """Return E, the sum of the budgets of attributes that the adversary does not know."""
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
        questions, spent = len(table.attributes), self._spent(table, epsilons)
        if spent <= 0:
            return
        with np.errstate(invalid="ignore"):
            rates = np.nan_to_num((limits - self._base(table, epsilons)) / spent, posinf=0.0)
        weight = 1 / min(self.observed[questions] + 1, AVERAGING_WINDOW)
        self.rates[questions] += weight * (np.maximum(rates, 0.0) - self.rates[questions])
        self.observed[questions] += 1
