"""CSV and its relatives: delimiters, quotes, types, ragged rows, encodings."""

import csv
import gzip
import os

import numpy as np
import pytest
from table_oracle import labels, read, values

from seepage._core.errors import TableError
from seepage.tables import delimited as delimited
from seepage.tables.delimited import find_delimiter
from seepage.tables.scan import open_scan
from seepage.tables.table_options import TableOptions


@pytest.fixture
def file(tmp_path):
    def write(text, name="table.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
        return path

    return write


def raises(data, message, **options):
    with pytest.raises(TableError) as raised:
        read(data, **options)
    assert message in str(raised.value), str(raised.value)
    assert "\n" not in str(raised.value)


RECORDS = {"name": ["Ada", "Bob"], "weight": ["52.5", "80"], "town": ["London", "Ulm"]}


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters_are_detected(file, mark, end):
    rows = [RECORDS.keys(), *zip(*RECORDS.values(), strict=True)]
    text = end.join(mark.join(row) for row in rows)
    assert labels(file(text)) == RECORDS
    assert labels(file(text + end + end)) == RECORDS
    assert labels(file(text), delimiter=mark) == RECORDS


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("a;b\n1,5;2,5\n", ";"),
        ("a, b, c\n1, 2, 3\n", ","),
        ("a\tb\nx y\tz, w\n", "\t"),
        ("name,words\nAda,one two three\nBob,four\n", ","),
        ('a,b\n"x;y;z",2\n"x;y",3\n', ","),
        ("a|b|c\n1|2|3\n", "|"),
        ("single\nvalue\n", ","),
        ("", ","),
        ("a,b,c\n1,2,3\n4,5\n", ","),
    ],
)
def test_delimiters_in_doubt(text, mark):
    assert find_delimiter(text) == mark


def test_quotes(file):
    text = 'a,"b ""x"""\n"one, two","say ""hi"""\n"line\nbreak",""\n'
    assert labels(file(text)) == {
        "a": ["one, two", "line\nbreak"],
        'b "x"': ['say "hi"', "(missing)"],
    }


def test_blanks_around_fields_do_not_count(file):
    assert labels(file("a, b\n 1 , x y \n2,x y\n")) == {
        "a": ["1", "2"],
        "b": ["x y", "x y"],
    }


def test_tab_separated_by_name_and_gzip(file):
    text = "a\tb\n1;2\t3\n"
    assert labels(file(text, "x.tsv")) == {"a": ["1;2"], "b": ["3"]}
    assert labels(file(gzip.compress(text.encode()), "y.tsv.gz")) == {
        "a": ["1;2"],
        "b": ["3"],
    }
    assert labels(file(gzip.compress(b"a,b\n1,2\n"), "z.csv")) == {
        "a": ["1"],
        "b": ["2"],
    }


