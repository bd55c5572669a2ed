"""`seepage calibrate`, `design`: from limits to a plan."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from seepage._core.errors import InputError
from seepage._core.text import delta_text, floor_text, shortest_above
from seepage.calibration.calibration_options import CalibrationOptions
from seepage.channel.domain import ALL_OTHERS
from seepage.cli import console, files, options, reading
from seepage.cli.console import aligned
from seepage.cli.files import named
from seepage.designs.design_options import DesignOptions

PLAN_RESULT = options.grouped(
    reading.MASTER,
    options.page("the plan"),
    options.form("json"),
    options.output_file("Write the plan here."),
)


@click.command("calibrate", cls=files.FileCommand)
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
        reading.reject(["reports", "target_delta"], "it is of --guarantee sampled")
    from seepage.workflow.within_limits import calibrate as make_plan

    _plan_within_limits(make_plan, CalibrationOptions, data, calibration_text)


def _plan_within_limits(
    function: Callable[..., Any], kind: Any, data: str, text: Callable[..., str]
) -> None:
    """Write the plan that a function makes with the options given, and print it."""
    chosen = reading.given(kind)
    name = Path(data).name
    limit = chosen.get("limit")
    output = click.get_current_context().params["output"]
    if limit is None or (isinstance(limit, dict) and limit[ALL_OTHERS] is None):
        more = (
            " for the others too"
            if limit
            else ": the allowed total of every attribute, in nats"
        )
        raise InputError(f"--limit must be given{more}")
    with reading.reading_progress(data, "searching") as progress:
        plan = function(data, progress=progress, **chosen)
    if (
        kind is CalibrationOptions
        or plan.scope == "table"
        or chosen.get("answers") == "as-is"
    ):
        reading.print_reading_notes(
            data, plan.domain
        )  # merged answers are listed instead
    if output is not None:
        plan.save(output)
    page = partial(plan.report, name=name)
    console.write_result(plan, lambda: text(plan, name), page=page, printed=True)
    if output is None:
        click.echo("the plan was not saved: --output plan.json keeps it", err=True)


@click.command("design", cls=files.FileCommand)
@click.argument("data")
@options.of(DesignOptions)
@options.numbers(
    "--limits", "Compare designs of limits that all hold together; saves no plan."
)
@options.chart("the forms of the plan, or what each of --limits costs")
@PLAN_RESULT
def design(data: str, limits: list[float] | None, **_: Any) -> None:
    """Find the forms that keep every attribute's total within a limit with the least
    error.

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
    from seepage.workflow.within_limits import design as make_plan

    _plan_within_limits(make_plan, DesignOptions, data, design_text)


def _compare_limits(data: str, limits: list[float]) -> None:
    """Print the table of designs for several limits, and draw it where a file is given."""
    from seepage.workflow.limit_comparison import compare_limits

    reading.reject(["limit", "limit_of"], "--limits gives several")
    reading.reject(
        ["output", "report"], "--limits compares; --limit designs the plan to keep"
    )
    with reading.reading_progress(data, "searching") as progress:
        found = compare_limits(
            data, limits, progress=progress, **reading.given(DesignOptions)
        )
    console.write_result(
        found, lambda: limits_text(found, Path(data).name), printed=True
    )


# Plans as text ------------------------------------------------------------------------

SHOWN_FORMS = 12


SHOWN_ATTRIBUTES = 40
"""Maximum number of forms, and of attributes, of a design that are printed."""


def calibration_text(plan: Any, name: str) -> str:
    """Return the budgets and totals of a calibrated plan as text."""
    rows = [["attribute", "mechanism", "epsilon", "total", "limit"]]
    for planned in plan.attributes:
        how = planned.mechanism or ("public" if planned.public else "not collected")
        total = shortest_above(planned.total) + delta_text(planned.total_delta)
        limit = "-" if planned.limit is None else f"{planned.limit:g}"
        rows.append([planned.name, how, floor_text(planned.epsilon), total, limit])
    lines = [
        f"{name}: budgets whose totals stay within the limit (all in nats)",
        f"Guarantee: {plan.guarantee} ({', '.join(filter(None, (plan.kind, plan.whom)))})",
        aligned(rows),
    ]
    return "\n".join([*lines, *map(named, plan.notes)])


