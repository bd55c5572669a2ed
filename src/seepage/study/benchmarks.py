"""The benchmarks of analysers and of mechanisms [paper, sections V-A and V-B]."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._options import MECHANISMS, option, takes
from seepage._results import Result
from seepage.data import for_each, how_many, sample_caution
from seepage.data.inputs import as_pairs
from seepage.data.pairs import PairCounts
from seepage.data.table import DataOptions
from seepage.errors import InputError
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_draws import ROWS
from seepage.study import mechanisms_of
from seepage.study.baselines import (
    Analyser,
    analyse_with,
    as_analysers,
    reference_leakages,
)

TOLERANCE = 1e-6
"""Undershoot or overshoot up to this value counts as none."""

REGIONS = {
    (False, False): "P1",
    (True, False): "R1",
    (False, True): "R2",
    (True, True): "R3",
}
"""The paper's regions, by whether an analyser undershoots and whether it overshoots."""

EIGHT = ("grr", "rappor", "exp", "oue", "blh", "olh", "she", "ss")
"""The mechanisms of the paper."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions(DataOptions):
    """Options of both benchmarks.

    Parameters
    ----------
    epsilons
        Budgets above 0, each used for every attribute.
    delta
        The delta of mechanisms that need one, such as `"gauss"`; their leakages hold
        with a delta.
    rng
        Seed of what is simulated; the same seed gives the same numbers.
    """

    epsilons: Any = field(default=(1.0, 3.0, 5.0), kw_only=False)
    delta: Any = 0.0
    rng: int = option(0, check=partial(_checks.seed, required=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        budgets = [
            _checks.epsilon(one) for one in _checks.items(self.epsilons, "epsilons")
        ]
        if 0 in budgets:
            raise _checks.violation(
                "epsilon", "above 0", 0.0, "; results are relative to it"
            )
        object.__setattr__(self, "epsilons", budgets)

    def counted(self, data: Mapping[str, Any]) -> dict[str, PairCounts]:
        """Return the pair counts of the data sets; raise for one with a single
        attribute.
        """
        tables = {name: as_pairs(table, **self.reading) for name, table in data.items()}
        for name, pairs in tables.items():
            if len(pairs.domain) < 2:
                raise InputError(
                    f"{name} has one attribute; a benchmark compares at least two"
                )
        return tables


@dataclass(frozen=True, repr=False)
class Benchmark(Result):
    """The scores of a benchmark: a table with one row each.

    Parameters
    ----------
    scores
        One per data set, epsilon and analyser, or per epsilon and mechanism.
    tables
        The data sets, by name.
    left_out
        (data set, analyser, reason) for each analyser that raised an InputError.
    """

    scores: tuple[Any, ...]
    tables: Mapping[str, PairCounts]
    left_out: tuple[tuple[str, str, str], ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats: which leakages are those of a sample, and what was left out."""
        cautions = [
            (name, sample_caution(pairs)) for name, pairs in self.tables.items()
        ]
        left_out = [
            (name, f"{one} left out: {reason}") for name, one, reason in self.left_out
        ]
        return tuple(f"{name}: {text}" for name, text in cautions + left_out if text)

    def to_dict(self) -> dict[str, Any]:
        """Return the scores and notes as a JSON object."""
        return {
            "scores": [asdict(score) for score in self.scores],
            "notes": list(self.notes),
        }

    def _headline(self) -> str:
        return f"Benchmark({len(self.scores)} scores, {len(self.notes)} notes)"

    def _columns(self) -> dict[str, list[Any]]:
        names = [part.name for part in fields(self.scores[0])] if self.scores else []
        return {name: [getattr(score, name) for score in self.scores] for name in names}

    def chart(self) -> Any:
        """Return the paper's chart of the scores.

        Analysers: undershoot against overshoot, with the regions labelled.  Mechanisms:
        the two utilities against leakage, and a third panel with the leakage of the
        whole report.
        """
        from seepage.charts.panels import analyser_chart, mechanism_chart

        tables = self.tables.items()
        rows = [asdict(score) for score in self.scores]
        sizes = {
            name: how_many(pairs) for name, pairs in tables if sample_caution(pairs)
        }
        if all("region" in row for row in rows):
            for row in rows:
                row["data"] += (
                    f" ({sizes[row['data']]})" if row["data"] in sizes else ""
                )
            return analyser_chart(rows)
        chart = mechanism_chart(rows)
        return chart.properties(title=sizes["data"]) if sizes else chart


def _parts(choice: Any) -> list[Any]:
    """Return the names and objects of a choice of mechanisms."""
    return list(choice.values()) if isinstance(choice, Mapping) else [choice]


