"""Audit of an assumption: search for reports that refute it, and for budgets that survive."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage._results import Progress, Result
from seepage.data.records import Records
from seepage.designs.equal_budgets import Problem
from seepage.leakage.release import releases
from seepage.totals import JointWitness
from seepage.totals.report_columns import columns_of
from seepage.totals.witness_search import search_witness

SHARE_TOLERANCE = 0.01
"""To what share of the refuted budgets the surviving ones are found."""


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Result):
    """Result of a witness search at some budgets.

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
        return max(self.refutations, key=lambda witness: witness.counted, default=None)

    def _columns(self) -> dict[str, Sequence[Any]]:
        names = ("target", "likelier", "other", "value", "held_out")
        return {name: [getattr(one, name) for one in self.refutations] for name in names}

    def _headline(self) -> str:
        if self.strongest is None:
            return "Audit(no reports found that exceed a limit)"
        targets = ", ".join(witness.target for witness in self.refutations)
        return f"Audit(limits exceeded: {targets}; strongest {self.strongest.counted:.4g})"


def audit_budgets(
    problem: Problem, epsilons: Floats, seed: int = 0, progress: Progress | None = None
) -> Audit:
    """Search for reports that exceed a limit, and for the largest scaled budgets that survive.

    Parameters
    ----------
    problem, epsilons
        The records with their limits, and the budgets that an assumption allows.
    seed
        Of the search.
    progress
        Called with the attributes searched and their number.

    Notes
    -----
    One search per attribute; then bisection over the share of the budgets, for the refuted ones
    only.  Where only budgets are known, the search ranges over all mechanisms with them.
    """
    limited = np.flatnonzero(np.isfinite(problem.limits)).tolist()
    refuted = _exceeding(problem, epsilons, limited, seed, progress)
    if not refuted:
        return Audit((), None)
    low, high = 0.0, 1.0
    targets = list(refuted)
    while high - low > SHARE_TOLERANCE:
        share = (low + high) / 2
        if _exceeding(problem, problem.scaled(epsilons, share), targets, seed):
            high = share
        else:
            low = share
    return Audit(tuple(refuted.values()), problem.scaled(epsilons, low))


def _exceeding(
    problem: Problem,
    epsilons: Floats,
    targets: Iterable[int],
    seed: int,
    progress: Progress | None = None,
) -> dict[int, JointWitness]:
    """Return the witnesses that exceed the limit of their attribute."""
    released = releases(problem.domain, epsilons, problem.mechanisms)
    columns = columns_of(problem.domain, released, "report")
    chosen = list(targets)
    found = {}
    assert isinstance(problem.data, Records)
    for done, target in enumerate(chosen, start=1):
        witness = search_witness(problem.data, columns, target, seed)
        if witness is not None and witness.counted > problem.limits[target]:
            found[target] = witness
        if progress is not None:
            progress(done, len(chosen))
    return found
