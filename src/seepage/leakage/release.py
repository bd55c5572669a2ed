"""Leakage of one released attribute: `exact_leakage` of a transition matrix, and `Release`.

`exact_leakage` is the paper's Algorithm 1.  A `Release` is the budget of one attribute and, where
known, its mechanism; its leakage is exact, or the bound over all mechanisms with that budget.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import UNIT, Floats, Integers, log_ratio, round_up
from seepage._registry import MECHANISMS
from seepage.data import Domain, for_each
from seepage.data.channel import Channel, as_matrix
from seepage.errors import ChannelError, InputError
from seepage.leakage import Leakage, named_witness
from seepage.leakage.bound import delta_at, leakage_bound, relaxed_leakage
from seepage.leakage.likely_sets import LikelySets, two_level_leakage

if TYPE_CHECKING:
    from seepage.mechanisms.base import Mechanism

COLUMN_EXPONENT = 400
"""Binary exponent of the largest entry of each scaled column: away from underflow."""

MAX_PRODUCT_CELLS = 1 << 24
"""Cells of the product W in memory at a time: 128 MB."""


def exact_leakage(channel: Channel | ArrayLike, mechanism: Any) -> Leakage:
    """Return the exact leakage about a target when its source is released through a mechanism.

    CPL = ln max_y ( max_x W[x, y] / min_x W[x, y] ),  W = G C   [theory].

    Parameters
    ----------
    channel
        G = P(source given target): m target values by t source values; a `Channel` or a matrix.
    mechanism
        C = P(report given source), the mechanism's transition matrix, likewise: t source values by
        r reports; or a `Mechanism`, whose own closed form is used.

    Returns
    -------
    Leakage
        The value in nats, rounded up, with the two target values and the report y that attain it;
        for a mechanism with a delta the pair (l, delta), see `Mechanism.leakage`.
        A report that no target value can produce is excluded; one that is possible under one and
        impossible under another makes the leakage infinite.

    Notes
    -----
    One product and a maximum and minimum for each report, O(m t r), in blocks of reports, so that
    memory does not grow with m r.  The paper loops over all pairs of target values, O(m^2 t^2), and
    its listing takes a row of C where its equation takes the column of the report y; the column is
    right, since the adversary observes y.

    With c the smallest entry of a column, W = c + G (C - c): the part common to all inputs is not
    rounded, so a report that is independent of the input leaks exactly 0.

    Examples
    --------
    >>> import seepage as sp
    >>> randomised_response = [[0.75, 0.25], [0.25, 0.75]]
    >>> found = sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], randomised_response)
    >>> round(found.value, 4), found.witness.report
    (0.7732, 1)

    >>> round(sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], sp.GRR(2, 1.0)).value, 4)
    0.7063
    """
    if callable(getattr(mechanism, "leakage", None)):
        return mechanism.leakage(channel)  # type: ignore[no-any-return]
    correlation, transition = as_matrix(channel, "channel"), as_matrix(mechanism, "mechanism")
    _check_axes(channel, mechanism, correlation, transition)
    if (correlation == correlation[0]).all():
        return Leakage(0.0, None)
    step = max(1, MAX_PRODUCT_CELLS // max(correlation.shape[0], transition.shape[0]))
    best = (0.0, 0, 0, 0)
    for start in range(0, transition.shape[1], step):
        columns = _scaled_columns(transition[:, start : start + step])
        candidate = largest_mixed_ratio(correlation, *columns)
        if candidate[0] > best[0]:
            best = (*candidate[:3], start + candidate[3])
    value, likelier, other, report = best
    if likelier == other:
        return Leakage(value, None)
    column = transition[:, report]
    name = mechanism.output.values[report] if isinstance(mechanism, Channel) else report
    witness = named_witness(channel, likelier, other, column == column.max(), name)
    curve = partial(delta_at, correlation, value, transition)
    return Leakage(value, witness, delta_at=curve)


def _scaled_columns(mechanism: Floats) -> tuple[Floats, Floats]:
    """Return the excess over the smallest entry of each column, and that entry; columns scaled."""
    exponents = COLUMN_EXPONENT - np.frexp(mechanism.max(axis=0))[1]
    columns = np.ldexp(mechanism, exponents)
    common = columns.min(axis=0)
    columns -= common
    return columns, common


def largest_mixed_ratio(
    correlation: Floats, excess: Floats, common: Floats
) -> tuple[float, int, int, int]:
    """Return the largest log-ratio of two rows of W = common + G excess: value, x, x' and column.

    Rounded up.  Infinite where only the smaller likelihood is 0, and 0 where the report is equally
    likely under all inputs.  The rounding errors of a sum of products and of its cells move the
    logarithm by at most that many units of the share excess / (common + excess), which is added.
    """
    mixed = correlation @ excess
    high, low = mixed.max(axis=0), mixed.min(axis=0)
    ratios = log_ratio(high - low, common + low, np.inf)
    with np.errstate(invalid="ignore"):
        guard = 2 * (len(excess) + 8) * UNIT * (high / (common + high))
    ratios = np.where(high > 0, round_up(ratios, 8) + guard, 0.0)
    index = int(ratios.argmax())
    rows = int(mixed[:, index].argmax()), int(mixed[:, index].argmin())
    return float(ratios[index]), *rows, index


def _check_axes(channel: Any, mechanism: Any, correlation: Floats, transition: Floats) -> None:
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
"""Stands in place of a mechanism's name for a public attribute."""


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
        """Return the likely sets of what the adversary observes; None if it is not two-level."""
        if self.mechanism is None:
            return LikelySets("singletons" if self.public else "all", self.epsilon)
        return self.mechanism.guess_sets if view == "inferred" else self.mechanism.likely_sets

    def transition(self, view: View) -> Floats:
        """Return P(what the adversary observes given value); an InputError if it is not known."""
        assert self.mechanism is not None
        return self.mechanism.inferred_channel() if view == "inferred" else self.mechanism.channel()

    def leakage(self, G: Channel, view: View) -> Leakage:
        """Return the leakage about the target of G when its source is released in this way."""
        sets = self.sets(view)
        if self.public:
            return two_level_leakage(G, LikelySets("singletons", self.epsilon))
        if self.mechanism is None:
            return leakage_bound(G, self.epsilon, delta=self.delta)
        if view == "report":
            return self.mechanism.leakage(G)
        guessed = self.transition(view)
        if sets is None:
            return exact_leakage(G, Channel(guessed, G.output, G.output))
        pure = two_level_leakage(G, sets)
        curve = partial(delta_at, as_matrix(G), pure.value, guessed)
        return relaxed_leakage(G, pure, (self.epsilon, self.delta), curve)


