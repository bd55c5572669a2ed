"""Report tuples drawn for people of a table, and their likelihoods summed over its
records.

    p(y given x) = (1 / n_x) sum over records r with value x of prod_i p(y_i given r_i),

n_x the number of records with x; q(y) is the mean over all records, weighted by the
density with which they were drawn.  All targets share the matrix of likelihoods,
records by reports, which is computed in blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage._core.errors import GuaranteeError, Setting
from seepage._core.progress import Progress
from seepage._core.rounding import UNIT
from seepage.channel.domain import Domain
from seepage.channel.records import Records
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.release import Release, View

IMPOSSIBLE = -1e6
"""Finite value for ln 0: negligible beside any positive likelihood, and sums of it stay
finite."""


MIN_SCALE = -1e300
"""Finite lower bound of a report's scale, below the log-likelihood of any possible
report."""


MAX_LOG_LIKELIHOODS = 1 << 28
"""Maximum number of log-likelihoods held at once (values by reports): 2 GB."""


RECORDS_PER_BLOCK = 2048


REPORTS_PER_BLOCK = 2048
"""Block of the matrix of likelihoods, records by reports, in NumPy: 32 MB."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Drawn report tuples, by their log-likelihoods.

    Parameters
    ----------
    logarithms
        ln p(report given value): one row per value, those of all attributes
        concatenated (see `value_offsets`), and one column per report tuple.
    density
        g(r) = q(r) / P(r) of each distinct record: the importance-sampling density.
    left_out
        For each report tuple the index of a distinct record of which one person is left
        out of the sums (leave-one-out); None for sums over all people.
    """

    logarithms: Floats
    density: Floats
    left_out: Integers | None = None

    @property
    def count(self) -> int:
        """The number of report tuples drawn."""
        return int(self.logarithms.shape[1])


def value_offsets(domain: Domain) -> Integers:
    """Return the offset of each attribute among all values, by which drawn reports are
    summed, and their number.
    """
    return np.concatenate([[0], np.cumsum(domain.sizes)]).astype(np.int64)


def value_counts(data: Records) -> Integers:
    """Return the number of records with each value, by which drawn reports are summed,
    all attributes concatenated.
    """
    return np.concatenate([data.marginal(k) for k in range(len(data.domain))])


def value_indices(data: Records) -> Integers:
    """Return the place of each record's values among all values, to sum drawn reports:
    shape (records, attributes).
    """
    return np.asarray(data.codes + value_offsets(data.domain)[:-1])


def draw_indices(
    weights: Integers, indices: Integers, count: int, generator: np.random.Generator
) -> Integers:
    """Draw the indices of people whose reports are drawn, with replacement, by
    weight.
    """
    cumulative = np.cumsum(weights)
    uniform = generator.integers(0, cumulative[-1], count)
    return np.asarray(indices[np.searchsorted(cumulative, uniform, side="right")])


def simulated_mechanisms(
    domain: Domain,
    released: Sequence[Release],
    count: int,
    what: str = "sampled totals",
) -> list[Mechanism | None]:
    """Return each attribute's mechanism for drawing `count` reports; None for a public
    attribute.

    If only the budget is known, GRR for binary attributes: every epsilon-LDP report of
    a binary value is a post-processing of randomised response [Kairouz, Oh and
    Viswanath 2015], which is therefore the worst case.  At budget 0 any mechanism.

    Raises a GuaranteeError if the mechanism of a larger attribute is not known, or if
    the log-likelihoods exceed `MAX_LOG_LIKELIHOODS`; `what` is the subject of the
    message.
    """
    values = sum(domain.sizes)
    if values * count > MAX_LOG_LIKELIHOODS:
        raise GuaranteeError(
            f"{count:,} reports of {values:,} values need {values * count / 2**27:.1f} "
            "GB, at most 2 fit; draw fewer reports or choose fewer attributes"
        )
    mechanisms = []
    for attribute, release in zip(domain, released, strict=True):
        mechanism = release.mechanism
        if mechanism is None and not release.public:
            tells_nothing = release.epsilon == 0 and release.delta == 0
            if (attribute.size > 2 or release.delta > 0) and not tells_nothing:
                alternative = ""
                if "totals" in what:
                    alternative = ", or use 'merged', which needs budgets alone"
                raise GuaranteeError(
                    f"{what} need to know the mechanism of {attribute.name!r}, which "
                    f"has {attribute.size} values and delta {release.delta:g}; name it "
                    "(",
                    Setting("mechanism", "grr"),
                    ")",
                    alternative,
                )
            mechanism = GRR(attribute.size, release.epsilon)
        mechanisms.append(mechanism)
    return mechanisms


def draw_log_likelihoods(
    data: Records,
    mechanisms: Sequence[Mechanism | None],
    view: View,
    people: Integers,
    generator: np.random.Generator,
) -> Floats:
    """Draw one report tuple for each of `people` (record indices); return
    `Draws.logarithms`.
    """
    rows = []
    for k, mechanism in enumerate(mechanisms):
        codes = data.codes[people, k]
        if mechanism is not None and view == "report":
            logarithms = mechanism.log_likelihood(mechanism.perturb(codes, generator)).T
        else:
            channel = np.eye(data.domain[k].size)  # a public attribute
            if mechanism is not None:
                codes = mechanism.infer(mechanism.perturb(codes, generator), generator)
                channel = mechanism.inferred_channel()
            with np.errstate(divide="ignore"):
                logarithms = np.log(channel)[:, codes]
        rows.append(np.maximum(logarithms, IMPOSSIBLE))
    return np.concatenate(rows)


def draw_people(
    data: Records,
    mechanisms: Sequence[Mechanism | None],
    view: View,
    count: int,
    generator: np.random.Generator,
) -> tuple[Integers, Draws]:
    """Draw people (indices of distinct records) and their reports, for leave-one-out
    sums.
    """
    people = draw_indices(data.weights, np.arange(len(data)), count, generator)
    logarithms = draw_log_likelihoods(data, mechanisms, view, people, generator)
    return people, Draws(logarithms, np.ones(len(data)), people)


def report_sums(
    data: Records, draws: Draws, progress: Progress | None = None
) -> Floats:
    """Return the likelihoods of each report (column) summed over the records with each
    value (row).

    The last row is the sum over all records weighted by density, for q.  Each column
    has an arbitrary positive factor: only ratios within a column are meaningful.

    Notes
    -----
    The log-likelihood matrix is the product of the records' one-hot matrix with the
    reports' log-likelihoods; its exponential times the transposed one-hot matrix sums
    over the records with each value.  A report is scaled by its likeliest record so far
    (log-sum-exp), so that no exponential overflows and no significant one underflows.
    10 to 20 ns per distinct record and report.
    """
    starts = value_offsets(data.domain)
    sizes = data.domain.sizes
    values = int(starts[-1])
    not_first = np.delete(
        np.arange(values), starts[:-1]
    )  # relative to each first value
    relative = draws.logarithms - np.repeat(
        draws.logarithms[starts[:-1]], sizes, axis=0
    )
    relative = np.ascontiguousarray(relative[not_first])
    sums = np.zeros((values + 1, draws.count))
    scale = np.full(draws.count, -np.inf)
    indices = value_indices(data)
    for start in range(0, len(data), RECORDS_PER_BLOCK):
        rows = slice(start, start + RECORDS_PER_BLOCK)
        one_hot = np.zeros((len(indices[rows]), values))
        np.put_along_axis(one_hot, indices[rows], 1.0, axis=1)
        weights = data.weights[rows].astype(np.float64)
        summation = np.vstack([one_hot.T * weights, weights * draws.density[rows]])
        design = np.ascontiguousarray(one_hot[:, not_first])
        for first in range(0, draws.count, REPORTS_PER_BLOCK):
            block = slice(first, first + REPORTS_PER_BLOCK)
            logarithms = design @ relative[:, block]
            if draws.left_out is not None:
                _leave_out(logarithms, draws.left_out[block] - start, weights)
            _add_block(logarithms, summation, sums[:, block], scale[block])
        if progress is not None:
            progress(min(start + RECORDS_PER_BLOCK, len(data)), len(data))
    return sums


def _leave_out(logarithms: Floats, records: Integers, weights: Floats) -> None:
    """Leave the person of each drawn report out of a block of records: scale the
    likelihood by (w - 1)/w.

    `records` are relative to the block; those outside it are ignored.
    """
    reports = np.flatnonzero((records >= 0) & (records < len(weights)))
    rows = records[reports]
    with np.errstate(divide="ignore"):
        logarithms[rows, reports] += np.log1p(-1 / weights[rows])


def _add_block(
    logarithms: Floats, summation: Floats, sums: Floats, scale: Floats
) -> None:
    """Add a block of records to the scaled sums of a block of drawn reports, in place
    (log-sum-exp).
    """
    new_scale = np.maximum(scale, np.maximum(logarithms.max(axis=0), MIN_SCALE))
    logarithms -= new_scale
    np.exp(logarithms, out=logarithms)
    sums *= np.exp(scale - new_scale)
    sums += summation @ logarithms
    scale[:] = new_scale


def rounding_error(data: Records, draws: Draws) -> float:
    """Return an upper bound of the rounding error of a log-ratio of sums over drawn
    reports.

    A likelihood is a sum over the distinct records of exponentials whose arguments are
    sums over the attributes; `IMPOSSIBLE` is a term of those sums like any other.
    """
    starts = value_offsets(data.domain)[:-1]
    logarithms = draws.logarithms
    lowest = np.minimum.reduceat(
        np.where(logarithms > IMPOSSIBLE, logarithms, np.inf), starts
    )
    spreads = (np.maximum.reduceat(logarithms, starts) - lowest).sum(axis=0)
    impossible = (np.minimum.reduceat(logarithms, starts) <= IMPOSSIBLE).sum(axis=0)
    terms = float((spreads - IMPOSSIBLE * impossible).max())
    return 4 * UNIT * (len(data) + len(data.domain) * (8 + terms))
