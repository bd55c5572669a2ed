"""Plans: the forms of a collection, the mechanisms of each, and the totals they guarantee."""

from seepage.designs.form import Form
from seepage.designs.report_channels import MatrixChannel, ProductChannel, Question
from seepage.mechanisms import best_mechanism
from seepage.plan.make_plan import make_plan, plan_of_forms
from seepage.plan.plan import Plan
from seepage.plan.plan_file import plan_schema
from seepage.plan.plan_parts import PlannedAttribute, Provenance

__all__ = [
    "Form",
    "MatrixChannel",
    "Plan",
    "PlannedAttribute",
    "ProductChannel",
    "Provenance",
    "Question",
    "best_mechanism",
    "make_plan",
    "plan_of_forms",
    "plan_schema",
]
