"""`TotalLeakage`: the total of every attribute, the name of what it rests on, and its evidence."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, SupportsIndex

import numpy as np

from seepage._numerics import UNIT, Floats, round_up
from seepage.data.domain import Counted, Domain, how_many
from seepage.errors import InputError
from seepage.leakage import LeakageMatrix, Release
from seepage.leakage.release import View

__all__ = [
    "GUARANTEES",
    "KINDS",
    "GuaranteeError",
    "JointWitness",
    "Kind",
    "Progress",
    "TotalLeakage",
    "direct",
    "refuse_sample",
]

Kind = Literal["certified", "statistical", "assumed", "lower bound"]

KINDS: tuple[Kind, ...] = ("certified", "statistical", "assumed", "lower bound")
"""What a total is, from the strongest promise to what only refutes."""

GUARANTEES: dict[str, Kind] = {
    "exact": "certified",
    "merged": "certified",
    "worst": "certified",
    "sampled": "statistical",
    "tree": "assumed",
    "independent": "assumed",
    "witness": "lower bound",
}
"""The names of totals [theory-totals] and what each is."""

Progress = Callable[[int, int], object]
"""Called with the work done and the work in all."""


class GuaranteeError(InputError):
    """A guarantee lacks what it needs: records, memory, a mechanism's name, a structure."""


def refuse_sample(counted: Counted, guarantee: str, what: str) -> None:
    """Refuse a sample for what must hold for everybody.

    Only the sum of all budgets, `"worst"`, does so whatever the records.

    Parameters
    ----------
    counted
        The records, or their pair counts.
    guarantee
        What totals rest on.
    what
        What is asked for, in the plural.
    """
    if counted.population is not None and guarantee != "worst":
        raise GuaranteeError(
            f"{what} need all records, and these are a {how_many(counted)}: people left out may "
            "have what leaks most; give the table itself, its pair counts, or guarantee 'worst'"
        )


def direct(release: Release, view: View) -> tuple[float, float]:
    """Return what an attribute's own report says about it: (DPL, its delta).

    With delta 0 it is the largest log-ratio of what the adversary keeps: epsilon for the whole
    report, less for `exp`, which spends half, and for a value inferred from the report.
    """
    if release.delta > 0:
        return release.epsilon, release.delta
    sets = release.sets(view)
    if sets is not None:
        return sets.contrast, 0.0
    assert release.mechanism is not None
    return release.mechanism.epsilon, release.mechanism.delta


