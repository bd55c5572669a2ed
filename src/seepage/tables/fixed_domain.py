"""The domain of answers, fixed on a random part of the records."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from seepage._core.arrays import Integers
from seepage._core.errors import InputError, Setting, TableError, Text
from seepage.channel.domain import Attribute, Domain
from seepage.counting.record_samples import (
    MAX_PART,
    Priorities,
    RandomPart,
    below_share,
    own_seed,
    part_share,
)
from seepage.tables.answer_rule import AnswerRule, with_catch_all, with_markers
from seepage.tables.bins import NumberSummary, interval_edges
from seepage.tables.column import Column
from seepage.tables.frames import open_frame
from seepage.tables.opening import open_source
from seepage.tables.relations import least_share
from seepage.tables.scan import TableScan, summaries_of
from seepage.tables.sources import is_number_type
from seepage.tables.table_options import MAX_ALPHABET, is_spark_frame

if TYPE_CHECKING:
    from seepage.tables.sources import Source
    from seepage.tables.table_options import RecordOptions


NOT_ASKED = "not asked, and nothing is promised about them"
"""How the note on attributes whose answers are too rare begins; it ends with their
names."""


@dataclass(frozen=True)
class FixedDomain:
    """How a domain was fixed.

    Parameters
    ----------
    domain
        The domain.
    part
        The random part that fixed it, which certifies nothing; None if all records did.
    records
        The number of records that fixed it.
    values
        The number of values that each attribute had among them.
    left_out
        Columns of which all answers but one are too rare to ask for, and that have no
        part in any promise.
    merging
        Whether answers were merged by the rule.
    dropping
        Whether records with a missing value were left out.
    """

    domain: Domain
    part: RandomPart | None
    records: int
    values: Mapping[str, int]
    left_out: tuple[str, ...]
    merging: bool
    dropping: bool

    def settings(self) -> dict[str, Any]:
        """Return what a plan states: records that fixed the answers, values, what is
        left out.
        """
        found: dict[str, Any] = (
            {} if self.part is None else {"fixing records": self.records}
        )
        if self.merging:
            sizes = {attribute.name: attribute.size for attribute in self.domain}
            found["values"] = {
                n: v for n, v in self.values.items() if v > sizes.get(n, v)
            }
        return found | ({"missing": "drop"} if self.dropping else {})

    def notes(self) -> Iterator[str]:
        """Yield remarks on the part, on what was merged, and on what is not asked."""
        if self.part is not None:
            yield (
                f"the answers were fixed on a random part of {self.records:,} records, and the "
                "limits are certified on the others; a value that the part does not have is coded "
                'as "(other)", or else as the commonest answer'
            )
        if self.left_out:
            yield Text(
                f"{NOT_ASKED} (all answers but one are too rare; to ask them, name them by ",
                Setting("importance"),
                f"): {', '.join(self.left_out)}",
            )
        for attribute in self.domain if self.merging else ():
            listed = ", ".join(attribute.values)
            values = self.values[attribute.name]
            merged = f" ({values:,} values)" if values != attribute.size else ""
            yield f"{attribute.name}: {listed}{merged}"


def fix_domain(
    data: Any, options: "RecordOptions", rng: int
) -> tuple[Any, FixedDomain]:
    """Return the data to code, and their domain, for the population fixed on a random
    part of them.

    Parameters
    ----------
    data
        A frame, also of Spark, or the path of a file, folder or glob.
    options
        The table options, with the scope and how answers are chosen.
    rng
        The seed of the part.
    """
    if is_spark_frame(data):
        from seepage.counting.spark.engine import split_frame

        held_frame, others = split_frame(data, rng)
        return others, fix_domain(
            held_frame, replace(options, engine="auto", scope="table"), rng
        )[1]
    source = open_source(data, options)
    whole = options.scope == "table"
    held, part = read_part(
        source, options.choose(source.names), options.person, rng, whole=whole
    )
    scale = min(1.0, part.threshold / 2**64)
    people = held.num_rows / scale
    share = least_share(round(people if whole else people * (1 - scale)))
    merging = options.merges_answers
    numbers = _numbers(held, options, source.fields) if merging else {}
    cuts = {
        name: interval_edges(one, held.num_rows, share) for name, one in numbers.items()
    }
    for name in options.keep:
        if len(cuts.get(name, ())) == 2:  # a single interval
            cuts[name] = interval_edges(numbers[name], held.num_rows, 0.0)
    domain, counts = _scan(held, options, source.fields, cuts)
    for name in options.order:
        domain.index(name)
    rule = AnswerRule(options, share * max(int(counts[0].sum()), 1), scale)
    attributes = list[Attribute]()
    left_out = list[str]()
    for attribute, marginal in zip(domain, counts, strict=True):
        found = rule.attribute(attribute, marginal, numbers.get(attribute.name))
        if found.size == 1 and merging and attribute.name not in options.keep:
            left_out.append(attribute.name)
        else:
            lost = found.size == 1 < attribute.size
            found = with_catch_all(attribute, marginal) if lost else found
            attributes.append(with_markers(found, options))
    if not attributes:
        raise InputError(
            "no column has two answers with enough people; ask for the values as they are",
            parameter="answers",
        )
    values = {a.name: int((m > 0).sum()) for a, m in zip(domain, counts, strict=True)}
    values |= {
        name: len(one.distinct()[0]) for name, one in numbers.items() if cuts[name]
    }
    about = held.num_rows, values, tuple(left_out), merging, options.dropping
    fixed = FixedDomain(Domain(attributes), None if whole else part, *about)
    return (data if source.frame is None else source), fixed


def _numbers(
    held: pa.Table, options: "RecordOptions", fields: bool
) -> dict[str, NumberSummary]:
    """Return summaries of the columns of numbers that the options neither bin nor
    order.
    """
    chosen = [
        Column(name, options, fields=fields)
        for name in held.column_names
        if options.given_rule(name) is None
        and name not in options.order
        and (fields or is_number_type(held.schema.field(name).type))
    ]
    found = zip(
        chosen, summaries_of(open_frame(held), chosen) if chosen else (), strict=True
    )
    return {
        column.name: summary
        for column, summary in found
        if summary.stray is None and summary.low <= summary.high
    }


def _scan(
    held: pa.Table,
    options: "RecordOptions",
    fields: bool,
    cuts: Mapping[str, tuple[float, ...]],
) -> tuple[Domain, list[Integers]]:
    """Return the domain of the part, with the cuts as bins, and the counts of its
    values.
    """
    bins = options.bins
    if cuts:
        rest = bins if isinstance(bins, Mapping) else {}
        bins = {**rest, **{name: edges or "none" for name, edges in cuts.items()}}
    most = MAX_ALPHABET if options.merges_answers else options.max_values
    table = replace(options, bins=bins, pool=None, max_values=most, person=None)
    columns = [Column(name, table, fields=fields) for name in held.column_names]
    scan = TableScan(open_frame(held), columns, table)
    codes = scan.read(lambda batches: [batch.codes for batch in batches])
    domain, orders = scan.finish()
    return domain, [
        np.bincount(np.concatenate(column), minlength=int(order.max()) + 1)[order]
        for *column, order in zip(*codes, orders, strict=True)
    ]


def read_part(
    source: "Source", names: Sequence[str], person: str | None, rng: int, *, whole: bool
) -> "tuple[pa.Table, RandomPart]":
    """Return the records of a random part, one of each person, and the part.

    It is the share of `part_share`, and less where that is more than `MAX_PART`;
    `whole`: all, up to `MAX_PART`.
    """
    import pyarrow as pa

    from seepage.tables.persons import RecordChoice

    threshold = 2**64
    part = RandomPart(own_seed("part", rng), threshold)
    choice = RecordChoice(person, fields=source.fields)
    kept = list[tuple["pa.RecordBatch", Priorities]]()
    rows = 0
    for batch in source.batches(names if person is None else [*names, person]):
        kept.append(
            (batch, part.priorities(choice.keys(batch, rows), rows, batch.num_rows))
        )
        rows += batch.num_rows
        if not whole:
            threshold = min(threshold, int(part_share(rows) * 2**64))
        kept = below_share(threshold, kept)
        while sum(len(priorities) for _, priorities in kept) > MAX_PART:
            threshold //= 2
            kept = below_share(threshold, kept)
    if not rows:
        raise TableError("the table has no records")
    if not kept:
        raise TableError(
            f"{rows:,} records are too few to fix the answers on a part of them; declare a domain"
        )
    masks = [choice.chosen(batch) for batch, _ in kept]
    chosen = [
        b if mask is None else b.filter(mask)
        for (b, _), mask in zip(kept, masks, strict=True)
    ]
    return pa.Table.from_batches(chosen).select(names), replace(
        part, threshold=threshold
    )
