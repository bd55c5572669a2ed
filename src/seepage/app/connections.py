"""Connections of a server that can neither be held open nor shut others out."""

import asyncio
import socket
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 256
"""Connections at once.  One more closes the one that has kept its request longest."""


REQUEST_SECONDS = 30.0
"""Seconds within which a request must have arrived and its answer been taken."""


class BoundedConnection(H11Protocol):
    """One connection, with a deadline for each request.

    The deadline is set when the connection opens and when an answer is complete, and no
    byte that arrives extends it: a sender of one byte per second is closed as an idle
    one is.  Of more than `MAX_CONNECTIONS` the one is closed that waits longest for its
    sender; an honest sender, whose request arrives at once, is never the one.
    """

    def connection_made(  # type: ignore[override]
        self, transport: asyncio.Transport
    ) -> None:
        """Admit a connection, and close another one if there are too many."""
        super().connection_made(transport)
        # asyncio does so only for sockets made with an explicit protocol; without it
        # the
        # body of an answer waits 40 ms for the acknowledgement of its head.
        connected = transport.get_extra_info("socket")
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.since = self.loop.time()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, transport.abort)
        if len(self.connections) > MAX_CONNECTIONS:
            _close_longest_waiting(cast("set[BoundedConnection]", self.connections))

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection that was lost."""
        self._deadline.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Begin the time of the connection's next request, and that of taking this
        answer.
        """
        self._deadline.cancel()
        self.since = self.loop.time()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)
        super().on_response_complete()

    @property
    def waits_for_sender(self) -> bool:
        """Whether no request of the connection has arrived as a whole."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)


def _close_longest_waiting(connections: set[BoundedConnection]) -> None:
    """Close the connection that has waited longest for its sender, if any waits."""
    waiting = [connection for connection in connections if connection.waits_for_sender]
    if waiting:
        longest = min(waiting, key=lambda connection: connection.since)
        connections.discard(longest)
        longest.transport.abort()
