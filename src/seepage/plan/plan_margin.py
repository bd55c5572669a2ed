"""The margin of a plan: how far the rows of a table may move within the limits.

For a form whose report y has the likelihood w(z) given the answers z, and rows P(z
given x) within total variation r of the table's, the total about an attribute is

    ln max over y, x != x' of U_x(y) / L_x'(y),

U_x(y) the largest mean of w that moves at most a mass of r, from the answers of the
least w to that of the largest, and L_x(y) the smallest one.  Where the attribute itself
is asked, all answers that occur with x have its value x, and so have the others that
mass may move to [theory-tables: The margin of a plan].
"""

from collections.abc import Sequence

import numpy as np

from seepage._core.arrays import Booleans, Floats
from seepage._core.errors import InputError
from seepage._core.log_ratios import quotient
from seepage.channel.records import Records
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_channels import MatrixChannel
from seepage.designs.forms.form_counter import FormCounter
from seepage.leakage.uncertain_rows import moved_mass

MAX_MARGIN_CELLS = 1 << 22
"""Maximum number of answers x reports x target values of a form whose margin is
computed."""

STEPS = 12
"""Bisections of a margin, which is rounded down to a multiple of 2^-12."""

ROUNDING = 1e-9
"""Share of a total that is added for rounding errors: far above those of its sums."""


def plan_margins(
    records: Records, forms: Sequence[Form], limits: Floats
) -> Floats | None:
    """Return the margin of each attribute: the largest distance of rows within which no
    total exceeds its limit; None if a form's reports are too many, or known by a budget
    only.

    Parameters
    ----------
    records
        The table whose rows may move.
    forms
        The forms, whose totals are exact.
    limits
        The maximum total of each attribute; infinite for none, whose margin is 1.
    """
    counter = FormCounter(records)
    margins = np.ones(len(limits))
    for form in forms:
        likelihoods = _likelihoods(records, form)
        if likelihoods is None:
            return None
        rows = _FormRows(counter, form, likelihoods)
        for k in np.flatnonzero(np.isfinite(limits)).tolist():
            if likelihoods.size * int(counter.sizes[k]) > MAX_MARGIN_CELLS:
                return None
            margins[k] = rows.largest_margin(k, float(limits[k]), float(margins[k]))
    return margins


def _likelihoods(records: Records, form: Form) -> Floats | None:
    """Return P(report given answers) for a form's margin, cells x reports; None where
    it is too large or not listed.
    """
    channel = form.channel
    if isinstance(channel, MatrixChannel):
        return channel.mechanism.channel()
    try:
        matrices = [
            question.mechanism_for(records.domain[question.attribute].answers).channel()
            for question in channel.questions
        ]
    except InputError:  # too many reports
        return None
    cells = 1
    for matrix in matrices:
        cells *= matrix.size
        if cells > MAX_MARGIN_CELLS:
            return None
    product = matrices[0]
    for matrix in matrices[1:]:
        product = np.asarray(np.kron(product, matrix))
    return product


class _FormRows:
    """The rows P(answers of a form given value) of every attribute, and the likelihoods
    of the form's reports.
    """

    def __init__(self, counter: FormCounter, form: Form, likelihoods: Floats) -> None:
        """Prepare the rows that the margins of a form are of."""
        names = counter.records.domain.names
        self._counter = counter
        self._asked = [names.index(name) for name in form.attributes]
        self._likelihoods = likelihoods
        self._record = form.record
        self._shares = counter.table(self._asked).shares[0]

    def largest_margin(self, k: int, limit: float, most: float) -> float:
        """Return the largest margin up to `most` at which the total about an attribute
        is within its limit, rounded down.
        """
        if self._record <= limit:
            return most
        rows, reachable = self._rows(k)
        if len(rows) < 2 or self._total(rows, reachable, most) <= limit:
            return most
        low = 0.0
        high = most
        for _ in range(STEPS):
            middle = (low + high) / 2
            if self._total(rows, reachable, middle) <= limit:
                low = middle
            else:
                high = middle
        return low

    def _rows(self, k: int) -> tuple[Floats, Booleans]:
        """Return the rows that a margin is of: of the values that occur, and the
        answers that each may have.

        People without an answer may be given any, and are spread over the answers: rows
        of answers are as near to each other as rows of what people have, or nearer.
        """
        start = int(self._counter.starts[k])
        size = int(self._counter.sizes[k])
        occurs = self._counter.occurs[0, start : start + size]
        rows = self._shares[:, start : start + size].T[occurs]
        reachable = np.ones(rows.shape, dtype=np.bool_)
        if k in self._asked:
            sizes = [int(self._counter.answers[j]) for j in self._asked]
            answers = np.unravel_index(np.arange(rows.shape[1]), sizes)
            own = answers[self._asked.index(k)]
            values = np.flatnonzero(occurs)[:, None]
            is_missing = values == self._counter.answers[k]
            reachable = (own == values) | is_missing
        return rows, reachable

    def _total(self, rows: Floats, reachable: Booleans, radius: float) -> float:
        """Return the total over all rows within a margin, rounded up."""
        highest = np.empty((len(rows), self._likelihoods.shape[1]))
        lowest = np.empty_like(highest)
        for x, row in enumerate(rows):
            cells = reachable[x]
            likelihoods = self._likelihoods[cells]
            order = likelihoods.argsort(axis=0, kind="stable")
            ascending = np.take_along_axis(likelihoods, order, axis=0)
            shares = row[cells][order]
            highest[x] = moved_mass(shares, ascending, radius)
            lowest[x] = moved_mass(shares[::-1], ascending[::-1], radius)
        largest = 0.0
        for x, row in enumerate(highest):
            others = np.delete(lowest, x, axis=0)
            largest = max(largest, float(np.log(quotient(row, others)).max()))
        return largest * (1 + ROUNDING)
