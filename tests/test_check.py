"""`attn_core.check`: the numbers of the experiments on the package's own model, and any other torch model."""

import doctest
from importlib import import_module

import numpy as np
import pytest
import torch
from torch import nn

import attn_core
from attn_core import check, trace
from attn_core.corpora.documents import Documents
from attn_core.errors import AttnError
from attn_core.experiments import asked
from attn_core.experiments.compared import compared
from attn_core.experiments.erasure import derived
from attn_core.experiments.removal import removals
from attn_core.models import classifier
from attn_data.arrays import to_ids
from attn_data.sentence import load
from attn_study.adapters import OwnClassifier
from attn_study.check import of_given, tokenised


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
    return check(model, texts, vocabulary=vocabulary, progress=False)


@pytest.fixture(scope="module")
def traces(bilstm):
    model, vocabulary, texts = bilstm
    ids, offsets = to_ids(texts, vocabulary)
    return trace(model, Documents(ids, offsets, np.zeros(40, int), np.arange(40)), progress=False)


def test_the_bilstm_has_the_numbers_of_the_experiments(checked, traces):
    value = checked.table["value"]
    numbers = compared(traces).set_index(["measure", "other", "statistic"])["value"]
    assert value["top word"] == pytest.approx(numbers["attention", "deletion", "top1"], abs=1e-9)
    assert value["ranks"] == pytest.approx(numbers["attention", "deletion", "tau"], abs=1e-3)
    assert value["moved"] == pytest.approx(numbers["attention", "", "moved"], abs=1e-5)
    several = traces.lengths[traces.lengths > 1]
    assert checked.table["chance"]["top word"] == pytest.approx((1 / several).mean())

    numbers = asked(traces)
    assert value["dealt anew"] == numbers["shuffled"]
    assert value["locked"] == numbers["locked"]
    assert value["equal weights"] == numbers["flat"]
    erased = derived(removals(traces), item_left=True)
    for name in ("fraction_attention", "fraction_random"):
        np.testing.assert_allclose(checked.documents[name], erased[name])
    np.testing.assert_allclose(checked.traces.leave_one_out, traces.leave_one_out, atol=1e-5)
    np.testing.assert_allclose(checked.traces.attention, traces.attention, atol=1e-6)
    assert checked.not_run == {}


def test_reading_every_weighting_gives_what_the_arithmetic_gives(bilstm, checked):
    model, vocabulary, texts = bilstm
    adapter = OwnClassifier(model, vocabulary)
    words, _ = tokenised(adapter, texts[:12])
    first = checked.traces.take(np.arange(12))
    flat = first.logits_under(1 / first.lengths[first.owner])
    with torch.inference_mode():
        columns = of_given(adapter, words, first, flat, 0, False)
    for name, values in columns.items():
        np.testing.assert_allclose(values, checked.documents[name][:12], err_msg=name)


class Pointer:
    """p hangs on the word 'good' alone; the attention is on the first word that is `looked`, else even."""

    def __init__(self, looked):
        self.looked = looked

    def tokens(self, text):
        return text.split()

    def read(self, texts):
        score = torch.tensor([[9.0 * (word == self.looked) for word in text] for text in texts])
        return score.softmax(1), torch.tensor([[4.0 * text.count("good") - 2] for text in texts])


def texts_with_a_cue(count=40):
    rng = np.random.default_rng(1)
    return [
        " ".join(rng.permutation(["good", "film", *(f"w{i}" for i in rng.integers(99, size=6))])) for _ in range(count)
    ]


def test_attention_on_the_deciding_word_is_found_and_elsewhere_is_not():
    texts = texts_with_a_cue()
    right = check(Pointer("good"), texts, progress=False)
    assert right.table.loc["top word", "value"] == 1 and right.table.loc["top word", "side"] == 1
    assert right.table.loc["top word", "low"] == pytest.approx(1 - 3 / len(texts)), "another text may differ"
    wrong = check(Pointer("film"), texts, progress=False)
    assert wrong.table.loc["top word", "value"] == 0 and wrong.table.loc["top word", "side"] == -1
    even = check(Pointer("nowhere"), texts, progress=False)
    assert even.table.loc["top word", "side"] == 0 and "is undecided." in " ".join(even.report().split())


def test_equal_texts_count_once_and_words_and_labels_stay_beside():
    checked = check(Pointer("good"), ["a good film", "bad", "a  good film"], labels=[1, 0, 1], progress=False)
    assert checked.documents["doc_id"].tolist() == [0, 1] and checked.traces.words(0) == ["a", "good", "film"]
    assert checked.documents["label"].tolist() == [1, 0] and np.isnan(checked.documents["top"][1])


