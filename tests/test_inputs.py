"""A hundred and more inputs: each ends in one clear line, with nothing written, or in a right result."""

import errno
import gzip
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from conftest import ROOT, refused, toy_traces
from plain_network import random_documents, random_model

from attn_core.experiments import optimum
from attn_lab import trace
from attn_lab.cli import main
from attn_lab.data import files, official, vectors
from attn_lab.data.tables import read_table
from attn_lab.more.tables import document_table
from attn_lab.runs import store, sweep, upkeep

pytestmark = pytest.mark.faults

# ---- what lies in the folder before the command runs -----------------------------------------------------------------

no_damage = lambda place: None


def file(name: str, content: str | bytes):
    """A file at that place."""

    def put(place: Path) -> None:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    return put


grid = partial(file, "grid.yml")
FINE = pd.DataFrame({"text": [f"a fine film indeed {'so ' * n}" for n in range(8)], "label": [0, 1] * 4})


def sst(rows: int = 8, end: int | None = None, **columns):
    """A small SST; of its training part other values, some rows, or the file up to an end."""
    train = FINE.assign(**columns).head(rows).to_parquet()[:end]

    def put(place: Path) -> None:
        for split, data in (("train", train), ("dev", FINE.to_parquet()), ("test", FINE.to_parquet())):
            file(f"data/sst/{split}.parquet", data)(place)

    return put


def broken_record(place: Path) -> None:
    row = pa.table({"key": ["toy"], "record": ["{"]})
    upkeep.merge(place / "archive", "toy", {"runs": row}, {"toy": None})


# ---- refused ---------------------------------------------------------------------------------------------------------

PLANTED = "run --corpus planted --encoder average --epochs 1"
SST, SWEEP = "run --corpus sst --seed 3", "sweep grid.yml --dry-run"
WHOLE = "must be a whole number from"


FIELDS = {  # what is typed after `run --corpus planted` -> what the line says
    "--corpus ssst": "unknown corpus 'ssst'; did you mean sst? known: planted, sst, ",
    "--corpus ../sst": "unknown corpus '../sst'",
    "--encoder lstn": "unknown encoder 'lstn'; known: lstm, cnn, average, none",
    "--attention add": "unknown attention 'add'; known: tanh, dot, uniform",
    "--selection train": "unknown selection 'train'; known: dev, test",
    "--seed -1": f"seed {WHOLE} 0 to 4,294,967,295, got -1",
    "--set batch=[1,2]": f"batch {WHOLE} 1",
    "--fraction nan": "fraction must be a number from 1e-09 to 1.0",
    "--set class_weights=5": "class_weights must be true or false",
    "--set words=3": "words must be text, got 3",
    "--set options=5": "options must be pairs of a name and one value, got 5",
    "--set options.n_train=[1,2]": "options must be pairs of a name and one value, got",
    "--set options.n_train=few": "n_train is 'few', expected",
    "--set options.sed=3": "no option 'sed'",
    "--set base=x": "base must be a run",
    """--set 'base={"corpus": "planted"}'""": "base goes with guide, divergence or layer",
    "--set widht=3": "unknown run field 'widht'",
    "--set hidden": "takes NAME=VALUE",
    """--set 'base={"corpus": "planted", "seed": -1}'""": f"seed {WHOLE} 0",
    "--set guide=own": "base goes with guide",
    "--encoder lstm --set context=0.5": "context goes with the average",
    "--encoder average --set mixes=values": "mixes goes with context",
    "--set mixes=keys": "unknown mixes 'keys'; known: both, values, scores",
}

