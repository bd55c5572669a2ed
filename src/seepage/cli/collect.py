"""`seepage calibrate`, `design`, `perturb`, `estimate`: from limits to frequencies."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from seepage.cli.options import (
    MASTER,
    SEED,
    chart_option,
    click_options,
    given,
    grouped,
    output_options,
    parse_names,
    parse_numbers,
    print_reading_notes,
    reading_progress,
    reject_options,
)
from seepage.cli.output import (
    FileCommand,
    OutputFile,
    columns_text,
    progress_bar,
    write_page,
    write_result,
)
from seepage.data import ALL_OTHERS
from seepage.data.table import TableOptions
from seepage.designs import CalibrationOptions, DesignOptions
from seepage.errors import InputError

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
    from seepage.cli.result_text import calibration_text
    from seepage.plan.designed_plan import calibrate as make_plan

    _plan_within_limits(make_plan, CalibrationOptions, data, calibration_text)


def _plan_within_limits(
    function: Callable[..., Any], kind: Any, data: str, text: Callable[..., str]
) -> None:
    """Write the plan that a function makes with the options given, and print it."""
    chosen, name = given(kind), Path(data).name
    limit, output = chosen.get("limit"), click.get_current_context().params["output"]
    if limit is None or (isinstance(limit, dict) and limit[ALL_OTHERS] is None):
        more = " for the others too" if limit else ": the allowed total of every attribute, in nats"
        raise InputError(f"--limit must be given{more}")
    with reading_progress(data, "searching") as progress:
        plan = function(data, progress=progress, **chosen)
    if kind is CalibrationOptions or plan.scope == "table" or chosen.get("answers") == "as-is":
        print_reading_notes(data, plan.domain)  # merged answers are listed instead
    if output is not None:
        plan.save(output)
    write_page(lambda path: plan.report(path, name=name))
    write_result(plan, lambda: text(plan, name), printed=True)
    if output is None:
        click.echo("the plan was not saved: --output plan.json keeps it", err=True)


@click.command("design", cls=FileCommand)
@click.argument("data")
@click_options(DesignOptions)
@click.option(
    "--limits",
    metavar="A,B,...",
    callback=parse_numbers,
    help="Compare the designs for several limits, all of which hold together; saves no plan.",
)
@chart_option("the forms of the plan, or what each of --limits costs")
@OUTPUT_OPTIONS
def design(data: str, limits: list[float] | None, **_: Any) -> None:
    """Find the forms that keep every attribute's total within a limit with the least error.

    Ctrl-C ends the search; the best design so far is certified and kept.

    \b
    Examples:
      seepage design survey.csv --limit 3 -o plan.json --report plan.html
      seepage design survey.csv --limit 3 --known sex,age --record-limit 6
      seepage design survey.csv --limit 2 --want "smoker x ill" --want "mean age"
      seepage design survey.csv --limits 1,2,3 --chart limits.svg
    """
    if limits is not None:
        _compare_limits(data, limits)
        return
    from seepage.cli.result_text import design_text
    from seepage.plan.designed_plan import design as make_plan

    _plan_within_limits(make_plan, DesignOptions, data, design_text)


def _compare_limits(data: str, limits: list[float]) -> None:
    """Print the table of designs for several limits, and draw it where a file is given."""
    from seepage.cli.result_text import limits_text
    from seepage.plan.designed_plan import compare_limits

    reject_options(["limit", "limit_of"], "--limits gives several")
    reject_options(["output", "report"], "--limits compares; --limit designs the plan to keep")
    with reading_progress(data, "searching") as progress:
        found = compare_limits(data, limits, progress=progress, **given(DesignOptions))
    write_result(found, lambda: limits_text(found, Path(data).name), printed=True)


# Collecting -------------------------------------------------------------------------------------

PLAN = click.option(
    "--plan", "plan_path", required=True, type=click.Path(dir_okay=False), help="The plan's file."
)


@click.command("perturb", cls=FileCommand)
@click.argument("data")
@PLAN
@click.option("-o", "--output", required=True, type=OutputFile(), help="The reports' file.")
@click.option(
    "--seed",
    "rng",
    type=SEED,
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
    help="File of the secret key that derives reports from --identifier; written if missing.",
)
@click_options(TableOptions, "missing_markers", "delimiter", "encoding", "person")
def perturb(data: str, plan_path: str, output: str, **options: Any) -> None:
    """Perturb the records of DATA as a plan says, into the Parquet file of reports OUTPUT.

    Randomness comes from the operating system: the noise, and who is given which form of the plan.
    With --identifier form and noise are derived from a person's identifier, so that who is asked
    again sends the same report for the same answers: keep the key file for that, and keep it
    secret: with it, answers can be found from reports.

    Each record sends one report; if the plan names the column that identifies a person, or --person
    does, each person sends one: that of the first record.

    A record with a value outside the plan's domain raises an error with its row and column, unless
    its attribute has a catch-all value.  OUTPUT appears when all is written, or not at all.

    \b
    Examples:
      seepage perturb survey.csv --plan plan.json -o reports.parquet
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
            rng=options["rng"],
            identifier=identifier,
            key=key,
            progress=progress,
            **given(TableOptions),
        )
    forms = "" if plan.is_single else f", {len(plan.forms)} forms"
    person = options["person"] or plan.person
    each = f", one for each {person!r}" if person else ""
    click.echo(f"{count:,} reports of {len(plan.collected)} attributes{forms}{each} -> {output}")
    if plan.kind == "assumed":
        click.echo(
            f"the plan rests on an assumption ({plan.guarantee}): its totals are not proven, and "
            "real data often violate it",
            err=True,
        )
    if options["rng"] is not None:
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
    from seepage.collection.perturb import new_key

    key = new_key(path)
    try:
        yield key
    except BaseException:
        Path(path).unlink(missing_ok=True)
        raise
    click.echo(f"a new key was written to {path}: keep it secret, and for the next time", err=True)


