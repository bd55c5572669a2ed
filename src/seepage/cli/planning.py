"""`seepage calibrate` and `design`: from an allowed total to a plan that can be deployed."""

import math
from decimal import ROUND_DOWN, Decimal
from pathlib import Path
from typing import Any

import click

from seepage import _checks
from seepage._numerics import rounded_up, shortest_above
from seepage.cli.options import (
    OF_TABLES,
    SEED,
    all_options_but,
    chart_option,
    engine_options,
    grouped,
    named_settings,
    names_listed,
    number_named,
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
    with_options,
    written_as,
)
from seepage.errors import InputError

LIMIT = click.option("--limit", type=float, help="The allowed total of every attribute, in nats.")
COLLECTED = grouped(
    click.option("--public", metavar="A,B,...", help="Attributes that are public already."),
    click.option("--left-out", metavar="A,B,...", help="Attributes that are not collected."),
    click.option("--least", type=float, default=0.0, help="The smallest useful budget."),
    click.option("--weight", multiple=True, metavar="NAME=W", help="How much an attribute counts."),
)
DRAWN = grouped(
    click.option("--sample", type=int, metavar="N", help="Plan with N records drawn at random."),
    click.option("--seed", type=SEED, default=0, help="Seed of sample and search."),
)
WRITTEN = grouped(
    click.option("--report", type=OutputFile(), help="Write the plan's page, one HTML file."),
    click.option("--format", "form", type=click.Choice(["table", "json"]), default="table"),
    click.option("-o", "--output", type=OutputFile(), help="Write the plan here."),
    engine_options(),
    table_options,
)

FORMS_SHOWN = 12
"""Forms of a design that are printed."""


@click.command("calibrate", cls=FileCommand)
@click.argument("data")
@LIMIT
@click.option(
    "--limit-of", multiple=True, metavar="NAME=LIMIT", help="Another limit for one attribute."
)
@click.option(
    "--guarantee",
    default="auto",
    help="worst, exact, merged, sampled, independent, or auto.",
)
@click.option(
    "--scope",
    type=click.Choice(["population", "table"]),
    help="Whom totals hold for: the people whom the records are a random sample of (by default, "
    "where equal budgets and exact or merged totals allow it), or the table.",
)
@click.option("-m", "--mechanism", help="A mechanism; by default any, and the best one is planned.")
@click.option(
    "--budgets",
    type=click.Choice(["equal", "per-attribute"]),
    default="equal",
    help="The same budget for all, or the most useful one for each.",
)
@COLLECTED
@click.option("--reports", type=int, help="For sampled totals: how many reports are drawn.")
@click.option("--delta", type=float, help="For sampled totals: the delta with which they hold.")
@click.option("--confidence", type=float, help="Confidence of all totals together.")
@DRAWN
@click.option("--audit/--no-audit", default=True, help="Search for a witness after an assumption.")
@click.option("--check", metavar="PLAN", help="Certify a plan that was edited, on DATA.")
@chart_option("the plan")
@WRITTEN
def calibrate(data: str, form: str, output: str | None, **options: Any) -> None:
    """Find the largest budgets that keep every attribute's total within a limit.

    \b
    Examples:
      seepage calibrate survey.csv --limit 3 -o plan.json
      seepage calibrate survey.csv --limit 3 --budgets per-attribute --mechanism grr
      seepage calibrate survey.csv --check plan.json -o plan.json
    """
    arguments = table_arguments(options)
    if options["check"]:
        _check(data, arguments, options["check"], output)
        return
    if options["budgets"] == "equal":
        reject_options(["weight"], "it needs --budgets per-attribute")
    records = read_records(data, arguments, options)
    limit = _limits(records, options)
    from seepage.designs.calibration import find_budgets
    from seepage.plan.designed_plan import plan_of

    with progress_bar("calibrating") as progress:
        found = find_budgets(
            records,
            limit,
            guarantee=options["guarantee"],
            mechanism=options["mechanism"],
            budgets=options["budgets"],
            audit=options["audit"],
            progress=progress,
            **_collected(records, options),
            **_sampling(options),
        )
    plan = plan_of(found)
    _write(plan, data, output, options["report"])
    draw(plan, options["chart"])
    emit(written_as(form, plan, _calibrated, Path(data).name), None)


