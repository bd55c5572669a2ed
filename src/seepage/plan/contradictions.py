"""Totals that the forms of a plan contradict, whatever the data.

A digest guards a plan's file against mistakes.  Whoever forges a plan computes it
anew, and the records that the totals were computed from are not in the file.  What the
file alone can refute is a total that no distribution of the answers gives.

Let a form's channel be W[z, y] = P(report y | answers z).  For a value x of an asked
attribute a, P(S | x) = sum_z P(z | x) W[z, S] over the answers z with a = x, so for
every set S of reports

    min over z with a = x of W[z, S] <= P(S | x) <= max over z with a = x of W[z, S].

A total L with delta D promises P(S | x) <= e^L P(S | x') + D for all S, x and x'.  So,
whatever the distribution,

    min over z with a = x of W[z, S] <= e^L max over z with a = x' of W[z, S] + D.

With D = 0 that is L >= ln (least likelihood of S under x / largest under x').  For a
single report of a matrix over several answers this is often 0: under a = x the report
of another answer is as rare as under x'.  Sets of reports tell more: the nearly
identical matrix over two binary answers has a single report within ln 1, and the set
of the two reports that agree with a = x within its epsilon of it.

In a product form the other answers may be independent of a, so what remains of it is
the leakage of a's own report.  An attribute that is not asked may be independent of all
answers: nothing is refuted.  The guarantee `worst` is the sum of the budgets of all
reports, for every attribute, asked or not; where an attribute is public it is infinite.
"""

import math

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_channels import MatrixChannel
from seepage.designs.forms.question import Question
from seepage.designs.shaped.least_leakage import least_leakage
from seepage.leakage.matrix import direct_leakage
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.release import Release
from seepage.mechanisms.two_level import TwoLevelMechanism
from seepage.plan.plan_content import PlanContent

RELATIVE_TOLERANCE = 1e-9
"""Relative difference of two totals that counts as rounding."""


ABSOLUTE_TOLERANCE = 1e-12
"""Absolute difference of two totals, or deltas, that counts as rounding."""


MATRIX_GUARANTEES = ("exact", "worst")
"""Guarantees that the totals of a matrix form can have."""


def check_totals(plan: PlanContent) -> None:
    """Raise if a total or a delta of a plan contradicts its own forms.

    Totals of known attributes are conditional on themselves and are not checked; that
    of a public attribute is infinite.
    """
    known = plan.provenance.known
    for number, form in enumerate(plan.forms, 1):
        _check_deltas(number, form)
        least = least_totals(plan, form)
        for index, name in enumerate(plan.domain.names):
            total = float(form.total_values[index])
            if name in known or not _is_below(total, float(least[index])):
                continue
            raise InputError(
                f"its reports tell at least {least[index]:.6g} about {name!r}, and its "
                f"total is {total:.6g}; plan anew"
            )


def _is_below(total: float, least: float) -> bool:
    """Return whether a total contradicts a lower bound: it is below by more than
    rounding.
    """
    return total < least * (1 - RELATIVE_TOLERANCE) - ABSOLUTE_TOLERANCE


def _check_deltas(number: int, form: Form) -> None:
    """Raise for a contradiction: a form's totals have a delta that nothing in the form
    has.

    A delta comes from a mechanism with a delta, or from totals of sampled reports.
    """
    if not form.is_product and form.guarantee not in MATRIX_GUARANTEES:
        raise InputError(
            f"the totals of form {number}, with one report for all answers, cannot "
            f"have the guarantee {form.guarantee!r}; plan anew"
        )
    if form.guarantee == "sampled" or form.record_delta > 0:
        return
    if any(form.deltas):
        raise InputError(
            f"the totals of form {number} have delta {max(form.deltas):g}, and none of "
            "its questions has a delta; plan anew"
        )


# Lower bounds -------------------------------------------------------------------------


