"""What totals bring into a plan: numbers, and the name of what they rest on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from seepage import _checks
from seepage.data.domain import Domain
from seepage.errors import InputError
from seepage.leakage.release import Release, View
from seepage.plan.model import CLAIMS
from seepage.plan.planned_attribute import PlannedAttribute
from seepage.totals.result import GUARANTEES, TotalLeakage, refuse_sample

__all__ = ["Promise"]


@dataclass(frozen=True)
class Promise:
    """The totals of a plan and what they rest on.

    Parameters
    ----------
    totals, deltas
        The total of each attribute in nats, and the delta with which it holds.
    guarantee
        The name of what they rest on.
    view, confidence, notes
        As in `TotalLeakage`.
    releases
        How the attributes were released for the totals; empty for plain numbers.
    """

    totals: list[float]
    deltas: list[float]
    guarantee: str
    view: View = "report"
    confidence: float | None = None
    notes: tuple[str, ...] = ()
    releases: tuple[Release, ...] = ()

    @classmethod
    def of(cls, totals: Any, guarantee: str | None, domain: Domain) -> "Promise":
        """Return the promise of a `TotalLeakage`, or of one number for each attribute."""
        if isinstance(totals, TotalLeakage):
            if guarantee not in (None, totals.guarantee):
                raise InputError(
                    f"guarantee must be that of the totals, {totals.guarantee!r}, got {guarantee!r}"
                )
            if totals.domain != domain:
                where = totals.domain.differences(domain)
                raise InputError(f"the totals must be of the same attributes: {where}")
            refuse_sample(totals.matrix.pairs, totals.guarantee, "the totals of a plan")
            if totals.kind != GUARANTEES[totals.guarantee]:
                raise InputError(
                    f"a plan needs totals that are {GUARANTEES[totals.guarantee]}, and these are "
                    f"{totals.kind}: {totals.notes[0]}"
                )
            return cls(
                totals.values.tolist(),
                totals.deltas.tolist(),
                totals.guarantee,
                totals.view,
                totals.confidence,
                totals.notes,
                totals.matrix.releases,
            )
        numbers = [_total(total) for total in np.atleast_1d(totals)]
        if len(numbers) != len(domain):
            raise InputError(
                f"totals must be one number for each of the {len(domain)} attributes, "
                f"got {len(numbers)}"
            )
        return cls(numbers, [0.0] * len(numbers), _checks.choice(guarantee, "guarantee", CLAIMS))

    @property
    def basis(self) -> Literal["bound", "mechanism"]:
        """Whether the totals hold for any mechanisms with their budgets, or for some only."""
        bounds = (release.mechanism is None for release in self.releases)
        return "bound" if all(bounds) else "mechanism"

    def fields(self) -> dict[str, Any]:
        """Return what a plan says about its totals."""
        return {
            "guarantee": self.guarantee,
            "kind": GUARANTEES[self.guarantee],
            "basis": self.basis,
            "view": self.view,
            "confidence": self.confidence,
        }

    def check_budgets(self, planned: Sequence[PlannedAttribute]) -> None:
        """Refuse attributes that are collected otherwise than the totals assume."""
        for release, attribute in zip(self.releases, planned, strict=False):
            made, assumed = attribute.made, release.mechanism
            if attribute.public or release.public:
                fits = attribute.public and release.public
            elif assumed is not None and made is not None:
                fits = assumed.describe() == made.describe()
            else:
                fits = attribute.epsilon <= release.epsilon and attribute.delta <= release.delta
            if not fits:
                raise InputError(
                    f"the totals were not computed for the mechanism or budget of "
                    f"{attribute.name!r}: {assumed or f'epsilon {release.epsilon}'} against "
                    f"{made or f'epsilon {attribute.epsilon}'}"
                )


def _total(value: Any) -> float:
    number = _checks.real(value, "total")
    if not number >= 0:
        raise InputError(f"a total must be at least 0, got {value!r}")
    return number
