"""Means and joint tables as the statistics that a design is for."""

import math

import numpy as np
import pyarrow as pa
import pytest

import seepage as sp
from command import run
from real_data import real_data
from searches import find_design, totals
from seepage._core.errors import InputError
from seepage.designs.report_precision import Precisions
from seepage.designs.want import RIDGE, attribute_scores, mean_rows, parse_want
from seepage.mechanisms.mechanism_registry import mechanism
from seepage.plan.plan_precision import answer_variances
from seepage.workflow.within_limits import plan_of_design
from shaping import realised, shape, shape_for_population

pytestmark = pytest.mark.filterwarnings("ignore:numbers of .* count as the midpoints")

HOURS = sp.Attribute("hours", ("[0, 20)", "[20, 40)", "[40, 80]"), (0, 20, 40, 80))
DOMAIN = sp.Domain(
    [sp.Attribute("sex", ("F", "M")), HOURS, sp.Attribute("a x b", ("0", "1"))]
)


def records(rows=4_000, seed=1):
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, rows)
    hours = np.minimum(2, rng.integers(0, 3, rows) + (sex & (rng.random(rows) < 0.4)))
    return sp.Records(DOMAIN, np.column_stack([sex, hours, rng.integers(0, 2, rows)]))


def adult_hours():
    """Working hours of Adult in ten bins of equal width, with sex."""
    data = sp.dataset("adult")
    options = {**data.table, "bins": {"hours-per-week": "width:10"}}
    options["columns"] = ["hours-per-week", "sex"]
    return sp.Records.from_data(
        data.read(), **{k: v for k, v in options.items() if k != "drop"}
    )


# What is written ----------------------------------------------------------------------


def test_scores_are_midpoints_values_or_given():
    assert attribute_scores(HOURS).tolist() == [10, 30, 60]
    assert attribute_scores(sp.Attribute("rooms", ("1", "2.5"))).tolist() == [1, 2.5]
    found = parse_want(DOMAIN, "mean hours = 5, 25, 50")
    assert found.scores[1].tolist() == [5, 25, 50]
    assert parse_want(
        DOMAIN, ["mean hours", "hours x a x b", ("sex", "hours")]
    ).joint == [
        (1, 2),
        (0, 1),
    ]
    assert parse_want(DOMAIN, "sex x a x b x hours").joint == [(0, 1, 2)]


@pytest.mark.parametrize(
    ("want", "message"),
    [
        (
            ["mean sex"],
            "want must have one number for each of the 2 values of 'sex', which are no",
        ),
        (
            ["mean hours = 1, 2"],
            "want must have one number for each of the 3 values of 'hours'",
        ),
        (["mean hours = 1, 1, 1"], "want must have different numbers for 'hours'"),
        (["mean hour"], "there is no attribute 'hour'; did you mean 'hours'"),
        (["hours"], 'each of want must be "mean A" or "A x B", got \'hours\''),
        (["sex x sex"], "each of want must be different attributes, at least two"),
        ([("sex",)], "each of want must be different attributes, at least two"),
        (["sex x wages"], "there is no attribute 'wages'"),
    ],
)
def test_what_cannot_be_wanted_is_said(want, message):
    with pytest.raises(InputError) as problem:
        sp.design(records(), 1.0, want=want)
    assert message in str(problem.value)


def test_a_mean_of_what_is_not_asked_raises():
    with pytest.raises(
        InputError, match="want must name attributes that are asked, 'hours' is not"
    ):
        sp.design(records(), 1.0, want=["mean hours"], left_out=["hours"])