def least_totals(plan: PlanContent, form: Form) -> Floats:
    """Return lower bounds of a form's totals that no plan may contradict, whatever the
    data, by attribute.

    See the module for the condition.  A total whose delta D is above 0 is compared with
    the least L for which its own report satisfies P(S | x) <= e^L P(S | x') + D for
    some sets S.

    Notes
    -----
    O(m^2 cells outputs) for each asked attribute with m values in a matrix form.
    """
    if form.guarantee == "worst":
        return np.full(len(plan.domain), _sum_of_budgets(plan, form))
    least = np.zeros(len(plan.domain))
    for name in plan.public:
        least[plan.domain.index(name)] = math.inf
    for name in form.attributes:
        index = plan.domain.index(name)
        if isinstance(form.channel, MatrixChannel):
            axis = form.attributes.index(name)
            sizes = [plan.domain[asked].size for asked in form.attributes]
            thresholds = form.channel.mechanism.thresholds
            least[index] = least_leakage(thresholds, sizes, axis)
        else:
            least[index] = _least_own_leakage(plan, form, name, form.deltas[index])
    return least


def _sum_of_budgets(plan: PlanContent, form: Form) -> float:
    """Return the sum of the leakages of all own reports, which totals may not
    contradict; the epsilon of a matrix.

    Infinite with public values, which may tell everything about any attribute.
    """
    if plan.public:
        return math.inf
    if isinstance(form.channel, MatrixChannel):
        return form.channel.epsilon
    leakages = list[float]()
    for name, mechanism in form.channel.mechanisms(plan.domain).items():
        question = form.question(name)
        assert question is not None
        leakages.append(_own_leakage(plan, question, mechanism))
    return math.fsum(leakages)


def _own_leakage(plan: PlanContent, question: Question, mechanism: Mechanism) -> float:
    """Return the leakage of an attribute's own report, which totals may not contradict,
    or its budget if it has a delta.
    """
    if question.delta:
        return question.epsilon
    release = Release(mechanism.epsilon, 0.0, mechanism)
    return direct_leakage(release, plan.view)[0]


def _least_own_leakage(plan: PlanContent, form: Form, name: str, delta: float) -> float:
    """Return the least total of an asked attribute of a product form that is no
    contradiction, at a delta.
    """
    question = form.question(name)
    assert question is not None
    mechanism = question.mechanism_for(plan.domain[name].size)
    if delta == 0 and not question.delta:
        return _own_leakage(plan, question, mechanism)
    if plan.view != "report":
        return 0.0
    if isinstance(mechanism, TwoLevelMechanism):
        return least_relaxed_leakage(mechanism, delta)
    if delta == 0:
        return math.inf  # Gaussian noise has no pure leakage
    return 0.0


def least_relaxed_leakage(mechanism: TwoLevelMechanism, delta: float) -> float:
    """Return the total that contradicts a two-level report below: its least leakage at
    a delta.

    The set S of the reports that support x and not x' has a probability a under x and b
    under x', so e^L >= (a - delta) / b.  With independent supports a = p (1 - q) and
    b = q (1 - p); with sets of w of k values a = p (k - w) / (k - 1) and
    b = (1 - p) w / (k - 1).

    Examples
    --------
    >>> from seepage.mechanisms.direct import GRR
    >>> round(least_relaxed_leakage(GRR(2, 10.0), 1e-9), 3)
    10.0
    >>> least_relaxed_leakage(GRR(2, 1.0), 0.9)
    0.0
    """
    if mechanism.k < 2:
        return 0.0
    p = float(mechanism.true)
    q = float(mechanism.other)
    if mechanism.size is None:
        likely = p * (1 - q)
        other = q * (1 - p)
    else:
        apart = mechanism.k - 1
        likely = p * (mechanism.k - mechanism.size) / apart
        other = (1 - p) * mechanism.size / apart
    if likely - delta <= other:
        return 0.0
    return math.log((likely - delta) / other)