def design_text(plan: Any, name: str) -> str:
    """Return the sentence of a designed plan, its forms, totals and alternatives as
    text.
    """
    from seepage.plan.advice import advice, people_sentence
    from seepage.plan.plan_precision import plan_precision

    precision = plan_precision(plan)
    guarantees = ", ".join(sorted({form.guarantee for form in plan.forms}))
    gap = plan.provenance.settings["design"]["gap"]
    lines = [
        people_sentence(plan, precision),
        *advice(plan, precision),
        f"{name}: {len(plan.forms)} forms, every total within its limit {plan.whom} "
        f"({guarantees}; all in nats), at most {gap:.2%} above the least error over the "
        "forms considered",
        f"\nForms\n{_forms_text(plan)}",
        f"\nAttributes\n{_attributes_text(plan, precision)}",
        f"\nWays to ask\n{_comparison_text(precision)}",
    ]
    return "\n".join([*filter(None, lines), *map(named, plan.notes)])


def limits_text(found: Any, name: str) -> str:
    """Return what each limit costs as text, and how to keep the plan of one."""
    from seepage._core.text import factor
    from seepage.plan.plan_precision import points, rounded_people

    width = points(found.width).removesuffix(".0")
    heads = ["limit", "odds change at most", f"share within, {found.people:,} people"]
    heads += [f"people for {width} points", "one question each needs", "whole record"]
    columns = found._columns()
    rows = [heads]
    for row in zip(*(columns[key] for key in columns if key != "forms"), strict=True):
        limit, half_width, people, record, ratio = row
        needed = "-" if people is None else rounded_people(people)
        times = "-" if ratio is None else f"{ratio:.2g} times as many"
        change = f"{factor(limit)} times"
        within = f"{points(half_width)} points"
        rows.append(
            [f"{limit:g}", change, within, needed, times, shortest_above(record)]
        )
    whom = "for this table only"
    level = ""
    if found.confidence is not None:
        whom = f"for the population at {found.confidence:g}"
        each = found.plans[0].confidence
        level = f" --confidence {each:g}" if len(found.plans) > 1 else ""
    keep = f"the same command with --limit L{level} -o plan.json in place of --limits"
    shared = [
        note
        for note in found.plans[0].notes
        if all(note in p.notes for p in found.plans)
    ]
    lines = [
        f"{name}: {len(rows) - 1} limits (nats), all of which hold together {whom}",
        aligned(rows),
        f"The plan of the limit that you choose: {keep}",
    ]
    return "\n".join([*lines, *map(named, shared)])


def _forms_text(plan: Any) -> str:
    rows = [["form", "share", "record", "attributes and budgets"]]
    for number, form in enumerate(plan.forms[:SHOWN_FORMS], 1):
        rows.append(
            [
                str(number),
                f"{form.share:.2%}",
                shortest_above(form.record),
                _questions(form),
            ]
        )
        if form.answer_leakage is not None:
            rows.append(["", "", "", f"  tells: {form.answer_leakage}"])
    if (more := len(plan.forms) - SHOWN_FORMS) > 0:
        rows.append(["...", "", "", f"{more} more in the plan"])
    return aligned(rows, left=True)


def _questions(form: Any) -> str:
    if not form.is_product:
        return f"one shaped report: {', '.join(form.attributes)}"
    return ", ".join(
        f"{name} {floor_text(epsilon)}" + ("" if how == "grr" else f" ({how})")
        for name, how, epsilon in zip(
            form.attributes, form.mechanisms, form.epsilons, strict=True
        )
    )


def _attributes_text(plan: Any, precision: Any) -> str:
    from seepage.plan.plan_precision import points

    is_proven = plan.attributes[0].observed is not None
    total = "total in the table" if is_proven else "largest total"
    rows = [
        ["attribute", total, "proven limit" if is_proven else "limit", "share within"]
    ]
    for planned in plan.attributes:
        name = planned.name
        largest = planned.observed if is_proven else planned.total
        told = "public" if planned.public else shortest_above(largest)
        limit = "-" if planned.limit is None else f"{planned.limit:g}"
        within = "not asked"
        if name in precision.sizes:
            within = f"{points(precision.width(precision.strategies[0], name))} points"
        rows.append([name, told, limit, within])
    errors = plan.provenance.settings["design"]["wanted"].items()
    rows += [[wanted, "", "", f"error {float(error):.3g}"] for wanted, error in errors]
    return aligned(rows, most=SHOWN_ATTRIBUTES)


def _comparison_text(precision: Any) -> str:
    from seepage.plan.plan_precision import people_text

    rows = [["way to ask", "people for the same precision", "whole record", "rests on"]]
    for strategy in sorted(precision.strategies, key=precision.ratio, reverse=True):
        record = float(strategy.record)
        whole = "everything" if record == math.inf else shortest_above(record)
        certified = (
            "certified: "
            if strategy.certified and "conf" not in strategy.rests_on
            else ""
        )
        people = people_text(precision, precision.ratio(strategy))
        rows.append([strategy.name, people, whole, certified + strategy.rests_on])
    return aligned(rows, left=True)
