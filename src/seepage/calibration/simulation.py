"""One simulated collection of a strategy, to check the closed forms of its error."""

from typing import Any

import numpy as np

from seepage._numerics import Floats, Integers
from seepage.calibration.strategies import Strategy
from seepage.mechanisms import mechanism
from seepage.pairs import PairCounts

__all__ = ["simulated_error"]


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
        return _with_fakes(strategy, index, codes, size, count, rng)
    if strategy.name.startswith("one random"):
        codes = codes[rng.random(len(codes)) < 1 / count]
    made = mechanism(strategy.mechanisms[index], size, strategy.epsilons[index])
    return made.estimate(made.perturb_batches(codes, rng)).frequencies


def _with_fakes(
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
