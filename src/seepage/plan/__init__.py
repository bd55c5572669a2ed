"""Plans: who is asked what, through which mechanisms, and what that promises."""

from seepage.plan.certify import certify
from seepage.plan.form import Form, MatrixChannel, ProductChannel
from seepage.plan.make_plan import make_plan
from seepage.plan.plan import Plan
from seepage.plan.plan_file import plan_schema
from seepage.plan.plan_of_forms import FormDraft, plan_of_forms
from seepage.plan.planned_attribute import PlannedAttribute
from seepage.plan.provenance import Provenance
from seepage.plan.question import Question, best_mechanism

__all__ = [
    "Form",
    "FormDraft",
    "MatrixChannel",
    "Plan",
    "PlannedAttribute",
    "ProductChannel",
    "Provenance",
    "Question",
    "best_mechanism",
    "certify",
    "make_plan",
    "plan_of_forms",
    "plan_schema",
]
