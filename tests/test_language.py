"""A language model under the papers' tests: a small Llama of random weights, and SmolLM2 where its file is at hand."""

import os
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import softmax

from attn_core.errors import AttnError
from attn_core.traces import Traces
from attn_lab.more import language
from attn_lab.more.language import PROMPT, PROMPTS, SINK
from attn_lab.more.minilm import MiniLM
from benchmarks.bench_language import measures, texts_of
from benchmarks.measured import DATA

transformers = pytest.importorskip("transformers")

BY_HAND = {  # a text of ours -> the same without its second word, blanks as they must then stand
    "the film is dull": "the is dull",
    "the plot , alas , goes nowhere": "the , alas , goes nowhere",
    "an unforgettable evening": "an evening",
    "it isn't (really) good": "it (really) good",
    "a 5 star film": "a star film",
    "wow !": "wow",
    "nothing ... happens": "nothing happens",
    "très drôle indeed": "très indeed",
    "I -- almost -- laughed": "I almost -- laughed",
    "Mr. O'Hara's film-within-a-film works": "Mr. film-within-a-film works",
}


class Bytes:
    """A tokenizer whose pieces are bytes."""

    bos_token_id = 256
    sep_token_id = None

    def __call__(self, text, **_):
        return {"input_ids": list(text.encode())}

    def decode(self, ids):
        return bytes(list(ids)).decode()


@pytest.fixture(scope="module", params=["small", "smollm2"])
def reader(request):
    """A language model and its tokenizer."""
    if request.param == "smollm2":
        try:
            return language.loaded()
        except AttnError as error:
            pytest.skip(str(error))
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "vocab_size": 257}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "attn_implementation": "eager"}
    config = transformers.LlamaConfig(**shape, **heads, initializer_range=0.3)
    return transformers.LlamaForCausalLM(config).eval().requires_grad_(False), Bytes()


def twice(model, texts, depths):
    """The states of each text among the others, and alone."""
    for row, together in language.states(model, texts, depths):
        ((_, alone),) = language.states(model, [texts[row]], depths)
        yield together, alone


def test_texts_side_by_side_have_the_states_of_each_alone(reader):
    model, tokenizer = reader
    texts = [language.laid_out(tokenizer, text)[0] for text in BY_HAND]
    for both in twice(model, texts, range(model.config.num_hidden_layers + 1)):
        together, alone = (of_text[:, 1:] for of_text in both)  # no head reads the first token's
        largest = np.abs(alone).max(axis=(1, 2), keepdims=True)  # of a layer
        assert (np.abs(together - alone) / largest).max() < 1e-5


def test_so_have_those_that_are_read_both_ways():
    torch.manual_seed(0)
    model = MiniLM(words=300, width=16, heads=2, depth=2).eval().requires_grad_(False)
    texts = [np.array([1, *text.encode(), 2]) for text in BY_HAND]
    for together, alone in twice(model, texts, range(3)):
        assert np.abs(together - alone).max() < 1e-5


def test_the_first_and_last_piece_of_a_model_that_has_both_are_of_no_word():
    both = Bytes()
    both.sep_token_id = 257
    ids, owner = language.laid_out(both, "dull film")
    assert (ids[0], ids[-1]) == (256, 257)
    assert owner.tolist() == [SINK] + 5 * [0] + 5 * [1] + [SINK]


def test_a_later_word_changes_no_earlier_state(reader):
    model, tokenizer = reader
    depths = range(model.config.num_hidden_layers + 1)
    for text in BY_HAND:
        ids, _ = language.laid_out(tokenizer, text)
        pair = [ids, np.append(ids[:-1], ids[1])]
        before, after = (
            of_text[:, 1:-1] for each in pair for _, of_text in language.states(model, [each], depths)
        )
        assert np.array_equal(before, after)


def test_a_text_without_a_word_is_cut_as_if_it_had_never_stood_there(reader):
    _, tokenizer = reader
    for text, rest in BY_HAND.items():
        ids, _ = language.laid_out(tokenizer, language.without_each(text)[1])
        assert ids[1:].tolist() == tokenizer(f" {rest}", add_special_tokens=False)["input_ids"]


def test_a_prompt_stands_around_the_text_and_each_piece_has_an_owner(reader):
    _, tokenizer = reader
    for prompt, *_ in PROMPTS[:5]:
        ids, owner = language.laid_out(tokenizer, "dull film", prompt)
        assert tokenizer.decode(ids[1:]) == prompt.replace("{text}", " dull film")
        assert tokenizer.decode(ids[owner == 1]) == " film"
        assert np.flatnonzero(owner == SINK).tolist() == [0]


def test_attention_adds_to_one_over_words_sink_and_prompt(reader):
    rng = np.random.default_rng(0)
    words = " ".join(BY_HAND).split()
    for number in range(200):
        chosen = rng.choice(words, rng.integers(1, 12))
        values = language.ranked(*reader, PROMPTS[number % 6], " ".join(chosen))
        assert values.index.tolist() == [SINK, PROMPT, *range(len(chosen))]
        assert np.allclose(values[["attention", "attention_mean", "rollout"]].sum(), 1, atol=1e-5)
        assert np.isfinite(values.iloc[1:]).all(axis=None)
        assert np.allclose(values["attention_rescaled"].iloc[1:].sum(), 1, atol=1e-5)


def test_the_answer_is_the_difference_of_two_logits(reader):
    model, tokenizer = reader
    first, second = language.answer_ids(tokenizer, PROMPTS[3])
    found = language.answered(model, tokenizer, PROMPTS[3], list(BY_HAND))
    for text, logit in zip(BY_HAND, found, strict=True):
        ids, _ = language.laid_out(tokenizer, text, PROMPTS[3][0])
        last = model(input_ids=torch.tensor(ids)[None]).logits[0, -1]
        assert logit == pytest.approx(float(last[second] - last[first]), abs=1e-3)


def test_agreement_by_place_by_hand():
    """Twenty states of one text: the first tenth argues against it."""
    contribution = np.ones((20, 1))
    contribution[:2] = -1
    traces = Traces(np.zeros(1), np.ones(1), np.array([0, 20]), np.zeros(20), contribution, np.zeros(1))
    found = measures(traces).filter(like="agreement tenth=").loc[0]
    assert found.tolist() == [0.0] + 9 * [1.0]


@pytest.mark.skipif(not os.environ.get("ATTN_DATA"), reason="ATTN_DATA is not set")
def test_the_stored_head_gives_the_stored_states(reader):
    """Of the first test texts of SST; its matrix is rounded to bytes."""
    model, tokenizer = reader
    if model.config.num_hidden_layers != 30:
        pytest.skip("another model's head")
    head = np.load(DATA / "measured" / "language_head.npz")
    stored = pd.read_csv(DATA / "measured" / "language_states.csv.xz").query("corpus == 'sst'")
    for number, text in enumerate(texts_of("sst", "test").text[:5]):
        ids, owner = language.laid_out(tokenizer, text)
        ((_, read),) = language.states(model, [ids], [30])
        h = (read[0, owner >= 0] - head["shift"]) / head["deviation"] / head["encoder.scale"]
        projected = h @ (head["project:q"] * head["project:s"]).T + head["attention.project.bias"]
        same = stored[stored.text == number]
        assert np.allclose(
            softmax(np.tanh(projected) @ head["attention.v.weight"][0]), same.attention, atol=0.02
        )
        assert np.allclose(h @ head["decoder.weight"][0], same.contribution, atol=0.02)


def test_a_missing_reader_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(AttnError, match="pretrained"):
        language.loaded.__wrapped__()
