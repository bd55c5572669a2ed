"""Other ways to spend a limit, side by side: the same promise, and the error of each.

Every strategy keeps each attribute's total within the same limit.  Compared is the expected error
of each attribute's estimated frequencies, the variance summed over its values, in closed form.

One simulated collection of a strategy, to check the closed forms of its error.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._numerics import Floats, Integers
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.mechanisms import mechanism, registered

__all__ = [
    "Strategy",
    "fake_data_budget",
    "sampled_attribute",
    "sampling_with_fake_data",
    "simulated_error",
    "split",
]


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


def split(
    pairs: PairCounts, name: str, epsilons: Sequence[float], rests_on: str, certified: bool
) -> Strategy:
    """Return the strategy in which everyone reports every attribute with these budgets."""
    found = [_best(pairs, index, epsilon, pairs.records) for index, epsilon in enumerate(epsilons)]
    return Strategy(
        name,
        tuple(epsilons),
        tuple(error for error, _ in found),
        tuple(how for _, how in found),
        rests_on,
        certified,
    )


def sampled_attribute(pairs: PairCounts, limit: float) -> Strategy:
    """Return SMP: each person reports one attribute, drawn at random, with the whole limit.

    One report with eps = limit says at most eps about any attribute, so every total is within it.
    A share 1/d of the people reports each attribute; the error has a second part, for these people
    are a sample: f (1 - f) (d - 1) / n for each value.
    """
    count = len(pairs.domain)
    reporting = max(1, pairs.records // count)
    errors, mechanisms = [], []
    for index in range(count):
        error, how = _best(pairs, index, limit, reporting)
        shares = pairs.marginals[index] / pairs.records
        sampling = float((shares * (1 - shares)).sum()) * (count - 1) / pairs.records
        errors.append(error + sampling)
        mechanisms.append(how)
    return Strategy(
        "one random attribute (SMP)",
        (limit,) * count,
        tuple(errors),
        tuple(mechanisms),
        "one report with epsilon = limit",
        True,
    )


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
    return Strategy(
        "random sampling with fake data (RS+FD)" + (", amplified" if amplified else ""),
        (budget,) * count,
        tuple(error for error, _ in found),
        tuple(how for _, how in found),
        "assumed: attributes are independent" if amplified else "eps' = limit, not amplified",
        not amplified,
    )


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
    attribute = pairs.domain[index]
    shares: Floats = pairs.marginals[index] / pairs.records
    if epsilon == 0:
        return math.inf, "none"
    made: list[Any] = [
        mechanism(name, attribute.size, epsilon)
        for name, family in registered().items()
        if not family.approximate
    ]
    if not made:
        raise InputError("no pure mechanism is registered")
    errors = [(float(one.variance(reports, shares).sum()), one.name) for one in made]
    return min(errors)


def simulated_error(pairs: PairCounts, strategy: Strategy, rng: np.random.Generator) -> float:
    """Return the mean squared error of the frequencies in one simulated collection.

    People are drawn attribute by attribute: what is compared depends on the margins only.
    """
    count = len(pairs.domain)
    errors = []
    for index in range(count):
        size = pairs.domain[index].size
        codes = np.repeat(np.arange(size), pairs.marginals[index])
        truth = pairs.marginals[index] / pairs.records
        found = _estimate(strategy, index, codes, size, count, rng)
        errors.append(float(((found - truth) ** 2).sum()))
    return float(np.mean(errors))


def _estimate(
    strategy: Strategy,
    index: int,
    codes: Integers,
    size: int,
    count: int,
    rng: np.random.Generator,
) -> Floats:
    if strategy.name.startswith("random sampling"):
        return _simulated_with_fakes(strategy, index, codes, size, count, rng)
    if strategy.name.startswith("one random"):
        codes = codes[rng.random(len(codes)) < 1 / count]
    made = mechanism(strategy.mechanisms[index], size, strategy.epsilons[index])
    return made.estimate(made.perturb_batches(codes, rng)).frequencies


def _simulated_with_fakes(
    strategy: Strategy,
    index: int,
    codes: Integers,
    size: int,
    count: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the estimate of RS+FD: a share 1/d of the reports is true, the rest are fakes."""
    if size == 1:
        return np.ones(1)
    made: Any = mechanism(strategy.mechanisms[index], size, strategy.epsilons[index])
    true, other = made.support
    honest = rng.random(len(codes)) < 1 / count
    tally = made.tally(made.perturb(codes[honest], rng))
    fakes = len(codes) - int(honest.sum())
    if made.name == "grr":
        tally = tally + rng.multinomial(fakes, np.full(size, 1 / size))
        fake = 1 / size
    else:
        tally = tally + rng.binomial(fakes, other, size)
        fake = other
    expected = (other + (count - 1) * fake) / count
    return np.asarray(count * (tally / len(codes) - expected) / (true - other))
