"""Simulated collections with forms: estimates are unbiased, standard errors are right.

Errors are standardised by what the estimate states and tested with power: a chi-square test accepts
the stated standard error, and rejects 0.7 and 1.3 times it.
"""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from plan_examples import DOMAIN, counts, forms_plan, matrix, people, product, three_forms
from seepage.collection.form_estimates import FormPart, combine, form_weights
from seepage.collection.matrix_estimates import MatrixEstimator
from seepage.collection.perturb import perturbed_columns
from seepage.collection.report_source import reports_schema
from seepage.data.records import Records
from seepage.errors import InputError
from seepage.mechanisms import GRR, MatrixMechanism, mechanism
from seepage.mechanisms.randomness import randomness
from seepage.plan import MatrixChannel

RUNS = 400
PEOPLE = people(1200, seed=8)
RECORDS = Records.from_data(PEOPLE, domain=DOMAIN)
PAIRS = counts()


def answers():
    codes = np.repeat(RECORDS.codes, RECORDS.weights, axis=0)
    return {name: codes[:, place] for place, name in enumerate(DOMAIN.names)}


ANSWERS = answers()
ROWS = len(ANSWERS["sex"])


def collect(plan, source):
    """One simulated collection of everybody, as `perturb` makes it."""
    from seepage.collection.form_assignment import drawn_forms

    forms = drawn_forms(plan, ROWS, source)
    columns = perturbed_columns(plan, ANSWERS, forms, source)
    return pa.Table.from_arrays(columns, schema=reports_schema(plan))


def check(errors, stated):
    """Accept unbiased estimates with the stated errors; reject 0.7 and 1.3 times them."""
    standardised = errors / stated
    means = standardised.mean(axis=0) * math.sqrt(len(errors))
    assert np.abs(means).max() < 4.5, means
    for column in standardised.T:
        assert chi_square(column) > 1e-4
        assert chi_square(column / 0.7) < 1e-4
        assert chi_square(column / 1.3) < 1e-3


def chi_square(standardised):
    square = float((standardised**2).sum())
    lower = stats.chi2.cdf(square, len(standardised))
    return 2 * min(lower, 1 - lower)


def marginals(plan, seed=1, runs=RUNS):
    """Estimates and standard errors of many collections, by attribute."""
    source = randomness(seed)
    found = {name: ([], []) for name in plan.collected.names}
    for _ in range(runs):
        estimates = plan.estimate(collect(plan, source))
        for name, (values, errors) in found.items():
            values.append(estimates[name].frequencies)
            errors.append(estimates[name].standard_errors)
    return {name: (np.array(v), np.array(e)) for name, (v, e) in found.items()}


@pytest.fixture(scope="module")
def simulated():
    return marginals(three_forms(PAIRS))


@pytest.mark.parametrize("name", DOMAIN.names)
def test_forms_with_their_own_budgets_and_a_matrix_give_unbiased_estimates(simulated, name):
    values, errors = simulated[name]
    check(values - RECORDS.marginal(name) / ROWS, errors)


def test_the_error_is_what_precisions_add_up_to(simulated):
    """Mean squared error of a new sample: 1 / (n sum_f share_f / v_f), noise and sampling."""
    plan = three_forms(PAIRS)
    nominal = np.array(plan["job"].frequencies)
    spread = [
        float(mechanism(name, 4, epsilon).variance(1, nominal).sum() + 1 - nominal @ nominal)
        for name, epsilon in (("ss", 0.8), ("grr", 2.0))
    ]
    predicted = 1 / (ROWS * (0.5 / spread[0] + 0.3 / spread[1]))
    truth = RECORDS.marginal("job") / ROWS
    values, _ = simulated["job"]
    found = ((values - truth) ** 2).sum(axis=1).mean() + (1 - truth @ truth) / ROWS
    assert found == pytest.approx(predicted, rel=0.15)


