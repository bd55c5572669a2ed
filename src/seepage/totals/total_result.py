"""`TotalLeakage`: the leakage of all reports together about each attribute, by one
guarantee, with its evidence.

Totals are computed by `compute_total`, which calls for each guarantee:

| name | module |
| --- | --- |
| `worst`, `sum`, `independent`, `merged` | `composition` |
| `exact` | `exact_total` |
| `sampled` | `sampled_total`, `drawn_reports` |
| `witness` | `witness_search` |

Exact totals for the population that the records were drawn from, also of a form's
reports: `confidence.total_limits`.  Realised losses, which are no guarantee:
`experienced_loss`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, SupportsIndex

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.odds import odds_above, odds_below
from seepage._core.results import Result, json_ready
from seepage._core.rounding import summed_up
from seepage._core.text import delta_text, short_list
from seepage.channel.domain import Domain
from seepage.leakage.matrix import LeakageMatrix
from seepage.mechanisms.release import View
from seepage.totals.guarantees import IS_MATRIX, Kind
from seepage.totals.joint_witness import JointWitness

CONSTRAINTS: dict[str, checks.Check] = {
    "values": checks.read_only,
    "deltas": checks.read_only,
    "matrix": IS_MATRIX,
}
"""What some fields of `TotalLeakage` must be."""


@dataclass(frozen=True, eq=False, repr=False)
class TotalLeakage(Result):
    """The total privacy leakage of every attribute, in the order of the domain.

    Parameters
    ----------
    guarantee
        The name of the guarantee, one of `GUARANTEES`.
    kind
        Whether the totals are certified, statistical, assumed, or lower bounds.
    values, deltas
        The total of each attribute in nats, and the delta with which it holds.
    matrix
        The pairwise leakages at the same budgets, from which DPL, CPL and TCPL are
        computed.
    confidence
        Simultaneous confidence level of all totals, if they are statistical.
    evidence
        For each attribute the witness that attains its total, or None.
    notes
        Caveats: values too rare to certify, values that never occur.
    sources
        The attributes whose reports are seen; None for all.
    own
        Whether the reports include the target's own: the total L(Z -> X_k) of other
        sources Z alone if not.
    scope
        `"table"`: for the table's own joint distribution; `"population"`: for the
        distribution that its records were drawn from.  The sum of all budgets,
        `"worst"`, holds for any.
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
    sources: tuple[str, ...] | None = None
    own: bool = True

    def __post_init__(self) -> None:
        """Check the fields of totals."""
        checks.constrain(self, CONSTRAINTS)

    @property
    def domain(self) -> Domain:
        """The attributes of the totals, in their order."""
        return self.matrix.domain

    @property
    def view(self) -> View:
        """What the adversary of the totals keeps: the whole `"report"` or the value
        `"inferred"` from it.
        """
        return self.matrix.view

    @property
    def epsilons(self) -> Floats:
        """The budget of each attribute, at which the totals are computed."""
        return self.matrix.epsilons

    @cached_property
    def dpl(self) -> Floats:
        """Direct privacy leakage beside the totals: that of each attribute's own report
        about itself, in nats.
        """
        return np.asarray(self.matrix.direct[0])

    @property
    def cpl(self) -> Floats:
        """Correlation-induced privacy leakage beside the totals, of each source
        (column) about each target (row).
        """
        return self.matrix.values

    @property
    def tcpl(self) -> float:
        """The sum of the CPL beside the totals over all ordered pairs [paper, II-D]; it
        holds with `tcpl_delta`.
        """
        return self.matrix.tcpl

    @property
    def tcpl_delta(self) -> float:
        """The sum of the deltas of all CPL beside the totals."""
        return self.matrix.tcpl_delta

    @cached_property
    def worst(self) -> Floats:
        """The worst total, the sum of DPL over all attributes: certified for any data,
        the same for every target.
        """
        return np.full(len(self.domain), summed_up(self.dpl))

    def chart_rows(self, refuted: Iterable[str] = ()) -> list[dict[str, Any]]:
        """Return the totals as rows for a chart, those of the `refuted` attributes
        marked.
        """
        marked = set(refuted)
        columns = json_ready(self._columns())
        columns["refuted"] = [name in marked for name in self.domain.names]
        names = ("attribute", "guarantee", "kind", "total", "delta", "refuted")
        rows = zip(*(columns[name] for name in names), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def chart(self, name: str = "") -> Any:
        """Return the totals of attributes as an Altair chart, beside the sum of all
        budgets.

        The title has the data's name, if given.
        """
        from seepage.charts.result_charts import totals_chart

        rows = self.chart_rows()
        slack = float(self.matrix.direct[1].sum())
        worst = {
            "guarantee": "worst",
            "kind": "certified",
            "total": json_ready(self.worst[0]),
        }
        if self.guarantee != "worst":
            rows += [row | worst | {"delta": slack} for row in rows]
        return totals_chart(rows, checks.text(name, "name"))

    @property
    def delta_text(self) -> str:
        """The largest delta of a total in words; "" if no mechanism has one."""
        text = delta_text(float(self.deltas.max(initial=0.0)))
        mechanisms_have_delta = any(release.delta for release in self.matrix.releases)
        if not text and mechanisms_have_delta:
            return ", delta 0"
        return text

    def __getitem__(self, name: str | SupportsIndex) -> float:
        """Return the total of one attribute."""
        return float(self.values[self.domain.index(name)])

    def to_dict(self) -> dict[str, Any]:
        """Return the totals of attributes as a JSON object.

        Infinite numbers are the strings `"inf"` and `"-inf"`; undefined ones are null.
        """
        names = ("guarantee", "kind", "view", "confidence", "scope", "sources", "own")
        numbers = ("deltas", "dpl", "cpl", "tcpl", "tcpl_delta", "worst")
        content = {
            **{name: getattr(self, name) for name in names},
            "attributes": self.domain.names,
            "epsilon": self.epsilons,
            "mechanism": [release.name for release in self.matrix.releases],
            "totals": self.values,
            **{name: getattr(self, name) for name in numbers},
            "evidence": [witness and witness.to_dict() for witness in self.evidence],
            "notes": self.notes,
        }
        return dict(json_ready(content))

    def of_sample(self, caution: str) -> "TotalLeakage":
        """Return the totals of a sample as assumed: valid only if it represents the
        whole table.

        The sum of all budgets holds for any records; the pairwise leakages are the
        sample's.
        """
        if self.guarantee == "worst":
            return replace(self, notes=(f"leakages of pairs: {caution}", *self.notes))
        return replace(self, kind="assumed", notes=(caution, *self.notes))

    def _columns(self) -> dict[str, Sequence[Any]]:
        """Return the columns of the totals of attributes in long form."""
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

    def _shown_columns(self) -> dict[str, Sequence[Any]]:
        """Return the totals as notebooks show them, as odds."""
        return _totals_as_odds(self._columns())

    def _headline(self) -> str:
        """Return the totals of attributes in one line."""
        name = self.domain.names[int(np.argmax(self.values))]
        largest = f"largest change of odds {largest_total_odds(self)}, about {name!r}"
        people = ""
        if self.sources is not None:
            people = f", from {short_list(self.sources, 3)}"
        if not self.own:
            people += ", without the own report"
        if self.scope == "population":
            people += f", for the population with confidence {self.confidence}"
        return f"TotalLeakage({self.guarantee!r}, {self.kind}{people}, {largest})"


def odds_of_total(total: TotalLeakage, attribute: int) -> str:
    """Return how many times the odds about an attribute change, rounded to the safe
    side: a lower bound down, others up.
    """
    value = float(total.values[attribute])
    if total.kind == "lower bound":
        return odds_below(value)
    return odds_above(value)


def _totals_as_odds(columns: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Return columns of totals with odds in place of nats, lower bounds rounded
    down.
    """
    shown = dict(columns)
    for name in ("dpl", "cpl", "worst"):
        shown[name] = [odds_above(value) for value in columns[name]]
    shown["total"] = [
        odds_below(value) if kind == "lower bound" else odds_above(value)
        for kind, value in zip(columns["kind"], columns["total"], strict=True)
    ]
    return shown


def largest_total_odds(total: TotalLeakage) -> str:
    """Return the largest total as odds, with the largest delta."""
    return f"{odds_of_total(total, int(np.argmax(total.values)))}{total.delta_text}"