@click.command("estimate", cls=FileCommand)
@click.argument("reports")
@PLAN
@click.option(
    "--consistent", is_flag=True, help="Project each attribute's frequencies to a distribution."
)
@click.option(
    "--table",
    "names",
    metavar="A,B",
    callback=parse_names,
    help="The table of attributes that a form asks together.",
)
@click.option("--regress", metavar="FORMULA", help='A regression, such as "ill ~ age + sex".')
@click.option(
    "--family", type=click.Choice(["logit", "linear"]), default="logit", help="Of --regress."
)
@click.option("--covariates", metavar="FILE", help="Unperturbed columns, one row per report.")
@click.option("--weights", metavar="COLUMN", help="Survey weights, beside reports or covariates.")
@click.option(
    "--known-totals",
    type=click.Path(dir_okay=False),
    help="Known totals of covariates to weight to: a CSV file of attribute, value, total.",
)
@click.option("--report", type=OutputFile(), help="Write the page of results, one HTML file.")
@click.option(
    "--check",
    metavar="DATA",
    help="A newer table of records, on which --report checks the limits of the plan.",
)
@output_options
def estimate(reports: str, plan_path: str, names: list[str], **options: Any) -> None:
    """Estimate frequencies from the REPORTS of a plan: a Parquet file, a folder or glob of such.

    REPORTS may also be JSON Lines as clients send them, plain or gzip.  Lines that are malformed
    or belong to another plan are skipped, and their numbers printed.

    Estimates are unbiased, so they may be negative and need not sum to 1; --consistent gives
    distributions.  Standard errors are those of the unbiased estimates, for the population that
    the people were drawn from; CSV and JSON also have the conditional errors, for the people who
    reported.  --table gives shares of the first attribute given the others, with intervals.

    \b
    Examples:
      seepage estimate reports.parquet --plan plan.json
      seepage estimate reports.parquet --plan plan.json --consistent --format csv -o result.csv
      seepage estimate reports.parquet --plan plan.json --table ill,income
      seepage estimate reports.parquet --plan plan.json --regress "ill ~ age + sex"
      seepage estimate reports.parquet --plan plan.json --report results.html --check 2026.csv
      seepage estimate reports.jsonl.gz --plan plan.json
    """
    from seepage.collection import open_reports
    from seepage.collection.results_page import write_results
    from seepage.plan import Plan

    plan, formula, consistent = Plan.load(plan_path), options["regress"], options["consistent"]
    source = open_reports(plan, reports, lambda note: click.echo(f"seepage: {note}", err=True))
    if options["report"] is None:
        reject_options(["check"], "its result is on the page of --report")
    if formula is None:
        reject_options(["family"], "it is of --regress")
    if consistent and formula is not None:
        raise InputError("--consistent is for frequencies, got --regress")
    weights = _survey_weights(**options)
    page = {
        "name": Path(reports).name,
        "joint": [(names[0], names[1])] if len(names) == 2 else None,
        "data": options["check"],
        "consistent": consistent,
    }
    write_page(lambda path: write_results(plan, source, path, **page))
    if formula is not None:
        clear = {name: options[name] for name in ("family", "covariates")}
        fitted = plan.regress(source, formula, weights=weights, **clear)
        write_result(fitted, fitted.summary)
    elif names:
        found = plan.table(source, names[0], by=names[1:], weights=weights)
        shown = found.consistent() if consistent else found
        write_result(shown, lambda: _table_text(shown, found))
    else:
        estimates = plan.estimate(source, consistent=consistent, weights=weights)
        write_result(estimates, lambda: _estimates_text(estimates))


