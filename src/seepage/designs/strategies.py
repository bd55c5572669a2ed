"""`compare_strategies`: ways to spend a limit side by side, by the error of the estimates.

Every strategy keeps each attribute's total within the same limit.  Compared is the expected error
of each attribute's estimated frequencies, the variance summed over its values, in closed form.
One simulated collection of a strategy checks the closed form of its error.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage._results import Result, json_ready
from seepage.data.inputs import as_counted, as_pairs
from seepage.data.pairs import PairCounts
from seepage.designs.attribute_budgets import least_variance
from seepage.designs.calibration import BudgetChoice, find_budgets
from seepage.designs.equal_budgets import equal_split
from seepage.mechanisms import mechanism


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


@dataclass(frozen=True, repr=False)
class StrategyComparison(Result):
    """Strategies that keep the same limit, and the errors to expect of each.

    Parameters
    ----------
    limit
        The allowed total of every attribute.
    names
        The attributes.
    strategies
        The strategies, ours among them.
    simulated
        The mean error of each strategy in one simulated collection; empty if none was made.
    """

    limit: float
    names: tuple[str, ...]
    strategies: tuple[Strategy, ...]
    simulated: tuple[float, ...] = ()

    @property
    def ours(self) -> Strategy:
        """The best of the calibrated strategies."""
        calibrated = [one for one in self.strategies if one.name.startswith("calibrated")]
        return min(calibrated, key=lambda one: one.error)

    def rows(self) -> Iterator[tuple[Strategy, float | None]]:
        """Yield each strategy with its simulated error."""
        simulated: tuple[float | None, ...] = self.simulated or (None,) * len(self.strategies)
        yield from zip(self.strategies, simulated, strict=True)

    def heading(self) -> str:
        """Return what is compared."""
        return (
            f"Limit {self.limit:g} on every attribute's total; expected squared error of the "
            f"frequencies, mean over {len(self.names)} attributes"
        )

    def verdict(self) -> str:
        """Return which strategy wins, with and without assumptions, and where it does not."""
        best = min(self.strategies, key=lambda one: one.error)
        safe = min((one for one in self.strategies if one.certified), key=lambda one: one.error)
        lines = [f"Least error: {best.name} ({best.rests_on})."]
        if safe is not best:
            lines.append(f"Least error without assumptions: {safe.name}.")
        if not self.ours.certified:
            lines.append(
                "Calibrated budgets rest on an assumption here; a calibration of their own has "
                "them audited."
            )
        errors = zip(self.names, best.errors, safe.errors, strict=True)
        better = [name for name, mine, theirs in errors if theirs < mine]
        if better and safe is not best:
            lines.append(f"There {safe.name} is better even so for {', '.join(better[:8])}.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON holds it."""
        return {
            "limit": self.limit,
            "attributes": list(self.names),
            "strategies": [
                json_ready({**vars(one), "error": one.error, "simulated": simulated})
                for one, simulated in self.rows()
            ],
        }

    def _columns(self) -> dict[str, Sequence[Any]]:
        each = [(one, place) for one in self.strategies for place in range(len(self.names))]
        return {
            "strategy": [one.name for one, _ in each],
            "attribute": [self.names[place] for _, place in each],
            "epsilon": [one.epsilons[place] for one, place in each],
            "mechanism": [one.mechanisms[place] for one, place in each],
            "error": [one.errors[place] for one, place in each],
            "certified": [one.certified for one, _ in each],
            "rests_on": [one.rests_on for one, _ in each],
        }

    def _headline(self) -> str:
        best = min(self.strategies, key=lambda one: one.error)
        return (
            f"StrategyComparison(limit {self.limit:g}, least error {best.error:.3g}: {best.name})"
        )


def compare_strategies(
    data: Any,
    limit: Any,
    *,
    guarantee: str = "independent",
    seed: int = 0,
    simulate: bool = False,
    **table_options: Any,
) -> StrategyComparison:
    """Compare ways to keep every attribute's total within one limit, by the error of estimates.

    Everyone reports everything with an equal split of the limit (SPL), with calibrated equal
    budgets, or with calibrated budgets for each attribute; or everyone reports one random attribute
    (SMP), also hidden among fakes (RS+FD).  Each takes the mechanism that is best for it.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, `Records` or `PairCounts`.
    limit
        The allowed total of every attribute.
    guarantee
        What the calibrated budgets rest on.
    seed, simulate
        Whether to simulate one collection of each strategy too, and its seed.
    table_options
        Table options of `count_pairs`.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income", "workclass"])
    >>> found = sp.compare_strategies(adult, 2.0)
    >>> found.strategies[1].error < found.strategies[0].error
    True
    """
    allowed = _checks.epsilon(limit, "limit")
    generator = _checks.generator(seed)
    _checks.flag(simulate, "simulate")
    known = as_counted(data, **table_options)
    pairs = as_pairs(known)
    count = len(pairs.domain)
    spl = [equal_split(allowed, count)] * count
    strategies = [split(pairs, "equal split (SPL)", spl, "worst", True)]
    ways: tuple[BudgetChoice, ...] = ("equal", "per-attribute")
    for budgets in ways:
        found = find_budgets(known, allowed, guarantee=guarantee, budgets=budgets, audit=False)
        name, kind = f"calibrated, {budgets.replace('-', ' ')}", found.totals.kind
        rests_on = f"{found.totals.guarantee} ({kind})"
        each = found.epsilons.tolist()
        strategies.append(split(pairs, name, each, rests_on, kind == "certified"))
    strategies += [
        sampled_attribute(pairs, allowed),
        sampling_with_fake_data(pairs, allowed, amplified=False),
        sampling_with_fake_data(pairs, allowed, amplified=True),
    ]
    sources = generator.spawn(len(strategies)) if simulate else []
    simulated = tuple(
        simulated_error(pairs, one, source)
        for one, source in zip(strategies, sources, strict=simulate)
    )
    return StrategyComparison(allowed, pairs.domain.names, tuple(strategies), simulated)


