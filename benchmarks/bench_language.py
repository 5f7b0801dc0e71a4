"""Frozen models under the papers' tests: data/measured/language.csv, `python -m benchmarks --language sst`.

With `sst minilm` or `sst bge` that model in the place of SmolLM2, heads alone.

Columns kind: 'head' (on frozen states, at a depth), 'bag' (of words, a regression trained on the same texts), 'prompt'
(at -1: all of them), 'ranking' (with prompts, beside the deletion of whole words; lead_…: of attention x gradient over
others); at: depth or prompt; measure, parameter; value, low, high; n_seeds (with prompts, their number) and documents,
which intervals cross. language_states.csv.xz: for the page's loop, what some texts' states say under one head.
"""

from collections.abc import Iterator, Sequence
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
from attn_core.experiments.tables import IDENTITY, joined
from attn_core.models.attention import ATTENTIONS
from attn_core.models.classifier import Classifier, build_encoder
from attn_core.traces import Traces, each_alone, sigmoid
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
from benchmarks.measured import mean_of, put

LONGEST = 60
"""Words of a text that is read."""

READ = {"sst": (2_000, 600), "agnews": (1_000, 400), "20news": (1_000, 400)}
"""Texts that heads are trained on, and tested on; the first of the fixed order. 20 Newsgroups has fewer."""

SCALING = 200
"""Training texts whose states say how each of their numbers is shifted and scaled, to mean 0 and deviation 1."""

DELETED = 60
DELETED_WORDS = {"sst": (4, 20), "agnews": (4, 30), "20news": (4, 30)}
"""Test texts, the first with so many words, whose words are deleted one by one under the heads."""

ASKED = 200
"""Test texts, the first, that are put into prompts."""

RANKED, RANKED_WORDS, RANKED_PROMPTS = 100, (4, 12), 3
"""Test texts, the first with so many words, whose words are ranked and deleted, and in how many of the prompts."""

TESTS = (
    "single_state_agreement",
    "attention_invariant",
    "flips_under_uniform",
    "median_change",
    "jsd_exact epsilon=0.01",
)
SHOWN = 300
"""Texts, under the last depth's head of the first seed, whose states are shown."""


def write(corpus: str, name: str = "smollm2") -> None:
    """Make the rows of a data set and a model anew; of SmolLM2 on SST with prompts."""
    train, test = (texts_of(corpus, split) for split in ("train", "test"))
    splits = {"train": train[: READ[corpus][0]], "test": test[: READ[corpus][1]]}
    rows = [*heads(corpus, name, **splits)]
    if name == "smollm2":
        data = encode(corpus)
        read = {split: data.splits[split].take(table.index) for split, table in splits.items()}
        bag = bag_of_words(replace(data, splits=data.splits | read))["regression"]
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


def rows_of(kind: str, at: int, tables: list[pd.DataFrame]) -> Iterator[dict]:
    """A row for each column, 'measure parameter', of one table (D, …) a seed or prompt; texts without a number are left
    out."""
    for column in tables[0]:
        values = np.array([table[column] for table in tables], float)
        complete = values[:, ~np.isnan(values).any(axis=0)]
        measure, _, parameter = column.partition(" ")
        yield mean_of(complete, kind=kind, at=at, measure=measure, parameter=parameter)


# ---- heads on frozen states ------------------------------------------------------------------------------------------


def heads(corpus: str, name: str, train: pd.DataFrame, test: pd.DataFrame) -> Iterator[dict]:
    """Rows of the papers' attention over the states of each depth, trained with five seeds."""
    whole = test[test.n.between(*DELETED_WORDS[corpus])][:DELETED]
    depths = language.depths(name)
    splits = {"train": train, "test": test, "whole": whole, "shortened": shortened(whole)}
    for depth, states, documents, owner in read_by(name, depths, splits):
        tables = []
        for seed in tqdm(SEEDS[:5], f"{corpus}, {name}, depth {depth}"):
            model = trained(states, documents["train"], seed)
            traces = forward(model, documents["test"])
            deleted = [forward(model, documents[split]) for split in ("whole", "shortened")]
            deletion = against_deletion(
                *of_words(*deleted, owner["whole"], whole.n.to_numpy()), whole
            )
            tables.append(measures(traces).join(deletion, on="doc_id"))
            if (name, depth, seed) == ("smollm2", depths[-1], SEEDS[0]):
                columns = {
                    "attention": traces.attention,
                    "contribution": traces.contribution[:, 0],
                }
                shown = pd.DataFrame(
                    {"text": traces.owner, **columns, "bias": traces.bias[0], "corpus": corpus}
                )
                put("language_states.csv.xz", shown[shown.text < SHOWN], "corpus", digits=4)
        yield from rows_of("head", depth, [table.drop(columns=[*IDENTITY]) for table in tables])


