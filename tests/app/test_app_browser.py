"""The app in a real browser: from a table to a zip, as a person goes."""

import re
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from app_steps import STEP_TIME, go_to, table_file

import seepage as sp


@pytest.fixture
def people(tmp_path):
    survey = sp.make_survey(4_000, rng=3).select(["coffee", "sleep", "transport"])
    return table_file(tmp_path, survey)


SETTLED = """() => document.readyState === "complete" &&
  !document.querySelector(".htmx-added, .htmx-swapping, .htmx-settling")"""


def test_from_a_table_to_a_zip(visit, people, tmp_path):
    visit.set_input_files("#file", people)
    visit.wait_for_selector("table.columns", timeout=STEP_TIME)
    assert "3 of 3 columns will be asked" in visit.inner_text("h1")

    visit.select_option("select[aria-label*=transport]", "protect")
    visit.wait_for_selector("h1:has-text('2 of 3 columns')")
    visit.reload()
    assert "2 of 3 columns will be asked" in visit.inner_text("h1")

    visit.click("text=What do they give away?")
    visit.wait_for_selector("#verdict h1", timeout=STEP_TIME)
    # until htmx knows the page, a moved slider asks for nothing
    visit.wait_for_function(SETTLED)
    visit.focus("#limit")
    visit.keyboard.press("Home")
    visit.wait_for_selector("#verdict:has-text('limit 1.5 ×')")
    assert visit.inner_text("#limit-text") == "1.5 times"
    visit.keyboard.press("End")
    visit.wait_for_selector("#verdict:has-text('limit 20 ×')")

    go_to(visit, "Plan")
    visit.focus("#limit")
    visit.keyboard.press("Home")
    for _ in range(4):
        visit.keyboard.press("ArrowRight")
    visit.click("button:has-text('Search')")
    visit.wait_for_selector(".plan-pictures", timeout=STEP_TIME)
    assert re.match(r"Ask [\d,]+ people", visit.inner_text(".card h1"))
    assert "19 of 20 tries" in visit.inner_text("form.controls")

    go_to(visit, "Collect")
    visit.click("text=Try it with the people in the table")
    visit.wait_for_selector("iframe[title=Results]", timeout=STEP_TIME)
    assert "4,000 simulated reports. Nobody was asked." in visit.inner_text("main")
    preview = visit.frame_locator("iframe[title^='The questionnaire']")
    preview.locator("fieldset").first.wait_for(timeout=STEP_TIME)

    with visit.expect_download() as download:
        visit.click("text=Download everything as one zip")
    path = tmp_path / "plan.zip"
    download.value.save_as(path)
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        archive.extract("plan.json", tmp_path)
        command = archive.read("command.txt").decode()
    assert {"plan.json", "plan.html", "questionnaire.html", "simulated.html"} <= names
    plan = sp.Plan.load(tmp_path / "plan.json")
    assert plan.collected.names == ("coffee", "sleep")
    assert plan["transport"].limit is not None
    assert plan.provenance.settings["looks"] == 20
    assert command.startswith("seepage design people.csv ")


class NotebookPage(BaseHTTPRequestHandler):
    """Serves what a notebook shows of the app."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.server.shown.encode())

    def log_message(self, *_):
        pass


def test_the_link_in_a_notebook_leads_in(browser, app):
    """From another site: browsers keep a strict cookie back there."""
    with HTTPServer(("127.0.0.1", 0), NotebookPage) as notebook:
        notebook.shown = app._repr_html_()
        Thread(target=notebook.serve_forever, daemon=True).start()
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"http://localhost:{notebook.server_port}/")
        with context.expect_page() as opened:
            page.click("a")
        opened.value.wait_for_selector("#drop")
        context.close()
        notebook.shutdown()


def test_wrong_entries_are_one_line_beside_their_go_to(visit, people, tmp_path):
    bad = tmp_path / "notes.pdf"
    bad.write_bytes(b"%PDF")
    visit.set_input_files("#file", bad)
    visit.wait_for_selector("#upload:has-text('must be a CSV')")
    visit.set_input_files("#file", people)
    visit.wait_for_selector("table.columns", timeout=STEP_TIME)
    go_to(visit, "Plan")
    visit.fill("input[name=amount]", "0")
    visit.click("button:has-text('Search')")
    visit.wait_for_selector("[role=alert]:has-text('precision must be from')")
    visit.fill("input[name=amount]", "3")
    visit.click("summary:has-text('Questions together')")
    visit.click("button:has-text('Add')")
    visit.wait_for_selector("[role=alert]:has-text('two different questions')")
