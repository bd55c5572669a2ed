"""`AnalysisOptions`: the keywords of `analyse`, which are also options of the command."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from seepage import _checks
from seepage._options import option
from seepage.data.table import DataOptions


@dataclass(frozen=True, kw_only=True)
class AnalysisOptions(DataOptions):
    """Options of `analyse`.

    Parameters
    ----------
    epsilon
        The privacy budget of every attribute.  Or one for each: a sequence, or a mapping by name,
        with `"*"` for all others.
    mechanism
        A mechanism, such as `"grr"`; by default the bound over all with this budget.  A registered
        name or an object, or one for each attribute.
    limit
        The largest allowed total of every attribute, in nats.  Or one for each; see
        `Analysis.verdict`.
    view
        `"report"`: the adversary keeps the whole report; `"inferred"`: only the inferred value.
    guarantee
        Guarantees of the totals: exact, merged, worst, sampled, independent, sum, witness, or
        `"all"`.  See `total_leakage`.  Those whose requirements are not met are in
        `totals.unavailable`, with the reason.
    delta
        Delta of (epsilon, delta)-LDP.  Or one for each attribute.
    min_count
        Smaller counts of a pair are raised to this.  Smoothing, see `PairCounts.channel`.
    prior
        Pseudo-count added to every count of a pair.
    truncate
        Counts of a pair below this are then set to 0.
    target_delta
        The delta of sampled totals.
    confidence
        The confidence of sampled totals.
    reports
        Number of reports drawn for sampled totals.
    rng
        Seed of sampled and witness totals, of the sample and of the people.
    sample
        Number of records to draw without replacement: totals are assumed.  By default all.
    people
        Number of people drawn for the realised privacy loss; by default 1,000 if a guarantee needs
        records and all mechanisms are named, else 0.  See `Experience`.
    name, command
        Provenance for the report; by default the name of a file or dataset.
    """

    epsilon: Any = field(
        default=1.0,
        kw_only=False,
        metadata={"option": True, "short": "-e", "type": float, "each": True},
    )
    mechanism: Any = option(None, short="-m", type=str, each=True)
    limit: Any = option(None, type=float, each=True)
    view: Literal["report", "inferred"] = option("report")
    guarantee: str | Iterable[str] = option(
        ("independent", "worst"), type=Sequence[str], metavar="A,B,...|all"
    )
    delta: Any = option(0.0, type=float)
    min_count: float = option(0.0)
    prior: float = option(0.0)
    truncate: float = option(0.0)
    target_delta: float = option(0.01)
    confidence: float = option(0.95)
    reports: int = option(20_000)
    sample: int | None = option(None, metavar="N")
    rng: Any = option(0, name="seed")
    people: int | None = option(None, metavar="N")
    name: str | None = None
    command: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name is not None:
            _checks.text(self.name, "name")
        _checks.text(self.command, "command")
        _checks.set_seed(self)
        if self.people is not None:
            _checks.integer(self.people, "people", 0, _checks.MAX_DRAWS)
