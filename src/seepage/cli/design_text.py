"""Plans as text: calibrated budgets, designs with the sentence of their plan, tables of reports."""

import math
from typing import Any

from seepage._numerics import delta_text, floor_text, shortest_above
from seepage.cli.analysis_text import SHOWN_ATTRIBUTES
from seepage.cli.output import option_names, text_columns
from seepage.errors import naming

SHOWN_FORMS = 12
"""Maximum number of forms of a design that are printed."""


def calibration_text(plan: Any, name: str) -> str:
    """Return the budgets and totals of a calibrated plan as text."""
    rows = [["attribute", "mechanism", "epsilon", "total", "limit"]]
    rows += [
        [
            planned.name,
            planned.mechanism or ("public" if planned.public else "not collected"),
            floor_text(planned.epsilon),
            shortest_above(planned.total) + delta_text(planned.total_delta),
            "-" if planned.limit is None else f"{planned.limit:g}",
        ]
        for planned in plan.attributes
    ]
    heading = (
        f"{name}: budgets whose totals stay within the limit (all in nats)\n"
        f"Guarantee: {plan.guarantee} ({', '.join(filter(None, (plan.kind, plan.whom)))})"
    )
    return "\n".join(
        [heading, text_columns(rows), *(naming(note, option_names()) for note in plan.notes)]
    )


def table_text(shown: Any, table: Any) -> str:
    """Return cells and, for several attributes, shares given all but the first."""
    people = ", ".join(f"{count:,} of form {form}" for form, count in table.people.items())
    parts = [
        f"{table.records:,} people: {people}; as precise as "
        f"{table.equivalent_people:,.0f} unperturbed answers"
    ]
    for cells in (shown, *([table.shares()] if len(table.attributes) > 1 else [])):
        columns = cells.to_arrow().to_pydict()
        labels = [attribute.name for attribute in cells.attributes]
        numbers = ("estimate", "standard_error", "lower", "upper")
        rows = [
            [*(columns[name][row] for name in labels), *(f"{columns[n][row]:.5f}" for n in numbers)]
            for row in range(len(cells.values))
        ]
        heads = [*labels, "estimate", "standard error", "95 % from", "to"]
        parts += ["", cells.what, text_columns([heads, *rows])]
    return "\n".join(parts)


def design_text(design: Any, name: str) -> str:
    """Return the plan's sentence, the forms of a design, its totals and its comparison as text."""
    from seepage.plan.designed_plan import plan_of_design
    from seepage.plan.plan_precision import plan_precision
    from seepage.plan.plan_text import advice, people_sentence

    plan = plan_of_design(design)
    precision = plan_precision(plan)
    guarantees = ", ".join(sorted({form.guarantee for form in design.forms}))
    record = shortest_above(design.record)
    heading = [
        people_sentence(plan, precision),
        *advice(plan, precision),
        f"{name}: {len(design.forms)} forms, every total within its limit {design.whom} "
        f"({guarantees}; all in nats), at most {design.gap:.2%} above the least error over the "
        f"forms considered; a form tells at most {record} about the whole record",
    ]
    tables = {
        "Forms": _forms_text(design),
        "Attributes": _attributes_text(design, precision),
        "Ways to ask": _comparison_text(precision),
    }
    parts = [f"\n{title}\n{table}" for title, table in tables.items()]
    notes = [naming(note, option_names()) for note in design.notes]
    return "\n".join([*filter(None, heading), *parts, *notes])


def _forms_text(design: Any) -> str:
    rows = [["form", "share", "record", "attributes and budgets"]]
    for number, form in enumerate(design.forms[:SHOWN_FORMS], 1):
        row = [str(number), f"{form.share:.2%}", shortest_above(form.record), _questions(form)]
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


def _attributes_text(design: Any, precision: Any) -> str:
    from seepage.plan.plan_precision import points
    from seepage.plan.plan_text import attaining_form

    rows = [["attribute", "largest total", "in form", "limit", "share within"]]
    for k, name in enumerate(design.domain.names):
        limit, mean = design.limits[k], design.means.get(name)
        width = precision.width(precision.strategies[0], name) if name in precision.sizes else None
        error = "not asked" if width is None else f"{points(width)} points"
        rows.append(
            [
                name if mean is None else f"mean {name}",
                "public" if name in design.public else shortest_above(design.totals[k]),
                attaining_form([form.totals[k] for form in design.forms]),
                "-" if limit == math.inf else f"{limit:g}",
                error if mean is None else f"error {mean:.3g}",
            ]
        )
    rows += [[f"{i} x {j}", "", "", "", f"error {e:.3g}"] for (i, j), e in design.joint.items()]
    return text_columns(rows, most=SHOWN_ATTRIBUTES)


def _comparison_text(precision: Any) -> str:
    from seepage.plan.plan_precision import people_text

    rows = [["way to ask", "people for the same precision", "whole record", "rests on"]]
    for strategy in sorted(precision.strategies, key=precision.ratio, reverse=True):
        record = float(strategy.record)
        certified = "certified: " if strategy.certified and "conf" not in strategy.rests_on else ""
        rows.append(
            [
                strategy.name,
                people_text(precision, precision.ratio(strategy)),
                "everything" if record == math.inf else shortest_above(record),
                certified + strategy.rests_on,
            ]
        )
    return text_columns(rows, left=True)
