"""The deployable result: which attribute is collected how, and the collection itself."""

from seepage.plan.certify import certify
from seepage.plan.making import best_mechanism, make_plan
from seepage.plan.model import Plan, Provenance
from seepage.plan.plan_file import plan_schema
from seepage.plan.planned_attribute import PlannedAttribute

__all__ = [
    "Plan",
    "PlannedAttribute",
    "Provenance",
    "best_mechanism",
    "certify",
    "make_plan",
    "plan_schema",
]
