"""The report as one HTML file: template, styles, scripts and data.

Scripts are ES modules on disk.  On the page they are one inline script: imports are left out, for
the modules stand in the order in which they need each other and share one scope.  The content
security policy names the hashes of that script and of the styles, and allows nothing else: no
other script runs, whatever names the data hold, and nothing is fetched.
"""

import html
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from seepage import _checks
from seepage._files import whole_file
from seepage._pages import content_hash, static_text
from seepage.errors import InputError
from seepage.report.page_content import page_content
from seepage.report.saved_result import as_result

if TYPE_CHECKING:
    from seepage.analysis import Analysis


STYLES = ("base", "controls", "figures", "print")

MODULES = (
    "bytes",
    "mechanisms",
    "model",
    "witness",
    "correlation",
    "dom",
    "colour",
    "axes",
    "saving",
    "verdict",
    "heatmap",
    "mapsection",
    "pair",
    "budgets",
    "totals",
    "people",
    "graph",
    "methods",
    "main",
)
"""The scripts, each after those that it imports."""

IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
EXPORT = re.compile(r"^export ", re.MULTILINE)


def report_page(result: "Analysis | Mapping[str, Any]", *, counts: bool = True) -> str:
    """Return the report of a result as one HTML page.

    Parameters
    ----------
    result
        An `Analysis`, or the plain JSON of one.
    counts
        Whether the page carries the pair counts.  Without them it shows no distributions of single
        pairs; counts of single values stay.

    Examples
    --------
    >>> import seepage as sp
    >>> page = report_page(sp.analyse("adult", 1.0, columns=["sex", "race"]))
    >>> page.startswith("<!doctype html>"), "https://" in page
    (True, False)
    """
    from seepage.analysis import Analysis, analysis_of

    _checks.flag(counts, "counts")
    saved = as_result(result)
    if saved.get("radius"):
        raise InputError(
            f"radius must be 0 for a page, which shows the table's own leakages, "
            f"got {saved['radius']:g}"
        )
    analysis = result if isinstance(result, Analysis) else analysis_of(saved)
    return render_page(page_content(saved, analysis, counts=counts))


def write_report(
    result: "Analysis | Mapping[str, Any]", path: str | os.PathLike[str], *, counts: bool = True
) -> None:
    """Write the report of a result to an HTML file, which appears whole or not at all.

    Parameters
    ----------
    result
        An `Analysis`, or the plain JSON of one.
    path
        The file.
    counts
        Whether the page carries the pair counts.
    """
    page = report_page(result, counts=counts)
    with whole_file(path) as file:
        file.write(page.encode())


def render_page(
    content: Mapping[str, Any],
    *,
    template: str = "page.html",
    modules: Sequence[str] = MODULES,
    styles: Sequence[str] = STYLES,
) -> str:
    """Return a page with its content inside: a template, its styles and scripts.

    Parameters
    ----------
    content
        What `page_content` gave, or what the scripts of another template read.
    template, modules, styles
        The names of files in `static`; scripts stand in the order in which they need each other,
        and share one scope.

    Examples
    --------
    >>> page = render_page({"name": "</script><script>alert(1)</script>"})
    >>> page.count("</script>"), "alert(1)" in page.split("<title>")[0]
    (2, False)
    """
    style = "\n".join(static_text(f"css/{name}.css") for name in styles)
    script = '"use strict";\n' + "\n".join(_plain(static_text(f"js/{name}.js")) for name in modules)
    parts = {
        "policy": html.escape(_policy(script, style)),
        "title": html.escape(str(content.get("name") or "Leakage report")),
        "style": style,
        "data": _embedded(content),
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], static_text(template))


def _plain(module: str) -> str:
    """Return a module without imports and exports."""
    return EXPORT.sub("", IMPORT.sub("", module))


def _policy(script: str, style: str) -> str:
    return (
        "default-src 'none'; "
        f"script-src '{content_hash(script)}'; style-src '{content_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _embedded(content: Mapping[str, Any]) -> str:
    """Return JSON in which nothing can end the element it stands in."""
    text = msgspec.json.encode(content).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
