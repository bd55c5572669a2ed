"""The app's requests: what is entered wrongly is one line, and nothing is opened by
it.
"""

import re
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.csv as csv
import pytest
from app_steps import wait_for, wait_for_refresh

import seepage as sp
from seepage.app.application import SHIPPED
from seepage.app.form_entries import MAX_FORM_BYTES


@pytest.fixture
def study(guest):
    return guest.study()


def test_a_window_has_a_study_of_its_own(guest):
    first = guest.study()
    second = guest.study()
    assert first != second
    guest.post(f"{first}/dataset", name="survey")
    assert "survey" in guest.send("GET", f"{first}/data")[2].partition("<main")[0]
    assert "survey" not in guest.send("GET", f"{second}/data")[2].partition("<main")[0]


def test_a_study_that_ended_is_one_line(guest):
    status, _, text = guest.send("GET", "/s/none/data")
    assert (status, text.count("\n")) == (404, 0)
    assert "ended" in text


@pytest.mark.parametrize(
    ("name", "body", "reason"),
    [
        ("people.xlsx", b"x", "must be a CSV"),
        ("people", b"x", "must be a CSV"),
        ("", b"x", "must have a name"),
        ("a%00.csv", b"x", "printable"),
        ("people.csv", b"", "is empty"),
        ("plan.json", b"{}", "plan"),
    ],
)
def test_files_that_are_not_taken(guest, study, name, body, reason):
    status, _, text = guest.send("PUT", f"{study}/file?name={name}", body)
    assert status == 422
    assert reason in text
    assert "\n" not in text.strip()
    assert "Traceback" not in text


def ended(guest, study, step):
    """Return the page of a step once its task has ended, as a browser comes to it."""
    wait_for_refresh(guest, f"{study}/task/{step}")
    return guest.send("GET", f"{study}/{step}")[2]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.parquet", b"PAR1 and nothing more"), ("a.csv", b'a,b\n1,"2\n')],
)
def test_a_broken_file_stays_one_line(guest, study, name, content):
    """It is not read again and again while the page waits for it."""
    guest.send("PUT", f"{study}/file?name={name}", content)
    guest.send("GET", f"{study}/columns")
    for page in (
        ended(guest, study, "columns"),
        guest.send("GET", f"{study}/columns")[2],
    ):
        assert 'id="task"' not in page
        (fault,) = re.findall(r'class="fault card" role="alert">([^<]+)', page)
        assert "Traceback" not in fault
        assert "fault of seepage" not in fault
        assert "Read it again" in page
    guest.post(f"{study}/columns")
    assert 'id="task"' in guest.send("GET", f"{study}/columns")[2]


def test_reading_that_is_stopped_stays_stopped(guest, study):
    guest.post(f"{study}/dataset", name="survey")
    guest.send("GET", f"{study}/columns")
    guest.post(f"{study}/task/columns/stop")
    page = ended(guest, study, "columns")
    assert 'id="task"' not in page
    assert "stopped" in page


WRONG_READINGS = [
    ({"value0": "same1"}, "needs two answers"),
    ({"value0": "same1", "value1": "missing"}, "another answer, and no other"),
    ({"value0": "same1", "reading": "scale", "scale": "yes"}, "and no other"),
    ({"value0": "same7"}, "no such value"),
    ({"value0": "same-1"}, "no such value"),
    ({"value0": "same1", "reading": "numbers", "bins": "0, 1"}, "leaving out"),
    ({"reading": "numbers"}, "where the intervals are cut"),
    ({"reading": "odd"}, "no such way"),
]
"""Entries of the form of a column, and what each is answered."""


def test_readings_that_are_not_taken(guest, study):
    guest.post(f"{study}/dataset", name="survey")
    page = wait_for(guest, f"{study}/columns", 'id="task"')
    coffee = re.findall(r'<th scope="row"><bdi>(\w+)</bdi>', page).index("coffee")
    kind = "application/x-www-form-urlencoded"
    headers = {"Content-Type": kind, "HX-Request": "true"}
    for decisions, reason in WRONG_READINGS:
        fields = {"column": str(coffee), "reading": "proposed", **decisions}
        path = f"{study}/reading"
        status, _, text = guest.send("POST", path, urlencode(fields), **headers)
        assert (status, reason in text) == (422, True), text
    assert ">changed<" not in guest.send("GET", f"{study}/columns")[2]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd.csv", "%2Fetc%2Fpasswd.csv", "..%5C..%5Cx.csv"]
)
def test_a_name_is_never_a_path(guest, study, name, tmp_path):
    before = set(tmp_path.rglob("*"))
    assert guest.send("PUT", f"{study}/file?name={name}", b"a,b\n1,2\n")[0] == 200
    new = {path.name for path in set(tmp_path.rglob("*")) - before if path.is_file()}
    assert new == {"table.csv"}


def test_names_with_markup_are_text(guest, study):
    name = "%3Cimg%20src=x%20onerror=alert(1)%3E.csv"
    assert guest.send("PUT", f"{study}/file?name={name}", b"a,b\n1,2\n")[0] == 200
    page = guest.send("GET", f"{study}/data")[2]
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page


@pytest.mark.parametrize(
    ("path", "fields", "reason"),
    [
        ("dataset", {"name": "nothing"}, "no dataset"),
        ("role", {"column": "0", "role": "ask"}, "no such column"),
        ("select", {"plan": "0"}, "no such plan"),
        ("select", {"plan": "-1"}, "no such plan"),
        ("remove", {"plan": "1"}, "no such plan"),
        ("reading", {"column": "x"}, "no such column"),
        ("pair", {"remove": "0"}, "no such pair"),
        ("entries", {"limit": "9"}, "no such limit"),
    ],
)
def test_entries_that_are_not_taken(guest, study, path, fields, reason):
    status, _, text = guest.post(f"{study}/{path}", **fields)
    assert (status, reason in text) == (422, True)


def test_a_form_that_is_too_large(guest, study):
    status, _, text = guest.post(f"{study}/dataset", name="x" * MAX_FORM_BYTES)
    assert (status, "at most 1 MB" in text) == (422, True)


def test_shipped_files_alone_are_served(guest):
    for name in SHIPPED:
        status, headers, _ = guest.send("GET", f"/static/{name}")
        assert status == 200
        assert headers["content-type"].startswith(SHIPPED[name][1])
    for name in ("base.html", "..%2Fapp.css", "application.py"):
        assert guest.send("GET", f"/static/{name}")[0] == 404


def test_steps_before_their_time_lead_back(guest, study):
    for step, before in [
        ("columns", "data"),
        ("leaks", "columns"),
        ("plan", "columns"),
    ]:
        status, headers, _ = guest.send("GET", f"{study}/{step}")
        assert (status, headers["location"]) == (303, f"{study}/{before}")


def test_the_records_of_a_table_stay_in_the_private_folder(guest, study, tmp_path):
    people = sp.make_survey(50, rng=1).select(["coffee", "sleep"])
    sink = pa.BufferOutputStream()
    csv.write_csv(people, sink)
    guest.send("PUT", f"{study}/file?name=p.csv", sink.getvalue().to_pybytes())
    (path,) = tmp_path.rglob("table.csv")
    assert path.is_relative_to(tmp_path / "cache" / "seepage" / "app")
