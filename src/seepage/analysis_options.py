"""`AnalysisOptions`: the keywords of `analyse`, which are also options of the command."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from seepage import _checks
from seepage._options import option
from seepage.data.table.options import DataOptions


@dataclass(frozen=True, kw_only=True)
class AnalysisOptions(DataOptions):
    """Options of `analyse`.

    Parameters
    ----------
    epsilon, delta
        The privacy budget of every attribute, or one for each (a sequence, or a mapping by name,
        with `"*"` for all others).
    mechanism
        A registered name or a mechanism, or one for each attribute; None for the bound over all
        mechanisms with this budget.
    limit
        The largest allowed total in nats, for every attribute or one for each; see
        `Analysis.verdict`.
    view
        `"report"`: the adversary keeps the whole report; `"inferred"`: only the inferred value.
    guarantee
        Guarantee of the totals, or several, see `total_leakage`; `"all"` for all.  Those whose
        requirements are not met are in `totals.unavailable`, with the reason.
    min_count, prior, truncate
        Smoothing of the channels, see `PairCounts.channel`; off by default.
    target_delta, confidence, reports, rng
        As in `total_leakage`.
    sample
        Number of records to draw without replacement with `seed`; None for all records.
    people
        Number of people to draw for the realised privacy loss, see `experienced_loss`; 0 for none.
        By default 1,000 if a guarantee needs records and all mechanisms are named.
    labels
        Readable names of values: a mapping by attribute and value, or the path of a CSV file with
        the columns attribute, value, label.
    name, command
        Provenance for the report; by default the name of a file or dataset.
    """

    epsilon: Any = field(
        default=1.0,
        kw_only=False,
        metadata={
            "help": "The budget of each attribute.",
            "short": "-e",
            "type": float,
            "each": "Another budget for one attribute.",
        },
    )
    mechanism: Any = option(
        None,
        "A mechanism, such as grr; by default the bound over all.",
        short="-m",
        type=str,
        each="Another for one attribute.",
    )
    limit: Any = option(None, "The allowed total of every attribute, in nats.", type=float)
    view: Literal["report", "inferred"] = option(
        "report", "What the adversary keeps: the whole report, or the value inferred from it."
    )
    guarantee: str | Iterable[str] = option(
        ("independent", "worst"),
        "Guarantees: exact, merged, worst, sampled, independent, sum, witness, or all.",
        type=Sequence[str],
        metavar="A,B,...|all",
    )
    delta: Any = option(0.0, "Delta of (epsilon, delta)-LDP.", type=float)
    min_count: float = option(0.0, "Raise smaller cell counts to this.")
    prior: float = option(0.0, "A pseudo-count added to every cell.")
    truncate: float = option(0.0, "Then set cells below this to 0.")
    target_delta: float = option(0.01, "For sampled totals: their delta.")
    confidence: float = option(0.95, "Confidence of sampled totals.")
    reports: int = option(20_000, "For sampled totals: how many reports are drawn.")
    sample: int | None = option(
        None, "Analyse N records drawn at random: totals are assumed.", metavar="N"
    )
    rng: Any = option(0, "Seed of sampled and witness totals, and of the sample.", name="seed")
    people: int | None = option(
        None,
        "Draw N people and show their realised privacy loss; by default 1000 if totals need "
        "records and mechanisms are named, 0 for none.",
        metavar="N",
    )
    labels: Any = option(None, "Names of values: attribute, value, label.", type=str, metavar="CSV")
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
