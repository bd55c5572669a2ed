"""Keywords of `audit`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from seepage._core import checks
from seepage._core.options import option
from seepage.tables.table_options import DataOptions


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
    delta: float = option(0.0, check=checks.delta)
    record_claim: float | None = option(None, check=checks.epsilon)
    values: Any = option(None, type=Sequence[str])
    reports: Any = option(None, type=Sequence[str])
    samples: int = option(20_000, check=partial(checks.draws, minimum=1))
    rounds: int | None = option(
        None, check=partial(checks.integer, minimum=1, maximum=2**53)
    )
    memoised: bool | None = option(None, opposite="fresh")
    linked: Any = option(None, type=bool, opposite="unlinked")
    attribute: str | None = option(None, check=checks.text)
    confidence: float = option(0.95, check=checks.confidence)
    rng: Any = option(0, name="seed")
    data: Any = None
    reported: Any = option((), type=Sequence[str])
    guarantee: str | Iterable[str] = option(
        ("independent", "worst"), type=Sequence[str]
    )
    command: str = ""
