"""The questionnaire in Chromium: it asks, shows what is sent, sends it once, and
nothing else.
"""

import json
import re

import msgspec
import numpy as np
import pytest

from collector import collecting
from command import run
from plan_examples import counts, plan_for, plan_of_forms
from seepage._core.errors import InputError
from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import PairCounts
from seepage.collection.client_files import write_client
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_channels import MatrixChannel, ProductChannel
from seepage.mechanisms.transition_matrix import MatrixMechanism
from seepage.pages.questionnaire import checked_endpoint, questionnaire_page
from seepage.pages.render import template_text

PLAN = plan_for(counts(), 1.0, {"sex": "grr", "job": "ss", "age": "oue", "ill": "grr"})
CODEBOOK = """attribute,value,label
sex,,What is your <sex>?
sex,F,Female
ill,,"Ill, this year?"
town,1,not in the plan
"""


@pytest.fixture
def site(tmp_path):
    with collecting(tmp_path) as server:
        server.folder = tmp_path
        yield server


def publish(site, plan=PLAN, *, send=True, edit=lambda page: page, **options):
    """Write the page into the folder that is served; failed attempts follow at once."""
    endpoint = f"{site.address}/reports" if send else None
    page = questionnaire_page(plan, endpoint=endpoint, **options)
    page = page.replace('"sending":{}', '"sending":{"pause":1}')
    (site.folder / "survey.html").write_text(edit(page), encoding="utf-8")
    return f"{site.address}/survey.html"


class Person:
    """Someone who opens pages in a tab; errors in them are kept."""

    def __init__(self, tab):
        self.tab = tab
        self.requests = []
        self.trouble = []
        self._listeners = {
            "request": lambda request: self.requests.append(request.url),
            "pageerror": lambda error: self.trouble.append(str(error)),
        }
        for event, listener in self._listeners.items():
            tab.on(event, listener)

    def open(self, address):
        self.tab.goto(address)
        self.tab.wait_for_selector("html[data-ready]", timeout=60_000)
        return self.tab

    def leave(self):
        self.tab.goto("about:blank")
        for event, listener in self._listeners.items():
            self.tab.remove_listener(event, listener)
        assert self.trouble == []


@pytest.fixture
def person(tab, site):
    """Someone who was never here: nothing is kept of whoever came before."""
    tools = tab.context.new_cdp_session(tab)
    for origin in (site.address, "file://"):
        tools.send(
            "Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"}
        )
    tools.detach()
    tab.mouse.move(0, 0)
    tab.set_viewport_size({"width": 1280, "height": 720})
    tab.emulate_media(media="null", color_scheme="light", reduced_motion="reduce")
    someone = Person(tab)
    yield someone
    someone.leave()


@pytest.fixture
def context(browser):
    """A browser of one's own, where storage can be broken and tabs opened side by
    side.
    """
    made = browser.new_context()
    yield made
    made.close()


def answer(page, choice=0):
    for question in page.locator("fieldset").all():
        question.locator("input").nth(choice).check()
    page.get_by_role("button", name="Add noise").click()
    page.wait_for_selector(".card")


def heading(page):
    return page.locator("h2").first.inner_text()


def shown_line(page):
    return json.loads(page.locator("textarea").input_value())


def send(page, expected="Thank you"):
    page.get_by_role("button", name=re.compile("Send|Try again")).click()
    page.get_by_role("heading", name=expected).wait_for()


def test_what_is_shown_is_sent_and_nothing_else(site, person):
    page = person.open(publish(site))
    answer(page)
    line = shown_line(page)
    assert site.arrived == []
    send(page)
    assert site.arrived == [line]
    assert line["plan"] == PLAN.collection
    assert set(line["reports"]) == {"sex", "job", "age", "ill"}
    own = [f"{site.address}/survey.html", f"{site.address}/reports"]
    assert [url for url in person.requests if not url.endswith("favicon.ico")] == own


