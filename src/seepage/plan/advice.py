"""What a plan's precision means, and what to change for a better one."""

import math

from seepage._core.text import factor, rounded_people, whole_points
from seepage.designs.strategies import OPTIMAL_SMP, RECORD_SMP
from seepage.plan.plan_content import PlanContent
from seepage.plan.plan_precision import NO_BETTER, Precision
from seepage.plan.promises import (
    form_sizes,
    ground,
    mechanism_names,
    promise,
    unpromised,
)


def assessment(plan: PlanContent, precision: str) -> str:
    """Return the paragraph of advice for a data-protection impact assessment.

    Parameters
    ----------
    plan
        The plan.
    precision
        The sentence on the precision of the results, or empty.
    """
    names = ", ".join(plan.collected.names)
    not_asked = [
        planned.name
        for planned in plan.attributes
        if not planned.asking and planned.limit is not None
    ]
    also = f" (and about {', '.join(not_asked)}, not collected)" if not_asked else ""
    exclusions = " ".join(f"{heading} {text}" for heading, text in unpromised(plan))
    sentences = [
        f"Collected are {names}{also}, under local differential privacy: noise "
        f"({mechanism_names(plan)}) is added to a person's answers before they are "
        "stored or sent, so that no answer can be known with certainty from a report.",
        promise(plan),
        ground(plan),
        f"Not promised: {exclusions}",
        precision,
        f"Computed with seepage {plan.provenance.seepage}; the plan has SHA-256 "
        f"{plan.digest}, the counts it was computed from {plan.provenance.digest}.",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


# How many people ----------------------------------------------------------------------


def people_sentence(plan: PlanContent, precision: Precision) -> str:
    """Return the advice on how many people to ask what, and how precise the results
    will be; empty for none.
    """
    if not is_estimated(precision):
        return ""
    return f"{order_sentence(plan, precision)} {precision_sentence(precision)}"


def is_estimated(precision: Precision) -> bool:
    """Return whether some share is estimated, so that there is advice on precision."""
    return bool(precision.sizes) and math.isfinite(precision.half_width)


def order_sentence(plan: PlanContent, precision: Precision) -> str:
    """Return the advice on how many people to ask how many questions."""
    people = rounded_people(precision.people)
    return (
        f"Ask {people} people {questions_each(plan)}, with noise added before anything "
        "is sent."
    )


def questions_each(plan: PlanContent) -> str:
    """Return how many questions a person is advised to be asked: "1 to 3 of 10
    questions each".
    """
    sizes = form_sizes(plan)
    count = len(plan.collected)
    if count == 1:
        return "one question"
    if sizes == str(count):
        return f"all {count:,} questions"
    return f"{sizes} of {count:,} questions each"


def precision_sentence(precision: Precision) -> str:
    """Return the advice on how precise each share will be, and all of them at once."""
    each = (
        f"Each share will be known to within {whole_points(precision.half_width)} "
        "percentage points, 19 times of 20"
    )
    if precision.shares < 2 or not math.isfinite(precision.joint_half_width):
        return f"{each}."
    joint = whole_points(precision.joint_half_width)
    return f"{each}; all {precision.shares:,} shares at once to within {joint}."


COSTLY = 20
"""Ratio of people with and without privacy from which it is said first."""


def proportion_sentence(precision: Precision) -> str:
    """Return the advice on what privacy costs, from `COSTLY` times as many people on;
    else empty.
    """
    without = precision.without_privacy
    if not without or precision.people < COSTLY * without:
        return ""
    times = math.floor(precision.people / without)
    return (
        f"Privacy is out of proportion here: without it {rounded_people(without)} "
        f"people give the same precision, with it {times:,} times as many. Fewer "
        "questions, fewer answers to each, less precision or a higher limit help."
    )


def no_better(plan: PlanContent, precision: Precision) -> str:
    """Return the advice that one question each does as well, and what would help; empty
    if not.
    """
    single = precision.named(OPTIMAL_SMP)
    asks_several = len(plan.collected) > 1 and len(plan.forms) > 1
    if single is None or not asks_several or precision.ratio(single) >= NO_BETTER:
        return ""
    return f"This is no better than one question each. {_change(plan)}".rstrip()


def whole_record_rival(plan: PlanContent, precision: Precision) -> str:
    """Return the advice that one question each with the noise of a whole set of answers
    needs fewer people; empty if not.
    """
    rival = precision.named(RECORD_SMP)
    most = max(len(form.attributes) for form in plan.forms)
    if rival is None or most == 1 or precision.ratio(rival) >= 1:
        return ""
    people = math.ceil(precision.ratio(rival) * precision.people)
    return (
        "Against somebody who already knows all other answers of a person only the "
        f"whole set of answers counts, {factor(float(rival.record))} times. One "
        f"question each with as little noise as that needs {rounded_people(people)} "
        "people, fewer than this plan, but exceeds the limit of single questions."
    )


def _change(plan: PlanContent) -> str:
    """Return the advice on the one change that makes forms of several questions
    possible; empty where the cause is not known, as where one question each was asked
    for.
    """
    for note in plan.notes:
        if note.startswith("no form of several"):
            return f"What would help: {note.partition(': ')[2]}."
    if plan.scope == "population":
        if all(len(form.attributes) == 1 for form in plan.forms):
            return ""
        return "What would help: more records, from which the limits are certified."
    return (
        "What would help: no limit on questions that are not sensitive; they tell too "
        "much of each other for several in one form."
    )
