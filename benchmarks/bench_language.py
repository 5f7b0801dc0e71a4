"""Frozen models under the papers' tests: data/measured/language.csv, `python -m benchmarks --language sst`.

With `sst minilm` or `sst bge` that model in the place of SmolLM2, heads alone.

Columns kind: 'head' (on frozen states, at a depth), 'bag' (of words, a regression trained on the same texts), 'prompt'
(at -1: all of them), 'ranking' (with prompts, beside the deletion of whole words; lead_…: of attention x gradient over
others); at: depth or prompt; measure, parameter; value, low, high; n_seeds (with prompts, their number) and documents,
which intervals cross. language_states.csv.xz: for the page's loop, what some texts' states say under one head;
language_head.npz: that head on SST, its matrix (project:q, project:s) as bytes and a scale a row, and how states are
shifted and scaled before it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import torch
from numpy import ndarray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import roc_auc_score
from tqdm import tqdm

from attn_core.documents import Documents
from attn_core.experiments import draws
from attn_core.experiments.optimum import exact
from attn_core.experiments.permutation import permutation
from attn_core.experiments.tables import joined
from attn_core.models.attention import ATTENTIONS
from attn_core.models.classifier import Classifier, build_encoder
from attn_core.traces import Arrays, Traces, each_alone, sigmoid
from attn_core.tracing import forward
from attn_lab.data import encode, pieces
from attn_lab.data.order import fixed_order
from attn_lab.more import language
from attn_lab.more.piecewise import of_lists
from attn_lab.more.pretrained import FineTuning, Level
from attn_lab.more.rankings import agreement
from attn_lab.more.single_state import single_state_agreement
from attn_lab.runs.controls import naive_bayes, rarity
from attn_lab.runs.run import SEEDS
from benchmarks.baselines import bag_of_words
from benchmarks.measured import DATA, mean_of, put
from benchmarks.sentence_model import quantise

LONGEST = 60
"""Words of a text that is read."""

READ = {
    "sst": (2_000, 600),
    "agnews": (1_000, 400),
    "20news": (1_000, 400),
}
"""Texts that heads are trained on, and tested on; the first of the fixed order. 20 Newsgroups has fewer."""

SCALING = 200
"""Training texts whose states say how each of their numbers is shifted and scaled, to mean 0 and deviation 1."""

DELETED = 60
DELETED_WORDS = {
    "sst": (4, 20),
    "agnews": (4, 30),
    "20news": (4, 30),
}
"""Test texts, the first with so many words, whose words are deleted one by one under the heads."""

ASKED = 200
"""Test texts, the first, that are put into prompts."""

RANKED = 100
RANKED_WORDS = (4, 12)
RANKED_PROMPTS = 3
"""Test texts, the first with so many words, whose words are ranked and deleted, and in how many of the prompts."""

SHOWN = 300
"""Texts, under the last depth's head of the first seed, whose states are shown."""


def write(corpus: str, name: str = "smollm2") -> None:
    """Make the rows of a data set and a model anew; of SmolLM2 on SST with prompts."""
    train, test = (texts_of(corpus, split) for split in ("train", "test"))
    trained_on, tested_on = READ[corpus]
    read = {"train": train[:trained_on], "test": test[:tested_on]}
    rows = [*of_heads(corpus, name, **read)]
    if name == "smollm2":
        data = encode(corpus)
        few = {split: data.splits[split].take(texts.index) for split, texts in read.items()}
        bag = bag_of_words(replace(data, splits=data.splits | few))["regression"]
        rows.append({"kind": "bag", "at": -1, "measure": "accuracy", "value": bag})
        if corpus == "sst":
            short = test[test.n.between(*RANKED_WORDS)][:RANKED]
            rows += [*asked(test[:ASKED]), *rows_of("ranking", -1, rankings(train, short))]
    put("language.csv", pd.DataFrame(rows).assign(corpus=corpus, model=name), "corpus", "model")


def texts_of(corpus: str, split: str, **options: str) -> pd.DataFrame:
    """label, doc_id, text and number n of words of the texts that are read; options: of the corpus."""
    documents = encode(corpus, **options).splits[split]
    table = pd.DataFrame({"label": documents.labels, "doc_id": documents.doc_ids})
    table["text"] = pieces.raw_texts(corpus, split, documents.doc_ids)
    table["n"] = table.text.str.split().map(len)
    table = table.iloc[fixed_order(documents.doc_ids, corpus)]
    return table[table.n.between(1, LONGEST)]


def shortened(texts: pd.DataFrame) -> pd.DataFrame:
    """Each text without each of its words in turn."""
    return texts.assign(text=texts.text.map(language.without_each)).explode("text")


def end_to_end(places: Sequence[ndarray], counts: pd.Series) -> ndarray:
    """Places of words in each text as places in all texts, of so many words each."""
    return np.concatenate([*map(np.add, places, np.cumsum(counts) - counts)])


