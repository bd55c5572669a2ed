"""Totals of forms for the people behind a table, and forms certified on records not looked at.

Two ways to choose forms by looking and still promise something for people [theory-population:
Budgets chosen by looking]:

* `PopulationForms` counts the statements of all forms of a size, so any of them may be chosen, with
  the largest equal budgets that pass;
* `split_records` and `certify_forms`: forms and the proportions of their budgets are chosen on a
  random part of the records, in any way; on the rest each form gets the largest multiple of its
  budgets that passes, and only the statements of these forms are counted.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, summed_up
from seepage.data.records import Records
from seepage.designs.equal_budgets import largest_within
from seepage.designs.form_counts import FormCounter, FormTable
from seepage.designs.form_problem import LARGEST_FORM, FittedForm, Form
from seepage.errors import InputError
from seepage.totals.report_limits import form_level, form_limits

TOLERANCE = 1e-4
"""To what share of them budgets are found."""

MOST_SPLIT = 10**9
"""Fewer people than this can be split, which is where NumPy's draw ends."""

FEW_STEPS = 2
"""Rounds of Newton's method while a budget is searched for; the last totals take the usual ones."""


class PopulationForms:
    """`exact` totals of forms of GRR reports, as upper limits for people: a `FormScorer`.

    Parameters
    ----------
    records
        A random sample of the people, one record per person.
    confidence
        Of all totals together, of whichever forms are chosen.
    forms
        The forms that may be chosen, if they are known without looking at these records; by default
        all forms of up to `largest` attributes.
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
    With `forms` by default the claim holds for one ascending family of budgets per form that is
    fixed beforehand, such as equal budgets, and the largest that pass.  Some 10 ms for six binary
    questions and 80 values with equal budgets, 100 ms otherwise.

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
        forms: Sequence[Form] | None = None,
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
        self._level = None if forms is None else self._level_of(forms)

    def _level_of(self, forms: Sequence[Form]) -> float:
        sizes = self.counter.layout.sizes
        reports = sum(math.prod(int(sizes[j]) for j in form) for form in forms)
        number = max(1, 2 * self.counter.layout.width * reports)
        return math.log(number) - math.log1p(-self.confidence)

    def level(self, asked: int) -> float:
        """Return the c of each statement about a form that asks so many attributes."""
        if self._level is not None:
            return self._level
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


def split_records(records: Records, share: float = 0.2, seed: int = 0) -> tuple[Records, Records]:
    """Return a random part of the people and the others, each person in one of them.

    Parameters
    ----------
    records
        The people.
    share
        How many are in the first part.
    seed
        Of the draw.

    Examples
    --------
    >>> import seepage as sp
    >>> first, rest = split_records(sp.Records.from_data(sp.make_survey(1000)))
    >>> first.records, rest.records
    (200, 800)
    """
    rng = _checks.generator(seed)
    number = round(_checks.probability(share, "share") * records.records)
    check_split(records)
    drawn = rng.multivariate_hypergeometric(records.weights, number, method="marginals")
    parts = []
    for weights in (drawn, records.weights - drawn):
        kept = weights > 0
        parts.append(Records(records.domain, records.codes[kept], weights[kept]))
    return parts[0], parts[1]


def check_split(records: Records) -> None:
    """Raise where there are too many people to draw a part of them."""
    if records.records >= MOST_SPLIT:
        raise InputError(
            f"limits for the population need fewer than 10^9 records, got {records.records:,}; "
            "give a sample of them, or scope='table'"
        )


def certify_forms(
    records: Records,
    forms: Sequence[FittedForm],
    limits: Floats,
    confidence: float = 0.95,
    record_limit: float = math.inf,
) -> list[FittedForm]:
    """Return forms of GRR reports with budgets that keep all limits for people.

    Parameters
    ----------
    records
        A random sample of the people, none of whom was looked at to choose the forms.
    forms
        What is asked together, with budgets whose proportions are kept.
    limits
        The allowed total of each attribute of the table.
    confidence
        Of all totals of all forms together.
    record_limit
        The largest sum of budgets of a form.

    Returns
    -------
    list[FittedForm]
        In the same order, each with the largest multiple of its budgets whose limits pass, up to
        twice as large, and no budget above its own attribute's limit.
    """
    scorer = PopulationForms(records, confidence, [form.attributes for form in forms])
    return [_certified(scorer, form, limits, record_limit) for form in forms]


def _certified(
    scorer: PopulationForms, form: FittedForm, limits: Floats, record_limit: float
) -> FittedForm:
    if set(form.mechanisms) - {"grr"}:
        raise InputError(f"forms of GRR reports can be certified, got {set(form.mechanisms)}")
    table, limited = scorer.table(form.attributes), limits < np.inf
    allowed = limits[list(form.attributes)] / form.epsilons
    top = min(2.0, float(allowed.min()), record_limit / summed_up(form.epsilons.tolist()))

    def excess(share: float, rounds: int = FEW_STEPS) -> float:
        totals = scorer.totals(table, form.epsilons * share, rounds)
        return float((totals - limits)[limited].max())

    share = largest_within(excess, top * (1 - 1e-12), TOLERANCE)
    budgets = form.epsilons * share
    return replace(form, epsilons=budgets, totals=scorer.totals(table, budgets))
