"""What people experience: the realised privacy loss of reports drawn for people of the table.

Totals are suprema over reports.  Here people are drawn from the table, their records perturbed,
and what each set of reports tells about an attribute k is computed against everybody else:

    loss = ln max_x p(y given x) / min_x p(y given x),

p(y given x) the mean likelihood of all reports y over the other people with X_k = x.  Many values
alone make large losses, so the same is done on independently permuted columns, where no attribute
tells anything about another.  It describes drawn people and is no guarantee.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage._results import Progress, Result, begin_stage, json_ready
from seepage.data.domain import sample_caution
from seepage.data.inputs import as_counted
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.leakage.release import VIEWS, Release, View, releases
from seepage.totals.drawn_reports import (
    Draws,
    draw_people,
    drawn,
    offsets,
    report_sums,
    simulated,
    value_counts,
)
from seepage.totals.result import GuaranteeError

LEVELS = (0.05, 0.5, 0.95)
"""The quantiles of the loss over people: two ends between which nine in ten lie, the median."""

ESTIMATE, LOW, HIGH = range(3)
"""The last axis of every estimate: itself, its lower and its upper limit."""

ABOVE = 1.1
"""Losses above this multiple of the promised epsilon are counted."""

MAX_PERMUTED = 2_000_000
"""Records whose columns are permuted; of a larger table so many are drawn."""

USUAL_PEOPLE = 1_000
"""People drawn where nothing else is asked for."""


@dataclass(frozen=True, eq=False, repr=False)
class Experience(Result):
    """What the reports of people drawn from a table tell about them, see `experienced_loss`.

    No guarantee: a description of drawn people, against everybody else in the table.

    Parameters
    ----------
    attributes, epsilons, mechanisms, view
        What is released, with which promised epsilon, by what; what the adversary keeps.
    people, confidence, rare
        How many people were drawn; the confidence of each kind of limits, for all attributes at
        once; the fewest other records of a value that is compared.
    compared, left_out
        How many values of each attribute are compared, and how many were too rare.
    shares, permuted_shares
        The share of people whose reports tell more than 1.1 times the promised epsilon (estimate,
        lower and upper limit), and the same on independently permuted columns.
    quantiles, permuted_quantiles
        Of the loss over people: attributes by `LEVELS` by (estimate, lower and upper limit), and
        attributes by levels on permuted columns.
    before, own, together
        How often the best guess is right: before any report (the most frequent value), with the
        attribute's own report alone, with all reports.
    notes
        What a reader must know besides.
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
        """The attributes with at least two values to compare, those most affected first.

        That is, by how much their share exceeds that on permuted columns.
        """
        excess = self.shares[:, ESTIMATE] - self.permuted_shares
        known = [k for k, count in enumerate(self.compared) if count > 1]
        return sorted(known, key=lambda k: -float(excess[k]))

    def chart(self, name: str = "") -> Any:
        """Return promised against experienced as an Altair chart, those most affected first.

        The title has the data's name, if given.
        """
        from seepage.charts.results import experience_chart

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
        return experience_chart(rows, self.people, _checks.text(name, "name"))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON holds it; numbers as in `TotalLeakage.to_dict`."""
        return {field.name: json_ready(getattr(self, field.name)) for field in fields(self)}

    def _headline(self) -> str:
        top = next((k for k in self.measured if np.isfinite(self.epsilons[k])), None)
        if top is None:
            return f"Experience({self.people:,} people; no attribute has two values to compare)"
        return (
            f"Experience({self.people:,} people; above 1.1 epsilon most often: "
            f"{self.attributes[top]!r}, {self.shares[top, ESTIMATE]:.0%} of people, "
            f"permuted {self.permuted_shares[top]:.0%})"
        )

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {
            "attribute": list(self.attributes),
            "epsilon": self.epsilons,
            "mechanism": list(self.mechanisms),
            "compared": list(self.compared),
            "left_out": list(self.left_out),
            **_limited("share_above", self.shares),
            "permuted_share": self.permuted_shares,
        }
        for index, level in enumerate(LEVELS):
            columns |= _limited(f"loss_{level:g}", self.quantiles[:, index])
            columns[f"permuted_loss_{level:g}"] = self.permuted_quantiles[:, index]
        return columns | {
            "guess_before": self.before,
            **_limited("guess_own", self.own),
            **_limited("guess_all", self.together),
        }


def _limited(name: str, estimates: Floats) -> dict[str, Floats]:
    names = (name, f"{name}_low", f"{name}_high")
    return dict(zip(names, estimates.T, strict=True))


def read_experience(saved: Mapping[str, Any]) -> Experience:
    """Return what `Experience.to_dict` gave."""
    kept: dict[str, Any] = {}
    for field in fields(Experience):
        value = saved.get(field.name)
        if field.type == Floats:
            kept[field.name] = np.array(value, dtype=object).astype(np.float64)
        elif value is not None:
            kept[field.name] = tuple(value) if isinstance(value, list) else value
    return Experience(**kept)


def experienced_loss(
    data: Any,
    epsilon: Any,
    *,
    mechanism: Any,
    people: int = USUAL_PEOPLE,
    confidence: float = 0.95,
    rare: int = 500,
    view: View = "report",
    delta: Any = 0.0,
    seed: int | None = 0,
    progress: Progress | None = None,
    **table_options: Any,
) -> Experience:
    """Return what the reports of drawn people tell about each of their attributes.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, or `Records`; pair counts do not suffice.
    epsilon, delta
        The budget of every attribute, or one for each (a sequence, or a mapping by name).
    mechanism
        A registered name or a mechanism, or one for each attribute.
    people
        How many people are drawn, with replacement.
    confidence
        Of each kind of limits (shares, quantiles, guesses), for all attributes at once.
    rare
        Values with fewer other records are not compared: rare ones make losses out of nothing.
    view
        What the adversary keeps: the whole `"report"` or a value `"inferred"` from it.
    seed
        The same seed gives the same numbers; None is another one each time.
    progress
        Called with the steps done and the steps in all.
    table_options
        Table options of `count_pairs`, such as `columns` and `bins`.

    Notes
    -----
    The person's own record is left out of p(y given x): with it, the reports would be compared
    with themselves.  Shares and hits have Clopper-Pearson limits, quantiles those of binomial
    order statistics.  Cost: one likelihood for each person and distinct record, twice.

    Examples
    --------
    >>> import seepage as sp
    >>> sp.experienced_loss("survey", 1.0, mechanism="grr", people=200)
    Experience(...)
    """
    _checks.choice(view, "view", VIEWS)
    count = _checks.integer(people, "people", 1, _checks.MAX_DRAWS)
    least = _checks.integer(rare, "rare", 1)
    level = _checks.inner_probability(confidence, "confidence")
    _checks.progress(progress)
    known = as_counted(data, records=True, **table_options)
    released = releases(known.domain, epsilon, mechanism, delta)
    return experience_of(known, released, view, count, level, seed, progress, rare=least)


def usual_people(data: PairCounts | Records, released: Sequence[Release]) -> int:
    """Return how many people to draw by default: none without records or mechanisms."""
    named = all(release.public or release.mechanism is not None for release in released)
    return USUAL_PEOPLE if named and isinstance(data, Records) and data.records > 1 else 0


def experience_of(
    data: PairCounts | Records,
    released: Sequence[Release],
    view: View,
    people: int,
    confidence: float = 0.95,
    seed: int | None = 0,
    progress: Progress | None = None,
    *,
    rare: int = 500,
) -> Experience:
    """Return the same for data that are counted and releases that are there already."""
    if not isinstance(data, Records):
        raise GuaranteeError(
            "what people experience needs records, and pair counts do not tell how sources act "
            "together; give the table itself"
        )
    if data.records < 2:
        raise GuaranteeError("what people experience needs at least two records")
    mechanisms = simulated(data.domain, released, people, "experienced losses")
    generator = _checks.generator(seed)
    everybody, begins = value_counts(data), offsets(data.domain)[:-1]
    compared = everybody > rare
    begin_stage(progress, "drawn people")
    chosen, draws = draw_people(data, mechanisms, view, people, generator)
    losses, own, together = realised(data, draws, compared, _half(progress, 0, people))
    begin_stage(progress, "permuted columns")
    other = permuted(data, generator)
    shuffled = draw_people(other, mechanisms, view, people, generator)[1]
    null = realised(other, shuffled, compared, _half(progress, 1, people))[0]
    epsilons = np.array([release.epsilon for release in released])
    beta = (1 - confidence) / max(1, len(released))
    values = data.codes[chosen].T
    counts, seen = (
        np.add.reduceat(part, begins, dtype=np.int64) for part in (compared, everybody > 0)
    )
    caution = sample_caution(data)
    return Experience(
        attributes=data.domain.names,
        epsilons=epsilons,
        mechanisms=tuple(release.name for release in released),
        view=view,
        people=people,
        confidence=confidence,
        rare=rare,
        compared=tuple(counts.tolist()),
        left_out=tuple((seen - counts).tolist()),
        shares=share_limits((losses > ABOVE * epsilons[:, None]).sum(axis=1), people, beta),
        permuted_shares=(null > ABOVE * epsilons[:, None]).mean(axis=1),
        quantiles=quantile_limits(losses, LEVELS, beta),
        permuted_quantiles=np.quantile(null, LEVELS, axis=1, method="inverted_cdf").T,
        before=np.maximum.reduceat(everybody, begins) / data.records,
        own=share_limits((own == values).sum(axis=1), people, beta),
        together=share_limits((together == values).sum(axis=1), people, beta),
        notes=() if caution is None else (caution,),
    )


def _half(progress: Progress | None, number: int, people: int) -> Progress | None:
    """Return the progress of the first (0) or second (1) of two stages of equal work."""
    if progress is None:
        return None
    return lambda done, work: progress(round(people * (number + done / (work or 1))), 2 * people)


def permuted(data: Records, generator: np.random.Generator) -> Records:
    """Return a table with the same values in each column, in an order of their own."""
    everybody = np.arange(len(data))
    if data.records > MAX_PERMUTED:
        people = drawn(data.weights, everybody, MAX_PERMUTED, generator)
    else:
        people = np.repeat(everybody, data.weights)
    columns = [generator.permutation(column) for column in data.codes[people].T]
    return Records(data.domain, np.stack(columns, axis=1))


def realised(
    data: Records, draws: Draws, compared: Booleans, progress: Progress | None = None
) -> tuple[Floats, Integers, Integers]:
    """Return each person's loss, the best guess from the own report, and that from all reports.

    One row per attribute and one column per person; losses over the values that are compared.  A
    guess is the likeliest value given the reports and everybody else: argmax_x P(x) p(y given x),
    P without the person.
    """
    assert draws.left_out is not None
    sums, people, found = report_sums(data, draws, progress), np.arange(draws.count), []
    for k, (begin, end) in enumerate(pairwise(offsets(data.domain))):
        others = np.repeat(data.marginal(k).astype(np.float64)[:, None], draws.count, axis=1)
        others[data.column(k)[draws.left_out], people] -= 1
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.log(others) + draws.logarithms[begin:end]
            chances = (sums[begin:end] / np.maximum(others, 1.0))[compared[begin:end]]
            high, low = chances.max(axis=0, initial=0.0), chances.min(axis=0, initial=np.inf)
            loss = np.where((high > 0) & (len(chances) > 1), np.log(high / low), 0.0)
        found.append((loss, alone.argmax(axis=0), sums[begin:end].argmax(axis=0)))
    losses, own, together = (np.array(part) for part in zip(*found, strict=True))
    return losses, own, together


def share_limits(hits: Integers, count: int, beta: float) -> Floats:
    """Return shares with their limits [Clopper and Pearson 1934]: rows (share, low, high).

    Examples
    --------
    >>> share_limits(np.array([0, 5]), 10, 0.05).round(3).tolist()
    [[0.0, 0.0, 0.308], [0.5, 0.187, 0.813]]
    """
    from scipy.special import betaincinv

    misses = count - hits
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), misses + 1.0, beta / 2), 0.0)
    tail = np.where(misses > 0, betaincinv(np.maximum(misses, 1), hits + 1.0, beta / 2), 0.0)
    return np.stack([hits / count, low, 1 - tail], axis=-1)


def quantile_limits(samples: Floats, levels: Iterable[float], beta: float) -> Floats:
    """Return quantiles q of each row with limits: rows by levels by (quantile, low, high).

    Samples are independent numbers of at least 0; the limits of one fail with chance beta.  The
    l-th smallest of n draws exceeds the q quantile with probability at most
    P(Bin(n, q) < l), and the u-th is below it with probability at most P(Bin(n, q) >= u): l is
    the largest and u the smallest number for which these are at most beta / 2; where there is no
    such draw, the limit is 0 or infinity.

    Examples
    --------
    >>> quantile_limits(np.arange(100.0)[None], [0.5], 0.05).tolist()
    [[[49.0, 39.0, 60.0]]]
    """
    from scipy.special import bdtr, bdtrc

    count = samples.shape[1]
    ends = ((0, 0), (0.0, np.inf))
    padded = np.pad(np.sort(samples, axis=1), ((0, 0), (1, 1)), constant_values=ends)
    indices = np.arange(count)
    found = []
    for level in levels:
        low = int(np.count_nonzero(bdtr(indices, count, level) <= beta / 2))
        high = 1 + int(np.count_nonzero(bdtrc(indices, count, level) > beta / 2))
        middle = max(1, int(np.ceil(level * count - 1e-9)))
        found.append(padded[:, [middle, low, min(high, count + 1)]])
    return np.stack(found, axis=1)
