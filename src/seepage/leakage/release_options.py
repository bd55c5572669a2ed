"""Keywords of leakages: budgets, mechanisms, view, delta."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from seepage._core import checks
from seepage._core.options import option
from seepage.tables.table_options import DataOptions

BUDGET = {"option": True, "short": "-e", "type": float, "each": True}
"""How the command line reads epsilon, see `option`."""


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(DataOptions):
    """Options of how attributes are released.

    Parameters
    ----------
    epsilon
        The privacy budget of every attribute.  Or one for each: a sequence, or a
        mapping by name, with `"*"` for all others.
    mechanism
        A mechanism, such as `"grr"`; by default the bound over all with this budget.  A
        registered name or an object, or one for each attribute.
    view
        `"report"`: the adversary keeps the whole report; `"inferred"`: only the
        inferred value. Privacy claims are of the report; the paper's attacker keeps the
        value.
    delta
        Delta of (epsilon, delta)-LDP.  Or one for each attribute.
    """

    epsilon: Any = field(kw_only=False, metadata=BUDGET)
    mechanism: Any = option(None, short="-m", type=str, each=True)
    view: Literal["report", "inferred"] = option(
        "report", check=partial(checks.choice, options=("report", "inferred"))
    )
    delta: Any = option(0.0, type=float)


@dataclass(frozen=True, kw_only=True)
class MatrixOptions(ReleaseOptions):
    """Options of `leakage_matrix`.

    Parameters
    ----------
    min_count
        Smaller counts of a pair are raised to this.  Smoothing, see
        `PairCounts.channel`.
    prior
        Pseudo-count added to every count of a pair.
    truncate
        Counts of a pair below this are then set to 0.
    """

    min_count: float = option(0.0, check=checks.weight)
    prior: float = option(0.0, check=checks.weight)
    truncate: float = option(0.0, check=checks.weight)
