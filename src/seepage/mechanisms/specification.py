"""Specifications of randomisers: JSON, decoded strictly; an unknown key gets the closest one."""

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np

from seepage import _checks
from seepage._files import read_small
from seepage.data.channel import as_matrix
from seepage.data.table.labels import field_key, key_label
from seepage.errors import InputError
from seepage.mechanisms import mechanism
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.randomiser import (
    Bits,
    RandomisedAttribute,
    Randomiser,
    of_mechanism,
    of_two_bits,
)
from seepage.mechanisms.unary import BasicRAPPOR

SINGLE = "value"
"""The name of the attribute of a specification that names none."""

Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class _Specification(msgspec.Struct, forbid_unknown_fields=True):
    attributes: Annotated[dict[str, dict[str, Any]], msgspec.Meta(min_length=1)]
    rounds: Count = 1
    memoised: bool = False
    linked: bool | list[list[str]] = True


class _Parameters(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Parameters of one attribute."""

    decides: ClassVar[str]
    """The key that tells this kind from the others."""

    values: list[str | float | bool] | None = None
    k: Count | None = None

    def attribute(self, name: str) -> RandomisedAttribute:
        """Return the attribute with these parameters."""
        raise NotImplementedError


class _Matrix(_Parameters):
    decides = "matrix"
    matrix: Any
    reports: list[str | float | bool] | None = None

    def attribute(self, name: str) -> RandomisedAttribute:
        matrix = as_matrix(self.matrix, f"the matrix of {name!r}")
        values = _labels(name, self.values, len(matrix))
        if self.k not in (None, len(matrix)):
            raise InputError(f"k of {name!r} must be its number of rows, {len(matrix)}")
        reports = _labels(name, self.reports, matrix.shape[1])
        return RandomisedAttribute(name, values, (reports, matrix))


class _Named(_Parameters):
    decides = "mechanism"
    mechanism: str
    epsilon: float
    delta: float = 0.0

    def attribute(self, name: str) -> RandomisedAttribute:
        values = _labels(name, self.values, self.k)
        made = mechanism(self.mechanism, len(values), self.epsilon, self.delta)
        return of_mechanism(name, values, made)


class _Kept(_Parameters):
    decides = "keep"
    keep: Probability

    def attribute(self, name: str) -> RandomisedAttribute:
        values = _labels(name, self.values, self.k)
        others = (1 - self.keep) / max(1, len(values) - 1)
        matrix = np.full((len(values),) * 2, others)
        np.fill_diagonal(matrix, self.keep if len(values) > 1 else 1.0)
        return RandomisedAttribute(name, values, (values, matrix))


class _Forced(_Parameters):
    decides = "p0"
    p: Probability
    p0: Probability
    p1: Probability

    def attribute(self, name: str) -> RandomisedAttribute:
        values = _labels(name, self.values or ["no", "yes"], self.k)
        if len(values) != 2:
            raise InputError(f"forced response has the 2 values no and yes, got {len(values)}")
        if abs(excess := self.p + self.p0 + self.p1 - 1) > 1e-9:
            raise InputError(f"p + p0 + p1 of {name!r} must be 1, got {1 + excess:.12g}")
        matrix = np.array([[self.p + self.p0, self.p1], [self.p0, self.p + self.p1]])
        return RandomisedAttribute(name, values, (values, matrix))


class _Rappor(_Parameters):
    decides = "f"
    f: Probability
    p: Probability
    q: Probability
    h: Count = 1
    cohorts: Count = 1

    def attribute(self, name: str) -> RandomisedAttribute:
        values = _labels(name, self.values, self.k)
        made = BasicRAPPOR(len(values), self.f, self.p, self.q)
        return replace(of_mechanism(name, values, made), copies=self.h)


class _Bits(_Parameters):
    decides = "q"
    p: Probability
    q: Probability

    def attribute(self, name: str) -> RandomisedAttribute:
        values, p, q = _labels(name, self.values, self.k), self.p, self.q
        made = None
        if 0 < min(p, q) <= max(p, q) < 1:  # with p < q the bits are those of the complement
            made = Bits(len(values), *((p, q) if p >= q else (1 - p, 1 - q)))
        pair = of_two_bits(Fraction(p), Fraction(q)) if len(values) > 1 else None
        return RandomisedAttribute(name, values, None, pair, (p, q), made)


KINDS: tuple[type[_Parameters], ...] = (_Matrix, _Named, _Kept, _Forced, _Rappor, _Bits)


def read_specification(source: Any) -> Randomiser:
    """Return the randomiser of a mapping, a matrix, a mechanism, or a JSON or CSV file."""
    if isinstance(source, Mechanism):
        return Randomiser([of_mechanism(SINGLE, _labels(SINGLE, None, source.k), source)])
    if isinstance(source, (str, os.PathLike)):
        source = _file_content(source)
    if not isinstance(source, Mapping):
        source = {"matrix": source}
    if "attributes" not in source:
        return Randomiser([_parsed(SINGLE, source)])
    _check_keys(source, _Specification, "the specification")
    whole = _converted(source, _Specification, "the specification")
    attributes = [_parsed(name, given) for name, given in whole.attributes.items()]
    return Randomiser(attributes, whole.rounds, whole.memoised, whole.linked)


def _parsed(name: str, given: Mapping[str, Any]) -> RandomisedAttribute:
    """Return the attribute of parameters; the first kind whose own key is given."""
    what = repr(name)
    kind = next((kind for kind in KINDS if kind.decides in given), None)
    _check_keys(given, kind or KINDS, what)
    if kind is None:
        own = ", ".join(one.decides for one in KINDS)
        raise InputError(
            f"{what} must have one of the keys {own}, got {', '.join(given) or 'none'}"
        )
    parameters: _Parameters = _converted(given, kind, what)
    return parameters.attribute(name)


def _check_keys(given: Mapping[str, Any], kinds: Any, what: str) -> None:
    """Raise for a key that no field has, with the closest one."""
    several = kinds if isinstance(kinds, tuple) else (kinds,)
    known = sorted({name for kind in several for name in kind.__struct_fields__})
    for key in given:
        if key not in known:
            hint = _checks.near_miss(key, known) or f"; its keys are {', '.join(known)}"
            raise InputError(f"there is no key {_checks.shown(key)} in {what}{hint}")


def _converted(given: Mapping[str, Any], kind: type[Any], what: str) -> Any:
    try:
        return msgspec.convert(dict(given), kind)
    except msgspec.ValidationError as problem:
        raise InputError(f"{what} cannot be read: {problem}") from None


def _file_content(path: Any) -> Any:
    """Return the content of a JSON file, or the numbers of a CSV file."""
    file = _checks.input_path(path, "randomiser")
    if file.suffix.casefold() != ".json":
        return read_matrix(file)
    try:
        return msgspec.json.decode(read_small(file))
    except OSError as problem:
        raise InputError(f"cannot read {str(file)!r}: {problem.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise InputError(f"{str(file)!r} is no JSON: {problem}") from None


def read_matrix(path: str | os.PathLike[str]) -> list[list[float]]:
    """Return the numbers of a CSV file without a header: one row per line, all of one length."""
    file = os.fspath(path)
    try:
        with Path(file).open(newline="", encoding="utf-8-sig") as lines:
            rows = [[float(cell) for cell in row] for row in csv.reader(lines) if row]
    except OSError as error:
        raise InputError(f"cannot read {file!r}: {error.strerror}") from None
    except (ValueError, csv.Error) as error:
        raise InputError(f"{file!r} must hold numbers with commas between: {error}") from None
    ragged = next((n for n, row in enumerate(rows, 1) if len(row) != len(rows[0])), None)
    if not rows or ragged is not None:
        raise InputError(
            f"{file!r} must hold a matrix, one row per line, got {len(rows)} rows"
            + (f" and {len(rows[ragged - 1])} numbers in row {ragged}" if ragged else "")
        )
    return rows


def _labels(name: str, labels: Sequence[Any] | None, count: int | None) -> tuple[str, ...]:
    """Return labels as tables have them, or the codes from 0; their number must be the count."""
    if labels is None:
        if count is None:
            raise InputError(f"{name!r} must have values or k, got neither")
        return tuple(map(str, range(count)))
    made = tuple(key_label(field_key(str(label))) for label in labels)
    if len(set(made)) < len(made) or len(made) != (count or len(made)):
        raise InputError(f"{name!r} must have {count or len(made)} different labels, got {made}")
    return made
