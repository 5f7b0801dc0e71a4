"""Bad input: one clear line, exit status 2, nothing written. A table of (name, command, damage, expected line)."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import toy_traces

from attn_core import store
from attn_core.__main__ import join_pairs, main

PLANTED = ["run", "--corpus", "planted", "--encoder", "average", "--epochs", "1"]


def no_damage(place: Path) -> None:
    pass


def sst_folder(place: Path) -> Path:
    folder = place / "data" / "sst"
    folder.mkdir(parents=True)
    table = pd.DataFrame({"text": ["a fine film , no doubt about it"] * 8, "label": [0, 1] * 4})
    for split in ("train", "dev", "test"):
        table.to_parquet(folder / f"{split}.parquet")
    return folder


def truncated(place: Path) -> None:
    path = sst_folder(place) / "train.parquet"
    path.write_bytes(path.read_bytes()[:-40])


def wrong_columns(place: Path) -> None:
    pd.DataFrame({"sentence": ["x"], "label": [0]}).to_parquet(sst_folder(place) / "train.parquet")


def no_text(place: Path) -> None:
    pd.DataFrame({"text": ["", " "], "label": [0, 1]}).to_parquet(sst_folder(place) / "train.parquet")


def single_tokens(place: Path) -> None:
    pd.DataFrame({"text": ["good", "bad"], "label": [1, 0]}).to_parquet(sst_folder(place) / "train.parquet")


def sst_with(**columns):
    """The training part of a small SST with other values in its rows."""

    def damage(place: Path) -> None:
        folder = sst_folder(place)
        table = pd.DataFrame({"text": [f"a fine film indeed {'so ' * n}" for n in range(8)], "label": [0, 1] * 4})
        for split in ("dev", "test"):
            table.to_parquet(folder / f"{split}.parquet")
        table.assign(**columns).to_parquet(folder / "train.parquet")

    return damage


def no_dev_part(place: Path) -> None:
    (sst_folder(place) / "dev.parquet").unlink()


def one_tweet(place: Path) -> None:
    (place / "data" / "adr").mkdir()
    (place / "data" / "adr" / "adr_dataset.csv").write_text("text,label\na pill a day helps me sleep,1\n")


def no_data_folder(place: Path) -> None:
    (place / "data").rmdir()


def nan_vectors(place: Path) -> None:
    from attn_core.corpora import encode

    word = encode("planted").vocabulary[4]
    (place / "words.vec").write_text(f"{word} {' '.join(['0.1'] * 299)} nan\n")


def short_vectors(place: Path) -> None:
    (place / "words.vec").write_text("word 0.1 0.2\nnext 0.1\n")


def toy_archive(place: Path) -> Path:
    folder = place / "archive"
    traces = toy_traces().rounded()
    accuracy = float((traces.predicted == traces.label).mean())
    record = {
        "key": "toy",
        "run": {"corpus": "toy", "seed": 10},
        "n_test": len(traces),
        "accuracy": accuracy,
        "macro_f1": 0.5,
    }
    store.write(folder, "toy", record, {"traces.parquet": traces})
    return folder / "toy"


def broken_record(place: Path) -> None:
    (toy_archive(place) / "record.json").write_text("{")


def grid(text: str):
    return lambda place: (place / "grid.yml").write_text(text) and None


def cache_is_a_file(place: Path) -> None:
    shutil.rmtree(place / "cache", ignore_errors=True)
    (place / "cache").write_text("not a folder")


SST = ["run", "--corpus", "sst", "--seed", "3"]
CASES = [
    ("missing data", SST, no_damage, "no data for corpus 'sst'"),
    ("ATTN_DATA is no folder", SST, no_data_folder, "data, which is no folder"),
    ("ATTN_DATA lacks the set", SST, no_damage, "and has no folder 'sst'"),
    ("a part is missing", SST, no_dev_part, "dev.parquet is missing: corpus 'sst'"),
    ("label 7", SST, sst_with(label=[0, 7] * 4), "the label of row 1 is '7'; known: 0 to 1"),
    ("label -1", SST, sst_with(label=[0, 1, -1, 1] * 2), "the label of row 2 is '-1'; known: 0 to 1"),
    ("label NaN", SST, sst_with(label=[0, 1, None, 1] * 2), "the label of row 2 is 'nan'; known: 0 to 1"),
    ("label text", SST, sst_with(label=["good", "bad"] * 4), "the label of row 0 is 'good'; known: 0 to 1"),
    ("one class", SST, sst_with(label=[1] * 8), "split 'train' that are left are of one class (positive)"),
    ("text NaN", SST, sst_with(text=["a", None] * 4), "column 'text' of row 1 holds"),
    ("text is a number", SST, sst_with(text=range(8)), "column 'text' of row 0 holds 0, which is no text"),
    ("too few documents", ["run", "--corpus", "adr"], one_tweet, "'adr': 1 documents are too few to be split"),
    ("documents of one token", SST, single_tokens, "passes the length filter"),
    ("unknown corpus", ["run", "--corpus", "stt"], no_damage, "unknown corpus 'stt'"),
    (
        "unknown encoder",
        [*PLANTED[:3], "--encoder", "lstn"],
        no_damage,
        "unknown encoder 'lstn'; known: lstm, cnn, average, none",
    ),
    (
        "unknown attention",
        ["run", "--corpus", "sst", "--attention", "add"],
        no_damage,
        "unknown attention 'add'; known: tanh, dot, uniform",
    ),
    (
        "unknown selection",
        ["run", "--corpus", "sst", "--selection", "train"],
        no_damage,
        "unknown selection 'train'; known: dev, test",
    ),
    (
        "negative seed",
        ["run", "--corpus", "sst", "--seed", "-1"],
        no_damage,
        "seed must be a whole number of at least 0",
    ),
    (
        "less than no epoch",
        ["run", "--corpus", "planted", "--epochs", "-1"],
        no_damage,
        "epochs must be a whole number of at least 0",
    ),
    (
        "truncated Parquet",
        SST,
        truncated,
        "train.parquet is damaged or no Parquet file",
    ),
    ("foreign Parquet", SST, wrong_columns, "lacks the column 'text'"),
    (
        "only empty documents",
        SST,
        no_text,
        "none of the 2 documents of split 'train' passes",
    ),
    ("NaN in word vectors", [*PLANTED, "--vectors", "words.vec"], nan_vectors, "words.vec"),
    ("vectors too short", [*PLANTED, "--vectors", "words.vec"], short_vectors, "words.vec"),
    ("vectors nowhere", [*PLANTED, "--vectors", "nowhere.vec"], no_damage, "nowhere.vec"),
    ("cache is no folder", PLANTED, cache_is_a_file, "ATTN_CACHE"),
    ("broken record", ["archive", "list"], broken_record, "record.json is unreadable"),
    ("archive is no folder", ["archive", "list"], no_damage, "ATTN_ARCHIVE names"),
    ("no grid", ["sweep", "grid.yml"], no_damage, "no grid file grid.yml"),
    ("misspelt grid field", ["sweep", "grid.yml"], grid("- corpus: sst\n  sed: 3\n"), "unknown run field 'sed'"),
    ("grid without corpus", ["sweep", "grid.yml"], grid("- seed: 3\n"), "a run without corpus"),
    ("number that is text", ["sweep", "grid.yml"], grid("- corpus: sst\n  decay: 1e-5\n"), "write 0.001 or 1.0e-3"),
    ("grid is no list", ["sweep", "grid.yml"], grid("corpus: sst\n"), "must hold a list of blocks"),
    ("unknown page", ["execute", "jain/04-1-corelation"], no_damage, "did you mean 'jain/04-1-correlation'"),
    ("misspelt parameter", ["execute", "jain/04-2-2-adversarial", "-p", "epsilom", "0.1"], no_damage, "epsilon"),
    (
        "parameter of a wrong type",
        ["execute", "jain/04-2-1-permutation", "-p", "permutations", "many"],
        no_damage,
        "permutations",
    ),
    ("sentence without words", ["read", " ... "], no_damage, "holds no word"),
]


@pytest.mark.parametrize(
    ("command", "damage", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_bad_input(command, damage, expected, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ATTN_DATA", str(tmp_path / "data"))
    for scheme in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(scheme, "http://127.0.0.1:9")  # no test downloads anything
    (tmp_path / "data").mkdir()
    damage(tmp_path)
    if command[0] == "archive":
        monkeypatch.setenv("ATTN_ARCHIVE", str(tmp_path / "archive"))
    before = written(tmp_path)
    monkeypatch.setattr("sys.argv", ["attn_core", *command])
    with pytest.raises(SystemExit) as stop:
        main()
    error = capsys.readouterr().err
    lines = [line for line in error.splitlines() if not line.startswith("warning:") and "it/s" not in line]
    assert stop.value.code == 2
    assert len(lines) == 1, error
    assert lines[0].startswith("attn_core: ") and expected in lines[0]
    assert written(tmp_path) == before, "a refused command left files behind"


def written(place: Path) -> set[str]:
    return {str(path) for path in place.rglob("*") if path.is_file()}


def test_an_archived_run_needs_no_data(tmp_path, monkeypatch, capsys):
    """Not even where ATTN_DATA is a folder without its set: nothing is downloaded to compare."""
    monkeypatch.setenv("ATTN_DATA", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["attn_core", "run", "--corpus", "imdb"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code and "(archive)" in capsys.readouterr().out


def test_an_unknown_option_is_one_refusal(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["attn_core", "run", "--corpis", "sst"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "--corpis" in capsys.readouterr().err


def test_papermills_form_of_parameters():
    assert join_pairs(["execute", "p", "-p", "epsilon", "0.1", "-p", "k=3"]) == [
        "execute",
        "p",
        "-p",
        "epsilon=0.1",
        "-p",
        "k=3",
    ]


def test_nan_in_vectors_is_refused_by_the_model_too():
    from attn_core.errors import AttnError
    from attn_core.models.classifier import build

    vectors = np.zeros((5, 300), np.float32)
    vectors[3, 7] = np.nan
    with pytest.raises(AttnError, match="row 3"):
        build("lstm", "tanh", vectors)
