"""`Design`: forms, shares and totals found by a search."""

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
from seepage.designs.change_prices import change_prices
from seepage.designs.design_options import DesignOptions
from seepage.designs.forms.a_optimal import ShareSolution
from seepage.designs.forms.certifier import Certifier
from seepage.designs.forms.form import Form, remarks, with_shares
from seepage.designs.forms.form_channels import MatrixChannel
from seepage.designs.forms.form_pool import FormPool
from seepage.designs.forms.form_problem import FormProblem, Indices, equal_split
from seepage.designs.forms.form_search import (
    MAX_IDLE_ROUNDS,
    FormSearch,
    generate_forms,
)
from seepage.designs.forms.form_totals import ExactFormTotals
from seepage.designs.forms.question import stored_number
from seepage.designs.forms.search_work import SearchWork
from seepage.designs.search_progress import best_so_far
from seepage.designs.shaped.report_thresholds import report_totals
from seepage.designs.strategies import compare_designs
from seepage.designs.want import wanted_errors


class Design:
    """A search for forms with shares that keep every total within its limit, and what
    it found.

    Parameters
    ----------
    certifier
        Certifies forms for the table or for the population.
    work
        The work of the search: done, and allowed.
    options
        The options of the design.

    Attributes
    ----------
    rounds
        The number of complete rounds of the search.
    history
        The work done and the objective after each round.
    sets
        The attributes of each form that the search chose, from which another one can
        start.
    ended
        Why the search ended: `"no better form"`, `"work"`, `"time"` or `"interrupted"`.
    people
        The number of people that the errors are for; by default as many as the table
        has records.
    forms
        The forms of the result, in descending order of their shares.
    errors
        The expected squared error of each attribute's frequencies, summed over its
        values, noise and sampling together; infinite if it is not asked, 0 if it is
        constant.
    wanted
        The same for the statistics of the option `want`, by their texts; means in their
        own units.
    gap
        Upper bound of the relative excess of the weighted error over its minimum, over
        the forms of the pool.
    changes
        What changes of the design cost in people, at most.
    comparison
        Other strategies within the same limit and their errors, the design last.
    notes
        Remarks for the reader.
    """

    def __init__(
        self, certifier: Certifier, work: SearchWork, options: DesignOptions
    ) -> None:
        self.certifier = certifier
        self.work = work
        self.options = options
        self.problem = certifier.problem
        self.records = certifier.records
        self.pool = FormPool(self.problem)
        self.search_forms = FormSearch(self.problem, work)
        self.full_forms: list[Form] = []
        self.singles: list[Form] = []
        self.ended = "no better form"
        self.rounds = 0
        self.considered = 0
        self.history: list[tuple[float, float]] = []
        self.sets: list[list[str]] = []
        self.inner = (
            False  # whether it only searches forms to shape, on a part of the records
        )
        self.importance = self.problem.importance
        self.people = options.people or self.records.records

    def with_certifier(self, certifier: Certifier) -> "Design":
        """Return another search with the same work, for other constraints or records."""
        run = Design(certifier, self.work, replace(self.options, mechanism="grr"))
        run.inner = True
        return run

    def start(self) -> None:
        """Fill the pool with forms of one attribute, of all, and of wanted joint
        tables.
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

    def _single_form(self, j: int) -> Form:
        """Return the form of one attribute; with coarser totals if its table is too
        large.
        """
        problem = self.problem
        item = (j,)
        form = None
        single = self.certifier.budget_form(j)
        if single is not None:
            form = self.search_forms.fitted[item] = single
        elif problem.scorer.fits(item):
            form = self._certified(item)
        elif not problem.public:
            form = _coarse_form(problem, item)
        if form is None:
            beside = " beside what is public" if problem.public else ""
            raise InputError(
                f"{problem.domain.names[j]!r} cannot be certified{beside}; raise the limit, or "
                "pool rare values"
            )
        return form

    def _full_forms(self) -> list[Form]:
        """Return forms of all attributes: the calibrated collection, and the equal
        split.

        With `exact` totals if the form's table is as small as those of the search; and
        with `worst` ones, which hold for any mechanism, unless attributes are public.
        """
        problem = self.problem
        everything = self.problem.everything
        forms = list[Form]()
        if problem.has_clash(everything):
            return forms
        times = 1 if self.certifier.scope == "table" else len(everything) + 1
        if problem.scorer.fits(everything) and self.search_forms.is_small(
            everything, times
        ):
            forms.append(self.certifier.certify(problem.fit(everything)))
        if not problem.public:
            forms.append(_coarse_form(problem, everything))
        return [form for form in forms if form.max_budget > 0]

    def _certified(self, form: Indices) -> Form | None:
        """Return a form with certified budgets; None if these are 0."""
        fitted = self.search_forms.fit(form)
        certified = None if fitted is None else self.certifier.certify(fitted)
        return certified if certified is not None and certified.max_budget > 0 else None

    def search(self, patience: int = MAX_IDLE_ROUNDS) -> None:
        """Run column generation; an interrupt ends it and keeps the last complete
        round.
        """
        rng = np.random.default_rng(self.options.rng)
        stages = (
            generate_forms(
                self.search_forms,
                self.pool,
                self.certifier,
                rng,
                thorough=thorough,
                patience=patience,
            )
            for thorough in (False, True)
        )
        self.run_rounds(chain.from_iterable(stages))

    def run_rounds(self, rounds: Iterator[ShareSolution]) -> None:
        """Run the rounds of a search; an interrupt ends it and keeps the last complete
        round.
        """
        if self.ended == "interrupted":
            return
        complete = copy(self.pool)
        if self.options.rounds == self.rounds:
            self.ended = "interrupted"
            return
        try:
            self.search_forms.fit_pairs()
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
        """Count a complete round; return its forms and shares."""
        if not self.inner:
            self.rounds += 1
            self.history.append((self.work.done, self.pool.error))
        self.considered = sum(map(bool, self.search_forms.fitted.values()))
        return copy(self.pool)

    def _end(self) -> str:
        """Return why the last rounds ended."""
        if self.work.is_capped:
            return "time"
        if self.work.expired():
            return "work"
        return "no better form"

    def add_sets(self, sets: Sequence[Sequence[str]]) -> list[Form]:
        """Add forms of sets of attributes by name, and return them.

        Attributes that are not asked are left out of a set; sets that may not be asked
        together are skipped.
        """
        names = self.problem.domain.names
        asked = {names[j]: j for j in self.problem.everything}
        forms = list[Form]()
        for each in sets:
            indices = tuple(sorted({asked[name] for name in each if name in asked}))
            small = self.search_forms.is_small(indices)
            if len(indices) > 1 and small and self.problem.is_allowed(indices):
                certified = self._certified(indices)
                if certified is not None:
                    forms.append(certified)
        self.pool.add(forms)
        self.pool.solve_master(1e-4, 4000)
        return forms

    def _show_progress(self) -> None:
        progress = self.options.progress
        work = self.work
        if progress is not None:
            progress(int(min(work.done, work.limit)), math.ceil(work.limit))
        describe = getattr(progress, "describe", None)
        if describe is not None:
            left = self.search_forms.rounds_left
            describe(best_so_far(self.problem, self.pool, self.options, left))

    def finish(self, notes: Iterable[str]) -> None:
        """Compute the result, with the totals of its forms that are proven."""
        problem = self.problem
        solution = self.pool.final_solution()
        order = sorted(
            np.flatnonzero(solution.shares), key=lambda index: -solution.shares[index]
        )
        used = [self.pool.forms[index] for index in order]
        self.sets = [list(form.attributes) for form in used]
        forms = self.certifier.proven(used)
        if any(problem.excess(f.total_values, np.array([f.record])) > 0 for f in forms):
            raise AssertionError("a total of a designed form exceeds its limit")
        with np.errstate(divide="ignore"):
            errors = 1 / (self.people * (solution.shares @ self.pool.rows))
        self.errors = errors[: len(problem.domain)].copy()
        self.errors[np.array(problem.domain.sizes) == 1] = 0.0
        self.gap = solution.gap
        self.wanted = wanted_errors(problem.domain, self.options.want, errors)
        self.changes = change_prices(problem, self.pool)
        self.comparison = compare_designs(
            problem,
            self.people,
            singles=self.singles,
            full_forms=self.full_forms,
            forms=forms,
            errors=self.errors,
        )
        self.forms = with_shares(
            map(self._with_observed, forms), solution.shares[order].tolist()
        )
        remarked = remarks(forms, self._unprotected, self.known)
        self.notes = (*notes, *self.certifier.notes(forms), *self._notes(), *remarked)

    def _names(self, indices: Iterable[int]) -> list[str]:
        return [self.problem.domain.names[j] for j in indices]

    @property
    def public(self) -> list[str]:
        """Attributes released in the clear."""
        return self._names(self.problem.public)

    @property
    def known(self) -> list[str]:
        """Attributes that the adversary knows of the person."""
        return self._names(self.problem.known)

    @property
    def _unprotected(self) -> list[str]:
        """The attributes without a limit that are not known."""
        names = self._names(np.flatnonzero(np.isinf(self.problem.limits)))
        return [name for name in names if name not in self.known]

    @property
    def error(self) -> float:
        """The mean error of the attributes, weighted by their importance."""
        importance = self.importance[: len(self.errors)]
        used = importance > 0
        return float(importance[used] @ self.errors[used] / importance.sum())

    @property
    def late_gain(self) -> float:
        """By how much the last quarter of the search lowered the error, relatively.

        What a longer search may bring: no bound over all forms is known that would say
        more.
        """
        if not self.history:
            return 0.0
        done, objective = self.history[-1]
        late = [before for work, before in self.history if work <= 0.75 * done]
        if not late or not math.isfinite(late[-1]):
            return 0.0
        return round(max(0.0, 1 - objective / late[-1]), 4)

    @property
    def settings(self) -> dict[str, Any]:
        """What the plan states of the options, the records and the search."""
        return {
            "scope": self.certifier.scope,
            "confidence": self.certifier.confidence,
            "records": self.records.records,
            **self.options.stated,
            **self.records.origin.settings(),
            "known": self.known,
            "design": {
                "forms considered": self.considered,
                "gap": self.gap,
                "late gain": self.late_gain,
                "error": self.error,
                "ended": self.ended,
                "rounds": self.rounds,
                "sets": self.sets,
                "wanted": self.wanted,
            },
        }

    def _with_observed(self, form: Form) -> Form:
        """Return a form with its totals on the table itself, where the promised ones
        are larger.
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

    def _notes(self) -> Iterator[str]:
        if self.records.origin.fixed is not None:
            yield from self.records.origin.fixed.notes()
            if self.records.origin.fixed.merging:
                yield from self._same_questions()
        looks = self.options.looks
        if looks > 1 and self.certifier.confidence is not None:
            yield (
                f"one of {looks} looks at these records: the limits of whichever plan is used "
                f"hold with confidence {self.options.confidence:g}"
            )
        if self.ended == "interrupted":
            yield Text(
                f"the search was interrupted after {number_of(self.rounds, 'round')}, and the "
                "plan is the best until then (",
                Setting("rounds"),
                f" {self.rounds} gives it again)",
            )
        if self.ended == "time":
            yield Text(
                "the cap on the time ended the search, so that the same command may give "
                "another plan (",
                Setting("seconds"),
                ")",
            )

    def _same_questions(self) -> Iterator[Text]:
        """Yield a note on the attributes that say the same as another once answers are
        merged.
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
    """Return a form of equal budgets with totals `worst`, each by its most precise
    mechanism.
    """
    split = equal_split(round_down(problem.min_limit, 2), len(form))
    epsilons = problem.capped_budgets(form, split)
    totals = np.full(len(problem.domain), summed_up(epsilons.tolist()))
    best = map(problem.precisions.best_mechanism, form, epsilons.tolist())
    return problem.form(form, epsilons, totals, tuple(best), "worst")
