"""A small receiver of reports for pilots: an HTTP endpoint that stores what a plan's
clients send.

`GET /` is the questionnaire, `POST /reports` takes one line [`docs/wire.md`].  A line
is checked against the plan, stored, and then acknowledged with status 200.  It is on
disk by then: all lines that wait are committed together (group commit), so that twenty
clients share the cost of one `fsync`.  A line with an id that is stored already is
acknowledged again and not stored again, also after a restart.  Neither addresses nor
times are stored or logged.
"""

import ipaddress
import os
import socket
import threading
import time
from collections.abc import Sequence
from types import TracebackType

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from seepage._core import checks
from seepage._core.errors import InputError
from seepage.app.connections import BoundedConnection
from seepage.app.group_commit import GroupCommit
from seepage.app.report_store import ReportStore, StoreError
from seepage.collection.report_lines import FOREIGN, MAX_LINE_BYTES, LineError
from seepage.collection.stored_reports import export_reports
from seepage.pages.questionnaire import OWN_ENDPOINT, questionnaire_page
from seepage.workflow.plan import Plan

LOOPBACK = "127.0.0.1"


BACKLOG = 512
"""Connections that the system keeps until they are accepted."""


KEEP_ALIVE_SECONDS = 5
"""Seconds for which a connection may be idle after an answer."""


MAX_DISCARDED = 16 * MAX_LINE_BYTES
"""Bytes of a line that is too long that are read and dropped, so that its sender is
answered."""


MAX_HEADER_BYTES = 1 << 14


STOP_SECONDS = 5
"""Seconds that requests have to end when the receiver is closed."""


SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Headers of every answer."""


FROM_ANY_PAGE = {"Access-Control-Allow-Origin": "*"}
"""The header of answers to reports: the questionnaire may be a page of another origin.
Nothing else may be read by other origins."""


class Receiver:
    r"""An HTTP endpoint for the reports of a plan, which runs until it is closed.

    Parameters
    ----------
    plan
        The plan; clients must be able to draw its mechanisms, see `docs/wire.md`.
    path
        The database of reports, which ends in `.db`; it is continued if it exists.
    port
        The port; 0 for any that is free, see `address`.
    host
        The address to listen on; only this machine reaches the default.
    names
        Names of hosts under which others reach it, such as "survey.example.org": a
        request for any other name gets status 421.  Addresses and `localhost` are
        always among them.
    labels, title
        The texts of the questionnaire, see `Plan.write_questionnaire`.
    rate
        Maximum number of lines per second, in all; more get status 429, and clients try
        again.

    Attributes
    ----------
    store
        The database, with its `path` and the `count` of its reports.

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
    ...     with sp.Receiver(plan, f"{folder}/reports.db", port=0) as receiver:
    ...         address = f"{receiver.address}/reports"
    ...         for _ in range(2):  # the second is a retry
    ...             print(urlopen(address, msgspec.json.encode(line)).read())
    ...         while_running = plan.estimate(f"{folder}/reports.db")
    b'stored\n'
    b'stored\n'
    >>> while_running.records
    1
    """

    def __init__(
        self,
        plan: Plan,
        path: str | os.PathLike[str],
        *,
        port: int = 8000,
        host: str = LOOPBACK,
        names: Sequence[str] = (),
        labels: str | os.PathLike[str] | None = None,
        title: str | None = None,
        rate: float = 1000.0,
    ) -> None:
        """Listen for the reports of a plan, and store them."""
        checks.instance(plan, "plan", Plan, "a Plan")
        self._plan = plan
        self._pace = Pace(checks.weight(rate, "rate"))
        number = checks.integer(port, "port", 0, (1 << 16) - 1)
        host_name = checks.text(host, "host")
        known_names = [checks.text(name, "each of names") for name in names]
        page = questionnaire_page(
            plan, labels=labels, endpoint=OWN_ENDPOINT, title=title
        )
        self.store = ReportStore(plan, path)
        try:
            self._socket = _listening(host_name, number)
        except BaseException:
            self.store.close()
            raise
        self._commits = GroupCommit(self.store, self._stop)
        application = self._application(page, [host_name, *known_names])
        self._server = uvicorn.Server(_settings(application))
        self._ended = threading.Event()
        self.address = _address(self._socket)
        threading.Thread(target=self._serve, daemon=True).start()

    def _application(self, page: str, names: Sequence[str]) -> Starlette:
        """Return the application of the receiver: the questionnaire, and the endpoint
        of reports.
        """

        async def questionnaire(request: Request) -> Response:
            """Serve the questionnaire from the receiver."""
            return HTMLResponse(page, headers=SECURITY_HEADERS)

        routes = [
            Route("/", questionnaire, methods=["GET"]),
            Route(f"/{OWN_ENDPOINT}", self._receive, methods=["POST"]),
        ]
        middleware = [Middleware(GuardedHost, names=names)]
        return Starlette(routes=routes, middleware=middleware)

    def _serve(self) -> None:
        """Answer requests to the receiver until `_stop`, in a thread of its own."""
        try:
            self._server.run([self._socket])
        finally:
            self._ended.set()

    async def _receive(self, request: Request) -> Response:
        """Receive a line, store and acknowledge it; one that is refused gets the reason
        as text.
        """
        try:
            content = await _content(request)
        except ClientDisconnect:
            return _answer(400, "the line ends early")
        if content is None:
            return _answer(413, f"a line has at most {MAX_LINE_BYTES:,} bytes")
        if not self._pace.admits():
            return _answer(429, "too many lines at once: try again in a second")
        try:
            row = self.store.row_of(content)
            rejection = await self._commits.stored(row)
        except LineError as error:
            rejection = error
        except StoreError:
            return _answer(503, "the line could not be stored")
        if rejection is None:
            return _answer(200, "stored")
        return _answer(409 if rejection.reason == FOREIGN else 400, str(rejection))

    def _stop(self) -> None:
        """Let the receiver's server end: requests that wait are answered first."""
        self._server.should_exit = True

    def wait(self) -> None:
        """Wait until the receiver is closed or this thread is interrupted.

        Raises the `StoreError` if the database has failed.
        """
        self._ended.wait()
        if self.store.failure is not None:
            raise self.store.failure

    def close(self) -> None:
        """Stop receiving. Lines that were not acknowledged may be stored or not."""
        self._stop()
        self._ended.wait()
        self._socket.close()
        self._commits.close()
        self.store.close()

    def export(self, output: str | os.PathLike[str]) -> int:
        """Write the reports received so far to a file; return their number.

        Parameters
        ----------
        output
            A file that ends in `.parquet` or `.jsonl`, written whole or not at all.
        """
        return export_reports(self._plan, self.store.path, output)

    def __enter__(self) -> "Receiver":
        """Return the receiver."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop receiving."""
        self.close()


