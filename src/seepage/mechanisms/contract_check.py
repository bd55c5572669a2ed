"""`check_mechanism`: whether a mechanism does what it states.

The truth comes from enumerating every report of a small alphabet (of local hashing: of
some seeds), and from reports that are drawn.  Statistical checks allow 5 standard
errors or more; the seed is fixed, so what is found does not change from run to run.
"""

import itertools
import math
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage.leakage.delta import delta_of_reports
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.goodness_of_fit import counts_fit
from seepage.mechanisms.mechanism_registry import MECHANISMS, MechanismFamily
from seepage.mechanisms.reports import BitReports, HashReports, Reports, ValueReports
from seepage.mechanisms.support_independence import supports_are_independent

K = 4
"""The alphabet size at which a class is checked."""


EPSILON = 1.0
"""The budget at which a class is checked."""


DELTA = 1e-3
"""The delta at which an approximate class is checked."""


BUDGETS = (0.1, 1.0, 5.0)
"""The budgets at which a class must state no larger epsilon."""


DRAWS = 40_000
"""Reports drawn."""


RUNS = 500
"""Repeated estimates."""


CHANNELS = 25
"""Random correlation channels."""


SEEDS = 400
"""Hash functions of the enumeration."""


EXACT = 1e-9
"""Relative difference up to which two exact values are equal."""


NOISELESS = 1e-14
"""Stated variance below which an estimate has no noise but rounding."""


MAX_ENUMERATED = 10
"""Largest alphabet whose sets are enumerated."""


# Whether a mechanism is what it states ------------------------------------------------


def check_mechanism(mechanism: type[Mechanism] | Mechanism | str) -> dict[str, str]:
    """Return the promises that a mechanism breaks: probabilities, budget, estimates,
    attack and leakage.

    Parameters
    ----------
    mechanism
        A class, registered or not, the name of a registered one, or an instance.  A
        class is checked for 4 values, its budget at epsilon 0.1, 1 and 5; an instance
        as it is.

    Returns
    -------
    dict
        The problem of each property that does not hold; empty if all hold:

        probabilities
            the stated likelihoods of all reports sum to 1, and drawn reports follow
            them;
        budget
            no two values give a report likelihoods that differ by more than `epsilon`,
            except within `delta`, and both are within the budget asked for;
        estimates
            unbiased, with the standard errors that `variance` states;
        attack
            guesses follow `inferred_channel`;
        leakage
            equal to the largest log-ratio over all reports, for random channels.

    Notes
    -----
    Reports that are neither values, sets of at most 10 values nor hashes cannot be
    enumerated; then 2,000 drawn reports take their place, which can refute but hardly
    confirm.  About a second.

    Examples
    --------
    >>> import seepage as sp
    >>> check_mechanism("oue")
    {}
    >>> class Careless(sp.GRR):
    ...     def leakage(self, G):
    ...         return sp.GRR(self.k, self.epsilon / 2).leakage(G)
    >>> check_mechanism(Careless)
    {'leakage': 'states 0.4426, and a report leaks 0.9005'}
    """
    if isinstance(mechanism, Mechanism):
        tested = mechanism
        budget_problem = _budget(tested, tested.epsilon, tested.delta)
    else:
        family = _family(mechanism)
        delta = DELTA if family.approximate else 0.0
        tested = family.create(K, EPSILON, delta)
        budget_problem = _budgets_of_class(family, delta)
    problems = {
        "probabilities": _probabilities(tested),
        "budget": budget_problem,
        "estimates": _estimates(tested),
        "attack": _attack(tested),
        "leakage": _leakage(tested),
    }
    return {what: problem for what, problem in problems.items() if problem}


def _family(mechanism: Any) -> MechanismFamily:
    """Return the class of a mechanism to check, itself or by its registered name."""
    if isinstance(mechanism, str):
        return MECHANISMS.find(mechanism)
    if not (isinstance(mechanism, type) and issubclass(mechanism, Mechanism)):
        raise checks.violation(
            "mechanism", "a Mechanism, its class or its name", mechanism
        )
    return mechanism


def _budgets_of_class(family: MechanismFamily, delta: float) -> str:
    """Check the budgets of a mechanism's class; return the first problem."""
    for epsilon in BUDGETS:
        problem = _budget(family.create(K, epsilon, delta), epsilon, delta)
        if problem:
            return problem
    return ""


def every_report(tested: Mechanism, seeds: int = SEEDS) -> list[Any]:
    """Return groups of reports to check, each complete: one of the group is drawn,
    whatever the value.

    Reports of local hashing are complete for each seed, of which some are taken; none
    where the reports cannot be enumerated.
    """
    origin = tested.describe()
    k = tested.k
    if tested.reports is ValueReports:
        return [ValueReports.of(origin, np.arange(tested.outputs), tested.outputs)]
    if tested.reports is BitReports and k <= MAX_ENUMERATED:
        sets = np.array(list(itertools.product([False, True], repeat=k)))
        return [_accepted(tested, BitReports(origin, BitReports.pack(sets)))]
    if tested.reports is HashReports:
        tried = HashReports(
            origin, np.zeros(64, np.uint64), np.arange(64, dtype=np.uint8)
        )
        buckets = _accepted(tested, tried).buckets
        drawn = np.random.default_rng(1).integers(2**63, size=seeds, dtype=np.uint64)
        return [
            HashReports(origin, np.full(len(buckets), seed), buckets) for seed in drawn
        ]
    return []


def _accepted(tested: Mechanism, candidates: Any) -> Any:
    """Return the candidates that the checked mechanism accepts as its reports."""
    kept = []
    for row in range(len(candidates)):
        with suppress(InputError):
            tested.log_likelihood(candidates[row : row + 1])
            kept.append(row)
    return candidates[np.array(kept)]


