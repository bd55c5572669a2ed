"""The distinct records of a few attributes, from any table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Integers
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.data.table import CodedStream, Restart, TableOptions, open_stream
from seepage.errors import InputError

__all__ = ["WeightedRecords", "distinct_records"]

WeightedRecords = tuple[Domain, Integers, Integers]
"""A domain, codes (one row a record, one column an attribute), and how often each occurs."""


def distinct_records(data: Any, names: Sequence[str]) -> WeightedRecords:
    """Return the distinct records of these attributes, and how often each occurs.

    Parameters
    ----------
    data
        A frame or a file, read with the default options; or an object with `domain`, `codes` and
        `weights`, such as `Records`.
    names
        The attributes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"sex": ["M", "F", "M"], "smoker": ["no", "no", "no"]})
    >>> domain, codes, weights = distinct_records(table, ["sex", "smoker"])
    >>> domain["sex"].values, codes.tolist(), weights.tolist()
    (('F', 'M'), [[0, 0], [1, 0]], [1, 2])
    """
    if isinstance(data, PairCounts):
        raise InputError(
            "pair counts cannot tell what several sources reveal together; give the records"
        )
    if all(hasattr(data, part) for part in ("domain", "codes", "weights")):
        chosen = [data.domain.index(name) for name in names]
        codes, weights = np.asarray(data.codes)[:, chosen], np.asarray(data.weights)
        return (data.domain.select(chosen), *_merged(codes, weights))
    stream = open_stream(data, TableOptions(columns=tuple(names)))
    while True:
        try:
            codes, weights = _discovered(stream)
            break
        except Restart:
            continue
    domain, order = stream.finish()
    ranks = [_ranks(part, int(codes[:, i].max()) + 1) for i, part in enumerate(order)]
    final = np.stack([rank[codes[:, i]] for i, rank in enumerate(ranks)], axis=1)
    return (domain, *_merged(final, weights))


def _discovered(stream: CodedStream) -> tuple[Integers, Integers]:
    """Return the distinct records by the codes of their discovery."""
    parts = [
        _merged(np.stack(batch, axis=1), np.ones(len(batch[0]), dtype=np.int64)) for batch in stream
    ]
    codes, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _merged(codes, weights)


def _ranks(order: Integers, size: int) -> Integers:
    """Return the place in the domain of each code of discovery; order[i] is that of value i."""
    ranks = np.zeros(max(size, int(order.max()) + 1), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def _merged(codes: NDArray[Any], weights: Integers) -> tuple[Integers, Integers]:
    """Return equal records as one, and the sums of their weights."""
    records, places = np.unique(codes, axis=0, return_inverse=True)
    sums = np.zeros(len(records), dtype=np.int64)
    np.add.at(sums, places.reshape(-1), weights)
    return records.astype(np.int64), sums
