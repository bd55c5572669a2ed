"""Plans to make pages of."""

import numpy as np
import pyarrow as pa

from plan_examples import counts, forms_plan, product, three_forms
from seepage.tables.read import count_pairs

ODD = [
    "</style></script><script>alert(1)</script>",
    "\"double\" 'single' & <b>bold</b>",
    "年齢",
    "الجنس",
    "a name that goes on and on " * 5,
    "{{script}} {title}",
]


def binary_pairs(attributes, records=500, names=None, seed=0):
    """Pair counts of binary attributes."""
    rng = np.random.default_rng(seed)
    names = names or [f"question {j + 1}" for j in range(attributes)]
    columns = [pa.array(rng.choice(["no", "yes"], records).tolist()) for _ in names]
    return count_pairs(pa.Table.from_arrays(columns, names=list(names)))


def many_forms(attributes=40, forms=60, names=None, seed=0):
    """A plan of many forms, each of a few attributes."""
    rng = np.random.default_rng(seed)
    pairs = binary_pairs(attributes, names=names)
    asked = list(pairs.domain.names)
    groups = [
        rng.choice(asked, rng.integers(2, 6), replace=False) for _ in range(forms)
    ]
    channels = [
        product(**{str(name): round(float(rng.uniform(0.2, 2.0)), 3) for name in group})
        for group in groups
    ]
    return forms_plan(
        pairs, channels, rng.uniform(0.2, 3.0, forms).tolist(), limit=10.0
    )


def with_matrix():
    """A plan of two products and a matrix."""
    return three_forms(counts())
