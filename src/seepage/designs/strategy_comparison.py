"""`compare_strategies`: which way to spend a limit gives the best estimates."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from seepage import _checks
from seepage._numerics import Floats
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.paper import equal_split
from seepage.designs.strategies import (
    Strategy,
    sampled_attribute,
    sampling_with_fake_data,
    simulated_error,
    split,
)

__all__ = ["Comparison", "compare_strategies"]


@dataclass(frozen=True)
class Comparison:
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
                "Calibrated budgets rest on an assumption here: calibrate without --compare to "
                "have them audited."
            )
        better = [
            name
            for name, mine, theirs in zip(self.names, best.errors, safe.errors, strict=True)
            if theirs < mine
        ]
        if better and safe is not best:
            lines.append(f"There {safe.name} is better even so for {', '.join(better[:8])}.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        return {
            "limit": self.limit,
            "attributes": list(self.names),
            "strategies": [
                {
                    "name": one.name,
                    "epsilons": list(one.epsilons),
                    "errors": list(one.errors),
                    "mechanisms": list(one.mechanisms),
                    "error": one.error,
                    "simulated": simulated,
                    "certified": one.certified,
                    "rests_on": one.rests_on,
                }
                for one, simulated in self.rows()
            ],
        }


def compare_strategies(
    data: PairCounts | Records,
    limit: Any,
    guarantee: str = "independent",
    *,
    seed: int = 0,
    simulate: bool = False,
) -> Comparison:
    """Compare ways to keep every attribute's total within one limit, by the error of estimates.

    Everyone reports everything with an equal split of the limit (SPL), with calibrated equal
    budgets, or with calibrated budgets for each attribute; or everyone reports one random attribute
    (SMP), also hidden among fakes (RS+FD).  Each takes the mechanism that is best for it.

    Parameters
    ----------
    data
        Pair counts, or records as distinct tuples.
    limit
        The allowed total of every attribute.
    guarantee
        What the calibrated budgets rest on.
    seed, simulate
        Whether to simulate one collection of each strategy too, and its seed.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.designs.calibration import compare_strategies
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income", "workclass"])
    >>> found = compare_strategies(adult, 2.0)
    >>> found.strategies[1].error < found.strategies[0].error
    True
    """
    from seepage.designs.calibration import find_budgets

    allowed = _checks.epsilon(limit, "limit")
    generator = _checks.generator(seed)
    pairs = data if isinstance(data, PairCounts) else data.pairs()
    count = len(pairs.domain)
    equal = find_budgets(data, allowed, guarantee=guarantee, audit=False)
    each = find_budgets(data, allowed, guarantee=guarantee, budgets="per-attribute", audit=False)
    certified = equal.totals.kind == "certified"
    rests = f"{equal.totals.guarantee} ({equal.totals.kind})"
    strategies = (
        split(pairs, "equal split (SPL)", [equal_split(allowed, count)] * count, "worst", True),
        split(pairs, "calibrated, equal", _listed(equal.epsilons), rests, certified),
        split(pairs, "calibrated, per attribute", _listed(each.epsilons), rests, certified),
        sampled_attribute(pairs, allowed),
        sampling_with_fake_data(pairs, allowed, amplified=False),
        sampling_with_fake_data(pairs, allowed, amplified=True),
    )
    simulated: tuple[float, ...] = ()
    if simulate:
        simulated = tuple(
            simulated_error(pairs, one, source)
            for one, source in zip(strategies, generator.spawn(len(strategies)), strict=True)
        )
    return Comparison(allowed, pairs.domain.names, strategies, simulated)


def _listed(epsilons: Floats) -> list[float]:
    return [float(value) for value in epsilons]