def rows_of(kind: str, at: int, numbers: Mapping[str, ndarray]) -> Iterator[dict]:
    """A row for each 'measure parameter' of numbers (S, D) of seeds or prompts and of texts; texts without a number are
    left out."""
    for column, values in numbers.items():
        values = np.array(values, float)
        complete = values[:, ~np.isnan(values).any(axis=0)]
        measure, _, parameter = column.partition(" ")
        yield mean_of(complete, kind=kind, at=at, measure=measure, parameter=parameter)


# ---- heads on frozen states ------------------------------------------------------------------------------------------


def of_heads(corpus: str, name: str, train: pd.DataFrame, test: pd.DataFrame) -> Iterator[dict]:
    """Rows of the papers' attention over the states of each depth."""
    rows = np.flatnonzero(test.n.between(*DELETED_WORDS[corpus]))[:DELETED]
    n = test.n.iloc[rows].to_numpy()
    depths = language.depths(name)
    tables = defaultdict(list)
    for depth, seed, head, traces, *words in heads(name, depths, train, test, rows):
        top1, tau = agreement(*words, np.cumsum([0, *n]))
        deletion = {"top1": top1, "top1 chance": 1 / n, "tau": tau}
        tables[depth].append(measures(traces).join(pd.DataFrame(deletion, rows)))
        if (name, depth, seed) == ("smollm2", depths[-1], SEEDS[0]):
            shown = {
                "text": traces.owner,
                "attention": traces.attention,
                "contribution": traces.contribution[:, 0],
                "bias": traces.bias[0],
                "corpus": corpus,
            }
            table = pd.DataFrame(shown)
            put("language_states.csv.xz", table[table.text < SHOWN], "corpus", digits=4)
            if corpus == "sst":
                matrix = quantise(head.pop("attention.project.weight"))
                head |= {"project:q": matrix.values, "project:s": matrix.scale}
                np.savez_compressed(DATA / "measured" / "language_head.npz", **head)
    for depth, by_seed in tables.items():
        numbers = {name: [table[name] for table in by_seed] for name in by_seed[0]}
        yield from rows_of("head", depth, numbers)


def heads(
    name: str,
    depths: Sequence[int],
    train: pd.DataFrame,
    test: pd.DataFrame,
    rows: ndarray,
) -> Iterator[tuple[int, int, Arrays, Traces, ndarray, ndarray]]:
    """Heads of five seeds on the frozen states of a model at each depth.

    Each of a state's numbers is shifted and scaled to mean 0 and deviation 1 in the first SCALING texts of train.

    Yields
    ------
    depth, seed
    The head's weights, shift and deviation
    Traces of test, over the pieces that are of a word
    Attention (W,) of the words of the test texts `rows`, and how far deletion of each moves p (W,)
    """
    model, tokenizer = language.loaded(name)
    whole = test.iloc[rows]
    texts = pd.concat([train, test, shortened(whole)], ignore_index=True)
    ids, owners = zip(*[language.laid_out(tokenizer, text) for text in texts.text], strict=True)
    of_word = [owner >= 0 for owner in owners]
    first = np.cumsum([1, *map(sum, of_word)])
    width = next(model.parameters()).shape[-1]  # of a vector of the embedding
    table = np.zeros((len(depths), first[-1], width), np.float32)  # row 0 is that of pads
    for row, of_text in tqdm(language.states(model, ids, depths), "texts read", len(ids)):
        table[:, first[row] : first[row + 1]] = of_text[:, of_word[row]]

    lists = [np.arange(*ends) for ends in pairwise(first)]
    documents = of_lists(lists, texts.label.to_numpy(), texts.doc_id.to_numpy())
    ends = np.cumsum([len(train), len(test)])
    learned, tested, without = map(documents.take, np.split(texts.index, ends))
    word = end_to_end([owners[row][of_word[row]] for row in len(train) + rows], whole.n)
    for depth, level in zip(depths, table, strict=True):
        sample = level[1 : first[SCALING]]
        shift = sample.mean(axis=0)
        deviation = np.maximum(sample.std(axis=0), 1e-6)  # one of MiniLM's numbers never moves
        states = ((level - shift) / deviation).astype(np.float16)
        for seed in tqdm(SEEDS[:5], f"{name}, depth {depth}"):
            reader, weights = trained(states, learned, seed)
            traces = forward(reader, tested)
            attention = np.bincount(word, traces.take(rows).attention)
            change = np.abs(forward(reader, without).p - np.repeat(traces.p[rows], whole.n))
            head = weights | {"shift": shift, "deviation": deviation}
            yield depth, seed, head, traces, attention, change


def trained(states: ndarray, texts: Documents, seed: int) -> tuple[Classifier, Arrays]:
    """A head, as on MiniLM's layers, and its weights; nothing is chosen by dev."""
    torch.manual_seed(seed)
    reader = Level(build_encoder("none", states, None))
    model = Classifier(reader, ATTENTIONS["tanh"](reader.width))
    recipe = FineTuning(epochs=5, batch=64, learning_rate=1e-3)
    splits = {"train": texts, "dev": texts}
    learned = recipe.train(model, splits, seed, lambda *_: np.nan, progress=False)
    return model, learned.weights["dev"]


