"""Plans as text: calibrated budgets, designs, several limits; estimates from reports."""

import math
from typing import Any

from seepage._numerics import delta_text, floor_text, shortest_above
from seepage.cli.analysis_text import SHOWN_ATTRIBUTES
from seepage.cli.output import columns_text, option_names, text_columns
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
        labels = {attribute.name: columns[attribute.name] for attribute in cells.attributes}
        limits = {"95 % from": columns["lower"], "to": columns["upper"]}
        numbers = {name: columns[name] for name in ("estimate", "standard_error")} | limits
        parts += ["", cells.what, columns_text(labels | _decimals(numbers))]
    return "\n".join(parts)


def _decimals(columns: dict[str, list[float]]) -> dict[str, list[str]]:
    return {name: [f"{value:.5f}" for value in columns[name]] for name in columns}


def design_text(plan: Any, name: str) -> str:
    """Return the sentence of a designed plan, its forms, totals and alternatives as text."""
    from seepage.plan.plan_precision import plan_precision
    from seepage.plan.plan_text import advice, people_sentence

    precision = plan_precision(plan)
    guarantees = ", ".join(sorted({form.guarantee for form in plan.forms}))
    gap = plan.provenance.settings["design"]["gap"]
    heading = [
        people_sentence(plan, precision),
        *advice(plan, precision),
        f"{name}: {len(plan.forms)} forms, every total within its limit {plan.whom} "
        f"({guarantees}; all in nats), at most {gap:.2%} above the least error over the "
        "forms considered",
    ]
    tables = {
        "Forms": _forms_text(plan),
        "Attributes": _attributes_text(plan, precision),
        "Ways to ask": _comparison_text(precision),
    }
    parts = [f"\n{title}\n{table}" for title, table in tables.items()]
    notes = [naming(note, option_names()) for note in plan.notes]
    return "\n".join([*filter(None, heading), *parts, *notes])


def limits_text(found: Any, name: str) -> str:
    """Return what each limit costs as text, and how to keep the plan of one."""
    from seepage.plan.plan_precision import points, rounded_people
    from seepage.plan.plan_text import factor

    width = points(found.width).removesuffix(".0")
    heads = ["limit", "odds change at most", f"share within, {found.people:,} people"]
    heads += [f"people for {width} points", "one question each needs", "whole record"]
    columns, rows = found._columns(), [heads]
    for row in zip(*(columns[key] for key in columns if key != "forms"), strict=True):
        limit, half_width, people, record, ratio = row
        rows.append(
            [
                f"{limit:g}",
                f"{factor(limit)} times",
                f"{points(half_width)} points",
                "-" if people is None else rounded_people(people),
                "-" if ratio is None else f"{ratio:.2g} times as many",
                shortest_above(record),
            ]
        )
    whom, level = "for this table only", ""
    if found.confidence is not None:
        whom, each = f"for the population at {found.confidence:g}", found.plans[0].confidence
        level = f" --confidence {each:g}" if len(found.plans) > 1 else ""
    keep = f"the same command with --limit L{level} -o plan.json in place of --limits"
    shared = [note for note in found.plans[0].notes if all(note in p.notes for p in found.plans)]
    return "\n".join(
        [
            f"{name}: {len(rows) - 1} limits (nats), all of which hold together {whom}",
            text_columns(rows),
            f"The plan of the limit that you choose: {keep}",
            *(naming(note, option_names()) for note in shared),
        ]
    )


def _forms_text(plan: Any) -> str:
    rows = [["form", "share", "record", "attributes and budgets"]]
    for number, form in enumerate(plan.forms[:SHOWN_FORMS], 1):
        row = [str(number), f"{form.share:.2%}", shortest_above(form.record), _questions(form)]
        rows.append(row)
        if form.answer_leakage is not None:
            rows.append(["", "", "", f"  tells: {form.answer_leakage}"])
    more = len(plan.forms) - SHOWN_FORMS
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


def _attributes_text(plan: Any, precision: Any) -> str:
    from seepage.plan.plan_precision import points
    from seepage.plan.plan_text import attaining_form

    rows = [["attribute", "largest total", "in form", "limit", "share within"]]
    for k, planned in enumerate(plan.attributes):
        name = planned.name
        width = precision.width(precision.strategies[0], name) if name in precision.sizes else None
        rows.append(
            [
                name,
                "public" if planned.public else shortest_above(planned.total),
                attaining_form([form.totals[k] for form in plan.forms]),
                "-" if planned.limit is None else f"{planned.limit:g}",
                "not asked" if width is None else f"{points(width)} points",
            ]
        )
    errors = plan.provenance.settings["design"]["wanted"].items()
    rows += [[wanted, "", "", "", f"error {error:.3g}"] for wanted, error in errors]
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


def estimates_text(estimates: Any) -> str:
    """Return estimated frequencies and means as text."""
    how = "nearest distributions" if estimates.consistent else "unbiased"
    columns = estimates.to_arrow().to_pydict()
    labels = {name: columns[name] for name in ("attribute", "value")}
    numbers = {name: columns[name] for name in ("frequency", "standard_error")}
    notes = [
        f"{name}: reports at epsilon 0 carry no information, so nothing is estimated"
        for name in estimates.unestimated
    ]
    notes += [f"mean of {name}: {mean}" for name, mean in estimates.means.items()]
    about = f"{estimates.records:,} reports of {len(estimates.domain)} attributes, {how}"
    return "\n".join([about, columns_text(labels | _decimals(numbers)), *notes])
