"""The official archives of the data sets: downloaded with checksum, unpacked while they are read.

Every reader takes the folder with the unpacked files and a split and returns the table in the form of the Parquet files
under $ATTN_DATA. A file whose checksum fits is the official one to the byte, so of lines only those of CNN are checked.
"""

import csv
import re
import shutil
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas
import pyarrow.json

from attn_core.corpora.catalogue import SOURCES, Corpus, Source


def fetch(source: Source, folder: Path) -> Path:
    """The file of a source in ``folder`` (perhaps put there by hand), downloaded with a progress bar if it is absent or
    its checksum does not fit. OSError for a refused connection or a folder that cannot be written, ValueError for a
    download with a wrong checksum, which is removed."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    download = pooch.HTTPDownloader(progressbar=True, timeout=30)
    return Path(pooch.retrieve(source.url, source.checksum, source.file, folder, downloader=download))


def read(entry: Corpus, downloads: Path) -> dict[str, pandas.DataFrame]:
    """split -> table of a data set from its official files. Errors as of `fetch`; EOFError or zlib.error for damage."""
    files = [fetch(SOURCES[name], downloads) for name in entry.sources]
    with TemporaryDirectory(dir=downloads) as place:
        for file in files:
            if file.suffix != ".csv":  # those are read where they lie
                shutil.unpack_archive(file, place, filter=None if file.suffix == ".zip" else "data")
        return {split: READERS[entry.folder](Path(place), split) for split in entry.files}


def _sst(place: Path, split: str) -> pandas.DataFrame:
    """``trees/{train,dev,test}.txt``, a bracketed tree a line -> text, label; neutral roots left out."""
    trees = (place / f"trees/{split}.txt").read_text(encoding="utf-8").strip().split("\n")
    leaves = lambda tree: " ".join(re.findall(r"\(\d ([^()\s]+)\)", tree))
    rows = [(leaves(tree), int(tree[1] > "2")) for tree in trees if tree[1] != "2"]  # the root's class stands first
    return pandas.DataFrame(rows, columns=["text", "label"])


def _folders(place: Path, encoding: str, classes: list[str] | None = None) -> pandas.DataFrame:
    """A folder a class, a file a text -> text, label, group (of the class), doc_id (of the file), sorted by names."""
    from sklearn.datasets import load_files

    found = load_files(place, encoding=encoding, shuffle=False, categories=classes)
    names = [Path(name).stem for name in found.filenames]
    groups = [found.target_names[label] for label in found.target]
    return pandas.DataFrame({"text": found.data, "label": found.target, "group": groups, "doc_id": names})


def _imdb(place: Path, split: str) -> pandas.DataFrame:
    """``aclImdb/{train,test}/{neg,pos}/<id>_<stars>.txt`` -> text, label, group, doc_id ('0_9'), stars."""
    found = _folders(place / "aclImdb" / split, "utf-8", ["neg", "pos"])
    return found.assign(stars=found["doc_id"].str.split("_").str[1].astype(int))


def _labelled(path: Path, *columns: str) -> pandas.DataFrame:
    """A CSV file of Zhang et al. (2015), class from 1 and texts, no heading -> text (joined by blanks), label from 0,
    the texts under the names given; escapes of the file are kept."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = [(" ".join(texts), int(label) - 1, *texts[: len(columns)]) for label, *texts in csv.reader(file)]
    return pandas.DataFrame(rows, columns=["text", "label", *columns])


def _babi(task: int, place: Path, split: str) -> pandas.DataFrame:
    """``tasks_1-20_v1-2/en-10k/qa<task>_…_{train,test}.txt``, where a line numbered 1 starts a story -> passage (the
    statements so far, one a line), question, answer, source."""
    rows, statements = [], []
    (path,) = place.glob(f"tasks_1-20_v1-2/en-10k/qa{task}_*_{split}.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        number, _, text = line.partition(" ")
        if number == "1":
            statements = []
        if "\t" in text:
            question, answer, _ = text.split("\t")
            rows.append(("\n".join(statements), question.strip(), answer, "en-10k"))
        else:
            statements.append(text.strip())
    return pandas.DataFrame(rows, columns=["passage", "question", "answer", "source"])


def _snli(place: Path, split: str) -> pandas.DataFrame:
    """``snli_1.0/snli_1.0_{train,dev,test}.jsonl``, one object a line with sentence1, sentence2, gold_label ->
    premise, hypothesis, label; pairs without a gold label ('-') left out."""
    keys = {"sentence1": "premise", "sentence2": "hypothesis", "gold_label": "label"}
    schema = pyarrow.schema(dict.fromkeys(keys, pyarrow.string()))
    options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    found = pyarrow.json.read_json(place / f"snli_1.0/snli_1.0_{split}.jsonl", parse_options=options).to_pandas()
    return found[found["gold_label"] != "-"].rename(columns=keys).reset_index(drop=True)


def _cnn(place: Path, split: str) -> pandas.DataFrame:
    """``cnn/{train,dev,test}.txt``, blocks between empty lines: question, answer, passage, then one entity a line ->
    passage, question, answer. The form that Danqi Chen made and J&W took."""
    rows = []
    with open(place / f"cnn/{split}.txt", encoding="utf-8") as file:
        for lines in (list(block) for written, block in groupby(map(str.strip, file), key=bool) if written):
            if len(lines) < 3 or not re.fullmatch(r"@entity\S*", lines[1]):
                raise ValueError(f"cnn/{split}.txt, block {len(rows) + 1}: not question, @entity and passage")
            rows.append((lines[2], lines[0], lines[1]))
    return pandas.DataFrame(rows, columns=["passage", "question", "answer"])


READERS = {
    "sst": _sst,
    "20newsgroups": lambda place, split: _folders(place / f"20news-bydate-{split}", "latin-1"),
    "imdb": _imdb,
    "ag_news": lambda place, split: _labelled(place.parent / f"ag_news_{split}.csv", "title", "description"),
    **{f"babi_{task}": partial(_babi, task) for task in (1, 2, 3)},
    "snli": _snli,
    "cnn": _cnn,
    **{
        name: lambda place, split, name=name: _labelled(place / f"{name}_csv/{split}.csv")
        for name in ("amazon_review_full", "yelp_review_full", "yahoo_answers")
    },
}
"""Folder under $ATTN_DATA -> reader of its official files."""
