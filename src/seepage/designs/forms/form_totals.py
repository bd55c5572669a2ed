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
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage._core.log_ratios import largest_log_ratio
from seepage._core.rounding import rounding, summed_up
from seepage.designs.forms.form_counter import FormCounter, FormTable

if TYPE_CHECKING:
    from seepage.designs.forms.population_form_totals import PopulationFormTotals


MAX_FORM_CELLS = 1 << 22
"""Maximum entries of a form's table, (strata x answers) x values: 32 MB of doubles."""


WORK_PER_TOTALS = 0.08
"""Work of the totals of a form at least."""


WORK_PER_CELL = 2e-5
"""Work of the totals of a form per entry of its table."""


COMPLETION = 3
"""Rounded operations by which people without an answer are spread over the answers."""


class ExactFormTotals:
    """`exact` totals of forms of GRR reports, on the joint distribution of a table.

    Parameters
    ----------
    counter
        Counter of the answers.  With its public values t and known values s, reports y
        are compared by p(y, t given x, s) / p(y, t given x', s), over the x and x' that
        occur with s.

    Notes
    -----
    Rounded up by more than the rounding errors (`seepage._core.rounding`), and at most
    the sum of the budgets, where nothing is public.  A value that never occurs has no
    likelihood of the other reports; the total of an attribute that is asked is at least
    its own budget, as if all its values occurred.

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
    >>> ExactFormTotals(counter).totals(
    ...     counter.table([0, 1]), np.array([1.0, 1.0])
    ... ).round(4).tolist()
    [1.0, 1.0, 0.4338]
    """

    def __init__(self, counter: FormCounter) -> None:
        """Prepare the exact totals of forms."""
        self.counter = counter
        sizes = np.maximum(counter.sizes, counter.answers).tolist()
        self._guards = np.array([rounding([size + COMPLETION]) for size in sizes])

    def fits(self, attributes: Sequence[int]) -> bool:
        """Return whether exact totals of a form can be computed: its table has at most
        `MAX_FORM_CELLS` entries.
        """
        return self.counter.cells(attributes) <= MAX_FORM_CELLS

    def totals(self, table: FormTable, epsilons: Floats) -> Floats:
        """Return a form's exact total of every attribute of the table, rounded up."""
        budgets = np.asarray(epsilons, dtype=np.float64)
        self.counter.work.spend(WORK_PER_TOTALS + table.counts.size * WORK_PER_CELL)
        likelihoods = report_likelihoods(table.shares, table.sizes, budgets)
        guards = float(self._guards[list(table.attributes)].sum()) + self._guards
        starts = self.counter.starts
        occurs = self.counter.occurs[:, None, :]
        totals = largest_log_ratio(likelihoods, likelihoods, starts, guards, occurs)
        if not self.counter.public:
            totals = np.minimum(totals, summed_up(budgets.tolist()))
        for attribute, budget in zip(table.attributes, budgets.tolist(), strict=True):
            if (
                self.counter.answers[attribute] > 1
                and attribute not in self.counter.known
            ):
                totals[attribute] = max(totals[attribute], budget)
        return totals


