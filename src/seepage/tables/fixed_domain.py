"""The domain of answers, fixed on a random part of the records."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from seepage._core.arrays import Integers
from seepage._core.errors import InputError, Setting, TableError, Text
from seepage._core.number_grammar import NUMBER
from seepage._core.text import short_list
from seepage.channel.domain import MISSING, Attribute, Domain
from seepage.counting.record_samples import (
    MAX_PART,
    Priorities,
    RandomPart,
    below_share,
    own_seed,
    part_share,
)
from seepage.tables.answer_rule import AnswerRule, with_markers
from seepage.tables.arrow_types import is_number_type, readable
from seepage.tables.column import Column, marker_labels
from seepage.tables.frames import open_frame
from seepage.tables.interval_scores import with_scores
from seepage.tables.kinds import kind_of
from seepage.tables.missing_codes import codes_for_missing
from seepage.tables.number_summary import NumberSummary
from seepage.tables.open_source import open_source
from seepage.tables.profile import profile_of
from seepage.tables.rare_columns import ColumnCoder, LeastShares, interval_cuts
from seepage.tables.rare_values import PROTECTED_PEOPLE
from seepage.tables.record_choice import RecordChoice
from seepage.tables.scan import TableScan, summaries_of
from seepage.tables.table_options import (
    MAX_ALPHABET,
    SPARK,
    is_spark_frame,
    with_more_markers,
)

if TYPE_CHECKING:
    from seepage.tables.sources import Source
    from seepage.tables.table_options import BinRule, Bins, RecordOptions


NOT_ASKED = "not asked, and nothing is promised about them"
"""How the note on attributes whose answers are too rare begins; it ends with their
names."""


PROTECTED = "protected, but not asked"
"""How the note on attributes whose rare answers are protected only begins; it ends with
their names."""


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
    largest_shares
        The share of the commonest of these values.
    protected
        Attributes of the domain that are not asked unless an option names them: all
        their answers but one are rare, but no rarer than limits can protect.
    left_out
        Columns of which all answers but one are too rare to protect, and that have no
        part in any promise.
    merging
        Whether answers were merged by the rule.
    """

    domain: Domain
    part: RandomPart | None
    records: int
    values: Mapping[str, int]
    largest_shares: Mapping[str, float]
    protected: tuple[str, ...]
    left_out: tuple[str, ...]
    merging: bool

    def settings(self) -> dict[str, Any]:
        """Return what a plan states of the fixed domain: records that fixed the
        answers, values, what is left out.
        """
        settings = dict[str, Any]()
        if self.part is not None:
            settings["fixing records"] = self.records
        if self.merging:
            settings["values"] = self.values_merged()
        if self.protected:
            settings["protected"] = list(self.protected)
        if self.left_out:
            settings["too rare"] = list(self.left_out)
        return settings

    def _unseen(self) -> str:
        """Return how values are coded in the fixed domain that the part does not have,
        in words.
        """
        if any(attribute.shares for attribute in self.domain):
            return '"other" where that is an answer, or else as no answer'
        return (
            '"(other)" or "(missing)" where that is an answer, or else as the commonest'
        )

    def values_merged(self) -> dict[str, int]:
        """Return how many values have the attributes with fewer answers in the fixed
        domain.
        """
        answers = {attribute.name: attribute.answers for attribute in self.domain}
        return {
            name: values
            for name, values in self.values.items()
            if name in answers and values > answers[name]
        }

    def notes(self) -> Iterator[str]:
        """Yield remarks on the fixed domain: the part, what was merged, and what is not
        asked.
        """
        if self.part is not None:
            yield (
                f"the answers were fixed on a random part of {self.records:,} records, "
                "and the limits are certified on the others; nothing is promised about "
                f"a value that the part does not have: it is coded as {self._unseen()}"
            )
        if self.protected:
            yield Text(
                f"{PROTECTED} (all answers but one are rare; to ask them, name them "
                "by ",
                Setting("keep"),
                f"): {', '.join(self.protected)}",
            )
        if self.left_out:
            yield Text(
                f"{NOT_ASKED} (all answers but one have fewer than about "
                f"{PROTECTED_PEOPLE} people; to ask them, name them by ",
                Setting("keep"),
                f"): {', '.join(self.left_out)}",
            )
        if self.merging:
            for attribute in self.domain.as_reported():
                yield self._answers_of(attribute)
            yield from self._no_answer()

    def _no_answer(self) -> Iterator[str]:
        """Yield a remark on what a fixed domain promises about having no answer."""
        names = [a.name for a in self.domain if a.shares and not a.protects_missing]
        if names:
            yield (
                "a person may leave any question open, and her device then draws an "
                "answer by fixed shares; if leaving it open depends on no answer, that "
                "tells nothing. Nothing more is promised about having no answer of "
                f"{short_list(names)}: too few people have none"
            )

    def _answers_of(self, attribute: Attribute) -> str:
        """Return the answers of an attribute of the fixed domain in words."""
        answers = ", ".join(attribute.values)
        values = self.values[attribute.name]
        if values == attribute.size:
            return f"{attribute.name}: {answers}"
        return f"{attribute.name}: {answers} ({values:,} values)"


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

        part_frame, others, certifying = split_frame(data, rng)
        of_the_part = replace(options, engine="auto", scope="table")
        part_source = open_source(part_frame, of_the_part)
        return others, _fix(part_source, of_the_part, rng, certifying)
    source = open_source(data, options)
    fixed = _fix(source, options, rng)
    if options.engine == SPARK:
        return data, fixed
    return source, fixed


