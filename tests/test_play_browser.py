"""The interactive elements in a real browser, from file://: what pointers, fingers and keys do, against the package."""

import json
import shutil

import numpy as np
import pytest
from conftest import HTML, ROOT, built

from attn_book import figures, play
from attn_book.page import PARTS
from attn_build import build
from attn_core.experiments.removal import removals
from attn_core.measures import jsd
from attn_lab.runs import sentence

STATIC = ROOT / "book" / "_static"
pytestmark = pytest.mark.browser
STRIPS = json.loads((ROOT / "data" / "examples" / "strips.json").read_text())
SENTENCES = ["film was not good", "not one dull moment"]
ODD = "People read praise."
ERASED = ["too long and too loud yet strangely moving", "this is not a good film"]
THREE = "dull yet charming"
TILES = {
    "pieces": ["dull", "."],
    "layers": ["0, alone", "6, last"],
    "models": {
        "fine-tuned": [{"p": [0.6, 0.7], "a": [0.8, 0.2]}, {"p": [0.9, 0.1], "a": [0.7, 0.3]}],
        "as downloaded": [{"p": [0.2, 0.7], "a": [0.9, 0.1]}, {"p": [0.9, 0.6], "a": [0.6, 0.4]}],
    },
}
HEAD = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<style>:root { --pst-color-background: #fff; } html[data-theme=dark] { --pst-color-background: #14181e; }
body { background: var(--pst-color-background); margin: 0; padding: 16px; font-size: 17px; }</style>
<link rel="stylesheet" href="attn.css"><script src="core.js"></script><body class="bd-article">"""


SHARES = "[...document.querySelectorAll('{}')].map(e => +e.style.getPropertyValue('--w'))"
SMALL = """[...document.querySelectorAll('.attn-play button')]
    .filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 24).length"""


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
        for name in ("three", "tiles"):
            figures.show(figures.sheet()[0], name, "A title", "A caption.", "A picture.")
        play.widget("triangle", [THREE], "", figure="fig-three", epsilon=0.05)
        play.widget("erase", ERASED)
        play.widget("strips", [], PARTS.strips(STRIPS["sentences"], STRIPS["models"], 2), models=STRIPS)
        play.widget("tiles", [], "", figure="fig-tiles", tiles=TILES)
    (folder / "page.html").write_text(HEAD + "\n".join(shown))
    return folder / "page.html"


@pytest.fixture
def page(chromium, place):
    chromium.open(place)
    yield chromium
    assert chromium.errors == []


def data(page, kind: str) -> dict:
    """What an element says of its state."""
    return page.js(f"({{...document.querySelector('[data-play={kind}]').dataset}})")


def press(page, kind: str, *keys: str) -> None:
    for key in keys:
        page.drag(page.place(f'[data-play={kind}] button[data-key="{key}"]'))


def focus(page, selector: str) -> None:
    page.js(f"document.querySelector('{selector}').focus()")


def texts(page, selector: str) -> list[str]:
    return page.js(f"[...document.querySelectorAll('{selector}')].map(e => e.textContent)")


def count(page, selector: str) -> int:
    return page.js(f"document.querySelectorAll('{selector}').length")


def seen(page, selector: str) -> bool:
    return page.js(f"document.querySelector('{selector}').checkVisibility()")


def calm(page) -> None:
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])


def weights(page) -> np.ndarray:
    return np.array(page.js(SHARES.format("[data-play=move] .slot")))


def p_of(page) -> float:
    return float(data(page, "move")["p"])


def state(page) -> tuple[str, str]:
    """The step of the path, and who reads."""
    told = data(page, "move")
    return told["step"], told["encoder"]


MOVE = "[data-play=move]"
WORD = "[data-play=move] .attn-word:nth-child({})"


# ---- move: bars, words, keys -----------------------------------------------------------------------------------------


def test_a_bar_follows_the_pointer(page):
    slot = WORD.format(4) + " .slot"
    page.drag(page.place(slot, y=0.9), page.place(slot, y=0.5), page.place(slot, y=0.2))
    assert weights(page)[3] == pytest.approx(0.8, abs=0.03)
    assert weights(page).sum() == pytest.approx(1)


def test_keys_move_a_weight(page):
    focus(page, f"{MOVE} .slot")
    page.key("End")
    assert weights(page)[0] == 1
    page.key("ArrowDown")
    assert weights(page)[0] == pytest.approx(0.95)
    assert page.js("document.activeElement.ariaValueText") == "95%"


def test_tab_leads_from_bar_to_word_to_bar(page):
    focus(page, f"{MOVE} .slot")
    page.key("Tab")
    page.key("Tab")
    assert page.js("document.activeElement.ariaLabel") == "weight of was"


def test_a_second_click_on_shuffle_does_not_begin_again(page):
    """The page's clock stands still between the two, after half of the time that shuffling takes."""
    histogram = "document.querySelector('.attn-histogram').innerHTML"
    page.js("window.requestAnimationFrame = step => { window.step = step; return 1; }")
    press(page, "move", "shuffle")
    page.js("step(performance.now() + 750)")
    filled = page.js(histogram)
    press(page, "move", "shuffle")
    assert page.js(histogram) == filled


