"""The constraints of a design, the precision of a form, and its largest equal
budgets.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats
from seepage._core.errors import InputError, Setting
from seepage._core.rounding import summed_up
from seepage.calibration.attribute_roles import attribute_roles
from seepage.calibration.largest_budget import largest_budget
from seepage.channel.domain import ALL_OTHERS, Domain, for_each
from seepage.channel.records import Records
from seepage.designs.design_options import DesignOptions, design_limit
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_channels import MatrixChannel, ProductChannel
from seepage.designs.forms.form_counter import FormCounter, FormTable
from seepage.designs.forms.form_totals import ExactFormTotals
from seepage.designs.forms.search_work import SearchWork
from seepage.designs.report_precision import Precisions
from seepage.designs.want import Wanted, parse_want

if TYPE_CHECKING:
    from seepage.designs.shaped.shaped_report import ShapedReport


Indices = tuple[int, ...]
"""Attributes of a form, by index, ascending."""


MAX_BUDGET = 16.0
"""Budget in nats of an attribute without a limit: its noise is 10^-7 of the sampling
error."""


TOLERANCE = 1e-7
"""Relative accuracy of a budget during the search."""


MAX_FORM = 8
"""Maximum number of attributes of a form, unless the caller gives another."""


@dataclass(eq=False)
class FormProblem:
    """Constraints of a design; arrays have one entry for each attribute of the table.

    Parameters
    ----------
    domain
        The attributes.
    scorer
        Computes the totals of a form.
    precisions
        Computes the precisions of a form.
    limits
        The maximum total of each attribute in nats; infinite if it is not protected.
        The budget of a known attribute, which needs no limit, is at most the largest.
    collected
        Mask of the attributes that may be asked.
    importance
        Weight of the error of each quantity in the objective: attributes, then pairs.
    never_together
        Symmetric mask of the pairs that no form may contain.
    record_limit
        The maximum sum of budgets of a form.
    largest
        The maximum number of attributes of a form.
    fixed_caps
        True: the largest budget of an attribute is its limit, which does not depend on
        the records, for the population.  False: the largest one that it may have in a
        form of its own.
    max_cells
        The maximum combinations of answers of a form, set during the search for forms
        to shape.
    scale
        For the objective `"largest"`: c_j, the importance of a quantity over its number
        of values.
    shaped_reports
        The shaped reports of the search by their channel, which has no variances.
    """

    domain: Domain
    scorer: ExactFormTotals
    precisions: Precisions
    limits: Floats
    collected: Booleans
    importance: Floats
    never_together: Booleans
    record_limit: float = math.inf
    largest: int = MAX_FORM
    fixed_caps: bool = False
    max_cells: float = math.inf
    scale: Floats | None = None
    shaped_reports: dict[MatrixChannel, "ShapedReport"] = field(default_factory=dict)
    caps: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Set the caps of the problem's budgets, from its limits."""
        limits = self.limits.copy()
        limits[list(self.known)] = np.max(limits[np.isfinite(limits)], initial=0.0)
        caps = np.minimum(limits, min(self.record_limit, MAX_BUDGET))
        self.caps = np.where(self.collected, caps, 0.0)
        if not self.fixed_caps:
            for j in np.flatnonzero(self.collected).tolist():
                if self.scorer.fits((j,)):
                    self.caps[j] = self.fit((j,)).max_budget

    def bound_cells(self, max_cells: float) -> None:
        """Constrain the problem to forms of at most this many combinations of
        answers.
        """
        self.max_cells = max_cells

    def weigh(self, importance: Floats) -> None:
        """Weight the errors of the problem anew: those of the largest error follow from
        the shares.
        """
        self.importance = importance

    @property
    def public(self) -> Indices:
        """Attributes that the problem releases in the clear."""
        return self.scorer.counter.public

    @property
    def known(self) -> Indices:
        """Attributes of the problem that the adversary knows of the person."""
        return self.scorer.counter.known

    @property
    def min_limit(self) -> float:
        """The smallest limit of the problem, that of the whole record included."""
        return min(float(self.limits.min()), self.record_limit)

    @property
    def everything(self) -> Indices:
        """The form of all attributes that the problem permits to ask."""
        return tuple(np.flatnonzero(self.collected).tolist())

    def has_clash(self, form: Sequence[int]) -> bool:
        """Return whether a form has two attributes that by the problem must not be
        asked together.
        """
        return bool(self.never_together[np.ix_(form, form)].any())

    def excess(self, totals: Floats, epsilons: Floats) -> float:
        """Return the largest excess over a limit of the problem, of a total or of the
        sum of budgets, in nats.
        """
        limited = self.limits < np.inf
        excess = totals[limited] - self.limits[limited]
        return max(
            float(excess.max()), summed_up(epsilons.tolist()) - self.record_limit
        )

    def is_allowed(self, form: Sequence[int]) -> bool:
        """Return whether the problem allows a form: it is small enough and has no two
        attributes that clash.
        """
        if (
            len(form) > self.largest
            or not self.scorer.fits(form)
            or self.has_clash(form)
        ):
            return False
        cells = math.prod(self.domain.sizes[j] for j in form)
        return len(form) == 1 or cells <= self.max_cells

    def capped_budgets(self, attributes: Sequence[int], budget: float) -> Floats:
        """Return equal budgets, each lowered to the problem's cap of its attribute."""
        return np.minimum(budget, self.caps[list(attributes)])

    def fit(self, attributes: Sequence[int]) -> Form:
        """Return the form with the largest equal budgets that keep all limits of the
        problem.

        Cheapest if a form with the same attributes but the last was counted before (see
        `FormCounter`).
        """
        return self.fit_table(self.scorer.counter.table(attributes))

    def fit_table(
        self,
        table: FormTable,
        max_budget: float = math.inf,
        tolerance: float = TOLERANCE,
    ) -> Form:
        """Return the same as the problem's `fit` from the counts of a form, with
        budgets up to `max_budget`.
        """

        def excess(budget: float) -> float:
            """Return the largest excess of a form's totals with equal budgets over the
            limits of the `FormProblem`.
            """
            budgets = self.capped_budgets(table.attributes, budget)
            return self.excess(self.scorer.totals(table, budgets), budgets)

        highest = min(max_budget, float(self.caps[list(table.attributes)].max()))
        budget = largest_budget(
            excess, highest, tolerance * min(highest, 1.0, self.min_limit)
        )
        return self.fitted(table, self.capped_budgets(table.attributes, budget))

    def fitted(self, table: FormTable, epsilons: Floats) -> Form:
        """Return the problem's form with these budgets and its totals, attributes in
        ascending order.
        """
        totals = self.scorer.totals(table, epsilons)
        order = np.argsort(table.attributes)
        attributes = tuple(table.attributes[index] for index in order.tolist())
        return self.form(attributes, epsilons[order], totals)

    def form(
        self,
        attributes: Indices,
        epsilons: Floats,
        totals: Floats,
        mechanisms: Sequence[str] = (),
        guarantee: str = "exact",
    ) -> Form:
        """Return a form of the problem with one report per answer, by GRR unless
        mechanisms are given.
        """
        names = [self.domain.names[j] for j in attributes]
        how = mechanisms or ("grr",) * len(names)
        channel = ProductChannel.of(names, how, epsilons.tolist())
        return Form.of(channel, guarantee, totals.tolist())

    def shaped_form(self, report: "ShapedReport", totals: Sequence[float]) -> Form:
        """Return a form of the problem with one shaped report for all its answers."""
        channel = MatrixChannel.of_shaped(report)
        self.shaped_reports[channel] = report
        return Form.of(channel, "exact", totals)

    def shaped_report(self, form: Form) -> "ShapedReport":
        """Return the shaped report of a form of this problem."""
        assert isinstance(form.channel, MatrixChannel)
        return self.shaped_reports[form.channel]

    def indices(self, form: Form) -> Indices:
        """Return the problem's attributes that a form asks for, by index."""
        return tuple(map(self.domain.index, form.attributes))

    def row(self, form: Form) -> Floats:
        """Return V[f, :], the precision of every quantity of the problem from one
        report of a form.
        """
        indices = self.indices(form)
        if isinstance(form.channel, MatrixChannel):
            row = np.zeros(len(self.precisions.quantities))
            for axes, variance in self.shaped_report(form).variances.items():
                quantity = tuple(indices[axis] for axis in axes)
                row[self.precisions.quantities.index(quantity)] = 1 / variance
            return row
        if set(form.mechanisms) == {"grr"}:
            return self.precisions.row(indices, form.epsilons.tolist())
        row = np.zeros(len(self.precisions.quantities))
        for j, name, epsilon in zip(
            indices, form.mechanisms, form.epsilons.tolist(), strict=True
        ):
            row[j] = self.precisions.of_mechanism(j, name, epsilon)
        return row

    def gain(self, form: Form, prices: Floats) -> float:
        """Return a form's gain in the problem, g_f = sum_j prices_j / v_j(f), with
        v_j(f) of one report.
        """
        return float(self.row(form) @ prices)


