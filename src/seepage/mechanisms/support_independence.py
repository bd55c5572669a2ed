"""Whether a two-level mechanism supports values independently of each other."""

import numpy as np

from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.goodness_of_fit import counts_fit
from seepage.mechanisms.two_level import TwoLevelMechanism

INDEPENDENCE_DRAWS = 1 << 12
"""Reports drawn to see whether values are supported independently."""


def supports_are_independent(tested: Mechanism) -> bool:
    """Return whether drawn reports support the first four values independently of each
    other.

    Any set is then a likely set, which the closed forms of `TwoLevelMechanism` without
    a `size` assume.  From reports of value 0 with a fixed seed: false where the numbers
    of sets do not fit. True for other mechanisms.
    """
    sets = tested.likely_sets
    if not isinstance(tested, TwoLevelMechanism) or sets is None or sets.kind != "all":
        return True
    reports = tested.perturb(np.zeros(INDEPENDENCE_DRAWS, np.int64), 11)
    width = min(tested.k, 4)
    masks = (np.arange(1 << width)[:, None] >> np.arange(width)) & 1 > 0
    numbers = tested.contributions(reports)[:, :width] @ (1 << np.arange(width))
    p, q = tested.support
    chances = np.where(
        masks, [p] + [q] * (width - 1), [1 - p] + [1 - q] * (width - 1)
    ).prod(axis=1)
    return counts_fit(np.bincount(numbers, minlength=len(masks)), chances)
