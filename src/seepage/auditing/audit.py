"""`audit`: what somebody else's randomiser really spends."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.options import takes
from seepage._core.rounding import summed_up
from seepage._core.text import short_list
from seepage.auditing.audit_options import AuditOptions
from seepage.auditing.claims import RECORD, Audit, AuditedClaim, AuditedLeak
from seepage.auditing.exact_audit import ExactPrivacy, record_delta
from seepage.auditing.sampled_claim import sampled_claim
from seepage.auditing.samples import Samples, samples_of
from seepage.channel.channel import Channel
from seepage.channel.domain import ALL_OTHERS, Attribute, Domain, for_each
from seepage.leakage.exact_leakage import exact_leakage
from seepage.leakage.leakage import Leakage
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.release import PUBLIC
from seepage.mechanisms.exact_probabilities import RARE_OUTPUT
from seepage.mechanisms.randomiser import SINGLE, RandomisedAttribute, Randomiser
from seepage.mechanisms.transition_matrix import MatrixMechanism
from seepage.tables.read import as_counted
from seepage.totals.guarantees import GUARANTEES
from seepage.totals.total import FROM_PAIRS

MAX_CELLS = 1 << 14
"""Maximum number of cells of a matrix whose thresholds are computed as exact
fractions."""


@takes(AuditOptions)
def audit(randomiser: Any, options: AuditOptions) -> Audit:
    """Return what a randomiser realises beside what is claimed, with verdict and
    witness.

    Parameters
    ----------
    randomiser
        Published parameters: a transition matrix (an array, a CSV file), a
        specification (a mapping, a JSON file, see `Randomiser`), a `Mechanism`.  Or
        what is sampled: a function of a value, a Python or JavaScript module with a
        function `randomise`, a table of samples (a frame, a CSV or Parquet file with
        the column `value`, its other columns are the report; or a pair of arrays).  Or
        a mapping by attribute of what is sampled.

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
    whole, opened = _opened(randomiser, options)
    names = Domain(Attribute(name, ("",)) for name in whole)
    claims = [
        checks.epsilon(one, "claim") for one in for_each(names, options.claim, "claim")
    ]
    beta = (1 - options.confidence) / len(whole)
    rows = [
        one.claim(claim, options.delta)
        if isinstance(one, ExactPrivacy)
        else sampled_claim(name, one, claim, options.delta, beta, options.rng)
        for claim, (name, one) in zip(claims, opened.items(), strict=True)
    ]
    if len(rows) > 1 or options.record_claim is not None:
        rows.append(_record_claim(rows, opened, whole.groups, options))
    name = Path(randomiser).name if isinstance(randomiser, (str, os.PathLike)) else ""
    found = Audit(tuple(rows), options.confidence, name=name)
    if options.data is None:
        return found
    return _with_data(found, opened, options)


def _opened(
    randomiser: Any, options: AuditOptions
) -> tuple[Randomiser, dict[str, Samples | ExactPrivacy]]:
    """Return what is randomised how often, and the samples or exact privacy of every
    attribute.
    """
    how = options.values, options.reports, options.samples, options.rounds or 1
    named = {options.attribute or SINGLE: randomiser}
    if isinstance(randomiser, Mapping):
        named = {str(name): one for name, one in randomiser.items()}
    drawn = {name: samples_of(one, *how) for name, one in named.items()}
    sampled = {name: one for name, one in drawn.items() if one is not None}
    if sampled:
        if len(sampled) < len(drawn):
            raise InputError(
                "either all attributes are sampled or none", parameter="randomiser"
            )
        if options.memoised is not None:
            raise InputError("memoised has no effect on samples", parameter="memoised")
        attributes = [
            RandomisedAttribute(name, one.values) for name, one in sampled.items()
        ]
        linked = True if options.linked is None else options.linked
        return Randomiser(attributes, linked=linked), {**sampled}
    read = Randomiser.read(randomiser)
    attributes = list(read.values())
    if options.attribute is not None:
        if len(read) > 1:
            raise InputError(
                "attribute must be left out: it is named", parameter="attribute"
            )
        attributes = [replace(one, name=options.attribute) for one in attributes]
    rounds, memoised, linked = (
        getattr(read if getattr(options, name) is None else options, name)
        for name in ("rounds", "memoised", "linked")
    )
    whole = Randomiser(attributes, rounds, memoised, linked)
    reports = 1 if whole.linked is False else whole.rounds
    return whole, {
        name: ExactPrivacy(one, reports, memoised) for name, one in whole.items()
    }


def _record_claim(
    rows: Sequence[AuditedClaim],
    opened: Mapping[str, Any],
    groups: Iterable[Sequence[str]],
    options: AuditOptions,
) -> AuditedClaim:
    """Return the claim about all reports of a person: epsilons of linked reports add
    up.
    """
    named = {one.attribute: one for one in rows}
    claim = options.record_claim
    linked = [[named[name] for name in group] for group in groups]
    lower = max(summed_up(one.lower for one in parts) for parts in linked)
    strongest = max(linked, key=lambda parts: summed_up(one.upper for one in parts))
    upper = summed_up(one.upper for one in strongest)
    told = short_list([f"{one.attribute} ({one.upper:.4g})" for one in strongest], 4)
    words = f"epsilons of linked reports add up: {told}"
    slack = min(1.0, options.delta * len(rows))
    realised = 0.0
    samples = sum(one.samples for one in rows)
    if claim is not None and not samples:
        realised = max(
            record_delta([opened[name] for name in group], claim) for group in groups
        )
    return AuditedClaim(
        RECORD, claim, slack, lower, upper, realised, words, samples=samples
    )


