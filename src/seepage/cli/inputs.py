"""DATA on the command line: a table, a file of pair counts, or a bundled name."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from seepage.cli.output import progress_bar
from seepage.errors import InputError
from seepage.pairs import PairCounts

__all__ = ["OF_TABLES", "all_options_but", "read_pairs", "read_records", "refuse_options"]

OF_RECORDS = ("bins", "missing", "missing_marker", "delimiter", "max_values")
"""Options that say how records are read, of which counts have none."""

OF_TABLES = ("columns", "drop", "rename", *OF_RECORDS)
"""All that `table_options` adds."""


def refuse_options(names: Iterable[str], why: str) -> None:
    """Refuse those of these options that stand on the command line: they would have no effect.

    Parameters
    ----------
    names
        The options by the names of their parameters.
    why
        Why they have none.
    """
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if option.name in names and given:
            raise InputError(f"{option.opts[-1]} has no effect: {why}")


def all_options_but(*names: str) -> list[str]:
    """Return the parameters of the command that runs, without these."""
    params = click.get_current_context().command.params
    return [option.name for option in params if option.name and option.name not in names]


def read_pairs(data: str, arguments: dict[str, Any]) -> PairCounts:
    """Return the pair counts of DATA, counting them if it is a table."""
    from seepage.datasets import load_pairs
    from seepage.pairs_io import is_pairs_file

    if _is_name(data) or is_pairs_file(data):
        if arguments.get("engine") == "spark":
            raise InputError(f"--engine spark reads Parquet files, and {data} is counted already")
        refuse_options((*OF_RECORDS, "domain", "engine"), f"{data} is counted already")
        return _chosen(load_pairs(data), arguments)
    from seepage.counting import count_pairs

    with progress_bar("counting") as progress:
        return count_pairs(data, progress=progress, **arguments)


def read_records(
    data: str, arguments: dict[str, Any], *, sample: int | None = None, seed: int = 0
) -> Any:
    """Return DATA with its records where it has them: distinct tuples, else pair counts.

    Parameters
    ----------
    data, arguments
        What to read, and how.
    sample, seed
        Keep so many records only, drawn with this seed.
    """
    from seepage.datasets import DATASETS
    from seepage.pairs_io import is_pairs_file
    from seepage.tuples import Tuples

    named = _is_name(data)
    if named and data in DATASETS and DATASETS[data].at_hand:
        found = DATASETS[data]
        settings = {**found.table, **{k: v for k, v in arguments.items() if v}}
        return Tuples.from_records(found.read(), sample=sample, seed=seed, **settings)
    if named or is_pairs_file(data):
        if sample is not None:
            raise InputError(f"--sample needs records, and {data} has pair counts only")
        return read_pairs(data, arguments)
    with progress_bar("reading") as progress:
        return Tuples.from_records(data, sample=sample, seed=seed, progress=progress, **arguments)


def _is_name(data: str) -> bool:
    """Say whether DATA can only be the name of a dataset: no file, and no path or pattern."""
    return not Path(data).exists() and data.replace("-", "").isalnum()


def _chosen(pairs: PairCounts, arguments: dict[str, Any]) -> PairCounts:
    """Return the counts with the columns chosen, dropped and renamed."""
    wanted = arguments["columns"] or pairs.domain.names
    dropped = {pairs.domain[name].name for name in arguments["drop"]}
    kept = [name for name in wanted if name not in dropped]
    return pairs.select(kept).rename(arguments["rename"])
