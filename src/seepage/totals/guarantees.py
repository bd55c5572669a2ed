"""The guarantees of totals in words, from `guarantees.toml`: the one text that all others quote."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from seepage.data.domain import Counted, how_many
from seepage.errors import InputError

Kind = Literal["certified", "statistical", "assumed", "lower bound"]

KINDS: dict[Kind, str] = {
    "certified": "proven",
    "statistical": "valid with a stated confidence, and up to a delta where one is stated",
    "assumed": "valid only under an assumption, which real data often violate",
    "lower bound": "attained by reports that were found; it refutes smaller totals and bounds none",
}
"""Kinds of totals, the strongest first, and what each means."""

SCOPES = ("table", "population")
"""The joint distribution that totals hold for: the table's own, or that it was drawn from."""

NEEDS_RECORDS = "needs records"
"""Words of the reason why pair counts do not suffice for a guarantee; the verdict checks for it."""


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


_TEXTS = tomllib.loads(Path(__file__).with_name("guarantees.toml").read_text(encoding="utf-8"))

GUARANTEES = {name: Guarantee(name, **texts) for name, texts in _TEXTS.items()}
"""The guarantees by name, the strongest kind first."""


class GuaranteeError(InputError):
    """A guarantee cannot be computed: records, memory or a mechanism is missing."""


def check_whole_table(
    counted: Counted,
    guarantee: str,
    what: str,
    scope: str = "table",
    hint: str = "give the table itself, its pair counts, or guarantee 'worst'",
) -> None:
    """Raise a GuaranteeError if a guarantee for all records is computed from a sample of them.

    The sum of all budgets, `"worst"`, holds for any records; totals with the scope `"population"`
    are computed from samples.

    Parameters
    ----------
    counted
        The records, or their pair counts.
    guarantee
        The name of the guarantee.
    what
        The subject of the message, in the plural ("budgets").
    scope
        One of `SCOPES`.
    hint
        The end of the message: alternatives.
    """
    if counted.population is not None and guarantee != "worst" and scope == "table":
        raise GuaranteeError(
            f"{what} need all records, and these are a {how_many(counted)}: people left out may "
            "have what leaks most; ",
            hint,
        )
