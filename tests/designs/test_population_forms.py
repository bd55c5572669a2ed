"""Forms for people: what is promised holds for those whom nobody looked at."""

import itertools
import math

import numpy as np
import pytest

import seepage as sp
from seepage.designs.form_problem import FittedForm
from seepage.designs.form_totals import ExactForms
from seepage.designs.population_forms import PopulationForms, certify_forms, split_records
from seepage.errors import InputError

SIZES = (2, 3, 2, 2)
CELLS = np.array(list(itertools.product(*map(range, SIZES))))


def records(weights):
    domain = sp.Domain(
        [sp.Attribute(f"a{k}", tuple(map(str, range(size)))) for k, size in enumerate(SIZES)]
    )
    kept = weights > 0
    return sp.Records(domain, CELLS[kept], weights[kept])


def shares(seed=0):
    """People whose attributes follow their first one."""
    rng = np.random.default_rng(seed)
    found = np.prod([0.3 + 0.7 * (CELLS[:, k] == CELLS[:, 0]) for k in (1, 2, 3)], axis=0)
    found = found * rng.dirichlet([5.0] * len(CELLS))
    return found / found.sum()


def form(attributes, epsilons):
    names = ("grr",) * len(attributes)
    return FittedForm(tuple(attributes), np.array(epsilons), np.zeros(len(SIZES)), names)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("epsilons", [(0.5, 0.5), (0.3, 0.9)])
def test_limits_tend_to_the_totals_of_the_table(epsilons, compiled):
    weights = np.random.default_rng(1).integers(1, 50, len(CELLS))
    gaps = []
    for times in (10, 1000, 10**5):
        data = records(weights * times)
        scorer, exact = PopulationForms(data, compiled=compiled), ExactForms(data)
        found = scorer.totals(scorer.table((0, 1)), np.array(epsilons))
        gaps.append(found - exact.totals(exact.table((0, 1)), np.array(epsilons)))
    assert (np.diff(gaps, axis=0) <= 1e-9).all()
    assert (np.array(gaps) >= -1e-12).all()
    assert gaps[-1].max() < 0.02


def test_levels_count_what_may_be_chosen():
    data = records(np.full(len(CELLS), 10))
    chosen = PopulationForms(data, 0.9, [(0, 1), (2,)])
    assert chosen.level(2) == pytest.approx(math.log(2 * 9 * (6 + 2) / 0.1))
    every = PopulationForms(data, 0.9, largest=2)  # forms of 1 or 2 questions, and that of all
    pairs = sum(a * b for a, b in itertools.combinations(SIZES, 2))
    assert every.level(2) == pytest.approx(math.log(3 * 2 * 9 * pairs / 0.1))
    with pytest.raises(InputError, match="at most 2 attributes"):
        every.level(3)
    assert every.level(4) == pytest.approx(math.log(3 * 2 * 9 * math.prod(SIZES) / 0.1))
    few = PopulationForms(data, 0.9, asked=[0, 1], largest=5)
    assert few.level(2) == pytest.approx(math.log(2 * 2 * 9 * 6 / 0.1))


def test_everybody_is_in_one_part():
    data = records(np.arange(len(CELLS)) * 7)
    first, rest = split_records(data, 0.25, seed=3)
    assert first.records == round(0.25 * data.records)
    assert (first.counts() + rest.counts() == data.counts()).all()
    again = split_records(data, 0.25, seed=3)[0]
    assert (again.counts() == first.counts()).all()
    assert (split_records(data, 0.25, seed=4)[0].counts() != first.counts()).any()


def test_certified_budgets_are_the_largest_that_pass():
    data = records(np.random.default_rng(2).multinomial(20_000, shares()))
    wished = [form((0, 1), (0.8, 0.8)), form((1, 2, 3), (0.2, 0.4, 0.6)), form((3,), (0.7,))]
    limits = np.array([1.0, 1.0, 0.9, 1.2])
    found = certify_forms(data, wished, limits)
    scorer = PopulationForms(data, forms=[one.attributes for one in wished])
    for one, before in zip(found, wished, strict=True):
        ratios = one.epsilons / before.epsilons
        assert ratios == pytest.approx(np.full(len(ratios), ratios[0]))
        assert (one.totals <= limits).all()
        table = scorer.table(one.attributes)
        more = scorer.totals(table, one.epsilons * 1.001)
        own = (one.epsilons * 1.001 > limits[list(one.attributes)]).any()
        assert (more > limits).any() or own or ratios[0] > 1.999


def test_the_sum_of_budgets_has_its_limit_too():
    data = records(np.random.default_rng(2).multinomial(20_000, shares()))
    [found] = certify_forms(data, [form((0, 1), (0.8, 0.8))], np.full(4, 5.0), record_limit=1.0)
    assert found.epsilons.sum() == pytest.approx(1.0, abs=1e-3)
    assert found.epsilons.sum() <= 1.0


def test_too_few_records_give_the_split():
    """With ten records nothing is known: the sum of the budgets is the total."""
    data = records(np.random.default_rng(2).multinomial(10, shares()))
    [found] = certify_forms(data, [form((0, 1), (0.8, 0.8))], np.full(4, 1.0))
    assert found.epsilons.sum() == pytest.approx(1.0, abs=0.05)
    assert found.epsilons.sum() <= 1.0


def test_other_mechanisms_are_not_certified():
    data = records(np.full(len(CELLS), 10))
    other = FittedForm((0,), np.ones(1), np.zeros(4), ("oue",))
    with pytest.raises(InputError, match="forms of GRR reports"):
        certify_forms(data, [other], np.ones(4))


def test_certified_forms_keep_their_limits_for_people():
    """Chosen on a fifth, certified on the rest; the table's own budgets exceed limits often."""
    rng, people = np.random.default_rng(6), shares(4)
    truth = ExactForms(records(np.round(people * 10**9).astype(np.int64)))
    limits, attributes = np.full(4, 1.0), (0, 2, 3)
    missed = naive = 0
    for seed in range(40):
        data = records(rng.multinomial(3000, people))
        rest = split_records(data, 0.2, seed)[1]
        wished = form(attributes, rng.dirichlet([8.0] * 3) * 2)
        [found] = certify_forms(rest, [wished], limits)
        table = truth.table(attributes)
        missed += bool((truth.totals(table, found.epsilons) > limits).any())
        exact = ExactForms(rest)
        scale = next(
            s
            for s in np.linspace(2, 0.2, 400)
            if (exact.totals(exact.table(attributes), wished.epsilons * s) <= limits).all()
        )
        naive += bool((truth.totals(table, wished.epsilons * scale) > limits).any())
    assert missed <= 8
    assert naive > 8
