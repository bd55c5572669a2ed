"""`seepage calibrate` and `design`: from limits on totals to a plan that can be deployed."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from seepage._numerics import ceiling_text, floor_text, shortest_above
from seepage.cli.options import (
    MASTER,
    chart_option,
    click_options,
    engine_session,
    given,
    grouped,
    print_reading_notes,
    reject_options,
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
from seepage.designs.design_options import CalibrationOptions, DesignOptions
from seepage.errors import InputError, naming

OUTPUT_OPTIONS = grouped(
    MASTER,
    click.option("--report", type=OutputFile(), help="Write the plan's page, one HTML file."),
    click.option("--format", "form", type=click.Choice(["table", "json"]), default="table"),
    click.option("-o", "--output", type=OutputFile(), help="Write the plan here."),
)

SHOWN_FORMS = 12
"""Maximum number of forms of a design that are printed."""


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
    from seepage.designs.calibration import find_budgets
    from seepage.plan.designed_plan import plan_of

    calibration = _within_limits(find_budgets, CalibrationOptions, data)
    print_reading_notes(data, calibration.problem.pairs)
    plan = plan_of(calibration)
    _write(plan, plan, data, _calibration_text)


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


# seepage design ----------------------------------------------------------------------------------


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
      seepage design survey.csv --limit 2 --together height,weight --joint smoker,ill
    """
    from seepage.designs.design_search import find_design
    from seepage.plan.designed_plan import plan_of_design

    result = _within_limits(find_design, DesignOptions, data)
    print_reading_notes(data, result.pairs)
    _write(plan_of_design(result), result, data, _design_text)


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
