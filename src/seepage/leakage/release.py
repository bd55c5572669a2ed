"""What one release leaks: `exact_leakage` through a transition matrix, and `Release`.

`exact_leakage` is the paper's Algorithm 1.  A `Release` is how one attribute is released, a budget
and, where known, a mechanism; its leakage is exact, or the bound over all mechanisms.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import UNIT, Floats, log_ratio, round_up
from seepage._registry import MECHANISMS
from seepage.data.channel import (
    Channel,
    DenseOrSparse,
    SparseLike,
    as_dense_or_sparse,
    dense,
    is_sparse,
    rows_are_equal,
)
from seepage.data.domain import Domain, for_each
from seepage.errors import ChannelError, InputError
from seepage.leakage.likely_sets import Leakage, LikelySets, named_witness, two_level_leakage
from seepage.leakage.robust_bound import reach_of, robust_leakage

if TYPE_CHECKING:
    from seepage.mechanisms.base import Mechanism

SCALE = 400
"""The power of two that every report's likeliest input is brought to, clear of underflow."""

CELLS_AT_ONCE = 1 << 24
"""Cells of the product W that are held at once: 128 MB."""


def exact_leakage(channel: Channel | ArrayLike | SparseLike, mechanism: Any) -> Leakage:
    """Return the exact leakage about a target when its source is released through a mechanism.

    CPL = ln max_y ( max_x W[x, y] / min_x W[x, y] ),  W = G C   [theory].

    Parameters
    ----------
    channel
        G = P(source given target): m target values by t source values; a `Channel`, a matrix, or a
        sparse matrix of SciPy.
    mechanism
        C = P(report given source), the mechanism's transition matrix, likewise: t source values by
        r reports; or a `Mechanism`, whose own closed form is used.

    Returns
    -------
    Leakage
        With the two target values and the report y that attain it, rounded up.  A report that
        no target value can produce is left out; one that is possible under one and impossible
        under another makes the leakage infinite.

    Notes
    -----
    One product and a maximum and minimum for each report, O(m t r); O(n r) with n cells of a
    sparse G that are not zero.  The product is made for some reports at a time, so that memory
    does not grow with m r, and a sparse channel is never made a whole matrix.  The paper loops
    over all pairs of target values, O(m^2 t^2), and its listing takes a row of C where its
    equation takes the column of the report y; the column is right, for y is what the adversary
    sees.

    With c the least entry of a column, W = c + G (C - c): what all inputs share is not rounded,
    so a report that tells nothing leaks exactly 0.

    Examples
    --------
    >>> import seepage as sp
    >>> randomised_response = [[0.75, 0.25], [0.25, 0.75]]
    >>> found = sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], randomised_response)
    >>> round(found.value, 4), found.witness.report
    (0.7732, 1)

    >>> from scipy.sparse import csr_array
    >>> sparse = sp.exact_leakage(csr_array([[0.9, 0.1], [0.2, 0.8]]), randomised_response)
    >>> round(sparse.value, 4), sparse.witness == found.witness
    (0.7732, True)

    >>> round(sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], sp.GRR(2, 1.0)).value, 4)
    0.7063
    """
    if callable(getattr(mechanism, "leakage", None)):
        if not is_sparse(channel):
            return mechanism.leakage(channel)  # type: ignore[no-any-return]
        mechanism = mechanism.channel()
    correlation = as_dense_or_sparse(channel, "channel")
    transition = as_dense_or_sparse(mechanism, "mechanism")
    _check_axes(channel, mechanism, correlation, transition)
    if rows_are_equal(correlation):
        return Leakage(0.0, None)
    columns = transition.tocsc() if is_sparse(transition) else transition
    step = max(1, CELLS_AT_ONCE // max(correlation.shape[0], transition.shape[0]))
    best = (0.0, 0, 0, 0)
    for begin in range(0, transition.shape[1], step):
        found = _most_telling(correlation, dense(columns[:, begin : begin + step]))
        if found[0] > best[0]:
            best = (*found[:3], begin + found[3])
    value, likelier, other, report = best
    if likelier == other:
        return Leakage(value, None)
    column = dense(columns[:, [report]])[:, 0]
    name = mechanism.output.values[report] if isinstance(mechanism, Channel) else report
    return Leakage(value, named_witness(channel, likelier, other, column == column.max(), name))


def _most_telling(correlation: DenseOrSparse, mechanism: Floats) -> tuple[float, int, int, int]:
    """Return the leakage of the most telling report among some columns of a mechanism.

    With the two target values that it tells apart, and its column.
    """
    highest = mechanism.max(axis=0)
    possible = np.flatnonzero(highest)
    if not len(possible):
        return 0.0, 0, 0, 0
    columns = np.ldexp(mechanism[:, possible], SCALE - np.frexp(highest[possible])[1])
    shared = columns.min(axis=0)
    columns -= shared
    seen = correlation @ columns
    ratios = _log_ratios(seen, shared, len(mechanism))
    index = int(ratios.argmax())
    column = seen[:, index]
    rows = int(column.argmax()), int(column.argmin())
    return float(ratios[index]), *rows, int(possible[index])


def _log_ratios(seen: Floats, shared: Floats, terms: int) -> Floats:
    """Return ln max / min of `shared + seen` in each column, rounded up.

    Infinite where only the minimum is 0, and 0 where all inputs give the report alike.  A sum of
    `terms` products and the rounded cells move the logarithm by as many units of the share that
    is not common; so far a difference may hide.
    """
    most, least = seen.max(axis=0), seen.min(axis=0)
    ratios = log_ratio(most - least, shared + least, np.inf)
    with np.errstate(invalid="ignore"):
        guard = 2 * (terms + 8) * UNIT * (most / (shared + most))
    return np.where(most > 0, round_up(ratios, 8) + guard, 0.0)


def _check_axes(
    channel: Any, mechanism: Any, correlation: DenseOrSparse, transition: DenseOrSparse
) -> None:
    if (
        isinstance(channel, Channel)
        and isinstance(mechanism, Channel)
        and channel.output != mechanism.given
    ):
        raise ChannelError(
            f"the source of channel is {channel.output.name!r} but mechanism perturbs "
            f"{mechanism.given.name!r}; they must be the same attribute"
        )
    if correlation.shape[1] != transition.shape[0]:
        raise ChannelError(
            f"channel has {correlation.shape[1]} source values but mechanism has "
            f"{transition.shape[0]} rows; they must be equal"
        )


# Releases -----------------------------------------------------------------------------------------

View = Literal["report", "inferred"]
VIEWS = ("report", "inferred")

PUBLIC = "public"
"""In place of a mechanism's name: the attribute is public already."""


@dataclass(frozen=True)
class Release:
    """How one attribute is released: its budget and, where known, its mechanism.

    Parameters
    ----------
    epsilon, delta
        The budget.
    mechanism
        The mechanism; None for any mechanism with that budget, whose leakage is the bound.
    public
        Identity release of a public attribute (epsilon = infinity): the adversary sees the value
        itself, whose leakage is ln max G[x, u] / G[x', u].
    """

    epsilon: float
    delta: float = 0.0
    mechanism: "Mechanism | None" = None
    public: bool = False

    @property
    def name(self) -> str | None:
        """The mechanism's name, or "public"; None where only the budget is known."""
        if self.public:
            return PUBLIC
        return None if self.mechanism is None else self.mechanism.name

    def sets(self, view: View) -> LikelySets | None:
        """Return the likely sets that an adversary with this view sees, if it is two-level."""
        if self.mechanism is None:
            return LikelySets("singletons" if self.public else "all", self.epsilon)
        return self.mechanism.guess_sets if view == "inferred" else self.mechanism.likely_sets

    def leakage(self, G: Channel, view: View, radius: float = 0.0) -> Leakage:
        """Return the leakage about the target of a channel whose source is so released.

        With a radius, the most over all channels whose rows are within it of G's; a mechanism that
        is not two-level then counts with the bound over all of its budget.
        """
        sets, slack = self.sets(view), self.delta if self.mechanism is None else 0.0
        if radius:
            if sets is None and self.delta:
                raise InputError(
                    f"radius must be 0 for {self.name!r}, whose delta is {self.delta:g}; "
                    "leave the mechanism out for the bound of its budget"
                )
            reach = reach_of(G, radius, None)
            return robust_leakage(G, sets or LikelySets("all", self.epsilon), reach, slack)
        if self.mechanism is not None and view == "report":
            return self.mechanism.leakage(G)
        if sets is not None:
            return two_level_leakage(G, sets, slack)
        assert self.mechanism is not None
        return exact_leakage(G, Channel(self.mechanism.inferred_channel(), G.output, G.output))


def releases(domain: Domain, epsilon: Any, mechanism: Any, delta: Any = 0.0) -> list[Release]:
    """Return how each attribute of a domain is released, from one setting or one for each."""
    epsilons = [_checks.epsilon(e, "epsilon") for e in for_each(domain, epsilon, "epsilon")]
    deltas = [_checks.delta(d) for d in for_each(domain, delta, "delta")]
    found = []
    for attribute, budget, slack, how in zip(
        domain, epsilons, deltas, for_each(domain, mechanism, "mechanism"), strict=True
    ):
        if how is None:
            found.append(Release(budget, slack))
        elif isinstance(how, str) and how == PUBLIC:
            found.append(Release(math.inf if attribute.size > 1 else 0.0, public=True))
        elif isinstance(how, str):
            made = MECHANISMS.find(how).create(attribute.size, budget, slack)
            found.append(Release(budget, slack, made))
        else:
            if not (hasattr(how, "k") and hasattr(how, "likely_sets")):
                raise InputError(
                    f"mechanism must be a name or a Mechanism, got {_checks.shown(how)}"
                )
            if how.k != attribute.size:
                raise InputError(
                    f"the mechanism of {attribute.name!r} must have k = {attribute.size}, "
                    f"got k = {how.k}"
                )
            found.append(Release(how.epsilon, how.delta, how))
    return found
