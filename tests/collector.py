"""A local endpoint that collects reports and serves files, and can fail on purpose."""

import contextlib
import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

POLL = 0.01
"""Seconds between looks at whether the server is to stop, for which its end waits."""


class Collector(SimpleHTTPRequestHandler):
    """Serves a folder; a POST is kept as a line, or answered with the next planned
    status.
    """

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            status = self.server.statuses.pop(0) if self.server.statuses else 200
            self.server.arrived.append(json.loads(body))
            if status == 200:
                self.server.lines.append(body)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def collecting(folder):
    """Give a server of a folder with `lines`, all that `arrived`, and `statuses` to
    answer.
    """
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Collector, directory=str(folder))
    )
    server.lines = []
    server.arrived = []
    server.statuses = []
    server.lock = threading.Lock()
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(POLL,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
