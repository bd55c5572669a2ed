"""DATA on the command line: a table, a file of pair counts, or a bundled name.

Who reads the records: this machine, or the executors of Spark.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from seepage.cli.output import files_behind, progress_bar
from seepage.data.pairs import PairCounts
from seepage.errors import InputError

__all__ = [
    "OF_TABLES",
    "all_options_but",
    "engine_options",
    "engine_session",
    "is_counted",
    "read_pairs",
    "read_records",
    "refuse_options",
    "refuse_reports",
]

OF_TEXT = ("delimiter", "encoding")
"""Options that say how text files are read."""

OF_RECORDS = ("bins", "missing", "missing_marker", "max_values", *OF_TEXT)
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
    for option in click.get_current_context().command.params:
        if option.name in names and _was_given(option.name):
            raise InputError(f"{option.opts[-1]} has no effect: {why}")


def _was_given(name: str) -> bool:
    """Say whether an option stands on the command line, by the name of its parameter."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def all_options_but(*names: str) -> list[str]:
    """Return the parameters of the command that runs, without these."""
    params = click.get_current_context().command.params
    return [option.name for option in params if option.name and option.name not in names]


def read_pairs(data: str, arguments: dict[str, Any]) -> PairCounts:
    """Return the pair counts of DATA, counting them if it is a table."""
    from seepage.data.datasets import load_pairs

    if is_counted(data):
        refuse_options((*OF_RECORDS, "domain", "engine"), f"{data} is counted already")
        return _chosen(load_pairs(data), arguments)
    from seepage.data.counting import count_pairs

    refuse_reports(data)
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
    from seepage.data.datasets import DATASETS
    from seepage.data.records import Records

    if _is_name(data) and data in DATASETS and DATASETS[data].at_hand:
        found = DATASETS[data]
        refuse_options(OF_TEXT, f"the files of {data} have a format of their own")
        settings = _settings(found.table, arguments)
        return Records.from_data(found.read(), sample=sample, seed=seed, **settings)
    if is_counted(data):
        if sample is not None:
            raise InputError(f"--sample needs records, and {data} has pair counts only")
        return read_pairs(data, arguments)
    refuse_reports(data)
    with progress_bar("reading") as progress:
        return Records.from_data(data, sample=sample, seed=seed, progress=progress, **arguments)


def is_counted(data: str) -> bool:
    """Say whether DATA stands for pair counts: a file of them, or a name."""
    from seepage.data.pairs_file import is_pairs_file

    return _is_name(data) or is_pairs_file(data)


def refuse_reports(data: str) -> None:
    """Refuse our own files where records are read: reports are noise, and noise leaks less."""
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    for file in files_behind(data):
        try:
            metadata = pq.read_schema(file).metadata or {}
        except (ArrowException, OSError):
            return
        if any(key.startswith(b"seepage") for key in metadata):
            raise InputError(
                f"{file} must hold records, got reports or counts that seepage wrote; "
                "reports are read by `seepage analyse` and `seepage estimate` with --plan"
            )


def _settings(own: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return how a dataset is read: as its own settings say, but for options that were given.

    Its bins are by its own names of columns; those that are not used, or renamed, follow.
    """
    parameters = {"missing_markers": "missing_marker"}
    given = {k: v for k, v in arguments.items() if _was_given(parameters.get(k, k))}
    settings = {**own, **given}
    bins, chosen = own.get("bins"), arguments["bins"]
    if isinstance(bins, Mapping) and (chosen is None or isinstance(chosen, Mapping)):
        used = set(arguments["columns"] or bins) - set(arguments["drop"])
        new = arguments["rename"]
        kept = {new.get(name, name): rule for name, rule in bins.items() if name in used}
        settings["bins"] = {**kept, **(chosen or {})}
    return settings


def _is_name(data: str) -> bool:
    """Say whether DATA can only be the name of a dataset: no file, and no path or pattern."""
    return not Path(data).exists() and data.replace("-", "").isalnum()


def _chosen(pairs: PairCounts, arguments: dict[str, Any]) -> PairCounts:
    """Return the counts with the columns chosen, dropped and renamed."""
    wanted = pairs.domain.names if arguments["columns"] is None else arguments["columns"]
    dropped = {pairs.domain[name].name for name in arguments["drop"]}
    kept = [name for name in wanted if name not in dropped]
    if not kept:
        raise InputError("there is no column left to read")
    return pairs.select(kept).rename(arguments["rename"])


Command = TypeVar("Command", bound=Callable[..., Any])


def engine_options(*local: str) -> Callable[[Command], Command]:
    """Return what adds the options that say who reads the records.

    Parameters
    ----------
    local
        The names of engines on this machine besides `auto`.
    """

    def add(command: Command) -> Command:
        master = click.option(
            "--master", metavar="URL", help="Spark's master; all cores of this machine if not."
        )
        engine = click.option(
            "--engine",
            type=click.Choice(["auto", *local, "spark"]),
            default="auto",
            show_default=True,
            help="Who reads DATA; spark: its executors read the Parquet files themselves.",
        )
        return engine(master(command))

    return add


@contextmanager
def engine_session(data: str, engine: str, master: str | None) -> Iterator[None]:
    """Keep a Spark session open as long as the block lasts, where Spark is the engine.

    What Spark cannot read is refused before it starts.
    """
    if engine != "spark":
        if master is not None:
            raise InputError("--master needs --engine spark")
        yield
        return
    from seepage.data.spark.engine import spark_session
    from seepage.data.table.sources import PARQUET, find_files

    if is_counted(data):
        raise InputError(f"--engine spark reads Parquet files, and {data} is counted already")
    kind, files = find_files(data)
    if kind != PARQUET:
        raise InputError(f"--engine spark reads Parquet files, got {kind} ({files[0].name})")
    with spark_session(master):
        yield
