"""Leakages and totals of a table under audited channels, beside those of the claims."""

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage.analysis import analyse
from seepage.auditing.audit import AuditOptions
from seepage.auditing.audit_result import RECORD, Audit
from seepage.auditing.exact_privacy import ExactPrivacy
from seepage.data.channel import Channel
from seepage.data.domain import ALL_OTHERS, Attribute
from seepage.data.inputs import as_counted
from seepage.errors import InputError
from seepage.leakage.leaks import Leakage
from seepage.leakage.release import PUBLIC, exact_leakage
from seepage.mechanisms.exact_draws import RARE_OUTPUT
from seepage.mechanisms.transition_matrix import MatrixMechanism
from seepage.totals.result import GUARANTEES
from seepage.totals.total import FROM_PAIRS

MAX_CELLS = 1 << 14
"""Maximum number of cells of a matrix whose thresholds are computed as exact fractions."""


class ReportedColumn:
    """Release of a column that holds reports already: what they tell is what the column tells.

    Parameters
    ----------
    k
        Number of reports.
    epsilon
        The epsilon of the randomiser, which no leakage exceeds.
    """

    name, delta, likely_sets, guess_sets = "reported", 0.0, None, None

    def __init__(self, k: int, epsilon: float) -> None:
        self.k, self.epsilon = k, epsilon

    def channel(self) -> Floats:
        """Return the identity."""
        return np.eye(self.k)

    inferred_channel = channel

    def leakage(self, G: Channel) -> Leakage:
        """Return ln max P(report given x) / P(report given x'), at most epsilon."""
        found = exact_leakage(G, Channel(self.channel(), G.output, G.output))
        return Leakage(min(found.value, self.epsilon), found.witness)


def with_data(found: Audit, exact: Mapping[str, ExactPrivacy], options: AuditOptions) -> Audit:
    """Return the audit with the analyses of a table, under the audited channels and the claims.

    Parameters
    ----------
    found
        The audit without the table.
    exact
        The attributes whose parameters are known.
    options
        Options of the audit: the table, its columns of reports, how it is read.

    Notes
    -----
    Attributes that are not audited are not released (epsilon 0): they are targets only.  An
    attribute whose channel is unknown or too large has the bound over all mechanisms with
    its epsilon; one of infinite epsilon is as public.
    """
    audited = {one.name: one for one in found.claims if one.name != RECORD}
    reported = _checks.choices(options.reported, "reported", audited)
    guarantees = _checks.choices(options.guarantee, "guarantee", GUARANTEES)
    needs_records = not set(guarantees) <= set(FROM_PAIRS)
    counted = as_counted(options.data, records=needs_records, **options.reading)
    claims = {ALL_OTHERS: 0.0, **{name: one.claim or 0.0 for name, one in audited.items()}}
    epsilons, notes = {ALL_OTHERS: 0.0}, list(found.notes)
    mechanisms, claimed = dict[str, Any]({ALL_OTHERS: None}), dict[str, Any]({ALL_OTHERS: None})
    for name, one in audited.items():
        attribute, epsilon = counted.domain[name], one.interval[1]
        if math.isinf(epsilon) and name not in exact:
            epsilon = one.interval[0]
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
        elif name in exact:
            mechanisms[name] = _mechanism(attribute, exact[name])
    data = options.data
    settings: dict[str, Any] = {
        "guarantee": guarantees,
        "name": Path(data).name if isinstance(data, (str, os.PathLike)) else "",
        "command": options.command,
    }
    return replace(
        found,
        analysis=analyse(counted, epsilons, mechanism=mechanisms, **settings),
        claimed=analyse(counted, claims, mechanism=claimed, **settings),
        notes=tuple(notes),
    )


def _mechanism(attribute: Attribute, exact: ExactPrivacy) -> Any:
    """Return the mechanism of all reports for the values of the data; None for the bound."""
    randomised = exact.attribute
    for value in attribute.values:
        if value not in randomised.values:
            raise InputError(
                f"data have the value {value!r} of {attribute.name!r}, which the randomiser lacks; "
                f"its values are {', '.join(randomised.values[:8])}"
            )
    mechanism, matrix = randomised.mechanism, exact.all_reports
    if mechanism is not None:
        one = exact.repeats == 1 and not exact.permanent and mechanism.k == attribute.size
        return mechanism if one else None
    if randomised.pair is not None or matrix is None or matrix.size > MAX_CELLS:
        return None
    if (matrix.max(axis=0) < RARE_OUTPUT).any():  # its thresholds would not be the matrix
        return None
    rows = [randomised.values.index(value) for value in attribute.values]
    return MatrixMechanism(matrix[rows], name="audited")
