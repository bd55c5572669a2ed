"""Records to reports: every person is assigned a form, and the answers to it are
perturbed.

Records are coded in the plan's domain: a value outside it raises an error, unless the
attribute has a catch-all value.  Forms and noise are drawn, or derived from identifiers
(`IdentifiedPeople`), so that a person who is asked again sends the same report.  Where
a column identifies the people of a plan, each sends one report, however many records
there are: the limits are those of one report.
"""

import hmac
import math
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Codes, Integers
from seepage._options import changed
from seepage._results import read_small, whole_file
from seepage.collection import FORM, report_columns, reports_schema, spread_reports
from seepage.data import Domain
from seepage.data.inputs import table_of
from seepage.data.table import TableOptions
from seepage.data.table.scan import CodedBatch, TableScan, columns_of
from seepage.data.table.sources import find_files, open_source
from seepage.designs.form import Form, form_of_words
from seepage.errors import InputError, Setting, TableError
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_draws import Randomness, randomness
from seepage.mechanisms.reports import ValueReports
from seepage.plan import Plan
from seepage.plan.plan_parts import PerturbOptions

ROW_GROUP = 1 << 17
"""Minimum number of rows of a Parquet row group."""


def perturb_table(plan: Plan, data: Any, options: PerturbOptions) -> pa.Table:
    """Return the reports of a table's records; see `Plan.perturb`."""
    return pa.Table.from_batches(
        _reports(plan, data, options), schema=reports_schema(plan)
    )


def perturb_file(
    plan: Plan, data: Any, output: str | os.PathLike[str], **options: Any
) -> int:
    """Write the reports of a table's records to a Parquet file, in constant memory.

    Parameters
    ----------
    plan
        The plan.
    data
        A frame, the path of a file, folder or glob, or the name of a dataset; read in
        batches.
    output
        The file, written atomically: it does not appear if a record raises an error or
        the process is killed.
    options
        The options of `Plan.perturb`.

    Returns
    -------
    int
        The number of reports, one per record or person and in the order of the records.

    Notes
    -----
    The metadata of columns hold the mechanism and its parameters, those of the file the digest of
    the collection, so that reports are not read with another plan.

    Examples
    --------
    >>> import tempfile
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute("smoker", ("no", "yes"))])
    >>> pairs = sp.PairCounts(domain, [[70, 30]], [])
    >>> plan = sp.calibrate(pairs, 1.0, guarantee="worst")
    >>> people = pa.table({"smoker": ["yes", "no"] * 50})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     perturb_file(plan, people, f"{folder}/reports.parquet")
    100
    """
    _checks.options(options, [one.name for one in fields(PerturbOptions)])
    _check_output_differs(data, options.get("key"), output)
    with whole_file(output) as file:
        return _write(plan, _reports(plan, data, PerturbOptions(**options)), file)


