"""Formulas of regressions, and the columns of a design matrix that they name.

The grammar is a part of that of R and patsy: `+` adds a term, `a:b` is an interaction,
`1` stands for the intercept alone, and `C(x)` treats numbers as categories.  A name is
a column as it is written, also with dots, dashes or blanks (the longest known name
counts), or in backticks. Categories have treatment coding: one column for each value
but the first, `sex[T.m]`.  The outcome may name the value that counts, `job[nurse] ~
age`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.number_grammar import number_of_text
from seepage.channel.domain import Attribute
from seepage.collection.unperturbed_columns import column_texts
from seepage.designs.want import attribute_scores, warn_of_midpoints


class Variable(NamedTuple):
    """The values of a column: numbers, or codes of `levels`."""

    values: NDArray[Any]
    levels: tuple[str, ...] = ()

    def columns(self, name: str) -> dict[str, Floats]:
        """Return the columns of a formula's term by label."""
        if not self.levels:
            return {name: self.values}
        indicators = {}
        for code, level in enumerate(self.levels[1:], 1):
            indicators[f"{name}[T.{level}]"] = (self.values == code).astype(np.float64)
        return indicators


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
        """The columns of all terms of a formula."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term))

    def design(
        self, variables: Mapping[str, Variable], rows: int
    ) -> tuple[tuple[str, ...], Floats]:
        """Return the design matrix of a formula with this number of rows, and the names
        of its columns.
        """
        columns: dict[str, Floats] = {"Intercept": np.ones(rows)}
        for term in self.terms:
            columns.update(_interaction(term, variables))
        return tuple(columns), np.stack(list(columns.values()), axis=-1)


def _interaction(
    term: Sequence[str], variables: Mapping[str, Variable]
) -> dict[str, Floats]:
    """Return the columns of a formula's interaction by label: products of the columns
    of its names.
    """
    products = variables[term[0]].columns(term[0])
    for name in term[1:]:
        longer = {}
        for left, product in products.items():
            for right, column in variables[name].columns(name).items():
                longer[f"{left}:{right}"] = product * column
        products = longer
    return products


def parse_formula(text: str, known: Iterable[str]) -> Formula:
    """Return a parsed formula of known columns; a mistake raises in one line."""
    columns = sorted(known, key=len, reverse=True)
    name = f"(?:{'|'.join(map(re.escape, columns))})(?![\\w.])|`[^`]*`|[^\\W\\d][\\w.]*"
    left, sign, right = checks.text(text, "formula").partition("~")
    outcome = re.fullmatch(rf"\s*({name})(?:\[(.*)\])?\s*", left)
    if not sign or "~" in right or outcome is None:
        raise _mistake(text, "it must be OUTCOME ~ TERMS, such as ill ~ age + sex")
    terms = list[tuple[str, ...]]()
    categories = set[str]()
    for factor in _factors(right, name, text):
        column = _known(factor.column, columns, text)
        if factor.is_category:
            categories.add(column)
        if factor.is_interaction and terms:
            terms[-1] = (*terms[-1], column)
        else:
            terms.append((column,))
    ordered = sorted(dict.fromkeys(terms), key=len)
    return Formula(
        text=text.strip(),
        outcome=_known(outcome[1], columns, text),
        event=outcome[2],
        terms=tuple(ordered),
        categories=frozenset(categories),
    )


class Factor(NamedTuple):
    """A column in a term of a formula.

    Parameters
    ----------
    column
        Its name as it is written, perhaps in backticks.
    is_category
        Whether it is written as C(column).
    is_interaction
        Whether it continues the term before it, after a colon.
    """

    column: str
    is_category: bool
    is_interaction: bool


def _factors(right: str, name: str, text: str) -> Iterator[Factor]:
    """Yield the factors of the terms on the right side of a formula, without the
    intercept.

    Parameters
    ----------
    right
        The right side of the formula.
    name
        The regular expression of a column's name.
    text
        The whole formula, for messages.
    """
    factor = re.compile(rf"\s*(?:1(?![\w.])|(C\()?\s*({name})\s*(?(1)\)))\s*")
    position = 0
    sign = "+"
    while sign:
        match = factor.match(right, position)
        if match is None:
            rest = right[position:].strip() or "the end"
            raise _mistake(text, f"a column is expected at {rest!r}")
        category, column = match.groups()
        if column:  # else it is the intercept, which every regression has
            yield Factor(column, category is not None, sign == ":")
        sign = right[match.end() : match.end() + 1]
        position = match.end() + 1
        if sign not in "+:":
            raise _mistake(text, f"'+' is expected at {right[match.end() :].strip()!r}")


def _known(name: str, columns: Sequence[str], text: str) -> str:
    """Return the column that a formula names; an unknown one raises."""
    bare = name.strip("`")
    if bare not in columns:
        raise _mistake(
            text, f"there is no column {bare!r}{checks.near_miss(bare, columns)}"
        )
    return bare


def _mistake(text: str, what: str) -> InputError:
    """Return the error for a formula that cannot be read."""
    return InputError(
        f"formula {checks.shown(text)} cannot be read: {what}", parameter="formula"
    )


def outcome_scores(
    outcome: Attribute, event: str | None, family: str
) -> tuple[Floats, str]:
    """Return the number of each value of a formula's outcome, and what is explained in
    words.
    """
    if family == "linear" and event is None:
        scores = attribute_scores(outcome)
        warn_of_midpoints(outcome, scores)
        return scores, outcome.name
    if event is None and outcome.size != 2:
        raise InputError(
            f"the outcome {outcome.name!r} has {outcome.size} values: name the one "
            f"that counts, as in {outcome.name}[{outcome.values[-1]}] ~ ..."
        )
    if event is None:
        event = outcome.values[1]
    code = outcome.code(event)
    return np.eye(outcome.size)[code], f"{outcome.name}[{outcome.values[code]}]"


def cell_variables(
    formula: Formula, attributes: Sequence[Attribute]
) -> dict[str, Variable]:
    """Return attributes as a formula's variables by the cells of their table: numbers
    if all values are, else categories.
    """
    variables = {}
    cells = np.indices([attribute.size for attribute in attributes])
    for attribute, axis in zip(attributes, cells, strict=True):
        codes = axis.ravel()
        numbers = None
        if attribute.name not in formula.categories:
            numbers = _values_as_numbers(attribute)
        if numbers is None:
            variables[attribute.name] = Variable(codes, attribute.values)
        else:
            variables[attribute.name] = Variable(numbers[codes])
    return variables


def _values_as_numbers(attribute: Attribute) -> Floats | None:
    """Return an attribute's values as finite numbers for a formula; None if one is
    none.
    """
    spelled = [number_of_text(value) for value in attribute.values]
    numbers = [number for number in spelled if number is not None]
    if len(numbers) < len(spelled) or not np.isfinite(numbers).all():
        return None
    return np.array(numbers)


def unperturbed_variables(
    formula: Formula, columns: Mapping[str, NDArray[Any]]
) -> dict[str, Variable]:
    """Return unperturbed columns as a formula's variables: numbers, or codes of their
    sorted values.
    """
    variables = {}
    for name, column in columns.items():
        if column.dtype.kind == "f" and name not in formula.categories:
            variables[name] = Variable(column)
        else:
            levels, codes = np.unique(column, return_inverse=True)
            variables[name] = Variable(codes, tuple(column_texts(levels)))
    return variables