# Constraints on given records ---------------------------------------------------------


def make_form_problem(
    records: Records, options: DesignOptions, work: SearchWork | None = None
) -> FormProblem:
    """Return the problem of finding forms, the constraints of a design, checked against
    the records.

    The work of counting forms is added to that of the search.
    """
    domain = records.domain.as_reported()
    if not records.records:
        raise InputError("a design needs at least one record, and these have none")
    named = checks.items(options.left_out, "left_out")
    indices = map(domain.index, [*named, *protected_only(records)])
    left_out = {domain.names[index] for index in indices}
    roles = attribute_roles(domain, options.public, left_out, options.known)
    collected = roles.collected & (np.array(domain.sizes) > 1)
    if not collected.any():
        raise InputError(
            "at least one attribute must be asked, all are public, left out or constant"
        )
    limits = _limits(domain, options.limit, roles.public | roles.known)
    wanted = parse_want(domain, options.want)
    never_together = _never_together(domain, options.never)
    _check_wanted(domain, wanted, collected, never_together)
    public = np.flatnonzero(roles.public).tolist()
    known = np.flatnonzero(roles.known).tolist()
    scorer = ExactFormTotals(FormCounter(records, public, known, work))
    if public and options.scope == "table":
        # for the population the certifier checks it
        leakages = scorer.totals(scorer.counter.table(()), np.zeros(0))
        check_public(domain, public, limits, leakages)
    precisions = Precisions(records, wanted.joint, wanted.rows)
    importance = _importance(domain, options.importance, collected, len(wanted.joint))
    scale = None
    if options.objective == "largest":
        values = [
            math.prod(domain.sizes[j] for j in attributes)
            for attributes in precisions.quantities
        ]
        scale = importance / np.array(values)
    record_limit = math.inf
    if options.record_limit is not None:
        record_limit = options.record_limit
    return FormProblem(
        domain=domain,
        scorer=scorer,
        precisions=precisions,
        limits=limits,
        collected=collected,
        importance=importance,
        never_together=never_together,
        record_limit=record_limit,
        largest=options.largest or max(MAX_FORM, *map(len, wanted.joint), 0),
        fixed_caps=options.scope == "population",
        scale=scale,
    )


