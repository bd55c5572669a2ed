"""The benchmark of mechanisms: leakage against utility [paper, section V-B]."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Integers
from seepage._core.errors import InputError
from seepage.benchmarks.benchmark import (
    Benchmark,
    checked_budgets,
    counted_tables,
    panel_parts,
    score_label,
)
from seepage.benchmarks.statistical.estimate_leakage import mechanisms_of
from seepage.channel.domain import Domain, for_each
from seepage.channel.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.mechanism_registry import MECHANISMS
from seepage.mechanisms.randomness import ROWS
from seepage.tables.table_options import DataOptions, TableKeywords

EIGHT = ("grr", "rappor", "exp", "oue", "blh", "olh", "she", "ss")
"""The mechanisms of the paper."""


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


def benchmark_mechanisms(
    data: Any,
    epsilons: Sequence[float] = (1.0, 3.0, 5.0),
    *,
    mechanisms: Any = EIGHT,
    delta: float = 0.0,
    rng: int = 0,
    **table: Unpack[TableKeywords],
) -> Benchmark:
    """Compare mechanisms by the utility and the leakage of their reports.

    Parameters
    ----------
    data
        A frame, the path of a table, the name of a dataset, `PairCounts` or `Records`.
    epsilons
        Budgets above 0, each used for every attribute.
    mechanisms
        A list of names, of `Mechanism` objects, and of mappings from attribute to name
        or `Mechanism`; or a mapping from a label of your own to such a choice.  The
        paper's eight by default.  Objects have their own budget, and are scored once if
        a choice has no name.
    delta
        The delta of mechanisms that need one, such as `"gauss"`; their leakages hold
        with a delta.  Raises if no mechanism uses it.
    rng
        Seed of what is simulated; the same seed gives the same numbers.
    **table
        How a table is read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

    Notes
    -----
    One report is simulated for each record and attribute.  Leakages are exact, so only
    the two simulated errors vary with the seed.

    Examples
    --------
    >>> import seepage as sp
    >>> benchmark = sp.benchmark_mechanisms(
    ...     "adult", [1.0], mechanisms=["grr", "oue"], columns=["sex", "race", "income"]
    ... )
    >>> [score.normalised_tcpl > 0.9 for score in benchmark.scores]
    [True, True]
    """
    reading = DataOptions.from_keywords(table, benchmark_mechanisms)
    seed = checks.required_seed(rng)
    budgets = checked_budgets(epsilons)
    tables = counted_tables({"data": data}, reading)
    pairs = tables["data"]
    if not pairs.records:
        raise InputError("a benchmark needs records, and these counts have none")
    labelled = _labelled(mechanisms)
    _check_delta_is_used(delta, labelled)
    panels = []
    for epsilon in budgets:
        for label, choice in labelled.items():
            if epsilon == budgets[0] or _takes_a_budget(choice):
                panels.append(Panel(label, choice, epsilon, delta))
    scores: list[MechanismScore] = []
    for panel in panels:
        scores.append(_score(pairs, panel, seed))
        if reading.progress is not None:
            reading.progress(len(scores), len(panels))
    return Benchmark(tuple(scores), tables)


@dataclass(frozen=True, eq=False)
class Panel:
    """A choice of mechanisms that is scored at one budget.

    Parameters
    ----------
    label
        Its name in the scores.
    choice
        A name, a `Mechanism`, or a mapping from attribute to either.
    epsilon
        The budget of mechanisms that are given by name.
    slack
        The delta of those among them that need one.
    """

    label: str
    choice: Any
    epsilon: float
    slack: float

    def deltas(self, domain: Domain) -> list[float]:
        """Return the delta of the benchmarked mechanism of each attribute."""
        deltas = []
        for mechanism in for_each(domain, self.choice, "mechanism"):
            approximate = False
            if isinstance(mechanism, str):
                approximate = MECHANISMS.find(mechanism).approximate
            deltas.append(self.slack if approximate else 0.0)
        return deltas


def _check_delta_is_used(delta: float, choices: Mapping[str, Any]) -> None:
    """Raise for a delta above 0 where every benchmarked mechanism has delta 0 or one of
    its own.
    """
    if checks.delta(delta) == 0:
        return
    for choice in choices.values():
        for part in panel_parts(choice):
            if isinstance(part, str) and MECHANISMS.find(part).approximate:
                return
    approximate = [name for name, family in MECHANISMS.items() if family.approximate]
    raise InputError(
        f"delta {delta:g} is used by none of {', '.join(choices)}, which have delta 0; "
        f"name one that needs it: {', '.join(approximate)}",
        parameter="delta",
    )


def _takes_a_budget(choice: Any) -> bool:
    """Return whether a benchmarked mechanism is given by name: objects have budgets of
    their own.
    """
    return any(isinstance(part, str) for part in panel_parts(choice))


def _labelled(mechanisms: Any) -> dict[str, Any]:
    """Return the choices of mechanisms to benchmark by label; two of the same label
    raise.
    """
    if isinstance(mechanisms, Mapping):
        return {
            checks.text(label, "mechanisms"): mechanisms[label] for label in mechanisms
        }
    listed = checks.items(mechanisms, "mechanisms")
    choices = {score_label(choice, "mechanisms"): choice for choice in listed}
    if len(choices) < len(listed):
        raise InputError(
            "mechanisms must have different names; give a mapping from labels of your "
            "own",
            parameter="mechanisms",
        )
    return choices


def _score(pairs: PairCounts, panel: Panel, rng: int) -> MechanismScore:
    """Return the benchmark's score of one choice of mechanisms at one budget."""
    delta = panel.deltas(pairs.domain)
    mechanisms = mechanisms_of(pairs.domain, panel.epsilon, panel.choice, delta)
    report = leakage_matrix(pairs, panel.epsilon, mechanism=panel.choice, delta=delta)
    inferred = leakage_matrix(
        pairs, panel.epsilon, mechanism=panel.choice, delta=delta, view="inferred"
    )
    budgets = [release.epsilon for release in report.releases]
    bound = leakage_matrix(pairs, budgets).tcpl
    utilities = _utilities(pairs, mechanisms, panel.label, rng)
    power = sum(utility.power for utility in utilities)
    return MechanismScore(
        mechanism=panel.label,
        epsilon=max(budgets),
        delta=float(report.deltas.max(initial=0.0)),
        frequency_error=_normalised_error(
            [utility.squared_error for utility in utilities], power
        ),
        expected_frequency_error=_normalised_error(
            [utility.variance for utility in utilities], power
        ),
        zero_one_error=_mean([utility.zero_one_error for utility in utilities]),
        expected_zero_one_error=_mean(
            [utility.expected_zero_one_error for utility in utilities]
        ),
        normalised_tcpl=_normalised(report.tcpl, bound),
        normalised_tcpl_inferred=_normalised(inferred.tcpl, bound),
        bits=_mean([mechanism.bits for mechanism in mechanisms]),
        estimates=_estimable(mechanisms),
    )


