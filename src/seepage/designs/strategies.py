"""Other strategies within the same limit as a design, and the expected error of each.

The error is the closed-form variance of each attribute's estimated frequencies, summed over its
values, for people drawn from the population: noise and sampling together, for every strategy.
SPL, which keeps a limit by its budgets alone, is not compared if attributes are public, since
public values leak besides the reports.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import msgspec
import numpy as np

from seepage._numerics import Floats
from seepage._results import json_ready
from seepage.designs.form import Form
from seepage.designs.form_problem import MAX_BUDGET, FormProblem, equal_split
from seepage.designs.report_channels import Stored, Unbounded

SPLIT = "equal split (SPL)"
CALIBRATED = "everyone asked everything, calibrated"
UNIFORM_SMP = "one random attribute each (SMP)"
OPTIMAL_SMP = "one attribute each, best shares (SMP)"
DESIGN = "some attributes each (forms)"
SHAPED = "some attributes each (shaped forms)"
RECORD_SMP = "one attribute each, at the whole record's epsilon (SMP)"
"""SMP whose one report may tell what a form of the design tells about the whole record: the rival
against an adversary who knows all other answers, beyond the limits of single attributes."""
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
        The guarantee of its totals, or the assumption under which they are within the limits.
    certified
        Whether they are within the limits without any assumption.
    errors
        The expected squared error of each attribute's frequencies, summed over its values, noise
        and sampling together, for the number of people that the design is computed for.
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
        """Return the mean error over some attributes, or the largest error per value; 0 for none.

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
        errors = {name: json_ready(factor * float(error)) for name, error in self.errors.items()}
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
    asked = np.flatnonzero(problem.collected & (problem.importance[: len(problem.domain)] > 0))
    indices, strategies = asked.tolist(), list[Strategy]()
    limit, precisions = float(problem.limits.min()), problem.precisions
    names = [problem.domain.names[j] for j in indices]
    strategy = partial(_strategy, names)
    if not problem.public:
        row = [precisions.best(j, equal_split(limit, len(indices))) for j in indices]
        strategies.append(strategy(SPLIT, "worst", _errors(row, people), limit))
    if full_forms:
        best = min(full_forms, key=lambda form: (1 / problem.row(form)[asked]).sum())
        full_errors = _errors(problem.row(best)[asked], people)
        strategies.append(strategy(CALIBRATED, best.guarantee, full_errors, best.record))
    strategies += _smp(problem, singles, indices, strategy, people)
    record = max(form.record for form in forms)
    strategies += _beyond_limits(problem, indices, strategy, people, record)
    name = DESIGN if all(form.is_product for form in forms) else SHAPED
    guarantees = ", ".join(sorted({form.guarantee for form in forms}))
    return (*strategies, strategy(name, guarantees, errors[asked].tolist(), record))


def _strategy(
    asked: Sequence[str], name: str, rests_on: str, errors: Iterable[float], record: float
) -> Strategy:
    """Return a strategy for the attributes asked, certified if it keeps the limits."""
    return Strategy(
        name=name,
        rests_on=rests_on,
        certified=name not in BEYOND,
        errors=json_ready(dict(zip(asked, errors, strict=True))),
        record=json_ready(record),
    )


def _beyond_limits(
    problem: FormProblem,
    asked: Sequence[int],
    strategy: Callable[..., Strategy],
    people: int,
    record: float,
) -> list[Strategy]:
    """Return SMP with the record's epsilon as the budget of its one report, and no noise at all."""
    precisions, exceeded, clear = problem.precisions, "exceeds the limits", list[float]()
    each = np.array([precisions.best(j, min(record, MAX_BUDGET)) for j in asked])
    smp = _errors(each * _best_single_shares(problem, asked, each), people)
    for j in asked:
        rows, f = precisions.rows.get(j, np.eye(precisions.sizes[j])), precisions.frequencies[j]
        clear.append(float(f @ (rows**2).sum(axis=0) - precisions.squares[j]) / people)
    return [
        strategy(RECORD_SMP, exceeded, smp, record),
        strategy(NO_NOISE, exceeded, clear, math.inf),
    ]


def _smp(
    problem: FormProblem,
    singles: Sequence[Form],
    asked: Sequence[int],
    strategy: Callable[..., Strategy],
    people: int,
) -> list[Strategy]:
    """Return SMP with uniform and with the best shares, by the best mechanism per attribute."""
    best: dict[int, Form] = {}
    for form in singles:
        (j,) = problem.indices(form)
        if j not in best or problem.row(form)[j] > problem.row(best[j])[j]:
            best[j] = form
    if not all(j in best for j in asked):
        return []
    precisions = np.array([problem.row(best[j])[j] for j in asked])
    optimal = _best_single_shares(problem, asked, precisions)
    uniform = np.full(len(asked), 1 / len(asked))
    record = max(best[j].max_budget for j in asked)
    within = problem.fixed_caps and record <= float(problem.limits.min())
    guarantee = "worst" if within and not problem.public else "exact"
    return [
        strategy(name, guarantee, _errors(precisions * shares, people), record)
        for name, shares in ((UNIFORM_SMP, uniform), (OPTIMAL_SMP, optimal))
    ]


def _best_single_shares(problem: FormProblem, asked: Sequence[int], precisions: Floats) -> Floats:
    """Return the best shares of forms of one attribute each, in closed form.

    With precision P_j of one report: pi_j ~ sqrt(w_j / P_j) for the mean of w_j / (pi_j P_j), and
    pi_j ~ c_j / P_j for the largest c_j / (pi_j P_j).
    """
    if problem.scale is None:
        shares = np.sqrt(problem.importance[list(asked)] / precisions)
    else:
        shares = problem.scale[list(asked)] / precisions
    return np.asarray(shares / shares.sum())


def _errors(precisions: Sequence[float] | Floats, people: int) -> list[float]:
    """Return 1 / (n P) of each precision P, for n people."""
    return [1 / (people * float(precision)) for precision in precisions]
