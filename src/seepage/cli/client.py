"""`seepage client`, `collect`, `audit`: noise on the devices of people, our own and others'."""

import shlex
import sys
from typing import Any

import click

from seepage._files import write_text
from seepage.analysis_options import AuditOptions
from seepage.cli.options import click_options, given, output_options, reject_options
from seepage.cli.output import (
    FileCommand,
    OutputFile,
    OutputFolder,
    option_names,
    text_columns,
    write_page,
    write_result,
)
from seepage.data.table import DataOptions
from seepage.errors import InputError, naming

EXIT_FAILED = 1
SHOWN_LEAKS = 10
"""Maximum number of leaks of a table that are printed beside an audit."""

PLAN_PATH = click.argument("plan_path", metavar="PLAN", type=click.Path(dir_okay=False))
LABELS = click.option(
    "--labels",
    type=click.Path(dir_okay=False),
    help="Texts of questions and values: a CSV file with attribute, value and label.",
)
TITLE = click.option("--title", help="The heading of the questionnaire; by default the plan's.")


@click.command("client", cls=FileCommand)
@PLAN_PATH
@click.option(
    "-o",
    "--output",
    "folder",
    type=OutputFolder(),
    help="The folder for the module seepage.js, its types, plan.json and vectors.json.",
)
@click.option("--questionnaire", type=OutputFile(), help="Write a page that asks the questions.")
@LABELS
@click.option(
    "--endpoint", metavar="URL", help="Address that reports are sent to; by default, a download."
)
@TITLE
@click.option(
    "--texts",
    type=click.Path(dir_okay=False),
    help="Introduction, consent, contact and other texts of the page: a JSON file.",
)
@click.option(
    "--vectors",
    type=click.IntRange(1, 1_000_000),
    default=100,
    help="Test vectors for the draw of the form and for each form.",
)
def client(plan_path: str, folder: str | None, vectors: int, **options: Any) -> None:
    """Write a client of PLAN, which adds noise on the device of the person asked.

    The folder has one ES module without dependencies, for browsers and Node, and test vectors for
    clients in other languages.  The questionnaire is one self-contained page: it draws the form,
    asks, adds noise, shows what is sent and what it reveals at most, and sends it to the endpoint
    or offers it as a file.  `seepage estimate` reads what is collected as JSON Lines.

    \b
    Examples:
      seepage client plan.json -o client/
      seepage client plan.json --questionnaire survey.html --labels codebook.csv
      seepage client plan.json --questionnaire survey.html --endpoint https://example.org/reports
    """
    from seepage.collection.client_files import questionnaire_page, unlabelled_note
    from seepage.plan import Plan

    questionnaire = options.pop("questionnaire")
    if folder is None and questionnaire is None:
        raise InputError("--output or --questionnaire must be given: there is nothing to write")
    if questionnaire is None:
        reject_options(["labels", "endpoint", "texts"], "it is for the page of --questionnaire")
    plan = Plan.load(plan_path)
    if questionnaire is not None:
        chosen = {name: options[name] for name in ("labels", "endpoint", "title", "texts")}
        page = questionnaire_page(plan, **chosen)
        if note := unlabelled_note(plan, options["labels"]):
            click.echo(note.naming(option_names()), err=True)
    if folder is not None:
        force = click.get_current_context().meta["force"]
        written = plan.write_client(folder, vectors=vectors, force=force)
        click.echo(f"wrote {', '.join(file.name for file in written)} -> {folder}")
    if questionnaire is not None:
        write_text(questionnaire, page)
        click.echo(f"wrote {questionnaire}: open it in a browser")


