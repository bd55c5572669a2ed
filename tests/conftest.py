"""Settings for every test; that this file is here makes `oracles` and `strategies`
importable.

Examples are the same in every run, so that a red run means a change;
`HYPOTHESIS_PROFILE=explore` draws new ones.
"""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

collect_ignore_glob = ["conftest.py", "*/conftest.py"]
"""No doctests in fixtures: pytest cannot collect two modules of one name."""

settings.register_profile("seepage", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "seepage"))

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_runtest_setup(item):
    if os.name == "nt" and item.get_closest_marker("posix"):
        pytest.skip("needs POSIX")


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium, driven by Playwright, which runs once in a process."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs the package playwright"
    )
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def tab(browser):
    """One page for all that need no storage of their own: a new one costs more than
    most tests.
    """
    return browser.new_page()


AXE = Path(__file__).parent / "axe" / "node_modules" / "axe-core" / "axe.min.js"

AXE_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}

RUN_AXE = """async (options) => (await axe.run(document, options)).violations.map(
  (rule) =>
    `${rule.id}: ` + rule.nodes.map((node) => node.html.slice(0, 120)).join(" | "))"""


@pytest.fixture(scope="session")
def axe_violations():
    """Return a function of a Playwright page: what axe-core finds wrong with it.

    The script is evaluated by the browser's debugger, which the page's policy does not
    bind.
    """
    if not AXE.exists():
        pytest.skip("needs axe-core: npm ci --prefix tests/axe")
    script = AXE.read_text(encoding="utf-8")

    def violations(page):
        page.evaluate(script)
        return page.evaluate(RUN_AXE, AXE_RULES)

    return violations