def test_what_cannot_be_run_is_said_with_its_reason():
    texts = texts_with_a_cue(6)
    assert set(check(Pointer("good"), texts, progress=False).not_run) == {
        "dealt anew",
        "locked",
        "equal weights",
        "order",
    }

    class Deep(nn.Module):
        """No mean over words: a layer lies between."""

        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.embed = nn.Embedding(50, 8)
            self.out = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))

        def tokens(self, text):
            return text.split()

        def embedded(self, texts):
            return self.embed(torch.tensor([[sum(map(ord, word)) % 50 for word in text] for text in texts]))

        def read(self, texts):
            attention = self.embedded(texts).mean(2).softmax(1)
            return attention, self.give(texts, attention)

        def give(self, texts, attention):
            return self.out(9 * (attention[..., None] * self.embedded(texts)).sum(1))

    model = Deep().train()
    checked = check(model, texts, progress=False)
    assert list(checked.not_run) == ["locked"] and "no mean" in checked.not_run["locked"] and model.training
    assert {"dealt anew", "equal weights", "order"} <= set(checked.table.index)

    read = model.read
    model.read = lambda texts: (read(texts)[0], read(texts)[1] + 1)
    assert "otherwise" in check(model, texts, progress=False).not_run["order"]


def test_a_model_that_will_not_do_is_refused_in_one_line(bilstm):
    model, *_ = bilstm
    pointer = Pointer("good")
    for call, what in (
        (lambda: check(model, ["a"], progress=False), "Classifier has no tokens; give it"),
        (lambda: check(model, ["a"], vocabulary=["a"], progress=False), "begins with <pad>"),
        (lambda: check(pointer, ["a", " "], progress=False), "text 1 has no words"),
        (lambda: check(pointer, [], progress=False), "no list of texts"),
        (lambda: check(pointer, "one text", progress=False), "no list of texts"),
        (lambda: check(pointer, ["a"], labels=[1, 2], progress=False), "2 labels for 1 texts"),
    ):
        with pytest.raises(AttnError, match=what) as error:
            call()
        assert "\n" not in str(error.value)
    pointer.read = lambda texts: (torch.ones(len(texts), 2), torch.zeros(len(texts), 1))
    with pytest.raises(AttnError, match=r"attention \(1, 2\)"):
        check(pointer, ["a b c"], progress=False)
    with pytest.raises(AttnError, match="does not sum to 1"):
        check(pointer, ["a b"], progress=False)


def test_a_hugging_face_classifier_is_checked_without_a_download():
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "good", "bad", "film", "that", "ends"]
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(dict(zip(words, range(10), strict=True)), "[UNK]"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    plain.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )
    config = transformers.BertConfig(
        vocab_size=10,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=8,
        initializer_range=0.5,
    )
    torch.manual_seed(0)
    model = transformers.BertForSequenceClassification(config).train()
    texts = ["a good film", "a bad film that ends", "good", "a film that ends bad a film that ends bad"]
    checked = check(model, texts, tokenizer=tokenizer, progress=False)
    assert checked.traces.words(1) == ["a", "bad", "film", "that", "ends"]
    assert checked.traces.words(3) == ["a", "film", "that", "ends", "bad", "a"], "cut to the places that the model has"
    assert set(checked.not_run) == {"dealt anew", "locked", "equal weights", "order"} and model.training

    model.eval()
    with torch.no_grad():
        whole = model(**tokenizer(texts[1], return_tensors="pt"), output_attentions=True)
        row = whole.attentions[-1][0, :, 0, 1:-1].mean(0)
        without = model(**tokenizer("a bad film ends", return_tensors="pt")).logits.softmax(1)[0, 1]
    np.testing.assert_allclose(checked.traces.take([1]).attention, row / row.sum(), atol=1e-6)
    np.testing.assert_allclose(checked.traces.take([1]).p, whole.logits.softmax(1)[0, 1], atol=1e-6)
    change = (without - whole.logits.softmax(1)[0, 1]).abs()
    np.testing.assert_allclose(np.abs(checked.traces.take([1]).leave_one_out[3]), change, atol=1e-6)


DOCUMENTED = (
    "attn_study.check",
    "attn_study.heat_map",
    "attn_core.traces",
    "attn_core.tracing",
    "attn_core.corpora.encoding",
    "attn_core.corpora.catalogue",
    "attn_study.study",
    "attn_core.store",
)


@pytest.mark.parametrize("module", DOCUMENTED)
def test_the_examples_in_the_docstrings_hold(module):
    result = doctest.testmod(import_module(module))
    assert result.attempted and not result.failed


def test_names_that_are_loaded_late_are_shown():
    assert {"check", "heat_map", "study", "trace"} <= {*dir(attn_core)} & {*attn_core.__all__}
