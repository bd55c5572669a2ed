"""What mechanisms give for what they leak: utility against total leakage.

[paper, section V-B]
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from seepage import _checks
from seepage._results import Progress
from seepage.data.domain import how_many, sample_caution
from seepage.data.inputs import as_pairs
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms import Mechanism, mechanism
from seepage.study.benchmark_analysers import ScoreTable, check_comparable, positive_epsilon

EIGHT = ("grr", "rappor", "exp", "oue", "blh", "olh", "she", "ss")
"""The mechanisms of the paper."""

TIMED_REPORTS = 100_000


@dataclass(frozen=True)
class MechanismScore:
    """Utility and leakage of one mechanism on one data set at one epsilon.

    Parameters
    ----------
    mechanism, epsilon
        What was measured.
    frequency_error, expected_frequency_error
        NMSE of the estimated frequencies over all attributes: sum (f~ - f)^2 / sum f^2, simulated
        and in closed form.
    zero_one_error, expected_zero_one_error
        The share of records whose value the attack does not guess, simulated and in closed form.
    normalised_tcpl, normalised_tcpl_inferred
        Total leakage over all ordered pairs relative to that of Algorithm 2: of the whole report,
        and of the inferred value only.
    bits
        The mean size of one report.
    server_seconds
        Time to estimate the frequencies from a million reports, scaled from fewer.
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
        One for each epsilon and mechanism.
    sample
        The data set where it is a sample of records; None where all were counted.
    """

    scores: tuple[MechanismScore, ...]
    sample: PairCounts | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know besides: that the leakages are those of a sample."""
        caution = None if self.sample is None else sample_caution(self.sample)
        return () if caution is None else (caution,)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        return {"scores": [asdict(score) for score in self.scores], "notes": list(self.notes)}

    def _headline(self) -> str:
        sample = "" if self.sample is None else f", {how_many(self.sample)}"
        return f"MechanismBenchmark({len(self.scores)} scores{sample})"

    def chart(self) -> Any:
        """Return the paper's two panels, and a third with the leakage of the whole report."""
        from seepage.charts.scatter import mechanism_chart

        chart = mechanism_chart([asdict(score) for score in self.scores])
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
    """Compare mechanisms by the utility of their reports and what the reports leak.

    Parameters
    ----------
    data
        A frame, the path of a table, the name of a dataset, `PairCounts` or `Records`.
    epsilons
        Budgets above 0, each used for every attribute.
    mechanisms
        Names of registered mechanisms; the paper's eight by default.
    seed
        Of the simulation; the same seed gives the same errors.
    progress
        Called with the number of mechanisms done, and their total.
    table_options
        Table options of `count_pairs`.

    Notes
    -----
    One report is simulated for each record and attribute.  Leakages are exact, so only the two
    simulated errors vary with the seed.

    Examples
    --------
    >>> import seepage as sp
    >>> found = sp.benchmark_mechanisms(
    ...     "adult", [1.0], mechanisms=["grr", "oue"], columns=["sex", "race", "income"]
    ... )
    >>> [score.normalised_tcpl > 0.9 for score in found.scores]
    [True, True]
    """
    pairs = as_pairs(data, **table_options)
    check_comparable("the data set", pairs)
    _checks.progress(progress)
    budgets = [positive_epsilon(epsilon) for epsilon in _checks.items(epsilons, "epsilons")]
    mechanisms = _checks.texts(mechanisms, "mechanisms")
    fixed = _checks.integer(seed, "seed", 0)
    if not pairs.records:
        raise InputError("a benchmark needs records, and these counts have none")
    scores = []
    for epsilon in budgets:
        bound = leakage_matrix(pairs, epsilon).tcpl
        for name in mechanisms:
            scores.append(_score(pairs, name, epsilon, bound, fixed))
            if progress is not None:
                progress(len(scores), len(budgets) * len(mechanisms))
    return MechanismBenchmark(tuple(scores), None if pairs.population is None else pairs)


def _score(pairs: PairCounts, name: str, epsilon: float, bound: float, seed: int) -> MechanismScore:
    made = [mechanism(name, attribute.size, epsilon) for attribute in pairs.domain]
    shares = [marginal / pairs.records for marginal in pairs.marginals]
    sources = np.random.SeedSequence([seed, *name.encode()]).spawn(len(made))
    simulated = [
        _simulate(one, marginal, np.random.default_rng(source))
        for one, marginal, source in zip(made, pairs.marginals, sources, strict=True)
    ]
    power = sum(float((share**2).sum()) for share in shares)
    expected = sum(
        float(one.variance(pairs.records, share).sum())
        for one, share in zip(made, shares, strict=True)
    )
    largest = max(made, key=lambda one: one.k)
    return MechanismScore(
        mechanism=name,
        epsilon=epsilon,
        frequency_error=sum(error for error, _ in simulated) / power,
        expected_frequency_error=expected / power,
        zero_one_error=float(np.mean([misses for _, misses in simulated])),
        expected_zero_one_error=float(np.mean([1 - one.hit_rate for one in made])),
        normalised_tcpl=_relative(leakage_matrix(pairs, epsilon, mechanism=name).tcpl, bound),
        normalised_tcpl_inferred=_relative(
            leakage_matrix(pairs, epsilon, mechanism=name, view="inferred").tcpl, bound
        ),
        bits=float(np.mean([one.bits for one in made])),
        server_seconds=_server_seconds(largest),
    )


def _simulate(one: Mechanism, counts: Any, rng: np.random.Generator) -> tuple[float, float]:
    """Return the squared frequency error of one attribute and the share of wrong guesses."""
    codes = np.repeat(np.arange(one.k), counts)
    wrong: list[Any] = []

    def guessed() -> Iterator[Any]:
        done = 0
        for reports in one.perturb_batches(codes, rng):
            wrong.append(one.infer(reports, rng) != codes[done : done + len(reports)])
            done += len(reports)
            yield reports

    error = one.estimate(guessed()).frequencies - counts / len(codes)
    return float((error**2).sum()), float(np.concatenate(wrong).mean())


def _server_seconds(one: Mechanism) -> float:
    """Return the time to estimate from a million reports, best of three, scaled up."""
    reports = one.perturb(np.zeros(TIMED_REPORTS, dtype=np.int64), 0)
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        one.estimate(reports)
        times.append(time.perf_counter() - begin)
    return min(times) * 1e6 / TIMED_REPORTS


def _relative(total: float, bound: float) -> float:
    """Return a total relative to the bound's; 1 where nothing can leak at all."""
    return total / bound if bound > 0 else 1.0
