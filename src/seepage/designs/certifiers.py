"""Who makes forms that keep their limits: for the people in the table, or for the population."""

from seepage.data.records import Records
from seepage.designs.form_problem import FormProblem
from seepage.designs.form_search import Timer
from seepage.designs.population_certifier import PopulationCertifier
from seepage.designs.table_certifier import TableCertifier

Certifier = TableCertifier | PopulationCertifier
"""Makes forms that keep their limits for the people of a scope."""


def make_certifier(
    problem: FormProblem,
    records: Records,
    confidence: float,
    timer: Timer,
    seed: int,
    shared: bool = False,
) -> Certifier:
    """Return what makes forms that keep their limits for the people of the problem's scope.

    Parameters
    ----------
    problem
        The conditions; with `fixed_caps` for the population.
    records
        The people, or a random sample of them.
    confidence
        Of all totals together, for the population.
    timer
        Of the search; some of its time goes into first guesses.
    seed
        Of the forms that are looked at for them.
    shared
        Whether other forms need half of what the confidence leaves.
    """
    if not problem.fixed_caps:
        return TableCertifier(problem, records)
    certifier = PopulationCertifier(problem, records, confidence, shared)
    certifier.prime(timer, seed)
    return certifier
