"""The benchmarks of analysers [paper, section V-A] and of mechanisms [paper, section V-B]."""

import time
import timeit
from collections.abc import Iterator, Mapping, Sequence
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
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms import mechanism
from seepage.mechanisms.base import Mechanism
from seepage.study.baselines import Analyser, analyse_with, as_analysers, reference_leakages

Region = Literal["P1", "R1", "R2", "R3"]

TOLERANCE = 1e-6
"""Undershoot or overshoot up to this value counts as none."""

EIGHT = ("grr", "rappor", "exp", "oue", "blh", "olh", "she", "ss")
"""The mechanisms of the paper."""

TIMED_REPORTS = 100_000
"""Reports in the measurement of `server_seconds`."""


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


# Analysers: undershoot against overshoot of a reference leakage ----------------------------------


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
        Undershoot or overshoot up to this value counts as none.
    seed
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
    _checks.text(reference, "reference")
    budgets = checked_budgets(epsilons, tables, progress)
    analysers = as_analysers(chosen)
    threshold = _checks.real(tolerance, "tolerance")
    scores: list[AnalyserScore] = []
    left_out: list[tuple[str, str, str]] = []
    total = len(tables) * len(budgets) * len(analysers)
    for name, pairs in tables.items():
        for epsilon in budgets:
            expected = reference_leakages(reference, pairs, epsilon, seed)
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
                    scores.append(AnalyserScore(name, analyser.name, epsilon, reference, *score))
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


# Mechanisms: utility of their reports against total leakage --------------------------------------


@dataclass(frozen=True)
class MechanismScore:
    """Utility and leakage of one mechanism on one data set at one epsilon.

    Parameters
    ----------
    mechanism, epsilon
        The mechanism's name, and the budget of every attribute.
    frequency_error, expected_frequency_error
        NMSE of all estimated frequencies, sum (f~ - f)^2 / sum f^2: simulated, and in closed form.
    zero_one_error, expected_zero_one_error
        0-1 loss of the inferred value, averaged over records, simulated and in closed form.
    normalised_tcpl, normalised_tcpl_inferred
        TCPL divided by that of Algorithm 2: of the whole report, and of the inferred value only;
        1 if Algorithm 2 gives 0.
    bits
        Mean size of one report, in bits.
    server_seconds
        Time to estimate the frequencies from a million reports, extrapolated from fewer.
    """

    mechanism: str
    epsilon: float
    frequency_error: float
    expected_frequency_error: float
    zero_one_error: float
    expected_zero_one_error: float
    normalised_tcpl: float
    normalised_tcpl_inferred: float
    bits: float
    server_seconds: float


@dataclass(frozen=True, repr=False)
class MechanismBenchmark(ScoreTable):
    """The scores of several mechanisms on one data set.

    Parameters
    ----------
    scores
        One per epsilon and mechanism.
    sample
        The pair counts if they are those of a sample of records; else None.
    """

    scores: tuple[MechanismScore, ...]
    sample: PairCounts | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats: whether the leakages are those of a sample."""
        return () if self.sample is None else (str(sample_caution(self.sample)),)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a JSON object."""
        return {"scores": self._rows(), "notes": list(self.notes)}

    def _headline(self) -> str:
        sample = "" if self.sample is None else f", {how_many(self.sample)}"
        return f"MechanismBenchmark({len(self.scores)} scores{sample})"

    def chart(self) -> Any:
        """Return the paper's two panels, and a third with the leakage of the whole report."""
        from seepage.charts.scatter import mechanism_chart

        chart = mechanism_chart(self._rows())
        return chart if self.sample is None else chart.properties(title=how_many(self.sample))


