"""`seepage estimate`: reports to frequencies, tables and regressions."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from seepage._core.errors import InputError
from seepage.cli import console, options, parsing
from seepage.cli.file_command import FileCommand
from seepage.cli.keywords import explicit_keywords, reject


@click.command("estimate", cls=FileCommand)
@click.argument("reports")
@options.PLAN
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
@click.option(
    "--labels",
    type=click.Path(dir_okay=False),
    help="Texts of questions and values on the page of --report: a codebook.",
)
@options.RESULT
def estimate(reports: str, plan: str, table: list[str], **entered: Any) -> None:
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
      seepage estimate reports.parquet --plan plan.json --consistent --format csv
      seepage estimate reports.parquet --plan plan.json --table ill,income
      seepage estimate reports.parquet --plan plan.json --regress "ill ~ age + sex"
      seepage estimate reports.db --plan plan.json --report results.html --check b.csv
    """
    from seepage.collection.report_files import open_reports
    from seepage.pages.results_page import write_results
    from seepage.workflow.plan import Plan

    promised = Plan.load(plan)
    formula = entered["regress"]
    consistent = entered["consistent"]
    source = open_reports(
        promised, reports, lambda note: click.echo(f"seepage: {note}", err=True)
    )
    if entered["report"] is None:
        reject(["check"], "its result is on the page of --report")
        reject(["labels"], "it is for the page of --report")
    if formula is None:
        reject(["family"], "it is of --regress")
    if consistent and formula is not None:
        raise InputError("--consistent is for frequencies, got --regress")
    weights = _survey_weights(**entered)
    result: Any
    if formula is not None:
        keywords = explicit_keywords(["family", "covariates"])
        result = promised.regress(source, formula, weights=weights, **keywords)
        text = result.summary
    elif table:
        cells = promised.table(source, table[0], by=table[1:], weights=weights)
        result = cells.consistent() if consistent else cells
        text = partial(_table_text, result, cells)
    else:
        result = promised.estimate(source, consistent=consistent, weights=weights)
        text = partial(_estimates_text, result)

    pair = [(table[0], table[1])] if len(table) == 2 else None
    about = {
        "name": Path(reports).name,
        "data": entered["check"],
        "consistent": consistent,
        "labels": entered["labels"],
    }
    page = partial(write_results, promised, source, joint=pair, **about)
    console.write_result(result, text, page=page)


def _survey_weights(
    weights: str | None, covariates: str | None, known_totals: str | None, **_: Any
) -> Any:
    """Return the weights of estimates: a column beside the reports by its name, or
    numbers from the covariates.
    """
    from seepage.collection.unperturbed_columns import (
        column_names,
        column_texts,
        unperturbed_columns,
    )
    from seepage.collection.weights import rake_weights

    if known_totals is not None:
        if covariates is None:
            raise InputError(
                "--known-totals needs --covariates, the file of the attributes"
            )
        columns = unperturbed_columns(known_totals, ["attribute", "value", "total"])
        known: dict[str, dict[str, float]] = {}
        names, values, totals = map(column_texts, columns.values())
        for name, value, total in zip(names, values, totals, strict=True):
            known.setdefault(name, {})[value] = parsing.as_number(
                total, "each total of --known-totals"
            )
        return rake_weights(covariates, known, weights=weights)
    if covariates is not None and weights in column_names(covariates):
        return unperturbed_columns(covariates, [weights])[weights]
    return weights


def _table_text(shown: Any, table: Any) -> str:
    """Return an estimated table as text: cells and, for several attributes, shares
    given all but the first.
    """
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
    """Return the labels and numbers of an estimated result as a table, the numbers with
    five decimals.
    """
    columns = result.to_arrow().to_pydict()
    texts = {
        head: [f"{number:.5f}" for number in columns[name]]
        for name, head in numbers.items()
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
