"""The benchmarks of analysers and of mechanisms [paper, sections V-A and V-B]."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from seepage._core import checks
from seepage._core.errors import InputError
from seepage.benchmarks.benchmark import (
    Benchmark,
    checked_budgets,
    counted_tables,
    panel_parts,
    score_label,
)
from seepage.benchmarks.statistical.estimate_leakage import mechanisms_of
from seepage.channel.domain import for_each
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
        with a delta.
    rng
        Seed of what is simulated; the same seed gives the same numbers.
    **table
        How a table is read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

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
    reading = DataOptions.from_keywords(table, benchmark_mechanisms)
    seed = checks.required_seed(rng)
    budgets = checked_budgets(epsilons)
    tables = counted_tables({"data": data}, reading)
    pairs = tables["data"]
    if not pairs.records:
        raise InputError("a benchmark needs records, and these counts have none")
    tasks = [
        (epsilon, label, choice)
        for epsilon in budgets
        for label, choice in _labelled(mechanisms).items()
        if epsilon == budgets[0]
        or any(isinstance(part, str) for part in panel_parts(choice))
    ]
    scores: list[MechanismScore] = []
    for epsilon, label, choice in tasks:
        scores.append(_score(pairs, label, choice, (epsilon, delta), seed))
        if reading.progress is not None:
            reading.progress(len(scores), len(tasks))
    return Benchmark(tuple(scores), tables)


def _labelled(mechanisms: Any) -> dict[str, Any]:
    """Return the choices of mechanisms by label; two of the same label raise."""
    if isinstance(mechanisms, Mapping):
        return {
            checks.text(label, "mechanisms"): mechanisms[label] for label in mechanisms
        }
    given = checks.items(mechanisms, "mechanisms")
    choices = {score_label(choice, "mechanisms"): choice for choice in given}
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
