"""The interactive elements in a real browser, from file://: what pointers, fingers and keys do, against the package."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from attn_book import figures
from attn_book.page import PARTS
from attn_core import store
from attn_core.experiments.adversarial import exact
from attn_core.experiments.removal import removals
from attn_core.measures import jsd
from attn_data import sentence

ROOT = Path(__file__).parents[1]
STATIC, HTML = ROOT / "book" / "_static", ROOT / "_build" / "html"
STORE = store.find_archive()
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not STORE or not (STORE / sentence.FOLDER).is_dir(), reason="no sentence model in the archive"),
]
STRIPS = json.loads((ROOT / "data" / "examples" / "strips.json").read_text(encoding="utf-8"))
SENTENCES = ["film was not good", "not one dull moment"]
ERASED = ["a funny and warm film with a weak ending", "i wanted to love this film but it bored me"]
THREE = "dull yet charming"
DIAL = {
    "stops": [0, 0.5, 1],
    "names": {"score": "score", "echo": "words that know"},
    "sets": {
        "one": {"score": [[0.8, 0.7, 0.9]] * 3, "echo": [[0.5, 0.4, 0.6], [0.7, 0.6, 0.8], [1, 1, 1]]},
        "two": {"score": [[0.6, 0.5, 0.7]] * 3, "echo": [[0.2, 0.1, 0.3]] * 3},
    },
    "lstm": {"one": {"score": 0.8, "echo": 0.9}, "two": {}},
}
HEAD = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<style>:root { --pst-color-background: #fff; } html[data-theme=dark] { --pst-color-background: #14181e; }
body { background: var(--pst-color-background); margin: 0; padding: 16px; font-size: 17px; }</style>
<link rel="stylesheet" href="attn.css"><script src="core.js"></script><body class="bd-article">"""


SHARES = "[...document.querySelectorAll('{}')].map(e => +e.style.getPropertyValue('--w'))"
WORDS = "[...document.querySelectorAll('[data-play=move] .attn-word button')].map(e => e.textContent)"
SMALL = """[...document.querySelectorAll('.attn-play button')]
    .filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 24).length"""
CONTRAST = """(() => {
    const element = document.querySelector('.attn-play');
    const linear = v => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    const light = name => {
        const [r, g, b] = getComputedStyle(element)[name].match(/[\\d.]+/g).map(linear);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const [a, b] = [light('color'), light('backgroundColor')].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
})()"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A page that holds every element, beside the book's script, styles and the exported model."""
    import IPython.display

    folder, shown = tmp_path_factory.mktemp("play"), []
    for path in STATIC.glob("*.*"):
        shutil.copy(path, folder)
    sentence.write_reader(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IPython.display, "display", lambda html: shown.append(html.data))
        figures.widget("move", SENTENCES, own=True)
        figures.show(figures.sheet()[0], "three", "A title", "A caption.", "A picture.")
        figures.widget("triangle", [THREE], "", figure="fig-three", epsilon=0.05)
        figures.widget("erase", ERASED)
        figures.widget("strips", [], PARTS.strips(STRIPS["sentences"], STRIPS["models"], 2), models=STRIPS)
        figures.widget("dial", [], "", dial=DIAL)
    (folder / "page.html").write_text(HEAD + "\n".join(shown), encoding="utf-8")
    return folder / "page.html"


@pytest.fixture
def page(chromium, place):
    chromium.open(place)
    yield chromium
    assert chromium.errors == []


def data(page, kind: str) -> dict:
    return page.js(f"({{...document.querySelector('[data-play={kind}]').dataset}})")


def press(page, kind: str, key: str) -> None:
    page.drag(page.place(f'[data-play={kind}] button[data-key="{key}"]'))


def weights(page) -> np.ndarray:
    return np.array(page.js(SHARES.format("[data-play=move] .slot")))