def protected_only(records: Records) -> tuple[str, ...]:
    """Return the attributes that a problem protects and does not ask, all answers but
    one being rare.
    """
    fixed = records.origin.fixed
    if fixed is None:
        return ()
    return fixed.protected


def others_as(value: Any, setting: Any) -> Any:
    """Return a setting of the problem by name with the value of all attributes that it
    does not name.

    Examples
    --------
    >>> others_as(1.0, {"hiv": 3.0}), others_as(1.0, 2.0)
    ({'*': 1.0, 'hiv': 3.0}, 2.0)
    """
    if not isinstance(setting, Mapping):
        return setting
    return {ALL_OTHERS: value, **setting}


def _limits(domain: Domain, limit: Any, unprotected: Booleans) -> Floats:
    """Return the limit of each attribute in the problem, infinity where it has none."""
    limits = np.full(len(domain), math.inf)
    for j, setting in enumerate(for_each(domain, others_as(None, limit), "limit")):
        if setting is not None:
            limits[j] = design_limit(setting)
    limits[unprotected] = np.inf
    limited = [domain[index] for index in np.flatnonzero(np.isfinite(limits)).tolist()]
    if all(attribute.protected_answers < 2 for attribute in limited):
        rule = "given for at least one protected attribute with two answers or more"
        raise checks.violation("limit", rule, limit)
    return limits


