"""No code in a page from data: whatever a text, a name or a parameter holds is shown and never obeyed."""

import ast
import os
from unittest.mock import patch

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from test_notebook import write_page
from test_play_browser import HEAD, STATIC

from attn_book import figures, page, play, tables
from attn_build import build, plain, rendering, running, sources

pytestmark = pytest.mark.faults
ALIVE = "window.alive=1"
STRINGS = [
    f"<script>{ALIVE}</script>",
    f"</script><script>{ALIVE}</script>",
    f"<img src=x onerror={ALIVE}>",
    f"<svg onload={ALIVE}>",
    f"<svg><script>{ALIVE}</script></svg>",
    f'" onmouseover="{ALIVE}" autofocus onfocus="{ALIVE}',
    f"' onfocus='{ALIVE}' autofocus='",
    f"</code></td></table></div><iframe srcdoc='<script>parent.{ALIVE}</script>'>",
    f"[x](javascript:{ALIVE})",
    f"<a href=javascript:{ALIVE}>x</a>",
    "&lt;script&gt;",
    "{glue:text}`film`",
    "{{glue}} {raw}`<b>`",
    "${window.alive=1}",
    "`</code><b>`",
    "-->]]><b>",
    "<!-- ",
    "<style>*{display:none}</style>",
    f"```{{raw}} html\n<script>{ALIVE}</script>\n```",
    "$x$ \\(y\\)",
    f"\n\n<script>{ALIVE}</script>\n\n# A title",
    f'"); {ALIVE.replace("window.", "")}; open("alive", "w") #',
    "'''\nopen('alive', 'w')\n'''",
    "\u202e|x|y|",
]


def pieces(text: str) -> list[str]:
    """Everything of a page that data enter, with this text in each."""
    shown = []
    with patch("IPython.display.display", lambda one, **_: shown.append(getattr(one, "data", ""))):
        read = {
            "w": [text],
            "a": [1.0],
            "c": [0.5],
            "b": 0.0,
            "p": 0.6,
            "alone": [0.6],
            "shuffles": 1,
            "typical": 0.0,
            "flips": 0,
        }
        with patch.object(play, "readings", lambda _: {"lstm": read, "average": read}):
            play.widget("move", [text], misread={text: text})
        with patch.dict(page.CHANGED, {"sentence": text}, clear=True):
            page.expect(False, "x")
        sheet, axes = figures.sheet()
        axes.axis("off")
        axes.text(0, 0, " ".join(text.split()), parse_math=False)
        figures.show(sheet, "x", text[:90], text[:90], text)
    plt.close("all")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# A title")])
    box = plain.mark(notebook, {"sentence": ""}, {"sentence": text}).cells[0].source.partition("\n\n")[2]
    return [
        *shown,
        box,
        page.PARTS.strip(text, [text], [1.0], 0.5),
        tables.table([text], [[text]]),
        tables.fold(text, "").data,
        tables.rows({text: True}, [[text]]).data,
        pd.DataFrame({"token": [text]}).to_html(),
        page.PARTS.picker({}, {text: {text: text}}).partition("</script>")[2],
    ]


def skeleton(piece: str) -> list[tuple[str, list[str]]]:
    return [(tag.name, sorted(tag.attrs)) for tag in BeautifulSoup(piece, "html.parser").find_all(True)]


@pytest.mark.parametrize("text", STRINGS)
def test_no_piece_of_a_page_gets_a_node_or_an_attribute(text):
    for mine, harmless in zip(pieces(text), pieces("word"), strict=True):
        assert skeleton(mine) == skeleton(harmless), mine


@pytest.mark.browser
def test_a_browser_runs_none_of_it(tmp_path, chromium):
    for name, texts in (("mine", STRINGS), ("harmless", ["word"] * len(STRINGS))):
        shown = "\n".join(piece for text in texts for piece in pieces(text))
        (tmp_path / f"{name}.html").write_text(HEAD + shown)
    for script in ("core.js", "rows.js", "attn.css"):
        (tmp_path / script).write_bytes((STATIC / script).read_bytes())
    counts = []
    for name in ("mine", "harmless"):
        chromium.open(tmp_path / f"{name}.html")
        chromium.js(
            "document.querySelectorAll('*').forEach(e => e.dispatchEvent(new MouseEvent('mouseover')))"
        )
        counts.append(
            chromium.wait(
                "document.querySelectorAll('.attn-play button').length > 20 && "
                "document.querySelectorAll('body *').length"
            )
        )
        assert chromium.js("window.alive") is None
        assert chromium.js("document.title") == ""
    assert counts[0] == counts[1]


def test_parameters_of_a_page_are_no_code(tmp_path, monkeypatch):
    """Those that papermill writes into a cell, those in the box of a page run again, and those on the status page."""
    write_page(tmp_path, "tiny", 'n = 3\ntext = ""\nmany = [""]', "print(len(text))")
    (tmp_path / "book").mkdir()
    text = "".join(STRINGS)
    monkeypatch.setattr(running.platform, "machine", lambda: " ".join(text.split()))
    monkeypatch.setattr(running, "git", lambda *_: "`")
    path = running.execute(
        "tiny", {"text": text, "many": STRINGS}, sources.executed(tmp_path, "tiny"), tmp_path
    )
    cells = nbformat.read(path, 4).cells
    (given,) = sources.codes(cells, "injected-parameters")
    assert [ast.literal_eval(line.value) for line in ast.parse(given.source).body] == [text, STRINGS]
    box = cells[0].source
    assert not list(tmp_path.rglob("alive"))
    assert box.count("<div") == 1
    assert not {"{", "`", "$"} & set(box)
    build.write_status(tmp_path)
    status = (tmp_path / "book" / "status.md").read_text()
    (row,) = (line for line in status.splitlines() if line.startswith("| {doc}"))
    assert row.count("`") == 8
    assert "<" not in row.rpartition("`")[2]


@pytest.mark.browser
@pytest.mark.skipif(
    not os.environ.get("ATTN_FAULTS"), reason="half a minute of Sphinx; `make test-faults` does it"
)
def test_a_page_run_again_with_all_of_them_is_the_page(tmp_path, chromium):
    made = rendering.rerun("how-to-measure", {"text": " ".join(STRINGS)}, tmp_path / "mine.ipynb")
    article = BeautifulSoup(made.read_text(), "html.parser").find("article")
    assert not article.select(
        "iframe, [onerror], [onload], [onfocus], [onmouseover], [href^=javascript], img[src=x]"
    )
    chromium.open(made)
    assert chromium.js("window.alive") is None
    assert not chromium.errors
