"""`seepage calibrate` and `design`: from limits on totals to a plan that can be deployed."""

import math
from pathlib import Path
from typing import Any

import click

from seepage import _checks
from seepage._numerics import ceiling_text, floor_text, shortest_above
from seepage.cli.options import (
    MASTER,
    SEED,
    chart_option,
    click_options,
    engine_session,
    given,
    grouped,
    names_option,
    parse_number,
    print_reading_notes,
    reject_options,
    setting_option,
)
from seepage.cli.output import (
    FileCommand,
    OutputFile,
    emit,
    format_result,
    option_names,
    progress_bar,
    text_columns,
    write_chart,
)
from seepage.data.domain import ALL_OTHERS
from seepage.data.table.options import DataOptions
from seepage.errors import InputError, naming

COLLECTION_OPTIONS = grouped(
    names_option("--public", help="Attributes that are public already."),
    names_option("--left-out", help="Attributes that are not collected."),
    click.option(
        "--least", type=float, default=0.0, help="Minimum budget of a collected attribute."
    ),
)
SAMPLE_OPTIONS = grouped(
    click.option("--sample", type=int, metavar="N", help="Plan with N records drawn at random."),
    click.option("--seed", type=SEED, default=0, help="Seed of sample and search."),
)
OUTPUT_OPTIONS = grouped(
    click.option("--report", type=OutputFile(), help="Write the plan's page, one HTML file."),
    click.option("--format", "form", type=click.Choice(["table", "json"]), default="table"),
    click.option("-o", "--output", type=OutputFile(), help="Write the plan here."),
    click_options(DataOptions),
    MASTER,
)

LIMIT = click.option("--limit", type=float, help="The allowed total of every attribute, in nats.")

SHOWN_FORMS = 12
"""Maximum number of forms of a design that are printed."""


@click.command("calibrate", cls=FileCommand)
@click.argument("data")
@LIMIT
@setting_option(
    "--limit-of", parse=parse_number, metavar="NAME=LIMIT", help="Another limit for one attribute."
)
@click.option(
    "--guarantee", default="auto", help="worst, exact, merged, sampled, independent, or auto."
)
@click.option(
    "--scope",
    type=click.Choice(["population", "table"]),
    help="Whom totals hold for: the population that the records are a random sample of (the "
    "default where exact or merged totals allow it), or the table.",
)
@click.option("-m", "--mechanism", help="A mechanism; by default any, and the best one is planned.")
@COLLECTION_OPTIONS
@click.option("--reports", type=int, help="For sampled totals: how many reports are drawn.")
@click.option("--target-delta", type=float, help="For sampled totals: their delta.")
@click.option("--confidence", type=float, help="Confidence of all totals together.")
@SAMPLE_OPTIONS
@click.option(
    "--audit/--no-audit", default=True, help="Search for a witness against assumed totals."
)
@chart_option("the plan")
@OUTPUT_OPTIONS
def calibrate(data: str, form: str, output: str | None, **options: Any) -> None:
    """Find the largest budgets that keep every attribute's total within a limit.

    \b
    Examples:
      seepage calibrate survey.csv --limit 3 -o plan.json
      seepage calibrate survey.csv --limit 3 --mechanism grr
    """
    records = _read_records(data, options)
    limit = _limits(options)
    from seepage.designs.calibration import find_budgets
    from seepage.plan.designed_plan import plan_of

    with progress_bar("calibrating") as progress:
        calibration = find_budgets(
            records,
            limit,
            guarantee=options["guarantee"],
            mechanism=options["mechanism"],
            audit=options["audit"],
            progress=progress,
            **_collection_settings(options),
            **_sampling_settings(options),
        )
    plan = plan_of(calibration)
    _write(plan, data, output, options)
    write_chart(plan, options["chart"])
    emit(format_result(form, plan, _calibration_text, Path(data).name), None)


def _sampling_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the given settings of sampled totals, by the library's parameters."""
    if options["guarantee"] not in ("sampled", "auto"):
        reject_options(["reports", "target_delta"], "it is of --guarantee sampled")
    names = ("reports", "target_delta", "confidence")
    return {name: options[name] for name in names if options[name] is not None}