GRIDS = {  # a grid file -> what the line says
    "": "must hold a list of blocks",
    "- 5": "must hold a list",
    "- corpus: [": "is no YAML in UTF-8",
    b"- corpus: sst # \xe9\n": "is no YAML in UTF-8",
    "[" * 5000: "is no YAML in UTF-8",
    "- !!python/object:os.system {}": "is no YAML in UTF-8",
    "- corpus: sst\n  sed: 3\n": "unknown run field 'sed'",
    "- {corpus: sst, 3: 4, a: b}": "unknown run field 3",
    "- seed: 3\n": "a run without corpus",
    "- corpus: sst\n  decay: 1e-5\n": "write 1.0e-3",
    "- corpus: {a: 1}": "corpus must be text, got {'a': 1}",
    "- &a {corpus: sst, guide: own, attention: given, encoder: average, base: *a}": "its own base",
    f"- {{corpus: sst, seed: {list(range(999))}, epochs: {list(range(999))}}}": "998,001 runs; at most",
    "- {corpus: sst, seed: 99 seeds}": f"seed {WHOLE} 0",
    "- {corpus: sst, base: 5}": "base must be a run, in a grid a mapping",
    "- &a {corpus: sst, seed: [*a]}": "seed must be a whole number",
}

OWN_SST = [  # what is wrong with the user's own files: the damage, and what the line says
    (no_damage, "and has no folder 'sst'"),
    (lambda place: (place / "data").rmdir(), "data, which is no folder"),
    (
        file("data/sst/train.parquet", FINE.to_parquet()),
        "dev.parquet is missing: corpus",
    ),
    (
        sst(label=[0, 0.5] * 4),
        "the label of row 1 is '0.5'; known: negative, positive or 0 to 1",
    ),
    (sst(label=[0, 1, None, 1] * 2), "the label of row 2 is 'nan'; known: negative, positive"),
    (
        sst(label=[1] * 8),
        "split 'train': all documents that are left are of one class (positive)",
    ),
    (sst(text=["a", None] * 4), "column 'text' of row 1 holds"),
    (sst(text=range(8)), "column 'text' of row 0 holds 0, which is no text"),
    (sst(text=["", " "] * 4), "split 'train': none of the 8 documents passes"),
    (sst(text=["good", "bad"] * 4), "passes the length filter"),
    (sst(rows=0), "holds no rows"),
    (sst(end=-40), "train.parquet cannot be read ("),
]


def pipe(place: Path) -> None:
    os.mkfifo(place / "grid.yml")


page_elsewhere = file("_page.md", "# A page\n")
run_elsewhere = file("runs/mine.parquet", "a run")

OTHERS = [  # {place} is the working folder
    (
        f"{PLANTED} --vectors words.vec",
        file("words.vec", b"\xff 1 2\n"),
        "words.vec, line 1",
    ),
    (PLANTED, file("cache", "not a folder"), "ATTN_CACHE"),
    ("ATTN_ARCHIVE=archive archive list", broken_record, "the record of toy in"),
    ("ATTN_ARCHIVE=archive archive list", no_damage, "ATTN_ARCHIVE names"),
    (SWEEP, no_damage, "no grid file grid.yml"),
    ("sweep data", no_damage, "no grid"),
    ("sweep grid.yml --jobs 0", grid("- corpus: planted"), "jobs must be at least 1"),
    (
        "sweep grid.yml --scheduler 127.0.0.1:9",
        grid("- corpus: planted"),
        "no Dask scheduler answers at '127.0.0.1:9'",
    ),
    (
        "sweep grid.yml --scheduler no/address",
        grid("- corpus: planted"),
        "no Dask scheduler answers at 'no/address'",
    ),
    ("execute jain/04-1-corelation", no_damage, "did you mean 'jain/04-1-correlation'"),
    (
        "execute 'jain\\04-1-corelation'",
        no_damage,
        "did you mean 'jain/04-1-correlation'",
    ),
    (
        "execute jain/04-2-2-adversarial -p epsilom 0.1",
        no_damage,
        "did you mean 'epsilon'",
    ),
    ("execute one-model -p epsilon", no_damage, "-p epsilon: it takes NAME=VALUE"),
    (
        "execute one-model -p epsilon 0.1 -p epsilon=0.2",
        no_damage,
        "-p epsilon=0.2: it takes NAME=VALUE or NAME VALUE, each name once",
    ),
    (
        "execute gallery -p corpora '<script>'",
        no_damage,
        "parameter corpora: Input should be 'sst', 'imdb'",
    ),
    ("read '... -- !!'", no_damage, "holds no word"),
    ("read 🎬", no_damage, "holds no word"),
    ("read ''", no_damage, "holds no word"),
    ("execute {place}/_page", page_elsewhere, "there is no page"),
    ("execute ../../../../../../../../{place}/_page", page_elsewhere, "there is no page"),
    ("execute ../notebooks/_template", no_damage, "there is no page"),
    ("read film --run {place}/runs/mine", run_elsewhere, "is not in the cache"),
    ("read film --run ../../{place}/runs/mine", run_elsewhere, "is not in the cache"),
    (f"read '{'word ' * 20_001}'", no_damage, "at most 20,000 are read"),
    ("sweep /dev/zero", no_damage, "no grid file /dev/zero"),
    ("sweep grid.yml", pipe, "no grid file grid.yml"),
    ("sweep grid.yml --dry-run", grid(bytes(20 * 10**6)), "of at most 10,000,000 bytes"),
    ("run --corpus planted --vectors /dev/zero", no_damage, "unknown vectors '/dev/zero': no file"),
]

