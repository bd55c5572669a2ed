"""From what the shards of a table found to its domain, and to its counts where they suffice."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seepage.counting.merging import widened
from seepage.counting.spark_tasks import Found, FoundColumn
from seepage.domain import MISSING, Attribute, Domain
from seepage.errors import TableError
from seepage.pairs import PairCounts
from seepage.table.alphabet import FoundAlphabet, ManyNumbers
from seepage.table.binned import binned_attribute
from seepage.table.binning import Edges, Keep
from seepage.table.collecting import Collector
from seepage.table.columns import Column
from seepage.table.edges import edges_of
from seepage.table.labels import Key, field_key, number_label
from seepage.table.options import TableOptions

__all__ = ["Settled", "binned", "in_domain", "settle"]


@dataclass
class Settled:
    """What all shards together say.

    Parameters
    ----------
    attributes
        The attributes, None where bin edges are still to be found.
    missing
        Whether each column needs a category of missing values.
    counts
        The counts, None where the records have to be counted again, in the domain.
    """

    attributes: list[Attribute | None]
    missing: list[bool]
    counts: PairCounts | None

    @property
    def unsettled(self) -> list[int]:
        """The numbers of the columns whose bin edges are still to be found."""
        return [place for place, attribute in enumerate(self.attributes) if attribute is None]

    @property
    def domain(self) -> Domain:
        """The domain, once all columns are settled."""
        return Domain(attribute for attribute in self.attributes if attribute is not None)


def in_domain(options: TableOptions, domain: Domain) -> TableOptions:
    """Return the options that code into a domain found."""
    return replace(options, domain=domain, bins=None)


def settle(shards: Sequence[Found], names: Sequence[str], options: TableOptions) -> Settled:
    """Put together what the shards found.

    Parameters
    ----------
    shards
        What each shard found.
    names
        The columns of the table, before the options choose among them.
    options
        How the table is read.
    """
    filled = [shard for shard in shards if shard.rows]
    if not filled:
        raise TableError("the table has no records")
    settled = Settled([], [], None)
    recount = any(shard.counts is None for shard in filled)
    for place, choice in enumerate(options.choose(names)):
        column = Column(choice, options, fields=False)
        parts = [shard.columns[place] for shard in filled]
        missing = any(part.missing for part in parts) and not options.dropping
        attribute = None if column.edges else _categories(column, parts, options)
        if attribute is None:
            recount |= not column.edges
            attribute = _bins(column, parts, missing)
        settled.attributes.append(attribute)
        settled.missing.append(missing)
    if not settled.unsettled and not recount:
        settled.counts = _sum(filled, settled.domain)
    return settled


def _categories(
    column: Column, parts: Sequence[FoundColumn], options: TableOptions
) -> Attribute | None:
    """Return the attribute of a column of categories, None where it needs bins."""
    if any(part.crowded for part in parts):
        return None
    few = None if isinstance(column.rule, Keep) else options.few
    alphabet = FoundAlphabet(column.name, few=few, most=options.max_values, markers=column.markers)
    seen: set[int] = set()
    try:
        for part in parts:
            assert part.attribute is not None
            codes = [alphabet.code(_key(label, part)) for label in part.attribute.values]
            kept = part.kept or (True,) * len(codes)
            seen.update(code for code, there in zip(codes, kept, strict=True) if there)
    except ManyNumbers:
        return None
    if not options.dropping:
        return alphabet.attribute()[0]
    if not seen:
        raise TableError("no record is left: all have a missing value")
    return alphabet.attribute(np.isin(np.arange(alphabet.size), list(seen)))[0]


def _key(label: str, part: FoundColumn) -> Key:
    if label == MISSING:
        return None
    return field_key(label) if part.number else label


def _bins(column: Column, parts: Sequence[FoundColumn], missing: bool) -> Attribute | None:
    """Return the attribute of a column with bins, None where their edges are still to be found."""
    if not column.edges and isinstance(column.rule, Edges):
        column.settle(column.rule.given)
    if column.edges:
        return binned_attribute(column.name, column.edges, missing=missing)
    gathered = [part.gathered for part in parts if part.gathered is not None]
    return binned(column, gathered, missing) if len(gathered) == len(parts) else None


def binned(column: Column, parts: Iterable[Collector], missing: bool) -> Attribute:
    """Return the attribute of a column that needs bins, from all its numbers.

    One number only, or none, is no column for bins: it stays a category.
    """
    numbers = Collector()
    for part in parts:
        numbers.merge(part)
    edges = edges_of(column, numbers)
    if edges:
        return binned_attribute(column.name, edges, missing=missing)
    values = [number_label(numbers.low)] if numbers.low <= numbers.high else []
    return Attribute(column.name, (*values, *([MISSING] if missing or not values else [])))


def _sum(shards: Sequence[Found], domain: Domain) -> PairCounts:
    """Return the counts of all shards in the common domain."""
    total = None
    for shard in shards:
        if shard.counts is None or not shard.counts.rows:
            continue
        attributes, orders = [], []
        for column, wide in zip(shard.columns, domain, strict=True):
            assert column.attribute is not None
            assert column.order is not None
            known = set(wide.values)
            kept = [i for i, value in enumerate(column.attribute.values) if value in known]
            values = tuple(column.attribute.values[i] for i in kept)
            attributes.append(wide if values == wide.values else Attribute(wide.name, values))
            orders.append(column.order[kept])
        part = widened(shard.counts.counts(Domain(attributes), orders), domain)
        total = part if total is None else total + part
    if total is None:
        rows = sum(shard.rows for shard in shards)
        raise TableError(f"no record is left: all {rows:,} have a missing value")
    return total