def _importance(
    domain: Domain, importance: Any, collected: Booleans, joint: int
) -> Floats:
    """Return the importance of each quantity in the problem: attributes, 0 if not
    asked, then 1 per joint pair.
    """
    each = for_each(domain, others_as(1.0, importance), "importance")
    values = np.array([checks.weight(value, "importance") for value in each])
    values = np.where(collected, values, 0.0)
    if not values.any():
        raise checks.violation(
            "importance", "above 0 for an attribute that is asked", importance
        )
    return np.concatenate([values, np.ones(joint)])


def _never_together(domain: Domain, never: Any) -> Booleans:
    """Return the problem's symmetric mask of the pairs of `never`."""
    mask = np.zeros((len(domain), len(domain)), dtype=np.bool_)
    for names in checks.items(never, "never"):
        pair = checks.items(names, "never", "a list of pairs, as in never=[('a', 'b')]")
        indices = [domain.index(name) for name in pair]
        if not len(indices) == len(set(indices)) == 2:
            raise checks.violation("each of never", "two different attributes", pair)
        mask[tuple(indices)] = mask[tuple(indices[::-1])] = True
    return mask


def _check_wanted(
    domain: Domain, wanted: Wanted, collected: Booleans, never_together: Booleans
) -> None:
    """Raise if the problem does not permit to ask what is wanted together."""
    for table in wanted.joint:
        if never_together[np.ix_(table, table)].any():
            raise InputError(
                f"want has {' x '.join(domain.names[j] for j in table)}, which ",
                Setting("never"),
                " forbids to ask together",
                parameter="want",
            )
    for k in (*(k for table in wanted.joint for k in table), *wanted.scores):
        if not collected[k]:
            raise InputError(
                f"want must name attributes that are asked, {domain.names[k]!r} is not",
                parameter="want",
            )


def check_public(
    domain: Domain,
    public: Sequence[int],
    limits: Floats,
    leakages: Floats,
    reason: Callable[[int], str] = lambda _: "",
) -> None:
    """Raise if a problem has no forms: the public attributes alone may leak as much as
    the limit of an attribute.
    """
    excess = np.where(np.isfinite(limits), leakages, 0.0) - limits
    k = int(np.argmax(excess))
    if excess[k] < 0:
        return
    names = ", ".join(domain.names[j] for j in public)
    finite = math.isfinite(leakages[k])
    bound = f"{math.ceil(leakages[k] * 1e3) / 1e3:g}" if finite else "unbounded"
    raise InputError(
        f"the limit of {domain.names[k]!r} is {limits[k]:g}, and the leakage of the "
        f"public attributes alone ({names}) may be {bound}{reason(k)}; raise the "
        "limit, leave it unprotected, declare the public attributes as known, or pool "
        "rare values"
    )


def equal_split(limit: float, attributes: int) -> float:
    """Return limit / n, the budget of plain budget splitting (SPL) in the problem,
    rounded down.

    Examples
    --------
    >>> equal_split(10.0, 40)
    0.25
    """
    share = limit / attributes
    return share if share * attributes <= limit else float(np.nextafter(share, 0.0))
