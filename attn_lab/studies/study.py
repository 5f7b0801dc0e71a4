"""Every test of the book that needs no further training, on texts of your own: `study`.

Trained are the model that is asked for and the same with uniform weights, once a seed. All numbers are means over texts
and seeds, with intervals by bootstrap over both.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from attn_core.errors import AttnError
from attn_core.traces import Traces
from attn_lab.data.catalogue import CATALOGUE, Corpus
from attn_lab.data.cleaning import clean_lower
from attn_lab.data.files import digest
from attn_lab.data.pieces import OWN
from attn_lab.data.prepared import Prepared, Texts
from attn_lab.runs import foreign
from attn_lab.runs.compute import FAMILIES, inputs_of, trained, weights_of
from attn_lab.runs.families import trained_model
from attn_lab.runs.run import ENCODERS, HIERARCHICAL, PRETRAINED, SEEDS, Run
from attn_lab.studies.numbers import FEWEST, numbers, per_text
from attn_lab.studies.report import shown
from attn_lab.studies.texts import Cleaned, cleaned, parts

MOST_WORDS = 400
"""Of longer texts the beginning is read."""

MOST_PAIRS = 20_000_000
"""Squares of the lengths of the test texts that are read, in all: deletions take as much."""

LONGEST_WORD = 200
"""Signs of what stands between blanks that are read: a run of one sign takes a tokenizer the square of its length."""

UNSPACED = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"
"""Letters of scripts without blanks: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""

STEPS = 400
"""Batches that a training is to have, by more epochs of few texts: as many epochs as that takes, within EPOCHS."""

EPOCHS = (8, 30)
BATCH = 32

FEW = f"Fewer than {FEWEST} test texts: nothing is decided. With fold=5 (--fold 5) each text is tested once."
WEAK = "The model is not shown to do its task better than chance: nothing here speaks of attention."


@dataclass(frozen=True)
class Study:
    """What `study` gives; print it first.

    Parameters
    ----------
    texts : Cleaned
        The texts, their classes and splits, and what was left out; in words: str(texts).
    runs : list of Run
        The trainings with attention, one for each seed, or each seed and part.
    traces : list of Traces
        Of the test texts of each; doc_id is the row in the table of texts, from 1. They know their words: `heat_map`.
    table : DataFrame
        One row a number (`numbers.MEANS`): number, value, low, high (95 %), chance, side (1 above chance, -1 below, 0
        undecided or without), texts, seeds.
    """

    texts: Cleaned
    runs: list[Run]
    traces: list[Traces]
    table: pd.DataFrame

    @property
    def models(self) -> list:
        """The trained classifiers, torch modules, of the cache; trained anew where it has lost them."""
        return [trained_model(run, weights_of(run)) for run in self.runs]

    @property
    def warnings(self) -> list[str]:
        """What makes all else vain."""
        if self.table["texts"].max() < FEWEST:
            return [FEW]
        return [] if self.table["side"][1] == 1 else [WEAK]

    def report(self) -> str:
        """What was read, the warnings and every number."""
        rows = shown(self.table.set_index("number"))
        return "\n\n".join([str(self.texts), *self.warnings, rows.to_string()])

    __repr__ = report

    def _repr_html_(self) -> str:
        head = "".join(f"<p>{escape(line)}</p>" for line in (str(self.texts), *self.warnings))
        return head + shown(self.table.set_index("number")).to_html(border=0)


