"""A headless Chromium, driven through its debugging pipe: no driver program and no package is needed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
QUALITY = 60
"""The quality of screenshots in a lossy format, out of 100."""
WAITS = 600
"""Tenths of a second that a page may take."""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def program() -> str | None:
    """Find Chromium on the PATH."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Tab:
    """One tab. `complaints` are the console's errors and the uncaught exceptions; `requests`, what it loaded."""

    def __init__(self, commands: int, events: int) -> None:
        """Speak over two file descriptors."""
        self.commands, self.events = commands, events
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.rest = b""
        self.number = 0
        self.session: str | None = None

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol and wait for its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result

    def js(self, expression: str) -> Any:
        """Evaluate an expression, promises awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key where the focus is."""
        shared = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **shared, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def size(self, width: int, height: int) -> None:
        """Give the window a size in pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 700
        )
        self._settle()

    def scheme(self, name: str) -> None:
        """Prefer `light` or `dark` colours."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])
        self._settle()

    def open(self, page: Path) -> None:
        """Load a page from its file and wait until its pictures are drawn."""
        self.call("Page.navigate", url=page.resolve().as_uri())
        self._wait("location.protocol === 'file:' && document.documentElement?.dataset.drawn === 'yes'")

    def picture(self, path: Path) -> None:
        """Take a screenshot of the window, in the format of the file's name."""
        screenshot = self.call("Page.captureScreenshot", format=path.suffix[1:], quality=QUALITY)
        path.write_bytes(base64.b64decode(screenshot["data"]))

    def _settle(self) -> None:
        """Wait until what was changed is on the screen, pictures that are drawn anew included."""
        self.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")
        self._wait("document.documentElement.dataset.drawn !== 'no'")

    def _wait(self, condition: str) -> None:
        for _ in range(WAITS):
            if self.js(condition):
                return
            time.sleep(0.1)
        message = f"the pictures were not drawn: {self.complaints}"
        raise AssertionError(message)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            more = os.read(self.events, 1 << 16)
            assert more, "the browser went away"
            self.rest += more
        head, _, self.rest = self.rest.partition(b"\0")
        message: dict[str, Any] = json.loads(head)
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "assert"):
                self.complaints.append(json.dumps(params["args"]))
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(params["exceptionDetails"]))
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.complaints.append(json.dumps(params["entry"]))
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"][:80])
        return message


@contextmanager
def tab(folder: Path) -> Iterator[Tab]:
    """Start Chromium with a profile in `folder` and open one tab."""
    executable = program()
    assert executable
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    # Chromium reads its commands from file descriptor 3 and writes to 4, which may be one of the pipes' own here.
    high = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in (theirs_in, theirs_out)]
    actions = [
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, high[0], 3),
        (os.POSIX_SPAWN_DUP2, high[1], 4),
    ]
    arguments = [executable, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
    process = os.posix_spawn(executable, arguments, os.environ, file_actions=actions)
    for number in (theirs_in, theirs_out, *high):
        os.close(number)
    try:
        opened_tab = Tab(ours_out, ours_in)
        target = next(
            info["targetId"] for info in opened_tab.call("Target.getTargets")["targetInfos"] if info["type"] == "page"
        )
        opened_tab.session = opened_tab.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            opened_tab.call(f"{domain}.enable")
        yield opened_tab
    finally:
        os.close(ours_out)
        os.close(ours_in)
        os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)