class Pace:
    """The lines of the current second, counted up to a maximum rate.

    Parameters
    ----------
    rate
        Maximum number of lines per second.
    """

    def __init__(self, rate: float) -> None:
        """Begin to count the lines that a receiver admits at a rate."""
        self._rate = rate
        self._second = 0
        self._lines = 0

    def admits(self) -> bool:
        """Count one more line received; return whether it is within the rate."""
        second = int(time.monotonic())
        if second != self._second:
            self._second = second
            self._lines = 0
        self._lines += 1
        return self._lines <= self._rate


class GuardedHost:
    """Answers requests for known hosts alone.

    A page of another site whose name suddenly leads to this machine (DNS rebinding)
    sends its own name.  Addresses cannot be rebound.

    Parameters
    ----------
    app
        The application behind.
    names
        The names of hosts beside `localhost`.
    """

    def __init__(self, app: ASGIApp, names: Sequence[str]) -> None:
        """Guard a receiver's application by the host names that it has."""
        self._app = app
        self._names = {"localhost", *(name.lower().rstrip(".") for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request to the receiver if its Host header is known."""
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if self._knows(host):
            await self._app(scope, receive, send)
        else:
            await _answer(421, "this host is not served here")(scope, receive, send)

    def _knows(self, host: str) -> bool:
        """Return whether a Host header names an address of the receiver or a known
        name.
        """
        name = _without_port(host).lower().rstrip(".")
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _without_port(host: str) -> str:
    """Return the host of a Host header to the receiver, an IPv6 address without its
    brackets.
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


async def _content(request: Request) -> bytes | None:
    """Return the body of a request to the receiver; None if it is longer than a line
    may be.
    """
    parts = list[bytes]()
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_DISCARDED:
            return None
        if size > MAX_LINE_BYTES:
            parts.clear()
        else:
            parts.append(part)
    return b"".join(parts) if size <= MAX_LINE_BYTES else None


def _answer(status: int, text: str) -> Response:
    """Return the receiver's answer to a report, which pages of all origins may read."""
    headers = SECURITY_HEADERS | FROM_ANY_PAGE
    return PlainTextResponse(f"{text}\n", status_code=status, headers=headers)


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket on which a receiver listens; an address that is in use raises an
    InputError.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as problem:
        raise InputError(
            f"cannot listen on {host}, port {port}: {problem.strerror or problem}"
        ) from None


def _address(listener: socket.socket) -> str:
    """Return the address of a receiver's questionnaire."""
    host, port = listener.getsockname()[:2]
    if ":" in host:
        host = f"[{host}]"
    return f"http://{host}:{port}"


def _settings(application: Starlette) -> uvicorn.Config:
    """Return the settings of a receiver's server: no logs, for they would tell who sent
    what when.
    """
    return uvicorn.Config(
        application,
        http=BoundedConnection,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
    )