@dataclass(frozen=True)
class JointWitness:
    """One report of every attribute together, and two target values that it tells apart.

    Parameters
    ----------
    target
        The attribute.
    likelier, other
        The values x and x': the reports are exp(value) times likelier under the first.
    reports
        For each attribute, the values that its report favours.
    value
        ln p(y given x) / p(y given x') in the table.
    held_out
        The same on people who took no part in the search; None where nothing was searched.
    """

    target: str
    likelier: str
    other: str
    reports: Mapping[str, tuple[str, ...]]
    value: float
    held_out: float | None = None

    def sentence(self) -> str:
        """Return the evidence in words.

        Examples
        --------
        >>> found = JointWitness("Sex", "F", "M", {"Sex": ("F",), "Beard": ("no",)}, 1.25)
        >>> found.sentence()
        'reports that favour Sex F, Beard no are 3.49 times likelier under Sex F than under Sex M'
        """
        named = [f"{name} {' or '.join(likely)}" for name, likely in self.reports.items() if likely]
        shown = ", ".join(named[:5]) + (f" and {len(named) - 5} more" if len(named) > 5 else "")
        times = "infinitely" if math.isinf(self.value) else f"{_times(self.value)} times"
        return (
            f"reports that favour {shown} are {times} likelier under {self.target} "
            f"{self.likelier} than under {self.target} {self.other}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as plain JSON; numbers as in `TotalLeakage.to_dict`."""
        return {
            "target": self.target,
            "likelier": self.likelier,
            "other": self.other,
            "reports": {name: list(likely) for name, likely in self.reports.items()},
            "value": plain(self.value),
            "held_out": None if self.held_out is None else plain(self.held_out),
        }


def _times(value: float) -> str:
    return f"{math.exp(min(value, 700.0)):.3g}"


@dataclass(frozen=True, eq=False)
class TotalLeakage:
    """The total privacy leakage of every attribute, in the order of the domain.

    Parameters
    ----------
    guarantee
        The name of what the totals rest on.
    kind
        Whether they are certified, statistical, assumed, or lower bounds.
    values, deltas
        The total of each attribute in nats, and the delta with which it holds.
    matrix
        The pairwise leakages beside them: DPL, CPL and TCPL come from it.
    confidence
        Of all totals together, where they are statistical.
    evidence
        For each attribute the reports that attain its total, where known.
    notes
        What a reader must know besides: values too rare to certify, values never seen.
    """

    guarantee: str
    kind: Kind
    values: Floats
    deltas: Floats
    matrix: LeakageMatrix
    confidence: float | None = None
    evidence: tuple[JointWitness | None, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for part in (self.values, self.deltas):
            part.flags.writeable = False

    @property
    def domain(self) -> Domain:
        """The attributes, in the order of the totals."""
        return self.matrix.domain

    @property
    def view(self) -> View:
        """What the adversary keeps: the whole `"report"` or a value `"inferred"` from it."""
        return self.matrix.view

    @property
    def epsilons(self) -> Floats:
        """The budget of each attribute."""
        return self.matrix.epsilons

    @cached_property
    def dpl(self) -> Floats:
        """What each attribute's own report says about it."""
        return np.array([direct(release, self.view)[0] for release in self.matrix.releases])

    @property
    def cpl(self) -> Floats:
        """What each source alone says about each target: rows targets, columns sources."""
        return self.matrix.values

    @property
    def tcpl(self) -> float:
        """The sum of CPL over all ordered pairs [paper, II-D]."""
        return self.matrix.tcpl

    @cached_property
    def normalised_tcpl(self) -> float | None:
        """TCPL over that of the bound at the same budgets [paper, V-B]; None where that is 0."""
        budgets = [Release(release.epsilon, release.delta) for release in self.matrix.releases]
        bound = LeakageMatrix(self.matrix.pairs, budgets, "report", self.matrix.smoothing)
        return self.tcpl / bound.tcpl if bound.tcpl > 0 else None

    @cached_property
    def worst(self) -> Floats:
        """The certified total without any look at the data, the same for every attribute."""
        return np.full(len(self.domain), summed_up(self.dpl))

    def chart_rows(self, refuted: Iterable[str] = ()) -> list[dict[str, Any]]:
        """Return the totals as the rows of a chart."""
        below = set(refuted)
        return [
            {
                "attribute": name,
                "guarantee": self.guarantee,
                "kind": self.kind,
                "total": plain(float(value)),
                "refuted": name in below,
            }
            for name, value in zip(self.domain.names, self.values, strict=True)
        ]

    def chart(self) -> Any:
        """Return the totals as an Altair chart, beside the sum of all budgets."""
        from seepage.charts.results import totals_chart

        rows = self.chart_rows()
        if self.guarantee != "worst":
            worst = zip(rows, self.worst, strict=True)
            rows += [
                {**row, "guarantee": "worst", "kind": "certified", "total": plain(float(total))}
                for row, total in worst
            ]
        return totals_chart(rows)

    def __getitem__(self, name: str | SupportsIndex) -> float:
        """Return the total of one attribute."""
        return float(self.values[self.domain.index(name)])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON.

        An infinite number is the text `"inf"`; null stands for what is not defined.
        """
        return {
            "guarantee": self.guarantee,
            "kind": self.kind,
            "view": self.view,
            "confidence": self.confidence,
            "attributes": list(self.domain.names),
            "epsilon": plain(self.epsilons),
            "mechanism": [release.name for release in self.matrix.releases],
            "totals": plain(self.values),
            "deltas": plain(self.deltas),
            "dpl": plain(self.dpl),
            "cpl": plain(self.cpl),
            "tcpl": plain(self.tcpl),
            "normalised_tcpl": plain(self.normalised_tcpl),
            "worst": plain(self.worst),
            "evidence": [found and found.to_dict() for found in self.evidence],
            "notes": list(self.notes),
        }

    def to_frame(self, frame: Callable[[dict[str, Any]], Any] | None = None) -> Any:
        """Return one row an attribute as a PyArrow table, or as `frame` makes of it.

        `to_frame(pandas.DataFrame)` and `to_frame(polars.DataFrame)` give those.
        """
        columns = {
            "attribute": list(self.domain.names),
            "epsilon": self.epsilons,
            "dpl": self.dpl,
            "cpl": self.cpl.sum(axis=1),
            "total": self.values,
            "delta": self.deltas,
            "worst": self.worst,
        }
        if frame is not None:
            return frame(columns)
        import pyarrow as pa

        return pa.table(columns)

    def __repr__(self) -> str:
        top = int(np.argmax(self.values))
        largest = f"largest {self.values[top]:.4g} of {self.domain.names[top]!r}"
        return f"TotalLeakage({self.guarantee!r}, {self.kind}, {largest})"


def plain(value: Any) -> Any:
    """Return numbers and arrays for JSON: infinity as the text "inf"."""
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value]
    if value is None:
        return None
    return "inf" if math.isinf(value) else float(value)


def summed_up(parts: Iterable[float]) -> float:
    """Return a sum rounded up."""
    numbers = [float(part) for part in parts]
    return round_up(math.fsum(numbers), 1) if len(numbers) > 1 else math.fsum(numbers)


def rounding(sizes: Iterable[int]) -> float:
    """Return more than the rounding error of a log-ratio of likelihoods.

    A likelihood p(y given x) is a sum of products over the values of each attribute, all terms
    at least 0: one product with a column of k entries adds at most k + 3 relative roundings.  A
    ratio has two likelihoods.
    """
    return 4 * UNIT * sum(size + 8 for size in sizes)
