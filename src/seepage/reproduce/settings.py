"""What all items share: the paper's replicas, one seed, and leakages without their diagonal."""

from functools import lru_cache
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.leakage.statistical import estimate_leakage
from seepage.pairs import PairCounts

__all__ = ["MECHANISMS", "REPLICAS", "SEED", "ordered_pairs", "plug_in"]

REPLICAS = 50
"""How often each record reports in a statistical estimate [paper, section III-B]."""

SEED = 2025
"""Of every random draw: the same run gives the same numbers."""

MECHANISMS = {
    "grr": "GRR",
    "rappor": "RAPPOR",
    "exp": "EXP",
    "oue": "OUE",
    "blh": "BLH",
    "olh": "OLH",
    "ss": "SS",
    "she": "SHE",
}
"""The paper's eight, in the order of its Table II."""


def ordered_pairs(matrix: Floats) -> Floats:
    """Return the entries of a matrix but for its diagonal."""
    return np.asarray(matrix[~np.eye(len(matrix), dtype=np.bool_)])


def plug_in(pairs: PairCounts, mechanism: Any, epsilon: float, collection: int = 0) -> Floats:
    """Return the paper's statistical estimate of every leakage; the diagonal is NaN.

    Each `collection` is another draw of all reports.  Estimates of a mechanism by name are
    remembered, for several items need the same.
    """
    estimated = _remembered if isinstance(mechanism, str) else _estimated
    return estimated(pairs, mechanism, epsilon, SEED + collection)


def _estimated(pairs: PairCounts, mechanism: Any, epsilon: float, seed: int) -> Floats:
    found = estimate_leakage(
        pairs, mechanism, epsilon, replicas=REPLICAS, surrogates=0, seed=seed, view="inferred"
    )
    return found.plug_in


_remembered = lru_cache(maxsize=512)(_estimated)
