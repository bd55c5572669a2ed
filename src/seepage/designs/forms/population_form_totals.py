"""Totals of forms as upper confidence limits for the population."""

import math
from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np

from seepage._core.arrays import Booleans, Floats
from seepage._core.errors import InputError
from seepage._core.rounding import summed_up
from seepage.confidence.level_of_maxima import level_of_maxima
from seepage.confidence.total_limits import form_total_limits
from seepage.designs.forms.form_counter import FormCounter, FormTable

WORK_PER_LIMITS = 2.0
"""Work of the limits of a form, whatever its size."""


WORK_PER_CELL = 2e-3
"""Further work of the limits of a form, per entry of its table."""


class PopulationFormTotals:
    """Upper confidence limits of the `exact` totals of forms of GRR reports.

    Parameters
    ----------
    counter
        Counter of forms on a random sample of the population, one record per person.
    confidence
        Confidence that every limit holds, whichever forms are selected.
    largest
        The maximum number of attributes of a form; the form of all attributes is also
        covered.
    collected
        Indices of the attributes that may be asked.

    Notes
    -----
    Every form that could be asked is one family of equal budgets, fixed beforehand: the
    choice among them costs the logarithm of their number, and the reports, values and
    targets of a form cost nothing [theory-certificate: Families].

    Known values are conditions like the target's value; if a combination of both has no
    records the limit is the sum of the budgets. Public values are a part of the report:
    one that never occurred with some value of the target leaves no finite limit
    [theory-population: What else the adversary has].  Reports about known attributes
    leak nothing more.

    The limits are valid for one ascending family of budgets per form that is fixed
    beforehand, such as equal budgets, and for the largest budgets of it that pass.
    Some 10 ms for six binary questions and 80 values with equal budgets, 100 ms
    otherwise.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain(
    ...     [sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")]
    ... )
    >>> coins = sp.Records(
    ...     domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [50_000] * 4
    ... )
    >>> counter = FormCounter(coins)
    >>> limits = PopulationFormTotals(counter, 0.95, largest=8, collected=[0, 1, 2])
    >>> limits.totals(counter.table([0, 1]), np.array([1.0, 1.0])).round(3).tolist()
    [1.012, 1.012, 0.448]
    """

    def __init__(
        self,
        counter: FormCounter,
        confidence: float,
        largest: int,
        collected: Sequence[int],
    ) -> None:
        """Prepare the limits of forms' totals for the population."""
        self.counter = counter
        self.confidence = confidence
        sizes = counter.sizes
        self.collected_sizes = counter.answers[list(collected)]
        self.largest = min(largest, len(self.collected_sizes))
        self.public = counter.public
        self.known = counter.known
        self.targets = np.ones(len(sizes), dtype=np.bool_)
        self.targets[[*self.public, *self.known]] = False
        self.strata = math.prod(sizes[[*self.public, *self.known]].tolist())
        self.public_leakage = cache(self._public_leakage)

    def level(self, questions: int) -> float:
        """Return c of `level_of_maxima` for the population totals of forms that ask
        this many questions.

        The error probability is shared equally by the numbers of questions.
        """
        asked = len(self.collected_sizes)
        form_sizes = {*range(1, self.largest + 1), asked}
        if questions and questions not in form_sizes:
            raise InputError(
                f"a form has at most {self.largest} attributes, got {questions}"
            )
        forms = math.comb(asked, questions)
        return level_of_maxima(len(form_sizes) * forms, self.confidence)

    def totals(
        self,
        table: FormTable,
        epsilons: Floats,
        rounds: int = 3,
        enough: Floats | None = None,
    ) -> Floats:
        """Return the upper limit for the population of a form's total of every
        attribute, in nats.

        Or bounds of those that are at most `enough`, which is faster.
        """
        level = self.level(len(table.attributes))
        return self._limits(table, epsilons, level, rounds, enough)

    def _public_leakage(self, questions: int) -> Floats:
        """Return the upper limit for the population of the leakage of public values
        alone, at `level(questions)`.
        """
        if not self.public:
            return np.zeros(len(self.counter.sizes))
        return self._limits(
            self.counter.table(()), np.zeros(0), self.level(questions), 6
        )

    def _limits(
        self,
        table: FormTable,
        epsilons: Floats,
        c: float,
        rounds: int,
        enough: Floats | None = None,
    ) -> Floats:
        """Return the upper limits for the population of a form's totals at an exponent
        c.
        """
        counter = self.counter
        strata = len(table.counts)
        counts = table.counts.reshape(strata, *table.sizes.tolist(), counter.width)
        known = [axis for axis, j in enumerate(table.attributes) if j in self.known]
        unknown = [
            axis for axis, j in enumerate(table.attributes) if j not in self.known
        ]
        budgets = np.asarray(epsilons, dtype=np.float64)[unknown]
        counter.work.spend(WORK_PER_LIMITS + counts.size * WORK_PER_CELL)
        totals = np.full(
            len(counter.sizes), np.inf if self.public else summed_up(budgets.tolist())
        )
        if strata == self.strata:
            totals = form_total_limits(
                counts.sum(axis=tuple(1 + axis for axis in known)),
                counter.people,
                counter.starts,
                [table.attributes[axis] for axis in unknown],
                budgets,
                c=c,
                sizes=table.sizes[unknown].tolist(),
                iterations=rounds,
                public=bool(self.public),
                enough=enough,
            )
        totals[list(self.known)] = 0.0
        totals[counter.sizes == 1] = 0.0  # nothing is told between one value and none
        return totals

    def rarest(self, protected: Booleans) -> str:
        """Return a clause on the protected value whose few records widen the population
        totals most.

        By stratum of known and public values; if one of their combinations has no
        record, the clause names it instead.
        """
        domain = self.counter.records.domain
        counter = self.counter
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
        number = round(counts[stratum, column])
        where = ""
        if conditions:
            where = f" where {self._listed(conditions, combinations[stratum])},"
        return (
            f"{domain.names[k]!r} has the value {value!r}{where} in {number:,} of "
            f"{counter.records.records:,} records"
        )

    def _listed(self, attributes: Sequence[int], values: Sequence[int]) -> str:
        """Return values that widen population totals, with few records, in words."""
        domain = self.counter.records.domain
        return " and ".join(
            f"{domain.names[j]!r} is {domain[j].values[value]!r}"
            for j, value in zip(attributes, values, strict=True)
        )