def test_dragging_tapping_and_the_farthest_attention(page):
    table, told = figures.read_sentence(SENTENCES[0])
    contribution, own = table["contribution"].to_numpy(), table["attention"].to_numpy()

    def agrees():
        found, now = data(page, "move"), weights(page)
        p = 1 / (1 + np.exp(-told["bias"] - now @ contribution))
        assert float(found["p"]) == pytest.approx(p, abs=1e-3)
        assert float(found["jsd"]) == pytest.approx(jsd(now, own), abs=1e-3)

    assert float(data(page, "move")["p"]) == pytest.approx(told["p"], abs=1e-3)
    slot = "[data-play=move] .attn-word:nth-child(4) .slot"
    page.drag(page.place(slot, y=0.9), page.place(slot, y=0.5), page.place(slot, y=0.2))
    assert weights(page)[3] == pytest.approx(0.8, abs=0.03) and weights(page).sum() == pytest.approx(1, abs=1e-6)
    agrees()
    page.drag(page.place("[data-play=move] .attn-word:nth-child(4) button"))
    assert list(weights(page)) == [0, 0, 0, 1]
    assert page.js("document.querySelector('[data-play=move]').classList.contains('flipped')")
    agrees()
    press(page, "move", "far")
    found = data(page, "move")
    assert float(found["jsd"]) == pytest.approx(told["jsd_exact"], abs=1e-3)
    assert float(found["p"]) == pytest.approx(told["p_adversary"], abs=1e-3)
    press(page, "move", "flat")
    agrees()
    press(page, "move", "1")
    assert "No attention can flip this" in page.js("document.querySelector('[data-play=move] .attn-why').textContent")


def test_keys_alone_suffice(page):
    page.js("document.querySelector('[data-play=move] .slot').focus()")
    page.key("End")
    assert weights(page)[0] == 1
    page.key("ArrowDown")
    assert weights(page)[0] == pytest.approx(0.95) and weights(page).sum() == pytest.approx(1)
    assert page.js("document.activeElement.getAttribute('aria-valuetext')") == "95%"
    for _ in range(2):
        page.key("Tab")
    assert page.js("document.activeElement.getAttribute('aria-label')") == "weight of was", "bar, word, next bar"
    page.js("document.querySelector('.point').focus()")
    before = json.loads(data(page, "triangle")["now"])
    page.key("ArrowUp")
    assert json.loads(data(page, "triangle")["now"])[1] > before[1]


@pytest.mark.parametrize("text", ["A slow, sad film that I couldn't forget.", "zyx"])
def test_a_sentence_of_ones_own(page, text):
    tokens, known, traces = sentence.sentence_traces(text)
    page.js("document.querySelector('.attn-own input').focus()")
    page.call("Input.insertText", text=text)
    page.key("Enter")
    page.wait("document.querySelector('.attn-own small').textContent.startsWith('Read')")
    assert page.js(WORDS) == tokens and float(data(page, "move")["p"]) == pytest.approx(float(traces.p[0]), abs=1e-4)
    assert np.abs(weights(page) - traces.attention).max() < 1e-4
    unknown = [token for token, is_known in zip(tokens, known, strict=True) if not is_known]
    assert all(word in page.js("document.querySelector('.attn-why').textContent") for word in unknown)


def test_the_triangle_follows_the_finger_and_the_band(page):
    traces = sentence.sentence_traces(THREE)[2]
    assert float(data(page, "triangle")["farthest"]) == pytest.approx(exact(traces, 0.05)["jsd_exact"][0], abs=1e-3)
    assert not page.js("document.querySelector('#fig-three > svg').checkVisibility()")
    page.drag(page.place(".point"), page.place(".ground", y=0.5), page.place(".ground", y=0.02))
    now = json.loads(data(page, "triangle")["now"])
    assert now[1] == pytest.approx(0.98, abs=0.02) and sum(now) == pytest.approx(1)
    assert float(data(page, "triangle")["jsd"]) == pytest.approx(jsd(np.array(now), traces.attention), abs=1e-3)
    page.js("document.querySelector('.attn-wide input').focus()")
    page.key("End")
    assert float(data(page, "triangle")["farthest"]) == pytest.approx(exact(traces, 0.3)["jsd_exact"][0], abs=1e-3)


@pytest.mark.parametrize("order", ["attention", "gradient", "product", "optimum"])
def test_erasing_takes_as_many_words_as_the_package_says(page, order):
    for i, text in enumerate(ERASED):
        press(page, "erase", i)
        press(page, "erase", order)
        press(page, "erase", "all")
        found = removals(sentence.sentence_traces(text)[2]).iloc[0]
        told = data(page, "erase")
        assert (int(told["erased"]), int(told["fewest"])) == (found[f"removed_{order}"], found["removed_optimum"])
        assert page.js("document.querySelector('[data-play=erase]').classList.contains('flipped')")
        press(page, "erase", "none")
        press(page, "erase", "one")
        assert data(page, "erase")["erased"] == "1"


