"""The benchmark of mechanisms: utility of their reports against leakage [paper, section V-B]."""

import timeit
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage import _checks
from seepage._registry import MECHANISMS
from seepage._results import Progress
from seepage.data.domain import for_each, how_many, sample_caution
from seepage.data.inputs import as_pairs
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.leakage.matrix import leakage_matrix
from seepage.leakage.release import releases
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_draws import ROWS
from seepage.study.benchmarks import ScoreTable, checked_budgets, label_of
from seepage.study.statistical import mechanisms_of

EIGHT = ("grr", "rappor", "exp", "oue", "blh", "olh", "she", "ss")
"""The mechanisms of the paper."""

TIMED_REPORTS = 100_000
"""Reports in the measurement of `server_seconds`."""


@dataclass(frozen=True)
class MechanismScore:
    """Utility and leakage of one mechanism on one data set at one epsilon.

    Parameters
    ----------
    mechanism, epsilon, delta
        The mechanism's name, the budget of every attribute, and the largest delta of a leakage.
    frequency_error, expected_frequency_error
        NMSE of all estimated frequencies, sum (f~ - f)^2 / sum f^2: simulated, and in closed form;
        None where a mechanism cannot estimate every frequency, see `estimates`.
    zero_one_error, expected_zero_one_error
        0-1 loss of the inferred value, averaged over records, simulated and in closed form.
    normalised_tcpl, normalised_tcpl_inferred
        TCPL divided by that of Algorithm 2: of the whole report, and of the inferred value only;
        1 if Algorithm 2 gives 0.
    bits
        Mean size of one report, in bits.
    server_seconds
        Time to estimate the frequencies from a million reports, extrapolated from fewer.
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
    server_seconds: float | None
    estimates: str


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
    mechanisms: Any = EIGHT,
    delta: Any = 0.0,
    rng: int = 0,
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
        A list of names, of `Mechanism` objects, and of mappings from attribute to name or
        `Mechanism`; or a mapping from a label of your own to such a choice.  The paper's eight by
        default.  Objects have their own budget, and are scored once if a choice has no name.
    delta
        The delta of the mechanisms that need one, such as `"gauss"`; the others have 0.
    rng
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
    choices = _labelled(mechanisms)
    checked_seed = _checks.integer(rng, "rng", 0)
    if not pairs.records:
        raise InputError("a benchmark needs records, and these counts have none")
    tasks = [
        (epsilon, label, choice)
        for epsilon in budgets
        for label, choice in choices.items()
        if epsilon == budgets[0] or _has_name(choice)
    ]
    scores = []
    for epsilon, label, choice in tasks:
        scores.append(_score(pairs, label, choice, (epsilon, delta), checked_seed))
        if progress is not None:
            progress(len(scores), len(tasks))
    return MechanismBenchmark(tuple(scores), None if pairs.population is None else pairs)


def _labelled(mechanisms: Any) -> dict[str, Any]:
    """Return the choices of mechanisms by label; two of the same label raise."""
    if isinstance(mechanisms, Mapping):
        return {_checks.text(label, "mechanisms"): mechanisms[label] for label in mechanisms}
    given = _checks.items(mechanisms, "mechanisms")
    choices = {label_of(choice, "mechanisms"): choice for choice in given}
    if len(choices) < len(given):
        raise InputError(
            "mechanisms must have different names; give a mapping from labels of your own",
            parameter="mechanisms",
        )
    return choices


def _has_name(choice: Any) -> bool:
    return isinstance(choice, str) or (
        isinstance(choice, Mapping) and any(isinstance(part, str) for part in choice.values())
    )


def _score(
    pairs: PairCounts, label: str, choice: Any, budget: tuple[float, float], rng: int
) -> MechanismScore:
    """Return the score of one choice of mechanisms at (epsilon, delta)."""
    epsilon, slack = budget
    delta = [
        slack if isinstance(name, str) and MECHANISMS.find(name).approximate else 0.0
        for name in for_each(pairs.domain, choice, "mechanism")
    ]
    released = releases(pairs.domain, epsilon, choice, delta)
    used = mechanisms_of(pairs.domain, epsilon, choice, delta)
    bound = leakage_matrix(pairs, [release.epsilon for release in released]).tcpl
    frequencies = [marginal / pairs.records for marginal in pairs.marginals]
    seeds = np.random.SeedSequence([rng, *label.encode()]).spawn(len(used))
    simulated = [
        _simulate(each, marginal, np.random.default_rng(stream))
        for each, marginal, stream in zip(used, pairs.marginals, seeds, strict=True)
    ]
    power = sum(float((f**2).sum()) for f in frequencies)
    limited = [each for each in used if not each.informative]
    missed = [1 - np.diag(m.inferred_channel()) @ f for m, f in zip(used, frequencies, strict=True)]
    report = leakage_matrix(pairs, epsilon, mechanism=choice, delta=delta)
    inferred = leakage_matrix(pairs, epsilon, mechanism=choice, delta=delta, view="inferred")
    errors: list[float | None] = [None, None, None]
    if not limited:
        parts = zip(used, frequencies, strict=True)
        variance = sum(float(each.variance(pairs.records, f).sum()) for each, f in parts)
        error = sum(squared_error for squared_error, _ in simulated)
        errors = [error / power, variance / power, _server_seconds(max(used, key=lambda m: m.k))]
    return MechanismScore(
        mechanism=label,
        epsilon=max(release.epsilon for release in released),
        frequency_error=errors[0],
        expected_frequency_error=errors[1],
        zero_one_error=float(np.mean([zero_one for _, zero_one in simulated])),
        expected_zero_one_error=float(np.mean(missed)),
        delta=float(report.deltas.max(initial=0.0)),
        normalised_tcpl=report.tcpl / bound if bound > 0 else 1.0,
        normalised_tcpl_inferred=inferred.tcpl / bound if bound > 0 else 1.0,
        bits=float(np.mean([each.bits for each in used])),
        server_seconds=errors[2],
        estimates=(limited or used)[0].estimable,
    )


def _simulate(used: Mechanism, counts: Any, rng: np.random.Generator) -> tuple[float, float]:
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
        deque(batches(), maxlen=0)
    return error, float(np.concatenate(wrong).mean())


def _server_seconds(used: Mechanism) -> float:
    """Return the time to estimate from a million reports: best of three runs, extrapolated."""
    reports = used.perturb(np.zeros(TIMED_REPORTS, dtype=np.int64), 0)
    times = timeit.repeat(lambda: used.estimate(reports), number=1, repeat=3)
    return min(times) * 1e6 / TIMED_REPORTS
