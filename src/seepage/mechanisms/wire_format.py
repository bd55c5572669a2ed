"""What a client needs to draw a mechanism's reports: how, and integers out of 2^64 as text.

`docs/wire.md` specifies how bytes become a report; `seepage.collection.wire_draws` is the
reference in Python.  A client draws each report from a fixed number of bytes, without rejection,
so where k does not divide 2^64 its uniform choices are uneven by one part in 2^64 or so.  The
thresholds are rounded so that the largest ratio of two chances of one report is still at most
e^epsilon, exactly.
"""

from fractions import Fraction
from typing import Any

from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.direct import GRR, ApproximateGRR, DirectResponse, Exponential
from seepage.mechanisms.randomness import CERTAIN, chance
from seepage.mechanisms.subset import SubsetSelection
from seepage.mechanisms.transition_matrix import MatrixMechanism, UtilityExponential
from seepage.mechanisms.unary import OUE, RAPPOR, ApproximateSUE, BasicRAPPOR, UnaryEncoding

DRAWN: frozenset[type[Mechanism]] = frozenset(
    (
        *(GRR, Exponential, ApproximateGRR),
        SubsetSelection,
        *(RAPPOR, OUE, ApproximateSUE, BasicRAPPOR),
        *(MatrixMechanism, UtilityExponential),
    )
)
"""Mechanisms that a client can draw.  Exact types: a subclass may draw otherwise."""


def mechanism_wire(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism as a plain dict of texts, integers and lists, for clients.

    Parameters
    ----------
    mechanism
        Any mechanism.  Those whose draw is `other` (hashing, noisy histograms) cannot be drawn by a
        client; their dict identifies them and no more.

    Notes
    -----
    direct
        Keep the value with chance `keep`, else any of the k values.  Of the M = 2^64 - keep
        words that are left each value gets at least floor(M / k), so with R the ratio of p and q
        every ratio is at most R if keep <= (p - q)(2^64 - k).
    subset
        Put the value in with chance `force`.  A choice among n <= k candidates has chances
        within (1 +- k / 2^64) / n, so a subset of w values has at least (1 - k / 2^64)^w of its
        uniform chance and a forced one at most (1 + k / 2^64)^(w-1); `force` makes up for it.
    bits
        Each bit is 1 with chance `true` or `other`.
    matrix
        Rows of thresholds, one per value, each summing to 2^64.

    Examples
    --------
    >>> from seepage.mechanisms import GRR, OUE
    >>> mechanism_wire(GRR(2, 0.0))
    {'mechanism': 'grr', 'k': 2, 'draw': 'direct', 'keep': '0'}
    >>> mechanism_wire(OUE(3, 0.0))["true"] == str(2**63)
    True
    """
    return {"mechanism": mechanism.name, "k": mechanism.k, **_drawn(mechanism)}


def _drawn(made: Mechanism) -> dict[str, Any]:
    if type(made) not in DRAWN:
        described = [[name, repr(value)] for name, value in sorted(made.describe().items())]
        return {"draw": "other", "described": described}
    if isinstance(made, DirectResponse):
        return {"draw": "direct", "keep": str(_keep(made))}
    if isinstance(made, SubsetSelection):
        return {"draw": "subset", "size": made.size, "force": str(_force(made))}
    if isinstance(made, UnaryEncoding):
        true, other = (str(int(part * CERTAIN)) for part in made.drawn)
        return {"draw": "bits", "true": true, "other": other}
    assert isinstance(made, MatrixMechanism)
    rows = [[str(cell) for cell in row] for row in made.thresholds.tolist()]
    return {"draw": "matrix", "thresholds": rows}


def _keep(made: DirectResponse) -> int:
    """Return the chance to keep the value, the largest by the rule of `mechanism_wire`."""
    contrast = made.true - made.other
    return max(0, int(contrast * (CERTAIN - made.k))) if made.k > 1 else 0


def _force(made: SubsetSelection) -> int:
    """Return the chance to put the value in, so that every ratio is at most R.

    force / (1 - force) * (k / w) * (1 + u)^(w-1) / (1 - u)^w <= R - 1, with u = k / 2^64 and
    (1 - u)^w / (1 + u)^(w-1) >= 1 - (2w - 1) u.
    """
    if made.k == 1:
        return 0
    p, w, k = made.true, made.size, made.k
    excess = p * (k - w) / ((1 - p) * w) - 1
    odds = excess * Fraction(w, k) * (1 - Fraction((2 * w - 1) * k, CERTAIN))
    return chance(max(Fraction(0), odds / (1 + odds)))
