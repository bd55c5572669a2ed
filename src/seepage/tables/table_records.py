"""`distinct_records`: from a table to its `Records`, here or with Spark."""

import secrets
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from seepage.channel.domain import Domain
from seepage.channel.pooling import pool_rare
from seepage.channel.record_origin import RecordOrigin
from seepage.channel.records import Records
from seepage.counting.distinct_records import DistinctRecords, RecordSample
from seepage.counting.record_samples import own_seed
from seepage.tables.answer_rule import with_markers
from seepage.tables.fixed_domain import fix_domain
from seepage.tables.gathering import Gathering, gather_local
from seepage.tables.sources import source_files
from seepage.tables.table_options import RecordOptions, TableOptions, uses_spark


def distinct_records(data: Any, options: RecordOptions) -> Records:
    """Return the distinct records of a table, see `Records.from_data`.

    A domain that is not given is fixed on a random part of the records, if they are to
    certify something for a population or if answers are merged.
    """
    seed = secrets.randbits(63) if options.rng is None else options.rng
    new_gathering = _new_gathering(options.sample, seed)
    spark = uses_spark(data, options.engine, options.person_column)
    sources = source_files(data)
    for_population = options.scope == "population"
    declared = options.domain is not None or for_population
    fixed = None
    part = None
    if options.domain is None and (for_population or options.merges_answers):
        data, fixed = fix_domain(data, options, seed)
        part = fixed.part
        options = replace(options, domain=fixed.domain, bins=None, pool=None)
    gather = gather_local
    if spark:
        from seepage.counting.spark.engine import gather_with_spark as gather
    domain, seen, rows, weights = gather(data, options, new_gathering, part)
    population = None
    if options.sample is not None and seen > options.sample:
        population = seen
    if options.pool is None:
        domain = _with_all_markers(domain, options)
    origin = RecordOrigin(
        fixed=fixed,
        declared=declared,
        complete=options.dropping,
        person=options.person_column,
        sources=sources,
    )
    records = Records(domain, rows.T, weights, population=population, origin=origin)
    if options.pool is None:
        return records
    pooled = pool_rare(records, options.pool)
    return pooled.like(_with_all_markers(pooled.domain, options), pooled.codes)


def _new_gathering(sample: int | None, seed: int) -> Callable[[], Gathering]:
    """Return the constructor of what gathers all records of a table, or those of a
    sample.
    """
    if sample is None:
        return DistinctRecords
    return partial(RecordSample, sample, own_seed("sample", seed))


def _with_all_markers(domain: Domain, options: TableOptions) -> Domain:
    """Return a domain for the records of a table that codes what means missing as
    missing, see `with_markers`.
    """
    return Domain(with_markers(attribute, options) for attribute in domain)
