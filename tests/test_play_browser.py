"""The interactive elements in a real browser, from file://: what pointers, fingers and keys do, against the package."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from attn_book import figures, play
from attn_book.page import PARTS
from attn_build import build
from attn_core import store
from attn_core.experiments.adversarial import exact
from attn_core.experiments.removal import removals
from attn_core.measures import jsd
from attn_data import sentence
from benchmarks.readings import look

ROOT = Path(__file__).parents[1]
STATIC, HTML = ROOT / "book" / "_static", ROOT / "_build" / "html"
STORE = store.find_archive()
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not STORE or not (STORE / sentence.FOLDER).is_dir(), reason="no sentence model in the archive"),
]
STRIPS = json.loads((ROOT / "data" / "examples" / "strips.json").read_text(encoding="utf-8"))
SENTENCES = ["film was not good", "not one dull moment"]
WARM = "a warm and funny film about a terrible war"
ODD = "People read praise."
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
TILES = {
    "pieces": ["dull", ",", "."],
    "layers": ["0, alone", "6, last"],
    "models": {
        "fine-tuned": [{"p": [0.1, 0.6, 0.7], "a": [0.8, 0.1, 0.1]}, {"p": [0.05, 0.2, 0.1], "a": [0.5, 0.2, 0.3]}],
        "as downloaded": [{"p": [0.2, 0.6, 0.7], "a": [0.9, 0, 0.1]}, {"p": [0.3, 0.6, 0.4], "a": [0.6, 0.2, 0.2]}],
    },
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
    build.write_words(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IPython.display, "display", lambda html: shown.append(html.data))
        play.widget("move", SENTENCES, own=True, path=True, misread={SENTENCES[-1]: ODD})
        figures.show(figures.sheet()[0], "three", "A title", "A caption.", "A picture.")
        play.widget("triangle", [THREE], "", figure="fig-three", epsilon=0.05)
        play.widget("erase", ERASED)
        play.widget("strips", [], PARTS.strips(STRIPS["sentences"], STRIPS["models"], 2), models=STRIPS)
        play.widget("dial", [], "", dial=DIAL)
        figures.show(figures.sheet()[0], "tiles", "A title", "A caption.", "A picture.")
        play.widget("tiles", [], "", figure="fig-tiles", tiles=TILES)
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
    table, told = sentence.read_sentence(SENTENCES[0])
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
    marked = "[...document.querySelectorAll('[data-play=move] .attn-word.strange button')].map(e => e.textContent)"
    assert page.js(marked) == unknown


# ---- one sentence in three encoders: the steps, taking words out, sentences of one's own -----------------------------

MOVE = "[data-play=move]"
TEXT = "document.querySelector('[data-play=move] {}').textContent"


def shuffled(reading: dict, seen: dict, count: int = 300) -> None:
    """Whether what the page says of its shuffles can be: near the package's own, whose deals are others."""
    attention, contribution = np.array(reading["a"]), np.array(reading["c"])
    orders = np.random.default_rng(0).permuted([attention] * 4000, axis=1)
    p = 1 / (1 + np.exp(-reading["b"] - orders @ contribution))
    own = 1 / (1 + np.exp(-reading["b"] - attention @ contribution))
    low, high = np.quantile(np.abs(p - own), [0.4, 0.6])
    assert low - 1e-3 <= float(seen["typical"]) <= high + 1e-3
    assert int(seen["flips"]) / count == pytest.approx(np.mean((p > 0.5) != (own > 0.5)), abs=0.1)


def walk(page, act) -> None:
    """The five steps; act: presses a button of the panel by its key."""
    readings = play.readings(SENTENCES[0])
    assert data(page, "move")["step"] == "0"
    act("stays")
    for step, encoder in ((1, "lstm"), (3, "average")):
        assert data(page, "move")["step"] == str(step)
        act("go")
        page.wait(f"document.querySelector('{MOVE}').dataset.step === '{step + 1}'")
        assert data(page, "move")["encoder"] == encoder
        shuffled(readings[encoder], data(page, "move"))
        heights = page.js(
            "[...document.querySelectorAll('.attn-histogram i')].map(e => parseFloat(e.style.height) || 0)"
        )
        assert max(heights) == 100 and sum(height > 0 for height in heights) > 2
        if step == 1:
            act("go")
    for name, reading in (("BiLSTM", readings["lstm"]), ("without context", readings["average"])):
        each = np.array(reading["c"]) + reading["b"] > 0
        whole = reading["b"] + np.dot(reading["a"], reading["c"]) > 0
        assert f"{name} {np.sum(each == whole)} of {len(each)}" in page.js(TEXT.format(".attn-path p"))
    act("minilm")
    page.wait(f"document.querySelector('{MOVE}').dataset.typical !== ''")
    shuffled(readings["minilm"], data(page, "move"))
    assert page.js("document.querySelectorAll('.attn-tally li').length") == 3
    act("again")
    assert (data(page, "move")["step"], data(page, "move")["encoder"]) == ("0", "lstm")


