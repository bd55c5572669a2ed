"""The whole way through the app, as many people go it: long tests in a browser."""

import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from app_steps import STEP_TIME, drop, go_to, is_too_wide, search, table_file

import seepage as sp
from seepage.app.plan_step import MOST_NOTES

pytestmark = pytest.mark.slow


def survey():
    """Return a survey as it comes: answers, numbers, an identifier, missing values."""
    rng = np.random.default_rng(5)
    size = 3_000
    people = sp.make_survey(size, rng=5).select(["coffee", "sleep", "income"])
    age = rng.integers(18, 90, size).astype(str)
    age[rng.random(size) < 0.05] = "refused"
    return people.append_column("age", pa.array(age)).append_column(
        "id", pa.array(np.arange(size) + 1000)
    )


def wide():
    """Return a table of 40 questions."""
    rng = np.random.default_rng(6)
    base = rng.integers(0, 3, 4_000)
    columns = {}
    for number in range(40):
        other = rng.integers(0, 3, base.size)
        codes = np.where(rng.random(base.size) < 0.4, base, other)
        columns[f"question {number}"] = np.array(["no", "a bit", "yes"])[codes]
    return pa.table(columns)


def typed():
    """Return a table with types, as of Parquet files."""
    people = sp.make_survey(3_000, rng=7).select(["screen", "sleep", "transport"])
    hours = np.random.default_rng(7).gamma(2.0, 10.0, 3_000)
    return people.append_column("hours, per week", pa.array(hours))


TABLES = {"survey": survey, "wide": wide, "typed": typed}
"""Three tables by name."""


def ready(page, step):
    """Wait until a step shows what it is about."""
    shown = {
        "Data": "#drop",
        "Columns": "table.columns",
        "What leaks": "#verdict h1",
        "Plan": "form.controls",
        "Collect": "h2:has-text('Files to keep')",
    }
    page.wait_for_selector(shown[step], timeout=STEP_TIME)


WIDTHS = (1440, 768, 390)


def faults_of(page, axe_violations, name):
    """Return what is wrong with a page at each width, light and dark."""
    before = page.viewport_size
    faults = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        if is_too_wide(page):
            faults.append(f"{name} is too wide for {width}")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found = axe_violations(page)
            faults += [f"{name}, {width}, {scheme}: {fault}" for fault in found]
    page.set_viewport_size(before)
    return faults


@pytest.mark.parametrize(
    ("table", "width"), [("survey", 390), ("wide", 1440), ("typed", 768)]
)
def test_from_drop_to_zip(visit, axe_violations, tmp_path, table, width):
    """Also after a reload and after going back, at each step; accessible at each width,
    where nothing is too wide.
    """
    visit.set_viewport_size({"width": width, "height": 844})
    faults = faults_of(visit, axe_violations, "Data")
    drop(visit, table_file(tmp_path, TABLES[table]()))
    for step in ("Columns", "What leaks", "Plan", "Collect"):
        if step == "Collect":
            search(visit)
        go_to(visit, step)
        ready(visit, step)
        visit.reload()
        ready(visit, step)
        visit.go_back()
        visit.go_forward()
        ready(visit, step)
        faults += faults_of(visit, axe_violations, step)
        if step == "Columns":
            visit.locator("a.change").first.click()
            visit.wait_for_selector("form.reading")
            faults += faults_of(visit, axe_violations, "Editor")
    with visit.expect_download() as download:
        visit.click("text=Download everything as one zip")
    download.value.save_as(tmp_path / "plan.zip")
    with zipfile.ZipFile(tmp_path / "plan.zip") as archive:
        names = set(archive.namelist())
    assert {"plan.json", "plan.html", "codebook.csv", "command.txt"} <= names
    visit.click("text=Try it with the people in the table")
    visit.wait_for_selector("iframe[title=Results]", timeout=STEP_TIME)
    faults += faults_of(visit, axe_violations, "Results")
    assert faults == []


def protect_income(page):
    """Decide not to ask for one column."""
    page.select_option("select[aria-label*=income]", "protect")
    page.wait_for_selector("h1:has-text('3 of 5')")


def merge_transport(page):
    """Decide that two values are one answer."""
    page.locator("tr", has_text=re.compile(r"^transport")).locator("a.change").click()
    first = page.locator("form.reading tbody tr").first.locator("select")
    first.select_option(label=first.locator("option").nth(2).inner_text())
    page.wait_for_selector("td.what:has-text(' or ') .chip:has-text('changed')")
    page.select_option("select[aria-label*='hours, per week']", "protect")
    page.wait_for_selector("h1:has-text('3 of 4')")


