"""Decisions about columns become a codebook, and the codebook the same decisions."""

import pytest

from seepage._core.errors import InputError
from seepage.app.codebook_choices import choices_from, codebook_of, merged_rows
from seepage.app.column_choices import ROLES, ColumnChoice
from seepage.app.summaries import CheckedColumn
from seepage.tables.codebook_options import CodebookOptions, read_codebook_options
from seepage.tables.codebooks import CodebookRow, read_codebook_rows, write_codebook

CHOICES = {
    "a": ColumnChoice("ask", "scale", scale=("low", "high"), missing=("?",)),
    "b": ColumnChoice("protect", "numbers", bins=(0.0, 18.0, 65.5)),
    "=c": ColumnChoice("never", missing=("=1+1", "refused")),
    "d": ColumnChoice("person"),
    "e": ColumnChoice(
        "ask",
        missing=("?",),
        merges=(("x", "x or y"), ("y", "x or y"), ("z", "z"), ("*", "(other)")),
    ),
}


def column(name):
    return CheckedColumn(
        name=name,
        kind="answer",
        reason="",
        role="ask",
        missing=0.0,
        codes=(),
        beside=(),
        values=(),
        others=0,
        asked=None,
    )


def test_there_and_back(tmp_path):
    path = tmp_path / "codebook.csv"
    write_codebook(path, codebook_of([column(name) for name in CHOICES], CHOICES))
    undecided = {name: ColumnChoice("ask") for name in CHOICES}
    assert choices_from(read_codebook_rows(path), undecided) == CHOICES


def test_a_design_merges_as_the_codebook_says(tmp_path):
    path = tmp_path / "merged.csv"
    merges = {"e": dict(CHOICES["e"].merges)}
    write_codebook(path, merged_rows(merges))
    options = read_codebook_options(path)
    assert options.merges == merges
    assert options == CodebookOptions(merges=merges)


@pytest.mark.parametrize("role", ROLES)
def test_each_role_has_its_word(role):
    (row,) = codebook_of([column("a")], {"a": ColumnChoice(role)})
    assert choices_from([row], {"a": ColumnChoice("never")})["a"].role == role


def test_what_a_codebook_leaves_open_stays():
    rows = [CodebookRow(attribute="a"), CodebookRow(attribute="a", value="x")]
    assert choices_from(rows, {"a": CHOICES["b"]}) == {"a": CHOICES["b"]}


def test_a_column_that_is_not_there_is_one_line():
    with pytest.raises(InputError, match="no column 'wine'"):
        choices_from([CodebookRow(attribute="wine")], {"a": ColumnChoice("ask")})
