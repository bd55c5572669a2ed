"""How likely each drawn report is under each value of each attribute, summed over the table.

p(y given x) = sum over people with x of prod_i p(y_i given value of i), divided by their number;
and q(y), the same sum over all people, weighted as they were drawn.  All targets share one matrix
of records by reports, which is never held as a whole.
"""

import numpy as np

from seepage._numerics import UNIT, Floats, Integers
from seepage.data.records import Records
from seepage.totals.result import Progress
from seepage.totals.sampled_reports import IMPOSSIBLE, Draws, offsets

__all__ = ["report_densities", "rounding_of"]

RECORDS = 2048
REPORTS = 2048
"""Likelihoods handled at once by NumPy: a block of records by reports, 32 MB."""

COMPILED_FROM = 1 << 27
"""From this many likelihoods on, loading the compiled kernel pays."""

WIDEST_SPREAD = 600.0
"""Products of likelihoods no more than e^-600 apart neither overflow nor vanish."""


def report_densities(
    tuples: Records, draws: Draws, progress: Progress | None = None
) -> tuple[Floats, Floats]:
    """Return p(y given x) of every value x of every attribute, and q(y).

    Rows are the values of all attributes one after the other, columns reports.  Each report has
    an unknown factor of its own, the same for all values and for q: only ratios mean something.

    Notes
    -----
    One likelihood for each distinct record and report: about 1 ns each where the compiled kernel
    is used (large work, budgets of moderate sum), 10 to 20 ns in NumPy.
    """
    spread = float(_spreads(tuples, draws).max()) if draws.count else 0.0
    if len(tuples) * draws.count >= COMPILED_FROM and spread <= WIDEST_SPREAD:
        from seepage.totals.compiled_sums import sums_by_value

        sums = sums_by_value(tuples, draws, progress)
    else:
        sums = _sums_by_value(tuples, draws, progress)
    people = np.concatenate([tuples.marginal(k) for k in range(len(tuples.domain))])
    return sums[:-1] / np.maximum(people, 1)[:, None], sums[-1] / tuples.records


def _spreads(tuples: Records, draws: Draws) -> Floats:
    """Return for each report how far two records under which it is possible can be apart."""
    begins = offsets(tuples.domain)[:-1]
    high = np.maximum.reduceat(draws.logarithms, begins)
    possible = np.where(draws.logarithms > IMPOSSIBLE, draws.logarithms, np.inf)
    low = np.minimum.reduceat(possible, begins)
    return np.asarray((high - low).sum(axis=0))


def _sums_by_value(tuples: Records, draws: Draws, progress: Progress | None) -> Floats:
    """Return the sums over people, one row a value, and that for q as the last row.

    The logarithm of the matrix is a product of the records' indicators with the reports'
    log-likelihoods; its product with the value indicators sums it over the people who have each
    value.  A report is scaled by its likeliest record so far, so that no exponential overflows
    and none that counts is lost.
    """
    begins, sizes = offsets(tuples.domain), tuples.domain.sizes
    values = int(begins[-1])
    kept = np.delete(np.arange(values), begins[:-1])
    relative = draws.logarithms - np.repeat(draws.logarithms[begins[:-1]], sizes, axis=0)
    relative = np.ascontiguousarray(relative[kept])
    sums = np.zeros((values + 1, draws.count))
    scale = np.full(draws.count, -np.inf)
    places = tuples.codes.astype(np.int64) + begins[:-1]
    for begin in range(0, len(tuples), RECORDS):
        rows = slice(begin, begin + RECORDS)
        indicators = _indicators(places[rows], values)
        weights = tuples.weights[rows].astype(np.float64)
        adding = np.vstack([indicators.T * weights, weights * draws.density[rows]])
        chosen = np.ascontiguousarray(indicators[:, kept])
        for first in range(0, draws.count, REPORTS):
            block = slice(first, first + REPORTS)
            _add_block(chosen, relative[:, block], adding, sums[:, block], scale[block])
        if progress is not None:
            progress(min(begin + RECORDS, len(tuples)), len(tuples))
    return sums


def _indicators(places: Integers, values: int) -> Floats:
    """Return 1 where a record (row) has a value (column)."""
    indicators = np.zeros((len(places), values))
    np.put_along_axis(indicators, places, 1.0, axis=1)
    return indicators


def _add_block(
    chosen: Floats, relative: Floats, adding: Floats, sums: Floats, scale: Floats
) -> None:
    """Add a block of records to the sums of a block of reports, in place."""
    logarithms = chosen @ relative
    highest = np.maximum(scale, logarithms.max(axis=0))
    logarithms -= highest
    np.exp(logarithms, out=logarithms)
    sums *= np.exp(scale - highest)
    sums += adding @ logarithms
    scale[:] = highest


def rounding_of(tuples: Records, draws: Draws) -> float:
    """Return more than the rounding error of a loss.

    A likelihood is a sum over the distinct records of exponentials whose arguments are sums
    over the attributes; a loss is the ratio of two.  What stands for the logarithm of 0 is as
    much a term of those sums as any other.
    """
    if not draws.count:
        return 4 * UNIT * (len(tuples) + 8 * len(tuples.domain))
    lowest = np.minimum.reduceat(draws.logarithms, offsets(tuples.domain)[:-1])
    impossible = (lowest <= IMPOSSIBLE).sum(axis=0)
    terms = float((_spreads(tuples, draws) - IMPOSSIBLE * impossible).max())
    return 4 * UNIT * (len(tuples) + len(tuples.domain) * (8 + terms))
