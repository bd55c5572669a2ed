"""A codebook: readable names for the values of attributes, as surveys publish them."""

import csv
import os
from collections.abc import Mapping
from typing import Any

from seepage import _checks
from seepage.data.domain import Attribute, Domain
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.errors import InputError

HEAD = ("attribute", "value", "label")


def read_codebook(path: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    """Return the labels of a CSV file with the columns attribute, value, label.

    Parameters
    ----------
    path
        The file; a head line is needed, further columns are ignored.
    """
    place = _checks.path(path, "labels")
    try:
        with place.open(newline="", encoding="utf-8-sig") as lines:
            rows = csv.DictReader(lines)
            known = [name.strip().lower() for name in rows.fieldnames or ()]
            if not set(HEAD) <= set(known):
                raise InputError(
                    f"{place} must have the columns attribute, value, label, "
                    f"got {', '.join(known) or 'none'}"
                )
            rows.fieldnames = known
            found: dict[str, dict[str, str]] = {}
            for row in rows:
                attribute, value, label = (str(row[key] or "").strip() for key in HEAD)
                if label:
                    found.setdefault(attribute, {})[value] = label
    except OSError as problem:
        raise InputError(f"{place} cannot be read: {problem.strerror}") from None
    except (csv.Error, UnicodeDecodeError) as problem:
        raise InputError(f"{place} must be a CSV file in UTF-8: {problem}") from None
    return found


def labelled(counted: PairCounts | Records, labels: Any) -> PairCounts | Records:
    """Return the same counts or records with labels in place of values.

    Parameters
    ----------
    counted
        Pair counts or records.
    labels
        For each attribute its labels by value, or the path of a codebook.  Attributes and values
        that the table does not have are ignored; a label that two values share is followed by the
        value.  Labels none of which fits raise an InputError.

    Examples
    --------
    >>> domain = Domain([Attribute("smoker", ("1", "2"))])
    >>> people = Records(domain, [[0], [1]])
    >>> labelled(people, {"smoker": {"1": "yes", "2": "no"}}).domain["smoker"].values
    ('yes', 'no')
    """
    book = labels if isinstance(labels, Mapping) else read_codebook(labels)
    new = [_renamed(attribute, book.get(attribute.name)) for attribute in counted.domain]
    if all(one == other for one, other in zip(new, counted.domain, strict=True)):
        raise InputError(
            "labels must name values of this table, and none does; a codebook has one line for "
            "each attribute and value"
        )
    domain = Domain(new)
    if isinstance(counted, Records):
        return Records(domain, counted.codes, counted.weights, population=counted.population)
    return PairCounts(domain, counted.marginals, counted.counts, population=counted.population)


def _renamed(attribute: Attribute, labels: Any) -> Attribute:
    if labels is None:
        return attribute
    given = _checks.mapping(labels, f"labels of {attribute.name}")
    known = {str(value): _checks.text(label, "a label") for value, label in given.items()}
    wanted = [known.get(value, value) for value in attribute.values]
    names = [
        label if wanted.count(label) == 1 else f"{label} ({value})"
        for label, value in zip(wanted, attribute.values, strict=True)
    ]
    return Attribute(attribute.name, tuple(names), attribute.edges)
