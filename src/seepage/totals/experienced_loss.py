"""Experienced loss: the realised privacy loss of reports drawn for people of the table.

Totals are suprema over report tuples.  Here people are drawn from the table, their
records perturbed, and the realised loss of each report tuple y about an attribute k
computed:

    loss = ln max_x p(y given x) / min_x p(y given x),

p(y given x) the mean likelihood of y over the *other* people with X_k = x.  The loss
grows with the number of values even for independent attributes, so the same is computed
on independently permuted columns (a permutation null).  It describes the drawn people
and is no guarantee.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import GuaranteeError
from seepage._core.progress import Progress, begin_stage
from seepage._core.results import Result, json_ready
from seepage._core.text import sample_caution
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.confidence.proportion_limits import proportion_interval, quantile_intervals
from seepage.mechanisms.release import Release, View
from seepage.totals.drawn_reports import (
    Draws,
    draw_indices,
    draw_people,
    report_sums,
    simulated_mechanisms,
    value_counts,
    value_offsets,
)

QUANTILE_LEVELS = (0.05, 0.5, 0.95)
"""The quantiles of the loss over people that are reported."""


ESTIMATE, LOW, HIGH = range(3)
"""Indices on the last axis of every estimate: itself, its lower and its upper limit."""


LOSS_THRESHOLD = 1.1
"""Losses above this multiple of the promised epsilon are counted."""


MAX_PERMUTED = 2_000_000
"""Maximum number of records of the permuted table; of more, a random sample is
permuted."""


DEFAULT_PEOPLE = 1_000
"""Default number of people drawn."""


@dataclass(frozen=True, eq=False, repr=False)
class Experience(Result):
    """The realised privacy loss of people drawn from a table, see
    `Analysis.experienced`.

    A description of the drawn people, not a guarantee.

    Parameters
    ----------
    attributes, epsilons, mechanisms, view
        The attributes, their promised epsilons and mechanisms, and what the adversary
        keeps.
    people, confidence, rare
        The number of people drawn; the simultaneous confidence level of each kind of
        limits over all attributes; the minimum number of other records of a value that
        is compared.
    compared, left_out
        The number of values of each attribute that are compared, and that are too rare.
    shares, permuted_shares
        The share of people whose loss exceeds 1.1 times the promised epsilon (estimate,
        lower and upper confidence limit), and the same on independently permuted
        columns.
    quantiles, permuted_quantiles
        Quantiles of the loss over people: attributes by `QUANTILE_LEVELS` by (estimate,
        lower and upper confidence limit), and attributes by levels on permuted columns.
    before, own, together
        Probability that the Bayes guess is right: without any report (the most frequent
        value), with the attribute's own report alone, with all reports.
    notes
        Caveats.
    """

    attributes: Sequence[str]
    epsilons: Floats
    mechanisms: Sequence[str | None]
    view: View
    people: int
    confidence: float
    rare: int
    compared: Sequence[int]
    left_out: Sequence[int]
    shares: Floats
    permuted_shares: Floats
    quantiles: Floats
    permuted_quantiles: Floats
    before: Floats
    own: Floats
    together: Floats
    notes: tuple[str, ...] = ()

    @property
    def measured(self) -> list[int]:
        """Indices of the attributes whose loss people experience is measured, of at
        least two values, most affected first.

        Sorted by the share above 1.1 epsilon minus the same share on permuted columns.
        """
        excess = self.shares[:, ESTIMATE] - self.permuted_shares
        comparable = [k for k, count in enumerate(self.compared) if count > 1]
        return sorted(comparable, key=lambda k: -float(excess[k]))

    @property
    def unmeasured(self) -> list[str]:
        """Names of the attributes without a measured experience, of fewer than two
        values.
        """
        names = np.asarray(self.attributes, dtype=object)
        return list(names[np.asarray(self.compared) < 2])

    def chart(self, name: str = "") -> Any:
        """Return promised epsilon against the loss that people experienced as an Altair
        chart.

        The title has the data's name, if given.
        """
        from seepage.charts.result_charts import experience_chart

        order = self.measured
        columns = {
            "attribute": [self.attributes[k] for k in order],
            "promised": self.epsilons[order],
            "low": self.quantiles[order, 0, ESTIMATE],
            "median": self.quantiles[order, 1, ESTIMATE],
            "high": self.quantiles[order, 2, ESTIMATE],
            "share": self.shares[order, ESTIMATE],
            "permuted_share": self.permuted_shares[order],
        }
        values = zip(*map(json_ready, columns.values()), strict=True)
        rows = [dict(zip(columns, row, strict=True)) for row in values]
        return experience_chart(rows, self.people, checks.text(name, "name"))

    def to_dict(self) -> dict[str, Any]:
        """Return what people experience as a JSON object; numbers as in
        `TotalLeakage.to_dict`.
        """
        return {
            field.name: json_ready(getattr(self, field.name)) for field in fields(self)
        }

    def _headline(self) -> str:
        """Return what drawn people experience in one line."""
        private = [k for k in self.measured if np.isfinite(self.epsilons[k])]
        if not private:
            return (
                f"Experience({self.people:,} people; no attribute has two values to "
                "compare)"
            )
        top = private[0]
        return (
            f"Experience({self.people:,} people; above 1.1 epsilon most often: "
            f"{self.attributes[top]!r}, {self.shares[top, ESTIMATE]:.0%} of people, "
            f"permuted {self.permuted_shares[top]:.0%})"
        )

    def _columns(self) -> dict[str, Any]:
        """Return the columns of what drawn people experience in long form."""
        columns: dict[str, Any] = {
            "attribute": list(self.attributes),
            "epsilon": self.epsilons,
            "mechanism": list(self.mechanisms),
            "compared": list(self.compared),
            "left_out": list(self.left_out),
            **_limit_columns("share_above", self.shares),
            "permuted_share": self.permuted_shares,
        }
        for index, level in enumerate(QUANTILE_LEVELS):
            columns |= _limit_columns(f"loss_{level:g}", self.quantiles[:, index])
            columns[f"permuted_loss_{level:g}"] = self.permuted_quantiles[:, index]
        return columns | {
            "guess_before": self.before,
            **_limit_columns("guess_own", self.own),
            **_limit_columns("guess_all", self.together),
        }


def _limit_columns(name: str, estimates: Floats) -> dict[str, Floats]:
    """Return the columns of an experienced share with its limits, for the long form."""
    names = (name, f"{name}_low", f"{name}_high")
    return dict(zip(names, estimates.T, strict=True))


def default_people(data: PairCounts | Records, released: Sequence[Release]) -> int:
    """Return the default number of people whose experience is drawn: 0 without records
    or mechanisms.
    """
    known = all(release.public or release.mechanism is not None for release in released)
    if known and isinstance(data, Records) and data.records > 1:
        return DEFAULT_PEOPLE
    return 0


def experience_of(
    data: PairCounts | Records,
    released: Sequence[Release],
    view: View,
    people: int,
    *,
    confidence: float = 0.95,
    rng: int | None = 0,
    progress: Progress | None = None,
    rare: int = 500,
) -> Experience:
    """Return the realised privacy loss of people drawn from a table, for each
    attribute.

    Parameters
    ----------
    data
        The records; pair counts do not suffice.
    released, view
        How each attribute is released, and what the adversary keeps.
    people
        The number of people drawn, with replacement.
    confidence
        Simultaneous confidence level, over all attributes, of each kind of limits
        (shares, quantiles, guesses).
    rng
        The same seed gives the same numbers; None for fresh randomness.
    progress
        Called with the amount of work done and the total amount.
    rare
        Values with fewer other records are not compared: their likelihoods are too
        noisy.

    Notes
    -----
    Each person's own record is left out of p(y given x), which would be biased
    otherwise.  Shares and correct guesses have Clopper-Pearson limits, quantiles those
    of binomial order statistics. Cost: one likelihood for each person and distinct
    record, twice.

    Examples
    --------
    >>> import seepage as sp
    >>> survey = sp.Records.from_data(sp.make_survey())
    >>> sp.analyse(survey, 1.0, mechanism="grr", people=200).experienced
    Experience(...)
    """
    records = _at_least_two(data)
    mechanisms = simulated_mechanisms(
        records.domain, released, people, "experienced losses"
    )
    generator = checks.generator(rng)
    totals = value_counts(records)
    starts = value_offsets(records.domain)[:-1]
    compared = totals > rare
    begin_stage(progress, "drawn people")
    indices, draws = draw_people(records, mechanisms, view, people, generator)
    losses, own, together = realised_losses(records, draws, compared, progress)
    begin_stage(progress, "permuted columns")
    permuted = permute_columns(records, generator)
    null_draws = draw_people(permuted, mechanisms, view, people, generator)[1]
    null = realised_losses(permuted, null_draws, compared, progress)[0]
    epsilons = np.array([release.epsilon for release in released])
    threshold = LOSS_THRESHOLD * epsilons[:, None]
    beta = (1 - confidence) / max(1, len(released))
    values = records.codes[indices].T
    counts = np.add.reduceat(compared, starts, dtype=np.int64)
    seen = np.add.reduceat(totals > 0, starts, dtype=np.int64)
    caution = sample_caution(records)
    notes = []
    if caution is not None:
        notes.append(caution)
    return Experience(
        attributes=records.domain.names,
        epsilons=epsilons,
        mechanisms=tuple(release.name for release in released),
        view=view,
        people=people,
        confidence=confidence,
        rare=rare,
        compared=tuple(counts.tolist()),
        left_out=tuple((seen - counts).tolist()),
        shares=share_limits((losses > threshold).sum(axis=1), people, beta),
        permuted_shares=(null > threshold).mean(axis=1),
        quantiles=quantile_intervals(losses, QUANTILE_LEVELS, beta),
        permuted_quantiles=np.quantile(
            null, QUANTILE_LEVELS, axis=1, method="inverted_cdf"
        ).T,
        before=np.maximum.reduceat(totals, starts) / records.records,
        own=share_limits((own == values).sum(axis=1), people, beta),
        together=share_limits((together == values).sum(axis=1), people, beta),
        notes=tuple(notes),
    )


def _at_least_two(data: PairCounts | Records) -> Records:
    """Return the records for what people experience if they are two or more, else raise
    a GuaranteeError.
    """
    if not isinstance(data, Records):
        raise GuaranteeError(
            "what people experience needs records, and pair counts do not tell how "
            "sources act together; give the table itself"
        )
    if data.records < 2:
        raise GuaranteeError("what people experience needs at least two records")
    return data


def permute_columns(data: Records, generator: np.random.Generator) -> Records:
    """Return a table to compare what people experience with, each column permuted
    independently.
    """
    records = np.arange(len(data))
    if data.records > MAX_PERMUTED:
        people = draw_indices(data.weights, records, MAX_PERMUTED, generator)
    else:
        people = np.repeat(records, data.weights)
    columns = [generator.permutation(column) for column in data.codes[people].T]
    return Records(data.domain, np.stack(columns, axis=1))


def realised_losses(
    data: Records, draws: Draws, compared: Booleans, progress: Progress | None = None
) -> tuple[Floats, Integers, Integers]:
    """Return the loss that each drawn person experiences, the Bayes guess from the own
    report, and that from all reports.

    One row per attribute and one column per person; losses are over the values that are
    compared. The Bayes guess is argmax_x P(x) p(y given x), both without the person's
    own record.
    """
    assert draws.left_out is not None
    sums = report_sums(data, draws, progress)
    people = np.arange(draws.count)
    losses = []
    own_guesses = []
    joint_guesses = []
    for k, (start, end) in enumerate(pairwise(value_offsets(data.domain))):
        others = np.repeat(
            data.marginal(k).astype(np.float64)[:, None], draws.count, axis=1
        )
        others[data.column(k)[draws.left_out], people] -= 1
        with np.errstate(divide="ignore", invalid="ignore"):
            log_posterior = np.log(others) + draws.logarithms[start:end]
            likelihoods = (sums[start:end] / np.maximum(others, 1.0))[
                compared[start:end]
            ]
            high = likelihoods.max(axis=0, initial=0.0)
            low = likelihoods.min(axis=0, initial=np.inf)
            loss = np.where(
                (high > 0) & (len(likelihoods) > 1), np.log(high / low), 0.0
            )
        losses.append(loss)
        own_guesses.append(log_posterior.argmax(axis=0))
        joint_guesses.append(sums[start:end].argmax(axis=0))
    return np.array(losses), np.array(own_guesses), np.array(joint_guesses)


def share_limits(hits: Integers, count: int, beta: float) -> Floats:
    """Return an experienced share hits / count with limits [Clopper and Pearson 1934]:
    rows (share, low, high).

    Both limits of a share hold with probability at least 1 - beta.

    Examples
    --------
    >>> share_limits(np.array([0, 5]), 10, 0.05).round(3).tolist()
    [[0.0, 0.0, 0.308], [0.5, 0.187, 0.813]]
    """
    limits = proportion_interval(hits, count - hits, beta / 2)
    return np.stack([hits / count, limits.lower, limits.upper], axis=-1)
