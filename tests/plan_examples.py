"""People, domains and plans that the tests of plans share."""

from functools import cache

import numpy as np
import pyarrow as pa

import seepage as sp
from searches import find_design
from seepage.channel.domain import Attribute, Domain, for_each
from seepage.channel.pairs import PairCounts
from seepage.collection.cell_sums import add_reports
from seepage.collection.report_files import open_reports
from seepage.collection.report_leakage import PairSums
from seepage.collection.report_schema import reports_schema
from seepage.designs.forms.form import Form, with_shares
from seepage.designs.forms.form_channels import MatrixChannel, ProductChannel
from seepage.designs.forms.question import Question
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.subset_selection import best_mechanism
from seepage.mechanisms.transition_matrix import MatrixMechanism
from seepage.plan.attributes import stored_attributes
from seepage.plan.provenance import Provenance
from seepage.tables.read import count_pairs
from seepage.workflow.plan import Plan

DOMAIN = Domain(
    [
        Attribute("sex", ("F", "M")),
        Attribute("job", ("clerk", "nurse", "smith", "other")),
        Attribute("age", ("[18, 40)", "[40, 60)", "[60, 90]"), (18, 40, 60, 90)),
        Attribute("ill", ("no", "yes")),
    ]
)


def people(rows, seed=1):
    """A table of people whose attributes depend on each other, no value rare."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], rows)
    usual = np.where(sex == "F", "nurse", "smith")
    job = np.where(rng.random(rows) < 0.5, usual, rng.choice(["clerk", "other"], rows))
    age = rng.integers(18, 91, rows)
    ill = np.where(rng.random(rows) < np.where(age >= 60, 0.7, 0.2), "yes", "no")
    return pa.table({"sex": sex, "job": job, "age": age, "ill": ill})


def counts(rows=2000):
    return count_pairs(people(rows), domain=DOMAIN)


def plan_of_forms(
    pairs,
    forms,
    *,
    limit=None,
    shares=None,
    public=(),
    settings=None,
    notes=(),
    **claim,
):
    """A plan of these forms; limits are one for all, a sequence or a mapping, None for
    none.
    """
    limits = [
        np.inf if each is None else each
        for each in for_each(pairs.domain, limit, "limit")
    ]
    single = len(forms) == 1 and forms[0].is_product
    return Plan(
        listed=stored_attributes(
            pairs, limits, public, with_frequencies=not single and pairs.records > 0
        ),
        forms=with_shares(forms, [1.0] * len(forms) if shares is None else shares),
        provenance=Provenance.of(pairs, settings or {}),
        notes=tuple(notes),
        **{"basis": "mechanism", **claim},
    )


def single_form(domain, epsilon, mechanism=None, delta=0.0):
    """The channel that asks for every attribute with a budget."""
    questions = []
    each = (for_each(domain, one, "x") for one in (epsilon, mechanism, delta))
    for attribute, eps, how, slack in zip(domain, *each, strict=True):
        if isinstance(how, Mechanism):
            questions.append(Question.of(attribute.name, how))
        elif eps > 0:
            name = how or best_mechanism(attribute.size, eps).name
            question = Question(
                attribute=attribute.name, mechanism=name, epsilon=eps, delta=slack
            )
            questions.append(question)
    return ProductChannel(questions=tuple(questions))


def plan_for(
    pairs,
    epsilon=1.0,
    mechanism=None,
    *,
    totals=None,
    guarantee="worst",
    delta=0.0,
    **settings,
):
    """A plan of one form; totals are generous, and limits as large as them, unless
    given.
    """
    total = float(np.sum(np.broadcast_to(epsilon, len(pairs.domain)))) + 1e-6
    totals = [total] * len(pairs.domain) if totals is None else totals
    form = Form.of(
        single_form(pairs.domain, epsilon, mechanism, delta), guarantee, totals
    )
    return plan_of_forms(
        pairs, [form], **{"limit": total, "basis": "bound", **settings}
    )


def plan_of_totals(totals, **settings):
    """The plan of the budgets and mechanisms that totals were computed for."""
    releases = totals.matrix.releases
    names = [release.mechanism and release.mechanism.name for release in releases]
    channel = single_form(
        totals.domain,
        [0.0 if release.public else release.epsilon for release in releases],
        names,
        [
            release.delta if name else 0.0
            for release, name in zip(releases, names, strict=True)
        ],
    )
    return plan_of_forms(
        totals.matrix.pairs,
        [Form.of(channel, totals.guarantee, totals.values, totals.deltas)],
        public=[
            totals.domain.names[k]
            for k, release in enumerate(releases)
            if release.public
        ],
        basis="mechanism" if any(names) else "bound",
        view=totals.view,
        confidence=totals.confidence,
        **settings,
    )


def product(**budgets):
    """A product channel by attribute: an epsilon (GRR), or a mechanism's name and an
    epsilon.
    """
    asked = {
        name: how if isinstance(how, tuple) else ("grr", how)
        for name, how in budgets.items()
    }
    return ProductChannel(
        questions=tuple(
            Question(attribute=name, mechanism=mechanism, epsilon=epsilon)
            for name, (mechanism, epsilon) in asked.items()
        )
    )


def matrix(domain, names, epsilon, seed=1):
    """A matrix channel over the answers to some attributes, noisy but not a product."""
    cells = int(np.prod([domain[name].size for name in names]))
    weights = np.random.default_rng(seed).choice(
        [1.0, np.exp(epsilon)], (cells, 2 * cells)
    )
    weights[:, :cells] = 1.0 + (np.exp(epsilon) - 1.0) * np.eye(cells)
    weights /= weights.sum(axis=1, keepdims=True)
    return MatrixChannel.of(names, MatrixMechanism(weights))


def forms_plan(pairs, channels, shares=None, limit=None, **settings):
    """A plan of forms whose totals are what budgets add up to."""
    forms = [
        Form.of(one, "worst", [one.record] * len(pairs.domain)) for one in channels
    ]
    return plan_of_forms(pairs, forms, shares=shares, limit=limit, **settings)


def three_forms(pairs):
    """Two products that overlap, with budgets of their own, and a matrix."""
    channels = [
        product(sex=1.0, job=("ss", 0.8)),
        product(job=2.0, ill=("oue", 1.5)),
        matrix(pairs.domain, ["sex", "ill", "age"], 1.5),
    ]
    return forms_plan(pairs, channels, [0.5, 0.3, 0.2])


@cache
def survey_design():
    """A design of a survey with shaped forms."""
    columns = ["coffee", "sleep", "medication"]
    survey = sp.make_survey(2_000)
    return find_design(survey, 2.0, scope="table", columns=columns, largest=2)


def table_of(joint):
    """Pair counts and coded records of a joint table of two attributes."""
    joint = np.asarray(joint)
    domain = Domain(
        Attribute(name, tuple(f"{name}{i}" for i in range(size)))
        for name, size in zip("ab", joint.shape, strict=True)
    )
    pairs = PairCounts(domain, [joint.sum(axis=1), joint.sum(axis=0)], joint.ravel())
    cells = np.repeat(np.arange(joint.size), joint.ravel())
    return pairs, np.divmod(cells, joint.shape[1])


def pair_terms(plan, reports, target, source):
    """Sums over reports of a target and a source, by groups of reports."""
    sums = PairSums(plan, [target, source])
    add_reports(open_reports(plan, reports), [sums])
    return sums.terms()


def collected(plan, codes, rng):
    """The reports of coded columns, as `Plan.perturb` would return them."""
    arrays = [
        made.perturb(column, rng=rng).array()
        for made, column in zip(plan.mechanisms.values(), codes, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=reports_schema(plan))
