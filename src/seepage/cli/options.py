"""Options that several commands share, and the keywords that they stand for."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from seepage.cli import parsing
from seepage.cli.files import OutputFile, OutputFolder, PictureFile
from seepage.cli.number_types import INTEGER_TYPE, NUMBER_TYPE, IntegerRange
from seepage.tables.table_options import ENGINES, MISSING_VALUES

Function = TypeVar("Function", bound=Callable[..., Any])

Option = Callable[[Function], Function]
"""A decorator of a command's function that adds one option or several."""


def grouped(*options: Option[Any]) -> Option[Any]:
    """Return one decorator that adds several options in this order."""

    def add(function: Function) -> Function:
        """Add the options to a command."""
        for option in reversed(options):
            function = option(function)
        return function

    return add


# Reading a table ----------------------------------------------------------------------

MISSING_MARKER = click.option(
    "--missing-marker",
    "missing_markers",
    metavar="[COLUMN=]TEXT",
    multiple=True,
    callback=parsing.parse_markers,
    help="Strings that mean missing, such as ?.",
)

DELIMITER = click.option(
    "--delimiter",
    metavar="CHAR",
    callback=parsing.parse_delimiter,
    help="The delimiter of text files; detected by default.",
)

ENCODING = click.option(
    "--encoding",
    default="utf-8",
    help="The encoding of text files, such as latin-1.",
)

PERSON = click.option(
    "--person",
    metavar="COLUMN",
    help="The column that identifies the person, whose first record that is not "
    "dropped is kept; it is not an attribute. none: each record is a person.",
)

TABLE = grouped(
    click.option(
        "--columns",
        metavar="A,B,...",
        callback=parsing.parse_names,
        help="The columns to use, in this order; all by default.",
    ),
    click.option(
        "--drop",
        metavar="A,B,...",
        callback=parsing.parse_names,
        help="The columns to leave out.",
    ),
    click.option(
        "--bins",
        metavar="[COLUMN=]RULE",
        multiple=True,
        callback=parsing.parse_bins,
        help="Binning of numeric columns with many values: quantile:10 (the default), "
        "width:8, ascending edges, or none (each number is a category).",
    ),
    click.option(
        "--missing",
        type=click.Choice(MISSING_VALUES),
        default="category",
        help="category: missing values are a category; drop: records with a missing "
        "value are left out, and their other values are ignored.",
    ),
    click.option(
        "--max-values",
        type=INTEGER_TYPE,
        default=1000,
        help="Maximum alphabet size; a column with more values raises an error.",
    ),
    MISSING_MARKER,
    DELIMITER,
    click.option(
        "--column-names",
        metavar="A,B,...",
        callback=parsing.parse_names,
        help="The column names of a text file without a header line.",
    ),
    ENCODING,
    click.option(
        "--pool",
        type=NUMBER_TYPE,
        metavar="N",
        help="Minimum number of records of a value, below 1 their minimum share: rarer "
        'values are merged into "(other)".',
    ),
    PERSON,
)
"""Options of how a table is coded into attributes."""

TABLE_KEYWORDS = (
    "columns",
    "drop",
    "bins",
    "missing",
    "max_values",
    "missing_markers",
    "delimiter",
    "column_names",
    "encoding",
    "pool",
    "person",
)
"""Keywords of reading a table that are options of commands."""

KEEP = click.option(
    "--keep",
    metavar="A,B,...",
    callback=parsing.parse_names,
    help="Columns that are used though their values or their name tell that they are "
    "no answers, or all answers but one are rare.",
)

DATA = grouped(
    TABLE,
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default="auto",
        help="auto: NumPy, or Numba if the work exceeds the time to load it; spark: "
        "the executors of the active Spark session read the Parquet files.",
    ),
)
"""Options of how DATA is coded, and by what it is read."""

DATA_KEYWORDS = (*TABLE_KEYWORDS, "engine")
"""Keywords of reading and counting a table that are options of commands."""

MASTER = click.option(
    "--master",
    metavar="URL",
    help="Spark's master; by default all cores of this machine.",
)


READING_HEADING = "Reading the table"
"""Heading of the options of reading a table in the help."""

READING_NAMES = (*DATA_KEYWORDS, "master")
"""Parameters that the help shows under that heading, in commands that have headings."""


UNCERTAINTY = click.option(
    "--uncertainty",
    type=NUMBER_TYPE,
    default=0.0,
    help="Total variation distance within which the rows of every channel are assumed "
    "to lie, as in another wave of the same survey.",
)

DELTA = click.option(
    "--delta",
    type=NUMBER_TYPE,
    default=0.0,
    help="Delta of mechanisms that need one, such as gauss.",
)

# Totals -------------------------------------------------------------------------------

SEED = IntegerRange(min=0)
"""Type of the option `--seed`."""

TOTALS = grouped(
    click.option(
        "--target-delta",
        type=NUMBER_TYPE,
        default=0.01,
        help="The delta of sampled totals.",
    ),
    click.option(
        "--confidence",
        type=NUMBER_TYPE,
        default=0.95,
        help="The confidence of all totals together, if they are sampled or for the "
        "population.",
    ),
    click.option(
        "--reports",
        type=INTEGER_TYPE,
        default=20_000,
        help="Number of reports drawn for sampled totals.",
    ),
    click.option(
        "--seed",
        "rng",
        type=SEED,
        default=0,
        help="Seed of the sample, of sampled and witness totals, and of people drawn.",
    ),
)
"""Options of totals that only some guarantees use."""

TOTALS_KEYWORDS = ("target_delta", "confidence", "reports", "rng")
"""Keywords of totals that are options of commands."""


# Output -------------------------------------------------------------------------------

OUTPUT_HEADING = "Output"
"""Heading of the options of output in the help."""

OUTPUT_NAMES = ("report", "chart", "form", "output")
"""Parameters that the help shows under that heading, in commands that have headings."""


def output_file(help_text: str, **settings: Any) -> Option[Any]:
    """Return the option `--output`; settings are those of `click.option`."""
    return click.option("-o", "--output", type=OutputFile(), help=help_text, **settings)


def output_folder(help_text: str) -> Option[Any]:
    """Return the option `--output` that names a folder."""
    return click.option("-o", "--output", type=OutputFolder(), help=help_text)


def output_format(*formats: str) -> Option[Any]:
    """Return the option `--format`, a table by default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["table", *formats]),
        default="table",
        help="How to write the result.",
    )


def chart(subject: str) -> Option[Any]:
    """Return the option `--chart`, a picture of a subject."""
    return click.option(
        "--chart",
        type=PictureFile(),
        help=f"Draw {subject}: a .svg, .png or .pdf file.",
    )


def page(subject: str) -> Option[Any]:
    """Return the option `--report`, a page of a subject."""
    return click.option(
        "--report",
        type=OutputFile(),
        help=f"Write the page of {subject}, one self-contained HTML file.",
    )


RESULT = grouped(output_format("json", "csv"), output_file("Write to a file."))
"""Options of where and how the result is written."""


# Plans --------------------------------------------------------------------------------

PLAN_PATH = click.argument("plan_path", metavar="PLAN", type=click.Path(dir_okay=False))
"""The argument of commands that work on a plan."""


PLAN = click.option(
    "--plan",
    type=click.Path(dir_okay=False),
    required=True,
    help="The plan's file.",
)
"""The option of commands that work on data by a plan."""


LABELS = click.option(
    "--labels",
    type=click.Path(dir_okay=False),
    help="Texts of questions and values: a CSV file with attribute, value and label.",
)


TITLE = click.option(
    "--title", help="The heading of the questionnaire; by default the plan's."
)