def _fix(
    source: "Source", options: "RecordOptions", rng: int, certifying: int | None = None
) -> FixedDomain:
    """Return the domain of a source, fixed for the population on a random part.

    Parameters
    ----------
    source
        The records, of which a part is read, and for the table all.
    options
        The table options, with the scope and how answers are chosen.
    rng
        The seed of the part.
    certifying
        The number of records that certify the limits, where they are not of the source.
    """
    whole = options.scope == "table"
    names = options.choose(source.names)
    table, part = read_part(source, names, options.person_column, rng, whole=whole)
    if not whole:
        options = with_texts_beside_numbers(table, options, fields=source.fields)
    scale = min(1.0, part.threshold / 2**64)
    if certifying is None:
        certifying = _certifying(table.num_rows, scale, whole=whole)
    shares = LeastShares.of(certifying)
    summaries = _summaries(table, options, source.fields)
    numbers = dict[str, NumberSummary]()
    if options.merges_answers:
        numbers = {
            name: summary
            for name, summary in summaries.items()
            if options.given_rule(name) is None
        }
    cuts = dict[str, tuple[float, ...]]()
    for name, summary in numbers.items():
        tried = shares.tried(kept=name in options.keep)
        cuts[name] = interval_cuts(summary, table.num_rows, tried)
    domain, counts = _scan(table, options, source.fields, cuts)
    for name in options.order:
        domain.index(name)
    people = max(int(counts[0].sum()), 1)
    coder = ColumnCoder(AnswerRule(options, 0.0, scale), people, shares)
    roles = _roles(coder, domain, counts, numbers)
    with_means = [with_scores(a, summaries.get(a.name)) for a in roles.domain]
    if not set(roles.domain.names) - set(roles.protected):
        raise InputError(
            "no column has two answers with enough people; ask for the values as they "
            "are",
            parameter="answers",
        )
    return FixedDomain(
        domain=Domain(with_means).as_coded(),
        part=None if whole else part,
        records=table.num_rows,
        values=_numbers_of_values(domain, counts, numbers, cuts),
        largest_shares=_largest_shares(domain, counts, numbers, cuts),
        protected=roles.protected,
        left_out=roles.left_out,
        merging=options.merges_answers,
    )


