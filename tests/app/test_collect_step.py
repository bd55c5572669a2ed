"""The fifth step: reports as a file or the receiver's database become results."""

import io
import json
import zipfile

import pytest
from app_steps import wait_for

from report_examples import PLAN, line
from seepage.app.report_store import ReportStore


def put(guest, path, file):
    """Drop a file."""
    status, _, text = guest.send("PUT", f"{path}?name={file.name}", file.read_bytes())
    assert status == 200, text
    return text


@pytest.fixture
def collecting(guest, tmp_path):
    """A study whose plan was opened, without a table."""
    study = guest.study()
    PLAN.save(tmp_path / "plan.json")
    assert put(guest, f"{study}/file", tmp_path / "plan.json") == f"{study}/plan"
    return study


def database(tmp_path):
    path = tmp_path / "reports.db"
    store = ReportStore(PLAN, path)
    rows = [store.row_of(json.dumps(line(f"r{i}")).encode()) for i in range(40)]
    store.store(rows)
    store.close()
    return path


def test_the_receivers_database_becomes_results(guest, collecting, tmp_path):
    assert put(guest, f"{collecting}/reports", database(tmp_path))
    page = wait_for(guest, f"{collecting}/collect", 'id="task"')
    assert "40 reports" in page
    status, headers, results = guest.send("GET", f"{collecting}/files/1/results.html")
    assert status == 200
    assert "sandbox" in headers["content-security-policy"]
    assert "ill" in results


def test_reports_of_another_plan_are_one_line(guest, collecting, tmp_path):
    path = tmp_path / "reports.jsonl"
    path.write_text(json.dumps(line("a", plan="another")) + "\n")
    put(guest, f"{collecting}/reports", path)
    page = wait_for(guest, f"{collecting}/collect", 'id="task"')
    (fault,) = [text for text in page.splitlines() if 'class="fault card"' in text][1:]
    assert "Traceback" not in fault
    assert "fault of seepage" not in fault


def test_files_that_are_no_reports_are_refused(guest, collecting):
    status, _, text = guest.send("PUT", f"{collecting}/reports?name=r.exe", b"x")
    assert (status, "must end in" in text) == (422, True)


def test_everything_is_one_zip_that_opens_again(guest, collecting, tmp_path):
    connection = guest.raw("GET", f"{collecting}/files/1/plan.zip")
    with zipfile.ZipFile(io.BytesIO(connection)) as archive:
        names = set(archive.namelist())
        assert {"plan.json", "plan.html", "questionnaire.html"} <= names
        assert "evidence/evidence.html" in names
        assert "evidence.html" not in names
    assert guest.send("GET", f"{collecting}/files/1/evidence.html")[0] == 200
    path = tmp_path / "again.zip"
    path.write_bytes(connection)
    other = guest.study()
    assert put(guest, f"{other}/file", path) == f"{other}/plan"
    page = guest.send("GET", f"{other}/plan")[2]
    assert "mosaic" in page


def test_an_opened_plan_is_no_try_and_has_no_command(guest, collecting):
    page = guest.send("GET", f"{collecting}/plan")[2]
    assert "tries on this table" not in page
    assert "The same as a command" not in page


def test_the_texts_that_are_entered_are_what_people_read(guest, collecting, tmp_path):
    page = guest.send("GET", f"{collecting}/collect")[2]
    assert "questions have no text yet" in page
    names = list(PLAN.collected.names)
    entered = {f"text{i}": f"What about {name}?" for i, name in enumerate(names)}
    assert guest.post(f"{collecting}/texts", **entered)[0] == 303
    page = guest.send("GET", f"{collecting}/collect")[2]
    assert "no text yet" not in page
    assert f'value="What about {names[0]}?"' in page
    for name in ("questionnaire.html", "preview.html"):
        shown = guest.send("GET", f"{collecting}/files/1/{name}")[2]
        assert all(text in shown for text in entered.values())
    assert put(guest, f"{collecting}/reports", database(tmp_path))
    wait_for(guest, f"{collecting}/collect", 'id="task"')
    results = guest.send("GET", f"{collecting}/files/1/results.html")[2]
    assert f"to “What about {names[0]}?”" in results
    archive = io.BytesIO(guest.raw("GET", f"{collecting}/files/1/plan.zip"))
    with zipfile.ZipFile(archive) as files:
        codebook = files.read("codebook.csv").decode()
    assert all(text in codebook for text in entered.values())
    status, _, text = guest.post(f"{collecting}/texts", text0="long " * 200)
    assert status == 422
    assert "at most 500 characters" in text


def test_texts_of_a_codebook_reach_the_questionnaire(guest, collecting, tmp_path):
    name = PLAN.collected.names[0]
    value = PLAN.domain[name].values[0]
    path = tmp_path / "codebook.csv"
    path.write_text(
        f"attribute,question,value,label\n{name},How is it?,,\n{name},,{value},fine\n"
    )
    put(guest, f"{collecting}/file", path)
    shown = guest.send("GET", f"{collecting}/files/1/questionnaire.html")[2]
    assert "How is it?" in shown
    assert '"fine"' in shown


def test_a_codebook_waits_for_its_table(guest, tmp_path):
    study = guest.study()
    path = tmp_path / "codebook.csv"
    path.write_text("attribute,value,role\nb,,protect\n")
    assert put(guest, f"{study}/file", path) == f"{study}/data"
    rows = "".join(f"{'xy'[i % 2]},{'uvw'[i % 3]}\n" for i in range(600))
    (tmp_path / "people.csv").write_text("a,b\n" + rows)
    put(guest, f"{study}/file", tmp_path / "people.csv")
    page = wait_for(guest, f"{study}/columns", 'id="task"')
    assert "1 of 2 columns will be asked" in page
    codebook = guest.send("GET", f"{study}/codebook.csv")[2]
    assert "b,,answer,,,,,,,,protect," in codebook