@click.command("collect", cls=FileCommand)
@PLAN_PATH
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    default="reports.jsonl",
    help="The file of reports; it is continued if it exists.",
)
@click.option("--port", type=int, default=8000, help="The port; 0 for any that is free.")
@click.option("--host", default="127.0.0.1", help="The address to listen on.")
@click.option("--rate", type=float, default=1000.0, help="Lines per second, in all, at most.")
@LABELS
@TITLE
def collect(plan_path: str, output: str, **options: Any) -> None:
    """Receive the reports of PLAN over HTTP, for pilots, until Ctrl-C.

    The questionnaire is at / and sends its reports to /reports.  A report is on disk before it is
    acknowledged; one that is sent again is stored once; what is no report of the plan is refused
    with the reason.  `seepage estimate` reads the file, also meanwhile.

    Only this machine reaches the default host.  For others put a web server in front that adds
    https, without which browsers do not run the questionnaire.

    \b
    Examples:
      seepage collect plan.json
      seepage collect plan.json --port 8000 -o reports.jsonl --labels codebook.csv
    """
    from seepage.collection.receiver import LOOPBACK, Receiver
    from seepage.plan import Plan

    with Receiver(Plan.load(plan_path), output, **options) as receiver:
        log = receiver.log
        skipped = f", {log.skipped:,} skipped" if log.skipped else ""
        there = f"({log.count:,} there{skipped})"
        click.echo(f"questionnaire at {receiver.address}, reports -> {output} {there}")
        if options["host"] not in (LOOPBACK, "::1", "localhost"):
            click.echo("others can reach this address: put a server with https in front", err=True)
        try:
            receiver.wait()
        except KeyboardInterrupt:
            click.echo(f"{log.count:,} reports -> {output}")


# Audits -----------------------------------------------------------------------------------------


@click.command("audit", cls=FileCommand)
@click.argument("randomiser", metavar="FILE")
@click.option("--claim", type=float, required=True, help="The claimed epsilon of each attribute.")
@click_options(AuditOptions)
@click.option("--memoised/--fresh", default=None, help="Whether rounds repeat a stored report.")
@click.option("--linked/--unlinked", default=None, help="Whether a person's reports can be linked.")
@click.option(
    "--data",
    type=click.Path(),
    metavar="TABLE",
    help="Leakages of this table, as audited and as claimed.",
)
@click.option("--fail-if", type=click.Choice(["refuted", "not-decided"]), help="Exit 1 if so.")
@click.option("--report", type=OutputFile(), help="Write the page of the table, with the audit.")
@output_options
def audit(randomiser: str, **options: Any) -> None:
    """Audit FILE: what a randomiser realises beside what is claimed.

    FILE has published parameters: a specification (JSON) or a transition matrix (JSON, CSV).  Or it
    is sampled: a module (.mjs, .js, .py) with a function randomise(value), which is run, or a table
    with a column value, whose other columns are the report.

    \b
    Examples:
      seepage audit survey.json --claim 1.61 --data survey.csv --reported answer --report audit.html
      seepage audit client.mjs --claim 1 --values red,green,blue --fail-if refuted
      seepage audit samples.csv --claim 1 --reports 0,1,2,3
      seepage audit rappor.json --claim 4 --rounds 30 --memoised
    """
    from seepage.auditing import STATES
    from seepage.auditing.audit import audit as run_audit

    if options["data"] is None:
        reading = [*DataOptions.__dataclass_fields__, "reported", "guarantee", "report"]
        reject_options(reading, "it is about --data")
    chosen = given(AuditOptions)
    if "values" in chosen:
        chosen["values"] = [_typed(value) for value in chosen["values"]]
    command = shlex.join(["seepage", *sys.argv[1:]])
    found = run_audit(randomiser, command=command, **chosen)
    write_page(found.report)
    write_result(found, lambda: _audit_text(found))
    grave = {"refuted": 1, "not-decided": 2}.get(options["fail_if"] or "", 0)
    if found.verdict in STATES[:grave]:
        raise SystemExit(EXIT_FAILED)


def _typed(text: str) -> Any:
    """Return a value as a client expects it: an integer, a number or a text."""
    from seepage.data.table.labels import field_key

    key = field_key(text)
    if isinstance(key, float):
        return int(key) if key.is_integer() else key
    return text


def _audit_text(found: Any) -> str:
    from seepage.verdict import lower_text, upper_text

    names = option_names()
    lines = [f"{found.name}: {found.verdict}"]
    lines += [naming(line, names) for line in found.sentences()]
    if found.analysis is not None and found.claimed is not None:
        header = ["reports tell (nats)", "as audited", "in the population", "as claimed"]
        rows = [
            [
                f"{leak.source} -> {leak.target}",
                upper_text(leak.audited),
                f"{lower_text(leak.lower)} to {upper_text(leak.upper)}",
                upper_text(leak.claimed),
            ]
            for leak in found.leaks[:SHOWN_LEAKS]
        ]
        lines.append(text_columns([header, *rows]))
        for which, one in (("audited", found.analysis), ("claimed", found.claimed)):
            totals = one.totals.totals
            largest = [f"{each.guarantee} {upper_text(each.values.max())}" for each in totals]
            lines.append(f"largest totals as {which}: {', '.join(largest)}")
    return "\n".join(lines)
