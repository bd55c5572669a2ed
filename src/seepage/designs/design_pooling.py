"""What pooling the rare values of a table would gain for its design: a short search once more."""

from collections.abc import Callable
from dataclasses import replace

from seepage.data.recoding import pool_rare, rare_values
from seepage.data.records import Records
from seepage.designs.design import Design
from seepage.designs.strategies import OPTIMAL_SMP
from seepage.errors import InputError
from seepage.leakage.population_limits import NAMED, SUGGESTED

WORTH = 0.97
"""Share of the error up to which pooling is worth a note."""


def suggested_pool(records: Records) -> int | None:
    """Return the records below which values would be pooled; None where none is so rare."""
    pool = min(SUGGESTED, max(2, records.records // 100))
    return pool if rare_values(records, pool) else None


def with_pooling_note(
    found: Design, records: Records, pool: int, designed: Callable[[Records], Design]
) -> Design:
    """Return a design with a note on what pooling would gain, if it gains anything.

    Parameters
    ----------
    found, records
        The design and its records.
    pool
        Values of fewer records are pooled.
    designed
        Designs other records under the same conditions, in a short time.

    Notes
    -----
    Errors of different numbers of values cannot be compared, so each is divided by that of the
    best SMP on its own values.
    """
    try:
        before, after = _of_smp(found), _of_smp(designed(pool_rare(records, pool)))
    except (InputError, KeyboardInterrupt):
        return found
    if before is None or after is None or after > WORTH * before:
        return found
    sizes = sorted(rare_values(records, pool).items(), key=lambda item: -len(item[1]))
    named = ", ".join(f"{name} {len(values)}" for name, values in sizes[:NAMED])
    more = f" and {len(sizes) - NAMED} more" if len(sizes) > NAMED else ""
    note = (
        f"pool={pool} would merge rare values ({named}{more}): a short search then finds "
        f"{after:.3g} of the best SMP's error, and this design has {before:.3g} of it"
    )
    return replace(found, notes=(*found.notes, note))


def _of_smp(found: Design) -> float | None:
    """Return the error as a share of that of SMP with the best shares."""
    for one in found.comparison:
        if one.name == OPTIMAL_SMP:
            return found.error / one.error
    return None
