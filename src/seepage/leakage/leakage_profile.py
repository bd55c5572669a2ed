"""`LeakageProfile`: the delta of a leakage at each level."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seepage._core.arrays import Floats
from seepage._core.results import Result
from seepage._core.text import delta_text

PROFILE_POINTS = 65
"""Points of a profile from 0 to twice the leakage."""


@dataclass(frozen=True, eq=False, repr=False)
class LeakageProfile(Result):
    """Delta as a function of the leakage: the channel to the report is (l,
    delta(l))-LDP.

    Parameters
    ----------
    leakages, deltas
        The leakages l in nats and the delta of each, rounded up.
    point
        The leakage and delta that are shown elsewhere: one point of the curve.
    """

    leakages: Floats
    deltas: Floats
    point: tuple[float, float]

    def _headline(self) -> str:
        """Return a leakage profile, delta by leakage, in one line."""
        value, delta = self.point
        shown = f"{value:.4g}{delta_text(delta) or ', delta 0'}"
        return (
            f"LeakageProfile({len(self.leakages)} points; shown elsewhere: leakage "
            f"{shown})"
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of a leakage profile, delta by leakage, in long form."""
        return {"leakage": self.leakages.tolist(), "delta": self.deltas.tolist()}

    def chart(self) -> Any:
        """Return a leakage's profile of delta as an Altair chart, with the point
        marked.
        """
        from seepage.charts.leakage_curves import profile_chart

        return profile_chart(self.leakages.tolist(), self.deltas.tolist(), self.point)
