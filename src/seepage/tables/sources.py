"""Frames, files, folders and globs as sources of Arrow batches that can be read
repeatedly.

Parquet and Feather files are decoded column by column; frames are converted by Narwhals
(pandas, Polars, PyArrow, ...); text files are in `delimited`.
"""

import csv
import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem
from pyarrow.parquet import ParquetFile

from seepage._core import checks
from seepage._core.errors import Setting, TableError
from seepage.channel.source_files import SourceFile

PathLike: TypeAlias = str | os.PathLike[str]


PARQUET = "Parquet"
"""Name of the format of Parquet files."""


FEATHER = "Feather"
"""Name of the format of Feather and Arrow files."""


TEXT = "CSV"
"""Name of the format of delimited text files."""


FORMAT_BY_SUFFIX = {
    **dict.fromkeys((".parquet", ".pq"), PARQUET),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), FEATHER),
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".data", ".dat"), TEXT),
}
"""Formats by the ending of a file's name."""


SIGNATURES = {b"PAR1": PARQUET, b"ARROW1": FEATHER}
"""Formats by the first bytes of a file."""


OTHER_SUFFIXES = {
    *(".json", ".jsonl", ".ndjson", ".html", ".xml", ".xls", ".xlsx", ".ods", ".zip"),
    *(".pkl", ".npy", ".pairs"),
}
"""Suffixes of files that are not delimited text, though they can often be parsed as
such."""


BATCH_ROWS = 2**17
"""Rows that are read at once."""


STRING_TYPES = "string", "large_string", "string_view"
"""Names of Arrow's types of strings."""


def find_files(
    data: PathLike | Iterable[PathLike],
    formats: Mapping[str, str] = FORMAT_BY_SUFFIX,
    format_of: Callable[[Path], str] | None = None,
) -> tuple[str, list[Path]]:
    """Return the format and the source files of a path: a file, a folder, a glob, or a
    list of paths.

    A folder means the data files directly in it, sorted by name, except names that
    begin with a dot or an underscore.  All files must have one format, none may be
    empty, and none may occur twice, also by links: its records would be counted twice.

    Parameters
    ----------
    data
        The path or paths.
    formats
        The format of each suffix, for the files of a folder; `.gz` is ignored.
    format_of
        Function from a file to its format; `table_format` by default.
    """
    paths = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    try:
        files = list[Path]()
        for path in paths:
            files += _expand(path, formats)
        example_of = {(format_of or table_format)(file): file for file in files}
        check_distinct_files(files)
    except TableError:
        raise
    except UnicodeEncodeError as problem:
        rule = "the name of a file to read must be in UTF-8"
        raise TableError(f"{rule}, got {problem.object!r}") from None
    except (OSError, ValueError, RuntimeError) as reason:
        raise TableError(f"a file cannot be opened: {reason}") from None
    if not files:
        raise TableError("there must be at least one file, got an empty list")
    if len(example_of) > 1:
        formats_seen = " and ".join(
            f"{name} ({file.name})" for name, file in sorted(example_of.items())
        )
        raise TableError(
            f"all files must have one format, got {formats_seen}; choose with a glob"
        )
    return next(iter(example_of)), files


def check_distinct_files(files: Sequence[Path]) -> None:
    """Raise a TableError for a source file that occurs twice, by the same path or by
    links.
    """
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        status = file.stat()
        twin = seen.setdefault((status.st_dev, status.st_ino), file)
        if twin is not file:
            also = "" if twin == file else f", also as {twin}"
            raise TableError(
                f"{file} is given twice{also}; its records would count twice"
            )


def source_files(data: Any) -> tuple[SourceFile, ...]:
    """Return the files that the source of data has, as they are now; none of a
    frame.
    """
    if not isinstance(data, (str, os.PathLike, list, tuple)):
        return ()
    _, files = find_files(data)
    return tuple(SourceFile.of(file) for file in files)


def first_bytes(file: Path) -> bytes:
    """Return the first 8 bytes of a source's regular file; an empty one raises a
    TableError.
    """
    if not file.is_file():
        raise TableError(f"{file} must be a file or a folder")
    with file.open("rb") as stream:
        start = stream.read(8)
    if not start:
        raise TableError(f"{file} is empty")
    return start


def table_format(file: Path) -> str:
    """Return the format of a source's file by its suffix, else by its first bytes."""
    start = first_bytes(file)
    detected = TEXT
    for signature, name in SIGNATURES.items():
        if start.startswith(signature):
            detected = name
    if detected == TEXT and file.suffix.lower() in OTHER_SUFFIXES:
        raise TableError(
            f"{file} must be CSV, TSV, Parquet or Feather, got {file.suffix}; if it is "
            "one of these, rename it with the suffix of its format"
        )
    return FORMAT_BY_SUFFIX.get(suffix_of(file)) or detected


def suffix_of(file: Path) -> str:
    """Return the suffix of a source's file in small letters, that before `.gz` of a
    packed one.
    """
    return Path(file.name.lower().removesuffix(".gz")).suffix


def _expand(place: PathLike, formats: Mapping[str, str]) -> list[Path]:
    """Return the source files of a path: a file, those of a folder, or those that a
    glob matches.
    """
    if not isinstance(place, (str, os.PathLike)):
        raise TableError(f"a list of files must hold paths, got {type(place).__name__}")
    if not os.fspath(place):
        raise TableError("a path must not be empty, got ''; the current folder is '.'")
    path = Path(place).expanduser()
    str(path).encode()  # Arrow opens paths in UTF-8 only
    if path.is_dir():
        return _data_files(path, formats)
    if path.exists():
        return [path]
    if glob.has_magic(str(path)):
        matches = glob.glob(str(path), recursive=True)  # noqa: PTH207
        files = _visible(map(Path, matches))
        if not files:
            raise TableError(f"no file matches {str(place)!r}")
        return files
    siblings = list[str]()
    if path.parent.is_dir():
        siblings = [sibling.name for sibling in path.parent.iterdir()]
    hint = checks.near_miss(path.name, siblings)
    raise TableError(f"there is no file or folder {str(place)!r}{hint}")