def _reports(
    plan: Plan, data: Any, options: PerturbOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the reports of each batch of records."""
    key = _key_of_identifiers(plan, options)
    source = randomness(options.rng, "rng")
    schema = reports_schema(plan)
    column = options.identifier
    table = plan.provenance.reading | changed(options, TableOptions)
    scan = open_records(data, plan.collected, column, **table)
    for batch in scan.batches(options.progress):
        answers = dict(zip(plan.collected.names, batch.codes, strict=True))
        if key is None or column is None:
            forms = drawn_forms(plan, len(batch.codes[0]), source)
            arrays = perturbed_columns(plan, answers, forms, source)
        else:
            names = read_identifiers(scan.beside_values, column, batch)
            people = IdentifiedPeople(key, plan.collection, names)
            arrays = perturbed_columns(
                plan, answers, derived_forms(plan, names, key), people
            )
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _key_of_identifiers(plan: Plan, options: PerturbOptions) -> bytes | None:
    """Return the secret key that derives reports from identifiers; None if they are
    drawn.
    """
    column = options.identifier
    key = options.key
    if column is None and key is None:
        return None
    if column is None or key is None:
        given, needed = (
            ("key", "identifier") if column is None else ("identifier", "key")
        )
        raise InputError(
            f"{given} has no effect without ", Setting(needed), parameter=given
        )
    if options.rng is not None:
        reason = "seed has no effect: the noise is derived from identifiers ("
        raise InputError(reason, Setting("identifier"), ")")
    if _checks.text(column, "identifier") in plan.collected:
        raise InputError(
            f"the column of identifiers must be none of the plan's attributes, got {column!r}"
        )
    return checked_key(key)


def drawn_forms(plan: Plan, count: int, source: Randomness) -> Integers:
    """Return the form index of `count` people, drawn by the shares; no draw for a
    single form.
    """
    if len(plan.forms) == 1:
        return np.zeros(count, dtype=np.int64)
    return form_of_words(plan.forms, source.words(count))


def perturbed_columns(
    plan: Plan,
    answers: Mapping[str, Codes],
    forms: Integers,
    source: "Randomness | IdentifiedPeople",
) -> list[pa.Array]:
    """Return the reports of some people as Arrow columns, in the order of
    `reports_schema`.

    Parameters
    ----------
    plan
        The plan.
    answers
        The codes of the answers of each person, by attribute.
    forms
        The index of each person's form.
    source
        The source of randomness, or the people from whose identifiers noise is derived.
    """

    def perturbed(index: int, name: str, rows: Any) -> pa.Array:
        form = plan.forms[index]
        mechanisms = plan.form_mechanisms[index]
        codes = (
            answers[name][rows]
            if form.is_product
            else _cells(plan, form, answers, rows)
        )
        if isinstance(source, Randomness):
            return mechanisms[name].perturb(codes, rng=source).array()
        report = f"{index} {list(mechanisms).index(name)}"
        return source.draw(mechanisms[name], codes, np.arange(len(forms))[rows], report)

    return spread_reports(plan, forms, perturbed)


def _cells(
    plan: Plan, form: Form, answers: Mapping[str, Codes], rows: Integers
) -> Integers:
    """Return the flat row-major index of the answers to a form."""
    codes = tuple(answers[name][rows] for name in form.attributes)
    return np.ravel_multi_index(
        codes, [plan.domain[name].size for name in form.attributes]
    )


def _write(plan: Plan, batches: Iterator[pa.RecordBatch], file: IO[bytes]) -> int:
    """Write batches in row groups of at least `ROW_GROUP` rows; return the number of
    rows.

    Reports that are values, and forms, are dictionary-encoded.
    """
    buffer = list[pa.RecordBatch]()
    written = 0
    values = [
        column
        for column, index, name in report_columns(plan)
        if plan.form_mechanisms[index][name].reports is ValueReports
    ]
    with pq.ParquetWriter(
        file,
        reports_schema(plan),
        compression="zstd",
        use_dictionary=values if plan.is_single else [FORM, *values],
        use_compliant_nested_type=False,
        write_page_checksum=True,
    ) as writer:
        for batch in batches:
            buffer.append(batch)
            written += batch.num_rows
            if sum(part.num_rows for part in buffer) >= ROW_GROUP:
                writer.write_table(pa.Table.from_batches(buffer))
                buffer.clear()
        if buffer:
            writer.write_table(pa.Table.from_batches(buffer))
    return written


def _check_output_differs(data: Any, key: Any, output: str | os.PathLike[str]) -> None:
    """Raise an InputError if the output is one of the files of the records, or that of
    the key.
    """
    if not Path(output).exists():
        return
    named = {"key": [Path(key)] if isinstance(key, (str, os.PathLike)) else []}
    if isinstance(data, (str, os.PathLike, list, tuple)):
        named["data"] = find_files(data)[1]
    for what, files in named.items():
        if any(file.exists() and file.samefile(output) for file in files):
            raise InputError(
                f"the output must not be the {what}, got {str(output)!r} for both"
            )


# Records ------------------------------------------------------------------------------

FIXED = ("domain", "bins", "pool")
"""Table options that a plan fixes."""


def open_records(
    data: Any, domain: Domain, /, identifier: str | None = None, **table: Any
) -> TableScan:
    """Return a scan of records that codes them in a domain.

    Parameters
    ----------
    data
        A frame, the path of a file, folder or glob, or the name of a dataset.
    domain
        The attributes; other columns are ignored.
    identifier
        The column of identifiers, read beside the codes.
    table
        Options of `TableOptions`; with `person` the first record of each person is
        read.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = Domain([sp.Attribute("job", ("nurse", "smith"))])
    >>> scan = open_records(pa.table({"job": ["smith", "nurse"]}), domain)
    >>> [batch.codes[0].tolist() for batch in scan.batches()]
    [[1, 0]]
    """
    for name in table:
        if name in FIXED:
            raise InputError(f"{name} has no effect: the plan fixes it", parameter=name)
    data, table = table_of(data, {"domain": domain, **table})
    options = TableOptions.from_keywords(**table)
    source = open_source(data, options)
    needed = dict.fromkeys(domain.names, "the plan asks for")
    if identifier is not None:
        needed[identifier] = "reports are derived from"
    if options.person is not None:
        needed[options.person] = "one report is sent for each"
    for name, needs in needed.items():
        if name not in source.names:
            hint = _checks.near_miss(name, source.names)
            raise TableError(
                f"{needs} {name!r}, and the table has no such column{hint}"
            )
    return TableScan(source, columns_of(source, options), options, beside=identifier)


# Identifiers --------------------------------------------------------------------------

PURPOSE = b"seepage form\0"
NOISE = b"seepage noise\0"
"""Prefixes of HMAC messages: other uses of the key give other bytes."""

MIN_KEY_BYTES = 16
NEW_KEY_BYTES = 32


def new_key(path: str | os.PathLike[str]) -> bytes:
    """Write a new random key to a new file with mode 0600, in hexadecimal; return the
    key.
    """
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
    """Return a key of at least 16 bytes, given as bytes or as the path of a hexadecimal
    file.
    """
    if not isinstance(key, bytes):
        file = _checks.path(key, "key")
        try:
            key = bytes.fromhex(read_small(file).decode())
        except ValueError:
            rule = f"key must be a file of hexadecimal digits, got {str(file)!r}"
            raise InputError(rule, parameter="key") from None
    if len(key) < MIN_KEY_BYTES:
        rule = f"key must have at least {MIN_KEY_BYTES} bytes, got {len(key)}"
        raise InputError(rule, parameter="key")
    return bytes(key)


def derived_forms(plan: Plan, identifiers: Iterable[str], key: bytes) -> Integers:
    """Return the form index of each identifier: nobody answers two forms.

    The word that draws the form is the first 8 bytes, big-endian, of

        HMAC-SHA-256(key, "seepage form" 0x00 identifier)

    with the identifier as UTF-8 text without surrounding blanks; an integer is its
    decimal digits.
    """
    words = b"".join(
        hmac.digest(key, PURPOSE + identifier.strip().encode(), "sha256")[:8]
        for identifier in identifiers
    )
    return form_of_words(
        plan.forms, np.frombuffer(words, dtype=">u8").astype(np.uint64)
    )


class KeyedRandomness(Randomness):
    """The bytes that are derived from a key and a message, in blocks of 32."""

    def __init__(self, key: bytes, message: bytes) -> None:
        super().__init__(None)
        self._mac = hmac.new(key, NOISE + message + b"\0", "sha256")
        self._blocks = 0
        self._unused = b""

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """Return the next `count` bytes."""
        while len(self._unused) < count:
            mac = self._mac.copy()
            mac.update(self._blocks.to_bytes(8, "big"))
            self._blocks, self._unused = self._blocks + 1, self._unused + mac.digest()
        octets = self._unused[:count]
        self._unused = self._unused[count:]
        return np.frombuffer(octets, dtype=np.uint8)


class IdentifiedPeople(NamedTuple):
    """People whose noise is derived from their identifiers and a secret key.

    Noise that is drawn independently averages out if a person reports often.  So the
    bytes that draw the report number r of form f for the answer with code u are
    derived: block j of them, 32 bytes, is

        HMAC-SHA-256(key, "seepage noise" 0x00 collection " " f " " r " " u " "
        identifier 0x00 j)

    with the digest of the collection in hexadecimal, f, r and u in decimal digits, all
    from 0, and j as 8 bytes, big-endian.  The same answer gives the same report again;
    another answer gives a report with noise of its own, which costs its budget again
    [the memoised response of RAPPOR, Erlingsson et al. 2014].  Each report is drawn
    singly, in about 50 us.

    The key is secret: whoever knows it and a person's report can find the answer.
    """

    key: bytes
    collection: str
    identifiers: Sequence[str]

    def draw(
        self, mechanism: Mechanism, codes: Integers, rows: Integers, report: str
    ) -> pa.Array:
        """Return one report for each code; `rows` are the indices of its people.

        `report` has the numbers of the form and of the report, from 0.
        """
        arrays = []
        for index, row in enumerate(rows):
            message = (
                f"{self.collection} {report} {codes[index]} {self.identifiers[row]}"
            )
            noise = KeyedRandomness(self.key, message.encode())
            arrays.append(mechanism.draw(codes[index : index + 1], noise).array())
        return pa.concat_arrays(arrays) if arrays else mechanism.perturb(codes).array()


def read_identifiers(column: pa.Array, name: str, batch: CodedBatch) -> list[str]:
    """Return the identifiers of the records of a batch, from the column that has them."""
    found = [identifier_text(value) for value in column.to_pylist()]
    if None in found:
        row = found.index(None)
        if batch.kept is not None:
            row = int(np.flatnonzero(batch.kept)[row])
        where = f"record {batch.first + row + 1:,}: column {name!r}"
        raise InputError(f"{where} must be an identifier, text or an integer")
    return [text for text in found if text is not None]


def identifier_text(value: Any) -> str | None:
    """Return an identifier as text, equal for text, integer and float columns; None if
    invalid.

    Examples
    --------
    >>> [identifier_text(value) for value in ("007", 7, 7.0, " ann ", "", None, 0.5)]
    ['007', '7', '7', 'ann', None, None, None]
    """
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    is_integer = math.isfinite(value) and value == int(value)
    return str(int(value)) if is_integer else None
