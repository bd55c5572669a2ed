"""Formulas of regressions, and the columns that they name."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage.channel.domain import Attribute
from seepage.designs.want import attribute_scores
from seepage.tables.opening import open_source
from seepage.tables.table_options import TableOptions


class Variable(NamedTuple):
    """The values of a column: numbers, or codes of `levels`."""

    values: NDArray[Any]
    levels: tuple[str, ...] = ()

    def columns(self, name: str) -> dict[str, Floats]:
        """Return the columns of a term by label."""
        if not self.levels:
            return {name: self.values}
        return {
            f"{name}[T.{level}]": (self.values == code).astype(np.float64)
            for code, level in enumerate(self.levels)
            if code
        }


class Formula(NamedTuple):
    """A parsed formula.

    Examples
    --------
    >>> formula = parse_formula("ill ~ age + sex + age:sex", ["ill", "age", "sex"])
    >>> formula.outcome, formula.names
    ('ill', ('age', 'sex'))
    >>> columns = {
    ...     "age": Variable(np.array([1.0, 2.0])),
    ...     "sex": Variable(np.array([0, 1]), ("f", "m")),
    ... }
    >>> formula.design(columns, 2)[0]
    ('Intercept', 'age', 'sex[T.m]', 'age:sex[T.m]')
    """

    text: str
    outcome: str
    event: str | None
    terms: tuple[tuple[str, ...], ...]
    categories: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of all terms."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term))

    def design(
        self, variables: Mapping[str, Variable], rows: int
    ) -> tuple[tuple[str, ...], Floats]:
        """Return the design matrix with this number of rows, and the names of its
        columns.
        """
        columns: dict[str, Floats] = {"Intercept": np.ones(rows)}
        for term in self.terms:
            products: dict[str, Floats] = {"": np.ones(rows)}
            for name in term:
                products = {
                    f"{left}:{right}" if left else right: one * two
                    for left, one in products.items()
                    for right, two in variables[name].columns(name).items()
                }
            columns.update(products)
        return tuple(columns), np.stack(list(columns.values()), axis=-1)


def parse_formula(text: str, known: Iterable[str]) -> Formula:
    """Return a parsed formula of known columns; a mistake raises in one line."""
    columns = sorted(known, key=len, reverse=True)
    name = f"(?:{'|'.join(map(re.escape, columns))})(?![\\w.])|`[^`]*`|[^\\W\\d][\\w.]*"
    factor = re.compile(rf"\s*(?:1(?![\w.])|(C\()?\s*({name})\s*(?(1)\)))\s*")
    left, sign, right = checks.text(text, "formula").partition("~")
    outcome = re.fullmatch(rf"\s*({name})(?:\[(.*)\])?\s*", left)
    if not sign or "~" in right or outcome is None:
        raise _mistake(text, "it must be OUTCOME ~ TERMS, such as ill ~ age + sex")
    terms = list[tuple[str, ...]]()
    categories = set[str]()
    position = 0
    joined = "+"
    while joined:
        found = factor.match(right, position)
        if found is None:
            rest = right[position:].strip() or "the end"
            raise _mistake(text, f"a column is expected at {rest!r}")
        if found[2]:  # else it is the intercept, which every regression has
            column = _known(found[2], columns, text)
            categories |= {column} if found[1] else set()
            before = terms.pop() if joined == ":" and terms else ()
            terms.append((*before, column))
        joined = right[found.end() : found.end() + 1]
        position = found.end() + 1
        if joined not in "+:":
            raise _mistake(text, f"'+' is expected at {right[found.end() :].strip()!r}")
    explained = _known(outcome[1], columns, text)
    ordered = sorted(dict.fromkeys(terms), key=len)
    return Formula(
        text.strip(), explained, outcome[2], tuple(ordered), frozenset(categories)
    )


def _known(name: str, columns: Sequence[str], text: str) -> str:
    bare = name.strip("`")
    if bare not in columns:
        raise _mistake(
            text, f"there is no column {bare!r}{checks.near_miss(bare, columns)}"
        )
    return bare


def _mistake(text: str, what: str) -> InputError:
    return InputError(
        f"formula {checks.shown(text)} cannot be read: {what}", parameter="formula"
    )


def outcome_scores(
    outcome: Attribute, event: str | None, family: str
) -> tuple[Floats, str]:
    """Return the number of each value of the outcome, and what is explained in words."""
    if family == "linear" and event is None:
        return attribute_scores(outcome), outcome.name
    if event is None and outcome.size != 2:
        raise InputError(
            f"the outcome {outcome.name!r} has {outcome.size} values: name the one that counts, as "
            f"in {outcome.name}[{outcome.values[-1]}] ~ ..."
        )
    code = outcome.code(outcome.values[1] if event is None else event)
    return np.eye(outcome.size)[code], f"{outcome.name}[{outcome.values[code]}]"


def cell_variables(
    formula: Formula, attributes: Sequence[Attribute]
) -> dict[str, Variable]:
    """Return attributes by the cells of their table: numbers if all values are, else
    categories.
    """
    variables = {}
    for attribute, codes in zip(
        attributes, np.indices([a.size for a in attributes]), strict=True
    ):
        variables[attribute.name] = Variable(codes.ravel(), attribute.values)
        with suppress(ValueError):
            numbers = np.array([float(value) for value in attribute.values])
            if attribute.name not in formula.categories and np.isfinite(numbers).all():
                variables[attribute.name] = Variable(numbers[codes.ravel()])
    return variables


def clear_variables(
    formula: Formula, columns: Mapping[str, NDArray[Any]]
) -> dict[str, Variable]:
    """Return unperturbed columns as numbers, or as codes of their sorted values."""
    variables = {}
    for name, column in columns.items():
        if column.dtype.kind == "f" and name not in formula.categories:
            variables[name] = Variable(column)
        else:
            levels, codes = np.unique(column, return_inverse=True)
            variables[name] = Variable(codes, tuple(column_texts(levels)))
    return variables


# Unperturbed columns ------------------------------------------------------------------


def column_names(data: Any) -> tuple[str, ...]:
    """Return the names of the columns of a frame or file."""
    return tuple(open_source(data, TableOptions()).names)


def clear_columns(data: Any, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return columns of a frame or file: numbers as floats, anything else as texts.

    Texts of a file are numbers if all of them are.  A missing value raises an
    InputError.
    """
    source = open_source(data, TableOptions())
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in source.names:
            hint = checks.near_miss(name, source.names)
            raise InputError(f"the covariates have no column {name!r}{hint}")
    if not wanted:
        return {}
    table = pa.Table.from_batches(list(source.batches(wanted)))
    is_file = isinstance(data, (str, os.PathLike))
    return {name: _clear_column(name, table.column(name), is_file) for name in wanted}


def _clear_column(name: str, column: Any, is_file: bool) -> NDArray[Any]:
    values = [None if value == "" else value for value in column.to_pylist()]
    found = np.array([None if value is None else str(value) for value in values])
    if is_file or pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        with suppress(ValueError, TypeError):
            found = np.array(
                [np.nan if value is None else float(value) for value in values]
            )
    missing = sum(value is None or value != value for value in found.tolist())
    if missing:
        raise InputError(
            f"column {name!r} has {missing:,} missing values; leave out these rows, of the reports "
            "too"
        )
    return found


def given_weights(weights: Any, data: Any) -> Any:
    """Return weights, those of a column of the data if they are its name."""
    return (
        clear_columns(data, [weights])[weights] if isinstance(weights, str) else weights
    )


def column_texts(column: NDArray[Any]) -> list[str]:
    """Return the values of an unperturbed column as texts, 2.0 as "2"."""
    return [f"{v:g}" if isinstance(v, float) else str(v) for v in column.tolist()]
