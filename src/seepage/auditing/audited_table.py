"""Leakages and totals of a table under audited channels, beside those of the claims."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage.analysis import Analysis, analyse
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


def audited_analyses(
    data: Any,
    audited: Mapping[str, tuple[float, ExactPrivacy | None]],
    claims: Mapping[str, float],
    reported: Sequence[str],
    settings: Mapping[str, Any],
    reading: Mapping[str, Any],
) -> tuple[Analysis, Analysis]:
    """Return the analyses under the audited channels, and under the claims.

    Parameters
    ----------
    data
        Any table, see `analyse`.
    audited
        For each attribute its epsilon, and its exact privacy where parameters are known.
    claims
        The claimed epsilon of each attribute.
    reported
        Columns that hold reports in place of true values.
    settings, reading
        Options of `analyse`, and of reading the data.

    Notes
    -----
    Attributes that are not audited are not released (epsilon 0): they are targets only.  An
    attribute whose channel is unknown or too large has the bound over all mechanisms with
    its epsilon; one of infinite epsilon is as public.
    """
    guarantees = _checks.choices(settings["guarantee"], "guarantee", GUARANTEES)
    counted = as_counted(data, records=not set(guarantees) <= set(FROM_PAIRS), **reading)
    domain = counted.domain
    epsilons, mechanisms = {ALL_OTHERS: 0.0}, dict[str, Any]({ALL_OTHERS: None})
    claimed = dict[str, Any]({ALL_OTHERS: None})
    for name, (epsilon, exact) in audited.items():
        attribute = domain[name]
        if name in reported:
            mechanisms[name] = ReportedColumn(attribute.size, epsilon)
            claimed[name] = ReportedColumn(attribute.size, min(epsilon, claims[name]))
        elif exact is not None:
            mechanisms[name] = _mechanism(attribute, exact)
        if math.isinf(epsilon) and name not in reported:
            mechanisms[name] = PUBLIC
        else:
            epsilons[name] = epsilon
    found = [
        analyse(counted, budgets, mechanism=how, **settings)
        for budgets, how in ((epsilons, mechanisms), ({ALL_OTHERS: 0.0, **claims}, claimed))
    ]
    return found[0], found[1]


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
    rows = [randomised.values.index(value) for value in attribute.values]
    rare = matrix.max(axis=0) < RARE_OUTPUT  # its thresholds would not be the matrix
    if rare.any() or math.isinf(exact.pure):
        return None
    return MatrixMechanism(matrix[rows], name="audited")
