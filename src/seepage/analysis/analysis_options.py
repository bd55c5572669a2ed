"""Keywords of matrices, totals, `analyse` and `audit`, which are also options of
commands.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from seepage._core import checks
from seepage._core.options import option
from seepage.leakage.release_options import BUDGET, MatrixOptions
from seepage.totals.total_settings import TotalSettings


@dataclass(frozen=True, kw_only=True)
class AnalysisOptions(MatrixOptions, TotalSettings):
    """Options of `analyse`.

    Parameters
    ----------
    limit
        The largest allowed total of every attribute, in nats.  Or one for each; see
        `Analysis.verdict`.
    guarantee
        Guarantees of the totals: exact, merged, worst, sampled, independent, sum,
        witness, `"all"`, or `"auto"` for what may decide the limit.  That is worst and
        independent; with a limit also exact and witness, for a table of at most 131,072
        records.  See `total_leakage`. Those whose requirements are not met are in
        `totals.unavailable`, with the reason.
    sample
        Number of records to draw without replacement: totals are assumed.  By default
        all.
    people
        Number of people drawn for the realised privacy loss; by default 1,000 if a
        guarantee needs records and all mechanisms are named, else 0.  See `Experience`.
    name, command
        Provenance for the report; by default the name of a file or dataset.
    """

    epsilon: Any = field(default=1.0, kw_only=False, metadata=BUDGET)
    limit: Any = option(None, type=float, each=True)
    guarantee: str | Iterable[str] = option(
        "auto", type=Sequence[str], metavar="A,B,...|all"
    )
    sample: int | None = option(None, metavar="N")
    people: int | None = option(None, metavar="N", check=checks.draws)
    name: str | None = field(default=None, metadata={"check": checks.text})
    command: str = field(default="", metadata={"check": checks.text})
