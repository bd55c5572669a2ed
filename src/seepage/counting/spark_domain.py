"""From what the shards of a table found to its domain, and to its counts where they suffice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from seepage.counting.merging import widened
from seepage.counting.spark_found import Found, FoundColumn, Numbers
from seepage.domain import MISSING, Attribute, Domain
from seepage.errors import TableError
from seepage.pairs import PairCounts
from seepage.table.alphabet import FoundAlphabet
from seepage.table.binned import binned_attribute
from seepage.table.binning import Edges
from seepage.table.collecting import Collector
from seepage.table.columns import Column
from seepage.table.edges import edges_of
from seepage.table.labels import Key, field_key
from seepage.table.options import ALL_OTHERS, TableOptions

__all__ = ["Settled", "keeping", "settle", "settle_late"]


@dataclass
class Settled:
    """What all shards together say.

    Parameters
    ----------
    attributes
        The attributes, None where bin edges are still to be found.
    missing
        Whether each column needs a category of missing values.
    wanted
        For each column whose bin edges are still to be found, the share of its numbers that
        tells them.
    kept
        The columns whose numbers have no bins after all: their values stay categories, and have
        to be found again.
    counts
        The counts, None where the records have to be counted again, in the domain.
    """

    attributes: list[Attribute | None] = field(default_factory=list)
    missing: list[bool] = field(default_factory=list)
    wanted: dict[int, float] = field(default_factory=dict)
    kept: list[int] = field(default_factory=list)
    counts: PairCounts | None = None

    @property
    def domain(self) -> Domain:
        """The domain, once all columns are settled."""
        return Domain(attribute for attribute in self.attributes if attribute is not None)

    def take(self, place: int, column: Column, numbers: Collector) -> None:
        """Settle a column by its numbers, as far as these tell its edges."""
        self.wanted.pop(place, None)
        if not numbers.complete:
            self.wanted[place] = numbers.wider_share
            return
        edges = edges_of(column, numbers)
        if edges:
            missing = self.missing[place]
            self.attributes[place] = binned_attribute(column.name, edges, missing=missing)
        else:
            self.kept.append(place)


def keeping(options: TableOptions, names: Sequence[str]) -> TableOptions:
    """Return the options with the numbers of these columns as categories."""
    given = options.bins if isinstance(options.bins, Mapping) else {ALL_OTHERS: options.bins}
    return replace(options, bins={**given, **dict.fromkeys(names, "none")})


def settle(found: Found, names: Sequence[str], options: TableOptions, share: float) -> Settled:
    """Return the domain that follows from what all shards found, as far as it does.

    Parameters
    ----------
    found
        What all shards found.
    names
        The columns of the table, before the options choose among them.
    options
        How the table is read.
    share
        The share of its numbers that tells the bin edges of a column.
    """
    if not found.rows:
        raise TableError("the table has no records")
    columns = [Column(choice, options, fields=False) for choice in options.choose(names)]
    alphabets = [_alphabet(c, part) for c, part in zip(columns, found.columns, strict=True)]
    if not found.left:
        raise TableError(f"no record is left: all {found.rows:,} have a missing value")
    settled = Settled()
    for place, (column, part, alphabet) in enumerate(
        zip(columns, found.columns, alphabets, strict=True)
    ):
        missing = part.missing and not options.dropping
        settled.missing.append(missing)
        settled.attributes.append(None)
        if not column.edges and part.crowded and isinstance(column.rule, Edges):
            column.settle(column.rule.given)
        if column.edges:
            edges = column.edges
            settled.attributes[place] = binned_attribute(column.name, edges, missing=missing)
        elif not part.crowded:
            settled.attributes[place] = _categories(alphabet, part)
        elif part.gathered is not None:
            settled.take(place, column, part.gathered)
        else:
            settled.wanted[place] = share
    if found.counted and found.counts is not None:
        settled.counts = widened(found.counts, settled.domain)
    return settled


def settle_late(
    settled: Settled, places: Sequence[int], columns: Sequence[Column], numbers: Numbers
) -> Settled:
    """Return what was settled, with columns whose numbers have been gathered since."""
    for place, column, gathered in zip(places, columns, numbers.columns, strict=True):
        settled.take(place, column, gathered)
    return settled


def _alphabet(column: Column, part: FoundColumn) -> FoundAlphabet:
    """Return the alphabet of the values found; too many of them are refused."""
    alphabet = FoundAlphabet(column.name, few=None, most=part.most, markers=column.markers)
    for label in part.values:
        alphabet.code(_key(label, part))
    return alphabet


def _key(label: str, part: FoundColumn) -> Key:
    if label == MISSING:
        return None
    return field_key(label) if part.number else label


def _categories(alphabet: FoundAlphabet, part: FoundColumn) -> Attribute:
    """Return the attribute of a column of categories, of the values in records left."""
    kept = np.array(list(part.values.values()))
    return alphabet.attribute(None if kept.all() else kept)[0]
