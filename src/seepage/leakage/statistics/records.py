"""The paper's three stages on every record of the expanded data set, in blocks.

The honest simulation of clients, and the test of the fast one: perturb, infer, count.  Works
for every mechanism, at a cost that grows with records and replicas.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from seepage._numerics import Floats, Integers
from seepage.leakage.release import View
from seepage.leakage.statistics.collection import Collection
from seepage.leakage.statistics.reports import report_columns
from seepage.mechanisms import Mechanism

__all__ = ["Pulse", "no_pulse", "simulate_records"]

ROWS = 1 << 18
"""Records perturbed at once, so that memory does not grow with the expanded data set."""


Pulse = Callable[[], None]
"""Called now and then during long work; it may raise to end it."""


def no_pulse() -> None:
    """Let the work go on."""


def simulate_records(
    table: Integers,
    values: Integers,
    mechanisms: Sequence[Mechanism],
    sizes: Sequence[int],
    channel: Floats,
    replicas: int,
    generator: np.random.Generator,
    *,
    view: View = "inferred",
    pulse: Pulse = no_pulse,
) -> Collection:
    """Return a collection made record by record.

    Parameters
    ----------
    table
        Records, target value by source tuple.
    values
        The source tuples: codes, one row a tuple and one column a source.
    mechanisms
        How each source is released.
    sizes
        How many reports, or inferred values, each source has.
    channel
        P(all reports given source tuple); only its shape matters here.
    replicas
        How often each record reports.
    generator
        The source of randomness.
    view
        Count inferred values, or the reports themselves.
    pulse
        Called between blocks; it may raise to end the work.

    Notes
    -----
    Costs O(N r), tens of nanoseconds a report for GRR, more for others; memory is that of one
    block.
    """
    tuples, reports = channel.shape
    counts = np.zeros(len(table) * reports, dtype=np.int64)
    pooled = np.zeros(tuples * reports, dtype=np.int64)
    whole = [report_columns(how) for how in mechanisms] if view == "report" else None
    for target, source in _expanded(table, replicas):
        pulse()
        joint = np.zeros(len(source), dtype=np.int64)
        for place, how in enumerate(mechanisms):
            released = how.perturb(values[source, place], generator)
            if whole is None:
                joint = joint * sizes[place] + how.infer(released, generator)
            else:
                joint = joint * sizes[place] + whole[place](released)
        counts += np.bincount(target * reports + joint, minlength=len(counts))
        pooled += np.bincount(source * reports + joint, minlength=len(pooled))
    return Collection(
        table, channel, replicas, counts.reshape(-1, reports), pooled.reshape(-1, reports)
    )


def _expanded(table: Integers, replicas: int) -> Iterator[tuple[Integers, Integers]]:
    """Yield the target values and source tuples of all records, each `replicas` times."""
    target, source = np.nonzero(table)
    ends = replicas * np.cumsum(table[target, source])
    starts = np.concatenate([[0], ends[:-1]])
    for begin in range(0, int(ends[-1]), ROWS):
        inside = np.clip(ends, begin, begin + ROWS) - np.clip(starts, begin, begin + ROWS)
        yield np.repeat(target, inside), np.repeat(source, inside)