def _sampling(options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of totals that were given."""
    if options["guarantee"] not in ("sampled", "auto"):
        reject_options(["reports", "delta"], "it is of --guarantee sampled")
    names = {"reports": "reports", "delta": "target_delta", "confidence": "confidence"}
    return {names[name]: options[name] for name in names if options[name] is not None}


def _calibrated(plan: Any, name: str) -> str:
    rows = [["attribute", "mechanism", "epsilon", "total", "limit"]]
    rows += [
        [
            planned.name,
            planned.mechanism or ("public" if planned.public else "not collected"),
            _rounded_down(planned.epsilon),
            planned.total if isinstance(planned.total, str) else rounded_up(planned.total),
            "-" if planned.limit is None else f"{planned.limit:g}",
        ]
        for planned in plan.attributes
    ]
    heading = (
        f"{name}: budgets whose totals stay within the limit (all in nats)\n"
        f"Guarantee: {plan.guarantee} ({', '.join(filter(None, (plan.kind, plan.whom)))})"
    )
    return "\n".join([heading, columns(rows), *plan.notes])


def _rounded_down(epsilon: float) -> str:
    """Return a budget with four decimals, never above it: it may be copied from the screen."""
    return str(Decimal(epsilon).quantize(Decimal("0.0001"), ROUND_DOWN))


def _check(data: str, arguments: dict[str, Any], path: str, output: str | None) -> None:
    """Certify a plan again on DATA, and write it with its new digest.

    DATA are read in the plan's own domain.
    """
    from seepage.plan import Plan, certify

    others = all_options_but("data", "check", "output", *OF_TABLES)
    reject_options(others, "--check computes the totals of a plan as the plan says")
    plan = Plan.load(path, unchecked=True)
    reject_options(["bins"], "--check reads a table in the plan's own domain")
    with progress_bar("reading") as progress:
        plan = certify(plan, data, progress=progress, **arguments)
    if output is not None:
        plan.save(output)
    emit(f"every total is within its limit ({plan.guarantee}, {plan.kind})", None)


# What both commands read and write ---------------------------------------------------------------


def _limits(records: Any, options: dict[str, Any], *, may_lack: bool = False) -> Any:
    """Return the limit for all, or one for each attribute.

    Where one `may_lack`, the limit `none` leaves an attribute unprotected.
    """
    own = named_settings(options["limit_of"], "--limit-of")
    if options["limit"] is None and not own:
        raise InputError("--limit must be given: the allowed total of every attribute, in nats")
    if not own:
        return _checks.epsilon(options["limit"], "limit")
    limits = dict.fromkeys(records.domain.names, options["limit"])
    for name, text in own.items():
        free = may_lack and text.strip().casefold() == "none"
        limits[records.domain[name].name] = (
            math.inf if free else number_named(text, f"--limit-of {name}")
        )
    missing = [name for name, value in limits.items() if value is None]
    if missing:
        raise InputError(f"--limit must be given for the others too, {missing[0]!r} has none")
    return {name: None if value == math.inf else value for name, value in limits.items()}


def _collected(records: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that both commands have: what is collected, and for whom it holds."""
    weights = dict.fromkeys(records.domain.names, 1.0)
    for name, text in named_settings(options["weight"], "--weight").items():
        weights[records.domain[name].name] = number_named(text, f"--weight {name}")
    return {
        "public": names_listed(options["public"]),
        "left_out": names_listed(options["left_out"]),
        "weights": weights,
        **{name: options[name] for name in ("least", "scope", "seed")},
    }


def _write(plan: Any, data: str, output: str | None, page: str | None) -> None:
    """Write a plan and its page where they are wanted."""
    if output is not None:
        plan.save(output)
    if page is not None:
        plan.report(page, name=Path(data).name)
        click.echo(f"wrote {page}: open it in a browser", err=True)


# seepage design ----------------------------------------------------------------------------------


@click.command("design", cls=FileCommand)
@click.argument("data")
@LIMIT
@click.option(
    "--limit-of",
    multiple=True,
    metavar="NAME=LIMIT",
    help="Another limit for one attribute; none: not protected.",
)
@COLLECTED
@click.option("--known", metavar="A,B,...", help="Attributes that the adversary knows of a person.")
@click.option("--record-limit", type=float, help="The largest sum of budgets of a form.")
@click.option("--together", multiple=True, metavar="A,B,...", help="Only asked together.")
@click.option("--never", multiple=True, metavar="A,B", help="Never asked together.")
@click.option("--joint", multiple=True, metavar="A,B", help="Their joint distribution is wanted.")
@click.option("--largest", type=int, help="The most attributes of a form.")
@click.option(
    "--scope",
    type=click.Choice(["population", "table"]),
    default="population",
    help="Whom limits hold for: the people whom the records are a random sample of, or the table.",
)
@click.option("--confidence", type=float, default=0.95, help="Confidence of all limits together.")
@click.option(
    "--shape",
    type=click.Choice(["never", "single", "forms", "record"]),
    default="forms",
    help="Forms that send one shaped report; record: without the rule of one answer changed.",
)
@DRAWN
@click.option("--seconds", type=float, default=60.0, help="Longest time of searching.")
@click.option(
    "--frontier",
    type=OutputFile(),
    help="Draw the error against the epsilon of the whole record; takes as long again.",
)
@chart_option("the comparison")
@WRITTEN
def design(data: str, form: str, output: str | None, **options: Any) -> None:
    """Find the forms that keep every attribute's total within a limit with the least error.

    Ctrl-C ends the search; the best design so far is certified and kept.

    \b
    Examples:
      seepage design survey.csv --limit 3 -o plan.json --report plan.html
      seepage design survey.csv --limit 3 --known sex,age --record-limit 6
      seepage design survey.csv --limit 2 --together height,weight --joint smoker,ill
    """
    arguments = table_arguments(options)
    records = read_records(data, arguments, options)
    from seepage.designs.find_design import find_design
    from seepage.plan.designed_plan import plan_of_design

    limits = _limits(records, options, may_lack=True)
    chosen = _collected(records, options) | {
        "known": names_listed(options["known"]),
        **{
            name: [names_listed(group) for group in options[name]]
            for name in ("together", "never", "joint")
        },
        **{name: options[name] for name in ("largest", "confidence", "shape", "seconds")},
    }
    with progress_bar("designing") as progress:
        found = find_design(
            records, limits, record_limit=options["record_limit"], progress=progress, **chosen
        )
        if options["frontier"] is not None:
            from seepage.designs.find_design import frontier

            draw(frontier(records, limits, progress=progress, **chosen), options["frontier"])
    plan = plan_of_design(found)
    _write(plan, data, output, options["report"])
    draw(found, options["chart"])
    emit(written_as(form, found, _designed, Path(data).name), None)


def _designed(found: Any, name: str) -> str:
    guarantees = ", ".join(sorted({form.guarantee for form in found.forms}))
    heading = (
        f"{name}: {len(found.forms)} forms, every total within its limit {found.whom} "
        f"({guarantees}; all in nats)\n"
        f"Error with {found.people:,} people: {found.error:.4g}, at most {found.gap:.2%} above the "
        "least over the forms considered; a form tells at most "
        f"{shortest_above(found.record)} about the whole record"
    )
    parts = [heading, "", "Forms", _forms(found), "", "Attributes", _attributes(found), ""]
    params = click.get_current_context().command.params
    notes = [with_options(note, params) for note in found.notes]
    return "\n".join([*parts, "Other ways to keep the same limit", _others(found), *notes])


def _forms(found: Any) -> str:
    rows = [["form", "share", "record", "attributes and budgets"]]
    for number, form in enumerate(found.forms[:FORMS_SHOWN], 1):
        row = [str(number), f"{form.share:.2%}", rounded_up(form.record), _questions(form)]
        rows.append(row)
        if form.matrix is not None:
            rows.append(["", "", "", f"  tells: {form.known_answers}"])
    more = len(found.forms) - FORMS_SHOWN
    if more > 0:
        rows.append(["...", "", "", f"{more} more in the plan"])
    return columns(rows, left=True)


def _questions(form: Any) -> str:
    if form.matrix is not None:
        return f"one shaped report: {', '.join(form.attributes)}"
    return ", ".join(
        f"{name} {_rounded_down(epsilon)}" + ("" if how == "grr" else f" ({how})")
        for name, how, epsilon in zip(form.attributes, form.mechanisms, form.epsilons, strict=True)
    )


def _attributes(found: Any) -> str:
    from seepage.plan.plan_text import attaining_form

    rows = [["attribute", "largest total", "in form", "limit", "error"]]
    for k, name in enumerate(found.domain.names):
        limit = found.limits[k]
        rows.append(
            [
                name,
                "public" if name in found.public else rounded_up(found.totals[k]),
                attaining_form([form.totals[k] for form in found.forms]),
                "-" if limit == math.inf else f"{limit:g}",
                f"{found.errors[k]:.3g}" if found.errors[k] < math.inf else "not asked",
            ]
        )
    rows += [[f"{i} x {j}", "", "", "", f"{e:.3g}"] for (i, j), e in found.joint.items()]
    return columns(rows)


def _others(found: Any) -> str:
    least = found.comparison[-1].error
    rows = [["strategy", "error", "of the design's", "rests on"]]
    rows += [
        [
            one.name,
            f"{one.error:.3g}",
            f"{one.error / least:.3g} x",
            _basis(found, one) + one.rests_on,
        ]
        for one in found.comparison
    ]
    return columns(rows, left=True)


def _basis(found: Any, one: Any) -> str:
    """Return whether a strategy's limits are certified, or hold with a confidence."""
    if not one.certified:
        return ""
    statistical = found.scope == "population" and "exact" in one.rests_on
    return f"at {found.confidence:g}: " if statistical else "certified: "
