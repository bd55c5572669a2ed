"""The rows of a plan's chart."""

from typing import Any

from seepage.mechanisms.randomness import CERTAIN
from seepage.plan.plan import Plan


def plan_picture(plan: Plan) -> Any:
    """Return budgets, totals and limits as an Altair chart; of several forms who is asked what."""
    from seepage.charts.form_matrix import forms_chart
    from seepage.charts.results import plan_chart

    title = f"{plan.guarantee}, {plan.kind}"
    attributes = [
        {
            "attribute": planned.name,
            "mechanism": planned.mechanism or "not collected",
            "epsilon": planned.epsilon,
            "total": float(planned.total),
            "limit": planned.limit,
        }
        for planned in plan.attributes
    ]
    if plan.is_single:
        return plan_chart(attributes, title)
    questions = [
        {
            "form": number,
            "share": form.chance / CERTAIN,
            "attribute": name,
            "mechanism": question.mechanism if (question := form.question(name)) else "matrix",
            "epsilon": question.epsilon if question else float(form.record),
        }
        for number, form in enumerate(plan.forms, 1)
        for name in form.attributes
    ]
    return forms_chart(questions, attributes, title)
