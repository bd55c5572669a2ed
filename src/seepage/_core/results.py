"""What every result can do: display, data frames, CSV and JSON; files, whole or not at
all.
"""

import csv
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from numbers import Real
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, Union

from seepage._core import checks
from seepage._core.odds import odds_above, odds_below

if TYPE_CHECKING:
    from numpy.typing import NDArray


Column: TypeAlias = Union[Sequence[Any], "NDArray[Any]"]


SHOWN_ROWS = 20
"""Maximum number of rows that a notebook displays."""


FORMULA = re.compile(
    r"'+[=+\-@\t\r\n]|[=+\-@\t\r\n](?!(?<=[+-])(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\Z)",
    re.IGNORECASE,
)
"""Start of a text that a spreadsheet may evaluate as a formula; signed numbers do not
match."""


class Result:
    """Base of results: a one-line `repr`, a table in long form, and HTML for notebooks.

    A subclass defines `_headline` and `_columns`; the other methods derive from them.
    `to_arrow` (and the Arrow PyCapsule protocol, which pandas, Polars and DuckDB read)
    has full precision.

    Examples
    --------
    >>> class Answer(Result):
    ...     def _headline(self):
    ...         return "Answer(largest 0.5)"
    ...
    ...     def _columns(self):
    ...         return {"attribute": ["sex", "age"], "total": [0.5, math.inf]}
    >>> Answer()
    Answer(largest 0.5)
    >>> Answer().to_arrow().column_names
    ['attribute', 'total']
    >>> print(Answer().to_csv(), end="")
    attribute,total
    sex,0.5
    age,inf
    """

    __slots__: ClassVar[Sequence[str]] = ()

    UPPER_NATS: ClassVar[Sequence[str]] = ()
    """The columns in nats that notebooks show as odds, rounded up."""

    LOWER_NATS: ClassVar[Sequence[str]] = ()
    """The columns in nats that notebooks show as odds, rounded down."""

    def _headline(self) -> str:
        """Return a result's one-line `repr`."""
        raise NotImplementedError

    def _columns(self) -> Mapping[str, Column]:
        """Return a result in long form: columns of equal length by name, None where
        missing.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return a result in one line."""
        return self._headline()

    def to_arrow(self) -> Any:
        """Return any result in long form as a PyArrow table."""
        import pyarrow as pa

        return pa.table(
            {name: pa.array(values) for name, values in self._columns().items()}
        )

    def to_pandas(self) -> Any:
        """Return any result in long form as a pandas frame."""
        checks.need("pandas", "pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    def to_csv(self) -> str:
        """Return any result in long form as CSV text."""
        return csv_text(self._columns())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a result in long form as an Arrow stream, which other frames read."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """Return the first rows of a result as an HTML table."""
        return html_table(self._shown_columns(), self._headline())

    def _shown_columns(self) -> Mapping[str, Column]:
        """Return the columns of a result as notebooks show them: what is told, as
        odds.
        """
        columns = dict(self._columns())
        for names, as_odds in (
            (self.UPPER_NATS, odds_above),
            (self.LOWER_NATS, odds_below),
        ):
            for name in names:
                columns[name] = [_cell_as_odds(cell, as_odds) for cell in columns[name]]
        return columns


def _cell_as_odds(cell: Any, as_odds: Callable[[float], str]) -> str | None:
    """Return a result's cell of nats as odds; None where it is missing."""
    if cell is None:
        return None
    return as_odds(float(cell))


def html_table(columns: Mapping[str, Column], caption: str) -> str:
    """Return the first rows of a result's columns as an HTML table, and the number of
    the others.
    """
    shown = [list(values[:SHOWN_ROWS]) for values in columns.values()]
    sides = [_side(values) for values in shown]
    head = _html_row("th", columns, sides)
    rows = [
        _html_row("td", map(cell_text, cells), sides)
        for cells in zip(*shown, strict=True)
    ]
    table = (
        "<table><caption style='text-align: left; white-space: nowrap'>"
        f"{escape(caption)}</caption>"
        f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
    )
    hidden = max(map(len, columns.values()), default=0) - SHOWN_ROWS
    if hidden > 0:
        table += f"<p>{hidden:,} more rows</p>"
    return table


def _side(values: Iterable[Any]) -> str:
    """Return the alignment of a result's column: numbers to the right."""
    if all(value is None or isinstance(value, Real) for value in values):
        return "right"
    return "left"


def _html_row(tag: str, cells: Iterable[str], sides: Iterable[str]) -> str:
    """Return one row of a result's HTML table."""
    row = list[str]()
    for cell, side in zip(cells, sides, strict=True):
        row.append(f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>')
    return f"<tr>{''.join(row)}</tr>"


def cell_text(value: Any) -> str:
    """Return a cell of a result's table as text, numbers with four significant
    digits.
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def csv_text(columns: Mapping[str, Column]) -> str:
    """Return a result's columns of equal length as CSV text with a header line; None is
    an empty field.

    A spreadsheet evaluates a cell such as ``=HYPERLINK(...)``, and names and values
    come from a table.  So a text that starts with ``=``, ``+``, ``-``, ``@``, a tab or
    a line break is prefixed with a single quote, as OWASP advises ("CSV Injection");
    numbers, and texts that are numbers, are not.  A text with quotes before such a
    character gets one more, so removing one restores every text.  Lines end in a line
    feed; a text with a line break is in double quotes.

    Examples
    --------
    >>> print(csv_text({"value": ["=1+1", "-1", -1.5, "'=", "it's"]}), end="")
    value
    '=1+1
    -1
    -1.5
    ''=
    it's
    """
    lines: list[str] = []
    writer = csv.writer(
        SimpleNamespace(write=lambda line: lines.append(line[:-2] + "\n"))
    )
    writer.writerow(map(_quote_formula, columns))
    writer.writerows(
        map(_quote_formula, row) for row in zip(*columns.values(), strict=True)
    )
    return "".join(lines)


def _quote_formula(cell: Any) -> Any:
    """Return a cell of a result's CSV text that no spreadsheet evaluates as a
    formula.
    """
    if isinstance(cell, str) and FORMULA.match(cell):
        return f"'{cell}"
    return cell


def json_ready(value: Any) -> Any:
    """Return a result as JSON-compatible data: infinities as "inf" and "-inf", NaN as
    null.

    Arrays become lists and NumPy scalars Python numbers, at any depth.

    Examples
    --------
    >>> import numpy as np
    >>> json_ready({"totals": np.array([1.5, -np.inf]), "delta": np.float64(0)})
    {'totals': [1.5, '-inf'], 'delta': 0.0}
    """
    if isinstance(value, Mapping):
        return {key: json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(item) for item in value]
    if hasattr(value, "tolist"):  # an array or a scalar of NumPy
        return json_ready(value.tolist())
    if isinstance(value, str):
        return str(value)  # a `Text` without its parts
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if math.isnan(value):
        return None
    return str(value)


def json_text(content: Any) -> str:
    """Return a result as indented JSON, encoded by `json_ready`."""
    import msgspec

    return msgspec.json.format(
        msgspec.json.encode(json_ready(content)), indent=1
    ).decode()
