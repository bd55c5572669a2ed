"""The decisions about columns as a codebook, there and back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from seepage._core.errors import InputError
from seepage.app.column_choices import ColumnChoice
from seepage.app.summaries import CheckedColumn
from seepage.tables.codebooks import CodebookRow


def codebook_of(
    columns: Sequence[CheckedColumn], choices: Mapping[str, ColumnChoice]
) -> list[CodebookRow]:
    """Return the lines of a codebook: what each column is, and what is decided."""
    rows = list[CodebookRow]()
    for column in columns:
        choice = choices[column.name]
        rows.append(
            CodebookRow(attribute=column.name, kind=column.kind, role=choice.role)
        )
        rows += _value_rows(column, choice)
    return rows


def _value_rows(column: CheckedColumn, choice: ColumnChoice) -> list[CodebookRow]:
    """Return the lines of a codebook on the intervals or values of a column, as they
    were chosen.
    """
    if choice.reading == "numbers" and not isinstance(choice.bins, str):
        return [
            CodebookRow(
                attribute=column.name,
                value=f"{lower:.15g} to {upper:.15g}",
                lower=lower,
                upper=upper,
            )
            for lower, upper in zip(choice.bins, choice.bins[1:], strict=False)
        ]
    places = {value: place for place, value in enumerate(choice.scale, 1)}
    answers = dict(choice.merges)
    values = list(dict.fromkeys([*choice.scale, *answers, *choice.missing]))
    return [
        CodebookRow(
            attribute=column.name,
            value=value,
            order=places.get(value),
            missing=value in choice.missing,
            merged_into=answers.get(value, ""),
        )
        for value in values
    ]


def merged_rows(merges: Mapping[str, Mapping[str, str]]) -> list[CodebookRow]:
    """Return the lines of a codebook that merge values, and say nothing else."""
    return [
        CodebookRow(attribute=name, value=value, merged_into=answer)
        for name, answers in merges.items()
        for value, answer in answers.items()
    ]


def choices_from(
    rows: Iterable[CodebookRow],
    choices: Mapping[str, ColumnChoice],
) -> dict[str, ColumnChoice]:
    """Return the decisions of a codebook about the columns of a table.

    Columns that it does not name stay as they were decided; one that the table does not
    have raises an InputError.
    """
    decided = dict(choices)
    values = dict[str, list[CodebookRow]]()
    for row in rows:
        if row.attribute not in decided:
            raise InputError(f"the table has no column {row.attribute!r}")
        if row.is_attribute:
            decided[row.attribute] = _with_role(decided[row.attribute], row)
        else:
            values.setdefault(row.attribute, []).append(row)
    for name, of_column in values.items():
        decided[name] = _with_values(decided[name], of_column)
    return decided


def _with_role(choice: ColumnChoice, row: CodebookRow) -> ColumnChoice:
    """Return a choice about a column with the role of a codebook's line; an empty one
    leaves it open.
    """
    if not row.role:
        return choice
    return replace(choice, role=row.role)


def _with_values(choice: ColumnChoice, rows: Sequence[CodebookRow]) -> ColumnChoice:
    """Return a choice about a column with the scale, intervals and missing values of a
    codebook's lines.
    """
    missing = tuple(row.value for row in rows if row.missing)
    choice = replace(choice, merges=_merges(rows))
    ordered = sorted(
        (row.order, row.value)
        for row in rows
        if row.order is not None and not row.missing
    )
    if ordered:
        scale = tuple(value for _, value in ordered)
        return replace(choice, reading="scale", scale=scale, bins="", missing=missing)
    edges = _edges(rows)
    if edges:
        return replace(choice, reading="numbers", bins=edges, scale=(), missing=missing)
    return replace(choice, missing=missing)


def _merges(rows: Sequence[CodebookRow]) -> tuple[tuple[str, str], ...]:
    """Return the values that a codebook's lines merge, with the answer that each is
    coded as; none if none are.
    """
    answers = [row for row in rows if not row.missing]
    if not any(row.merged_into for row in answers):
        return ()
    return tuple((row.value, row.merged_into or row.value) for row in answers)


def _edges(rows: Sequence[CodebookRow]) -> tuple[float, ...]:
    """Return the ends of the intervals in a codebook's lines in their order; none if
    there are none.
    """
    ends = set[float]()
    for row in rows:
        if row.lower is not None and row.upper is not None:
            ends |= {row.lower, row.upper}
    return tuple(sorted(ends))
