"""The exact leakage of a mechanism whose transition matrix is known: the paper's Algorithm 1."""

import numpy as np
from numpy.typing import ArrayLike

from seepage._numerics import Floats
from seepage.channel import Channel, as_matrix
from seepage.errors import ChannelError
from seepage.evidence import Leakage, Witness, labels

__all__ = ["exact_leakage"]


def exact_leakage(G: Channel | ArrayLike, C: Channel | ArrayLike) -> Leakage:
    """Return the exact leakage about a target when its source is released through C.

    CPL = ln max_y ( max_x W[x, y] / min_x W[x, y] ),  W = G C   [THEORY section 2].

    Parameters
    ----------
    G
        P(source given target): m target values by t source values.
    C
        P(report given source), the mechanism's transition matrix: t source values by reports.

    Returns
    -------
    Leakage
        With the two target values and the report y that attain it.  A report that no target
        value can produce is left out; one that is possible under one and impossible under
        another makes the leakage infinite.

    Notes
    -----
    One product and a maximum and minimum for each report, O(m t r).  The paper loops over all
    pairs of target values, O(m^2 t^2), and its listing takes a row of C where its equation takes
    the column of the report y; the column is right, for y is what the adversary sees.

    Examples
    --------
    >>> import seepage as sp
    >>> randomised_response = [[0.75, 0.25], [0.25, 0.75]]
    >>> found = sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], randomised_response)
    >>> round(found.value, 4), found.witness.report
    (0.7621, 1)
    """
    correlation, mechanism = as_matrix(G, "G"), as_matrix(C, "C")
    _check_axes(G, C, correlation, mechanism)
    highest = mechanism.max(axis=0)
    possible = np.flatnonzero(highest)
    seen = correlation @ (mechanism[:, possible] / highest[possible])
    ratios = _log_ratios(seen)
    if not len(ratios) or ratios.max() <= 0:
        return Leakage(0.0, None)
    report = int(ratios.argmax())
    first, second = int(seen[:, report].argmax()), int(seen[:, report].argmin())
    column = int(possible[report])
    targets, sources = labels(G, 0, len(correlation)), labels(G, 1, len(mechanism))
    likely = np.flatnonzero(mechanism[:, column] == highest[column])
    witness = Witness(
        targets[first],
        targets[second],
        tuple(sources[u] for u in likely),
        labels(C, 1, mechanism.shape[1])[column],
    )
    return Leakage(float(ratios[report]), witness)


def _log_ratios(seen: Floats) -> Floats:
    """Return ln (max / min) of each column, infinite where only the minimum is 0."""
    high, low = seen.max(axis=0), seen.min(axis=0)
    reached = high > 0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p((high[reached] - low[reached]) / low[reached]))


def _check_axes(
    G: Channel | ArrayLike, C: Channel | ArrayLike, correlation: Floats, mechanism: Floats
) -> None:
    if isinstance(G, Channel) and isinstance(C, Channel) and G.output != C.given:
        raise ChannelError(
            f"the source of G is {G.output.name!r} but C perturbs {C.given.name!r}; "
            "they must be the same attribute"
        )
    if correlation.shape[1] != mechanism.shape[0]:
        raise ChannelError(
            f"G has {correlation.shape[1]} source values but C has {mechanism.shape[0]} rows; "
            "they must be equal"
        )
