"""Regressions from reports: exact without noise, classic randomised response, and
mistakes.
"""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import seepage as sp
from plan_examples import (
    DOMAIN,
    counts,
    forms_plan,
    matrix,
    people,
    plan_for,
    product,
    three_forms,
)
from real_data import real_data
from seepage._core.errors import InputError
from seepage.collection.formula import Variable, parse_formula
from seepage.collection.logit_likelihood import FormReports, LogitLikelihood
from seepage.collection.profile_likelihood import maximise
from seepage.designs.forms.form_channels import MatrixChannel
from seepage.mechanisms.transition_matrix import MatrixMechanism
from seepage.plan import report_vectors

PAIRS = counts()
PEOPLE = people(4000, seed=4)
CLEAR = plan_for(PAIRS, 40.0)
BESIDE = pa.table(
    {
        "x": np.random.default_rng(1).normal(size=4000).round(2),
        "xx": np.random.default_rng(1).normal(size=4000).round(2) ** 2,
        "region": np.random.default_rng(2).choice(["east", "north", "west"], 4000),
    }
)

STORED = {
    ("logit", "ill ~ age + sex", False): {
        "Intercept": (-1.22149075, 0.0799012),
        "age[T.[40, 60)]": (-0.223674366, 0.1033725),
        "age[T.[60, 90]]": (2.118034547, 0.0882215),
        "sex[T.M]": (0.003050966, 0.0739887),
    },
    ("logit", "ill ~ x + region + x:region + xx", True): {
        "Intercept": (-0.325403642, 0.059407),
        "region[T.north]": (0.027791162, 0.0781603),
        "region[T.west]": (0.083531664, 0.0783139),
        "x": (-0.031116913, 0.0546805),
        "x:region[T.north]": (0.008908594, 0.0772755),
        "x:region[T.west]": (0.006652156, 0.0789853),
        "xx": (-0.011766876, 0.0221952),
    },
    ("linear", "ill[yes] ~ age + sex", False): {
        "Intercept": (0.227663774, 0.0140),
        "age[T.[40, 60)]": (-0.036959822, 0.0171),
        "age[T.[60, 90]]": (0.482610478, 0.0165),
        "sex[T.M]": (0.000557425, 0.0140),
    },
}
"""Coefficients and standard errors of statsmodels 0.14 on the unperturbed answers."""


def frame():
    found = PEOPLE.to_pandas()
    found["age"] = pd.cut(found.age, [17, 39, 59, 90], labels=DOMAIN["age"].values)
    return found.assign(**BESIDE.to_pandas(), y=(found.ill == "yes").astype(float))


@pytest.mark.parametrize("case", STORED, ids=lambda case: case[1])
def test_without_noise_a_regression_is_that_of_the_answers(case):
    family, formula, beside = case
    found = CLEAR.regress(
        CLEAR.perturb(PEOPLE),
        formula,
        family=family,
        covariates=BESIDE if beside else None,
    )
    assert set(found.names) == set(STORED[case])
    for name, (coefficient, error) in STORED[case].items():
        assert found[name].value == pytest.approx(coefficient, abs=1e-6)
        assert found[name].standard_error == pytest.approx(error, rel=0.05)
    api = pytest.importorskip("statsmodels.formula.api")
    fit = (api.logit if family == "logit" else api.ols)(
        "y ~" + formula.partition("~")[2], frame()
    )
    expected = fit.fit(**({"disp": 0} if family == "logit" else {})).params
    for name, coefficient in expected.items():
        assert found[name].value == pytest.approx(coefficient, abs=1e-6)


def test_a_linear_regression_on_unperturbed_covariates_is_least_squares():
    found = CLEAR.regress(
        CLEAR.perturb(PEOPLE), "ill[yes] ~ x", family="linear", covariates=BESIDE
    )
    design = np.column_stack([np.ones(4000), BESIDE["x"]])
    outcome = frame().y.to_numpy()
    expected, (squares,), *_ = np.linalg.lstsq(design, outcome)
    covariance = squares / 4000 * np.linalg.inv(design.T @ design)
    assert found.values == pytest.approx(expected, abs=1e-9)
    assert found.standard_errors == pytest.approx(
        np.sqrt(np.diag(covariance)), rel=0.05
    )