def benchmark_mechanisms(
    data: Any,
    epsilons: Sequence[float] = (1.0, 3.0, 5.0),
    *,
    mechanisms: Sequence[str] = EIGHT,
    seed: int = 0,
    progress: Progress | None = None,
    **table_options: Any,
) -> MechanismBenchmark:
    """Compare mechanisms by the utility and the leakage of their reports.

    Parameters
    ----------
    data
        A frame, the path of a table, the name of a dataset, `PairCounts` or `Records`.
    epsilons
        Budgets above 0, each used for every attribute.
    mechanisms
        Names of registered mechanisms; the paper's eight by default.
    seed
        Seed of the simulation; the same seed gives the same errors.
    progress
        Called with the number of scores done and of all scores.
    table_options
        Table options of `count_pairs`.

    Notes
    -----
    One report is simulated for each record and attribute.  Leakages are exact, so only the two
    simulated errors vary with the seed.

    Examples
    --------
    >>> import seepage as sp
    >>> benchmark = sp.benchmark_mechanisms(
    ...     "adult", [1.0], mechanisms=["grr", "oue"], columns=["sex", "race", "income"]
    ... )
    >>> [score.normalised_tcpl > 0.9 for score in benchmark.scores]
    [True, True]
    """
    pairs = as_pairs(data, **table_options)
    budgets = checked_budgets(epsilons, {"the data set": pairs}, progress)
    mechanisms = _checks.texts(mechanisms, "mechanisms")
    checked_seed = _checks.integer(seed, "seed", 0)
    if not pairs.records:
        raise InputError("a benchmark needs records, and these counts have none")
    scores = []
    for epsilon in budgets:
        bound = leakage_matrix(pairs, epsilon).tcpl
        for name in mechanisms:
            scores.append(_score(pairs, name, epsilon, bound, checked_seed))
            if progress is not None:
                progress(len(scores), len(budgets) * len(mechanisms))
    return MechanismBenchmark(tuple(scores), None if pairs.population is None else pairs)


def _score(pairs: PairCounts, name: str, epsilon: float, bound: float, seed: int) -> MechanismScore:
    """Return the score of one mechanism; `bound` is TCPL of Algorithm 2."""
    used = [mechanism(name, attribute.size, epsilon) for attribute in pairs.domain]
    frequencies = [marginal / pairs.records for marginal in pairs.marginals]
    seeds = np.random.SeedSequence([seed, *name.encode()]).spawn(len(used))
    simulated = [
        _simulate(each, marginal, np.random.default_rng(stream))
        for each, marginal, stream in zip(used, pairs.marginals, seeds, strict=True)
    ]
    power = sum(float((f**2).sum()) for f in frequencies)
    variances = [each.variance(pairs.records, f) for each, f in zip(used, frequencies, strict=True)]
    missed = [1 - np.diag(m.inferred_channel()) @ f for m, f in zip(used, frequencies, strict=True)]
    report = leakage_matrix(pairs, epsilon, mechanism=name).tcpl
    inferred = leakage_matrix(pairs, epsilon, mechanism=name, view="inferred").tcpl
    return MechanismScore(
        mechanism=name,
        epsilon=epsilon,
        frequency_error=sum(squared_error for squared_error, _ in simulated) / power,
        expected_frequency_error=sum(float(part.sum()) for part in variances) / power,
        zero_one_error=float(np.mean([zero_one for _, zero_one in simulated])),
        expected_zero_one_error=float(np.mean(missed)),
        normalised_tcpl=report / bound if bound > 0 else 1.0,
        normalised_tcpl_inferred=inferred / bound if bound > 0 else 1.0,
        bits=float(np.mean([each.bits for each in used])),
        server_seconds=_server_seconds(max(used, key=lambda each: each.k)),
    )


def _simulate(used: Mechanism, counts: Any, rng: np.random.Generator) -> tuple[float, float]:
    """Return the sum of squared frequency errors of one attribute, and the 0-1 error."""
    codes = np.repeat(np.arange(used.k), counts)
    wrong: list[Any] = []

    def batches() -> Iterator[Any]:
        done = 0
        for reports in used.perturb_batches(codes, rng):
            wrong.append(used.infer(reports, rng) != codes[done : done + len(reports)])
            done += len(reports)
            yield reports

    error = used.estimate(batches()).frequencies - counts / len(codes)
    return float((error**2).sum()), float(np.concatenate(wrong).mean())


def _server_seconds(used: Mechanism) -> float:
    """Return the time to estimate from a million reports: best of three runs, extrapolated."""
    reports = used.perturb(np.zeros(TIMED_REPORTS, dtype=np.int64), 0)
    times = timeit.repeat(lambda: used.estimate(reports), number=1, repeat=3)
    return min(times) * 1e6 / TIMED_REPORTS
