"""`Experience`: what drawn people's reports tell about them, beside what was promised."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage._results import Result, from_json_number, json_ready
from seepage.leakage.release import View

LEVELS = (0.05, 0.5, 0.95)
"""The quantiles of the loss over people: two ends between which nine in ten lie, the median."""

ESTIMATE, LOW, HIGH = range(3)
"""The last axis of every estimate: itself, its lower and its upper limit."""


@dataclass(frozen=True, eq=False, repr=False)
class Experience(Result):
    """What the reports of people drawn from a table tell about them, see `experienced_loss`.

    No guarantee: a description of drawn people, against everybody else in the table.

    Parameters
    ----------
    attributes, epsilons, mechanisms, view
        What is released, with which promised epsilon, by what; what the adversary keeps.
    people, confidence, rare
        How many people were drawn; the confidence of each kind of limits, for all attributes at
        once; the fewest other records of a value that is compared.
    compared, left_out
        How many values of each attribute are compared, and how many were too rare.
    shares, permuted_shares
        The share of people whose reports tell more than 1.1 times the promised epsilon (estimate,
        lower and upper limit), and the same on independently permuted columns.
    quantiles, permuted_quantiles
        Of the loss over people: attributes by `LEVELS` by (estimate, lower and upper limit), and
        attributes by levels on permuted columns.
    before, own, together
        How often the best guess is right: before any report (the most frequent value), with the
        attribute's own report alone, with all reports.
    notes
        What a reader must know besides.
    """

    attributes: Sequence[str]
    epsilons: Floats
    mechanisms: Sequence[str | None]
    view: View
    people: int
    confidence: float
    rare: int
    compared: Sequence[int]
    left_out: Sequence[int]
    shares: Floats
    permuted_shares: Floats
    quantiles: Floats
    permuted_quantiles: Floats
    before: Floats
    own: Floats
    together: Floats
    notes: tuple[str, ...] = ()

    @property
    def measured(self) -> list[int]:
        """The attributes with at least two values to compare."""
        return [k for k, count in enumerate(self.compared) if count > 1]

    def most_affected(self) -> int | None:
        """Return the attribute with the largest share above that on permuted columns, if any."""
        excess = self.shares[:, ESTIMATE] - self.permuted_shares
        known = [k for k in self.measured if np.isfinite(self.epsilons[k])]
        return max(known, key=lambda k: float(excess[k]), default=None)

    def chart(self, name: str = "") -> Any:
        """Return promised against experienced as an Altair chart, one row per attribute.

        The title has the data's name, if given.
        """
        from seepage.charts.results import experience_chart

        return experience_chart(self.chart_rows(), self.people, _checks.text(name, "name"))

    def chart_rows(self) -> list[dict[str, Any]]:
        """Return one row per attribute that could be measured, those most affected first."""
        rows = []
        excess = self.shares[:, ESTIMATE] - self.permuted_shares
        for k in sorted(self.measured, key=lambda k: -float(excess[k])):
            low, middle, high = self.quantiles[k, :, ESTIMATE]
            rows.append(
                {
                    "attribute": self.attributes[k],
                    "promised": self.epsilons[k],
                    "low": low,
                    "median": middle,
                    "high": high,
                    "share": self.shares[k, ESTIMATE],
                    "permuted_share": self.permuted_shares[k],
                }
            )
        return [{key: json_ready(value) for key, value in row.items()} for row in rows]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON holds it; numbers as in `TotalLeakage.to_dict`."""
        return {field.name: json_ready(getattr(self, field.name)) for field in fields(self)}

    def _headline(self) -> str:
        top = self.most_affected()
        if top is None:
            return f"Experience({self.people:,} people; no attribute has two values to compare)"
        return (
            f"Experience({self.people:,} people; above 1.1 epsilon most often: "
            f"{self.attributes[top]!r}, {self.shares[top, ESTIMATE]:.0%} of people, "
            f"permuted {self.permuted_shares[top]:.0%})"
        )

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {
            "attribute": list(self.attributes),
            "epsilon": self.epsilons,
            "mechanism": list(self.mechanisms),
            "compared": list(self.compared),
            "left_out": list(self.left_out),
            **_limited("share_above", self.shares),
            "permuted_share": self.permuted_shares,
        }
        for place, level in enumerate(LEVELS):
            columns |= _limited(f"loss_{level:g}", self.quantiles[:, place])
            columns[f"permuted_loss_{level:g}"] = self.permuted_quantiles[:, place]
        return columns | {
            "guess_before": self.before,
            **_limited("guess_own", self.own),
            **_limited("guess_all", self.together),
        }


