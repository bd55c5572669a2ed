"""The benchmark of analysers: how far estimates are from the true leakages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Unpack

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage.benchmarks.analyser_registry import analyse_with, as_analysers
from seepage.benchmarks.baselines import Analyser
from seepage.benchmarks.benchmark import (
    Benchmark,
    checked_budgets,
    counted_tables,
    score_label,
)
from seepage.benchmarks.reference_leakages import reference_leakages
from seepage.tables.table_options import DataOptions, TableKeywords

TOLERANCE = 1e-6
"""Undershoot or overshoot up to this value counts as none."""


REGIONS = {
    (False, False): "P1",
    (True, False): "R1",
    (False, True): "R2",
    (True, True): "R3",
}
"""The paper's regions, by whether an analyser undershoots and whether it overshoots."""


@dataclass(frozen=True)
class AnalyserScore:
    """Undershoot and overshoot of one analyser on one data set at one epsilon.

    Parameters
    ----------
    data, analyser, epsilon, reference
        The data set, the analyser, the budget and the reference, by name.
    delta
        The largest delta of a reference leakage: analysers are compared with the
        leakages that hold with it.
    undershoot, overshoot
        See `benchmark_analysers`; both between 0 and 1 for leakages up to epsilon.
    region
        P1 (neither), R1 (undershoot only), R2 (overshoot only) or R3 (both).
    """

    data: str
    analyser: str
    epsilon: float
    delta: float
    reference: str
    undershoot: float
    overshoot: float
    region: str


def benchmark_analysers(
    data: Any,
    epsilons: Sequence[float] = (1.0,),
    *,
    reference: Any = "bound",
    analysers: Sequence[str | Analyser] | None = None,
    delta: float = 0.0,
    rng: int = 0,
    **table: Unpack[TableKeywords],
) -> Benchmark:
    """Compare analysers with a reference leakage, over all ordered pairs of attributes.

    undershoot = sum of (l* - l)+ / (eps q),  overshoot = sum of (l - l*)+ / (eps q),
    with l* the reference, l the analyser's leakage, and q the number of ordered pairs.

    Parameters
    ----------
    data
        A frame, the path of a table, the name of a dataset, `PairCounts` or `Records`;
        or several of them, a mapping by name.
    epsilons
        Budgets above 0, each used for every attribute.
    reference
        `"bound"` (Algorithm 2), a mechanism (`"grr"`, `"oue:inferred"`), or
        `"statistical:oue"`: the plug-in estimate of the statistical method with 50
        replicas; a `Mechanism`, or a mapping from attribute to name or `Mechanism`.
    analysers
        Names of analysers, or analysers; all registered ones by default.
    delta
        The delta of the bound, or of a reference that needs one, such as `"gauss"`;
        reference leakages hold with a delta.
    rng
        Seed of what is simulated; the same seed gives the same numbers.
    **table
        How a table is read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

    Examples
    --------
    >>> import seepage as sp
    >>> benchmark = sp.benchmark_analysers("adult", [1.0], analysers=["SPL-ANL", "ITS"])
    >>> [(score.analyser, score.region) for score in benchmark.scores]
    [('SPL-ANL', 'R2'), ('ITS', 'R1')]
    """
    reading = DataOptions.from_keywords(table, benchmark_analysers)
    seed = checks.required_seed(rng)
    budgets = checked_budgets(epsilons)
    if not isinstance(data, Mapping):
        data = {"data": data}
    tables = counted_tables(data, reading)
    label = score_label(reference, "reference")
    used = as_analysers(analysers)
    scores: list[AnalyserScore] = []
    left_out: list[tuple[str, str, str]] = []
    tasks = list(product(tables, budgets))
    for name, epsilon in tasks:
        pairs = tables[name]
        expected = reference_leakages(reference, pairs, epsilon, seed, delta)
        for analyser in used:
            try:
                leakages = analyse_with(
                    analyser, pairs, np.full(len(pairs.domain), epsilon)
                )
            except InputError as reason:
                if analysers is not None:
                    raise
                left_out.append((name, analyser.name, str(reason)))
            else:
                gaps = gaps_between(expected.values, leakages, epsilon)
                score = AnalyserScore(
                    data=name,
                    analyser=analyser.name,
                    epsilon=epsilon,
                    delta=float(expected.deltas.max(initial=0.0)),
                    reference=label,
                    undershoot=gaps.undershoot,
                    overshoot=gaps.overshoot,
                    region=gaps.region,
                )
                scores.append(score)
            if reading.progress is not None:
                reading.progress(len(scores) + len(left_out), len(tasks) * len(used))
    return Benchmark(tuple(scores), tables, tuple(dict.fromkeys(left_out)))


@dataclass(frozen=True)
class Gaps:
    """Undershoot and overshoot of an analyser, see `benchmark_analysers`."""

    undershoot: float
    overshoot: float

    @property
    def region(self) -> str:
        """The paper's region of an analyser's gaps: P1, R1, R2 or R3."""
        return REGIONS[self.undershoot > TOLERANCE, self.overshoot > TOLERANCE]


def gaps_between(reference: Floats, leakages: Floats, epsilon: float) -> Gaps:
    """Return undershoot and overshoot of an analyser's leakages; the diagonals do not
    count.
    """
    off_diagonal = ~np.eye(len(reference), dtype=np.bool_)
    gaps = (reference - leakages)[off_diagonal] / (epsilon * off_diagonal.sum())
    return Gaps(
        undershoot=float(np.maximum(gaps, 0).sum()),
        overshoot=float(np.maximum(-gaps, 0).sum()),
    )
