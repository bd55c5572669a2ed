"""The benchmark of analysers against a reference leakage [paper, section V-A]."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._results import Progress, Result
from seepage.data.domain import how_many, sample_caution
from seepage.data.inputs import as_pairs
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.study.baselines import Analyser, analyse_with, as_analysers, reference_leakages

Region = Literal["P1", "R1", "R2", "R3"]

TOLERANCE = 1e-6
"""Undershoot or overshoot up to this value counts as none."""


class ScoreTable(Result):
    """A result whose table has one row per score."""

    scores: tuple[Any, ...]

    def _columns(self) -> dict[str, list[Any]]:
        names = [part.name for part in fields(self.scores[0])] if self.scores else []
        return {name: [getattr(score, name) for score in self.scores] for name in names}

    def _rows(self) -> list[dict[str, Any]]:
        return [asdict(score) for score in self.scores]


def checked_budgets(epsilons: Any, tables: Mapping[str, PairCounts], progress: Any) -> list[float]:
    """Return the budgets; raise an InputError for one of 0 or a table of one attribute."""
    _checks.progress(progress)
    for name, pairs in tables.items():
        if len(pairs.domain) < 2:
            raise InputError(f"{name} has one attribute; a benchmark compares at least two")
    budgets = [_checks.epsilon(epsilon) for epsilon in _checks.items(epsilons, "epsilons")]
    if 0 in budgets:
        raise _checks.violation("epsilon", "above 0", 0.0, "; results are relative to it")
    return budgets


def label_of(choice: Any, parameter: str) -> str:
    """Return the name of a mechanism, or those of a mapping, joined."""
    if isinstance(choice, Mapping):
        return ", ".join(dict.fromkeys(label_of(part, parameter) for part in choice.values()))
    return _checks.text(getattr(choice, "name", choice), parameter)


@dataclass(frozen=True)
class AnalyserScore:
    """Undershoot and overshoot of one analyser on one data set at one epsilon.

    Parameters
    ----------
    data, analyser, epsilon, reference
        The data set, the analyser, the budget and the reference, by name.
    undershoot, overshoot
        See `benchmark_analysers`; both between 0 and 1 for leakages up to epsilon.
    region
        P1 (neither), R1 (undershoot only), R2 (overshoot only) or R3 (both).
    seconds
        Run time of the analyser.
    """

    data: str
    analyser: str
    epsilon: float
    reference: str
    undershoot: float
    overshoot: float
    region: Region
    seconds: float


@dataclass(frozen=True, repr=False)
class AnalyserBenchmark(ScoreTable):
    """The scores of several analysers, and the reasons why some were left out.

    Parameters
    ----------
    scores
        One per data set, epsilon and analyser.
    left_out
        (data set, analyser, reason) for each analyser that raised an InputError.
    tolerance
        Undershoot or overshoot up to this value counts as none.
    samples
        The data sets that are samples of records, by name.
    """

    scores: tuple[AnalyserScore, ...]
    left_out: tuple[tuple[str, str, str], ...]
    tolerance: float
    samples: Mapping[str, PairCounts] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats: which leakages are those of a sample."""
        return tuple(f"{name}: {sample_caution(pairs)}" for name, pairs in self.samples.items())

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a JSON object."""
        return {
            "scores": self._rows(),
            "left_out": [list(item) for item in self.left_out],
            "tolerance": self.tolerance,
            "notes": list(self.notes),
        }

    def _headline(self) -> str:
        return f"AnalyserBenchmark({len(self.scores)} scores, {len(self.left_out)} left out)"

    def chart(self) -> Any:
        """Return the paper's chart: undershoot against overshoot, with the regions labelled."""
        from seepage.charts.scatter import analyser_chart

        labels = {name: f"{name} ({how_many(pairs)})" for name, pairs in self.samples.items()}
        rows = [{**row, "data": labels.get(row["data"], row["data"])} for row in self._rows()]
        return analyser_chart(rows)