ARRAYS = (
    *("epsilons", "shares", "permuted_shares", "quantiles", "permuted_quantiles"),
    *("before", "own", "together"),
)
"""The fields of an `Experience` that hold numbers of attributes."""


def read_experience(saved: Mapping[str, Any]) -> Experience:
    """Return what `Experience.to_dict` gave."""
    known = [field.name for field in fields(Experience)]
    kept = {name: saved[name] for name in known if name in saved}
    for name in ARRAYS:
        kept[name] = _array(kept[name])
    for name in ("attributes", "mechanisms", "compared", "left_out", "notes"):
        kept[name] = tuple(kept.get(name) or ())
    return Experience(**kept)


def _array(value: Any) -> Floats:
    if isinstance(value, list):
        return np.array([_array(one) for one in value])
    return np.asarray(from_json_number(value))


def _limited(name: str, estimates: Floats) -> dict[str, Floats]:
    return {
        name: estimates[:, ESTIMATE],
        f"{name}_low": estimates[:, LOW],
        f"{name}_high": estimates[:, HIGH],
    }


def share_limits(hits: Integers, count: int, beta: float) -> Floats:
    """Return shares with their limits [Clopper and Pearson 1934]: rows (share, low, high).

    Examples
    --------
    >>> share_limits(np.array([0, 5]), 10, 0.05).round(3).tolist()
    [[0.0, 0.0, 0.308], [0.5, 0.187, 0.813]]
    """
    from scipy.special import betaincinv

    misses = count - hits
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), misses + 1.0, beta / 2), 0.0)
    tail = np.where(misses > 0, betaincinv(np.maximum(misses, 1), hits + 1.0, beta / 2), 0.0)
    return np.stack([hits / count, low, 1 - tail], axis=-1)


def quantile_limits(samples: Floats, levels: Iterable[float], beta: float) -> Floats:
    """Return quantiles of each row with limits from binomial order statistics.

    The l-th smallest of n draws exceeds the q quantile with probability at most
    P(Bin(n, q) < l), and the u-th is below it with probability at most P(Bin(n, q) >= u): l is
    the largest and u the smallest number for which these are at most beta / 2; where there is no
    such draw, the limit is 0 or infinity.

    Parameters
    ----------
    samples
        Independent draws of numbers of at least 0, one row per attribute.
    levels
        The quantiles q.
    beta
        The chance that the limits of one quantile fail.

    Returns
    -------
    Floats
        Rows by levels by (quantile, lower limit, upper limit).

    Examples
    --------
    >>> quantile_limits(np.arange(100.0)[None], [0.5], 0.05).tolist()
    [[[49.0, 39.0, 60.0]]]
    """
    from scipy.special import bdtr, bdtrc

    count = samples.shape[1]
    padded = np.concatenate(
        [np.zeros((len(samples), 1)), np.sort(samples, axis=1), np.full((len(samples), 1), np.inf)],
        axis=1,
    )
    places = np.arange(count)
    found = []
    for level in levels:
        low = int(np.count_nonzero(bdtr(places, count, level) <= beta / 2))
        high = 1 + int(np.count_nonzero(bdtrc(places, count, level) > beta / 2))
        middle = max(1, int(np.ceil(level * count - 1e-9)))
        found.append(padded[:, [middle, low, min(high, count + 1)]])
    return np.stack(found, axis=1)
