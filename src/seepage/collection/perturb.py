"""Records to reports: everyone is given a form, and the answers to it are perturbed.

A form is drawn afresh, taken from a column, or derived from an identifier.  It is drawn by one
uniform 64-bit word w: it is the first whose running sum of shares is above w.  Where people may be
asked again, w is derived from a stable identifier instead, so that nobody answers two forms:

    w = the first 8 bytes, big-endian, of HMAC-SHA-256(key, "seepage form" 0x00 identifier)

with the identifier as UTF-8 text without blanks around it; an integer is its decimal digits.
The key is secret: whoever knows it and an identifier knows the person's form, which is public
anyway, but could also choose identifiers to get a certain form.
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

ROWS = 1 << 17
"""Reports that are written at once."""


def perturb_table(plan: Plan, data: Any, **options: Any) -> pa.Table:
    """Return the reports of a table's records; see `Plan.perturb`."""
    return pa.Table.from_batches(_reports(plan, data, **options), schema=reports_schema(plan))


def perturb_file(plan: Plan, data: Any, output: str | os.PathLike[str], **options: Any) -> int:
    """Write the reports of a table's records to a Parquet file, in constant memory.

    Parameters
    ----------
    plan
        Which attributes are collected, and how.
    data
        A frame, the path of a file, folder or glob, or the name of a dataset; read in batches.
    output
        The file.  It appears when all reports are written, and not at all where a record is not
        accepted or the process is killed.
    options
        Those of `Plan.perturb`, and `progress`: called with the records done and, where known, the
        records in all.

    Returns
    -------
    int
        The number of reports, one per record and in the order of the records.

    Notes
    -----
    The columns carry the mechanism and its parameters, the file the digest of the collection, so
    that reports are not read with another plan.

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
    _check_not_input(data, output)
    schema = reports_schema(plan)
    with whole_file(output) as file:
        return _write(_reports(plan, data, **options), schema, file, _repeating(plan))


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
    """Yield the reports of one batch of records after the other."""
    assigned = form_column(plan, form, identifier, key)
    source = randomness(seed)
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
    except DomainError as problem:
        hint = "" if other is not None else "; name a catch-all value for such values (other)"
        raise DomainError(f"{problem}{hint}") from None


def perturbed_columns(
    plan: Plan, answers: Mapping[str, Codes], forms: Integers, source: Randomness
) -> list[pa.Array]:
    """Return the columns of reports of some people, in the order of `reports_schema`.

    Parameters
    ----------
    plan
        The plan.
    answers
        The code of everybody's answer, by attribute.
    forms
        The index of everybody's form.
    source
        Where the noise comes from.
    """

    def drawn(index: int, name: str, rows: Any) -> pa.Array:
        form = plan.forms[index]
        codes = answers[name][rows] if form.is_product else _cells(plan, form, answers, rows)
        return plan.channels[index][name].perturb(codes, rng=source).array()

    return spread_reports(plan, forms, drawn)


def _cells(plan: Plan, form: Form, answers: Mapping[str, Codes], rows: Integers) -> Integers:
    """Return the cell of all answers to a form, in mixed radix, the last the fastest."""
    cells = np.zeros(len(rows), dtype=np.int64)
    for name in form.attributes:
        cells = cells * plan.domain[name].size + answers[name][rows]
    return cells


def _write(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, file: IO[bytes], repeating: list[str]
) -> int:
    """Write batches in row groups of a good size; return the number of rows."""
    written, waiting, held = 0, list[pa.RecordBatch](), 0
    options = {"compression": "zstd", "use_dictionary": repeating, "write_page_checksum": True}
    with pq.ParquetWriter(file, schema, use_compliant_nested_type=False, **options) as writer:
        for batch in batches:
            waiting.append(batch)
            held += batch.num_rows
            if held >= ROWS:
                writer.write_table(pa.Table.from_batches(waiting))
                written, waiting, held = written + held, [], 0
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))
    return written + held


def _repeating(plan: Plan) -> list[str]:
    """Return the columns whose reports repeat, so that a dictionary makes the file smaller."""
    repeating = [
        column
        for column, index, name in report_columns(plan)
        if plan.channels[index][name].reports is ValueReports
    ]
    return repeating if plan.is_single else [FORM, *repeating]


def _check_not_input(data: Any, output: str | os.PathLike[str]) -> None:
    """Raise where reports would be written over the records."""
    if not isinstance(data, (str, os.PathLike, list, tuple)) or not Path(output).exists():
        return
    if any(file.samefile(output) for file in find_files(data)[1]):
        raise InputError(f"the output must not be the data, got {os.fspath(output)!r} for both")


# Who is given which form --------------------------------------------------------------------------

PURPOSE = b"seepage form\0"
"""What precedes the identifier, so that other uses of the key give other bytes."""

MIN_KEY = 16
KEY_BYTES = 32


def new_key(path: str | os.PathLike[str]) -> bytes:
    """Write a new random key to a file that must not exist, for its owner only; return the key."""
    key = secrets.token_bytes(KEY_BYTES)
    file = _checks.path(path, "key file")
    try:
        number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as problem:
        raise InputError(f"{file} cannot be written: {problem.strerror}") from None
    with os.fdopen(number, "w") as stream:
        stream.write(f"{key.hex()}\n")
    return key


def checked_key(key: Any) -> bytes:
    """Return a key of at least 16 bytes, given as bytes or as the path of its file in hex."""
    secret: bytes
    if isinstance(key, bytes):
        secret = key
    else:
        file = _checks.path(key, "key")
        try:
            secret = bytes.fromhex(file.read_text())
        except (OSError, ValueError):
            raise InputError(
                f"key must be bytes or a file of hexadecimal digits, got {str(file)!r}"
            ) from None
    if len(secret) < MIN_KEY:
        raise InputError(f"key must have at least {MIN_KEY} bytes, got {len(secret)}")
    return secret


def form_of_words(plan: Plan, words: NDArray[np.uint64]) -> Integers:
    """Return the index, from 0, of the form that each uniform word stands for."""
    ends = np.array(cumulative(plan.forms)[:-1], dtype=np.uint64)
    return np.asarray(np.searchsorted(ends, words, side="right"))


def drawn_forms(plan: Plan, count: int, source: Randomness) -> Integers:
    """Return the form of so many people, drawn by the shares; nothing is drawn for one form."""
    if len(plan.forms) == 1:
        return np.zeros(count, dtype=np.int64)
    return form_of_words(plan, source.words(count))


def derived_forms(plan: Plan, identifiers: Iterable[str], key: bytes) -> Integers:
    """Return the form of each person by identifier.

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
    heads = b"".join(
        hmac.digest(key, PURPOSE + identifier.strip().encode(), "sha256")[:8]
        for identifier in identifiers
    )
    return form_of_words(plan, np.frombuffer(heads, dtype=">u8").astype(np.uint64))


def form_column(plan: Plan, form: Any, identifier: Any, key: Any) -> FormColumn | None:
    """Return the column that decides forms, None where they are drawn; check what was given."""
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
