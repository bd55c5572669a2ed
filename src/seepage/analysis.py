"""`Analysis`: what `seepage analyse` found, ready to be printed, saved or drawn."""

import base64
import csv
import io
import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._version import __version__
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.leakage.matrix import LeakageMatrix
from seepage.totals import TotalLeakage, TotalsComparison
from seepage.totals.compare import compare_prepared
from seepage.totals.compute import Settings

__all__ = ["Analysis", "compared_totals", "plain"]


@dataclass(frozen=True)
class Analysis:
    """A leakage matrix and the totals that rest on it.

    Parameters
    ----------
    matrix
        The leakage of every source about every target.
    totals
        Each attribute's total under several guarantees, by the name of what it rests on.
    name, command
        What was analysed, and by which command, for the report.
    limit
        The allowed total of every attribute, or one for each; None where none was given.
    """

    matrix: LeakageMatrix
    totals: TotalsComparison
    name: str = ""
    command: str = ""
    limit: float | Sequence[float | None] | None = None

    def to_dict(self, strongest: int = 10) -> dict[str, Any]:
        """Return everything as plain JSON; rows of `cpl` are targets, columns sources.

        `domain` and `counts` hold the pair counts themselves, so that the report can be made from
        the saved result alone: base64 of zlib of 64-bit numbers, first the counts of every
        attribute's values, then `PairCounts.counts`.  `population` is null where all records were
        analysed; of a sample, the number of records that it was drawn from.
        """
        matrix = self.matrix
        mechanisms = [release.name for release in matrix.releases]
        return {
            "seepage": __version__,
            "name": self.name,
            "command": self.command,
            "records": matrix.pairs.records,
            "population": matrix.pairs.population,
            "digest": matrix.pairs.digest,
            "attributes": list(matrix.domain.names),
            "epsilon": _same(matrix.epsilons.tolist()),
            "delta": _same([release.delta for release in matrix.releases]),
            "mechanism": _same(mechanisms),
            "view": matrix.view,
            "direction": "rows targets, columns sources",
            "smoothing": matrix.smoothing,
            "cpl": plain(matrix.values.tolist()),
            "relaxation": plain(matrix.relaxations.tolist()),
            "tcpl": plain(matrix.tcpl),
            "strongest": [self._leak(*pair) for pair in matrix.strongest(strongest)],
            "totals": {total.guarantee: _summary(total) for total in self.totals.totals},
            "refused": dict(self.totals.refused),
            "refuted": {name: list(found) for name, found in self.totals.refuted.items()},
            "unseen": {n: list(u) for n in matrix.domain.names if (u := matrix.pairs.unseen(n))},
            "constant": [a.name for a in matrix.domain if a.size == 1],
            "limit": self.limit if self.limit is None else plain(_listed(self.limit)),
            "domain": [
                {"name": a.name, "values": list(a.values), "edges": plain(list(a.edges))}
                for a in matrix.domain
            ],
            "counts": _packed(matrix.pairs),
        }

    def to_csv(self) -> str:
        """Return one line for each ordered pair, with the leakage in nats."""
        matrix = self.matrix
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["target", "source", "source_epsilon", "mechanism", "view", "cpl"])
        for target, row in zip(matrix.domain.names, matrix.values.tolist(), strict=True):
            for source, release, value in zip(
                matrix.domain.names, matrix.releases, row, strict=True
            ):
                if source != target:
                    how = release.name or "any"
                    writer.writerow([target, source, release.epsilon, how, matrix.view, value])
        return text.getvalue()

    def _leak(self, target: str, source: str, value: float) -> dict[str, Any]:
        witness = self.matrix[target, source].witness
        return {
            "source": source,
            "target": target,
            "cpl": plain(value),
            "likelier": witness and witness.likelier,
            "other": witness and witness.other,
            "likely": witness and list(witness.likely),
        }


def compared_totals(
    data: PairCounts | Records,
    matrix: LeakageMatrix,
    guarantees: Iterable[str],
    *,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> TotalsComparison:
    """Return the totals of a leakage matrix under several guarantees, from the strongest on."""
    return compare_prepared(data, matrix, guarantees, Settings(seed=seed, progress=progress))


def _summary(total: TotalLeakage) -> dict[str, Any]:
    """Return a total without the matrix that it shares with the analysis."""
    shared = {"attributes", "cpl", "tcpl", "epsilon", "mechanism", "view", "guarantee"}
    return {key: value for key, value in total.to_dict().items() if key not in shared}


def plain(value: Any) -> Any:
    """Return numbers as JSON can hold them: infinity as the text "inf", NaN as null."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def _listed(limit: float | Sequence[float | None]) -> Any:
    return list(limit) if isinstance(limit, Sequence) else float(limit)


def _packed(pairs: PairCounts) -> str:
    numbers = np.concatenate([*pairs.marginals, pairs.counts]).astype("<i8")
    return base64.b64encode(zlib.compress(numbers.tobytes())).decode("ascii")


def _same(values: list[Any]) -> Any:
    """Return the one value that all share, or the list of them."""
    return values[0] if all(value == values[0] for value in values) else values
