"""A plan as one self-contained HTML page without scripts, to be signed."""

from datetime import date

from seepage._core import checks
from seepage._core.results import json_text
from seepage._core.text import rounded_people
from seepage.pages.mosaic import mosaic_of
from seepage.pages.plan_questions import group_details, merged_answers, plan_questions
from seepage.pages.plan_view import (
    choices_of,
    decision_view,
    people_bars,
    promised_odds,
    strategy_rows,
)
from seepage.pages.render import render_page
from seepage.plan.advice import (
    assessment,
    is_estimated,
    no_better,
    people_sentence,
    whole_record_rival,
)
from seepage.plan.left_out import left_out_sentence
from seepage.plan.plan_precision import cross_tables, plan_precision
from seepage.plan.promises import statements
from seepage.workflow.plan import Plan

STYLES = ("design", "plan")


def plan_page(plan: Plan, *, name: str | None = None) -> str:
    """Return a plan as one HTML page, to be signed.

    Parameters
    ----------
    plan
        The plan.
    name
        What is collected, such as the name of the file, if the plan states no title.

    Examples
    --------
    >>> import seepage as sp
    >>> page = plan_page(sp.calibrate("adult", 2.0, columns=["sex", "race"]))
    >>> page.startswith("<!doctype html>"), "<script" in page, "https://" in page
    (True, False, False)
    """
    precision = plan_precision(plan)
    decision = decision_view(plan, precision)
    view = mosaic_of(plan)
    return render_page(
        "plan.html",
        window_title(plan, rounded_people(precision.people)),
        styles=STYLES,
        subject=plan_title(plan, name),
        date=long_date(),
        decision=decision,
        left_out=left_out_sentence(plan),
        odds=promised_odds(plan),
        mosaic_view=view,
        is_crowded=view.density == "dense",
        people=people_bars(precision) if is_estimated(precision) else None,
        choices=choices_of(plan, precision) if is_estimated(precision) else (),
        questions=plan_questions(plan, precision),
        merged=merged_answers(plan),
        groups=group_details(plan),
        strategies=strategy_rows(precision) if is_estimated(precision) else (),
        no_better=no_better(plan, precision),
        rival=whole_record_rival(plan, precision),
        cross_tables=cross_tables(plan, precision) if is_estimated(precision) else "",
        assessment=assessment(plan, people_sentence(plan, precision)),
        settings=json_text(plan.provenance.settings),
        **statements(plan),
    )


def window_title(plan: Plan, people: str) -> str:
    """Return the title of the window of a plan's page."""
    subject = plan.provenance.settings.get("title", "A plan")
    return f"{subject}: {people} people, {len(plan.collected)} questions"


def long_date() -> str:
    """Return today as a plan's page has it, such as 18 November 2026."""
    today = date.today()
    return f"{today.day} {today:%B %Y}"


def plan_title(plan: Plan, name: str | None) -> str:
    """Return the title of a plan's page: that of its settings, or else the given
    name.
    """
    subject = name if name is None else checks.text(name, "name")
    return str(plan.provenance.settings.get("title") or subject or "a collection")
