"""Plans as text: one screen for who decides, and the details."""

import math
from typing import Any

from seepage._core.odds import limit_and_odds, limit_as_typed, odds_above, odds_text
from seepage._core.text import (
    delta_text,
    floor_text,
    number_of,
    points,
    rounded_people,
    shortest_above,
    two_digits,
)
from seepage.cli.console import aligned
from seepage.cli.file_command import with_option_names
from seepage.tables.data_check import TO_DECIDE

SHOWN_FORMS = 12
"""Maximum number of groups in the details of a design."""

SHOWN_ATTRIBUTES = 40
"""Maximum number of questions in the details of a design."""


# One screen ---------------------------------------------------------------------------


def design_summary(plan: Any) -> str:
    """Return what to do, how precise it is, what is promised, and the ways to ask."""
    from seepage.plan.advice import (
        is_estimated,
        no_better,
        order_sentence,
        precision_sentence,
        proportion_sentence,
    )
    from seepage.plan.left_out import left_out_sentence
    from seepage.plan.plan_precision import plan_precision
    from seepage.plan.promises import promised

    precision = plan_precision(plan)
    if not is_estimated(precision):
        return (
            "Nothing is asked: no question has two "
            f"answers.\n{promised(plan, 'The plan')}"
        )
    sentences = [
        order_sentence(plan, precision),
        precision_sentence(precision),
        promised(plan, "The plan"),
        left_out_sentence(plan),
        *_notes_to_decide(plan),
        proportion_sentence(precision),
        no_better(plan, precision),
    ]
    text = "\n".join(sentence for sentence in sentences if sentence)
    return f"{text}\n\n{_strategies_text(precision)}"


def _notes_to_decide(plan: Any) -> list[str]:
    """Return the lines of a plan's text on what somebody must decide about the
    table.
    """
    return [
        with_option_names(note)
        for note in plan.notes
        if str(note).startswith(TO_DECIDE)
    ]


def _strategies_text(precision: Any) -> str:
    """Return the ways to ask that keep a plan's limits as text, and what no privacy
    needs.
    """
    from seepage.pages.plan_view import people_bars

    rows = [["way to ask", "people for the same precision", ""]]
    rows += [[row.label, row.people, row.times] for row in people_bars(precision).rows]
    return aligned(rows)


def next_command(output: str | None, report: str | None) -> str:
    """Return as text what to do with a plan that was saved; empty for none."""
    if output is None:
        return ""
    if report is None:
        return f"Next: seepage report {output} -o plan.html  (the page to sign)"
    return (
        f"Next: sign {report}; seepage client {output} --questionnaire survey.html "
        "writes the questionnaire"
    )


# Details ------------------------------------------------------------------------------


def design_details(plan: Any) -> str:
    """Return a designed plan's details as text: groups, questions, ways to ask and
    notes, in nats.
    """
    from seepage.plan.plan_precision import plan_precision

    precision = plan_precision(plan)
    guarantees = ", ".join(sorted({form.guarantee for form in plan.forms}))
    late = plan.provenance.settings["design"]["late gain"]
    lines = [
        f"{number_of(len(plan.forms), 'group')}, every total within its limit "
        f"{plan.whom} ({guarantees}; all in nats). The last quarter of the search "
        f"lowered the error by {late:.1%}: what a longer one (--effort) may bring",
        f"\nGroups\n{_forms_text(plan)}",
        f"\nQuestions\n{_attributes_text(plan, precision)}",
        f"\nWays to ask\n{_comparison_text(precision)}",
    ]
    return "\n".join([*lines, *map(with_option_names, plan.notes)])


def _forms_text(plan: Any) -> str:
    """Return the forms of a plan as text."""
    rows = [["group", "people", "all answers", "questions and budgets"]]
    for number, form in enumerate(plan.forms[:SHOWN_FORMS], 1):
        rows.append(
            [
                str(number),
                f"{form.share:.2%}",
                shortest_above(form.record),
                _questions_text(form),
            ]
        )
        if form.answer_leakage is not None:
            rows.append(["", "", "", f"  tells: {form.answer_leakage}"])
    if (more := len(plan.forms) - SHOWN_FORMS) > 0:
        rows.append(["...", "", "", f"{more} more in the plan"])
    return aligned(rows, left=True)


def _questions_text(form: Any) -> str:
    """Return the questions of a plan's form as text."""
    if not form.is_product:
        return f"one shaped report: {', '.join(form.attributes)}"
    return ", ".join(
        f"{name} {floor_text(epsilon)}" + ("" if how == "grr" else f" ({how})")
        for name, how, epsilon in zip(
            form.attributes, form.mechanisms, form.epsilons, strict=True
        )
    )


