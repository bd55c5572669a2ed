"""Formulas of regressions, "ill ~ age + sex", and the columns that they make.

The grammar is a part of that of R and patsy: `+` adds a term, `a:b` is an interaction, `a*b` is
`a + b + a:b`, `- 1` leaves out the intercept, `C(x)` makes a column categorical, and `I(x**2)`,
`I(x/10)` or `I(x - 40)` compute with one number.  A name is a column as it is written, also with
dots, dashes or blanks (the longest known name counts), or in backticks.  Categories have treatment
coding: one column for each value but the first, `sex[T.m]`; without an intercept the first
categorical term has all values.  The outcome may name the value that counts, `job[nurse] ~ age`.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Floats
from seepage.errors import InputError

OPERATIONS: dict[str, Callable[[Any, float], Any]] = {
    "**": operator.pow,
    "*": operator.mul,
    "/": operator.truediv,
    "+": operator.add,
    "-": operator.sub,
}


class Variable(NamedTuple):
    """The values of a column: numbers, or codes of `levels`; any shape."""

    values: NDArray[Any]
    levels: tuple[str, ...] = ()


class Factor(NamedTuple):
    """A column in a term, as categories or transformed by an operation with one number."""

    name: str
    categorical: bool = False
    operation: str = ""
    operand: float = 0.0

    def columns(self, variable: Variable, full: bool) -> dict[str, Floats]:
        """Return the columns of the factor by label; `full` for all categories."""
        levels, codes = variable.levels, variable.values
        if self.categorical and not levels:
            numbers, codes = np.unique(variable.values, return_inverse=True)
            levels = tuple(f"{number:g}" for number in numbers)
        if levels:
            if self.operation:
                raise InputError(
                    f"I({self.name} ...) needs numbers, and {self.name!r} has categories"
                )
            label = f"C({self.name})" if self.categorical else self.name
            prefix = "" if full else "T."
            return {
                f"{label}[{prefix}{level}]": (codes == code).astype(np.float64)
                for code, level in enumerate(levels)
                if full or code
            }
        if not self.operation:
            return {self.name: variable.values}
        value = OPERATIONS[self.operation](variable.values.astype(np.float64), self.operand)
        blank = "" if self.operation in ("**", "/", "*") else " "
        return {f"I({self.name}{blank}{self.operation}{blank}{self.operand:g})": value}


class Formula(NamedTuple):
    """A parsed formula.

    Examples
    --------
    >>> formula = parse_formula("ill ~ age*sex - 1", ["ill", "age", "sex"])
    >>> formula.outcome, formula.names, formula.intercept
    ('ill', ('age', 'sex'), False)
    >>> columns = {
    ...     "age": Variable(np.array([1.0, 2.0])),
    ...     "sex": Variable(np.array([0, 1]), ("f", "m")),
    ... }
    >>> list(formula.design(columns))
    ['age', 'sex[f]', 'sex[m]', 'age:sex[T.m]']
    """

    text: str
    outcome: str
    event: str | None
    terms: tuple[tuple[Factor, ...], ...]
    intercept: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of all terms."""
        return tuple(dict.fromkeys(factor.name for term in self.terms for factor in term))

    def design(self, variables: Mapping[str, Variable]) -> dict[str, Floats]:
        """Return the columns of the design matrix by label, arrays that broadcast together."""
        columns: dict[str, Floats] = {"Intercept": np.ones(1)} if self.intercept else {}
        full = not self.intercept
        for term in self.terms:
            products: dict[str, Floats] = {"": np.ones(1)}
            for factor in term:
                made = factor.columns(variables[factor.name], full and len(term) == 1)
                products = {
                    f"{left}:{right}" if left else right: one * two
                    for left, one in products.items()
                    for right, two in made.items()
                }
            if len(term) == 1 and (term[0].categorical or variables[term[0].name].levels):
                full = False
            columns.update(products)
        return columns