def test_weights_do_not_depend_on_the_reports():
    parts = [FormPart(np.array([f, 1 - f]), np.ones(2) * f, 100, 2.0) for f in (0.1, 0.9)]
    assert form_weights(parts).tolist() == [0.5, 0.5]
    parts = [FormPart(np.zeros(2), np.zeros(2), n, v) for n, v in ((100, 1.0), (300, 6.0))]
    assert form_weights(parts) == pytest.approx([2 / 3, 1 / 3])
    one_value = [FormPart(np.ones(1), np.zeros(1), n, 0.0) for n in (1, 3)]
    assert combine(one_value, 4).frequencies.tolist() == [1.0]


def test_everyone_asked_the_same_has_no_error_of_sampling():
    part = FormPart(np.array([0.3, 0.7]), np.array([0.04, 0.09]), 50, 1.0)
    assert combine([part], 50).standard_errors == pytest.approx([0.2, 0.3], rel=1e-15)
    some = combine([part], 100).standard_errors ** 2 - [0.04, 0.09]
    assert some == pytest.approx([0.21 * 100 / 99 * (1 / 50 - 1 / 100)] * 2)


def test_the_error_of_random_halves_is_that_of_sampling_without_replacement():
    """All ways to give 4 of 6 people the form, noise aside, in fractions."""
    from itertools import combinations

    people_ = [1, 0, 0, 1, 1, 0]
    means = [Fraction(sum(chosen), 4) for chosen in combinations(people_, 4)]
    truth = Fraction(1, 2)
    variance = sum((mean - truth) ** 2 for mean in means) / len(means)
    part = FormPart(np.array([0.5, 0.5]), np.zeros(2), 4, 1.0)
    assert combine([part], 6).standard_errors[0] ** 2 == pytest.approx(float(variance))


def test_consistent_estimates_are_distributions():
    found = three_forms(PAIRS).estimate(three_forms(PAIRS).perturb(PEOPLE, seed=1), consistent=True)
    for name in DOMAIN.names:
        assert found[name].frequencies.min() >= 0
        assert found[name].frequencies.sum() == pytest.approx(1.0)
        assert found[name].consistent


def test_forms_that_nobody_got_and_attributes_that_nobody_answered():
    plan = three_forms(PAIRS)
    forms = pa.array(np.full(PEOPLE.num_rows, 1))
    found = plan.estimate(plan.perturb(PEOPLE.append_column("asked", forms), form="asked"))
    assert set(found.estimates) == {"sex", "job"}
    assert found.untold == ("age", "ill")
    assert found["sex"].records == PEOPLE.num_rows
    with pytest.raises(InputError, match="there is no estimate without reports"):
        plan.estimate(plan.perturb(PEOPLE)[:0])


# A matrix ----------------------------------------------------------------------------------------


def kron(*epsilons):
    made = [GRR(k, epsilon).channel() for k, epsilon in zip((2, 3), epsilons, strict=True)]
    return MatrixMechanism(np.kron(*made))


def test_a_matrix_that_is_a_product_estimates_as_the_product():
    """GRR of sex and age as one report: the best estimates are those of the two reports."""
    whole = forms_plan(PAIRS, [MatrixChannel.of(["sex", "age"], kron(1.0, 1.5))])
    estimator = MatrixEstimator(whole, whole.forms[0].channel)
    for name, made in (("sex", GRR(2, 1.0)), ("age", GRR(3, 1.5))):
        nominal = np.array(whole[name].frequencies)
        expected = made.variance(1, nominal).sum() + 1 - nominal @ nominal
        assert estimator.spread(name) == pytest.approx(expected, rel=1e-6)


