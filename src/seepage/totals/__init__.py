"""Totals: the leakage of all reports together about each attribute, by guarantee.

Here are the guarantees in words, and `TotalLeakage`: totals with guarantee and evidence.  They are
computed by `total`, and of these by:

| name | module |
| --- | --- |
| `exact` | `exact_total` |
| `worst`, `sum`, `independent` | here: composition of budgets or of leakages |
| `merged` | `merged` |
| `sampled` | `sampled`, `drawn_reports` |
| `witness` | `witness_search` |

Exact totals for the population that the records were drawn from, also of a form's reports:
`population_totals`.  Realised losses, which are no guarantee: `experienced`.
"""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, SupportsIndex

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, round_up, summed_up
from seepage._results import Progress, Result, delta_text, json_ready
from seepage.data import Counted, Domain, check_domain_stands, how_many
from seepage.errors import GuaranteeError
from seepage.leakage.matrix import RATIO_CELLS, LeakageMatrix
from seepage.leakage.release import Release, View
from seepage.totals.likelihood_columns import JointWitness

Kind = Literal["certified", "statistical", "assumed", "lower bound"]

KINDS: dict[Kind, str] = {
    "certified": "proven",
    "statistical": "valid with a stated confidence, and up to a delta where one is stated",
    "assumed": "valid only under an assumption, which real data often violate",
    "lower bound": "attained by reports that were found; it refutes smaller totals and bounds none",
}
"""Kinds of totals, the strongest first, and what each means."""

NEEDS_RECORDS = "needs records"
"""Words of the reason why pair counts do not suffice for a guarantee; the verdict checks for it."""


@dataclass(frozen=True)
class Guarantee:
    """A guarantee of totals, in words [theory-totals].

    Parameters
    ----------
    name, kind
        Its name, and its kind, one of `KINDS`.
    meaning
        What the total is: a phrase without a full stop.
    promise
        What it promises: a sentence whose subject is "It", the total.
    needs
        What it is computed from: a phrase.
    excludes
        What it does not promise: a sentence.

    Examples
    --------
    >>> GUARANTEES["worst"].kind, GUARANTEES["worst"].meaning
    ('certified', 'the sum of all budgets, whatever the data')
    """

    name: str
    kind: Kind
    meaning: str
    promise: str
    needs: str
    excludes: str


_TEXTS = tomllib.loads(Path(__file__).with_name("guarantees.toml").read_text(encoding="utf-8"))

GUARANTEES = {name: Guarantee(name, **texts) for name, texts in _TEXTS.items()}
"""The guarantees by name, the strongest kind first."""


def begin_stage(progress: Progress | None, name: str) -> None:
    """Pass the name of the next stage to `progress.stage`, if the callable has this method."""
    show = getattr(progress, "stage", None)
    if callable(show):
        show(name)


def check_whole_table(
    counted: Counted,
    guarantee: str,
    what: str,
    scope: str = "table",
    hint: str = "give the table itself, its pair counts, or guarantee 'worst'",
) -> None:
    """Raise a GuaranteeError if a guarantee for all records is computed from a sample of them.

    The sum of all budgets, `"worst"`, holds for any records; totals with the scope `"population"`
    are computed from samples.

    Parameters
    ----------
    counted
        The records, or their pair counts.
    guarantee
        The name of the guarantee.
    what
        The subject of the message, in the plural ("budgets").
    scope
        `"table"` or `"population"`.
    hint
        The end of the message: alternatives.
    """
    if scope == "population" and guarantee != "worst":
        check_domain_stands(counted)
    if counted.population is not None and guarantee != "worst" and scope == "table":
        raise GuaranteeError(
            f"{what} need all records, and these are a {how_many(counted)}: people left out may "
            "have what leaks most; ",
            hint,
        )