def with_texts_beside_numbers(
    part: pa.Table, options: "RecordOptions", *, fields: bool
) -> "RecordOptions":
    """Return the options for a fixed domain with texts beside many numbers of the part
    as markers of missing.

    Which texts they are must not depend on the records that certify.  Texts that an
    order or a merge names are answers.
    """
    beside = dict[str, Sequence[str]]()
    for name, column in zip(part.column_names, part.columns, strict=True):
        markers = marker_labels(options.markers_of(name))
        with readable(name, column.type):
            values = column.combine_chunks()
            profile = profile_of(name, values, fields=fields, markers=markers)
        if kind_of(profile).kind != "number":
            continue
        answers = {
            *map(str, options.order.get(name, ())),
            *options.merges.get(name, ()),
        }
        texts = [
            text
            for text in codes_for_missing(profile)
            if not NUMBER.fullmatch(text) and text not in answers
        ]
        if texts:
            beside[name] = texts
    if not beside:
        return options
    markers_by_column = with_more_markers(options.missing_markers, beside)
    return replace(options, missing_markers=markers_by_column)


def _certifying(part_records: int, scale: float, *, whole: bool) -> int:
    """Return about how many records certify limits for a fixed domain: all, or those
    not in the part.

    Parameters
    ----------
    part_records, scale
        The number of records of the part, and the share of all records that it is.
    whole
        Whether the part certifies too.
    """
    people = part_records / scale
    if whole:
        return round(people)
    return round(people * (1 - scale))


@dataclass(frozen=True)
class _Roles:
    """The domain, and the names of the columns that are not asked, see
    `FixedDomain`.
    """

    domain: Domain
    protected: tuple[str, ...]
    left_out: tuple[str, ...]


def _roles(
    coder: ColumnCoder,
    domain: Domain,
    counts: Sequence[Integers],
    numbers: Mapping[str, NumberSummary],
) -> _Roles:
    """Return the attributes of the fixed domain after the rule, and what is done with
    rare ones.
    """
    options = coder.rule.options
    attributes = list[Attribute]()
    protected = list[str]()
    left_out = list[str]()
    for attribute, marginal in zip(domain, counts, strict=True):
        name = attribute.name
        is_named = name in options.keep or not options.merges_answers
        coded = coder.coded(attribute, marginal, numbers.get(name))
        ruled = coded.attribute
        if ruled.size == 1 and not is_named:
            left_out.append(name)
            continue
        if ruled.size == 1 and attribute.size > 1:  # named: the values as they are
            ruled = coder.rule.as_they_are(attribute, marginal)
        elif not is_named and not coder.shares.is_asked(coded.share):
            protected.append(name)
        attributes.append(with_markers(ruled, options))
    return _Roles(Domain(attributes), tuple(protected), tuple(left_out))


def _numbers_of_values(
    domain: Domain,
    counts: Sequence[Integers],
    numbers: Mapping[str, NumberSummary],
    cuts: Mapping[str, tuple[float, ...]],
) -> dict[str, int]:
    """Return how many values each attribute of the fixed domain has in the part, before
    any merging, without missing ones.
    """
    values = dict[str, int]()
    for attribute, marginal in zip(domain, counts, strict=True):
        seen = zip(attribute.values, (marginal > 0).tolist(), strict=True)
        values[attribute.name] = sum(
            occurs for value, occurs in seen if value != MISSING
        )
    for name, summary in numbers.items():
        if cuts[name]:
            distinct_numbers, _ = summary.distinct()
            values[name] = len(distinct_numbers)
    return values


def _largest_shares(
    domain: Domain,
    counts: Sequence[Integers],
    numbers: Mapping[str, NumberSummary],
    cuts: Mapping[str, tuple[float, ...]],
) -> dict[str, float]:
    """Return the share of the commonest value of each attribute of the fixed domain in
    the part, before any merging, of those that have one.
    """
    shares = dict[str, float]()
    for attribute, marginal in zip(domain, counts, strict=True):
        name = attribute.name
        people = marginal
        if name in numbers and cuts[name]:
            _, people = numbers[name].distinct()
        elif MISSING in attribute.values:
            people = np.delete(marginal, attribute.code(MISSING))
        shares[name] = float(people.max(initial=0) / max(int(people.sum()), 1))
    return shares


