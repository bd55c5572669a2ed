"""Clients that send reports to a receiver as fast as it answers, in one process.

Run by `benchmarks.receiver`: port, a file with one line of JSON per report, clients.
"""

import selectors
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

STORED = b"stored\n"


def request(line: bytes) -> bytes:
    """Return the HTTP request that sends one line."""
    head = f"POST /reports HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(line)}"
    return head.encode() + b"\r\n\r\n" + line


def send_all(port: int, lines: list[bytes], clients: int) -> float:
    """Send each line once, by keep-alive connections; return the seconds it took."""
    selector = selectors.DefaultSelector()
    waiting = iter(lines)
    begin = time.perf_counter()
    for _ in range(clients):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(connection, selectors.EVENT_READ)
        _send_next(connection, waiting, selector)
    while selector.get_map():
        for key, _ in selector.select():
            connection = key.fileobj  # type: ignore[assignment]
            answer = connection.recv(1 << 16)
            if not answer:
                raise ConnectionError("the receiver closed a connection")
            if answer.endswith(STORED):
                _send_next(connection, waiting, selector)
            elif answer.startswith(b"HTTP/1.1 ") and answer[9:12] != b"200":
                raise ConnectionError(answer.decode())
    return time.perf_counter() - begin


def _send_next(
    connection: socket.socket,
    waiting: Iterator[bytes],
    selector: selectors.BaseSelector,
) -> None:
    """Send the next line, or close the connection if none is left."""
    line = next(waiting, None)
    if line is None:
        selector.unregister(connection)
        connection.close()
    else:
        connection.sendall(request(line))


if __name__ == "__main__":
    _, number, file, parallel = sys.argv
    content = Path(file).read_bytes().splitlines()
    print(send_all(int(number), content, int(parallel)))