def read_by(
    name: str, depths: Sequence[int], splits: dict[str, pd.DataFrame]
) -> Iterator[tuple]:
    """At each depth of a model: the depth; states (1 + T, H) float16 of all the texts' pieces that are of a word, each
    of their numbers shifted and scaled to mean 0 and deviation 1 in the first SCALING texts; and by split the
    documents, whose ids are rows of states, and the words (T,) that pieces are of.
    """
    model, tokenizer = language.loaded(name)
    texts = pd.concat(splits, names=["split"])
    ids, owners = zip(*[language.laid_out(tokenizer, text) for text in texts.text], strict=True)
    first = np.cumsum([1, *((owner >= 0).sum() for owner in owners)])
    texts["owner"] = [owner[owner >= 0] for owner in owners]
    texts["rows"] = [np.arange(*ends) for ends in pairwise(first)]
    documents, words = {}, {}
    for split, of_split in texts.groupby("split"):
        labels = of_split.label.to_numpy(), of_split.doc_id.to_numpy()
        documents[split] = of_lists([*of_split.rows], *labels)
        words[split] = np.concatenate([*of_split.owner])
    width = next(model.parameters()).shape[-1]  # of a vector of the embedding
    table = np.zeros((len(depths), first[-1], width), np.float32)
    for row, of_text in tqdm(language.states(model, ids, depths), "texts read", len(ids)):
        table[:, first[row] : first[row + 1]] = of_text[:, owners[row] >= 0]
    for depth, states in zip(depths, table, strict=True):
        sample = states[1 : first[SCALING]]
        deviation = np.maximum(sample.std(axis=0), 1e-6)  # one of MiniLM's numbers never moves
        scaled = (states - sample.mean(axis=0)) / deviation
        yield depth, scaled.astype(np.float16), documents, words


def trained(states: ndarray, texts: Documents, seed: int) -> Classifier:
    """A head, as on MiniLM's layers; nothing is chosen by dev."""
    torch.manual_seed(seed)
    reader = Level(build_encoder("none", states, None))
    model = Classifier(reader, ATTENTIONS["tanh"](reader.width))
    recipe = FineTuning(epochs=5, batch=64, learning_rate=1e-3)
    recipe.train(model, {"train": texts, "dev": texts}, seed, lambda *_: np.nan, progress=False)
    return model


