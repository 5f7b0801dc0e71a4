"""Anything typed, any grid, any table: exit status 0, 1 or 2, and one line in place of a traceback.

Few examples by default; `make test-faults` tries all of them.
"""

import os
import shutil
from dataclasses import fields
from importlib import import_module

import pytest
import typer
import yaml
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attn_core.errors import AttnError
from attn_lab.cli import app
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


@pytest.fixture
def run(called):
    """Runs a command line and holds what it must."""

    def run(*words) -> None:
        status, out, lines = called(*map(str, words))
        told = "\n".join(lines)
        assert status in (0, 1, 2)
        assert "--debug to see" not in told
        assert len(told) < 4_000
        ours = [line for line in lines if line.startswith("attn_core: ")]
        assert status == 0 or len(ours) == 1 or "Usage" in told + out

    return run


ODD = st.sampled_from(
    [
        "",
        "0",
        "nan",
        "inf",
        "1e400",
        str(2**70),
        "null",
        "[1, 2]",
        "&a [*a]",
        "é",
        "=",
        "{}",
        "../..",
        "\\n",
        "`{glue:text}`",
        "sst",
        "planted",
        "lstm",
    ]
)
VALUE = ODD | st.text(max_size=12).filter(lambda text: "\0" not in text and text != "--debug")  # which raises
FIELDS = [field.name for field in fields(Run)]
GOOD = {  # parameter of a command -> values that it takes
    "corpus": ["planted", "sst", "imdb"],
    "grid": ["data/sweeps/jain-sst.yml", "nowhere.yml", "data"],
    "measure": ["single_state_agreement", "accuracy", "tau_attention_gradient"],
    "statistic": ["mean", "any"],
    "by": ["seed", "corpus"],
    "page": [
        "one-model",
        "how-to-measure",
        "gallery",
        "teaching",
        "data-details",
        "jain/04-2-2-adversarial",
        "verdict",
    ],
}
NAMES = {  # the same -> names of which it takes values
    "parameters": ["epsilon", "seed", "corpus", "sentence", "corpora"],
    "others": [*FIELDS, "options.n_train", "options.seed"],
    "where": [*FIELDS, "bin", "predicted"],
}
WRITING = {"output", "opened", "html"}
COMMANDS = typer.main.get_command(app).commands
HARMLESS = ["run", "sweep", "numbers", "execute", "read", "corpora"]


@st.composite
def command_lines(draw):
    """A command, some of its options, values that are taken and odd ones, and sometimes a word too many."""
    name = draw(st.sampled_from(HARMLESS) | VALUE)
    words = [name]
    for parameter in COMMANDS[name].params if name in HARMLESS else ():
        value = draw(st.sampled_from(GOOD.get(parameter.name, [str(parameter.default)])) | VALUE)
        if parameter.name in NAMES:
            value = f"{draw(st.sampled_from(NAMES[parameter.name]) | VALUE)}={value}"
        if parameter.param_type_name == "argument":
            words.append(value)
        elif parameter.name not in WRITING and draw(st.integers(0, 2)) == 0:
            words += parameter.opts[:1] if parameter.is_flag else [parameter.opts[0], value]
    return [*words, *draw(st.lists(VALUE, max_size=1))]


@examples(0.5)
@given(command_lines())
def test_command_lines(run, words):
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
def test_grids(run, tmp_path, data):
    (tmp_path / "grid.yml").write_bytes(data)
    run("sweep", tmp_path / "grid.yml", "--dry-run")
