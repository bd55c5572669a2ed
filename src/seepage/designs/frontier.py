"""`frontier`: the error of designs against what a form may tell about the whole record."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._results import Result
from seepage.data.inputs import as_records
from seepage.designs.design import Design
from seepage.designs.find_design import find_design
from seepage.designs.strategies import DESIGN, OPTIMAL_SMP
from seepage.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(Result):
    """The least errors found for some limits on the epsilon of the whole record.

    Parameters
    ----------
    designs
        One for each limit, ascending; the last has no limit but those of its attributes.
    record_limits
        The most that a form of each may tell about the whole record.
    """

    designs: tuple[Design, ...]
    record_limits: Floats

    @property
    def errors(self) -> Floats:
        """The error of each design."""
        return np.array([design.error for design in self.designs])

    @property
    def product_errors(self) -> Floats:
        """The error of each design without shaped reports."""
        return np.array([_product_error(design) for design in self.designs])

    @property
    def shares(self) -> Floats:
        """The errors as shares of that of one question each (SMP) with the best shares."""
        return self.errors / self._one_question

    @property
    def _one_question(self) -> float:
        found = [one.error for one in self.designs[-1].comparison if one.name == OPTIMAL_SMP]
        return found[0] if found else float(self.errors[0])

    @property
    def half_nat(self) -> float:
        """By which factor the error grows where a form may tell half a nat less, from the last."""
        most = float(self.record_limits[-1])
        before = np.interp(most - 0.5, self.record_limits, self.errors)
        return float(before / self.errors[-1])

    def chart(self) -> Any:
        """Return the errors with and without shaped reports against the record's epsilon."""
        from seepage.charts.results import frontier_chart

        whole = self._one_question
        rows = [
            {"record": float(limit), "share": float(error / whole), "reports": reports}
            for reports, errors in (
                ("one for each answer", self.product_errors),
                ("shaped where that gains", self.errors),
            )
            for limit, error in zip(self.record_limits, errors, strict=True)
        ]
        return frontier_chart(rows)

    def _columns(self) -> dict[str, Sequence[Any]]:
        return {
            "record_limit": self.record_limits.tolist(),
            "record": [design.record for design in self.designs],
            "error": self.errors.tolist(),
            "product_error": self.product_errors.tolist(),
            "of_smp": self.shares.tolist(),
        }

    def _headline(self) -> str:
        return (
            f"Frontier({len(self.designs)} designs, whole record {self.record_limits[0]:.3g} to "
            f"{self.record_limits[-1]:.3g}, error {self.shares[0]:.3g} to {self.shares[-1]:.3g} "
            f"of the best SMP, half a nat less costs a factor of {self.half_nat:.3g})"
        )


def frontier(
    data: Any, limit: Any, *, points: int = 4, seconds: float = 60.0, **options: Any
) -> Frontier:
    """Return the least errors for limits on what a form tells about the whole record.

    Forms, reports and shares are designed anew for each limit on the epsilon of the whole record,
    from the smallest limit of an attribute, which leaves one question each (SMP), to what the
    design without such a limit tells.

    Parameters
    ----------
    data, limit
        As in `find_design`.
    points
        The number of designs, at least two.
    seconds
        Of all searches together.
    options
        Other keywords of `find_design`, but for `record_limit`, and table options.

    Notes
    -----
    A design within one limit keeps all larger ones, so errors never grow along the frontier: where
    a later search ends with a larger error, the design before it is taken.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> found = sp.frontier(coins, 1.0, points=2, scope="table", shape="never")
    >>> found.record_limits.round(3).tolist(), found.shares.round(3).tolist()
    ([1.0, 2.0], [1.0, 0.5])
    """
    number = _checks.integer(points, "points", 2, 50)
    time = _checks.real(seconds, "seconds") / number
    own = {name for name in options if name in inspect.signature(find_design).parameters}
    if "record_limit" in own:
        raise InputError("record_limit must be left out: a frontier has one for each design")
    table = {name: value for name, value in options.items() if name not in own}
    kept = {name: value for name, value in options.items() if name in own}
    records = as_records(data, **table)
    last = find_design(records, limit, seconds=time, **kept)
    least = float(last.limits.min())
    grid = np.linspace(least, max(last.record, least), number)
    found = list[Design]()
    for most in grid[:-1].tolist():
        found.append(find_design(records, limit, record_limit=most, seconds=time, **kept))
    found.append(last)
    for place in range(1, number):
        if found[place].error > found[place - 1].error:
            found[place] = found[place - 1]
    return Frontier(tuple(found), grid)


def _product_error(design: Design) -> float:
    """Return the error of the design without shaped reports."""
    return next((one.error for one in design.comparison if one.name == DESIGN), design.error)
