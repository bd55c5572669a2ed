"""Replaces forms of a design by one shaped report each, where that is more precise.

A form of GRR reports is one channel from its answers to reports.  The best channel
within the same limits, and with the same leakage about the whole record, is at least as
precise (`shape_form`). Shaped forms are columns of the master problem like product
forms, priced at its solution.

For the population they are shaped on a part of the records and certified on the others,
see `shaping_search`.
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import islice
from threading import Event
from typing import Any

import numpy as np

from seepage._core.arrays import Floats
from seepage.confidence.level_of_maxima import level_of_maxima
from seepage.designs.forms.a_optimal_shares import ShareSolution
from seepage.designs.forms.certifier import Certifier
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_counter import FormCounter
from seepage.designs.forms.form_pool import MIN_REDUCED_GAIN, FormPool
from seepage.designs.forms.form_problem import MAX_BUDGET, FormProblem
from seepage.designs.forms.form_search import FormSearch
from seepage.designs.forms.search_work import SearchWork
from seepage.designs.shaped.admissible_reports import AnswerCounts
from seepage.designs.shaped.certified_report import certified_report, select_report
from seepage.designs.shaped.report_thresholds import report_totals
from seepage.designs.shaped.shape_form import shape_form
from seepage.designs.shaped.shaping_work import ShapingMeter, certified_factor

MAX_SHAPED = 32


MAX_SHAPED_ALONE = 48


MAX_SHAPED_ALL = 48
"""Maximum combinations of answers of a form that is shaped: of several attributes, of
one, and of several where all questions together have no more."""


ROUGH = {"gap": 5e-2, "starts": 8}


FINE = {"gap": 2e-2, "starts": 20}
"""Accuracy of a shaped report, keywords of `shape_form`: for every shaped form, and
again for those of the solution; rough adds some 1 % of variance."""


MAX_SHAPED_PER_ROUND = 4
"""Maximum number of forms shaped per round, in descending order of the expected
gain."""


MIN_ROUND_DECREASE = 1e-3
"""Minimum relative decrease of the objective in a round that is not idle."""


MAX_IDLE_SHAPING = 2
"""Idle rounds in a row after which shaping ends."""


HOPED_RATIOS = (1.01, 1.3, 2.0, 3.0)
"""Ratios of shaped to product gain from which the search starts for forms of 1, 2, 3 or
more questions: large, so that some of every size are shaped."""


EXPECTED_RATIOS = (1.01, 1.1, 1.15, 1.25)
"""The same ratios as one observation more, once forms of the size were shaped."""


RECORD_LIMIT_ROUNDING = 1e-9
"""Nats by which the record limit of a certified report is lowered: room for
rounding."""


RECORD_LIMIT_MARGIN = 0.98
"""Factor of the record limit on a fifth of the records, whose frequencies have a
sampling error."""


MIN_SHAPING_GAIN = 1e-3
"""Minimum relative gain of a shaped report over the product of the same form."""


MIN_SHAPED_SHARE = 1e-3
"""Minimum share of people of a form that is shaped."""


STEPS_PER_START = 25
"""Programs that shaping a form solves from one start, about as many at most."""


THREADS = 2
"""Maximum number of forms shaped in parallel; results do not depend on it."""


POLL_SECONDS = 0.2
"""Seconds between two checks of the cap on the time."""


def most_cells(problem: FormProblem) -> int:
    """Return the maximum combinations of answers of a form of several attributes that
    is shaped.

    A few questions that are asked together have few forms to shape, and the form of all
    of them is worth its time: with a rare answer its product is certified badly.
    """
    sizes = [problem.domain.sizes[j] for j in problem.everything]
    if math.prod(sizes) <= MAX_SHAPED_ALL:
        return MAX_SHAPED_ALL
    return MAX_SHAPED


class FormShaper:
    """Adds improving shaped forms to a pool.

    Parameters
    ----------
    certifier
        The constraints of the design.
    counter
        Counts the records; for the population a fifth of them, for the others to
        certify.
    work
        The work done and allowed.
    """

    def __init__(
        self, certifier: Certifier, counter: FormCounter, work: SearchWork
    ) -> None:
        """Prepare to shape the reports of forms."""
        problem = certifier.problem
        self.problem = problem
        self.counter = counter
        self.work = work
        self.certifier = certifier
        self.confidence = certifier.confidence
        limits = zip(problem.domain.names, problem.limits.tolist(), strict=True)
        self.protected = {name: limit for name, limit in limits if math.isfinite(limit)}
        self.shaped_attributes: set[tuple[str, ...]] = set()
        self.ratios: dict[int, list[float]] = {}
        self.stop = Event()

    # Candidates -----------------------------------------------------------------------

    def can_improve(self, form: Form) -> bool:
        """Return whether a form is small enough to be shaped and may gain precision by
        it.
        """
        problem = self.problem
        indices = list(self.problem.indices(form))
        sizes = [problem.domain.sizes[j] for j in indices]
        max_cells = MAX_SHAPED_ALONE if len(indices) == 1 else most_cells(problem)
        if math.prod(sizes) > max_cells or not (problem.importance[indices] > 0).all():
            return False
        largest = np.minimum(
            problem.limits[indices], min(problem.record_limit, MAX_BUDGET)
        )
        at_limit = bool((form.epsilons >= largest * (1 - 1e-6)).all())
        # GRR at the limit is optimal for binary answers
        return not (set(sizes) == {2} and at_limit)

    def _candidates(
        self, pool: FormPool, search: FormSearch, solution: ShareSolution
    ) -> list[Form]:
        """Return forms to shape, with certified budgets, which limit what is told of
        the record.
        """
        forms = [
            *pool.forms,
            *(form for form in search.fitted.values() if form is not None),
        ]
        new = [
            form
            for form in forms
            if form.is_product and form.attributes not in self.shaped_attributes
        ]
        able = filter(self.can_improve, self._best(new, solution))
        promising = list(islice(able, 2 * MAX_SHAPED_PER_ROUND))
        certified = [self.certifier.certify(form) for form in promising]
        return self._best(certified, solution)[:MAX_SHAPED_PER_ROUND]

    def _best(self, forms: Iterable[Form], solution: ShareSolution) -> list[Form]:
        """Return the form to shape of largest expected gain for each set of attributes.

        In descending order of the reduced gain per cell, as the time to shape a form
        increases with its cells.
        """
        best: dict[tuple[str, ...], tuple[float, Form]] = {}
        for form in forms:
            ratio = self._expected_ratio(len(form.attributes))
            gain = (
                self.problem.gain(form, solution.prices) * ratio / solution.objective
                - 1
            )
            cells = self._cells(form)
            if gain > max(
                MIN_REDUCED_GAIN, best.get(form.attributes, (0.0, form))[0] * cells
            ):
                best[form.attributes] = gain / cells, form
        ordered = sorted(
            best.values(), key=lambda pair: (-pair[0], self.problem.indices(pair[1]))
        )
        return [form for _, form in ordered]

    def _expected_ratio(self, questions: int) -> float:
        """Return the ratio of shaped to product gain that is hoped for of forms of this
        size; the mean of those shaped and the prior, if any was.
        """
        index = min(questions, len(EXPECTED_RATIOS)) - 1
        if questions not in self.ratios:
            return HOPED_RATIOS[index]
        return float(np.mean([EXPECTED_RATIOS[index], *self.ratios[questions]]))

    def expected_ratios(self) -> list[float]:
        """Return the expected ratio of forms of 1, 2, ... questions, the last for all
        larger ones.
        """
        questions = 1 + max([len(EXPECTED_RATIOS), *self.ratios])
        return [self._expected_ratio(1 + index) for index in range(questions)]

    # Shaping --------------------------------------------------------------------------

    def improve(self, pool: FormPool, search: FormSearch) -> Iterator[ShareSolution]:
        """Shape the best candidates; yield the solution after each round."""
        forms = self._candidates(pool, search, pool.solution)
        idle = 0
        while forms and idle < MAX_IDLE_SHAPING and not self.work.expired():
            before = pool.solution
            shaped = self.shaped(forms, before.prices, ROUGH)
            pool.add([form for form in shaped if pool.is_improving(form, before)])
            after = pool.solve_master(1e-4, 4000)
            yield after
            gained = after.objective < before.objective * (1 - MIN_ROUND_DECREASE)
            idle = 0 if gained else idle + 1
            forms = self._candidates(pool, search, after)

    def shape_all(
        self, pool: FormPool, forms: Sequence[Form]
    ) -> Iterator[ShareSolution]:
        """Shape forms that may gain, the most promising first, and yield the solution
        after each round, until one gains little.
        """
        left = self._best(filter(self.can_improve, forms), pool.solution)
        while left and not self.work.expired():
            before = pool.solution
            pool.add(self.shaped(left[:MAX_SHAPED_PER_ROUND], before.prices, ROUGH))
            after = pool.solve_master(1e-4, 4000)
            yield after
            if after.objective > before.objective * (1 - MIN_ROUND_DECREASE):
                return
            left = self._best(left[MAX_SHAPED_PER_ROUND:], after)

    def refine(self, pool: FormPool) -> Iterator[ShareSolution]:
        """Shape the shaped forms of the solution again, with `FINE` effort at its
        prices, those that the work left is expected to pay.

        All of its forms that may gain if none is shaped: the rough gap may hide a small
        gain.
        """
        if self.work.expired():
            return
        prices = pool.solution.prices
        used = pool.support(MIN_SHAPED_SHARE)
        forms = [form for form in used if not form.is_product]
        if not forms:
            forms = list(filter(self.can_improve, used))
        pool.add(self.shaped(self._payable(forms), prices, FINE))
        yield pool.solve_master(1e-4, 4000)

    def _payable(self, forms: Sequence[Form]) -> list[Form]:
        """Return the forms that the work left is expected to pay to shape with `FINE`
        effort, those of few combinations of answers first.
        """
        payable = list[Form]()
        left = self.work.left
        for form in sorted(forms, key=self._cells):
            steps = FINE["starts"] * STEPS_PER_START
            left -= self._meter(form).price * steps / THREADS
            if left < 0:
                break
            payable.append(form)
        return payable

    def _meter(self, form: Form) -> ShapingMeter:
        """Return a meter of the work of shaping a form."""
        factor = 1.0
        if self.confidence is not None:
            factor = certified_factor(self.counter.width)
        return ShapingMeter(self._cells(form), self.stop, factor)

    def shaped(
        self, forms: Sequence[Form], prices: Floats, effort: Mapping[str, float]
    ) -> list[Form]:
        """Return the shaped forms with a larger gain than the forms given, in their
        order.
        """
        shaped = self._shape_in_threads(forms, prices, effort)
        better = list[Form]()
        for form, new in zip(forms, shaped, strict=True):
            if new is not None and self._is_better(form, new, prices):
                better.append(new)
        return better

    def _shape_in_threads(
        self, forms: Sequence[Form], prices: Floats, effort: Mapping[str, float]
    ) -> list[Form | None]:
        """Return each form with one shaped report, or None, and spend the work of
        shaping.
        """
        meters = list(map(self._meter, forms))
        threads = ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1))
        try:
            futures = [
                threads.submit(self._shape, form, prices, effort, meter)
                for form, meter in zip(forms, meters, strict=True)
            ]
            while wait(futures, timeout=POLL_SECONDS).not_done:
                if self.work.expired() and self.work.is_capped:
                    self.stop.set()  # the searches end with their best reports
        finally:
            self.stop.set()
            threads.shutdown(wait=True, cancel_futures=True)
            self.stop.clear()
        parallel = min(THREADS, max(len(forms), 1))
        for meter in meters:
            self.work.spend(meter.work / parallel)
        return [future.result() for future in futures]

    def _cells(self, form: Form) -> int:
        """Return the number of combinations of answers of a form to shape."""
        domain = self.problem.domain
        return math.prod(domain[name].size for name in form.attributes)

    def _is_better(self, form: Form, shaped: Form, prices: Floats) -> bool:
        """Return whether a shaped form has a larger gain than the form that it
        replaces.
        """
        ratio = self.problem.gain(shaped, prices) / self.problem.gain(form, prices)
        if not form.is_product:
            return ratio > 1
        self.shaped_attributes.add(form.attributes)
        self.ratios.setdefault(len(form.attributes), []).append(ratio)
        return ratio > 1 + MIN_SHAPING_GAIN

    def _shape(
        self,
        form: Form,
        prices: Floats,
        effort: Mapping[str, float],
        meter: ShapingMeter,
    ) -> Form | None:
        """Return a form with one shaped report; None if stopped or if no report is
        found.
        """
        if self.stop.is_set():
            return None
        table = AnswerCounts.of(self.counter, form.attributes, self.protected)
        if not table.counts.any():  # the part that reports are chosen on has no records
            return None
        options: dict[str, Any] = {
            **self._form_limits(form),
            "wanted": self._wanted(form, prices),
            "rows": self._rows(form),
            "stop": meter.step,
            **(effort if len(form.attributes) > 1 else FINE),
        }
        if self.confidence is None:
            report = shape_form(table, self.protected, **options)
        else:
            report = select_report(table, self.protected, self.confidence, **options)
        if report is None:
            return None
        # Those for the population are the limits until they are certified.
        totals = self.problem.limits.tolist()
        if self.confidence is None:
            totals = report_totals(
                self.counter, form.attributes, report.mechanism.thresholds
            )
        return self.problem.shaped_form(report, totals)

    def _form_limits(self, form: Form) -> dict[str, Any]:
        """Return the keywords `epsilons` and `record_limit` of shaping a form.

        An answer may change the log-likelihood by its attribute's own limit.  The
        record limit is the leakage of the product of the same form about the whole
        record; for a form of one attribute, its limit.
        """
        own = np.minimum(
            self.problem.limits[list(self.problem.indices(form))], MAX_BUDGET
        )
        single = len(form.attributes) == 1
        record = min(
            float(own[0]) if single else form.record, self.problem.record_limit
        )
        margin = 1.0 if single or self.confidence is None else RECORD_LIMIT_MARGIN
        return {
            "epsilons": np.minimum(own, record).tolist(),
            "record_limit": margin * record,
        }

    def certified(
        self,
        forms: Sequence[Form],
        rest: FormCounter,
        whole: FormCounter,
        products: Mapping[tuple[str, ...], Form],
    ) -> list[Form]:
        """Return the shaped forms that independent records certify for the population.

        The forms were selected on other records than `rest`, and their number alone
        costs confidence [theory-certificate: Families].  That proves the limits, and
        not totals that happen to be lower, so each total is stated as its limit.  The
        leakage of a form about the whole record is at most that of the product of the
        same attributes.
        """
        assert self.confidence is not None
        level = level_of_maxima(max(len(forms), 1), self.confidence)
        certified = list[Form]()
        for form in forms:
            product = products.get(form.attributes)
            record = math.inf if product is None else product.record
            proven = certified_report(
                self.problem.shaped_report(form),
                self.protected,
                rest,
                whole,
                level,
                record_limit=record - RECORD_LIMIT_ROUNDING,
            )
            if proven is None:
                continue
            report, _ = proven
            epsilon = report.mechanism.realised_epsilon
            if epsilon <= record:
                totals = np.minimum(self.problem.limits, epsilon).tolist()
                certified.append(self.problem.shaped_form(report, totals))
        return certified

    def _rows(self, form: Form) -> dict[int, Floats]:
        """Return B of the answers of a form to shape of which another statistic is
        wanted, by axis.
        """
        asked = self.problem.indices(form)
        rows = self.problem.precisions.rows
        return {axis: rows[j] for axis, j in enumerate(asked) if j in rows}

    def _wanted(self, form: Form, prices: Floats) -> dict[tuple[int, ...], float]:
        """Return the weights of the tables that a form to shape estimates: prices over
        their mean.
        """
        asked = self.problem.indices(form)
        priced = zip(self.problem.precisions.quantities, prices.tolist(), strict=True)
        table_prices = {
            tuple(map(asked.index, quantity)): price
            for quantity, price in priced
            if set(quantity) <= set(asked)
        }
        mean = sum(table_prices.values()) / len(table_prices)
        return {axes: price / mean for axes, price in table_prices.items()}