def test_the_dial_turns_by_key_and_changes_its_set(page):
    values = "[...document.querySelectorAll('.attn-gauge b')].map(e => e.textContent)"
    shown = lambda: [float(text) for text in page.js(values)]
    assert shown() == [0.8, 0.5]
    page.js("document.querySelector('[data-play=dial] input').focus()")
    page.key("ArrowRight")
    page.key("ArrowRight")
    assert shown() == [0.8, 1.0] and data(page, "dial")["stop"] == "2"
    assert page.js("document.querySelector('.attn-gauge:nth-child(2) .now').style.width") == "100%"
    press(page, "dial", "two")
    assert shown() == [0.6, 0.2]
    assert page.js("getComputedStyle(document.querySelector('.attn-gauge .lstm')).display") == "none", "no such model"


def test_strips_of_every_model(page):
    models = STRIPS["models"]
    for kind in dict.fromkeys(model["kind"] for model in models):
        press(page, "strips", kind)
        assert data(page, "strips")["key"].split()[1] == kind
    for model in models[:: len(models) // 4]:
        for field in ("seed", "encoder", "kind"):
            press(page, "strips", model[field])
        assert np.allclose(page.js(SHARES.format(".attn-strips span")), np.concatenate(model["a"]) / 1000)


def test_a_phone_the_dark_reduced_motion_and_paper(page, place):
    page.open(place, 390)
    assert page.js("document.documentElement.scrollWidth") == 390
    page.tap(*page.place("[data-play=move] .attn-word:nth-child(4) button"))
    assert list(weights(page)) == [0, 0, 0, 1]
    page.tap(*page.place("[data-play=move] .attn-word:nth-child(1) .slot", y=0.5))
    assert weights(page)[0] == pytest.approx(0.5, abs=0.05)
    assert page.js(SMALL) == 0, "large enough for a finger"
    for theme in ("light", "dark"):
        page.js(f"document.documentElement.dataset.theme = '{theme}'")
        assert page.js(CONTRAST) > 7
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    assert page.js("getComputedStyle(document.querySelector('.slot i')).transitionDuration") == "0s"
    page.call("Emulation.setEmulatedMedia", media="print")
    seen = lambda selector: page.js(f"document.querySelector('{selector}').checkVisibility()")
    assert seen("#fig-three > svg") and seen(".attn-word .slot i")
    assert seen("[data-play=erase] .attn-word") and seen(".attn-still .attn-strip")
    assert not seen(".attn-triangle") and not seen(".attn-keys") and not seen(".attn-strips")


def test_without_a_script_every_element_has_its_picture(page, place):
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(place)
        seen = lambda selector: page.js(f"document.querySelector('{selector}').checkVisibility()")
        assert seen("[data-play=move] .attn-word") and seen("#fig-three > svg")
        assert seen("[data-play=erase] .attn-word") and seen("[data-play=strips] .attn-strip")
        assert not seen("[data-play=triangle]")
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.skipif(not (HTML / "index.html").is_file(), reason="no built book; `make book` writes it")
def test_every_element_of_the_built_book_lives(chromium):
    playing = [path for path in sorted(HTML.rglob("*.html")) if 'class="attn-play"' in path.read_text(encoding="utf-8")]
    assert len(playing) >= 5, "front page, 1, 4, and one of each paper"
    for path in playing:
        chromium.open(path)
        kinds = chromium.js("[...document.querySelectorAll('.attn-play')].map(e => e.dataset.play)")
        assert all(chromium.wait(f"!!document.querySelector('[data-play={kind}] button')") for kind in kinds)
        assert not chromium.errors
    chromium.open(HTML / "index.html")
    press(chromium, "move", "far")
    told = figures.read_sentence(SENTENCES[0])[1]
    assert float(data(chromium, "move")["jsd"]) == pytest.approx(told["jsd_exact"], abs=1e-3)
    assert (HTML / "_static" / "sst-reader.js").is_file()
