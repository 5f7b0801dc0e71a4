"""`attn_lab.check`: the numbers of the experiments on the package's own model, and any other torch model."""

import doctest
import os
import re
import sys
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT, alike, python, refused
from torch import nn

import attn_lab
from attn_core.documents import Documents
from attn_core.experiments.removal import removals
from attn_core.models import classifier
from attn_lab import adversarial, check, obtain, permutation, trace
from attn_lab.data.arrays import to_ids
from attn_lab.more.compared import compared
from attn_lab.more.erasure import derived
from attn_lab.more.single_state import single_state_agreement
from attn_lab.runs.sentence import Reader, load
from attn_lab.studies.adapters import HuggingFace
from attn_lab.studies.numbers import share_interval


@pytest.fixture(scope="module")
def bilstm():
    """The archived SST model and its vocabulary; texts of its words, which are of no data set."""
    arrays, about = load()
    words = np.array(about["words"])
    rng = np.random.default_rng(0)
    texts = [rng.choice(words[4:], n).tolist() for n in rng.integers(1, 20, 40)]
    return classifier.from_arrays("lstm", "tanh", arrays), about["words"], texts


@pytest.fixture(scope="module")
def checked(bilstm):
    model, vocabulary, texts = bilstm
    return check(model, texts, vocabulary=vocabulary)


@pytest.fixture(scope="module")
def traces(bilstm):
    model, vocabulary, texts = bilstm
    ids, offsets = to_ids(texts, vocabulary)
    return trace(model, Documents(ids, offsets, np.zeros(40, int), np.arange(40)))


def test_the_bilstm_has_the_numbers_of_the_experiments(checked, traces):
    numbers = compared(traces).set_index(["measure", "other", "statistic"])["value"]
    states = single_state_agreement(traces).mean()
    several = traces.lengths[traces.lengths > 1]
    value = checked.table["value"]
    assert value["ranks"] == pytest.approx(numbers["attention", "deletion", "tau"], abs=1e-3)
    assert value["change"] == pytest.approx(numbers["attention", "", "change"], abs=1e-5)
    assert value["top word"] == pytest.approx(numbers["attention", "deletion", "top1"], abs=1e-9)
    shares = {
        "permuted weights": (permutation(traces)["median_change"] < 0.1).mean(),
        "attention-invariant": states["attention_invariant"],
        "uniform weights": states["flips_under_uniform"],
    }
    assert value[list(shares)].to_dict() == shares
    assert checked.table["chance"]["top word"] == pytest.approx((1 / several).mean())
    erased = derived(removals(traces), item_left=True)
    found = checked.documents[["order", "order, by chance"]]
    np.testing.assert_allclose(found, erased[["fraction_attention", "fraction_random"]])
    own = replace(traces, contribution=traces.contribution + traces.bias)
    alike(checked.traces, own, 1e-5, ("leave_one_out", "contribution"), attention=1e-6)
    assert checked.not_run == {}
    assert set(checked.table["side"]) == {0}, "forty texts are too few"


