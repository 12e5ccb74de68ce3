# SPDX-License-Identifier: Apache-2.0
"""A headless browser for tests: Chromium over --remote-debugging-pipe, with the standard library alone.

    with Browser(sys.argv[1]) as b:
        page = b.open("/path/report.html", width=1280, height=900, dark=True)
        page.evaluate("document.title")
        page.screenshot("out.png")
        page.requests, page.complaints
"""
import base64
import json
import os
import select
import subprocess
import tempfile
import time

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe", "--force-color-profile=srgb"]
DEADLINE = 60  # seconds for any answer


class Browser:
    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(prefix="dtrain-browser-", ignore_cleanup_errors=True)
        from_us, self.to = os.pipe()
        self.answers, to_us = os.pipe()
        self.process = subprocess.Popen([program, *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=lambda: self.move(from_us, to_us), close_fds=False)
        os.close(from_us)
        os.close(to_us)
        self.number, self.rest, self.pages = 0, b"", {}

    @staticmethod
    def move(commands, answers):
        """The browser reads commands from 3 and writes answers to 4."""
        high = [os.dup(commands), os.dup(answers)]
        while min(high) <= 4:
            high = [os.dup(fd) if fd <= 4 else fd for fd in high]
        os.dup2(high[0], 3)
        os.dup2(high[1], 4)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        self.profile.cleanup()

    def message(self, until):
        """The next one from the browser; None: there was none in time."""
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], max(0, until - time.monotonic()))
            if not ready:
                return None
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise RuntimeError("the browser is gone")
            self.rest += piece
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method, session=None, **params):
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        if session:
            command["sessionId"] = session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        until = time.monotonic() + DEADLINE
        while True:
            got = self.message(until)
            if got is None:
                raise RuntimeError(f"no answer to {method}")
            if got.get("id") == self.number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.take(got)

    def take(self, event):
        page = self.pages.get(event.get("sessionId"))
        if page:
            page.take(event)

    def wait(self, page, done, seconds=DEADLINE):
        until = time.monotonic() + seconds
        while not done():
            got = self.message(until)
            if got is None:
                return False
            self.take(got)
        return True

    def open(self, path, width=1280, height=900, dark=False, script=True):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        page.call("Emulation.setScriptExecutionDisabled", value=not script)
        page.call("Page.navigate", url="file://" + os.path.abspath(path))
        if not self.wait(page, lambda: page.loaded):
            raise RuntimeError(f"{path} did not load")
        return page


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        self.requests, self.complaints, self.loaded = [], [], False

    def take(self, event):
        params = event.get("params", {})
        if event["method"] == "Page.loadEventFired":
            self.loaded = True
        elif event["method"] == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event["method"] == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"].get("text", "exception"))
        elif event["method"] == "Runtime.consoleAPICalled":
            self.complaints.append(f"console.{params['type']}")
        elif event["method"] == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])

    def call(self, method, **params):
        return self.browser.call(method, session=self.session, **params)

    def evaluate(self, expression):
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(f"{expression}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key)

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path, whole=True):
        got = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as f:
            f.write(base64.b64decode(got["data"]))
