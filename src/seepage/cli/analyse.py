"""`seepage analyse` and `report`: from a table to leakages and totals, as text or as a page.

`seepage stream`: leakage over time for a sequence of reports of one attribute.
"""

import csv
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from seepage import _checks
from seepage._results import json_text
from seepage.cli.options import (
    BUDGET,
    OF_TABLES,
    SEED,
    all_options_but,
    chart_option,
    engine_options,
    engine_session,
    named_settings,
    number_named,
    output_options,
    read_pairs,
    read_records,
    reject_options,
    table_arguments,
    table_options,
)
from seepage.cli.output import (
    FileCommand,
    OutputFile,
    columns,
    draw,
    emit,
    progress_bar,
    written_as,
)
from seepage.data.domain import Domain, sample_caution
from seepage.errors import InputError

OF_SAMPLED = ("reports", "target_delta", "confidence")
"""Options of `sampled` totals."""

NO_COUNTS = click.option("--no-counts", is_flag=True, help="Leave the pair counts out of the page.")


@click.command("analyse", cls=FileCommand)
@click.argument("data")
@BUDGET
@click.option(
    "--epsilon-of", multiple=True, metavar="NAME=EPS", help="Another budget for one attribute."
)
@click.option("--delta", type=float, default=0.0, help="Delta of (epsilon, delta)-LDP.")
@click.option("-m", "--mechanism", help="A mechanism, such as grr; by default the bound over all.")
@click.option(
    "--mechanism-of", multiple=True, metavar="NAME=MECH", help="Another for one attribute."
)
@click.option(
    "--view",
    type=click.Choice(["report", "inferred"]),
    default="report",
    help="What the adversary keeps: the whole report, or the value inferred from it.",
)
@click.option("--strongest", type=int, default=10, help="How many leaks to put into words.")
@click.option("--min-count", type=float, default=0.0, help="Count rarer cells as seen this often.")
@click.option(
    "--totals",
    default="independent,worst",
    metavar="A,B,...|all",
    help="What totals rest on: exact, merged, worst, sampled, independent, witness, or all.",
)
@click.option(
    "--sample", type=int, metavar="N", help="Look at N records drawn at random: totals are assumed."
)
@click.option("--seed", type=SEED, default=0, help="Seed of sampled, witness and --sample.")
@click.option("--reports", type=int, help="For sampled totals: how many reports are drawn.")
@click.option(
    "--target-delta", type=float, help="For sampled totals: their delta; 0.01 if not given."
)
@click.option("--confidence", type=float, help="Confidence of sampled totals; 0.95 if not given.")
@click.option(
    "--radius", type=float, default=0.0, help="Robust bounds: rows within this total variation."
)
@click.option("--limit", type=float, help="The allowed total of every attribute, in nats.")
@click.option(
    "--people",
    type=int,
    metavar="N",
    help="Draw N people and show what their reports tell; by default 1000 where --totals needs "
    "records and mechanisms are named, 0 for none.",
)
@click.option("--labels", metavar="CSV", help="Names of values: attribute, value, label.")
@click.option("--report", type=OutputFile(), help="Write the report, one self-contained page.")
@NO_COUNTS
@click.option("--plan", metavar="PLAN", help="DATA are reports collected with this plan.")
@chart_option("the matrix")
@click.option("--prior", type=float, default=0.0, help="A pseudo-count added to every cell.")
@engine_options()
@output_options
@table_options
def analyse(data: str, form: str, output: str | None, strongest: int, **options: Any) -> None:
    """Analyse DATA: what each attribute gives away about every other, and in total.

    \b
    Examples:
      seepage analyse adult --epsilon 1
      seepage analyse survey.csv --epsilon 2 --mechanism oue --view inferred
      seepage analyse survey.csv --mechanism grr --totals all --report survey.html
      seepage analyse people/ --totals all --sample 100000 --engine spark --master spark://host:7077
      seepage analyse reports.parquet --plan plan.json
      seepage analyse survey.pairs -e 1 --epsilon-of income=0.5 --format json -o result.json
    """
    if options["plan"] is not None:
        _analyse_reports(data, form, output, strongest, options)
        return
    from seepage.analysis import analyse as analyse_data

    _checks.integer(strongest, "--strongest", 0)
    if form == "csv":
        reject_options(["limit"], "CSV has the leakages only; JSON and the table show it")
    if _checks.probability(options["radius"], "--radius"):
        reject_options(["report"], "the page shows the table's own leakages, not robust bounds")
    if options["report"] is None:
        reject_options(["no_counts"], "it is about the page that --report writes")
    budget = _checks.epsilon(options["epsilon"])
    wanted, name = _wanted(options["totals"]), Path(data).name
    settings = ("delta", "view", "min_count", "prior", "radius", "limit", "seed", "people")
    shared = {key: options[key] for key in (*settings, "labels")}
    if "sampled" not in wanted:
        reject_options(OF_SAMPLED, "it is of --totals sampled")
    shared |= {key: options[key] for key in OF_SAMPLED if options[key] is not None}
    _checks.delta(options["delta"])
    known = _read(data, wanted, options)
    epsilon, mechanism = _settings(known.domain, budget, options)
    with progress_bar("adding up") as progress:
        analysis = analyse_data(
            known,
            epsilon,
            mechanism=mechanism,
            guarantees=wanted,
            progress=progress,
            name=name,
            command=_command_line(),
            **shared,
        )
    draw(analysis, options["chart"])
    if options["chart"] is not None:
        click.echo(f"wrote {options['chart']}", err=True)
    if options["report"] is not None:
        analysis.report(options["report"], counts=not options["no_counts"])
        click.echo(f"wrote {options['report']}: open it in a browser", err=True)
    emit(_formatted(analysis, name, form, strongest), output)


