"""The official archives of the data sets: downloaded with checksum, unpacked while they are read.

Every reader takes the folder with the unpacked files and a split and returns the table in the form of the Parquet files
under $ATTN_DATA.
"""

import csv
import re
import shutil
import zlib
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas
import pyarrow.json

from attn_core.corpora.catalogue import SOURCES, Corpus, Source
from attn_core.errors import AttnError, one_line

AG_NEWS_FIRST_ROWS = 10_429  # rows of the official train.csv that the sample under $ATTN_DATA holds in order
UNREADABLE = (OSError, EOFError, zlib.error, csv.Error, LookupError, TypeError, ValueError)


def fetch(source: Source, folder: Path) -> Path:
    """The file of a source in ``folder`` (perhaps put there by hand), downloaded with a progress bar if it is absent or
    its checksum does not fit. AttnError for a refused connection, a wrong checksum (the file is then removed) or a
    folder that cannot be written."""
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")
    download = pooch.HTTPDownloader(progressbar=True, timeout=30)
    try:
        return Path(pooch.retrieve(source.url, source.checksum, source.file, folder, downloader=download))
    except (ValueError, OSError, requests.exceptions.RequestException) as error:  # the first of a wrong checksum
        raise AttnError(f"{source.file} cannot be downloaded from {source.url}: {one_line(error)}") from error


def read(entry: Corpus, downloads: Path) -> dict[str, pandas.DataFrame]:
    """split -> table of a data set from its official files, see `fetch`. AttnError for damage or another layout."""
    files = [fetch(SOURCES[name], downloads) for name in entry.sources]
    try:
        with TemporaryDirectory(dir=downloads) as place:
            for file in files:
                if file.suffix == ".csv":
                    shutil.copy(file, place)
                else:
                    shutil.unpack_archive(file, place, filter=None if file.suffix == ".zip" else "data")
            tables = {split: READERS[entry.folder](Path(place), split) for split in entry.files}
        if empty := [split for split, table in tables.items() if len(table) == 0]:
            raise ValueError(f"no documents in {empty[0]}")
    except UNREADABLE as error:
        raise AttnError(
            f"{', '.join(map(str, files))} cannot be read as the official archive of '{entry.folder}': "
            f"{one_line(error)}; delete it to download it again"
        ) from error
    return tables


def _sst(place: Path, split: str) -> pandas.DataFrame:
    """``trees/{train,dev,test}.txt``, a bracketed tree a line -> text, label, label5, tree_index; no neutral roots."""
    rows = []
    for index, line in enumerate((place / f"trees/{split}.txt").read_text(encoding="utf-8").split("\n")):
        root = int(line.strip()[1]) if line.strip() else 2
        if root != 2:
            rows.append((" ".join(re.findall(r"\(\d ([^()\s]+)\)", line)), int(root > 2), root, index))
    return pandas.DataFrame(rows, columns=["text", "label", "label5", "tree_index"])


def _folders(place: Path, encoding: str, classes: list[str] | None = None) -> pandas.DataFrame:
    """A folder a class, a file a text -> text, label, group (of the class), doc_id (of the file), sorted by names."""
    from sklearn.datasets import load_files

    found = load_files(place, encoding=encoding, shuffle=False, categories=classes)
    names = [Path(name).stem for name in found.filenames]
    groups = [found.target_names[label] for label in found.target]
    return pandas.DataFrame({"text": found.data, "label": found.target, "group": groups, "doc_id": names})


def _imdb(place: Path, split: str) -> pandas.DataFrame:
    """``aclImdb/{train,test}/{neg,pos}/<id>_<stars>.txt`` -> text, label, stars, doc_id ('pos/0_9')."""
    found = _folders(place / "aclImdb" / split, "utf-8", ["neg", "pos"])
    found["stars"] = found["doc_id"].str.split("_").str[1].astype(int)
    found["doc_id"] = found["group"] + "/" + found["doc_id"]
    return found[["text", "label", "stars", "doc_id"]]


