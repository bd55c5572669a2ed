"""Forms for people: what is promised holds for those whom nobody looked at."""

import itertools
import math
from functools import partial

import numpy as np
import pytest

import seepage as sp
from seepage._core.errors import InputError
from seepage.confidence.mean_limits import kl_inf_interval, mixture_radius
from seepage.confidence.total_limits import form_total_limits
from seepage.designs.design_options import DesignOptions
from seepage.designs.forms.form_counter import FormCounter
from seepage.designs.forms.form_problem import make_form_problem
from seepage.designs.forms.form_totals import ExactFormTotals
from seepage.designs.forms.population_certifier import PopulationCertifier
from seepage.designs.forms.population_form_totals import PopulationFormTotals

FORM_LIMITS = "seepage.designs.forms.population_form_totals.form_total_limits"


@pytest.fixture
def two_limits(monkeypatch):
    """Ratios by two limits each, which the oracle of this file has."""
    monkeypatch.setattr(FORM_LIMITS, partial(form_total_limits, joint=False))


SIZES = (2, 3, 2, 2)
CELLS = np.array(list(itertools.product(*map(range, SIZES))))


def records(weights):
    domain = sp.Domain(
        [
            sp.Attribute(f"a{k}", tuple(map(str, range(size))))
            for k, size in enumerate(SIZES)
        ]
    )
    kept = weights > 0
    return sp.Records(domain, CELLS[kept], weights[kept])


def test_a_limit_near_the_rounding_of_logarithms_is_kept():
    """Limits of 2e-6 are computed to some 1e-9, twice by the same steps."""
    counts = [
        [511454838827, 1063304246753],
        [1126243990896, 30814443264],
        [1373186552852, 417077441340],
    ]
    domain = sp.Domain(
        [sp.Attribute("a", ("0", "1", "2")), sp.Attribute("b", ("0", "1"))]
    )
    cells = list(itertools.product(range(3), range(2)))
    people = sp.Records(domain, cells, np.ravel(counts))
    plan = sp.design(people, {"a": 2e-6, "b": None}, shape="never", effort=0.02)
    assert max(form.totals[0] for form in plan.forms) <= 2e-6


@pytest.mark.parametrize("epsilons", [(0.5, 0.5), (0.3, 0.9)])
def test_limits_tend_to_the_totals_of_the_table(epsilons):
    weights = np.random.default_rng(1).integers(1, 50, len(CELLS))
    gaps = []
    for times in (10, 1000, 10**5):
        data = records(weights * times)
        scorer = scorer_of(data)
        exact = ExactFormTotals(FormCounter(data))
        found = scorer.totals(scorer.counter.table((0, 1)), np.array(epsilons))
        gaps.append(
            found - exact.totals(exact.counter.table((0, 1)), np.array(epsilons))
        )
    assert (np.diff(gaps, axis=0) <= 1e-9).all()
    assert (np.array(gaps) >= -1e-12).all()
    assert gaps[-1].max() < 0.02


def test_levels_count_the_forms_that_could_be_asked():
    data = records(np.full(len(CELLS), 10))
    counter = FormCounter(data)
    every = PopulationFormTotals(
        counter, 0.9, 2, range(4)
    )  # forms of 1 or 2 questions, and that of all
    assert every.level(2) == pytest.approx(math.log(2 * 3 * 6 / 0.1))
    with pytest.raises(InputError, match="at most 2 attributes"):
        every.level(3)
    assert every.level(4) == pytest.approx(math.log(2 * 3 / 0.1))
    few = PopulationFormTotals(counter, 0.9, 5, [0, 1])
    assert few.level(2) == pytest.approx(math.log(2 * 2 / 0.1))


def likelihoods(weights, form, budgets, x, known, public):
    """Weights of the reports (rows) for each cell with x and the known values, and its
    people.

    Cells with other public values have weight 0.
    """
    rows = (CELLS[:, x[0]] == x[1]) & np.all(
        [CELLS[:, j] == v for j, v in known], axis=0
    )
    inside = np.all([CELLS[:, j] == v for j, v in public], axis=0) * np.ones(len(CELLS))
    reports = itertools.product(*(range(SIZES[j]) for j in form))
    kernel = [
        inside
        * np.exp(-((CELLS[:, list(form)] != report) * np.asarray(budgets)).sum(axis=1))
        for report in reports
    ]
    return np.array(kernel)[:, rows], np.asarray(weights)[rows]


def strata(indices):
    values = itertools.product(*(range(SIZES[j]) for j in indices))
    return [list(zip(indices, one, strict=True)) for one in values]


def stratified(weights, form, budgets, known, public, c=None):
    """Totals of a table conditional on known values, beside public ones; with c their
    limits.
    """
    found = np.zeros(len(SIZES))
    for k in set(range(len(SIZES))) - {*known, *public}:
        for held, clear in itertools.product(strata(known), strata(public)):
            upper = []
            lower = []
            for x in range(SIZES[k]):
                kernel, people = likelihoods(
                    weights, form, budgets, (k, x), held, clear
                )
                number = people.sum()
                shares = people / max(number, 1)
                least = kernel.min(axis=1)
                most = kernel.max(axis=1)
                if c is None:
                    means = kernel @ shares
                    upper.append(means)
                    lower.append(means)
                    continue
                least = np.zeros_like(least) if public else least
                radius = mixture_radius(number, c)
                limits = kl_inf_interval(kernel, shares, radius, least, most, rounds=12)
                upper.append(limits.upper)
                lower.append(limits.lower)
            for x, other in itertools.permutations(range(SIZES[k]), 2):
                with np.errstate(divide="ignore"):
                    found[k] = max(found[k], np.log(upper[x] / lower[other]).max())
    return found


