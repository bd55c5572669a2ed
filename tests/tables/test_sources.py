"""Files, folders and globs; Parquet and Feather that cannot be read."""

import subprocess
import sys

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
from table_oracle import final_codes, labels, read, values

import seepage as sp
from seepage._core.errors import TableError
from seepage.tables import sources as columnar
from seepage.tables.scan import open_scan

TABLE = pa.table({"n": [1, 2, 3], "w": ["a", "b", "a"]})


def raises(data, message, **options):
    with pytest.raises(TableError) as raised:
        read(data, **options)
    assert message in str(raised.value), str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_path_that_does_not_exist(tmp_path):
    (tmp_path / "survey.csv").write_text("a\n1\n")
    with pytest.raises(TableError, match=r"^there is no file or folder"):
        open_scan(tmp_path / "surwey.csv")
    raises(tmp_path / "surwey.csv", "did you mean 'survey.csv'?")
    raises(str(tmp_path / "nowhere" / "x.csv"), "there is no file or folder")
    raises(str(tmp_path / "*.parquet"), "no file matches")
    for impossible in ("x" * 5000, "a\0b"):
        raises(impossible, "")
    raises([], "at least one file")
    raises([tmp_path / "survey.csv", 3], "must hold paths, got int")


def test_folders(tmp_path):
    raises(tmp_path, "has no data files")
    (tmp_path / "notes.md").write_text("no data")
    (tmp_path / ".hidden.csv").write_text("a,b\n9,9\n")
    (tmp_path / "_metadata.csv").write_text("a,b\n9,9\n")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "part.csv").write_text("a,b\n1,2\n")
    raises(tmp_path, "has no data files")
    (tmp_path / "2.csv").write_text("a,b\n3,x\n")
    (tmp_path / "10.csv").write_text("a,b\n1,y\n")
    assert labels(tmp_path) == {"a": ["1", "3"], "b": ["y", "x"]}
    assert labels(str(tmp_path / "**" / "*.csv"))["a"] == ["1", "3", "1"]
    pyarrow.parquet.write_table(TABLE, tmp_path / "x.parquet")
    raises(
        tmp_path,
        "all files must have one format, got CSV (2.csv) and Parquet (x.parquet)",
    )
    assert labels(tmp_path / "x.parquet")["n"] == ["1", "2", "3"]
    assert labels([tmp_path / "2.csv", str(tmp_path / "1*.csv")])["b"] == ["x", "y"]


def test_a_file_given_twice_raises(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n3,x\n")
    raises(
        [tmp_path / "1.csv", str(tmp_path / "1.csv")],
        "1.csv is given twice; its records",
    )
    (tmp_path / "2.csv").symlink_to(tmp_path / "1.csv")
    raises(tmp_path, f"2.csv is given twice, also as {tmp_path}/1.csv")
    (tmp_path / "2.csv").unlink()
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "cycle").symlink_to(tmp_path)
    raises(str(tmp_path / "**" / "*.csv"), "1.csv is given twice, also as")


@pytest.mark.parametrize(
    "path", ["~nosuchuser/x.csv", "a" + chr(0xD800), "a" + chr(0xDCFF)]
)
def test_paths_that_cannot_be_looked_up_raise(path):
    for data in (path, [path]):
        with pytest.raises(sp.SeepageError) as raised:
            sp.count_pairs(data)
        assert len(str(raised.value).splitlines()) == 1
        str(raised.value).encode()


