"""A real browser for the report: the system's Chromium, driven by Playwright."""

import pytest
from report_pages import analysed

import seepage as sp
from seepage.report.page import report_page


@pytest.fixture
def opened(browser, tmp_path):
    """Open an analysis as a person would; complain of any request, error or dialog afterwards."""
    trouble, contexts = [], []

    def open_page(analysis, *, before=lambda page: None, **context):
        place = tmp_path / "report.html"
        page = analysis if isinstance(analysis, str) else report_page(analysis)
        place.write_text(page, encoding="utf-8")
        settings = {"viewport": {"width": 1280, "height": 900}} | context
        contexts.append(browser.new_context(**settings))
        page = contexts[-1].new_page()
        address = place.as_uri()
        page.on("request", lambda r: trouble.append(r.url) if not _own(r.url, address) else None)
        page.on("console", lambda m: trouble.append(f"console {m.type}: {m.text}"))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
        before(page)
        page.goto(address)
        page.wait_for_selector("html[data-ready]", timeout=15_000)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []


def _own(url, address):
    return url.split("#")[0] == address


@pytest.fixture(scope="session")
def adult():
    return sp.load_pairs("adult")


@pytest.fixture(scope="session")
def adult_page(adult):
    """The page of Adult at epsilon 1 with limit 5, made once."""
    return report_page(analysed(adult, limit=5.0, name="adult"))
