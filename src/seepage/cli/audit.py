"""`seepage audit`: what a randomiser realises beside what is claimed."""

from typing import Any

import click

from seepage._core.text import lower_text, upper_text
from seepage.auditing.audit_options import AuditOptions
from seepage.cli import console, files, options, reading
from seepage.cli.analyse import SHOWN_LEAKS
from seepage.tables.table_options import DataOptions

EXIT_FAILED = 1


@click.command("audit", cls=files.FileCommand)
@click.argument("randomiser", metavar="FILE")
@click.option(
    "--claim", type=float, required=True, help="The claimed epsilon of each attribute."
)
@options.of(AuditOptions)
@click.option(
    "--data",
    type=click.Path(),
    metavar="TABLE",
    help="Analysed as audited and claimed.",
)
@click.option(
    "--fail-if", type=click.Choice(["refuted", "not-decided"]), help="Exit 1 if so."
)
@options.page("the table, with the audit")
@options.RESULT
def audit(randomiser: str, **chosen: Any) -> None:
    """Audit FILE: what a randomiser realises beside what is claimed.

    FILE has published parameters: a specification (JSON) or a transition matrix (JSON,
    CSV).  Or it is sampled: a module (.mjs, .js, .py) with a function randomise(value),
    which is run, or a table with a column value, whose other columns are the report.

    \b
    Examples:
      seepage audit survey.json --claim 1.61 --data survey.csv --reported answer --report audit.html
      seepage audit client.mjs --claim 1 --values red,green,blue --fail-if refuted
      seepage audit samples.csv --claim 1 --reports 0,1,2,3
      seepage audit rappor.json --claim 4 --rounds 30 --memoised
    """
    from seepage.auditing.audit import audit as run_audit
    from seepage.auditing.claims import STATES

    if chosen["data"] is None:
        about_data = [
            *DataOptions.__dataclass_fields__,
            "reported",
            "guarantee",
            "report",
        ]
        reading.reject(about_data, "it is about --data")
    given = reading.given(AuditOptions) | {"command": console.command_line()}
    found = run_audit(randomiser, **given)
    console.write_result(found, lambda: _audit_text(found), page=found.report)
    grave = {"refuted": 1, "not-decided": 2}.get(chosen["fail_if"] or "", 0)
    if found.verdict in STATES[:grave]:
        raise SystemExit(EXIT_FAILED)


def _audit_text(found: Any) -> str:
    lines = [f"{found.name}: {found.verdict}", *map(files.named, found.sentences())]
    if found.analysis is None or found.claimed is None:
        return "\n".join(lines)
    rows = [["reports tell (nats)", "as audited", "in the population", "as claimed"]]
    for leak in found.leaks[:SHOWN_LEAKS]:
        population = f"{lower_text(leak.lower)} to {upper_text(leak.upper)}"
        ends = f"{leak.source} -> {leak.target}"
        claimed = upper_text(leak.claimed)
        rows.append([ends, upper_text(leak.audited), population, claimed])
    lines.append(console.aligned(rows))
    for which, one in (("audited", found.analysis), ("claimed", found.claimed)):
        largest = [
            f"{t.guarantee} {upper_text(t.values.max())}" for t in one.totals.totals
        ]
        lines.append(f"largest totals as {which}: {', '.join(largest)}")
    return "\n".join(lines)
