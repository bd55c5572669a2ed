"""`audit`: what somebody else's randomiser really spends."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from seepage._core import checks
from seepage._core.errors import InputError, escaped
from seepage._core.rounding import summed_up
from seepage._core.text import short_list
from seepage.auditing.audit_options import AuditOptions
from seepage.auditing.audit_result import Audit
from seepage.auditing.audited_table import with_table
from seepage.auditing.changing_answers import change_note, privacy_of_changes
from seepage.auditing.claims import RECORD, AuditedClaim
from seepage.auditing.exact_audit import ExactPrivacy, record_delta
from seepage.auditing.sampled_claim import sampled_claim
from seepage.auditing.samples import Samples, Sampling, samples_of
from seepage.channel.domain import Attribute, Domain, for_each
from seepage.mechanisms.published_randomiser import (
    SINGLE,
    RandomisedAttribute,
    Randomiser,
)
from seepage.tables.table_options import DataOptions, TableKeywords

ONE_ANSWER = (
    "each person was sampled with one answer in all rounds: nothing is said of answers "
    "that change, which a stored report reveals"
)
"""What samples of several rounds do not cover."""


def audit(
    randomiser: Any,
    claim: Any,
    *,
    delta: float = 0.0,
    record_claim: float | None = None,
    values: Sequence[Any] | None = None,
    reports: Sequence[Any] | None = None,
    samples: int = 20_000,
    rounds: int | None = None,
    memoised: bool | None = None,
    linked: bool | Sequence[Sequence[str]] | None = None,
    attribute: str | None = None,
    confidence: float = 0.95,
    rng: Any = 0,
    data: Any = None,
    reported: str | Sequence[str] = (),
    guarantee: str | Iterable[str] = ("independent", "worst"),
    command: str = "",
    **table: Unpack[TableKeywords],
) -> Audit:
    """Return what a randomiser realises beside what is claimed, with verdict and
    witness.

    Parameters
    ----------
    randomiser
        Published parameters: a transition matrix (an array, a CSV file), a
        specification (a mapping, a JSON file, see `Randomiser`), a `Mechanism`.  Or
        what is sampled: a function of a value, a Python or JavaScript module with a
        function `randomise` (run with your rights, in a process of its own), a table of
        samples (a frame, a CSV or Parquet file with the column `value`, its other
        columns are the report; or a pair of arrays).  Or a mapping by attribute of what
        is sampled.
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
        limit.  Reports differ by type and exact value: 1, 1.0, "1" and "01" are four.
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
    **table
        How the data are read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

    Notes
    -----
    Published parameters are exact: epsilon is the largest log-ratio of a column of the
    matrix, and delta the hockey stick, rounded up.  Samples give a lower limit, from
    one event that is chosen on one half and tested on the other (Clopper and Pearson),
    and an upper limit only if all possible reports are known [audit: Formulas].

    Examples
    --------
    >>> import seepage as sp
    >>> keep = {"k": 20, "keep": 0.8808}  # e^2 / (1 + e^2), as for two values
    >>> found = sp.audit(keep, claim=2.0)
    >>> found
    Audit(refuted: value, odds change 140 times, claimed 7.4; claim 2, epsilon 4.9445)
    >>> print(found.witness)
    a report 0 is 140 times likelier from value 0 than from value 1; the claim allows
    7.4
    """
    options = AuditOptions(
        claim=claim,
        delta=delta,
        record_claim=record_claim,
        values=values,
        reports=reports,
        samples=samples,
        rounds=rounds,
        memoised=memoised,
        linked=linked,
        attribute=attribute,
        confidence=confidence,
        rng=rng,
        data=data,
        reported=reported,
        guarantee=guarantee,
        command=command,
        table=DataOptions.from_keywords(table, audit),
    )
    opened = _opened(randomiser, options)
    names = Domain(Attribute(name, ("",)) for name in opened.whole)
    epsilons = for_each(names, options.claim, "claim")
    beta = (1 - options.confidence) / len(names)
    rows = []
    for name, value in zip(names.names, epsilons, strict=True):
        epsilon = checks.epsilon(value, "claim")
        rows.append(_claim(opened, name, epsilon, beta, options))
    if len(rows) > 1 or options.record_claim is not None:
        rows.append(_record_claim(rows, opened, options))
    result = Audit(
        claims=tuple(rows),
        confidence=options.confidence,
        notes=opened.notes,
        name=_file_name(randomiser),
    )
    if options.data is None:
        return result
    return with_table(result, opened.evidence, options)


def _file_name(source: Any) -> str:
    """Return the printable file name of what is audited; empty for anything else."""
    if isinstance(source, (str, os.PathLike)):
        return escaped(Path(source).name)
    return ""


@dataclass(frozen=True)
class OpenedRandomiser:
    """A randomiser, and what its claims are decided by.

    Parameters
    ----------
    whole
        The attributes, how often they are reported and which reports are linked.
    evidence
        The samples or the exact privacy of every attribute.
    notes
        What the claims do not cover, in words.
    """

    whole: Randomiser
    evidence: Mapping[str, Samples | ExactPrivacy]
    notes: tuple[str, ...] = ()

    @property
    def is_sampled(self) -> bool:
        """Whether the evidence of an audit is samples: of all attributes or of none."""
        return any(isinstance(each, Samples) for each in self.evidence.values())


def _opened(randomiser: Any, options: AuditOptions) -> OpenedRandomiser:
    """Return what is audited and how often, with the samples or exact privacy of every
    attribute.
    """
    samples = _samples_by_attribute(randomiser, options)
    if samples:
        return _sampled_randomiser(samples, options)
    return _published_randomiser(Randomiser.read(randomiser), options)


def _samples_by_attribute(randomiser: Any, options: AuditOptions) -> dict[str, Samples]:
    """Return the audited samples of every attribute; empty if nothing is sampled."""
    sampling = Sampling(
        values=options.values,
        reports=options.reports,
        count=options.samples,
        rounds=options.rounds or 1,
    )
    sources = {options.attribute or SINGLE: randomiser}
    if isinstance(randomiser, Mapping):
        sources = {str(name): source for name, source in randomiser.items()}
    sampled = {}
    for name, source in sources.items():
        samples = samples_of(source, sampling)
        if samples is not None:
            sampled[name] = samples
    if sampled and len(sampled) < len(sources):
        raise InputError(
            "either all attributes are sampled or none", parameter="randomiser"
        )
    return sampled


def _sampled_randomiser(
    samples: Mapping[str, Samples], options: AuditOptions
) -> OpenedRandomiser:
    """Return an audited randomiser of which only samples are known."""
    if options.memoised is not None:
        raise InputError("memoised has no effect on samples", parameter="memoised")
    attributes = [
        RandomisedAttribute(name, sampled.values) for name, sampled in samples.items()
    ]
    linked = True if options.linked is None else options.linked
    notes = () if options.rounds in (None, 1) else (ONE_ANSWER,)
    return OpenedRandomiser(Randomiser(attributes, linked=linked), samples, notes)


def _published_randomiser(
    specified: Randomiser, options: AuditOptions
) -> OpenedRandomiser:
    """Return an audited randomiser with published parameters, and the exact privacy of
    its attributes.
    """
    whole = _with_options(specified, options)
    linked_rounds = whole.rounds
    if whole.linked is False:
        linked_rounds = 1
    is_repeated = whole.memoised and linked_rounds > 1
    evidence = {}
    notes = []
    for name, attribute in whole.items():
        if attribute.changes is not None and not is_repeated:
            raise InputError(
                f"{name!r} must have no changes: no stored report is repeated over "
                "linked rounds"
            )
        if attribute.changes is None:
            evidence[name] = ExactPrivacy(attribute, linked_rounds, whole.memoised)
        else:
            evidence[name] = privacy_of_changes(attribute, linked_rounds)
        if is_repeated:
            notes.append(change_note(attribute, linked_rounds))
    return OpenedRandomiser(whole, evidence, tuple(notes))


def _with_options(specified: Randomiser, options: AuditOptions) -> Randomiser:
    """Return a specified randomiser; options of the audit replace what it specifies."""
    attributes = list(specified.values())
    if options.attribute is not None:
        if len(attributes) > 1:
            raise InputError(
                "attribute must be left out: it is named", parameter="attribute"
            )
        attributes = [replace(attributes[0], name=options.attribute)]
    return Randomiser(
        attributes,
        rounds=specified.rounds if options.rounds is None else options.rounds,
        memoised=specified.memoised if options.memoised is None else options.memoised,
        linked=specified.linked if options.linked is None else options.linked,
    )


# Claims -------------------------------------------------------------------------------


def _claim(
    opened: OpenedRandomiser,
    name: str,
    epsilon: float,
    beta: float,
    options: AuditOptions,
) -> AuditedClaim:
    """Return what an audit finds of one attribute beside a claim of this epsilon."""
    evidence = opened.evidence[name]
    if isinstance(evidence, ExactPrivacy):
        return evidence.claim(epsilon, options.delta)
    return sampled_claim(
        name,
        evidence,
        claim=epsilon,
        delta=options.delta,
        beta=beta,
        rng=options.rng,
    )


def _record_claim(
    claims: Sequence[AuditedClaim], opened: OpenedRandomiser, options: AuditOptions
) -> AuditedClaim:
    """Return what an audit finds of all reports of a person: epsilons of linked reports
    add up.
    """
    by_attribute = {claim.attribute: claim for claim in claims}
    groups = [[by_attribute[name] for name in group] for group in opened.whole.groups]

    def upper(group: Sequence[AuditedClaim]) -> float:
        """Return the largest epsilon that an audit leaves possible for a group."""
        return summed_up(claim.upper for claim in group)

    strongest = max(groups, key=upper)
    terms = [f"{claim.attribute} ({claim.upper:.4g})" for claim in strongest]
    realised = 0.0
    if options.record_claim is not None and not opened.is_sampled:
        realised = _record_delta(opened, options.record_claim)
    return AuditedClaim(
        attribute=RECORD,
        claim=options.record_claim,
        claimed_delta=min(1.0, options.delta * len(claims)),
        lower=max(summed_up(claim.lower for claim in group) for group in groups),
        upper=upper(strongest),
        delta=realised,
        witness=f"epsilons of linked reports add up: {short_list(terms, 4)}",
        samples=sum(claim.samples for claim in claims),
    )


def _record_delta(opened: OpenedRandomiser, epsilon: float) -> float:
    """Return the largest delta of the audited reports of one group, from exact
    parameters.
    """
    exact = {
        name: privacy
        for name, privacy in opened.evidence.items()
        if isinstance(privacy, ExactPrivacy)
    }
    return max(
        record_delta([exact[name] for name in group], epsilon)
        for group in opened.whole.groups
    )
