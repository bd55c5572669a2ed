"""Shaped reports whose limits hold for the population that the table was drawn from.

Reports selected on some records are fitted to these records; their leakage about other
people is larger.  So reports are selected on a random fifth of the records, and their
leakage is bounded on the other records, which are independent of the selection.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage._core.errors import InputError, Setting
from seepage.channel.records import Records
from seepage.confidence.joint_ratios import (
    Ratios,
    largest_joint_excess,
    largest_joint_ratios,
)
from seepage.confidence.mean_limits import ROUNDS
from seepage.designs.shaped.admissible_reports import AnswerCounts

SPLIT_FACTOR = 5
"""One record in 5 is for the selection of reports, the others for their
certification."""


MAX_SPLIT = 10**9
"""Upper bound (exclusive) of NumPy's hypergeometric draw, by which records are
split."""


ROUNDING = 1e-13
"""Upper bound of the rounding error of a log-ratio of limits and of probabilities as
doubles."""


def split_records(records: Records, rng: int) -> tuple[Records, Records]:
    """Return a random fifth of the records to shape on, and the others that certify for
    the population.
    """
    if records.records >= MAX_SPLIT:
        raise InputError(
            "limits for the population need fewer than 10^9 records, got "
            f"{records.records:,}; give a sample of them, or ",
            Setting("scope", "table"),
        )
    generator = np.random.default_rng(rng)
    size = records.records // SPLIT_FACTOR
    first = generator.multivariate_hypergeometric(
        records.weights, size, method="marginals"
    )
    return (
        Records(records.domain, records.codes, first),
        Records(records.domain, records.codes, records.weights - first),
    )


def population_leakages(
    channel: Floats, table: AnswerCounts, level: float
) -> dict[str, float]:
    """Return upper confidence limits for the population of a shaped report's leakage
    about each target, in nats.

    The largest limit over y, x != x' of the ratio of the likelihoods of report y given
    x and given x', the means of C[z, y] over the people with these values: by one joint
    statement, or by two where the numbers of people differ much.  The largest leakage,
    over all targets, is above its limit with probability at most 2 e^-level
    [theory-certificate: The theorem].

    Parameters
    ----------
    channel
        P(report | cell), each column up to a factor.
    table
        Counts of records that are independent of the selection of the channel.
    level
        c of `level_of_maxima`.
    """
    names = _with_values(table)
    leakages = dict.fromkeys(table.targets, 0.0)
    if names:
        ratios, starts = _likelihoods(channel.T, table, names)
        limits = largest_joint_ratios(ratios, starts, level, rounds=ROUNDS)
        limits = np.where(limits > 0, limits + ROUNDING, 0.0)
        leakages.update(zip(names, limits.tolist(), strict=True))
    return leakages


def _with_values(table: AnswerCounts) -> list[str]:
    """Return the targets of several values, whose population leakages are limited."""
    return [name for name, counts in table.targets.items() if len(counts) > 1]


def _likelihoods(
    reports: Floats, table: AnswerCounts, names: Sequence[str]
) -> tuple[Ratios, Integers]:
    """Return the likelihoods of reports under the values of targets for population
    leakages, and where the values of each target start.
    """
    counts = [table.targets[name] for name in names]
    people = (np.vstack(counts) / table.factor).astype(np.float64)
    totals = people.sum(axis=1)
    shares = people / np.maximum(totals, 1)[:, None]
    possible = np.vstack([table.possible(name) for name in names])
    within = np.where(possible, reports[:, None, :], np.nan)
    ratios = Ratios(
        reports,
        np.broadcast_to(shares, (len(reports), *shares.shape)),
        totals,
        np.nanmin(within, axis=2),
        np.nanmax(within, axis=2),
    )
    sizes = list(map(len, counts))
    return ratios, np.cumsum([0, *sizes[:-1]])


def kept_share(
    reports: Floats, table: AnswerCounts, limits: Mapping[str, float], level: float
) -> float:
    """Return the largest t for which the population leakages of t w + 1 - t are within
    limits, w the reports.

    Mixing with the neutral report maps every mean m to t m + 1 - t, and each pair of
    means that a joint statement leaves likewise.  So limits never fall as t grows, and
    the mixtures are one ascending family [theory-certificate: Families].
    """
    names = [name for name in _with_values(table) if name in limits]
    if not names:
        return 1.0
    ratios, starts = _likelihoods(reports, table, names)
    own = np.array([limits[name] for name in names])
    return 1 / (1 + largest_joint_excess(ratios, starts, level, own))