# Errors -------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_precision_of_a_mean_is_that_of_the_inverted_channel(epsilon):
    people = records()
    rows = mean_rows(np.array([10.0, 30.0, 60.0]))
    channel = mechanism("grr", 3, epsilon).channel()
    shares = people.marginal("hours") / people.records
    estimates = rows @ np.linalg.inv(channel).T
    second = (shares @ channel) @ (estimates**2).sum(axis=0)
    expected = 1 / (second - ((rows @ shares) ** 2).sum())
    precisions = Precisions(people, rows={1: rows})
    assert math.isclose(precisions.single(1, epsilon), expected, rel_tol=1e-9)
    assert math.isclose(
        precisions.of_mechanism(1, "grr", epsilon), expected, rel_tol=1e-9
    )
    grid, table = precisions.tabulate(np.array([4.0, 4.0, 4.0]))
    assert np.isclose(np.interp(epsilon, grid, table[1]), expected, rtol=1e-3)
    assert precisions.single(0, epsilon) == Precisions(people).single(0, epsilon)


def test_mean_and_frequencies_of_two_values_are_one_thing():
    plain, mean = (
        find_design(records(), 1.0, scope="table", want=want, mechanism="grr").errors
        for want in ((), ["mean a x b = 0, 1"])
    )
    assert np.allclose(mean, plain, rtol=5 * RIDGE)


@pytest.mark.parametrize("scope", ["table", "population"])
def test_a_design_for_a_mean_lowers_its_error_and_keeps_the_limits(scope):
    people = records()
    limit = {"sex": 0.3, "*": 1.0}
    plain, found = (
        find_design(people, limit, scope=scope, want=want, seconds=1e4)
        for want in ((), ["mean hours"])
    )
    assert (totals(found) <= found.problem.limits).all()
    plan = plan_of_design(found)
    again = (
        np.array([v.sum() for v in answer_variances(plan).values()]) / people.records
    )
    assert np.allclose(again, found.errors, rtol=0.02)
    deviation = math.sqrt(found.wanted["mean hours"])
    assert math.isclose(deviation, math.sqrt(found.errors[1] / 2) * 50, rel_tol=1e-9)
    assert plan.provenance.settings["want"] == ["mean hours"]
    assert found.errors[1] < 0.9 * plain.errors[1]
    assert "% of its range<" in page_of(plan)


def page_of(plan):
    from seepage.pages.plan_page import plan_page

    return plan_page(plan)


