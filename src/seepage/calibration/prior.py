"""Budgets found with one table, judged on another: what a public prior is worth."""

from collections.abc import Mapping
from typing import Any

from seepage.calibration.budgets import Calibration
from seepage.errors import InputError
from seepage.mechanisms import InClear
from seepage.pairs import PairCounts
from seepage.totals import TotalLeakage, total_leakage
from seepage.tuples import Tuples

__all__ = ["realised_totals"]


def realised_totals(
    found: Calibration,
    data: PairCounts | Tuples,
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
    >>> from seepage.calibration import find_budgets, realised_totals
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income"])
    >>> found = find_budgets(adult, 1.0, "independent")
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
    mechanisms = {
        attribute.name: InClear(attribute.size) if public else name
        for attribute, name, public in ways
    }
    return total_leakage(
        chosen,
        dict(zip(chosen.domain.names, found.epsilons.tolist(), strict=True)),
        mechanisms,
        guarantee or found.totals.guarantee,
        **options,
    )