# Data ---------------------------------------------------------------------------------


class ReportedColumn:
    """Release of a column that holds reports already: what they tell is what the column
    tells.

    Parameters
    ----------
    k
        Number of reports.
    epsilon
        The epsilon of the randomiser, which no leakage exceeds.
    """

    name = "reported"
    delta = 0.0
    likely_sets = None
    guess_sets = None

    def __init__(self, k: int, epsilon: float) -> None:
        self.k = k
        self.epsilon = epsilon

    def channel(self) -> Floats:
        """Return the identity."""
        return np.eye(self.k)

    inferred_channel = channel

    def leakage(self, G: Channel) -> Leakage:
        """Return ln max P(report given x) / P(report given x'), at most epsilon."""
        found = exact_leakage(G, Channel(self.channel(), G.output, G.output))
        return Leakage(min(found.value, self.epsilon), found.witness)


def _with_data(
    found: Audit, opened: Mapping[str, Samples | ExactPrivacy], options: AuditOptions
) -> Audit:
    """Return the audit with the analyses of a table, under the audited channels and the
    claims.

    Parameters
    ----------
    found
        The audit without the table.
    opened
        The samples or the exact privacy of every attribute.
    options
        Options of the audit: the table, its columns of reports, how it is read.

    Notes
    -----
    Attributes that are not audited are not released (epsilon 0): they are targets only.  An
    attribute whose channel is unknown or too large has the bound over all mechanisms with
    its epsilon; one of infinite epsilon is as public.
    """
    from seepage.analysis.analyse import analyse

    audited = {one.attribute: one for one in found.claims if one.attribute != RECORD}
    reported = checks.choices(options.reported, "reported", audited)
    guarantees = checks.choices(options.guarantee, "guarantee", GUARANTEES)
    needs_records = not set(guarantees) <= set(FROM_PAIRS)
    counted = as_counted(options.data, records=needs_records, **options.reading)
    claims = {
        ALL_OTHERS: 0.0,
        **{name: one.claim or 0.0 for name, one in audited.items()},
    }
    epsilons = {ALL_OTHERS: 0.0}
    notes = list(found.notes)
    mechanisms = dict[str, Any]({ALL_OTHERS: None})
    claimed = dict[str, Any]({ALL_OTHERS: None})
    for name, one in audited.items():
        attribute = counted.domain[name]
        epsilon = one.upper
        how = opened[name]
        if math.isinf(epsilon) and isinstance(how, Samples):
            epsilon = one.lower
            notes.append(
                f"leakages of {name} are those of its proven epsilon {epsilon:.4g}; the "
                "realised one may be larger"
            )
        if math.isfinite(epsilon):
            epsilons[name] = epsilon
        if name in reported:
            mechanisms[name] = ReportedColumn(attribute.size, epsilon)
            claimed[name] = ReportedColumn(attribute.size, min(epsilon, claims[name]))
        elif math.isinf(epsilon):
            mechanisms[name] = PUBLIC
        elif isinstance(how, ExactPrivacy):
            mechanisms[name] = _mechanism(attribute, how)
    data = options.data
    settings: dict[str, Any] = {
        "guarantee": guarantees,
        "name": Path(data).name if isinstance(data, (str, os.PathLike)) else "",
        "command": options.command,
    }
    analysis = analyse(counted, epsilons, mechanism=mechanisms, **settings)
    against = analyse(counted, claims, mechanism=claimed, **settings)
    return replace(
        found,
        leaks=tuple(_leaks(analysis.matrix, against.matrix, audited)),
        analysis=analysis,
        claimed=against,
        notes=tuple(notes),
    )


def _leaks(
    audited: LeakageMatrix, claimed: LeakageMatrix, names: Iterable[str]
) -> list[AuditedLeak]:
    """Return what each audited source tells about every other attribute, the most
    first.
    """
    limits = audited.interval()
    upper = np.minimum(limits.upper, audited.epsilons)  # by the source, a column
    tables = audited.values, claimed.values, limits.lower, upper
    domain = audited.domain.names
    rows = [
        AuditedLeak(source, target, *(float(table[y, x]) for table in tables))
        for x, source in enumerate(domain)
        for y, target in enumerate(domain)
        if x != y and source in names
    ]
    return sorted(rows, key=lambda leak: -leak.audited)


def _mechanism(attribute: Attribute, exact: ExactPrivacy) -> Any:
    """Return the mechanism of all reports for the values of the data; None for the
    bound.
    """
    randomised = exact.attribute
    for value in attribute.values:
        if value not in randomised.values:
            raise InputError(
                f"data have the value {value!r} of {attribute.name!r}, which the randomiser lacks; "
                f"its values are {', '.join(randomised.values[:8])}"
            )
    mechanism = randomised.mechanism
    matrix = exact.all_reports
    if mechanism is not None:
        one = (
            exact.repeats == 1 and not exact.permanent and mechanism.k == attribute.size
        )
        return mechanism if one else None
    if randomised.pair is not None or matrix is None or matrix.size > MAX_CELLS:
        return None
    if (
        matrix.max(axis=0) < RARE_OUTPUT
    ).any():  # its thresholds would not be the matrix
        return None
    rows = [randomised.values.index(value) for value in attribute.values]
    return MatrixMechanism(matrix[rows], name="audited")