def report_leakages(tested: Mechanism, reports: Reports, channel: Floats) -> Floats:
    """Return the leakage of each report to check about the target: ln of the largest
    ratio of two rows; 0 for a report that no value has.
    """
    logarithms = tested.log_likelihood(reports)
    likeliest = logarithms.max(axis=1, keepdims=True)
    is_possible = np.isfinite(likeliest[:, 0])
    likelihoods = np.exp(logarithms[is_possible] - likeliest[is_possible])
    rows = channel @ likelihoods.T
    leakages = np.zeros(len(logarithms))
    with np.errstate(divide="ignore"):
        leakages[is_possible] = np.log(rows.max(axis=0) / rows.min(axis=0))
    return leakages


def _probabilities(tested: Mechanism) -> str:
    """Check the probabilities that a mechanism states; return the first problem."""
    groups = every_report(tested, seeds=3)
    for group in groups:
        totals = np.exp(tested.log_likelihood(group)).sum(axis=0)
        worst = max(totals.tolist(), key=lambda total: abs(total - 1))
        if abs(worst - 1) > EXACT:
            return f"the probabilities of all reports sum to {worst:.6g}"
    reports = tested.perturb(np.zeros(DRAWS, dtype=np.int64), 21)
    if not supports_are_independent(tested):
        return (
            "values are not supported independently of each other, as two levels assume"
        )
    if len(groups) == 1:
        drawn = Counter(map(repr, reports.array().to_pylist()))
        all_reports = map(repr, groups[0].array().to_pylist())
        seen = np.array([drawn[report] for report in all_reports])
        stated = np.exp(tested.log_likelihood(groups[0])[:, 0])
        far = seen.sum() < DRAWS or not counts_fit(seen, stated)
    else:  # E[P(y given v) / P(y given u)] = 1 under u
        ratios = np.exp(np.diff(tested.log_likelihood(reports)[:, [0, tested.k - 1]]))
        error = max(float(ratios.std()) / math.sqrt(DRAWS), EXACT)
        far = abs(float(ratios.mean()) - 1) > 5 * error
    if not far:
        return ""
    return "reports are not drawn with the stated probabilities"


def _budget(tested: Mechanism, epsilon: float, delta: float) -> str:
    """Check the budget that a mechanism states; return the first problem."""
    values = np.eye(tested.k)
    exceeds = not tested.realised_epsilon <= tested.epsilon <= epsilon * (1 + EXACT)
    if exceeds or tested.delta > delta * (1 + EXACT):
        return (
            f"({tested.epsilon:.6g}, {tested.delta:.3g}) exceeds ({epsilon:g}, "
            f"{delta:g})"
        )
    for group in every_report(tested, seeds=20):
        rows = np.exp(tested.log_likelihood(group)).T
        if delta_of_reports(values, rows, tested.epsilon) > tested.delta + EXACT:
            needed = report_leakages(tested, group, values).max()
            return f"states epsilon {tested.epsilon:.4f}, and a report has {needed:.4f}"
    return ""


def _estimates(tested: Mechanism) -> str:
    """Check the estimates that a mechanism makes; return the first problem."""
    if not tested.informative:
        return ""
    rows = 400
    k = tested.k
    codes = np.arange(rows) % 7 % k
    truth = np.bincount(codes, minlength=k) / rows
    reports = tested.perturb(np.tile(codes, RUNS), 31)
    runs = [tested.estimate(reports[i * rows : (i + 1) * rows]) for i in range(RUNS)]
    variance = tested.variance(rows, truth)
    stated = np.sqrt(np.maximum(variance, EXACT**2))
    scores = (np.array([run.frequencies for run in runs]) - truth) / stated
    bias = scores.mean(axis=0)
    spread = np.square(scores).mean(axis=0)
    if np.abs(bias).max() > 5 / math.sqrt(RUNS):
        value = int(np.abs(bias).argmax())
        return f"biased by {bias[value] * stated[value]:.3g} for value {value}"
    spread[variance < NOISELESS] = 1.0
    value = int(np.abs(spread - 1).argmax())
    if k == 1 or abs(spread[value] - 1) <= 5 * math.sqrt(2 / RUNS):
        return ""
    return f"the variance of value {value} is {spread[value]:.3g} times the stated one"


def _attack(tested: Mechanism) -> str:
    """Check the guesses that a mechanism makes of reports; return the first problem."""
    k = tested.k
    codes = np.repeat(np.arange(tested.k), DRAWS // 4)
    guesses = tested.infer(tested.perturb(codes, 41), 42)
    seen = np.bincount(codes * k + guesses, minlength=k * k).reshape(k, k)
    if counts_fit(seen, tested.inferred_channel()):
        return ""
    return "guesses do not follow inferred_channel"


def _leakage(tested: Mechanism) -> str:
    """Check the leakages that a mechanism states; return the first problem."""
    rng = np.random.default_rng(51)
    groups = every_report(tested)
    is_enumerated = bool(groups)
    if not is_enumerated:
        groups = [tested.perturb(np.arange(2000) % tested.k, 1)]
    leakage_of = tested.pure_leakage if tested.delta else tested.leakage
    for _ in range(CHANNELS):
        channel = rng.dirichlet(np.full(tested.k, 0.4), size=3)
        stated = leakage_of(channel).value
        most = 0.0
        for group in groups:
            most = max(most, float(report_leakages(tested, group, channel).max()))
        if stated < most * (1 - EXACT) - EXACT:
            return f"states {stated:.4f}, and a report leaks {most:.4f}"
        if is_enumerated and stated > most * (1 + EXACT) + EXACT:
            return f"states {stated:.4f}, and no report leaks more than {most:.4f}"
    return ""