def test_labels_and_limits_are_shown(site, person, tmp_path):
    (tmp_path / "codebook.csv").write_text(CODEBOOK)
    page = person.open(
        publish(site, labels=tmp_path / "codebook.csv", title="About <work>")
    )
    assert page.locator("h1").inner_text() == "About <work>"
    assert page.get_by_text("What is your <sex>?").count() == 1
    assert page.get_by_label("Female").count() == 1
    assert page.get_by_label("18 to under 40").count() == 1
    answer(page)
    rows = [row.inner_text().split("\t") for row in page.locator("tbody tr").all()]
    assert rows[0] == ["What is your <sex>?", "55 times"]  # e^4, rounded up
    assert [row[0] for row in rows[3:]] == ["Ill, this year?", "All answers as a whole"]
    assert page.get_by_text("It holds whatever the data.").count() == 1


def test_what_is_not_asked_is_one_line_beside_what_the_table_tells(site, person):
    domain = Domain(
        [Attribute(name, ("no", "(missing)")) for name in ("a", "b", "c", "d")]
    )
    pairs = PairCounts(domain, [[5, 5]] * 4, [5, 0, 0, 5] * 6)
    form = Form.of(
        ProductChannel.of(["a"], ["grr"], [1.0]), "exact", [1.0, 0.9, 0.5, 0.8]
    )
    form = msgspec.structs.replace(form, observed=(0.7, 0.3, 0.2, 0.1))
    plan = plan_of_forms(pairs, [form], limit=2.0, scope="population", confidence=0.95)
    page = person.open(publish(site, plan))
    page.get_by_label("Prefer not to say").check()
    page.get_by_role("button", name="Add noise").click()
    page.wait_for_selector(".card")
    rows = [row.inner_text().split("\t") for row in page.locator("tbody tr").all()]
    whole = ["All answers as a whole", "2.8 times", "2.8 times"]
    assert rows == [["a", "2.8 times", "2.1 times"], whole]
    text = page.locator("main").inner_text()
    assert "3 other things" in text
    assert (
        "2.5 times at most for each; in the survey behind the plan it was 1.4 times"
        in text
    )
    assert "with a confidence of 95%" in text


def test_introduction_consent_and_contact_come_before_the_questions(
    site, person, tmp_path
):
    (tmp_path / "texts.json").write_text(
        '{"introduction": "<b>Why</b>", "contact": "Ask us", "take part": "Mitmachen"}'
    )
    page = person.open(publish(site, texts=tmp_path / "texts.json"))
    assert page.locator("fieldset").count() == 0
    assert page.locator("main p").all_inner_texts() == ["<b>Why</b>", "Ask us"]
    page.get_by_role("button", name="Mitmachen").click()
    page.wait_for_selector("fieldset")
    answer(page)
    send(page)
    assert len(site.arrived) == 1
    (tmp_path / "texts.json").write_text('{"greeting": "Hello"}')
    with pytest.raises(InputError, match="got 'greeting'"):
        questionnaire_page(PLAN, texts=tmp_path / "texts.json")


def test_long_lists_and_answers_that_are_reported_together(site, person):
    domain = Domain(
        [Attribute("town", tuple(f"town {v}" for v in range(20))), PLAN.domain["sex"]]
    )
    pairs = PairCounts(domain, [[1] * 20, [10, 10]], [1, 0] * 10 + [0, 1] * 10)
    weights = np.ones((40, 40)) + 2 * np.eye(40)
    channel = MatrixChannel.of(["town", "sex"], MatrixMechanism(weights / 42))
    form = Form.of(channel, "worst", [channel.record] * 2)
    page = person.open(publish(site, plan_of_forms(pairs, [form], limit=2.0)))
    page.get_by_label("town").select_option("town 7")
    page.get_by_label("M").check()
    page.get_by_role("button", name="Add noise").click()
    page.wait_for_selector(".card")
    line = shown_line(page)
    assert f"number {line['report']}" in page.locator(".card").inner_text()
    rows = [row.inner_text().split("\t") for row in page.locator("tbody tr").all()]
    whole = ["All answers as a whole", "3 times"]
    assert rows == [["town", "3 times"], ["sex", "3 times"], whole]
    send(page)
    assert site.arrived == [line]