def _labelled(path: Path, classes: int, *columns: str) -> pandas.DataFrame:
    """A CSV file without header, class from 1 and columns of text -> text (the columns joined by blanks), label from 0,
    the columns. ValueError or csv.Error for the first line that is none."""
    label, rows = {str(number): number - 1 for number in range(1, classes + 1)}, []
    expected = f"expected a class from 1 to {classes} and {len(columns)} columns"
    with open(path, encoding="utf-8", newline="") as file:
        lines = csv.reader(file, strict=True)
        for row in lines:
            if len(row) != len(columns) + 1 or row[0] not in label:
                raise ValueError(f"line {lines.line_num}: {expected}")
            rows.append((" ".join(row[1:]), label[row[0]], *row[1:]))
    return pandas.DataFrame(rows, columns=["text", "label", *columns])


def _ag_news(place: Path, split: str) -> pandas.DataFrame:
    """``ag_news_{train,test}.csv`` -> text, label, title, description, part."""
    found = _labelled(place / f"ag_news_{split}.csv", 4, "title", "description")
    found["part"] = "official" if split == "test" else "rest"
    if split == "train":
        found.loc[: AG_NEWS_FIRST_ROWS - 1, "part"] = "first_rows"
    return found


def _zhang(folder: str, classes: int, columns: tuple[str, ...], place: Path, split: str) -> pandas.DataFrame:
    """``<folder>/{train,test}.csv`` of Zhang et al. (2015) -> text, label; the files' own escapes are kept."""
    return _labelled(place / folder / f"{split}.csv", classes, *columns)[["text", "label"]]


def _babi(task: int, place: Path, split: str) -> pandas.DataFrame:
    """``tasks_1-20_v1-2/en-10k/qa<task>_…_{train,test}.txt`` -> passage (the statements so far, one a line), question,
    answer, story (a line number 1 starts one), source."""
    rows, story, statements = [], -1, []
    (path,) = place.glob(f"tasks_1-20_v1-2/en-10k/qa{task}_*_{split}.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        number, _, text = line.partition(" ")
        if number == "1":
            story, statements = story + 1, []
        if "\t" in text:
            question, answer, _ = text.split("\t")
            rows.append(("\n".join(statements), question.strip(), answer, story, "en-10k"))
        elif text:
            statements.append(text.strip())
    return pandas.DataFrame(rows, columns=["passage", "question", "answer", "story", "source"])


def _snli(place: Path, split: str) -> pandas.DataFrame:
    """``snli_1.0/snli_1.0_{train,dev,test}.jsonl``, one object a line with sentence1, sentence2, gold_label ->
    premise, hypothesis, label; pairs without a gold label ('-') left out."""
    keys = {"sentence1": "premise", "sentence2": "hypothesis", "gold_label": "label"}
    schema = pyarrow.schema([(key, pyarrow.string()) for key in keys])
    options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    path = place / f"snli_1.0/snli_1.0_{split}.jsonl"
    found = pyarrow.json.read_json(path, parse_options=options).to_pandas()
    if (lacking := found.isna().any(axis=1)).any():
        raise ValueError(f"line {lacking.idxmax() + 1} of {path.name}: no object with {', '.join(keys)}")
    return found[found["gold_label"] != "-"].rename(columns=keys).reset_index(drop=True)


def _cnn(place: Path, split: str) -> pandas.DataFrame:
    """``cnn/{train,dev,test}.txt``, blocks between empty lines: question, answer, passage, then one entity a line ->
    passage, question, answer. The form that Danqi Chen made and J&W took; it has no checksum, so a block that is
    none is refused by its number."""
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
    "ag_news": _ag_news,
    **{f"babi_{task}": partial(_babi, task) for task in (1, 2, 3)},
    "snli": _snli,
    "cnn": _cnn,
    "amazon_review_full": partial(_zhang, "amazon_review_full_csv", 5, ("title", "review")),
    "yelp_review_full": partial(_zhang, "yelp_review_full_csv", 5, ("review",)),
    "yahoo_answers": partial(_zhang, "yahoo_answers_csv", 10, ("title", "question", "answer")),
}
"""Folder under $ATTN_DATA -> reader of its official files."""
