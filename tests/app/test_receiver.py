"""The receiver: what it acknowledged is stored once, whatever kills it; the rest is
refused.
"""

import contextlib
import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from urllib.parse import urlsplit

import pytest

import seepage as sp
from plan_examples import counts, plan_for, three_forms
from seepage._core.errors import InputError
from seepage.app.report_log import ReportLog
from seepage.collection.report_lines import MAX_LINE_BYTES, LineError, read_report_lines

PLAN = plan_for(counts(), 1.0, {"sex": "grr", "job": "ss", "age": "oue", "ill": "grr"})
OTHER = plan_for(counts(), 2.0, {"sex": "grr", "job": "ss", "age": "oue", "ill": "grr"})
REPORTS = {"sex": 1, "job": [2], "age": [0, 2], "ill": 0}


def line(name, **fields):
    return {
        "plan": PLAN.collection,
        "form": 1,
        "id": name,
        "reports": REPORTS,
        **fields,
    }


def posted(connection, content, path="/reports"):
    """Send a line; give status and text of the answer."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    connection.request("POST", path, body)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


@pytest.fixture
def receiver(tmp_path):
    with sp.Receiver(PLAN, tmp_path / "reports.jsonl", port=0) as running:
        yield running


@pytest.fixture
def connection(receiver):
    with contextlib.closing(
        http.client.HTTPConnection(urlsplit(receiver.address).netloc)
    ) as one:
        yield one


def stored(path):
    return [json.loads(text) for text in path.read_text().splitlines()]


def test_a_line_is_stored_once_and_alone(receiver, connection):
    """Unknown fields are not kept: they could say who sent it."""
    for _ in range(3):
        assert posted(connection, line("a", address="192.0.2.1")) == (200, "stored\n")
    pretty = json.dumps(line("b"), indent=1).encode() + b"\n"
    assert posted(connection, pretty) == (200, "stored\n")
    assert stored(receiver.log.path) == [line("a"), line("b")]
    assert os.name == "nt" or receiver.log.path.stat().st_mode & 0o777 == 0o600


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
    assert stored(receiver.log.path) == [line("good")]


def test_an_id_belongs_to_its_first_report(receiver, connection):
    posted(connection, line("a"))
    status, text = posted(connection, line("a", reports=REPORTS | {"sex": 0}))
    assert (status, text) == (400, "malformed: its id belongs to another report\n")
    assert stored(receiver.log.path) == [line("a")]


@pytest.mark.parametrize(
    "head",
    [
        "Transfer-Encoding: chunked\r\n",
        "",
        "Content-Length: 5\r\nContent-Length: 7\r\n",
        "Content-Length: -1\r\n",
        f"Content-Length: {'9' * 5000}\r\n",
    ],
)
def test_a_line_of_unknown_length_is_refused(receiver, head):
    with socket.create_connection(receiver.server_address) as client:
        client.sendall(f"POST /reports HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode())
        assert (
            client.makefile().readline()
            == "HTTP/1.1 411 Length Required\r\n"[:-2] + "\n"
        )


def test_other_paths_are_refused(connection):
    assert posted(connection, line("a"), "/")[0] == 404
    connection.request("GET", "/reports.jsonl")
    assert connection.getresponse().status == 404


def test_more_lines_than_the_rate_are_put_off(tmp_path):
    with sp.Receiver(PLAN, tmp_path / "reports.jsonl", port=0, rate=5) as receiver:
        client = http.client.HTTPConnection(urlsplit(receiver.address).netloc)
        statuses = Counter(posted(client, line(str(i)))[0] for i in range(20))
        assert statuses[200] >= 5
        assert statuses[429] >= 10
        time.sleep(1)
        assert posted(client, line("later"))[0] == 200
        client.close()
    assert len(stored(receiver.log.path)) == statuses[200] + 1


def test_connections_beyond_the_maximum_are_closed(receiver, monkeypatch):
    monkeypatch.setattr(
        "seepage.app.receiver.MAX_CONNECTIONS", threading.active_count()
    )

    with socket.create_connection(receiver.server_address) as first:
        first.sendall(b"GET / HTTP/1.1\r\n")
        time.sleep(0.05)
        with socket.create_connection(receiver.server_address) as second:
            assert second.recv(1) == b""


def test_the_questionnaire_sends_its_report_to_the_receiver(receiver, tab):
    tab.goto(receiver.address)
    tab.wait_for_selector("html[data-ready]", timeout=60_000)
    for question in tab.locator("fieldset").all():
        question.locator("input").first.check()
    tab.click("text=Add noise")
    tab.click("text=Send the noisy result")
    tab.wait_for_selector("text=Thank you")
    tab.goto("about:blank")
    (sent,) = stored(receiver.log.path)
    assert set(sent["reports"]) == {"sex", "job", "age", "ill"}
    assert PLAN.estimate(receiver.log.path).records == 1


# The file -----------------------------------------------------------------------------


def appended(path, *names):
    log = ReportLog(PLAN, path)
    for name in names:
        log.append(json.dumps(line(name)).encode())
    log.close()
    return log


def test_a_torn_last_line_is_ended_and_skipped(tmp_path):
    """Wherever it is torn, earlier lines stay, and the same line can be stored again."""
    path = tmp_path / "reports.jsonl"
    appended(path, "first", "second")
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    for size in [*range(start, len(whole) - 4, 9), *range(len(whole) - 4, len(whole))]:
        path.write_bytes(whole[:size])
        appended(path, "second", "second", "third")
        assert read_report_lines(PLAN, [path])[0].num_rows == 3, size
        ids = [
            json.loads(text)["id"]
            for text in path.read_text().splitlines()
            if text.endswith("}}")
        ]
        assert ids[-3:] == ["first", "second", "third"]


def test_a_first_line_that_is_torn_does_not_end_the_collection(tmp_path):
    path = tmp_path / "reports.jsonl"
    appended(path, "first")
    path.write_bytes(path.read_bytes()[:20])
    log = appended(path, "first")
    assert (log.count, log.skipped) == (1, 1)


@pytest.mark.parametrize(
    "content",
    [b"age,sex\n39,F\n", json.dumps(line("a", plan=OTHER.collection)).encode()],
)
def test_a_file_of_something_else_stays_as_it_is(tmp_path, content):
    path = tmp_path / "reports.jsonl"
    path.write_bytes(content)
    with pytest.raises(
        InputError, match="must be a new file or one that was collected with this"
    ):
        sp.Receiver(PLAN, path, port=0)
    assert path.read_bytes() == content


def test_two_receivers_do_not_share_a_file_or_a_port(receiver, tmp_path):
    with pytest.raises(InputError, match="another receiver collects into it"):
        sp.Receiver(PLAN, receiver.log.path, port=0)
    port = receiver.server_address[1]
    with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1, port {port}"):
        sp.Receiver(PLAN, tmp_path / "other.jsonl", port=port)


@pytest.mark.parametrize("fault", ["write", "fsync"])
def test_nothing_is_acknowledged_after_a_failure_of_the_disk(
    receiver, connection, fault
):
    """What is on disk after a failed write or fsync is unknown, until the next start."""
    posted(connection, line("before"))

    def fail(*_):
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patched:
        if fault == "fsync":
            patched.setattr(os, "fsync", fail)
        else:
            patched.setattr(receiver.log, "_file", type("Full", (), {"write": fail})())
        assert posted(connection, line("a"))[0] == 503
    status, text = posted(connection, line("b"))
    assert (status, text) == (
        503,
        "the line could not be stored: No space left on device\n",
    )
    receiver.log.close()
    appended(receiver.log.path, "a", "b")
    assert Counter(one["id"] for one in stored(receiver.log.path)) == dict.fromkeys(
        ("before", "a", "b"), 1
    )


def test_many_threads_share_one_fsync(tmp_path, monkeypatch):
    syncs = []
    sync = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda file: (syncs.append(file), time.sleep(0.01), sync(file))
    )
    log = ReportLog(PLAN, tmp_path / "reports.jsonl")
    syncs.clear()
    threads = [
        threading.Thread(
            target=log.append, args=(json.dumps(line(str(i % 50))).encode(),)
        )
        for i in range(100)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    assert sorted(int(one["id"]) for one in stored(log.path)) == list(range(50))
    assert len(syncs) < 40


def test_lines_of_several_forms_are_read_by_estimate(tmp_path):
    plan = three_forms(counts())
    log = ReportLog(plan, tmp_path / "reports.jsonl")
    sent = [
        {"form": 1, "reports": {"sex": 0, "job": [1]}},
        {"form": 2, "reports": {"job": 3, "ill": []}},
        {"form": 3, "report": 5},
    ]
    for name, fields in enumerate(sent * 2):
        log.append(
            json.dumps({"plan": plan.collection, "id": str(name), **fields}).encode()
        )
    both = {"plan": plan.collection, "id": "x", "form": 3, "report": 1, "reports": {}}
    with pytest.raises(LineError, match="must have the reports that its form asks for"):
        log.append(json.dumps(both).encode())
    log.close()
    assert plan.estimate(log.path).records == 6


# Kills --------------------------------------------------------------------------------


class Process:
    """`seepage collect` in a process of its own, which can be killed and started again."""

    def __init__(self, folder):
        PLAN.save(folder / "plan.json")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._folder = folder
        self.start()

    def start(self):
        code = "from seepage.cli import main; main()"
        options = ["--port", str(self.port), "--rate", "1e6"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "collect", "plan.json", *options],
            cwd=self._folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline().startswith(
            f"questionnaire at http://127.0.0.1:{self.port}"
        )

    def end(self, how):
        self.process.send_signal(how)
        rest = self.process.communicate(timeout=30)[0]
        return self.process.returncode, rest


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
    code, rest = receiver.end(signal.SIGINT)
    assert (code, rest) == (0, f"{lines:,} reports -> reports.jsonl\n")
    sent = {one["id"] for one in itertools.chain(*parts)}
    found = Counter(one["id"] for one in stored(folder / "reports.jsonl"))
    assert set(acknowledged) == sent
    assert found == dict.fromkeys(sent, 1)
    assert PLAN.estimate(folder / "reports.jsonl").records == lines


@pytest.mark.posix
def test_kills_lose_nothing_that_was_acknowledged(tmp_path):
    kill_while_receiving(tmp_path, lines=800, clients=8, kills=2)


@pytest.mark.posix
@pytest.mark.slow
def test_ten_kills_lose_nothing_that_was_acknowledged(tmp_path):
    kill_while_receiving(tmp_path, lines=20_000, clients=20, kills=10)
