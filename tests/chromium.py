"""Pages measured and photographed by a headless Chromium, where one is installed."""

import functools
import http.server
import re
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlparse

from attn_book.pdf import CHROMIUM

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --hide-scrollbars --virtual-time-budget=3000""".split()
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
        command = [CHROMIUM, *FLAGS, NO_NETWORK, window, f"--user-data-dir={profile}"]
        command += [
            f"--screenshot={picture}",
            "--dump-dom",
            f"{address}/frame?page={page}&width={width}&height={height}",
        ]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found = re.search(r'data-width="(\d+)"', run.stdout)
    assert found, f"no page was measured: {run.stderr[-300:]}"
    return int(found[1])
