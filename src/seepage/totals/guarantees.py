"""The guarantees of totals, by name and in words."""

import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from seepage._core import checks
from seepage.leakage.matrix import LeakageMatrix

IS_MATRIX = partial(checks.instance, kind=LeakageMatrix, what="a LeakageMatrix")
"""Check of the option `matrix`."""


Kind = Literal["certified", "statistical", "assumed", "lower bound"]


KINDS: dict[Kind, str] = {
    "certified": "proven",
    "statistical": (
        "valid with a stated confidence, and up to a delta where one is stated"
    ),
    "assumed": "valid only under an assumption, which real data often violate",
    "lower bound": (
        "attained by reports that were found; it refutes smaller totals and bounds none"
    ),
}
"""Kinds of totals, the strongest first, and what each means."""


NEEDS_RECORDS = "needs records"
"""Words of the reason why pair counts do not suffice for a guarantee; the verdict
checks for it."""


@dataclass(frozen=True)
class Guarantee:
    """A guarantee of totals, in words [theory-totals].

    Parameters
    ----------
    name, kind
        Its name, and its kind, one of `KINDS`.
    meaning
        What the total is: a phrase without a full stop.
    promise
        What it promises: a sentence whose subject is "It", the total.
    needs
        What it is computed from: a phrase.
    excludes
        What it does not promise: a sentence.

    Examples
    --------
    >>> GUARANTEES["worst"].kind, GUARANTEES["worst"].meaning
    ('certified', 'the sum of all budgets, whatever the data')
    """

    name: str
    kind: Kind
    meaning: str
    promise: str
    needs: str
    excludes: str


_TEXTS = tomllib.loads(
    Path(__file__).with_name("guarantees.toml").read_text(encoding="utf-8")
)


GUARANTEES = {name: Guarantee(name, **texts) for name, texts in _TEXTS.items()}
"""The guarantees by name, the strongest kind first."""


FROM_PAIRS = ("worst", "independent", "sum")
"""Guarantees that are computed from pair counts; the others need records."""