def test_the_archived_model_is_read_without_torch(checked, bilstm, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    table = check(Reader(), bilstm[2]).table
    pd.testing.assert_frame_equal(table, checked.table, atol=1e-3)


class Reads:
    """p hangs on how often 'good' stands in a text; the attention is on the words that are `looked`, else even.

    attention: of scores (B, n), 9 for a word that is `looked`, else 0; logits: of one (B, 1) that is -2 without a good,
    2 with one.
    """

    def __init__(self, looked="good", attention=lambda score: score.softmax(1), logits=lambda logit: logit):
        self.looked, self.attention, self.logits = looked, attention, logits

    def tokens(self, text):
        return text.split()

    def read(self, texts):
        score = torch.tensor([[9.0 * (word == self.looked) for word in text] for text in texts])
        logit = torch.tensor([[4.0 * text.count("good") - 2] for text in texts])
        return self.attention(score), self.logits(logit)


def texts_with_a_cue(count=40):
    rng = np.random.default_rng(1)
    return [
        " ".join(rng.permutation(["good", "film", *(f"w{i}" for i in rng.integers(99, size=6))]))
        for _ in range(count)
    ]


def test_attention_on_the_deciding_word_is_found_and_elsewhere_is_not():
    texts = texts_with_a_cue(60)
    right, wrong, even = (
        check(Reads(word), texts).table.loc["top word"] for word in ("good", "film", "none")
    )
    assert (right.side, wrong.side, even.side) == (1, -1, 0)
    assert (right.value, right.low, wrong.value) == (1, 0.95, 0), "another text may differ"
    assert even.low <= even.chance <= even.high
    few = check(Reads(), texts[:49])
    assert few.table.side["top word"] == 0
    assert "undecided" in few.report()
    assert "<table" in few._repr_html_()


def test_a_word_list_stands_beside_attention():
    """Counted on the other texts: what the texts are about, good or bad, tells the label, and only good is read."""
    texts = texts_with_a_cue(60)
    texts[::2] = [text.replace("good", f"bad{i % 2}") for i, text in enumerate(texts[::2])]
    table = check(Reads("film"), texts, labels=[0, 1] * 30).table
    assert table.loc["attention minus list", "side"] == -1
    assert table.loc["word list", "value"] > 0.5
    assert table.loc["word list", "side"] == 1
    assert "word list" not in check(Reads("film"), texts[:9]).table.index


def test_equal_texts_count_once_and_words_and_labels_stay_beside():
    checked = check(Reads(), ["a good film", "bad", "a  good film"], labels=[1, 0, 1])
    assert checked.documents["doc_id"].tolist() == [0, 1]
    assert checked.traces.words(0) == ["a", "good", "film"]
    assert checked.documents["label"].tolist() == [1, 0]
    assert np.isnan(checked.documents["top word"][1])


def test_what_cannot_be_run_is_said_with_its_reason():
    texts = texts_with_a_cue(6)
    given = {"permuted weights", "attention-invariant", "uniform weights", "order"}
    assert set(check(Reads(), texts).not_run) == given

    class Deep(Reads):
        """No mean over words: the sum is squared."""

        more = 0

        def read(self, texts):
            attention, _ = super().read(texts)
            return attention, self.give(texts, attention) + self.more

        def give(self, texts, attention):
            good = torch.tensor([[1.0 * (word == "good") for word in text] for text in texts])
            return (attention * good).sum(1, keepdim=True) ** 2 - 0.5

    checked = check(Deep(), texts)
    assert list(checked.not_run) == ["attention-invariant"]
    assert "no mean" in checked.not_run["attention-invariant"]
    assert given - {"attention-invariant"} <= set(checked.table.index)
    Deep.more = 1
    assert "otherwise" in check(Deep(), texts).not_run["order"]


# ---- chance ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hits", "chance", "told"),
    [
        ([1] * 7, [0.5] * 7, 1),  # by chance 1 in 128
        ([0] * 12, [0.05] * 12, 0),  # 54 in 100
        ([0] * 20, [0.16] * 20, 0),  # .84 ** 20 = .031
        ([1] * 20, [0.84] * 20, 0),
        ([0] * 20, [0.32] * 10 + [0.0] * 10, -1),  # .68 ** 10 = .021
        ([0.5] * 12, [0.5] * 12, 0),  # in each text two words tie
    ],
)
def test_a_share_is_told_from_chance_where_the_exact_tail_is_below_a_fortieth(hits, chance, told):
    low, high = share_interval(np.array([hits], float), np.array(chance))
    assert int(low > np.mean(chance)) - int(high < np.mean(chance)) == told
    assert low <= np.mean(hits) <= high


class Summed(Reads):
    """Words are numbers. Each has an effect, whose sum is the logit, and a weight, both drawn; in some of 60 texts of
    20 words the largest weight is on the largest effect."""

    texts = tuple(" ".join(map(str, row)) for row in np.arange(1200).reshape(60, 20))

    def __init__(self, seed, planted):
        rng = np.random.default_rng(seed)
        self.effects, self.weights = rng.normal(size=1200), rng.gamma(1, size=1200)
        important = abs(self.effects.reshape(60, 20)).argmax(1) + np.arange(0, 1200, 20)
        self.weights[important[rng.random(60) < planted]] = 99

    def read(self, texts):
        words = np.array(texts, int)
        weights = self.weights[words]
        return weights / weights.sum(1, keepdims=True), self.effects[words].sum(1, keepdims=True) / 5


def sides(models, planted):
    """Test -> of each model, on which side of chance it is."""
    return pd.DataFrame(check(Summed(seed, planted), Summed.texts).table["side"] for seed in range(models))


