"""The same table has the same domain and codes from every engine and file format."""

import datetime
import decimal
import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from table_oracle import final_codes, labels, values

from seepage._core.errors import TableError

N = 400


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    days = [
        datetime.date(2020, 1, 1) + datetime.timedelta(int(d))
        for d in rng.integers(0, 9, N)
    ]
    moments = [
        datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=int(s) * 21_600)
        for s in rng.integers(0, 9, N)
    ]
    words = np.array(["b", "a, c", 'say "x"', "ü"])[rng.integers(0, 4, N)]
    scores = rng.integers(0, 4, N) / 4 + 1
    return pa.table(
        {
            "word": pa.array(words.tolist()),
            "maybe": pa.array(
                [None if w == "b" else w for w in words.tolist()], pa.large_string()
            ),
            "flag": pa.array((rng.random(N) < 0.5).tolist()),
            "small": pa.array(rng.integers(-3, 4, N), pa.int8()),
            "gaps": pa.array(rng.choice([-1000, 5, 70_000], N), pa.int32()),
            "holes": pa.array(
                [None if v == 0 else int(v) for v in rng.integers(0, 5, N)]
            ),
            "float": pa.array(scores),
            "whole": pa.array(np.floor(scores * 3)),
            "binned": pa.array(rng.integers(0, 1000, N)),
            "normal": pa.array(np.round(rng.normal(size=N), 6)),
            "single": pa.array(np.round(rng.normal(size=N), 2), pa.float32()),
            "day": pa.array(days),
            "moment": pa.array(moments, pa.timestamp("us")),
            "price": pa.array(
                [decimal.Decimal(int(c)) / 4 for c in rng.integers(0, 9, N)]
            ),
            "exact": pa.array(
                [
                    decimal.Decimal(f"12345678901234567.0{c}")
                    for c in rng.integers(1, 9, N)
                ]
            ),
            "huge": pa.array(
                [2**64 - 1 - int(n) for n in rng.integers(0, 9, N)], pa.uint64()
            ),
            "nanoseconds": pa.array(2**60 + rng.integers(0, 2**60, N)),
            "berlin": pa.array(
                [int(h) * 3_600_000_000 for h in rng.integers(0, 9, N)],
                pa.timestamp("us", "Europe/Berlin"),
            ),
            "kind": pa.array(words.tolist()).dictionary_encode(),
        }
    )


def _pandas(table, folder):
    return table.to_pandas()


def _polars(table, folder):
    frame = pl.from_arrow(table)
    return frame.with_columns(pl.col("kind").cast(pl.Categorical))


def _polars_lazy(table, folder):
    return _polars(table, folder).lazy()


def _record_batch(table, folder):
    return table.to_batches()[0]


def _chunked(table, folder):
    return pa.concat_tables([table[:7], table[7:100], table[100:]])


def _csv(table, folder):
    plain = table.set_column(
        table.column_names.index("kind"), "kind", table["kind"].cast(pa.string())
    )
    pyarrow.csv.write_csv(plain, folder / "table.csv")
    return folder / "table.csv"


def _csv_pandas(table, folder):
    table.to_pandas().to_csv(folder / "pandas.csv", index=False)
    return folder / "pandas.csv"


def _csv_polars(table, folder):
    _polars(table, folder).write_csv(folder / "polars.csv")
    return folder / "polars.csv"


def _tsv_gzip(table, folder):
    with gzip.open(folder / "table.tsv.gz", "wt", encoding="utf-8", newline="") as file:
        table.to_pandas().to_csv(file, index=False, sep="\t")
    return str(folder / "table.tsv.gz")


def _parquet(table, folder):
    pyarrow.parquet.write_table(table, folder / "table.parquet", row_group_size=90)
    return folder / "table.parquet"


def _parquet_polars(table, folder):
    _polars(table, folder).write_parquet(folder / "polars.parquet")
    return folder / "polars.parquet"


def _feather(table, folder):
    pyarrow.feather.write_feather(table, folder / "table.feather", chunksize=64)
    return folder / "table.feather"


def _folder(table, folder):
    (folder / "parts").mkdir(exist_ok=True)
    for part in range(4):
        pyarrow.parquet.write_table(
            table[part * 100 :][:100], folder / "parts" / f"{part}.parquet"
        )
    (folder / "parts" / "_SUCCESS").touch()
    return folder / "parts"


