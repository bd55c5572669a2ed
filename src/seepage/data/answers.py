"""The domain of a table fixed on a random part of its records, and the rule that merges answers.

What is read off records is not independent of them: values that a sample shows are overcounted in
it, and pools of rare ones are made of values whose counts fell low by chance.  So a domain that the
user does not declare is fixed on a random part of the records, and the others, coded in it, are the
only ones that certify anything for the population [theory-population: Which answers].
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from seepage._numerics import Integers
from seepage.data import Attribute, Domain
from seepage.data.answer_rule import (
    AnswerRule,
    interval_edges,
    least_share,
    with_catch_all,
    with_markers,
)
from seepage.data.counting.distinct import own_seed
from seepage.data.table import MAX_ALPHABET, is_spark_frame
from seepage.data.table.bins import NumberSummary
from seepage.data.table.column import Column
from seepage.data.table.persons import RandomPart, RecordChoice
from seepage.data.table.scan import CodedBatch, TableScan, check_records, summaries_of
from seepage.data.table.sources import Source, open_frame, open_source
from seepage.data.table.values import is_number_type, marker_labels
from seepage.errors import InputError, Setting, TableError, Text

if TYPE_CHECKING:
    from seepage.data.records import RecordOptions

SMALL_TABLE, LARGE_PART, SMALL_PART = 20_000, 1 / 5, 1 / 20
"""Below this number of records the part is the larger share of them, else the smaller."""

NOT_ASKED = "not asked, and nothing is promised about them"
"""How the note on attributes whose answers are too rare begins; it ends with their names."""

MAX_PART = 1 << 18
"""Maximum number of records of the part."""


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
        Columns of which all answers but one are too rare to ask for, and that have no part in any
        promise.
    merging
        Whether answers were merged by the rule.
    dropping
        Whether records with a missing value were left out.
    """

    domain: Domain
    part: RandomPart | None
    records: int
    values: Mapping[str, int]
    left_out: tuple[str, ...] = ()
    merging: bool = True
    dropping: bool = False

    def settings(self) -> dict[str, Any]:
        """Return what a plan states: records that fixed the answers, values, what is left out."""
        found: dict[str, Any] = {} if self.part is None else {"fixing records": self.records}
        if self.merging:
            sizes = {attribute.name: attribute.size for attribute in self.domain}
            found["values"] = {n: v for n, v in self.values.items() if v > sizes.get(n, v)}
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
        yield from (answers_of(a, self.values[a.name]) for a in self.domain if self.merging)


def answers_of(attribute: Attribute, values: int) -> str:
    """Return a question with its answers in one line, and the number of values that they cover.

    Examples
    --------
    >>> days = Attribute("days", ("0", "1 to 5", "6 or more"), (-1e9, 1, 6, 1e9))
    >>> answers_of(days, 31)
    'days: 0, 1 to 5, 6 or more (31 values)'
    """
    listed = f"{attribute.name}: {', '.join(attribute.values)}"
    return f"{listed} ({values:,} values)" if values != attribute.size else listed


def fixed_on_part(data: Any, options: "RecordOptions", rng: int) -> tuple[Any, FixedDomain]:
    """Return the data to code, and their domain, see `fix_domain`; also for Spark DataFrames."""
    if is_spark_frame(data):
        from seepage.data.spark.engine import split_frame

        part, data = split_frame(data, rng)
        held = replace(options, engine="auto", scope="table")
        return data, fix_domain(part, held, rng)
    if not isinstance(data, (str, os.PathLike, list, tuple)):
        data = open_frame(data)
    return data, fix_domain(data, options, rng)


