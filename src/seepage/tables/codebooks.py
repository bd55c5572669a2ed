"""Codebooks: questions, answers, scales and roles of attributes, as one CSV file.

A codebook has one line for each attribute, with an empty `value`, and one for each of
its values:

| column | line of an attribute | line of a value |
| --- | --- | --- |
| attribute | its name | its name |
| question | the text of the question | |
| kind | what it is, as `seepage check` has it | |
| value | empty | the value, as the data have it; `*` for all others |
| label | | the text that is shown for it |
| order | | its place on a scale, a number |
| lower, upper | | the ends of an interval: lower <= x < upper |
| missing | | `yes` if it means that there is no answer |
| merged_into | | the value that it is coded as |
| role | `ask`, `protect`, `known`, `public`, `never`, `person` | |
| share | | the share of people who give it, in whole percent |

A file in UTF-8 with a byte order mark, which spreadsheets open as such; texts that a
spreadsheet would evaluate have a quote before them, see `csv_text`, which is removed
when the file is read.  Older codebooks, with the text of a question as `label` of the
attribute's line, are read as well.
"""

import csv
import io
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Literal, cast, get_args

from seepage._core import checks
from seepage._core.errors import InputError
from seepage._core.files import read_small, write_text
from seepage._core.number_grammar import number_of_text
from seepage._core.results import FORMULA, csv_text

REQUIRED_COLUMNS = ("attribute", "value")
"""The columns that every codebook has."""


BYTE_ORDER_MARK = "\ufeff"
"""The first character of the file, by which spreadsheets know UTF-8."""


Role = Literal["", "ask", "protect", "known", "public", "never", "person"]
"""What is done with an attribute; empty if the tool decides."""


Texts = dict[str, dict[str, str]]
"""What people read: by attribute, the text of each value, and of the question by ""."""


@dataclass(frozen=True, kw_only=True)
class CodebookRow:
    """One line of a codebook, see the module.

    Parameters
    ----------
    attribute
        The name of the attribute.
    value
        One of its values; empty for the line of the attribute itself.
    question, kind, role
        The text of the question, the kind and the role: of an attribute's line.
    label
        The text that is shown for the value.
    order
        Its place on a scale.
    lower, upper
        The ends of its interval.
    missing
        Whether it means that there is no answer.
    merged_into
        The value that it is coded as; empty if it is an answer of its own.
    share
        The share of people who give it, in whole percent.
    """

    attribute: str
    question: str = ""
    kind: str = ""
    value: str = ""
    label: str = ""
    order: float | None = None
    lower: float | None = None
    upper: float | None = None
    missing: bool = False
    merged_into: str = ""
    role: Role = ""
    share: int | None = None

    @property
    def is_attribute(self) -> bool:
        """Whether the line of a codebook is that of an attribute."""
        return not self.value

    @property
    def is_interval(self) -> bool:
        """Whether the line of a codebook states an end of an interval."""
        return self.lower is not None or self.upper is not None

    def __post_init__(self) -> None:
        """Check that a codebook's line names its attribute and has a known role."""
        if not self.attribute:
            raise InputError("each line of a codebook must name its attribute")
        checks.choice(self.role, "role", get_args(Role))


CODEBOOK_COLUMNS = tuple(field.name for field in fields(CodebookRow))
"""The columns, in their order."""


YES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
"""What the column `missing` may have, beside nothing."""


# Files --------------------------------------------------------------------------------


def codebook_text(rows: Iterable[CodebookRow]) -> str:
    """Return a codebook as CSV text.

    Examples
    --------
    >>> print(codebook_text([CodebookRow(attribute="ill", value="yes", share=5)])[1:])
    attribute,question,kind,value,label,order,lower,upper,missing,merged_into,role,share
    ill,,,yes,,,,,,,,5
    <BLANKLINE>
    """
    lines = list(rows)
    columns = {
        name: [_cell(getattr(row, name)) for row in lines] for name in CODEBOOK_COLUMNS
    }
    return BYTE_ORDER_MARK + csv_text(columns)


def _cell(content: str | float | bool | None) -> str:
    """Return a field of a codebook as text: a number in its shortest form, true as
    yes.
    """
    if content is None or content is False:
        return ""
    if content is True:
        return "yes"
    if isinstance(content, str):
        return content
    if math.isfinite(content) and float(content).is_integer():
        return str(int(content))
    return repr(float(content))


def write_codebook(
    path: str | os.PathLike[str], rows: Iterable[CodebookRow], *, private: bool = False
) -> None:
    """Write a codebook to a file, atomically."""
    write_text(path, codebook_text(rows), private=private)