def test_all_can_be_done_with_the_keyboard(site, person):
    page = person.open(publish(site))
    page.keyboard.press("Tab")
    for _ in range(4):
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".card")
    page.get_by_role("button", name="Send").focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Thank you").wait_for()
    assert len(site.arrived) == 1


@pytest.mark.slow
def test_questions_without_an_answer_are_not_passed(site, person):
    page = person.open(publish(site))
    page.get_by_role("button", name="Add noise").click()
    assert heading(page) == "Your questions"
    assert page.evaluate(KEPT)[0]["line"] is None


@pytest.mark.parametrize(
    ("width", "scheme"),
    [(320, "dark"), pytest.param(1280, "light", marks=pytest.mark.slow)],
)
def test_the_page_fits_phones_and_is_readable_in_the_dark(site, person, width, scheme):
    size = {"width": width, "height": 700}
    person.tab.set_viewport_size(size)
    person.tab.emulate_media(color_scheme=scheme)
    page = person.open(publish(site))
    answer(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground, ink = page.evaluate(
        "(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))"
    )
    light = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ground, ink)]
    assert abs(light[0] - light[1]) > 450
    assert (light[0] < light[1]) == (scheme == "dark")


def test_without_an_endpoint_there_is_a_file_and_no_request(site, person):
    address = publish(site, send=False)
    local = (site.folder / "survey.html").as_uri()
    page = person.open(local)
    answer(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="as a file").click()
    assert json.loads(download.value.path().read_text()) == shown_line(page)
    assert [url for url in person.requests if url.startswith("http")] == []
    assert "connect-src 'none'" in page.locator("meta[http-equiv]").get_attribute(
        "content"
    )
    assert address.startswith("http")


def test_the_policy_stops_other_requests_and_scripts(site, person):
    page = person.open(publish(site))
    blocked = "fetch(address, {mode: 'no-cors'}).then(() => 'sent', () => 'blocked')"
    for address in (
        f"{site.address}/other",
        "http://127.0.0.1:9/",
        "https://example.org/",
    ):
        assert page.evaluate(f"(address) => {blocked}", address) == "blocked"
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = "
        "'window.bad = 1';"
        " document.body.append(s); }"
    )
    assert page.evaluate("window.bad") is None


# Faults -------------------------------------------------------------------------------


@pytest.mark.slow
def test_opening_the_page_again_shows_the_same_line(site, person):
    address = publish(site)
    page = person.open(address)
    answer(page)
    line = shown_line(page)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert (heading(page), shown_line(page)) == ("What is sent", line)
    send(page)
    assert heading(person.open(address)) == "Thank you"
    assert site.arrived == [line]


@pytest.mark.slow
def test_an_endpoint_that_fails_gets_the_same_line_again(site, person):
    site.statuses += [503, 503, 200]
    page = person.open(publish(site))
    answer(page)
    line = shown_line(page)
    send(page)
    assert site.arrived == [line] * 3
    assert len(site.lines) == 1


def test_an_endpoint_that_is_down_ends_in_a_file(site, person):
    site.statuses += [503] * 4
    page = person.open(publish(site))
    answer(page)
    line = shown_line(page)
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Save as a file").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a file").click()
    assert json.loads(download.value.path().read_text()) == line
    send(page)
    assert site.arrived == [line] * 5


@pytest.mark.slow
def test_a_double_click_sends_once(site, person):
    page = person.open(publish(site))
    answer(page)
    page.evaluate(
        "() => { const one = document.querySelector('.buttons button'); one.click();"
        " one.disabled = false; one.click(); }"
    )
    page.get_by_role("heading", name="Thank you").wait_for()
    assert len(site.arrived) == 1


