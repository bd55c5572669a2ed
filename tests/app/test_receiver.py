"""The receiver: what it acknowledged is stored once, whatever kills it; the rest is
refused.
"""

import contextlib
import http.client
import itertools
import json
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from urllib.parse import urlsplit

import pytest

import seepage as sp
from plan_examples import counts, three_forms
from report_examples import OTHER, PLAN, REPORTS, line
from seepage._core.errors import InputError
from seepage.app import connections
from seepage.app.report_store import StoreError
from seepage.collection.report_lines import MAX_LINE_BYTES
from spied_disk import SQLITE_FULL


def posted(connection, content, path="/reports", headers=None):
    """Send a line; give status and text of the answer."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    connection.request("POST", path, body, headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


@pytest.fixture
def receiver(tmp_path):
    with sp.Receiver(PLAN, tmp_path / "reports.db", port=0) as running:
        yield running


def connected(receiver):
    host = urlsplit(receiver.address).netloc
    return contextlib.closing(http.client.HTTPConnection(host, timeout=30))


@pytest.fixture
def connection(receiver):
    with connected(receiver) as one:
        yield one


def socket_of(receiver):
    address = urlsplit(receiver.address)
    return socket.create_connection((address.hostname, address.port), timeout=30)


def stored(path):
    """Return the ids and contents of a database's reports."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
        rows = base.execute("SELECT id, reports FROM reports")
        return {name: json.loads(reports) for name, reports in rows}


def test_a_line_is_stored_once_and_alone(receiver, connection):
    """Unknown fields are not kept: they could say who sent it."""
    for _ in range(3):
        assert posted(connection, line("a", address="192.0.2.1")) == (200, "stored\n")
    pretty = json.dumps(line("b"), indent=1).encode() + b"\n"
    assert posted(connection, pretty) == (200, "stored\n")
    assert stored(receiver.store.path) == {"a": REPORTS, "b": REPORTS}
    assert receiver.store.count == 2


@pytest.mark.parametrize(
    ("content", "status", "reason"),
    [
        (b"", 400, "malformed: it must be one JSON object"),
        (b"\xff\xfe", 400, "malformed: it must be one JSON object"),
        (b'{"plan": "\\ud800", "form": 1}', 400, "malformed"),
        (json.dumps(line("\ud800")).encode(), 400, "malformed"),
        (
            json.dumps(line("a")).encode() * 2,
            400,
            "malformed: it must be one JSON object",
        ),
        (line("a", plan=OTHER.collection), 409, "reports of another plan"),
        (line("a", form=2), 400, "malformed: its form must be from 1 to 1"),
        (line("a", reports={"sex": 1}), 400, "malformed: it must have the reports"),
        (line("a", report=1), 400, "malformed: it must have the reports"),
        (line("a", reports=REPORTS | {"sex": 2}), 400, "malformed: a report is none"),
        (
            line("a", reports=REPORTS | {"job": [0, 1]}),
            400,
            "malformed: a report is none",
        ),
        (line("x" * 65), 400, "malformed: its id must have 1 to 64 characters"),
        (line(""), 400, "malformed: its id"),
        (line(None), 400, "malformed: it must have an id"),
        (b"x" * (MAX_LINE_BYTES + 1), 413, "a line has at most 1,048,576 bytes"),
    ],
)
def test_what_is_no_report_of_the_plan_is_refused(
    receiver, connection, content, status, reason
):
    answered, text = posted(connection, content)
    assert (answered, text.startswith(reason)) == (status, True), text
    assert posted(connection, line("good")) == (200, "stored\n")
    assert stored(receiver.store.path) == {"good": REPORTS}


def test_an_id_belongs_to_its_first_report(receiver, connection):
    posted(connection, line("a"))
    status, text = posted(connection, line("a", reports=REPORTS | {"sex": 0}))
    assert (status, text) == (400, "malformed: its id belongs to another report\n")
    assert stored(receiver.store.path) == {"a": REPORTS}


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("", 400),
        ("Content-Length: 5\r\nContent-Length: 7\r\n", 400),
        ("Content-Length: -1\r\n", 400),
        (f"Content-Length: {'9' * 5000}\r\n", 400),
        ("Transfer-Encoding: gzip\r\n", 501),
        (f"X: {'x' * 200_000}\r\n", 400),
    ],
)
def test_a_request_that_is_none_is_refused(receiver, head, status):
    with socket_of(receiver) as client:
        client.sendall(f"POST /reports HTTP/1.1\r\nHost: [::1]\r\n{head}\r\n".encode())
        assert int(client.makefile().readline().split()[1]) in (400, status)