def read_codebook_rows(
    path: str | os.PathLike[str], parameter: str = "codebook"
) -> list[CodebookRow]:
    """Return the lines of a codebook.

    Parameters
    ----------
    path
        The file, with a header line; further columns are ignored.
    parameter
        The parameter that names the file, for messages.
    """
    file = checks.path(path, parameter)
    try:
        text = read_small(file).decode("utf-8-sig")
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (csv.Error, UnicodeDecodeError) as problem:
        raise InputError(f"{file} must be a CSV file in UTF-8: {problem}") from None
    header = [name.strip().lower() for name in (lines[0] if lines else ())]
    missing = [name for name in REQUIRED_COLUMNS if name not in header]
    if missing:
        raise InputError(
            f"{file} must have the columns {', '.join(REQUIRED_COLUMNS)}, "
            f"got {', '.join(header) or 'none'}",
            parameter=parameter,
        )
    rows = list[CodebookRow]()
    for number, line in enumerate(lines[1:], 2):
        if not any(cell.strip() for cell in line):
            continue
        try:
            rows.append(_row(dict(zip(header, line, strict=False))))
        except InputError as problem:
            raise InputError(
                f"line {number} of {file}: {problem}", parameter=parameter
            ) from None
    return rows


def _row(cells: dict[str, str]) -> CodebookRow:
    """Return the line of a codebook with these fields."""
    texts = dict[str, str]()
    for name in CODEBOOK_COLUMNS:
        texts[name] = _without_quote(cells.get(name, ""))
    role = texts["role"].strip().lower()
    return CodebookRow(
        attribute=texts["attribute"],
        question=texts["question"],
        kind=texts["kind"].strip(),
        value=texts["value"],
        label=texts["label"],
        order=_number(texts, "order"),
        lower=_number(texts, "lower"),
        upper=_number(texts, "upper"),
        missing=_flag(texts["missing"]),
        merged_into=texts["merged_into"],
        role=cast(Role, role),
        share=_share(texts["share"]),
    )


def _without_quote(cell: str) -> str:
    """Return a codebook's field without the quote that keeps a spreadsheet from
    evaluating it.
    """
    if cell.startswith("'") and FORMULA.match(cell[1:]):
        return cell[1:]
    return cell


def _number(texts: dict[str, str], name: str) -> float | None:
    """Return the number in a field of a codebook; None for an empty one."""
    text = texts[name].strip()
    if not text:
        return None
    number = number_of_text(text)
    if number is None:
        raise checks.violation(name, "a number", text)
    return number


def _flag(text: str) -> bool:
    """Return whether a field of a codebook says yes."""
    word = text.strip().lower()
    if not word:
        return False
    if word not in YES:
        raise checks.violation("missing", "yes, no or empty", text)
    return YES[word]


def _share(text: str) -> int | None:
    """Return the share in a field of a codebook; None for an empty one."""
    word = text.strip()
    if not word:
        return None
    if not (word.isascii() and word.isdigit() and int(word) <= 100):
        raise checks.violation("share", "a whole percent", text)
    return int(word)


# What codebooks say -------------------------------------------------------------------


def texts_of(rows: Iterable[CodebookRow]) -> Texts:
    """Return the texts of a codebook's lines that are shown, by attribute and value;
    those of questions by "".

    Examples
    --------
    >>> row = CodebookRow(attribute="ill", value="y", label="yes")
    >>> texts_of([CodebookRow(attribute="ill", question="Are you ill?"), row])
    {'ill': {'': 'Are you ill?', 'y': 'yes'}}
    """
    texts: Texts = {}
    for row in rows:
        text = row.label.strip()
        if row.is_attribute:
            text = row.question.strip() or text
        if text:
            texts.setdefault(row.attribute.strip(), {})[row.value.strip()] = text
    return texts


def read_codebook(path: str | os.PathLike[str]) -> Texts:
    """Return the texts of a codebook that are shown, by attribute and value; those of
    questions by "".

    Parameters
    ----------
    path
        The file, see `read_codebook_rows`.
    """
    return texts_of(read_codebook_rows(path, "labels"))


def read_scales(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Return the values in their order of a codebook's attributes with numbers in
    `order`.
    """
    places = dict[str, list[tuple[float, str]]]()
    for row in _values(read_codebook_rows(path, "order")):
        if row.order is not None and not row.missing:
            place = (row.order, row.value.strip())
            places.setdefault(row.attribute.strip(), []).append(place)
    if not places:
        raise InputError(
            f"order must be a codebook with numbers in its column order, {path} has "
            "none",
            parameter="order",
        )
    scales = dict[str, list[str]]()
    for name, values in places.items():
        scales[name] = [value for _, value in sorted(values, key=lambda pair: pair[0])]
    return scales


def _values(rows: Iterable[CodebookRow]) -> Iterator[CodebookRow]:
    """Return the lines of a codebook that are of values, not of attributes."""
    return (row for row in rows if not row.is_attribute)