@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_tabs_that_race_draw_and_send_once(site, context, count):
    address = publish(site)
    tabs = [context.new_page() for _ in range(count)]
    for tab in tabs:
        tab.goto(address, wait_until="commit")
    for choice, tab in enumerate(tabs):
        tab.wait_for_selector("html[data-ready]")
        # Not by the mouse: tabs in the background draw a frame every second only.
        tab.evaluate(
            "n => document.querySelectorAll('fieldset')"
            ".forEach((question) => question.querySelectorAll('input')[n].click())",
            choice % 2,
        )
    for tab in tabs:
        tab.evaluate("document.querySelector('form button').click()")
    for tab in tabs:
        tab.wait_for_selector(".card")
    lines = [shown_line(tab) for tab in tabs]
    assert lines[1:] == lines[:-1]
    for tab in tabs:
        tab.evaluate("document.querySelector('.buttons button').click()")
    for tab in tabs:
        tab.get_by_role("heading", name="Thank you").wait_for()
    assert site.arrived == lines[:1]


BLOCKED = (
    "Object.defineProperty(window, 'indexedDB', "
    "{get() { throw new DOMException('no') }})"
)
FULL = (
    "IDBObjectStore.prototype.put = "
    "() => { throw new DOMException('full', 'QuotaExceededError') }"
)
FORGETFUL = "IDBObjectStore.prototype.put = () => undefined"
KEPT = """() => new Promise((resolve) => {
    indexedDB.open("seepage").onsuccess = ({ target }) => {
        const kept = target.result.transaction("kept").objectStore("kept").getAll();
        kept.onsuccess = () => resolve(kept.result.map(JSON.parse));
    };
})"""


@pytest.mark.parametrize(
    "fault",
    [
        BLOCKED,
        pytest.param(FULL, marks=pytest.mark.slow),
        pytest.param(FORGETFUL, marks=pytest.mark.slow),
    ],
)
def test_without_storage_nothing_is_drawn_or_sent(site, person, fault):
    tools = person.tab.context.new_cdp_session(person.tab)
    tools.send("Page.enable")
    tools.send("Page.addScriptToEvaluateOnNewDocument", {"source": fault})
    page = person.open(publish(site))
    tools.detach()
    assert heading(page) == "Nothing was sent"
    assert "remember" in page.locator(".problem").inner_text()
    assert site.arrived == []


@pytest.mark.slow
def test_storage_that_is_really_full_releases_nothing(site, context):
    person = Person(context.new_page())
    tools = context.new_cdp_session(person.tab)
    tools.send(
        "Storage.overrideQuotaForOrigin", {"origin": site.address, "quotaSize": 1}
    )
    assert heading(person.open(publish(site))) == "Nothing was sent"
    assert site.arrived == []


def test_a_tampered_plan_is_rejected(site, person):
    def tamper(page):
        return re.sub(r'"keep":"\d+"', f'"keep":"{2**64 - 1}"', page)

    page = person.open(publish(site, edit=tamper))
    assert heading(page) == "Nothing was sent"
    assert "damaged or was changed" in page.locator(".problem").inner_text()


# The command --------------------------------------------------------------------------


def test_the_command_writes_all_files(tmp_path):
    PLAN.save(tmp_path / "plan.json")
    (tmp_path / "codebook.csv").write_text(CODEBOOK)
    options = [
        "--questionnaire",
        "survey.html",
        "--labels",
        "codebook.csv",
        "--vectors",
        "3",
    ]
    options += ["--endpoint", "https://example.org/reports?key=1"]
    done = run("client", "plan.json", "-o", "out", *options, cwd=tmp_path)
    assert done.returncode == 0
    assert "2 questions have no text" in done.stderr
    assert "(--labels)" in done.stderr
    names = {"seepage.js", "seepage.d.ts", "package.json", "plan.json", "vectors.json"}
    assert {file.name for file in (tmp_path / "out").iterdir()} == names
    page = (tmp_path / "survey.html").read_text()
    assert "connect-src https://example.org/reports;" in page
    assert (
        len(json.loads((tmp_path / "out" / "vectors.json").read_text())["records"]) == 3
    )
    again = run("client", "plan.json", "-o", "out", cwd=tmp_path)
    assert again.returncode == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--output or --questionnaire must be given"),
        (["-o", "."], "'plan.json' exists and is no file of a client"),
        (
            ["-o", "out", "--endpoint", "https://a.org"],
            "--endpoint has no effect: it is for the page of --questionnaire",
        ),
        (
            ["--questionnaire", "s.html", "--endpoint", "http://a.org"],
            "--endpoint must be an",
        ),
        (
            ["--questionnaire", "s.html", "--labels", "wrong.csv"],
            "--labels must name attributes",
        ),
        (
            ["--questionnaire", "s.html", "--labels", "none.csv"],
            "none.csv cannot be read",
        ),
        (
            ["--questionnaire", "s.html", "--labels", "plan.json"],
            "must have the columns",
        ),
    ],
)
def test_bad_options_of_the_command_are_one_line(tmp_path, options, message):
    PLAN.save(tmp_path / "plan.json")
    (tmp_path / "wrong.csv").write_text("attribute,value,label\nsex,X,Neither\n")
    done = run("client", "plan.json", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "s.html").exists()


