"""The audit of assumed totals by witness search."""

from collections.abc import Sequence

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.progress import Progress
from seepage.calibration.calibration_problem import CalibrationProblem
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.mechanisms.likelihood_columns import likelihood_columns
from seepage.totals.joint_witness import JointWitness
from seepage.totals.witness_search import search_witness


def audit_note(problem: CalibrationProblem, epsilons: Floats, has_delta: bool) -> str:
    """Return a note on the search for a refutation: witnesses against totals that are
    an assumption.

    One search per attribute.  If no mechanism is given, it ranges over all mechanisms
    with these budgets.
    """
    if has_delta:
        return (
            "no witness was searched for: single reports do not refute totals with a "
            "delta"
        )
    if isinstance(problem.data, PairCounts):
        return (
            "no witness was searched for: pair counts have no records; give the table "
            "itself"
        )
    limited = np.flatnonzero(np.isfinite(problem.limits)).tolist()
    refuted = refutations(problem, epsilons, limited, problem.settings.progress)
    if not refuted:
        return "a search found no reports that exceed a limit; that is no guarantee"
    strongest = max(refuted.values(), key=lambda witness: witness.counted)
    return f"REFUTED: {strongest.sentence()}, above the limit of {strongest.target}"


def refutations(
    problem: CalibrationProblem,
    epsilons: Floats,
    targets: Sequence[int],
    progress: Progress | None = None,
) -> dict[int, JointWitness]:
    """Return the witnesses above the limit of their target, by index of the target."""
    columns = likelihood_columns(problem.domain, problem.releases(epsilons), "report")
    witnesses = dict[int, JointWitness]()
    rng = int(problem.settings.rng or 0)
    assert isinstance(problem.data, Records)
    for done, target in enumerate(targets, start=1):
        witness = search_witness(problem.data, columns, target, rng)
        if witness is not None and witness.counted > problem.limits[target]:
            witnesses[target] = witness
        if progress is not None:
            progress(done, len(targets))
    return witnesses
