"""The truth for counts: numpy.bincount of each two columns."""

from itertools import combinations

import numpy as np

from seepage.data.domain import Attribute, Domain
from seepage.data.pairs import PairCounts


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
    marginals = [np.bincount(c, minlength=size) for c, size in zip(wide, sizes, strict=True)]
    return PairCounts(domain, marginals, np.concatenate([np.zeros(0, np.int64), *tables]))
