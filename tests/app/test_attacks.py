"""The app under attack: other machines, other sites, paths, sizes, names and
windows.
"""

import http.client
import os
import signal
import socket
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pyarrow as pa
import pyarrow.csv as csv
import pytest
from app_steps import wait_for, wait_until

import seepage as sp
from seepage.app import access, uploads
from seepage.app.application import ROUTES
from seepage.app.open_app import listening_socket

MARKUP = "<img src=x onerror=alert(1)>{{7*7}}"


def csv_bytes(columns):
    sink = pa.BufferOutputStream()
    csv.write_csv(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def study(guest):
    return guest.study()


@pytest.fixture
def checked(guest, study):
    """A study with a hostile table whose columns were read."""
    rows = 400
    columns = {
        MARKUP: [MARKUP, "no"] * (rows // 2),
        '" onmouseover="alert(2)': ["'>\"<script>alert(3)</script>", "b", "b", "c"]
        * (rows // 4),
        "javascript:alert(4)": ["yes", "no", "perhaps", "="] * (rows // 4),
    }
    status, _, _ = guest.send(
        "PUT", f"{study}/file?name=people.csv", csv_bytes(columns)
    )
    assert status == 200
    page = wait_for(guest, f"{study}/columns", 'id="task"')
    assert "3 of 3 columns" in page
    return study


@pytest.fixture
def planned(guest, checked, tmp_path):
    """The same with a plan that was opened."""
    path = tmp_path / "plan.json"
    sp.calibrate("survey", "7.4x", columns=["coffee", "sleep"]).save(path)
    status, _, text = guest.send(
        "PUT", f"{checked}/file?name=plan.json", path.read_bytes()
    )
    assert (status, text) == (200, f"{checked}/plan")
    return checked


# Who may speak to it ------------------------------------------------------------------


def test_another_machine_cannot_connect(app):
    """Of all addresses of this machine, loopback alone answers."""
    port = urlsplit(app.address).port
    addresses = {
        info[4][0]
        for info in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)
    }
    for address in addresses - {"127.0.0.1"}:
        if address.startswith("127."):
            continue
        with pytest.raises(OSError, match=r"."):
            socket.create_connection((address, port), timeout=2).close()
    with listening_socket(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_another_port_of_this_machine_is_another_site(guest, study):
    """A page of another program on this machine shares the cookie, not the origin."""
    for origin in (
        "http://127.0.0.1:1",
        "https://" + guest.host,
        f"http://{guest.host}/",
    ):
        status, _, _ = guest.send("POST", f"{study}/search", "", Origin=origin)
        assert status == 403


def test_every_change_needs_the_origin(guest, study):
    """No address that changes something answers a request without it."""
    changing = [route for route in ROUTES if route.method != "GET"]
    assert len(changing) > 8
    for route in changing:
        path = route.path.replace("{step}", "plan")
        status, _, text = guest.send(route.method, f"{study}/{path}", "", Origin=None)
        assert (status, "own pages" in text) == (403, True), path


def test_secrets_are_compared_in_constant_time(app, visitor, monkeypatch):
    compared = []

    def compare(a, b):
        compared.append((a, b))
        return a == b

    monkeypatch.setattr(access, "compare_digest", compare)
    assert visitor.enter(app.address)[0] == 303
    assert visitor.send("GET", "/")[0] == 303
    assert len(compared) == 2  # the token, then the cookie


def test_a_cookie_of_another_run_is_refused(guest, visitor):
    name = guest.cookie.partition("=")[0]
    for cookie in (f"{name}=", f"{name}=x", "seepage=x", f"other_{guest.cookie}"):
        visitor.cookie = cookie
        assert visitor.send("GET", "/")[0] == 403


def test_a_study_cannot_be_guessed(guest, study):
    assert len(study.rpartition("/")[2]) >= 20
    assert guest.send("GET", f"{study[:-1]}/data")[0] == 404


# Files --------------------------------------------------------------------------------


def test_a_file_that_announces_too_much_is_refused_unread(guest, study):
    connection = http.client.HTTPConnection(guest.host, timeout=60)
    connection.putrequest("PUT", f"{study}/file?name=a.csv")
    connection.putheader("Cookie", guest.cookie)
    connection.putheader("Origin", f"http://{guest.host}")
    connection.putheader("Content-Length", str((2 << 30) + 1))
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 422
    assert b"at most 2 GB" in answer.read()
    connection.close()


def test_a_file_that_announces_nothing_is_cut(guest, study, monkeypatch, tmp_path):
    monkeypatch.setattr(uploads, "MAX_BYTES", 1 << 16)

    def chunks():
        for _ in range(64):
            yield b"a,b\n" * 1024

    status, _, text = guest.send("PUT", f"{study}/file?name=a.csv", chunks())
    assert (status, "at most 2 GB" in text) == (422, True)
    assert not [path for path in tmp_path.rglob("*.part") if path.exists()]


def test_a_file_that_breaks_off_leaves_nothing(guest, study, tmp_path):
    host, port = guest.host.split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = [
            f"PUT {study}/file?name=a.csv HTTP/1.1",
            f"Host: {guest.host}",
            f"Origin: http://{guest.host}",
            f"Cookie: {guest.cookie}",
            "Content-Length: 1000000",
        ]
        connection.sendall("\r\n".join([*head, "", "a,b\n"]).encode())
        wait_until(lambda: list(tmp_path.rglob("*.part")))
    wait_until(lambda: not list(tmp_path.rglob("*.part")))
    assert not list(tmp_path.rglob("arrived*"))
    assert guest.send("GET", f"{study}/columns")[1]["location"] == f"{study}/data"


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../people.csv", "people.csv", "C:\\x", "", "*"]
)
def test_no_path_of_the_browser_is_opened(guest, study, name, tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text("a,b\n1,2\n")
    monkeypatch.chdir(tmp_path)
    status, _, text = guest.post(f"{study}/dataset", name=name)
    assert (status, "no dataset" in text) == (422, True)


def test_files_of_a_plan_have_known_names(guest, planned):
    assert guest.send("GET", f"{planned}/files/1/plan.json")[0] == 200
    others = ("..%2F..%2Fplan.json", "%2Fetc%2Fpasswd", "reports.parquet", "lock")
    for name in (*others, "analysis.json", "plan-1.json"):
        assert guest.send("GET", f"{planned}/files/1/{name}")[0] == 404


def test_nothing_is_written_to_the_temporary_folder(monkeypatch, tmp_path, request):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    guest = request.getfixturevalue("guest")
    checked = request.getfixturevalue("checked")
    assert guest.post(f"{checked}/role", column="0", role="protect")[0] == 303
    wait_for(guest, f"{checked}/leaks", 'id="task"')
    assert not list(temporary.rglob("*"))


@pytest.mark.posix
def test_all_files_are_private(guest, planned, tmp_path):
    folders = list((tmp_path / "cache" / "seepage" / "app").iterdir())
    assert folders
    for folder in folders:
        assert folder.stat().st_mode & 0o077 == 0


@pytest.fixture
def environment(tmp_path):
    """The environment of an app that runs in a process of its own."""
    return {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PYTHONPATH": ":".join(sys.path),
    }


def started_app(environment):
    """Start an app in a process of its own; return the process and its folder."""
    start = "import seepage.cli; seepage.cli.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", start, "open", "survey", "--no-browser"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert "seepage runs at" in process.stderr.readline()
    (kept,) = Path(environment["XDG_CACHE_HOME"], "seepage", "app").iterdir()
    return process, kept


@pytest.mark.posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_app_that_is_ended_leaves_nothing(environment, name):
    """By Ctrl-C, by `kill`, or with its terminal."""
    process, kept = started_app(environment)
    assert kept.exists()
    process.send_signal(getattr(signal, name))
    process.wait(60)
    process.stderr.close()
    assert not kept.exists()


@pytest.mark.posix
def test_a_killed_app_leaves_nothing_after_the_next_start(environment, tmp_path):
    process, kept = started_app(environment)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    assert kept.exists()
    code = (
        "import seepage as sp\nwith sp.open(browser=False): pass\n"
        f"print(__import__('pathlib').Path({str(kept)!r}).exists())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert done.stdout.strip() == "False"
    assert not list((tmp_path / "seepage" / "app").iterdir())


# Pages --------------------------------------------------------------------------------


class Inline(HTMLParser):
    """Collects what a page would run, and its elements by name."""

    def __init__(self):
        super().__init__()
        self.faults = []
        self.names = set()

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        attributes = dict(attrs)
        if tag == "script" and "src" not in attributes:
            self.faults.append("inline script")
        if tag == "style" or "style" in attributes:
            self.faults.append("inline style")
        for name, value in attrs:
            if name.startswith(("on", "hx-on")):
                self.faults.append(name)
            if (value or "").strip().lower().startswith(("javascript:", "js:")):
                is_name = name in ("value", "aria-label", "placeholder")
                if not is_name:
                    self.faults.append(value)


def test_pages_run_nothing_of_the_table(guest, planned):
    for step in ("data", "columns", "plan", "collect", "columns?open=0"):
        status, headers, text = guest.send("GET", f"{planned}/{step}")
        assert status == 200
        page = Inline()
        page.feed(text)
        assert page.faults == [], step
        assert "img" not in page.names
        policy = headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
    text = guest.send("GET", f"{planned}/columns")[2]
    assert "&lt;img src=x onerror=alert(1)&gt;{{7*7}}" in text


def test_parts_of_pages_run_nothing_either(guest, checked):
    for path, fields in [("role", {"role": "never"}), ("reading", {"reading": "x"})]:
        body = urlencode({"column": "0", **fields})
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        text = guest.send(
            "POST", f"{checked}/{path}", body, **{"HX-Request": "true"}, **kind
        )[2]
        page = Inline()
        page.feed(text)
        assert page.faults == []
        assert "img" not in page.names


# Windows ------------------------------------------------------------------------------


def test_two_windows_do_not_mix(guest, planned):
    other = guest.study()
    assert guest.send("GET", f"{other}/files/1/plan.json")[0] == 404
    assert guest.send("GET", f"{other}/columns")[1]["location"] == f"{other}/data"
    assert guest.send("GET", f"{other}/codebook.csv")[0] == 404
    assert guest.post(f"{other}/role", column="0", role="never")[0] == 422
    page = guest.send("GET", f"{planned}/columns")[2]
    assert "3 of 3 columns" in page


def test_each_window_has_a_folder_of_its_own(guest, tmp_path):
    for body in (b"a,b\n1,2\n", b"c,d\n3,4\n"):
        study = guest.study()
        assert guest.send("PUT", f"{study}/file?name=p.csv", body)[0] == 200
    texts = {path.read_bytes() for path in Path(tmp_path).rglob("table.csv")}
    assert texts == {b"a,b\n1,2\n", b"c,d\n3,4\n"}