def test_a_path_in_a_folder_that_may_not_be_read(tmp_path, monkeypatch):
    def forbidden(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.stat", forbidden)
    with pytest.raises(
        sp.SeepageError, match="data must be a path that may be read, got"
    ):
        sp.count_pairs(str(tmp_path / "x.csv"))
    raises([tmp_path / "x.csv"], "Permission denied")


def test_a_query_that_fails_raises_in_one_line():
    relation = duckdb.sql(
        "select cast(x as integer) as n from (values ('1'), ('one')) t(x)"
    )
    raises(relation, "the frame cannot be read: Conversion Error")


def test_the_kind_of_an_unknown_ending_is_found_from_its_content(tmp_path):
    pyarrow.parquet.write_table(TABLE, tmp_path / "one.bin")
    pyarrow.feather.write_feather(TABLE, tmp_path / "two.bin")
    (tmp_path / "three.bin").write_text("n,w\n1,a\n2,b\n3,a\n")
    expected = labels(TABLE)
    for name in ("one.bin", "two.bin", "three.bin"):
        assert labels(tmp_path / name) == expected


@pytest.mark.parametrize("name", ["x.json", "x.ndjson", "x.XLSX", "x.pairs"])
def test_files_with_suffixes_of_other_formats_raise(tmp_path, name):
    (tmp_path / name).write_text("a,b\n1,2\n")
    raises(
        tmp_path / name,
        f"must be CSV, TSV, Parquet or Feather, got .{name.split('.')[1]}",
    )
    pa.parquet.write_table(TABLE, tmp_path / name)
    assert values(tmp_path / name)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather"])
def test_empty_files(tmp_path, ending):
    (tmp_path / f"x.{ending}").touch()
    raises(tmp_path / f"x.{ending}", "is empty")


@pytest.mark.parametrize(
    ("ending", "kind"), [("parquet", "Parquet"), ("feather", "Feather")]
)
def test_files_that_are_not_what_their_name_says(tmp_path, ending, kind):
    file = tmp_path / f"broken.{ending}"
    file.write_bytes(b"PAR1 no, not at all PAR1")
    raises(file, f"broken.{ending} cannot be read as {kind}")


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_damaged_and_truncated_files_name_themselves(tmp_path, ending):
    table = pa.table({"n": np.random.default_rng(0).integers(0, 40, 100_000)})
    good = tmp_path / f"1.{ending}"
    bad = tmp_path / f"2.{ending}"
    for file in (good, bad):
        if ending == "parquet":
            pyarrow.parquet.write_table(table, file, use_dictionary=False)
        else:
            pyarrow.feather.write_feather(table, file)
    content = bytearray(bad.read_bytes())
    content[300:1300] = b"\xff" * 1000
    bad.write_bytes(content)
    raises(tmp_path, f"2.{ending} cannot be read as")
    bad.write_bytes(content[:5000])
    raises([good, bad], f"2.{ending} cannot be read as")


def test_a_page_of_parquet_that_does_not_have_its_checksum(tmp_path):
    table = pa.table({"n": pa.array([7] * 500 + [9] * 500, pa.int8())})
    file = tmp_path / "x.parquet"
    for checksums in (True, False):
        pyarrow.parquet.write_table(
            table,
            file,
            compression="none",
            use_dictionary=False,
            write_page_checksum=checksums,
            write_statistics=False,
        )
        content = file.read_bytes()
        source = columnar.columnar_source(columnar.PARQUET, [file])
        assert sum(batch.num_rows for batch in source.batches(["n"])) == 1000
        place = content.index(bytes([7, 0, 0, 0]) * 100)
        file.write_bytes(content[:place] + b"\x06" + content[place + 1 :])
        source = columnar.columnar_source(columnar.PARQUET, [file])
        if checksums:
            with pytest.raises(
                TableError, match=r"x.parquet cannot be read as Parquet: .*CRC"
            ):
                list(source.batches(["n"]))
        else:
            assert sum(batch.num_rows for batch in source.batches(["n"])) == 1000


FLIPPING = """
import sys
import numpy as np
import seepage as sp

good = open(sys.argv[1], "rb").read()
for seed in range(int(sys.argv[2])):
    rng = np.random.default_rng(seed)
    content = bytearray(good)
    for place in rng.integers(0, len(good), rng.integers(1, 4)):
        content[place] = rng.choice([0, 1, 127, 128, 255, content[place] ^ 4])
    with open(sys.argv[1], "wb") as file:
        file.write(content)
    try:
        sp.count_pairs(sys.argv[1])
    except sp.SeepageError as error:
        assert len(str(error).splitlines()) == 1
print("alive")
"""


@pytest.mark.parametrize("times", ["60", pytest.param("400", marks=pytest.mark.slow)])
@pytest.mark.parametrize("words", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_no_damage_of_feather_crashes_the_process(tmp_path, words, times):
    rng = np.random.default_rng(0)
    column = pa.array(rng.choice(["alpha", "beta", "a longer word"], 200)).cast(words)
    table = pa.table({"w": column, "v": rng.choice(["x", "yy"], 200)})
    file = tmp_path / "x.feather"
    pyarrow.feather.write_feather(
        table, file, compression="uncompressed", chunksize=100
    )
    done = subprocess.run(
        [sys.executable, "-c", FLIPPING, str(file), times],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr[-2000:]


def test_a_column_of_feather_whose_name_is_not_utf8(tmp_path):
    file = tmp_path / "x.feather"
    pyarrow.feather.write_feather(pa.table({"name": ["a"]}), file)
    file.write_bytes(file.read_bytes().replace(b"name", b"na\xffe"))
    raises(file, "x.feather cannot be read as Feather: ")


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"n": [1]}, "'w' is missing here and string there"),
        (
            {"n": [1], "w": ["a"], "extra": [1]},
            "'extra' is int64 here and missing there",
        ),
        ({"n": ["1"], "x": [2.0]}, "'n' is string here and int64 there"),
    ],
)
def test_schemas_that_differ(tmp_path, ending, other, message):
    write = (
        pyarrow.parquet.write_table
        if ending == "parquet"
        else pyarrow.feather.write_feather
    )
    write(TABLE, tmp_path / f"1.{ending}")
    write(pa.table(other), tmp_path / f"2.{ending}")
    raises(tmp_path, message)
    raises(tmp_path, f"2.{ending} does not have the columns of")


