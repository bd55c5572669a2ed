"""The paper's own calibration (Algorithm 3), and the totals that a prior's budgets really have."""

from collections.abc import Mapping
from typing import Any

from seepage import _checks
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.calibration import Calibration
from seepage.errors import InputError
from seepage.leakage.matrix import leakage_matrix
from seepage.leakage.release import PUBLIC
from seepage.totals import TotalLeakage, total_leakage
from seepage.totals.result import refuse_sample

__all__ = ["calibrate_as_the_paper", "realised_totals"]

MOST_STEPS = 1_000_000


def calibrate_as_the_paper(
    pairs: PairCounts, limit: Any, step: float = 0.01, mechanism: str | None = None
) -> float:
    """Return the budget of the paper's Algorithm 3, which breaks the limit.

    It starts at limit / n, raises the budget by `step` while the largest total is below the limit,
    and returns the budget after the last raise: one step beyond the first that reaches the limit.
    The inner loop includes j = i, whose leakage about itself is the budget.

    Parameters
    ----------
    pairs
        The pair counts of a table, not of a sample.
    limit
        The allowed total of every attribute.
    step
        The paper's 0.01.
    mechanism
        None for the bound; the paper's experiment uses it with any mechanism.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.study.reproduction.paper_calibration import calibrate_as_the_paper
    >>> budget = calibrate_as_the_paper(sp.load_pairs("adult"), 5.0)
    >>> totals = budget + sp.leakage_matrix(sp.load_pairs("adult"), budget).values.sum(axis=1)
    >>> bool(totals.max() > 5.0)
    True
    """
    allowed = _checks.epsilon(limit, "limit")
    stride = _checks.epsilon(step, "step")
    refuse_sample(pairs, "independent", "budgets")
    if stride == 0:
        raise InputError("step must be above 0")
    budget, largest = allowed / len(pairs.domain), 0.0
    for _ in range(MOST_STEPS):
        if largest >= allowed:
            return budget
        leakages = leakage_matrix(pairs, budget, mechanism=mechanism).values
        largest = max(largest, float((budget + leakages.sum(axis=1)).max()))
        budget += stride
    raise InputError(f"the limit was not reached in {MOST_STEPS:,} steps; use a larger step")


def realised_totals(
    found: Calibration,
    data: PairCounts | Records,
    names: Mapping[str, str] | None = None,
    guarantee: str | None = None,
    **options: Any,
) -> TotalLeakage:
    """Return the totals that budgets found with a prior really have in another table.

    Parameters
    ----------
    found
        The calibration on the prior, such as a public table.
    data
        The table that is collected.
    names
        The prior's attributes by their names in `data`, where those differ.
    guarantee
        What the totals rest on; that of the calibration by default.
    options
        Further options of `total_leakage`.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.study.reproduction.paper_calibration import realised_totals
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income"])
    >>> found = sp.find_budgets(adult, 1.0, guarantee="independent")
    >>> bool(realised_totals(found, adult).values.max() <= 1.0)
    True
    """
    known = dict(names or {})
    prior = found.problem.domain
    own = [known.get(name, name) for name in data.domain.names]
    missing = [name for name in prior.names if name not in own]
    if missing:
        raise InputError(f"the table has no attribute for {missing[0]!r} of the prior")
    chosen = data.select([own.index(name) for name in prior.names])
    ways = zip(chosen.domain, found.problem.mechanism, found.problem.public, strict=True)
    mechanisms = {attribute.name: PUBLIC if public else name for attribute, name, public in ways}
    return total_leakage(
        chosen,
        dict(zip(chosen.domain.names, found.epsilons.tolist(), strict=True)),
        mechanism=mechanisms,
        guarantee=guarantee or found.totals.guarantee,
        **options,
    )
