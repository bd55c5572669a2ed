"""Records to reports: every person is assigned a form, and the answers to it are perturbed.

A form is drawn at random, read from a column, or derived from an identifier.  It is drawn by one
uniform 64-bit word w: the first form whose cumulative share is above w.  If people may be asked
again, w is derived from a stable identifier instead, so that nobody answers two forms:

    w = the first 8 bytes, big-endian, of HMAC-SHA-256(key, "seepage form" 0x00 identifier)

with the identifier as UTF-8 text without surrounding blanks; an integer is its decimal digits.
The key is secret: whoever knows it can compute a person's form, which is public anyway, but can
also choose identifiers to get a certain form.
"""

import hmac
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seepage import _checks
from seepage._files import whole_file
from seepage._numerics import Codes, Integers
from seepage._results import Progress
from seepage.collection.record_source import FormColumn, open_records
from seepage.collection.report_source import (
    FORM,
    report_columns,
    reports_schema,
    spread_reports,
)
from seepage.data.table.sources import find_files
from seepage.errors import DomainError, InputError
from seepage.mechanisms.randomness import Randomness, Seed, randomness
from seepage.mechanisms.reports import ValueReports
from seepage.plan.form import Form, cumulative
from seepage.plan.plan import Plan

ROW_GROUP = 1 << 17
"""Minimum number of rows of a Parquet row group."""


def perturb_table(plan: Plan, data: Any, **options: Any) -> pa.Table:
    """Return the reports of a table's records; see `Plan.perturb`."""
    return pa.Table.from_batches(_reports(plan, data, **options), schema=reports_schema(plan))


def perturb_file(plan: Plan, data: Any, output: str | os.PathLike[str], **options: Any) -> int:
    """Write the reports of a table's records to a Parquet file, in constant memory.

    Parameters
    ----------
    plan
        The plan.
    data
        A frame, the path of a file, folder or glob, or the name of a dataset; read in batches.
    output
        The file, written atomically: it does not appear if a record raises an error or the process
        is killed.
    options
        The options of `Plan.perturb`, and `progress`: called with the number of records done and
        their total, None if unknown.

    Returns
    -------
    int
        The number of reports, one per record and in the order of the records.

    Notes
    -----
    The metadata of columns hold the mechanism and its parameters, those of the file the digest of
    the collection, so that reports are not read with another plan.

    Examples
    --------
    >>> import tempfile
    >>> import seepage as sp
    >>> from seepage.plan import make_plan
    >>> domain = sp.Domain([sp.Attribute("smoker", ("no", "yes"))])
    >>> pairs = sp.PairCounts(domain, [[70, 30]], [])
    >>> plan = make_plan(pairs, 1.0, limit=1.0, guarantee="worst", totals=[1.0])
    >>> people = pa.table({"smoker": [True, False] * 50})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     perturb_file(plan, people, f"{folder}/reports.parquet", other="no")
    100
    """
    _check_output_differs(data, output)
    schema = reports_schema(plan)
    with whole_file(output) as file:
        return _write(_reports(plan, data, **options), schema, file, _dictionary_columns(plan))


def _reports(
    plan: Plan,
    data: Any,
    *,
    seed: Seed = None,
    other: str | Mapping[str, str] | None = None,
    form: str | None = None,
    identifier: str | None = None,
    key: bytes | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **table_options: Any,
) -> Iterator[pa.RecordBatch]:
    """Yield the reports of each batch of records."""
    assigned = form_column(plan, form, identifier, key)
    source = randomness(seed, "seed")
    schema = reports_schema(plan)
    scan = open_records(data, plan.collected, other, assigned, **table_options)
    try:
        for batch in scan.batches(progress):
            answers = dict(zip(plan.collected.names, batch.codes, strict=False))
            if assigned is not None:
                forms = batch.codes[-1].astype(np.int64)
            else:
                forms = drawn_forms(plan, len(batch.codes[0]), source)
            arrays = perturbed_columns(plan, answers, forms, source)
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
    except DomainError as error:
        hint = "" if other is not None else "; name a catch-all value for such values (other)"
        raise DomainError(f"{error}{hint}") from None


def perturbed_columns(
    plan: Plan, answers: Mapping[str, Codes], forms: Integers, source: Randomness
) -> list[pa.Array]:
    """Return the reports of some people as Arrow columns, in the order of `reports_schema`.

    Parameters
    ----------
    plan
        The plan.
    answers
        The codes of the answers of each person, by attribute.
    forms
        The index of each person's form.
    source
        The source of randomness.
    """

    def perturbed(index: int, name: str, rows: Any) -> pa.Array:
        form = plan.forms[index]
        codes = answers[name][rows] if form.is_product else _cells(plan, form, answers, rows)
        return plan.form_mechanisms[index][name].perturb(codes, rng=source).array()

    return spread_reports(plan, forms, perturbed)


def _cells(plan: Plan, form: Form, answers: Mapping[str, Codes], rows: Integers) -> Integers:
    """Return the flat row-major index of the answers to a form."""
    cells = np.zeros(len(rows), dtype=np.int64)
    for name in form.attributes:
        cells = cells * plan.domain[name].size + answers[name][rows]
    return cells


