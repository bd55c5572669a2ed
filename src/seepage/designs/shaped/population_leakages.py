"""Shaped reports whose limits hold for the population that the table was drawn from.

Reports selected on some records are fitted to these records; their leakage about other
people is larger.  So reports are selected on a random fifth of the records, and their
leakage is bounded on the other records, which are independent of the selection.
"""

import math
from collections.abc import Mapping

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.errors import InputError, Setting
from seepage.channel.records import Records
from seepage.confidence.mean_limits import kl_inf_interval, mixture_radius
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
    """Return a random fifth of the records, and the other records."""
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
    """Return upper confidence limits of the leakage about each target in the
    population, in nats.

    ln max over y, x != x' of upper_x(y) / lower_x'(y), where the likelihood of report y
    given x is the mean of C[z, y] over the people with value x.  The largest leakage,
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
    leakages = {}
    for name, counts in table.targets.items():
        upper, lowest = _mean_limits(channel.T, table, name, level)
        ratio = float((upper / lowest).max()) if len(counts) > 1 else 1.0
        leakages[name] = math.log(ratio) + ROUNDING if ratio > 1 else 0.0
    return leakages


def _mean_limits(
    weights: Floats, table: AnswerCounts, name: str, level: float
) -> tuple[Floats, Floats]:
    """Return upper limits of each report's mean given each value x, and the least lower
    limit.

    The latter over the values x' != x.  Both have one row per report and one column per
    value.
    """
    counts = table.targets[name] / table.factor
    totals = counts.sum(axis=1)
    shares = counts / np.maximum(totals, 1)[:, None]
    within = np.where(table.possible(name), weights[:, None, :], np.nan)
    limits = kl_inf_interval(
        weights[:, None, :],
        shares,
        mixture_radius(totals, level),
        np.nanmin(within, axis=2),
        np.nanmax(within, axis=2),
    )
    order = np.sort(limits.lower, axis=1)
    is_lowest = limits.lower == order[:, :1]
    return limits.upper, np.where(is_lowest, order[:, 1:2], order[:, :1])


def kept_share(
    reports: Floats, table: AnswerCounts, limits: Mapping[str, float], level: float
) -> float:
    """Return the largest t for which the limits of t w + 1 - t are certified, w the
    reports.

    Mixing with the neutral report maps every mean m to t m + 1 - t, and its limits
    likewise.  So limits never fall as t grows, and the mixtures are one ascending
    family: t (u - 1) + 1 <= e^l (t (v - 1) + 1).
    """
    t = 1.0
    for name, limit in limits.items():
        if len(table.targets[name]) > 1:
            upper, lowest = _mean_limits(reports, table, name, level)
            slope = float((upper - 1 - math.exp(limit) * (lowest - 1)).max())
            t = min(t, math.expm1(limit) / slope) if slope > 0 else t
    return t
