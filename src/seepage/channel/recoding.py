"""Recoding: counts and records in another domain, for merged and pooled values.

The frequency of a value is known only after a pass, so rare values are pooled in the
counts or distinct records, which is exact and the same for every engine.  Tables coded
later in a domain with "(other)" have their other values there, see
`seepage.tables.table_options`.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from seepage._core.arrays import Integers
from seepage.channel.domain import OTHER, Attribute, Domain
from seepage.channel.pairs import (
    PairCounts,
    marginal_offsets,
    pair_offsets,
    pairs_by_shape,
    stacked,
)
from seepage.channel.records import Records

Counts = TypeVar("Counts", PairCounts, Records, PairCounts | Records)


def recoded(counted: Counts, domain: Domain) -> Counts:
    """Return counts or records in another domain.

    Parameters
    ----------
    counted
        Pair counts or records.
    domain
        The same attributes with other values; those that one does not have are merged
        into "(other)".

    Notes
    -----
    O(cells): pairs of one shape are recoded at once.
    """
    if counted.domain == domain:
        return counted
    codes = [
        _new_codes(old, new) for old, new in zip(counted.domain, domain, strict=True)
    ]
    if isinstance(counted, Records):
        each = [new[old] for new, old in zip(codes, counted.codes.T, strict=True)]
        return counted.like(domain, np.stack(each, axis=1))
    marginals = [np.zeros(size, dtype=np.int64) for size in domain.sizes]
    for marginal, new, counts in zip(marginals, codes, counted.marginals, strict=True):
        np.add.at(marginal, new, counts)
    cells = _recoded_tables(counted, domain, codes)
    return counted.like(domain, marginals, cells)


def _recoded_tables(
    counted: PairCounts, domain: Domain, codes: Sequence[Integers]
) -> Integers:
    """Return the tables of all pairs recoded in another domain, in one flat array.

    Parameters
    ----------
    counted
        The pair counts.
    domain
        The other domain.
    codes
        For each attribute, the new code of each value.
    """
    sizes = counted.domain.sizes
    flat_codes = np.concatenate(codes)
    code_offsets = marginal_offsets(sizes)
    old_offsets = pair_offsets(sizes)
    offsets = pair_offsets(domain.sizes)
    cells = np.zeros(offsets[-1], dtype=np.int64)
    for group, a, b in pairs_by_shape(sizes, domain.sizes):
        rows = stacked(flat_codes, code_offsets[a], sizes[a[0]])
        columns = stacked(flat_codes, code_offsets[b], sizes[b[0]])
        row = offsets[group][:, None] + rows * domain.sizes[b[0]]
        index = row[:, :, None] + columns[:, None, :]
        old = stacked(counted.counts, old_offsets[group], sizes[a[0]], sizes[b[0]])
        np.add.at(cells, index.reshape(-1), old.reshape(-1))
    return cells


def _new_codes(old: Attribute, new: Attribute) -> Integers:
    """Return the new code of each value, recoded in another alphabet: that of "(other)"
    if it has none.
    """
    known = set(new.values)
    codes = list[int]()
    for value in old.values:
        label = value if value in known else OTHER
        codes.append(new.code(label))
    return np.array(codes)
