"""Records to reports: every person is assigned a form, and the answers to it are
perturbed.

Records are coded in the plan's domain: a value outside it raises an error, unless the
attribute has a catch-all value.  Forms and noise are drawn, or derived from identifiers
(`IdentifiedPeople`), so that a person who is asked again sends the same report.  Where
a column identifies the people of a plan, each sends one report, however many records
there are: the limits are those of one report.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from seepage._core import checks
from seepage._core.arrays import Codes, Integers
from seepage._core.errors import InputError, Setting, TableError
from seepage._core.files import whole_file
from seepage._core.progress import Progress
from seepage.channel.domain import Domain
from seepage.channel.no_answer import drawn_answers
from seepage.collection.identified_people import (
    FIXED,
    IdentifiedPeople,
    checked_key,
    derived_forms,
    read_identifiers,
)
from seepage.collection.report_files import write_report_file
from seepage.collection.report_schema import reports_schema, spread_reports
from seepage.designs.forms.form import form_of_words
from seepage.mechanisms.randomness import Randomness, Seed, randomness
from seepage.plan.plan_content import PerturbOptions, PlanContent
from seepage.tables.open_source import open_source
from seepage.tables.read import table_of
from seepage.tables.scan import TableScan, columns_of
from seepage.tables.sources import find_files
from seepage.tables.table_options import CodingKeywords, TableOptions


def perturb_table(plan: PlanContent, data: Any, options: PerturbOptions) -> pa.Table:
    """Return the reports of a table's records; see `Plan.perturb`."""
    return pa.Table.from_batches(
        _reports(plan, data, options), schema=reports_schema(plan)
    )


def perturb_file(
    plan: PlanContent,
    data: Any,
    output: str | os.PathLike[str],
    *,
    rng: Seed = None,
    identifier: str | None = None,
    key: bytes | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **table: Unpack[CodingKeywords],
) -> int:
    """Write the reports of a table's records to a Parquet file, in constant memory.

    Parameters
    ----------
    plan
        The plan.
    data
        A frame, the path of a file, folder or glob, or the name of a dataset; read in
        batches.
    output
        The file, written atomically: it does not appear if a record raises an error or
        the process is killed.
    rng, identifier, key, progress
        See `Plan.perturb`.
    **table
        How the table is read, as in `Plan.perturb`.

    Returns
    -------
    int
        The number of reports, one per record or person and in the order of the records.

    Notes
    -----
    The metadata of columns hold the mechanism and its parameters, those of the file the
    digest of the collection, so that reports are not read with another plan.

    Examples
    --------
    >>> import tempfile
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute("smoker", ("no", "yes"))])
    >>> pairs = sp.PairCounts(domain, [[70, 30]], [])
    >>> plan = sp.calibrate(pairs, 1.0, guarantee="worst")
    >>> people = pa.table({"smoker": ["yes", "no"] * 50})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     perturb_file(plan, people, f"{folder}/reports.parquet")
    100
    """
    reading = TableOptions.from_keywords(table, perturb_file)
    _check_output_differs(data, key, output)
    options = PerturbOptions(
        rng=rng, identifier=identifier, key=key, progress=progress, reading=reading
    )
    with whole_file(output) as file:
        return write_report_file(plan, _reports(plan, data, options), file)