def _analyse_reports(
    data: str, form: str, output: str | None, strongest: int, options: dict[str, Any]
) -> None:
    """Analyse collected reports alone: every leakage with its interval."""
    from seepage.cli.collect import reports_named
    from seepage.collection.report_leakage import analyse_reports
    from seepage.plan import Plan

    used = ("data", "plan", "view", "strongest", "form", "output")
    reject_options(all_options_but(*used), "with --plan, DATA are reports, and the plan says how")

    plan = Plan.load(options["plan"])
    reports = reports_named(data, plan)
    with progress_bar("analysing") as progress:
        found = analyse_reports(plan, reports, view=options["view"], progress=progress)
    emit(written_as(form, found, _in_words, Path(data).name, strongest), output)


def _in_words(found: Any, name: str, strongest: int) -> str:
    heading = (
        f"{name}: leakage from the reports alone, for pairs asked together, each "
        f"with its own interval of confidence {found.confidence:g}; view: {found.view}"
    )
    return "\n".join([heading, *found.sentences(strongest)])


def _command_line() -> str:
    """Return the command as it was typed, for the provenance of a report."""
    return shlex.join(["seepage", *sys.argv[1:]])


def _wanted(text: str) -> list[str]:
    """Return the guarantees to compute; with `all`, those that need no structure."""
    from seepage.totals import GUARANTEES

    if text == "all":
        return [name for name in GUARANTEES if name != "tree"]
    return [_checks.choice(name.strip(), "--totals", GUARANTEES) for name in text.split(",")]


def _read(data: str, wanted: list[str], options: dict[str, Any]) -> Any:
    """Return pair counts, or the records where a total needs them."""
    arguments = table_arguments(options)
    counted = set(wanted) <= {"worst", "independent"} and not options["people"]
    if not counted or options["sample"] is not None:
        return read_records(data, arguments, options)
    with engine_session(data, options):
        return read_pairs(data, arguments | {"engine": options["engine"]})


def _settings(domain: Domain, budget: float, options: dict[str, Any]) -> tuple[Any, Any]:
    """Return the epsilon and mechanism of each attribute."""
    epsilons: dict[str, Any] = dict.fromkeys(domain.names, budget)
    for name, text in named_settings(options["epsilon_of"], "--epsilon-of").items():
        number = number_named(text, f"epsilon of {name}")
        epsilons[domain[name].name] = _checks.epsilon(number, f"epsilon of {name}")
    mechanisms: dict[str, Any] = dict.fromkeys(domain.names, options["mechanism"])
    for name, text in named_settings(options["mechanism_of"], "--mechanism-of").items():
        mechanisms[domain[name].name] = text
    return epsilons, mechanisms


