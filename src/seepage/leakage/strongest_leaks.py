"""The strongest leaks of a table: one per pair of groups of attributes, ranked.

A leakage is a maximum over values, so rare and missing values lead a ranking by
leakage.  Leaks are ranked by min(lower, supported): the lower confidence limit for the
population, `LeakageMatrix.interval`, and the leakage among values with enough records.
Attributes that determine each other (education and education-num) form one group, with
one entry per two groups.
"""

from bisect import bisect_right, insort
from dataclasses import replace

from seepage._core import checks
from seepage.channel.pairs import PairCounts
from seepage.confidence.leakage_intervals import LeakageIntervals
from seepage.leakage.equivalent_attributes import equivalent_groups
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.pair_leak import Leak, ranked_pairs

MAX_WITNESS_RECORDS = 500
"""Minimum number of records of a target value in a witness, but at most 1/20 of all
records."""


def witness_records(pairs: PairCounts) -> int:
    """Return the minimum number of records of a target value in the witness of a strong
    leak.
    """
    return min(MAX_WITNESS_RECORDS, pairs.records // 20)


def find_leaks(matrix: LeakageMatrix, count: int = 10) -> list[Leak]:
    """Return the strongest leaks between groups of equivalent attributes, largest
    `rank` first.

    Leaks whose lower confidence limit is 0 are left out.

    Parameters
    ----------
    matrix
        The leakages.
    count
        Maximum number of leaks.

    Examples
    --------
    >>> import seepage as sp
    >>> first = find_leaks(sp.leakage_matrix("adult", 1.0, mechanism="grr"), 1)[0]
    >>> first.source, first.target
    ('marital-status', 'relationship')
    """
    checks.integer(count, "count", 0)
    if matrix.pairs.pooled:  # without confidence limits
        return _strongest_of_pooled(matrix, count)
    intervals = matrix.interval()
    groups = equivalent_groups(matrix.pairs)
    group_of = {index: group for group in groups for index in group}
    leaks = dict[tuple[tuple[int, ...], tuple[int, ...]], Leak]()
    negative_ranks = list[float]()
    for target, source in ranked_pairs(intervals.lower, intervals.values):
        limit = intervals.lower[target, source]
        # A rank is at most its lower confidence limit, so no later leak precedes these.
        if limit <= 0 or bisect_right(negative_ranks, -limit) >= count:
            break
        targets = group_of[target]
        sources = group_of[source]
        if targets == sources or (targets, sources) in leaks:
            continue
        leak = _with_evidence(matrix, intervals, target=target, source=source)
        leak = replace(
            leak,
            targets=tuple(matrix.domain.names[index] for index in targets),
            sources=tuple(matrix.domain.names[index] for index in sources),
        )
        leaks[targets, sources] = leak
        insort(negative_ranks, -leak.rank)
    return sorted(leaks.values(), key=lambda leak: -leak.rank)[:count]


def _strongest_of_pooled(matrix: LeakageMatrix, count: int) -> list[Leak]:
    """Return the strongest leaks of counts with pooled values, with their witnesses."""
    least = witness_records(matrix.pairs)
    leaks = []
    for leak in matrix.strongest(count):
        supported = matrix.leak_among(leak.target, leak.source, least)
        leaks.append(
            replace(leak, witness=supported.witness, supported=supported.value)
        )
    return leaks


def _with_evidence(
    matrix: LeakageMatrix, intervals: LeakageIntervals, *, target: int, source: int
) -> Leak:
    """Return one of the strongest leaks with its evidence: interval, and witness among
    frequent values.
    """
    supported = matrix.leak_among(target, source, witness_records(matrix.pairs))
    return replace(
        intervals[target, source],
        witness=supported.witness,
        supported=supported.value,
        delta=max(float(matrix.deltas[target, source]), supported.delta),
    )
