"""A page in a headless Chromium, driven by its DevTools protocol: real pointers, touches and keys."""

import json
import os
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from select import select

from attn_build.pdf import CHROMIUM

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-component-update",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
PIPES = ("sh", "-c", 'exec "$@" 3<&0 4>&1 >/dev/null', "sh")
"""The browser listens on its file 3 and answers on 4."""

PATIENCE = 240  # seconds; axe takes one or two for a long page, on a busy machine many more
KEYS = {
    "End": 35,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowDown": 40,
    "Tab": 9,
    "Enter": 13,
}


class Page:
    """One page of the browser; `errors` holds what it wrote to its console as an error, and uncaught exceptions."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process, self.last, self.errors, self.received, self.session = process, 0, [], b"", {}

    def call(self, method: str, **parameters) -> dict:
        """The result of a DevTools command."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters, **self.session}
        self.process.stdin.write(json.dumps(message).encode() + b"\0")
        self.process.stdin.flush()
        while True:
            told = json.loads(self.next())
            about = told.get("params", {})
            kinds = told.get("method"), about.get("type"), about.get("entry", {}).get("level")
            if not {"Runtime.exceptionThrown", "error"}.isdisjoint(kinds):
                self.errors.append(str(about))
            if told.get("id") == self.last:
                assert "error" not in told, told
                return told["result"]

    def next(self) -> bytes:
        """What the browser says next."""
        while b"\0" not in self.received:
            assert select([self.process.stdout], [], [], PATIENCE)[0], "the browser does not answer"
            self.received += os.read(self.process.stdout.fileno(), 1 << 20)
        told, _, self.received = self.received.partition(b"\0")
        return told

    def js(self, expression: str):
        """The value of an expression."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, expression: str, seconds: float = 40):
        """The value of an expression as soon as it holds."""
        end = time.monotonic() + seconds
        while not (value := self.js(expression)):
            assert time.monotonic() < end, f"waited in vain for {expression}"
            time.sleep(0.05)
        return value

    def window(self, width: int, height: int = 1000) -> None:
        """The size of the window; under 600 px one of a phone."""
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)

    def open(self, path: Path, width: int = 1000, scheme: str = "light") -> None:
        """A file in a window of a width, with no error so far; scheme: light or dark."""
        self.errors.clear()
        self.window(width)
        self.call(
            "Emulation.setEmulatedMedia",
            media="",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.call("Page.navigate", url=path.as_uri())
        self.wait(f"document.readyState === 'complete' && location.href === {path.as_uri()!r}", PATIENCE)

    def place(self, selector: str, x: float = 0.5, y: float = 0.5) -> tuple[float, float]:
        """A point of an element in window pixels; x, y: shares of its box from left and top."""
        self.js(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
        box = self.js(f"document.querySelector({selector!r}).getBoundingClientRect().toJSON()")
        return box["left"] + x * box["width"], box["top"] + y * box["height"]

    def drag(self, *points: tuple[float, float]) -> None:
        """Press the mouse at the first point, move it over the others and let go; one point: a click."""
        kinds = ["mousePressed", *["mouseMoved"] * (len(points) - 1), "mouseReleased"]
        for kind, (x, y) in zip(kinds, [*points, points[-1]], strict=True):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def tap(self, x: float, y: float) -> None:
        """Touch a point with a finger."""
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, name: str) -> None:
        """Press a key in whatever has the focus."""
        about = {"key": name, "code": name, "windowsVirtualKeyCode": KEYS[name]}
        self.call(
            "Input.dispatchKeyEvent", type="keyDown", **about, **({"text": "\r"} if name == "Enter" else {})
        )
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def axe(self, source: str) -> list[str]:
        """What axe-core, whose text is given, calls serious or critical on the page, a line a rule and element."""
        self.js(f"{source};0")
        return self.js(AXE)


AXE = """axe.run({resultTypes: ['violations'], preload: false}).then(({violations}) => violations
  .filter(({impact}) => ['serious', 'critical'].includes(impact))
  .flatMap(({id, nodes}) => nodes.map(node => `${id}: ${node.target.join(' ')}: ${node.html.slice(0, 90)}`)))"""


@contextmanager
def browser():
    """A `Page` of a browser of its own."""
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        command = [*PIPES, CHROMIUM, *FLAGS, f"--user-data-dir={profile}"]
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, **streams) as process:
            page = Page(process)
            target = page.call("Target.createTarget", url="about:blank")
            page.session = page.call("Target.attachToTarget", flatten=True, **target)
            for domain in ("Page", "Runtime", "Log"):
                page.call(f"{domain}.enable")
            page.call("Emulation.setFocusEmulationEnabled", enabled=True)  # a headless window may have none
            try:
                yield page
            finally:
                process.terminate()


MEASURE = """(async () => {
  await document.fonts.ready;
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  const wide = s => [...document.querySelectorAll(s)].filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1)
    .map(e => e.textContent.trim().slice(0, 50));
  return {takes: document.documentElement.scrollWidth, nodes: document.querySelectorAll('*').length,
          code: wide('.tag_parameters pre'),
    tables: wide('.output.text_html:has(> .attn-beside, > .attn-matrix), .attn-beside, .attn-matrix')};
})()"""
"""What a page takes, and which boxes in it scroll sideways, once its fonts and formulas are there."""


def survey(page: Page, folder: Path, names: list[str], widths: tuple[int, ...] = (390, 1280)) -> list[dict]:
    """Every page, loaded in a window of the first width, which then takes the others: page, width, what MEASURE finds,
    the errors of the console."""
    found = []
    for name in names:
        page.open(folder / f"{name}.html", widths[0])
        for width in widths:
            page.window(width)
            told = page.js(MEASURE)
            found.append({"page": name, "width": width, "errors": list(page.errors), **told})
    return found