def _survey_weights(
    weights: str | None, covariates: str | None, known_totals: str | None, **_: Any
) -> Any:
    """Return weights: a column beside the reports by its name, or numbers from the covariates."""
    from seepage.collection.covariates import clear_columns, column_names, rake_weights

    if known_totals is not None:
        if covariates is None:
            raise InputError("--known-totals needs --covariates, the file of the attributes")
        columns = clear_columns(known_totals, ["attribute", "value", "total"])
        known: dict[str, dict[str, float]] = {}
        for name, value, total in zip(*columns.values(), strict=True):
            known.setdefault(str(name), {})[str(value)] = float(total)
        return rake_weights(covariates, known, weights=weights)
    if covariates is not None and weights in column_names(covariates):
        return clear_columns(covariates, [weights])[weights]
    return weights


def _table_text(shown: Any, table: Any) -> str:
    """Return cells and, for several attributes, shares given all but the first."""
    people = ", ".join(f"{count:,} of form {form}" for form, count in table.people.items())
    parts = [
        f"{table.records:,} people: {people}; as precise as "
        f"{table.equivalent_people:,.0f} unperturbed answers"
    ]
    for cells in (shown, *([table.shares()] if len(table.attributes) > 1 else [])):
        columns = cells.to_arrow().to_pydict()
        labels = {attribute.name: columns[attribute.name] for attribute in cells.attributes}
        limits = {"95 % from": columns["lower"], "to": columns["upper"]}
        numbers = {name: columns[name] for name in ("estimate", "standard_error")} | limits
        parts += ["", cells.what, columns_text(labels | _decimals(numbers))]
    return "\n".join(parts)


def _decimals(columns: dict[str, list[float]]) -> dict[str, list[str]]:
    return {name: [f"{value:.5f}" for value in columns[name]] for name in columns}


def _estimates_text(estimates: Any) -> str:
    """Return estimated frequencies and means as text."""
    how = "nearest distributions" if estimates.consistent else "unbiased"
    columns = estimates.to_arrow().to_pydict()
    labels = {name: columns[name] for name in ("attribute", "value")}
    numbers = {name: columns[name] for name in ("frequency", "standard_error")}
    notes = [
        f"{name}: reports at epsilon 0 carry no information, so nothing is estimated"
        for name in estimates.unestimated
    ]
    notes += [f"mean of {name}: {mean}" for name, mean in estimates.means.items()]
    about = f"{estimates.records:,} reports of {len(estimates.domain)} attributes, {how}"
    return "\n".join([about, columns_text(labels | _decimals(numbers)), *notes])
