"""Records coded in a plan's domain, and who is given which form.

A value outside the domain raises an error, or counts as a catch-all value of its attribute.

A form is drawn afresh, taken from a column, or derived from an identifier.  It is drawn by one
uniform 64-bit word w: it is the first whose running sum of shares is above w.  Where people may be
asked again, w is derived from a stable identifier instead, so that nobody answers two forms:

    w = the first 8 bytes, big-endian, of HMAC-SHA-256(key, "seepage form" 0x00 identifier)

with the identifier as UTF-8 text without blanks around it; an integer is its decimal digits.
The key is secret: whoever knows it and an identifier knows the person's form, which is public
anyway, but could also choose identifiers to get a certain form.
"""

import hmac
import math
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Booleans, Integers
from seepage.data.datasets import dataset
from seepage.data.domain import Attribute, Domain
from seepage.data.inputs import is_dataset_name
from seepage.data.table import TableOptions, TableScan
from seepage.data.table.column import Column
from seepage.data.table.labels import field_key, is_number, key_label, number_label
from seepage.data.table.numbers import Codes, code_type, is_number_type
from seepage.data.table.options import ALL_OTHERS, Choice
from seepage.data.table.sources import PARQUET, ColumnarSource, Source, find_files, open_source
from seepage.errors import DomainError, InputError, TableError
from seepage.mechanisms.randomness import Randomness
from seepage.plan.form import cumulative
from seepage.plan.plan import Plan

PURPOSE = b"seepage form\0"
"""What precedes the identifier, so that other uses of the key give other bytes."""

LEAST_KEY = 16
KEY_BYTES = 32


def new_key(path: str | os.PathLike[str]) -> bytes:
    """Write a new random key to a file that must not exist, for its owner only; return the key."""
    key = secrets.token_bytes(KEY_BYTES)
    place = _checks.path(path, "key file")
    try:
        number = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as problem:
        raise InputError(f"{place} cannot be written: {problem.strerror}") from None
    with os.fdopen(number, "w") as file:
        file.write(f"{key.hex()}\n")
    return key


def checked_key(key: Any) -> bytes:
    """Return a key of at least 16 bytes, given as bytes or as the path of its file in hex."""
    given: bytes
    if isinstance(key, bytes):
        given = key
    else:
        place = Path(_checks.path(key, "key"))
        try:
            given = bytes.fromhex(place.read_text())
        except (OSError, ValueError):
            raise InputError(
                f"{place} must be a file that holds a key as hexadecimal digits; "
                "`new_key` and --key-file write one"
            ) from None
    if len(given) < LEAST_KEY:
        raise InputError(f"a key must have at least {LEAST_KEY} bytes, got {len(given)}")
    return given


def form_of_words(plan: Plan, words: NDArray[np.uint64]) -> Integers:
    """Return the place, from 0, of the form that each uniform word stands for."""
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


@dataclass(frozen=True)
class FormColumn:
    """A column of a table that decides the form of each person.

    Parameters
    ----------
    plan
        The plan.
    name
        The column: numbers of forms from 1, or identifiers where there is a key.
    key
        The key by which forms are derived from identifiers.
    """

    plan: Plan
    name: str
    key: bytes | None = None

    def added_to(self, domain: Domain) -> Domain:
        """Return a domain with the forms' numbers as a last attribute."""
        if self.name in domain:
            raise InputError(
                f"the column of forms or identifiers must be none of the plan's attributes, "
                f"got {self.name!r}"
            )
        numbers = tuple(str(number) for number in range(1, len(self.plan.forms) + 1))
        return Domain([*domain, Attribute(self.name, numbers)])

    def column(self, choice: Choice, options: TableOptions, *, fields: bool) -> Column:
        """Return the column of a scan whose codes are the forms' places."""
        if self.key is None:
            return _NumberColumn(choice, options, fields=fields)
        return _IdentifierColumn(choice, options, self.plan, self.key, fields=fields)


