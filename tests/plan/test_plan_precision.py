"""Expected errors: those of the design, of simulated collections, and of the other ways."""

import msgspec
import numpy as np
import pytest

import seepage as sp
from plan_examples import counts, forms_plan, people, plan_for, product, three_forms
from seepage.designs.strategies import Strategy
from seepage.errors import InputError
from seepage.plan.designed_plan import plan_of_design
from seepage.plan.plan_precision import alternatives, expected_variances, half_width


@pytest.fixture(scope="module")
def found():
    """A design with shaped forms."""
    columns = ["coffee", "sleep", "medication"]
    return sp.find_design(sp.make_survey(2_000), 2.0, scope="table", columns=columns)


def test_a_design_has_the_errors_that_it_was_found_with(found):
    plan = plan_of_design(found)
    assert not all(form.is_product for form in found.forms)
    ours = expected_variances(plan)
    # the plan's nominal frequencies are rounded to whole percent
    assert [v / 2000 for v in ours.values()] == pytest.approx(found.errors.tolist(), rel=0.03)
    assert plan.alternatives == found.comparison[:-1]
    assert len(plan.alternatives) == 7


def test_estimates_of_people_drawn_anew_vary_as_expected():
    pairs = counts(4000)
    plan = three_forms(pairs)
    expected = expected_variances(plan)
    errors = {name: [] for name in expected}
    for seed in range(150):
        table = people(400, seed=seed + 10)
        found = plan.estimate(plan.perturb(table, seed=seed))
        for name in errors:
            truth = np.array(plan[name].frequencies)
            errors[name].append(((found[name].frequencies - truth) ** 2).sum())
    for name, each in errors.items():
        mean, spread = np.mean(each), np.std(each) / np.sqrt(len(each))
        assert abs(mean - expected[name] / 400) < 4 * spread, name
        assert spread < 0.2 * mean


def test_alternatives_of_a_plan_without_a_design_are_computed_from_its_limits():
    plan = plan_for(counts(), 1.0)
    split, sampled = alternatives(plan)
    limit = plan["sex"].limit
    one = sp.mechanism("grr", 2, limit / 4)
    uniform = np.full(2, 0.5)
    expected = (one.variance(1, uniform).sum() + 0.5) / 2000
    assert split.errors["sex"] == pytest.approx(expected, rel=1e-6)
    alone = sp.mechanism("grr", 2, limit)
    expected = 4 * (alone.variance(1, uniform).sum() + 0.5) / 2000
    assert sampled.errors["sex"] == pytest.approx(expected)
    assert alternatives(forms_plan(counts(), [product(sex=1.0, ill=1.0)])) == ()


def test_the_error_of_an_attribute_that_cannot_be_estimated_is_infinite():
    plan = forms_plan(counts(), [product(sex=0.0, ill=1.0)])
    assert expected_variances(plan)["sex"] == np.inf
    assert half_width(np.inf, 2) == np.inf


def test_alternatives_have_the_attributes_of_the_plan():
    plan = plan_for(counts())
    other = Strategy(name="x", rests_on="", certified=True, errors={"none": 1.0})
    with pytest.raises(InputError, match="'none', which is no attribute"):
        msgspec.structs.replace(plan, alternatives=(other,))
