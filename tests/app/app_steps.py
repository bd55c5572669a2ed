"""Steps of the app, as tests go them."""

import base64
import time

import pyarrow.csv as csv

STEP_TIME = 600_000
"""Milliseconds that a step may take on a busy machine."""


def table_file(folder, columns, name="people.csv"):
    """Write a table as CSV."""
    path = folder / name
    csv.write_csv(columns, path)
    return path


def go_to(page, name):
    """Go to a step by its name."""
    page.click(f"nav.steps a:has-text('{name}')")


def drop(page, path):
    """Drop a file on the page, as from a file manager."""
    kind = "application/octet-stream"
    data = page.evaluate_handle(
        """([bytes, name, type]) => {
          const transfer = new DataTransfer();
          const binary = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0));
          transfer.items.add(new File([binary], name, { type }));
          return transfer;
        }""",
        [_base64(path), path.name, kind],
    )
    page.dispatch_event("#drop", "dragover", {"dataTransfer": data})
    page.dispatch_event("#drop", "drop", {"dataTransfer": data})


def _base64(path):
    return base64.b64encode(path.read_bytes()).decode()


def search(page):
    """Search a plan, and wait for it."""
    page.click("form.controls button:has-text('Search')")
    page.wait_for_selector(".plan-pictures", timeout=STEP_TIME)


def is_too_wide(page):
    """Return whether a page scrolls sideways."""
    inner = page.evaluate("document.documentElement.clientWidth")
    return page.evaluate("document.documentElement.scrollWidth") > inner


def wait_for_refresh(guest, path):
    """Ask for the state of a task until it has ended."""
    for _ in range(600):
        if guest.send("GET", path)[1].get("hx-refresh") == "true":
            return
        time.sleep(0.2)
    raise AssertionError(f"{path} never ended")


def wait_for(guest, path, absent):
    """Return a page once it no longer has a text."""
    for _ in range(600):
        text = guest.send("GET", path)[2]
        if absent not in text:
            return text
        time.sleep(0.2)
    raise AssertionError(f"{path} never came")


def wait_until(condition):
    """Wait until a condition holds, for at most a minute."""
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("the condition never held")
