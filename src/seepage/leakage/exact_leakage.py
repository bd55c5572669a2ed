"""The exact leakage of a channel through a known mechanism (Algorithm 1)."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._core.arrays import Floats
from seepage._core.errors import ChannelError
from seepage._core.log_ratios import log_ratio
from seepage._core.rounding import UNIT, round_up
from seepage.channel.channel import Channel, as_matrix
from seepage.leakage.delta import delta_of_reports
from seepage.leakage.leakage import Leakage, named_witness

COLUMN_EXPONENT = 400
"""Binary exponent of the largest entry of each scaled column: away from underflow."""


MAX_PRODUCT_CELLS = 1 << 24
"""Cells of the product W in memory at a time: 128 MB."""


def exact_leakage(channel: Channel | ArrayLike, mechanism: Any) -> Leakage:
    """Return the exact leakage about a target when its source is released through a
    mechanism.

    CPL = ln max_y ( max_x W[x, y] / min_x W[x, y] ),  W = G C   [theory].

    Parameters
    ----------
    channel
        G = P(source given target): m target values by t source values; a `Channel` or a
        matrix.
    mechanism
        C = P(report given source), the mechanism's transition matrix, likewise: t
        source values by r reports; or a `Mechanism`, whose own closed form is used.

    Returns
    -------
    Leakage
        The value in nats, rounded up, with the two target values and the report y that
        attain it; for a mechanism with a delta the pair (l, delta), see
        `Mechanism.leakage`. A report that no target value can produce is excluded; one
        that is possible under one and impossible under another makes the leakage
        infinite.

    Notes
    -----
    One product and a maximum and minimum for each report, O(m t r), in blocks of
    reports, so that memory does not grow with m r.  The paper loops over all pairs of
    target values, O(m^2 t^2), and its listing takes a row of C where its equation takes
    the column of the report y; the column is right, since the adversary observes y.

    With c the smallest entry of a column, W = c + G (C - c): the part common to all
    inputs is not rounded, so a report that is independent of the input leaks exactly 0.

    Examples
    --------
    >>> import seepage as sp
    >>> randomised_response = [[0.75, 0.25], [0.25, 0.75]]
    >>> leakage = sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], randomised_response)
    >>> round(leakage.value, 4), leakage.witness.report
    (0.7732, 1)

    >>> round(sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], sp.GRR(2, 1.0)).value, 4)
    0.7063
    """
    if callable(getattr(mechanism, "leakage", None)):
        return mechanism.leakage(channel)  # type: ignore[no-any-return]
    correlation = as_matrix(channel, "channel")
    transition = as_matrix(mechanism, "mechanism")
    _check_axes(channel, mechanism, correlation, transition)
    if (correlation == correlation[0]).all():
        return Leakage(0.0, None)
    best = _largest_of_blocks(correlation, transition)
    if best.likelier == best.other:
        return Leakage(best.value, None)
    column = transition[:, best.report]
    witness = named_witness(
        channel,
        best.likelier,
        best.other,
        column == column.max(),
        report=_report_name(mechanism, best.report),
    )
    delta_at = partial(delta_of_reports, correlation, transition, pure=best.value)
    return Leakage(best.value, witness, delta_at=delta_at)


@dataclass(frozen=True)
class MixedRatio:
    """The largest log-ratio of two rows of W = G C: its value, the rows and the
    report.
    """

    value: float
    likelier: int
    other: int
    report: int


def _largest_of_blocks(correlation: Floats, transition: Floats) -> MixedRatio:
    """Return the exact leakage, the largest log-ratio over all reports, taken in
    blocks.
    """
    rows = max(correlation.shape[0], transition.shape[0])
    step = max(1, MAX_PRODUCT_CELLS // rows)
    best = MixedRatio(0.0, 0, 0, 0)
    for start in range(0, transition.shape[1], step):
        excess, common = _scaled_columns(transition[:, start : start + step])
        ratio = largest_mixed_ratio(correlation, excess, common)
        if ratio.value > best.value:
            best = replace(ratio, report=start + ratio.report)
    return best


def _report_name(mechanism: Any, report: int) -> Any:
    """Return the value of the report that attains an exact leakage; the index of a
    matrix's column.
    """
    if isinstance(mechanism, Channel):
        return mechanism.output.values[report]
    return report


def _scaled_columns(mechanism: Floats) -> tuple[Floats, Floats]:
    """Return for exact leakage the excess over the smallest entry of each column, and
    that entry; columns scaled.
    """
    exponents = COLUMN_EXPONENT - np.frexp(mechanism.max(axis=0))[1]
    columns = np.ldexp(mechanism, exponents)
    common = columns.min(axis=0)
    columns -= common
    return columns, common


def largest_mixed_ratio(
    correlation: Floats, excess: Floats, common: Floats
) -> MixedRatio:
    """Return the exact largest log-ratio of two rows of W = common + G excess.

    Rounded up.  Infinite where only the smaller likelihood is 0, and 0 where the report
    is equally likely under all inputs.  The rounding errors of a sum of products and of
    its cells move the logarithm by at most that many units of the share excess /
    (common + excess), which is added.
    """
    mixed = correlation @ excess
    high = mixed.max(axis=0)
    low = mixed.min(axis=0)
    ratios = log_ratio(high - low, common + low, np.inf)
    with np.errstate(invalid="ignore"):
        guard = 2 * (len(excess) + 8) * UNIT * (high / (common + high))
    ratios = np.where(high > 0, round_up(ratios, 8) + guard, 0.0)
    index = int(ratios.argmax())
    return MixedRatio(
        value=float(ratios[index]),
        likelier=int(mixed[:, index].argmax()),
        other=int(mixed[:, index].argmin()),
        report=index,
    )


def mixed_ratios_by_pair(correlation: Floats, transition: Floats) -> Floats:
    """Return the exact largest log-ratio over all reports of each ordered pair of rows
    of W = G C, rounded up as in `largest_mixed_ratio`; shape (m, m), 0 for a row with
    itself.

    Notes
    -----
    O(m t r + m^2 r) with r reports; memory for m r.
    """
    excess, common = _scaled_columns(transition)
    mixed = correlation @ excess
    rounding = 2 * (len(excess) + 8) * UNIT
    ratios = np.zeros((len(mixed), len(mixed)))
    for x, row in enumerate(mixed):
        gaps = row - mixed
        logarithms = round_up(log_ratio(gaps, common + mixed, np.inf), 8)
        ratios[x] = logarithms.max(axis=1, initial=0.0, where=gaps > 0)
    with np.errstate(invalid="ignore"):
        share = np.where(mixed > 0, mixed / (common + mixed), 0.0)
    ratios += rounding * share.max()
    np.fill_diagonal(ratios, 0.0)
    return ratios


def _check_axes(
    channel: Any, mechanism: Any, correlation: Floats, transition: Floats
) -> None:
    """Raise unless source and mechanism of an exact leakage have the same values."""
    named = isinstance(channel, Channel) and isinstance(mechanism, Channel)
    if named and channel.output != mechanism.given:
        raise ChannelError(
            f"the source of channel is {channel.output.name!r} but mechanism perturbs "
            f"{mechanism.given.name!r}; they must be the same attribute"
        )
    if correlation.shape[1] != transition.shape[0]:
        raise ChannelError(
            f"channel has {correlation.shape[1]} source values but mechanism has "
            f"{transition.shape[0]} rows; they must be equal"
        )
