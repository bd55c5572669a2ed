"""Strategies that a design is compared with, and the precision of each."""

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_problem import MAX_BUDGET, FormProblem, equal_split
from seepage.designs.forms.question import Stored, Unbounded, stored_number

# Other strategies within the same limit -----------------------------------------------

SPLIT = "equal split (SPL)"


CALIBRATED = "everyone asked everything, calibrated"


UNIFORM_SMP = "one random attribute each (SMP)"


OPTIMAL_SMP = "one attribute each, best shares (SMP)"


DESIGN = "some attributes each (forms)"


SHAPED = "some attributes each (shaped forms)"


RECORD_SMP = "one attribute each, at the whole record's epsilon (SMP)"
"""SMP whose one report may tell what a form of the design tells about the whole record:
the rival against an adversary who knows all other answers, beyond the limits of single
attributes."""


NO_NOISE = "no privacy, everyone asked everything"


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
        """The mean expected error over the attributes."""
        return self.objective_error("mean", dict.fromkeys(self.errors, 1))

    def objective_error(self, objective: str, sizes: Mapping[str, int]) -> float:
        """Return the mean error over some attributes, or the largest error per value; 0
        for none.

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
    asked = np.flatnonzero(
        problem.collected & (problem.importance[: len(problem.domain)] > 0)
    )
    names, found = [problem.domain.names[j] for j in asked], list[Strategy]()
    limit = float(problem.limits.min())
    precisions = problem.precisions

    def add(name: str, rests_on: str, errors: Iterable[float], record: float) -> None:
        strategy = Strategy(
            name=name,
            rests_on=rests_on,
            certified=name not in BEYOND,
            errors=dict(zip(names, map(stored_number, errors), strict=True)),
            record=stored_number(record),
        )
        found.append(strategy)

    def best_precisions(budget: float) -> Floats:
        return np.array([precisions.best(j, budget) for j in asked.tolist()])

    if not problem.public:
        add(
            SPLIT,
            "worst",
            _errors(best_precisions(equal_split(limit, len(asked))), people),
            limit,
        )
    if full_forms:
        full = min(full_forms, key=lambda form: (1 / problem.row(form)[asked]).sum())
        add(
            CALIBRATED,
            full.guarantee,
            _errors(problem.row(full)[asked], people),
            full.record,
        )
    ascending = sorted(singles, key=lambda form: float(problem.row(form).max()))
    best = {problem.indices(form): form for form in ascending}
    each = np.array([problem.row(best[j,])[j] for j in asked.tolist()])
    budget = max(best[j,].max_budget for j in asked.tolist())
    is_within = problem.fixed_caps and budget <= limit and not problem.public
    guarantee = "worst" if is_within else "exact"
    add(UNIFORM_SMP, guarantee, _errors(each * (1 / len(asked)), people), budget)
    add(
        OPTIMAL_SMP, guarantee, _errors(_best_smp(problem, asked, each), people), budget
    )
    record = max(form.record for form in forms)
    rival = _best_smp(problem, asked, best_precisions(min(record, MAX_BUDGET)))
    add(RECORD_SMP, "exceeds the limits", _errors(rival, people), record)
    without = [precisions.sampling_variance(j) / people for j in asked.tolist()]
    add(NO_NOISE, "exceeds the limits", without, math.inf)
    name = DESIGN if all(form.is_product for form in forms) else SHAPED
    guarantees = ", ".join(sorted({form.guarantee for form in forms}))
    add(name, guarantees, errors[asked].tolist(), record)
    return tuple(found)


def _best_smp(problem: FormProblem, asked: Integers, precisions: Floats) -> Floats:
    """Return the precisions pi_j P_j of forms of one attribute each with the best
    shares pi.

    With precision P_j of one report: pi_j ~ sqrt(w_j / P_j) for the mean of w_j / (pi_j
    P_j), and pi_j ~ c_j / P_j for the largest c_j / (pi_j P_j).
    """
    if problem.scale is None:
        shares = np.sqrt(problem.importance[asked] / precisions)
    else:
        shares = problem.scale[asked] / precisions
    return np.asarray(precisions * (shares / shares.sum()))


def _errors(precisions: Floats, people: int) -> list[float]:
    """Return 1 / (n P) of each precision P, for n people."""
    return [1 / (people * precision) for precision in precisions.tolist()]
