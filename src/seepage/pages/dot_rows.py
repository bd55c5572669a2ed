"""Shares with their intervals as rows on one axis from 0 to 100 %."""

from collections.abc import Iterable
from dataclasses import dataclass

from seepage._core.percent import percent_text
from seepage.collection.estimated_cells import Estimated

LIMITED = 100.0
"""The right end of the axis, in %."""


@dataclass(frozen=True, kw_only=True)
class DotRow:
    """One share: a dot for the estimate, a band for its interval, and both in words.

    Places are in % of the axis, cut at its ends; the words are cut where the interval
    is, see `possible_share`.
    """

    label: str
    value: str
    interval: str
    dot: float
    left: float
    width: float


@dataclass(frozen=True, kw_only=True)
class DotBlock:
    """Rows under one heading, with a remark at the right of it."""

    title: str
    remark: str
    rows: tuple[DotRow, ...]


def possible_share(share: Estimated) -> float:
    """Return the estimate of a share that stands beside its interval.

    An unbiased estimate may be below 0 or above 1.  Where its interval is one of
    possible shares, cut to [0, 1], so is the estimate: the possible share nearest to
    it, which the interval contains.  A normal interval is not cut, nor is its middle.

    Examples
    --------
    >>> possible_share(Estimated(1.006, 0.1, (0.805, 1.0)))
    1.0
    >>> possible_share(Estimated.normal(-0.004, 0.005))
    -0.004
    """
    low, high = share.interval
    if low < 0.0 or high > 1.0:
        return share.value
    if share.value > 1.0:
        return 1.0
    if share.value < 0.0:
        return 0.0
    return share.value


def dot_row(label: str, share: Estimated) -> DotRow:
    """Return a share as a row with a dot.

    Examples
    --------
    >>> row = dot_row("yes", Estimated.normal(-0.004, 0.005))
    >>> row.value, row.interval, row.dot, row.left, row.width
    ('-0.4 %', '-1.4 to 0.6', 0.0, 0.0, 0.58)
    """
    low, high = share.interval
    left = _on_axis(low)
    return DotRow(
        label=label,
        value=f"{percent_text(possible_share(share))} %",
        interval=f"{percent_text(low)} to {percent_text(high)}",
        dot=_on_axis(share.value),
        left=left,
        width=round(max(0.0, _on_axis(high) - left), 2),
    )


def _on_axis(share: float) -> float:
    """Return the place of a row's dot on the axis, in %."""
    if share != share:
        return 0.0
    return round(min(LIMITED, max(0.0, 100 * share)), 2)


def in_two_columns(blocks: Iterable[DotBlock]) -> tuple[list[DotBlock], list[DotBlock]]:
    """Return blocks of dot rows in two columns of about the same height, in their
    order.

    Examples
    --------
    >>> row = dot_row("yes", Estimated.normal(0.5, 0.01))
    >>> blocks = [DotBlock(title=name, remark="", rows=(row,)) for name in "abc"]
    >>> [[block.title for block in column] for column in in_two_columns(blocks)]
    [['a', 'b'], ['c']]
    """
    listed = list(blocks)
    heights = [len(block.rows) + 1.5 for block in listed]
    half = sum(heights) / 2
    first = list[DotBlock]()
    filled = 0.0
    for block, height in zip(listed, heights, strict=True):
        if filled + height / 2 > half and first:
            break
        first.append(block)
        filled += height
    return first, listed[len(first) :]
