"""`seepage client`, `collect`, `perturb`, `estimate`: from a plan to frequencies."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from seepage._core.errors import InputError
from seepage._core.files import write_text
from seepage.cli import console, options, parsing
from seepage.cli.command import FileCommand, with_option_names
from seepage.cli.files import OutputFile
from seepage.cli.keywords import explicit_keywords, reject
from seepage.cli.number_types import INTEGER_TYPE, NUMBER_TYPE, IntegerRange
from seepage.tables.table_options import NO_PERSON

EXIT_FAILED = 1


PLAN_PATH = click.argument("plan_path", metavar="PLAN", type=click.Path(dir_okay=False))

LABELS = click.option(
    "--labels",
    type=click.Path(dir_okay=False),
    help="Texts of questions and values: a CSV file with attribute, value and label.",
)

TITLE = click.option(
    "--title", help="The heading of the questionnaire; by default the plan's."
)


@click.command("client", cls=FileCommand)
@PLAN_PATH
@options.output_folder(
    "The folder for the module seepage.js, its types, plan.json and vectors.json."
)
@click.option(
    "--questionnaire",
    type=OutputFile(),
    help="Write a page that asks the questions.",
)
@LABELS
@click.option(
    "--endpoint", metavar="URL", help="Address of the reports; by default, a download."
)
@TITLE
@click.option(
    "--texts",
    type=click.Path(dir_okay=False),
    help="Introduction, consent, contact and other texts of the page: a JSON file.",
)
@click.option(
    "--vectors",
    type=IntegerRange(1, 1_000_000),
    default=100,
    help="Test vectors of the draw and each form.",
)
def client(
    plan_path: str,
    output: str | None,
    questionnaire: str | None,
    vectors: int,
    **texts: Any,
) -> None:
    """Write a client of PLAN, which adds noise on the device of the person asked.

    The folder has one ES module without dependencies, for browsers and Node, and test
    vectors for clients in other languages.  The questionnaire is one self-contained
    page: it draws the form, asks, adds noise, shows what is sent and what it reveals at
    most, and sends it to the endpoint or offers it as a file.  `seepage estimate` reads
    what is collected as JSON Lines.

    \b
    Examples:
      seepage client plan.json -o client/
      seepage client plan.json --questionnaire survey.html --labels codebook.csv
      seepage client plan.json --questionnaire survey.html --endpoint https://example.org/reports
    """
    from seepage.pages.questionnaire import questionnaire_page, unlabelled_note
    from seepage.workflow.plan import Plan

    if output is None and questionnaire is None:
        raise InputError(
            "--output or --questionnaire must be given: there is nothing to write"
        )
    if questionnaire is None:
        reject(["labels", "endpoint", "texts"], "it is for the page of --questionnaire")
    plan = Plan.load(plan_path)
    if questionnaire is not None:
        page = questionnaire_page(plan, **texts)
        if note := unlabelled_note(plan, texts["labels"]):
            click.echo(with_option_names(note), err=True)
    if output is not None:
        force = click.get_current_context().meta["force"]
        written = plan.write_client(output, vectors=vectors, force=force)
        click.echo(f"wrote {', '.join(file.name for file in written)} -> {output}")
    if questionnaire is not None:
        write_text(questionnaire, page)
        click.echo(f"wrote {questionnaire}: open it in a browser")


@click.command("collect", cls=FileCommand)
@PLAN_PATH
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    default="reports.db",
    help="The database of reports; it is continued if it exists.",
)
@click.option(
    "--port", type=INTEGER_TYPE, default=8000, help="The port; 0 for any that is free."
)
@click.option("--host", default="127.0.0.1", help="The address to listen on.")
@click.option(
    "--name",
    "names",
    metavar="HOST",
    multiple=True,
    help="A name under which others reach it, such as survey.example.org.",
)
@click.option(
    "--rate",
    type=NUMBER_TYPE,
    default=1000.0,
    help="Lines per second, in all, at most.",
)
@LABELS
@TITLE
@click.option(
    "--export",
    type=OutputFile(),
    help="Write the reports so far, as .parquet or .jsonl, and end.",
)
def collect(
    plan_path: str,
    output: str,
    port: int,
    host: str,
    names: tuple[str, ...],
    rate: float,
    labels: str | None,
    title: str | None,
    export: str | None,
) -> None:
    """Receive the reports of PLAN over HTTP, for pilots, until Ctrl-C.

    The questionnaire is at / and sends its reports to /reports.  A report is on disk
    before it is acknowledged; one that is sent again is stored once; what is no report
    of the plan is refused with the reason.  `seepage estimate` reads the database, also
    meanwhile, and --export writes it as another file.  Where the disk fails or the
    database is removed, it says so and ends with status 1.

    Only this machine reaches the default host.  For others put a web server in front
    that adds https, without which browsers do not run the questionnaire.

    \b
    Examples:
      seepage collect plan.json
      seepage collect plan.json --port 8000 -o reports.db --labels codebook.csv
      seepage collect plan.json -o reports.db --export reports.parquet
    """
    from seepage.workflow.plan import Plan

    plan = Plan.load(plan_path)
    if export is not None:
        reject(
            ["port", "host", "names", "rate", "labels", "title"],
            "--export receives nothing",
        )
        from seepage.collection.stored_reports import export_reports

        count = export_reports(plan, output, export)
        click.echo(f"{count:,} reports of {output} -> {export}")
        return
    from seepage.app.receiver import LOOPBACK, Receiver
    from seepage.app.report_store import StoreError

    with Receiver(
        plan,
        output,
        port=port,
        host=host,
        names=names,
        rate=rate,
        labels=labels,
        title=title,
    ) as receiver:
        store = receiver.store
        there = f"({store.count:,} there)"
        click.echo(f"questionnaire at {receiver.address}, reports -> {output} {there}")
        if host not in (LOOPBACK, "::1", "localhost"):
            click.echo(
                "others can reach this address: put a server with https in front",
                err=True,
            )
        try:
            receiver.wait()
        except KeyboardInterrupt:
            click.echo(f"{store.count:,} reports -> {output}")
        except StoreError as failure:
            click.echo(f"seepage: {failure}", err=True)
            sys.exit(EXIT_FAILED)


# Reports ------------------------------------------------------------------------------

PLAN = click.option(
    "--plan",
    type=click.Path(dir_okay=False),
    required=True,
    help="The plan's file.",
)


@click.command("perturb", cls=FileCommand)
@click.argument("data")
@PLAN
@options.output_file("The reports' file.", required=True)
@click.option(
    "--seed",
    "rng",
    type=options.SEED,
    help="FOR RESEARCH ONLY: the same reports again.  Whoever knows the seed can undo the noise.",
)
@click.option(
    "--identifier",
    metavar="COLUMN",
    help="Column of stable identifiers: a person who is asked again sends the same report.",
)
@click.option(
    "--key-file",
    "key",
    type=click.Path(dir_okay=False),
    help="File of the secret key that derives reports from --identifier; written if "
    "missing.",
)
@options.MISSING_MARKER
@options.DELIMITER
@options.ENCODING
@options.PERSON
def perturb(
    data: str,
    plan: str,
    output: str,
    identifier: str | None,
    key: str | None,
    **chosen: Any,
) -> None:
    """Perturb the records of DATA as a plan says, into the Parquet file of reports
    OUTPUT.

    Randomness comes from the operating system: the noise, and who is given which form
    of the plan. With --identifier form and noise are derived from a person's
    identifier, so that who is asked again sends the same report for the same answers:
    keep the key file for that, and keep it secret: with it, answers can be found from
    reports.

    Each record sends one report; if the plan names the column that identifies a person,
    or --person does, each person sends one: that of the first record.

    A record with a value outside the plan's domain raises an error with its row and
    column, unless its attribute has a catch-all value.  OUTPUT appears when all is
    written, or not at all.

    \b
    Examples:
      seepage perturb survey.csv --plan plan.json -o reports.parquet
      seepage perturb survey.csv --plan plan.json -o reports.parquet --identifier id --key-file key
    """
    from seepage.collection.perturb_table import perturb_file
    from seepage.workflow.plan import Plan

    promised = Plan.load(plan)
    keywords = explicit_keywords([*options.TABLE_KEYWORDS, "rng"])
    with (
        _key_for(identifier, key, output) as secret,
        console.progress_bar("perturbing") as bar,
    ):
        count = perturb_file(
            promised,
            data,
            output,
            identifier=identifier,
            key=secret,
            progress=bar,
            **keywords,
        )
    forms = "" if promised.is_single else f", {len(promised.forms)} forms"
    person = chosen["person"] or promised.person
    if person == NO_PERSON:
        person = None
    each = f", one for each {person!r}" if person else ""
    click.echo(
        f"{count:,} reports of {len(promised.collected)} attributes{forms}{each} -> {output}"
    )
    if promised.kind == "assumed":
        click.echo(
            f"the plan rests on an assumption ({promised.guarantee}): its totals are not proven, "
            "and real data often violate it",
            err=True,
        )
    if chosen["rng"] is not None:
        click.echo(
            "drawn from a seed: for research only, these reports protect nobody",
            err=True,
        )


@contextmanager
def _key_for(identifier: str | None, path: str | None, output: str) -> Iterator[Any]:
    """Yield the path of the key file, or a new key; its file stays only if the block
    succeeds.
    """
    if path is not None and Path(path).resolve() == Path(output).resolve():
        raise InputError(
            f"--key-file and --output must be two files, got {path!r} for both"
        )
    if identifier is None or path is None or Path(path).exists():
        yield path
        return
    from seepage.collection.identified_people import new_key

    key = new_key(path)
    try:
        yield key
    except BaseException:
        Path(path).unlink(missing_ok=True)
        raise
    click.echo(
        f"a new key was written to {path}: keep it secret, and for the next time",
        err=True,
    )


@click.command("estimate", cls=FileCommand)
@click.argument("reports")
@PLAN
@click.option(
    "--consistent", is_flag=True, help="Project frequencies to distributions."
)
@click.option(
    "--table",
    metavar="A,B,...",
    callback=parsing.parse_names,
    help="The table of attributes that a form asks together.",
)
@click.option(
    "--regress", metavar="FORMULA", help='A regression, such as "ill ~ age + sex".'
)
@click.option(
    "--family",
    type=click.Choice(["logit", "linear"]),
    default="logit",
    help="Of --regress.",
)
@click.option(
    "--covariates", metavar="FILE", help="Unperturbed columns, one row per report."
)
@click.option(
    "--weights", metavar="COLUMN", help="Survey weights, beside reports or covariates."
)
@click.option(
    "--known-totals",
    type=click.Path(dir_okay=False),
    help="Totals to weight to: a CSV file of attribute, value, total.",
)
@options.page("results")
@click.option(
    "--check", metavar="DATA", help="Newer records: --report checks the limits there."
)
@options.RESULT
def estimate(reports: str, plan: str, table: list[str], **chosen: Any) -> None:
    """Estimate frequencies from the REPORTS of a plan: a Parquet file, a folder or glob
    of such.

    REPORTS may also be the database of `seepage collect`, also while it collects, or
    JSON Lines as clients send them, plain or gzip.  Lines that are malformed or belong
    to another plan are skipped, and their numbers printed.

    Estimates are unbiased, so they may be negative and need not sum to 1; --consistent
    gives distributions.  Standard errors are those of the unbiased estimates, for the
    population that the people were drawn from; CSV and JSON also have the conditional
    errors, for the people who reported.  --table gives shares of the first attribute
    given the others, with intervals.

    \b
    Examples:
      seepage estimate reports.parquet --plan plan.json
      seepage estimate reports.parquet --plan plan.json --consistent --format csv -o result.csv
      seepage estimate reports.parquet --plan plan.json --table ill,income
      seepage estimate reports.parquet --plan plan.json --regress "ill ~ age + sex"
      seepage estimate reports.parquet --plan plan.json --report results.html --check 2026.csv
      seepage estimate reports.db --plan plan.json
    """
    from seepage.collection.report_batches import open_reports
    from seepage.pages.results_page import write_results
    from seepage.workflow.plan import Plan

    promised = Plan.load(plan)
    formula = chosen["regress"]
    consistent = chosen["consistent"]
    source = open_reports(
        promised, reports, lambda note: click.echo(f"seepage: {note}", err=True)
    )
    if chosen["report"] is None:
        reject(["check"], "its result is on the page of --report")
    if formula is None:
        reject(["family"], "it is of --regress")
    if consistent and formula is not None:
        raise InputError("--consistent is for frequencies, got --regress")
    weights = _survey_weights(**chosen)
    result: Any
    if formula is not None:
        keywords = explicit_keywords(["family", "covariates"])
        result = promised.regress(source, formula, weights=weights, **keywords)
        text = result.summary
    elif table:
        found = promised.table(source, table[0], by=table[1:], weights=weights)
        result = found.consistent() if consistent else found
        text = partial(_table_text, result, found)
    else:
        result = promised.estimate(source, consistent=consistent, weights=weights)
        text = partial(_estimates_text, result)

    pair = [(table[0], table[1])] if len(table) == 2 else None
    about = {
        "name": Path(reports).name,
        "data": chosen["check"],
        "consistent": consistent,
    }
    page = partial(write_results, promised, source, joint=pair, **about)
    console.write_result(result, text, page=page)


def _survey_weights(
    weights: str | None, covariates: str | None, known_totals: str | None, **_: Any
) -> Any:
    """Return weights: a column beside the reports by its name, or numbers from the
    covariates.
    """
    from seepage.collection.clear_columns import (
        clear_columns,
        column_names,
        column_texts,
    )
    from seepage.collection.weights import rake_weights

    if known_totals is not None:
        if covariates is None:
            raise InputError(
                "--known-totals needs --covariates, the file of the attributes"
            )
        columns = clear_columns(known_totals, ["attribute", "value", "total"])
        known: dict[str, dict[str, float]] = {}
        names, values, totals = map(column_texts, columns.values())
        for name, value, total in zip(names, values, totals, strict=True):
            known.setdefault(name, {})[value] = parsing.as_number(
                total, "each total of --known-totals"
            )
        return rake_weights(covariates, known, weights=weights)
    if covariates is not None and weights in column_names(covariates):
        return clear_columns(covariates, [weights])[weights]
    return weights


def _table_text(shown: Any, table: Any) -> str:
    """Return cells and, for several attributes, shares given all but the first."""
    people = ", ".join(
        f"{count:,} of form {form}" for form, count in table.people.items()
    )
    parts = [
        f"{table.records:,} people: {people}; as precise as "
        f"{table.equivalent_people:,.0f} unperturbed answers"
    ]
    for cells in (shown, *([table.shares()] if len(table.attributes) > 1 else [])):
        names = [attribute.name for attribute in cells.attributes]
        heads = {
            "standard_error": "standard error",
            "lower": "95 % from",
            "upper": "to",
        }
        parts += [
            "",
            cells.what,
            _decimal_table(cells, names, {"estimate": "estimate", **heads}),
        ]
    return "\n".join(parts)


def _decimal_table(result: Any, labels: list[str], numbers: dict[str, str]) -> str:
    """Return labels and numbers of a result as a table, the numbers with five decimals."""
    columns = result.to_arrow().to_pydict()
    texts = {
        head: [f"{one:.5f}" for one in columns[name]] for name, head in numbers.items()
    }
    return console.aligned_columns({name: columns[name] for name in labels} | texts)


def _estimates_text(estimates: Any) -> str:
    """Return estimated frequencies and means as text."""
    how = "nearest distributions" if estimates.consistent else "unbiased"
    notes = [
        f"{name}: reports at epsilon 0 carry no information, so nothing is estimated"
        for name in estimates.unestimated
    ]
    notes += [f"mean of {name}: {mean}" for name, mean in estimates.means.items()]
    about = (
        f"{estimates.records:,} reports of {len(estimates.domain)} attributes, {how}"
    )
    numbers = {"frequency": "frequency", "standard_error": "standard error"}
    return "\n".join(
        [about, _decimal_table(estimates, ["attribute", "value"], numbers), *notes]
    )
