"""The deployable result: which attribute is collected how, and the collection itself."""

from seepage.plan.attribute import PlannedAttribute
from seepage.plan.certifying import certify
from seepage.plan.files import plan_schema
from seepage.plan.making import best_mechanism, make_plan
from seepage.plan.model import Plan, Provenance

__all__ = [
    "Plan",
    "PlannedAttribute",
    "Provenance",
    "best_mechanism",
    "certify",
    "make_plan",
    "plan_schema",
]
