"""`seepage calibrate`, `design`, `perturb`, `estimate`: from limits to frequencies."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from seepage.cli import console, options
from seepage.data import ALL_OTHERS
from seepage.data.table import TableOptions
from seepage.designs import CalibrationOptions, DesignOptions
from seepage.errors import InputError

PLAN_RESULT = options.grouped(
    options.MASTER,
    options.page("the plan"),
    options.form("json"),
    options.output_file("Write the plan here."),
)


@click.command("calibrate", cls=console.FileCommand)
@click.argument("data")
@options.of(CalibrationOptions)
@options.chart("the plan")
@PLAN_RESULT
def calibrate(data: str, **chosen: Any) -> None:
    """Find the largest budgets that keep every attribute's total within a limit.

    \b
    Examples:
      seepage calibrate survey.csv --limit 3 -o plan.json
      seepage calibrate survey.csv --limit 3 --mechanism grr
    """
    if chosen["guarantee"] not in ("sampled", "auto"):
        options.reject(["reports", "target_delta"], "it is of --guarantee sampled")
    from seepage.cli.result_text import calibration_text
    from seepage.plan.designed_plan import calibrate as make_plan

    _plan_within_limits(make_plan, CalibrationOptions, data, calibration_text)


def _plan_within_limits(
    function: Callable[..., Any], kind: Any, data: str, text: Callable[..., str]
) -> None:
    """Write the plan that a function makes with the options given, and print it."""
    chosen, name = options.given(kind), Path(data).name
    limit, output = chosen.get("limit"), click.get_current_context().params["output"]
    if limit is None or (isinstance(limit, dict) and limit[ALL_OTHERS] is None):
        more = " for the others too" if limit else ": the allowed total of every attribute, in nats"
        raise InputError(f"--limit must be given{more}")
    with options.reading_progress(data, "searching") as progress:
        plan = function(data, progress=progress, **chosen)
    if kind is CalibrationOptions or plan.scope == "table" or chosen.get("answers") == "as-is":
        options.print_reading_notes(data, plan.domain)  # merged answers are listed instead
    if output is not None:
        plan.save(output)
    page = partial(plan.report, name=name)
    console.write_result(plan, lambda: text(plan, name), page=page, printed=True)
    if output is None:
        click.echo("the plan was not saved: --output plan.json keeps it", err=True)


@click.command("design", cls=console.FileCommand)
@click.argument("data")
@options.of(DesignOptions)
@options.numbers("--limits", "Compare designs of limits that all hold together; saves no plan.")
@options.chart("the forms of the plan, or what each of --limits costs")
@PLAN_RESULT
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

    options.reject(["limit", "limit_of"], "--limits gives several")
    options.reject(["output", "report"], "--limits compares; --limit designs the plan to keep")
    with options.reading_progress(data, "searching") as progress:
        found = compare_limits(data, limits, progress=progress, **options.given(DesignOptions))
    console.write_result(found, lambda: limits_text(found, Path(data).name), printed=True)


# Collecting -------------------------------------------------------------------------------------

PLAN = options.file("--plan", "The plan's file.", required=True)


@click.command("perturb", cls=console.FileCommand)
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
@options.file(
    "--key-file",
    "File of the secret key that derives reports from --identifier; written if missing.",
    dest="key",
)
@options.of(TableOptions, "missing_markers", "delimiter", "encoding", "person")
def perturb(
    data: str, plan: str, output: str, identifier: str | None, key: str | None, **chosen: Any
) -> None:
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

    promised, how = Plan.load(plan), options.given(TableOptions) | options.chosen("rng")
    with _key_for(identifier, key, output) as secret, console.progress_bar("perturbing") as bar:
        how |= {"identifier": identifier, "key": secret, "progress": bar}
        count = perturb_file(promised, data, output, **how)
    forms = "" if promised.is_single else f", {len(promised.forms)} forms"
    person = chosen["person"] or promised.person
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
        click.echo("drawn from a seed: for research only, these reports protect nobody", err=True)


@contextmanager
def _key_for(identifier: str | None, path: str | None, output: str) -> Iterator[Any]:
    """Yield the path of the key file, or a new key; its file stays only if the block succeeds."""
    if path is not None and Path(path).resolve() == Path(output).resolve():
        raise InputError(f"--key-file and --output must be two files, got {path!r} for both")
    if identifier is None or path is None or Path(path).exists():
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


@click.command("estimate", cls=console.FileCommand)
@click.argument("reports")
@PLAN
@click.option("--consistent", is_flag=True, help="Project frequencies to distributions.")
@options.names("--table", "The table of attributes that a form asks together.")
@click.option("--regress", metavar="FORMULA", help='A regression, such as "ill ~ age + sex".')
@click.option(
    "--family", type=click.Choice(["logit", "linear"]), default="logit", help="Of --regress."
)
@click.option("--covariates", metavar="FILE", help="Unperturbed columns, one row per report.")
@click.option("--weights", metavar="COLUMN", help="Survey weights, beside reports or covariates.")
@options.file("--known-totals", "Totals to weight to: a CSV file of attribute, value, total.")
@options.page("results")
@click.option("--check", metavar="DATA", help="Newer records: --report checks the limits there.")
@options.RESULT
def estimate(reports: str, plan: str, table: list[str], **chosen: Any) -> None:
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

    promised, formula, consistent = Plan.load(plan), chosen["regress"], chosen["consistent"]
    source = open_reports(promised, reports, lambda note: click.echo(f"seepage: {note}", err=True))
    if chosen["report"] is None:
        options.reject(["check"], "its result is on the page of --report")
    if formula is None:
        options.reject(["family"], "it is of --regress")
    if consistent and formula is not None:
        raise InputError("--consistent is for frequencies, got --regress")
    weights = _survey_weights(**chosen)
    result: Any
    if formula is not None:
        clear = options.chosen("family", "covariates")
        result = promised.regress(source, formula, weights=weights, **clear)
        text = result.summary
    elif table:
        found = promised.table(source, table[0], by=table[1:], weights=weights)
        result = found.consistent() if consistent else found
        text = partial(_table_text, result, found)
    else:
        result = promised.estimate(source, consistent=consistent, weights=weights)
        text = partial(_estimates_text, result)

    pair = [(table[0], table[1])] if len(table) == 2 else None
    about = {"name": Path(reports).name, "data": chosen["check"], "consistent": consistent}
    page = partial(write_results, promised, source, joint=pair, **about)
    console.write_result(result, text, page=page)


def _survey_weights(
    weights: str | None, covariates: str | None, known_totals: str | None, **_: Any
) -> Any:
    """Return weights: a column beside the reports by its name, or numbers from the covariates."""
    from seepage.collection.frequencies import rake_weights
    from seepage.collection.regression import clear_columns, column_names

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
        names = [attribute.name for attribute in cells.attributes]
        heads = {"standard_error": "standard error", "lower": "95 % from", "upper": "to"}
        parts += ["", cells.what, _decimal_table(cells, names, {"estimate": "estimate", **heads})]
    return "\n".join(parts)


def _decimal_table(result: Any, labels: list[str], numbers: dict[str, str]) -> str:
    """Return labels and numbers of a result as a table, the numbers with five decimals."""
    columns = result.to_arrow().to_pydict()
    texts = {head: [f"{one:.5f}" for one in columns[name]] for name, head in numbers.items()}
    return console.aligned_columns({name: columns[name] for name in labels} | texts)


def _estimates_text(estimates: Any) -> str:
    """Return estimated frequencies and means as text."""
    how = "nearest distributions" if estimates.consistent else "unbiased"
    notes = [
        f"{name}: reports at epsilon 0 carry no information, so nothing is estimated"
        for name in estimates.unestimated
    ]
    notes += [f"mean of {name}: {mean}" for name, mean in estimates.means.items()]
    about = f"{estimates.records:,} reports of {len(estimates.domain)} attributes, {how}"
    numbers = {"frequency": "frequency", "standard_error": "standard error"}
    return "\n".join([about, _decimal_table(estimates, ["attribute", "value"], numbers), *notes])