def test_attention_drawn_at_random_is_seldom_told_from_chance_on_either_side():
    told = sides(400, planted=0.0)
    assert {"top word", "change", "ranks"} == {*told}
    assert (told == 1).mean().max() <= 0.05
    assert (told == -1).mean().max() <= 0.05


def test_an_attention_that_is_on_the_most_important_word_of_most_texts_is_found():
    assert (sides(60, planted=0.6)["top word"] == 1).mean() >= 0.8


# ---- what is no explanation, and no answer ---------------------------------------------------------------------------


def test_networks_under_any_name_are_evaluated_and_left_as_they_came():
    net = nn.Dropout(0.5)
    for logits in (net, lambda logit: net(logit)):
        assert check(Reads(logits=logits), ["a good film", "a film"]).traces.logits.round().tolist() == [
            [2],
            [-2],
        ]
    assert net.training


def test_a_text_that_is_answered_twice_in_two_ways_is_refused():
    with refused("read twice, gave two answers"):
        check(Reads(logits=lambda logit: logit + torch.rand_like(logit)), ["a good film"] * 2)


def first(score):
    return torch.eye(score.shape[1])[[0] * len(score)]


def two(logit):
    return torch.cat([logit, -logit], 1)


@pytest.mark.parametrize(
    "read",
    [
        {"logits": lambda logit: two(logit).log_softmax(1)},
        {"attention": lambda score: score.softmax(1).bfloat16()},
    ],
    ids=["logarithms", "bfloat16"],
)
def test_answers_of_other_kinds_are_taken(read):
    assert check(Reads(**read), texts_with_a_cue(20)).table["value"]["top word"] == 1


TEXTS = ["good a film b", "that is a film c", "so good", "good"]
CALLS = {
    "on the first word, or the last": {"model": Reads(attention=first)},
    "of a causal model; give the row": {"model": Reads(attention=lambda score: first(score).flip(1))},
    "gave probabilities, it seems": {"model": Reads(logits=lambda logit: two(logit).softmax(1))},
    "give logits, or the logarithms": {"model": Reads(logits=torch.sigmoid)},
    "attention (1, 2)": {"model": Reads(attention=lambda score: score[:, :2])},
    "does not sum to 1": {"model": Reads(attention=lambda score: 1 + score)},
    "no list of texts": {"texts": []},
    "no list of texts but str": {"texts": "a text"},
    "no list of texts but DataFrame": {"texts": pd.DataFrame({"text": TEXTS})},
    "text 1 has no words, it is None": {"texts": ["a", None]},
    "text 1 has no words": {"texts": ["a", " "]},
    "whole numbers from 0 to 1": {"labels": [0, 2, 0, 0]},
    "whole numbers from 0 to 1, one": {"labels": [0, np.nan, 0, 0]},
    "one for each of 4 texts": {"labels": [1]},
    "tokenizer= is 'bert-base-uncased', with Reads; give": {"tokenizer": "bert-base-uncased"},
    "vocabulary= goes with a classifier of this package": {"vocabulary": ["a"]},
    "layers= takes 'all', of a model of Hugging Face": {"layers": "all"},
    "answers= and prompt= go with tokenizer=": {"answers": (" yes", " no")},
}


@pytest.mark.parametrize("told", CALLS)
def test_calls_and_answers_that_will_not_do_are_refused_in_words_of_the_call(told):
    with refused(re.escape(told)) as error:
        check(**{"model": Reads(), "texts": TEXTS} | CALLS[told])
    assert len(str(error.value)) <= 200


@pytest.mark.parametrize(
    "form", [tuple, iter, np.array, pd.Series, lambda texts: [text.split() for text in texts]]
)
def test_texts_and_labels_are_taken_in_many_forms(form):
    labels = pd.Series([1.0, 0.0], index=[7, 3])
    checked = check(Reads(), form(TEXTS[:2]), labels=labels)
    assert checked.documents["label"].tolist() == [1, 0]


def test_a_vocabulary_is_the_models(bilstm):
    model, vocabulary, texts = bilstm
    turned = {word: i for i, word in reversed(list(enumerate(vocabulary)))}
    assert check(model, texts[:2], vocabulary=turned).traces.words(0) == texts[0]
    for wrong in (vocabulary[:-1], [*vocabulary, "more"], vocabulary[::-1], "words", 5):
        with refused("vocabulary= holds the model's"):
            check(model, texts[:2], vocabulary=wrong)
    with refused("Classifier has no tokens; give it"):
        check(model, texts[:2])


