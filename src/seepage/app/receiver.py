"""A small receiver of reports for pilots: an HTTP endpoint that stores what a plan's
clients send.

`GET /` is the questionnaire, `POST /reports` takes one line [`docs/wire.md`].  A line
is checked against the plan, stored, and then acknowledged with status 200.  It is on
disk by then: all lines that wait are written together and followed by one `fsync`
(group commit), so that twenty clients share its cost.  A line with an id that is stored
already is acknowledged again and not stored again, also after a restart.  Neither
addresses nor times are stored or logged.
"""

import os
import re
import socket
import socketserver
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import Any, cast

from seepage._core import checks
from seepage._core.errors import InputError
from seepage.app.report_log import ReportLog
from seepage.collection.report_lines import FOREIGN, MAX_LINE_BYTES, LineError
from seepage.pages.questionnaire import OWN_ENDPOINT, questionnaire_page
from seepage.workflow.plan import Plan

LOOPBACK = "127.0.0.1"


MAX_CONNECTIONS = 128
"""Threads of the process, one for each connection; further connections are closed."""


CHUNK = 1 << 16


MAX_DISCARDED = 16 * MAX_LINE_BYTES
"""Bytes of a line that is too long that are read and dropped, so that its sender is
answered."""


LENGTH = re.compile("[0-9]{1,18}")
"""The one Content-Length of a request."""


SECONDS = 10.0
"""Seconds for which a connection may be silent."""


class Receiver(socketserver.ThreadingTCPServer):
    r"""An HTTP endpoint for the reports of a plan, which runs until it is closed.

    Parameters
    ----------
    plan
        The plan; clients must be able to draw its mechanisms, see `docs/wire.md`.
    path
        The file of reports, JSON Lines; it is continued if it exists.
    port
        The port; 0 for any that is free, see `address`.
    host
        The address to listen on; only this machine reaches the default.
    labels, title
        The texts of the questionnaire, see `Plan.write_questionnaire`.
    rate
        Maximum number of lines per second, in all; more get status 429, and clients try
        again.

    Attributes
    ----------
    log
        The file of reports, with the `count` of its lines and of those `skipped` as
        malformed.

    Examples
    --------
    >>> import msgspec
    >>> import seepage as sp, tempfile
    >>> from urllib.request import urlopen
    >>> plan = sp.calibrate(
    ...     "survey", 2.0, columns=["coffee", "sleep"], guarantee="worst"
    ... )
    >>> line = {"plan": plan.collection, "id": "6f7a", "form": 1}
    >>> line["reports"] = {"coffee": 1, "sleep": 0}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with sp.Receiver(plan, f"{folder}/reports.jsonl", port=0) as receiver:
    ...         address = f"{receiver.address}/reports"
    ...         for _ in range(2):  # the second is a retry
    ...             print(urlopen(address, msgspec.json.encode(line)).read())
    ...     found = plan.estimate(f"{folder}/reports.jsonl")
    b'stored\n'
    b'stored\n'
    >>> found.records
    1
    """

    allow_reuse_address = daemon_threads = True
    _thread: threading.Thread | None = None
    request_queue_size = MAX_CONNECTIONS

    def __init__(
        self,
        plan: Plan,
        path: str | os.PathLike[str],
        *,
        port: int = 8000,
        host: str = LOOPBACK,
        labels: str | os.PathLike[str] | None = None,
        title: str | None = None,
        rate: float = 1000.0,
    ) -> None:
        checks.instance(plan, "plan", Plan, "a Plan")
        self._rate = checks.weight(rate, "rate")
        self._second = 0
        self._lines = 0
        number = checks.integer(port, "port", 0, (1 << 16) - 1)
        name = checks.text(host, "host")
        page = questionnaire_page(
            plan, labels=labels, endpoint=OWN_ENDPOINT, title=title
        )
        self.page = page.encode()
        self._pace = threading.Lock()
        self.address_family = socket.AF_INET6 if ":" in name else socket.AF_INET
        self.log = ReportLog(plan, path)
        try:
            super().__init__((name, number), _Handler)
        except OSError as problem:
            raise InputError(
                f"cannot listen on {name}, port {number}: {problem.strerror or problem}"
            ) from None
        self._thread = threading.Thread(
            target=self.serve_forever, args=(0.1,), daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """The address of the questionnaire."""
        host, port = self.socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def wait(self) -> None:
        """Wait until the receiver is closed, or this thread is interrupted."""
        if self._thread is not None:
            self._thread.join()

    def server_close(self) -> None:
        """Stop listening.  Lines that were not acknowledged may be stored or not."""
        if self._thread is not None:
            self.shutdown()
        super().server_close()
        self.log.close()

    def is_within_rate(self) -> bool:
        """Return whether one more line is within the rate, and count it."""
        with self._pace:
            if (now := int(time.monotonic())) != self._second:
                self._second = now
                self._lines = 0
            self._lines += 1
            return self._lines <= self._rate

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether there is a thread for one more connection; else it is closed."""
        return threading.active_count() <= MAX_CONNECTIONS

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that break: their lines are not acknowledged."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    server_version = "seepage"
    sys_version = ""
    error_message_format = "%(explain)s\n"
    error_content_type = "text/plain;charset=utf-8"
    timeout = SECONDS
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Send the questionnaire."""
        if self.path.partition("?")[0] == "/":
            self._answer(cast(Receiver, self.server).page, "text/html;charset=utf-8")
        else:
            self.send_error(404, explain="the questionnaire is at /")

    def do_POST(self) -> None:
        """Store a line and acknowledge it; one that is refused gets the reason as text."""
        status, reason = self._received()
        if status == 200:
            self._answer(b"stored\n", "text/plain;charset=utf-8")
        else:
            self.send_error(status, explain=reason)

    def _received(self) -> tuple[int, str]:
        """Store the line of a request; return the status, and the reason if it is
        refused.
        """
        receiver = cast(Receiver, self.server)
        if self.path != f"/{OWN_ENDPOINT}":
            return 404, f"reports are sent to /{OWN_ENDPOINT}"
        lengths = self.headers.get_all("Content-Length", [])
        if "Transfer-Encoding" in self.headers or not LENGTH.fullmatch(
            ",".join(lengths)
        ):
            return 411, "a line must be sent with its Content-Length"
        if (size := int(lengths[0])) > MAX_LINE_BYTES:
            for start in range(0, min(size, MAX_DISCARDED), CHUNK):
                self.rfile.read(min(CHUNK, size - start))
            return 413, f"a line has at most {MAX_LINE_BYTES:,} bytes"
        if len(content := self.rfile.read(size)) < size:
            raise ConnectionError("the line ends early")
        if not receiver.is_within_rate():
            return 429, "too many lines at once: try again in a second"
        try:
            receiver.log.append(content)
        except LineError as error:
            return 409 if error.reason == FOREIGN else 400, str(error)
        except OSError as problem:
            return 503, f"the line could not be stored: {problem}"
        return 200, ""

    def _answer(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def end_headers(self) -> None:
        """End the headers with those of every answer; pages of other origins may send
        reports.
        """
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Log nothing: addresses and times would tell who sent which line."""