def _mean(values: Sequence[float]) -> float:
    """Return the mean of a mechanism's scores over attributes."""
    return float(np.mean(values))


def _normalised_error(errors: Sequence[float | None], power: float) -> float | None:
    """Return a mechanism's NMSE of all frequencies; None where one attribute has no
    estimates.
    """
    known = [error for error in errors if error is not None]
    if len(known) < len(errors):
        return None
    return sum(known) / power


def _normalised(tcpl: float, bound: float) -> float:
    """Return a mechanism's TCPL as a share of that of Algorithm 2; 1 where that is
    0.
    """
    if bound > 0:
        return tcpl / bound
    return 1.0


def _estimable(mechanisms: Sequence[Mechanism]) -> str:
    """Return what can be estimated from the reports of benchmarked mechanisms: by the
    one that limits it.
    """
    for mechanism in mechanisms:
        if not mechanism.informative:
            return mechanism.estimable
    return mechanisms[0].estimable


# Utility ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Utility:
    """Errors of the reports of one attribute.

    Parameters
    ----------
    squared_error, variance
        Sum of the squared errors of the estimated frequencies, simulated and expected;
        None where the mechanism cannot estimate every frequency.
    power
        Sum of the squared frequencies.
    zero_one_error, expected_zero_one_error
        How often the inferred value is wrong.
    """

    squared_error: float | None
    variance: float | None
    power: float
    zero_one_error: float
    expected_zero_one_error: float


def _utilities(
    pairs: PairCounts, mechanisms: Sequence[Mechanism], label: str, rng: int
) -> list[Utility]:
    """Return the utility of each attribute's mechanism."""
    entropy = [rng, *label.encode()]
    seeds = np.random.SeedSequence(entropy).spawn(len(mechanisms))
    utilities = []
    for mechanism, counts, seed in zip(mechanisms, pairs.marginals, seeds, strict=True):
        generator = np.random.default_rng(seed)
        utilities.append(_utility(mechanism, counts, pairs.records, generator))
    return utilities


def _utility(
    mechanism: Mechanism, counts: Integers, records: int, rng: np.random.Generator
) -> Utility:
    """Return the utility of one attribute's mechanism, from one report for each
    record.
    """
    frequencies = counts / records
    missed = 1 - np.diag(mechanism.inferred_channel()) @ frequencies
    variance = None
    if mechanism.informative:
        variance = float(mechanism.variance(records, frequencies).sum())
    squared_error, zero_one_error = _simulate(mechanism, counts, rng)
    return Utility(
        squared_error=squared_error,
        variance=variance,
        power=float((frequencies**2).sum()),
        zero_one_error=zero_one_error,
        expected_zero_one_error=float(missed),
    )


def _simulate(
    mechanism: Mechanism, counts: Integers, rng: np.random.Generator
) -> tuple[float | None, float]:
    """Return a mechanism's sum of squared frequency errors of one attribute, and the
    0-1 error.
    """
    codes = np.repeat(np.arange(mechanism.k), counts)
    wrong: list[Booleans] = []

    def batches() -> Iterator[Any]:
        """Yield the simulated reports of a mechanism in batches of records."""
        for start in range(0, len(codes), ROWS):
            true = codes[start : start + ROWS]
            reports = mechanism.perturb(true, rng)
            wrong.append(mechanism.infer(reports, rng) != true)
            yield reports

    error = None
    if mechanism.informative:
        estimate = mechanism.estimate(batches()).frequencies
        error = float(((estimate - counts / len(codes)) ** 2).sum())
    else:
        for _ in batches():
            pass
    return error, float(np.concatenate(wrong).mean())