def test_the_words_behind_a_sink_are_tested_apart():
    sink = Reads(attention=lambda score: 0.1 * score.softmax(1) + 0.9 * first(score))
    table = check(sink, [f"so {text}" for text in texts_with_a_cue(60)]).table
    assert table.loc["top word", ["value", "side"]].tolist() == [0, -1]
    assert table.loc["top word behind the first", ["value", "side"]].tolist() == [1, 1]
    assert table.loc["top word behind the first", "chance"] == pytest.approx(1 / 8)
    assert "top word behind the first" not in check(Reads(), texts_with_a_cue()).table.index


def test_deletions_are_captums_ablations_where_a_word_less_is_a_zero():
    attr = pytest.importorskip("captum.attr")

    model = Summed(0, planted=0.0)
    ours = check(model, ["0 1 2 3"]).traces.leave_one_out
    effects = torch.tensor(model.effects[:4]) / 5
    ablation = attr.FeatureAblation(lambda counts: (counts @ effects).sigmoid())
    theirs = ablation.attribute(torch.ones(1, 4, dtype=torch.double))[0]
    torch.testing.assert_close(torch.tensor(-ours), theirs, check_dtype=False)


# ---- models of the library transformers, small and of random weights -------------------------------------------------

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "good", "bad", "film", "that", "ends", "is"]
SMALL = {
    "vocab_size": len(PIECES),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 12,
    "initializer_range": 0.5,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": 3,
    "cls_token_id": 2,
    "sep_token_id": 3,
}
FILMS = ["a good film", "a bad film that ends", "good", "a film that ends bad"]


