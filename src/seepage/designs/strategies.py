"""Other ways to spend the same limit beside a design, by the error to expect of each.

Errors are the variance of each attribute's estimated frequencies, summed over its values, in closed
form, for people drawn from the population: noise and sampling together, for every strategy.  What
keeps a limit by its budgets alone (SPL, RS+FD) is left out where something is public, which tells
besides the reports.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.equal_budgets import equal_split
from seepage.designs.forms.a_optimal import best_shares
from seepage.designs.forms.form_problem import FittedForm, FormProblem
from seepage.mechanisms import mechanism

SPLIT = "equal split (SPL)"
CALIBRATED = "everyone asked everything, calibrated"
UNIFORM_SMP = "one random attribute each (SMP)"
OPTIMAL_SMP = "one attribute each, best shares (SMP)"
DESIGN = "some attributes each (forms)"
SHAPED = "some attributes each (shaped forms)"


@dataclass(frozen=True)
class Strategy:
    """What one strategy spends on each attribute and what error is expected of it.

    Parameters
    ----------
    name
        What it is.
    epsilons
        The budget of each attribute's report.
    errors
        The expected squared error of each attribute's frequencies, summed over its values.
    mechanisms
        The mechanism that is best for each attribute.
    rests_on
        Why its totals stay within the limit, or what must hold for that.
    certified
        Whether they do so without any assumption.
    """

    name: str
    epsilons: tuple[float, ...]
    errors: tuple[float, ...]
    mechanisms: tuple[str, ...]
    rests_on: str
    certified: bool

    @property
    def error(self) -> float:
        """The mean expected error over the attributes."""
        return float(np.mean(self.errors))


def fake_data_budget(limit: float, attributes: int) -> float:
    """Return eps' = ln(d (e^limit - 1) + 1), the amplified budget of RS+FD as published.

    Examples
    --------
    >>> round(fake_data_budget(1.0, 10), 4)
    2.9005
    """
    return limit + math.log(attributes - (attributes - 1) * math.exp(-limit))


def sampling_with_fake_data(pairs: PairCounts, limit: float, *, amplified: bool) -> Strategy:
    """Return RS+FD: one random attribute is reported truly, the others are fakes.

    The sampled attribute is hidden among the fakes, for which the authors amplify its budget to
    `fake_data_budget`.  Two records that differ in *every* attribute are told apart by e^eps' all
    the same: with GRR at eps' the reports y = x are sum_j k_j p / sum_j k_j q = e^eps' times
    likelier.  So for correlated attributes the amplified budget keeps the limit only by
    assumption, and without it eps' = limit.

    Each attribute takes the better of two [Arcolezi et al. 2021], with d attributes, a share f
    of people with the value, and p and q of the mechanism at eps':

    * RS+FD[GRR], fakes uniform: variance d^2 g (1 - g) / (n (p - q)^2),
      g = (q + f (p - q) + (d - 1) / k) / d;
    * RS+FD[OUE-z], fakes perturbed zero vectors: the same with g = q + f (p - q) / d.
    """
    count = len(pairs.domain)
    budget = fake_data_budget(limit, count) if amplified else limit
    found = [_with_fakes(pairs, index, budget) for index in range(count)]
    name = "random sampling with fake data (RS+FD)" + (", amplified" if amplified else "")
    rests_on = "assumed: attributes are independent" if amplified else "eps' = limit, not amplified"
    errors, mechanisms = zip(*found, strict=True)
    return Strategy(name, (budget,) * count, errors, mechanisms, rests_on, not amplified)


def _with_fakes(pairs: PairCounts, index: int, budget: float) -> tuple[float, str]:
    """Return the lesser expected error of RS+FD with GRR and with OUE, and which."""
    count, size = len(pairs.domain), pairs.domain[index].size
    if size == 1:
        return 0.0, "grr"
    shares = pairs.marginals[index] / pairs.records
    errors = []
    for name in ("grr", "oue"):
        made: Any = mechanism(name, size, budget)
        true, other = made.support
        fake = 1 / size if name == "grr" else other
        chance = (other + shares * (true - other) + (count - 1) * fake) / count
        spread = count**2 * chance * (1 - chance) / (pairs.records * (true - other) ** 2)
        errors.append((float(spread.sum()), name))
    return min(errors)


def compare_designs(
    problem: FormProblem,
    records: Records,
    singles: Sequence[FittedForm],
    whole: Sequence[FittedForm],
    forms: Sequence[FittedForm],
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
    forms, errors
        The design.
    product
        Where reports are shaped: the forms and errors of the design without.
    """
    asked = np.flatnonzero(problem.collected & (problem.weights[: len(problem.domain)] > 0))
    indices, people, found = asked.tolist(), records.records, list[Strategy]()
    limit, precise = float(problem.limits.min()), problem.precisions
    clear = bool(problem.public_indices)
    if not clear:
        split = (equal_split(limit, len(indices)),) * len(indices)
        names = tuple(map(precise.best_mechanism, indices, split))
        precisions = list(map(precise.of_mechanism, indices, names, split))
        found.append(Strategy(SPLIT, split, _errors(precisions, people), names, "worst", True))
    if whole:
        best = min(whole, key=lambda form: (1 / problem.row(form)[asked]).sum())
        errors_of_all = _errors(problem.row(best)[asked], people)
        found.append(_of_forms(CALIBRATED, [best], errors_of_all, indices, best.guarantee))
    found += _sampled(problem, singles, indices, people)
    if len(indices) > 1 and not clear:
        pairs = records.pairs().select([problem.domain.names[j] for j in indices])
        found += [sampling_with_fake_data(pairs, limit, amplified=more) for more in (False, True)]
    designs = [(DESIGN if product is None else SHAPED, forms, errors)]
    if product is not None:
        designs.insert(0, (DESIGN, *product))
    for name, chosen, of_each in designs:
        rests = ", ".join(sorted({form.guarantee for form in chosen}))
        found.append(_of_forms(name, chosen, tuple(of_each[asked].tolist()), indices, rests))
    return tuple(found)


def _of_forms(
    name: str,
    forms: Sequence[FittedForm],
    errors: tuple[float, ...],
    asked: Sequence[int],
    rests_on: str,
) -> Strategy:
    """Return forms as a strategy, each attribute with its largest budget."""
    largest, mechanisms = list[float](), list[str]()
    for j in asked:
        asking = [(form, form.attributes.index(j)) for form in forms if j in form.attributes]
        largest.append(max(float(form.epsilons[index]) for form, index in asking))
        mechanisms.append(next(form.mechanisms[index] for form, index in asking))
    return Strategy(name, tuple(largest), errors, tuple(mechanisms), rests_on, True)


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
    budgets = tuple(float(best[j].epsilons[0]) for j in asked)
    names = tuple(best[j].mechanisms[0] for j in asked)
    within = problem.fixed_caps and max(budgets) <= float(problem.limits.min())
    rests = "worst" if within and not problem.public_indices else "exact"
    return [
        Strategy(name, budgets, _errors(precisions * part, people), names, rests, True)
        for name, part in ((UNIFORM_SMP, uniform), (OPTIMAL_SMP, optimal))
    ]


def _errors(precisions: Sequence[float] | Floats, people: int) -> tuple[float, ...]:
    return tuple(1 / (people * float(precision)) for precision in precisions)
