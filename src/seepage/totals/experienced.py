"""What people experience: the realised privacy loss of reports drawn for people of the table.

Totals are suprema over reports.  Here people are drawn from the table, their records perturbed,
and what each set of reports tells about an attribute k is computed against everybody else:

    loss = ln max_x p(y given x) / min_x p(y given x),

p(y given x) the mean likelihood of all reports y over the other people with X_k = x.  Many values
alone make large losses, so the same is done on independently permuted columns, where no attribute
tells anything about another.  It describes drawn people and is no guarantee.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage._results import Progress, begin_stage
from seepage.data.domain import sample_caution
from seepage.data.inputs import as_counted
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.errors import InputError
from seepage.leakage.release import VIEWS, Release, View, releases
from seepage.mechanisms import Mechanism
from seepage.totals.experience_result import LEVELS, Experience, quantile_limits, share_limits
from seepage.totals.result import GuaranteeError
from seepage.totals.sampled import report_sums
from seepage.totals.sampled_reports import Draws, drawn, offsets, perturbed, simulated

ABOVE = 1.1
"""Losses above this multiple of the promised epsilon are counted."""

MOST_PERMUTED = 2_000_000
"""Of a larger table so many records are drawn, whose columns are permuted."""


def experienced_loss(
    data: Any,
    epsilon: Any,
    *,
    mechanism: Any,
    people: int = 1_000,
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
    order statistics.  Cost: one likelihood for each person and distinct record, twice; 1 ns each
    where the compiled kernel is used, 10 to 20 ns in NumPy.

    Examples
    --------
    >>> import seepage as sp
    >>> sp.experienced_loss("survey", 1.0, mechanism="grr", people=200)
    Experience(...)
    """
    _checks.choice(view, "view", VIEWS)
    count = _checks.integer(people, "people", 1, _checks.MOST_DRAWS)
    least = _checks.integer(rare, "rare", 1)
    level = _checks.probability(confidence, "confidence")
    if level in (0, 1):
        raise InputError(f"confidence must be above 0 and below 1, got {level:g}")
    _checks.progress(progress)
    known = as_counted(data, records=True, **table_options)
    released = releases(known.domain, epsilon, mechanism, delta)
    return experience_of(known, released, view, count, level, seed, progress, rare=least)


USUAL_PEOPLE = 1_000
"""People drawn where nothing else is asked for."""


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
    steps = _stages(progress, 2, people)
    begin_stage(progress, "drawn people")
    chosen, draws = draw_people(data, mechanisms, view, people, generator)
    losses, own, everything = realised(data, draws, rare, steps[0])
    begin_stage(progress, "permuted columns")
    other = permuted(data, generator)
    compared = compared_values(data, rare)
    shuffled = draw_people(other, mechanisms, view, people, generator)[1]
    null = realised_losses(other, shuffled, compared, steps[1])
    epsilons = np.array([release.epsilon for release in released])
    beta = (1 - confidence) / max(1, len(released))
    values = data.codes[chosen].T
    begins = offsets(data.domain)
    counts = [compared[begin:end] for begin, end in pairwise(begins)]
    seen = [int(np.count_nonzero(data.marginal(k))) for k in range(len(data.domain))]
    caution = sample_caution(data)
    return Experience(
        attributes=data.domain.names,
        epsilons=epsilons,
        mechanisms=tuple(release.name for release in released),
        view=view,
        people=people,
        confidence=confidence,
        rare=rare,
        compared=tuple(int(part.sum()) for part in counts),
        left_out=tuple(s - int(part.sum()) for s, part in zip(seen, counts, strict=True)),
        shares=share_limits((losses > ABOVE * epsilons[:, None]).sum(axis=1), people, beta),
        permuted_shares=(null > ABOVE * epsilons[:, None]).mean(axis=1),
        quantiles=quantile_limits(losses, LEVELS, beta),
        permuted_quantiles=np.quantile(null, LEVELS, axis=1, method="inverted_cdf").T,
        before=np.array([data.marginal(k).max() / data.records for k in range(len(data.domain))]),
        own=share_limits((own == values).sum(axis=1), people, beta),
        together=share_limits((everything == values).sum(axis=1), people, beta),
        notes=() if caution is None else (caution,),
    )