def tokenizer_of(form):
    """Words at blanks; form: the special tokens around a text $A."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    ids = {piece: i for i, piece in enumerate(PIECES)}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, "[UNK]"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    special = [(piece, ids[piece]) for piece in form.split() if piece != "$A"]
    plain.post_processor = tokenizers.processors.TemplateProcessing(single=form, special_tokens=special)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )


def model_of(name, **options):
    transformers = pytest.importorskip("transformers")
    kind, _, head = name.partition("For")
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**SMALL | options)
    return getattr(transformers, f"{kind}For{head or 'SequenceClassification'}")(config).eval()


def whole(model, tokenizer, text):
    """What a model itself gives for a text."""
    with torch.no_grad():
        return model(tokenizer(text, return_tensors="pt")["input_ids"], output_attentions=True)


PLACES = {
    "Bert": ("[CLS] $A [SEP]", {}, 0),
    "Roberta": ("[CLS] $A [SEP]", {}, 0),
    "ModernBert": ("[CLS] $A [SEP]", {"classifier_pooling": "mean"}, None),
    "GPT2": ("$A", {}, -1),
    "Llama": ("[CLS] $A", {"pad_token_id": None}, -1),
}


@pytest.mark.parametrize("name", PLACES)
def test_the_row_of_attention_is_that_of_the_place_that_is_classified(name):
    form, options, place = PLACES[name]
    model = model_of(name, **options)
    tokenizer = tokenizer_of(form)
    assert HuggingFace(model, tokenizer).place == place
    checked = check(model, FILMS, tokenizer=tokenizer).traces.take([1])

    read = whole(model, tokenizer, FILMS[1])
    rows = read.attentions[-1][0].mean(0)
    row = rows.mean(0) if place is None else rows[place]
    start = form.split().index("$A")
    row = row[start : start + 5]
    np.testing.assert_allclose(checked.attention, row / row.sum(), atol=1e-6)
    np.testing.assert_allclose(checked.p, read.logits.softmax(1)[:, 1], atol=1e-6)
    if name == "Bert":
        layers = check(model, FILMS, tokenizer=tokenizer, layers="all")
        assert layers.layers.index.tolist() == [1, 2]
        assert layers.layers.loc[1, 2] in (0, 1 / 3, 2 / 3, 1)
        assert "background" in layers.plot().to_html()
    change = whole(model, tokenizer, "a bad film ends").logits.softmax(1) - read.logits.softmax(1)
    np.testing.assert_allclose(abs(checked.leave_one_out[3]), abs(change[0, 1]), atol=1e-6)


@pytest.mark.parametrize(("name", "places", "left"), [("Bert", 8, 6), ("Roberta", 12, 9)])
def test_a_text_is_cut_to_the_places_that_a_model_has(name, places, left):
    """Two of them special; RoBERTa counts from the second on."""
    model = model_of(name, max_position_embeddings=places)
    traces = check(model, [" ".join(FILMS)], tokenizer=tokenizer_of("[CLS] $A [SEP]")).traces
    assert traces.words(0) == " ".join(FILMS).split()[:left]


def test_what_goes_to_special_tokens_is_told_apart():
    checked = check(model_of("Llama"), FILMS, tokenizer=tokenizer_of("[CLS] $A"))
    assert 0 < checked.outside["[CLS]"] < 1
    assert "'[CLS]'" in checked.report()


ASKED = {"answers": (" good", " bad"), "prompt": "that {text} is"}


def test_a_language_model_answers_behind_its_prompt():
    model = model_of("LlamaForCausalLM")
    tokenizer = tokenizer_of("$A")
    checked = check(model, FILMS, tokenizer=tokenizer, **ASKED).traces.take([0])
    read = whole(model, tokenizer, "that a good film is")
    row = read.attentions[-1][0, :, -1, 1:4].mean(0)
    np.testing.assert_allclose(checked.attention, row / row.sum(), atol=1e-6)
    good, bad = read.logits[0, -1, [5, 6]].exp()
    np.testing.assert_allclose(checked.p, bad / (good + bad), atol=1e-6)


REFUSED = {
    "is set up for regression": ("Bert", {"num_labels": 1}),
    "set up for multi label": ("Bert", {"problem_type": "multi_label_classification"}),
    "gives no attention of each token to each other": ("FNet",),
    "answers otherwise with output_attentions=True": ("Falcon",),
    "LlamaForCausalLM is no classifier": ("LlamaForCausalLM",),
    "and no language model like GPT-2": ("BertForMaskedLM", {}, ASKED),
    "BertForQuestionAnswering is no classifier": ("BertForQuestionAnswering",),
    "' good film' is not one piece": ("LlamaForCausalLM", {}, ASKED | {"answers": (" good film", " bad")}),
    "' fine' is not one piece": ("LlamaForCausalLM", {}, ASKED | {"answers": (" fine", " bad")}),
    "two texts or more": ("LlamaForCausalLM", {}, ASKED | {"answers": (" good",)}),
    "prompt= one with {text} once": ("LlamaForCausalLM", {}, ASKED | {"prompt": "is"}),
    "'flim' is no piece of tokenizer=": ("Bert", {}, {"texts": [["a", "flim"]]}),
}


@pytest.mark.parametrize("told", REFUSED)
def test_models_that_cannot_be_checked_are_refused_in_one_line(told):
    kind, config, options = (*REFUSED[told], {}, {})[:3]
    tokenizer = tokenizer_of("$A")
    with refused(re.escape(told)) as error:
        check(model_of(kind, **config), **{"texts": FILMS, "tokenizer": tokenizer} | options)
    assert len(str(error.value)) <= 200


DOCUMENTED = (
    "attn_lab.studies.check",
    "attn_lab.studies.heat_map",
    "attn_core.traces",
    "attn_core.tracing",
    "attn_lab.data.encoding",
    "attn_lab.studies.study",
    "attn_lab.runs.store",
)


@pytest.mark.parametrize("module", DOCUMENTED)
def test_the_examples_in_the_docstrings_hold(module):
    result = doctest.testmod(import_module(module))
    assert result.attempted
    assert not result.failed


def test_names_that_are_loaded_late_are_shown_and_are_the_functions():
    assert {*attn_lab.__all__, "__version__"} == {*dir(attn_lab)}
    traces = obtain("sst-average-tanh-10-bbdd57a9af").traces
    assert len(permutation(traces.take([0, 1]))) == len(adversarial(traces.take([0, 1]), 0.05)) == 2
    assert len(repr(traces)) < 100
    with refused("near: sst-average-tanh-10-bbdd57a9af"):
        obtain(key="sst-average-tanh-10-bbdd57a9a")


def test_the_ten_lines_of_the_readme_print_what_it_shows_without_torch(tmp_path):
    readme = (ROOT / "README.md").read_text()
    assert len(readme.split()) <= 1_000
    code, told = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", readme, re.DOTALL).groups()
    assert len(code.strip().splitlines()) <= 11
    (tmp_path / "torch.py").write_text("raise ImportError")
    places = os.pathsep.join(map(str, (tmp_path, ROOT, ROOT / "book")))
    assert python("-c", code, folder=ROOT, PYTHONPATH=places) == told
