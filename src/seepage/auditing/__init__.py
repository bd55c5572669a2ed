"""Audits of randomisers that somebody else wrote: realised epsilon, verdict and witness.

Here are the options of `audit`, which are also those of the command.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from seepage import _checks
from seepage._options import option
from seepage.data.table import DataOptions


@dataclass(frozen=True, kw_only=True)
class AuditOptions(DataOptions):
    """Options of `audit`.

    Parameters
    ----------
    claim
        The claimed epsilon of each attribute over all rounds: one number, or a mapping by name.
    delta
        The claimed delta.
    record_claim
        The claimed epsilon of all reports of a person together; None for none.
    values
        The values of a randomiser that is sampled; needed for a function.
    reports
        All possible reports of a randomiser that is sampled, if known: permits an upper limit.
    samples
        How often each value is sampled.
    rounds
        How often each attribute is reported; by default what the specification says, else once.  A
        function that is sampled is called with the value and the rounds, and returns the reports of
        all rounds.
    memoised
        Whether rounds repeat a stored report; by default what the specification says.
    linked
        Whether the reports of a person can be linked; or groups of attributes whose reports can be.
    attribute
        The name of the attribute, for a randomiser that names none.
    confidence
        Confidence of limits from samples, for all attributes at once.
    rng
        Seed of the split of the samples.
    data
        A table, see `analyse`: leakages and totals under the audited and the claimed channels.
    reported
        Audited columns of the data that hold reports in place of true values.
    guarantee
        Guarantees of the totals, as in `analyse`.
    command
        Provenance for the page.
    """

    claim: Any = field(kw_only=False)
    delta: float = option(0.0)
    record_claim: float | None = option(None)
    values: Any = option(None, type=Sequence[str])
    reports: Any = option(None, type=Sequence[str])
    samples: int = option(20_000)
    rounds: int | None = option(None)
    memoised: bool | None = None
    linked: Any = None
    attribute: str | None = option(None)
    confidence: float = option(0.95)
    rng: Any = option(0, name="seed")
    data: Any = None
    reported: Any = option((), type=Sequence[str])
    guarantee: str | Iterable[str] = option(("independent", "worst"), type=Sequence[str])
    command: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.delta(self.delta)
        if _checks.inner_probability(self.confidence, "confidence") < 0.5:
            raise _checks.violation("confidence", "at least 0.5", self.confidence)
        _checks.integer(self.samples, "samples", 1, _checks.MAX_DRAWS)
        if self.attribute is not None:
            _checks.text(self.attribute, "attribute")
        if self.rounds is not None:
            _checks.integer(self.rounds, "rounds", 1, _checks.MAX_RECORDS)
        if self.record_claim is not None:
            _checks.epsilon(self.record_claim, "record_claim")