def _attributes_text(plan: Any, precision: Any) -> str:
    """Return the attributes of a plan with totals and precision as text."""
    is_proven = plan.attributes[0].observed is not None
    total = "total in the table" if is_proven else "largest total"
    limit_head = "proven limit" if is_proven else "limit"
    rows = [["question", total, limit_head, "share within"]]
    for planned in plan.attributes:
        name = planned.name
        largest = planned.observed if is_proven else planned.total
        leakage = "public" if planned.public else shortest_above(largest)
        limit = "-" if planned.limit is None else f"{planned.limit:g}"
        within = "not asked"
        if name in precision.sizes:
            within = f"{points(precision.width(precision.strategies[0], name))} points"
        rows.append([name, leakage, limit, within])
    errors = plan.provenance.settings["design"]["wanted"].items()
    rows += [[wanted, "", "", f"error {float(error):.3g}"] for wanted, error in errors]
    return aligned(rows, most=SHOWN_ATTRIBUTES)


def _comparison_text(precision: Any) -> str:
    """Return a plan beside other ways to ask as text."""
    from seepage.plan.plan_precision import people_text

    rows = [["way to ask", "people for the same precision", "all answers", "rests on"]]
    for strategy in sorted(precision.strategies, key=precision.ratio, reverse=True):
        record = float(strategy.record)
        whole = "everything" if record == math.inf else shortest_above(record)
        certified = ""
        if strategy.certified and "conf" not in strategy.rests_on:
            certified = "certified: "
        people = people_text(precision, precision.ratio(strategy))
        rows.append([strategy.name, people, whole, certified + strategy.rests_on])
    return aligned(rows, left=True)


# Calibrations, and several limits -----------------------------------------------------


def calibration_text(plan: Any, name: str) -> str:
    """Return a calibrated plan as text: its budgets and totals."""
    from seepage.plan.promises import promised

    rows = [["attribute", "mechanism", "epsilon", "odds change at most", "limit"]]
    for planned in plan.attributes:
        how = planned.mechanism or ("public" if planned.public else "not collected")
        total = odds_above(planned.total) + delta_text(planned.total_delta)
        limit = "-" if planned.limit is None else limit_and_odds(planned.limit)
        rows.append([planned.name, how, floor_text(planned.epsilon), total, limit])
    lines = [
        promised(plan, "The plan"),
        f"{name}: budgets with which no odds change more than the limit",
        f"Guarantee: {plan.guarantee} "
        f"({', '.join(filter(None, (plan.kind, plan.whom)))})",
        aligned(rows),
    ]
    return "\n".join([*lines, *map(with_option_names, plan.notes)])


def limits_text(comparison: Any, name: str, details: bool) -> str:
    """Return plans for several limits as text: what each limit costs, and how to keep
    the plan of one.

    With details, the notes that all plans share.
    """
    from seepage.plan.left_out import left_out_sentence

    width = points(comparison.width).removesuffix(".0")
    rows = [
        [
            "odds change at most",
            f"people for {width} points",
            "one question each needs",
            f"share within, {comparison.people:,} people",
            "odds of two sets of answers",
        ]
    ]
    columns = comparison._columns()
    keys = ("limit", "people", "one_question_each", "half_width", "record")
    for row in zip(*(columns[key] for key in keys), strict=True):
        limit, people, ratio, half_width, record = row
        rows.append(
            [
                f"{odds_text(limit)} times",
                "-" if people is None else rounded_people(people),
                "-" if ratio is None else f"{two_digits(ratio)} times as many",
                f"{points(half_width)} points",
                f"{odds_text(record)} times",
            ]
        )
    whom = "for this table only"
    level = ""
    if comparison.confidence is not None:
        whom = f"for the population at {comparison.confidence:g}"
        each = comparison.plans[0].confidence
        level = f" --confidence {each:g}" if len(comparison.plans) > 1 else ""
    typed = limit_as_typed(comparison.limits[-1])
    keep = (
        f"the same command with, say, --limit {typed}{level} -o plan.json in place of "
        "--limits"
    )
    shared = [
        note
        for note in comparison.plans[0].notes
        if all(note in plan.notes for plan in comparison.plans)
    ]
    lines = [
        f"{name}: {len(rows) - 1} limits, all of which hold together {whom}",
        aligned(rows),
        f"The plan of the limit that you choose: {keep}",
    ]
    if not details:
        *table, choice = lines
        left_out = left_out_sentence(comparison.plans[0])
        texts = [*table, left_out, choice, "--details: notes"]
        return "\n".join(text for text in texts if text)
    return "\n".join([*lines, *map(with_option_names, shared)])
