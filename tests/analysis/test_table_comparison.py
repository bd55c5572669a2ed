"""`compare_tables`: distances and understated leakages by hand, and on real tables."""

import json
from html import unescape
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

import seepage as sp
from command import run
from real_data import real_data
from seepage.analysis.matched_tables import matched_tables
from seepage.analysis.table_comparison import ComparisonOptions
from seepage.confidence.row_distances import sampling_radius
from seepage.pages.comparison_page import comparison_heading

NAMES = ["employment", "coffee", "screen"]


@pytest.fixture(scope="module")
def surveys():
    """Two waves of which the second makes coffee depend on employment."""
    first = sp.make_survey(4_000, rng=1).select([*NAMES, "age"])
    second = sp.make_survey(3_000, rng=2).select([*NAMES, "age"])
    coffee = np.array(second["coffee"].to_pylist())
    other = np.array(second["employment"].to_pylist()) == "working"
    coffee[other] = "yes"
    place = second.column_names.index("coffee")
    return first, second.set_column(place, "coffee", pa.array(coffee))


def test_distances_and_leakages_are_those_of_the_counts(surveys):
    first, second = surveys
    comparison = sp.compare_tables(first, second, columns=NAMES, mechanism="grr")
    frame = comparison.to_pandas().set_index(["target", "source"])
    for target, source in permutations(NAMES, 2):
        row = frame.loc[(target, source)]
        tables = [
            counted.table(target, source)
            for counted in (comparison.tables.first, comparison.tables.second)
        ]
        rows = [table / table.sum(axis=1, keepdims=True) for table in tables]
        distances = np.abs(rows[0] - rows[1]).sum(axis=1) / 2
        records = np.minimum(*(table.sum(axis=1) for table in tables))
        kept = records >= comparison.support
        assert row["distance"] == pytest.approx(distances[kept].max())
        assert row["distance_lower"] <= row["distance"] <= row["distance_upper"]
        for name, table in (("first", tables[0]), ("second", tables[1])):
            channel = table / table.sum(axis=1, keepdims=True)
            truth = sp.GRR(table.shape[1], 1.0).leakage(channel).value
            assert row[name] == pytest.approx(truth)
    excess = (frame["second"] - frame["first"]).to_numpy()
    assert np.all(np.diff(excess) <= 1e-12)
    assert comparison.understated == (excess > 0).sum()
    assert bool(frame.loc[("employment", "coffee"), "established"])


def test_its_uncertainty_covers_the_second_table(surveys):
    first, second = surveys
    comparison = sp.compare_tables(first, second, columns=NAMES)
    covering = sp.leakage_matrix(comparison.tables.first, 1.0, uncertainty=comparison)
    assert (covering.values >= comparison.second.values - 1e-12).all()
    assert "distances from" in repr(covering)
    plan = sp.calibrate(
        comparison.tables.first, 2.0, guarantee="sum", uncertainty=comparison
    )
    epsilons = [plan[name].epsilon for name in NAMES]
    there = sp.total_leakage(comparison.tables.second, epsilons, guarantee="sum")
    assert (there.values <= 2.0 + 1e-9).all()


def test_a_table_and_itself():
    survey = sp.make_survey(2_000, rng=1).select(NAMES)
    comparison = sp.compare_tables(survey, survey, limit=2.0)
    assert comparison.understated == 0
    assert not comparison.broken
    assert np.nanmax(comparison.distances[0]) == 0.0
    assert "No pair leaks more" in comparison.verdict


def test_limits_are_those_of_the_largest_budget_on_the_grid(surveys):
    first, second = surveys
    comparison = sp.compare_tables(
        first, second, columns=NAMES, mechanism="grr", limit=2.0
    )
    together, *single = comparison.limits
    assert together.attribute is None
    assert {limit.attribute for limit in single} == set(NAMES)
    for limit in single:
        for epsilon, fits in ((limit.epsilon, True), (limit.epsilon + 2 / 128, False)):
            totals = sp.total_leakage(comparison.tables.first, epsilon, mechanism="grr")
            assert (totals[limit.attribute] <= 2.0) == fits
        there = sp.total_leakage(
            comparison.tables.second, limit.epsilon, mechanism="grr"
        )
        assert limit.total == pytest.approx(there[limit.attribute])
        assert limit.holds == (limit.total <= 2.0)
    assert comparison.broken


