"""A plan and lines of reports for the tests of the receiver."""

from plan_examples import counts, plan_for

PLAN = plan_for(counts(), 1.0, {"sex": "grr", "job": "ss", "age": "oue", "ill": "grr"})
OTHER = plan_for(counts(), 2.0, {"sex": "grr", "job": "ss", "age": "oue", "ill": "grr"})
REPORTS = {"sex": 1, "job": [2], "age": [0, 2], "ill": 0}


def line(name, **fields):
    return {
        "plan": PLAN.collection,
        "form": 1,
        "id": name,
        "reports": REPORTS,
        **fields,
    }