def report_likelihoods(shares: Floats, sizes: Integers, epsilons: Floats) -> Floats:
    """Return the likelihood of every report of a form, up to factors: strata x reports
    x values.

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
"""Number of certified forms of a size over which the estimates for that size are
averaged, exponentially."""


FIRST_SCALE = 0.8
"""Excess of a limit over its normal approximation before any was computed: that of two
values with some 10 % to 50 % of the records."""


NEXT_BUDGET = 0.85
"""Ratio of the budgets of a form with one question more, before any was certified."""


class ScreenedFormTotals(ExactFormTotals):
    """Fast estimates of the population limits, to screen candidate forms; not
    certified.

    T_k + b r_k E, with T_k the table's total, E the sum of the budgets of attributes
    that are not known, r_k E the excess of the normal approximation of the limit, and b
    the mean ratio of the two for the total nearest its limit, over the forms of the
    same size that were certified.

    A report of likelihood m_x under the value x of n people, whose variance is s_x^2,
    has limits about m_x +- sqrt(2 c s_x^2 / n) for the exponent c.  r_k is computed
    once per form, at the mean certified budget of its size.

    Parameters
    ----------
    population
        The certified limits.
    limits, caps
        The maximum total and the largest budget of each attribute.  Different caps
        allow different budgets in a form, whose limits then cost more.
    """

    def __init__(
        self, population: "PopulationFormTotals", limits: Floats, caps: Floats
    ) -> None:
        """Prepare the estimated totals of forms for the population."""
        super().__init__(population.counter)
        self.population = population
        self.caps = caps
        self.protected = np.isfinite(limits)
        self.limits = limits[self.protected]
        count = len(self.counter.sizes)
        questions = np.arange(count + 1)
        self.scales = np.full(count + 1, FIRST_SCALE)
        self.budgets = float(caps.max()) * NEXT_BUDGET ** np.maximum(questions - 1, 0)
        self.observed = np.zeros(count + 1, dtype=np.int64)
        self._excesses: dict[tuple[int, ...], tuple[Floats, Floats]] = {}

    def fits(self, attributes: Sequence[int]) -> bool:
        """Return whether a form's totals can be estimated, and public values alone keep
        the limits.
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
        """Return the estimated limit of a form's total of every attribute, in nats."""
        spent = self._spent(table, epsilons)
        fixed, per_nat = self._excess(table)
        scale = self.scales[len(table.attributes)]
        excess = scale * (fixed + per_nat * spent)
        estimates = super().totals(table, epsilons) + excess
        if self.population.public:
            return np.asarray(estimates)
        return np.asarray(np.minimum(estimates, spent))

    def _spent(self, table: FormTable, epsilons: Floats) -> float:
        """Return E, the sum of a form's budgets of attributes that the adversary does
        not know.
        """
        known = np.isin(table.attributes, self.population.known)
        return summed_up(np.asarray(epsilons)[~known].tolist())

    def _excess(self, table: FormTable) -> tuple[Floats, Floats]:
        """Return the approximate excess of a form's limits over its estimated totals
        without budgets, 0 unless values are public, and its growth per nat.
        """
        if table.attributes not in self._excesses:
            caps = self.caps[list(table.attributes)]
            budgets = np.minimum(self.budgets[len(table.attributes)], caps)
            spent = self._spent(table, budgets)
            fixed = np.zeros(len(self.counter.sizes))
            if self.population.public:
                fixed = self._excess_at(table, np.zeros(len(caps)))
            per_nat = np.zeros(len(fixed))
            if spent > 0:
                per_nat = (self._excess_at(table, budgets) - fixed) / spent
            self._excesses[table.attributes] = fixed, per_nat
        return self._excesses[table.attributes]

    def _excess_at(self, table: FormTable, budgets: Floats) -> Floats:
        """Return the excess of the normal approximation of a form's limits over its
        estimated totals, at some budgets.
        """
        # changes of a design are priced with larger forms than it may have
        covered = min(len(table.attributes), self.population.largest)
        level = self.population.level(covered)
        self.counter.work.spend(WORK_PER_TOTALS + table.counts.size * WORK_PER_CELL)
        likelihoods = report_likelihoods(table.shares, table.sizes, budgets)
        squares = report_likelihoods(table.shares, table.sizes, 2 * budgets)
        people = np.maximum(self.counter.people, 1.0)[:, None, :]
        least = math.exp(-summed_up(budgets.tolist()))
        upper, lower = _normal_limits(likelihoods, squares, level / people, least)
        occurs = self.counter.occurs[:, None, :]
        limits = largest_log_ratio(upper, lower, self.counter.starts, 0.0, occurs)
        return np.maximum(limits - super().totals(table, budgets), 0.0)

    def learn(self, table: FormTable, epsilons: Floats, limits: Floats) -> None:
        """Update the estimated excess and budget of forms of a size with the computed
        limits of one, at the total nearest its limit.
        """
        questions = len(table.attributes)
        spent = self._spent(table, epsilons)
        excesses = limits[self.protected] - self.limits
        k = int(np.flatnonzero(self.protected)[np.argmax(excesses)])
        fixed, per_nat = self._excess(table)
        excess = float(fixed[k] + per_nat[k] * spent)
        if excess <= 0 or (not self.population.public and limits[k] >= spent):
            return  # the limit is the sum of the budgets
        total = float(super().totals(table, epsilons)[k])
        weight = 1 / min(self.observed[questions] + 1, AVERAGING_WINDOW)
        ratio = (float(limits[k]) - total) / excess
        self.scales[questions] += weight * (ratio - self.scales[questions])
        budget = float(np.max(epsilons))
        self.budgets[questions] += weight * (budget - self.budgets[questions])
        self.observed[questions] += 1


def _normal_limits(
    likelihoods: Floats, squares: Floats, exponents: Floats, least: float
) -> tuple[Floats, Floats]:
    """Return about the upper and lower limits of the likelihoods of a form's reports,
    to estimate its totals.

    Parameters
    ----------
    likelihoods, squares
        m, and the mean square of the likelihoods: strata x reports x values.
    exponents
        c / n for the n people with each value.
    least
        e to minus all budgets: the least likelihood, where the largest is 1.

    Notes
    -----
    m +- sqrt(2 c / n (s^2 + d^2 c / (2 n))), with d the distance to the bound: as for
    KL_inf, a value with few people may have any share near c / n of a likelihood that
    none of them showed.
    """
    variances = np.maximum(squares - likelihoods**2, 0.0)
    above = 1 - likelihoods
    below = np.maximum(likelihoods - least, 0.0)
    rise = np.sqrt(2 * exponents * variances + (exponents * above) ** 2)
    fall = np.sqrt(2 * exponents * variances + (exponents * below) ** 2)
    upper = np.minimum(likelihoods + rise, 1.0)
    relative = np.divide(
        fall, likelihoods, out=np.zeros_like(fall), where=likelihoods > 0
    )
    lower = np.maximum(likelihoods * np.exp(-relative), least)
    return upper, lower
