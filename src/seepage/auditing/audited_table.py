"""Leakages and totals of a table under audited channels, beside those of the claims."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError, escaped
from seepage.analysis.analyse import analyse
from seepage.auditing.audit_options import AuditOptions
from seepage.auditing.audit_result import Audit, AuditedLeak
from seepage.auditing.claims import RECORD, AuditedClaim
from seepage.auditing.exact_audit import ExactPrivacy
from seepage.auditing.samples import Samples
from seepage.channel.channel import Channel
from seepage.channel.domain import ALL_OTHERS, Attribute
from seepage.leakage.exact_leakage import exact_leakage
from seepage.leakage.leakage import Leakage
from seepage.leakage.matrix import LeakageMatrix
from seepage.mechanisms.base import PUBLIC
from seepage.mechanisms.exact_probabilities import RARE_OUTPUT
from seepage.mechanisms.transition_matrix import MatrixMechanism
from seepage.tables.read import as_counted
from seepage.totals.guarantees import FROM_PAIRS, GUARANTEES

MAX_FRACTION_CELLS = 1 << 14
"""Maximum number of cells of a matrix whose thresholds are computed as exact
fractions."""


MAX_NAMED_VALUES = 8
"""Maximum number of values of a randomiser that a message names."""


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
        """Set the number of reports and the epsilon of an audited column of reports."""
        self.k = k
        self.epsilon = epsilon

    def channel(self) -> Floats:
        """Return the identity: the audited column holds the reports themselves."""
        return np.eye(self.k)

    inferred_channel = channel

    def leakage(self, G: Channel) -> Leakage:
        """Return ln max P(report given x) / P(report given x') of an audited column of
        reports, at most epsilon.
        """
        leakage = exact_leakage(G, Channel(self.channel(), G.output, G.output))
        return Leakage(min(leakage.value, self.epsilon), leakage.witness)


def with_table(
    audit: Audit,
    evidence: Mapping[str, Samples | ExactPrivacy],
    options: AuditOptions,
) -> Audit:
    """Return the audit with the analyses of a table, under the audited channels and the
    claims.

    Parameters
    ----------
    audit
        The audit without the table.
    evidence
        The samples or the exact privacy of every attribute.
    options
        Options of the audit: the table, its columns of reports, how it is read.

    Notes
    -----
    Attributes that are not audited are not released (epsilon 0): they are targets only.
    An attribute whose channel is unknown or too large has the bound over all mechanisms
    with its epsilon; one of infinite epsilon is as public.
    """
    audited = {}
    for claim in audit.claims:
        if claim.attribute != RECORD:
            audited[claim.attribute] = claim
    reported = checks.choices(options.reported, "reported", audited)
    guarantees = checks.choices(options.guarantee, "guarantee", GUARANTEES)
    needs_records = not set(guarantees) <= set(FROM_PAIRS)
    counted = as_counted(options.data, records=needs_records, **options.table.keywords)
    as_audited = _Release()
    as_claimed = _Release()
    notes = list(audit.notes)
    for name, claim in audited.items():
        attribute = counted.domain[name]
        epsilon = _epsilon_of_leakages(claim, evidence[name], notes)
        claimed_epsilon = claim.claim or 0.0
        as_claimed.epsilons[name] = claimed_epsilon
        if math.isfinite(epsilon):
            as_audited.epsilons[name] = epsilon
        if name in reported:
            k = attribute.size
            capped = min(epsilon, claimed_epsilon)
            as_audited.mechanisms[name] = ReportedColumn(k, epsilon)
            as_claimed.mechanisms[name] = ReportedColumn(k, capped)
        else:
            mechanism = _audited_mechanism(attribute, evidence[name], epsilon)
            as_audited.mechanisms[name] = mechanism
    table_name = ""
    if isinstance(options.data, (str, os.PathLike)):
        table_name = escaped(Path(options.data).name)

    def analysed(release: _Release) -> Any:
        """Return the analysis of the audited table under a release."""
        return analyse(
            counted,
            release.epsilons,
            mechanism=release.mechanisms,
            guarantee=guarantees,
            name=table_name,
            command=options.command,
        )

    analysis = analysed(as_audited)
    claimed = analysed(as_claimed)
    return replace(
        audit,
        leaks=tuple(_leaks(analysis.matrix, claimed.matrix, audited)),
        analysis=analysis,
        claimed=claimed,
        notes=tuple(notes),
    )


class _Release:
    """Epsilons and mechanisms by attribute; one that is not named is not released."""

    def __init__(self) -> None:
        """Start with no column of the audited table released."""
        self.epsilons: dict[str, float] = {ALL_OTHERS: 0.0}
        self.mechanisms: dict[str, Any] = {ALL_OTHERS: None}


def _epsilon_of_leakages(
    claim: AuditedClaim, evidence: Samples | ExactPrivacy, notes: list[str]
) -> float:
    """Return the epsilon of an audited attribute's leakages: the upper limit, or the
    proven one where samples have none, which is noted.
    """
    if math.isfinite(claim.upper) or isinstance(evidence, ExactPrivacy):
        return claim.upper
    notes.append(
        f"leakages of {claim.attribute} are those of its proven epsilon "
        f"{claim.lower:.4g}; the realised one may be larger"
    )
    return claim.lower


def _audited_mechanism(
    attribute: Attribute, evidence: Samples | ExactPrivacy, epsilon: float
) -> Any:
    """Return the audited mechanism of an attribute of true values; None for the
    bound.
    """
    if math.isinf(epsilon):
        return PUBLIC
    if isinstance(evidence, Samples):
        return None
    return _exact_mechanism(attribute, evidence)


def _exact_mechanism(attribute: Attribute, exact: ExactPrivacy) -> Any:
    """Return the audited mechanism of all reports for the values of the table; None for
    the bound.
    """
    randomised = exact.attribute
    _check_values(attribute, randomised.values)
    mechanism = randomised.mechanism
    if mechanism is not None:
        is_one_report = exact.repeats == 1 and not exact.permanent
        if is_one_report and mechanism.k == attribute.size:
            return mechanism
        return None
    matrix = exact.all_reports
    if randomised.pair is not None or matrix is None:
        return None
    if matrix.size > MAX_FRACTION_CELLS:
        return None
    if (matrix.max(axis=0) < RARE_OUTPUT).any():
        return None  # its thresholds would not be the matrix
    rows = [randomised.values.index(value) for value in attribute.values]
    return MatrixMechanism(matrix[rows], name="audited")


def _check_values(attribute: Attribute, known: Sequence[str]) -> None:
    """Raise an InputError for a value of an audited table that a randomiser lacks."""
    for value in attribute.values:
        if value not in known:
            named = ", ".join(known[:MAX_NAMED_VALUES])
            raise InputError(
                f"data have the value {value!r} of {attribute.name!r}, which the "
                f"randomiser lacks; its values are {named}"
            )


def _leaks(
    audited: LeakageMatrix, claimed: LeakageMatrix, names: Iterable[str]
) -> list[AuditedLeak]:
    """Return what each audited source of a table tells about every other attribute, the
    most first.
    """
    limits = audited.interval()
    upper = np.minimum(limits.upper, audited.epsilons)  # by the source, a column
    domain = audited.domain.names
    leaks = []
    for x, source in enumerate(domain):
        if source not in names:
            continue
        for y, target in enumerate(domain):
            if x != y:
                leak = AuditedLeak(
                    source=source,
                    target=target,
                    audited=float(audited.values[y, x]),
                    claimed=float(claimed.values[y, x]),
                    lower=float(limits.lower[y, x]),
                    upper=float(upper[y, x]),
                )
                leaks.append(leak)
    return sorted(leaks, key=lambda leak: -leak.audited)
