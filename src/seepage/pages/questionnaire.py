"""The questionnaire: one self-contained page that asks and perturbs in the browser."""

import math
import os
import re
import warnings
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from seepage._core import checks
from seepage._core.errors import InputError, SeepageWarning, Setting, Text
from seepage._core.files import read_small, write_text
from seepage._core.text import factor, short_list
from seepage.channel.domain import MISSING, OTHER, Domain
from seepage.collection.client_files import CLIENT, client_plan
from seepage.designs.forms.form import Form
from seepage.pages.render import render_page
from seepage.plan.promises import answer_text
from seepage.tables.codebooks import read_codebook
from seepage.totals.guarantees import KINDS
from seepage.workflow.plan import Plan

Label = dict[str, str]
"""Keys `attribute`, `value` (one of its values, or "" for the question) and `label`
(the text)."""


LOCAL = ("localhost", "127.0.0.1")
"""Hosts that are allowed without https."""


PORTS = range(1, 1 << 16)


ADDRESS = re.compile(
    r"http(?P<secure>s)?://(?P<host>[a-z0-9-]+(\.[a-z0-9-]+)*)(:(?P<port>[0-9]+))?"
    r"(/(?!(\.|%2e){1,2}([/?]|$))[\w.~!$&()+=:%-]*)*(\?[\w.~!$&()+=:%/?-]*)?",
    re.ASCII | re.IGNORECASE,
)
"""Addresses that a content security policy can allow: host names, and paths without .
and .. parts.

A browser resolves those parts before it compares a request with the policy, and a
policy has no IPv6 addresses.
"""


OWN_ENDPOINT = "reports"
"""The endpoint of a page that the receiver serves itself, relative to the page."""


# The questionnaire --------------------------------------------------------------------


def read_labels(path: str | os.PathLike[str], domain: Domain) -> list[Label]:
    """Return the labels of a questionnaire from a codebook: a CSV file with the columns
    attribute, value and label.

    Parameters
    ----------
    path
        The file, in UTF-8.  A row without a value has the text of the question.
    domain
        The attributes.  Other attributes and values are ignored; a codebook without any
        of these attributes raises an InputError.
    """
    codebook = read_codebook(path)
    labels = [
        {"attribute": attribute.name, "value": value, "label": label}
        for attribute in domain
        for value, label in codebook.get(attribute.name, {}).items()
        if not value or value in attribute.values
    ]
    if not labels:
        raise InputError(
            f"labels must name attributes of the plan, {path} names none",
            parameter="labels",
        )
    return labels


def checked_endpoint(endpoint: str) -> str:
    """Return a valid address for the reports of a questionnaire: https, or http on
    localhost.

    Examples
    --------
    >>> checked_endpoint("https://example.org/reports")
    'https://example.org/reports'
    """
    address = ADDRESS.fullmatch(checks.text(endpoint, "endpoint"))
    is_safe = address and (address["secure"] or address["host"].lower() in LOCAL)
    if not address or not is_safe or int(address["port"] or 1) not in PORTS:
        rule = (
            "an address such as https://example.org/reports (http only for localhost)"
        )
        raise checks.violation("endpoint", rule, endpoint)
    return endpoint


def read_texts(path: str | os.PathLike[str] | None) -> dict[str, str]:
    """Return the texts of the questionnaire: those of a JSON file, the rest in English.

    Parameters
    ----------
    path
        A file with an object of texts, by the keys of `client/texts.json`; None for no
        file. `introduction`, `consent` and `contact` are empty unless it has them.
    """
    texts: dict[str, str] = msgspec.json.decode((CLIENT / "texts.json").read_bytes())
    if path is None:
        return texts
    try:
        translated = msgspec.json.decode(
            read_small(checks.path(path)), type=dict[str, str]
        )
    except msgspec.MsgspecError as error:
        rule = "an object of texts, as JSON"
        raise InputError(
            f"texts must be {rule}: {path} ({error})", parameter="texts"
        ) from None
    if unknown := sorted(translated.keys() - texts.keys()):
        raise InputError(
            f"texts must have keys of the page's texts, got {unknown[0]!r}",
            parameter="texts",
        )
    return texts | translated


