"""`design`: from an allowed total to a plan of forms that keeps it with the least error."""

import math
from collections.abc import Iterator
from typing import Any

from seepage._results import json_ready
from seepage.designs.design import Design, DesignedForm, shaped_note
from seepage.designs.find_design import find_design
from seepage.plan.form import MatrixChannel, ProductChannel, ToldAnswers
from seepage.plan.plan import Plan
from seepage.plan.plan_of_forms import FormDraft, plan_of_forms
from seepage.plan.provenance import Alternative
from seepage.plan.question import Question


def design(data: Any, limit: Any, **options: Any) -> Plan:
    """Return the plan of forms with the least error that provably keeps every total in its limit.

    Everyone is given one form, some attributes with a budget each, drawn without looking at the
    record.  Each form's totals are computed for every attribute of the table, asked or not.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, or `Records`; for `scope="population"` a sample of
        records is enough.
    limit
        The allowed total of every attribute, or one for each (a mapping by name); None for an
        attribute that is not protected.
    options
        The keywords of `find_design` (`public`, `left_out`, `known`, `weights`, `least`,
        `record_limit`, `together`, `never`, `largest`, `joint`, `scope`, `confidence`, `sample`,
        `seconds`, `seed`, `progress`), and table options of `count_pairs`.

    Notes
    -----
    `find_design` gives the same with all evidence: expected errors, the gap to the least error,
    and a comparison with other ways to spend the limit.

    By default every limit holds for the people whom the records are a random sample of, with
    confidence 0.95; `scope="table"` is for whoever has everybody in the table.

    The totals are per attribute, against an adversary who knows the distribution and nothing else
    about the person.  What a form tells about the whole record is its `record`, the sum of budgets.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> plan = sp.design(coins, 1.0, scope="table")
    >>> plan.guarantee, plan.kind, sorted(form.attributes for form in plan.forms)
    ('exact', 'certified', [('a', 'b'), ('a', 'differ'), ('b', 'differ')])

    Four people say little about a population, so each is asked one question:

    >>> sp.design(coins, 1.0)  # doctest: +ELLIPSIS
    Plan(3 forms, 3 of 3 ... largest total 1, guarantee worst (certified, for everybody))
    """
    return plan_of_design(find_design(data, limit, **options))


def plan_of_design(found: Design) -> Plan:
    """Return the plan of a design, its evidence in the notes."""
    return plan_of_forms(
        found.pairs,
        [
            FormDraft(form.share, _channel(form), form.guarantee, form.totals, form.record)
            for form in found.forms
        ],
        limit=found.limits.tolist(),
        public=found.public,
        frequencies=[marginal / found.pairs.records for marginal in found.pairs.marginals],
        confidence=found.confidence,
        scope="population" if found.scope == "population" else "table",
        settings={
            "scope": found.scope,
            "confidence": found.confidence,
            "records": found.people,
            "design": {
                "seed": found.seed,
                "forms considered": found.considered,
                "gap": found.gap,
                "error": found.error,
                "ended": found.ended,
            },
            "known": list(found.known),
        },
        notes=[*found.notes, *_remarks(found)],
        alternatives=list(_alternatives(found)),
    )


def _channel(form: DesignedForm) -> ProductChannel | MatrixChannel:
    if form.matrix is not None and form.known_answers is not None:
        return MatrixChannel.of(
            form.attributes,
            form.matrix,
            frequencies=form.matrix.nominal.tolist(),
            told=ToldAnswers(**form.known_answers._asdict()),
        )
    questions = zip(form.attributes, form.mechanisms, form.epsilons, strict=True)
    return ProductChannel(
        questions=tuple(
            Question(attribute=name, mechanism=mechanism, epsilon=epsilon)
            for name, mechanism, epsilon in questions
        )
    )


def _alternatives(found: Design) -> Iterator[Alternative]:
    """Yield what the design was compared with, for one person."""
    asked = [n for n, weight in zip(found.domain.names, found.weights, strict=True) if weight > 0]
    for one in found.comparison[:-1]:
        variances = dict(zip(asked, (e * found.people for e in one.errors), strict=True))
        yield Alternative(
            name=one.name,
            rests_on=one.rests_on,
            certified=one.certified,
            variances=json_ready(variances),
        )


def _remarks(found: Design) -> Iterator[str]:
    if found.known:
        yield (
            f"totals are conditional on {', '.join(found.known)}, which the adversary is taken to "
            "know of the person"
        )
    shaped = [form for form in found.forms if form.matrix is not None]
    of = "the sum of its budgets" if len(shaped) < len(found.forms) else "its epsilon"
    most = math.ceil(found.record * 1e3) / 1e3
    yield (
        f"about the whole record a form tells at most {most:g}, {of}; "
        "an adversary who knows more of the person can learn more than a total"
    )
    if shaped:
        yield shaped_note(shaped)
