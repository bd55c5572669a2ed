"""Survey weights: any unit, any type of number, and raked to known totals."""

import warnings

import numpy as np
import pandas as pd
import pytest

import seepage as sp
from plan_examples import counts, people, plan_for
from seepage.collection.weights import checked_weights

PLAN = plan_for(counts(), 1.0, "grr")


@pytest.fixture(scope="module")
def reports():
    return PLAN.perturb(people(400), rng=1)


@pytest.mark.parametrize("unit", [1e-200, 1e-5, 1e155, 1e300])
def test_the_unit_of_weights_changes_nothing(reports, unit):
    shares = np.tile([1.0, 2.0, 3.0, 4.0], 100)
    expected = PLAN.estimate(reports, weights=shares)
    scaled = PLAN.estimate(reports, weights=unit * shares)
    for name, estimate in expected.estimates.items():
        assert scaled[name].frequencies == pytest.approx(estimate.frequencies)
        errors = pytest.approx(estimate.standard_errors)
        assert scaled[name].standard_errors == errors


def test_weights_are_scaled_exactly():
    weights = np.tile([0.1, 0.7, 3.0], 5)
    scaled = checked_weights(weights, 15)
    assert 0.5 <= scaled.max() < 1
    assert (scaled * 4 == weights).all()


def test_one_weight_above_all_others_is_one_person(reports):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SeepageWarning)
        one = PLAN.estimate(reports, weights=[1e155] + [1.0] * 399)
    assert np.isinf(one["sex"].standard_errors).all()


@pytest.mark.parametrize("keys", [(0, 1), (0.0, 1.0), ("0", "1"), (0, "1.0")])
@pytest.mark.parametrize("kind", ["int64", "float64", "Int64", "int8"])
def test_totals_of_numbers_are_named_by_numbers_or_texts(kind, keys):
    data = pd.DataFrame({"a": pd.Series([0, 0, 0, 1]).astype(kind)})
    weights = sp.rake_weights(data, {"a": dict.fromkeys(keys, 0.5)})
    assert weights == pytest.approx([2 / 3, 2 / 3, 2 / 3, 2])


def test_totals_of_booleans():
    data = pd.DataFrame({"a": [True, False, False]})
    for keys in ((True, False), ("True", "False"), ("true", "false")):
        weights = sp.rake_weights(data, {"a": dict(zip(keys, (1, 1), strict=True))})
        assert weights == pytest.approx([1.5, 0.75, 0.75])


@pytest.mark.parametrize("kind", ["int64", "int32", "float64", "Int64"])
def test_weights_are_a_column_of_a_frame_of_reports(reports, kind):
    weights = np.tile([1, 2], 200)
    frame = reports.to_pandas()
    frame["wt"] = pd.Series(weights).astype(kind)
    by_name = PLAN.estimate(frame, weights="wt")
    expected = PLAN.estimate(reports, weights=weights)
    assert by_name["sex"].frequencies.tolist() == expected["sex"].frequencies.tolist()


def test_an_endless_range_is_no_weights(reports):
    with pytest.raises(sp.InputError, match="weights must be"):
        PLAN.estimate(reports, weights=range(10**12))