def _calibration_text(plan: Any, name: str) -> str:
    rows = [["attribute", "mechanism", "epsilon", "total", "limit"]]
    rows += [
        [
            planned.name,
            planned.mechanism or ("public" if planned.public else "not collected"),
            floor_text(planned.epsilon),
            ceiling_text(planned.total),
            "-" if planned.limit is None else f"{planned.limit:g}",
        ]
        for planned in plan.attributes
    ]
    heading = (
        f"{name}: budgets whose totals stay within the limit (all in nats)\n"
        f"Guarantee: {plan.guarantee} ({', '.join(filter(None, (plan.kind, plan.whom)))})"
    )
    return "\n".join([heading, text_columns(rows), *plan.notes])


def _read_records(data: str, options: dict[str, Any]) -> Any:
    """Return the records of DATA, or its pair counts if it has none."""
    from seepage.data.inputs import as_counted

    sampling = ("sample", "seed") if options["sample"] is not None else ()
    more = {name: options[name] for name in sampling}
    with engine_session(data), progress_bar("reading") as progress:
        counted = as_counted(data, records=True, progress=progress, **given(DataOptions), **more)
    print_reading_notes(data, counted)
    return counted


# Settings and files of both commands -------------------------------------------------------------


def _limits(options: dict[str, Any]) -> Any:
    """Return one limit for all attributes, or a mapping by attribute; None for infinity."""
    limit, of = options["limit"], options["limit_of"]
    if limit is None:
        more = " for the others too" if of else ": the allowed total of every attribute, in nats"
        raise InputError(f"--limit must be given{more}")
    if not of:
        return _checks.epsilon(limit, "limit")
    named = {name: None if value == math.inf else value for name, value in of.items()}
    return {ALL_OTHERS: limit, **named}


