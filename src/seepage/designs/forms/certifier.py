"""`Certifier`: what a search of forms asks of the guarantee."""

from collections.abc import Iterator
from typing import Protocol

from seepage._core.arrays import Floats
from seepage.channel.records import Records
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_problem import FormProblem


class Certifier(Protocol):
    """Bounds what reports leak, from the counts of answers and the likelihoods of
    reports.

    Implemented for the people in the table and for the population that it is a sample
    of; both for products of GRR reports, whose likelihoods follow from the budgets, and
    for shaped ones.

    Attributes
    ----------
    problem, records
        The constraints, and the records that certify.
    scope, confidence
        For whom totals hold, and their confidence level.
    max_pairs
        Maximum number of pairs certified in a round without an improving form.
    """

    problem: FormProblem
    records: Records
    scope: str
    confidence: float | None = None
    max_pairs: int

    def certify(self, form: Form, prices: Floats | None = None) -> Form:
        """Return a form as it may enter the pool; for given prices with budgets refined
        at them.
        """
        return form

    def singles(self) -> list[Form]:
        """Return the certifier's forms of one question by another mechanism than GRR,
        where it is more precise.
        """
        return []

    def budget_form(self, j: int) -> Form | None:
        """Return the certifier's form of attribute j alone with totals equal to its
        budget; None if larger.
        """
        return None

    def proven(self, forms: list[Form]) -> list[Form]:
        """Return the forms of the result with the totals that the certifier proves."""
        return forms

    def notes(self, forms: list[Form]) -> Iterator[str]:
        """Yield the certifier's notes: for whom the limits hold."""
        ...
