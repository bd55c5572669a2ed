"""Keywords of matrices, totals, `analyse` and `audit`, which are also options of
commands.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from seepage import _checks
from seepage._options import option
from seepage.data.table import DataOptions

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
        "report", check=partial(_checks.choice, options=("report", "inferred"))
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

    min_count: float = option(0.0, check=_checks.weight)
    prior: float = option(0.0, check=_checks.weight)
    truncate: float = option(0.0, check=_checks.weight)


@dataclass(frozen=True, kw_only=True)
class TotalSettings(DataOptions):
    """Options of totals that only some guarantees use.

    Parameters
    ----------
    target_delta
        The delta of sampled totals.
    confidence
        The confidence of all totals together, if they are sampled or for the
        population.
    reports
        Number of reports drawn for sampled totals.
    rng
        Seed of the sample, of sampled and witness totals, and of people drawn.
    """

    target_delta: float = option(0.01, check=_checks.inner_probability)
    confidence: float = option(0.95, check=_checks.inner_probability)
    reports: int = option(
        20_000, check=partial(_checks.integer, minimum=1, maximum=2**53)
    )
    rng: Any = option(0, name="seed", check=_checks.seed)


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
    people: int | None = option(None, metavar="N", check=_checks.draws)
    name: str | None = field(default=None, metadata={"check": _checks.text})
    command: str = field(default="", metadata={"check": _checks.text})


@dataclass(frozen=True, kw_only=True)
class AuditOptions(DataOptions):
    """Options of `audit`.

    Parameters
    ----------
    claim
        The claimed epsilon of each attribute over all rounds: one number, or a mapping
        by name.
    delta
        The claimed delta.
    record_claim
        The claimed epsilon of all reports of a person together; None for none.
    values
        The values of a randomiser that is sampled; needed for a function.
    reports
        All possible reports of a randomiser that is sampled, if known: permits an upper
        limit.
    samples
        How often each value is sampled.
    rounds
        How often each attribute is reported; by default what the specification says,
        else once.  A function that is sampled is called with the value and the rounds,
        and returns the reports of all rounds.
    memoised
        Whether rounds repeat a stored report; by default what the specification says.
    linked
        Whether the reports of a person can be linked; or groups of attributes whose
        reports can be.
    attribute
        The name of the attribute, for a randomiser that names none.
    confidence
        Confidence of limits from samples, for all attributes at once.
    rng
        Seed of the split of the samples.
    data
        A table, see `analyse`: leakages and totals under the audited and the claimed
        channels.
    reported
        Audited columns of the data that hold reports in place of true values.
    guarantee
        Guarantees of the totals, as in `analyse`.
    command
        Provenance for the page.
    """

    claim: Any = field(kw_only=False)
    delta: float = option(0.0, check=_checks.delta)
    record_claim: float | None = option(None, check=_checks.epsilon)
    values: Any = option(None, type=Sequence[str])
    reports: Any = option(None, type=Sequence[str])
    samples: int = option(20_000, check=partial(_checks.draws, minimum=1))
    rounds: int | None = option(
        None, check=partial(_checks.integer, minimum=1, maximum=2**53)
    )
    memoised: bool | None = option(None, opposite="fresh")
    linked: Any = option(None, type=bool, opposite="unlinked")
    attribute: str | None = option(None, check=_checks.text)
    confidence: float = option(0.95, check=_checks.confidence)
    rng: Any = option(0, name="seed")
    data: Any = None
    reported: Any = option((), type=Sequence[str])
    guarantee: str | Iterable[str] = option(
        ("independent", "worst"), type=Sequence[str]
    )
    command: str = ""
