"""Other ways to spend the same limit beside a design, by the error to expect of each.

What keeps a limit by its budgets alone (SPL, RS+FD) is left out where something is public, which
tells besides the reports.

Errors are for people drawn from the population: noise and sampling together, for every strategy.
"""

from collections.abc import Sequence

import numpy as np

from seepage._numerics import Floats
from seepage.data.records import Records
from seepage.designs.equal_budgets import equal_split
from seepage.designs.form_problem import FittedForm, FormProblem
from seepage.designs.plain_forms import best_mechanism
from seepage.designs.shares import best_shares
from seepage.designs.strategies import Strategy, sampling_with_fake_data

SPLIT = "equal split (SPL)"
CALIBRATED = "everyone asked everything, calibrated"
UNIFORM_SMP = "one random attribute each (SMP)"
OPTIMAL_SMP = "one attribute each, best shares (SMP)"
DESIGN = "design: forms"
SHAPED = "design: forms, shaped"


def compare_designs(
    problem: FormProblem,
    records: Records,
    singles: Sequence[FittedForm],
    whole: Sequence[FittedForm],
    forms: Sequence[FittedForm],
    shares: Sequence[float],
    errors: Floats,
    product: tuple[Sequence[FittedForm], Floats] | None = None,
) -> tuple[Strategy, ...]:
    """Return the strategies that can be compared: of the attributes that are asked.

    Parameters
    ----------
    problem, records
        The conditions and the people.
    singles, whole
        Forms of one attribute, and forms of all.
    forms, shares, errors
        The design.
    product
        Where reports are shaped: the forms and errors of the design without.
    """
    asked = np.flatnonzero(problem.collected & (problem.weights[: len(problem.domain)] > 0))
    people, found = records.records, list[Strategy]()
    limit = float(problem.limits.min())
    clear = bool(problem.public_places)
    split = [equal_split(limit, len(asked))] * len(asked)
    names = [best_mechanism(problem, j, e) for j, e in zip(asked.tolist(), split, strict=True)]
    precisions = [
        problem.precisions.of_mechanism(j, name, e)
        for j, name, e in zip(asked.tolist(), names, split, strict=True)
    ]
    if not clear:
        found.append(_strategy(SPLIT, split, _errors(precisions, people), names, "worst", True))
    if whole:
        best = min(whole, key=lambda form: (1 / problem.row(form)[asked]).sum())
        budgets = best.epsilons[np.searchsorted(best.attributes, asked)].tolist()
        row = _errors(problem.row(best)[asked], people)
        mechanisms = [best.mechanisms[best.attributes.index(j)] for j in asked.tolist()]
        found.append(_strategy(CALIBRATED, budgets, row, mechanisms, best.guarantee, True))
    found += _sampled(problem, singles, asked.tolist(), people)
    if len(asked) > 1 and not clear:
        pairs = records.pairs().select([problem.domain.names[j] for j in asked.tolist()])
        found += [sampling_with_fake_data(pairs, limit, amplified=more) for more in (False, True)]
    if product is not None:
        found.append(_design(DESIGN, product[0], product[1], asked.tolist()))
    name = DESIGN if product is None else SHAPED
    found.append(_design(name, forms, errors, asked.tolist()))
    return tuple(found)


def _design(
    name: str, forms: Sequence[FittedForm], errors: Floats, asked: Sequence[int]
) -> Strategy:
    """Return a design, each attribute with its largest budget."""
    largest = [
        max(float(f.epsilons[f.attributes.index(j)]) for f in forms if j in f.attributes)
        for j in asked
    ]
    mechanisms = [
        next(f.mechanisms[f.attributes.index(j)] for f in forms if j in f.attributes) for j in asked
    ]
    rests = ", ".join(sorted({form.guarantee for form in forms}))
    return _strategy(name, largest, errors[list(asked)].tolist(), mechanisms, rests, True)


def _sampled(
    problem: FormProblem, singles: Sequence[FittedForm], asked: Sequence[int], people: int
) -> list[Strategy]:
    """Return SMP with uniform and with the best shares, each attribute by its best mechanism."""
    best: dict[int, FittedForm] = {}
    for form in singles:
        j = form.attributes[0]
        if j not in best or problem.row(form)[j] > problem.row(best[j])[j]:
            best[j] = form
    if not all(j in best for j in asked):
        return []
    precisions = np.array([problem.row(best[j])[j] for j in asked])
    weights = problem.weights[list(asked)]
    optimal = best_shares(np.diag(precisions), weights, np.ones(len(asked)), 1e-9, 20_000).shares
    uniform = np.full(len(asked), 1 / len(asked))
    budgets = [float(best[j].epsilons[0]) for j in asked]
    names = [best[j].mechanisms[0] for j in asked]
    within = problem.fixed_caps and max(budgets) <= float(problem.limits.min())
    rests = "worst" if within else "exact"
    return [
        _strategy(name, budgets, _errors(precisions * part, people), names, rests, True)
        for name, part in ((UNIFORM_SMP, uniform), (OPTIMAL_SMP, optimal))
    ]


def _errors(precisions: Sequence[float] | Floats, people: int) -> list[float]:
    return [1 / (people * float(precision)) for precision in precisions]


def _strategy(
    name: str,
    epsilons: Sequence[float],
    errors: Sequence[float],
    mechanisms: Sequence[str],
    rests_on: str,
    certified: bool,
) -> Strategy:
    return Strategy(name, tuple(epsilons), tuple(errors), tuple(mechanisms), rests_on, certified)
