"""Reports drawn for people of a table, and their likelihoods summed over everybody in it.

    p(y given x) = sum over people with x of prod_i p(y_i given value of i), over their number;

q(y) is the same sum over all people, weighted as they were drawn.  All targets share one matrix of
records by reports, which is never held as a whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seepage._numerics import UNIT, Floats, Integers
from seepage._results import Progress
from seepage.data.domain import Attribute, Domain
from seepage.data.records import Records
from seepage.leakage import Release
from seepage.leakage.release import View
from seepage.mechanisms import GRR, Mechanism
from seepage.totals.result import GuaranteeError

IMPOSSIBLE = -1e6
"""Stands for the logarithm of 0: far below any likelihood that counts, and safe to add up."""

LOWEST = -1e300
"""Below any logarithm of a likelihood but that of 0, and finite."""

MAX_NUMBERS = 1 << 28
"""The most log-likelihoods of reports held at once: 2 GB."""

RECORDS = 2048
REPORTS = 2048
"""Likelihoods handled at once by NumPy: a block of records by reports, 32 MB."""

COMPILED_FROM = 1 << 27
"""From this many likelihoods on, loading the compiled kernel pays."""

WIDEST_SPREAD = 600.0
"""Products of likelihoods no more than e^-600 apart neither overflow nor vanish."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Drawn reports.

    Parameters
    ----------
    logarithms
        ln p(report given value) of each report: one row per value of an attribute, all attributes
        one after the other, and one column per report.
    density
        Of each distinct record, how much more often it was drawn than it occurs.
    left_out
        For each report the distinct record of which one person is left out of its sums; None
        where sums are over everybody.
    """

    logarithms: Floats
    density: Floats
    left_out: Integers | None = None

    @property
    def count(self) -> int:
        """The number of reports."""
        return int(self.logarithms.shape[1])


def offsets(domain: Domain) -> Integers:
    """Return where the values of each attribute begin when all are put one after the other."""
    return np.concatenate([[0], np.cumsum(domain.sizes)]).astype(np.int64)


def value_counts(data: Records) -> Integers:
    """Return how many people have each value, all attributes one after the other."""
    return np.concatenate([data.marginal(k) for k in range(len(data.domain))])


def drawn(
    weights: Integers, positions: Integers, count: int, generator: np.random.Generator
) -> Integers:
    """Return some of the positions, drawn with replacement in proportion to their weights."""
    ends = np.cumsum(weights)
    picks = generator.integers(0, ends[-1], count)
    return np.asarray(positions[np.searchsorted(ends, picks, side="right")])


def simulated(
    domain: Domain, released: Sequence[Release], count: int, what: str = "sampled totals"
) -> list[Mechanism | None]:
    """Return the mechanisms to draw so many reports from; None for a public attribute.

    A GuaranteeError is raised where one is not known, or where likelihoods do not fit.
    """
    values = sum(domain.sizes)
    if values * count > MAX_NUMBERS:
        raise GuaranteeError(
            f"{count:,} reports of {values:,} values need {values * count / 2**27:.1f} GB, at most "
            f"2 fit; draw fewer reports or choose fewer attributes"
        )
    each = zip(domain, released, strict=True)
    return [_simulated(attribute, release, what) for attribute, release in each]


def _simulated(attribute: Attribute, release: Release, what: str) -> Mechanism | None:
    """Return the mechanism to draw from; with a budget alone, GRR for two values at most.

    None for a public attribute, whose value itself is seen.

    Every epsilon-LDP report of a binary value is a post-processing of randomised response
    [Kairouz, Oh and Viswanath 2015], which so stands for the worst mechanism.
    """
    if release.mechanism is not None or release.public:
        return release.mechanism
    if attribute.size > 2 or release.delta > 0:
        raise GuaranteeError(
            f"{what} need to know the mechanism of {attribute.name!r}, which has "
            f"{attribute.size} values and delta {release.delta:g}; name it (mechanism='grr')"
            + (", or use 'merged', which needs budgets alone" if "totals" in what else "")
        )
    return GRR(attribute.size, release.epsilon)


def perturbed(
    data: Records,
    mechanisms: Sequence[Mechanism | None],
    view: View,
    people: Integers,
    generator: np.random.Generator,
) -> Floats:
    """Return ln p(report given value) of fresh reports of some people, see `Draws.logarithms`."""
    rows = []
    for k, mechanism in enumerate(mechanisms):
        codes = data.codes[people, k]
        if mechanism is not None and view == "report":
            found = mechanism.log_likelihood(mechanism.perturb(codes, generator)).T
        else:
            channel = np.eye(data.domain[k].size)  # a public value itself
            if mechanism is not None:
                codes = mechanism.infer(mechanism.perturb(codes, generator), generator)
                channel = mechanism.inferred_channel()
            with np.errstate(divide="ignore"):
                found = np.log(channel)[:, codes]
        rows.append(np.maximum(found, IMPOSSIBLE))
    return np.concatenate(rows)


def draw_people(
    data: Records,
    mechanisms: Sequence[Mechanism | None],
    view: View,
    count: int,
    generator: np.random.Generator,
) -> tuple[Integers, Draws]:
    """Return people as positions of distinct records, and their reports, themselves left out."""
    chosen = drawn(data.weights, np.arange(len(data)), count, generator)
    logarithms = perturbed(data, mechanisms, view, chosen, generator)
    return chosen, Draws(logarithms, np.ones(len(data)), chosen)


def report_sums(data: Records, draws: Draws, progress: Progress | None = None) -> Floats:
    """Return the sums over people, one row per value, and that for q as the last row.

    Each report has an unknown factor of its own, the same for all values and for q: only ratios
    mean something.

    Notes
    -----
    One likelihood for each distinct record and report: about 5 ns each where the compiled kernel
    is used (large work, budgets of moderate sum), 10 to 20 ns in NumPy.
    """
    if len(data) * draws.count < COMPILED_FROM or _spreads(data, draws).max() > WIDEST_SPREAD:
        return sums_in_blocks(data, draws, progress)
    from seepage.totals.compiled_sums import sums_by_value

    return sums_by_value(data, draws, progress)


def _spreads(data: Records, draws: Draws) -> Floats:
    """Return for each report how far two records under which it is possible can be apart."""
    begins, found = offsets(data.domain)[:-1], draws.logarithms
    lowest = np.minimum.reduceat(np.where(found > IMPOSSIBLE, found, np.inf), begins)
    return np.asarray((np.maximum.reduceat(found, begins) - lowest).sum(axis=0))


def sums_in_blocks(data: Records, draws: Draws, progress: Progress | None = None) -> Floats:
    """Return the same sums by NumPy.

    The logarithm of the matrix is a product of the records' indicators with the reports'
    log-likelihoods; its product with the value indicators sums it over the people who have each
    value.  A report is scaled by its likeliest record so far, so that no exponential overflows
    and none that counts is lost.
    """
    begins, sizes = offsets(data.domain), data.domain.sizes
    values = int(begins[-1])
    kept = np.delete(np.arange(values), begins[:-1])
    relative = draws.logarithms - np.repeat(draws.logarithms[begins[:-1]], sizes, axis=0)
    relative = np.ascontiguousarray(relative[kept])
    sums = np.zeros((values + 1, draws.count))
    scale = np.full(draws.count, -np.inf)
    indices = data.codes.astype(np.int64) + begins[:-1]
    for begin in range(0, len(data), RECORDS):
        rows = slice(begin, begin + RECORDS)
        indicators = _indicators(indices[rows], values)
        weights = data.weights[rows].astype(np.float64)
        adding = np.vstack([indicators.T * weights, weights * draws.density[rows]])
        chosen = np.ascontiguousarray(indicators[:, kept])
        for first in range(0, draws.count, REPORTS):
            block = slice(first, first + REPORTS)
            logarithms = chosen @ relative[:, block]
            if draws.left_out is not None:
                _leave_out(logarithms, draws.left_out[block] - begin, weights)
            _add_block(logarithms, adding, sums[:, block], scale[block])
        if progress is not None:
            progress(min(begin + RECORDS, len(data)), len(data))
    return sums


def _indicators(indices: Integers, values: int) -> Floats:
    """Return 1 where a record (row) has a value (column)."""
    indicators = np.zeros((len(indices), values))
    np.put_along_axis(indicators, indices, 1.0, axis=1)
    return indicators


def _leave_out(logarithms: Floats, records: Integers, weights: Floats) -> None:
    """Take one person of each report's record out of a block: (w - 1)/w of its likelihood."""
    reports = np.flatnonzero((records >= 0) & (records < len(weights)))
    rows = records[reports]
    with np.errstate(divide="ignore"):
        logarithms[rows, reports] += np.log1p(-1 / weights[rows])


def _add_block(logarithms: Floats, adding: Floats, sums: Floats, scale: Floats) -> None:
    """Add a block of records to the sums of a block of reports, in place."""
    highest = np.maximum(scale, np.maximum(logarithms.max(axis=0), LOWEST))
    logarithms -= highest
    np.exp(logarithms, out=logarithms)
    sums *= np.exp(scale - highest)
    sums += adding @ logarithms
    scale[:] = highest


def rounding_of(data: Records, draws: Draws) -> float:
    """Return more than the rounding error of the logarithm of a ratio of two such sums.

    A likelihood is a sum over the distinct records of exponentials whose arguments are sums over
    the attributes.  What stands for the logarithm of 0 is as much a term of those as any other.
    """
    lowest = np.minimum.reduceat(draws.logarithms, offsets(data.domain)[:-1])
    impossible = (lowest <= IMPOSSIBLE).sum(axis=0)
    terms = float((_spreads(data, draws) - IMPOSSIBLE * impossible).max())
    return 4 * UNIT * (len(data) + len(data.domain) * (8 + terms))
