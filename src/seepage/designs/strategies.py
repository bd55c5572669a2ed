"""Strategies that a design is compared with, and the precision of each.

The errors of other strategies within the same limit are closed-form variances, as in
`forms.a_optimal_shares`.  SPL, which keeps a limit by its budgets alone, is not
compared if attributes are public, since public values leak besides the reports.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_problem import MAX_BUDGET, FormProblem, equal_split
from seepage.designs.forms.question import Stored, Unbounded, stored_number

# Other strategies within the same limit -----------------------------------------------

SPLIT = "equal split (SPL)"
"""Everyone is asked everything, each attribute at an equal part of the limit."""


CALIBRATED = "everyone asked everything, calibrated"
"""Everyone is asked everything, with the largest certified budgets."""


UNIFORM_SMP = "one random attribute each (SMP)"
"""Everyone is asked one attribute, each with the same probability."""


OPTIMAL_SMP = "one attribute each, best shares (SMP)"
"""Everyone is asked one attribute, with the probabilities of least error."""


DESIGN = "some attributes each (forms)"
"""The design, if all forms are products of reports."""


SHAPED = "some attributes each (shaped forms)"
"""The design, if some forms have one report of all answers."""


RECORD_SMP = "one attribute each, at the whole record's epsilon (SMP)"
"""SMP whose one report may tell what a form of the design tells about the whole record:
the rival against an adversary who knows all other answers, beyond the limits of single
attributes."""


NO_NOISE = "no privacy, everyone asked everything"
"""Everyone answers everything as it is."""


BEYOND = (RECORD_SMP, NO_NOISE)
"""Strategies that do not keep the limits."""


class Strategy(Stored, frozen=True, kw_only=True):
    """A way to keep the limits of a collection, and the errors to expect of it.

    Parameters
    ----------
    name
        The name of the strategy, for display.
    rests_on
        The guarantee of its totals, or the assumption under which they are within the
        limits.
    certified
        Whether they are within the limits without any assumption.
    errors
        The expected squared error of each attribute's frequencies, summed over its
        values, noise and sampling together, for the number of people that the design is
        computed for.
    record
        Upper bound of the leakage about the whole record, in nats.
    """

    name: str
    rests_on: str
    certified: bool
    errors: dict[str, Unbounded]
    record: Unbounded = "inf"

    @property
    def error(self) -> float:
        """The mean expected error of a strategy over the attributes."""
        return self.objective_error("mean", dict.fromkeys(self.errors, 1))

    def objective_error(self, objective: str, sizes: Mapping[str, int]) -> float:
        """Return the mean error of a strategy over some attributes, or the largest
        error per value; 0 for none.

        Parameters
        ----------
        objective
            `"mean"` or `"largest"`.
        sizes
            The number of values of each attribute that counts.
        """
        names = [name for name in sizes if name in self.errors]
        errors = np.array([float(self.errors[name]) for name in names])
        if objective == "largest":
            return float((errors / [sizes[name] for name in names]).max(initial=0.0))
        return float(errors.sum() / max(1, len(names)))

    def for_people(self, factor: float) -> "Strategy":
        """Return the strategy for a number of people divided by a factor."""
        errors = {
            name: stored_number(factor * float(e)) for name, e in self.errors.items()
        }
        return msgspec.structs.replace(self, errors=errors)


def compare_designs(
    problem: FormProblem,
    people: int,
    *,
    singles: Sequence[Form],
    full_forms: Sequence[Form],
    forms: Sequence[Form],
    errors: Floats,
) -> tuple[Strategy, ...]:
    """Return the strategies, the design last, on the attributes asked.

    Parameters
    ----------
    problem, people
        The constraints, and the number of people of the errors.
    singles, full_forms
        Forms of one attribute, and forms of all attributes.
    forms, errors
        The forms of the design, and its error of each attribute.
    """
    others = OtherStrategies(problem, people)
    record = max(form.record for form in forms)
    return (
        *others.equal_split(),
        *others.everyone_asked_everything(full_forms),
        *others.one_attribute_each(singles),
        others.one_attribute_at(record),
        others.without_noise(),
        others.designed(forms, errors, record),
    )


class OtherStrategies:
    """The strategies that a design is compared with, and the design as one of them.

    Parameters
    ----------
    problem, people
        As in `compare_designs`.
    """

    def __init__(self, problem: FormProblem, people: int) -> None:
        """Prepare the strategies that a design is compared with."""
        self.problem = problem
        self.people = people
        importance = problem.importance[: len(problem.domain)]
        self.asked = np.flatnonzero(problem.collected & (importance > 0))
        self.limit = float(problem.limits.min())

    def equal_split(self) -> Iterator[Strategy]:
        """Yield the strategy of an equal split of the limit; there is none with public
        attributes.
        """
        if self.problem.public:
            return
        budget = equal_split(self.limit, len(self.asked))
        errors = self._errors(self._best_precisions(budget))
        yield self._strategy(SPLIT, "worst", errors, self.limit)

    def everyone_asked_everything(
        self, full_forms: Sequence[Form]
    ) -> Iterator[Strategy]:
        """Yield the strategy of the best form of all attributes, if there is one."""
        if not full_forms:
            return
        precisions = [self.problem.row(form)[self.asked] for form in full_forms]
        best = min(
            range(len(full_forms)), key=lambda i: float((1 / precisions[i]).sum())
        )
        full = full_forms[best]
        errors = self._errors(precisions[best])
        yield self._strategy(CALIBRATED, full.guarantee, errors, full.record)

    def one_attribute_each(self, singles: Sequence[Form]) -> Iterator[Strategy]:
        """Yield the strategies SMP with a uniform choice of the attribute, and with the
        best shares.
        """
        problem = self.problem
        ascending = sorted(singles, key=lambda form: float(problem.row(form).max()))
        best = {problem.indices(form): form for form in ascending}
        forms = [best[j,] for j in self.asked.tolist()]
        rows = [problem.row(form) for form in forms]
        each = np.array([rows[place][j] for place, j in enumerate(self.asked.tolist())])
        budget = max(form.max_budget for form in forms)
        is_within = problem.fixed_caps and budget <= self.limit and not problem.public
        guarantee = "worst" if is_within else "exact"
        uniform = self._errors(each * (1 / len(self.asked)))
        yield self._strategy(UNIFORM_SMP, guarantee, uniform, budget)
        optimal = self._errors(_best_smp(problem, self.asked, each))
        yield self._strategy(OPTIMAL_SMP, guarantee, optimal, budget)

    def one_attribute_at(self, record: float) -> Strategy:
        """Return the strategy SMP at the whole record's epsilon of the design."""
        precisions = self._best_precisions(min(record, MAX_BUDGET))
        rival = self._errors(_best_smp(self.problem, self.asked, precisions))
        return self._strategy(RECORD_SMP, "exceeds the limits", rival, record)

    def without_noise(self) -> Strategy:
        """Return the strategy that asks all people without noise: sampling errors
        alone.
        """
        variance = self.problem.precisions.sampling_variance
        errors = [variance(j) / self.people for j in self.asked.tolist()]
        return self._strategy(NO_NOISE, "exceeds the limits", errors, math.inf)

    def designed(
        self, forms: Sequence[Form], errors: Floats, record: float
    ) -> Strategy:
        """Return the design as one of the strategies."""
        name = DESIGN if all(form.is_product for form in forms) else SHAPED
        guarantees = ", ".join(sorted({form.guarantee for form in forms}))
        return self._strategy(name, guarantees, errors[self.asked].tolist(), record)

    def _strategy(
        self, name: str, rests_on: str, errors: Iterable[float], record: float
    ) -> Strategy:
        """Return a strategy of a name from the errors of the attributes asked."""
        names = [self.problem.domain.names[j] for j in self.asked]
        return Strategy(
            name=name,
            rests_on=rests_on,
            certified=name not in BEYOND,
            errors=dict(zip(names, map(stored_number, errors), strict=True)),
            record=stored_number(record),
        )

    def _best_precisions(self, budget: float) -> Floats:
        """Return the precision of each attribute that a strategy asks by the best
        report at a budget.
        """
        best = self.problem.precisions.best
        return np.array([best(j, budget) for j in self.asked.tolist()])

    def _errors(self, precisions: Floats) -> list[float]:
        """Return the errors 1 / (n P) of a strategy of each precision P, for n
        people.
        """
        return [1 / (self.people * precision) for precision in precisions.tolist()]


def _best_smp(problem: FormProblem, asked: Integers, precisions: Floats) -> Floats:
    """Return the precisions pi_j P_j of the strategy SMP with the best shares pi of one
    attribute each.

    With precision P_j of one report: pi_j ~ sqrt(w_j / P_j) for the mean of w_j / (pi_j
    P_j), and pi_j ~ c_j / P_j for the largest c_j / (pi_j P_j).
    """
    if problem.scale is None:
        shares = np.sqrt(problem.importance[asked] / precisions)
    else:
        shares = problem.scale[asked] / precisions
    return np.asarray(precisions * (shares / shares.sum()))