def test_the_command_takes_statistics(tmp_path):
    done = run(
        *(
            "design",
            "survey",
            "--limit",
            "2",
            "--columns",
            "coffee,sleep,age",
            "--scope",
            "table",
        ),
        *(
            "--want",
            "mean age = 26, 45, 65",
            "--want",
            "coffee x sleep",
            "--effort",
            "0.1",
        ),
        "--details",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "mean age" in done.stdout
    assert "coffee x sleep" in done.stdout
    done = run(
        "design", "survey", "--limit", "2", "--want", "mean coffee", cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr.startswith(
        "seepage: --want must have one number for each of the 2 values"
    )


# Numbers ------------------------------------------------------------------------------


def variance_of_mean(made, scores):
    """n times the variance of the mean from one report of a mechanism, at nominal
    frequencies.
    """
    channel = made.mechanism.channel()
    shares = made.nominal
    reports = shares @ channel
    inverse = np.linalg.pinv(channel / np.sqrt(reports)) / np.sqrt(reports)[:, None]
    estimates = inverse @ scores
    assert np.allclose(channel @ estimates, scores, atol=1e-6)
    return float(reports @ estimates**2 - (shares @ scores) ** 2)


def duchi_variance(scores, shares, epsilon):
    """n times the variance of the mean by P(1 | v) linear in v [Duchi, Jordan,
    Wainwright 2018].
    """
    middle = (scores.max() + scores.min()) / 2
    radius = np.ptp(scores) / 2
    size = radius * (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    return size**2 - (shares @ scores - middle) ** 2


@real_data
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_one_mean_is_as_precise_as_that_of_duchi(epsilon):
    people = adult_hours()
    scores = attribute_scores(people.domain["hours-per-week"])
    made = shape(
        people,
        "hours-per-week",
        {"hours-per-week": epsilon},
        rows={0: mean_rows(scores)},
    )
    found = variance_of_mean(made, scores)
    assert found <= 1.05 * duchi_variance(scores, made.nominal, epsilon)
    assert made.mechanism.realised_epsilon <= epsilon


@real_data
@pytest.mark.parametrize("scope", ["table", "population"])
def test_a_mean_within_a_limit_has_a_third_of_the_variance(scope):
    people = adult_hours()
    scores = attribute_scores(people.domain["hours-per-week"])
    limit = {"sex": 0.25, "hours-per-week": 1.0}
    variances = []
    for rows in ({0: mean_rows(scores)}, {}):
        if scope == "table":
            made = shape(people, "hours-per-week", limit, rows=rows)
            assert realised(made, people)["sex"] <= 0.25
        else:
            made, leakages = shape_for_population(
                people, "hours-per-week", limit, rows=rows
            )
            assert leakages["sex"] <= 0.25
        variances.append(variance_of_mean(made, scores))
    assert 3 * variances[0] <= variances[1]


# Estimates ----------------------------------------------------------------------------


def estimated_means(plan, people, name, number, trials, seed=1):
    """Return the mean in the table, and its estimates from people drawn from the
    table.
    """
    rng = np.random.default_rng(seed)
    attribute = people.domain[name]
    scores = attribute_scores(attribute)
    shares = people.weights / people.weights.sum()
    raw = {
        one.name: attribute_scores(one) if one.edges else np.array(one.values)
        for one in people.domain
    }
    found = []
    for _ in range(trials):
        codes = people.codes[rng.choice(len(shares), number, p=shares)]
        table = pa.table(
            {one: values[codes[:, j]] for j, (one, values) in enumerate(raw.items())}
        )
        found.append(
            plan.estimate(plan.perturb(table, rng=int(rng.integers(2**31)))).mean(name)
        )
    truth = people.marginal(name) / people.records @ scores
    return truth, found


def check_coverage(truth, found):
    """The 95 % intervals cover within three standard errors, and the errors are those
    found.
    """
    covered = np.mean([low <= truth <= high for _, _, (low, high) in found])
    assert abs(covered - 0.95) <= 3 * math.sqrt(0.95 * 0.05 / len(found))
    scores = np.array([(mean.value - truth) / mean.standard_error for mean in found])
    assert abs(scores.mean()) < 4 / math.sqrt(len(found))
    assert abs(scores.std() - 1) < 4 / math.sqrt(2 * len(found))


@pytest.mark.parametrize(
    ("options", "seed"),
    [({"left_out": ["a x b"]}, 1), ({"mechanism": "grr"}, 2), ({}, 3)],
)
def test_intervals_of_a_mean_cover_it(options, seed):
    people = records()
    found = find_design(
        people, 1.0, scope="table", want=["mean hours"], effort=0.05, **options
    )
    plan = plan_of_design(found)
    truth, means = estimated_means(plan, people, "hours", 2_000, 100, seed)
    check_coverage(truth, means)
    expected = math.sqrt(found.wanted["mean hours"] * people.records / 2_000)
    assert np.isclose(
        np.mean([mean.standard_error for mean in means]), expected, rtol=0.1
    )
    reports = plan.perturb(
        pa.table({"sex": ["F"], "hours": [10.0], "a x b": ["0"]}), rng=1
    )
    with pytest.raises(
        InputError, match="the plan was not designed for the mean of 'sex'"
    ):
        plan.estimate(reports).mean("sex")


@real_data
@pytest.mark.slow
@pytest.mark.parametrize("number", [2_000, 20_000, 50_000])
@pytest.mark.parametrize("options", [{"mechanism": "grr"}, {"left_out": ["sex"]}, {}])
def test_intervals_of_the_mean_of_adult_cover_it(number, options):
    people = adult_hours()
    limit = {"sex": 0.25, "hours-per-week": 1.0}
    found = find_design(
        people, limit, scope="table", want="mean hours-per-week", **options
    )
    check_coverage(
        *estimated_means(plan_of_design(found), people, "hours-per-week", number, 500)
    )