def form_column(plan: Plan, form: Any, identifier: Any, key: Any) -> FormColumn | None:
    """Return the column that decides forms, None where they are drawn; check what was given."""
    if form is not None and identifier is not None:
        raise InputError("forms are taken from a column (form) or derived (identifier), not both")
    if identifier is None:
        if key is not None:
            raise InputError("a key derives forms from identifiers: name their column (identifier)")
        return None if form is None else FormColumn(plan, _checks.text(form, "form"))
    if key is None:
        raise InputError("forms are derived from identifiers by a secret key (key), got none")
    return FormColumn(plan, _checks.text(identifier, "identifier"), checked_key(key))


class _NumberColumn(Column):
    """A column of forms' numbers; a missing one raises an error, even where records are dropped."""

    def code(self, array: pa.Array, before: int) -> Codes | None:
        try:
            codes = super().code(array, before)
        except DomainError as problem:
            raise InputError(f"{problem}: it must be the number of a form, from 1") from None
        if codes is not None and self.alphabet.missing is not None:
            wrong = int(np.argmax(codes == self.alphabet.missing))
            raise InputError(f"record {before + wrong + 1:,}: column {self.name!r} has no form")
        return codes


class _IdentifierColumn(Column):
    """A column of identifiers, coded by the form that each stands for."""

    def __init__(
        self, choice: Choice, options: TableOptions, plan: Plan, key: bytes, *, fields: bool
    ) -> None:
        super().__init__(choice, options, fields=fields)
        self._plan, self._key = plan, key

    def begin(self, kind: pa.DataType) -> None:
        super().begin(pa.string())

    def code(self, array: pa.Array, before: int) -> Codes | None:
        texts = list[str]()
        for place, value in enumerate(array.to_pylist()):
            text = identifier_text(value)
            if text is None:
                raise InputError(
                    f"record {before + place + 1:,}: column {self.name!r} must be an identifier, "
                    "text or an integer"
                )
            texts.append(text)
        forms = derived_forms(self._plan, texts, self._key)
        return np.asarray(forms.astype(code_type(len(self._plan.forms))))


def identifier_text(value: Any) -> str | None:
    """Return an identifier as text, the same whatever type a file gives it; None for none.

    Examples
    --------
    >>> [identifier_text(value) for value in ("007", 7, 7.0, " ann ", "", None, 0.5)]
    ['007', '7', '7', 'ann', None, None, None]
    """
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    if not math.isfinite(value) or value != int(value):
        return None
    return number_label(value)


FIXED = ("domain", "bins", "pool", "person")
"""What a plan decides about reading a table, so that callers cannot."""


def open_records(
    data: Any,
    domain: Domain,
    /,
    other: str | Mapping[str, str] | None = None,
    assigned: FormColumn | None = None,
    **table: Any,
) -> TableScan:
    """Return records as a scan that codes them in a domain.

    Parameters
    ----------
    data
        A frame, the path of a file, folder or glob, or the name of a dataset.
    domain
        The attributes; other columns are ignored.
    other
        The value that stands for values outside the domain, see `catch_alls`.
    assigned
        The column that says which form each person has; its codes, the forms' places, come last.
    table
        Options of `TableOptions`.

    Examples
    --------
    >>> from seepage.data.domain import Attribute
    >>> domain = Domain([Attribute("job", ("nurse", "smith", "other"))])
    >>> scan = open_records(pa.table({"job": ["smith", "pilot"]}), domain, other="other")
    >>> [batch.codes[0].tolist() for batch in scan.batches()]
    [[1, 2]]
    """
    known = [field.name for field in fields(TableOptions) if field.name not in FIXED]
    for name in table:
        _checks.choice(name, "an option of the table", known)
    if isinstance(data, str) and is_dataset_name(data):
        known_data = dataset(data)
        settings = {name: known_data.table[name] for name in known_data.table if name not in FIXED}
        data, table = known_data.read(), {**settings, **table}
    caught, asked = catch_alls(domain, other), domain.names
    if assigned is not None:
        domain = assigned.added_to(domain)
    options = TableOptions.from_keywords(domain=domain, **table)
    source = _open(data, options)
    named = [options.rename.get(name, name) for name in source.names]
    for name in asked:
        if name not in named:
            hint = _checks.near_miss(name, named)
            raise TableError(f"the plan asks for {name!r}, and the table has no such column{hint}")
    columns = [
        _column(choice, options, caught, assigned, fields=source.fields)
        for choice in options.choose(source.names)
    ]
    return TableScan(source, columns, options)


