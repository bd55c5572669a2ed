"""`analyse`: leakage of every pair and totals of every attribute as one object."""

import os
from pathlib import Path
from typing import Any

from seepage._core import checks
from seepage._core.errors import Text
from seepage._core.options import command_words, takes
from seepage.analysis.analysis import UNNAMED, Analysis, checked_limits
from seepage.analysis.analysis_options import AnalysisOptions
from seepage.leakage.matrix import matrix_of
from seepage.tables.read import as_counted, as_pairs, is_counted
from seepage.tables.table_options import DataOptions
from seepage.totals.experienced import default_people, experience_of
from seepage.totals.guarantees import GUARANTEES
from seepage.totals.total import FROM_PAIRS, compare_totals


@takes(AnalysisOptions)
def analyse(data: Any, options: AnalysisOptions) -> Analysis:
    """Return the leakage of every source about every target, and the total of every
    target.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or Spark frame; the path of a table, a folder, a glob
        or a file of pair counts; the name of a dataset; `PairCounts` or `Records`.

    Notes
    -----
    From pair counts each leakage costs O(m^2 t log t) for m target and t source values.  Records
    are read only where a guarantee needs them.

    Examples
    --------
    >>> import seepage as sp
    >>> found = sp.analyse(
    ...     "adult", 1.0, mechanism="grr", columns=["sex", "race", "income"]
    ... )
    >>> found
    Analysis('adult', 3 attributes, epsilon 1; largest totals: worst 3, independent 1.374)
    >>> round(found.matrix["sex", "income"].value, 3)
    0.248
    >>> found.to_arrow().column_names
    ['target', 'source', 'leakage', 'delta', 'epsilon', 'mechanism', 'view']
    """
    known = checks.choices(options.guarantee, "guarantee", (*GUARANTEES, "auto"))
    names = [name for name in known if name != "auto"]
    small = False
    named = os.fspath(data) if isinstance(data, (str, os.PathLike)) else ""
    name = options.name if options.name is not None else Path(named).name
    records = "" if named and is_counted(named) else named or name
    table = records or UNNAMED, *command_words(options.reading, DataOptions)
    reading = options.reading
    notes = list[Text]()
    if not is_counted(data, datasets=True):
        from seepage.tables.check import settle  # imports readers of files, and pandas

        data, settled, notes, small = settle(data, options, asked=False, stacklevel=4)
        reading = {**reading, **settled}
    if known == ["auto"]:
        decides = small and options.limit is not None and options.sample is None
        names = ["worst", "independent", *(["exact", "witness"] if decides else [])]
    if options.sample is not None:
        reading |= {"sample": options.sample, "rng": options.rng}
    needs_records = bool(
        options.sample is not None
        or options.people
        or not set(names) <= set(FROM_PAIRS)
    )
    counted = as_counted(data, records=needs_records, **reading)
    matrix = matrix_of(as_pairs(counted), options)
    limits = checked_limits(options.limit, matrix)
    totals = compare_totals(counted, matrix, names, options)
    draws = options.people
    if draws is None:
        draws = default_people(counted, matrix.releases) if needs_records else 0
    experience = None
    if draws:
        drawn = options.view, draws, options.confidence, options.rng, options.progress
        experience = experience_of(counted, matrix.releases, *drawn)
    about = limits, name, options.command, experience
    return Analysis(matrix, totals, *about, notes=tuple(notes), table=table)
