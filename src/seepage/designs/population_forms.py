"""Totals of forms for the people behind a table.

The statements of all forms of a size are counted, so any of them may be chosen by looking, with the
largest equal budgets that pass [theory-population: Budgets chosen by looking].
"""

from collections.abc import Sequence

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage.data.records import Records
from seepage.designs.form_counts import FormCounter, FormTable
from seepage.designs.form_problem import LARGEST_FORM
from seepage.errors import InputError
from seepage.totals.report_limits import form_level, form_limits

MOST_SPLIT = 10**9
"""Fewer people than this can be split, which is where NumPy's draw ends."""


class PopulationForms:
    """`exact` totals of forms of GRR reports, as upper limits for people: a `FormScorer`.

    Parameters
    ----------
    records
        A random sample of the people, one record per person.
    confidence
        Of all totals together, of whichever forms are chosen.
    largest
        The most attributes of a form; the form of all attributes that may be asked counts besides.
    asked
        Places of the attributes that may be asked; by default all.
    counter
        What counts forms of these records; by default a new one.
    compiled
        Whether to count with the compiled kernels; None where the table is large enough.

    Notes
    -----
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

    guarantee = "exact"
    scope = "population"

    def __init__(
        self,
        records: Records,
        confidence: float = 0.95,
        largest: int = LARGEST_FORM,
        asked: Sequence[int] | None = None,
        counter: FormCounter | None = None,
        compiled: bool | None = None,
    ) -> None:
        self.counter = FormCounter(records, compiled=compiled) if counter is None else counter
        self.confidence = _open_probability(confidence)
        sizes = self.counter.layout.sizes
        self.asked_sizes = sizes if asked is None else sizes[list(asked)]
        self.largest = min(largest, len(self.asked_sizes))
        with np.errstate(divide="ignore"):
            people = np.where(self.counter.seen[0], 1 / self.counter.scale[0], 0.0)
        self.people = np.rint(people)

    def level(self, asked: int) -> float:
        """Return the c of each statement about a form that asks so many attributes."""
        numbers = {*range(1, self.largest + 1), len(self.asked_sizes)}
        if asked and asked not in numbers:
            raise InputError(f"a form has at most {self.largest} attributes, got {asked}")
        width = self.counter.layout.width
        return form_level(self.asked_sizes, width, asked, len(numbers), self.confidence)

    def fits(self, attributes: Sequence[int]) -> bool:
        """Return whether the totals of a form can be computed."""
        return self.counter.fits(attributes)

    def table(self, attributes: Sequence[int]) -> FormTable:
        """Return the counts of a form."""
        return self.counter.table(attributes)

    def totals(self, table: FormTable, epsilons: Floats, rounds: int = 3) -> Floats:
        """Return upper limits of the total of every attribute of the table."""
        return form_limits(
            np.rint(table.shares * self.people),
            self.people,
            self.counter.layout.starts,
            table.attributes,
            table.sizes.tolist(),
            np.asarray(epsilons, dtype=np.float64),
            self.level(len(table.attributes)),
            rounds,
        )


def _open_probability(confidence: float) -> float:
    found = _checks.probability(confidence, "confidence")
    if found in (0, 1):
        raise InputError(f"confidence must be above 0 and below 1, got {found:g}")
    return found


def halved(confidence: float) -> float:
    """Return the confidence of each of two parts that together have this one.

    Examples
    --------
    >>> round(halved(0.95), 3)
    0.975
    """
    return 1 - (1 - confidence) / 2


def check_split(records: Records) -> None:
    """Raise where there are too many people to draw a part of them."""
    if records.records >= MOST_SPLIT:
        raise InputError(
            f"limits for the population need fewer than 10^9 records, got {records.records:,}; "
            "give a sample of them, or scope='table'"
        )
