"""`seepage estimate`: from reports to frequencies with standard errors."""

from typing import Any

import click

from seepage.cli.inputs import reject_options
from seepage.cli.options import output_options
from seepage.cli.output import FileCommand, emit, encode_json
from seepage.errors import InputError

__all__ = ["command"]


@click.command("estimate", cls=FileCommand)
@click.argument("reports")
@click.option(
    "--plan", "plan_path", required=True, type=click.Path(dir_okay=False), help="The plan's file."
)
@click.option(
    "--consistent", is_flag=True, help="Move each attribute's frequencies to a distribution."
)
@click.option("--joint", metavar="A,B", help="The joint frequencies of two attributes instead.")
@click.option(
    "--method",
    type=click.Choice(["inversion", "em"]),
    default="inversion",
    show_default=True,
    help="How --joint is estimated: unbiased, or by maximum likelihood.",
)
@output_options
def command(
    reports: str,
    plan_path: str,
    consistent: bool,
    joint: str | None,
    method: str,
    form: str,
    output: str | None,
) -> None:
    """Estimate frequencies from the REPORTS of a plan: a Parquet file, a folder or glob of such.

    Estimates are unbiased, so they may be negative and need not sum to 1; --consistent and
    --method em give distributions.  Standard errors are those of the unbiased estimates.

    \b
    Examples:
      seepage estimate reports.parquet --plan plan.json
      seepage estimate reports.parquet --plan plan.json --consistent --format csv -o result.csv
      seepage estimate reports.parquet --plan plan.json --joint sex,income --method em
    """
    from seepage.plan import Plan

    if joint is None:
        reject_options(["method"], "it says how --joint is estimated")
    plan = Plan.load(plan_path)
    if joint is None:
        found: Any = plan.estimate(reports, consistent=consistent)
    elif consistent:
        raise InputError("--consistent is for single attributes; for --joint use --method em")
    else:
        found = plan.estimate_joint(
            reports, *_two_names(joint, plan.collected.names), method=method
        )
    emit(_formatted(found, form), output)


def _two_names(text: str, known: tuple[str, ...]) -> tuple[str, str]:
    """Return two attributes' names from A,B; the names may have commas themselves."""
    parts = text.split(",")
    splits = [(",".join(parts[:i]), ",".join(parts[i:])) for i in range(1, len(parts))]
    fitting = [split for split in splits if set(split) <= set(known)]
    if not splits:
        raise InputError(f"--joint must be two attributes as A,B, got {text!r}")
    return fitting[0] if fitting else splits[0]


def _formatted(found: Any, form: str) -> str:
    if form == "json":
        return encode_json(found.to_dict())
    if form == "csv":
        return str(found.to_csv())
    from seepage.cli.output import columns

    joint = hasattr(found, "method")
    labels = ("first_value", "second_value") if joint else ("attribute", "value")
    told = found.to_arrow().select([*labels, "frequency", "standard_error"]).to_pydict()
    rows = [[*names, f"{f:.5f}", f"{e:.5f}"] for *names, f, e in zip(*told.values(), strict=True)]
    head = ("value", "value") if joint else labels
    table = columns([[*head, "frequency", "standard error"], *rows])
    return "\n".join([_heading(found), table, *_notes(found)])


def _heading(found: Any) -> str:
    if hasattr(found, "method"):
        how = "unbiased" if found.method == "inversion" else "maximum likelihood"
        pair = f"{found.first.name} and {found.second.name}"
        return f"{pair}: joint frequencies from {found.records:,} reports, {how}"
    how = "nearest distributions" if found.consistent else "unbiased"
    return f"{found.records:,} reports of {len(found.domain)} attributes, {how}"


def _notes(found: Any) -> list[str]:
    return [
        f"{name}: reports at epsilon 0 tell nothing, so nothing is estimated"
        for name in getattr(found, "untold", ())
    ]