def test_matrix_forms_without_noise_agree_too():
    made = MatrixMechanism(np.eye(12) * (1 - 12e-12) + 1e-12)
    plan = forms_plan(PAIRS, [MatrixChannel.of(["sex", "ill", "age"], made)])
    found = plan.regress(plan.perturb(PEOPLE, rng=1), "ill ~ age + sex")
    for name, (coefficient, error) in STORED["logit", "ill ~ age + sex", False].items():
        assert found[name].value == pytest.approx(coefficient, abs=1e-6)
        assert found[name].standard_error == pytest.approx(error, rel=0.02)


COLLECTIONS = {
    "product": (
        forms_plan(PAIRS, [product(ill=2.5, age=3.0, sex=2.0)]),
        "ill ~ age + sex",
        3000,
    ),
    "matrix": (
        forms_plan(PAIRS, [matrix(DOMAIN, ["ill", "sex"], 2.0)]),
        "ill ~ sex",
        3000,
    ),
    "clear": (three_forms(PAIRS), "ill ~ x", 2000),
    "frame": (forms_plan(PAIRS, [product(ill=2.0, sex=2.0)]), "ill ~ sex + x", 3000),
}


def standardised(name, runs, seed=3):
    """Standardised errors of the coefficients of many collections, one row each."""
    plan, formula, size = COLLECTIONS[name]
    population = people(200_000, seed=9).to_pandas()
    population["age"] = np.asarray(DOMAIN["age"].values)[
        np.searchsorted([40, 60], population.age, "right")
    ]
    rng = np.random.default_rng(seed)
    rows = []
    x = np.where(population.ill == "yes", 0.5, 0.0) + rng.normal(size=len(population))
    population["x"] = np.clip(x, -2, 2).round(1)
    beside = ["x"] if "x" in formula.split() else []
    exact = sp.regress(population, formula, randomiser=np.eye(2) * (1 - 2e-9) + 1e-9)
    for _ in range(runs):
        drawn = population.iloc[rng.integers(0, len(population), size)]
        reports = plan.perturb(
            drawn.assign(
                age=drawn.age.map(
                    dict(zip(DOMAIN["age"].values, (20, 50, 70), strict=True))
                )
            ),
            rng=int(rng.integers(1 << 40)),
        )
        found = plan.regress(reports, formula, covariates=drawn if beside else None)
        rows.append((found.values - exact.values) / found.standard_errors)
    return np.array(rows)


@pytest.mark.parametrize("name", COLLECTIONS)
def test_standard_errors_are_right(name):
    found = standardised(name, 50)
    for column in found.T:
        tail = stats.chi2.cdf(float((column**2).sum()), len(column))
        assert 5e-4 < tail < 1 - 5e-4


@pytest.mark.parametrize("name", ["oue", "olh"])
def test_equal_reports_are_merged_without_changing_the_estimate(monkeypatch, name):
    plan = forms_plan(
        PAIRS, [product(ill=(name, 2.0), age=3.0), product(ill=2.0, age=(name, 2.0))]
    )
    reports = plan.perturb(PEOPLE, rng=2)
    merged = plan.regress(reports, "ill ~ age")
    frequencies = plan.estimate(reports)["age"].frequencies
    monkeypatch.setattr(report_vectors, "MAX_DISTINCT", 1)
    apart = plan.regress(reports, "ill ~ age")
    assert apart.values == pytest.approx(merged.values, abs=1e-8)
    assert apart.standard_errors == pytest.approx(merged.standard_errors, rel=1e-6)
    assert plan.estimate(reports)["age"].frequencies == pytest.approx(
        frequencies, abs=1e-12
    )


def test_hashed_reports_of_the_same_values_are_merged():
    """A report of local hashing tells the set of values that hash to its bucket, at
    most 2^k.
    """
    plan = forms_plan(PAIRS, [product(ill=("olh", 2.0), age=("olh", 2.0))])
    (made,) = report_vectors.informative_forms(plan, ["ill", "age"]).values()
    codes = np.random.default_rng(1).integers(0, 2, 5000)
    reports = [one.perturb(codes, rng=1) for one in made.mechanisms]
    distinct, sums, _ = made.distinct(reports, None)
    assert len(sums) == len(distinct[0]) <= 2 ** (2 + 3)
    assert sums.sum() == 5000
    assert sums @ made.vectors(distinct) == pytest.approx(
        made.vectors(reports).sum(axis=0)
    )


