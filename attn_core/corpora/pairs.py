"""Pairs of texts from their tables: stories with questions, premises with hypotheses."""

import sys

import numpy as np

from attn_core.corpora import catalogue, generated, load, text
from attn_core.corpora.prepare import Prepared, Texts, with_dev
from attn_core.errors import AttnError

SOURCES = ("", "files", "generated train", "generated")
PREMISES = ("own", "shuffled")


def babi(task: int, source: str = "") -> Prepared:
    """bAbI task 1, 2 or 3 (J&W): story = all statements so far, question, one word as answer, the 36 words of the three
    tasks as possible answers.

    source: 'files' takes the tables as they are; 'generated train' trains on 10,000 questions of our own generator and
    tests on the official ones; 'generated' makes both, and needs no file. '' is 'files', except where the training
    table at hand is the 1,000-question version (column source 'en'), which is then replaced by 'generated train'. dev:
    15 % of train. What was taken is in the statistics: train_source and test_source are 'en-10k', 'en' or 'generated'.
    Errors: AttnError for an unknown source, no data, or an answer outside the 36 words.
    """
    if source not in SOURCES:
        raise AttnError(f"bAbI source is '{source}'; known: '', {', '.join(SOURCES[1:])}")
    name = f"babi_{task}"
    if source == "generated":
        tables = generated.babi(task)
    else:
        try:
            tables = {split: load.read(name, split) for split in ("train", "test")}
        except AttnError as error:
            raise AttnError(f"{error}; or encode it with source='generated'") from error
        short = set(tables["train"].get("source", ())) == {"en"}
        if source == "generated train" or (source == "" and short):
            tables["train"] = generated.babi(task, n_test=1)["train"]
    splits = with_dev({split: _stories(name, table) for split, table in tables.items()})
    told = {split: sorted(set(table.get("source", ["files"]))) for split, table in tables.items()}
    notes = {f"{split}_source": ", ".join(names) for split, names in told.items()}
    return Prepared(splits, classes=generated.WORDS, notes=notes)


def _stories(name: str, table) -> Texts:
    index = {word: i for i, word in enumerate(generated.WORDS)}
    strange = sorted(set(table["answer"]) - index.keys())
    if strange:
        raise AttnError(f"corpus '{name}': the answer '{strange[0]}' is none of the {len(index)} words of tasks 1 to 3")
    lists = [story_tokens(passage) for passage in table["passage"]]
    queries = [question.replace("?", " ").split() for question in table["question"]]
    labels = np.array([index[answer] for answer in table["answer"]], dtype=np.int64)
    return Texts(lists, labels, np.arange(len(table)), queries)


def story_tokens(passage: str) -> list[str]:
    """Statements, one a line -> tokens; a lone stop between statements, none after the last; case is kept."""
    statements = [line.strip().removesuffix(".") for line in passage.split("\n") if line.strip()]
    return " . ".join(statements).split()


def snli(premise: str = "own") -> Prepared:
    """Premise = the text attended over, hypothesis = the query, both by the plain cleaner; official splits.

    premise: 'own', or 'shuffled' (each hypothesis with the premise of another pair of its split, by a fixed draw): a
    control that can only be solved from the hypothesis. Not in the paper.
    """
    if premise not in PREMISES:
        raise AttnError(f"snli premise is '{premise}'; known: {', '.join(PREMISES)}")
    classes = catalogue.corpus("snli").classes
    cleaned: dict[str, list[str]] = {}  # a premise stands in about three pairs
    splits = {}
    for split in ("train", "dev", "test"):
        table = load.read("snli", split)
        strange = sorted(set(table["label"]) - set(classes))
        if strange:
            known = ", ".join(classes)
            raise AttnError(f"corpus 'snli', split '{split}': unknown label '{strange[0]}'; known: {known}")
        for written in (*table["premise"], *table["hypothesis"]):
            if written not in cleaned:
                cleaned[written] = text.clean_plain(written)
        order = np.arange(len(table))
        if premise == "shuffled":
            draw = np.random.default_rng(0).permutation(len(table))
            order[draw] = np.roll(draw, 1)  # one cycle: no pair keeps its premise
        splits[split] = Texts(
            [cleaned[t] for t in table["premise"].to_numpy()[order]],
            table["label"].map(classes.index).to_numpy(dtype=np.int64),
            np.arange(len(table)),
            [cleaned[t] for t in table["hypothesis"]],
        )
    return Prepared(splits)


def _cnn() -> Prepared:
    """Cloze questions: possible answers are the entities of the passage, classes all entities of training passages.

    All those entities stand in the vocabulary, rare ones at its end. Questions whose answer is none of their possible
    answers are dropped and counted. Memory: 8 bytes a token while encoding, so 2.3 GB for the 380,298 passages of 761
    tokens on average, beside the texts themselves.
    """
    tables = {split: load.read("cnn", split) for split in ("train", "dev", "test")}
    lists = {split: [_interned(passage) for passage in table["passage"]] for split, table in tables.items()}
    entities = sorted({word for tokens in lists["train"] for word in tokens if word.startswith("@entity")})
    index = {entity: i for i, entity in enumerate(entities)}
    splits = {
        split: Texts(
            lists[split],
            np.array([index.get(answer, -1) for answer in table["answer"]], dtype=np.int64),
            np.arange(len(table)),
            [_interned(question) for question in table["question"]],
            [np.array(sorted({index[w] for w in tokens if w in index}), dtype=np.int64) for tokens in lists[split]],
        )
        for split, table in tables.items()
    }
    return Prepared(splits, classes=entities, entities=entities)


def _interned(written: str) -> list[str]:
    """Split at blanks; equal words share one string, or the lists of a large set would not fit into memory."""
    return [sys.intern(word) for word in written.split()]


def _babi(task: int):
    def prepare(source: str = "") -> Prepared:
        return babi(task, source)

    return prepare


PAIRS = {"babi_1": _babi(1), "babi_2": _babi(2), "babi_3": _babi(3), "snli": snli, "cnn": _cnn}
"""Corpus -> its function; ``encoding.build`` does the rest."""
