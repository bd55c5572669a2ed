"""The report: a saved result as one self-contained page that opens anywhere.

The page is a view: everything on it is computed from the result, which `Analysis.save` or `seepage
analyse --format json` saves and `seepage report` draws later.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seepage._files import whole_file
from seepage.report.content import page_content
from seepage.report.html import render_page
from seepage.report.saved import as_result, pairs_of, read_result

if TYPE_CHECKING:
    from seepage.analysis import Analysis

__all__ = ["pairs_of", "read_result", "report_page", "write_report"]


def report_page(result: "Analysis | Mapping[str, Any]") -> str:
    """Return the report of a result as one HTML page.

    Parameters
    ----------
    result
        An `Analysis`, or the plain JSON of one.

    Examples
    --------
    >>> import seepage as sp
    >>> page = report_page(sp.analyse("adult", 1.0, columns=["sex", "race"]))
    >>> page.startswith("<!doctype html>"), "https://" in page
    (True, False)
    """
    return render_page(page_content(as_result(result)))


def write_report(result: "Analysis | Mapping[str, Any]", path: str | os.PathLike[str]) -> None:
    """Write the report of a result to an HTML file, which appears whole or not at all.

    Parameters
    ----------
    result
        An `Analysis`, or the plain JSON of one.
    path
        The file.
    """
    page = report_page(result)
    with whole_file(path) as file:
        file.write(page.encode())