def study(
    frame: pd.DataFrame | str | Path,
    text: str = "text",
    label: str = "label",
    encoder: str = "lstm",
    seeds: int = 3,
    epochs: int | None = None,
    split: str = "split",
    fold: int = 0,
    strict: bool = False,
    progress: bool = True,
    tokenizer: Callable[[str], list[str]] | None = None,
    header: bool = True,
    encoding: str = "",
) -> Study:
    """Train models on your own texts and put their attention to the tests of the book.

    Parameters
    ----------
    frame : DataFrame or path
        A table, or a file: CSV (any of , ; tab |), TSV, JSON, JSON Lines, Parquet or Feather, each also with .gz, in
        UTF-8, UTF-16 or another encoding. Values count as they are written, the same in each form.
    text, label : str
        Columns of the texts and their classes, in any case.
    encoder : str
        'lstm', 'cnn', 'average', 'none', 'transformer', 'minilm', 'bge', 'minilm_random', or one of `register_encoder`.
    seeds : int
        Trainings of each model, 3 to 9.
    epochs : int, optional
        By default 8, of few texts more, so that a training has about 400 steps.
    split : str
        A column that says train, dev or test, in any case; where there is none, or '', 60:20:20 is drawn, and of
        fewer than 250 texts more is held out.
    fold : int
        For few texts: 3 to 10 equal parts, each tested once by a model that was trained on the others.
    strict : bool
        Refuse a table with rows that would be left out (without text or label, twice the same, of rare classes), and
        what would only be noted: classes in two spellings, joined, of fractions or unknown to train, texts without
        blanks, texts equal as far as they are read in two splits.
    progress : bool
        What the texts are, in a line, and bars with the time left.
    tokenizer : callable, optional
        A text -> its words, for languages that spaCy's English rules do not cut; str.split of texts that are cut by
        blanks. Words count as it gives them.
    header : bool
        False: a delimited file has no line of names; columns are numbered from 1, as in text="2".
    encoding : str
        Of a file of text; without one it is found out.

    Returns
    -------
    Study
        `.report()`, `.table`, `.traces`, `.models`.

    Raises
    ------
    AttnError
        A table, column, class or split that will not do, in a line.

    Notes
    -----
    p is the probability of the last of two classes, of the predicted class of more. Tokens are spaCy's English ones in
    lower case; MiniLM reads its own pieces of the raw texts. What is trained is kept in the cache, texts are not.

    Examples
    --------
    >>> import attn_lab, pandas as pd
    >>> words = ["good", "bad"]
    >>> reviews = [f"a {words[i % 2]} film, number {i}" for i in range(60)]
    >>> frame = pd.DataFrame({"review": reviews, "liked": [1, 0] * 30})
    >>> study = attn_lab.study(frame, "review", "liked", encoder="average", epochs=2, progress=False)
    >>> [name for name in study.table.columns]
    ['number', 'value', 'low', 'high', 'chance', 'side', 'texts', 'seeds']
    """
    texts = cleaned(frame, text, label, split, strict, fold, header, encoding)
    if seeds not in range(3, len(SEEDS) + 1):
        raise AttnError(f"seeds is {seeds}; a study takes 3 to {len(SEEDS)} trainings, fewer have no interval")
    words = words_of(texts, tokenizer)
    if progress:
        print(texts, file=sys.stderr)
    name = register(texts, words, list(words.values()) if tokenizer else MOST_WORDS)
    attentive = runs_of(name, texts, encoder, seeds, epochs)
    runs = [*attentive, *(replace(run, attention="uniform") for run in attentive)]
    traces = [traces_of(run, words, progress) for run in tqdm(runs, "study", unit="model", disable=not progress)]
    folds = max(1, fold)
    pairs = [traces[i : i + folds] for i in range(0, len(traces), folds)]
    return Study(texts, attentive, traces[: len(attentive)], numbers(list(map(per_text, pairs[:seeds], pairs[seeds:]))))


def words_of(texts: Cleaned, tokenizer: Callable[[str], list[str]] | None = None) -> dict[int, list[str]]:
    """Row of the table of texts -> its tokens; what they are goes to the notes."""
    rows = texts.rows
    words = {}
    cut = 0
    for row, text in rows["text"].items():
        begin = " ".join(word[:LONGEST_WORD] for word in text.split()[: MOST_WORDS + 1])
        tokens = tokenizer(text) if tokenizer else clean_lower(begin)
        cut += len(tokens) > MOST_WORDS
        words[row] = list(map(sys.intern, tokens[:MOST_WORDS]))  # each word once in memory
    lengths = pd.Series(words).map(len)
    if not lengths.all():
        raise AttnError(f"row {lengths.idxmin()} has no words; leave it out, or give another tokenizer=")
    if cut:
        texts.notes.append(f"{cut:,} cut after {MOST_WORDS} words")
    split = parts(texts)
    seen = set(chain.from_iterable(words[row] for row in split["train"].index))
    unknown = np.mean([word not in seen for row in split["test"].index for word in words[row]])
    texts.notes.append(f"{lengths.mean():.1f} words a text, {unknown:.0%} of those of test are not in train")
    if (rows["text"].str.len() > lengths * np.where(rows["text"].str.contains(UNSPACED), 4, 12)).mean() > 0.5:
        texts.doubt("the texts have no blanks between words, it seems; cut them (tokenizer=)")
    shared = rows["split"].groupby(pd.Series(words).map(" ".join)).transform("nunique") > 1
    if shared.any():
        texts.doubt(f"{shared.sum():,} equal in the words that are read, in two splits")
    return words


