"""The distinct records of a few attributes, from any table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Integers
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
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
    records = Records.from_data(data, columns=tuple(names))
    return records.domain, records.codes.astype(np.int64), records.weights


def _merged(codes: NDArray[Any], weights: Integers) -> tuple[Integers, Integers]:
    """Return equal records as one, and the sums of their weights."""
    records, places = np.unique(codes, axis=0, return_inverse=True)
    sums = np.zeros(len(records), dtype=np.int64)
    np.add.at(sums, places.reshape(-1), weights)
    return records.astype(np.int64), sums
