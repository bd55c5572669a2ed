"""`nearest_distribution`: frequencies projected onto the probability simplex."""

import numpy as np

from seepage._core.arrays import Floats


def nearest_distribution(frequencies: Floats) -> Floats:
    """Return the distribution nearest to frequencies: the Euclidean projection onto the
    probability simplex.

    Subtracts the constant that leaves a sum of 1 after negative entries are set to 0,
    O(k log k).

    Examples
    --------
    >>> nearest_distribution(np.array([0.6, 0.6, -0.1])).tolist()
    [0.5, 0.5, 0.0]
    """
    descending = np.sort(frequencies)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(frequencies) + 1)
    kept = int(np.flatnonzero(descending > excess)[-1])
    return np.asarray(np.maximum(frequencies - excess[kept], 0.0))
