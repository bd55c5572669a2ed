"""Gathering on this machine: one pass that keeps all distinct records, or a sample."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from seepage._core.arrays import Codes, Integers
from seepage._core.errors import TableError
from seepage.channel.domain import Domain
from seepage.counting.distinct_records import DistinctRecords, RecordSample
from seepage.counting.record_samples import RandomPart
from seepage.tables.table_options import DataOptions

if TYPE_CHECKING:
    from seepage.tables.scan import CodedBatch


Gathering: TypeAlias = DistinctRecords | RecordSample
"""Records of a table gathered from batches, mergeable with those of other parts."""


def gather_local(
    data: Any,
    options: DataOptions,
    new_gathering: Callable[[], Gathering],
    part: RandomPart | None = None,
) -> tuple[Domain, int, Codes, Integers]:
    """Return what is gathered of a table on this machine: its domain, the number of its
    records, and the gathered ones.

    These in codes of the domain, shape (attributes, records), and their multiplicities.

    Parameters
    ----------
    data
        A frame, or the path of a file, folder or glob.
    options
        The table options.
    new_gathering
        Constructor of an empty `DistinctRecords` or `RecordSample`.
    part
        Records that are left out; None for none.
    """
    from seepage.tables.scan import open_scan

    def gather(batches: "Iterator[CodedBatch]") -> Gathering:
        """Gather the records of all batches."""
        gathering = new_gathering()
        for batch in batches:
            gathering.add(*batch)
        return gathering

    scan = open_scan(data, options, part)
    gathered = scan.read(gather, options.progress)
    domain, orders = scan.finish()
    if not gathered.seen:
        raise TableError(
            "no record is left beside the part that fixed the answers; declare a domain"
        )
    rows, weights = gathered.rows()
    for row, order in zip(rows, orders, strict=True):
        final = np.zeros(int(order.max()) + 1, dtype=rows.dtype)
        final[order] = np.arange(len(order))
        row[:] = final[row]
    return domain, gathered.seen, rows, weights
