"""After an assumption: search for reports that refute it, and for budgets that survive."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from seepage._numerics import Floats
from seepage.data.records import Records
from seepage.designs.equal_budgets import scaled
from seepage.designs.problem import Problem
from seepage.leakage.release import releases
from seepage.totals import JointWitness
from seepage.totals.report_columns import columns_of
from seepage.totals.witness_search import search_witness

__all__ = ["Audit", "audit_budgets"]

SHARE_TOLERANCE = 0.01
"""To what share of the refuted budgets the surviving ones are found."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What a search for telling reports says of some budgets.

    Parameters
    ----------
    refutations
        For each attribute whose limit is exceeded, the reports that exceed it.
    surviving
        Budgets in the same proportions at which the search finds none any more: not refuted, which
        is not the same as certified.  None where nothing was refuted.
    """

    refutations: tuple[JointWitness, ...]
    surviving: Floats | None

    @property
    def strongest(self) -> JointWitness | None:
        """The refutation that says the most; None where there is none."""
        return max(self.refutations, key=_counted, default=None)


def audit_budgets(
    data: Records,
    problem: Problem,
    epsilons: Floats,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Search for reports that exceed a limit, and for the largest scaled budgets that survive.

    Parameters
    ----------
    data
        The records, as distinct tuples.
    problem, epsilons
        The limits, and the budgets that an assumption allows.
    seed
        Of the search.
    progress
        Called with the attributes searched and their number.

    Notes
    -----
    One search an attribute; then bisection over the share of the budgets, for the refuted ones
    only.  Where only budgets are known, the search ranges over all mechanisms with them.
    """
    limited = np.flatnonzero(np.isfinite(problem.limits)).tolist()
    refuted = _exceeding(data, problem, epsilons, limited, seed, progress)
    if not refuted:
        return Audit((), None)
    low, high = 0.0, 1.0
    targets = list(refuted)
    while high - low > SHARE_TOLERANCE:
        share = (low + high) / 2
        if _exceeding(data, problem, scaled(problem, epsilons, share), targets, seed):
            high = share
        else:
            low = share
    return Audit(tuple(refuted.values()), scaled(problem, epsilons, low))


def _exceeding(
    data: Records,
    problem: Problem,
    epsilons: Floats,
    targets: Iterable[int],
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> dict[int, JointWitness]:
    """Return the witnesses that exceed the limit of their attribute."""
    released = releases(problem.domain, epsilons, problem.mechanisms)
    columns = columns_of(problem.domain, released, "report")
    chosen = list(targets)
    found = {}
    for done, target in enumerate(chosen, start=1):
        witness = search_witness(data, columns, target, seed)
        if witness is not None and _counted(witness) > problem.limits[target]:
            found[target] = witness
        if progress is not None:
            progress(done, len(chosen))
    return found


def _counted(witness: JointWitness) -> float:
    """Return what counts: the smaller of the table's value and that of people held out."""
    return min(witness.value, witness.value if witness.held_out is None else witness.held_out)