def test_reports_with_equal_factors_are_merged():
    factors = [
        np.array([[1.0, 0.5], [1, 1], [1, 0.5], [1, 1]]),
        np.array([[1.0], [1], [1], [1]]),
    ]
    weights = np.arange(1.0, 5.0)
    cells = np.array([0, 0]), np.array([False, True])
    found = FormReports(factors, weights, weights**2, *cells).merged()
    assert found.factors[0].tolist() == [[1.0, 0.5], [1.0, 1.0]]
    assert found.weights.tolist() == [4.0, 6.0]
    assert found.squares.tolist() == [10.0, 20.0]


def test_more_combinations_than_fit_are_merged_by_those_that_occur(monkeypatch):
    plan = forms_plan(PAIRS, [product(ill=("olh", 2.0), age=("oue", 2.0), job=2.0)])
    (made,) = report_vectors.informative_forms(plan, ["ill", "age", "job"]).values()
    codes = np.zeros(300, dtype=np.int64)
    reports = [one.perturb(codes, rng=1) for one in made.mechanisms]
    _, sums, squares = made.distinct(reports, None)
    monkeypatch.setattr(report_vectors, "MAX_DISTINCT", 4 * len(sums))
    again = made.distinct(reports, None)
    assert sorted(again[1]) == sorted(sums)
    assert sorted(again[2]) == sorted(squares)


@pytest.mark.slow
@pytest.mark.parametrize("name", COLLECTIONS)
def test_intervals_cover(name):
    covered = (np.abs(standardised(name, 500)) <= 1.96).mean(axis=0)
    assert np.all(np.abs(covered - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 500)), covered


def test_weights_count_people_as_often():
    """Weights 2 are the same reports twice, with errors of the people, not of their
    copies.
    """
    reports = CLEAR.perturb(PEOPLE)
    weights = np.where(np.arange(4000) < 1000, 2.0, 1.0)
    for formula, beside in (("ill ~ age + sex", None), ("ill ~ x", BESIDE)):
        found = CLEAR.regress(reports, formula, covariates=beside, weights=weights)
        twice = pa.concat_tables([reports, reports.slice(0, 1000)])
        also = (
            None
            if beside is None
            else pa.concat_tables([beside, beside.slice(0, 1000)])
        )
        again = CLEAR.regress(twice, formula, covariates=also)
        assert np.allclose(found.values, again.values)
        assert found.errors == "sandwich"
        assert (found.standard_errors > again.standard_errors * 1.02).all()
    named = CLEAR.regress(
        reports, "ill ~ x", covariates=BESIDE.append_column("w", [weights]), weights="w"
    )
    assert np.allclose(named.values, found.values)


def test_predictions():
    found = CLEAR.regress(CLEAR.perturb(PEOPLE), "ill ~ age")
    shares = frame().groupby("age", observed=True).y.mean()
    told = found.predict({"age": list(shares.index)})
    assert told.values == pytest.approx(shares.to_numpy(), abs=1e-9)
    assert (told.intervals[:, 0] < told.values).all()
    assert (told.intervals[:, 1] < 1).all()
    with pytest.raises(InputError, match="has no value 'young'"):
        found.predict({"age": ["young"]})


def test_the_summary_looks_like_that_of_statsmodels():
    found = CLEAR.regress(CLEAR.perturb(PEOPLE), "ill ~ age")
    text = found.summary()
    for words in (
        "Dep. Variable:",
        "No. Observations:",
        "P>|z|",
        "[0.025",
        "0.975]",
        "age[T.[40, 60)]",
    ):
        assert words in text
    columns = [
        "term",
        "coefficient",
        "standard_error",
        "z",
        "p_value",
        "lower",
        "upper",
    ]
    assert list(found.to_pandas()) == columns
    assert found.to_dict()["standard_errors_from"] == "information"