def test_a_line_that_ends_early_is_not_stored(receiver, connection):
    with socket_of(receiver) as client:
        content = json.dumps(line("a")).encode()
        client.sendall(b"POST /reports HTTP/1.1\r\nHost: localhost\r\n")
        client.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(content) + 1, content))
    assert posted(connection, line("b"))[0] == 200
    assert stored(receiver.store.path) == {"b": REPORTS}


def test_other_paths_are_refused(connection):
    assert posted(connection, line("a"), "/")[0] == 405
    for path in ("/reports.db", "/reports.db-wal", "/../plan.json"):
        connection.request("GET", path)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (404, b"Not Found")


def test_more_lines_than_the_rate_are_put_off(tmp_path):
    with (
        sp.Receiver(PLAN, tmp_path / "reports.db", port=0, rate=5) as receiver,
        connected(receiver) as client,
    ):
        statuses = Counter(posted(client, line(str(i)))[0] for i in range(20))
        assert statuses[200] >= 5
        assert statuses[429] >= 5
        time.sleep(1)
        assert posted(client, line("later"))[0] == 200
    assert len(stored(receiver.store.path)) == statuses[200] + 1


# Who may reach it ---------------------------------------------------------------------


def headers_of(connection, method, path, **headers):
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status, answer.headers


def test_other_origins_may_read_answers_to_reports_alone(connection):
    status, headers = headers_of(connection, "GET", "/", Origin="https://evil.example")
    assert status == 200
    assert not [name for name in headers if name.lower().startswith("access-control")]
    _, headers = headers_of(connection, "POST", "/reports", Origin="https://a.example")
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in headers


def test_answers_say_neither_time_nor_version(connection):
    for method, path in (("GET", "/"), ("POST", "/reports"), ("GET", "/other")):
        _, headers = headers_of(connection, method, path)
        assert not {"date", "server"} & {name.lower() for name in headers}


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:8000", 200),
        ("192.0.2.7", 200),
        ("survey.example.org", 200),
        ("Survey.Example.ORG.:443", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example:8000", 421),
        ("survey.example.org.evil.example", 421),
        ("", 421),
    ],
)
def test_a_name_that_leads_here_by_rebinding_is_refused(tmp_path, host, status):
    path = tmp_path / "reports.db"
    with sp.Receiver(PLAN, path, port=0, names=["survey.example.org"]) as receiver:
        with connected(receiver) as client:
            assert headers_of(client, "GET", "/", Host=host)[0] == status
            assert posted(client, line("a"), headers={"Host": host})[0] == status
        assert receiver.store.count == (status == 200)


# Connections --------------------------------------------------------------------------


@pytest.mark.posix
@pytest.mark.parametrize("start", [b"", b"POST /reports HTTP/1.1\r\nContent-Le"])
def test_connections_that_wait_shut_nobody_out(receiver, start):
    """Twice as many as there may be: the oldest give way, each honest sender is
    served.
    """
    with contextlib.ExitStack() as waiting:
        for number in range(2 * connections.MAX_CONNECTIONS):
            client = waiting.enter_context(socket_of(receiver))
            client.sendall(start)
            if number % 64 == 0 or number == 140:
                with connected(receiver) as honest:
                    assert posted(honest, line(str(number)))[0] == 200
        assert receiver.store.count == 9


def drip(client):
    for _ in range(200):
        client.sendall(b"X")
        time.sleep(0.05)


def test_a_sender_of_single_bytes_is_closed_at_the_deadline(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.5)
    with (
        sp.Receiver(PLAN, tmp_path / "reports.db", port=0) as receiver,
        socket_of(receiver) as slow,
        connected(receiver) as honest,
    ):
        begin = time.monotonic()
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            drip(slow)
        assert time.monotonic() - begin < 5
        assert posted(honest, line("a"))[0] == 200


def test_an_answer_that_is_not_taken_is_closed_at_the_deadline(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.5)
    with (
        sp.Receiver(PLAN, tmp_path / "reports.db", port=0) as receiver,
        socket_of(receiver) as client,
    ):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500)
        server = receiver._server.server_state
        deadline = time.monotonic() + 10
        while server.connections and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not server.connections


def test_threads_of_others_do_not_count(receiver, connection):
    done = threading.Event()
    others = [threading.Thread(target=done.wait) for _ in range(300)]
    for thread in others:
        thread.start()
    assert posted(connection, line("a"))[0] == 200
    done.set()
    for thread in others:
        thread.join()


def test_two_receivers_do_not_share_a_database_or_a_port(receiver, tmp_path):
    with pytest.raises(InputError, match="another receiver collects into it"):
        sp.Receiver(PLAN, receiver.store.path, port=0)
    port = urlsplit(receiver.address).port
    with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1, port {port}"):
        sp.Receiver(PLAN, tmp_path / "other.db", port=port)


