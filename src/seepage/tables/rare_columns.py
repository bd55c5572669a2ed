"""Columns of which all answers but one are rare: asked, protected only, or left out.

Rare answers are why sensitive questions are asked, and an answer that is merged away or
left out is protected by nothing.  Protecting one costs nothing above the noise of a
search from some 50 certifying people on, asking for it 8 to 20 % more people from 100
on, of which any further question costs 4 to 10.  So the least share of an answer, from
which labels are merged until all are common, is lowered for a column that would keep
one answer only: until two remain, but not below 100 people for a question, and 50 for
an attribute that is protected and not asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seepage._core.arrays import Integers
from seepage.channel.domain import Attribute
from seepage.tables.answer_intervals import interval_edges
from seepage.tables.answer_rule import AnswerRule
from seepage.tables.number_summary import NumberSummary
from seepage.tables.rare_values import asked_shares, protected_share

SINGLE = 2
"""Number of edges of a single interval."""


@dataclass(frozen=True)
class LeastShares:
    """The least shares of the records of an answer, by what is done with its column.

    Parameters
    ----------
    asked
        Those of columns that are asked, the largest first.
    protected
        That of columns that are protected, and not asked.

    Examples
    --------
    >>> LeastShares.of(8_000)
    LeastShares(asked=(0.1, 0.05, 0.025, 0.0125), protected=0.00625)
    """

    asked: tuple[float, ...]
    protected: float

    @classmethod
    def of(cls, certifying: int) -> "LeastShares":
        """Return the least shares of a column with rare answers, for so many records
        that certify the limits.
        """
        return cls(asked_shares(certifying), protected_share(certifying))

    def tried(self, *, kept: bool) -> tuple[float, ...]:
        """Return the least shares that a column with rare answers is tried with, in
        this order.

        One that an option names is kept with any answers.
        """
        if kept:
            return (*self.asked, self.protected, 0.0)
        return (*self.asked, self.protected)

    def is_asked(self, share: float) -> bool:
        """Return whether a column is asked, or its answers are too rare: all have a
        share.
        """
        return share >= self.asked[-1]


def interval_cuts(
    numbers: NumberSummary, people: int, shares: Sequence[float]
) -> tuple[float, ...]:
    """Return the cuts of a column of numbers at the first share that leaves more than
    one interval that is not rare.

    Parameters
    ----------
    numbers
        The numbers of the part.
    people
        The number of records of the part.
    shares
        The least shares of an answer, descending.
    """
    edges = tuple[float, ...]()
    for share in shares:
        edges = interval_edges(numbers, people, share)
        if len(edges) != SINGLE:
            break
    return edges


@dataclass(frozen=True)
class CodedColumn:
    """The attribute of a column, and the least share of its answers.

    Parameters
    ----------
    attribute
        The attribute that every value, seen or not, is coded in.
    share
        The share that each of its answers has at least; 0 for one answer only, or
        answers that an option names.
    """

    attribute: Attribute
    share: float


@dataclass(frozen=True)
class ColumnCoder:
    """Codes the columns of a part, each at the first share that leaves two answers.

    Parameters
    ----------
    rule
        The rule that merges answers.
    people
        The number of records of the part.
    shares
        The least shares of an answer.
    """

    rule: AnswerRule
    people: int
    shares: LeastShares

    def coded(
        self, attribute: Attribute, counts: Integers, numbers: NumberSummary | None
    ) -> CodedColumn:
        """Return a column coded in answers that are not rare; else not asked.

        Parameters
        ----------
        attribute, counts
            The attribute with the values of the part, and their counts there.
        numbers
            Its numbers, if it is a column of numbers that no option bins or orders.
        """
        for share in self.shares.tried(kept=False):
            rule = replace(self.rule, least=share * self.people)
            coded = rule.attribute(attribute, counts, numbers)
            if coded.size > 1 and self._are_common(attribute, counts, numbers, share):
                return CodedColumn(coded, share)
        return CodedColumn(coded, 0.0)

    def _are_common(
        self,
        attribute: Attribute,
        counts: Integers,
        numbers: NumberSummary | None,
        share: float,
    ) -> bool:
        """Return whether a column's answers are not rare: intervals of numbers have a
        share; others have it by the rule.
        """
        if not attribute.edges or numbers is None:
            return True
        intervals = len(attribute.edges) - 1
        return bool(counts[:intervals].min() >= share * self.people)
