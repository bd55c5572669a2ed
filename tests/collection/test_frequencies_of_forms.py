"""Simulated collections with forms: estimates are unbiased, standard errors are right.

Errors are standardised by what the estimate states and tested with power: a chi-square
test accepts the stated standard error, and rejects 0.7 and 1.3 times it.
"""

import json
import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from command import run
from plan_examples import (
    DOMAIN,
    counts,
    forms_plan,
    matrix,
    people,
    product,
    three_forms,
)
from seepage._core.errors import InputError
from seepage.channel.records import Records
from seepage.collection.perturb_table import (
    drawn_forms,
    perturb_file,
    perturbed_columns,
)
from seepage.collection.report_leakage import analyse_reports
from seepage.collection.report_schema import reports_schema
from seepage.designs.forms.form_channels import MatrixChannel
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.mechanism_registry import mechanism
from seepage.mechanisms.randomness import randomness
from seepage.mechanisms.transition_matrix import MatrixMechanism
from seepage.plan.report_vectors import (
    FormVectors,
    matrix_coefficients,
    summing_matrix,
)

RUNS = 400
PEOPLE = people(1200, seed=8)
RECORDS = Records.from_data(PEOPLE, domain=DOMAIN)
PAIRS = counts()


def answers():
    codes = np.repeat(RECORDS.codes, RECORDS.weights, axis=0)
    return {name: codes[:, index] for index, name in enumerate(DOMAIN.names)}


ANSWERS = answers()
ROWS = len(ANSWERS["sex"])


def collect(plan, source):
    """One simulated collection of everybody, as `perturb` makes it."""
    forms = drawn_forms(plan, ROWS, source)
    columns = perturbed_columns(plan, ANSWERS, forms, source)
    return pa.Table.from_arrays(columns, schema=reports_schema(plan))


def check(errors, stated):
    """Accept unbiased estimates with the stated errors; reject 0.7 and 1.3 times
    them.
    """
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
            errors.append(estimates[name].conditional_errors)
    return {name: (np.array(v), np.array(e)) for name, (v, e) in found.items()}


@pytest.fixture(scope="module")
def simulated():
    return marginals(three_forms(PAIRS))


@pytest.mark.parametrize("name", DOMAIN.names)
def test_forms_with_their_own_budgets_and_a_matrix_give_unbiased_estimates(
    simulated, name
):
    values, errors = simulated[name]
    check(values - RECORDS.marginal(name) / ROWS, errors)


def test_precisions_of_forms_add_up(simulated):
    """Mean squared error of a new sample: 1 / (n sum_f share_f / v_f), noise and
    sampling.
    """
    plan = three_forms(PAIRS)
    nominal = np.array(plan["job"].frequencies)
    spread = [
        float(
            mechanism(name, 4, epsilon).variance(1, nominal).sum()
            + 1
            - nominal @ nominal
        )
        for name, epsilon in (("ss", 0.8), ("grr", 2.0))
    ]
    predicted = 1 / (ROWS * (0.5 / spread[0] + 0.3 / spread[1]))
    truth = RECORDS.marginal("job") / ROWS
    values, _ = simulated["job"]
    found = ((values - truth) ** 2).sum(axis=1).mean() + (1 - truth @ truth) / ROWS
    assert found == pytest.approx(predicted, rel=0.15)


def reports_of(plan, answers, forms):
    """The reports of some people with given forms, by index."""
    columns = perturbed_columns(plan, answers, np.array(forms), randomness(1))
    return pa.Table.from_arrays(columns, schema=reports_schema(plan))


CLEAR = 45.0
"""A budget at which reports are the answers."""


def test_weights_of_forms_do_not_depend_on_the_reports():
    """Everybody answers 0 in one form and 1 in the other: the estimate is the form's
    weight.
    """
    for sizes in ((100, 100), (100, 300)):
        plan = forms_plan(PAIRS, [product(sex=CLEAR), product(sex=1.0)])
        nominal = np.array(plan["sex"].frequencies)
        spread = [
            mechanism("grr", 2, epsilon).variance(1, nominal).sum()
            + 1
            - nominal @ nominal
            for epsilon in (CLEAR, 1.0)
        ]
        precisions = np.array(sizes) / spread
        forms = np.repeat([0, 1], sizes)
        reports = reports_of(
            plan, {"sex": np.zeros(len(forms), dtype=int)}, forms
        ).to_pydict()
        for says in (0, 1):
            said = [None if form == 0 else says for form in forms]
            table = pa.table({**reports, "2:sex": said}, schema=reports_schema(plan))
            one_hot = mechanism("grr", 2, 1.0)
            scale, shift = one_hot.one_hot_map
            own = (float(says == 0) - shift) / scale
            expected = (precisions @ [1.0, own]) / precisions.sum()
            assert plan.estimate(table)["sex"].frequencies[0] == pytest.approx(expected)