def test_the_questionnaire_sends_its_report_to_the_receiver(receiver, tab):
    tab.goto(receiver.address)
    tab.wait_for_selector("html[data-ready]", timeout=60_000)
    for question in tab.locator("fieldset").all():
        question.locator("input").first.check()
    tab.click("text=Add noise")
    tab.click("text=Send the noisy result")
    tab.wait_for_selector("text=Thank you")
    tab.goto("about:blank")
    (sent,) = stored(receiver.store.path).values()
    assert set(sent) == {"sex", "job", "age", "ill"}
    assert PLAN.estimate(receiver.store.path).records == 1


# What is acknowledged -----------------------------------------------------------------


def test_no_answer_before_the_synchronisation_has_ended(disk, tmp_path):
    with (
        sp.Receiver(PLAN, tmp_path / "reports.db", port=0) as receiver,
        socket_of(receiver) as client,
    ):
        for name in ("a", "b"):
            content = json.dumps(line(name)).encode()
            disk.events.clear()
            disk.may_sync.clear()
            client.sendall(b"POST /reports HTTP/1.1\r\nHost: localhost\r\n")
            client.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(content), content))
            client.settimeout(0.5)
            with pytest.raises(TimeoutError):
                client.recv(1)
            assert ("write", "log") in disk.events
            disk.may_sync.set()
            client.settimeout(30)
            answer = b""
            while not answer.endswith(b"stored\n"):
                answer += client.recv(1000)
            assert answer.startswith(b"HTTP/1.1 200")
            assert ("sync", "log") in disk.events


def test_clients_share_synchronisations(disk, tmp_path):
    """Of the two that come first one is alone; the others wait for it together."""
    with sp.Receiver(PLAN, tmp_path / "reports.db", port=0) as receiver:
        disk.events.clear()
        disk.may_sync.clear()
        threads = [
            threading.Thread(target=send_one, args=(receiver, line(str(i % 50))))
            for i in range(100)
        ]
        for thread in threads:
            thread.start()
        time.sleep(1)
        disk.may_sync.set()
        for thread in threads:
            thread.join()
        assert receiver.store.count == 50
        assert disk.events.count(("sync", "log")) < 20
    assert sorted(map(int, stored(receiver.store.path))) == list(range(50))


def send_one(receiver, content):
    with connected(receiver) as client:
        assert posted(client, content) == (200, "stored\n")


def test_a_full_disk_is_told_and_nothing_is_acknowledged(disk, tmp_path):
    with sp.Receiver(PLAN, tmp_path / "reports.db", port=0) as receiver:
        with connected(receiver) as client:
            assert posted(client, line("a"))[0] == 200
            disk.error["write"] = SQLITE_FULL
            status, text = posted(client, line("b"))
            assert (status, text) == (503, "the line could not be stored\n")
        with pytest.raises(StoreError, match="the disk is full; what was acknowledged"):
            receiver.wait()
        disk.error.clear()
    assert set(stored(receiver.store.path)) == {"a"}


@pytest.mark.posix
def test_a_database_that_is_gone_is_told_and_nothing_is_acknowledged(
    receiver, connection
):
    assert posted(connection, line("a"))[0] == 200
    receiver.store.path.unlink()
    assert posted(connection, line("b"))[0] == 503
    with pytest.raises(StoreError, match=r"reports\.db is gone"):
        receiver.wait()


def test_lines_of_several_forms_are_read_and_exported_meanwhile(tmp_path):
    plan = three_forms(counts())
    sent = [
        {"form": 1, "reports": {"sex": 0, "job": [1]}},
        {"form": 2, "reports": {"job": 3, "ill": []}},
        {"form": 3, "report": 5},
    ]
    with sp.Receiver(plan, tmp_path / "reports.db", port=0) as receiver:
        with connected(receiver) as client:
            for name, fields in enumerate(sent * 2):
                content = {"plan": plan.collection, "id": str(name), **fields}
                assert posted(client, content)[0] == 200
            both = {"form": 3, "report": 1, "reports": {}}
            content = {"plan": plan.collection, "id": "x", **both}
            assert posted(client, content)[0] == 400
        assert plan.estimate(receiver.store.path).records == 6
        for name in ("out.parquet", "out.jsonl"):
            assert receiver.export(tmp_path / name) == 6
            assert plan.estimate(tmp_path / name).records == 6