def parse_formula(text: str, known: Iterable[str]) -> Formula:
    """Return a parsed formula of known columns; a mistake raises in one line."""
    columns = sorted(known, key=len, reverse=True)
    name = f"(?:{'|'.join(map(re.escape, columns))})(?![\\w.])|`[^`]*`|[^\\W\\d][\\w.]*"
    factor = re.compile(
        rf"\s*(?:(?P<one>[01])(?![\w.])|C\(\s*(?P<category>{name})\s*\)|"
        rf"I\(\s*(?P<base>{name})\s*(?P<operation>\*\*|[*/+-])\s*(?P<operand>\d+\.?\d*)\s*\)|"
        rf"(?P<name>{name}))\s*"
    )
    left, sign, right = _checks.text(text, "formula").partition("~")
    outcome = re.fullmatch(rf"\s*({name})(?:\[(.*)\])?\s*", left)
    if not sign or "~" in right or outcome is None:
        raise _mistake(text, "it must be OUTCOME ~ TERMS, such as ill ~ age + sex")
    terms: list[list[tuple[Factor, ...]]] = []
    position, joined, intercept = 0, "+", True
    while True:
        found = factor.match(right, position)
        if found is None:
            raise _mistake(
                text, f"a column is expected at {right[position:].strip() or 'the end'!r}"
            )
        position = found.end()
        if joined in "+-":
            terms.append([])
        if found["one"] is not None and joined in "+-":
            intercept = (found["one"] == "1") == (joined == "+")
        elif found["one"] is not None or joined == "-":
            raise _mistake(text, "only the intercept can be left out, by - 1")
        elif joined == ":" and terms[-1]:
            terms[-1][-1] += (_factor(found, columns, text),)
        else:
            terms[-1].append((_factor(found, columns, text),))
        joined = right[position : position + 1]
        if not joined:
            break
        if joined not in "+-*:":
            raise _mistake(text, f"'+' is expected at {right[position:].strip()!r}")
        position += 1
    expanded = dict.fromkeys(
        tuple(one for part in chosen for one in part)
        for parts in terms
        for size in range(1, len(parts) + 1)
        for chosen in combinations(parts, size)
    )
    ordered = tuple(sorted(expanded, key=len))
    return Formula(text.strip(), _known(outcome[1], columns, text), outcome[2], ordered, intercept)


def _factor(found: "re.Match[str]", columns: Sequence[str], text: str) -> Factor:
    name = _known(found["category"] or found["base"] or found["name"], columns, text)
    if found["base"]:
        return Factor(name, operation=found["operation"], operand=float(found["operand"]))
    return Factor(name, categorical=bool(found["category"]))


def _known(name: str, columns: Sequence[str], text: str) -> str:
    bare = name.strip("`")
    if bare not in columns:
        raise _mistake(text, f"there is no column {bare!r}{_checks.near_miss(bare, columns)}")
    return bare


def _mistake(text: str, what: str) -> InputError:
    return InputError(f"formula {_checks.shown(text)} cannot be read: {what}", parameter="formula")


# Unperturbed columns ----------------------------------------------------------------------------


def column_names(data: Any) -> tuple[str, ...]:
    """Return the names of the columns of a frame or file."""
    from seepage.data.table.options import TableOptions
    from seepage.data.table.sources import open_source

    return tuple(open_source(data, TableOptions()).names)


def clear_columns(data: Any, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return columns of a frame or file: numbers as floats, anything else as texts.

    Texts of a file are numbers if all of them are.  A missing value raises an InputError.
    """
    import os

    import pyarrow as pa

    from seepage.data.table.options import TableOptions
    from seepage.data.table.sources import open_source

    source = open_source(data, TableOptions())
    for name in names:
        if name not in source.names:
            hint = _checks.near_miss(name, source.names)
            raise InputError(f"the covariates have no column {name!r}{hint}")
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return {}
    table = pa.Table.from_batches(list(source.batches(wanted)))
    columns: dict[str, NDArray[Any]] = {}
    for name in wanted:
        column = table.column(name)
        values = column.to_pylist()
        is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if is_number or isinstance(data, (str, os.PathLike)):
            try:
                columns[name] = np.array([np.nan if v in (None, "") else float(v) for v in values])
            except ValueError:
                is_number = False
        if name not in columns:
            columns[name] = np.array([None if v in (None, "") else str(v) for v in values])
        missing = sum(value is None or value != value for value in columns[name].tolist())
        if missing:
            raise InputError(
                f"column {name!r} has {missing:,} missing values; leave out these rows, of the "
                "reports too"
            )
    return columns


def clear_variable(values: NDArray[Any]) -> Variable:
    """Return an unperturbed column as numbers, or as codes of its sorted values."""
    if values.dtype.kind == "f":
        return Variable(values)
    levels, codes = np.unique(values.astype(str), return_inverse=True)
    return Variable(codes, tuple(levels.tolist()))
