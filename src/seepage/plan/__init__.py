"""Plans: the forms of a collection, the mechanisms of each, and the totals they guarantee."""

from seepage.designs.form import Form
from seepage.designs.report_channels import MatrixChannel, ProductChannel, Question
from seepage.plan.plan import Plan

__all__ = ["Form", "MatrixChannel", "Plan", "ProductChannel", "Question"]