def scorer_of(data, known=(), public=()):
    asked = [j for j in range(len(SIZES)) if j not in public]
    return PopulationFormTotals(FormCounter(data, public, known), 0.95, 8, asked)


STRATA = [((0,), ()), ((), (2,)), ((0,), (2,)), ((0, 2), ())]


@pytest.mark.usefixtures("two_limits")
@pytest.mark.parametrize(("known", "public"), STRATA)
@pytest.mark.parametrize("budgets", [(0.6, 0.6), (0.3, 0.8)])
def test_limits_given_known_and_beside_public_values_are_those_of_every_report(
    known, public, budgets
):
    weights = np.random.default_rng(3).integers(5, 300, len(CELLS))
    scorer = scorer_of(records(weights), known, public)
    form = (1, 3)
    found = scorer.totals(scorer.counter.table(form), np.array(budgets), 8)
    truth = stratified(weights, form, budgets, known, public, scorer.level(2))
    targets = [k for k in range(len(SIZES)) if k not in (*known, *public)]
    most = math.inf if public else sum(budgets)
    assert found[targets] == pytest.approx(np.minimum(truth, most)[targets], abs=1e-8)
    assert (found >= np.minimum(truth, most) - 1e-12).all()
    assert (found[list(known)] == 0).all()
    asked = len(SIZES) - len(public)
    number = 2 * asked * math.comb(asked, 2)
    assert scorer.level(2) == pytest.approx(math.log(number / 0.05))


def test_reports_about_known_attributes_leak_nothing():
    data = records(np.random.default_rng(4).integers(50, 300, len(CELLS)))
    scorer = scorer_of(data, known=[0])
    with_it = scorer.totals(scorer.counter.table((0, 1, 3)), np.array([9.0, 0.6, 0.6]))
    without = scorer._limits(
        scorer.counter.table((1, 3)), np.array([0.6, 0.6]), scorer.level(3), 3
    )
    assert with_it == pytest.approx(without, abs=1e-12)


@pytest.mark.usefixtures("two_limits")
def test_combinations_without_records_leave_the_sum_of_budgets_or_no_limit():
    weights = np.full(len(CELLS), 10_000)
    weights[(CELLS[:, 0] == 1) & (CELLS[:, 1] == 2)] = 0
    data = records(weights)
    budgets = np.array([0.5, 0.5])
    held = scorer_of(data, known=[0])
    found = held.totals(held.counter.table((2, 3)), budgets, 8)
    truth = stratified(weights, (2, 3), budgets, [0], [], held.level(2))
    assert found == pytest.approx(truth, abs=1e-8)  # that row has the whole range
    assert found[1] > max(found[[2, 3]]) + 0.01
    every = np.ones(4, dtype=bool)
    assert held.rarest(every).startswith(
        "'a1' has the value '2' where 'a0' is '1', in 0 of 200,"
    )
    clear = scorer_of(data, public=[0])
    found = clear.totals(clear.counter.table((2, 3)), budgets)
    assert np.isinf(found[[0, 1]]).all()
    assert found[2] < 0.7
    both = scorer_of(data, known=[0, 1])
    found = both.totals(both.counter.table((2, 3)), budgets)
    assert found == pytest.approx([0.0, 0.0, 1.0, 1.0])
    assert both.rarest(every) == "there is no record where 'a0' is '1' and 'a1' is '2'"
    seen = scorer_of(data, public=[0, 1])
    assert np.isinf(seen.totals(seen.counter.table((2, 3)), budgets)).all()


@pytest.mark.parametrize(("known", "public", "c"), [((0,), (), -3.0), ((), (2,), -3.5)])
def test_population_limits_cover_the_population_with_their_confidence(
    known, public, c, monkeypatch
):
    """200 samples of a population; the table's totals and limits of a tenth of the
    radius fail.
    """
    rng = np.random.default_rng(5)
    form = (1, 3)
    budgets = np.array([0.5, 0.5])
    follows = 1 + (CELLS[:, 0] == CELLS[:, 3]) + 0.5 * (CELLS[:, 1] == CELLS[:, 2])
    chances = follows * rng.dirichlet([20.0] * len(CELLS))
    chances /= chances.sum()
    targets = [k for k in range(len(SIZES)) if k not in (*known, *public)]
    truth = stratified(chances * 1e9, form, budgets, known, public)[targets]
    held = 0
    generous = np.zeros(2)
    for _ in range(200):
        data = records(rng.multinomial(1_500, chances))
        scorer = scorer_of(data, known, public)
        exact = ExactFormTotals(FormCounter(data, public, known))
        held += (
            scorer.totals(scorer.counter.table(form), budgets)[targets] >= truth
        ).all()
        table = exact.totals(exact.counter.table(form), budgets)[targets]
        with monkeypatch.context() as patch:
            patch.setattr(FORM_LIMITS, partial(form_total_limits, joint=False))
            few = scorer._limits(scorer.counter.table(form), budgets, c, 3)[targets]
        generous += [(table >= truth).all(), (few >= truth).all()]
    assert held >= 190
    assert generous.max() < 190


def test_a_form_whose_budgets_are_not_certified_is_never_promised():
    data = records(np.random.default_rng(1).integers(100, 5000, len(CELLS)))
    problem = make_form_problem(data, DesignOptions(limit=1.0))
    certifier = PopulationCertifier(problem, data, 0.95)
    form = certifier.certify(certifier.problem.fit((0, 1)))
    assert form.record > 1.0, "the sum of the budgets alone would promise it"
    (proven,) = certifier.proven([form])
    assert max(proven.totals) <= 1.0
    screened = certifier.problem.form((0, 1), 1.01 * form.epsilons, form.total_values)
    with pytest.raises(AssertionError, match="exceeds its limit"):
        certifier.proven([screened])