def _reports(
    plan: PlanContent, data: Any, options: PerturbOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the perturbed reports of each batch of records."""
    key = _key_of_identifiers(plan, options)
    source = randomness(options.rng, "rng")
    schema = reports_schema(plan)
    column = options.identifier
    table = plan.provenance.reading | options.reading.keywords
    collected = plan.collected
    scan = open_records(data, collected, column, **table)
    for batch in scan.batches(options.progress):
        if key is None or column is None:
            forms = drawn_forms(plan, len(batch.codes[0]), source)
            answers = given_answers(collected, batch.codes, source)
            arrays = perturbed_columns(plan, answers, forms, source)
        else:
            names = read_identifiers(scan.beside_values, column, batch)
            people = IdentifiedPeople(key, plan.collection, names)
            answers = given_answers(collected, batch.codes, people)
            arrays = perturbed_columns(
                plan, answers, derived_forms(plan, names, key), people
            )
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _key_of_identifiers(plan: PlanContent, options: PerturbOptions) -> bytes | None:
    """Return the secret key that perturbs identified records; None if reports are
    drawn.
    """
    column = options.identifier
    key = options.key
    if column is None and key is None:
        return None
    if column is None:
        raise _without("key", "identifier")
    if key is None:
        raise _without("identifier", "key")
    if options.rng is not None:
        reason = "seed has no effect: the noise is derived from identifiers ("
        raise InputError(reason, Setting("identifier"), ")")
    if checks.text(column, "identifier") in plan.collected:
        raise InputError(
            "the column of identifiers must be none of the plan's attributes, got "
            f"{column!r}"
        )
    return checked_key(key)


def _without(parameter: str, needed: str) -> InputError:
    """Return the error for a parameter of `perturb` without the one that it needs."""
    return InputError(
        f"{parameter} has no effect without ", Setting(needed), parameter=parameter
    )


def drawn_forms(plan: PlanContent, count: int, source: Randomness) -> Integers:
    """Return the form index of `count` people to perturb, drawn by the shares; no draw
    for a single form.
    """
    if len(plan.forms) == 1:
        return np.zeros(count, dtype=np.int64)
    return form_of_words(plan.forms, source.words(count))


def given_answers(
    domain: Domain,
    codes: Sequence[Codes],
    source: "Randomness | IdentifiedPeople",
) -> dict[str, Integers]:
    """Return the answers to perturb, by attribute: people's own, or one drawn for those
    without.

    Parameters
    ----------
    domain
        The attributes, as reported.
    codes
        The codes of each attribute, as coded: its number of answers means none.
    source
        The source of randomness, or the people from whose identifiers draws are
        derived.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute("sex", ("F", "M"), shares=(0, 100))])
    >>> answers = given_answers(domain, [np.array([0, 1, 2])], Randomness(None))
    >>> answers["sex"].tolist()
    [0, 1, 1]
    """
    answers = dict[str, Integers]()
    for attribute, of_attribute in zip(domain, codes, strict=True):
        own = np.asarray(of_attribute, dtype=np.int64)
        lacking = np.flatnonzero(own == attribute.answers)
        if attribute.shares and len(lacking):
            if isinstance(source, Randomness):
                words = source.words(len(lacking))
            else:
                words = source.answer_words(attribute.name, lacking)
            own = own.copy()
            own[lacking] = drawn_answers(words, attribute.shares)
        answers[attribute.name] = own
    return answers


def perturbed_columns(
    plan: PlanContent,
    answers: Mapping[str, Integers],
    forms: Integers,
    source: "Randomness | IdentifiedPeople",
) -> list[pa.Array]:
    """Return the perturbed answers of some people as Arrow columns, in the order of
    `reports_schema`.

    Parameters
    ----------
    plan
        The plan.
    answers
        The codes of the answers of each person, by attribute.
    forms
        The index of each person's form.
    source
        The source of randomness, or the people from whose identifiers noise is derived.
    """

    def perturbed(index: int, name: str, rows: Any) -> pa.Array:
        """Return the perturbed answers to one question of a form."""
        mechanisms = plan.form_mechanisms[index]
        codes = _input_codes(plan, index, name, answers, rows)
        if isinstance(source, Randomness):
            return mechanisms[name].perturb(codes, rng=source).array()
        report = f"{index} {list(mechanisms).index(name)}"
        return source.draw(mechanisms[name], codes, np.arange(len(forms))[rows], report)

    return spread_reports(plan, forms, perturbed)


def _input_codes(
    plan: PlanContent,
    index: int,
    name: str,
    answers: Mapping[str, Integers],
    rows: Integers,
) -> Any:
    """Return the codes to perturb for one report of a form: those of an answer, or the
    flat row-major index of all answers of a form with one report.
    """
    form = plan.forms[index]
    if form.is_product:
        return answers[name][rows]
    codes = tuple(answers[name][rows] for name in form.attributes)
    sizes = [plan.domain[name].size for name in form.attributes]
    return np.ravel_multi_index(codes, sizes)


def _check_output_differs(data: Any, key: Any, output: str | os.PathLike[str]) -> None:
    """Raise an InputError if the perturbed output is one of the files of the records,
    or that of the key.
    """
    if not Path(output).exists():
        return
    files_of = dict[str, list[Path]]()
    if isinstance(key, (str, os.PathLike)):
        files_of["key"] = [Path(key)]
    if isinstance(data, (str, os.PathLike, list, tuple)):
        files_of["data"] = find_files(data)[1]
    for what, files in files_of.items():
        if any(file.exists() and file.samefile(output) for file in files):
            raise InputError(
                f"the output must not be the {what}, got {str(output)!r} for both"
            )


def open_records(
    data: Any, domain: Domain, /, identifier: str | None = None, **table: Any
) -> TableScan:
    """Return a scan of the records to perturb that codes them in a domain.

    Parameters
    ----------
    data
        A frame, the path of a file, folder or glob, or the name of a dataset.
    domain
        The attributes; other columns are ignored.
    identifier
        The column of identifiers, read beside the codes.
    table
        Options of `TableOptions`; with `person` the first record of each person is
        read.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = Domain([sp.Attribute("job", ("nurse", "smith"))])
    >>> scan = open_records(pa.table({"job": ["smith", "nurse"]}), domain)
    >>> [batch.codes[0].tolist() for batch in scan.batches()]
    [[1, 0]]
    """
    for name in FIXED:
        if name in table:
            raise InputError(f"{name} has no effect: the plan fixes it", parameter=name)
    data, table = table_of(data, {"domain": domain, **table})
    options = TableOptions.from_keywords(table, open_records)
    source = open_source(data, options)
    needed = dict.fromkeys(domain.names, "the plan asks for")
    if identifier is not None:
        needed[identifier] = "reports are derived from"
    if options.person_column is not None:
        needed[options.person_column] = "one report is sent for each"
    for name, needs in needed.items():
        if name not in source.names:
            hint = checks.near_miss(name, source.names)
            raise TableError(
                f"{needs} {name!r}, and the table has no such column{hint}"
            )
    return TableScan(source, columns_of(source, options), options, beside=identifier)
