"""The guarantees of totals: the one text that terminal, pages, client and documentation quote."""

from dataclasses import dataclass
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


_OTHERS = (
    "It does not hold for people who are distributed otherwise, nor against an adversary who knows "
    "anything else about the person"
)

GUARANTEES: dict[str, Guarantee] = {
    guarantee.name: guarantee
    for guarantee in (
        Guarantee(
            "exact",
            "certified",
            "the largest log-likelihood ratio over all combinations of reports",
            "It is proven for every report that can occur, from the joint distribution of the "
            "answers, without an assumption about how attributes depend on each other.",
            "records, with at most some 27 binary attributes or as many combinations of values",
            f"{_OTHERS}.",
        ),
        Guarantee(
            "merged",
            "certified",
            "the bound with all other attributes taken as one source",
            "It is proven for every mechanism with these budgets, from the joint distribution of "
            "the answers, without an assumption about how attributes depend on each other.",
            "records",
            f"{_OTHERS}; a mechanism that is known may leak far less.",
        ),
        Guarantee(
            "worst",
            "certified",
            "the sum of all budgets, whatever the data",
            "It is proven whatever the data and whatever the adversary knows about the person.",
            "budgets alone",
            "It is no estimate: most tables leak far less.",
        ),
        Guarantee(
            "sampled",
            "statistical",
            "the privacy loss of reports drawn at random",
            "It holds up to its delta in the probability of any set of reports, with its "
            "confidence over the reports that were drawn for the computation.",
            "records and mechanisms",
            f"{_OTHERS}; rare reports, within its delta, may tell more.",
        ),
        Guarantee(
            "independent",
            "assumed",
            "the paper's sum of pairwise leakages, valid only if sources are independent given the "
            "target; real data often violate it",
            "It RESTS ON AN ASSUMPTION and is not proven: that the attributes are independent of "
            "each other given the one protected, which real data often violate.",
            "pair counts",
            "It omits what several sources tell only together.",
        ),
        Guarantee(
            "witness",
            "lower bound",
            "the largest log-likelihood ratio that a search found",
            "It is attained by reports that can occur: a total with delta 0 that is below it is "
            "refuted.",
            "records",
            "It is no upper bound: other reports may tell more.",
        ),
    )
}
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
