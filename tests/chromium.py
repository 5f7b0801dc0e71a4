"""Pages measured and photographed by a headless Chromium, where one is installed."""

import asyncio
import functools
import http.server
import json
import re
import shutil
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlparse

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --hide-scrollbars""".split()
NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"

# A frame of exact width, since a headless window has a smallest width; the frame's page writes what it needs.
FRAME = """<!doctype html><body style="margin:0">
<iframe id="f" style="border:0;width:{width}px;height:{height}px"></iframe>
<script>f.onload = () => document.body.dataset.width = f.contentDocument.documentElement.scrollWidth; f.src = "/{page}";
</script>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """The built book, and /frame?page=…&width=…&height=… around one of its pages."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urlparse(self.path)
        if url.path != "/frame":
            return super().do_GET()
        wanted = {key: values[0] for key, values in parse_qs(url.query).items()}
        body = FRAME.format(**wanted).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def served(folder: Path):
    """Address of a loopback server of a folder."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def look(address: str, page: str, width: int, picture: Path, height: int = 1400) -> int:
    """Width in pixels that a page takes in a window of `width`; its picture is written."""
    window = f"--window-size={max(width, 500)},{height}"
    with tempfile.TemporaryDirectory(prefix="chromium-") as profile:
        command = [CHROMIUM, *FLAGS, NO_NETWORK, window, f"--user-data-dir={profile}", "--virtual-time-budget=3000"]
        command += [
            f"--screenshot={picture}",
            "--dump-dom",
            f"{address}/frame?page={page}&width={width}&height={height}",
        ]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found = re.search(r'data-width="(\d+)"', run.stdout)
    assert found, f"no page was measured: {run.stderr[-300:]}"
    return int(found[1])


# What a page takes, and which boxes in it scroll sideways, once its fonts and formulas are there.
MEASURE = """(async () => {
  await document.fonts.ready;
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  const wide = s => [...document.querySelectorAll(s)].filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth)
    .map(e => e.textContent.trim().slice(0, 50));
  return {takes: document.documentElement.scrollWidth, code: wide('.tag_parameters pre'),
    tables: wide('.output.text_html:has(.attn-beside, .attn-matrix), .attn-beside, .attn-matrix')};
})()"""


def survey(address: str, pages: list[str], widths: tuple[int, ...]) -> list[tuple[str, int, dict, list[str]]]:
    """Every page at every width in one browser: what MEASURE finds, and the errors that the console shows."""
    return asyncio.run(_survey(address, pages, widths))


async def _survey(address, pages, widths):
    from tornado.websocket import websocket_connect

    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        command = [CHROMIUM, *FLAGS, NO_NETWORK, "--remote-debugging-port=0", f"--user-data-dir={profile}"]
        browser = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        try:
            while b"DevTools listening" not in (line := await asyncio.wait_for(browser.stderr.readline(), 60)):
                assert line, "the browser ended"
            socket = await websocket_connect(line.split()[-1].decode(), max_message_size=1 << 26)
            tab = Tab(socket)
            target = await tab.call("Target.createTarget", url="about:blank")
            tab.session = (await tab.call("Target.attachToTarget", flatten=True, **target))["sessionId"]
            for domain in ("Page", "Runtime", "Log"):
                await tab.call(f"{domain}.enable")
            found = []
            for page in pages:
                for width in widths:
                    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
                    await tab.call("Emulation.setDeviceMetricsOverride", **size)
                    found.append((page, width, *await tab.visit(f"{address}/{page}.html")))
            return found
        finally:
            browser.kill()
            await browser.wait()


class Tab:
    """One page of a browser, spoken to by the DevTools protocol."""

    def __init__(self, socket):
        self.socket, self.session, self.sent, self.events = socket, None, 0, []

    async def call(self, method: str, **parameters) -> dict:
        """The result of a method; what happens before it comes is kept in `events`."""
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": parameters}
        await self.socket.write_message(json.dumps(message | ({"sessionId": self.session} if self.session else {})))
        while (answer := await self.hear()).get("id") != self.sent:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    async def hear(self) -> dict:
        answer = json.loads(await asyncio.wait_for(self.socket.read_message(), 60))
        self.events += [answer] if "method" in answer else []
        return answer

    async def visit(self, address: str) -> tuple[dict, list[str]]:
        """What MEASURE finds on a page, and the errors of its console."""
        self.events.clear()
        await self.call("Page.navigate", url=address)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            await self.hear()
        result = await self.call("Runtime.evaluate", expression=MEASURE, awaitPromise=True, returnByValue=True)
        return result["result"]["value"], [text for event in self.events if (text := _error(event))]


def _error(event: dict) -> str:
    """The text of an event that a console shows in red; '' for any other."""
    told = event.get("params", {})
    if event["method"] == "Runtime.exceptionThrown":
        return told["exceptionDetails"].get("exception", {}).get("description") or told["exceptionDetails"]["text"]
    if event["method"] == "Log.entryAdded" and told["entry"]["level"] == "error":
        return f"{told['entry']['text']} {told['entry'].get('url', '')}"
    if event["method"] == "Runtime.consoleAPICalled" and told["type"] == "error":
        return " ".join(str(part.get("value", "")) for part in told["args"])
    return ""