def _label(choice: Any, parameter: str) -> str:
    """Return the name of a mechanism, or those of a mapping, joined."""
    names = [
        _checks.text(getattr(part, "name", part), parameter) for part in _parts(choice)
    ]
    return ", ".join(dict.fromkeys(names))


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
    """

    data: str
    analyser: str
    epsilon: float
    reference: str
    undershoot: float
    overshoot: float
    region: str


@dataclass(frozen=True, kw_only=True)
class AnalyserOptions(BenchmarkOptions):
    """Options of `benchmark_analysers`.

    Parameters
    ----------
    reference
        `"bound"` (Algorithm 2), a mechanism (`"grr"`, `"oue:inferred"`), or
        `"statistical:oue"`: the plug-in estimate of the statistical method with 50
        replicas; a `Mechanism`, or a mapping from attribute to name or `Mechanism`.
    chosen
        Names of analysers, or analysers; all registered ones by default.
    """

    epsilons: Any = field(default=(1.0,), kw_only=False)
    reference: Any = "bound"
    chosen: Sequence[str | Analyser] | None = None


@takes(AnalyserOptions)
def benchmark_analysers(data: Any, options: AnalyserOptions) -> Benchmark:
    """Compare analysers with a reference leakage, over all ordered pairs of attributes.

    undershoot = sum of (l* - l)+ / (eps q),  overshoot = sum of (l - l*)+ / (eps q),
    with l* the reference, l the analyser's leakage, and q the number of ordered pairs.

    Parameters
    ----------
    data
        A frame, the path of a table, the name of a dataset, `PairCounts` or `Records`;
        or several of them, a mapping by name.

    Examples
    --------
    >>> import seepage as sp
    >>> benchmark = sp.benchmark_analysers("adult", [1.0], chosen=["SPL-ANL", "ITS"])
    >>> [(score.analyser, score.region) for score in benchmark.scores]
    [('SPL-ANL', 'R2'), ('ITS', 'R1')]
    """
    tables = options.counted(data if isinstance(data, Mapping) else {"data": data})
    label = _label(options.reference, "reference")
    analysers = as_analysers(options.chosen)
    scores: list[AnalyserScore] = []
    left_out: list[tuple[str, str, str]] = []
    tasks = [(name, epsilon) for name in tables for epsilon in options.epsilons]
    for name, epsilon in tasks:
        pairs = tables[name]
        expected = reference_leakages(
            options.reference, pairs, epsilon, options.rng, options.delta
        )
        for analyser in analysers:
            try:
                leakages = analyse_with(
                    analyser, pairs, np.full(len(pairs.domain), epsilon)
                )
            except InputError as reason:
                if options.chosen is not None:
                    raise
                left_out.append((name, analyser.name, str(reason)))
            else:
                gaps = _gaps(expected, leakages, epsilon)
                scores.append(AnalyserScore(name, analyser.name, epsilon, label, *gaps))
            if options.progress is not None:
                options.progress(
                    len(scores) + len(left_out), len(tasks) * len(analysers)
                )
    return Benchmark(tuple(scores), tables, tuple(dict.fromkeys(left_out)))


def _gaps(
    reference: Floats, leakages: Floats, epsilon: float
) -> tuple[float, float, str]:
    """Return undershoot, overshoot and their region, see `benchmark_analysers`."""
    off_diagonal = ~np.eye(len(reference), dtype=np.bool_)
    gaps = (reference - leakages)[off_diagonal] / (epsilon * off_diagonal.sum())
    undershoot = float(np.maximum(gaps, 0).sum())
    overshoot = float(np.maximum(-gaps, 0).sum())
    return undershoot, overshoot, REGIONS[undershoot > TOLERANCE, overshoot > TOLERANCE]


@dataclass(frozen=True)
class MechanismScore:
    """Utility and leakage of one mechanism on one data set at one epsilon.

    Parameters
    ----------
    mechanism, epsilon, delta
        The mechanism's name, the budget of every attribute, and the largest delta of a
        leakage.
    frequency_error, expected_frequency_error
        NMSE of all estimated frequencies, sum (f~ - f)^2 / sum f^2: simulated, and in
        closed form; None where a mechanism cannot estimate every frequency, see
        `estimates`.
    zero_one_error, expected_zero_one_error
        0-1 loss of the inferred value, averaged over records, simulated and in closed
        form.
    normalised_tcpl, normalised_tcpl_inferred
        TCPL divided by that of Algorithm 2: of the whole report, and of the inferred
        value only; 1 if Algorithm 2 gives 0.
    bits
        Mean size of one report, in bits.
    estimates
        What can be estimated from the reports, in words.
    """

    mechanism: str
    epsilon: float
    delta: float
    frequency_error: float | None
    expected_frequency_error: float | None
    zero_one_error: float
    expected_zero_one_error: float
    normalised_tcpl: float
    normalised_tcpl_inferred: float
    bits: float
    estimates: str


@dataclass(frozen=True, kw_only=True)
class MechanismOptions(BenchmarkOptions):
    """Options of `benchmark_mechanisms`.

    Parameters
    ----------
    mechanisms
        A list of names, of `Mechanism` objects, and of mappings from attribute to name
        or `Mechanism`; or a mapping from a label of your own to such a choice.  The
        paper's eight by default.  Objects have their own budget, and are scored once if
        a choice has no name.
    """

    mechanisms: Any = EIGHT


@takes(MechanismOptions)
def benchmark_mechanisms(data: Any, options: MechanismOptions) -> Benchmark:
    """Compare mechanisms by the utility and the leakage of their reports.

    Parameters
    ----------
    data
        A frame, the path of a table, the name of a dataset, `PairCounts` or `Records`.

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
    tables = options.counted({"data": data})
    pairs = tables["data"]
    if not pairs.records:
        raise InputError("a benchmark needs records, and these counts have none")
    tasks = [
        (epsilon, label, choice)
        for epsilon in options.epsilons
        for label, choice in _labelled(options.mechanisms).items()
        if epsilon == options.epsilons[0]
        or any(isinstance(part, str) for part in _parts(choice))
    ]
    scores: list[MechanismScore] = []
    for epsilon, label, choice in tasks:
        scores.append(
            _score(pairs, label, choice, (epsilon, options.delta), options.rng)
        )
        if options.progress is not None:
            options.progress(len(scores), len(tasks))
    return Benchmark(tuple(scores), tables)