def benchmark_analysers(
    data: Any,
    epsilons: Sequence[float] = (1.0,),
    *,
    reference: Any = "bound",
    delta: Any = 0.0,
    chosen: Sequence[str | Analyser] | None = None,
    tolerance: float = TOLERANCE,
    rng: int = 0,
    progress: Progress | None = None,
    **table_options: Any,
) -> AnalyserBenchmark:
    """Compare analysers with a reference leakage, over all ordered pairs of attributes.

    undershoot = sum of (l* - l)+ / (eps q),  overshoot = sum of (l - l*)+ / (eps q), with l* the
    reference, l the analyser's leakage, and q the number of ordered pairs.

    Parameters
    ----------
    data
        A frame, the path of a table, the name of a dataset, `PairCounts` or `Records`; or several
        of them, a mapping by name.
    epsilons
        Budgets above 0, each used for every attribute.
    reference
        `"bound"` (Algorithm 2), a mechanism (`"grr"`, `"oue:inferred"`), or `"statistical:oue"`:
        the plug-in estimate of the statistical method with 50 replicas; a `Mechanism`, or a mapping
        from attribute to name or `Mechanism`.
    delta
        The delta of a reference mechanism that needs one; its leakages then hold with a delta.
    chosen
        Names of analysers, or analysers; all registered ones by default.
    tolerance
        Undershoot or overshoot up to this value counts as none.
    rng
        Seed of a statistical reference.
    progress
        Called with the number of scores done and of all scores.
    table_options
        Table options of `count_pairs`.

    Examples
    --------
    >>> import seepage as sp
    >>> benchmark = sp.benchmark_analysers("adult", [1.0], chosen=["SPL-ANL", "ITS"])
    >>> [(score.analyser, score.region) for score in benchmark.scores]
    [('SPL-ANL', 'R2'), ('ITS', 'R1')]
    """
    by_name = data if isinstance(data, Mapping) else {"data": data}
    tables = {name: as_pairs(table, **table_options) for name, table in by_name.items()}
    label = label_of(reference, "reference")
    budgets = checked_budgets(epsilons, tables, progress)
    analysers = as_analysers(chosen)
    threshold = _checks.real(tolerance, "tolerance")
    scores: list[AnalyserScore] = []
    left_out: list[tuple[str, str, str]] = []
    total = len(tables) * len(budgets) * len(analysers)
    for name, pairs in tables.items():
        for epsilon in budgets:
            expected = reference_leakages(reference, pairs, epsilon, rng, delta)
            for analyser in analysers:
                start = time.perf_counter()
                try:
                    leakages = analyse_with(analyser, pairs, np.full(len(pairs.domain), epsilon))
                except InputError as reason:
                    if chosen is not None:
                        raise
                    left_out.append((name, analyser.name, str(reason)))
                else:
                    seconds = time.perf_counter() - start
                    gaps = _gaps(expected, leakages, epsilon)
                    score = *gaps, _region(*gaps, threshold), seconds
                    scores.append(AnalyserScore(name, analyser.name, epsilon, label, *score))
                if progress is not None:
                    progress(len(scores) + len(left_out), total)
    samples = {name: pairs for name, pairs in tables.items() if pairs.population is not None}
    return AnalyserBenchmark(tuple(scores), tuple(dict.fromkeys(left_out)), threshold, samples)


def _gaps(reference: Floats, leakages: Floats, epsilon: float) -> tuple[float, float]:
    """Return undershoot and overshoot, see `benchmark_analysers`."""
    off_diagonal = ~np.eye(len(reference), dtype=np.bool_)
    gaps = (reference - leakages)[off_diagonal] / (epsilon * off_diagonal.sum())
    return float(np.maximum(gaps, 0).sum()), float(np.maximum(-gaps, 0).sum())


def _region(undershoot: float, overshoot: float, tolerance: float) -> Region:
    if undershoot <= tolerance:
        return "P1" if overshoot <= tolerance else "R2"
    return "R1" if overshoot <= tolerance else "R3"
