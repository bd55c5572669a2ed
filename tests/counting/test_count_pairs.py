"""`count_pairs` from frames and files, and the engines on real data."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import seepage as sp
from kernels import KERNELS, counted_by
from seepage._core.errors import InputError, TableError

real_data = pytest.mark.skipif(
    not os.environ.get("SEEPAGE_DATA"),
    reason="SEEPAGE_DATA does not name the folder of the data",
)


@pytest.fixture
def people():
    generator = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "sex": generator.choice(["F", "M"], 2000),
            "children": generator.integers(0, 5, 2000),
            "town": generator.choice([f"town {i}" for i in range(300)], 2000),
        }
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_crosstab(people, kernel):
    with counted_by(kernel):
        pairs = sp.count_pairs(people)
    for rows, columns in [("sex", "children"), ("town", "sex"), ("children", "town")]:
        expected = pd.crosstab(people[rows], people[columns])
        assert pairs.domain[rows].values == tuple(map(str, expected.index))
        assert pairs.domain[columns].values == tuple(map(str, expected.columns))
        np.testing.assert_array_equal(pairs.table(rows, columns), expected)


def test_files_give_what_the_frame_gives(people, tmp_path):
    pairs = sp.count_pairs(people)
    people.to_csv(tmp_path / "people.csv", index=False)
    people.to_parquet(tmp_path / "people.parquet", row_group_size=333)
    assert sp.count_pairs(tmp_path / "people.csv") == pairs
    assert sp.count_pairs(tmp_path / "people.parquet") == pairs


def test_shards_counted_in_one_domain_merge(people):
    whole = sp.count_pairs(people)
    shards = [
        sp.count_pairs(part, domain=whole.domain) for part in (people[:30], people[30:])
    ]
    assert shards[0].unseen("town")
    assert shards[0] + shards[1] == whole


def test_table_options_are_handed_on(people):
    people.loc[3, "sex"] = None
    pairs = sp.count_pairs(
        people,
        columns=["sex", "children"],
        bins={"children": [0, 2, 5]},
        missing="drop",
    )
    assert pairs.domain.names == ("sex", "children")
    assert pairs.records == 1999
    assert pairs.domain["children"].edges == (0.0, 2.0, 5.0)
    assert sp.count_pairs(people, drop=["town"]).domain.names == ("sex", "children")
    with pytest.raises(TableError, match="town"):
        sp.count_pairs(people, max_values=299)


def test_one_column_has_a_marginal_and_no_pairs():
    pairs = sp.count_pairs(pa.table({"a": ["x", "y", "x"]}))
    assert pairs.marginal("a").tolist() == [2, 1]
    assert not len(pairs.counts)


def test_late_numbers_beyond_few_are_binned(tmp_path):
    """The first batch has few numbers, a later one many: the stream starts again with
    bins.
    """
    early = pa.table({"n": [1, 2] * 50_000})
    late = pa.table({"n": np.arange(1000)})
    with pq.ParquetWriter(tmp_path / "late.parquet", early.schema) as writer:
        for table in (early, early, late):
            writer.write_table(table)
    pairs = sp.count_pairs(tmp_path / "late.parquet", bins={"*": "width:4"})
    assert pairs.domain["n"].size == 4
    assert pairs.records == 201_000


def test_progress_reaches_the_end(people):
    seen = []
    sp.count_pairs(people, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (2000, 2000)


def test_unknown_options_raise(people):
    with pytest.raises(
        InputError, match=r"no option 'delimeter'; did you mean 'delimiter'\?"
    ):
        sp.count_pairs(people, delimeter=";")
    with pytest.raises(
        InputError, match=r"engine must be one of auto, spark, got 'dask'"
    ):
        sp.count_pairs(people, engine="dask")


def test_small_tables_do_not_load_numba():
    script = (
        "import sys, numpy as np, pyarrow as pa, seepage as sp\n"
        "draw = np.random.default_rng(1).integers\n"
        "table = pa.table({str(i): draw(0, 4, 50_000) for i in range(20)})\n"
        "assert sp.count_pairs(table).records == 50_000\n"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


@real_data
@pytest.mark.parametrize("kernel", ["numpy", "numba"])
def test_kernels_agree_with_crosstab_on_adult(kernel):
    path = Path(os.environ["SEEPAGE_DATA"]) / "adult" / "adult.data.gz"
    frame = pd.read_csv(
        path, header=None, sep=", ", engine="python", keep_default_na=False
    )
    frame.columns = [f"c{i}" for i in range(frame.shape[1])]
    frame = frame.drop(columns=["c2"])
    with counted_by(kernel):
        pairs = sp.count_pairs(frame, bins="none")
    assert pairs.records == 32_561
    assert pairs.domain["c0"].size == 73
    for rows, columns in [("c0", "c12"), ("c3", "c13"), ("c9", "c14")]:
        expected = pd.crosstab(frame[rows], frame[columns]).to_numpy()
        np.testing.assert_array_equal(pairs.table(rows, columns), expected)


def test_columns_are_selected_from_counts_and_records(people, tmp_path):
    pairs = sp.count_pairs(people)
    chosen = pairs.select(["town", "sex"])
    pairs.save(tmp_path / "people.pairs")
    for data in (pairs, sp.Records.from_data(people), tmp_path / "people.pairs"):
        assert sp.count_pairs(data) == pairs
        assert sp.count_pairs(data, columns=["town", "sex"]) == chosen
        with pytest.raises(InputError, match=r"bins has no effect: .* counted already"):
            sp.count_pairs(data, bins=4)


def test_a_dataset_goes_by_its_name():
    pairs = sp.count_pairs("survey", drop=["coffee"])
    assert pairs == sp.count_pairs(sp.count_pairs("survey"), drop=["coffee"])
    assert "coffee" not in pairs.domain.names


@pytest.mark.parametrize("count", [sp.count_pairs, sp.Records.from_data])
def test_options_that_do_not_exist_are_named(people, count):
    with pytest.raises(
        InputError, match=r"^there is no option 'bin'; did you mean 'bins'"
    ):
        count(people, bin=4)


@pytest.mark.parametrize("count", [sp.count_pairs, sp.Records.from_data])
def test_reports_and_counts_are_no_records(people, tmp_path, count):
    people = people[["sex", "children"]]
    plan = sp.calibrate(people, 1.0, mechanism="grr", scope="table")
    reports = plan.perturb(people)
    pq.write_table(reports, tmp_path / "reports.parquet")
    feather.write_feather(reports, tmp_path / "reports.feather")
    sp.count_pairs(people).save(tmp_path / "people.pairs")
    for data in (
        reports,
        reports.replace_schema_metadata(None),
        reports.to_batches()[0],
        tmp_path / "reports.parquet",
        [str(tmp_path / "reports.parquet")],
        f"{tmp_path}/*.feather",
        [tmp_path / "people.pairs"],
    ):
        with pytest.raises(
            InputError, match="must hold records, got reports or counts"
        ):
            count(data)
    with pytest.raises(InputError, match="must hold records, got reports or counts"):
        plan.perturb(reports)
