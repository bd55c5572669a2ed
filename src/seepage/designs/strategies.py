"""Other strategies within the same limit as a design, and the expected error of each.

The error is the closed-form variance of each attribute's estimated frequencies, summed over its
values, for people drawn from the population: noise and sampling together, for every strategy.
Strategies that keep a limit by their budgets alone (SPL, RS+FD) are not compared if attributes are
public, since public values leak besides the reports.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import msgspec
import numpy as np

from seepage._numerics import Floats
from seepage._results import Result, json_ready
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.a_optimal import best_shares
from seepage.designs.equal_budgets import equal_split
from seepage.designs.form import Form
from seepage.designs.form_problem import FormProblem
from seepage.designs.report_channels import Budget, Stored, Unbounded
from seepage.mechanisms import mechanism

SPLIT = "equal split (SPL)"
CALIBRATED = "everyone asked everything, calibrated"
UNIFORM_SMP = "one random attribute each (SMP)"
OPTIMAL_SMP = "one attribute each, best shares (SMP)"
DESIGN = "some attributes each (forms)"
SHAPED = "some attributes each (shaped forms)"


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
        and sampling together, with as many people as the table has records.
    epsilons, mechanisms
        The budget of each attribute's report, and its mechanism; empty if they differ by form.
    """

    name: str
    rests_on: str
    certified: bool
    errors: dict[str, Unbounded]
    epsilons: dict[str, Budget] = msgspec.field(default_factory=dict)
    mechanisms: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def error(self) -> float:
        """The mean expected error over the attributes."""
        return self.mean_error(self.errors)

    def mean_error(self, names: Iterable[str]) -> float:
        """Return the mean expected error over some attributes; 0 for none."""
        errors = [float(self.errors[name]) for name in names]
        return sum(errors) / max(1, len(errors))


class Strategies(Result, tuple[Strategy, ...]):
    """Strategies within the same limit, the design last: a tuple with one row per strategy.

    Examples
    --------
    >>> split = Strategy(name=SPLIT, rests_on="worst", certified=True, errors={"a": 2.0, "b": 4.0})
    >>> Strategies([split])
    Strategies(1 compared, least certified error 3: equal split (SPL))
    """

    __slots__ = ()

    def _headline(self) -> str:
        certified = [(strategy.error, strategy.name) for strategy in self if strategy.certified]
        least = [f"least certified error {error:.3g}: {name}" for error, name in sorted(certified)]
        return f"Strategies({', '.join([f'{len(self)} compared', *least[:1]])})"

    def _columns(self) -> dict[str, Sequence[Any]]:
        return {
            "strategy": [strategy.name for strategy in self],
            "error": [strategy.error for strategy in self],
            "rests_on": [strategy.rests_on for strategy in self],
            "certified": [strategy.certified for strategy in self],
        }


def fake_data_budget(limit: float, attributes: int) -> float:
    """Return eps' = ln(d (e^limit - 1) + 1), the amplified budget of RS+FD as published.

    Examples
    --------
    >>> round(fake_data_budget(1.0, 10), 4)
    2.9005
    """
    return limit + math.log(attributes - (attributes - 1) * math.exp(-limit))


def sampling_with_fake_data(pairs: PairCounts, limit: float, *, amplified: bool) -> Strategy:
    """Return RS+FD: one random attribute is reported truly, the others are fake.

    The sampled attribute is hidden among the fake ones, for which the authors amplify its budget to
    `fake_data_budget`.  But two records that differ in *every* attribute still have a likelihood
    ratio of e^eps': with GRR at eps' the reports y = x are sum_j k_j p / sum_j k_j q = e^eps' times
    likelier.  So for correlated attributes the amplified budget is within the limit only by
    assumption; without the assumption eps' = limit.

    Each attribute uses the better of two [Arcolezi et al. 2021], with d attributes, a share f
    of people with the value, and p and q of the mechanism at eps':

    * RS+FD[GRR], fakes uniform: variance d^2 g (1 - g) / (n (p - q)^2),
      g = (q + f (p - q) + (d - 1) / k) / d;
    * RS+FD[OUE-z], fakes perturbed zero vectors: the same with g = q + f (p - q) / d.
    """
    names, count = pairs.domain.names, len(pairs.domain)
    budget = fake_data_budget(limit, count) if amplified else limit
    best = [_fake_data_error(pairs, index, budget) for index in range(count)]
    rests_on = "assumed: attributes are independent" if amplified else "eps' = limit, not amplified"
    errors, mechanisms = zip(*best, strict=True)
    return Strategy(
        name="random sampling with fake data (RS+FD)" + (", amplified" if amplified else ""),
        rests_on=rests_on,
        certified=not amplified,
        errors=dict(zip(names, errors, strict=True)),
        epsilons=dict.fromkeys(names, budget),
        mechanisms=dict(zip(names, mechanisms, strict=True)),
    )


