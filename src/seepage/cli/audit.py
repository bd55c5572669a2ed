"""`seepage audit`: what somebody else's randomiser realises beside what is claimed."""

import shlex
import sys
from typing import Any

import click

from seepage.auditing.audit import AuditOptions
from seepage.auditing.audit_result import STATES, Audit
from seepage.cli.options import click_options, given, output_options, reject_options
from seepage.cli.output import (
    FileCommand,
    OutputFile,
    option_names,
    text_columns,
    write_page,
    write_result,
)
from seepage.data.table.labels import field_key
from seepage.data.table.options import DataOptions
from seepage.errors import naming
from seepage.verdict import lower_text, upper_text

EXIT_FAILED = 1
SHOWN_LEAKS = 10


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
    write_result(found, lambda: _text(found))
    grave = {"refuted": 1, "not-decided": 2}.get(options["fail_if"] or "", 0)
    if found.verdict in STATES[:grave]:
        raise SystemExit(EXIT_FAILED)


def _typed(text: str) -> Any:
    """Return a value as a client expects it: an integer, a number or a text."""
    key = field_key(text)
    if isinstance(key, float):
        return int(key) if key.is_integer() else key
    return text


def _text(found: Audit) -> str:
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
