"""Leakages and totals against the distance within which rows are assumed to lie."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.odds import odds_above
from seepage._core.results import Result
from seepage._core.text import delta_text
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.uncertainty import RowsWithin
from seepage.totals.composition import independent_totals

CURVE_DISTANCES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Distances of the curve: halves of one survey are .02 to .05 apart, populations more.
"""


@dataclass(frozen=True, eq=False, repr=False)
class UncertaintyCurve(Result):
    """Leakages and totals for rows within several distances of the table's.

    Parameters
    ----------
    distances
        Total variation distances, ascending.
    largest, mean
        The largest leakage of a pair, and the mean over all ordered pairs.
    totals, deltas
        The largest `independent` total, and its delta.

    Examples
    --------
    >>> import seepage as sp
    >>> analysis = sp.analyse("adult", columns=["sex", "race", "income"])
    >>> curve = analysis.uncertainty_curve([0, 0.05])
    >>> curve
    UncertaintyCurve(rows within 0 to 0.05: largest change of odds 4.02x to 5.26x)
    """

    distances: Floats
    largest: Floats
    mean: Floats
    totals: Floats
    deltas: Floats

    UPPER_NATS = ("largest_leakage", "mean_leakage", "largest_total")

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of an uncertainty curve by distance in long form."""
        return {
            "distance": self.distances.tolist(),
            "largest_leakage": self.largest.tolist(),
            "mean_leakage": self.mean.tolist(),
            "largest_total": self.totals.tolist(),
            "delta": self.deltas.tolist(),
        }

    def _headline(self) -> str:
        """Return an uncertainty curve by distance in one line."""
        ends = f"{self.distances[0]:g} to {self.distances[-1]:g}"
        ends_of_totals = self.totals[[0, -1]].tolist()
        totals = " to ".join(map(odds_above, ends_of_totals))
        delta = delta_text(float(self.deltas.max(initial=0.0)))
        return (
            f"UncertaintyCurve(rows within {ends}: largest change of odds {totals}"
            f"{delta})"
        )

    def chart(self) -> Any:
        """Return the curves over uncertain distances as an Altair chart of three
        lines.
        """
        from seepage.charts.style import curve_panels

        lines = {
            "largest total (independent)": self.totals,
            "largest leakage of a pair": self.largest,
            "mean leakage of a pair": self.mean,
        }
        rows = [
            {
                "panel": "For all rows within a distance of the table's",
                "axis": "nats",
                "series": name,
                "x": distance,
                "y": value,
            }
            for name, values in lines.items()
            for distance, value in zip(
                self.distances.tolist(), values.tolist(), strict=True
            )
        ]
        return curve_panels(rows, x_title="Distance", series=list(lines))


def curve_over_distances(
    matrix: LeakageMatrix, distances: Sequence[float]
) -> UncertaintyCurve:
    """Return the uncertainty curve: leakages and totals at several distances, see
    `Analysis.uncertainty_curve`.
    """
    levels = sorted(
        checks.probability(distance, "each of distances")
        for distance in checks.items(distances, "distances")
    )
    if not levels:
        raise checks.violation("distances", "one number or more", distances)
    count = len(matrix.domain)
    pairs = max(1, count * (count - 1))
    points = []
    for level in levels:
        at_level = matrix
        if level:
            at_level = matrix.within(RowsWithin((level,) * count))
        values, deltas = independent_totals(at_level)
        leakages = at_level.values
        points.append(
            (leakages.max(), leakages.sum() / pairs, values.max(), deltas.max())
        )
    largest, mean, totals, deltas = np.array(points).T
    return UncertaintyCurve(
        distances=np.array(levels),
        largest=largest,
        mean=mean,
        totals=totals,
        deltas=deltas,
    )