def measures(traces: Traces) -> pd.DataFrame:
    """The papers' tests of each text, and single-state agreement by tenth of the text."""
    owner = traces.owner
    agrees = pd.Series(each_alone(traces)[0] == traces.predicted[owner])
    position = np.arange(len(owner)) - traces.offsets[owner]
    tenths = (
        agrees.groupby([owner, 1 + position * 10 // traces.lengths[owner]]).mean().unstack()
    )
    tenths = tenths[traces.lengths >= 10]  # so each tenth is of the same texts
    tenths = tenths.add_prefix("single_state_agreement tenth=")
    adversarial = exact(traces, 0.01)[["jsd_exact"]].add_suffix(" epsilon=0.01")
    tests = joined(single_state_agreement(traces), permutation(traces), adversarial)
    return tests[[*IDENTITY, *TESTS]].assign(
        accuracy=traces.predicted == traces.label, **tenths
    )


def of_words(
    whole: Traces, shortened: Traces, owner: ndarray, n: ndarray
) -> tuple[ndarray, ndarray]:
    """Attention (W,) of the words of texts of n words each, and how far deletion of each moves p (W,). owner: the word
    of each piece of the texts."""
    offsets = np.cumsum([0, *n])
    attention = np.bincount(owner + offsets[whole.owner], whole.attention)
    return attention, np.abs(shortened.p - np.repeat(whole.p, n))


def against_deletion(attention: ndarray, change: ndarray, texts: pd.DataFrame) -> pd.DataFrame:
    """Whether the most attended word is the one whose deletion moves p most, the chance of it, and Kendall's tau, by
    doc_id."""
    top1, tau = agreement(attention, change, np.cumsum([0, *texts.n]))
    return pd.DataFrame(
        {"top1": top1, "top1 chance": 1 / texts.n.to_numpy(), "tau": tau}, texts.doc_id
    )


# ---- with a prompt ---------------------------------------------------------------------------------------------------


def asked(texts: pd.DataFrame) -> Iterator[dict]:
    """Rows of the prompts: decisions at 0 and at the median of each, which takes the answers' own odds out."""
    reader = language.loaded()
    logits = np.array(
        [
            language.answered(*reader, prompt, texts.text)
            for prompt in tqdm(language.PROMPTS, "prompts")
        ]
    )
    labels = texts.label.to_numpy()
    columns = {
        "positive": logits > 0,
        "auc": [np.full(len(labels), roc_auc_score(labels, z)) for z in logits],
    }
    for threshold, at in {"0": 0.0, "median": np.median(logits, axis=1, keepdims=True)}.items():
        decided = logits > at
        columns[f"accuracy threshold={threshold}"] = decided == labels
        alike = np.equal(decided[:, None], decided).sum(axis=1) - 1
        columns[f"same_decision threshold={threshold}"] = alike / (len(decided) - 1)
    tables = [
        pd.DataFrame({name: values[prompt] for name, values in columns.items()})
        for prompt in range(len(logits))
    ]
    for prompt, table in enumerate(tables):
        yield from rows_of("prompt", prompt, [table])
    yield from rows_of("prompt", -1, tables)


def rankings(train: pd.DataFrame, texts: pd.DataFrame) -> list[pd.DataFrame]:
    """Of each prompt, how rankings and controls agree with deletion in each text (top1: in the first word; …_lead: by
    how much attention x gradient is ahead), and what last tokens give to what is no word."""
    offsets = np.cumsum([0, *texts.n])
    lists = controls(train, texts)
    prompts = tqdm(language.PROMPTS[:RANKED_PROMPTS], "rankings")
    values, changes = zip(*[of_prompt(prompt, texts) for prompt in prompts], strict=True)
    tables = []
    for value, change in zip(values, changes, strict=True):
        words = value.query("owner >= 0").reset_index(drop=True).join(lists)
        beside = {
            name: np.array(agreement(words[name].to_numpy(), change, offsets)) for name in words
        }
        between = [
            agreement(other, change, offsets) for other in changes if other is not change
        ]
        top1, tau = np.mean(between, axis=0)
        columns = {"top1 another_prompt": top1, "tau another_prompt": tau}
        for name, (top1, tau) in beside.items():
            columns |= {f"top1 {name}": top1, f"tau {name}": tau}
            columns[f"top1_lead {name}"] = beside["attention_x_gradient"][0] - top1
        columns["top1_lead_of_attention lexicon"] = (beside["attention"] - beside["lexicon"])[0]
        attended = value[["attention", "attention_mean"]]
        for whose, owner in {"sink": language.SINK, "prompt": language.PROMPT}.items():
            columns |= attended.xs(owner, level="owner").add_prefix(f"{whose} ")
        tables.append(pd.DataFrame(columns))
    return tables


def of_prompt(prompt: Sequence[str], texts: pd.DataFrame) -> tuple[pd.DataFrame, ndarray]:
    """Rankings by owner and text, and changes of p by deletion (W,) of all words."""
    reader = *language.loaded(), prompt
    tables = {number: language.ranked(*reader, text) for number, text in enumerate(texts.text)}
    before = sigmoid(language.answered(*reader, texts.text))
    after = sigmoid(language.answered(*reader, shortened(texts).text))
    return pd.concat(tables, names=["text", "owner"]), np.abs(
        after - np.repeat(before, texts.n)
    )


def controls(train: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """Of all words of texts (W, 3), two lists that have never seen the model, and scores by chance; a word that train
    has not is as rare as can be."""
    counter = CountVectorizer(token_pattern=r"\S+")
    counts = counter.fit_transform(train.text)
    lists = {"lexicon": np.abs(naive_bayes(counts, train.label)), "rarity": rarity(counts)}
    words = " ".join(texts.text).lower().split()
    scores = pd.DataFrame(lists, counter.get_feature_names_out()).reindex(words)
    scores = scores.fillna({"lexicon": 0, "rarity": lists["rarity"].max()}).reset_index(
        drop=True
    )
    offsets = np.cumsum([0, *texts.n])
    return scores.assign(
        chance=draws.uniforms(0, "random scores", texts.doc_id.to_numpy(), offsets)[0]
    )
