"""`TotalLeakage`: the total of every attribute, the name of what it rests on, and its evidence."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, SupportsIndex

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, summed_up
from seepage._results import Result, json_ready
from seepage.data.domain import Counted, Domain, how_many
from seepage.errors import InputError
from seepage.leakage import LeakageMatrix, Release
from seepage.leakage.release import View

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


class GuaranteeError(InputError):
    """A guarantee lacks what it needs: records, memory, a mechanism's name, a structure."""


def check_whole_table(
    counted: Counted,
    guarantee: str,
    what: str,
    scope: str = "table",
    hint: str = "give the table itself, its pair counts, or guarantee 'worst'",
) -> None:
    """Raise a GuaranteeError for a sample where a promise must hold for everybody.

    Only the sum of all budgets, `"worst"`, holds whatever the records; a sample is enough for
    totals with the scope `"population"`.

    Parameters
    ----------
    counted
        The records, or their pair counts.
    guarantee
        What totals rest on.
    what
        What is asked for, in the plural.
    scope
        Whom it must hold for.
    hint
        What to do instead.
    """
    if counted.population is not None and guarantee != "worst" and scope == "table":
        raise GuaranteeError(
            f"{what} need all records, and these are a {how_many(counted)}: people left out may "
            f"have what leaks most; {hint}"
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
    own
        What the target's own report says about it at most; None where nothing was searched.
    """

    target: str
    likelier: str
    other: str
    reports: Mapping[str, tuple[str, ...]]
    value: float
    held_out: float | None = None
    own: float | None = None

    @property
    def counted(self) -> float:
        """The smaller of the values on the table and on people held out of the search."""
        return self.value if self.held_out is None else min(self.value, self.held_out)

    @property
    def confirmed(self) -> bool:
        """Whether people held out of the search confirm that the first value is likelier."""
        return self.held_out is None or self.held_out > 0

    @property
    def beyond_own(self) -> bool:
        """Whether the reports say more than the target's own report alone."""
        return self.own is None or self.counted > self.own

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
        times = f"{math.exp(min(self.value, 700.0)):.3g} times"
        more = "" if self.beyond_own else ": nothing beyond its own report"
        return (
            f"reports that favour {shown} are {'infinitely' if math.isinf(self.value) else times} "
            f"likelier under {self.target} {self.likelier} than under {self.target} {self.other}"
            + (more if self.confirmed else ", not confirmed by people held out of the search")
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as JSON holds it; numbers as in `TotalLeakage.to_dict`."""
        found = {field.name: json_ready(getattr(self, field.name)) for field in fields(self)}
        return found | {"confirmed": self.confirmed, "beyond_own": self.beyond_own}


@dataclass(frozen=True, eq=False, repr=False)
class TotalLeakage(Result):
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
    scope
        Whom they hold for: `"table"`, the people in it, or `"population"`, those whom it was drawn
        from.  The sum of all budgets, `"worst"`, holds for everybody.
    """

    guarantee: str
    kind: Kind
    values: Floats
    deltas: Floats
    matrix: LeakageMatrix
    confidence: float | None = None
    evidence: tuple[JointWitness | None, ...] = ()
    notes: tuple[str, ...] = ()
    scope: str = "table"

    def __post_init__(self) -> None:
        _checks.instance(self.matrix, "matrix", LeakageMatrix, "a LeakageMatrix")
        for name in ("values", "deltas"):
            part = _checks.instance(getattr(self, name), name, np.ndarray, "an array")
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
        bound = LeakageMatrix(
            self.matrix.pairs, budgets, "report", self.matrix.smoothing, self.matrix.radius
        )
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
                "total": json_ready(float(value)),
                "refuted": name in below,
            }
            for name, value in zip(self.domain.names, self.values, strict=True)
        ]

    def chart(self, name: str = "") -> Any:
        """Return the totals as an Altair chart, beside the sum of all budgets.

        The title has the data's name, if given.
        """
        from seepage.charts.results import totals_chart

        rows = self.chart_rows()
        worst = {"guarantee": "worst", "kind": "certified", "total": json_ready(self.worst[0])}
        return totals_chart(
            rows if self.guarantee == "worst" else rows + [row | worst for row in rows],
            _checks.text(name, "name"),
        )

    def __getitem__(self, name: str | SupportsIndex) -> float:
        """Return the total of one attribute."""
        return float(self.values[self.domain.index(name)])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON holds it.

        Infinite numbers are the texts `"inf"` and `"-inf"`; null stands for what is not defined.
        """
        content = {
            "guarantee": self.guarantee,
            "kind": self.kind,
            "view": self.view,
            "confidence": self.confidence,
            "scope": self.scope,
            "attributes": self.domain.names,
            "epsilon": self.epsilons,
            "mechanism": [release.name for release in self.matrix.releases],
            "totals": self.values,
            "deltas": self.deltas,
            "dpl": self.dpl,
            "cpl": self.cpl,
            "tcpl": self.tcpl,
            "normalised_tcpl": self.normalised_tcpl,
            "worst": self.worst,
            "evidence": [found and found.to_dict() for found in self.evidence],
            "notes": self.notes,
        }
        return dict(json_ready(content))

    def of_sample(self, caution: str) -> "TotalLeakage":
        """Return totals of a sample as assumed: valid only if it is like the whole table.

        The sum of all budgets holds whatever the records; the leakages beside it are the sample's.
        """
        if self.guarantee == "worst":
            return replace(self, notes=(f"leakages of pairs: {caution}", *self.notes))
        return replace(self, kind="assumed", notes=(caution, *self.notes))

    def _columns(self) -> dict[str, Sequence[Any]]:
        count = len(self.domain)
        return {
            "attribute": self.domain.names,
            "guarantee": [self.guarantee] * count,
            "kind": [self.kind] * count,
            "epsilon": self.epsilons.tolist(),
            "dpl": self.dpl.tolist(),
            "cpl": self.cpl.sum(axis=1).tolist(),
            "total": self.values.tolist(),
            "delta": self.deltas.tolist(),
            "worst": self.worst.tolist(),
        }

    def _headline(self) -> str:
        top = int(np.argmax(self.values))
        largest = f"largest {self.values[top]:.4g} of {self.domain.names[top]!r}"
        people = f", for the population with confidence {self.confidence}"
        whom = people if self.scope == "population" else ""
        return f"TotalLeakage({self.guarantee!r}, {self.kind}{whom}, {largest})"


@dataclass(frozen=True, eq=False, repr=False)
class TotalsComparison(Result):
    """Totals under several guarantees: certified first, then statistical, assumed, lower bounds.

    Parameters
    ----------
    totals
        The totals, in that order.
    refused
        Guarantees that lack what they need, with the reason and the way out.
    refuted
        For each assumed guarantee the attributes whose total lies below the witness: there the
        assumption is wrong for this table.
    """

    totals: tuple[TotalLeakage, ...]
    refused: dict[str, str]
    refuted: dict[str, tuple[str, ...]]

    def __getitem__(self, guarantee: str) -> TotalLeakage:
        """Return the totals under one guarantee."""
        known = {total.guarantee: total for total in self.totals}
        _checks.choice(guarantee, "guarantee", [*known, *self.refused])
        if guarantee in self.refused:
            raise GuaranteeError(self.refused[guarantee])
        return known[guarantee]

    def chart(self, name: str = "") -> Any:
        """Return all totals in one Altair chart, refuted assumptions marked.

        The title has the data's name, if given.
        """
        from seepage.charts.results import totals_chart

        rows = [r for t in self.totals for r in t.chart_rows(self.refuted.get(t.guarantee, ()))]
        return totals_chart(rows, _checks.text(name, "name"))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON holds it; numbers as in `TotalLeakage.to_dict`."""
        return {
            "totals": {total.guarantee: total.to_dict() for total in self.totals},
            "refused": json_ready(self.refused),
            "refuted": json_ready(self.refuted),
        }

    def _columns(self) -> dict[str, Sequence[Any]]:
        columns: dict[str, list[Any]] = {"attribute": [], "guarantee": []}
        refuted = []
        for total in self.totals:
            for name, values in total._columns().items():
                columns.setdefault(name, []).extend(values)
            below = self.refuted.get(total.guarantee, ())
            refuted += [name in below for name in total.domain.names]
        return {**columns, "refuted": refuted}

    def _headline(self) -> str:
        found = ", ".join(f"{total.guarantee} {total.values.max():.4g}" for total in self.totals)
        refuted = f"; refuted: {', '.join(self.refuted)}" if self.refuted else ""
        return f"TotalsComparison(largest totals: {found or 'none'}{refuted})"
