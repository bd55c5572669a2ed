"""Choosing, dropping and renaming columns; invalid options."""

import subprocess
import sys
from encodings.aliases import aliases

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from table_oracle import read, values

from seepage._core.errors import InputError, TableError
from seepage.tables.scan import open_scan
from seepage.tables.table_options import TableOptions

TABLE = pa.table({"age": [1, 2], "sex": ["f", "m"], "smoker": [True, False]})


def names(**options):
    return open_scan(TABLE, TableOptions(**options)).names


def test_choose_and_drop():
    assert names() == ("age", "sex", "smoker")
    assert names(columns=["smoker", "age"]) == ("smoker", "age")
    assert names(drop=["sex"]) == ("age", "smoker")
    assert names(columns=["sex", "age"], drop=["age"]) == ("sex",)


def test_a_domain_has_its_own_bins_whatever_max_values():
    stream, _ = read(
        TABLE, columns=["age", "sex"], bins={"age": [0, 2, 9]}, max_values=2
    )
    domain = stream.finish()[0]
    assert read(TABLE, domain=domain, max_values=2)[0].finish()[0] == domain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["Age"]}, "there is no column 'Age'; did you mean 'age'?"),
        ({"columns": ["height"]}, "there is no column 'height'"),
        ({"drop": ["smokers"]}, "there is no column 'smokers'; did you mean 'smoker'?"),
        ({"bins": {"agee": 4}}, "bins: there is no column 'agee'; did you mean 'age'?"),
        ({"columns": []}, "there is no column left"),
        ({"drop": ["age", "sex", "smoker"]}, "there is no column left"),
        ({"columns": ["age", "age"]}, "the list of columns has the column 'age' twice"),
    ],
)
def test_columns_that_do_not_fit(options, message):
    with pytest.raises(TableError) as raised:
        open_scan(TABLE, TableOptions(**options))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "age"}, "columns must be a sequence of strings, got 'age'"),
        ({"columns": [1]}, "each of columns must be a string, got 1"),
        ({"drop": 3}, "drop must be a sequence of strings, got 3"),
        (
            {"missing": "drpo"},
            "missing must be one of category, drop.*did you mean 'drop'",
        ),
        ({"max_values": 0}, "max_values must be an integer from 1 to 65534"),
        ({"max_values": 70_000}, "max_values must be an integer"),
        ({"delimiter": "ab"}, "delimiter must be one ASCII character"),
        ({"delimiter": ""}, "delimiter must be one ASCII character"),
        (
            {"encoding": "klingon"},
            "encoding must be a text encoding that Python knows, got 'kl",
        ),
        (
            {"encoding": "hex"},
            "encoding must be a text encoding that Python knows, got 'hex'",
        ),
        ({"encoding": "a\0b"}, "encoding must be a text encoding that Python knows"),
        ({"bins": "deciles"}, "bins must be"),
        ({"bins": {"age": [3, 2]}}, "ascending"),
        ({"bins": 2000}, r"bins must be at most max_values \(1,000\), got 2,000"),
        ({"missing_markers": "?"}, "missing_markers must be a sequence of strings"),
    ],
)
def test_invalid_options_raise(options, message):
    with pytest.raises(InputError, match=message):
        TableOptions(**options)


@pytest.mark.parametrize(
    "what", [3, None, {"a": [1]}, "", b"x", object(), np.zeros((2, 2))]
)
def test_data_that_is_no_table_raises(what):
    with pytest.raises(TableError) as raised:
        open_scan(what)
    assert "\n" not in str(raised.value)


def test_invalid_frames_raise():
    twice = pd.DataFrame(np.ones((2, 2)), columns=["a", "a"])
    with pytest.raises(TableError, match=r"a.*2 times|'a' twice"):
        open_scan(twice)
    with pytest.raises(TableError, match="'a'"):
        open_scan(pa.table([[1], [2]], names=["a", "a"]))
    mixed = pd.DataFrame({"m": pd.Series([1, "a"], dtype=object), "n": [1, 2]})
    with pytest.raises(TableError, match="column 'm' must hold values of one type"):
        read(mixed)
    assert values(mixed, drop=["m"]) == {"n": ("1", "2")}
    for frame in (TABLE[:0], pd.DataFrame({"a": []}), pl.DataFrame({"a": []})):
        with pytest.raises(TableError, match="the table has no records"):
            open_scan(frame)


@pytest.mark.parametrize(
    "odd",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([b"x", b"y"]),
        pa.array([1, 2], pa.duration("s")),
    ],
)
def test_columns_of_nested_types_raise(odd):
    table = pa.table({"odd": odd, "n": [1, 2]})
    with pytest.raises(TableError, match=r"column 'odd' must hold text, .*drop it"):
        read(table)
    assert values(table, drop=["odd"]) == {"n": ("1", "2")}


def test_a_column_without_a_name():
    table = pa.table({"": [1, 2], "n": [3, 4]})
    with pytest.raises(TableError, match="a column has no name; name it or drop it"):
        open_scan(table)
    assert open_scan(table, TableOptions(drop=[""])).names == ("n",)


def test_numbers_as_column_names_become_text():
    assert open_scan(pd.DataFrame(np.eye(2))).names == ("0", "1")


def test_importing_the_table_layer_is_cheap():
    script = (
        "import sys, seepage.tables.table_options, seepage.tables.read\n"
        "heavy = {'pyarrow', 'narwhals', 'pandas', 'polars', 'numba'} & "
        "set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name", ["rot13", "base64", "zlib", "undefined", "punycode", 5, b"utf-8"]
)
def test_encodings_that_are_none_of_text(name):
    with pytest.raises(InputError, match=r"^encoding must be a text encoding"):
        TableOptions(encoding=name)


def test_every_text_encoding_of_python_is_one():
    others = {
        "bz2_codec",
        "zlib_codec",
        "hex_codec",
        "uu_codec",
        "base64_codec",
        "quopri_codec",
    }
    for name in sorted(set(aliases.values()) - others - {"rot_13", "mbcs", "oem"}):
        assert TableOptions(encoding=name).encoding == name
