"""Labels of intervals, rounded as far as the numbers allow."""

import math
from collections.abc import Sequence
from itertools import pairwise

from seepage.tables.bins import NumberSummary
from seepage.tables.labels import number_label


def interval_labels(edges: Sequence[float], numbers: NumberSummary) -> tuple[str, ...]:
    """Return the labels of open-ended intervals of numbers, in words.

    Examples
    --------
    >>> import numpy as np
    >>> days = NumberSummary()
    >>> days.add(np.arange(31), np.zeros(31, dtype=np.uint64))
    >>> interval_labels([-math.inf, 1, 6, math.inf], days)
    ('0', '1 to 5', '6 or more')
    """
    labels = list[str]()
    for low, high in pairwise(edges):
        first = low if math.isfinite(low) else numbers.low
        last = high - 1 if numbers.integral else high
        if math.isinf(high):
            labels.append(
                f"{number_label(low)} or more" if math.isfinite(low) else "any number"
            )
        elif numbers.integral and first == last:
            labels.append(number_label(first))
        elif math.isinf(low):
            labels.append(
                f"{'up to' if numbers.integral else 'under'} {number_label(last)}"
            )
        else:
            between = "to" if numbers.integral else "to under"
            labels.append(f"{number_label(first)} {between} {number_label(last)}")
    return tuple(labels)