def test_domains_are_matched_by_name_and_value():
    first = pa.table({"a": ["x", "y"] * 30, "b": ["u", "u", "v"] * 20, "c": ["1"] * 60})
    second = pa.table({"b": ["u", "w"] * 40, "a": ["x", "x", "y", "z"] * 20})
    tables = matched_tables(
        first, second, ComparisonOptions(epsilon=1.0, columns=["a", "b"])
    )
    assert tables.first.domain.names == ("a", "b")
    assert tables.first.domain["a"].values == ("x", "y", "z")
    assert tables.first.domain["b"].values == ("u", "v", "w")
    assert tables.new_values == {"a": ("z",), "b": ("w",)}
    assert tables.second.table("a", "b").sum() == 80
    with pytest.raises(sp.InputError, match="attributes in common"):
        sp.compare_tables(first.select(["a"]), second.select(["b"]))


def test_numbers_are_binned_as_in_the_first_table():
    rng = np.random.default_rng(0)
    first = pa.table({"n": rng.normal(size=500), "a": ["x", "y"] * 250})
    second = pa.table({"n": rng.normal(3, 2, size=400), "a": ["x", "y"] * 200})
    comparison = sp.compare_tables(first, second, bins=5)
    edges = comparison.domain["n"].edges
    assert len(edges) == 6
    assert np.isinf([edges[0], edges[-1]]).all()
    assert comparison.tables.second.records == 400
    beside = sp.compare_tables(comparison.tables.first, second)
    assert np.array_equal(beside.second.values, comparison.second.values)


def test_the_radius_of_sampling_covers():
    """The empirical distance from the truth exceeds the radius in at most e^-c."""
    rng = np.random.default_rng(1)
    truth = np.array([0.5, 0.3, 0.15, 0.05])
    counts = rng.multinomial(200, truth, 4_000)
    distances = np.abs(counts / 200 - truth).sum(axis=1) / 2
    radius = sampling_radius(np.array([200]), 4, np.log(20))[0]
    assert (distances > radius).mean() <= 0.05
    assert (distances > radius / 3).mean() > 0.05  # a radius of a third would not do


@real_data
def test_lfw_in_place_of_celeba():
    """The paper's last figure takes LFW for CelebA."""
    celeba = sp.load_pairs("celeba")
    lfw = sp.load_pairs("lfw")
    letters = {
        "".join(filter(str.isalnum, name.casefold())): name for name in lfw.domain.names
    }
    shared = {
        name: letters[key]
        for name in celeba.domain.names
        if (key := "".join(filter(str.isalnum, name.casefold()))) in letters
    }
    chosen = celeba.select(list(shared))
    counted = lfw.select(list(shared.values()))
    renamed = sp.PairCounts(chosen.domain, counted.marginals, counted.counts)
    comparison = sp.compare_tables(renamed, chosen, limit=3.0)
    assert len(shared) == 38
    assert comparison.understated / (38 * 37) == pytest.approx(0.488, abs=0.005)
    assert comparison.excess.max() == pytest.approx(0.613, abs=0.001)
    together, *single = comparison.limits
    assert together.holds
    assert sum(not limit.holds for limit in single) == 20
    off = ~np.eye(38, dtype=bool)
    assert np.nanmedian(comparison.distances[0][off]) == pytest.approx(0.161, abs=0.001)


def test_the_page_the_chart_and_the_command(surveys, tmp_path):
    first, second = surveys
    paths = [tmp_path / "first.csv", tmp_path / "second.csv"]
    for table, path in zip(surveys, paths, strict=True):
        table.select(NAMES).to_pandas().to_csv(path, index=False)
    comparison = sp.compare_tables(first, second, columns=NAMES)
    comparison.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert comparison_heading(comparison).sentence in unescape(page)
    assert comparison.verdict[:40] in page
    assert comparison.chart() is not None
    arguments = ["compare", *map(str, paths), "--limit", "2"]
    text = run(*arguments).stdout
    assert "first.csv and second.csv: 4,000 and 3,000 records" in text
    assert "exceeded" in text
    assert run(*arguments, "--fail-if", "limit").returncode == 1
    assert run(*arguments, "--fail-if", "understated").returncode == 1
    same = run("compare", str(paths[0]), str(paths[0]), "--fail-if", "understated")
    assert same.returncode == 0
    content = json.loads(run(*arguments, "--format", "json").stdout)
    assert content["verdict"].startswith(str(comparison.understated))
    wrong = run("compare", *map(str, paths), "--fail-if", "limit")
    assert wrong.returncode == 2
    assert "needs --limit" in wrong.stderr