def test_only_the_receiver_loads_a_server():
    """`collect` alone pays for it, and only where it receives."""
    code = (
        "import sys, seepage, contextlib, io\n"
        "from seepage.cli import main\n"
        "for words in (['--help'], ['collect', '--help']):\n"
        "    with contextlib.suppress(SystemExit), "
        "contextlib.redirect_stdout(io.StringIO()):\n"
        "        main(words)\n"
        "assert not {'starlette', 'uvicorn', 'anyio', 'h11', 'asyncio'} & "
        "set(sys.modules)\n"
        "seepage.Receiver\n"
        "assert 'starlette' in sys.modules and 'uvicorn' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Kills --------------------------------------------------------------------------------


class Process:
    """`seepage collect` in a process of its own, which can be killed and started
    again.
    """

    def __init__(self, folder):
        PLAN.save(folder / "plan.json")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._folder = folder
        self.start()

    def start(self):
        code = "from seepage.cli import main; main()"
        options = ["--port", str(self.port), "--rate", "1e6", "-o", "reports.db"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "collect", "plan.json", *options],
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline().startswith(
            f"questionnaire at http://127.0.0.1:{self.port}"
        )

    def end(self, how):
        self.process.send_signal(how)
        return self.ended()

    def ended(self):
        """Return status, output and errors of the process when it has ended."""
        output, errors = self.process.communicate(timeout=30)
        return self.process.returncode, output, errors


def send_all(port, lines, acknowledged):
    """Send each line until it is acknowledged, and some of them again."""
    client = None
    for number, one in enumerate(lines):
        repeats = 2 if number % 7 == 0 else 1
        while repeats:
            try:
                client = client or http.client.HTTPConnection(
                    "127.0.0.1", port, timeout=20
                )
                assert posted(client, one) == (200, "stored\n")
            except (OSError, http.client.HTTPException):
                client.close()
                client = None
                time.sleep(0.02)
            else:
                acknowledged.append(one["id"])
                repeats -= 1
    client.close()


def kill_while_receiving(folder, lines, clients, kills):
    receiver = Process(folder)
    acknowledged = []
    parts = [
        [line(f"{c}:{i}") for i in range(lines // clients)] for c in range(clients)
    ]
    threads = [
        threading.Thread(target=send_all, args=(receiver.port, part, acknowledged))
        for part in parts
    ]
    for thread in threads:
        thread.start()
    for kill in range(1, kills + 1):
        while len(acknowledged) < kill * lines // (kills + 1):
            time.sleep(0.001)
        receiver.end(signal.SIGKILL)
        receiver.start()
    for thread in threads:
        thread.join()
    code, rest, errors = receiver.end(signal.SIGINT)
    assert (code, rest, errors) == (0, f"{lines:,} reports -> reports.db\n", "")
    sent = {one["id"] for one in itertools.chain(*parts)}
    assert set(acknowledged) == sent
    assert stored(folder / "reports.db") == dict.fromkeys(sent, REPORTS)
    assert PLAN.estimate(folder / "reports.db").records == lines


@pytest.mark.posix
def test_kills_lose_nothing_that_was_acknowledged(tmp_path):
    kill_while_receiving(tmp_path, lines=800, clients=8, kills=2)


@pytest.mark.posix
@pytest.mark.slow
def test_twenty_kills_lose_nothing_that_was_acknowledged(tmp_path):
    kill_while_receiving(tmp_path, lines=20_000, clients=20, kills=20)


# The command --------------------------------------------------------------------------


@pytest.mark.posix
def test_the_command_ends_with_one_line_when_its_database_is_removed(tmp_path):
    receiver = Process(tmp_path)
    client = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=20)
    assert posted(client, line("a"))[0] == 200
    for file in tmp_path.glob("reports.db*"):
        file.unlink()
    assert posted(client, line("b"))[0] == 503
    client.close()
    code, output, errors = receiver.ended()
    assert (code, output) == (1, "")
    assert errors.startswith("seepage: reports can no longer be stored in ")
    assert errors.count("\n") == 1


@pytest.mark.posix
def test_the_command_exports_while_another_receives(tmp_path):
    receiver = Process(tmp_path)
    client = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=20)
    assert posted(client, line("a"))[0] == 200
    client.close()
    code = "from seepage.cli import main; main()"
    command = [sys.executable, "-c", code, "collect", "plan.json", "-o", "reports.db"]
    for name in ("out.parquet", "out.jsonl", "out.jsonl"):  # the last one again
        done = subprocess.run(
            [*command, "--export", name], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.stdout == f"1 reports of reports.db -> {name}\n", done.stderr
        assert PLAN.estimate(tmp_path / name).records == 1
    done = subprocess.run(
        [*command, "--export", "new.jsonl", "--port", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "--port has no effect: --export receives nothing" in done.stderr
    client = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=20)
    assert posted(client, line("b"))[0] == 200
    client.close()
    assert receiver.end(signal.SIGTERM)[0] == 128 + signal.SIGTERM
    assert len(stored(tmp_path / "reports.db")) == 2
