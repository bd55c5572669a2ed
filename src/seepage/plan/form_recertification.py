"""The `exact` totals of one product form about every attribute, for certifying it again.

`total_leakage` walks the joint table of all attributes.  A form asks few of them, and its totals
need the joint table of those alone, with one target at a time.
"""

import numpy as np

from seepage._numerics import Floats
from seepage.data.domain import Domain
from seepage.data.records import Records
from seepage.designs.form_totals import ExactForms
from seepage.leakage import leakage_matrix
from seepage.plan.form import Form, ProductChannel


def exact_form_totals(
    form: Form, domain: Domain, records: Records, public: list[str], known: list[str]
) -> Floats | None:
    """Return the totals of every attribute; None where the form has no such short way.

    Parameters
    ----------
    form
        The form.
    domain, records
        The attributes of the plan, and the people.
    public, known
        Attributes that are released in the clear, and that the adversary knows of the person.
    """
    channel = form.channel
    if not isinstance(channel, ProductChannel):
        return None
    names = {question.mechanism for question in channel.questions}
    places = [domain.index(question.attribute) for question in channel.questions]
    budgets = np.array([question.epsilon for question in channel.questions])
    if names == {"grr"}:
        clear, held = ([domain.index(name) for name in part] for part in (public, known))
        scorer = ExactForms(records, clear, held)
        return scorer.totals(scorer.table(places), budgets) if scorer.fits(places) else None
    if len(places) > 1 or public or known or channel.questions[0].parameters:
        return None
    every = np.zeros(len(domain))
    every[places[0]] = budgets[0]
    totals = leakage_matrix(records.pairs(), every, mechanism=names.pop()).values[:, places[0]]
    return np.where(np.arange(len(domain)) == places[0], budgets[0], totals)
