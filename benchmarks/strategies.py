"""Ways to ask several attributes of each person at one limit: error, and the total
found.

A design, SMP, SPL, RS+FD [Arcolezi et al. 2021], RS+RFD [Arcolezi et al. 2023] and
Corr-RR [Seeam, Zheng and Hu 2026] get the limit as their epsilon.  A design keeps it
for every single attribute; SMP, SPL and Corr-RR keep it for the whole record, which is
more.  Errors are mean squared errors of the estimated frequencies, summed over values,
mean over attributes, noise and sampling together.  The total is the exact supremum over
all that a person sends, of the attribute about which it tells most.
"""

import math
from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

import seepage as sp
from benchmarks import Figure, declared
from seepage._core.arrays import Floats
from seepage.designs.report_precision import grr_chances
from seepage.designs.strategies import SPLIT, UNIFORM_SMP

__all__ = ["corr_rr", "fake_data", "main"]

LIMITS = (1.0, 3.0)

PEOPLE = (1_000, 10_000, 100_000)

TABLES = (("celeba", 10), ("cardio", 7))
"""Datasets and the number of their first attributes that are asked."""

FIRST_PHASE = 0.1
"""Share of the people in the first phase of Corr-RR."""


class Outcome(NamedTuple):
    """What to expect of a strategy.

    Parameters
    ----------
    errors
        The mean squared error for each number in `PEOPLE`.
    total
        The largest exact total, in nats.
    squared_bias
        The part of the error that more people do not reduce.
    """

    errors: tuple[float, ...]
    total: float
    squared_bias: float = 0.0


def main() -> list[Figure]:
    """Measure every strategy on real tables, at each limit."""
    figures = []
    for name, count in TABLES:
        records = _first_attributes(name, count)
        for limit in LIMITS:
            outcomes = _outcomes(records, limit)
            design = outcomes["design"]
            what = f"{name}, {count} attributes, limit {limit:g}"
            for strategy, outcome in outcomes.items():
                figures.append(_figure(f"{what}: {strategy}", outcome, design))
    return figures


def _figure(what: str, outcome: Outcome, design: Outcome) -> Figure:
    errors = ", ".join(f"{error:.3g}" for error in outcome.errors)
    total = f"total {outcome.total:.3f}"
    if outcome.squared_bias:
        total += f", squared bias {outcome.squared_bias:.3g}"
    middle = outcome.errors[1] / design.errors[1]
    return Figure(
        what,
        f"error at 1,000, 10,000, 100,000 people: {errors}",
        total,
        f"{middle:.3g} x",
    )


def _first_attributes(name: str, count: int) -> sp.Records:
    data = sp.dataset(name)
    records = declared(data.read(), **data.table)
    return records.select(list(records.domain.names[:count]))


def _outcomes(records: sp.Records, limit: float) -> dict[str, Outcome]:
    """Return the outcome of each strategy by name."""
    pairs = records.pairs()
    uniform = [np.full(size, 1 / size) for size in pairs.domain.sizes]
    plan = sp.design(records, limit, scope="table", people=PEOPLE[0])
    errors = {strategy.name: strategy.error for strategy in plan.alternatives}
    split = sp.total_leakage(
        records, limit / len(pairs.domain), mechanism="grr", guarantee="exact"
    )
    split_total = float(split.values.max())
    design_error = plan.provenance.settings["design"]["error"]
    outcomes = {
        "design": Outcome(_unbiased(design_error), float(plan.totals.max())),
        "SMP": Outcome(_unbiased(errors[UNIFORM_SMP]), limit),
        "SPL": Outcome(_unbiased(errors[SPLIT]), split_total),
        "RS+FD": fake_data(pairs, limit, uniform),
        "RS+RFD": fake_data(pairs, limit, _frequencies(pairs)),
    }
    if len(set(pairs.domain.sizes)) == 1:
        outcomes["Corr-RR"] = corr_rr(pairs, limit, split_total)
    return outcomes


def _unbiased(error: float) -> tuple[float, ...]:
    """Return the errors of unbiased estimates from that of the first number of
    people.
    """
    return tuple(error * PEOPLE[0] / people for people in PEOPLE)


def _frequencies(pairs: sp.PairCounts) -> list[Floats]:
    return [marginal / pairs.records for marginal in pairs.marginals]


# RS+FD and RS+RFD ---------------------------------------------------------------------


def fake_data(pairs: sp.PairCounts, epsilon: float, fakes: Sequence[Floats]) -> Outcome:
    """Return the outcome of one random attribute by GRR and fake answers to the others.

    Since nobody knows which answer is the true one, GRR has the amplified budget
    ln(d (e^eps - 1) + 1) for d attributes.

    Parameters
    ----------
    pairs, epsilon
        The table, and the budget of the whole record.
    fakes
        The distribution of the fake answers of each attribute: uniform for RS+FD, a
        prior for RS+RFD, here the true frequencies, the best case.
    """
    count = len(pairs.domain)
    amplified = math.log1p(count * math.expm1(epsilon))
    variance = 0.0
    for f, fake in zip(_frequencies(pairs), fakes, strict=True):
        q, gap = grr_chances(len(f), amplified)
        reported = (q + gap * f + (count - 1) * fake) / count
        variance += float((reported * (1 - reported)).sum()) * (count / gap) ** 2
    total = max(
        _mixture_leakage(parts)
        for parts in _likelihood_parts(pairs, amplified, list(fakes))
    )
    return Outcome(_unbiased(variance / count / PEOPLE[0]), total)


def _likelihood_parts(
    pairs: sp.PairCounts, epsilon: float, fakes: list[Floats]
) -> list[list[Floats]]:
    """Return, for each target, P(y_j given x) / fake_j(y_j) of each attribute j that
    may be the true one.

    The likelihood of all answers y is proportional to the sum over j.
    """
    return [
        [report / fake for report, fake in zip(reports, fakes, strict=True)]
        for reports in _report_channels(pairs, epsilon)
    ]


