"""Hostile senders beside an honest one: what was acknowledged is stored, each once."""

import contextlib
import http.client
import json
import random
import socket
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

STATUSES = {
    "200",
    "400",
    "404",
    "405",
    "408",
    "409",
    "413",
    "414",
    "421",
    "429",
    "431",
    "501",
}
"""Statuses of answers to requests of any kind."""

HONEST = 12
"""Reports of the honest sender."""


def receivers(rng: random.Random, folder: Path) -> None:
    """Send junk to a receiver, and reports; open the database again."""
    import seepage as sp

    plan = sp.calibrate("survey", 2.0, columns=["coffee", "sleep"], guarantee="worst")
    path = folder / "reports.db"
    acknowledged = dict[str, Any]()
    for run in range(2):
        with sp.Receiver(plan, path, port=0) as receiver:
            host = urlsplit(receiver.address).hostname or ""
            port = urlsplit(receiver.address).port or 0
            waiting = list[socket.socket]()
            for number in range(HONEST):
                report = draw_report(rng, plan, f"{run}-{number}")
                send_junk(rng, (host, port), report, waiting)
                acknowledged[report["id"]] = report["reports"]
                send_report(host, port, report)
            for connection in waiting:
                connection.close()
            if receiver.store.failure is not None:
                raise receiver.store.failure
    with contextlib.closing(sqlite3.connect(path)) as base:
        rows = base.execute("SELECT id, reports FROM reports").fetchall()
    stored = {name: json.loads(text) for name, text in rows}
    lost = {name for name, sent in acknowledged.items() if stored.get(name) != sent}
    if lost or len(rows) != len(stored):
        raise AssertionError(f"acknowledged and not stored as sent: {lost}")
    if plan.estimate(path).records != len(stored):
        raise AssertionError("some stored lines are no reports")


def draw_report(rng: random.Random, plan: Any, name: str) -> dict[str, Any]:
    """Return a line of random reports."""
    sizes = {attribute.name: attribute.size for attribute in plan.domain}
    reports = dict[str, Any]()
    for question in plan.forms[0].channel.questions:
        k = sizes[question.attribute]
        reports[question.attribute] = rng.randrange(k)
        if question.mechanism != "grr":
            mechanism = question.mechanism_for(k)
            size = mechanism.size or rng.randrange(k + 1)
            reports[question.attribute] = sorted(rng.sample(range(k), size))
    return {"plan": plan.collection, "id": name, "form": 1, "reports": reports}


def send_report(host: str, port: int, report: Any) -> None:
    """Send a line as clients do, twice; raise unless it is acknowledged."""
    client = http.client.HTTPConnection(host, port, timeout=20)
    with contextlib.closing(client):
        for _ in range(2):
            client.request("POST", "/reports", json.dumps(report))
            answer = client.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise AssertionError(
                    f"{report} is answered with {answer.status} {text!r}"
                )


def send_junk(
    rng: random.Random,
    address: tuple[str, int],
    report: Any,
    waiting: list[socket.socket],
) -> None:
    """Send one request that is none, or an edited line under the id of a report to
    come.

    Only the report itself may be stored under its id; so the edited line has another.
    """
    body = json.dumps(edited(rng, report)).encode()
    requests = [
        rng.randbytes(rng.randrange(200)),
        post(body[: rng.randrange(len(body))], length=len(body)),
        post(body, length=rng.choice([-1, 10**9, 10**30])),
        post(body, length=len(body), extra=b"Transfer-Encoding: chunked\r\n"),
        post(b"zz\r\n" + body, extra=b"Transfer-Encoding: chunked\r\n"),
        post(b"[" * rng.choice([10, 10**5])),
        post(body.replace(b"0", b"\xff", 1)),
        post(body, host=b"evil.example"),
        post(body, extra=b"Content-Encoding: gzip\r\n"),
        post(body, extra=b"X: " + b"a" * rng.choice([10, 10**5]) + b"\r\n"),
        post(body),
        b"GET /"
        + b"a" * rng.choice([3, 10**5])
        + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"OPTIONS /reports HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /reports HTTP/9.9\r\n\r\n",
        b"POST /reports HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    ]
    connection = socket.create_connection(address, timeout=20)
    waiting.append(connection)
    with contextlib.suppress(ConnectionError):
        connection.sendall(rng.choice(requests))
        if rng.random() < 0.5:
            return  # a connection that waits
        connection.shutdown(socket.SHUT_WR)
        check_answer(connection.recv(1 << 16))


def post(
    body: bytes,
    *,
    length: int | None = None,
    host: bytes = b"localhost",
    extra: bytes = b"",
) -> bytes:
    """Return a request that sends a line, with a length and headers of any kind."""
    size = len(body) if length is None else length
    head = b"POST /reports HTTP/1.1\r\nHost: %s\r\n%s" % (host, extra)
    if b"Transfer-Encoding" not in extra or length is not None:
        head += b"Content-Length: %d\r\n" % size
    return head + b"\r\n" + body


def edited(rng: random.Random, report: dict[str, Any]) -> Any:
    """Return a line with one field changed, and another id."""
    line = {**report, "id": f"{report['id']}-edited"}
    field = rng.choice(["plan", "form", "reports", "more", "id"])
    junk: list[Any] = [
        None,
        -1,
        2**70,
        1e300,
        "x",
        "\ud800",
        [],
        {},
        {"coffee": 9},
        True,
    ]
    line[field] = rng.choice(junk)
    if line["id"] == report["id"]:
        raise AssertionError("an edited line has another id")
    return rng.choice([line, [line], json.dumps(line), None])


def check_answer(answer: bytes) -> None:
    """Raise unless an answer is none at all, or of one of the statuses expected."""
    if not answer:
        return
    status = answer.split(b" ", 2)[1].decode("latin-1")
    if status not in STATUSES:
        raise AssertionError(f"junk is answered with {answer[:200]!r}")