def _data_files(folder: Path, formats: Mapping[str, str]) -> list[Path]:
    """Return the source files directly in a folder; one without any raises."""
    visible = _visible(folder.iterdir())
    files = [file for file in visible if suffix_of(file) in formats]
    if not files:
        known = ", ".join(dict.fromkeys(formats.values()))
        raise TableError(
            f"the folder {folder} has no data files ({known}) directly in it; "
            f"a glob such as '{folder}/**/*.parquet' also searches subfolders"
        )
    return files


def _visible(paths: Iterable[Path]) -> list[Path]:
    """Return the source files among paths, sorted, except names with a leading dot or
    underscore.
    """
    files = [path for path in paths if path.is_file()]
    return sorted(file for file in files if not file.name.startswith((".", "_")))


@contextmanager
def read_errors(file: Path, kind: str) -> Iterator[None]:
    """Turn errors of reading a source's file into a TableError of one line that names
    the file.
    """
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError, csv.Error) as reason:
        what = " ".join(str(reason).split())
        if kind == TEXT and ("UTF8" in what or isinstance(reason, UnicodeError)):
            raise TableError(
                f"{file} is not text in the encoding expected; name it (",
                Setting("encoding"),
                "), e.g. 'latin-1'",
            ) from None
        raise TableError(f"{file} cannot be read as {kind}: {what[:200]}") from None


@dataclass(frozen=True)
class Source:
    """A table that can be read repeatedly, one batch at a time.

    Parameters
    ----------
    names
        The column names.
    batches
        Function from some columns to their batches, starting at the first record.
    rows_total
        Number of records, None if unknown before reading.
    fields
        Whether the columns are fields of text files, which have no type.
    frame
        The Narwhals frame that is read; None for files.
    """

    names: tuple[str, ...]
    batches: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    rows_total: int | None = None
    fields: bool = False
    frame: "nw.DataFrame[Any] | None" = None


def columnar_source(
    kind: str, files: Sequence[Path], groups: Sequence[Sequence[int]] | None = None
) -> Source:
    """Return the source of Parquet or Feather files with one schema, a batch decoded
    when it is asked for.

    Strings in Parquet are read dictionary-encoded, as they are stored.  Page checksums
    are verified if a file has them.  Feather has none: each batch is validated, since
    wrong offsets or indices would read out of bounds.  `groups` are the row groups to
    read of each Parquet file, by default all.
    """
    rows_total = 0
    names = ()
    types = list[dict[str, str]]()
    for file in files:
        with read_errors(file, kind):
            schema, rows = _schema_and_rows(file, kind)
            check_holds_records(schema, str(file))
            types.append(dict(zip(schema.names, map(str, schema.types), strict=True)))
        rows_total += rows
        names = names or tuple(schema.names)
        check_same_columns(file, types[-1], files[0], types[0])
    strings = [name for name, type_ in types[0].items() if type_ in STRING_TYPES]

    def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the batches of the source's Parquet or Feather files."""
        for index, file in enumerate(files):
            row_groups = None if groups is None else groups[index]
            with read_errors(file, kind):
                if kind == FEATHER:
                    yield from _read_feather(file, list(columns))
                else:
                    yield from _read_parquet(file, list(columns), strings, row_groups)

    return Source(names, batches, rows_total)


def _schema_and_rows(file: Path, kind: str) -> tuple[pa.Schema, int]:
    """Return the schema and the number of rows of a source's Parquet or Feather
    file.
    """
    if kind == FEATHER:
        dataset = _feather(file)
        return dataset.schema, dataset.count_rows()
    with ParquetFile(file) as parquet:
        return parquet.schema_arrow, parquet.metadata.num_rows


def _read_parquet(
    file: Path, columns: list[str], strings: list[str], groups: Sequence[int] | None
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a source's Parquet file."""
    with ParquetFile(
        file, read_dictionary=strings, pre_buffer=False, page_checksum_verification=True
    ) as parquet:
        for batch in parquet.iter_batches(
            BATCH_ROWS, row_groups=groups, columns=columns
        ):
            yield batch.select(columns)


def _read_feather(file: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a source's Feather file."""
    for batch in _feather(file).to_batches(columns=columns, batch_size=BATCH_ROWS):
        batch.validate(full=True)
        yield batch


def _feather(file: Path) -> ds.Dataset:
    """Return a source's Feather file as an Arrow dataset."""
    return ds.dataset(
        str(file.absolute()), format="feather", filesystem=LocalFileSystem()
    )


def check_same_columns(
    file: Path, columns: Mapping[str, str], first: Path, expected: Mapping[str, str]
) -> None:
    """Raise a TableError for the first column, by name or type, in which two files of a
    source differ.
    """
    for name in (*expected, *columns):
        here = columns.get(name, "missing")
        there = expected.get(name, "missing")
        if here != there:
            raise TableError(
                f"{file} does not have the columns of {first}: {name!r} is {here} here "
                f"and {there} there"
            )


def check_holds_records(schema: pa.Schema, what: str) -> None:
    """Raise a TableError for a source of reports or counts: as records they would
    understate every leakage.
    """
    keys = list[bytes](schema.metadata or ())
    for field in schema:
        keys += field.metadata or ()
    if any(key.startswith(b"seepage") for key in keys):
        raise TableError(
            f"{what} must hold records, got reports or counts that seepage wrote; "
            "reports are read together with their plan",
            parameter=what,
        )