def split(
    pairs: PairCounts, name: str, epsilons: Sequence[float], rests_on: str, certified: bool
) -> Strategy:
    """Return the strategy in which everyone reports every attribute with these budgets."""
    found = [_best(pairs, index, epsilon, pairs.records) for index, epsilon in enumerate(epsilons)]
    return _strategy(name, epsilons, found, rests_on, certified)


def sampled_attribute(pairs: PairCounts, limit: float) -> Strategy:
    """Return SMP: each person reports one attribute, drawn at random, with the whole limit.

    One report with eps = limit says at most eps about any attribute, so every total is within it.
    A share 1/d of the people reports each attribute; the error has a second part, for these people
    are a sample: f (1 - f) (d - 1) / n for each value.
    """
    count = len(pairs.domain)
    reporting = max(1, pairs.records // count)
    found = []
    for index in range(count):
        error, how = _best(pairs, index, limit, reporting)
        shares = pairs.marginals[index] / pairs.records
        sampling = float((shares * (1 - shares)).sum()) * (count - 1) / pairs.records
        found.append((error + sampling, how))
    rests_on = "one report with epsilon = limit"
    return _strategy("one random attribute (SMP)", [limit] * count, found, rests_on, True)


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
    return _strategy(name, [budget] * count, found, rests_on, not amplified)


def _strategy(
    name: str,
    epsilons: Sequence[float],
    found: Sequence[tuple[float, str]],
    rests_on: str,
    certified: bool,
) -> Strategy:
    """Return a strategy from the error and the mechanism found for each attribute."""
    errors, mechanisms = zip(*found, strict=True)
    return Strategy(name, tuple(epsilons), errors, mechanisms, rests_on, certified)


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


def _best(pairs: PairCounts, index: int, epsilon: float, reports: int) -> tuple[float, str]:
    """Return the least expected error of one attribute over all pure mechanisms, and which."""
    if epsilon == 0:
        return math.inf, "none"
    shares = pairs.marginals[index] / pairs.records
    return least_variance(pairs.domain[index].size, epsilon, shares, reports)


def simulated_error(pairs: PairCounts, strategy: Strategy, rng: np.random.Generator) -> float:
    """Return the mean squared error of the frequencies in one simulated collection.

    People are drawn attribute by attribute: what is compared depends on the margins only.
    """
    count, errors = len(pairs.domain), []
    for index, margin in enumerate(pairs.marginals):
        made = mechanism(strategy.mechanisms[index], len(margin), strategy.epsilons[index])
        codes = np.repeat(np.arange(len(margin)), margin)
        if strategy.name.startswith("random sampling"):
            found = _estimate_with_fakes(made, codes, count, rng)
        else:
            if strategy.name.startswith("one random"):
                codes = codes[rng.random(len(codes)) < 1 / count]
            found = made.estimate(made.perturb_batches(codes, rng)).frequencies
        errors.append(float(((found - margin / pairs.records) ** 2).sum()))
    return float(np.mean(errors))


def _estimate_with_fakes(
    made: Any, codes: Integers, count: int, rng: np.random.Generator
) -> Floats:
    """Return the estimate of RS+FD: a share 1/d of the reports is true, the rest are fakes."""
    if made.k == 1:
        return np.ones(1)
    true, other = made.support
    honest = rng.random(len(codes)) < 1 / count
    tally = made.tally(made.perturb(codes[honest], rng))
    fakes = len(codes) - int(honest.sum())
    if made.name == "grr":
        fake = 1 / made.k
        tally = tally + rng.multinomial(fakes, np.full(made.k, fake))
    else:
        fake = other
        tally = tally + rng.binomial(fakes, fake, made.k)
    expected = (other + (count - 1) * fake) / count
    return np.asarray(count * (tally / len(codes) - expected) / (true - other))
