"""Means within intervals: scores of the part, their errors, and intervals that
cover.
"""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import seepage as sp
from seepage.channel.domain import Attribute
from seepage.designs.want import attribute_scores
from seepage.tables.interval_scores import with_scores
from seepage.tables.number_summary import NumberSummary

INF = math.inf


def summary(values):
    numbers = NumberSummary()
    array = np.asarray(values, dtype=np.float64)
    numbers.add(array, np.zeros(len(array), dtype=np.uint64))
    return numbers


def scored(edges, values):
    labels = tuple(f"interval {index}" for index in range(len(edges) - 1))
    return with_scores(Attribute("x", labels, tuple(edges)), summary(values))


def test_scores_are_means_to_a_digit_of_their_errors():
    rng = np.random.default_rng(0)
    values = rng.normal(50, 20, 2_000).round(1)
    edges = (-INF, 40, 60, INF)
    attribute = scored(edges, values)
    place = np.digitize(values, edges[1:-1])
    for index in range(3):
        inside = values[place == index]
        error = inside.std(ddof=1) / math.sqrt(len(inside))
        step = 10.0 ** math.floor(math.log10(error))
        assert attribute.scores[index] == pytest.approx(inside.mean(), abs=step / 2)
        assert error <= attribute.score_errors[index] <= 1.15 * error


def test_the_number_of_a_single_person_is_not_published():
    values = [*range(100), 1_000_000]
    alone = scored((-INF, 50, 500, INF), values)
    assert max(alone.scores) < 20_000
    without = scored((-INF, 50, 500, INF), values[:-1])
    assert without.scores[:2] == alone.scores[:2]
    assert alone.score_errors[2] > 50_000


def test_too_few_or_infinite_numbers_have_no_scores():
    assert scored((-INF, 5, INF), range(10)).scores == ()
    assert scored((-INF, 5, INF), [*range(100), INF]).scores == ()
    assert with_scores(Attribute("x", ("a", "b")), summary(range(50))).scores == ()


def test_a_value_alone_is_exact():
    attribute = scored((-INF, 1, 2, INF), np.repeat([0, 1, 2, 3], 50))
    assert attribute.scores == (0.0, 1.0, 2.5)
    assert attribute.score_errors[:2] == (0.0, 0.0)


def test_midpoints_of_integers():
    ages = Attribute("age", ("12 to 14", "15", "16 to 20"), (12, 15, 16, 21))
    assert attribute_scores(ages).tolist() == [13, 15, 18]
    others = Attribute("age", ("[12, 15)", "[15, 21]"), (12, 15, 21))
    assert attribute_scores(others).tolist() == [13.5, 18]


def test_scores_are_one_for_each_answer():
    for scores, errors in (((1.0,), (0.1,)), ((1.0, INF), (0, 0)), ((1, 2), (0, -1))):
        with pytest.raises(sp.InputError, match="a finite score and an error"):
            Attribute("x", ("a", "b"), scores=scores, score_errors=errors)


def skewed(rng, rows):
    """Weights of people: midpoints have no meaning in their open outer intervals."""
    sex = rng.choice(["F", "M"], rows)
    weight = np.exp(rng.normal(4.2, 0.3, rows)) + 5 * (sex == "M")
    return pd.DataFrame({"weight": weight.round(1), "sex": sex})


@pytest.mark.parametrize(
    "samples",
    [pytest.param(20, id="few"), pytest.param(200, id="many", marks=pytest.mark.slow)],
)
def test_intervals_of_a_mean_cover_it(samples):
    """At least as often as chance would allow if they covered in 95 % of samples."""
    rng = np.random.default_rng(1)
    truth = skewed(rng, 1_000_000)["weight"].mean()
    covered = 0
    for seed in range(samples):
        pilot = skewed(rng, 4_000)
        plan = sp.design(
            pilot, 3.0, want="mean weight", shape="never", effort=0.01, rng=seed
        )
        assert len(plan.domain["weight"].scores) == plan.domain["weight"].size
        reports = plan.perturb(skewed(rng, 8_000), rng=seed)
        low, high = plan.estimate(reports).mean("weight").interval
        covered += low <= truth <= high
    assert covered >= binom.ppf(0.001, samples, 0.95)


def test_a_mean_in_a_table_has_the_errors_of_the_scores():
    pilot = skewed(np.random.default_rng(2), 4_000)
    plan = sp.design(pilot, 3.0, want="weight x sex", effort=0.05)
    reports = plan.perturb(skewed(np.random.default_rng(3), 20_000), rng=1)
    table = plan.table(reports, "weight", by="sex")
    weight = plan.domain["weight"]
    own = table.mean("weight")
    fixed = table.mean("weight", scores=weight.scores[::-1])
    given = table.mean("weight", scores=[*weight.scores[:-1], weight.scores[-1] + 1e-9])
    assert own.standard_error > given.standard_error
    assert fixed.value != own.value
    by_sex = table.mean("weight", given="sex")
    assert by_sex["M"].interval[0] < by_sex["M"].value < by_sex["M"].interval[1]
    assert by_sex["M"].value > by_sex["F"].value
