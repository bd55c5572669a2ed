"""The page of a plan: who is asked what, what is promised and what is not, how precise it is."""

from seepage.plan.page.plan_page import plan_page, write_plan_page

__all__ = ["plan_page", "write_plan_page"]
