# SPDX-License-Identifier: Apache-2.0
"""A browser without a window that the tests of the page drive, over pipes.

Browser.find() is None where there is none. What the page does on its own is kept: `messages` (console, errors) and
`requests` (any address that it asks for). One thread.
"""
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile

# Only ends what hangs.
WAIT_SECONDS = 300


class Browser:
    """One tab. A context: its end is the end of the browser and of its files."""

    @staticmethod
    def find():
        return os.environ.get("WCPROF_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")

    def __enter__(self):
        self.home = tempfile.mkdtemp()
        to_read, self.to = os.pipe()
        self.come, to_write = os.pipe()
        # It reads commands from descriptor 3 and answers on 4.
        script = f"exec 3<&{to_read} 4>&{to_write}; exec \"$@\""
        self.process = subprocess.Popen(
            ["bash", "-c", script, "browser", self.find(), "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
             f"--user-data-dir={self.home}", "--remote-debugging-pipe", "about:blank"],
            pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, env=dict(os.environ, HOME=self.home))
        os.close(to_read)
        os.close(to_write)
        self.number, self.kept, self.session = 0, b"", None
        self.messages, self.requests, self.loaded = [], [], False
        targets = self.ask("Target.getTargets")["targetInfos"]
        tab = next(target for target in targets if target["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=tab["targetId"], flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        os.close(self.to)
        os.close(self.come)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def receive(self):
        """One message; what is an event is also noted."""
        while b"\0" not in self.kept:
            more = os.read(self.come, 1 << 20)
            if not more:
                raise RuntimeError("the browser ended")
            self.kept += more
        text, self.kept = self.kept.split(b"\0", 1)
        message = json.loads(text)
        what, about = message.get("method"), message.get("params", {})
        if what == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(one.get("value", one.get("description"))) for one in about["args"]))
        elif what == "Runtime.exceptionThrown":
            self.messages.append(str(about["exceptionDetails"].get("exception", {}).get("description")))
        elif what == "Log.entryAdded":
            self.messages.append(about["entry"]["text"])
        elif what == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif what == "Page.loadEventFired":
            self.loaded = True
        return message

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path, width=1400, height=900, fragment=""):
        """Shows a file, and forgets what was before."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=False)
        for url in "about:blank", f"file://{os.path.abspath(path)}{fragment}":
            self.messages, self.requests, self.loaded = [], [], False
            self.ask("Page.navigate", url=url)
            while not self.loaded:
                self.receive()

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description"))
        return answer["result"].get("value")

    def press(self, key, modifiers=0):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                 "ArrowDown": 40}
        text = {"Enter": "\r", " ": " "}.get(key)
        for kind in "keyDown", "keyUp":
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, modifiers=modifiers,
                     windowsVirtualKeyCode=codes.get(key, 0), **extra)

    def point(self, kind, x, y):
        """The mouse, of the first button: mouseMoved, mousePressed, mouseReleased; in pixels of the window."""
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left",
                 clickCount=0 if kind == "mouseMoved" else 1)

    def dark(self, is_dark):
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def picture(self, path, clip=None):
        """A screenshot of the whole page as PNG."""
        extra = {"clip": dict(clip, scale=1)} if clip else {}
        answer = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, **extra)
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))