def direct_leakage(release: Release, view: View) -> tuple[float, float]:
    """Return the direct privacy leakage (DPL) of an attribute's own report, and its delta.

    With delta 0 it is the maximum log-likelihood ratio in the view: epsilon for the whole report,
    less for `exp`, whose report realises half, and for a value inferred from the report.
    """
    if release.delta > 0:
        return release.epsilon, release.delta
    sets = release.sets(view)
    if sets is not None:
        return sets.contrast, 0.0
    assert release.mechanism is not None
    return release.mechanism.epsilon, release.mechanism.delta


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
        The pairwise leakages at the same budgets, from which DPL, CPL and TCPL are computed.
    confidence
        Simultaneous confidence level of all totals, if they are statistical.
    evidence
        For each attribute the witness that attains its total, or None.
    notes
        Caveats: values too rare to certify, values that never occur.
    scope
        `"table"`: for the table's own joint distribution; `"population"`: for the distribution
        that its records were drawn from.  The sum of all budgets, `"worst"`, holds for any.
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
        """What the adversary keeps: the whole `"report"` or the value `"inferred"` from it."""
        return self.matrix.view

    @property
    def epsilons(self) -> Floats:
        """The budget of each attribute."""
        return self.matrix.epsilons

    @cached_property
    def dpl(self) -> Floats:
        """Direct privacy leakage: that of each attribute's own report about itself, in nats."""
        return np.asarray(_direct_leakages(self.matrix)[0])

    @property
    def cpl(self) -> Floats:
        """Correlation-induced privacy leakage of each source (column) about each target (row)."""
        return self.matrix.values

    @property
    def tcpl(self) -> float:
        """The sum of CPL over all ordered pairs [paper, II-D]."""
        return self.matrix.tcpl

    @cached_property
    def worst(self) -> Floats:
        """The sum of DPL over all attributes: certified for any data, the same for every target."""
        return np.full(len(self.domain), summed_up(self.dpl))

    def chart_rows(self, refuted: Iterable[str] = ()) -> list[dict[str, Any]]:
        """Return the totals as rows for a chart, those of the `refuted` attributes marked."""
        columns, marked = json_ready(self._columns()), set(refuted)
        columns["refuted"] = [name in marked for name in self.domain.names]
        names = ("attribute", "guarantee", "kind", "total", "delta", "refuted")
        rows = zip(*(columns[name] for name in names), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def chart(self, name: str = "") -> Any:
        """Return the totals as an Altair chart, beside the sum of all budgets.

        The title has the data's name, if given.
        """
        from seepage.charts.results import totals_chart

        rows, slack = self.chart_rows(), float(_direct_leakages(self.matrix)[1].sum())
        worst = {"guarantee": "worst", "kind": "certified", "total": json_ready(self.worst[0])}
        if self.guarantee != "worst":
            rows += [row | worst | {"delta": slack} for row in rows]
        return totals_chart(rows, _checks.text(name, "name"))

    @property
    def delta_text(self) -> str:
        """The largest delta of a total in words; "" if no mechanism has one."""
        text = delta_text(float(self.deltas.max(initial=0.0)))
        return text or ", delta 0" * any(release.delta for release in self.matrix.releases)

    def __getitem__(self, name: str | SupportsIndex) -> float:
        """Return the total of one attribute."""
        return float(self.values[self.domain.index(name)])

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a JSON object.

        Infinite numbers are the strings `"inf"` and `"-inf"`; undefined ones are null.
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
            "worst": self.worst,
            "evidence": [witness and witness.to_dict() for witness in self.evidence],
            "notes": self.notes,
        }
        return dict(json_ready(content))

    def of_sample(self, caution: str) -> "TotalLeakage":
        """Return the totals of a sample as assumed: valid only if it represents the whole table.

        The sum of all budgets holds for any records; the pairwise leakages are the sample's.
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
        largest = f"largest {self.values[top]:.4g} of {self.domain.names[top]!r}{self.delta_text}"
        people = f", for the population with confidence {self.confidence}"
        whom = people if self.scope == "population" else ""
        return f"TotalLeakage({self.guarantee!r}, {self.kind}{whom}, {largest})"


# Totals from pair counts --------------------------------------------------------------------------


def worst_totals(matrix: LeakageMatrix) -> tuple[Floats, Floats]:
    """Return the sum of the direct leakages (DPL) of all attributes, the same for every target.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas.  Certified for any joint distribution: all reports together are
        (sum eps, sum delta)-LDP for the whole record, hence for each attribute of it.
    """
    value, delta = (np.full(len(part), summed_up(part)) for part in _direct_leakages(matrix))
    return value, delta


def _direct_leakages(matrix: LeakageMatrix) -> Floats:
    """Return the direct leakages of all attributes, and their deltas, shape (2, n)."""
    return np.array([direct_leakage(release, matrix.view) for release in matrix.releases]).T


def sum_totals(matrix: LeakageMatrix) -> tuple[Floats, Floats]:
    """Return DPL plus the CPL of every source [paper, equation for L-bar].

    Parameters
    ----------
    matrix
        The pairwise leakages.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas, never below `independent_totals` and under the same assumption.
    """
    rows = zip(_direct_leakages(matrix), (matrix.values, matrix.deltas), strict=True)
    values, deltas = (
        np.array([summed_up(row) for row in np.column_stack([own, others])]) for own, others in rows
    )
    return values, deltas


def independent_totals(matrix: LeakageMatrix) -> tuple[Floats, Floats]:
    """Return the largest sum over sources of the log-ratios of one pair of target values.

    max over x, x' of own(x, x') + sum over sources j of l_j(x, x'), where l_j(x, x') is the largest
    log-ratio ln p(y given x) / p(y given x') of a report of j [theory-totals].

    Parameters
    ----------
    matrix
        The pairwise leakages.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas.  An assumption, not a guarantee: valid only if the sources are
        independent given the target; real data often violate it [theory-totals].  A source with
        a delta counts with its leakage l for every pair of values.

    Notes
    -----
    O(m^2 t) for each source with t values and a target with m; O(m^2 t log t) if every likely set
    is possible.  A target with more than `RATIO_CELLS` pairs of values has the sum of maxima.
    """
    values, deltas = sum_totals(matrix)
    sizes, own = matrix.domain.sizes, _direct_leakages(matrix)[0]
    sums = {k: np.zeros((m, m)) for k, m in enumerate(sizes) if m**2 <= RATIO_CELLS}
    rest = matrix.values.copy()
    for targets, sources, ratios in matrix.ratios_by_pair():
        rest[targets, sources] = 0.0
        order = np.argsort(targets, kind="stable")
        names, starts = np.unique(targets[order], return_index=True)
        parts = np.add.reduceat(ratios[order], starts, axis=0)
        for target, part in zip(names.tolist(), parts, strict=True):
            sums[target] += part
    for target, pairs in sums.items():
        pairs += own[target] + rest[target].sum()
        np.fill_diagonal(pairs, 0.0 if len(pairs) > 1 else np.inf)
        values[target] = min(values[target], round_up(float(pairs.max()), 2 * len(sizes)))
    return values, deltas