@pytest.mark.parametrize(
    "name", ["seepage.js", "seepage.d.ts", "package.json", "plan.json", "vectors.json"]
)
def test_files_that_are_not_of_a_client_are_kept(tmp_path, name):
    """Nothing is written then, neither the folder's other files nor the
    questionnaire.
    """
    plan = plan_for(counts(), 1.0)
    plan.save(tmp_path / "plan-file.json")
    folder = tmp_path / "out"
    page = tmp_path / "s.html"
    folder.mkdir()
    (folder / name).write_text("/** mine */")
    command = [
        "client",
        tmp_path / "plan-file.json",
        "-o",
        folder,
        "--questionnaire",
        page,
    ]
    done = run(*command)
    assert done.returncode == 2
    assert "exists and is no file of a client" in done.stderr
    assert "replace it (--force)" in done.stderr
    assert [file.name for file in folder.iterdir()] == [name]
    assert (folder / name).read_text() == "/** mine */"
    assert not page.exists()
    assert run(*command, "--force").returncode == 0
    assert (folder / name).read_text() != "/** mine */"
    (folder / name).unlink()
    write_client(plan, folder, vectors=1)
    write_client(
        plan_for(counts(), 2.0), folder, vectors=2
    )  # its own files are replaced


def test_a_mechanism_that_no_client_can_draw_is_rejected(tmp_path):
    plan = plan_for(counts(), 1.0, "olh")
    for write in (
        lambda: write_client(plan, tmp_path),
        lambda: questionnaire_page(plan),
    ):
        with pytest.raises(InputError, match="'olh', which a client cannot draw"):
            write()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/a; script-src *",
        "https://example.org/ 'unsafe-inline'",
        "https://user@example.org/",
        "http://example.org/",
        "javascript:alert(1)",
        "//example.org",
        "https://",
        "https://[",
        "https://é.org",
        "",
    ],
)
def test_an_endpoint_cannot_widen_the_policy(address):
    with pytest.raises(InputError, match="endpoint must be an address"):
        checked_endpoint(address)


@pytest.mark.parametrize(
    "address",
    [
        "http://[::1]/",
        "https://[2001:db8::1]/r",
        "https://example.org:99999/r",
        "https://example.org:0/r",
        "https://example.org:/r",
        "https://example.org:x/r",
        "https://example.org/a/../r",
        "https://example.org/./r",
        "https://example.org/r/..",
        "https://example.org/a/%2E./r?x=1",
        "https://example.org/a/..?x=1",
        "https://exa_mple.org/r",
        "https://example..org/r",
        "https://example.org/{id}",
    ],
)
def test_an_endpoint_that_can_never_send_is_rejected(address):
    with pytest.raises(InputError, match="endpoint must be an address"):
        checked_endpoint(address)


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org",
        "https://example.org:65535/a/.../b..c/r.x?key=a/../b&other=%20",
        "http://localhost:8000/reports",
        "http://127.0.0.1/r/",
        "HTTPS://Example.org/r",
    ],
)
def test_other_endpoints_are_taken_as_they_are(address):
    assert checked_endpoint(address) == address


def test_the_colours_are_those_of_the_design_system():
    colours = {
        name: set(re.findall(r"#[0-9a-f]{6}", template_text(f"css/{name}.css")))
        for name in ("design", "questionnaire")
    }
    assert colours["questionnaire"]
    assert colours["questionnaire"] <= colours["design"]