def test_the_best_unbiased_table_is_taken():
    """No other table that is unbiased for every distribution has less variance."""
    plan = forms_plan(PAIRS, [matrix(DOMAIN, ["sex", "ill"], 1.0)])
    estimator = MatrixEstimator(plan, plan.forms[0].channel)
    channel = plan.forms[0].channel.made.channel()
    best, wanted = estimator.coefficients("sex"), estimator.marginal_of("sex")
    assert np.allclose(channel @ best, wanted.T, atol=1e-9)
    chances = np.outer(plan["sex"].frequencies, plan["ill"].frequencies).ravel() @ channel
    rng = np.random.default_rng(3)
    null = np.eye(len(chances)) - np.linalg.pinv(channel) @ channel
    for _ in range(20):
        other = best + null @ rng.normal(size=best.shape)
        assert np.allclose(channel @ other, wanted.T, atol=1e-9)
        assert chances @ (other**2).sum(axis=1) > chances @ (best**2).sum(axis=1)


def test_a_matrix_that_does_not_tell_an_attribute_apart():
    rows = np.kron(GRR(2, 1.0).channel(), np.ones((2, 1)))
    plan = forms_plan(PAIRS, [MatrixChannel.of(["sex", "ill"], MatrixMechanism(rows))])
    found = plan.estimate(plan.perturb(PEOPLE, seed=1))
    assert found.untold == ("ill",)
    assert set(found.estimates) == {"sex"}
    with pytest.raises(InputError, match="tell nothing"):
        found["ill"]


def test_nominal_frequencies_of_cells_are_used():
    cells = np.array([0.4, 0.1, 0.1, 0.4])
    made = matrix(DOMAIN, ["sex", "ill"], 1.0).made
    stated = MatrixChannel.of(["sex", "ill"], made, frequencies=cells)
    plan = forms_plan(PAIRS, [stated])
    estimator = MatrixEstimator(plan, stated)
    found = estimator.coefficients("sex")
    expected = (cells @ made.channel()) @ (found**2).sum(axis=1) - 0.5
    assert estimator.spread("sex") == pytest.approx(expected)


# Joint tables ------------------------------------------------------------------------------------


def test_joint_tables_come_from_all_forms_that_ask_for_both():
    channels = [
        product(sex=1.5, ill=2.0),
        product(sex=2.5, job=1.0, ill=1.5),
        matrix(DOMAIN, ["ill", "sex"], 2.0),
        product(age=1.0),
    ]
    plan = forms_plan(PAIRS, channels, [0.3, 0.3, 0.3, 0.1])
    truth = RECORDS.counts(["sex", "ill"]).ravel() / ROWS
    source, values, errors = randomness(2), [], []
    for _ in range(RUNS):
        found = plan.estimate_joint(collect(plan, source), "sex", "ill")
        values.append(found.frequencies.ravel())
        errors.append(found.standard_errors.ravel())
    assert found.records < ROWS
    check(np.array(values) - truth, np.array(errors))


def test_maximum_likelihood_pools_the_forms():
    channels = [product(sex=2.0, ill=2.0), product(sex=3.0, job=1.0, ill=1.0), product(age=1.0)]
    plan = forms_plan(PAIRS, channels)
    reports = plan.perturb(people(30_000), seed=5)
    inverted = plan.estimate_joint(reports, "sex", "ill")
    likely = plan.estimate_joint(reports, "sex", "ill", method="em")
    assert likely.records == inverted.records
    assert likely.frequencies.sum() == pytest.approx(1.0)
    assert np.abs(likely.frequencies - inverted.frequencies).max() < 0.02


def test_attributes_that_no_form_asks_for_together():
    plan = three_forms(PAIRS)
    reports = plan.perturb(PEOPLE, seed=1)
    with pytest.raises(InputError, match="no form asks for both 'job' and 'age'"):
        plan.estimate_joint(reports, "job", "age")
    with pytest.raises(InputError, match="maximum likelihood needs a form"):
        plan.estimate_joint(reports, "sex", "age", method="em")
    assert plan.estimate_joint(reports, "sex", "age").frequencies.shape == (2, 3)
