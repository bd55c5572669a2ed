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
from functools import cached_property
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
"""Number of forms of a size over which (limit - total) / budgets is averaged,
exponentially."""


class ScreenedFormTotals(ExactFormTotals):
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
        self, population: "PopulationFormTotals", limits: Floats, caps: Floats
    ) -> None:
        """Prepare the estimated totals of forms for the population."""
        super().__init__(population.counter)
        self.population = population
        self.caps = caps
        self.protected = np.isfinite(limits)
        self.limits = limits[self.protected]
        count = len(self.counter.sizes)
        self.rates = np.zeros((count + 1, count))
        self.observed = np.zeros(count + 1, dtype=np.int64)

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
        estimates = (
            self._base(table, epsilons) + self.rates[len(table.attributes)] * spent
        )
        return (
            estimates
            if self.population.public
            else np.asarray(np.minimum(estimates, spent))
        )

    def _spent(self, table: FormTable, epsilons: Floats) -> float:
        """Return E, the sum of a form's budgets of attributes that the adversary does
        not know.
        """
        known = np.isin(table.attributes, self.population.known)
        return summed_up(np.asarray(epsilons)[~known].tolist())

    def _base(self, table: FormTable, epsilons: Floats) -> Floats:
        """Return T_k + u_k of every attribute k, from which a form's totals are
        estimated.
        """
        totals = super().totals(table, epsilons)
        if not self.population.public:
            return totals
        with np.errstate(invalid="ignore"):
            leakages = self.population.public_leakage(len(table.attributes))
            return totals + np.nan_to_num(leakages - self._public_totals, posinf=0.0)

    @cached_property
    def _public_totals(self) -> Floats:
        """The table's leakage of public values alone, part of each form's totals."""
        return super().totals(self.counter.table(()), np.zeros(0))

    def learn(self, table: FormTable, epsilons: Floats, limits: Floats) -> None:
        """Update the mean rates r_k of estimated totals with the computed limits of a
        form.
        """
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
