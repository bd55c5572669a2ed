"""Paths, folders and globs to the data files behind them."""

import glob
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from seepage import _checks
from seepage.errors import TableError

__all__ = ["FEATHER", "PARQUET", "TEXT", "PathLike", "find_files", "kind_of"]

PathLike: TypeAlias = str | os.PathLike[str]

PARQUET, FEATHER, TEXT = "Parquet", "Feather", "CSV"

ENDINGS = {
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".feather": FEATHER,
    ".arrow": FEATHER,
    ".ipc": FEATHER,
    ".csv": TEXT,
    ".tsv": TEXT,
    ".tab": TEXT,
    ".txt": TEXT,
    ".data": TEXT,
    ".dat": TEXT,
}
SIGNATURES = {b"PAR1": PARQUET, b"ARROW1": FEATHER}
NO_TABLES = frozenset(
    (".json", ".jsonl", ".html", ".xml", ".xls", ".xlsx", ".ods", ".zip", ".pkl", ".npy", ".pairs")
)
"""Endings of files that are no delimited text, though they would often pass for it."""


def find_files(data: PathLike | Iterable[PathLike]) -> tuple[str, list[Path]]:
    """Return the kind of the data files and the files: of a file, folder, glob or list of them.

    A folder stands for the data files right in it, sorted by name; names that begin with a dot
    or an underscore are ignored.  All files must be of one kind and none may be empty.
    """
    places = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    try:
        files = [file for place in places for file in _expand(place)]
        empty = [file for file in files if file.stat().st_size == 0]
        kinds = {kind_of(file): file for file in files if not empty}
    except TableError:
        raise
    except (OSError, ValueError) as reason:
        raise TableError(f"a file cannot be opened: {reason}") from None
    if not files:
        raise TableError("there must be at least one file, got an empty list")
    if empty:
        raise TableError(f"{empty[0]} is empty")
    if len(kinds) > 1:
        named = " and ".join(f"{kind} ({file.name})" for kind, file in sorted(kinds.items()))
        raise TableError(f"all files must be of one kind, got {named}; choose with a glob")
    return next(iter(kinds)), files


def kind_of(file: Path) -> str:
    """Return what kind of data file this is, by its name or else by its first bytes."""
    known = _kind_by_name(file)
    if known:
        return known
    with file.open("rb") as stream:
        start = stream.read(8)
    found = next((kind for mark, kind in SIGNATURES.items() if start.startswith(mark)), TEXT)
    if found == TEXT and file.suffix.lower() in NO_TABLES:
        raise TableError(
            f"{file} must be CSV, TSV, Parquet or Feather, got {file.suffix}; if it is one of "
            "these, give it the ending of its kind"
        )
    return found


def _kind_by_name(file: Path) -> str | None:
    name = file.name.lower().removesuffix(".gz")
    return ENDINGS.get(Path(name).suffix)


def _expand(place: PathLike) -> list[Path]:
    if not isinstance(place, (str, os.PathLike)):
        raise TableError(f"a list of files must hold paths, got {type(place).__name__}")
    path = Path(place).expanduser()
    if path.is_dir():
        return _in_folder(path)
    if path.exists():
        return [path]
    if glob.has_magic(str(path)):
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))  # noqa: PTH207
        files = [file for file in found if file.is_file() and _visible(file)]
        if not files:
            raise TableError(f"no file matches {str(place)!r}")
        return files
    siblings = [s.name for s in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = _checks.near_miss(path.name, siblings)
    raise TableError(f"there is no file or folder {str(place)!r}{hint}")


def _in_folder(folder: Path) -> list[Path]:
    inside = sorted(file for file in folder.iterdir() if file.is_file() and _visible(file))
    files = [file for file in inside if _kind_by_name(file)]
    if not files:
        raise TableError(
            f"the folder {folder} has no data files (Parquet, Feather, CSV, TSV) right in it; "
            f"a glob such as '{folder}/**/*.parquet' also looks further down"
        )
    return files


def _visible(file: Path) -> bool:
    return not file.name.startswith((".", "_"))