@pytest.mark.parametrize(
    ("table", "decide"), [(survey, protect_income), (typed, merge_transport)]
)
def test_the_command_gives_the_same_plan(visit, tmp_path, table, decide):
    """With the table and the files of the zip."""
    path = table_file(tmp_path, table())
    visit.set_input_files("#file", path)
    ready(visit, "Columns")
    decide(visit)
    go_to(visit, "Plan")
    visit.fill("input[name=amount]", "2.5")
    search(visit)
    with visit.expect_download() as download:
        visit.click("text=Download everything")
    download.value.save_as(tmp_path / "plan.zip")
    files = tmp_path / "files"
    with zipfile.ZipFile(tmp_path / "plan.zip") as archive:
        archive.extractall(files)
    shown = sp.Plan.load(files / "plan.json").digest
    (files / "plan.json").unlink()
    (files / "people.csv").write_bytes(path.read_bytes())
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    words = (files / "command.txt").read_text().removeprefix("seepage ")
    start = "import seepage.cli; seepage.cli.main()"
    command = f"{sys.executable} -W ignore -c '{start}' {words}"
    subprocess.run(
        command, shell=True, cwd=files, env=environment, check=True, timeout=600
    )
    assert sp.Plan.load(files / "plan.json").digest == shown


def test_with_the_keyboard_alone(visit, tmp_path):
    """From a dataset to the zip: no step needs a mouse."""

    def press_until(condition, key="Tab", most=80):
        for _ in range(most):
            visit.keyboard.press(key)
            if visit.evaluate(condition):
                return
        raise AssertionError(f"{key} never reached {condition}")

    def focused(text):
        return f"document.activeElement.innerText?.includes({text!r}) ?? false"

    press_until("document.activeElement.getAttribute('aria-label') === 'Open survey'")
    visit.keyboard.press("Enter")
    ready(visit, "Columns")
    press_until(focused("What do they give away?"), most=200)
    visit.keyboard.press("Enter")
    ready(visit, "What leaks")
    press_until("document.activeElement.id === 'limit'")
    visit.keyboard.press("ArrowLeft")
    visit.wait_for_selector("#verdict:has-text('limit 4.5 ×')")
    press_until(focused("Find a plan"))
    visit.keyboard.press("Enter")
    ready(visit, "Plan")
    press_until("document.activeElement.name === 'goal'")
    press_until(focused("Search"))
    visit.keyboard.press("Enter")
    visit.wait_for_selector(".plan-pictures", timeout=STEP_TIME)
    press_until(focused("Download everything"))
    with visit.expect_download() as download:
        visit.keyboard.press("Enter")
    assert download.value.suggested_filename == "plan.zip"


def test_what_was_entered_stays(visit, tmp_path):
    """After leaving the step, going back, and a reload; also what is wrong."""
    visit.set_input_files("#file", table_file(tmp_path, survey()))
    ready(visit, "Columns")
    go_to(visit, "Plan")
    visit.fill("input[name=amount]", "not a number")
    visit.press("input[name=amount]", "Tab")
    visit.click("summary:has-text('More choices')")
    with visit.expect_response("**/entries"):
        visit.fill("input[name=title]", "Sleep & coffee")
        visit.press("input[name=title]", "Tab")
    go_to(visit, "Columns")
    visit.go_back()
    visit.reload()
    assert visit.input_value("input[name=amount]") == "not a number"
    assert visit.input_value("input[name=title]") == "Sleep & coffee"
    visit.click("button:has-text('Search')")
    visit.wait_for_selector("fieldset [role=alert]:has-text('precision must be from')")


def test_a_column_is_read_in_another_way(visit, tmp_path):
    """The effect on its answers is shown at once; a fault beside it, and not taken."""
    visit.set_input_files("#file", table_file(tmp_path, survey()))
    ready(visit, "Columns")
    row = visit.locator("tr", has_text=re.compile(r"^age")).first
    row.locator("a.change").click()
    editor = visit.locator("form.reading")
    editor.locator("select[name=reading]").select_option("numbers")
    visit.wait_for_selector("form.reading .fault:has-text('where the intervals')")
    editor.locator("input[name=bins]").fill("0, 30, 60, 120")
    editor.locator("input[name=bins]").press("Tab")
    visit.wait_for_selector("td.what:has-text('changed')")
    answers = row.locator("td.what").inner_text()
    assert len(re.findall(r"30|60", answers)) >= 2
    editor.locator("input[name=bins]").fill("60, 30")
    editor.locator("input[name=bins]").press("Tab")
    visit.wait_for_selector("form.reading .fault")
    visit.reload()
    assert "changed" in row.locator("td.what").inner_text()