def test_damaged_gzip(file):
    good = gzip.compress(b"a,b\n" + b"1,2\n" * 100_000)
    raises(file(good[: len(good) // 2], "x.csv.gz"), "x.csv.gz cannot be read as CSV")
    raises(file(b"\x1f\x8bnothing", "y.csv.gz"), "y.csv.gz cannot be read as CSV")


def test_files_without_header(file):
    path = file("39, Male, ?\n40, Female, x\n")
    raises(
        path, "must name the columns, but has the number 39; name them (column_names)"
    )
    options = {"column_names": ["age", "sex", "job"], "missing_markers": ["?"]}
    assert labels(path, **options) == {
        "age": ["39", "40"],
        "sex": ["Male", "Female"],
        "job": ["(missing)", "x"],
    }
    spaced = file("39,Male,?\n\n40,Female,x\n\n")
    assert labels(spaced, **options)["age"] == ["39", "40"]


def test_header_with_empty_lines_before_and_names_left_out(file):
    assert labels(file("\n\n ,b\n1,2\n3,4\n")) == {
        "column 1": ["1", "3"],
        "b": ["2", "4"],
    }
    raises(file("a,b,a\n1,2,3\n"), "has the column 'a' twice")


def test_ragged_rows_name_the_record(file):
    raises(file("a,b,c\n1,2,3\n4,5\n6,7,8\n"), "record 2 of")
    raises(file("a,b,c\n1,2,3\n4,5\n6,7,8\n"), "has 2 fields, but there are 3 columns")
    raises(file("a,b\n1,2\n\n3,4,5\n"), "record 2 of")
    raises(file("sep=;\na;b\n1;2\n3;4;5\n"), "record 2 of")
    raises(file("1,2\n3,4,5\n"), "record 2 of", column_names=["a", "b"])
    secret = file("a,b\n" + "1,2\n" * 300_000 + "secret\n")
    with pytest.raises(TableError, match=r"record 300001 of .* has 1 fields") as raised:
        read(secret)
    assert "secret" not in str(raised.value).replace(str(secret), "")


def test_nothing_but_a_header(file):
    for text in ("a,b\n", "a,b", "a,b\n\n\n"):
        raises(file(text), "the table has no records")
    raises(file("\n\n"), "is empty")


def test_an_empty_line_is_a_record_where_there_is_one_column(file):
    expected = ["x", "(missing)", "y", "(missing)"]
    assert labels(file("a\nx\n\ny\n\n"))["a"] == expected
    assert labels(file("a\r\nx\r\n\r\ny\r\n\r\n"))["a"] == expected
    assert labels(file("x\n\ny\n\n"), column_names=["a"])["a"] == expected
    assert labels(file("\n\na\nx\n\ny\n\n"))["a"] == expected
    assert labels(file("a\n\n"))["a"] == ["(missing)"]
    raises(file("a\n"), "the table has no records")


def test_files_with_other_columns(file, tmp_path):
    file("a,b\n1,2\n", "1.csv")
    file("b;a\n2;1\n", "2.csv")
    assert labels(tmp_path) == {"a": ["1", "1"], "b": ["2", "2"]}
    file("a,c\n1,2\n", "3.csv")
    raises(tmp_path, "3.csv does not have the columns of")
    raises(tmp_path, "'b' is missing here and text there")


def test_encodings(file):
    path = file("name\nJosé\n", encoding="latin-1")
    raises(path, "is not text in the encoding expected; name it (encoding)")
    assert labels(path, encoding="latin-1") == {"name": ["José"]}
    raises(file("José\nx\n", encoding="latin-1"), "name it (encoding)")
    assert labels(file("\ufeffname,b\nJosé,1\n"))["name"] == ["José"]
    assert labels(file("name,b\nJosé,1\n", encoding="utf-16"), encoding="utf-16")[
        "b"
    ] == ["1"]


def test_a_column_means_the_same_whatever_its_first_rows(file, monkeypatch):
    """Blocks of a few records: a late word, fraction or gap changes no earlier
    value.
    """
    monkeypatch.setattr(delimited, "MAX_RECORD_BYTES", 64)
    many = "".join(f"{n % 7},{n % 5}\n" for n in range(400))
    assert values(file("a,b\n" + many + "?,3.5\n")) == {
        "a": ("0", "1", "2", "3", "4", "5", "6", "?"),
        "b": ("0", "1", "2", "3", "3.5", "4"),
    }
    assert values(file("a,b\n" + many + ",NaN\n"))["b"] == (
        "0",
        "1",
        "2",
        "3",
        "4",
        "(missing)",
    )


def test_numbers_with_a_late_word_are_categories(file, monkeypatch):
    monkeypatch.setattr(delimited, "MAX_RECORD_BYTES", 256)
    text = "a\n" + "".join(f"{n % 80}\n" for n in range(400))
    numbers = tuple(str(n) for n in range(80))
    assert len(values(file(text))["a"]) == 10
    assert values(file(text + "?\n"))["a"] == (*numbers, "?")
    assert len(values(file(text + "?\n"), missing_markers=["?"])["a"]) == 11
    raises(file(text + "?\n"), "record 401: column 'a' must be a number", bins={"a": 4})
    raises(
        file(text + "?\n"),
        "record 401: column 'a' must be a number",
        bins={"a": [0, 40, 80]},
    )
    assert values(file(text + "?\n"), bins=[0, 40, 80])["a"] == (*numbers, "?")
    wide = "a\n" + "".join(f"{n}\n" for n in range(1500)) + "N\n"
    raises(file(wide), "if 'N' means missing, say so (missing_markers)")
    assert (
        values(file(wide), missing_markers=["N"], bins="width:2")["a"][-1]
        == "(missing)"
    )


def test_numbers_in_every_notation_are_binned_alike(file):
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 100, 300)
    spelt = [(str(n), f"{n}.0", f" {n} ", f"+{n}", f"{n}e0")[n % 5] for n in numbers]
    plain = file("a\n" + "\n".join(map(str, numbers)) + "\n", "plain.csv")
    varied = file("a\n" + "\n".join(spelt) + "\n", "varied.csv")
    assert labels(plain) == labels(varied)
    assert labels(plain, bins="none") == labels(varied, bins="none")


def test_a_late_surplus_of_numbers_is_binned(file, monkeypatch):
    monkeypatch.setattr(delimited, "MAX_RECORD_BYTES", 512)
    path = file("a,b\n" + "1,x\n" * 500 + "".join(f"{n},y\n" for n in range(60)))
    scan, codes = read(path)
    assert len(codes[0]) == 560
    assert scan.finish()[0]["a"].edges


def test_boolean_columns(file):
    text = "a,b,c\nTrue,false,yes\nFalse,true,no\n"
    assert labels(file(text)) == {
        "a": ["true", "false"],
        "b": ["false", "true"],
        "c": ["yes", "no"],
    }


def test_a_given_domain_reads_fields_by_their_label(file):
    found = read(file("a,b\n2,x\n10,y\n"))[0].finish()[0]
    assert labels(file("b,a\ny,2.0\nx,10\n"), domain=found) == {
        "a": ["2", "10"],
        "b": ["y", "x"],
    }


def test_single_column_and_wide_table(file):
    assert labels(file("word\nx\ny\n")) == {"word": ["x", "y"]}
    names = [f"c{n}" for n in range(500)]
    scan, codes = read(file(",".join(names) + "\n" + ",".join(["1"] * 500) + "\n"))
    assert len(codes) == 500
    assert scan.finish()[0].sizes == (1,) * 500


def test_options_apply_to_folders_of_text_files(file, tmp_path):
    file("1;2\n", "1.csv")
    file("3;4\n", "2.csv")
    options = TableOptions(column_names=["a", "b"], columns=["b"])
    batches = open_scan(tmp_path, options).read(list)
    assert [codes.tolist() for batch in batches for codes in batch.codes] == [[0], [1]]


def test_a_header_of_more_than_256_kb(file):
    names = [f"a rather long name of column {number}" for number in range(12_000)]
    text = ",".join(names) + "\n" + ",".join("x" for _ in names) + "\n"
    assert len(text) > 2**18
    scan = open_scan(file("\n" + text), TableOptions(columns=names[-2:]))
    assert scan.read(lambda batches: sum(len(batch.codes[0]) for batch in batches)) == 1
    blank = file("\r\n" * 2**18 + "a,b\r\n1,2\r\n")
    assert labels(blank) == {"a": ["1"], "b": ["2"]}
    quoted = ",".join(f'"{number}\n{"x" * 90_000}"' for number in range(4))
    assert len(labels(file(quoted + "\n1,2,3,4\n"))) == 4


def test_a_header_that_does_not_end(file, monkeypatch):
    monkeypatch.setattr(delimited, "MAX_RECORD_BYTES", 2**20)
    raises(file("abc," * 2**19), "a line of")
    raises(file('"' + "abc,\n" * 2**19), "field larger than field limit", delimiter=",")


def test_a_pipe_or_device_raises(tmp_path):
    os.mkfifo(tmp_path / "x.csv")
    for path in (tmp_path / "x.csv", "/dev/null"):
        raises(path, f"{path} must be a file or a folder")


@pytest.mark.parametrize("text", ["a\0b,c\nx,1\ny,2\n", "\0,c\nx,1\n"])
def test_a_nul_byte_in_the_header_raises(file, text):
    raises(file(text), "has a NUL byte; if the file is text, name its encoding")
    assert labels(file("a,b\nx\0,1\n"))["a"] == ["x\0"]


@pytest.mark.parametrize("shift", range(-2, 3))
def test_line_ends_inside_quotes_are_kept_at_the_ends_of_blocks(
    file, monkeypatch, shift
):
    """Arrow removes a line feed that begins a block after a carriage return."""
    monkeypatch.setattr(delimited, "MAX_RECORD_BYTES", 1024)
    before = "a,b\n" + "x,1\n" * 200
    value = "z" * (1024 - len(before) - 2 + shift) + "\r\n\r\r\r\nw"
    found = labels(file(f'{before}"{value}",2\n' + "x,1\n" * 500))["a"]
    assert found == ["x"] * 200 + [value] + ["x"] * 500
    ends = file(
        (before + "y" * (1022 - len(before) + shift) + ",1\n").replace("\n", "\r\n")
    )
    assert len(labels(ends)["a"]) == 201


def test_long_fields_are_read_in_every_record(file):
    long = "v" * 200_000
    first = file(f"a,b\n{long},1\nx,2\n", "1.csv")
    later = "x,2\n" * 100_000
    assert labels(first)["a"] == [long, "x"]
    assert labels(file(f"a,b\n{later}{long},1\n", "2.csv"))["a"][-1] == long
    limit = csv.field_size_limit()
    assert labels(file(f"x;{long}\n", "3.csv"), column_names=["a", "b"])["b"] == [long]
    assert csv.field_size_limit() == limit


def test_a_first_line_may_name_the_delimiter(file):
    for end in ("\n", "\r\n"):
        text = end.join(["sep=;", "a;b", "1,5;x", "2,5;y", ""])
        assert labels(file(text)) == {"a": ["1,5", "2,5"], "b": ["x", "y"]}
    raises(file("sep=;\na;b\n1;2\n3;4;5\n"), "record 2 of")


def test_a_ragged_record_that_is_not_utf8(file, capfd):
    path = file(b"a,b\n" + b"1,2\n" * 100_000 + b"sec\xffret,very,much\n")
    raises(path, "record 100001 of")
    assert capfd.readouterr().err == ""
