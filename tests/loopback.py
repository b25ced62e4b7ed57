"""A server on the loopback interface, in a thread of its own, for as long as a test needs it."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class Loopback:
    """A server: what it answers is `handle`, of a subclass. A handler may wait for `released`, which leaving sets."""

    def __init__(self) -> None:
        """Hold nobody up."""
        self.released = threading.Event()

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request, whatever its method."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Listen on a free port."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            """One connection."""

            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                """Answer without a body."""
                outer.handle(self)

            def do_GET(self) -> None:
                """Answer."""
                outer.handle(self)

            def do_POST(self) -> None:
                """Take what was sent, and answer."""
                outer.handle(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Let waiting requests go, and stop."""
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def address(self) -> str:
        """The address."""
        return f"http://127.0.0.1:{self._server.server_port}"