def test_plans_are_compared_and_pairs_kept_apart(visit, tmp_path):
    visit.set_input_files("#file", table_file(tmp_path, typed()))
    ready(visit, "Columns")
    go_to(visit, "Plan")
    visit.click("button:has-text('Estimate only')")
    visit.wait_for_selector(
        ".estimate:has-text('It promises nothing')", timeout=STEP_TIME
    )
    assert "20 of 20 tries" in visit.inner_text("form.controls")
    search(visit)
    visit.click("summary:has-text('Questions together')")
    visit.select_option("select[name=second]", "1")
    visit.click("button:has-text('Add')")
    visit.wait_for_selector("li:has-text('never together')")
    visit.click("form.controls button:has-text('Search')")
    visit.wait_for_selector("h2:has-text('Plans to compare')", timeout=STEP_TIME)
    assert visit.locator(".compare tbody tr").count() == 2
    assert "18 of 20 tries" in visit.inner_text("form.controls")
    visit.click(
        "button[aria-label='Show plan 1'], button[aria-label='Show plan 2']:enabled"
    )
    visit.click(
        "button[aria-label='Remove plan 2'], button[aria-label='Remove plan 3']"
    )
    visit.wait_for_selector("h2:has-text('Plans to compare')", state="detached")


def test_a_hostile_table_runs_no_script(visit, tmp_path):
    markup = "<img src=x onerror=alert(1)>"
    rows = 3_000
    columns = {
        f"{markup}{{{{7*7}}}}": [markup, "no"] * (rows // 2),
        '" onmouseover="alert(2)': ["'>\"<script>alert(3)</script>", "b", "b"]
        * (rows // 3),
        "hx-on:click=alert(4)": ["yes", "no", "no", "="] * (rows // 4),
    }
    visit.set_input_files("#file", table_file(tmp_path, pa.table(columns)))
    ready(visit, "Columns")
    go_to(visit, "What leaks")
    ready(visit, "What leaks")
    go_to(visit, "Plan")
    search(visit)
    go_to(visit, "Collect")
    preview = visit.frame_locator("iframe[title^='The questionnaire']")
    preview.locator("fieldset").first.wait_for(timeout=STEP_TIME)
    visit.click("text=Try it with the people in the table")
    visit.wait_for_selector("iframe[title=Results]", timeout=STEP_TIME)
    assert "49" not in visit.inner_text("main h1")


def test_ten_thousand_labels(visit, tmp_path):
    rng = np.random.default_rng(8)
    labels = np.array([f"<b>{number}</b>" for number in range(10_000)])
    columns = {
        "town": labels[rng.integers(0, 10_000, 20_000)],
        "ill": np.array(["no", "yes"])[rng.integers(0, 2, 20_000)],
        "sleep": np.array(["bad", "good"])[rng.integers(0, 2, 20_000)],
    }
    visit.set_input_files("#file", table_file(tmp_path, pa.table(columns)))
    ready(visit, "Columns")
    visit.locator("a.change").first.click()
    visit.wait_for_selector("form.reading")
    assert visit.locator("form.reading tbody tr").count() <= 41  # and the others
    assert visit.evaluate("document.documentElement.outerHTML.length") < 300_000
    assert visit.locator("main b:not(.bar b)").count() == 0


def test_a_stopped_search_keeps_its_best(visit):
    visit.click("button[aria-label='Open survey']")
    ready(visit, "Columns")
    go_to(visit, "Plan")
    visit.click("button:has-text('Search')")
    visit.wait_for_selector("#task:has-text('Best so far')", timeout=STEP_TIME)
    visit.click("button:has-text('Stop')")
    ended = ".plan-pictures, main [role=alert]:visible"
    visit.wait_for_selector(ended, timeout=STEP_TIME)
    assert visit.locator(".plan-pictures").count() == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.csv", b'a,b\n1,"2\n3,4,5\n\x00\x01'),
        ("broken.csv", bytes(range(256)) * 40),
        ("broken.parquet", b"PAR1 and nothing more"),
        ("broken.feather", b"ARROW1\x00\x00 and nothing more"),
        ("empty.csv", b"a,b\n"),
    ],
)
def test_a_broken_file_is_one_line(visit, tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    visit.set_input_files("#file", path)
    visit.wait_for_selector(
        "main [role=alert]:visible, table.columns", timeout=STEP_TIME
    )
    text = visit.inner_text("main")
    assert "Traceback" not in text
    assert "fault of seepage" not in text
    alerts = visit.locator("main [role=alert]:visible")
    if alerts.count():
        assert "\n" not in alerts.first.inner_text().strip()
    visit.click("nav.steps a:has-text('Data')")
    ready(visit, "Data")


def test_a_file_of_300_megabytes(visit, tmp_path):
    """It is streamed: the page goes on, and the columns are read."""
    line = b"working,low,north,car,no,yes,good\nretired,high,south,public,yes,no,bad\n"
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.write(b"employment,income,region,transport,coffee,screen,sleep\n")
        block = line * 15_000
        for _ in range(300 * 1024 * 1024 // len(block)):
            file.write(block)
    visit.set_input_files("#file", path)
    ready(visit, "Columns")
    assert "people" in visit.inner_text(".bar")


def test_two_million_rows(visit, tmp_path):
    """Kinds and leaks are told from a part, which the page says; the plan is whole."""
    rows = 2_000_000
    path = table_file(tmp_path, sp.make_survey(rows, rng=2))
    visit.set_input_files("#file", path)
    ready(visit, "Columns")
    assert f"{rows:,} people" in visit.inner_text(".bar")
    assert "was told from the first" in visit.inner_text("#summary-box")
    go_to(visit, "What leaks")
    ready(visit, "What leaks")
    assert "people drawn at random" in visit.inner_text("#verdict")
    go_to(visit, "Plan")
    search(visit)
    go_to(visit, "Collect")
    visit.click("text=Try it with the people in the table")
    visit.wait_for_selector("iframe[title=Results]", timeout=STEP_TIME)
    assert f"{rows:,} simulated reports" in visit.inner_text("main")


def fifteen_hundred():
    """Return a table of 1,500 questions."""
    rng = np.random.default_rng(1)
    base = rng.integers(0, 3, 2_000)
    columns = {}
    for number in range(1_500):
        other = rng.integers(0, 3, base.size)
        codes = np.where(rng.random(base.size) < 0.4, base, other)
        columns[f"q{number:04d}"] = np.array(["no", "a bit", "yes"])[codes]
    return pa.table(columns)


def test_fifteen_hundred_columns(visit, tmp_path):
    """Each step shows some of them; none is a page of thousands of lines."""
    visit.set_input_files("#file", table_file(tmp_path, fifteen_hundred()))
    ready(visit, "Columns")
    assert "1,500 of 1,500 columns will be asked" in visit.inner_text("h1")
    assert visit.locator("tr[id^=column-]").count() < 100
    go_to(visit, "What leaks")
    ready(visit, "What leaks")
    assert "Of 1,500 questions 200 were drawn" in visit.inner_text("#verdict")
    go_to(visit, "Plan")
    search(visit)
    assert "of 1,500 questions each" in visit.inner_text(".card h1")
    visit.click("summary:has-text('What else to know')")
    assert visit.locator(".notes li").count() <= MOST_NOTES + 1
    height = visit.evaluate("document.documentElement.scrollHeight")
    assert height <= 4000
    with visit.expect_download() as download:
        visit.click("text=Download everything")
    assert download.value.suggested_filename == "plan.zip"


def test_two_windows_do_not_mix(visit, tmp_path):
    visit.set_input_files("#file", table_file(tmp_path, typed()))
    ready(visit, "Columns")
    other = visit.context.new_page()
    other.goto(re.match(r"http://[^/]+/", visit.url)[0])
    other.click("button[aria-label='Open survey']")
    ready(other, "Columns")
    assert "survey" in other.inner_text(".bar")
    visit.reload()
    assert "people.csv" in visit.inner_text(".bar")
    assert visit.url.split("/")[4] != other.url.split("/")[4]


def test_an_app_that_was_killed_says_so(browser, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    start = (
        "import seepage as sp; app = sp.open('survey', browser=False); "
        "print(app.address, flush=True); app.wait()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", start], stdout=subprocess.PIPE, text=True
    )
    page = browser.new_page()
    page.goto(process.stdout.readline().strip())
    ready(page, "Columns")
    go_to(page, "Plan")
    page.click("button:has-text('Search')")
    page.wait_for_selector("#task")
    process.kill()
    process.wait()
    process.stdout.close()
    page.wait_for_selector("#ended:visible", timeout=STEP_TIME)
    assert "start it again" in page.inner_text("#ended")
    page.close()


def work_of_tasks():
    """Return the seconds of processor time of all child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def test_a_newcomer_decides_five_things_at_most(visit):
    """A table, that the columns are right, a limit, a search, and that it is kept;
    there is less than a minute of work until the plan.
    """
    begin = work_of_tasks()
    decisions = 0
    for click, result in [
        ("button[aria-label='Open survey']", "table.columns"),
        ("text=What do they give away?", "#verdict h1"),
        ("text=Find a plan that keeps it", "form.controls"),
        ("form.controls button:has-text('Search')", ".plan-pictures"),
    ]:
        visit.click(click)
        visit.wait_for_selector(result, timeout=STEP_TIME)
        decisions += 1
    with visit.expect_download():
        visit.click("text=Download everything")
    decisions += 1
    assert decisions == 5
    assert 0 < work_of_tasks() - begin < 60
