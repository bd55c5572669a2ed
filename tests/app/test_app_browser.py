"""The app in a real browser: from a table to a zip, as a person goes."""

import re
import zipfile

import pyarrow as pa
import pyarrow.csv as csv
import pytest

import seepage as sp

STEP_SECONDS = 120_000
"""Milliseconds that a step may take."""


@pytest.fixture
def visit(browser, app):
    """Open the app in a browser of its own; any error or refused answer is a fault."""
    trouble = []
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: trouble.append(dialog.message))
    page.on(
        "console",
        lambda line: (
            trouble.append(line.text)
            if line.type == "error" and "422" not in line.text  # an entry not taken
            else None
        ),
    )
    page.on(
        "request",
        lambda request: (
            trouble.append(request.url)
            if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:"))
            else None
        ),
    )
    page.goto(app.address)
    yield page
    context.close()
    assert trouble == []


def table_file(folder, columns):
    path = folder / "people.csv"
    csv.write_csv(columns, path)
    return path


def step(page, name):
    page.click(f"nav.steps a:has-text('{name}')")


@pytest.fixture
def people(tmp_path):
    survey = sp.make_survey(4_000, rng=3).select(["coffee", "sleep", "transport"])
    return table_file(tmp_path, survey)


def test_from_a_table_to_a_zip(visit, people, tmp_path):
    visit.set_input_files("#file", people)
    visit.wait_for_selector("table.columns", timeout=STEP_SECONDS)
    assert "3 of 3 columns will be asked" in visit.inner_text("h1")

    visit.select_option("select[aria-label*=transport]", "protect")
    visit.wait_for_selector("h1:has-text('2 of 3 columns')")
    visit.reload()
    assert "2 of 3 columns will be asked" in visit.inner_text("h1")

    visit.click("text=What do they give away?")
    visit.wait_for_selector("#verdict h1", timeout=STEP_SECONDS)
    visit.focus("#limit")
    visit.keyboard.press("Home")
    visit.wait_for_selector("#verdict:has-text('limit 1.5 ×')")
    assert visit.inner_text("#limit-text") == "1.5 times"
    visit.keyboard.press("End")
    visit.wait_for_selector("#verdict:has-text('limit 20 ×')")

    step(visit, "Plan")
    visit.focus("#limit")
    visit.keyboard.press("Home")
    for _ in range(4):
        visit.keyboard.press("ArrowRight")
    visit.click("button:has-text('Search')")
    visit.wait_for_selector(".mosaic", timeout=STEP_SECONDS)
    assert re.match(r"Ask [\d,]+ people", visit.inner_text(".card h1"))
    assert "19 of 20 tries" in visit.inner_text("form.controls")

    step(visit, "Collect")
    visit.click("text=Try it with the people in the table")
    visit.wait_for_selector("iframe[title=Results]", timeout=STEP_SECONDS)
    assert "4,000 reports" in visit.inner_text("main")
    preview = visit.frame_locator("iframe[title^='The questionnaire']")
    preview.locator("fieldset").first.wait_for(timeout=STEP_SECONDS)

    with visit.expect_download() as download:
        visit.click("text=Download everything as one zip")
    path = tmp_path / "plan.zip"
    download.value.save_as(path)
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        archive.extract("plan.json", tmp_path)
        command = archive.read("command.txt").decode()
    assert {"plan.json", "plan.html", "questionnaire.html", "results.html"} <= names
    plan = sp.Plan.load(tmp_path / "plan.json")
    assert plan.collected.names == ("coffee", "sleep")
    assert plan["transport"].limit is not None
    assert plan.provenance.settings["looks"] == 20
    assert command.startswith("seepage design people.csv ")


def test_wrong_entries_are_one_line_beside_their_step(visit, people, tmp_path):
    bad = tmp_path / "notes.pdf"
    bad.write_bytes(b"%PDF")
    visit.set_input_files("#file", bad)
    visit.wait_for_selector("#upload:has-text('must be a CSV')")
    visit.set_input_files("#file", people)
    visit.wait_for_selector("table.columns", timeout=STEP_SECONDS)
    step(visit, "Plan")
    visit.fill("input[name=amount]", "0")
    visit.click("button:has-text('Search')")
    visit.wait_for_selector("[role=alert]:has-text('precision must be from')")
    visit.fill("input[name=amount]", "3")
    visit.click("summary:has-text('Questions together')")
    visit.click("button:has-text('Add')")
    visit.wait_for_selector("[role=alert]:has-text('two different questions')")


@pytest.mark.slow
def test_a_hostile_table_runs_no_script(visit, tmp_path):
    markup = "<img src=x onerror=alert(1)>"
    rows = 3_000
    columns = {
        f"{markup}{{{{7*7}}}}": [markup, "no"] * (rows // 2),
        '" onmouseover="alert(2)': ["'>\"<script>alert(3)</script>", "b"] * (rows // 2),
        "hx-on:click=alert(4)": ["yes", "no"] * (rows // 2),
    }
    visit.set_input_files("#file", table_file(tmp_path, pa.table(columns)))
    visit.wait_for_selector("table.columns", timeout=STEP_SECONDS)
    step(visit, "What leaks")
    visit.wait_for_selector("#verdict h1", timeout=STEP_SECONDS)
    step(visit, "Plan")
    visit.click("button:has-text('Search')")
    visit.wait_for_selector(".mosaic", timeout=STEP_SECONDS)
    step(visit, "Collect")
    preview = visit.frame_locator("iframe[title^='The questionnaire']")
    preview.locator("fieldset").first.wait_for(timeout=STEP_SECONDS)
    assert "49" not in visit.inner_text("main h1")


@pytest.mark.slow
def test_a_stopped_search_keeps_its_best(visit):
    visit.click("button[aria-label='Open survey']")
    visit.wait_for_selector("table.columns", timeout=STEP_SECONDS)
    step(visit, "Plan")
    visit.click("button:has-text('Search')")
    visit.wait_for_selector("#task")
    visit.wait_for_timeout(6_000)
    visit.click("button:has-text('Stop')")
    visit.wait_for_selector(".mosaic", timeout=STEP_SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 768, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_step_scrolls_sideways(visit, people, width, scheme):
    visit.set_viewport_size({"width": width, "height": 844})
    visit.emulate_media(color_scheme=scheme)
    visit.set_input_files("#file", people)
    visit.wait_for_selector("table.columns", timeout=STEP_SECONDS)
    for name, ready in [
        ("Data", "#drop"),
        ("Columns", "table.columns"),
        ("What leaks", "#verdict h1"),
        ("Plan", "form.controls"),
    ]:
        step(visit, name)
        visit.wait_for_selector(ready, timeout=STEP_SECONDS)
        wide = visit.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, name
