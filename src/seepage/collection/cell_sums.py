"""Sums of the unbiased vectors of reports: estimated tables with their covariance.

The estimated table is the weighted mean over people

    t = sum_i u_i a_i / sum_i u_i,   u_i = w_i / v(f_i),

w_i the weight of a person, 1 by default, and v(f) the variance of one report's vector
at nominal frequencies, summed over the cells.  v(f) is fixed before the collection, so
t is unbiased, and forms are combined by inverse variance.  It is a ratio of sums
(Hajek), and linearised its covariance is

    sum_i u_i^2 (a_i - t)(a_i - t)' / (sum_i u_i)^2,

for the population that people were drawn from, noise and sampling together [Sarndal,
Swensson and Wretman 1992, section 5.7]; it is divided by 1 - sum u^2 / (sum u)^2, so
that equal weights give the sample covariance over n.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage._core.errors import InputError
from seepage.collection.report_batches import ReportSource
from seepage.plan.plan_content import PlanContent
from seepage.plan.report_vectors import (
    FormVectors,
    check_cells,
    count_cells,
    informative_forms,
)

CHUNK_ENTRIES = 1 << 23
"""Entries of the vectors that are added at once."""


class CellSums:
    """Weighted sums of the vectors of all forms that ask for attributes, and of their
    products.

    Parameters
    ----------
    plan
        The plan.
    names
        The attributes.
    full
        Whether to sum products of different cells, for the covariance; else squares
        alone.
    """

    def __init__(
        self, plan: PlanContent, names: Sequence[str], *, full: bool = True
    ) -> None:
        """Start the sums of the cells of one table at 0."""
        self.forms = informative_forms(plan, names)
        self.people: dict[int, int] = dict.fromkeys(self.forms, 0)
        self._full = full
        cells = count_cells(plan, names)
        products: tuple[int, ...] = (cells,)
        if full:
            check_cells(plan, names)
            products = (cells, cells)
        self._rows = max(1, CHUNK_ENTRIES // cells)
        self._weight = 0.0
        self._square = 0.0
        self._first = np.zeros(cells)
        self._first_square = np.zeros(cells)
        self._second = np.zeros(products)

    def add(self, index: int, reports: Sequence[Any], weights: Floats | None) -> None:
        """Add reports of one form to the sums of cells, with the weights of their
        people; None for 1 each.
        """
        vectors = self.forms[index]
        precision = 1.0 / (self.forms[index].variance or 1.0)
        self.people[index] += len(reports[0])
        distinct, sums, squares = vectors.distinct(reports, weights)
        for start in range(0, len(sums), self._rows):
            rows = slice(start, start + self._rows)
            once = precision * sums[rows]
            twice = precision**2 * squares[rows]
            part = vectors.vectors([column[rows] for column in distinct])
            self._weight += float(once.sum())
            self._square += float(twice.sum())
            self._first += once @ part
            self._first_square += twice @ part
            if self._full:
                self._second += (part * twice[:, None]).T @ part
            else:
                self._second += twice @ part**2

    @cached_property
    def mean(self) -> Floats:
        """The estimated frequency of each cell, from the sums."""
        return np.asarray(self._first / self._weight)

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of the cells' estimates; their variances alone unless
        `full`.
        """
        if self.effective < 1 + 1e-9:  # one person
            return np.full_like(self._second, np.inf)
        if self._full:
            cross = np.outer(self._first_square, self.mean)
            squares = np.outer(self.mean, self.mean)
        else:
            cross = self._first_square * self.mean
            squares = self.mean**2
        centred = self._second - cross - cross.T + self._square * squares
        return np.asarray(centred / self._weight**2 / (1.0 - 1.0 / self.effective))

    @property
    def effective(self) -> float:
        """The effective number of people in the sums, (sum u)^2 / sum u^2 [Kish
        1965].
        """
        return self._weight**2 / self._square


def read_vectors(
    source: ReportSource, wanted: Sequence[Mapping[int, FormVectors]]
) -> Iterator[tuple[int, int, list[Any], Integers]]:
    """Yield (index of the wanted sums, index of a form, its reports, their rows), in
    one pass.
    """
    names = _columns_by_form(wanted)
    for form, batch, rows in source.by_form(names):
        by_name = dict(zip(names[form], batch, strict=True))
        for index, forms in enumerate(wanted):
            if form in forms:
                reports = [by_name[name] for name in forms[form].columns]
                yield index, form, reports, rows


def _columns_by_form(
    wanted: Sequence[Mapping[int, FormVectors]],
) -> dict[int, list[str]]:
    """Return the columns of reports that are read for sums, by the index of the
    form.
    """
    columns = dict[int, dict[str, None]]()
    for forms in wanted:
        for form, vectors in forms.items():
            columns.setdefault(form, {}).update(dict.fromkeys(vectors.columns))
    return {form: list(names) for form, names in columns.items()}


def add_reports(source: ReportSource, sums: Sequence[Any], weights: Any = None) -> None:
    """Add all reports to several `CellSums`, or sums with the same `forms` and
    `add`.
    """
    by_person = source.weights(weights)
    wanted = [table.forms for table in sums]
    for index, form, reports, rows in read_vectors(source, wanted):
        of_rows = None
        if by_person is not None:
            of_rows = by_person[rows]
        sums[index].add(form, reports, of_rows)


def sum_table(
    plan: PlanContent, source: ReportSource, names: Sequence[str], weights: Any
) -> CellSums:
    """Return the sums of the cells of one table; raise if the reports do not determine
    it.
    """
    sums = CellSums(plan, names)
    add_reports(source, [sums], weights)
    if not any(sums.people.values()):
        raise undetermined(names)
    return sums


def undetermined(names: Sequence[str]) -> InputError:
    """Return the error for attributes of which the reports tell nothing together."""
    return InputError(
        f"the reports do not determine the table of {' and '.join(names)}"
    )
