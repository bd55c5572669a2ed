"""`find_design`: the forms, budgets and shares with the least error that keep every limit."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from seepage import _checks
from seepage._results import Progress
from seepage.data.inputs import as_records
from seepage.data.records import Records
from seepage.designs.design import Design, DesignedForm
from seepage.designs.design_options import make_form_problem
from seepage.designs.design_pooling import suggested_pool, with_pooling_note
from seepage.designs.forms.a_optimal import Shares, best_shares, evaluate
from seepage.designs.forms.certifiers import Certifier, make_certifier
from seepage.designs.forms.form_problem import FittedForm, Form, FormProblem
from seepage.designs.forms.form_search import FormPool, FormSearch, Timer, generate
from seepage.designs.shaped.form_shaper import SHAPES
from seepage.designs.shaped.shape_design import product_design, shape_forms
from seepage.designs.strategies import compare_designs
from seepage.errors import InputError
from seepage.totals.population_totals import SCOPES
from seepage.totals.result import refuse_sample

POOLING_SHARE, POOLING_FROM = 0.1, 1.0
"""Share of the time for a design of pooled values, and the seconds in all from which it is made."""

SMALLEST_SHARE = 1e-3
"""A form with a smaller share is left out at the end; the gap counts what that costs."""

VARIANT = 0.1
"""So is one with less than this share of another that asks the same with other budgets."""


def find_design(
    data: Any,
    limit: Any,
    *,
    mechanism: str | None = None,
    public: Iterable[str] = (),
    left_out: Iterable[str] = (),
    known: Iterable[str] = (),
    weights: Any = 1.0,
    least: Any = 0.0,
    record_limit: float | None = None,
    together: Iterable[Iterable[str]] = (),
    never: Iterable[Iterable[str]] = (),
    largest: int | None = None,
    joint: Iterable[Iterable[str]] = (),
    scope: str = "population",
    confidence: float = 0.95,
    sample: int | None = None,
    shape: str = "forms",
    seconds: float = 60.0,
    seed: int = 0,
    progress: Progress | None = None,
    **table_options: Any,
) -> Design:
    """Return the most accurate collection by forms whose totals provably stay within the limit.

    By default for the people whom the records are a random sample of, at a confidence of 95 %.

    A form is a set of attributes with a mechanism and a budget each.  Everyone gets one form, drawn
    without looking at the record; its reports tell about attribute k at most the form's total,
    computed for every attribute of the table, asked or not [theory-forms].

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, or `Records`.  A sample of records is enough for
        `scope="population"` and raises for `scope="table"`.
    limit
        The allowed total of every attribute, or one for each (a mapping by name); None for an
        attribute that is not protected.
    mechanism
        `"grr"` for GRR throughout; None: a form of one question may use another mechanism where
        that is more precise.
    public, left_out
        Attributes that are public already, and attributes that are not collected.
    known
        Attributes whose values the adversary knows of the person: totals are conditional on them.
        For the population every value needs records with every combination of known and public
        ones: where known ones lack them a form keeps the sum of its budgets within the limit,
        where public ones do it raises.  Reports are not shaped with either.
    weights
        How much each attribute's error counts.
    least
        The smallest useful budget, for all or by attribute.
    record_limit
        The largest sum of budgets of a form: what it may tell about the whole record.
    together, never
        Groups of attributes that are only asked together; pairs never asked together.
    largest
        The most attributes of a form; forms of up to 8 are searched for where not given.
    joint
        Pairs whose joint distribution is wanted: their error counts like that of an attribute.
    scope, confidence
        For whom every limit holds: `"population"`, with this confidence for all limits together,
        if the records are a random sample of it with one record per person (table option
        `person`); or `"table"`, for the people in the table only.
    sample
        Read so many records drawn at random by the seed, for `scope="population"`: what is
        certified then holds for the table as well.
    shape
        Which forms send one shaped report where that is more precise, of at most 32 combinations
        of answers: `"never"`, `"single"` for those of one attribute, `"forms"` for all; with the
        rule that one answer changed changes a report by its limit at most, and no more told about
        the whole record than by the product of the same form.  `"record"`: without that rule.
    seconds
        How long to search at most, once the records are read; Ctrl-C ends it too.  Either way the
        best design so far is returned, certified like any other.  Reading, and counting the chosen
        forms again, come on top: 3 to 5 s for 300 columns of 20,000 records.
    seed
        Of the search and the sample.  The same seed gives the same design where time does not end
        the search.
    progress
        Called with the seconds spent and those in all.
    table_options
        Table options of `count_pairs`.

    Returns
    -------
    Design
        Forms with budgets, shares and totals, expected errors, the gap to the least error over
        the forms considered, and a comparison with other ways to spend the limit.

    Notes
    -----
    Shares are A-optimal by a multiplicative algorithm; new forms come by column generation.  The
    pool of forms holds every attribute alone and all attributes together, so neither SMP nor the
    calibrated collection has less weighted error, up to the gap.

    About the whole record a form tells up to the sum of its budgets, `record`; and an adversary who
    knows other attributes of the person can learn more than the total unless they are `known`.

    For the population all forms of a size are covered by a union bound, so that the choice among
    them costs no confidence, with equal budgets in each form [theory-population].

    Cost: 0.1 ms to count a form of binary attributes and 0.05 ms for its totals about 40
    attributes, after 6 ms for 115,000 distinct records; some thousands of forms.  For the
    population 10 ms for every form that seems to pay, six times.

    Examples
    --------
    Two fair coins and whether they differ: each two may be asked with the whole limit, all three
    may not.

    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> found = sp.find_design(coins, 1.0, scope="table")
    >>> sorted(form.attributes for form in found.forms)
    [('a', 'b'), ('a', 'differ'), ('b', 'differ')]
    >>> round(float(found.totals.max()), 6), round(found.record, 6)
    (1.0, 2.0)
    """
    if mechanism is not None:
        _checks.choice(mechanism, "mechanism", ("grr",))
    time = _checks.real(seconds, "seconds")
    if not time > 0:
        raise InputError(f"seconds must be above 0, got {_checks.shown(seconds)}")
    number = _checks.integer(seed, "seed", 0)
    _checks.progress(progress)
    _checks.choice(scope, "scope", SCOPES)
    _checks.choice(shape, "shape", SHAPES)
    drawn = {} if sample is None else {"sample": sample, "seed": number}
    records = as_records(data, **drawn, **table_options)
    hint = "give the table itself, or scope='population'"
    refuse_sample(records, "exact", "designs for the table", scope, hint)
    conditions = {
        "limit": limit,
        "public": public,
        "left_out": left_out,
        "known": known,
        "weights": weights,
        "least": least,
        "record_limit": record_limit,
        "together": together,
        "never": never,
        "largest": largest,
        "joint": joint,
        "scope": scope,
    }
    conditions = {  # for two designs, if need be
        name: list(value) if isinstance(value, Iterator) else value
        for name, value in conditions.items()
    }

    def designed(people: Records, share: float, shown: Progress | None) -> Design:
        timer = Timer(share * time)
        problem = make_form_problem(people, **conditions)
        strata = problem.public_places or problem.known_places
        shaped = mechanism is None and shape != "never" and not strata
        certifier = make_certifier(problem, people, confidence, timer, number, shaped)
        run = DesignRun(certifier, timer, largest, mechanism, shown)
        run.start()
        if shaped:
            shape_forms(run, shape, number)
        run.search(number)
        return run.result(number)

    pool = suggested_pool(records) if time >= POOLING_FROM else None
    found = designed(records, 1.0 if pool is None else 1 - POOLING_SHARE, progress)
    if pool is None or found.ended == "interrupted":
        return found
    return with_pooling_note(
        found, records, pool, lambda people: designed(people, POOLING_SHARE, None)
    )


class DesignRun:
    """One search: the pool, how it ended, and the result made of it."""

    def __init__(
        self,
        certifier: Certifier,
        timer: Timer,
        largest: int | None,
        mechanism: str | None,
        progress: Progress | None,
    ) -> None:
        self.certifier, self.timer = certifier, timer
        self.problem, self.records = certifier.problem, certifier.records
        self.largest, self.mechanism, self.progress = largest, mechanism, progress
        self.pool, self.search_forms = FormPool(self.problem), FormSearch(self.problem, timer)
        self.whole: list[FittedForm] = []
        self.singles: list[FittedForm] = []
        self.ended = "no better form"

    def on(self, certifier: Certifier) -> "DesignRun":
        """Return another search within the same time, for other conditions or records."""
        return DesignRun(certifier, self.timer, self.largest, "grr", self.progress)

    def start(self) -> None:
        """Fill the pool with single items, all attributes, and the pairs that are wanted."""
        problem = self.problem
        first = [self._item(item) for item in problem.items]
        if self.mechanism is None:
            first += self.certifier.singles()
        self.singles = [form for form in first if len(form.attributes) == 1]
        self.whole = self.certifier.whole(self.timer)
        allowed = self.largest is None or self.largest >= len(problem.domain)
        self.pool.add([*first, *(self.whole if allowed else [])])
        wanted = [self._wanted(pair) for pair in problem.precisions.joint]
        self.pool.add([form for form in wanted if form is not None])
        if not math.isfinite(self.pool.state.objective):
            raise InputError(
                "no form within the limits gives every joint distribution that is wanted; raise "
                "the limit or want fewer"
            )
        self.smp = self.pool.settle(1e-6, 4000)

    def _item(self, item: tuple[int, ...]) -> FittedForm:
        """Return a form of one item; with coarser totals where its table is too large."""
        problem, found = self.problem, None
        single = self.certifier.by_budget(item[0], self.timer) if len(item) == 1 else None
        if single is not None:
            found = self.search_forms.found[item] = single if problem.useful(single) else None
        elif problem.scorer.fits(item):
            found = self._certified(item)
        else:
            coarse = self.certifier.too_large(item)
            found = coarse if problem.useful(coarse) else None
        if found is None:
            raise InputError(
                f"{problem.listed(item)} asked together cannot have their least "
                "useful budgets; raise the limit or lower `least`"
            )
        return found

    def _certified(self, form: tuple[int, ...]) -> FittedForm | None:
        found = self.search_forms.fit(form[:-1], form[-1:])
        certified = None if found is None else self.certifier.first(found)
        return certified if certified is not None and self.problem.useful(certified) else None

    def _wanted(self, pair: tuple[int, int]) -> FittedForm | None:
        items = {next(item for item in self.problem.items if j in item) for j in pair}
        return self._certified(tuple(sorted(j for item in items for j in item)))

    def search(self, seed: int) -> None:
        """Generate forms; an interrupt ends the search and keeps what was found."""
        self.collect(self._generated(np.random.default_rng(seed)))

    def _generated(self, rng: np.random.Generator) -> Iterator[Shares]:
        for thorough in (False, True):
            accept = self.certifier.accept if thorough else self.certifier.quick
            pairs = self.certifier.pairs
            yield from generate(self.search_forms, self.pool, accept, rng, thorough, pairs)

    def collect(self, rounds: Iterator[Shares]) -> None:
        """Go through rounds of a search; an interrupt ends all and keeps what was found."""
        if self.ended == "interrupted":
            return
        before = self.pool.saved()
        try:
            self.search_forms.count_pairs()
            for _ in rounds:
                before = self.pool.saved()
                self._report()
        except KeyboardInterrupt:
            self.pool.restore(before)
            self.ended = "interrupted"
        else:
            self.ended = "time" if self.timer.over() else "no better form"

    def _report(self) -> None:
        if self.progress is None:
            return
        total = None if math.isinf(self.timer.seconds) else math.ceil(self.timer.seconds)
        self.progress(int(min(self.timer.spent, self.timer.seconds)), total)
        describe = getattr(self.progress, "describe", None)
        if describe is not None:
            error = self.pool.state.objective / self.records.records
            describe(f"designing, error {error / (self.problem.weights > 0).sum():.4g}")

    def result(self, seed: int) -> Design:
        """Return the design, its forms checked once more."""
        problem = self.problem
        places, state = self._final()
        order = sorted(places, key=lambda place: -state.shares[place])
        forms = self.certifier.settled([self.pool.forms[place] for place in order])
        if any(problem.excess(form.totals, form.spent) > 0 for form in forms):
            raise AssertionError("a total of a designed form exceeds its limit")
        with np.errstate(divide="ignore"):
            errors = 1 / (self.records.records * (state.shares @ self.pool.rows))
        count = len(problem.domain)
        names = problem.domain.names
        alone = errors[:count].copy()
        alone[np.array(problem.domain.sizes) == 1] = 0.0
        shares, plain = [float(state.shares[place]) for place in order], product_design(self)
        comparison = compare_designs(
            problem, self.records, self.singles, self.whole, forms, shares, alone, plain
        )
        pairs = [(names[i], names[j]) for i, j in problem.precisions.joint]
        return Design(
            self.records.pairs(),
            problem.limits,
            tuple(names[j] for j in problem.public_places),
            tuple(names[j] for j in problem.known_places),
            tuple(_named(problem, form, part) for form, part in zip(forms, shares, strict=True)),
            alone,
            dict(zip(pairs, errors[count:].tolist(), strict=True)),
            problem.weights[:count],
            state.gap,
            sum(found is not None for found in self.search_forms.found.values()),
            comparison,
            self.ended,
            seed,
            (*self.certifier.notes(forms), *self._notes()),
            self.certifier.scope,
            self.certifier.confidence,
        )

    def _final(self) -> tuple[list[int], Shares]:
        """Return the forms that stay, without those of vanishing shares, and the state."""
        pool, weights = self.pool, self.problem.weights
        pool.settle(1e-4, 20_000)
        most: dict[Form, float] = {}
        for form, share in zip(pool.forms, pool.shares.tolist(), strict=True):
            most[form.attributes] = max(share, most.get(form.attributes, 0.0))
        least = [max(SMALLEST_SHARE, VARIANT * most[form.attributes]) for form in pool.forms]
        start = np.where(pool.shares >= least, pool.shares, 0.0)
        fewer = evaluate(pool.rows, weights, start / start.sum())
        if math.isfinite(fewer.objective):
            pool.shares = best_shares(pool.rows, weights, start, 1e-4, 20_000).shares
        state = pool.state
        return np.flatnonzero(state.shares > 0).tolist(), state

    def _notes(self) -> Iterator[str]:
        problem = self.problem
        for attribute in problem.domain:
            if attribute.size == 1:
                yield f"{attribute.name!r} has one value: nothing to ask"
        unasked = problem.collected & (problem.weights[: len(problem.domain)] == 0)
        for j in np.flatnonzero(unasked).tolist():
            yield f"{problem.domain.names[j]!r} has weight 0: asked only where that costs nothing"
        if self.ended != "no better form":
            yield f"the search ended by {self.ended} after {self.timer.spent:.0f} s"


def _named(problem: FormProblem, form: FittedForm, share: float) -> DesignedForm:
    names = tuple(problem.domain.names[j] for j in form.attributes)
    budgets, totals = tuple(form.epsilons.tolist()), tuple(form.totals.tolist())
    return DesignedForm(
        names,
        form.mechanisms,
        budgets,
        share,
        totals,
        form.guarantee,
        form.record,
        form.matrix,
    )
