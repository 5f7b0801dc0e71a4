"""All data sets of the three papers, one entry each, plus the generated set ``planted``: the facts of catalogue.yml.

They come from the papers, the statistics files of Jain & Wallace's repository and the data sets' own pages.
"""

from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import yaml

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML without its C library
    from yaml import SafeLoader  # type: ignore[assignment]

from attn_core.errors import AttnError

WIEGREFFE, SERRANO = "wiegreffe_pinter_2019", "serrano-smith-2019"


@dataclass(frozen=True)
class Source:
    """One official file. checksum: 'sha256:…' or 'md5:…', as well-known loaders publish it; None where nobody does."""

    file: str
    url: str
    checksum: str | None = None


@dataclass(frozen=True)
class Corpus:
    """One data set.

    task: 'text' (one text, one label), 'question' (story, question, answer) or 'inference' (premise, hypothesis,
    label). classes: names in the order of the label ids; empty where answers are words of the text. folder: name
    under $ATTN_DATA; columns: what its Parquet files must hold; files: splits stored there. split: how train, dev
    and test come about. cleaning: what becomes of the raw text. longer_than, shorter_than: the length filter in tokens,
    strict; None = the split's own extreme; filtered False = no filter. min_df: smallest number of training documents a
    vocabulary word occurs in. cut: documents are cut into sentences and follow Serrano & Smith's rules: min_count, the
    smallest number of times a vocabulary word is met in train and dev; most_sentences and longest_sentence (tokens),
    the length filter of the splits in bounded, None = no bound. sample: name under $ATTN_DATA of a sample that is taken
    where folder is not there. epochs, batch: of Jain & Wallace's training; hidden: width by encoder where it is not the
    encoder's own. expected: counts to meet, (class 0, class 1, …) per split after the filter, 'vocabulary' including
    the four special ids. reported: (paper, name) as in data/reported. sources: names in SOURCES. vectors: recipe used
    when a run names none. whole_train: documents of the official training files before any filter, where a copy may
    hold fewer. generated: made by this package. origin: who gives out what is not passed on.
    """

    name: str
    title: str
    task: str
    classes: tuple[str, ...]
    split: str
    licence: str
    cite: str
    folder: str | None = None
    files: tuple[str, ...] = ("train", "test")
    columns: tuple[str, ...] = ("text", "label")
    cleaning: str = "spaCy tokens, lower case, tokens with a digit to qqq"
    filtered: bool = True
    longer_than: int | None = None
    shorter_than: int | None = None
    min_df: int = 1
    cut: bool = False
    min_count: int = 5
    most_sentences: int | None = None
    longest_sentence: int | None = None
    bounded: tuple[str, ...] = ("train",)
    sample: str | None = None
    epochs: int = 8
    batch: int = 32
    hidden: dict[str, int] = field(default_factory=dict)
    expected: dict = field(default_factory=dict)
    reported: tuple[tuple[str, str], ...] = ()
    sources: tuple[str, ...] = ()
    vectors: str = "ppmi-300"
    whole_train: int | None = None
    generated: bool = False
    origin: str = ""
    note: str = ""


_FACTS = yaml.load(Path(__file__).with_name("catalogue.yml").read_text(encoding="utf-8"), SafeLoader)
SOURCES = {name: Source(**facts) for name, facts in _FACTS["sources"].items()}
CATALOGUE = {
    name: Corpus(name, **facts | {"reported": tuple(facts.get("reported", {}).items())})
    for name, facts in _FACTS["corpora"].items()
}
SCHEDULES: dict[str, dict] = _FACTS["schedules"]
VECTORS: dict[str, dict] = _FACTS["vectors"]
VECTOR_FILES: dict[str, str] = _FACTS["vector_files"]
"""Recipe of trained or counted word vectors -> parameters; named after a data set with -200: of its texts alone."""
RANDOM = {"random": 300, "random-50": 50}
"""Recipe of random word vectors -> numbers per word."""
RECIPES = (*RANDOM, *VECTORS)
"""Names of word vectors: none of them ever means a file."""
FINGERPRINTS: dict[str, str] = _FACTS["fingerprints"]
"""Of the data and the word vectors that the archive's runs were trained on: the only ones taken without their texts."""


def corpus(name: str) -> Corpus:
    """The entry of a data set; an unknown name is an AttnError with the list."""
    if name not in CATALOGUE:
        like = "".join(f"did you mean {near}? " for near in get_close_matches(name, CATALOGUE, 1))
        raise AttnError(f"unknown corpus '{name}'; {like}known: {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def schedule(name: str, encoder: str) -> dict:
    """How Serrano & Smith train one of the six models on a data set: its share of what catalogue.yml says, the dropout
    on words, sentence vectors (0 in a FLAN, which has none) and logits. AttnError where it is not trained there."""
    if name not in SCHEDULES:
        raise AttnError(f"no schedule of HAN and FLAN models for '{name}'; they are trained on {', '.join(SCHEDULES)}")
    plan = SCHEDULES[name]
    shape, kind = encoder.split("_")
    if plan[shape] is None:
        raise AttnError(f"no {encoder} here: {plan['note']}; flan_rnn, flan_conv and flan_none are trained")
    dropout = plan["han"] if shape == "han" else (plan["flan"][0], 0.0, plan["flan"][1])
    return {
        "cap": plan["cap"][shape],
        "batch": 64,
        "epochs": plan["epochs"][kind],
        "clip": plan["clip"][kind],
        "learning_rate": plan["learning_rate"],
        "patience": 10 if kind == "none" else 5,
        "dropout": dropout,
    }
