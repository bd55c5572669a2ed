"""Records coded in a plan's domain.

A value outside the domain raises an error, or is coded as the catch-all value of its attribute.  A
column may determine each person's form, by its number or by an identifier.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seepage import _checks
from seepage._numerics import Booleans, Codes, Integers
from seepage.data.datasets import dataset
from seepage.data.domain import Attribute, Domain
from seepage.data.inputs import is_dataset_name
from seepage.data.table import TableOptions, TableScan
from seepage.data.table.coders import is_number_type
from seepage.data.table.column import Column
from seepage.data.table.labels import code_type, field_key, is_number, key_label, number_label
from seepage.data.table.options import ALL_OTHERS, Choice
from seepage.data.table.sources import open_source
from seepage.errors import DomainError, InputError, TableError

FIXED = ("domain", "bins", "pool", "person")
"""Table options that a plan fixes."""


@dataclass(frozen=True)
class FormColumn:
    """A column of a table that determines the form of each person.

    Parameters
    ----------
    name
        The column: numbers of forms from 1, or identifiers.
    count
        The number of forms.
    derive
        Function from identifiers to form indices; None for a column of numbers.
    """

    name: str
    count: int
    derive: Callable[[Iterable[str]], Integers] | None = None

    def added_to(self, domain: Domain) -> Domain:
        """Return a domain with this column as last attribute, the numbers of forms as values."""
        if self.name in domain:
            raise InputError(
                f"the column of forms or identifiers must be none of the plan's attributes, "
                f"got {self.name!r}"
            )
        numbers = tuple(str(number) for number in range(1, self.count + 1))
        return Domain([*domain, Attribute(self.name, numbers)])

    def column(self, choice: Choice, options: TableOptions, *, fields: bool) -> Column:
        """Return the column of a scan whose codes are form indices."""
        if self.derive is None:
            return _NumberColumn(choice, options, fields=fields)
        return _IdentifierColumn(choice, options, self, fields=fields)


class _NumberColumn(Column):
    """A column of numbers of forms; a missing one raises an error even with `missing="drop"`."""

    def code(self, array: pa.Array, before: int) -> Codes | None:
        try:
            codes = super().code(array, before)
        except DomainError as error:
            raise InputError(f"{error}: it must be the number of a form, from 1") from None
        if codes is not None and self.alphabet.missing is not None:
            row = int(np.argmax(codes == self.alphabet.missing))
            raise InputError(f"record {before + row + 1:,}: column {self.name!r} has no form")
        return codes


class _IdentifierColumn(Column):
    """A column of identifiers, coded by the form that is derived from each."""

    def __init__(
        self, choice: Choice, options: TableOptions, assigned: FormColumn, *, fields: bool
    ) -> None:
        super().__init__(choice, options, fields=fields)
        self._assigned = assigned

    def start(self, kind: pa.DataType) -> None:
        super().start(pa.string())

    def code(self, array: pa.Array, before: int) -> Codes | None:
        texts = list[str]()
        for index, value in enumerate(array.to_pylist()):
            text = identifier_text(value)
            if text is None:
                raise InputError(
                    f"record {before + index + 1:,}: column {self.name!r} must be an identifier, "
                    "text or an integer"
                )
            texts.append(text)
        assert self._assigned.derive is not None
        forms = self._assigned.derive(texts)
        return np.asarray(forms.astype(code_type(self._assigned.count)))


def identifier_text(value: Any) -> str | None:
    """Return an identifier as text, equal for text, integer and float columns; None if invalid.

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


def open_records(
    data: Any,
    domain: Domain,
    /,
    other: str | Mapping[str, str] | None = None,
    assigned: FormColumn | None = None,
    **table: Any,
) -> TableScan:
    """Return a scan of records that codes them in a domain.

    Parameters
    ----------
    data
        A frame, the path of a file, folder or glob, or the name of a dataset.
    domain
        The attributes; other columns are ignored.
    other
        The catch-all value for values outside the domain, see `catch_alls`.
    assigned
        The column that determines each person's form; its codes, form indices, come last.
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
    for name in table:
        if name in FIXED:
            raise InputError(f"{name} has no effect: the plan fixes it")
    if isinstance(data, str) and is_dataset_name(data):
        published = dataset(data)
        settings = {name: published.table[name] for name in published.table if name not in FIXED}
        data, table = published.read(), {**settings, **table}
    others, asked = catch_alls(domain, other), domain.names
    if assigned is not None:
        domain = assigned.added_to(domain)
    options = TableOptions.from_keywords(domain=domain, **table)
    source = open_source(data, options, on_demand=True)
    columns_read = [options.rename.get(name, name) for name in source.names]
    for name in domain.names:
        if name not in columns_read:
            needs = "the plan asks for" if name in asked else "forms are assigned by"
            hint = _checks.near_miss(name, columns_read)
            raise TableError(f"{needs} {name!r}, and the table has no such column{hint}")
    kinds: dict[str, Callable[..., Column]] = {
        name: partial(_CatchAllColumn, attribute=domain[name], other=value)
        for name, value in others.items()
    }
    if assigned is not None:
        kinds[assigned.name] = assigned.column
    columns = [
        kinds.get(choice.name, Column)(choice, options, fields=source.fields)
        for choice in options.choose(source.names)
    ]
    return TableScan(source, columns, options)


def catch_alls(domain: Domain, other: str | Mapping[str, str] | None) -> dict[str, str]:
    """Return the catch-all value of each attribute that has one.

    Parameters
    ----------
    domain
        The attributes.
    other
        A mapping from attribute to one of its values, with `"*"` for all other attributes that
        have the value (at least one must); a single value stands for `{"*": value}`.

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
    shared = dict[str, str]()
    if ALL_OTHERS in named:
        value = named.pop(ALL_OTHERS)
        shared = {attribute.name: value for attribute in domain if value in attribute.values}
        if not shared:
            raise InputError(f"no attribute has the catch-all value {value!r}")
    for name, value in named.items():
        domain[name].code(value)
    return shared | named


class _CatchAllColumn(Column):
    """A column whose values outside the domain have the code of the catch-all value `other`.

    The column is read with `missing="drop"`: then missing values without a category, and values
    outside the domain, get codes above those of the domain, which `code` replaces.
    """

    pooling = False

    def __init__(
        self,
        choice: Choice,
        options: TableOptions,
        *,
        attribute: Attribute,
        other: str,
        fields: bool,
    ) -> None:
        super().__init__(choice, replace(options, missing="drop"), fields=fields)
        self._other = attribute.code(other)
        self._largest = attribute.size if options.dropping else attribute.size - 1

    def code(self, array: pa.Array, before: int) -> Codes | None:
        texts = _text_fields(array, self.markers) if self.edges else None
        if texts is not None:
            array = pc.if_else(pa.array(texts), pa.scalar(None, array.type), array)
        codes = super().code(array, before)
        if codes is not None:
            outside = codes > self._largest
            codes = np.where(outside if texts is None else outside | texts, self._other, codes)
        return codes


def _text_fields(array: pa.Array, markers: frozenset[str]) -> Booleans | None:
    """Return which fields are neither numbers nor missing-value markers; None if there are none."""
    if is_number_type(array.type):
        return None
    encoded = array.dictionary_encode()
    keys = [field_key(text) for text in encoded.dictionary.to_pylist()]
    is_text = [not (k is None or is_number(k) or key_label(k) in markers) for k in keys]
    texts = np.isin(encoded.indices.fill_null(-1).to_numpy(), np.flatnonzero(is_text))
    return texts if texts.any() else None
