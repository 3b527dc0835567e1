"""A headless Chromium, driven over its debugging pipe: no package besides the browser is needed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """$HCONV_BROWSER, or a Chromium on PATH."""
    return os.environ.get("HCONV_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page. Messages are JSON objects that end with a zero byte; the browser reads descriptor 3 and writes 4."""

    def __init__(self, program: str):
        self._profile = tempfile.TemporaryDirectory(prefix="hconv-browser-", ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def connect():
            # By way of higher numbers: one of the two may be 3 or 4 already.
            reading, writing = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_browser, from_browser))
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self._process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=connect)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._next, self.events = b"", 0, []
        try:
            self._session = self.call("Target.attachToTarget", targetId=self._page(), flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Network", "Log"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def _page(self, seconds: float = 30) -> str:
        """The browser's page, which opens some time after the browser answers."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for target in self.call("Target.getTargets")["targetInfos"]:
                if target["type"] == "page":
                    return target["targetId"]
            time.sleep(0.05)
        raise TimeoutError(f"The browser opened no page within {seconds} s.")

    def _message(self, deadline: float) -> dict:
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError("The browser did not answer in time.")
            block = os.read(self._in, 1 << 20)
            if not block:
                raise RuntimeError("The browser ended.")
            self._buffer += block
        line, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(line)

    def call(self, method: str, seconds: float = 30, **parameters) -> dict:
        """The result of a method of the DevTools protocol; other messages go to `events`."""
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + seconds
        while True:
            answer = self._message(deadline)
            if answer.get("id") != self._next:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def open(self, url: str, width: int, height: int, dark: bool) -> None:
        """Shows a page as a screen of that many CSS pixels would; narrow ones are a phone's."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + 30
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._message(deadline))

    def value(self, expression: str):
        """A JavaScript expression's value."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def screenshot(self, path) -> None:
        """The page from its top, as a PNG; what is below 8000 pixels is left out, since rendering fails at some 16000."""
        width, height = self.value("[innerWidth, Math.min(document.documentElement.scrollHeight, 8000)]")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        answer = self.call("Page.captureScreenshot", seconds=120, format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))

    def requests(self) -> list:
        """Addresses that the page asked for since it was opened."""
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]

    def complaints(self) -> list:
        """What the console says: errors of scripts, of the content policy, of the parser."""
        return [event["params"] for event in self.events
                if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        os.close(self._in)
        self._profile.cleanup()


if __name__ == "__main__":
    print(find() or "There is no Chromium on PATH.")
    raise SystemExit(find() is None)
