"""The evidence pack of a plan, for an impact assessment, a reviewer and a registry.

`evidence.html` answers three lists of questions: the risks of the Article 29 Working Party (Opinion
05/2014 on anonymisation techniques), NIST SP 800-226, and the W3C's considerations for reviewing
differential privacy systems.  The draft entry has the fields of the schema of the OpenDP
deployments registry, as of July 2026.
"""

import json
import math
import os
import re
from datetime import date
from pathlib import Path
from typing import Any

from markupsafe import Markup

from seepage import _checks
from seepage._files import write_folder
from seepage._pages import render_page, render_text
from seepage.plan.plan import Plan
from seepage.plan.plan_page import STYLES, plan_page
from seepage.plan.plan_precision import plan_precision
from seepage.plan.plan_text import factor, ground, nats, people_sentence, promise, unpromised

TUNED = """\
The plan's file goes to every client. Its questions, answers, budgets and shares were tuned on the \
raw records of the pilot, and it states nominal frequencies in whole percent: what the file tells \
about the people of the pilot is not accounted for in epsilon."""
"""What no epsilon of a plan covers."""


def write_evidence(
    plan: Plan, folder: str | os.PathLike[str], *, name: str | None = None, force: bool = False
) -> list[Path]:
    """Write the evidence pack of a plan into a folder, and return the paths of its files.

    Parameters
    ----------
    plan
        The plan.
    folder
        The folder of `plan.html`, `evidence.html` and the draft entry of the registry, named by
        letters, digits and underscores; it is created if it does not exist.
    name
        What is collected, for the titles and the name of the entry.
    force
        Replace files of the same names that are not of an evidence pack.

    Notes
    -----
    The epsilon of the entry is that of the whole record, the largest over all forms, rounded up;
    the totals of single attributes are in its details.
    """
    heading = "Plan of a collection" if name is None else _checks.text(name, "name")
    slug = re.sub(r"[^a-z0-9]+", "_", heading.lower()).strip("_") or "collection"
    excluded = dict(unpromised(plan))
    mechanisms = {one.name for form in plan.form_mechanisms for one in form.values()}
    values: dict[str, Any] = {
        "heading": heading,
        "plan": plan,
        "promise": promise(plan),
        "ground": ground(plan),
        "unpromised": excluded,
        "not_promised": " ".join(f"{term} {text}" for term, text in excluded.items()),
        "record": max(form.record for form in plan.forms),
        "total": max(planned.total for planned in plan.attributes if not planned.public),
        "delta": max(planned.total_delta for planned in plan.attributes),
        "mechanisms": ", ".join(sorted(mechanisms)),
        "precision": people_sentence(plan, plan_precision(plan)),
        "tuned": TUNED,
        "nats": nats,
        "factor": factor,
        "infinity": math.inf,
        "quoted": _quoted,
    }
    today = date.today().isoformat()
    contents = {
        "plan.html": plan_page(plan, name=name),
        "evidence.html": render_page(
            "evidence.html", f"{heading}: evidence", styles=STYLES, **values
        ),
        f"{slug}.yaml": render_text("registry_entry.yaml", slug=slug, today=today, **values),
    }
    encoded = {file: text.encode() for file, text in contents.items()}
    return write_folder(folder, encoded, "an evidence pack", force=force)


def _quoted(text: str) -> Markup:
    """Return a text in double quotes, on one line, as JSON and YAML have it."""
    return Markup(json.dumps(text, ensure_ascii=False))