def corpus_of(
    frame: pd.DataFrame | str | Path,
    text: str = "text",
    label: str = "label",
    split: str = "split",
    strict: bool = False,
) -> Corpus:
    """A table of texts as a data set that runs can name: `Run(corpus.name)`, `encode(corpus.name)`.

    Parameters
    ----------
    frame : DataFrame or path
        A table, or a file of one, cleaned as `study` cleans it.
    text, label : str
        Its columns of texts and of classes.
    split : str
        A column that says train, dev or test; where there is none 60:20:20 is drawn.
    strict : bool
        Refuse a table with rows that would be left out.

    Returns
    -------
    Corpus
        Registered in this process under a name that is made of its texts; `classes` has those of the table. Words
        start with random vectors.

    Raises
    ------
    AttnError
        A table, column, class or split that will not do, as in `study`.

    Examples
    --------
    >>> import pandas as pd
    >>> from attn_lab import corpus_of
    >>> from attn_lab.data import encode
    >>> frame = pd.DataFrame({"review": [f"{word} film {i}" for i in range(50) for word in ("good", "bad")],
    ...                       "stars": [5, 1] * 50})
    >>> corpus = corpus_of(frame, text="review", label="stars")
    >>> corpus.classes, len(encode(corpus.name).splits["train"])
    (('1', '5'), 50)
    """
    texts = cleaned(frame, text, label, split, strict)
    return CATALOGUE[register(texts, words_of(texts))]


def register(
    texts: Cleaned,
    words: dict[int, list[str]],
    cut: Any = MOST_WORDS,
) -> str:
    """The texts as a corpus of this process, by a name that no other texts have, or the same that are cut otherwise."""
    rows = texts.rows
    version = digest([rows.astype(str).to_numpy().tolist(), cut])
    name = f"own-{version[:10]}"

    def prepare(part: int = 0) -> Prepared:
        splits = {}
        for split, chosen in parts(texts, part).items():
            labels = chosen["label"].map(texts.classes.index).to_numpy()
            documents = Texts([words[row] for row in chosen.index], labels, chosen.index.to_numpy())
            splits[split] = documents.take(readable(documents)) if split == "test" else documents
        return Prepared(splits, texts.classes)

    foreign.register_corpus(
        Corpus(
            name,
            "Your own texts",
            task="text",
            classes=tuple(texts.classes),
            split="yours",
            licence="",
            cite="",
            files=(),
            filtered=False,
            vectors="random",
        ),
        prepare,
        version=version,
    )
    OWN[name] = rows["text"]
    return name


def readable(documents: Texts) -> np.ndarray:
    """The texts, in their order, that a test set of MOST_PAIRS holds when it is filled in a random order."""
    order = np.random.default_rng(0).permutation(len(documents.lists))
    squares = np.array([len(documents.lists[row]) ** 2 for row in order])
    return np.sort(order[squares.cumsum() <= MOST_PAIRS])


def runs_of(
    corpus: str,
    texts: Cleaned,
    encoder: str,
    seeds: int,
    epochs: int | None,
) -> list[Run]:
    """The trainings with attention: of each seed, and of each part where there are parts."""
    pieces = sorted(set(texts.rows["split"])) if texts.rows["split"].iloc[0].isdecimal() else []
    options: list[Any] = [{"part": int(piece)} for piece in pieces] or [{}]
    if epochs is None and encoder not in PRETRAINED:
        epochs = int(np.clip(np.ceil(STEPS * BATCH / len(parts(texts)["train"])), *EPOCHS))
    if encoder in HIERARCHICAL:
        known = ", ".join((*ENCODERS, *PRETRAINED, *foreign.registered("encoder")))
        raise AttnError(f"encoder '{encoder}' reads texts cut into sentences; a study takes {known}")
    return [
        Run(corpus, encoder, seed=seed, epochs=epochs, options=option)  # type: ignore[arg-type]  # None: the recipe's
        for seed in SEEDS[:seeds]
        for option in options
    ]


def traces_of(
    run: Run,
    words: dict[int, list[str]],
    progress: bool,
) -> Traces:
    """Traces by a trained model, from the cache or trained now. words: of each row, as written; of a pretrained model
    its own pieces are taken."""
    inputs = inputs_of(run)
    data = inputs[0]
    weights = trained(run, inputs, progress, few=0)[0][run.selection]  # by all threads: somebody waits for it
    pieces = partial(data.splits["test"].words, vocabulary=data.vocabulary)
    traces = FAMILIES[run.family].read(run, weights, data, progress)
    return replace(traces, spell=words.get if run.family == "text" else pieces)