@real_data
def test_nigeria():
    """Coefficients and errors of a real survey [Blair, Imai and Zhou 2015, the R
    package rr].
    """
    path = Path(os.environ["SEEPAGE_DATA"]) / "nigeria" / "nigeria.csv.gz"
    data = pd.read_csv(path).dropna()
    data["decades"] = data["cov.age"] / 10
    data["squared"] = data["decades"] ** 2
    found = sp.regress(
        data,
        "rr.q1 ~ cov.asset.index + cov.married + decades + squared + cov.education + "
        "cov.female",
        randomiser={"p": 2 / 3, "p0": 1 / 6, "p1": 1 / 6, "k": 2},
    )
    expected = [-0.3402, 0.0790, -0.2674, -0.3528, 0.0410, -0.0069, -0.5544]
    errors = [0.4929, 0.0404, 0.2414, 0.2637, 0.0271, 0.0447, 0.1627]
    assert found.records == 2423
    assert found.values == pytest.approx(expected, abs=1e-4)
    assert found.standard_errors == pytest.approx(errors, abs=1e-4)
    alone = sp.regress(data, "rr.q1 ~ 1", randomiser=[[5 / 6, 1 / 6], [1 / 6, 5 / 6]])
    assert alone.predict({"x": [1]}).values[0] == pytest.approx(0.2613, abs=1e-4)


def test_numbers_as_categories():
    """With one category for each value a regression has the shares of the groups."""
    rng = np.random.default_rng(5)
    kids = rng.integers(0, 3, 3000)
    bought = rng.integers(0, 2, 3000)
    domain = sp.Domain(
        [sp.Attribute("kids", ("0", "1", "2")), sp.Attribute("buys", ("no", "yes"))]
    )
    data = pa.table({"kids": kids, "buys": np.array(["no", "yes"])[bought]})
    plan = plan_for(sp.count_pairs(data, domain=domain), 40.0)
    reports = plan.perturb(data)
    beside = pa.table({"also": kids})
    line = plan.regress(reports, "buys ~ kids")
    assert line.names == ("Intercept", "kids")
    shares = [bought[kids == number].mean() for number in range(3)]
    for name, covariates in (("kids", None), ("also", beside)):
        found = plan.regress(reports, f"buys ~ C({name})", covariates=covariates)
        assert found.names == ("Intercept", f"{name}[T.1]", f"{name}[T.2]")
        assert found.predict({name: ["0", "1", "2"]}).values == pytest.approx(
            shares, abs=1e-6
        )
        assert found.predict({name: [0, 1, 2]}).values == pytest.approx(
            shares, abs=1e-6
        )


def test_formulas():
    known = ["ill", "age", "sex", "hours-per-week", "a b", "x"]
    variables = {
        "age": Variable(np.array([1.0, 2.0, 3.0])),
        "sex": Variable(np.array([0, 1, 2]), ("d", "f", "m")),
        "hours-per-week": Variable(np.array([40.0, 20.0, 10.0])),
        "x": Variable(np.array([1.0, 2.0, 2.0])),
    }
    for text, expected in (
        ("ill ~ age + sex", ["Intercept", "age", "sex[T.f]", "sex[T.m]"]),
        ("ill~sex+1", ["Intercept", "sex[T.f]", "sex[T.m]"]),
        ("ill ~ 1", ["Intercept"]),
        ("ill ~ age:x", ["Intercept", "age:x"]),
        ("ill ~ hours-per-week + `age`", ["Intercept", "hours-per-week", "age"]),
        (
            "ill ~ age + sex + age:sex",
            [
                "Intercept",
                "age",
                "sex[T.f]",
                "sex[T.m]",
                "age:sex[T.f]",
                "age:sex[T.m]",
            ],
        ),
        ("ill ~ age + age", ["Intercept", "age"]),
    ):
        names, design = parse_formula(text, known).design(variables, 3)
        assert list(names) == expected
        assert design.shape == (3, len(expected))
    assert parse_formula("`a b`[yes] ~ age", known)[1:3] == ("a b", "yes")
    assert parse_formula("ill ~ C(age) + x", known).categories == {"age"}


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("ill", "must be OUTCOME ~ TERMS"),
        ("ill ~ ", "a column is expected at 'the end'"),
        ("ill ~ age +", "a column is expected at 'the end'"),
        ("ill ~ agee", "no column 'agee'; did you mean 'age'"),
        ("il ~ age", "no column 'il'; did you mean 'ill'"),
        ("ill ~ age - sex", "'+' is expected at '- sex'"),
        ("ill ~ age sex", "'+' is expected at 'sex'"),
        ("ill ~ log(age)", "no column 'log'"),
        ("ill ~ 0", "a column is expected at '0'"),
        ("ill ~ age - 1", "'+' is expected at '- 1'"),
        ("ill ~ ill", "must not explain itself"),
        ("job ~ age", "name the one that counts, as in job"),
        ("job[nurze] ~ age", "did you mean 'nurse'"),
        ("ill ~ age*sex", "'+' is expected at '*sex'"),
        ("ill ~ C(age", "no column 'C'"),
    ],
)
def test_mistakes_are_one_line(formula, message):
    with pytest.raises(InputError, match=re.escape(message)):
        CLEAR.regress(CLEAR.perturb(PEOPLE.slice(0, 50), rng=1), formula)