def fix_domain(data: Any, options: "RecordOptions", rng: int) -> FixedDomain:
    """Return the domain of a table, fixed on a random part of its records for the population.

    Parameters
    ----------
    data
        A frame, a source, or the path of a file, folder or glob.
    options
        The table options, with the scope and how answers are chosen.
    rng
        The seed of the part.
    """
    source = open_source(data, options)
    names = options.choose(source.names)
    choice = RecordChoice(options.person, fields=source.fields)
    part = RandomPart(own_seed("part", rng), 2**64)
    batches, part = _read_part(source, names, choice, part, options.scope == "table")
    chosen = ((batch.select(names), choice.chosen(batch)) for batch in batches)
    first_of_each = [batch if mask is None else batch.filter(mask) for batch, mask in chosen]
    held = pa.Table.from_batches(first_of_each)
    merging, scale = options.merges_answers, min(1.0, part.threshold / 2**64)
    people = held.num_rows / scale
    share = least_share(round(people if options.scope == "table" else people * (1 - scale)))
    numbers = _numbers(held, options, source.fields) if merging else {}
    cuts = {name: interval_edges(one, held.num_rows, share) for name, one in numbers.items()}
    for name in options.keep:
        if len(cuts.get(name, ())) == 2:  # a single interval
            cuts[name] = interval_edges(numbers[name], held.num_rows, 0.0)
    domain, counts = _scan(held, options, source.fields, cuts)
    for name in options.order:
        domain.index(name)
    rule = AnswerRule(options, share, scale)
    attributes, left_out = list[Attribute](), list[str]()
    for attribute, marginal in zip(domain, counts, strict=True):
        found = rule.attribute(attribute, marginal, numbers.get(attribute.name))
        if found.size == 1 and merging and attribute.name not in options.keep:
            left_out.append(attribute.name)
            continue
        lost = found.size == 1 < attribute.size
        found = with_catch_all(attribute, marginal) if lost else found
        attributes.append(with_markers(found, marker_labels(options.markers_of(found.name))))
    if not attributes:
        raise InputError(
            "no column has two answers with enough people; ask for the values as they are",
            parameter="answers",
        )
    values = {a.name: int((m > 0).sum()) for a, m in zip(domain, counts, strict=True)}
    values |= {name: len(one.distinct()[0]) for name, one in numbers.items() if cuts[name]}
    excluded = None if options.scope == "table" else part
    about = held.num_rows, values, tuple(left_out), merging, options.dropping
    return FixedDomain(Domain(attributes), excluded, *about)


# The part -----------------------------------------------------------------------------------------


def _read_part(
    source: Source, names: Sequence[str], choice: RecordChoice, part: RandomPart, whole: bool
) -> tuple[list[pa.RecordBatch], RandomPart]:
    """Return the records of a random part, and the part with its threshold.

    A fifth while fewer than 20,000 records were read, then a twentieth, and less where that is
    more than `MAX_PART`; `whole`: all, up to `MAX_PART`.
    """
    threshold = int((1.0 if whole else LARGE_PART) * 2**64)
    kept, priorities, rows = list[pa.RecordBatch](), list[Any](), 0
    columns = [*names, choice.person] if choice.person is not None else names

    def thin() -> None:
        for index, values in enumerate(priorities):
            inside = values < np.uint64(min(threshold, 2**64 - 1))
            kept[index], priorities[index] = kept[index].filter(inside), values[inside]

    for batch in source.batches(columns):
        priorities.append(part.priorities(choice.keys(batch, rows), rows, batch.num_rows))
        kept.append(batch)
        rows += batch.num_rows
        if rows >= SMALL_TABLE and not whole:
            threshold = min(threshold, int(SMALL_PART * 2**64))
        thin()
        while sum(map(len, priorities)) > MAX_PART:
            threshold //= 2
            thin()
    check_records(rows, rows)
    if not sum(map(len, priorities)):
        raise TableError(
            f"{rows:,} records are too few to fix the answers on a part of them; declare a domain"
        )
    return [batch for batch in kept if batch.num_rows], replace(part, threshold=threshold)


def _numbers(held: pa.Table, options: "RecordOptions", fields: bool) -> dict[str, NumberSummary]:
    """Return summaries of the columns of numbers that the options neither bin nor order."""
    chosen = [
        column
        for column in (Column(name, options, fields=fields) for name in held.column_names)
        if options.given_rule(column.name) is None
        and column.name not in options.order
        and (fields or is_number_type(held.schema.field(column.name).type))
    ]
    found = zip(chosen, summaries_of(open_frame(held), chosen) if chosen else (), strict=True)
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
    """Return the domain of the part, with the cuts as bins, and the counts of its values."""
    bins = options.bins
    if cuts:
        rest = bins if isinstance(bins, Mapping) else {}
        bins = {**rest, **{name: edges or "none" for name, edges in cuts.items()}}
    most = MAX_ALPHABET if options.merges_answers else options.max_values
    table = replace(options, bins=bins, pool=None, max_values=most, person=None)
    columns = [Column(name, table, fields=fields) for name in held.column_names]
    scan = TableScan(open_frame(held), columns, table)

    def gather(batches: Iterator[CodedBatch]) -> list[Integers]:
        parts = zip(*(batch.codes for batch in batches), strict=True)
        return [np.concatenate(column) for column in parts]

    codes = scan.read(gather)
    domain, orders = scan.finish()
    return domain, [
        np.bincount(column, minlength=int(order.max()) + 1)[order]
        for column, order in zip(codes, orders, strict=True)
    ]
