"""`Analysis`: leakages and totals of a table as one result, to show and to save."""

import base64
import hashlib
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from seepage import __version__
from seepage._core import checks
from seepage._core.files import write_text
from seepage._core.odds import odds_above, odds_below
from seepage._core.results import Result, html_table, json_ready, json_text
from seepage.analysis.uncertainty_curve import (
    CURVE_DISTANCES,
    UncertaintyCurve,
    curve_over_distances,
)
from seepage.analysis.verdict import Verdict, judge
from seepage.channel.pairs import PairCounts
from seepage.leakage.equivalent_attributes import same_attributes
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.pair_leak import Leak
from seepage.leakage.strongest_leaks import find_leaks
from seepage.leakage.uncertainty import RowsWithin
from seepage.totals.experienced_loss import Experience
from seepage.totals.total_result import TotalLeakage, largest_total_odds
from seepage.totals.totals_comparison import TotalsComparison


@dataclass(frozen=True, repr=False, eq=False)
class Analysis(Result):
    """The leakage matrix of a table and its totals, see `analyse`.

    As a table in long form, one row for each ordered pair: `target`, `source`,
    `leakage` in nats with its `delta`, the source's `epsilon` and `mechanism`, `view`;
    with `uncertainty` also the leakage `within` these distances and its `within_delta`.

    Parameters
    ----------
    matrix
        The leakage of every source about every target.
    totals
        The total of every attribute under several guarantees; `totals["worst"]` is one
        of them.
    limits
        Largest allowed total of each attribute in nats, None where it has none.
    distances
        Distance within which the rows about each target are assumed to lie; empty for
        the table's own rows.
    name, command
        Name of the data, and the command line of the analysis: provenance for the
        report.
    experienced
        Realised privacy loss of drawn people; None if none were drawn.
    version
        The version of seepage that computed it.
    notes
        What the check of the columns found: left out, may mean missing; see `check`.
    table
        The words that name the records and the options of reading them.
    design_step
        What designs a collection from the same records within the same limits, as code:
        the next step of the verdict.
    is_saved
        Whether the totals were read from a file, and not computed by this version.
    """

    matrix: LeakageMatrix
    totals: TotalsComparison
    limits: tuple[float | None, ...]
    distances: tuple[float, ...] = ()
    name: str = ""
    command: str = ""
    experienced: Experience | None = None
    version: str = __version__
    notes: tuple[str, ...] = ()
    table: tuple[str, ...] = ()
    design_step: str = "`design`"
    is_saved: bool = False

    @cached_property
    def verdict(self) -> Verdict:
        """The decision of an analysis, its basis, and the state of every limit, see
        `seepage.analysis.verdict`.
        """
        return judge(self.matrix, self.totals, self.limits, self.design_step)

    @cached_property
    def within(self) -> LeakageMatrix | None:
        """The leakages of an analysis over all rows within the stated distances; None
        without any.
        """
        if not self.distances:
            return None
        return self.matrix.within(RowsWithin(self.distances))

    def uncertainty_curve(
        self, distances: Sequence[float] = CURVE_DISTANCES
    ) -> UncertaintyCurve:
        """Return an analysis's leakages and totals for rows within several distances of
        the table's.

        Parameters
        ----------
        distances
            Total variation distances between 0 and 1.
        """
        return curve_over_distances(self.matrix, distances)

    def leaks(self, count: int = 10) -> list[Leak]:
        """Return the leaks of an analysis with the largest lower confidence limits, see
        `find_leaks`.
        """
        return find_leaks(self.matrix, count)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the report of an analysis, one self-contained HTML page, atomically."""
        from seepage.pages.analysis_page import report_page

        write_text(checks.path(path), report_page(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the analysis as JSON, see `to_dict`; `load` and `seepage report` read
        it.

        It has the counts of the table, so a new file is for its owner only (mode 0600).
        """
        write_text(path, json_text(self.to_dict()) + "\n", private=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Analysis":
        """Return a saved analysis.

        Totals and their evidence are as saved, and not computed again.  Leakages are
        computed from the saved pair counts.  An InputError is raised where they are not
        the saved ones, and where the content does not match its checksum, which guards
        against mistakes, not against forgery.
        """
        from seepage.analysis.saved_analysis import read_analysis

        return read_analysis(path)

    def chart(self) -> Any:
        """Return the leakage matrix of an analysis as an Altair chart; `totals` and
        `experienced` have theirs.
        """
        return self.matrix.chart(self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return the analysis as JSON-compatible data; rows of `cpl` are targets,
        columns sources.

        `domain` and `counts` hold the pair counts, so that the report can be written
        from the saved result alone: base64 of zlib-compressed little-endian int64,
        first the marginal counts of every attribute, then `PairCounts.counts`.
        `population` is null if all records were analysed; for a sample, the number of
        records that it was drawn from.  The `checksum` of all other fields guards
        against mistakes, not against forgery, see `sealed`.
        """
        matrix = self.matrix
        content = {
            "format": "seepage analysis",
            "version": 1,
            "seepage": self.version,
            "name": self.name,
            "command": self.command,
            "notes": self.notes,
            "table": self.table,
            "records": matrix.pairs.records,
            "population": matrix.pairs.population,
            "pooled": matrix.pairs.pooled,
            "digest": matrix.pairs.digest,
            "attributes": matrix.domain.names,
            "epsilon": common_or_list(matrix.epsilons.tolist()),
            "delta": common_or_list([release.delta for release in matrix.releases]),
            "mechanism": common_or_list([release.name for release in matrix.releases]),
            "view": matrix.view,
            "direction": "rows targets, columns sources",
            "smoothing": matrix.smoothing,
            "cpl": matrix.values,
            "cpl_deltas": matrix.deltas,
            "distances": self.distances,
            "within": None if self.within is None else self.within.values,
            "interval": matrix.interval().to_dict()
            if not matrix.pairs.pooled
            else None,
            "tcpl": matrix.tcpl,
            "tcpl_delta": matrix.tcpl_delta,
            "verdict": self.verdict.to_dict(),
            "leaks": [leak.to_dict() for leak in self.leaks()],
            "same": same_attributes(matrix.pairs),
            "totals": {
                total.guarantee: _summary(total) for total in self.totals.totals
            },
            "unavailable": self.totals.unavailable,
            "refuted": self.totals.refuted,
            "experienced": self.experienced and self.experienced.to_dict(),
            "unseen": {
                n: u for n in matrix.domain.names if (u := matrix.pairs.unseen(n))
            },
            "constant": [a.name for a in matrix.domain if a.size == 1],
            "limit": common_or_list(list(self.limits)),
            "domain": matrix.domain.to_dicts(),
            "counts": _packed(matrix.pairs),
        }
        return sealed(json_ready(content))

    def _headline(self) -> str:
        """Return an analysis in one line."""
        largest = [
            f"{total.guarantee} {largest_total_odds(total)}"
            for total in self.totals.totals
        ]
        name = f"{self.name!r}, " if self.name else ""
        about = (
            f"{len(self.matrix.domain)} attributes, epsilon "
            f"{self.matrix.epsilons.max():g}"
        )
        return (
            f"Analysis({name}{about}; largest change of odds: "
            f"{', '.join(largest) or 'none'})"
        )

    def _columns(self) -> Mapping[str, Any]:
        """Return the columns of an analysis in long form."""
        columns = dict(self.matrix._columns())
        if self.within is not None:
            others = self.within._columns()
            columns["within"] = others["leakage"]
            columns["within_delta"] = others["delta"]
        return columns

    def _repr_html_(self) -> str:
        """Return an analysis as HTML: the verdict, the strongest leaks and the notes of
        the check.
        """
        leaks = self.leaks()
        verdict = self.verdict
        columns: dict[str, list[Any]] = {
            name: [getattr(leak, name) for leak in leaks]
            for name in ("source", "target")
        }
        columns |= {
            "odds change": [odds_above(leak.leakage) for leak in leaks],
            "at least": [odds_below(leak.lower) for leak in leaks],
            "at most": [odds_above(leak.upper) for leak in leaks],
            "in words": [leak.sentence() for leak in leaks],
        }
        lines = [
            self._headline(),
            verdict.decision,
            verdict.basis,
            verdict.settle,
            *self.notes,
        ]
        text = "".join(f"<p>{escape(line)}</p>" for line in lines if line)
        return text + html_table(columns, "Strongest leaks")


def _summary(total: TotalLeakage) -> dict[str, Any]:
    """Return the JSON of a total in an analysis without the fields that they share."""
    shared = {"attributes", "cpl", "tcpl", "tcpl_delta", "epsilon", "mechanism"}
    shared |= {"view", "guarantee"}
    return {key: value for key, value in total.to_dict().items() if key not in shared}


def _packed(pairs: PairCounts) -> str:
    """Return the pair counts of an analysis as JSON-compatible data."""
    numbers = np.concatenate([*pairs.marginals, pairs.counts]).astype("<i8")
    return base64.b64encode(zlib.compress(numbers.tobytes())).decode("ascii")


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a saved analysis with the checksum (SHA-256) of its other
    fields.
    """
    import msgspec

    stated = {key: value for key, value in content.items() if key != "checksum"}
    encoded = msgspec.json.encode(stated, order="sorted")
    return {**stated, "checksum": hashlib.sha256(encoded).hexdigest()}


def common_or_list(values: list[Any]) -> Any:
    """Return a field of an analysis: the common value if all are equal, else the
    list.
    """
    return values[0] if all(value == values[0] for value in values) else values