def measures(traces: Traces) -> pd.DataFrame:
    """The papers' tests of each text, and single-state agreement by tenth of the text."""
    owner = traces.owner
    agrees = pd.Series(each_alone(traces)[0] == traces.predicted[owner])
    position = np.arange(len(owner)) - traces.offsets[owner]
    tenth = 1 + position * 10 // traces.lengths[owner]
    tenths = agrees.groupby([owner, tenth]).mean().unstack()
    tenths = tenths[traces.lengths >= 10]  # so each tenth is of the same texts
    tests = joined(single_state_agreement(traces), permutation(traces), exact(traces, 0.01))
    names = [
        "single_state_agreement",
        "attention_invariant",
        "flips_under_uniform",
        "median_change",
        "jsd_exact",
    ]
    table = tests[names].rename(columns={"jsd_exact": "jsd_exact epsilon=0.01"})
    table["accuracy"] = traces.predicted == traces.label
    return table.join(tenths.add_prefix("single_state_agreement tenth="))


# ---- with a prompt ---------------------------------------------------------------------------------------------------


def asked(texts: pd.DataFrame) -> Iterator[dict]:
    """Rows of the prompts: decisions at 0 and at the median of each, which takes the answers' own odds out."""
    reader = language.loaded()
    prompts = tqdm(language.PROMPTS, "prompts")
    logits = np.array([language.answered(*reader, prompt, texts.text) for prompt in prompts])
    labels = texts.label.to_numpy()
    numbers = {
        "positive": logits > 0,
        "auc": [np.full(len(labels), roc_auc_score(labels, of_one)) for of_one in logits],
    }
    medians = np.median(logits, axis=1, keepdims=True)
    for threshold, at in {"0": 0.0, "median": medians}.items():
        decided = logits > at
        alike = np.equal(decided[:, None], decided).sum(axis=1) - 1
        numbers[f"accuracy threshold={threshold}"] = decided == labels
        numbers[f"same_decision threshold={threshold}"] = alike / (len(decided) - 1)
    for prompt in range(len(logits)):
        of_one = {name: values[prompt : prompt + 1] for name, values in numbers.items()}
        yield from rows_of("prompt", prompt, of_one)
    yield from rows_of("prompt", -1, numbers)


def rankings(train: pd.DataFrame, texts: pd.DataFrame) -> dict[str, list[ndarray]]:
    """Of each prompt, how rankings and controls agree with deletion in each text (top1: in the first word; …_lead: by
    how much attention x gradient is ahead), and what last tokens give to what is no word."""
    offsets = np.cumsum([0, *texts.n])
    lists = controls(train, texts)
    prompts = tqdm(language.PROMPTS[:RANKED_PROMPTS], "rankings")
    values, changes = zip(*[of_prompt(prompt, texts) for prompt in prompts], strict=True)
    numbers = defaultdict(list)
    for value, change in zip(values, changes, strict=True):
        words = value.query("owner >= 0").reset_index(drop=True).join(lists)
        beside = {name: agreement(words[name].to_numpy(), change, offsets) for name in words}
        for name, (top1, _) in beside.items():
            numbers[f"top1_lead {name}"].append(beside["attention_x_gradient"][0] - top1)
        lead = beside["attention"][0] - beside["lexicon"][0]
        numbers["top1_lead_of_attention lexicon"].append(lead)
        others = [again for again in changes if again is not change]
        between = [agreement(again, change, offsets) for again in others]
        beside["another_prompt"] = np.mean(between, axis=0)
        for name, (top1, tau) in beside.items():
            numbers[f"top1 {name}"].append(top1)
            numbers[f"tau {name}"].append(tau)
        for whose, owner in {"sink": language.SINK, "prompt": language.PROMPT}.items():
            for name in ("attention", "attention_mean"):
                numbers[f"{whose} {name}"].append(value[name].xs(owner, level="owner"))
    return numbers


def of_prompt(prompt: Sequence[str], texts: pd.DataFrame) -> tuple[pd.DataFrame, ndarray]:
    """Rankings by owner and text, and changes of p by deletion (W,) of all words."""
    reader = *language.loaded(), prompt
    tables = {number: language.ranked(*reader, text) for number, text in enumerate(texts.text)}
    before, after = (
        sigmoid(language.answered(*reader, part.text)) for part in (texts, shortened(texts))
    )
    change = np.abs(after - before.repeat(texts.n))
    return pd.concat(tables, names=["text", "owner"]), change


def controls(train: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """Of all words of texts (W, 3), two lists that have never seen the model, and scores by chance; a word that train
    has not is as rare as can be."""
    counter = CountVectorizer(token_pattern=r"\S+")
    counts = counter.fit_transform(train.text)
    lists = {"lexicon": np.abs(naive_bayes(counts, train.label)), "rarity": rarity(counts)}
    scores = pd.DataFrame(lists, counter.get_feature_names_out())
    unseen = {"lexicon": 0, "rarity": scores["rarity"].max()}
    scores = scores.reindex(" ".join(texts.text).lower().split()).fillna(unseen)
    offsets = np.cumsum([0, *texts.n])
    (chance,) = draws.uniforms(0, "random scores", texts.doc_id.to_numpy(), offsets)
    return scores.assign(chance=chance).reset_index(drop=True)