def _collection_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of both commands: which attributes are collected, scope, seed."""
    return {name: options[name] for name in ("public", "left_out", "least", "scope", "seed")}


def _write(plan: Any, data: str, output: str | None, options: dict[str, Any]) -> None:
    """Write a plan and its page, where files are given."""
    if output is not None:
        plan.save(output)
    if options["report"] is not None:
        plan.report(options["report"], name=Path(data).name)
        click.echo(f"wrote {options['report']}: open it in a browser", err=True)


# seepage design ----------------------------------------------------------------------------------


@click.command("design", cls=FileCommand)
@click.argument("data")
@LIMIT
@setting_option(
    "--limit-of",
    parse=lambda text, name: (
        math.inf if text.strip().casefold() == "none" else parse_number(text, name)
    ),
    metavar="NAME=LIMIT",
    help="Another limit for one attribute, or none to leave it unprotected.",
)
@COLLECTION_OPTIONS
@setting_option(
    "--weight", "weights", parse=parse_number, metavar="NAME=W", help="Weight of its variance."
)
@names_option("--known", help="Attributes that the adversary knows.")
@click.option("--record-limit", type=float, help="Maximum sum of the budgets of a form.")
@names_option("--together", multiple=True, help="Only asked together.")
@names_option("--never", multiple=True, metavar="A,B", help="Never asked together.")
@names_option(
    "--joint", multiple=True, metavar="A,B", help="Also estimate their joint frequencies."
)
@click.option("--largest", type=int, help="Maximum number of attributes of a form.")
@click.option(
    "--scope",
    type=click.Choice(["population", "table"]),
    default="population",
    help="Whom limits hold for: the population that the records are a random sample of, or the "
    "table.",
)
@click.option("--confidence", type=float, default=0.95, help="Confidence of all limits together.")
@click.option(
    "--shape",
    type=click.Choice(["never", "single", "forms", "record"]),
    default="forms",
    help="Which forms may send one shaped report; record: without a limit per changed answer.",
)
@SAMPLE_OPTIONS
@click.option("--seconds", type=float, default=60.0, help="Time limit of the search.")
@chart_option("the comparison")
@OUTPUT_OPTIONS
def design(data: str, form: str, output: str | None, **options: Any) -> None:
    """Find the forms that keep every attribute's total within a limit with the least error.

    Ctrl-C ends the search; the best design so far is certified and kept.

    \b
    Examples:
      seepage design survey.csv --limit 3 -o plan.json --report plan.html
      seepage design survey.csv --limit 3 --known sex,age --record-limit 6
      seepage design survey.csv --limit 2 --together height,weight --joint smoker,ill
    """
    records = _read_records(data, options)
    from seepage.designs.design_search import find_design
    from seepage.plan.designed_plan import plan_of_design

    limits = _limits(options)
    names = ("known", "together", "never", "joint", "largest", "confidence", "shape", "seconds")
    chosen = _collection_settings(options) | {name: options[name] for name in names}
    chosen["weights"] = {ALL_OTHERS: 1.0, **options["weights"]}
    with progress_bar("designing") as progress:
        result = find_design(
            records, limits, record_limit=options["record_limit"], progress=progress, **chosen
        )
    _write(plan_of_design(result), data, output, options)
    write_chart(result, options["chart"])
    emit(format_result(form, result, _design_text, Path(data).name), None)


def _design_text(design: Any, name: str) -> str:
    guarantees = ", ".join(sorted({form.guarantee for form in design.forms}))
    heading = (
        f"{name}: {len(design.forms)} forms, every total within its limit {design.whom} "
        f"({guarantees}; all in nats)\n"
        f"Error with {design.people:,} people: {design.error:.4g}, at most {design.gap:.2%} above "
        "the least over the forms considered; a form tells at most "
        f"{shortest_above(design.record)} about the whole record"
    )
    tables = {
        "Forms": _forms_text(design),
        "Attributes": _attributes_text(design),
        "Other ways to keep the same limit": _comparison_text(design),
    }
    parts = [f"\n{title}\n{table}" for title, table in tables.items()]
    return "\n".join([heading, *parts, *(naming(note, option_names()) for note in design.notes)])


def _forms_text(design: Any) -> str:
    rows = [["form", "share", "record", "attributes and budgets"]]
    for number, form in enumerate(design.forms[:SHOWN_FORMS], 1):
        row = [str(number), f"{form.share:.2%}", ceiling_text(form.record), _questions(form)]
        rows.append(row)
        if form.answer_leakage is not None:
            rows.append(["", "", "", f"  tells: {form.answer_leakage}"])
    more = len(design.forms) - SHOWN_FORMS
    if more > 0:
        rows.append(["...", "", "", f"{more} more in the plan"])
    return text_columns(rows, left=True)


def _questions(form: Any) -> str:
    if not form.is_product:
        return f"one shaped report: {', '.join(form.attributes)}"
    return ", ".join(
        f"{name} {floor_text(epsilon)}" + ("" if how == "grr" else f" ({how})")
        for name, how, epsilon in zip(form.attributes, form.mechanisms, form.epsilons, strict=True)
    )


def _attributes_text(design: Any) -> str:
    from seepage.plan.plan_text import attaining_form

    rows = [["attribute", "largest total", "in form", "limit", "error"]]
    for k, name in enumerate(design.domain.names):
        limit = design.limits[k]
        rows.append(
            [
                name,
                "public" if name in design.public else ceiling_text(design.totals[k]),
                attaining_form([form.totals[k] for form in design.forms]),
                "-" if limit == math.inf else f"{limit:g}",
                f"{design.errors[k]:.3g}" if design.errors[k] < math.inf else "not asked",
            ]
        )
    rows += [[f"{i} x {j}", "", "", "", f"{e:.3g}"] for (i, j), e in design.joint.items()]
    return text_columns(rows)


def _comparison_text(design: Any) -> str:
    smallest = design.comparison[-1].error
    rows = [["strategy", "error", "of the design's", "rests on"]]
    rows += [
        [
            strategy.name,
            f"{strategy.error:.3g}",
            f"{strategy.error / smallest:.3g} x",
            _basis(design, strategy) + strategy.rests_on,
        ]
        for strategy in design.comparison
    ]
    return text_columns(rows, left=True)


def _basis(design: Any, strategy: Any) -> str:
    """Return whether a strategy's limits are certified, or hold with a confidence."""
    if not strategy.certified:
        return ""
    statistical = design.scope == "population" and "exact" in strategy.rests_on
    return f"at {design.confidence:g}: " if statistical else "certified: "
