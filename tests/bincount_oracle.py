"""The truth for counts, numpy.bincount of each two columns; and columns counted by
us.
"""

from itertools import combinations

import numpy as np

from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import PairCounts
from seepage.counting.accumulate import count_batches


def domain_of(sizes):
    return Domain(
        Attribute(f"c{i}", tuple(f"v{code}" for code in range(size)))
        for i, size in enumerate(sizes)
    )


def by_bincount(codes, domain):
    sizes = domain.sizes
    wide = [np.asarray(column, dtype=np.int64) for column in codes]
    tables = [
        np.bincount(wide[a] * sizes[b] + wide[b], minlength=sizes[a] * sizes[b])
        for a, b in combinations(range(len(sizes)), 2)
    ]
    marginals = [
        np.bincount(c, minlength=size) for c, size in zip(wide, sizes, strict=True)
    ]
    return PairCounts(
        domain, marginals, np.concatenate([np.zeros(0, np.int64), *tables])
    )


def count_codes(codes, domain, step=1 << 16):
    """Return the counts of columns in memory, in batches of some rows."""
    columns = [np.asarray(column) for column in codes]
    batches = (
        ([column[start : start + step] for column in columns], domain.sizes)
        for start in range(0, len(columns[0]), step)
    )
    return count_batches(batches, len(domain), rows_total=len(columns[0])).counts(
        domain
    )
