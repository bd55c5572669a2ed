"""Files that commands read and write, checked before any work is done."""

import os
import re
from pathlib import Path
from typing import Any

import click

from seepage._core.errors import InputError, TableError
from seepage._core.files import writable


def option_name(option: click.Parameter) -> str:
    """Return the name of a file's option in messages, the first long one; an argument
    in capitals.
    """
    long = (name for name in option.opts if name.startswith("--"))
    return next(long, str(option.name).upper())


class OutputFile(click.Path):
    """Type of an option that names a file to write, see `writable`; its folder must be
    writable.
    """

    def __init__(self) -> None:
        """Make the type of an argument that is a file to write."""
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> str:
        """Return the path of an output file if it can be written there."""
        path = writable(value, option_name(param))
        if not os.access(path.parent, os.W_OK):
            raise InputError(f"cannot write {value!r}: its folder does not permit it")
        return str(value)


class PictureFile(OutputFile):
    """Type of an option that names a picture to write; its ending must be known."""

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> str:
        """Return the path of an output file if a picture can be written there."""
        from seepage.charts.chart_files import chart_ending

        path = super().convert(value, param, ctx)
        chart_ending(Path(path))
        return path


class OutputFolder(click.Path):
    """Type of an option that names a folder to write to, which need not exist."""

    def __init__(self) -> None:
        """Make the type of an argument that is a folder to write."""
        super().__init__(file_okay=False)

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> str:
        """Return the path of an output folder unless it is empty, which would be the
        current folder.
        """
        if not value:
            raise InputError(f"{option_name(param)} must be a folder, got ''")
        return str(super().convert(value, param, ctx))


OUTPUT_MARKERS = re.compile(
    rb"seepage|\b(leakage|cpl|plug_in|standard.error|undershoot|tcpl|backward)\b"
    rb"|records, \d+ attributes|joint frequencies"
)
"""Words in the first line of files that seepage writes; unlikely in the first line of a
dataset."""


PICTURE_SIGNATURES = {b"\x89PNG": ".png", b"%PDF": ".pdf", b"<svg": ".svg"}
"""Endings of pictures by the first bytes of their files."""


REPORT_LINE = re.compile(rb'\{"plan":"[0-9a-f]{64}","id":')
"""The start of exported lines of reports."""


SCANNED_BYTES = 1 << 16
"""Bytes at the start and end of a file that are searched for signs of an output."""


def is_replaceable(path: Path) -> bool:
    """Return whether an output file may be written: the path does not exist, is empty,
    or looks like an earlier output.

    Our Parquet (in its footer), JSON and HTML contain "seepage"; CSV and text are
    recognised by the words of their first line, lines of reports by their first fields,
    pictures by their signature.
    """
    if not path.is_file() or not path.stat().st_size:
        return True
    with path.open("rb") as file:
        head = file.read(SCANNED_BYTES)
        file.seek(-min(8, path.stat().st_size), os.SEEK_END)
        footer = (
            int.from_bytes(file.read(4), "little") if head.startswith(b"PAR1") else 0
        )
        file.seek(max(0, path.stat().st_size - max(SCANNED_BYTES, footer + 8)))
        tail = file.read()
    if REPORT_LINE.match(head):
        return True
    if head.startswith((b"PAR1", b"{", b"<!doctype html>")):
        return b"seepage" in head or b"seepage" in tail
    signatures = PICTURE_SIGNATURES.items()
    if any(
        head.startswith(mark) and path.suffix == ending for mark, ending in signatures
    ):
        return True
    return OUTPUT_MARKERS.search(head.partition(b"\n")[0]) is not None


def input_files(path: str) -> list[Path]:
    """Return the input files that a path stands for: a file itself, or the files of a
    folder or glob.
    """
    from seepage.tables.sources import find_files

    if Path(path).is_file():
        return [Path(path)]
    try:
        return find_files(path)[1]
    except TableError:
        return []