def _summaries(
    table: pa.Table, options: "RecordOptions", fields: bool
) -> dict[str, NumberSummary]:
    """Return summaries of the numbers of the part that fixes a domain, of columns that
    the options do not order.
    """
    columns = list[Column]()
    for name in table.column_names:
        may_hold_numbers = fields or is_number_type(table.schema.field(name).type)
        if may_hold_numbers and name not in options.order:
            columns.append(Column(name, options, fields=fields))
    if not columns:
        return {}
    numbers = dict[str, NumberSummary]()
    summaries = summaries_of(open_frame(table), columns)
    for column, summary in zip(columns, summaries, strict=True):
        has_numbers = summary.low <= summary.high
        if has_numbers and summary.stray is None:
            numbers[column.name] = summary
    return numbers


def _scan(
    table: pa.Table,
    options: "RecordOptions",
    fields: bool,
    cuts: Mapping[str, tuple[float, ...]],
) -> tuple[Domain, list[Integers]]:
    """Return the domain of the part that fixes another, with the cuts as bins, and the
    counts of its values.
    """
    most = options.max_values
    if options.merges_answers:
        most = MAX_ALPHABET
    reading = replace(
        options,
        bins=_bins_with_cuts(options.bins, cuts),
        pool=None,
        max_values=most,
        person=None,
    )
    columns = [Column(name, reading, fields=fields) for name in table.column_names]
    scan = TableScan(open_frame(table), columns, reading)
    batches = scan.read(lambda coded: [batch.codes for batch in coded])
    domain, orders = scan.finish()
    counts = list[Integers]()
    for index, order in enumerate(orders):
        codes = np.concatenate([batch[index] for batch in batches])
        in_order_of_discovery = np.bincount(codes, minlength=int(order.max()) + 1)
        counts.append(in_order_of_discovery[order])
    return domain, counts


def _bins_with_cuts(bins: "Bins", cuts: Mapping[str, tuple[float, ...]]) -> "Bins":
    """Return the rules of binning for a fixed domain, with the cuts as those of their
    columns.
    """
    if not cuts:
        return bins
    rules: dict[str, BinRule] = {}
    if isinstance(bins, Mapping):
        rules.update(bins)
    for name, edges in cuts.items():
        rules[name] = edges or "none"
    return rules


def read_part(
    source: "Source", names: Sequence[str], person: str | None, rng: int, *, whole: bool
) -> tuple[pa.Table, RandomPart]:
    """Return the records of the random part that fixes a domain, one of each person,
    and the part.

    It is the share of `part_share`, and less where that is more than `MAX_PART`;
    `whole`: all, up to `MAX_PART`.
    """
    threshold = 2**64
    part = RandomPart(own_seed("part", rng), threshold)
    choice = RecordChoice(person, fields=source.fields)
    read = list(names)
    if person is not None:
        read.append(person)
    batches = list[tuple[pa.RecordBatch, Priorities]]()
    rows = 0
    for batch in source.batches(read):
        keys = choice.keys(batch, rows)
        batches.append((batch, part.priorities(keys, rows, batch.num_rows)))
        rows += batch.num_rows
        if not whole:
            threshold = min(threshold, int(part_share(rows) * 2**64))
        batches = below_share(threshold, batches)
        while sum(len(priorities) for _, priorities in batches) > MAX_PART:
            threshold //= 2
            batches = below_share(threshold, batches)
    if not rows:
        raise TableError("the table has no records")
    if not batches:
        raise TableError(
            f"{rows:,} records are too few to fix the answers on a part of them; "
            "declare a domain"
        )
    records = list[pa.RecordBatch]()
    for batch, _ in batches:
        mask = choice.kept_records(batch)
        records.append(batch if mask is None else batch.filter(mask))
    table = pa.Table.from_batches(records).select(names)
    return table, replace(part, threshold=threshold)