def _column(
    choice: Choice,
    options: TableOptions,
    caught: Mapping[str, str],
    assigned: FormColumn | None,
    *,
    fields: bool,
) -> Column:
    if assigned is not None and choice.name == assigned.name:
        return assigned.column(choice, options, fields=fields)
    if choice.name in caught:
        assert options.domain is not None
        attribute = options.domain[choice.name]
        return _CatchAllColumn(choice, options, attribute, caught[choice.name], fields=fields)
    return Column(choice, options, fields=fields)


def _open(data: Any, options: TableOptions) -> Source:
    """Return a table as a source that is decoded no faster than it is used.

    A scanner decodes Parquet in the background, as far ahead as it gets: good where counting keeps
    up with it, but perturbing is slower, and memory would grow with the file.
    """
    if isinstance(data, (str, os.PathLike, list, tuple)):
        kind, files = find_files(data)
        if kind == PARQUET:
            return ColumnarSource(kind, files, huge=0)
    return open_source(data, options)


def catch_alls(domain: Domain, other: str | Mapping[str, str] | None) -> dict[str, str]:
    """Return the catch-all value of each attribute that has one.

    Parameters
    ----------
    domain
        The attributes.
    other
        A mapping from attribute to one of its values, with `"*"` for all others that have the
        value (at least one must); a value alone stands for `{"*": value}`.

    Examples
    --------
    >>> from seepage.data.domain import Attribute
    >>> domain = Domain([Attribute("job", ("nurse", "other")), Attribute("sex", ("F", "M"))])
    >>> catch_alls(domain, "other"), catch_alls(domain, {"*": "other", "sex": "F"})
    ({'job': 'other'}, {'job': 'other', 'sex': 'F'})
    """
    if other is None:
        return {}
    named = (
        dict(other) if isinstance(other, Mapping) else {ALL_OTHERS: _checks.text(other, "other")}
    )
    found = dict[str, str]()
    if ALL_OTHERS in named:
        value = named.pop(ALL_OTHERS)
        found = {attribute.name: value for attribute in domain if value in attribute.values}
        if not found:
            raise InputError(f"no attribute has the catch-all value {value!r}")
    for name, value in named.items():
        domain[name].code(value)
    return found | named


class _CatchAllColumn(Column):
    """A column whose values outside the domain have the code `other`.

    Where records with missing values are dropped, missing values without a category and values
    outside have codes behind those of the domain.  So the column is read as if they were.
    """

    pooling = False

    def __init__(
        self,
        choice: Choice,
        options: TableOptions,
        attribute: Attribute,
        other: str,
        *,
        fields: bool,
    ) -> None:
        super().__init__(choice, replace(options, missing="drop"), fields=fields)
        self._other = attribute.code(other)
        self._largest = attribute.size if options.dropping else attribute.size - 1

    def code(self, array: pa.Array, before: int) -> Codes | None:
        words = _words(array, self.markers) if self.edges else None
        if words is not None:
            array = pc.if_else(pa.array(words), pa.scalar(None, array.type), array)
        codes = super().code(array, before)
        if codes is not None:
            caught = codes > self._largest
            codes = np.where(caught if words is None else caught | words, self._other, codes)
        return codes


def _words(array: pa.Array, markers: frozenset[str]) -> Booleans | None:
    """Return which fields are neither numbers nor mean missing; None where there are none."""
    if is_number_type(array.type):
        return None
    encoded = array.dictionary_encode()
    keys = [field_key(text) for text in encoded.dictionary.to_pylist()]
    strange = [not (k is None or is_number(k) or key_label(k) in markers) for k in keys]
    found = np.isin(encoded.indices.fill_null(-1).to_numpy(), np.flatnonzero(strange))
    return found if found.any() else None
