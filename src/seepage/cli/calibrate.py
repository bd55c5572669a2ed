"""`seepage calibrate`: from an allowed total to a plan that can be deployed."""

import math
from decimal import ROUND_DOWN, Decimal
from pathlib import Path
from typing import Any

import click

from seepage import _checks
from seepage._numerics import rounded_up
from seepage._results import json_text
from seepage.cli.options import (
    OF_TABLES,
    SEED,
    all_options_but,
    engine_options,
    engine_session,
    named_settings,
    names_listed,
    number_named,
    read_records,
    reject_options,
    sample_arguments,
    table_arguments,
    table_options,
)
from seepage.cli.output import FileCommand, OutputFile, emit, progress_bar
from seepage.errors import InputError


@click.command("calibrate", cls=FileCommand)
@click.argument("data")
@click.option("--limit", type=float, help="The allowed total of every attribute, in nats.")
@click.option(
    "--limit-of", multiple=True, metavar="NAME=LIMIT", help="Another limit for one attribute."
)
@click.option(
    "--guarantee",
    default="auto",
    show_default=True,
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
    show_default=True,
    help="The same budget for all, or the most useful one for each.",
)
@click.option("--public", metavar="A,B,...", help="Attributes that are public already.")
@click.option("--left-out", metavar="A,B,...", help="Attributes that are not collected.")
@click.option("--least", type=float, default=0.0, help="The smallest useful budget.")
@click.option("--weight", multiple=True, metavar="NAME=W", help="How much one attribute counts.")
@click.option("--reports", type=int, help="For sampled totals: how many reports are drawn.")
@click.option("--delta", type=float, help="For sampled totals: the delta with which they hold.")
@click.option("--confidence", type=float, help="Of all totals together.")
@click.option("--sample", type=int, metavar="N", help="Calibrate on N records drawn at random.")
@click.option("--audit/--no-audit", default=True, help="Search for a witness after an assumption.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of sampling and searching.")
@click.option("--check", metavar="PLAN", help="Certify a plan that was edited, on DATA.")
@click.option("--chart", type=OutputFile(), help="Draw the plan: a .svg, .png, .pdf or .html file.")
@click.option("--report", type=OutputFile(), help="Write the plan's page, one HTML file.")
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
@click.option("-o", "--output", type=OutputFile(), help="Write the plan here.")
@engine_options()
@table_options
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
    with engine_session(data, options["engine"], options["master"]):
        records = read_records(data, arguments | sample_arguments(options))
    limit = attribute_limits(records, options)
    from seepage.designs.calibration import find_budgets
    from seepage.plan.designed_plan import plan_of

    with progress_bar("calibrating") as progress:
        found = find_budgets(
            records,
            limit,
            guarantee=options["guarantee"],
            scope=options["scope"],
            mechanism=options["mechanism"],
            budgets=options["budgets"],
            public=names_listed(options["public"]),
            left_out=names_listed(options["left_out"]),
            least=options["least"],
            weights=attribute_weights(records, options["weight"]),
            audit=options["audit"],
            seed=options["seed"],
            progress=progress,
            **_sampling(options),
        )
    plan = plan_of(found)
    if output is not None:
        plan.save(output)
    write_page(plan, options["report"], data)
    if options["chart"] is not None:
        from seepage.charts import save_chart

        save_chart(plan.chart(), options["chart"])
    emit(json_text(plan.to_dict()) if form == "json" else _text(plan, Path(data).name), None)


def _sampling(options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of totals that were given."""
    if options["guarantee"] not in ("sampled", "auto"):
        reject_options(["reports", "delta"], "it is of --guarantee sampled")
    names = {"reports": "reports", "delta": "target_delta", "confidence": "confidence"}
    return {names[name]: options[name] for name in names if options[name] is not None}


def write_page(plan: Any, path: str | None, data: str) -> None:
    """Write the page of a plan where it is wanted, and say so."""
    if path is not None:
        plan.report(path, name=Path(data).name)
        click.echo(f"wrote {path}: open it in a browser", err=True)


def _text(plan: Any, name: str) -> str:
    from seepage.cli.output import columns

    rows = [["attribute", "mechanism", "epsilon", "total", "limit"]]
    rows += [
        [
            planned.name,
            planned.mechanism or ("public" if planned.public else "not collected"),
            rounded_down(planned.epsilon),
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


def rounded_down(epsilon: float) -> str:
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


def attribute_limits(records: Any, options: dict[str, Any], *, may_lack: bool = False) -> Any:
    """Return the limit for all, or one for each attribute.

    Parameters
    ----------
    records
        The people, for the names of attributes.
    options
        `limit` and `limit_of`.
    may_lack
        Whether an attribute may have the limit `none`, and is not protected then.
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


def attribute_weights(records: Any, settings: tuple[str, ...]) -> Any:
    """Return the weight of each attribute, 1 where none is given."""
    weights = dict.fromkeys(records.domain.names, 1.0)
    for name, text in named_settings(settings, "--weight").items():
        weights[records.domain[name].name] = number_named(text, f"--weight {name}")
    return weights