STRANGERS = {
    "an empty folder": lambda place: (place / "data/archive").mkdir(parents=True),
    "other files": file("data/archive/letters/1889.txt", "Dear"),
    "a list of its own": file("data/archive/MANIFEST", "letters\n"),
    "runs of another kind": file("data/archive/runs/monday.parquet", "5 km"),
    "a file": file("data/archive", "x"),
}
"""What may lie where an archive is looked for."""

NOT_SEALED = ("an empty folder", "other files", "a list of its own")
DEVICES = ("cuda:99", "cpu:x", "tpu", "cuda:-5")
ADDRESSES = ("s3://bucket/x", "file:///tmp/x", "gs://x", "hdfs://host/x", "~nobody-at-all/x")
USED = {"ATTN_CACHE": PLANTED, "ATTN_DATA": PLANTED, "ATTN_ARCHIVE": "archive list"}
"""Variable that names a folder -> a command that looks there."""

CASES = [
    *((f"{PLANTED} {words}", no_damage, told) for words, told in FIELDS.items()),
    *((SWEEP, grid(text), told) for text, told in GRIDS.items()),
    *((SST, *case) for case in OWN_SST),
    *OTHERS,
    *(
        ("ATTN_ARCHIVE=data/archive archive seal", STRANGERS[kind], "is no archive of runs; nothing")
        for kind in NOT_SEALED
    ),
    *((f"ATTN_DEVICE={name} {PLANTED}", no_damage, name) for name in DEVICES),
    *(
        (f"{name}={place} {command}", no_damage, f"{name} is '{place}', which is no folder of this")
        for name, command in USED.items()
        for place in ADDRESSES
    ),
]


