"""`analyse`: the leakage of every pair and the totals of every attribute, as one object."""

import base64
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from seepage import __version__, _checks
from seepage._files import write_text
from seepage._results import Progress, Result, json_ready, json_text
from seepage.data.domain import for_each
from seepage.data.inputs import as_counted, as_pairs
from seepage.data.pairs import PairCounts
from seepage.data.recoding import labelled
from seepage.data.records import Records
from seepage.leakage.leaks import Leak, find_leaks, same_attributes
from seepage.leakage.matrix import LeakageMatrix, leakage_matrix
from seepage.leakage.release import View
from seepage.totals import (
    GUARANTEES,
    TotalLeakage,
    TotalsComparison,
)
from seepage.totals.experienced import Experience, default_people, experience_of
from seepage.totals.total import FROM_PAIRS, TotalSettings, compare_prepared
from seepage.verdict import Verdict, judge

Limit = float | Sequence[float | None] | None


@dataclass(frozen=True, repr=False, eq=False)
class Analysis(Result):
    """The leakage matrix of a table and its totals, see `analyse`.

    As a table in long form, one row for each ordered pair: `target`, `source`, `leakage` in nats,
    the source's `epsilon` and `mechanism`, `view`.

    Parameters
    ----------
    matrix
        The leakage of every source about every target.
    totals
        The total of every attribute under several guarantees; `totals["worst"]` is one of them.
    name, command
        Name of the data, and the command line of the analysis: provenance for the report.
    limit
        Largest allowed total in nats: one number for all attributes, or a tuple of one per
        attribute; None for no limit.
    experienced
        Realised privacy loss of drawn people, see `experienced_loss`; None if none were drawn.
    version
        The version of seepage that computed it.
    """

    matrix: LeakageMatrix
    totals: TotalsComparison
    name: str = ""
    command: str = ""
    limit: Limit = None
    experienced: Experience | None = None
    version: str = __version__

    @property
    def limits(self) -> list[float | None]:
        """The limit of each attribute, None where it has none."""
        if isinstance(self.limit, tuple):
            return list(self.limit)
        return [self.limit] * len(self.matrix.domain)  # type: ignore[list-item]

    @cached_property
    def verdict(self) -> Verdict:
        """The decision, its basis, and the state of every limit, see `seepage.verdict`."""
        return judge(self.matrix, self.totals, self.limits)

    def leaks(self, count: int = 10) -> list[Leak]:
        """Return the leaks with the largest lower confidence limits, see `find_leaks`.

        Empty for a matrix of robust bounds, which have no lower limits.
        """
        return [] if self.matrix.radius else find_leaks(self.matrix, count)

    def report(self, path: str | os.PathLike[str], *, counts: bool = True) -> None:
        """Write the report, one self-contained HTML page, atomically.

        Without `counts` the page has no shares of values in single pairs, which come from counts.
        """
        from seepage.report.page import report_page

        write_text(path, report_page(self, counts=counts))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the analysis as JSON, see `to_dict`; `load` and `seepage report` read it."""
        write_text(path, json_text(self.to_dict()) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Analysis":
        """Return a saved analysis.

        Totals and their evidence are as saved.  Leakages are computed again from the saved pair
        counts; an InputError is raised where they are not the saved ones.
        """
        from seepage.report.saved_result import read_analysis

        return read_analysis(path)

    def chart(self) -> Any:
        """Return the leakage matrix as an Altair chart; `totals` and `experienced` have theirs."""
        return self.matrix.chart(self.name)

    def to_dict(self, strongest: int = 10) -> dict[str, Any]:
        """Return the analysis as JSON-compatible data; rows of `cpl` are targets, columns sources.

        `domain` and `counts` hold the pair counts, so that the report can be written from the saved
        result alone: base64 of zlib-compressed little-endian int64, first the marginal counts of
        every attribute, then `PairCounts.counts`.  `population` is null if all records were
        analysed; for a sample, the number of records that it was drawn from.
        """
        matrix = self.matrix
        content = {
            "seepage": self.version,
            "name": self.name,
            "command": self.command,
            "records": matrix.pairs.records,
            "population": matrix.pairs.population,
            "digest": matrix.pairs.digest,
            "attributes": matrix.domain.names,
            "epsilon": common_or_list(matrix.epsilons.tolist()),
            "delta": common_or_list([release.delta for release in matrix.releases]),
            "mechanism": common_or_list([release.name for release in matrix.releases]),
            "view": matrix.view,
            "direction": "rows targets, columns sources",
            "smoothing": matrix.smoothing,
            "radius": matrix.radius,
            "cpl": matrix.values,
            "interval": None if matrix.radius else matrix.interval().to_dict(),
            "relaxation": matrix.relaxations,
            "tcpl": matrix.tcpl,
            "verdict": self.verdict.to_dict(),
            "leaks": [leak.to_dict() for leak in self.leaks(strongest)],
            "same": same_attributes(matrix),
            "strongest": [self._leak(leak) for leak in matrix.strongest(strongest)],
            "totals": {total.guarantee: _summary(total) for total in self.totals.totals},
            "unavailable": self.totals.unavailable,
            "refuted": self.totals.refuted,
            "experienced": self.experienced and self.experienced.to_dict(),
            "unseen": {n: u for n in matrix.domain.names if (u := matrix.pairs.unseen(n))},
            "constant": [a.name for a in matrix.domain if a.size == 1],
            "limit": self.limit,
            "domain": matrix.domain.to_dicts(),
            "counts": _packed(matrix.pairs),
        }
        ready: dict[str, Any] = json_ready(content)
        return ready

    def _leak(self, leak: Leak) -> dict[str, Any]:
        witness = self.matrix[leak.target, leak.source].witness
        return {
            "source": leak.source,
            "target": leak.target,
            "cpl": leak.leakage,
            "likelier": witness and witness.likelier,
            "other": witness and witness.other,
            "likely": witness and witness.likely,
        }

    def _headline(self) -> str:
        largest = [f"{t.guarantee} {t.values.max():.4g}" for t in self.totals.totals]
        name = f"{self.name!r}, " if self.name else ""
        about = f"{len(self.matrix.domain)} attributes, epsilon {self.matrix.epsilons.max():g}"
        return f"Analysis({name}{about}; largest totals: {', '.join(largest) or 'none'})"

    def _columns(self) -> Mapping[str, Any]:
        return self.matrix._columns()


def analyse(
    data: Any,
    epsilon: Any = 1.0,
    *,
    mechanism: Any = None,
    limit: Any = None,
    view: View = "report",
    guarantee: str | Iterable[str] = ("independent", "worst"),
    delta: Any = 0.0,
    min_count: float = 0.0,
    prior: float = 0.0,
    radius: Any = 0.0,
    target_delta: float = 0.01,
    confidence: float = 0.95,
    reports: int = 20_000,
    sample: int | None = None,
    seed: int | None = 0,
    people: int | None = None,
    labels: Any = None,
    progress: Progress | None = None,
    name: str | None = None,
    command: str = "",
    **table_options: Any,
) -> Analysis:
    """Return the leakage of every source about every target, and the total of every target.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or Spark frame; the path of a table, a folder, a glob or a file
        of pair counts; the name of a dataset; `PairCounts` or `Records`.
    epsilon, delta
        The privacy budget of every attribute, or one for each (a sequence, or a mapping by name).
    mechanism
        A registered name or a mechanism, or one for each attribute; None for the bound over all
        mechanisms with this budget.
    limit
        The largest allowed total in nats, for every attribute or one for each; see
        `Analysis.verdict`.
    view
        `"report"`: the adversary keeps the whole report; `"inferred"`: only the inferred value.
    guarantee
        Guarantee of the totals, or several, see `total_leakage`; `"all"` for all.  Those
        whose requirements are not met are in `totals.unavailable`, with the reason.
    min_count, prior
        Smoothing of the channels, see `PairCounts.channel`; off by default.
    radius
        Above 0 every leakage is a robust bound, for an adversary whose rows are within this total
        variation distance of the table's, see `leakage_matrix`.  Of the totals only `worst` and
        `independent` are then computed, and there is no page.
    target_delta, confidence, reports, seed
        As in `total_leakage`.
    sample
        Number of records to draw without replacement with `seed`; None for all records.
    people
        Number of people to draw for the realised privacy loss, see `experienced_loss`; 0 for none.
        By default 1,000 if a guarantee needs records and all mechanisms are named.
    labels
        Readable names of values: a mapping by attribute and value, or the path of a CSV file with
        the columns attribute, value, label.
    progress
        Called with the number of steps done and their total (None if unknown), while reading and
        for the totals.
    name, command
        Provenance for the report; by default the name of a file or dataset.
    table_options
        Table options of `count_pairs`: `columns`, `drop`, `bins`, `missing`, ...

    Notes
    -----
    From pair counts each leakage costs O(m^2 t log t) for m target and t source values.  Records
    are read only where a guarantee needs them.

    Examples
    --------
    >>> import seepage as sp
    >>> found = sp.analyse("adult", 1.0, mechanism="grr", columns=["sex", "race", "income"])
    >>> found
    Analysis('adult', 3 attributes, epsilon 1; largest totals: worst 3, independent 1.381)
    >>> round(found.matrix["sex", "income"].value, 3)
    0.248
    >>> found.to_arrow().column_names
    ['target', 'source', 'leakage', 'epsilon', 'mechanism', 'view']
    """
    names = _checks.choices(guarantee, "guarantee", GUARANTEES)
    if name is not None:
        _checks.text(name, "name")
    _checks.text(command, "command")
    settings = TotalSettings(target_delta, confidence, reports, seed, progress)
    draws = None if people is None else _checks.integer(people, "people", 0, _checks.MAX_DRAWS)
    needs_records = bool(sample is not None or draws or not set(names) <= set(FROM_PAIRS))
    if sample is not None:
        table_options |= {"sample": sample, "seed": seed}
    if progress is not None and not isinstance(data, (PairCounts, Records)):
        table_options |= {"progress": progress}
    counted = as_counted(data, records=needs_records, **table_options)
    if labels is not None:
        counted = labelled(counted, labels)
    matrix = leakage_matrix(
        as_pairs(counted),
        epsilon,
        mechanism=mechanism,
        view=view,
        delta=delta,
        min_count=min_count,
        prior=prior,
        radius=radius,
    )
    if name is None:
        name = Path(data).name if isinstance(data, (str, os.PathLike)) else ""
    limits = checked_limits(limit, matrix)
    totals = compare_prepared(counted, matrix, names, settings)
    if draws is None:
        draws = default_people(counted, matrix.releases) if needs_records else 0
    experience = None
    if draws:
        options = settings.confidence, settings.seed, settings.progress
        experience = experience_of(counted, matrix.releases, view, draws, *options)
    return Analysis(matrix, totals, name, command, limits, experience)


def checked_limits(limit: Any, matrix: LeakageMatrix) -> Limit:
    """Return the checked limit: one number for all attributes, or a tuple of one per attribute."""
    if limit is None:
        return None
    if isinstance(limit, (Mapping, Sequence, np.ndarray)):
        values = for_each(matrix.domain, limit, "limit")
        return tuple(None if value is None else _checks.epsilon(value, "limit") for value in values)
    return _checks.epsilon(limit, "limit")


def _summary(total: TotalLeakage) -> dict[str, Any]:
    """Return a total's JSON without the fields that it shares with the analysis."""
    shared = {"attributes", "cpl", "tcpl", "epsilon", "mechanism", "view", "guarantee"}
    return {key: value for key, value in total.to_dict().items() if key not in shared}


def _packed(pairs: PairCounts) -> str:
    numbers = np.concatenate([*pairs.marginals, pairs.counts]).astype("<i8")
    return base64.b64encode(zlib.compress(numbers.tobytes())).decode("ascii")


def common_or_list(values: list[Any]) -> Any:
    """Return the common value if all are equal, else the list."""
    return values[0] if all(value == values[0] for value in values) else values
