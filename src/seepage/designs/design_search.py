"""`designed`, and its `DesignSearch`: start forms, column generation, shaped
reports.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain, combinations
from typing import Any

import msgspec
import numpy as np

from seepage._core.errors import InputError, Setting, Text
from seepage._core.rounding import round_down, summed_up
from seepage._core.text import number_of
from seepage._core.threads import one_blas_thread
from seepage.calibration.calibration_options import check_all_records
from seepage.channel.records import Records
from seepage.designs.change_prices import change_prices
from seepage.designs.design import Design, names_of
from seepage.designs.design_options import DesignOptions, ShapedSets
from seepage.designs.forms.a_optimal_shares import ShareSolution
from seepage.designs.forms.certifier import Certifier
from seepage.designs.forms.form import Form, remarks, with_shares
from seepage.designs.forms.form_channels import MatrixChannel
from seepage.designs.forms.form_pool import FormPool
from seepage.designs.forms.form_problem import (
    FormProblem,
    Indices,
    equal_split,
    make_form_problem,
)
from seepage.designs.forms.form_search import (
    MAX_IDLE_ROUNDS,
    FormSearch,
    generate_forms,
)
from seepage.designs.forms.form_totals import ExactFormTotals
from seepage.designs.forms.population_certifier import TOO_FEW, PopulationCertifier
from seepage.designs.forms.question import stored_number
from seepage.designs.forms.search_work import DEFAULT_WORK, SearchWork
from seepage.designs.forms.table_certifier import TableCertifier
from seepage.designs.merging_gain import merging_notes
from seepage.designs.search_progress import (
    best_so_far,
    largest_variance,
)
from seepage.designs.shaped.report_thresholds import report_totals
from seepage.designs.shaped.shaping_search import shape_forms
from seepage.designs.strategies import compare_designs
from seepage.designs.want import wanted_errors
from seepage.tables.check import settle
from seepage.tables.read import as_records, check_whole_table

WARM_WORK = 0.2
"""Share of the work for a search that starts from the forms of another design."""


LARGEST_WORK = 0.5
"""Share of the work, beyond all of it, for a search for the least largest error."""


NONE_FOUND = "no form of several questions was found that is better"
"""The note where the search ended before it had tried all of them."""


def designed(data: Any, options: DesignOptions) -> Design:
    """Return the most accurate collection by forms whose totals provably stay within
    the limit.

    A form is a set of attributes with a mechanism and a budget each.  Everyone gets one
    form, drawn independently of the record.  The leakage of its reports about attribute
    k is at most the form's total, computed for every attribute of the table, asked or
    not [theory-forms].

    Notes
    -----
    Shares are A-optimal by a multiplicative algorithm; new forms come by column
    generation.  The pool of forms contains every attribute alone and all attributes
    together, so neither SMP nor the calibrated collection has a smaller weighted error,
    up to the gap.

    For the population the level counts all forms of a size, so that any of them may be
    selected, with equal budgets in each form [theory-certificate].

    Cost: 0.05 ms to count a form of binary attributes and 0.1 ms for its totals about
    40 attributes, after 6 ms for 115,000 distinct records; some thousands of forms.
    For the population also six evaluations of 10 ms for every form that the screen
    finds improving.
    """
    records, notes = read_records(data, options)
    return search_design(records, options, notes)


def read_records(data: Any, options: DesignOptions) -> tuple[Records, Sequence[str]]:
    """Return the records to search a design with, and notes on the columns that are
    left out.
    """
    settled = settle(data, options, asked=True, stacklevel=5, scope=options.scope)
    reading = options.records_options(options.rng, options.scope)
    records = as_records(settled.data, **reading | settled.table)
    origin = replace(records.origin, columns=settled.unused)
    records = records.with_origin(origin)
    check_all_records(records)
    if records.origin.fixed is None and (options.order or options.answers == "merged"):
        raise InputError(
            "answers are merged where a table is read without a domain, and these "
            "records have one",
            parameter="order" if options.order else "answers",
        )
    hint = Text("give the table itself, or ", Setting("scope", "population"))
    check_whole_table(records, "exact", "designs for the table", options.scope, hint)
    return records, settled.notes


def search_design(
    records: Records,
    options: DesignOptions,
    notes: Iterable[str] = (),
) -> Design:
    """Return the best design that a search finds with the work of the options.

    Its notes start with those given.
    """
    limit = DEFAULT_WORK * options.effort
    if options.start:
        limit *= WARM_WORK
    work = SearchWork(limit, options.seconds)
    with one_blas_thread():  # the order of sums depends on their number
        return _search_with(work, records, options, notes)


def _search_with(
    work: SearchWork,
    records: Records,
    options: DesignOptions,
    notes: Iterable[str],
) -> Design:
    """Return the design that a search finds, with its certificate."""
    problem = make_form_problem(records, options, work)
    shaped = (
        options.mechanism is None
        and options.shape != "never"
        and not (problem.public or problem.known)
    )
    certifier: Certifier
    if options.scope == "population":
        # shaped forms take half of the error probability 1 - confidence
        population = PopulationCertifier(
            problem, records, options.look_confidence, shaped
        )
        population.prime_screen(options.rng)
        certifier = population
    else:
        certifier = TableCertifier(problem, records)
    search = DesignSearch(certifier, work, options)
    search.start()
    if options.start:
        work.begin()  # singles of a table can take more than a warm search
        search.add_sets(options.start.sets)
    if shaped:
        shape_forms(search)
    search.search()
    if options.objective == "largest":
        search.minimise_largest()
    return search.finished(notes)


class DesignSearch:
    """A search for forms with shares that keep every total within its limit.

    Parameters
    ----------
    certifier
        Certifies forms for the table or for the population.
    work
        The work of the search: done, and allowed.
    options
        The options of the design.
    inner
        Whether it only searches forms to shape, on a part of the records.

    Attributes
    ----------
    pool
        The forms found, with their shares.
    rounds
        The number of complete rounds of the search.
    history
        The work done and the objective after each round.
    ended
        Why the search ended: `"no better form"`, `"work"`, `"time"` or `"interrupted"`.
    least_variance
        The least of the largest variances of a share from one person, of the rounds so
        far, while progress is shown.
    people
        The number of people that the errors are for; by default as many as the table
        has records.
    shaped_sets
        The sets of questions that were chosen to be shaped.
    share_before
        The share of the work that the progress shown counts as done before the current
        search: all of it while the largest error is minimised.
    """

    def __init__(
        self,
        certifier: Certifier,
        work: SearchWork,
        options: DesignOptions,
        *,
        inner: bool = False,
    ) -> None:
        """Prepare the search of a design: its pool of forms and its work."""
        self.certifier = certifier
        self.work = work
        self.options = options
        self.problem = certifier.problem
        self.records = certifier.records
        self.pool = FormPool(self.problem)
        self.form_search = FormSearch(self.problem, work)
        self.full_forms: list[Form] = []
        self.singles: list[Form] = []
        self.ended = "no better form"
        self.rounds = 0
        self.considered = 0
        self.history: list[tuple[float, float]] = []
        self.inner = inner
        self.least_variance = math.inf
        self.importance = self.problem.importance
        self.people = options.people or self.records.records
        self.shaped_sets = ShapedSets()
        self.share_before = 0.0

    def with_certifier(self, certifier: Certifier) -> "DesignSearch":
        """Return another search of a design with the same work, for other constraints
        or records.
        """
        options = replace(self.options, mechanism="grr")
        search = DesignSearch(certifier, self.work, options, inner=True)
        search.least_variance = self.least_variance
        return search

    def start(self) -> None:
        """Begin the search: fill the pool with forms of one attribute, of all, and of
        wanted joint tables.
        """
        problem = self.problem
        forms = [self._single_form(j) for j in problem.everything]
        if self.options.mechanism is None:
            forms += self.certifier.singles()
        self.singles = forms
        if not self.inner:
            self.full_forms = self._full_forms()
        largest = self.options.largest
        allowed = largest is None or largest >= len(problem.domain)
        self.pool.add([*forms, *(self.full_forms if allowed else [])])
        joint = [self._certified(table) for table in problem.precisions.joint]
        self.pool.add([form for form in joint if form is not None])
        if not math.isfinite(self.pool.solution.objective):
            raise InputError(
                "no form within the limits estimates every table of ",
                Setting("want"),
                "; raise the limit or name fewer attributes",
            )
        self.pool.solve_master(1e-6, 4000)
        self._show_progress()

    def _single_form(self, j: int) -> Form:
        """Return the form of one attribute that the search begins with; with coarser
        totals if its table is too large.
        """
        problem = self.problem
        item = (j,)
        form = None
        single = self.certifier.budget_form(j)
        if single is not None:
            self.form_search.remember(single)
            form = single
        elif problem.scorer.fits(item):
            form = self._certified(item)
        elif not problem.public:
            form = _coarse_form(problem, item)
        if form is None:
            beside = " beside what is public" if problem.public else ""
            raise InputError(
                f"{problem.domain.names[j]!r} cannot be certified{beside}; raise the "
                "limit, or pool rare values"
            )
        return form

    def _full_forms(self) -> list[Form]:
        """Return the forms of all attributes that the search begins with: the
        calibrated collection, and the equal split.

        With `exact` totals if the form's table is as small as those of the search; and
        with `worst` ones, which hold for any mechanism, unless attributes are public.
        """
        problem = self.problem
        everything = self.problem.everything
        forms = list[Form]()
        if problem.has_clash(everything):
            return forms
        times = 1 if self.certifier.scope == "table" else len(everything) + 1
        if problem.scorer.fits(everything) and self.form_search.is_small(
            everything, times
        ):
            forms.append(self.certifier.certify(problem.fit(everything)))
        if not problem.public:
            forms.append(_coarse_form(problem, everything))
        return [form for form in forms if form.max_budget > 0]

    def _certified(self, attributes: Indices) -> Form | None:
        """Return the search's form of these attributes with certified budgets; None if
        there is none or these are 0.
        """
        fitted = self.form_search.fit(attributes)
        if fitted is None:
            return None
        certified = self.certifier.certify(fitted)
        if certified.max_budget > 0:
            return certified
        return None

    def search(self, patience: int = MAX_IDLE_ROUNDS) -> None:
        """Run column generation; an interrupt ends the search and keeps the last
        complete round.
        """
        rng = np.random.default_rng(self.options.rng)
        stages = (
            generate_forms(
                self.form_search,
                self.pool,
                self.certifier,
                rng,
                thorough=thorough,
                patience=patience,
            )
            for thorough in (False, True)
        )
        self.run_rounds(chain.from_iterable(stages))

    def minimise_largest(self) -> None:
        """Search on at the prices of the largest error, with further work.

        After the search for the mean, whose balanced shares are a design as well: no
        objective gives a smaller largest error than this one.
        """
        if self.ended == "interrupted":
            return
        before = self.ended
        complete = copy(self.pool)
        rounds = self.rounds
        try:
            self.pool.minimise_largest()
            self.pool.solve_master(1e-4, 300)
            self.work.begin()
            self.share_before = 1.0
            with self.work.stage(LARGEST_WORK):
                self.search()
        except KeyboardInterrupt:
            self.interrupt()
        if self.ended == "interrupted" and self.rounds == rounds:
            self.pool = complete
            self.problem.weigh(self.importance)
        if before == "work" and self.ended == "no better form":
            self.ended = before

    def narrow(self, max_cells: float, ratios: Sequence[float]) -> None:
        """Search only forms of few combinations of answers from now on, whose gains are
        expected to grow by these factors, see `FormSearch.ratios`.
        """
        self.problem.bound_cells(max_cells)
        self.form_search.expect(ratios)

    def widen(self) -> None:
        """Search all forms of the design again, with their own gains."""
        self.narrow(math.inf, (1.0,))

    def interrupt(self) -> None:
        """End the search of the design with the forms of its last complete round."""
        self.ended = "interrupted"

    def run_rounds(self, rounds: Iterator[ShareSolution]) -> None:
        """Run the rounds of a design's search; an interrupt ends it and keeps the last
        complete round.
        """
        if self.ended == "interrupted":
            return
        complete = copy(self.pool)
        if self.options.rounds == self.rounds:
            self.ended = "interrupted"
            return
        try:
            self.form_search.fit_pairs()
            for _ in rounds:
                complete = self._completed()
                self._show_progress()
                if self.rounds == self.options.rounds:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            self.pool = complete
            self.ended = "interrupted"
        else:
            self.ended = self._end()

    def _completed(self) -> FormPool:
        """Count a complete round of the design's search; return its forms and
        shares.
        """
        if not self.inner:
            self.rounds += 1
            self.history.append((self.work.done, self.pool.error))
        self.considered = sum(map(bool, self.form_search.fitted.values()))
        return copy(self.pool)

    def _end(self) -> str:
        """Return why the last rounds of the design's search ended."""
        if self.work.is_capped:
            return "time"
        if self.work.expired():
            return "work"
        return "no better form"

    def add_sets(self, sets: Sequence[Sequence[str]]) -> list[Form]:
        """Add forms of sets of attributes by name to the search, and return them.

        Attributes that are not asked are left out of a set; sets that may not be asked
        together are skipped.
        """
        names = self.problem.domain.names
        asked = {names[j]: j for j in self.problem.everything}
        forms = list[Form]()
        for names_of_set in sets:
            present = {asked[name] for name in names_of_set if name in asked}
            indices = tuple(sorted(present))
            small = self.form_search.is_small(indices)
            if len(indices) > 1 and small and self.problem.is_allowed(indices):
                certified = self._certified(indices)
                if certified is not None:
                    forms.append(certified)
        self.pool.add(forms)
        self.pool.solve_master(1e-4, 4000)
        return forms

    def _show_progress(self) -> None:
        """Show how far the search of the design is."""
        progress = self.options.progress
        work = self.work
        if progress is not None:
            share = self.share_before + min(work.share, 1.0)
            whole = 1.0
            if self.options.objective == "largest":
                whole += LARGEST_WORK
            progress(int(min(share, whole) * work.limit), math.ceil(whole * work.limit))
        sketch = getattr(progress, "sketch", None)
        if sketch is not None and not self.inner:
            sketch(self.pool.sketch())
        describe = getattr(progress, "describe", None)
        if describe is None:
            return
        left = self.form_search.rounds_left
        if not self.inner:
            variance = largest_variance(self.problem, self.pool)
            self.least_variance = min(self.least_variance, variance)
        best = best_so_far(self.least_variance, self.options, left)
        if self.inner:
            best += "; looking for answers to shape"
        describe(best)

    def finished(self, notes: Iterable[str]) -> Design:
        """Return the design that the search found, with the totals of its forms that
        are proven.

        Its notes start with those given.
        """
        problem = self.problem
        solution = self.pool.final_solution()
        order = sorted(
            np.flatnonzero(solution.shares), key=lambda index: -solution.shares[index]
        )
        used = [self.pool.forms[index] for index in order]
        forms = self.certifier.proven(used)
        if any(problem.excess(f.total_values, np.array([f.record])) > 0 for f in forms):
            raise AssertionError("a total of a designed form exceeds its limit")
        with np.errstate(divide="ignore"):
            all_errors = 1 / (self.people * (solution.shares @ self.pool.rows))
        errors = all_errors[: len(problem.domain)].copy()
        errors[np.array(problem.domain.sizes) == 1] = 0.0
        comparison = compare_designs(
            problem,
            self.people,
            singles=self.singles,
            full_forms=self.full_forms,
            forms=forms,
            errors=errors,
        )
        shown = map(self._with_observed, forms)
        remarked = remarks(forms, self._unprotected(), names_of(problem, problem.known))
        return Design(
            certifier=self.certifier,
            options=self.options,
            work=self.work,
            people=self.people,
            importance=self.importance,
            forms=with_shares(shown, solution.shares[order].tolist()),
            sets=tuple(list(form.attributes) for form in used),
            shaped=self.shaped_sets,
            errors=errors,
            wanted=wanted_errors(problem.domain, self.options.want, all_errors),
            gap=solution.gap,
            changes=change_prices(problem, self.pool),
            comparison=comparison,
            notes=(
                *notes,
                *self._certifier_notes(forms),
                *self._notes(),
                *remarked,
            ),
            ended=self.ended,
            rounds=self.rounds,
            considered=self.considered,
            history=tuple(self.history),
        )

    def _unprotected(self) -> list[str]:
        """Return the attributes of the search that have no limit and are not known."""
        problem = self.problem
        names = names_of(problem, np.flatnonzero(np.isinf(problem.limits)))
        known = names_of(problem, problem.known)
        return [name for name in names if name not in known]

    def _with_observed(self, form: Form) -> Form:
        """Return a form that the search found with its totals on the table itself,
        where the promised ones are larger.
        """
        counter = self.problem.scorer.counter
        channel = form.channel
        indices = self.problem.indices(form)
        exact = ExactFormTotals(counter)
        has_exact = {*form.mechanisms} <= {"grr", "shaped"} and exact.fits(indices)
        if self.certifier.scope == "table" or not has_exact:
            return form
        if isinstance(channel, MatrixChannel):
            thresholds = channel.mechanism.thresholds
            totals = np.array(report_totals(counter, form.attributes, thresholds))
        else:
            totals = exact.totals(counter.table(indices), form.epsilons)
        above = np.ceil(100 * totals * (1 + 1e-9)) / 100
        shown = np.minimum(above, form.total_values)
        return msgspec.structs.replace(
            form, observed=tuple(map(stored_number, shown.tolist()))
        )

    def _certifier_notes(self, forms: list[Form]) -> Iterator[str]:
        """Yield the certifier's notes on the search; a cause is not guessed where it is
        another.

        Forms of several questions may not have been asked for, or not been reached.
        """
        for note in self.certifier.notes(forms):
            if not note.startswith(TOO_FEW):
                yield note
            elif self.options.largest == 1:
                continue
            elif self.ended == "no better form":
                yield note
            else:
                yield f"{NONE_FOUND}: a longer search, with more effort"

    def _notes(self) -> Iterator[str]:
        """Yield the notes on the search and on its design."""
        if self.records.origin.fixed is not None:
            yield from self.records.origin.fixed.notes()
            if self.records.origin.fixed.merging:
                yield from merging_notes(self.problem, self.records.origin.fixed)
                yield from self._same_questions()
        looks = self.options.looks
        if looks > 1 and self.certifier.confidence is not None:
            yield (
                f"one of {looks} looks at these records: the limits of whichever plan "
                f"is used hold with confidence {self.options.confidence:g}"
            )
        if self.ended == "interrupted":
            yield Text(
                f"the search was interrupted after {number_of(self.rounds, 'round')}, "
                "and the plan is the best until then (",
                Setting("rounds"),
                f" {self.rounds} gives it again)",
            )
        if self.ended == "time":
            yield Text(
                "the cap on the time ended the search, so that the same command may "
                "give another plan (",
                Setting("seconds"),
                ")",
            )

    def _same_questions(self) -> Iterator[Text]:
        """Yield a note on the searched attributes that say the same as another once
        answers are merged.
        """
        pairs = self.records.pairs()
        names = self.problem.domain.names
        same = dict[str, str]()
        for first, second in combinations(self.problem.everything, 2):
            occurs = pairs.table(first, second) > 0
            if (
                max(occurs.sum(axis=0).max(), occurs.sum(axis=1).max())
                == 1
                < occurs.sum()
            ):
                same.setdefault(names[second], names[first])
        if same:
            twice = ", ".join(f"{name} as {other}" for name, other in same.items())
            advice = (
                f"merged answers say the same twice: {twice}; ask for one of them ("
            )
            yield Text(advice, Setting("drop"), ")")


def _coarse_form(problem: FormProblem, form: Indices) -> Form:
    """Return a form for the start of the search, of equal budgets with totals `worst`,
    each by its most precise mechanism.
    """
    split = equal_split(round_down(problem.min_limit, 2), len(form))
    epsilons = problem.capped_budgets(form, split)
    totals = np.full(len(problem.domain), summed_up(epsilons.tolist()))
    best = map(problem.precisions.best_mechanism, form, epsilons.tolist())
    return problem.form(form, epsilons, totals, tuple(best), "worst")
