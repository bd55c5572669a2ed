"""Totals: the leakage of all reports together about each attribute, by guarantee.

| name | kind | module |
| --- | --- | --- |
| `exact` | certified: supremum over all report tuples | `exact_total` |
| `merged` | certified: bound for all sources as one | `composition` |
| `worst` | certified: sum of all budgets | `composition` |
| `sampled` | statistical: with a delta and a confidence | `sampled`, `drawn_reports` |
| `independent` | assumed: the paper's sum | `composition` |
| `witness` | lower bound: coordinate ascent | `witness_search` |

Exact totals for the population that the records were drawn from, also of a form's reports:
`population_totals`.  Realised losses, which are no guarantee: `experienced`.
"""

from seepage.totals.result import (
    GUARANTEES,
    KINDS,
    GuaranteeError,
    JointWitness,
    TotalLeakage,
    TotalsComparison,
)
from seepage.totals.stream import StreamLeakage, leakage_supremum, stream_leakage
from seepage.totals.total import compare_totals, total_leakage

__all__ = [
    "GUARANTEES",
    "KINDS",
    "GuaranteeError",
    "JointWitness",
    "StreamLeakage",
    "TotalLeakage",
    "TotalsComparison",
    "compare_totals",
    "leakage_supremum",
    "stream_leakage",
    "total_leakage",
]
