"""Reports that went through frames and their files are the reports that were drawn."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import seepage as sp
from plan_examples import counts, people, plan_for

NAMES = ("grr", "oue", "ss", "she", "olh")
AS_TEXT = ("grr",)
"""Mechanisms whose reports are numbers."""


def same(first, second):
    return all(
        first[name].frequencies == pytest.approx(second[name].frequencies, rel=1e-9)
        for name in first.estimates
    )


@pytest.mark.parametrize("name", NAMES)
def test_frames_of_pandas_and_polars(name):
    plan = plan_for(counts(), 1.0, name)
    reports = plan.perturb(people(200), rng=1)
    expected = plan.estimate(reports)
    assert same(plan.estimate(reports.to_pandas()), expected)
    if name != "she":  # Polars has no arrays of integers of this kind
        assert same(plan.estimate(pl.from_arrow(reports)), expected)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "olh"])
def test_a_parquet_file_of_pandas(name, tmp_path):
    plan = plan_for(counts(), 1.0, name)
    reports = plan.perturb(people(200), rng=1)
    file = tmp_path / "reports.parquet"
    reports.to_pandas().assign(wt=1.5).to_parquet(file)
    assert same(plan.estimate(file), plan.estimate(reports))
    assert same(plan.estimate(file, weights="wt"), plan.estimate(reports))


@pytest.mark.parametrize("name", NAMES)
def test_a_csv_file_holds_reports_that_are_numbers(name, tmp_path):
    plan = plan_for(counts(), 1.0, name)
    reports = plan.perturb(people(200), rng=1)
    file = tmp_path / "reports.csv"
    reports.to_pandas().to_csv(file)
    if name in AS_TEXT:
        assert same(plan.estimate(file), plan.estimate(reports))
    else:
        with pytest.raises(sp.InputError, match="write them as Parquet"):
            plan.estimate(file)


def test_forms_whose_columns_are_empty_for_others(tmp_path):
    survey = sp.make_survey(2_000).select(["coffee", "sleep", "screen"])
    plan = sp.design(survey, 1.0, scope="table", largest=1, effort=0.02)
    assert len(plan.forms) > 1
    reports = plan.perturb(survey, rng=1)
    expected = plan.estimate(reports)
    for suffix in ("parquet", "csv"):
        file = tmp_path / f"reports.{suffix}"
        getattr(reports.to_pandas(), f"to_{suffix}")(file)
        assert same(plan.estimate(file), expected)


def test_numbers_that_are_no_reports_raise(tmp_path):
    plan = plan_for(counts(), 1.0, "grr")
    frame = plan.perturb(people(50), rng=1).to_pandas()
    for wrong, rule in ((2.5, "truncated"), (-1, "not in range"), (250, "damaged")):
        file = tmp_path / "wrong.parquet"
        frame.assign(sex=wrong).to_parquet(file)
        with pytest.raises(sp.InputError, match=rule):
            plan.estimate(file)
    with pytest.raises(sp.InputError, match="must have one column of reports 'sex'"):
        plan.estimate(frame.drop(columns="sex"))


def test_a_file_that_describes_other_reports_is_not_converted(tmp_path):
    plan = plan_for(counts(), 1.0, "grr")
    other = plan_for(counts(), 1.1, "grr").perturb(people(50), rng=1)
    with pytest.raises(sp.InputError, match="another plan"):
        plan.estimate(other)
    stripped = other.replace_schema_metadata(None)
    with pytest.raises(sp.InputError, match="must hold reports of"):
        plan.estimate(stripped)
    assert isinstance(stripped, pa.Table)
    assert isinstance(other.to_pandas(), pd.DataFrame)