def test_the_five_steps_by_mouse(page):
    walk(page, lambda key: page.drag(page.place(f'.attn-path button[data-key="{key}"]')))


def test_the_five_steps_by_touch_without_motion(page, place):
    page.open(place, 390)
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    walk(page, lambda key: page.tap(*page.place(f'.attn-path button[data-key="{key}"]')))
    page.tap(*page.place('.attn-path button[data-key="stays"]'))
    page.tap(*page.place('.attn-path button[data-key="go"]'))
    assert data(page, "move")["step"] == "2", "filled at once"


def test_the_five_steps_by_keys(page):
    """The first control comes at once, and pressing one leads to the next."""

    def act(key):
        focused = "document.activeElement.closest('.attn-path') && document.activeElement.dataset.key"
        for _ in range(3):
            if page.js(focused) == key:
                break
            page.key("Tab")
        assert page.js(focused) == key
        page.key("Enter")

    walk(page, act)


def test_a_second_click_on_shuffle_does_not_begin_again(page):
    """The page's clock stands still between the two, after half of the time that shuffling takes."""
    page.js("window.requestAnimationFrame = step => { window.step = step; return 1; }")
    press(page, "move", "deal")
    page.js("step(performance.now() + 750)")
    filled = page.js("document.querySelector('.attn-histogram').innerHTML")
    press(page, "move", "deal")
    assert page.js("document.querySelector('.attn-histogram').innerHTML") == filled


def test_a_word_says_its_probability(page):
    reading = play.readings(SENTENCES[0])["lstm"]
    says = page.js(f"[...document.querySelectorAll('{MOVE} .says')].map(e => e.textContent)")
    assert says == [f"p {p:.2f}" for p in 1 / (1 + np.exp(-reading["b"] - np.array(reading["c"])))]


@pytest.mark.parametrize("encoder", ["lstm", "average", "minilm"])
def test_a_word_is_erased_or_deleted(page, encoder):
    reading = play.readings(SENTENCES[0])[encoder]
    attention, contribution = np.array(reading["a"]), np.array(reading["c"])
    press(page, "move", encoder)
    lefts = f"[...document.querySelectorAll('{MOVE} .ticks i')].map(e => parseFloat(e.style.left) / 100)"
    alone = lambda c: 1 / (1 + np.exp(-reading["b"] - c))
    np.testing.assert_allclose(page.js(lefts), alone(contribution), atol=1e-3)
    press(page, "move", "erase")
    gone = 2
    page.drag(page.place(f"{MOVE} .attn-word:nth-child({gone + 1}) button"))
    kept = np.delete(attention, gone) / np.delete(attention, gone).sum()
    erased = alone(kept @ np.delete(contribution, gone))
    assert float(data(page, "move")["p"]) == pytest.approx(erased, abs=1e-3)
    press(page, "move", "delete")
    there = reading["without"][gone] if encoder != "average" else {"a": kept, "c": np.delete(contribution, gone)}
    deleted = alone(np.dot(there["a"], there["c"]))
    assert float(data(page, "move")["p"]) == pytest.approx(deleted, abs=1e-3)
    np.testing.assert_allclose(page.js(lefts), alone(np.array(there["c"])), atol=1e-3)
    assert page.js("document.querySelectorAll('.attn-word.gone').length") == 1 and weights(page)[gone] == 0
    press(page, "move", "flat")
    np.testing.assert_allclose(np.delete(weights(page), gone), 1 / (len(attention) - 1))
    page.drag(page.place(f"{MOVE} .attn-word:nth-child({gone + 1}) button"))
    assert float(data(page, "move")["p"]) == pytest.approx(alone(attention @ contribution), abs=1e-3), "back again"


def typed(page, text: str) -> None:
    page.js("document.querySelector('.attn-own input').select()")
    page.js("document.querySelector('.attn-own input').focus()")
    page.js("document.querySelector('.attn-own input').value = ''")
    page.call("Input.insertText", text=text)
    page.key("Enter")
    page.wait("document.querySelector('.attn-own small').textContent.startsWith('Read')")
    page.wait(f"{WORDS}.join(' ') === {text!r}")


