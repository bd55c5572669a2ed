"""A real browser for the report: the system's Chromium, driven by Playwright."""

from functools import cache

import pytest
from report_pages import analysed, synthetic

import seepage as sp
from seepage.pages.analysis_page import report_page

READY = "html[data-ready]"
WINDOW = {"width": 1280, "height": 900}


@pytest.fixture
def opened(tab, tmp_path):
    """Open a page or an analysis as a person would, in place of the one that was opened
    before.

    Any request, error, message or dialog is a fault, told afterwards.
    """
    trouble = []
    addresses = []

    def open_page(
        page, *, viewport=WINDOW, color_scheme="light", before=None, ready=READY
    ):
        place = tmp_path / f"report-{len(addresses)}.html"
        text = page if isinstance(page, str) else report_page(page)
        place.write_text(text, encoding="utf-8")
        addresses.append(place.as_uri())
        tab.mouse.move(0, 0)
        tab.set_viewport_size(viewport)
        tab.emulate_media(
            media="null", color_scheme=color_scheme, reduced_motion="reduce"
        )
        if before is not None:
            before(tab)
        tab.goto(addresses[-1])
        tab.wait_for_selector(ready, timeout=60_000)
        return tab

    def told(dialog):
        trouble.append(dialog.message)
        dialog.dismiss()

    listeners = {
        "request": lambda r: (
            None if r.url.split("#")[0] in addresses else trouble.append(r.url)
        ),
        "console": lambda message: trouble.append(
            f"console {message.type}: {message.text}"
        ),
        "pageerror": lambda error: trouble.append(str(error)),
        "dialog": told,
    }
    for event, listener in listeners.items():
        tab.on(event, listener)
    yield open_page
    tab.goto("about:blank")
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    assert [what for what in trouble if what != "about:blank"] == []


@pytest.fixture(scope="session")
def adult():
    return sp.load_pairs("adult")


@pytest.fixture(scope="session")
def adult_page(adult):
    """The page of Adult at epsilon 1 with limit 5, made once."""
    return report_page(analysed(adult, limit=5.0, name="adult"))


@pytest.fixture(scope="session")
def forty_page():
    """Return the page of forty attributes of some values, made once for each number."""

    @cache
    def page(values):
        return report_page(analysed(synthetic(40, values), limit=8.0))

    return page