def test_columns_in_another_order_are_found_by_name(tmp_path):
    pyarrow.parquet.write_table(TABLE, tmp_path / "1.parquet")
    pyarrow.parquet.write_table(TABLE.select(["w", "n"]), tmp_path / "2.parquet")
    assert labels(tmp_path) == {name: part * 2 for name, part in labels(TABLE).items()}


def test_no_records(tmp_path):
    pyarrow.parquet.write_table(TABLE[:0], tmp_path / "1.parquet")
    raises(tmp_path, "the table has no records")
    pyarrow.parquet.write_table(TABLE, tmp_path / "2.parquet")
    assert labels(tmp_path)["n"] == ["1", "2", "3"]


def test_twice_the_same_column_in_parquet(tmp_path):
    pyarrow.parquet.write_table(
        pa.table([[1], [2]], names=["a", "a"]), tmp_path / "x.parquet"
    )
    raises(tmp_path / "x.parquet", "the table has the column 'a' twice")


def test_total_number_of_records(tmp_path):
    pyarrow.parquet.write_table(TABLE, tmp_path / "1.parquet")
    pyarrow.feather.write_feather(TABLE, tmp_path / "1.feather")
    (tmp_path / "1.csv").write_text("n,w\n1,a\n")
    assert open_scan(tmp_path / "1.parquet").source.rows_total == 3
    assert open_scan(tmp_path / "1.feather").source.rows_total == 3
    assert open_scan(TABLE).source.rows_total == 3
    assert open_scan(tmp_path / "1.csv").source.rows_total is None


def test_dictionaries_in_parquet_with_entries_that_never_occur(tmp_path):
    words = pa.DictionaryArray.from_arrays(
        pa.array([0, 2, 2, None], pa.int8()), pa.array(["a", "never", "c"])
    )
    pyarrow.parquet.write_table(pa.table({"w": words}), tmp_path / "x.parquet")
    assert values(tmp_path / "x.parquet") == {"w": ("a", "c", "(missing)")}
    assert labels(tmp_path / "x.parquet")["w"] == ["a", "c", "c", "(missing)"]


def test_each_row_group_has_its_own_dictionary(tmp_path):
    words = [f"w{(7 * n) % 23 + n // 100}" for n in range(1000)]
    table = pa.table({"w": words, "n": range(1000)})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=64)
    assert labels(tmp_path / "x.parquet")["w"] == words


def test_a_large_row_group_is_decoded_in_batches(tmp_path):
    rng = np.random.default_rng(1)
    table = pa.table(
        {"n": rng.integers(0, 9, 300_000), "w": rng.choice(["a", "b"], 300_000)}
    )
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=300_000)
    batches = columnar.columnar_source(
        columnar.PARQUET, [tmp_path / "x.parquet"]
    ).batches(["n"])
    assert max(batch.num_rows for batch in batches) == columnar.BATCH_ROWS
    domain, codes = final_codes(tmp_path / "x.parquet")
    expected = final_codes(table)
    assert domain == expected[0]
    for mine, theirs in zip(codes, expected[1], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_names_with_dots_and_blanks(tmp_path):
    table = pa.table({"a.b": [1, 2], "c d": ["x", "y"], "a": [3, 4]})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    assert labels(tmp_path / "x.parquet") == {
        "a.b": ["1", "2"],
        "c d": ["x", "y"],
        "a": ["3", "4"],
    }
    assert values(tmp_path / "x.parquet", columns=["a"]) == {"a": ("3", "4")}


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_records(tmp_path):
    """30M x 20 records: twice the decoded size of a row group at most, not of the
    table.
    """
    part = pa.table({f"c{i}": np.full(1_000_000, i % 2, np.int8) for i in range(20)})
    rng = np.random.default_rng(0)
    part = part.set_column(0, "c0", [rng.integers(0, 40, 1_000_000).astype(np.int8)])
    with pyarrow.parquet.ParquetWriter(tmp_path / "x.parquet", part.schema) as writer:
        for _ in range(30):
            writer.write_table(part)
    before = pa.total_allocated_bytes()

    def largest(batches):
        return max(pa.total_allocated_bytes() - before for _ in batches)

    most = open_scan(tmp_path / "x.parquet").read(largest)
    assert most < 150e6
