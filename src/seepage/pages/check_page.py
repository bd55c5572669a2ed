"""The check of a table as one self-contained HTML page without scripts."""

from pathlib import Path

from seepage._core.text import number_of
from seepage.pages.check_view import AXIS, DONE, PICTURE_HEIGHT, check_view
from seepage.pages.plan_page import long_date
from seepage.pages.render import render_page
from seepage.tables.data_check import DataCheck

STYLES = ("design", "check")


def check_page(check: DataCheck, *, name: str = "the table") -> str:
    """Return the check of a table as one HTML page: what must be decided first, then a
    row for each column.

    Parameters
    ----------
    check
        The check.
    name
        The name of the table.

    Examples
    --------
    >>> import pyarrow as pa, seepage as sp
    >>> page = check_page(sp.check(pa.table({"ill": ["yes", "no"] * 50})))
    >>> page.startswith("<!doctype html>"), "<script" in page, "https://" in page
    (True, False, False)
    """
    return render_page(
        "check.html",
        f"Columns: {number_of(len(check), 'column')} of {Path(name).name}",
        styles=STYLES,
        subject=Path(name).name,
        date=long_date(),
        check=check,
        view=check_view(check),
        done=DONE,
        height=PICTURE_HEIGHT,
        axis=AXIS,
    )