def _stages(progress: Progress | None, count: int, steps: int) -> list[Progress | None]:
    """Return one progress callable for each of several stages of equal work."""
    if progress is None:
        return [None] * count

    def stage(number: int) -> Progress:
        def report(done: int, work: int | None) -> None:
            share = done / work if work else 0.0
            progress(round(steps * (number + share)), count * steps)

        return report

    return [stage(number) for number in range(count)]


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
    nothing = np.full(len(logarithms), np.inf)
    return chosen, Draws(logarithms, np.ones(len(data)), nothing, chosen)


def permuted(data: Records, generator: np.random.Generator) -> Records:
    """Return a table with the same values in each column, in an order of their own."""
    if data.records <= MOST_PERMUTED:
        codes = np.repeat(data.codes, data.weights, axis=0)
    else:
        codes = data.codes[drawn(data.weights, np.arange(len(data)), MOST_PERMUTED, generator)]
    columns = [generator.permutation(column) for column in codes.T]
    return Records(data.domain, np.stack(columns, axis=1))


def compared_values(data: Records, rare: int) -> Booleans:
    """Return which values of all attributes, one after the other, have enough other records."""
    return np.concatenate([data.marginal(k) for k in range(len(data.domain))]) > rare


def realised(
    data: Records, draws: Draws, rare: int, progress: Progress | None = None
) -> tuple[Floats, Integers, Integers]:
    """Return each person's loss, the best guess from the own report, and that from all reports.

    One row per attribute and one column per person.  A guess is the likeliest value given the
    reports and everybody else: argmax_x P(x) p(y given x), P without the person.
    """
    assert draws.left_out is not None
    sums = report_sums(data, draws, progress)[:-1]
    losses = _losses(data, draws, sums, compared_values(data, rare))
    own, everything = [], []
    begins = offsets(data.domain)
    for k, (begin, end) in enumerate(pairwise(begins)):
        others = _others(data, draws, k)
        with np.errstate(divide="ignore"):
            alone = np.log(others) + draws.logarithms[begin:end]
        own.append(alone.argmax(axis=0))
        everything.append(sums[begin:end].argmax(axis=0))
    return losses, np.array(own), np.array(everything)


def realised_losses(
    data: Records, draws: Draws, compared: Booleans, progress: Progress | None = None
) -> Floats:
    """Return each person's loss, one row per attribute, over given values only."""
    return _losses(data, draws, report_sums(data, draws, progress)[:-1], compared)


def _others(data: Records, draws: Draws, k: int) -> Floats:
    """Return for every value of one attribute how many people other than each one have it."""
    assert draws.left_out is not None
    own = data.column(k)[draws.left_out].astype(np.int64)
    counts = np.repeat(data.marginal(k).astype(np.float64)[:, None], len(own), axis=1)
    counts[own, np.arange(len(own))] -= 1
    return counts


def _losses(data: Records, draws: Draws, sums: Floats, compared: Booleans) -> Floats:
    """Return ln max p(y given x) / min p(y given x) over the values that are compared."""
    losses = []
    begins = offsets(data.domain)
    for k, (begin, end) in enumerate(pairwise(begins)):
        kept = np.flatnonzero(compared[begin:end])
        if len(kept) < 2:
            losses.append(np.zeros(draws.count))
            continue
        chances = sums[begin:end][kept] / np.maximum(_others(data, draws, k)[kept], 1.0)
        high, low = chances.max(axis=0), chances.min(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            losses.append(np.where(high > 0, np.log(high / low), 0.0))
    return np.array(losses)
