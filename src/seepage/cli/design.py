"""`seepage design`: from an allowed total to a plan of forms with the least error."""

from pathlib import Path
from typing import Any

import click

from seepage._numerics import rounded_up, shortest_above
from seepage._results import json_text
from seepage.cli.calibrate import (
    attribute_limits,
    attribute_weights,
    rounded_down,
    write_page,
)
from seepage.cli.options import (
    SEED,
    engine_options,
    engine_session,
    names_listed,
    read_records,
    sample_arguments,
    table_arguments,
    table_options,
)
from seepage.cli.output import (
    FileCommand,
    OutputFile,
    columns,
    emit,
    progress_bar,
    with_options,
)

FORMS_SHOWN = 12

PASSED_ON = ("least", "largest", "scope", "confidence", "shape", "seconds", "seed")
"""Options that `find_design` takes as they are."""


@click.command("design", cls=FileCommand)
@click.argument("data")
@click.option("--limit", type=float, help="The allowed total of every attribute, in nats.")
@click.option(
    "--limit-of",
    multiple=True,
    metavar="NAME=LIMIT",
    help="Another limit for one attribute; none: not protected.",
)
@click.option("--public", metavar="A,B,...", help="Attributes that are public already.")
@click.option("--left-out", metavar="A,B,...", help="Attributes that are not collected.")
@click.option("--known", metavar="A,B,...", help="Attributes that the adversary knows of a person.")
@click.option("--least", type=float, default=0.0, help="The smallest useful budget.")
@click.option("--weight", multiple=True, metavar="NAME=W", help="How much one attribute counts.")
@click.option("--record-limit", type=float, help="The largest sum of budgets of a form.")
@click.option("--together", multiple=True, metavar="A,B,...", help="Only asked together.")
@click.option("--never", multiple=True, metavar="A,B", help="Never asked together.")
@click.option("--joint", multiple=True, metavar="A,B", help="Their joint distribution is wanted.")
@click.option("--largest", type=int, help="The most attributes of a form.")
@click.option(
    "--scope",
    type=click.Choice(["population", "table"]),
    default="population",
    show_default=True,
    help="Whom limits hold for: the people whom the records are a random sample of, or the table.",
)
@click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Of all limits together."
)
@click.option(
    "--shape",
    type=click.Choice(["never", "single", "forms", "record"]),
    default="forms",
    show_default=True,
    help="Forms that send one shaped report; record: without the rule of one answer changed.",
)
@click.option("--sample", type=int, metavar="N", help="Design from N records drawn at random.")
@click.option("--seconds", type=float, default=60.0, show_default=True, help="Of searching.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of search and sample.")
@click.option(
    "--frontier",
    type=OutputFile(),
    help="Draw the error against the epsilon of the whole record; takes as long again.",
)
@click.option("--chart", type=OutputFile(), help="Draw the comparison: a .svg, .png, ... file.")
@click.option("--report", type=OutputFile(), help="Write the plan's page, one HTML file.")
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
@click.option("-o", "--output", type=OutputFile(), help="Write the plan here.")
@engine_options()
@table_options
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
    with engine_session(data, options["engine"], options["master"]):
        records = read_records(data, arguments | sample_arguments(options))
    from seepage.designs.find_design import find_design
    from seepage.plan.designed_plan import plan_of_design

    limits = attribute_limits(records, options, may_lack=True)
    chosen: dict[str, Any] = {
        "public": names_listed(options["public"]),
        "left_out": names_listed(options["left_out"]),
        "known": names_listed(options["known"]),
        "weights": attribute_weights(records, options["weight"]),
        "together": [names_listed(group) for group in options["together"]],
        "never": [names_listed(pair) for pair in options["never"]],
        "joint": [names_listed(pair) for pair in options["joint"]],
        **{name: options[name] for name in PASSED_ON},
    }
    with progress_bar("designing") as progress:
        found = find_design(
            records,
            limits,
            record_limit=options["record_limit"],
            progress=progress,
            **chosen,
        )
        if options["frontier"] is not None:
            from seepage.charts import save_chart
            from seepage.designs.find_design import frontier

            drawn = frontier(records, limits, progress=progress, **chosen)
            save_chart(drawn.chart(), options["frontier"])
    plan = plan_of_design(found)
    if output is not None:
        plan.save(output)
    write_page(plan, options["report"], data)
    if options["chart"] is not None:
        from seepage.charts import save_chart

        save_chart(found.chart(), options["chart"])
    emit(json_text(found.to_dict()) if form == "json" else _text(found, Path(data).name), None)


def _text(found: Any, name: str) -> str:
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
        f"{name} {rounded_down(epsilon)}" + ("" if how == "grr" else f" ({how})")
        for name, how, epsilon in zip(form.attributes, form.mechanisms, form.epsilons, strict=True)
    )


def _attributes(found: Any) -> str:
    rows = [["attribute", "largest total", "in form", "limit", "error"]]
    for k, name in enumerate(found.domain.names):
        limit = found.limits[k]
        rows.append(
            [
                name,
                "public" if name in found.public else rounded_up(found.totals[k]),
                str(found.attained[k] + 1),
                "-" if limit == float("inf") else f"{limit:g}",
                f"{found.errors[k]:.3g}" if found.errors[k] < float("inf") else "not asked",
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
    """Return how sure a strategy's limits are."""
    if not one.certified:
        return ""
    statistical = found.scope == "population" and "exact" in one.rests_on
    return f"at {found.confidence:g}: " if statistical else "certified: "
