"""`analyse`: from a table to its `Analysis`, every pair's leakage and every total."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from seepage._core import checks
from seepage._core.errors import Text
from seepage.analysis.analysis import Analysis
from seepage.analysis.analysis_options import (
    AnalysisOptions,
    checked_limits,
    stated_distances,
)
from seepage.analysis.design_command import UNNAMED, design_command, reading_words
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.leakage.matrix import LeakageMatrix, matrix_of
from seepage.mechanisms.release import View
from seepage.tables.opened_table import OpenTable, merged_reading
from seepage.tables.read import as_counted, as_pairs, is_counted, is_dataset, path_of
from seepage.tables.table_options import SPARK, TableKeywords, check_keywords
from seepage.totals.experienced_loss import Experience, default_people, experience_of
from seepage.totals.guarantees import FROM_PAIRS, GUARANTEES
from seepage.totals.totals_comparison import compare_totals

MAX_HELD_RECORDS = 1 << 21
"""Maximum number of records that are held at once unless a guarantee asks for it."""


MAX_HELD_BYTES = 1 << 28
"""The same in bytes, of text files: how many records they have is not known before."""


def analyse(
    data: Any,
    epsilon: Any = 1.0,
    *,
    mechanism: Any = None,
    view: View = "report",
    delta: Any = 0.0,
    limit: Any = None,
    guarantee: str | Iterable[str] = "auto",
    keep: Sequence[str] = (),
    sample: int | None = None,
    people: int | None = None,
    target_delta: float = 0.01,
    confidence: float = 0.95,
    reports: int = 20_000,
    rng: Any = 0,
    min_count: float = 0.0,
    prior: float = 0.0,
    truncate: float = 0.0,
    uncertainty: Any = 0.0,
    name: str | None = None,
    command: str = "",
    **table: Unpack[TableKeywords],
) -> Analysis:
    """Return the leakage of every source about every target, and the total of every
    target.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or Spark frame; the path of a table, a folder, a glob
        or a file of pair counts; the name of a dataset; `PairCounts` or `Records`.
    epsilon
        The privacy budget of every attribute.  Or one for each: a sequence, or a
        mapping by name, with `"*"` for all others.
    mechanism
        A mechanism, such as `"grr"`; by default the bound over all with this budget.  A
        registered name or an object, or one for each attribute.
    view
        `"report"`: the adversary keeps the whole report; `"inferred"`: only the
        inferred value. Privacy claims are of the report; the paper's attacker keeps the
        value.
    delta
        Delta of (epsilon, delta)-LDP.  Or one for each attribute.
    limit
        The largest allowed total of every attribute: a number of nats, or odds such as
        `"7.4x"`, which is ln 7.4 nats.  Or one for each; see
        `Analysis.verdict`.
    guarantee
        Guarantees of the totals: exact, merged, worst, sampled, independent, sum,
        witness, `"all"`, or `"auto"` for what may decide the limit.  That is worst and
        independent; with a limit also witness, and exact for a table of at most 131,072
        records.  See `total_leakage`. Those whose requirements are not met are in
        `totals.unavailable`, with the reason.
    keep
        Columns that are analysed though their values or their name tell that they are
        no answers.
    sample
        Number of records to draw without replacement: totals are assumed.  By default
        all.
    people
        Number of people drawn for the realised privacy loss; by default 1,000 if a
        guarantee needs records and all mechanisms are named, else 0, also for `"auto"`
        and more than 131,072 records.  See `Experience`.
    target_delta
        The delta of sampled totals.
    confidence
        The confidence of all totals together, if they are sampled or for the
        population.
    reports
        Number of reports drawn for sampled totals.
    rng
        Seed of the sample, of sampled and witness totals, and of people drawn.
    min_count
        Smaller counts of a pair are raised to this.  Smoothing, see
        `PairCounts.channel`.
    prior
        Pseudo-count added to every count of a pair.
    truncate
        Counts of a pair below this are then set to 0.
    uncertainty
        The total variation distance within which the rows of every channel are assumed
        to lie, as in another wave of the same survey, or one for each target: each pair
        then also has the largest leakage over all such rows, `within`.  Totals and
        verdict remain those of the table; see `Analysis.uncertainty_curve`.
    name, command
        Provenance for the report; by default the name of a file or dataset.
    **table
        How the data are read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

    Notes
    -----
    From pair counts each leakage costs O(m^2 t log t) for m target and t source values.
    Records are read only where a guarantee needs them.

    Examples
    --------
    >>> import seepage as sp
    >>> found = sp.analyse(
    ...     "adult", 1.0, mechanism="grr", columns=["sex", "race", "income"]
    ... )
    >>> found  # doctest: +NORMALIZE_WHITESPACE
    Analysis('adult', 3 attributes, epsilon 1; largest change of odds: worst 20.1x,
    independent 3.96x)
    >>> round(found.matrix["sex", "income"].value, 3)
    0.248
    >>> found.to_arrow().column_names
    ['target', 'source', 'leakage', 'delta', 'epsilon', 'mechanism', 'view']
    """
    check_keywords(table, analyse)
    data, table = merged_reading(data, table)
    options = AnalysisOptions(
        epsilon=epsilon,
        mechanism=mechanism,
        view=view,
        delta=delta,
        limit=limit,
        guarantee=guarantee,
        keep=keep,
        sample=sample,
        people=people,
        target_delta=target_delta,
        confidence=confidence,
        reports=reports,
        rng=rng,
        min_count=min_count,
        prior=prior,
        truncate=truncate,
        uncertainty=uncertainty,
        name=name,
        command=command,
        **table,
    )
    guarantees = checks.choices(options.guarantee, "guarantee", (*GUARANTEES, "auto"))
    is_counted_already = is_counted(data)
    title = options.name if options.name is not None else Path(path_of(data)).name
    records_word = _records_word(path_of(data), title, is_counted=is_counted_already)
    table_words = (records_word, *reading_words(options.reading))
    if is_counted_already or is_dataset(data):
        judged = JudgedData(data, dict(options.reading))
    else:
        judged = _judged_table(data, options)
    names = computed_guarantees(
        guarantees,
        options,
        has_records=judged.has_records,
        is_small=judged.is_small,
    )
    needs_records = _needs_records(names, options)
    reading = {**judged.reading, **_sampling(options)}
    counted = as_counted(judged.data, records=needs_records, **reading)
    matrix = matrix_of(as_pairs(counted), options)
    limits = checked_limits(options.limit, matrix)
    distances = stated_distances(options.uncertainty, matrix)
    totals = compare_totals(counted, matrix, names, options)
    people = options.people
    is_quick = judged.is_small or not judged.has_records or "auto" not in guarantees
    if people is None and needs_records and is_quick:
        people = default_people(counted, matrix.releases)
    return Analysis(
        matrix=matrix,
        totals=totals,
        limits=limits,
        distances=distances,
        name=title,
        command=options.command,
        experienced=_experience(counted, matrix, people, options),
        notes=tuple(judged.notes),
        table=table_words,
        design_step=design_command(table_words, matrix.domain.names, limits),
    )


def _records_word(path: str, title: str, *, is_counted: bool) -> str:
    """Return the word for the records in the command that follows an analysis; a file
    of counts has none.
    """
    if path and is_counted:
        return UNNAMED
    return path or title or UNNAMED


@dataclass(frozen=True)
class JudgedData:
    """Data to analyse, after the check of their columns.

    Parameters
    ----------
    data
        The data to count: a table as it was opened for the check.
    reading
        The options of reading; of a table also those that leave out what is no answer.
    notes
        What was left out and what must be decided.
    has_records
        Whether the data are a table whose distinct records fit on this machine.
    is_small
        Whether the table has few enough records for exact totals.
    """

    data: Any
    reading: Mapping[str, Any]
    notes: Sequence[Text] = ()
    has_records: bool = False
    is_small: bool = False


def _judged_table(table: Any, options: AnalysisOptions) -> JudgedData:
    """Return a table to analyse after the check of its columns, which warns of what is
    left out.
    """
    from seepage.tables.check import settle  # imports readers of files, and pandas

    settled = settle(table, options, asked=False, stacklevel=4)
    return JudgedData(
        data=settled.data,
        reading={**options.reading, **settled.table},
        notes=settled.notes,
        has_records=_are_held(settled.data, options),
        is_small=settled.is_small,
    )


def _sampling(options: AnalysisOptions) -> dict[str, Any]:
    """Return the options of analysing a sample of the records; none for all records."""
    if options.sample is None:
        return {}
    return {"sample": options.sample, "rng": options.rng}


def _experience(
    counted: PairCounts | Records,
    matrix: LeakageMatrix,
    people: int | None,
    options: AnalysisOptions,
) -> Experience | None:
    """Return the realised privacy loss of people drawn for an analysis; None without
    people.
    """
    if not people:
        return None
    return experience_of(
        counted,
        matrix.releases,
        options.view,
        people,
        confidence=options.confidence,
        rng=options.rng,
        progress=options.progress,
    )


def computed_guarantees(
    guarantees: Sequence[str],
    options: AnalysisOptions,
    *,
    has_records: bool,
    is_small: bool,
) -> list[str]:
    """Return the guarantees that an analysis computes: those named, or what may decide
    the limit.

    Parameters
    ----------
    guarantees
        Names of guarantees and `"auto"`, which has no effect beside others.
    options
        The limit and the sample.
    has_records
        Whether the data are a table whose distinct records fit on this machine.
    is_small
        Whether the table has few enough records for exact totals.
    """
    if list(guarantees) != ["auto"]:
        return [name for name in guarantees if name != "auto"]
    names = ["worst", "independent"]
    if options.limit is None or options.sample is not None:
        return names
    if is_small:
        names.append("exact")
    if has_records:
        names.append("witness")
    return names


def _are_held(data: Any, options: AnalysisOptions) -> bool:
    """Return whether an analysis can hold the records of a table that is not counted at
    once.
    """
    if not isinstance(data, OpenTable) or options.engine == SPARK:
        return False
    records = data.source.rows_total
    if records is not None:
        return records <= MAX_HELD_RECORDS
    from seepage.tables.sources import source_files  # imports Narwhals

    size = sum(file.size for file in source_files(data.origin))
    return size <= MAX_HELD_BYTES


def _needs_records(guarantees: Sequence[str], options: AnalysisOptions) -> bool:
    """Return whether an analysis needs records, pair counts do not suffice."""
    if options.sample is not None or options.people:
        return True
    return not set(guarantees) <= set(FROM_PAIRS)