def _formatted(analysis: Any, name: str, form: str, strongest: int) -> str:
    if form == "json":
        return json_text(analysis.to_dict(strongest))
    if form == "csv":
        caution = sample_caution(analysis.matrix.pairs)
        if caution is not None:
            click.echo(f"{name}: {caution}", err=True)
        return analysis.to_csv()  # type: ignore[no-any-return]
    from seepage.cli.analysis_text import analysis_text

    width = shutil.get_terminal_size((120, 24)).columns
    return analysis_text(analysis, name, strongest, width)


@click.command("report", cls=FileCommand)
@click.argument("result")
@click.option(
    "-o",
    "--output",
    type=OutputFile(),
    default="report.html",
    help="The page to write.",
)
@NO_COUNTS
def report(result: str, output: str, no_counts: bool) -> None:
    """Draw RESULT as one HTML page: an analysis of `analyse --format json`, or a plan.

    The page needs no server and no network: send it, open it, print it.

    \b
    Examples:
      seepage analyse adult --epsilon 1 --format json --output result.json
      seepage report result.json --output adult.html
      seepage report plan.json --output plan.html
    """
    from seepage.plan.plan_file import is_plan_file

    if is_plan_file(result):
        from seepage.plan import Plan

        reject_options(["no_counts"], "the page of a plan has no pair counts")
        Plan.load(result).report(output, name=Path(result).name)
    else:
        from seepage.report import read_result, write_report

        write_report(read_result(result), output, counts=not no_counts)
    click.echo(f"wrote {output}")


@click.command("stream", cls=FileCommand)
@click.argument("data", required=False)
@click.option(
    "--transitions",
    type=click.Path(dir_okay=False),
    help="P(next value given value) as a CSV file of numbers, one row per value, instead of DATA.",
)
@click.option("-e", "--epsilon", type=float, default=1.0, help="Budget of each step.")
@click.option("--steps", type=int, help="The number of reports, with --transitions.")
@output_options
@table_options
def stream(
    data: str | None,
    transitions: str | None,
    epsilon: float,
    steps: int | None,
    form: str,
    output: str | None,
    **options: Any,
) -> None:
    """Compute what a sequence of reports of one attribute says about its value at each step.

    The columns of DATA are the steps, in order.  Backward leakage is what earlier reports and the
    own one say, forward leakage later ones and the own one; the total joins them.  They hold if
    each value depends on the previous one only.

    \b
    Examples:
      seepage stream days.csv --epsilon 0.5
      seepage stream --transitions weather.csv --steps 30 --epsilon 0.1
    """
    from seepage.totals import stream_leakage

    arguments = table_arguments(options)
    if (data is None) == (transitions is None):
        raise InputError("give either DATA, whose columns are the steps, or --transitions")
    if transitions is not None:
        reject_options(OF_TABLES, "--transitions has no columns to choose from")
        known: Any = _transitions(transitions)
    else:
        known = read_pairs(str(data), arguments)
    found = stream_leakage(known, epsilon, steps=steps)
    emit(written_as(form, found, _stream_text), output)


def _transitions(path: str) -> list[list[float]]:
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as lines:
            rows = [[float(cell) for cell in row] for row in csv.reader(lines) if row]
    except OSError as problem:
        raise InputError(f"cannot read {path!r}: {problem.strerror}") from None
    except (ValueError, csv.Error) as problem:
        raise InputError(f"{path!r} must hold numbers with commas between: {problem}") from None
    odd = next((number for number, row in enumerate(rows, 1) if len(row) != len(rows)), None)
    if not rows or odd is not None:
        raise InputError(
            f"{path!r} must have as many numbers in every row as rows, got {len(rows)} rows"
            + (f" and {len(rows[odd - 1])} numbers in row {odd}" if odd is not None else "")
        )
    return rows


def _stream_text(found: Any) -> str:
    header = ["step", "backward", "forward", "total"]
    rows = [
        [str(step), *(f"{value:.6g}" for value in values)]
        for step, values in enumerate(
            zip(found.backward, found.forward, found.total, strict=True), start=1
        )
    ]
    lines = ["Leakage over time (nats), assumed: each value depends on the previous one only"]
    lines.append(columns([header, *rows]))
    if found.supremum is not None:
        backward, forward = found.supremum[:2]
        lines.append(f"  limit: backward {backward:.6g}, forward {forward:.6g} at most")
    return "\n".join(lines)
