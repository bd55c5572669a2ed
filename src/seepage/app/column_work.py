"""The work of the second step: what the columns are, and how they will be asked."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import seepage as sp
from seepage._core.errors import InputError
from seepage._core.progress import Progress
from seepage.app.column_choices import Role
from seepage.app.explored_part import (
    ExploredPart,
    asked_answers,
    coded_part,
    read_explored,
    with_texts_beside,
)
from seepage.app.summaries import AnswerShares, CheckedColumn, CheckSummary
from seepage.channel.domain import MISSING
from seepage.tables.data_check import ColumnCheck
from seepage.tables.fixed_domain import FixedDomain
from seepage.tables.open_source import open_source
from seepage.tables.read import table_of
from seepage.tables.table_options import TableOptions

SHOWN_ANSWERS = 6
"""Answers of a column that its picture shows apart; the others are one."""

SHOWN_VALUES = 40
"""Values of a column that can be decided about one by one."""


def check_columns(
    data: str,
    used: Sequence[str],
    reading: Mapping[str, Any],
    folder: Path,
    *,
    progress: Progress,
) -> CheckSummary:
    """Work out what the columns of a table are, with the answers that will be asked.

    Parameters
    ----------
    data
        The table.
    used
        The columns that were decided to be used; none before anything is decided.
    reading
        The keywords of reading them.
    folder
        The folder of the study.
    progress
        Called with the steps done.
    """
    progress(0, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.DataWarning)  # shown column by column
        check = sp.check(data)
    progress(1, 3)
    part = read_explored(data, _all_names(data), reading)
    progress(2, 3)
    names = used or check.used
    beside = {column.name: column.beside_numbers for column in check}
    completed = with_texts_beside(reading, names, beside)
    fixed, asked = _asked_shares(data, part, names, completed, folder)
    columns = list[CheckedColumn]()
    for column in check:
        values = _values_by_share(part.table[column.name])
        columns.append(
            CheckedColumn(
                name=column.name,
                kind=column.kind,
                reason=_reason(column, fixed),
                role=_proposed_role(column.name, fixed),
                missing=column.missing,
                codes=column.questions,
                beside=column.beside_numbers,
                values=tuple(values[:SHOWN_VALUES]),
                others=max(0, len(values) - SHOWN_VALUES),
                asked=asked.get(column.name),
            )
        )
    progress(3, 3)
    return CheckSummary(
        columns=tuple(columns),
        records=part.rows,
        checked=check.records,
        part=part.table.num_rows,
        people=tuple((person.name, person.reason) for person in check.people),
    )


def reread_column(
    data: str, column: CheckedColumn, keywords: Mapping[str, Any], folder: Path
) -> CheckedColumn:
    """Work out the answers of a column as they are asked under other decisions."""
    names = [column.name]
    beside = {column.name: column.beside}
    reading = with_texts_beside(keywords, [column.name], beside)
    reading["keep"] = (column.name,)
    part = read_explored(data, names, reading)
    _, asked = _asked_shares(data, part, names, reading, folder)
    if column.name not in asked:
        raise InputError(
            f"all answers of {column.name!r} but one are too rare to be asked",
            parameter="answers",
        )
    return replace(column, asked=asked[column.name])


def _proposed_role(name: str, fixed: FixedDomain | None) -> Role:
    """Return the role that is worked out for a column unless somebody decides
    otherwise.
    """
    if fixed is None or name not in fixed.domain.names:
        return "never"
    if name in fixed.protected:
        return "protect"
    return "ask"


def _reason(column: ColumnCheck, fixed: FixedDomain | None) -> str:
    """Return why a column that was worked on is of its kind, or why it is not asked."""
    if fixed is None:
        return column.reason
    if column.name in fixed.protected:
        return "all answers but one are rare, so it is protected and not asked"
    if column.name in fixed.left_out:
        return "all answers but one are too rare to be protected"
    return column.reason


def _all_names(data: str) -> list[str]:
    """Return the names of all columns to work on."""
    origin, keywords = table_of(data, {})
    return list(open_source(origin, TableOptions(**keywords)).names)


def _asked_shares(
    data: str,
    part: ExploredPart,
    names: Sequence[str],
    keywords: Mapping[str, Any],
    folder: Path,
) -> tuple[FixedDomain | None, dict[str, AnswerShares]]:
    """Work out how the answers of columns are fixed, and those of each with their
    shares.
    """
    if not names:
        return None, {}
    fixed = asked_answers(data, names, keywords)
    kept = part._replace(table=part.table.select(fixed.domain.names))
    records = coded_part(kept, fixed, folder)
    shares = dict[str, AnswerShares]()
    for attribute in records.domain:
        counts = records.marginal(attribute.name)
        answers = [
            (value, int(count) / max(records.records, 1))
            for value, count in zip(attribute.values, counts, strict=True)
            if value != MISSING
        ]
        shares[attribute.name] = AnswerShares(
            answers=_shortened(answers, SHOWN_ANSWERS), number=len(answers)
        )
    return fixed, shares


def _values_by_share(column: pa.ChunkedArray) -> list[tuple[str, float]]:
    """Return the values of a column that is worked on with their shares, the commonest
    first.
    """
    counts = pc.value_counts(pc.cast(column.combine_chunks(), pa.string()))
    pairs = zip(
        counts.field("values").to_pylist(),
        counts.field("counts").to_pylist(),
        strict=True,
    )
    present = [(value, count) for value, count in pairs if value is not None]
    ordered = sorted(present, key=lambda pair: (-pair[1], pair[0]))
    return [(value, count / len(column)) for value, count in ordered]


def _shortened(
    shares: Sequence[tuple[str, float]], most: int
) -> tuple[tuple[str, float], ...]:
    """Return the first shares of a column that is worked on, and what remains as
    one.
    """
    if len(shares) <= most:
        return tuple(shares)
    rest = math.fsum(share for _, share in shares[most - 1 :])
    number = len(shares) - most + 1
    return (*shares[: most - 1], (f"{number:,} others", rest))
