"""The chart of a plan, for notebooks and documents."""

from typing import Any

from seepage.plan.plan_content import PlanContent


def plan_picture(plan: PlanContent) -> Any:
    """Return the picture of a plan, an Altair chart of forms with their budgets and
    shares, totals and limits.
    """
    from seepage.charts.result_charts import forms_chart

    title = f"{plan.guarantee}, {plan.kind}"
    attributes = [
        {"attribute": planned.name, "total": planned.total, "limit": planned.limit}
        for planned in plan.attributes
    ]
    questions = [
        {
            "form": number,
            "share": form.share,
            "attribute": name,
            "mechanism": question.mechanism
            if (question := form.question(name))
            else "shaped",
            "epsilon": question.epsilon if question else None,
        }
        for number, form in enumerate(plan.forms, 1)
        for name in form.attributes
    ]
    return forms_chart(questions, attributes, title)
