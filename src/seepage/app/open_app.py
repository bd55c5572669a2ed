"""`seepage.open`: the app in the browser of this machine."""

import atexit
import os
import secrets
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from html import escape
from typing import Any

import uvicorn

from seepage._core import checks
from seepage._core.errors import InputError
from seepage.app.access import Access
from seepage.app.application import Application
from seepage.app.first_table import opened_source
from seepage.app.workspace import private_folder

LOOPBACK = "127.0.0.1"
"""The address that the app listens on: this machine alone."""


class RunningApp:
    """The app while it runs; it ends with `close`, with the block, or with Python.

    Attributes
    ----------
    address
        The address with its token, which works once, in one browser of this machine.
    port
        The port that it listens on.
    """

    def __init__(self, data: Any, port: int) -> None:
        """Start the app and its server in a thread."""
        with ExitStack() as resources:
            listener = resources.enter_context(listening_socket(port))
            folder = resources.enter_context(private_folder())
            source = None
            if data is not None:
                source = opened_source(data, folder)
            self._resources = resources.pop_all()
        token = secrets.token_urlsafe(32)
        self.port: int = listener.getsockname()[1]
        self.address = f"http://{LOOPBACK}:{self.port}/?token={token}"
        application = Application(folder, source)
        config = uvicorn.Config(
            Access(application.asgi, self.port, token),
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
            limit_concurrency=64,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, daemon=True
        )
        self._thread.start()
        atexit.register(self.close)

    def wait(self) -> None:
        """Wait until the app ends, or for Ctrl-C."""
        while self._thread.is_alive():
            time.sleep(0.2)

    def close(self) -> None:
        """End the open app, and remove what it kept."""
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._resources.close()
        atexit.unregister(self.close)

    def __enter__(self) -> "RunningApp":
        """Return the open app."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the open app."""
        self.close()

    def __repr__(self) -> str:
        """Return the address of the open app."""
        return f"RunningApp({self.address})"

    def _repr_html_(self) -> str:
        """Return a link to the open app."""
        address = escape(self.address)
        return (
            f'<p>seepage runs at <a href="{address}" target="_blank">{address}</a>, '
            "which works once.</p>"
        )


def open(  # noqa: A001
    data: Any = None,
    *,
    port: int = 0,
    browser: bool = True,
) -> RunningApp:
    """Open the app: from a table to a signed plan in the browser of this machine.

    Nothing leaves the machine: the app listens on the loopback address alone, and lets
    in the one browser that shows the token of the address.

    Parameters
    ----------
    data
        A frame, the path of a file or folder, or the name of a dataset to start with;
        by default the page asks for one.
    port
        The port; 0 for any that is free.
    browser
        Open the browser; otherwise its `address` is to be opened by hand.

    Examples
    --------
    >>> import seepage as sp
    >>> with sp.open(browser=False) as app:
    ...     app.address.startswith("http://127.0.0.1:")
    True
    """
    number = checks.integer(port, "port", 0, (1 << 16) - 1)
    checks.flag(browser, "browser")
    app = RunningApp(data, number)
    if browser:
        webbrowser.open(app.address)
    return app


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raise SystemExit in the open app, so that all is removed, where a signal would
    end Python at once: `kill`, and a terminal that is closed.
    """
    previous = dict[int, Any]()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # no SIGHUP on Windows
            number = getattr(signal, name)
            previous[number] = signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _end(number: int, _: object) -> None:
    """End the open app with the status that shells give to a signal."""
    sys.exit(128 + number)


def listening_socket(port: int) -> socket.socket:
    """Return a socket of the app that listens on the loopback address."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere it would let two programs share the port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except OSError as problem:
        listener.close()
        raise InputError(
            f"port {port} cannot be used: {problem.strerror}; 0 is any that is free",
            parameter="port",
        ) from None
    listener.listen()
    return listener
