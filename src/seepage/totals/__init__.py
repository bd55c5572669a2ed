"""Totals: what each attribute gives away in all, by the name of what the number rests on.

| name | kind | module |
| --- | --- | --- |
| `exact` | certified: supremum over all report tuples | `exact` |
| `merged` | certified: all sources as one | `merged` |
| `worst` | certified: sum of all budgets | `sums` |
| `sampled` | statistical: with a delta and a confidence | `sampled`, `draws`, `likelihoods` |
| `tree` | assumed: a structure that the user gives | `tree`, `groups`, `temporal` |
| `independent` | assumed: the paper's sum | `sums` |
| `witness` | lower bound: found by search | `search` |
"""

from seepage.totals.compare import TotalsComparison, compare_totals
from seepage.totals.result import (
    GUARANTEES,
    KINDS,
    GuaranteeError,
    JointWitness,
    TotalLeakage,
)
from seepage.totals.stream import StreamLeakage, leakage_supremum, stream_leakage
from seepage.totals.total import choose_guarantee, total_leakage
from seepage.totals.tree import Forest, Groups

__all__ = [
    "GUARANTEES",
    "KINDS",
    "Forest",
    "Groups",
    "GuaranteeError",
    "JointWitness",
    "StreamLeakage",
    "TotalLeakage",
    "TotalsComparison",
    "choose_guarantee",
    "compare_totals",
    "leakage_supremum",
    "stream_leakage",
    "total_leakage",
]
