"""Totals: the leakage of all reports together about each attribute, by guarantee.

`result` says in words what each promises.  Computed by:

| name | module |
| --- | --- |
| `exact` | `exact_total` |
| `merged`, `worst`, `independent` | `composition` |
| `sampled` | `sampled`, `drawn_reports` |
| `witness` | `witness_search` |

Exact totals for the population that the records were drawn from, also of a form's reports:
`population_totals`.  Realised losses, which are no guarantee: `experienced`.
"""
