"""Anything typed, any grid, any table: exit status 0, 1 or 2, and one line in place of a traceback.

Few examples by default; `make test-faults` tries all of them.
"""

import io
import os
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from importlib import import_module

import pytest
import yaml
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attn_core.errors import AttnError
from attn_lab.cli import main
from attn_lab.data import encode
from attn_lab.runs import rows, sentence, store, upkeep
from attn_lab.runs.run import Run

pytestmark = pytest.mark.faults
EXAMPLES = 2_000 if os.environ.get("ATTN_FAULTS") else 80
GRIDS = [path.read_bytes() for path in sorted((ROOT / "data" / "sweeps").glob("*.yml"))]


def examples(share):
    """The settings of a test that gets a share of all examples."""
    return settings(max_examples=int(share * EXAMPLES), suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Of one run, and the sentence model: all of them take 10 seconds to read."""
    folder = tmp_path_factory.mktemp("archive")
    whole, key = store.archive_folder(), Run("sst").key
    shutil.copytree(whole / sentence.FOLDER, folder / sentence.FOLDER)
    result = store.read(whole, key)
    upkeep.merge(folder, "sst", rows.tables(result.record, result.numbers), {key: None})
    return folder


@pytest.fixture(autouse=True)
def harmless(tmp_path, monkeypatch, archive):
    """Nothing is downloaded, trained, swept or executed: each command goes as far as that and no further."""

    def stop(*_, **__):
        raise AttnError("noted")

    def read_alone(run, **_):
        encode(run.corpus, **dict(run.options))
        stop()

    for scheme in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(scheme, "http://127.0.0.1:9")
    monkeypatch.setenv("ATTN_DATA", str(tmp_path))
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(import_module("attn_lab.runs.results"), "obtain", read_alone)
    monkeypatch.setattr(import_module("attn_lab.runs.sweep"), "sweep", lambda *_, **__: {})
    monkeypatch.setenv("ATTN_ARCHIVE", str(archive))
    monkeypatch.setattr(import_module("attn_build.running"), "NotebookClient", stop)


def run(*words) -> str:
    """Run a command line and hold what it must; returns its standard error."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(out), redirect_stderr(err):
        patched.setattr(sys, "argv", ["attn_core", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
    for stream in (out, err):
        stream.seek(0)
    told = err.read()
    assert (
        code in (0, 1, 2) and "Traceback" not in told and "--debug to see" not in told and len(told) < 4_000
    ), told
    lines = [line for line in told.splitlines() if line.startswith("attn_core: ")]
    assert code == 0 or len(lines) == 1 or "Usage" in told + out.read()
    return told


ODD = st.sampled_from(
    [
        "",
        "-1",
        "0",
        "3",
        "nan",
        "inf",
        "1e400",
        "1e-3",
        str(2**70),
        "true",
        "null",
        "[1, 2]",
        "{a: 1}",
        "&a [*a]",
        "é",
        "2020-99-99",
        "x=1",
        "=",
        "%s",
        "{}",
        "../..",
        "\\n",
        "'",
        "`{glue:text}`",
        "<script>",
        "sst",
        "planted",
        "lstm",
    ]
)
VALUE = ODD | st.text(max_size=12).filter(lambda text: "\0" not in text and text != "--debug")  # which raises
FIELDS = [field.name for field in fields(Run)]
PAGES = [
    "one-model",
    "how-to-measure",
    "gallery",
    "teaching",
    "data-details",
    "jain/04-2-2-adversarial",
    "verdict",
]


@st.composite
def command_lines(draw):
    """A command with options of its own, odd values, and sometimes a word too many."""
    pick = lambda *of: draw(st.sampled_from(of))
    command = pick("run", "run", "numbers", "execute", "execute", "read", "sweep", "corpora", "any")
    words = [] if command == "any" else [command]
    if command == "run":
        words += ["--corpus", pick("planted", "sst", "imdb", draw(VALUE))]
        for _ in range(draw(st.integers(0, 3))):
            name, value = pick(*FIELDS, "options.n_train", "options.seed", draw(VALUE)), draw(VALUE)
            words += [f"--{name}", value] if draw(st.booleans()) else ["--set", f"{name}={value}"]
    elif command == "execute":
        words += [pick(*PAGES, draw(VALUE))]
        for _ in range(draw(st.integers(0, 2))):
            words += [
                "-p",
                pick("epsilon", "seed", "corpus", "sentence", "corpora", draw(VALUE)),
                draw(VALUE),
            ]
    elif command == "numbers":
        words += [
            pick("single_state_agreement", "accuracy", "tau_attention_gradient", draw(VALUE)),
            pick("mean", "any", draw(VALUE)),
        ]
        words += ["--where", f"{pick('corpus', 'seed', 'bin', 'predicted', draw(VALUE))}={draw(VALUE)}"]
        words += ["--by", pick("seed", "corpus", draw(VALUE))] if draw(st.booleans()) else []
    elif command == "sweep":
        words += [pick("data/sweeps/jain-sst.yml", "nowhere.yml", "data", draw(VALUE)), "--dry-run"]
        words += [pick("--jobs", "--no-workers-timeout", "--scheduler"), draw(VALUE)]
    elif command == "read":
        words += [draw(VALUE)]
    return [*words, *draw(st.lists(VALUE, max_size=2 if command == "any" else 1))]


@examples(0.5)
@given(command_lines())
def test_command_lines(words):
    run(*words)


YAML = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | VALUE,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | VALUE, inner, max_size=3)
    ),
    max_leaves=6,
)
BLOCK = st.dictionaries(st.sampled_from(FIELDS) | VALUE, YAML, max_size=4)


@st.composite
def damaged(draw, whole: bytes):
    """Bytes with some of them changed, doubled or lost."""
    start = draw(st.integers(0, len(whole)))
    end = draw(st.integers(start, min(len(whole), start + 40)))
    return whole[:start] + draw(st.binary(max_size=6) | st.just(whole[start:end] * 2)) + whole[end:]


@examples(0.25)
@given(
    st.lists(BLOCK.map(lambda block: {"corpus": "planted", **block}) | YAML, max_size=3).map(
        lambda blocks: yaml.safe_dump(blocks).encode()
    )
    | st.sampled_from(GRIDS).flatmap(damaged)
    | st.binary(max_size=60)
)
def test_grids(tmp_path, data):
    (tmp_path / "grid.yml").write_bytes(data)
    run("sweep", tmp_path / "grid.yml", "--dry-run")