def test_what_cannot_be_estimated_is_said():
    reports = CLEAR.perturb(PEOPLE)
    with pytest.raises(
        InputError, match="covariates must have one row for each of 4,000"
    ):
        CLEAR.regress(reports, "ill ~ x", covariates=BESIDE.slice(1))
    missing = BESIDE.set_column(0, "x", pa.array([None, *[1.0] * 3999]))
    with pytest.raises(InputError, match="column 'x' has 1 missing values"):
        CLEAR.regress(reports, "ill ~ x", covariates=missing)
    with pytest.raises(
        InputError, match="must all be in the reports, or all be unperturbed"
    ):
        CLEAR.regress(reports, "ill ~ x + age", covariates=BESIDE)
    with pytest.raises(InputError, match="the covariates repeat each other"):
        CLEAR.regress(
            reports, "ill ~ x + y", covariates=BESIDE.append_column("y", BESIDE["x"])
        )
    with pytest.raises(InputError, match="which are no numbers themselves"):
        CLEAR.regress(reports, "job ~ age", family="linear")
    with pytest.raises(InputError, match="family must be one of logit, linear"):
        CLEAR.regress(reports, "ill ~ age", family="probit")
    plan = three_forms(PAIRS)
    reports = plan.perturb(PEOPLE, rng=1)
    with pytest.raises(InputError, match="no form asks for both 'job' and 'age'"):
        plan.regress(reports, "job[nurse] ~ age")
    with pytest.raises(InputError, match="randomiser must have the answers of 'ill'"):
        sp.regress(PEOPLE, "ill ~ sex", randomiser=np.full((3, 3), 1 / 3))


def test_frequencies_of_zero_do_not_hide_the_coefficients():
    """Cells that nobody is in have a maximum at 0, which logarithms approach without an
    end.
    """
    draw = np.random.default_rng(0)
    cells = np.arange(16)
    x = cells % 2
    event = cells // 2 % 2 == 1
    given = np.where(event, np.where(x, 0.56, 0.14), np.where(x, 0.44, 0.86))
    p = 0.5 * given * draw.dirichlet([0.3] * 4)[cells // 4]
    forms = []
    for _ in range(3):
        channel = np.exp(2.0 * (draw.random((26, 16)) < 0.5))
        channel /= channel.sum(axis=0)
        counts = draw.multinomial(2_400, channel @ p / (channel @ p).sum()).astype(
            float
        )
        forms.append(FormReports([channel], counts, counts, x, event))
    likelihood = LogitLikelihood(np.array([[1.0, 0.0], [1.0, 1.0]]), forms)
    maximum = maximise(likelihood)
    truth = np.log(0.14 / 0.86), np.log(0.56 / 0.44 * 0.86 / 0.14)
    errors = np.sqrt(np.diag(likelihood.covariances(maximum).information))
    assert (errors < 0.5).all()
    assert (np.abs(maximum.parameters[:2] - truth) < 3 * errors).all()
