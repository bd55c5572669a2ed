"""What every result can do: display, data frames, CSV and JSON; files, whole or not at
all.
"""

import contextlib
import csv
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from html import escape
from numbers import Real
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any, ClassVar, TypeAlias, Union
from uuid import uuid4

from seepage import _checks
from seepage.errors import InputError, Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the number of steps done and their total, None if unknown."""

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

    def _headline(self) -> str:
        """Return the one-line `repr`."""
        raise NotImplementedError

    def _columns(self) -> Mapping[str, Column]:
        """Return the result in long form: columns of equal length by name, None where
        missing.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._headline()

    def to_arrow(self) -> Any:
        """Return the result in long form as a PyArrow table."""
        import pyarrow as pa

        return pa.table(
            {name: pa.array(values) for name, values in self._columns().items()}
        )

    def to_pandas(self) -> Any:
        """Return the result in long form as a pandas frame."""
        _checks.need("pandas", "pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    def to_csv(self) -> str:
        """Return the result in long form as CSV text."""
        return csv_text(self._columns())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return html_table(self._columns(), self._headline())


def html_table(columns: Mapping[str, Column], caption: str) -> str:
    """Return the first rows of columns as an HTML table, and the number of the others."""
    shown = [list(values[:SHOWN_ROWS]) for values in columns.values()]
    numbers = [
        all(v is None or isinstance(v, Real) for v in values) for values in shown
    ]
    sides = ["right" if is_number else "left" for is_number in numbers]

    def row(tag: str, cells: Iterable[str]) -> str:
        sided = zip(cells, sides, strict=True)
        style = (
            f'<{tag} style="text-align: {side}">{escape(cell)}' for cell, side in sided
        )
        return f"<tr>{''.join(f'{cell}</{tag}>' for cell in style)}</tr>"

    body = "".join(
        row("td", map(cell_text, cells)) for cells in zip(*shown, strict=True)
    )
    hidden = max(map(len, columns.values()), default=0) - SHOWN_ROWS
    return (
        f"<table><caption style='text-align: left; white-space: nowrap'>{escape(caption)}</caption>"
        f"<thead>{row('th', columns)}</thead><tbody>{body}</tbody></table>"
        + (f"<p>{hidden:,} more rows</p>" if hidden > 0 else "")
    )


def cell_text(value: Any) -> str:
    """Return a cell of a table as text, numbers with four significant digits."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def csv_text(columns: Mapping[str, Column]) -> str:
    """Return columns of equal length as CSV text with a header line; None is an empty
    field.

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
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def json_ready(value: Any) -> Any:
    """Return JSON-compatible data: infinities as "inf" and "-inf", NaN as null.

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
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def json_text(content: Any) -> str:
    """Return a value as indented JSON, encoded by `json_ready`."""
    import msgspec

    return msgspec.json.format(
        msgspec.json.encode(json_ready(content)), indent=1
    ).decode()


# Numbers as text, rounded to the safe side --------------------------------------------


def ceiling_text(value: float, decimals: int = 4) -> str:
    """Return a number as text, its shortest decimal rounded up to a number of decimals.

    Examples
    --------
    >>> ceiling_text(1.98761), ceiling_text(1.1, 2), ceiling_text(math.inf)
    ('1.9877', '1.10', 'inf')
    """
    return _rounded_text(value, decimals, ROUND_CEILING)


def floor_text(value: float, decimals: int = 4) -> str:
    """Return a number as text, its shortest decimal rounded down to a number of
    decimals.

    Examples
    --------
    >>> floor_text(1.98769), floor_text(0.29, 2)
    ('1.9876', '0.29')
    """
    return _rounded_text(value, decimals, ROUND_FLOOR)


def _rounded_text(value: float, decimals: int, rounding: str) -> str:
    if not math.isfinite(value):
        return str(float(value))
    exact = Context(prec=400, rounding=rounding)  # the largest float has 309 digits
    return f"{Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), context=exact):f}"


def shortest_above(value: float) -> str:
    """Return a number as text, rounded up to three decimals, without trailing zeros.

    Examples
    --------
    >>> shortest_above(1.99999), shortest_above(0.1234)
    ('2', '0.124')
    """
    text = ceiling_text(value, 3)
    return text.rstrip("0").rstrip(".") if "." in text else text


def delta_text(delta: float, digits: int = 2) -> str:
    """Return ", delta d" rounded up, but for an excess of 1e-9 of it; "" for a delta of
    0.

    Examples
    --------
    >>> delta_text(6.0371e-3), delta_text(1e-5), delta_text(0.0)
    (', delta 0.0061', ', delta 1e-05', '')
    """
    up = Context(prec=digits, rounding=ROUND_CEILING)
    rounded = up.create_decimal(Decimal(repr(float(delta) * (1 - 1e-9))))
    return f", delta {float(rounded):g}" if delta else ""


def lower_text(value: float) -> str:
    """Return a lower bound with two decimals, rounded down; a shortfall of 1e-11 is
    ignored.
    """
    if not math.isfinite(value):
        return "infinitely many"
    return (
        f"{math.floor(100 * value + 1e-9) / 100:.2f}" if value < 1e15 else f"{value:g}"
    )


def upper_text(value: float) -> str:
    """Return an upper bound with two decimals, rounded up; an excess of 1e-11 is
    ignored.
    """
    return f"{math.ceil(100 * value - 1e-9) / 100:.2f}" if value < 1e15 else "infinity"


# Files of our own: written whole, read if they are regular and not too large ----------

MAX_SMALL = 1 << 30
"""Maximum size of the files that are read whole."""

SAME_START = 24
"""Number of first bytes by which a file of a folder is recognised as our own."""


@contextlib.contextmanager
def whole_file(
    path: str | os.PathLike[str], *, private: bool = False
) -> Iterator[IO[bytes]]:
    """Yield a binary file to write to, which replaces `path` atomically at the end of
    the block.

    Parameters
    ----------
    path
        The file to create or replace; a file that is replaced keeps its permissions.
    private
        Whether a new file is for its owner only (mode 0600): it holds counts of people.

    Notes
    -----
    The partial file is a hidden one in the same folder, which is removed if the block raises.  A
    signal that kills the process at once leaves it there; the command line turns SIGTERM into an
    exception.
    """
    final = writable(path)
    partial = final.with_name(f".{final.name[:32]}.{uuid4().hex}")
    try:
        mode = (
            stat.S_IMODE(final.stat().st_mode)
            if final.exists()
            else 0o600
            if private
            else None
        )
        with partial.open("xb") as file:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(final)
    except OSError as problem:
        raise InputError(
            f"cannot write {str(final)!r}: {problem.strerror or problem}"
        ) from None
    finally:
        partial.unlink(missing_ok=True)


def write_text(
    path: str | os.PathLike[str], text: str, *, private: bool = False
) -> None:
    """Write a text file atomically, in UTF-8; see `whole_file`."""
    with whole_file(path, private=private) as file:
        file.write(text.encode())


def write_folder(
    folder: str | os.PathLike[str],
    contents: Mapping[str, bytes],
    what: str,
    *,
    force: bool = False,
) -> list[Path]:
    """Write files into a folder, which is created if it does not exist, and return
    their paths.

    Parameters
    ----------
    folder
        The folder.
    contents
        The files by name.  Those of one name begin with the same `SAME_START` bytes in
        every version.
    what
        What the files are of, for messages.
    force
        Replace files of the same names that begin otherwise: those that we did not
        write.
    """
    target = _checks.path(folder, "folder")
    if not os.fspath(folder):
        raise InputError("folder must be a path, got ''", parameter="folder")
    try:
        for name, content in contents.items():
            file, start = target / name, content[:SAME_START]
            if file.exists() and not (force or file.read_bytes().startswith(start)):
                raise InputError(
                    f"{str(file)!r} exists and is no file of {what}; use a new folder, or replace "
                    "it (",
                    Setting("force"),
                    ")",
                )
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {str(target)!r}: {error.strerror}"
        ) from None
    for name, content in contents.items():
        with whole_file(target / name) as written:
            written.write(content)
    return [target / name for name in contents]


def read_small(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a plan, result, key or codebook.

    A device, a pipe or a file above `MAX_SMALL` raises an InputError: it would fill the
    memory.

    Examples
    --------
    >>> read_small(".")
    Traceback (most recent call last):
    seepage.errors.InputError: . cannot be read: it is not a regular file of at most 1,024 MB
    """
    try:
        status = Path(path).stat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_SMALL:
            return Path(path).read_bytes()
        reason = f"it is not a regular file of at most {MAX_SMALL >> 20:,} MB"
    except OSError as problem:
        reason = str(problem.strerror)
    raise InputError(f"{path} cannot be read: {reason}")


def writable(path: str | os.PathLike[str], what: str = "the output") -> Path:
    """Return the path of an output file; one that cannot be written raises an
    InputError.

    A device, a pipe or a socket raises too: it would be replaced, not written to.

    Parameters
    ----------
    path
        The file to create or replace.
    what
        The name of the argument, for messages.

    Examples
    --------
    >>> writable(".")
    Traceback (most recent call last):
        ...
    seepage.errors.InputError: the output must be a file, got '.'
    """
    final = _checks.path(path, what)
    try:
        special = final.exists() and not final.is_file()
    except OSError as problem:
        raise InputError(f"cannot write {str(final)!r}: {problem.strerror}") from None
    if not final.name or special:
        raise InputError(f"{what} must be a file, got {os.fspath(path)!r}")
    if not final.parent.is_dir():
        raise InputError(
            f"the folder of {what} must exist, there is no folder {str(final.parent)!r}"
        )
    return final
