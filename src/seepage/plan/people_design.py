"""A plan of forms for people: chosen on a fifth of the records, certified on the rest.

Forms, and the proportions of their budgets, are chosen on a random fifth by any search.  On the
other records each form gets the largest multiple of its budgets whose limits pass, all of them
together with the confidence; single questions are among the forms, so where the records are too few
the answer is one question per person.  Shares follow from the precision of the certified forms and
have no part in what is promised.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.data.inputs import as_records
from seepage.data.records import Records
from seepage.designs.find_design import SMALLEST_SHARE, find_design
from seepage.designs.form_problem import LARGEST_BUDGET, FittedForm
from seepage.designs.population_forms import certify_forms, split_records
from seepage.designs.precision import Precisions
from seepage.designs.shares import best_shares
from seepage.errors import InputError
from seepage.plan.form import ProductChannel
from seepage.plan.plan import Plan
from seepage.plan.plan_of_forms import FormDraft, plan_of_forms
from seepage.plan.question import Question

NOT_FOR_PEOPLE = ("public", "known", "joint", "least", "together")
"""Options of `find_design` that the certificate does not cover yet."""


def design_for_people(
    data: Any,
    limit: Any,
    *,
    confidence: float = 0.95,
    seed: int = 0,
    record_limit: float | None = None,
    **options: Any,
) -> Plan:
    """Return a plan of forms of GRR reports that keeps every limit for the people behind a table.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, or `Records`: a random sample of the people, one
        record per person.  A sample of a larger table is enough.
    limit
        The allowed total of every attribute, or one for each (a mapping by name).
    confidence
        Of all totals of all forms together.
    seed
        Of the split and of the search.
    record_limit
        The largest sum of budgets of a form.
    options
        Other keywords of `find_design` (`left_out`, `weights`, `never`, `largest`, `seconds`,
        `progress`), and table options.

    Notes
    -----
    The search takes its `seconds`; certifying a form of six binary questions with equal budgets
    takes about a tenth of a second, with others up to some seconds.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [50_000] * 4)
    >>> plan = design_for_people(coins, 1.0)
    >>> plan.scope, plan.confidence, len(plan.forms[0].attributes), bool(plan.totals.max() <= 1)
    ('population', 0.95, 2, True)
    """
    for name in NOT_FOR_PEOPLE:
        if name in options:
            raise InputError(f"{name} must be left out for scope 'population', which has none yet")
    records = as_records(data, **_of_tables(options))
    looked_at, rest = split_records(_whole(records), 0.2, seed)
    found = find_design(
        looked_at, limit, mechanism="grr", seed=seed, record_limit=record_limit, **options
    )
    names = records.domain.names
    chosen = [
        _fitted([names.index(name) for name in form.attributes], form.epsilons, len(names))
        for form in found.forms
        if set(form.mechanisms) == {"grr"} and form.guarantee == "exact"
    ]
    most = math.inf if record_limit is None else record_limit
    known = {form.attributes for form in chosen}
    asked = sorted({place for form in chosen for place in form.attributes})
    chosen += [
        _fitted([place], [min(float(found.limits[place]), most, LARGEST_BUDGET)], len(names))
        for place in asked
        if (place,) not in known
    ]
    forms = certify_forms(rest, chosen, found.limits, confidence, most)
    shares = _shares(rest, forms, found.weights)
    kept = [(f, s) for f, s in zip(forms, shares.tolist(), strict=True) if s >= SMALLEST_SHARE]
    return plan_of_forms(
        rest.pairs(),
        [FormDraft(s, _channel(f, names), "exact", f.totals.tolist(), f.record) for f, s in kept],
        limit=found.limits.tolist(),
        settings={"design": {"seed": seed, "looked at": looked_at.records}},
        notes=[
            f"for the people whom the records were drawn from at random, one record per person: "
            f"forms were chosen on {looked_at.records:,} of them (seed {seed}) and certified on "
            f"the other {rest.records:,}"
        ],
        confidence=confidence,
        scope="population",
    )


def _of_tables(options: dict[str, Any]) -> dict[str, Any]:
    """Take the table options out of some options."""
    own = {"left_out", "weights", "least", "together", "never", "largest", "joint", "seconds"}
    own |= {"progress", "public", "known"}
    return {name: options.pop(name) for name in list(options) if name not in own}


def _whole(records: Records) -> Records:
    """Return records as a table of their own: a sample is enough for people."""
    return Records(records.domain, records.codes, records.weights)


def _fitted(places: Sequence[int], epsilons: Sequence[float], count: int) -> FittedForm:
    names = ("grr",) * len(places)
    return FittedForm(tuple(places), np.array(epsilons), np.zeros(count), names)


def _shares(records: Records, forms: Sequence[FittedForm], weights: Floats) -> Floats:
    """Return the A-optimal shares of forms."""
    precisions = Precisions(records)
    rows = np.array([precisions.row(form.attributes, form.epsilons.tolist()) for form in forms])
    found = best_shares(rows, weights, np.full(len(forms), 1 / len(forms)), 1e-4, 20_000).shares
    return np.where(found >= SMALLEST_SHARE, found, 0.0)


def _channel(form: FittedForm, names: Sequence[str]) -> ProductChannel:
    return ProductChannel(
        questions=tuple(
            Question(attribute=names[place], mechanism="grr", epsilon=float(epsilon))
            for place, epsilon in zip(form.attributes, form.epsilons, strict=True)
        )
    )
