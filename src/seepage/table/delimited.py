"""CSV, TSV and other delimited text, plain or gzipped, as Arrow batches of texts.

All fields are read as text; what a field stands for is decided by the field alone
(`labels.field_key`), so a column means the same whatever its first rows look like.  Empty lines are
ignored, except in a file of one column: there they are records whose only field is empty.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from seepage.errors import TableError
from seepage.table.layout import Layout, find_layout, naming, open_text
from seepage.table.options import TableOptions

__all__ = ["TextSource"]

BLOCK = 2**23


class TextSource:
    """Text files with the same columns.

    Parameters
    ----------
    files
        The files, in the order of their records.
    options
        Delimiter, names, lines to skip and encoding.
    """

    fields = True
    rows_total: int | None = None

    def __init__(self, files: Sequence[Path], options: TableOptions) -> None:
        self._options = options
        self._files = [(file, find_layout(file, options)) for file in files]
        first, layout = self._files[0]
        self.names = layout.names
        for file, other in self._files:
            odd = sorted(set(layout.names) ^ set(other.names))
            if odd:
                lacking = "lacks" if odd[0] in layout.names else "also has"
                raise TableError(
                    f"{file} does not have the columns of {first}: it {lacking} {odd[0]!r}"
                )

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the batches of these columns, from the first record on."""
        for file, layout in self._files:
            if not layout.empty:
                yield from self._read(file, layout, columns)

    def _read(self, file: Path, layout: Layout, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        ragged: list[Any] = []
        try:
            with naming(file):
                yield from self._open(file, layout, columns, ragged.append)
        except TableError:
            if not ragged:
                raise
            raise self._refusal(file, layout) from None

    def _open(
        self,
        file: Path,
        layout: Layout,
        columns: Sequence[str],
        on_ragged: Callable[[Any], None],
        *,
        threads: bool = True,
    ) -> "pa_csv.CSVStreamingReader":
        def refuse(row: Any) -> str:
            on_ragged(row)
            return "error"

        return pa_csv.open_csv(
            open_text(file, layout.delimiter),
            read_options=pa_csv.ReadOptions(
                use_threads=threads,
                block_size=BLOCK,
                column_names=list(layout.names),
                skip_rows=self._options.skip_lines,
                skip_rows_after_names=layout.header,
                encoding=self._options.encoding,
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=layout.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(layout.names) > 1,
                invalid_row_handler=refuse,
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=list(columns),
                column_types=dict.fromkeys(columns, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )

    def _refusal(self, file: Path, layout: Layout) -> TableError:
        """Return the error that names the first ragged record; Arrow numbers rows only serially."""
        ragged: list[Any] = []
        try:
            for _ in self._open(file, layout, layout.names[:1], ragged.append, threads=False):
                pass
        except pa.ArrowInvalid:
            row = ragged[0]
        record = row.number - self._options.skip_lines - (layout.header > 0)
        return TableError(
            f"record {record} of {file} has {row.actual_columns} fields, but there are "
            f"{row.expected_columns} columns (delimiter {layout.delimiter!r})"
        )
