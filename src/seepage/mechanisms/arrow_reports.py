"""Reports in Arrow: their kind and origin in the metadata of a column, and Parquet."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seepage._core.errors import InputError
from seepage.mechanisms.reports import (
    METADATA,
    BitReports,
    HashReports,
    Reports,
    ValueReports,
    VectorReports,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


KINDS: dict[str, type[Reports]] = {
    kind.kind: kind for kind in (ValueReports, BitReports, HashReports, VectorReports)
}
"""Classes of reports by the name of their kind."""


def reports_from_arrow(array: Any, field: "pa.Field[Any]") -> Reports:
    """Return the reports of an Arrow column; the field's metadata hold their kind and
    origin.
    """
    import pyarrow as pa

    described = described_reports(field)
    if described is None:
        raise InputError(
            f"column {field.name!r} does not hold reports: its metadata are missing or "
            "damaged"
        )
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.null_count:
        raise InputError(
            f"column {field.name!r} holds {array.null_count} empty reports"
        )
    try:
        return KINDS[described["kind"]].from_array(array, described["origin"])
    except InputError:
        raise
    except (AttributeError, TypeError, ValueError):  # the array is of another type
        raise InputError(
            f"column {field.name!r} must hold reports of kind {described['kind']!r}, "
            f"got {array.type}"
        ) from None


def described_reports(field: "pa.Field[Any]") -> dict[str, Any] | None:
    """Return the kind and origin of reports from a field's metadata; None if
    unreadable.
    """
    import msgspec

    try:
        described = msgspec.json.decode((field.metadata or {}).get(METADATA, b""))
        valid = described["kind"] in KINDS and isinstance(described["origin"], dict)
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if not valid:
        return None
    return dict(described)


@contextmanager
def open_parquet(path: str | Path) -> Iterator["pq.ParquetFile"]:
    """Open a Parquet file of reports; content that Arrow cannot read raises an
    InputError.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(
            path, page_checksum_verification=True, pre_buffer=False
        ) as parquet:
            yield parquet
    except (OSError, pa.ArrowException, UnicodeDecodeError) as problem:
        raise InputError(
            f"{path} cannot be read as a Parquet file of reports: {problem}"
        ) from None
