"""Codebooks: one format, there and back, safe to open in a spreadsheet."""

import csv
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seepage as sp
from seepage.tables.codebooks import (
    CODEBOOK_COLUMNS,
    CodebookRow,
    codebook_text,
    read_codebook,
    read_codebook_rows,
    read_scales,
    write_codebook,
)

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8)
NAMES = TEXT.filter(str.strip)
NUMBERS = st.none() | st.floats(allow_nan=False)
ROLES = st.sampled_from(["", "ask", "protect", "known", "public", "never", "person"])
KINDS = st.sampled_from(["", "answer", "ordered", "number"])

ROWS = st.builds(
    CodebookRow,
    attribute=NAMES,
    question=TEXT,
    kind=KINDS,
    value=TEXT,
    label=TEXT,
    order=NUMBERS,
    lower=NUMBERS,
    upper=NUMBERS,
    missing=st.booleans(),
    merged_into=TEXT,
    role=ROLES,
    share=st.none() | st.integers(0, 100),
)


@given(rows=st.lists(ROWS, max_size=5))
def test_a_codebook_is_the_same_there_and_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("books") / "codebook.csv"
    write_codebook(path, rows)
    assert read_codebook_rows(path) == rows


HOSTILE = ["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "'=1", "''=1", "-5", "it's", "'"]


def test_no_cell_is_a_formula(tmp_path):
    rows = [CodebookRow(attribute="a", value=text, label=text) for text in HOSTILE]
    path = tmp_path / "codebook.csv"
    write_codebook(path, rows)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    with path.open(newline="", encoding="utf-8-sig") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    dangerous = [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t")]
    assert {float(cell) for cell in dangerous} == {-5.0, 1.0}
    assert read_codebook_rows(path) == rows


def test_the_columns_of_a_codebook():
    assert ",".join(CODEBOOK_COLUMNS) == (
        "attribute,question,kind,value,label,order,lower,upper,missing,merged_into,"
        "role,share"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"attribute,label\na,b\n", "must have the columns attribute, value"),
        (b"", "got none"),
        (b"\xff\xfe", "must be a CSV file in UTF-8"),
        (b'attribute,value\n"a,b\n', "must be a CSV file in UTF-8"),
        (b"attribute,value\n,b\n", "line 2 of .*: each line of a codebook must name"),
        (b"attribute,value,order\na,b,last\n", "order must be a number, got 'last'"),
        (b"attribute,value,lower\na,b,nan\n", "lower must be a number, got 'nan'"),
        (b"attribute,value,missing\na,b,maybe\n", "missing must be yes, no or empty"),
        (b"attribute,value,role\na,,boss\n", "role must be one of"),
        (b"attribute,value,share\na,b,0.5\n", "share must be a whole percent"),
        (b"attribute,value,share\na,b,101\n", "share must be a whole percent"),
    ],
)
def test_a_codebook_that_is_none_raises_one_line(tmp_path, content, message):
    path = tmp_path / "codebook.csv"
    path.write_bytes(content)
    with pytest.raises(sp.InputError, match=message) as raised:
        read_codebook_rows(path)
    assert "\n" not in str(raised.value)


def test_questions_and_labels_of_a_codebook(tmp_path):
    """The text of a question is in `question`, in older ones in `label`."""
    path = tmp_path / "codebook.csv"
    path.write_text(
        "attribute,question,value,label\n"
        "ill,Are you ill?,,\nill,,yes, I am \nage,,,How old are you?\nage,,17,\n"
    )
    assert read_codebook(path) == {
        "ill": {"": "Are you ill?", "yes": "I am"},
        "age": {"": "How old are you?"},
    }


def test_scales_of_a_codebook_leave_out_what_is_missing(tmp_path):
    rows = [
        CodebookRow(attribute="health", value="good", order=2),
        CodebookRow(attribute="health", value="bad", order=-1.5),
        CodebookRow(attribute="health", value="refused", order=9, missing=True),
        CodebookRow(attribute="sex", value="F"),
    ]
    path = tmp_path / "codebook.csv"
    write_codebook(path, rows)
    assert read_scales(path) == {"health": ["bad", "good"]}
    path.write_text(codebook_text([CodebookRow(attribute="sex", value="F")]))
    with pytest.raises(sp.InputError, match="numbers in its column order"):
        read_scales(path)


def test_an_infinite_end_is_kept(tmp_path):
    path = tmp_path / "codebook.csv"
    rows = [CodebookRow(attribute="age", value="< 5", lower=-math.inf, upper=5)]
    write_codebook(path, rows)
    assert read_codebook_rows(path) == rows
