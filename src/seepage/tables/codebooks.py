"""Codebooks: questions, labels and scales of attributes, read from a CSV file."""

import csv
import io
import os

from seepage._core import checks
from seepage._core.errors import InputError
from seepage._core.files import read_small

CODEBOOK_COLUMNS = ("attribute", "value", "label")


def read_codebook(path: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    """Return the labels by attribute and value of a CSV file with columns attribute,
    value, label.

    Parameters
    ----------
    path
        The file, with a header line; further columns are ignored.
    """
    return _codebook(path, "label", "labels")


def read_scales(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Return the values in their order of the attributes with numbers in a codebook's
    `order`.
    """
    places = _codebook(path, "order", "order")
    try:
        return {
            name: sorted(of, key=lambda value: float(of[value]))
            for name, of in places.items()
        }
    except ValueError as problem:
        raise InputError(
            f"order of {path} must be numbers: {problem}", parameter="order"
        ) from None


def _codebook(
    path: str | os.PathLike[str], column: str, parameter: str
) -> dict[str, dict[str, str]]:
    """Return a column of a codebook by attribute and value, without empty fields."""
    file = checks.path(path, parameter)
    needed = dict.fromkeys((*CODEBOOK_COLUMNS, column))
    try:
        rows = csv.DictReader(
            io.StringIO(read_small(file).decode("utf-8-sig"), newline="")
        )
        header = [name.strip().lower() for name in rows.fieldnames or ()]
        if not set(needed) <= set(header):
            raise InputError(
                f"{file} must have the columns {', '.join(needed)}, "
                f"got {', '.join(header) or 'none'}"
            )
        rows.fieldnames = header
        found: dict[str, dict[str, str]] = {}
        for row in rows:
            attribute, value, text = (
                str(row[key] or "").strip() for key in ("attribute", "value", column)
            )
            if text:
                found.setdefault(attribute, {})[value] = text
    except (csv.Error, UnicodeDecodeError) as problem:
        raise InputError(f"{file} must be a CSV file in UTF-8: {problem}") from None
    return found
