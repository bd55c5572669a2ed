"""`seepage calibrate`, `design`, `perturb`, `estimate`: from limits to frequencies."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seepage.cli.options import (
    MASTER,
    SEED,
    chart_option,
    click_options,
    engine_session,
    given,
    grouped,
    output_options,
    print_reading_notes,
    reject_options,
)
from seepage.cli.output import (
    FileCommand,
    OutputFile,
    emit,
    format_result,
    progress_bar,
    text_columns,
    write_chart,
    write_result,
)
from seepage.data.domain import ALL_OTHERS, Domain
from seepage.data.table.options import TableOptions
from seepage.designs.design_options import CalibrationOptions, DesignOptions
from seepage.errors import InputError

if TYPE_CHECKING:
    from seepage.plan import Plan


OUTPUT_OPTIONS = grouped(
    MASTER,
    click.option("--report", type=OutputFile(), help="Write the plan's page, one HTML file."),
    click.option("--format", "form", type=click.Choice(["table", "json"]), default="table"),
    click.option("-o", "--output", type=OutputFile(), help="Write the plan here."),
)


@click.command("calibrate", cls=FileCommand)
@click.argument("data")
@click_options(CalibrationOptions)
@chart_option("the plan")
@OUTPUT_OPTIONS
def calibrate(data: str, **options: Any) -> None:
    """Find the largest budgets that keep every attribute's total within a limit.

    \b
    Examples:
      seepage calibrate survey.csv --limit 3 -o plan.json
      seepage calibrate survey.csv --limit 3 --mechanism grr
    """
    if options["guarantee"] not in ("sampled", "auto"):
        reject_options(["reports", "target_delta"], "it is of --guarantee sampled")
    from seepage.cli.analysis_text import calibration_text
    from seepage.designs.calibration import find_budgets
    from seepage.plan.designed_plan import plan_of

    calibration = _within_limits(find_budgets, CalibrationOptions, data)
    print_reading_notes(data, calibration.problem.pairs)
    plan = plan_of(calibration)
    _write(plan, plan, data, calibration_text)


def _within_limits(function: Callable[..., Any], kind: Any, data: str) -> Any:
    """Return what a function of data and a limit finds, with the options given."""
    chosen = given(kind)
    limit = chosen.get("limit")
    if limit is None or (isinstance(limit, dict) and limit[ALL_OTHERS] is None):
        more = " for the others too" if limit else ": the allowed total of every attribute, in nats"
        raise InputError(f"--limit must be given{more}")
    with engine_session(data), progress_bar("searching") as progress:
        return function(data, progress=progress, **chosen)


def _write(plan: Any, result: Any, data: str, text: Callable[..., str]) -> None:
    """Write a plan and its page, where files are given, and print the result."""
    options, name = click.get_current_context().params, Path(data).name
    if options["output"] is not None:
        plan.save(options["output"])
    if options["report"] is not None:
        plan.report(options["report"], name=name)
        click.echo(f"wrote {options['report']}: open it in a browser", err=True)
    write_chart(result, options["chart"])
    emit(format_result(options["form"], result, text, name), None)
    if options["output"] is None:
        click.echo("the plan was not saved: --output plan.json keeps it", err=True)


@click.command("design", cls=FileCommand)
@click.argument("data")
@click_options(DesignOptions)
@chart_option("the comparison")
@OUTPUT_OPTIONS
def design(data: str, **_: Any) -> None:
    """Find the forms that keep every attribute's total within a limit with the least error.

    Ctrl-C ends the search; the best design so far is certified and kept.

    \b
    Examples:
      seepage design survey.csv --limit 3 -o plan.json --report plan.html
      seepage design survey.csv --limit 3 --known sex,age --record-limit 6
      seepage design survey.csv --limit 2 --want "smoker x ill" --want "mean age"
    """
    from seepage.cli.analysis_text import design_text
    from seepage.designs.design_search import find_design
    from seepage.plan.designed_plan import plan_of_design

    result = _within_limits(find_design, DesignOptions, data)
    print_reading_notes(data, result.pairs)
    _write(plan_of_design(result), result, data, design_text)


# Collecting -------------------------------------------------------------------------------------

PLAN = click.option(
    "--plan", "plan_path", required=True, type=click.Path(dir_okay=False), help="The plan's file."
)


@click.command("perturb", cls=FileCommand)
@click.argument("data")
@PLAN
@click.option("-o", "--output", required=True, type=OutputFile(), help="The reports' file.")
@click.option(
    "--other",
    multiple=True,
    metavar="[NAME=]VALUE",
    help="Count values outside the domain as VALUE: of one attribute, or of all that have it.",
)
@click.option(
    "--seed",
    type=SEED,
    help="FOR RESEARCH ONLY: the same reports again.  Whoever knows the seed can undo the noise.",
)
@click.option(
    "--form-column",
    "form",
    metavar="COLUMN",
    help="Column with the number of everybody's form, from 1.",
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
    help="File of the secret key that derives reports from --identifier; written if missing.",
)
@click_options(TableOptions, "rename", "missing_markers", "delimiter", "encoding")
def perturb(data: str, plan_path: str, output: str, **options: Any) -> None:
    """Perturb the records of DATA as a plan says, into the Parquet file of reports OUTPUT.

    Randomness comes from the operating system: the noise, and who is given which form of the plan.
    With --identifier form and noise are derived from a person's identifier, so that who is asked
    again sends the same report for the same answers: keep the key file for that, and keep it
    secret: with it, answers can be found from reports.

    A record with a value outside the plan's domain raises an error with its row and column, unless
    --other names a value for it.  OUTPUT appears when all is written, and not at all otherwise.

    \b
    Examples:
      seepage perturb survey.csv --plan plan.json -o reports.parquet
      seepage perturb survey.csv --plan plan.json -o reports.parquet --other job=other
      seepage perturb survey.csv --plan plan.json -o reports.parquet --identifier id --key-file key
    """
    from seepage.collection.perturb import perturb_file
    from seepage.plan import Plan

    plan = Plan.load(plan_path)
    identifier, path = options["identifier"], options["key"]
    with _key_for(identifier, path, output) as key, progress_bar("perturbing") as progress:
        count = perturb_file(
            plan,
            data,
            output,
            seed=options["seed"],
            other=_catch_alls(options["other"], plan.collected),
            form=options["form"],
            identifier=identifier,
            key=key,
            progress=progress,
            **given(TableOptions),
        )
    forms = "" if plan.is_single else f", {len(plan.forms)} forms"
    click.echo(f"{count:,} reports of {len(plan.collected)} attributes{forms} -> {output}")
    if plan.kind == "assumed":
        click.echo(
            f"the plan rests on an assumption ({plan.guarantee}): its totals are not proven, and "
            "real data often violate it",
            err=True,
        )
    if options["seed"] is not None:
        click.echo("drawn from a seed: for research only, these reports protect nobody", err=True)


@contextmanager
def _key_for(identifier: str | None, path: str | None, output: str) -> Iterator[Any]:
    """Yield the path of the key file, or a new key; its file stays only if the block succeeds."""
    if identifier is not None and path is None:
        raise InputError(
            "--identifier needs --key-file, the file of the secret key that derives reports; it is "
            "written if it does not exist"
        )
    if path is not None and identifier is None:
        raise InputError("--key-file needs --identifier, the column of stable identifiers")
    if path is not None and Path(path).resolve() == Path(output).resolve():
        raise InputError(f"--key-file and --output must be two files, got {path!r} for both")
    if path is None or Path(path).exists():
        yield path
        return
    from seepage.collection.form_assignment import new_key

    key = new_key(path)
    try:
        yield key
    except BaseException:
        Path(path).unlink(missing_ok=True)
        raise
    click.echo(f"a new key was written to {path}: keep it secret, and for the next time", err=True)


def _catch_alls(settings: Iterable[str], domain: Domain) -> dict[str, str] | None:
    """Return catch-all values by attribute, from NAME=VALUE; "*" for a VALUE alone."""
    values = dict[str, str]()
    for setting in settings:
        name, sign, value = setting.partition("=")
        if not sign or any(setting in attribute.values for attribute in domain):
            name, value = "*", setting
        if values.setdefault(name, value) != value:
            raise InputError(f"--other must give one value for each attribute, got {setting!r} too")
    return values or None


@click.command("estimate", cls=FileCommand)
@click.argument("reports")
@PLAN
@click.option(
    "--consistent", is_flag=True, help="Project each attribute's frequencies to a distribution."
)
@click.option("--joint", metavar="A,B", help="The joint frequencies of two attributes instead.")
@click.option(
    "--method",
    type=click.Choice(["inversion", "em"]),
    default="inversion",
    help="How --joint is estimated: inversion (unbiased) or maximum likelihood (em).",
)
@click.option("--report", type=OutputFile(), help="Write the page of results, one HTML file.")
@click.option(
    "--check",
    metavar="DATA",
    help="A newer table of records, on which --report checks the limits of the plan.",
)
@output_options
def estimate(reports: str, plan_path: str, joint: str | None, method: str, **options: Any) -> None:
    """Estimate frequencies from the REPORTS of a plan: a Parquet file, a folder or glob of such.

    REPORTS may also be JSON Lines as clients send them, plain or gzip.  Lines that are malformed
    or belong to another plan are skipped, and their numbers printed.

    Estimates are unbiased, so they may be negative and need not sum to 1; --consistent and
    --method em give distributions.  Standard errors are those of the unbiased estimates, for the
    population that the people were drawn from; CSV and JSON also have the conditional errors, for
    the people who reported.

    \b
    Examples:
      seepage estimate reports.parquet --plan plan.json
      seepage estimate reports.parquet --plan plan.json --consistent --format csv -o result.csv
      seepage estimate reports.parquet --plan plan.json --joint sex,income --method em
      seepage estimate reports.parquet --plan plan.json --report results.html --check 2026.csv
      seepage estimate reports.jsonl.gz --plan plan.json
    """
    from seepage.collection.results_page import write_results
    from seepage.plan import Plan

    plan, page, consistent = Plan.load(plan_path), options["report"], options["consistent"]
    source = readable_reports(reports, plan)
    names = None if joint is None else _parse_two_names(joint, plan.collected.names)
    if page is None:
        reject_options(["check"], "its result is on the page of --report")
    if names is None:
        reject_options(["method"], "it says how --joint is estimated")
    elif consistent:
        raise InputError("--consistent is for single attributes; for --joint use --method em")
    estimates: Any = None
    if page is not None:
        estimates = write_results(
            plan,
            source,
            page,
            name=Path(reports).name,
            joint=[names] if names else None,
            data=options["check"],
            consistent=consistent,
        )
        click.echo(f"wrote {page}: open it in a browser", err=True)
    if names is not None:
        estimates = plan.estimate_joint(source, *names, method=method)
    elif estimates is None:
        estimates = plan.estimate(source, consistent=consistent)
    write_result(estimates, _frequencies_text)


def readable_reports(reports: str, plan: "Plan") -> Any:
    """Return what `Plan.estimate` reads; numbers of skipped JSON lines go to standard error."""
    from seepage.collection.report_source import open_reports

    return open_reports(plan, reports, lambda note: click.echo(f"seepage: {note}", err=True))


def _parse_two_names(text: str, known: tuple[str, ...]) -> tuple[str, str]:
    """Return the two names of A,B; a known name may contain commas."""
    parts = text.split(",")
    splits = [(",".join(parts[:i]), ",".join(parts[i:])) for i in range(1, len(parts))]
    matching = [split for split in splits if set(split) <= set(known)]
    if not splits:
        raise InputError(f"--joint must be two attributes as A,B, got {text!r}")
    return matching[0] if matching else splits[0]


def _frequencies_text(estimates: Any) -> str:
    if hasattr(estimates, "method"):
        labels: tuple[str, ...] = ("first_value", "second_value")
        titles = (estimates.first.name, estimates.second.name)
        how = "unbiased" if estimates.method == "inversion" else "maximum likelihood"
        about = f"{' and '.join(titles)}: joint frequencies from {estimates.records:,} reports"
    else:
        labels = titles = ("attribute", "value")
        how = "nearest distributions" if estimates.consistent else "unbiased"
        about = f"{estimates.records:,} reports of {len(estimates.domain)} attributes"
    cells = estimates.to_arrow().select([*labels, "frequency", "standard_error"]).to_pydict()
    rows = [[*names, f"{f:.5f}", f"{e:.5f}"] for *names, f, e in zip(*cells.values(), strict=True)]
    notes = [
        f"{name}: reports at epsilon 0 carry no information, so nothing is estimated"
        for name in getattr(estimates, "unestimated", ())
    ]
    notes += [f"mean of {name}: {mean}" for name, mean in getattr(estimates, "means", {}).items()]
    table = text_columns([[*titles, "frequency", "standard error"], *rows])
    return "\n".join([f"{about}, {how}", table, *notes])