def test_a_single_form_has_no_sampling_variance():
    plan = forms_plan(PAIRS, [product(sex=CLEAR)])
    answers_ = {"sex": np.arange(50) % 5 // 4}
    found = plan.estimate(reports_of(plan, answers_, [0] * 50))["sex"]
    assert found.conditional_errors == pytest.approx([0.0, 0.0], abs=1e-8)
    assert found.standard_errors == pytest.approx([math.sqrt(0.16 / 49)] * 2)
    noisy = forms_plan(PAIRS, [product(sex=1.0)])
    found = noisy.estimate(reports_of(noisy, answers_, [0] * 50))["sex"]
    share = float(np.clip(found.frequencies[0], 0, 1))
    noise = mechanism("grr", 2, 1.0).variance(50, share)
    assert found.conditional_errors**2 == pytest.approx(np.resize(noise, 2), rel=0.05)


def test_the_error_of_random_halves_is_that_of_sampling_without_replacement():
    """All ways to give 4 of 6 people the form, without noise, in fractions.

    The mean of f (1 - f) over the samples is n / (n - 1) times what makes it unbiased.
    """
    people_ = [1, 0, 0, 1, 1, 0]
    plan = forms_plan(PAIRS, [product(sex=CLEAR), product(ill=CLEAR)])
    means = []
    stated = []
    for chosen in combinations(range(6), 4):
        means.append(Fraction(sum(people_[i] for i in chosen), 4))
        forms = [int(i not in chosen) for i in range(6)]
        answers_ = {"sex": np.array(people_), "ill": np.array(people_)}
        found = plan.estimate(reports_of(plan, answers_, forms))["sex"]
        assert found.frequencies[1] == pytest.approx(float(means[-1]))
        stated.append(found.conditional_errors[1] ** 2)
    variance = sum((mean - Fraction(1, 2)) ** 2 for mean in means) / len(means)
    assert np.mean(stated) == pytest.approx(float(variance * Fraction(6, 5)))


def test_consistent_estimates_are_distributions():
    found = three_forms(PAIRS).estimate(
        three_forms(PAIRS).perturb(PEOPLE, rng=1), consistent=True
    )
    for name in DOMAIN.names:
        assert found[name].frequencies.min() >= 0
        assert found[name].frequencies.sum() == pytest.approx(1.0)
        assert found[name].consistent


def test_forms_that_nobody_got_and_attributes_that_nobody_answered():
    plan = three_forms(PAIRS)
    found = plan.estimate(reports_of(plan, ANSWERS, np.zeros(ROWS, dtype=int)))
    assert set(found.estimates) == {"sex", "job"}
    assert found.unestimated == ("age", "ill")
    assert found["sex"].records == PEOPLE.num_rows
    with pytest.raises(InputError, match="reports must not be empty"):
        plan.estimate(plan.perturb(PEOPLE)[:0])


# A matrix -----------------------------------------------------------------------------


def kron(*epsilons):
    made = [
        GRR(k, epsilon).channel() for k, epsilon in zip((2, 3), epsilons, strict=True)
    ]
    return MatrixMechanism(np.kron(*made))


def test_a_matrix_that_is_a_product_estimates_as_the_product():
    """GRR of sex and age as one report: the best estimates are those of the two
    reports.
    """
    whole = forms_plan(PAIRS, [MatrixChannel.of(["sex", "age"], kron(1.0, 1.5))])
    for name, made in (("sex", GRR(2, 1.0)), ("age", GRR(3, 1.5))):
        nominal = np.array(whole[name].frequencies)
        expected = made.variance(1, nominal).sum() + 1 - nominal @ nominal
        assert FormVectors.of(whole, 0, [name]).variance == pytest.approx(
            expected, rel=1e-6
        )


def test_the_best_unbiased_table_is_taken():
    """No other table that is unbiased for every distribution has less variance."""
    plan = forms_plan(PAIRS, [matrix(DOMAIN, ["sex", "ill"], 1.0)])
    best, _ = matrix_coefficients(plan, 0, ["sex"])
    channel = plan.forms[0].channel.mechanism.channel()
    wanted = summing_matrix([2, 2], [0])
    assert np.allclose(channel @ best, wanted.T, atol=1e-9)
    chances = (
        np.outer(plan["sex"].frequencies, plan["ill"].frequencies).ravel() @ channel
    )
    rng = np.random.default_rng(3)
    null = np.eye(len(chances)) - np.linalg.pinv(channel) @ channel
    for _ in range(20):
        other = best + null @ rng.normal(size=best.shape)
        assert np.allclose(channel @ other, wanted.T, atol=1e-9)
        assert chances @ (other**2).sum(axis=1) > chances @ (best**2).sum(axis=1)


def test_a_matrix_from_which_an_attribute_cannot_be_estimated():
    rows = np.kron(GRR(2, 1.0).channel(), np.ones((2, 1)))
    plan = forms_plan(PAIRS, [MatrixChannel.of(["sex", "ill"], MatrixMechanism(rows))])
    found = plan.estimate(plan.perturb(PEOPLE, rng=1))
    assert found.unestimated == ("ill",)
    assert set(found.estimates) == {"sex"}
    with pytest.raises(InputError, match="carry no information"):
        found["ill"]


def test_nominal_frequencies_of_cells_are_used():
    cells = np.array([0.4, 0.1, 0.1, 0.4])
    made = matrix(DOMAIN, ["sex", "ill"], 1.0).mechanism
    stated = MatrixChannel.of(["sex", "ill"], made, frequencies=cells)
    plan = forms_plan(PAIRS, [stated])
    found, variances = matrix_coefficients(plan, 0, ["sex"])
    expected = (cells @ made.channel()) @ (found**2).sum(axis=1) - 0.5
    assert variances.sum() == pytest.approx(expected)


# The population -----------------------------------------------------------------------


def test_standard_errors_are_those_of_people_drawn_from_the_population():
    """Collections of new people at large budgets, where sampling is most of the
    error.
    """
    channels = [
        product(sex=6.0, ill=3.0),
        matrix(DOMAIN, ["ill", "sex"], 4.0),
        product(sex=3.0),
    ]
    plan = forms_plan(PAIRS, channels, [0.5, 0.3, 0.2])
    rng = np.random.default_rng(11)
    source = randomness(12)
    size = 600
    share = 0.3
    joint = np.array([[0.12, 0.18], [0.42, 0.28]])
    errors = {name: [] for name in ("sex", "joint")}
    conditional = []
    for _ in range(RUNS):
        cells = rng.choice(4, size, p=joint.ravel())
        answers = {"sex": cells // 2, "ill": cells % 2}
        forms = drawn_forms(plan, size, source)
        columns = perturbed_columns(plan, answers, forms, source)
        reports = pa.Table.from_arrays(columns, schema=reports_schema(plan))
        one = plan.estimate(reports)["sex"]
        both = plan.table(reports, "sex", by="ill")
        off = (one.frequencies - [share, 1 - share])[0]
        errors["sex"].append([off, one.standard_errors[0]])
        conditional.append(off / one.conditional_errors[0])
        errors["joint"].append(
            [(both.frequencies - joint)[1, 0], both.standard_errors[2]]
        )
    for found in errors.values():
        off, stated = np.array(found).T
        check(off[:, None], stated[:, None])
    assert chi_square(np.array(conditional)) < 1e-4


def test_the_errors_for_the_population_are_the_variance_of_the_coefficients():
    """One matrix form: the sample covariance of A[y] over n [theory: From reports]."""
    plan = forms_plan(PAIRS, [matrix(DOMAIN, ["sex", "ill"], 2.0)])
    reports = plan.perturb(people(4000), rng=3)
    drawn = np.asarray(reports["1:report"])
    coefficients = matrix_coefficients(plan, 0, ["ill"])[0][drawn]
    expected = coefficients.std(axis=0, ddof=1) / np.sqrt(len(drawn))
    assert plan.estimate(reports)["ill"].standard_errors == pytest.approx(expected)


# Joint tables -------------------------------------------------------------------------


def test_joint_tables_come_from_all_forms_that_ask_for_both():
    channels = [
        product(sex=1.5, ill=2.0),
        product(sex=2.5, job=1.0, ill=1.5),
        matrix(DOMAIN, ["ill", "sex"], 2.0),
        product(age=1.0),
    ]
    plan = forms_plan(PAIRS, channels, [0.3, 0.3, 0.3, 0.1])
    truth = RECORDS.counts(["sex", "ill"]).ravel() / ROWS
    rng = np.random.default_rng(3)
    source = randomness(2)
    values = []
    errors = []
    for _ in range(RUNS - 100):
        drawn = rng.integers(0, ROWS, ROWS)
        answers = {name: codes[drawn] for name, codes in ANSWERS.items()}
        columns = perturbed_columns(
            plan, answers, drawn_forms(plan, ROWS, source), source
        )
        reports = pa.Table.from_arrays(columns, schema=reports_schema(plan))
        found = plan.table(reports, "sex", by="ill")
        values.append(found.values)
        errors.append(found.standard_errors)
    assert list(found.people) == [1, 2, 3]
    assert found.records < ROWS
    check(np.array(values) - truth, np.array(errors))


def test_attributes_that_no_form_asks_for_together():
    plan = three_forms(PAIRS)
    reports = plan.perturb(PEOPLE, rng=1)
    with pytest.raises(InputError, match="no form asks for both 'job' and 'age'"):
        plan.table(reports, "job", by="age")
    assert plan.table(reports, "sex", by="age").frequencies.shape == (2, 3)


# Leakage of pairs ---------------------------------------------------------------------


def test_a_form_that_nobody_was_given_determines_no_table():
    plan = forms_plan(
        PAIRS, [product(sex=1.0, job=1.0), product(sex=1.0), product(job=1.0)]
    )
    reports = plan.perturb(people(300), rng=2).to_pandas()
    with pytest.raises(InputError, match="do not determine the table of sex and job"):
        plan.table(reports[reports["form"] > 1], "sex", by="job")


def test_leakage_is_estimated_for_pairs_asked_together():
    channels = [
        product(sex=1.0, job=2.0),
        product(sex=2.0, job=1.0, ill=1.0),
        product(age=1.0),
    ]
    plan = forms_plan(PAIRS, channels)
    data = people(60_000)
    found = analyse_reports(plan, plan.perturb(data, rng=4))
    together = {("sex", "job"), ("job", "sex"), ("sex", "ill"), ("ill", "sex")}
    together |= {("job", "ill"), ("ill", "job")}
    assert set(found.leaks) == together
    assert len(found.to_arrow()) == 6
    epsilons = {name: release.epsilon for name, release in found.releases.items()}
    assert epsilons == {"sex": 2.0, "job": 2.0, "age": 1.0, "ill": 1.0}
    truth = leakage_matrix(
        Records.from_data(data, domain=DOMAIN).pairs(),
        [2.0, 2.0, 1.0, 1.0],
        mechanism="grr",
    )
    for target, source in together:
        interval = found[target, source]
        value = truth[target, source].value
        assert interval.lower - 0.02 <= value <= interval.upper + 0.02
    assert found["sex", "job"].lower > 0.1


def test_leakage_without_pairs_asked_together():
    apart = forms_plan(PAIRS, [product(**{name: 1.0}) for name in DOMAIN.names])
    with pytest.raises(InputError, match="no two attributes are asked together"):
        analyse_reports(apart, apart.perturb(PEOPLE))
    whole = forms_plan(PAIRS, [matrix(DOMAIN, ["sex", "ill"], 1.0)])
    with pytest.raises(InputError, match="no two attributes are asked together"):
        analyse_reports(whole, whole.perturb(PEOPLE))


@pytest.mark.slow
def test_intervals_of_pooled_forms_cover():
    """90 % intervals of 80 collections cover the truth about as often, and are not
    trivial.
    """
    plan = forms_plan(
        PAIRS, [product(sex=2.0, ill=3.0), product(sex=3.0, ill=2.0, job=1.0)]
    )
    truth = leakage_matrix(RECORDS.pairs(), [3.0, 1.0, 0.0, 3.0], mechanism="grr")
    source = randomness(6)
    covered = 0
    informative = 0
    for _ in range(80):
        found = analyse_reports(plan, collect(plan, source), confidence=0.9)[
            "sex", "ill"
        ]
        covered += found.lower <= truth["sex", "ill"].value <= found.upper
        informative += found.upper < 3.0
    assert covered >= 66
    assert informative >= 40


def test_the_commands_read_reports_of_forms(tmp_path):
    plan = three_forms(PAIRS)
    plan.save(tmp_path / "plan.json")
    perturb_file(plan, PEOPLE, tmp_path / "reports.parquet", rng=1)
    given = [tmp_path / "reports.parquet", "--plan", tmp_path / "plan.json"]
    told = run("estimate", *given, "--format", "json")
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert found == plan.estimate(tmp_path / "reports.parquet").to_dict()
    people_ = {name: part["records"] for name, part in found["attributes"].items()}
    assert people_["job"] + people_["age"] == found["records"] == PEOPLE.num_rows
    joint = run("estimate", *given, "--table", "sex,ill")
    assert joint.returncode == 0
    assert "share of sex given ill" in joint.stdout
    apart = run("estimate", *given, "--table", "job,age")
    assert apart.returncode == 2
    assert "no form asks for both 'job' and 'age'" in apart.stderr
    watched = plan.analyse(tmp_path / "reports.parquet").leaks
    assert ("sex", "job") in watched
    assert not any(source == "age" for _, source in watched)