def _glob(table, folder):
    return str(_folder(table, folder) / "*.parquet")


ENGINES = [
    _pandas,
    _polars,
    _polars_lazy,
    _record_batch,
    _chunked,
    _csv,
    _csv_pandas,
    _csv_polars,
    _tsv_gzip,
    _parquet,
    _parquet_polars,
    _feather,
    _folder,
    _glob,
]


@pytest.mark.parametrize("missing", ["category", "drop"])
@pytest.mark.parametrize(
    "engine", ENGINES, ids=lambda engine: engine.__name__.strip("_")
)
def test_engines_agree(table, tmp_path, engine, missing):
    expected_domain, expected = final_codes(table, missing=missing)
    domain, codes = final_codes(engine(table, tmp_path), missing=missing)
    assert domain == expected_domain, domain.differences(expected_domain)
    for mine, theirs in zip(codes, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_the_values_are_what_they_should_be(table):
    found = labels(table)
    assert found["word"] == table["word"].to_pylist()
    assert found["maybe"] == [w or "(missing)" for w in table["maybe"].to_pylist()]
    assert found["flag"] == [
        "true" if flag else "false" for flag in table["flag"].to_pylist()
    ]
    assert found["small"] == [str(v) for v in table["small"].to_pylist()]
    assert found["gaps"] == [str(v) for v in table["gaps"].to_pylist()]
    assert found["day"] == [day.isoformat() for day in table["day"].to_pylist()]
    assert found["kind"] == found["word"]
    assert set(found["price"]) >= {"0", "0.25", "2"}
    assert set(found["moment"]) >= {"2020-01-01", "2020-01-01T06:00:00"}
    assert found["exact"] == [str(number) for number in table["exact"].to_pylist()]
    assert found["huge"] == [str(number) for number in table["huge"].to_pylist()]
    assert set(found["berlin"]) == {
        f"1970-01-01T0{hour}:00:00+00:00" for hour in range(9)
    }


def test_values_are_in_order(table):
    found = values(table)
    assert found["small"] == tuple(str(v) for v in range(-3, 4))
    assert found["gaps"] == ("-1000", "5", "70000")
    assert found["holes"] == ("1", "2", "3", "4", "(missing)")
    assert found["float"] == ("1", "1.25", "1.5", "1.75")
    assert found["word"] == tuple(sorted(found["word"]))
    assert len(found["binned"]) == 10
    assert found["binned"][0].startswith("[")
    assert found["binned"][-1].endswith("]")


def test_bins_hold_their_numbers(table):
    found = labels(table)
    for name in ("binned", "normal"):
        for number, label in zip(table[name].to_pylist(), found[name], strict=True):
            low, high = (float(part) for part in label.strip("[])").split(", "))
            assert low <= number
            assert number < high or (number == high and label.endswith("]"))


def test_pandas_kinds():
    frame = pd.DataFrame(
        {
            "object": np.array([True, None, False], dtype=object),
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "boolean": pd.array([True, None, False], dtype="boolean"),
            "category": pd.Categorical(
                ["x", "y", None], categories=["unused", "y", "x"]
            ),
            "numbers": pd.Categorical([2, 10, 2], categories=[10, 5, 2]),
            "nan": [1.0, np.nan, 2.0],
            "stamp": pd.to_datetime(
                ["2020-01-02", None, "2020-01-02 03:00"], format="mixed"
            ),
        },
        index=[7, 7, 7],
    )
    assert labels(frame) == {
        "object": ["true", "(missing)", "false"],
        "nullable": ["1", "(missing)", "3"],
        "boolean": ["true", "(missing)", "false"],
        "category": ["x", "y", "(missing)"],
        "numbers": ["2", "10", "2"],
        "nan": ["1", "(missing)", "2"],
        "stamp": ["2020-01-02", "(missing)", "2020-01-02T03:00:00"],
    }
    assert values(frame)["category"] == ("x", "y", "(missing)")
    assert values(frame)["numbers"] == ("2", "10")


def test_nan_is_missing_from_every_engine(tmp_path):
    table = pa.table(
        {"x": [0.5, float("nan"), None, 2.0], "one": pa.array([1, 2, 2, 1])}
    )
    frames = [table, table.to_pandas(), pl.from_arrow(table)]
    files = [writer(table, tmp_path) for writer in (_parquet, _feather)]
    pyarrow.csv.write_csv(table, tmp_path / "arrow.csv")
    pl.from_arrow(table).write_csv(tmp_path / "polars.csv")
    texts = [tmp_path / "arrow.csv", tmp_path / "polars.csv"]
    assert ["nan" in texts[0].read_text(), "NaN" in texts[1].read_text()] == [
        True,
        True,
    ]
    for engine in (*frames, *files, *texts):
        assert labels(engine)["x"] == ["0.5", "(missing)", "(missing)", "2"]
        assert values(engine, bins={"x": 2})["x"][-1] == "(missing)"


@pytest.mark.parametrize("rule", ["none", 3, "width:2", [0, 1, 2]])
def test_a_column_without_any_value_may_have_a_type_or_none(tmp_path, rule):
    typed = pa.table({"x": pa.nulls(3, pa.float64()), "y": [1, 2, 3]})
    untyped = pa.table({"x": pa.nulls(3), "y": [1, 2, 3]})
    expected = values(typed, bins={"x": rule})
    assert expected["x"][-1] == "(missing)"
    pyarrow.csv.write_csv(typed, tmp_path / "x.csv")
    objects = pd.DataFrame({"x": np.full(3, None), "y": [1, 2, 3]})
    for engine in (untyped, objects, pl.from_arrow(untyped), tmp_path / "x.csv"):
        assert values(engine, bins={"x": rule}) == expected


def test_other_arrow_types_raise():
    broken = pa.Array.from_buffers(
        pa.string(),
        2,
        [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xffa")],
    )
    for words in (broken, broken.dictionary_encode()):
        with pytest.raises(
            TableError, match=r"^column 'x' holds text that is not UTF-8$"
        ):
            labels(pa.table({"x": words}))
    with pytest.raises(TableError, match=r"^column 'x' must hold values of one type: "):
        labels(pd.DataFrame({"x": [2**70, 1]}))


def test_polars_kinds():
    frame = pl.DataFrame(
        {
            "enum": pl.Series(["x", "y"], dtype=pl.Enum(["y", "x", "unused"])),
            "decimal": pl.Series(["1.50", "2"]).cast(pl.Decimal(10, 2)),
            "nan": [1.5, float("nan")],
            "null": [None, None],
            "time": [datetime.time(3, 4), datetime.time(3, 4, 5, 600_000)],
            "single": pl.Series([0.1, 0.25], dtype=pl.Float32),
        }
    )
    assert labels(frame) == {
        "enum": ["x", "y"],
        "decimal": ["1.5", "2"],
        "nan": ["1.5", "(missing)"],
        "null": ["(missing)", "(missing)"],
        "time": ["03:04:00", "03:04:05.6"],
        "single": ["0.1", "0.25"],
    }


def test_arrow_kinds():
    table = pa.table(
        {
            "view": pa.array(["a", None, "b"], pa.string_view()),
            "half": pa.array(np.array([0.5, 1, 2], dtype=np.float16)),
            "huge": pa.array([2**63 + 5, 7, None], pa.uint64()),
            "zone": pa.array([0, 3_600_000_000, None], pa.timestamp("us", tz="UTC")),
            "date": pa.array([0, 86_400_000, None], pa.date64()),
            "dictionary": pa.array(["b", "(missing)", None]).dictionary_encode(),
            "nulls in dictionary": pa.DictionaryArray.from_arrays(
                pa.array([0, 1, 2]), pa.array(["x", None, "y"])
            ),
        }
    )
    assert labels(table) == {
        "view": ["a", "(missing)", "b"],
        "half": ["0.5", "1", "2"],
        "huge": [str(2**63 + 5), "7", "(missing)"],
        "zone": ["1970-01-01T00:00:00+00:00", "1970-01-01T01:00:00+00:00", "(missing)"],
        "date": ["1970-01-01", "1970-01-02", "(missing)"],
        "dictionary": ["b", "(missing)", "(missing)"],
        "nulls in dictionary": ["x", "(missing)", "y"],
    }
    assert labels(table[1:]) == {name: part[1:] for name, part in labels(table).items()}
