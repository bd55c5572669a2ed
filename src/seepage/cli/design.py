"""`seepage calibrate`, `design`: from limits to a plan."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from seepage._core.errors import InputError
from seepage._core.text import (
    delta_text,
    floor_text,
    points,
    rounded_people,
    shortest_above,
)
from seepage.channel.domain import ALL_OTHERS
from seepage.cli import console, options, parsing, reading
from seepage.cli.command import FileCommand, with_option_names
from seepage.cli.console import aligned
from seepage.cli.keywords import explicit_keywords, reject
from seepage.cli.number_types import INTEGER_TYPE, NUMBER_TYPE
from seepage.tables.table_options import ANSWERS

LIMITS = options.grouped(
    click.option(
        "--limit",
        metavar="ODDS|NATS",
        callback=parsing.parse_limit,
        help="How far all reports of a person may change the odds between two answers "
        "to any question, at most: 7.4x, or the same in nats, 2.",
    ),
    click.option(
        "--limit-of",
        metavar="NAME=VALUE",
        multiple=True,
        callback=parsing.parse_by_name(parsing.as_limit_or_none),
        help="--limit of one attribute.",
    ),
    click.option(
        "--public",
        metavar="A,B,...",
        callback=parsing.parse_names,
        help="Attributes whose values are public.",
    ),
    click.option(
        "--left-out",
        metavar="A,B,...",
        callback=parsing.parse_names,
        help="Attributes that are not collected.",
    ),
    options.KEEP,
    click.option(
        "--sample",
        type=INTEGER_TYPE,
        metavar="N",
        help="Number of records to draw at random, by the seed; all by default.",
    ),
)
"""Options of what is planned: for which attributes, within which limits."""

LIMITS_KEYWORDS = ("limit", "public", "left_out", "keep", "sample")

PLAN_RESULT = options.grouped(
    options.MASTER,
    options.page("the plan"),
    options.output_format("json"),
    options.output_file("Write the plan here."),
)
"""Options of where and how a plan is written."""

CALIBRATE_KEYWORDS = (
    *LIMITS_KEYWORDS,
    "mechanism",
    "guarantee",
    "audit",
    "scope",
    "delta",
    "uncertainty",
    *options.TOTALS_KEYWORDS,
    *options.DATA_KEYWORDS,
)
"""Keywords of `seepage.calibrate` that are options of the command."""


CALIBRATE_HEADINGS = {
    "What is asked": ("mechanism", "delta", "public", "left_out", "keep"),
    "What is promised": (
        "limit",
        "limit_of",
        "guarantee",
        "scope",
        "uncertainty",
        "confidence",
        "audit",
        "target_delta",
        "reports",
    ),
    "The search": ("rng", "sample"),
    options.READING_HEADING: options.READING_NAMES,
    options.OUTPUT_HEADING: options.OUTPUT_NAMES,
}
"""Parameters by the heading under which the help shows them."""


@click.command("calibrate", cls=FileCommand, headings=CALIBRATE_HEADINGS)
@click.argument("data")
@LIMITS
@click.option(
    "-m",
    "--mechanism",
    help="A mechanism; by default any, and the one of least variance is planned.",
)
@click.option(
    "--guarantee",
    default="auto",
    help="Guarantee of the totals: worst, exact, merged, sampled, independent, sum, or "
    "auto.",
)
@click.option(
    "--audit/--no-audit",
    default=True,
    help="Search for a witness against a guarantee that is an assumption; needs "
    "records.",
)
@click.option(
    "--scope",
    type=click.Choice(["population", "table"]),
    help="For whom totals hold: the population that the records are a random sample of "
    "(the default for records and auto, exact or merged), or the people in the table.",
)
@click.option(
    "--delta",
    type=NUMBER_TYPE,
    default=0.0,
    help="Delta of (epsilon, delta)-LDP; totals then have one too.",
)
@options.UNCERTAINTY
@options.TOTALS
@options.DATA
@options.chart("the plan")
@PLAN_RESULT
def calibrate(data: str, guarantee: str, **_: Any) -> None:
    """Find the largest budgets that keep every attribute's total within a limit.

    \b
    Examples:
      seepage calibrate survey.csv --limit 3 -o plan.json
      seepage calibrate survey.csv --limit 3 --mechanism grr
    """
    from seepage.workflow.within_limits import calibrate as calibrate_data

    if guarantee not in ("sampled", "auto"):
        reject(["reports", "target_delta"], "it is of --guarantee sampled")
    keywords = explicit_keywords(CALIBRATE_KEYWORDS)
    _check_limit(keywords.get("limit"))
    with reading.reading_progress(data, "searching") as progress:
        plan = calibrate_data(data, progress=progress, **keywords)
    reading.print_reading_notes(data, plan.domain)
    _write_plan(plan, data, calibration_text)


def _check_limit(limit: float | dict[str, float | None] | None) -> None:
    """Raise an InputError if some attributes have no limit."""
    if limit is None:
        raise InputError(
            "--limit must be given: how far all reports of a person may change the "
            "odds between two answers to any question, such as 7.4x"
        )
    if isinstance(limit, dict) and limit[ALL_OTHERS] is None:
        raise InputError("--limit must be given for the others too")


def _write_plan(plan: Any, data: str, text: Callable[[Any, str], str]) -> None:
    """Save a plan, print it as text, and write its page and its chart."""
    name = Path(data).name
    output = click.get_current_context().params["output"]
    if output is not None:
        plan.save(output)
    page = partial(plan.report, name=name)
    console.write_result(plan, lambda: text(plan, name), page=page, printed=True)
    if output is None:
        click.echo("the plan was not saved: --output plan.json keeps it", err=True)


DESIGN_KEYWORDS = (
    *LIMITS_KEYWORDS,
    "known",
    "importance",
    "objective",
    "people",
    "precision",
    "title",
    "author",
    "record_limit",
    "never",
    "want",
    "largest",
    "scope",
    "answers",
    "order",
    "shape",
    "effort",
    "seconds",
    "confidence",
    "looks",
    "rng",
    *options.DATA_KEYWORDS,
)
"""Keywords of `seepage.design` that are options of the command."""


DESIGN_HEADINGS = {
    "What is asked": (
        "want",
        "importance",
        "objective",
        "people",
        "precision",
        "public",
        "left_out",
        "keep",
        "never",
        "answers",
        "order",
        "title",
        "author",
    ),
    "What is promised": (
        "limit",
        "limit_of",
        "limits",
        "record_limit",
        "known",
        "scope",
        "confidence",
        "looks",
    ),
    "The search": ("effort", "seconds", "rng", "largest", "shape", "sample"),
    options.READING_HEADING: options.READING_NAMES,
    options.OUTPUT_HEADING: options.OUTPUT_NAMES,
}
"""Parameters by the heading under which the help shows them."""


@click.command("design", cls=FileCommand, headings=DESIGN_HEADINGS)
@click.argument("data")
@LIMITS
@click.option(
    "--known",
    metavar="A,B,...",
    callback=parsing.parse_names,
    help="Attributes whose values the adversary knows of the person: totals are "
    "conditional on them.",
)
@click.option(
    "--importance",
    metavar="NAME=FACTOR",
    multiple=True,
    callback=parsing.parse_by_name(parsing.as_number, others=1.0),
    help="Factor of each attribute's error in the mean that is minimised; by default 1 "
    "for all.",
)
@click.option(
    "--objective",
    type=click.Choice(["mean", "largest"]),
    default="mean",
    help="The error that is minimised: the mean over attributes, or the largest, per "
    "value.",
)
@click.option(
    "--people",
    type=INTEGER_TYPE,
    metavar="N",
    help="The number of people who will be asked, which errors are then for; by default "
    "as many as the table has records.",
)
@click.option(
    "--precision",
    type=NUMBER_TYPE,
    metavar="POINTS",
    callback=parsing.parse_points,
    help="The half-width that every share is to have, such as 0.03 (3 points in the "
    "command), from which the number to ask follows.",
)
@click.option("--title", help="What is collected, for the plan's page.")
@click.option("--author", help="Who designed it, for the plan's page.")
@click.option(
    "--record-limit",
    metavar="ODDS|NATS",
    callback=parsing.parse_limit,
    help="The maximum sum of budgets of a form, which bounds its leakage about the "
    "whole record.",
)
@click.option(
    "--never",
    metavar="A,B",
    multiple=True,
    callback=parsing.parse_name_lists,
    help="Pairs of attributes that are never asked together.",
)
@click.option(
    "--want",
    metavar="STATISTIC",
    multiple=True,
    help="A joint table to estimate beside all frequencies (ill x income), or a mean in "
    "place of those of a numeric answer (mean hours).",
)
@click.option(
    "--largest",
    type=INTEGER_TYPE,
    help="The maximum number of attributes of a form; by default 8.",
)
@click.option(
    "--scope",
    type=click.Choice(["population", "table"]),
    default="population",
    help="For whom every limit holds: the population that the records are a random "
    "sample of, or the people in the table only.",
)
@click.option(
    "--answers",
    type=click.Choice(ANSWERS),
    help="merged (the default for the population): answers that have people enough, "
    "chosen on a random part of the records; as-is (the default for the table): all "
    "values.",
)
@click.option(
    "--order",
    metavar="COLUMN=A,B,...|CODEBOOK",
    multiple=True,
    callback=parsing.parse_order,
    help="The scale of an attribute, labels in their order, whose neighbours are then "
    "merged.",
)
@click.option(
    "--shape",
    type=click.Choice(["never", "forms"]),
    default="forms",
    help="forms: a form may send one shaped report for all of its answers, if that is "
    "more precise and has at most 32 combinations of answers.",
)
@click.option(
    "--effort",
    type=NUMBER_TYPE,
    default=1.0,
    help="How much the search computes, as a multiple of the default: 4 may find a "
    "slightly better plan, 0.1 is a quick look.",
)
@click.option(
    "--seconds",
    type=NUMBER_TYPE,
    default=120.0,
    help="Cap on the time of the search; Ctrl-C ends it too. Either way the best design "
    "so far is certified and kept.",
)
@click.option(
    "--confidence",
    type=NUMBER_TYPE,
    default=0.95,
    help="Confidence of all limits for the population at once.",
)
@click.option(
    "--looks",
    type=INTEGER_TYPE,
    default=1,
    help="How many plans may be computed from these records before one of them is used: "
    "the error probability is divided by it.",
)
@click.option(
    "--seed",
    "rng",
    type=options.SEED,
    default=0,
    help="Seed of the search and the sample.",
)
@options.DATA
@click.option(
    "--limits",
    metavar="A,B,...",
    callback=parsing.parse_limits,
    help="Compare designs of limits that all hold together; saves no plan.",
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
    from seepage.workflow.within_limits import design as design_data

    keywords = explicit_keywords(DESIGN_KEYWORDS)
    _check_limit(keywords.get("limit"))
    with reading.reading_progress(data, "searching") as progress:
        plan = design_data(data, progress=progress, **keywords)
    answers_are_merged = plan.scope != "table" and keywords.get("answers") != "as-is"
    if not answers_are_merged:  # merged answers are listed instead
        reading.print_reading_notes(data, plan.domain)
    _write_plan(plan, data, design_text)


def _compare_limits(data: str, limits: list[float]) -> None:
    """Print the table of designs for several limits, and draw it where a file is given."""
    from seepage.workflow.limit_comparison import compare_limits

    reject(["limit", "limit_of"], "--limits gives several")
    reject(["output", "report"], "--limits compares; --limit designs the plan to keep")
    with reading.reading_progress(data, "searching") as progress:
        comparison = compare_limits(
            data, limits, progress=progress, **explicit_keywords(DESIGN_KEYWORDS)
        )
    name = Path(data).name
    console.write_result(
        comparison, lambda: limits_text(comparison, name), printed=True
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
    return "\n".join([*lines, *map(with_option_names, plan.notes)])


def design_text(plan: Any, name: str) -> str:
    """Return the sentence of a designed plan, its forms, totals and alternatives as
    text.
    """
    from seepage.plan.advice import advice, people_sentence
    from seepage.plan.left_out import left_out_sentence
    from seepage.plan.plan_precision import plan_precision

    precision = plan_precision(plan)
    guarantees = ", ".join(sorted({form.guarantee for form in plan.forms}))
    gap = plan.provenance.settings["design"]["gap"]
    lines = [
        people_sentence(plan, precision),
        left_out_sentence(plan),
        *advice(plan, precision),
        f"{name}: {len(plan.forms)} forms, every total within its limit {plan.whom} "
        f"({guarantees}; all in nats), at most {gap:.2%} above the least error over the "
        "forms considered",
        f"\nForms\n{_forms_text(plan)}",
        f"\nAttributes\n{_attributes_text(plan, precision)}",
        f"\nWays to ask\n{_comparison_text(precision)}",
    ]
    return "\n".join([*filter(None, lines), *map(with_option_names, plan.notes)])


def limits_text(found: Any, name: str) -> str:
    """Return what each limit costs as text, and how to keep the plan of one."""
    from seepage._core.text import factor

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
    return "\n".join([*lines, *map(with_option_names, shared)])


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
