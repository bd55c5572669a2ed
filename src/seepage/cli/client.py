"""`seepage client`, `collect`, `audit`: noise on the devices of people, our own and others'."""

from typing import Any

import click

from seepage._results import write_text
from seepage.analysis_options import AuditOptions
from seepage.cli import console, options
from seepage.data.table import DataOptions
from seepage.errors import InputError

EXIT_FAILED = 1
SHOWN_LEAKS = 10
"""Maximum number of leaks of a table that are printed beside an audit."""

PLAN_PATH = click.argument("plan_path", metavar="PLAN", type=click.Path(dir_okay=False))
CODEBOOK = "Texts of questions and values: a CSV file with attribute, value and label."
LABELS = options.file("--labels", CODEBOOK)
VECTORS = click.IntRange(1, 1_000_000)
TITLE = click.option("--title", help="The heading of the questionnaire; by default the plan's.")


@click.command("client", cls=console.FileCommand)
@PLAN_PATH
@options.folder("The folder for the module seepage.js, its types, plan.json and vectors.json.")
@options.written("--questionnaire", "Write a page that asks the questions.")
@LABELS
@click.option("--endpoint", metavar="URL", help="Address of the reports; by default, a download.")
@TITLE
@options.file("--texts", "Introduction, consent, contact and other texts of the page: a JSON file.")
@click.option(
    "--vectors", type=VECTORS, default=100, help="Test vectors of the draw and each form."
)
def client(
    plan_path: str, output: str | None, questionnaire: str | None, vectors: int, **texts: Any
) -> None:
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

    if output is None and questionnaire is None:
        raise InputError("--output or --questionnaire must be given: there is nothing to write")
    if questionnaire is None:
        options.reject(["labels", "endpoint", "texts"], "it is for the page of --questionnaire")
    plan = Plan.load(plan_path)
    if questionnaire is not None:
        page = questionnaire_page(plan, **texts)
        if note := unlabelled_note(plan, texts["labels"]):
            click.echo(console.named(note), err=True)
    if output is not None:
        force = click.get_current_context().meta["force"]
        written = plan.write_client(output, vectors=vectors, force=force)
        click.echo(f"wrote {', '.join(file.name for file in written)} -> {output}")
    if questionnaire is not None:
        write_text(questionnaire, page)
        click.echo(f"wrote {questionnaire}: open it in a browser")


@click.command("collect", cls=console.FileCommand)
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
def collect(plan_path: str, output: str, **chosen: Any) -> None:
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

    with Receiver(Plan.load(plan_path), output, **chosen) as receiver:
        log = receiver.log
        skipped = f", {log.skipped:,} skipped" if log.skipped else ""
        there = f"({log.count:,} there{skipped})"
        click.echo(f"questionnaire at {receiver.address}, reports -> {output} {there}")
        if chosen["host"] not in (LOOPBACK, "::1", "localhost"):
            click.echo("others can reach this address: put a server with https in front", err=True)
        try:
            receiver.wait()
        except KeyboardInterrupt:
            click.echo(f"{log.count:,} reports -> {output}")


# Audits -----------------------------------------------------------------------------------------


@click.command("audit", cls=console.FileCommand)
@click.argument("randomiser", metavar="FILE")
@click.option("--claim", type=float, required=True, help="The claimed epsilon of each attribute.")
@options.of(AuditOptions)
@click.option("--data", type=click.Path(), metavar="TABLE", help="Analysed as audited and claimed.")
@click.option("--fail-if", type=click.Choice(["refuted", "not-decided"]), help="Exit 1 if so.")
@options.page("the table, with the audit")
@options.RESULT
def audit(randomiser: str, **chosen: Any) -> None:
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

    if chosen["data"] is None:
        reading = [*DataOptions.__dataclass_fields__, "reported", "guarantee", "report"]
        options.reject(reading, "it is about --data")
    given = options.given(AuditOptions) | {"command": console.command_line()}
    found = run_audit(randomiser, **given)
    console.write_result(found, lambda: _audit_text(found), page=found.report)
    grave = {"refuted": 1, "not-decided": 2}.get(chosen["fail_if"] or "", 0)
    if found.verdict in STATES[:grave]:
        raise SystemExit(EXIT_FAILED)


def _audit_text(found: Any) -> str:
    from seepage._results import lower_text, upper_text

    lines = [f"{found.name}: {found.verdict}", *map(console.named, found.sentences())]
    if found.analysis is None or found.claimed is None:
        return "\n".join(lines)
    rows = [["reports tell (nats)", "as audited", "in the population", "as claimed"]]
    for leak in found.leaks[:SHOWN_LEAKS]:
        population = f"{lower_text(leak.lower)} to {upper_text(leak.upper)}"
        ends, claimed = f"{leak.source} -> {leak.target}", upper_text(leak.claimed)
        rows.append([ends, upper_text(leak.audited), population, claimed])
    lines.append(console.aligned(rows))
    for which, one in (("audited", found.analysis), ("claimed", found.claimed)):
        largest = [f"{t.guarantee} {upper_text(t.values.max())}" for t in one.totals.totals]
        lines.append(f"largest totals as {which}: {', '.join(largest)}")
    return "\n".join(lines)
