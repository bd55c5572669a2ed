"""The evidence of a plan: what a reviewer needs to recompute it."""

import json
import os
import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from markupsafe import Markup

from seepage._core.files import write_folder
from seepage.pages.plan_page import STYLES, plan_page, plan_title
from seepage.pages.render import render_page, render_text
from seepage.plan.advice import people_sentence
from seepage.plan.plan_precision import plan_precision
from seepage.plan.promises import mechanism_names, statements
from seepage.workflow.plan import Plan

# Evidence -----------------------------------------------------------------------------

TUNED = (
    "The plan's file goes to every client. Its questions, answers, budgets and shares "
    "were tuned on the raw records of the pilot, and it states nominal frequencies in "
    "whole percent: what the file tells about the people of the pilot is not accounted "
    "for in epsilon."
)
"""What no epsilon of a plan covers."""


DRAWN = (
    "Reports are drawn by comparing the operating system's random bytes with integer "
    "thresholds, which are rounded so that the stated epsilon and delta are never "
    "exceeded."
)
"""How noise is drawn, unless a seed was given for research."""


def write_evidence(
    plan: Plan,
    folder: str | os.PathLike[str],
    *,
    name: str | None = None,
    force: bool = False,
) -> list[Path]:
    """Write the evidence pack of a plan into a folder, and return the paths of its
    files.

    For an impact assessment, a reviewer and a registry: `evidence.html` answers three
    lists of questions, the risks of the Article 29 Working Party (Opinion 05/2014 on
    anonymisation techniques), NIST SP 800-226, and the W3C's considerations for
    reviewing differential privacy systems; the draft entry has the fields of the schema
    of the OpenDP deployments registry, as of July 2026.

    Parameters
    ----------
    plan
        The plan.
    folder
        The folder of `plan.html`, `evidence.html` and the draft entry of the registry,
        named by letters, digits and underscores; it is created if it does not exist.
    name
        What is collected, for the titles and the name of the entry, if the plan states
        no title.
    force
        Replace files of the same names that are not of an evidence pack.

    Notes
    -----
    The epsilon of the entry is that of the whole record, the largest over all forms,
    rounded up; the totals of single attributes are in its details.
    """
    heading = plan_title(plan, name)
    slug = re.sub(r"[^a-z0-9]+", "_", heading.lower()).strip("_") or "collection"
    values: dict[str, Any] = {
        "heading": heading,
        "record": max(form.record for form in plan.forms),
        "total": max(
            planned.total for planned in plan.attributes if not planned.public
        ),
        "delta": max(form.record_delta for form in plan.forms),
        "mechanisms": mechanism_names(plan),
        "precision": people_sentence(plan, plan_precision(plan)),
        "tuned": TUNED,
        "drawn": DRAWN,
        "quoted": lambda text: Markup(json.dumps(text, ensure_ascii=False)),
        "decimal": lambda number: (
            f"{Decimal(repr(number)):f}"
        ),  # YAML reads 2e-05 as text
        **statements(plan),
    }
    today = date.today().isoformat()
    contents = {
        "plan.html": plan_page(plan, name=name),
        "evidence.html": render_page(
            "evidence.html", f"Evidence for a plan: {heading}", styles=STYLES, **values
        ),
        f"{slug}.yaml": render_text(
            "registry_entry.yaml", slug=slug, today=today, **values
        ),
    }
    encoded = {file: text.encode() for file, text in contents.items()}
    return write_folder(folder, encoded, "an evidence pack", force=force)