def test_typed_sentences_take_turns_and_what_is_unknown_gets_no_verdict(page):
    chips = "document.querySelectorAll('[data-play=move] .attn-pick button').length"
    typed(page, "xqzzt blorp")
    assert "no verdict" in page.js(TEXT.format("output")) and "none of these words" in page.js(TEXT.format(".attn-was"))
    assert page.js("[...document.querySelectorAll('.attn-word .says')].map(e => e.textContent)") == ["not read"] * 2
    text = "a dull zyx"
    typed(page, text)
    assert page.js(chips) == len(SENTENCES) + 1, "one typed sentence at a time"
    tokens = sentence.sentence_traces(text)[0]
    press(page, "move", "delete")
    page.drag(page.place(f"{MOVE} .attn-word:nth-child(2) button"))
    assert float(data(page, "move")["p"]) == pytest.approx(float(sentence.sentence_traces("a zyx")[2].p[0]), abs=1e-3)
    press(page, "move", "all")
    press(page, "move", "average")
    read = look(tokens, play.stored()["average"])
    p = 1 / (1 + np.exp(-read["b"] - np.dot(read["a"], read["c"])))
    assert float(data(page, "move")["p"]) == pytest.approx(p, abs=1e-3)
    assert page.js(f"document.querySelector('{MOVE} button[data-key=minilm]').disabled")
    page.window(390)
    typed(page, "a film of supercalifragilisticexpialidociousnesses")
    assert page.js("document.documentElement.scrollWidth") == 390
    assert page.js(
        f"[...document.querySelectorAll('{MOVE} .attn-word button')].every(e => e.scrollWidth <= e.clientWidth)"
    )


def test_an_odd_sentence_says_so(page):
    press(page, "move", str(len(SENTENCES) - 1))
    assert page.js(TEXT.format(".attn-pick + .attn-note")) == ODD


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


def test_tiles_by_mouse_and_by_keys(page):
    signs = "[...document.querySelectorAll('.attn-tiles tbody button')].map(e => e.textContent)"
    assert page.js(signs) == ["−", "+", "+", "−", "−", "−"]
    assert not page.js("document.querySelector('#fig-tiles > svg').checkVisibility()")
    page.drag(page.place(".attn-tiles tbody tr:nth-child(2) td:nth-child(4) button"))
    assert (float(data(page, "tiles")["p"]), float(data(page, "tiles")["share"])) == (0.1, 0.3)
    page.key("ArrowUp")
    page.key("ArrowLeft")
    assert (data(page, "tiles")["layer"], data(page, "tiles")["piece"]) == ("0", "1")
    assert "positive 0.60" in page.js("document.querySelector('[data-play=tiles] .attn-why').textContent")
    assert page.js("document.querySelectorAll('.attn-tiles button[tabindex=\"0\"]').length") == 1, "one stop for Tab"
    press(page, "tiles", "as downloaded")
    assert page.js(signs)[3:] == ["−", "+", "−"]
    assert page.js("[...document.querySelectorAll('.attn-tiles tbody .count')].map(e => e.textContent)") == ["1", "2"]
    press(page, "tiles", "a")
    assert page.js(signs) == ["90", "0", "10", "60", "20", "20"]


def test_the_first_control_is_near(page):
    """From the top of the page: the shortcut, Enter, and there one is."""
    for _ in range(5):
        page.key("Tab")
        if page.js("document.activeElement.closest('.skip-link')?.textContent.includes('play')"):
            page.key("Enter")
            break
    assert page.js("!!document.activeElement.closest('.attn-play button')")


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
    assert seen("#fig-three > svg") and seen("[data-play=move] .attn-reading") and not seen("[data-play=move] .slot")
    assert seen("[data-play=erase] .attn-reading") and seen(".attn-still .attn-strip")
    assert seen("#fig-tiles > svg") and not seen(".attn-tiles")
    assert not seen(".attn-triangle") and not seen(".attn-keys") and not seen(".attn-strips")


def test_without_a_script_every_element_has_its_picture(page, place):
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(place)
        seen = lambda selector: page.js(f"document.querySelector('{selector}').checkVisibility()")
        assert seen("[data-play=move] .attn-reading") and seen("#fig-three > svg")
        assert seen("[data-play=erase] .attn-reading") and seen("[data-play=strips] .attn-strip")
        label = page.js("document.querySelector('[data-play=move] .attn-reading').getAttribute('aria-label')")
        assert all(f" {word} 0." in label for word in SENTENCES[0].split()), "the picture's words give its data"
        assert not seen("[data-play=triangle]") and not seen("[data-play=tiles]") and seen("#fig-tiles > svg")
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
    told = sentence.read_sentence(WARM)[1]
    assert float(data(chromium, "move")["jsd"]) == pytest.approx(told["jsd_exact"], abs=1e-3)
    assert all((HTML / "_static" / name).is_file() for name in ("sst-reader.js", "sst-words.js"))


def test_no_script_declares_names_of_the_whole_page(chromium, place):
    """Each but core.js stands there twice: names that were declared would collide."""
    twice = '<script src="rows.js"></script><script src="code.js"></script>' + str(PARTS.picker({}, {}))
    page = place.with_name("scripts.html")
    page.write_text(HEAD + twice + twice, encoding="utf-8")
    chromium.open(page)
    names = chromium.js(
        """(() => {
        const frame = document.body.appendChild(document.createElement("iframe"));
        const clean = new Set(Object.getOwnPropertyNames(frame.contentWindow));
        return Object.getOwnPropertyNames(window).filter(name => !clean.has(name) && isNaN(name));
    })()"""
    )
    assert names == [] and chromium.errors == []