def spoken(called, command: str) -> tuple[int, str, list[str]]:
    """Exit status, standard output, and the lines of standard error that are neither warnings nor bars; variables may
    stand before the command, as in a shell."""
    words = shlex.split(command.replace("{place}", os.getcwd()))
    variables = [word.split("=") for word in words if word.startswith("ATTN_")]
    with mock.patch.dict(os.environ, dict(variables)):
        code, out, lines = called(*words[len(variables) :])
    return code, out, [line for line in lines if not line.startswith("warning: ")]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working folder without data, from which nothing can be downloaded."""
    monkeypatch.chdir(tmp_path)
    places = {"ATTN_CACHE": tmp_path / "cache", "ATTN_DATA": tmp_path / "data"}
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    for name, value in (places | nowhere).items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(sweep, "CONNECT_SECONDS", 0.5)
    (tmp_path / "data").mkdir()
    return tmp_path


def written(place: Path) -> set[str]:
    return {str(path) for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("command", "damage", "expected"), CASES, ids=[ascii(told[:60]) for *_, told in CASES]
)
def test_it_is_refused_in_one_line(command, damage, expected, place, called):
    damage(place)
    before = written(place)
    code, _, lines = spoken(called, command)
    assert code == 2 and len(lines) == 1 and len(lines[0]) < 1_000, lines
    assert lines[0].startswith("attn_core: ")
    assert expected in lines[0]
    assert written(place) == before, "a refused command left files behind"


def test_an_unknown_option_is_one_refusal(called):
    code, _, lines = spoken(called, "run --corpis sst")
    assert code == 2
    assert "--corpis" in str(lines)
    assert len(lines) < 8


@pytest.mark.parametrize(
    "error", [KeyError("x"), RuntimeError("a\nb" * 500), RecursionError(), MemoryError()]
)
def test_what_nobody_foresaw_is_one_line(error, monkeypatch, called):
    def fails(*_):
        raise error

    monkeypatch.setattr("attn_lab.runs.sentence.read_sentence", fails)
    code, _, (line,) = spoken(called, "read film")
    assert code == 1
    assert f"attn_core: {type(error).__name__}" in line
    assert "--debug" in line
    assert len(line) < 800
    monkeypatch.setattr(sys, "argv", ["attn_core", "read", "film", "--debug"])
    with pytest.raises(type(error)):
        main()


class Full(io.FileIO):
    """A file on a disk on which some bytes have room."""

    def write(self, data):
        super().write(data[:100])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("whole", [0, 2], ids=["weights", "run"])
def test_a_full_disk_leaves_nothing_half_written(whole, place, monkeypatch, called):
    room, opened = iter([True] * whole), os.fdopen
    monkeypatch.setattr(
        os, "fdopen", lambda handle, mode: opened(handle, mode) if next(room, 0) else Full(handle, "w")
    )
    code, _, lines = spoken(called, f"{PLANTED} --set options.n_train=60")
    assert code in (1, 2)
    assert "No space left" in lines[-1]
    assert "make room" in lines[-1]
    left = [Path(path) for path in written(place)]
    assert not [path for path in left if "@" in path.name or path.parent.name == "runs"]


# ---- right -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_files_of_windows_are_the_same(end, place):
    """Tables, word vectors and grids with the line ends of Windows."""
    texts = {
        "babi.csv": "passage,question,answer\nMary went to room 1.,Where is Mary?,kitchen\n",
        "words.vec": "Mary 0.5 -0.25\nroom 1 2\n",
        "grid.yml": "- corpus: planted\n  seed: 2 seeds\n",
    }
    for name, text in texts.items():
        file(name, text.replace("\n", end))(place)
    row = read_table(place / "babi.csv", ["answer"]).loc[0]
    assert row.tolist() == ["Mary went to room 1.", "Where is Mary?", "kitchen"]
    numbers = vectors.read_text(place / "words.vec", ["", "", "", "", "Mary", "room"])
    assert numbers[4:].tolist() == [[0.5, -0.25], [1, 2]]
    assert len(sweep.read_grid(place / "grid.yml")) == 2


def test_an_empty_key_is_no_key(called):
    assert spoken(called, "read 'a film' --run ''")[::2] == (0, [])


@pytest.mark.parametrize(
    ("text", "said"),
    {
        "film": ["film", "0.565 to 0.565", "–"],
        "qqqzzz xxyyzz": ["2 of 2 words are unknown"],
        "فيلم جيد": ["فيلم", "2 of 2 words"],
        "a" * 10_000: ["1 of 1 words", "a" * 30 + "..."],
        "good 🎬 film!": ["good"],
        "<script>alert(1)</script>": ["script"],
        "1 2 3": ["3"],
        "not a word " * 1_300: ["–", "none is left out"],
    }.items(),
    ids=ascii,
)
def test_odd_texts_have_clear_answers(text, said, called):
    code, out, lines = called("read", text)
    assert code == 0
    assert not lines
    assert not [word for word in said if word not in out]
    assert "nan" not in out.lower()
    assert max(map(len, out.splitlines())) < 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code", "told"),
    [("read 'a café, so fine'", 0, r"caf\xe9"), ("run --corpus ü", 2, r"unknown corpus '\xfc'")],
)
def test_a_console_of_ascii_alone(command, code, told, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setenv("ATTN_ARCHIVE", str(ROOT / "data" / "archive"))
    done = shell(f"attn_core {command}", tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert said.isascii()
    assert told in said
    assert "Traceback" not in said


# ---- the third round -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["ATTN_CACHE", "ATTN_DATA", "ATTN_ARCHIVE", "ATTN_MINILM"])
def test_a_folder_is_settled_once(variable, place, monkeypatch):
    """Relative or from home: a process that is started in another folder gets the absolute path."""
    for value, expected in (
        ("here", place / "here"),
        ("~/there", place / "there"),
        ("./a/../here", place / "here"),
    ):
        monkeypatch.setenv(variable, value)
        monkeypatch.setenv("HOME", str(place))
        monkeypatch.chdir(place)
        assert files.folder_of(variable) == expected
        monkeypatch.chdir("/")
        assert files.folder_of(variable) == expected
        assert os.environ[variable] == str(expected)


@pytest.mark.parametrize("kind", STRANGERS)
def test_a_strangers_archive_is_not_ours(kind, tmp_path, monkeypatch):
    monkeypatch.delenv("ATTN_ARCHIVE", raising=False)
    STRANGERS[kind](tmp_path)
    (tmp_path / "data" / "below").mkdir()
    monkeypatch.chdir(tmp_path / "data" / "below")
    assert store.find_archive() == ROOT / "data" / "archive"


# ---- models and arrays -----------------------------------------------------------------------------------------------

MODEL = random_model("lstm", "tanh", 30, width=6, hidden=3)
TEXTS = random_documents([5, 1, 3], 30)

DOCUMENTS = [  # a field, its values, and what the line says
    ("labels", [7, 0, 1], "labels must be whole numbers from 0 to 1, got 7"),
    ("labels", [0, -3, 1], "labels must be whole numbers from 0 to 1, got -3"),
    ("labels", [0.0, np.nan, 1.0], "must be finite"),
    ("labels", ["good", "bad", "bad"], "must be an array of numbers"),
    ("labels", [[0], [1], [1]], "must have the shape (3,), got (3, 1)"),
    ("labels", np.ma.masked_array([0, 1, 1], [True, False, False]), "masked"),
    ("labels", None, "must be an array of numbers"),
    ("ids", TEXTS.ids.astype(float), "ids must be whole numbers"),
    ("ids", TEXTS.ids[None], "must have the shape (None,)"),
    ("ids", TEXTS.ids + 1000, "ids must be whole numbers from 0 to 29, got 10"),
    ("offsets", TEXTS.offsets.astype(float), "offsets must rise"),
    ("offsets", TEXTS.offsets[::-1].copy(), "offsets must rise"),
    ("offsets", TEXTS.offsets + 1, "offsets must rise"),
    ("doc_ids", ["a", "b", "c"], "must be an array of numbers"),
    ("doc_ids", [0.0, 1.0, np.nan], "must be finite"),
]


@pytest.mark.parametrize(("field", "values", "told"), DOCUMENTS)
def test_what_is_no_document_is_refused_in_one_line(field, values, told):
    with refused(re.escape(told)) as error:
        trace(MODEL, replace(TEXTS, **{field: values}))
    assert len(str(error.value)) < 300


def test_lists_and_tensors_are_taken():
    right = trace(MODEL, TEXTS).p
    for field in ("ids", "labels", "offsets"):
        values = getattr(TEXTS, field)
        for same in (values.tolist(), torch.tensor(values), pd.Series(values)):
            assert (trace(MODEL, replace(TEXTS, **{field: same})).p == right).all()
    with refused("from 0 to 2, got 3"):
        model = random_model("lstm", "tanh", 30, width=6, hidden=3, outputs=3)
        trace(model, replace(TEXTS, labels=np.array([0, 3, 1])))


@pytest.mark.parametrize(
    ("lengths", "told"), [([5, 0, 3], "document 101 has no words"), ([], "holds no documents")]
)
def test_texts_without_words_and_none_at_all_are_refused(lengths, told):
    with refused(told):
        trace(MODEL, random_documents(lengths, 30))


# ---- long texts, tables ----------------------------------------------------------------------------------------------


def test_a_long_text_is_one_line_with_the_limit():
    long = random_documents([3, 100_000], 30)
    with refused("document 101 has 100,000 words.*at most 20,000.*leave_one_out=False"):
        trace(MODEL, long)
    with refused("document 1 has 100,000 tokens.*at most 10,000"):
        document_table(toy_traces((3, 100_000)))


def test_long_documents_are_compared_as_short_ones_are(monkeypatch):
    traces = toy_traces((5, 40, 60))
    best = optimum.exact(traces, 0.05)
    monkeypatch.setattr(optimum, "PAIRS_AT_ONCE", 30)
    pd.testing.assert_frame_equal(optimum.exact(traces, 0.05), best)


def test_a_pipe_is_no_table(place):
    os.mkfifo(place / "mine.csv")
    for path in (place / "mine.csv", Path("/dev/zero"), place):
        with refused("is no file of a table"):
            read_table(path, ["text"])


def packed(values: list) -> bytes:
    return pd.DataFrame({"text": values}).to_parquet(compression="zstd")


BOMBS = {
    "mine.csv.gz": gzip.compress(b"text,label\n" + b"0" * 5 * 10**6),
    "lines.csv.gz": gzip.compress(b"text,label\n" + b"a film,1\n" * 150_000),
    "mine.jsonl.gz": gzip.compress(b'{"text": "a film", "label": 1}\n' * 10**5),
    "glove.txt.gz": gzip.compress(b"0" * 5 * 10**6),
    "long.parquet": packed(["0" * 5 * 10**6]),
    "many.parquet": packed(["a film"] * 10**6),
    "empty.parquet": packed([None] * (10**6 + 1)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_packed_table_that_grows_without_end_is_one_line(name, place, monkeypatch):
    path = place / name
    path.write_bytes(BOMBS[name])
    assert path.stat().st_size < 30_000
    with monkeypatch.context() as lower:
        lower.setattr(official, "ALWAYS_UNPACKED", 10**6)
        with refused(f"{name} cannot be read .*holds more than 1,000,000 bytes.*; unpack or"):
            vectors.read_text(path, ["film"]) if "glove" in name else read_table(path, ["text"])
    if name == "lines.csv.gz":
        assert len(read_table(path, ["text"])) == 150_000


# ---- what the machine allows -----------------------------------------------------------------------------------------


def shell(command: str, place: Path) -> subprocess.CompletedProcess:
    command = command.replace("attn_core ", f"{sys.executable} -m attn_core ")
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.skipif("ATTN_FAULTS" not in os.environ, reason="make test-faults")
@pytest.mark.parametrize(
    "command",
    [
        "attn_core corpora | head -1",
        "attn_core numbers single_state_agreement mean | head -1",
        "attn_core corpora >&-",
    ],
)
def test_a_closed_output_is_no_traceback(command, place):
    assert not shell(command, place).stderr


@pytest.mark.slow
@pytest.mark.skipif("ATTN_FAULTS" not in os.environ, reason="make test-faults")
def test_few_open_files_are_enough(place):
    grid(
        "- {corpus: planted, encoder: average, epochs: 1, seed: [1, 2], options: [[[n_train, 60], [n_test, 20]]]}"
    )(place)
    done = shell("ulimit -n 64; attn_core sweep grid.yml --jobs 2", place)
    assert done.returncode == 0 and "2 runs, 0 failed" in done.stdout, done.stderr[-800:]