def _fake_data_error(pairs: PairCounts, index: int, budget: float) -> tuple[float, str]:
    """Return the expected error of RS+FD with GRR or OUE, the smaller one, and the mechanism."""
    count, size = len(pairs.domain), pairs.domain[index].size
    shares = pairs.marginals[index] / pairs.records
    errors = []
    for name in ("grr", "oue"):
        perturbing: Any = mechanism(name, size, budget)
        p, q = perturbing.support
        fake = 1 / size if name == "grr" else q
        g = (q + shares * (p - q) + (count - 1) * fake) / count
        variance = count**2 * g * (1 - g) / (pairs.records * (p - q) ** 2)
        errors.append((float(variance.sum()), name))
    return min(errors)


def compare_designs(
    problem: FormProblem,
    records: Records,
    singles: Sequence[Form],
    full_forms: Sequence[Form],
    forms: Sequence[Form],
    errors: Floats,
    product: tuple[Sequence[Form], Floats] | None = None,
) -> Strategies:
    """Return the strategies within the same limits, the design last, on the attributes asked.

    Parameters
    ----------
    problem, records
        The constraints and the records.
    singles, full_forms
        Forms of one attribute, and forms of all attributes.
    forms, errors
        The forms of the design, and the error of each attribute.
    product
        If reports are shaped: the forms and errors of the design without shaped reports.
    """
    asked = np.flatnonzero(problem.collected & (problem.importance[: len(problem.domain)] > 0))
    indices, people, strategies = asked.tolist(), records.records, list[Strategy]()
    limit, precisions = float(problem.limits.min()), problem.precisions
    has_public = bool(problem.public)
    names = [problem.domain.names[j] for j in indices]
    strategy = partial(_strategy, names)
    if not has_public:
        split = equal_split(limit, len(indices))
        best_names = [precisions.best_mechanism(j, split) for j in indices]
        row = list(map(precisions.of_mechanism, indices, best_names, repeat(split)))
        budgets, chosen = dict.fromkeys(names, split), dict(zip(names, best_names, strict=True))
        strategies.append(strategy(SPLIT, "worst", _errors(row, people), budgets, chosen))
    if full_forms:
        best = min(full_forms, key=lambda form: (1 / problem.row(form)[asked]).sum())
        full_errors = _errors(problem.row(best)[asked], people)
        strategies.append(strategy(CALIBRATED, best.guarantee, full_errors, *_largest([best])))
    strategies += _smp(problem, singles, indices, strategy, people)
    if len(indices) > 1 and not (has_public or precisions.rows):
        pairs = records.pairs().select(names)
        strategies += [sampling_with_fake_data(pairs, limit, amplified=a) for a in (False, True)]
    designs = [(DESIGN if product is None else SHAPED, forms, errors)]
    if product is not None:
        designs.insert(0, (DESIGN, *product))
    for name, design_forms, design_errors in designs:
        guarantees = ", ".join(sorted({form.guarantee for form in design_forms}))
        asked_errors = design_errors[asked].tolist()
        strategies.append(strategy(name, guarantees, asked_errors, *_largest(design_forms)))
    return Strategies(strategies)


def _strategy(
    asked: Sequence[str],
    name: str,
    rests_on: str,
    errors: Iterable[float],
    epsilons: Mapping[str, float],
    mechanisms: Mapping[str, str],
) -> Strategy:
    """Return a certified strategy for the attributes asked."""
    return Strategy(
        name=name,
        rests_on=rests_on,
        certified=True,
        errors=json_ready(dict(zip(asked, errors, strict=True))),
        epsilons={one: epsilons[one] for one in asked},
        mechanisms={one: mechanisms[one] for one in asked},
    )


def _largest(forms: Sequence[Form]) -> tuple[dict[str, float], dict[str, str]]:
    """Return the largest budget of each attribute over some forms, and its first mechanism."""
    budgets, mechanisms = dict[str, float](), dict[str, str]()
    for form in forms:
        asked = zip(form.attributes, form.mechanisms, form.epsilons.tolist(), strict=True)
        for name, mechanism_name, epsilon in asked:
            budgets[name] = max(epsilon, budgets.get(name, 0.0))
            mechanisms.setdefault(name, mechanism_name)
    return budgets, mechanisms


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
    weights = problem.importance[list(asked)]
    optimal = best_shares(np.diag(precisions), weights, np.ones(len(asked)), 1e-9, 20_000).shares
    uniform = np.full(len(asked), 1 / len(asked))
    budgets, names = _largest([best[j] for j in asked])
    within = problem.fixed_caps and max(budgets.values()) <= float(problem.limits.min())
    guarantee = "worst" if within and not problem.public else "exact"
    return [
        strategy(name, guarantee, _errors(precisions * shares, people), budgets, names)
        for name, shares in ((UNIFORM_SMP, uniform), (OPTIMAL_SMP, optimal))
    ]


def _errors(precisions: Sequence[float] | Floats, people: int) -> list[float]:
    """Return 1 / (n P) of each precision P, for n people."""
    return [1 / (people * float(precision)) for precision in precisions]