def test_a_word_is_erased_deleted_and_brought_back(page):
    """By the functions of the script, which `test_play` holds against the package."""
    reading = json.dumps(play.readings(SENTENCES[0])["minilm"])
    own, erased, deleted = page.js(
        f"(d => [d, attn.erased(d, 2), attn.deleted(d, 2)].map(e => attn.output(e, e.a)))({reading})"
    )
    third = WORD.format(3) + " button"
    press(page, "move", "minilm", "erase")
    page.drag(page.place(third))
    assert p_of(page) == pytest.approx(erased, abs=1e-3)
    press(page, "move", "delete")
    assert p_of(page) == pytest.approx(deleted, abs=1e-3)
    press(page, "move", "flat")
    assert weights(page)[2] == 0
    page.drag(page.place(third))
    assert p_of(page) == pytest.approx(own, abs=1e-3)


# ---- move: the steps -------------------------------------------------------------------------------------------------


def walk(page, act) -> None:
    """The five steps; act: presses a button of the panel by its key."""
    act("stays")
    for step, encoder in ((1, "lstm"), (3, "average")):
        assert state(page) == (str(step), encoder)
        act("go")
        page.wait(f"document.querySelector('{MOVE}').dataset.step === '{step + 1}'")
        assert int(data(page, "move")["flips"]) <= 300
        if step == 1:
            act("go")
    for encoder in ("lstm", "average"):
        reading = play.readings(SENTENCES[0])[encoder]
        agree = sum((p > 0.5) == (reading["p"] > 0.5) for p in reading["alone"])
        assert f"{agree} of {len(reading['w'])}" in texts(page, ".attn-path p")[0]
    act("minilm")
    page.wait("document.querySelectorAll('.attn-tally li').length === 3")
    act("again")
    assert state(page) == ("0", "lstm")


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


# ---- move: sentences -------------------------------------------------------------------------------------------------


def typed(page, text: str) -> None:
    page.js("document.querySelector('.attn-own input').value = ''")
    focus(page, ".attn-own input")
    page.call("Input.insertText", text=text)
    page.key("Enter")
    page.wait("document.querySelector('.attn-own small').textContent.startsWith('Read')")
    words = json.dumps(sentence.sentence_traces(text)[0])
    page.wait(
        f"[...document.querySelectorAll('{MOVE} .attn-word button')].map(e => e.textContent) + '' === {words} + ''"
    )


@pytest.mark.parametrize("text", ["A slow, sad film that I couldn't forget.", "zyx"])
def test_a_sentence_of_ones_own(page, text):
    tokens, known, traces = sentence.sentence_traces(text)
    typed(page, text)
    assert p_of(page) == pytest.approx(float(traces.p[0]), abs=1e-4)
    assert np.abs(weights(page) - traces.attention).max() < 1e-4
    unknown = [token for token, is_known in zip(tokens, known, strict=True) if not is_known]
    assert texts(page, f"{MOVE} .attn-word.strange button") == unknown


def test_words_that_the_model_does_not_know_get_no_verdict(page):
    typed(page, "xqzzt blorp")
    assert texts(page, f"{MOVE} output") == ["no verdict"]
    assert texts(page, f"{MOVE} .says") == ["not read"] * 2


def test_a_typed_sentence_takes_the_place_of_the_one_before(page):
    for text in ("a dull film", "a dull zyx"):
        typed(page, text)
    assert count(page, f"{MOVE} .attn-pick button") == len(SENTENCES) + 1


def test_the_transformer_reads_stored_sentences_alone(page):
    typed(page, "a dull zyx")
    assert page.js(f"document.querySelector('{MOVE} button[data-key=minilm]').disabled")


def test_a_long_word_fits_a_phone(page):
    page.window(390)
    typed(page, "a film of supercalifragilisticexpialidociousnesses")
    buttons = f"[...document.querySelectorAll('{MOVE} .attn-word button')]"
    assert page.js("document.documentElement.scrollWidth") == 390
    assert page.js(f"{buttons}.every(e => e.scrollWidth <= e.clientWidth)")


# ---- the other elements ----------------------------------------------------------------------------------------------


def test_the_triangle_follows_the_finger(page):
    page.drag(page.place(".point"), page.place(".ground", y=0.5), page.place(".ground", y=0.02))
    now = np.array(json.loads(data(page, "triangle")["now"]))
    assert now[1] == pytest.approx(0.98, abs=0.02)
    own = sentence.sentence_traces(THREE)[2].attention
    assert float(data(page, "triangle")["jsd"]) == pytest.approx(jsd(now, own), abs=1e-3)


def test_the_triangle_follows_the_keys(page):
    focus(page, ".point")
    before = json.loads(data(page, "triangle")["now"])
    page.key("ArrowUp")
    assert json.loads(data(page, "triangle")["now"])[1] > before[1]