def _write(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, file: IO[bytes], dictionary: list[str]
) -> int:
    """Write batches in row groups of at least `ROW_GROUP` rows; return the number of rows."""
    written, buffer, buffered = 0, list[pa.RecordBatch](), 0
    options = {"compression": "zstd", "use_dictionary": dictionary, "write_page_checksum": True}
    with pq.ParquetWriter(file, schema, use_compliant_nested_type=False, **options) as writer:
        for batch in batches:
            buffer.append(batch)
            buffered += batch.num_rows
            if buffered >= ROW_GROUP:
                writer.write_table(pa.Table.from_batches(buffer))
                written, buffer, buffered = written + buffered, [], 0
        if buffer:
            writer.write_table(pa.Table.from_batches(buffer))
    return written + buffered


def _dictionary_columns(plan: Plan) -> list[str]:
    """Return the columns to dictionary-encode: reports that are values, and forms."""
    columns = [
        column
        for column, index, name in report_columns(plan)
        if plan.form_mechanisms[index][name].reports is ValueReports
    ]
    return columns if plan.is_single else [FORM, *columns]


def _check_output_differs(data: Any, output: str | os.PathLike[str]) -> None:
    """Raise an InputError if the output is one of the files of the records."""
    if not isinstance(data, (str, os.PathLike, list, tuple)) or not Path(output).exists():
        return
    if any(file.samefile(output) for file in find_files(data)[1]):
        raise InputError(f"the output must not be the data, got {os.fspath(output)!r} for both")


# Assignment of forms -----------------------------------------------------------------------------

PURPOSE = b"seepage form\0"
"""Domain separation prefix of the HMAC message: other uses of the key give other bytes."""

MIN_KEY_BYTES = 16
NEW_KEY_BYTES = 32


def new_key(path: str | os.PathLike[str]) -> bytes:
    """Write a new random key to a new file with mode 0600, in hexadecimal; return the key."""
    key = secrets.token_bytes(NEW_KEY_BYTES)
    file = _checks.path(path, "key file")
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None
    with os.fdopen(descriptor, "w") as stream:
        stream.write(f"{key.hex()}\n")
    return key


def checked_key(key: Any) -> bytes:
    """Return a key of at least 16 bytes, given as bytes or as the path of a hexadecimal file."""
    secret: bytes
    if isinstance(key, bytes):
        secret = key
    else:
        file = _checks.path(key, "key")
        try:
            secret = bytes.fromhex(file.read_text())
        except (OSError, ValueError):
            raise InputError(
                f"key must be a file of hexadecimal digits, got {str(file)!r}"
            ) from None
    if len(secret) < MIN_KEY_BYTES:
        raise InputError(f"key must have at least {MIN_KEY_BYTES} bytes, got {len(secret)}")
    return secret


def form_of_words(plan: Plan, words: NDArray[np.uint64]) -> Integers:
    """Return the index, from 0, of the form that each uniform word draws."""
    ends = np.array(cumulative(plan.forms)[:-1], dtype=np.uint64)
    return np.asarray(np.searchsorted(ends, words, side="right"))


def drawn_forms(plan: Plan, count: int, source: Randomness) -> Integers:
    """Return the form index of `count` people, drawn by the shares; no draw for a single form."""
    if len(plan.forms) == 1:
        return np.zeros(count, dtype=np.int64)
    return form_of_words(plan, source.words(count))


def derived_forms(plan: Plan, identifiers: Iterable[str], key: bytes) -> Integers:
    """Return the form index of each identifier, derived from its HMAC.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.plan import ProductChannel, Question, plan_of_forms
    >>> adult = sp.load_pairs("adult").select(["sex", "race"])
    >>> ask = [Question(attribute=name, mechanism="grr", epsilon=1.0) for name in ("sex", "race")]
    >>> forms = [(1.0, ProductChannel(questions=(one,)), "worst", [1.0, 1.0]) for one in ask]
    >>> plan = plan_of_forms(adult, forms, limit=1.0)
    >>> derived_forms(plan, ["ann", "bob", "cat", "dan", "ann"], bytes(32)).tolist()
    [1, 0, 1, 1, 1]
    """
    words = b"".join(
        hmac.digest(key, PURPOSE + identifier.strip().encode(), "sha256")[:8]
        for identifier in identifiers
    )
    return form_of_words(plan, np.frombuffer(words, dtype=">u8").astype(np.uint64))


def form_column(plan: Plan, form: Any, identifier: Any, key: Any) -> FormColumn | None:
    """Return the column that determines forms, None if they are drawn; check the arguments."""
    if form is not None and identifier is not None:
        raise InputError("forms are in a column (form) or derived from one (identifier), not both")
    if identifier is None:
        if key is not None:
            raise InputError("key needs the column of identifiers (identifier), got None")
        return None if form is None else FormColumn(_checks.text(form, "form"), len(plan.forms))
    if key is None:
        raise InputError("identifier needs the secret key that derives forms (key), got None")
    secret = checked_key(key)
    return FormColumn(
        _checks.text(identifier, "identifier"),
        len(plan.forms),
        lambda identifiers: derived_forms(plan, identifiers, secret),
    )