def _labelled(mechanisms: Any) -> dict[str, Any]:
    """Return the choices of mechanisms by label; two of the same label raise."""
    if isinstance(mechanisms, Mapping):
        return {
            _checks.text(label, "mechanisms"): mechanisms[label] for label in mechanisms
        }
    given = _checks.items(mechanisms, "mechanisms")
    choices = {_label(choice, "mechanisms"): choice for choice in given}
    if len(choices) < len(given):
        raise InputError(
            "mechanisms must have different names; give a mapping from labels of your own",
            parameter="mechanisms",
        )
    return choices


def _score(
    pairs: PairCounts, label: str, choice: Any, budget: tuple[float, float], rng: int
) -> MechanismScore:
    """Return the score of one choice of mechanisms at (epsilon, delta)."""
    epsilon, slack = budget
    delta = [
        slack if isinstance(name, str) and MECHANISMS.find(name).approximate else 0.0
        for name in for_each(pairs.domain, choice, "mechanism")
    ]
    used = mechanisms_of(pairs.domain, epsilon, choice, delta)
    report = leakage_matrix(pairs, epsilon, mechanism=choice, delta=delta)
    inferred = leakage_matrix(
        pairs, epsilon, mechanism=choice, delta=delta, view="inferred"
    )
    budgets = [release.epsilon for release in report.releases]
    bound = leakage_matrix(pairs, budgets).tcpl
    frequencies = [marginal / pairs.records for marginal in pairs.marginals]
    seeds = np.random.SeedSequence([rng, *label.encode()]).spawn(len(used))
    simulated = [
        _simulate(each, marginal, np.random.default_rng(stream))
        for each, marginal, stream in zip(used, pairs.marginals, seeds, strict=True)
    ]
    power = sum(float((f**2).sum()) for f in frequencies)
    limited = [each for each in used if not each.informative]
    parts = list(zip(used, frequencies, strict=True))
    missed = [1 - np.diag(each.inferred_channel()) @ f for each, f in parts]
    error = expected_error = None
    if not limited:
        variance = sum(
            float(each.variance(pairs.records, f).sum()) for each, f in parts
        )
        error = sum(squared_error for squared_error, _ in simulated) / power
        expected_error = variance / power
    return MechanismScore(
        mechanism=label,
        epsilon=max(budgets),
        frequency_error=error,
        expected_frequency_error=expected_error,
        zero_one_error=float(np.mean([zero_one for _, zero_one in simulated])),
        expected_zero_one_error=float(np.mean(missed)),
        delta=float(report.deltas.max(initial=0.0)),
        normalised_tcpl=report.tcpl / bound if bound > 0 else 1.0,
        normalised_tcpl_inferred=inferred.tcpl / bound if bound > 0 else 1.0,
        bits=float(np.mean([each.bits for each in used])),
        estimates=(limited or used)[0].estimable,
    )


def _simulate(
    used: Mechanism, counts: Any, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the sum of squared frequency errors of one attribute, and the 0-1 error."""
    codes = np.repeat(np.arange(used.k), counts)
    wrong: list[Any] = []

    def batches() -> Iterator[Any]:
        for start in range(0, len(codes), ROWS):
            true = codes[start : start + ROWS]
            reports = used.perturb(true, rng)
            wrong.append(used.infer(reports, rng) != true)
            yield reports

    error = 0.0
    if used.informative:
        estimate = used.estimate(batches()).frequencies
        error = float(((estimate - counts / len(codes)) ** 2).sum())
    else:
        for _ in batches():
            pass
    return error, float(np.concatenate(wrong).mean())
