"""How far analysers are from a reference leakage: undershoot against overshoot.

[paper, section V-A]
"""

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
from seepage.study.baselines import (
    Analyser,
    Leakages,
    analyse_with,
    analyser,
    analysers,
    check_analyser,
)

Region = Literal["P1", "R1", "R2", "R3"]

TOLERANCE = 1e-6
"""Undershoot or overshoot up to this share of epsilon counts as none."""


@dataclass(frozen=True)
class AnalyserScore:
    """How far one analyser is from the reference on one data set at one epsilon.

    Parameters
    ----------
    data, analyser, epsilon, reference
        What was compared.
    undershoot, overshoot
        Sums over ordered pairs of what is missing and of what is too much, over epsilon times the
        number of pairs: both between 0 and 1 for leakages up to epsilon.
    region
        P1 (neither), R1 (undershoot only), R2 (overshoot only) or R3 (both).
    seconds
        The time that the analyser took.
    """

    data: str
    analyser: str
    epsilon: float
    reference: str
    undershoot: float
    overshoot: float
    region: Region
    seconds: float


class ScoreTable(Result):
    """Scores in long form: one row per score."""

    scores: tuple[Any, ...]

    def _columns(self) -> dict[str, list[Any]]:
        names = [part.name for part in fields(self.scores[0])] if self.scores else []
        return {name: [getattr(score, name) for score in self.scores] for name in names}


@dataclass(frozen=True, repr=False)
class AnalyserBenchmark(ScoreTable):
    """The scores of several analysers, and why some could not take part.

    Parameters
    ----------
    scores
        One for each data set, epsilon and analyser.
    left_out
        (data set, analyser, reason) for each that raised an InputError for the data.
    tolerance
        What counts as no undershoot or overshoot.
    samples
        The data sets that are samples of records, by name.
    """

    scores: tuple[AnalyserScore, ...]
    left_out: tuple[tuple[str, str, str], ...]
    tolerance: float
    samples: Mapping[str, PairCounts] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know besides: which leakages are those of a sample."""
        return tuple(f"{name}: {sample_caution(pairs)}" for name, pairs in self.samples.items())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        return {
            "scores": [asdict(score) for score in self.scores],
            "left_out": [list(item) for item in self.left_out],
            "tolerance": self.tolerance,
            "notes": list(self.notes),
        }

    def _headline(self) -> str:
        return f"AnalyserBenchmark({len(self.scores)} scores, {len(self.left_out)} left out)"

    def chart(self) -> Any:
        """Return the paper's chart: undershoot against overshoot, with the regions labelled."""
        from seepage.charts.scatter import analyser_chart

        drawn = {name: f"{name} ({how_many(pairs)})" for name, pairs in self.samples.items()}
        rows = [asdict(score) for score in self.scores]
        return analyser_chart(
            [{**row, "data": drawn.get(row["data"], row["data"])} for row in rows]
        )


def benchmark_analysers(
    data: Any,
    epsilons: Sequence[float] = (1.0,),
    *,
    reference: str = "bound",
    chosen: Sequence[str | Analyser] | None = None,
    tolerance: float = TOLERANCE,
    seed: int = 0,
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
        the plug-in estimate of the statistical method with 50 replicas.
    chosen
        Names of analysers, or analysers; all registered ones by default.
    tolerance
        The share of epsilon below which undershoot or overshoot counts as none.
    seed
        For a statistical reference.
    progress
        Called with the number of comparisons done, and their total.
    table_options
        Table options of `count_pairs`.

    Examples
    --------
    >>> import seepage as sp
    >>> found = sp.benchmark_analysers("adult", [1.0], chosen=["SPL-ANL", "ITS"])
    >>> [(score.analyser, score.region) for score in found.scores]
    [('SPL-ANL', 'R2'), ('ITS', 'R1')]
    """
    several = data if isinstance(data, Mapping) else {"data": data}
    tables = {name: as_pairs(one, **table_options) for name, one in several.items()}
    _checks.progress(progress)
    _checks.text(reference, "reference")
    budgets = [positive_epsilon(epsilon) for epsilon in _checks.items(epsilons, "epsilons")]
    contenders = _contenders(chosen)
    slack = _checks.real(tolerance, "tolerance")
    scores: list[AnalyserScore] = []
    left_out: list[tuple[str, str, str]] = []
    total = len(tables) * len(budgets) * len(contenders)
    for name, pairs in tables.items():
        check_comparable(name, pairs)
        for epsilon in budgets:
            goal = _reference(reference, pairs, epsilon, seed)
            for contender in contenders:
                try:
                    found, seconds = _timed(contender, pairs, epsilon)
                except InputError as reason:
                    if not isinstance(contender, Analyser) or chosen is not None:
                        raise
                    left_out.append((name, contender.name, str(reason)))
                else:
                    gaps = _gaps(goal, found, epsilon)
                    region = _region(*gaps, slack)
                    scores.append(
                        AnalyserScore(
                            name, contender.name, epsilon, reference, *gaps, region, seconds
                        )
                    )
                if progress is not None:
                    progress(len(scores) + len(left_out), total)
    samples = {name: pairs for name, pairs in tables.items() if pairs.population is not None}
    return AnalyserBenchmark(tuple(scores), tuple(dict.fromkeys(left_out)), slack, samples)


def positive_epsilon(epsilon: Any) -> float:
    """Return a budget above 0; any other raises an InputError."""
    budget = _checks.epsilon(epsilon)
    if budget == 0:
        raise InputError("epsilon must be above 0 in a benchmark, since results are relative to it")
    return budget


def _contenders(chosen: Sequence[str | Analyser] | None) -> list[Analyser]:
    if chosen is None:
        return list(analysers().values())
    wanted = _checks.items(chosen, "chosen")
    found = [analyser(one) if isinstance(one, str) else one for one in wanted]
    for one in found:
        check_analyser(one)
    return found


def check_comparable(name: str, pairs: PairCounts) -> None:
    """Raise an InputError where there are fewer than two attributes."""
    if len(pairs.domain) < 2:
        raise InputError(f"{name} has one attribute; a benchmark compares at least two")


def _reference(reference: str, pairs: PairCounts, epsilon: float, seed: int) -> Floats:
    """Return the reference leakages l*."""
    budgets = np.full(len(pairs.domain), epsilon)
    if reference == "bound":
        return Leakages("bound").leakages(pairs, budgets)
    kind, _, mechanism = reference.partition(":")
    if kind == "statistical":
        from seepage.study.statistical import estimate_leakage

        estimates = estimate_leakage(
            pairs, mechanism=mechanism, epsilon=epsilon, surrogates=0, seed=seed
        )
        return np.asarray(estimates.plug_in)
    return analyse_with(analyser(reference), pairs, budgets)


def _timed(contender: Analyser, pairs: PairCounts, epsilon: float) -> tuple[Floats, float]:
    begin = time.perf_counter()
    found = analyse_with(contender, pairs, np.full(len(pairs.domain), epsilon))
    return found, time.perf_counter() - begin


def _gaps(reference: Floats, found: Floats, epsilon: float) -> tuple[float, float]:
    """Return the normalised undershoot and overshoot over ordered pairs."""
    others = ~np.eye(len(reference), dtype=np.bool_)
    missing = (reference - found)[others] / (epsilon * others.sum())
    return float(np.maximum(missing, 0).sum()), float(np.maximum(-missing, 0).sum())


def _region(undershoot: float, overshoot: float, tolerance: float) -> Region:
    if undershoot <= tolerance:
        return "P1" if overshoot <= tolerance else "R2"
    return "R1" if overshoot <= tolerance else "R3"
