"""A way to spend a limit, and random sampling with fake data (RS+FD) as one.

Compared are expected errors of each attribute's estimated frequencies, the variance summed over its
values, in closed form; `seepage.designs.design_comparison` puts them beside a design.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage.data.pairs import PairCounts
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