def releases(domain: Domain, epsilon: Any, mechanism: Any, delta: Any = 0.0) -> list[Release]:
    """Return the release of each attribute; every setting is one for all, or one for each."""
    epsilons = [_checks.epsilon(e, "epsilon") for e in for_each(domain, epsilon, "epsilon")]
    deltas = [_checks.delta(d) for d in for_each(domain, delta, "delta")]
    released = []
    for attribute, budget, slack, choice in zip(
        domain, epsilons, deltas, for_each(domain, mechanism, "mechanism"), strict=True
    ):
        if choice is None:
            released.append(Release(budget, slack))
        elif isinstance(choice, str) and choice == PUBLIC:
            released.append(Release(math.inf if attribute.size > 1 else 0.0, public=True))
        elif isinstance(choice, str):
            created = MECHANISMS.find(choice).create(attribute.size, budget, slack)
            released.append(Release(budget, slack, created))
        else:
            if not (hasattr(choice, "k") and hasattr(choice, "likely_sets")):
                raise _checks.violation("mechanism", "a name or a Mechanism", choice)
            if choice.k != attribute.size:
                raise InputError(
                    f"the mechanism of {attribute.name!r} must have k = {attribute.size}, "
                    f"got k = {choice.k}"
                )
            released.append(Release(choice.epsilon, choice.delta, choice))
    return released


def by_kind(
    sets: Sequence[LikelySets | None], indices: Integers
) -> Iterator[tuple[LikelySets, Integers, Floats]]:
    """Group `indices` into `sets` by the kind and size of their likely sets.

    Yields (example, chosen, contrasts): likely sets of that kind and size, the positions in
    `indices` that have them, and the contrast of each.  Indices without likely sets are skipped.
    """
    kinds = [family and (family.kind, family.size) for family in sets]
    contrasts = np.array([np.nan if family is None else family.contrast for family in sets])
    for kind, example in dict(zip(kinds, sets, strict=True)).items():
        chosen = np.flatnonzero(np.array([kind == other for other in kinds])[indices])
        if example is not None and len(chosen):
            yield example, chosen, contrasts[indices[chosen]]