def test_words_are_erased_in_an_order_until_the_decision_flips(page):
    """In as many steps as the package takes."""
    for order in ("attention", "optimum"):
        press(page, "erase", order, "all")
        found = removals(sentence.sentence_traces(ERASED[0])[2])
        assert int(data(page, "erase")["erased"]) == found[f"removed_{order}"][0]
        assert count(page, "[data-play=erase].flipped") == 1
        press(page, "erase", "none", "one")
        assert data(page, "erase")["erased"] == "1"


TILE = ".attn-tiles tbody button"


def test_a_tile_by_mouse_and_the_next_by_keys(page):
    page.drag(page.place(".attn-tiles tbody tr:nth-child(2) td:nth-child(3) button"))
    assert (float(data(page, "tiles")["p"]), float(data(page, "tiles")["share"])) == (0.1, 0.3)
    page.key("ArrowUp")
    page.key("ArrowLeft")
    assert "positive, p = 0.60" in texts(page, "[data-play=tiles] .attn-why")[0]
    assert count(page, f'{TILE}[tabindex="0"]') == 1, "one stop for Tab"


def test_tiles_show_another_network(page):
    assert texts(page, TILE) == ["+", "+", "+", "−"]
    press(page, "tiles", "as downloaded")
    assert texts(page, TILE) == ["−", "+", "+", "+"]
    assert texts(page, ".attn-tiles tbody .count") == ["1", "0"]


def test_strips_of_every_model(page):
    models = STRIPS["models"]
    for model in models[:: len(models) // 4]:
        press(page, "strips", model["seed"], model["encoder"], model["kind"])
        assert np.allclose(page.js(SHARES.format(".attn-strips span")), np.concatenate(model["a"]) / 1000)


# ---- who reads otherwise ---------------------------------------------------------------------------------------------


def test_a_phone_holds_it_and_a_finger_moves_it(page, place):
    page.open(place, 390)
    assert page.js("document.documentElement.scrollWidth") == 390
    assert page.js(SMALL) == 0, "large enough for a finger"
    page.tap(*page.place(WORD.format(4) + " button"))
    assert list(weights(page)) == [0, 0, 0, 1]
    assert count(page, "[data-play=move].flipped") == 1
    page.tap(*page.place(WORD.format(1) + " .slot", y=0.5))
    assert weights(page)[0] == pytest.approx(0.5, abs=0.05)


def test_nothing_slides_for_who_wants_no_motion(page):
    calm(page)
    assert page.js("getComputedStyle(document.querySelector('.slot i')).transitionDuration") == "0s"


PICTURES = (
    "#fig-three > svg",
    "#fig-tiles > svg",
    f"{MOVE} .attn-reading",
    "[data-play=erase] .attn-reading",
)
ALIVE = (".attn-triangle", ".attn-tiles", ".attn-keys", ".attn-strips", f"{MOVE} .slot")


def test_paper_has_pictures(page):
    assert not [selector for selector in PICTURES if seen(page, selector)]
    page.call("Emulation.setEmulatedMedia", media="print")
    assert [selector for selector in PICTURES + ALIVE if seen(page, selector)] == list(PICTURES)


def test_without_a_script_every_element_has_its_picture(page, place):
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(place)
        assert all(seen(page, selector) for selector in (*PICTURES, "[data-play=strips] .attn-strip"))
        label = page.js(f"document.querySelector('{MOVE} .attn-reading').getAttribute('aria-label')")
        assert all(f" {word} 0." in label for word in SENTENCES[0].split()), (
            "the picture's words give its data"
        )
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)


@built
def test_every_element_of_the_built_book_lives(chromium):
    playing = [path for path in sorted(HTML.rglob("*.html")) if 'class="attn-play"' in path.read_text()]
    assert len(playing) >= 5, "front page, 1, 4, and one of each paper"
    for path in playing:
        chromium.open(path)
        kinds = chromium.js("[...document.querySelectorAll('.attn-play')].map(e => e.dataset.play)")
        assert all(chromium.wait(f"!!document.querySelector('[data-play={kind}] button')") for kind in kinds)
        assert not chromium.errors
    assert (HTML / "_static" / "sst-words.js").is_file()


def test_no_script_declares_names_of_the_whole_page(chromium, place):
    """Each but core.js stands there twice: names that were declared would collide."""
    twice = '<script src="rows.js"></script><script src="code.js"></script>' + str(PARTS.picker({}, {}))
    page = place.with_name("scripts.html")
    page.write_text(HEAD + twice + twice)
    chromium.open(page)
    names = chromium.js(
        """(() => {
        const frame = document.body.appendChild(document.createElement("iframe"));
        const clean = new Set(Object.getOwnPropertyNames(frame.contentWindow));
        return Object.getOwnPropertyNames(window).filter(name => !clean.has(name) && isNaN(name));
    })()"""
    )
    assert names == []
    assert chromium.errors == []


def test_the_five_steps_by_touch_without_motion(page, place):
    page.open(place, 390)
    calm(page)
    walk(page, lambda key: page.tap(*page.place(f'.attn-path button[data-key="{key}"]')))