def questionnaire_page(
    plan: Plan,
    *,
    labels: str | os.PathLike[str] | None = None,
    endpoint: str | None = None,
    title: str | None = None,
    texts: str | os.PathLike[str] | None = None,
    preview: bool = False,
) -> str:
    """Return the questionnaire of a plan as one self-contained HTML page.

    Parameters
    ----------
    plan
        The plan; clients must be able to draw its mechanisms, see `docs/wire.md`.
    labels, endpoint, title, texts
        See `Plan.write_questionnaire`.
    preview
        To look at: nothing is kept on the device, so that each load starts anew.

    Notes
    -----
    The page's content security policy allows its own script and style by their hashes,
    requests to the endpoint, and nothing else.
    """
    texts_shown = [] if labels is None else read_labels(labels, plan.domain)
    is_own = isinstance(endpoint, str) and endpoint == OWN_ENDPOINT
    strings = read_texts(texts)
    heading = plan.provenance.settings.get("title", "Survey")
    address = endpoint if endpoint is None or is_own else checked_endpoint(endpoint)
    allowed = "'none'" if address is None else address.partition("?")[0]
    survey = {
        "plan": client_plan(plan),
        "labels": [*texts_shown, *_answer_labels(plan.domain, strings)],
        "entered": _entered_answers(plan.collected),
        "texts": strings,
        "confidence": f"{plan.confidence or 0:.0%}",
        "kind": KINDS[plan.kind],
        "endpoint": address,
        "preview": preview,
        "sending": {},
        "tells": [_tells(plan, form) for form in plan.forms],
    }
    return render_page(
        "questionnaire.html",
        checks.text(heading if title is None else title, "title"),
        styles=["questionnaire"],
        script=page_script(),
        content=survey,
        connect="'self'" if is_own else allowed,
    )


def write_questionnaire(
    plan: Plan,
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    endpoint: str | None = None,
    title: str | None = None,
    texts: str | os.PathLike[str] | None = None,
) -> None:
    """Write the questionnaire of a plan; see `Plan.write_questionnaire`."""
    page = questionnaire_page(
        plan, labels=labels, endpoint=endpoint, title=title, texts=texts
    )
    if note := unlabelled_note(plan, labels):
        warnings.warn(SeepageWarning(note), stacklevel=3)
    write_text(path, page)


def unlabelled_note(plan: Plan, labels: str | os.PathLike[str] | None) -> Text | None:
    """Return a note on questions of a questionnaire that people would read as the names
    of columns, if any.
    """
    codebook = {} if labels is None else read_codebook(labels)
    names = [name for name in plan.collected.names if "" not in codebook.get(name, {})]
    if not names:
        return None
    return Text(
        f"{len(names)} questions have no text, people would read names of columns "
        f"({short_list(names, 3)}): give a codebook (",
        Setting("labels"),
        ")",
    )


def page_script() -> str:
    """Return the module and the script of the questionnaire as one inline script."""
    module = (CLIENT / "seepage.js").read_text(encoding="utf-8")
    script = (CLIENT / "questionnaire.js").read_text(encoding="utf-8")
    return re.sub(r"^export ", "", module, flags=re.MULTILINE) + script


def _answer_labels(domain: Domain, texts: Mapping[str, str]) -> list[Label]:
    """Return default labels of a questionnaire's answers; they follow those of a
    codebook, which take priority.
    """
    special = {MISSING: texts["missing"], OTHER: texts["other"]}
    return [
        {"attribute": attribute.name, "value": value, "label": label}
        for attribute in domain
        for value in attribute.values
        if (label := special.get(value) or answer_text(value)) != value
    ]


def _entered_answers(domain: Domain) -> list[dict[str, str]]:
    """Return the answers of a questionnaire that stand for having none, of attributes
    where one does.
    """
    entered = list[dict[str, str]]()
    for attribute in domain:
        if attribute.shares or MISSING in attribute.values:
            continue
        answer = dict(attribute.merged).get(MISSING, attribute.catch_all)
        if answer is not None:
            entered.append({"attribute": attribute.name, "value": answer})
    return entered


def _tells(plan: Plan, form: Form) -> dict[str, Any]:
    """Return what the questionnaire says that a form's report tells at most, as factors
    on the odds, rounded up.

    About each attribute asked, about all answers as a whole, and about the others
    together, each as proven and, for a population, in the table of the plan.
    """
    totals = np.array([form.totals, form.observed or form.totals], dtype=float)
    kinds = ("proven", "observed") if form.observed else ("proven",)

    def factors(columns: list[int]) -> dict[str, Any]:
        """Return what a report tells about some columns, as the questionnaire says
        it.
        """
        largest = totals[:, columns].max(axis=1).tolist()
        return dict(zip(kinds, map(_printed_factor, largest), strict=False))

    shown = [k for k, planned in enumerate(plan.attributes) if not planned.public]
    asked = [k for k in shown if plan.domain.names[k] in form.attributes]
    others = [k for k in shown if k not in asked]
    rows = [{"attribute": plan.domain.names[k], **factors([k])} for k in asked]
    whole = dict.fromkeys(kinds, _printed_factor(form.record))
    scope = "worst" if form.guarantee == "worst" else plan.scope
    return {
        "asked": [*rows, whole],
        "others": {"count": len(others), **factors(others)} if others else None,
        "basis": scope,
    }


def _printed_factor(total: float) -> str | None:
    """Return e^total as the questionnaire prints it, with two significant digits,
    rounded up; None above 1,000.

    Examples
    --------
    >>> (
    ...     _printed_factor(0.0),
    ...     _printed_factor(1.0),
    ...     _printed_factor(3.0),
    ...     _printed_factor(5.0),
    ...     _printed_factor(9.0),
    ... )
    ('1', '2.8', '21', '150', None)
    """
    return None if total > math.log(1000) else factor(total)
