"""What a plan's precision means, and what to change for a better one."""

import math

from seepage._core.text import nats, points, rounded_people
from seepage.designs.strategies import OPTIMAL_SMP, RECORD_SMP, UNIFORM_SMP
from seepage.plan.content import PlanContent
from seepage.plan.plan_precision import NO_BETTER, Precision
from seepage.plan.promises import (
    form_sizes,
    ground,
    mechanism_names,
    promise,
    unpromised,
)


def assessment(plan: PlanContent, precision: str) -> str:
    """Return the paragraph for a data-protection impact assessment.

    Parameters
    ----------
    plan
        The plan.
    precision
        The sentence on the precision of the results, or empty.
    """
    names = ", ".join(plan.collected.names)
    not_asked = [p.name for p in plan.attributes if not p.asking and not p.public]
    also = f" (and about {', '.join(not_asked)}, not collected)" if not_asked else ""
    exclusions = " ".join(f"{heading} {text}" for heading, text in unpromised(plan))
    sentences = [
        f"Collected are {names}{also}, under local differential privacy: noise "
        f"({mechanism_names(plan)}) is added to a person's answers before they are stored or sent, "
        "so that no answer can be known with certainty from a report.",
        promise(plan),
        ground(plan),
        f"Not promised: {exclusions}",
        precision,
        f"Computed with seepage {plan.provenance.seepage}; the plan has SHA-256 {plan.digest}, "
        f"the counts it was computed from {plan.provenance.digest}.",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


# How many people ----------------------------------------------------------------------


def people_sentence(plan: PlanContent, precision: Precision) -> str:
    """Return how many people to ask, what each is asked, and the precision; empty for
    none.
    """
    if not precision.sizes or not math.isfinite(precision.half_width):
        return ""
    sizes = form_sizes(plan)
    what = f"{sizes} question{'' if sizes == '1' else 's'}"
    asked = f"everyone gets the same {what}"
    if len(plan.forms) > 1:
        asked = f"each gets one of {len(plan.forms)} forms of {what}"
    width = points(precision.half_width).removesuffix(".0")
    text = (
        f"Ask {rounded_people(precision.people)} people: {asked}; every share will be known to "
        f"within {width} points (19 times of 20)."
    )
    smp = precision.named(OPTIMAL_SMP, UNIFORM_SMP)
    parts = []
    if smp is not None and NO_BETTER <= precision.ratio(smp) < math.inf:
        parts.append(
            f"One question each needs {precision.ratio(smp):.2g} times as many people"
        )
    clear = rounded_people(precision.without_privacy)
    if parts:
        parts.append(f"without privacy {clear} would do")
    else:
        parts.append(f"Without privacy {clear} do")
    return f"{text} {', '.join(parts)}."


def advice(plan: PlanContent, precision: Precision) -> list[str]:
    """Return what a reader should know beside the sentence: where a rival is as good or
    better.
    """
    texts = list[str]()
    smp = precision.named(OPTIMAL_SMP)
    rival = precision.named(RECORD_SMP)
    several = len(plan.collected) > 1 and len(plan.forms) > 1
    sizes = [len(form.attributes) for form in plan.forms]
    if smp is not None and several and precision.ratio(smp) < NO_BETTER:
        texts.append(f"This is no better than one question each. {_change(plan)}")
    if rival is not None and max(sizes) > 1 and precision.ratio(rival) < 1:
        texts.append(
            "Against somebody who already knows all other answers of a person, only the whole "
            f"record counts, and one question each at the same {nats(float(rival.record))} nats "
            f"needs {precision.ratio(rival):.2g} times as many people: fewer than this plan."
        )
    return texts


def _change(plan: PlanContent) -> str:
    """Return the one change that makes forms of several questions possible."""
    for note in plan.notes:
        if note.startswith("no form of several"):
            return f"What would help: {note.partition(': ')[2]}."
    if plan.scope == "population":
        return "What would help: more records, from which the limits are certified."
    return (
        "What would help: no limit on attributes that are not sensitive; they tell too much of "
        "each other for several in one form."
    )
