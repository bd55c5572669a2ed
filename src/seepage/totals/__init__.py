"""Totals: the leakage of all reports together about each attribute, by guarantee.

`guarantees` says in words what each promises.  Computed by:

| name | module |
| --- | --- |
| `exact` | `exact_total` |
| `merged`, `worst`, `independent` | `composition` |
| `sampled` | `sampled`, `drawn_reports` |
| `witness` | `witness_search` |

Exact totals for the population that the records were drawn from, also of a form's reports:
`population_totals`.  Realised losses, which are no guarantee: `experienced`.
"""

from seepage.totals.guarantees import GUARANTEES, KINDS, Guarantee, GuaranteeError
from seepage.totals.result import JointWitness, TotalLeakage, TotalsComparison
from seepage.totals.stream import StreamLeakage, leakage_supremum, stream_leakage
from seepage.totals.total import compare_totals, total_leakage

__all__ = [
    "GUARANTEES",
    "KINDS",
    "Guarantee",
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