def _report_channels(pairs: sp.PairCounts, epsilon: float) -> list[list[Floats]]:
    """Return P(GRR report of j given the target's value), for each target and j."""
    domain = pairs.domain
    channels = []
    for target in domain:
        reports = []
        for source in domain:
            report = sp.GRR(source.size, epsilon).channel()
            if source is not target:
                report = pairs.channel(target.name, source.name).matrix @ report
            reports.append(report)
        channels.append(reports)
    return channels


def _mixture_leakage(parts: list[Floats]) -> float:
    """Return ln max over y, x, x' of sum_j a_j[x, y_j] / sum_j a_j[x', y_j].

    Dinkelbach's iteration: for given H each y_j maximises a_j[x] - H a_j[x'] by itself.
    """
    largest = 1.0
    for x, other in permutations(range(len(parts[0])), 2):
        while True:
            best = [int((a[x] - largest * a[other]).argmax()) for a in parts]
            numerator = sum(float(a[x, y]) for a, y in zip(parts, best, strict=True))
            denominator = sum(
                float(a[other, y]) for a, y in zip(parts, best, strict=True)
            )
            if numerator <= largest * denominator * (1 + 1e-12):
                break
            largest = numerator / denominator
    return math.log(largest)


# Corr-RR ------------------------------------------------------------------------------


def corr_rr(pairs: sp.PairCounts, epsilon: float, split_total: float) -> Outcome:
    """Return the outcome of Corr-RR, for attributes with the same number of values.

    A tenth of the people report all d attributes by GRR at epsilon / d.  Each of the
    others reports one random attribute, the pivot, by GRR at epsilon; the report of
    another attribute is that of the pivot with some probability, else another value.
    All are estimated as GRR reports, and both phases averaged: biased for non-pivots.

    Parameters
    ----------
    pairs, epsilon
        The table, and the budget of the whole record.
    split_total
        The largest total of the first phase.

    Notes
    -----
    As in the authors' code (github.com/shafizurRseeam/Corr-RR), but for the
    probabilities of copying: they follow from the true frequencies, in place of the
    first phase's estimates, which is the best case.
    """
    f = np.array(_frequencies(pairs))
    outcomes = [_corr_rr_errors(f, epsilon, people) for people in PEOPLE]
    totals = [
        _copied_leakage(
            _report_channels(pairs, epsilon), _copy_chances(f, epsilon, people)
        )
        for people in PEOPLE
    ]
    return Outcome(
        errors=tuple(error for error, _ in outcomes),
        total=max(split_total, *totals),
        squared_bias=outcomes[-1][1],
    )


def _corr_rr_errors(f: Floats, epsilon: float, people: int) -> tuple[float, float]:
    """Return the error for a number of people, and its squared bias."""
    count, size = f.shape
    q, gap = grr_chances(size, epsilon)
    low, split_gap = grr_chances(size, epsilon / count)
    reported = q + gap * f
    copied = _copy_chances(f, epsilon, people)[:, :, None]
    others = (1 - reported) / (size - 1)
    drawn = copied * reported[:, None] + (1 - copied) * others[:, None]
    drawn[np.diag_indices(count)] = reported
    second = drawn.mean(axis=0)
    first = low + split_gap * f
    variance = FIRST_PHASE * first * (1 - first) / split_gap**2
    variance += (1 - FIRST_PHASE) * second * (1 - second) / gap**2
    bias = (1 - FIRST_PHASE) * ((second - q) / gap - f)
    squared_bias = float((bias**2).sum() / count)
    return float(variance.sum() / count) / people + squared_bias, squared_bias


def _copy_chances(f: Floats, epsilon: float, people: int) -> Floats:
    """Return the probability that b's report copies the pivot a's, [a, b]: it minimises
    the squared error of a and b that the second phase expects.
    """
    _, gap = grr_chances(f.shape[1], epsilon)
    a = f[:, None]
    b = f[None, :]
    scale = (1 - FIRST_PHASE) * people * gap**2
    offset = 1 - a - b
    slope = 2 * b - 1
    alpha = (1 - gap) / f.shape[1] + gap / 2 * (offset + 2 * a)
    beta = gap / 2 * slope
    linear = (offset * slope / 2 + beta * (1 - 2 * alpha) / scale).sum(axis=2)
    square = (slope**2 / 4 - beta**2 / scale).sum(axis=2)
    flat = np.abs(square) < 1e-12
    minimum = -linear / (2 * np.where(flat, 1.0, square))
    return np.where(flat, 0.5, np.clip(minimum, 0.0, 1.0))


def _copied_leakage(channels: list[list[Floats]], copied: Floats) -> float:
    """Return the largest leakage of the second phase, by enumeration of all reports.

    P(y given x) = mean over pivots j of P(y_j given x) times the product over i of the
    probability of y_i given y_j.
    """
    count = len(copied)
    size = channels[0][0].shape[1]
    reports = np.indices((size,) * count).reshape(count, -1)
    weights = np.ones((count, reports.shape[1]))
    for j, i in permutations(range(count), 2):
        same = reports[i] == reports[j]
        other = (1 - copied[j, i]) / (size - 1)
        weights[j] *= np.where(same, copied[j, i], other)
    largest = 0.0
    for parts in channels:
        likelihoods = sum(
            part[:, reports[j]] * weights[j] for j, part in enumerate(parts)
        )
        likelihoods = likelihoods[:, likelihoods.max(axis=0) > 0]
        ratios = likelihoods.max(axis=0) / likelihoods.min(axis=0)
        largest = max(largest, math.log(float(ratios.max())))
    return largest
