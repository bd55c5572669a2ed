"""`audit`: what somebody else's randomiser really spends."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seepage import _checks
from seepage._numerics import summed_up
from seepage._options import option, takes
from seepage.auditing.audit_result import RECORD, Audit, AuditedClaim
from seepage.auditing.exact_privacy import ExactPrivacy, factor
from seepage.auditing.sampled_events import largest_possible, tested_event
from seepage.auditing.samples import Samples, samples_of
from seepage.data.domain import Attribute, Domain, for_each, short_list
from seepage.data.table.options import DataOptions
from seepage.errors import InputError
from seepage.mechanisms.randomiser import Randomiser


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
    values, reports
        For a randomiser that is sampled: its values (needed for a function), and all possible
        reports if they are known, which permits an upper limit.
    samples
        How often each value is sampled.
    rounds, memoised
        How often each attribute is reported, and whether a stored report is repeated; by default
        what the specification says, else once.  A function that is sampled is called with the value
        and the rounds, and returns the reports of all rounds.
    linked
        Whether the reports of a person can be linked; or groups of attributes whose reports can be.
    attribute
        The name of the attribute, for a randomiser that names none.
    confidence
        Of the limits from samples, for all attributes at once.
    seed
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
    delta: float = option(0.0, "The claimed delta.")
    record_claim: float | None = option(
        None, "The claimed epsilon of all reports of a person together."
    )
    values: Any = option(None, "The values to sample.", type=Sequence[str])
    reports: Any = option(None, "All possible reports of a sampled randomiser.", type=Sequence[str])
    samples: int = option(20_000, "How often each value is sampled.")
    rounds: int | None = option(None, "How often each attribute is reported; by default once.")
    memoised: bool | None = None
    linked: Any = None
    attribute: str | None = option(None, "The name of the attribute, if the file has none.")
    confidence: float = option(0.95, "Confidence of limits from samples.")
    seed: int = option(0, "Seed of the split of the samples.")
    data: Any = None
    reported: Any = option((), "Columns of the data that hold reports.", type=Sequence[str])
    guarantee: str | Iterable[str] = option(
        ("independent", "worst"), "Guarantees of totals.", type=Sequence[str]
    )
    command: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.delta(self.delta)
        _checks.inner_probability(self.confidence, "confidence")
        if self.confidence < 0.5:
            raise _checks.violation("confidence", "at least 0.5", self.confidence)
        _checks.integer(self.samples, "samples", 1, _checks.MAX_DRAWS)
        if self.attribute is not None:
            _checks.text(self.attribute, "attribute")
        if self.rounds is not None:
            _checks.integer(self.rounds, "rounds", 1, _checks.MAX_RECORDS)
        if self.record_claim is not None:
            _checks.epsilon(self.record_claim, "record_claim")


@takes(AuditOptions)
def audit(randomiser: Any, options: AuditOptions) -> Audit:
    """Return what a randomiser realises beside what is claimed, with verdict and witness.

    Parameters
    ----------
    randomiser
        Published parameters: a transition matrix (an array, a CSV file), a specification (a
        mapping, a JSON file, see `Randomiser`), a `Mechanism`.  Or what is sampled: a function of
        a value, a Python or JavaScript module with a function `randomise`, a table of samples (a
        frame, a CSV or Parquet file with the column `value`, its other columns are the report; or
        a pair of arrays).  Or a mapping by attribute of what is sampled.

    Notes
    -----
    Published parameters are exact: epsilon is the largest log-ratio of a column of the matrix, and
    delta the hockey stick, rounded up.  Samples give a lower limit, from one event that is chosen
    on one half and tested on the other (Clopper and Pearson), and an upper limit only if all
    possible reports are known [theory: Audits].

    Examples
    --------
    >>> import seepage as sp
    >>> keep = {"k": 20, "keep": 0.8808}  # e^2 / (1 + e^2), as for two values
    >>> found = sp.audit(keep, claim=2.0)
    >>> found
    Audit(refuted: value, claim 2, epsilon 4.9445)
    >>> print(found.witness)
    a report 0 is 140 times likelier from value 0 than from value 1; the claim allows 7.4
    """
    named, linked = _opened(randomiser, options)
    names = Domain(Attribute(name, ("",)) for name in named)
    claims = [_checks.epsilon(one, "claim") for one in for_each(names, options.claim, "claim")]
    beta = (1 - options.confidence) / len(named)
    rows, exact = [], dict[str, ExactPrivacy | None]()
    for claim, (name, one) in zip(claims, named.items(), strict=True):
        if isinstance(one, Samples):
            rows.append(_sampled_claim(name, one, claim, beta, options))
            exact[name] = None
        else:
            rows.append(_exact_claim(one, claim, options.delta))
            exact[name] = one
    if len(rows) > 1 or options.record_claim is not None:
        rows.append(_record_claim(rows, linked, options))
    found = Audit(tuple(rows), options.confidence, name=_name(randomiser))
    return found if options.data is None else _with_data(found, exact, options)


def _name(source: Any) -> str:
    return Path(source).name if isinstance(source, (str, os.PathLike)) else ""


def _opened(
    randomiser: Any, options: AuditOptions
) -> tuple[dict[str, Samples | ExactPrivacy], Any]:
    """Return the samples or the exact privacy of every attribute, and which reports are linked."""
    how = options.values, options.reports, options.samples, options.rounds or 1
    several = randomiser if isinstance(randomiser, Mapping) else {}
    drawn = {str(name): samples_of(one, *how) for name, one in several.items()}
    if not any(drawn.values()):
        drawn = {options.attribute or "value": samples_of(randomiser, *how)}
    sampled = {name: one for name, one in drawn.items() if one is not None}
    if sampled:
        if len(sampled) < len(drawn):
            raise InputError("either all attributes are sampled or none", parameter="randomiser")
        if options.memoised is not None:
            raise InputError("memoised has no effect on samples", parameter="memoised")
        return {**sampled}, True if options.linked is None else options.linked
    read = Randomiser.read(randomiser)
    given = {name: getattr(options, name) for name in ("rounds", "memoised", "linked")}
    spec = {name: getattr(read, name) if one is None else one for name, one in given.items()}
    if options.attribute is not None:
        if len(read) > 1:
            raise InputError("attribute must be left out: it is named", parameter="attribute")
        read = Randomiser([replace(one, name=options.attribute) for one in read.values()])
    whole = Randomiser(list(read.values()), **spec)
    rounds = 1 if whole.linked is False else whole.rounds
    exact = {name: ExactPrivacy(one, rounds, whole.memoised) for name, one in whole.items()}
    return {**exact}, whole.linked


def _exact_claim(exact: ExactPrivacy, claim: float, delta: float) -> AuditedClaim:
    """Return the claim about published parameters."""
    realised, known = exact.delta(claim)
    epsilon = exact.epsilon(delta)
    lower = epsilon if known or not delta else 0.0
    name = exact.attribute.name
    return AuditedClaim(name, claim, delta, (lower, epsilon), realised, exact.witness())


def _sampled_claim(
    name: str, samples: Samples, claim: float, beta: float, options: AuditOptions
) -> AuditedClaim:
    """Return the claim about a randomiser that was sampled."""
    test = tested_event(samples, beta, options.delta, options.seed)
    lower, upper = test.epsilon(options.delta), largest_possible(samples, beta)
    values = [samples.values[code] for code in (test.likelier, test.other)]
    shares = [f"{hit:,} of {total:,}" for hit, total in zip(test.hits, test.totals, strict=True)]
    times = f"at least {factor(lower)} times likelier" if lower else "not likelier"
    witness = (
        f"{test.event} is {times} from value {values[0]} ({shares[0]} samples) than from value "
        f"{values[1]} ({shares[1]})"
    )
    if test.skipped:
        witness += f"; nothing is said of {short_list(test.skipped, 4)}, with too few samples"
    needed = _further_samples(min(test.totals), claim, test.estimate, lower, upper)
    size, realised = len(samples.codes), test.delta(claim)
    return AuditedClaim(name, claim, options.delta, (lower, upper), realised, witness, needed, size)


def _further_samples(
    tested: int, claim: float, estimate: float, lower: float, upper: float
) -> int | None:
    """Return how many more samples per value would decide if the estimate is the truth.

    The distance of a limit from the estimate decreases with the square root of the samples.
    """
    distance = estimate - claim
    width = estimate - lower if distance > 0 else upper - estimate
    if not distance or not 0 < width < math.inf:
        return None
    factor_needed = (width / distance) ** 2
    return math.ceil(2 * tested * max(0.0, factor_needed - 1)) if factor_needed < 1e6 else None


def _record_claim(rows: Sequence[AuditedClaim], linked: Any, options: AuditOptions) -> AuditedClaim:
    """Return the claim about all reports of a person: epsilons of linked reports add up."""
    groups: Any = linked
    if isinstance(linked, bool):
        groups = [[one.name for one in rows]] if linked else [[one.name] for one in rows]
    ends = {one.name: one.interval for one in rows}
    sums = [[summed_up(ends[name][end] for name in group) for group in groups] for end in (0, 1)]
    strongest = sums[1].index(max(sums[1]))
    told = " and ".join(f"{name} ({ends[name][1]:.4g})" for name in groups[strongest][:4])
    more = f" and {len(groups[strongest]) - 4} more" if len(groups[strongest]) > 4 else ""
    lower, upper = max(sums[0]), max(sums[1])
    words = f"epsilons of linked reports add up: {told}{more}"
    samples = sum(one.samples for one in rows)
    slack = min(1.0, options.delta * len(rows))
    return AuditedClaim(
        RECORD, options.record_claim, slack, (lower, upper), 0.0, words, None, samples
    )


def _with_data(
    found: Audit, exact: Mapping[str, ExactPrivacy | None], options: AuditOptions
) -> Audit:
    """Return the audit with the analyses of a table."""
    from seepage.auditing.audited_table import audited_analyses

    claims = [one for one in found.claims if one.name != RECORD]
    audited = {}
    notes = list(found.notes)
    for one in claims:
        epsilon = one.interval[1]
        if math.isinf(epsilon) and exact[one.name] is None:
            epsilon = one.interval[0]
            notes.append(
                f"leakages of {one.name} are those of its proven epsilon {epsilon:.4g}; the "
                "realised one may be larger"
            )
        audited[one.name] = epsilon, exact[one.name]
    reported = _checks.texts(options.reported, "reported")
    analysis, claimed = audited_analyses(
        options.data,
        audited,
        {one.name: one.claim or 0.0 for one in claims},
        reported,
        {"guarantee": options.guarantee, "name": _name(options.data), "command": options.command},
        options.reading,
    )
    return replace(found, analysis=analysis, claimed=claimed, notes=tuple(notes))
