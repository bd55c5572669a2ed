"""Plans: which attribute is collected through which mechanism, and what that promises."""

from seepage.plan.make_plan import make_plan
from seepage.plan.plan import Plan, Provenance
from seepage.plan.plan_file import certify, plan_schema
from seepage.plan.planned_attribute import PlannedAttribute, best_mechanism

__all__ = [
    "Plan",
    "PlannedAttribute",
    "Provenance",
    "best_mechanism",
    "certify",
    "make_plan",
    "plan_schema",
]
