"""Shared fixtures: toy traces, a private cache, one thread."""

import hashlib
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

import hypothesis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from attn_core.errors import AttnError
from attn_core.traces import Traces
from attn_lab.cli import main
from attn_lab.data import catalogue, encoding, files
from attn_lab.runs import foreign, rows, upkeep

# The same examples on every machine: a rare one found elsewhere must not decide whether a build passes. To look for
# new ones: pytest --hypothesis-profile search.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.register_profile("search", max_examples=1000, deadline=None)
hypothesis.settings.register_profile("drawn", deadline=None)
hypothesis.settings.load_profile("drawn" if "ATTN_SEED" in os.environ else "fixed")


ROOT = Path(__file__).parents[1]
HTML = ROOT / "_build" / "html"
built = pytest.mark.skipif(not (HTML / "index.html").is_file(), reason="no built book; `make book` writes it")

SLOW = {
    "test_archive",
    "test_book",
    "test_causes",
    "test_cluster",
    "test_commands",
    "test_compared",
    "test_downloaded",
    "test_foreign",
    "test_gallery",
    "test_golden",
    "test_injection",
    "test_memory",
    "test_notebook",
    "test_pages",
    "test_plateau",
    "test_plugins",
    "test_reading",
    "test_runs",
    "test_scorecard",
    "test_sweep",
    "test_wiegreffe_scores",
}
"""Modules that execute pages, start processes, train or read the whole archive: `make test-quick` leaves them out."""

THOROUGH = {"test_browser", "test_cluster", "test_compared", "test_course", "test_memory", "test_rerun"}
"""Modules that `make test` leaves to `make test-all`, as it does all tests marked faults, browser or thorough."""


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem in SLOW:
            item.add_marker(pytest.mark.slow)
        marks = {mark.name for mark in item.iter_markers()}
        if item.path.stem in THOROUGH or marks & {"browser", "faults"}:
            item.add_marker(pytest.mark.thorough)


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory):
    """The cache of fixtures that serve several tests: one folder of all workers, never the user's."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "shared"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTN_CACHE", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    """No test reads or writes the user's cache."""
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path / "cache"))


@pytest.fixture(params=["1", "0"], ids=["fast", "plain"])
def form(request, monkeypatch):
    """The test runs on the fast forms and again on the plain ones."""
    monkeypatch.setenv("ATTN_FAST", request.param)


def plainly():
    """Within it everything is computed by the plain forms."""
    return mock.patch.dict("os.environ", ATTN_FAST="0")


def python(*words, folder=None, **environment) -> str:
    """What a Python of its own prints, which must end well."""
    command = [sys.executable, *map(str, words)]
    environment = {**os.environ, **environment}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def no_names_without_a_meaning(folder: Path) -> None:
    """Of the modules in a folder each makes what it uses."""
    python("-m", "ruff", "check", "--isolated", "--select=F821", "--config=builtins=['display']", folder)


@pytest.fixture
def called(monkeypatch, capsys):
    """called(words of a command): exit status, output and error lines."""

    def call(*words: str) -> tuple[int, str, list[str]]:
        monkeypatch.setattr("sys.argv", ["attn_core", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        lines = [line for line in said.err.splitlines() if "it/s" not in line and line.strip()]
        return stop.value.code or 0, said.out, lines

    return call


@contextmanager
def refused(told: str | None = None):
    """What is done within it ends in an AttnError of one line that says so, a regular expression."""
    with pytest.raises(AttnError, match=told) as error:
        yield error
    assert "\n" not in str(error.value)


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """An empty folder that $ATTN_ARCHIVE names."""
    folder = tmp_path / "archive"
    folder.mkdir()
    monkeypatch.setenv("ATTN_ARCHIVE", str(folder))
    return folder


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Makes the given results all that the archive holds: stored(*lists of results)."""

    def hold(*parts):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        monkeypatch.setenv("ATTN_ARCHIVE", str(folder))
        held = {result.key: result for part in parts for result in part}
        by_corpus = {}
        for result in held.values():
            by_corpus.setdefault(result.record["run"]["corpus"], []).append(result)
        for corpus, results in by_corpus.items():
            made = [rows.tables(result.record, result.numbers) for result in results]
            layers = {layer: pa.concat_tables([table[layer] for table in made]) for layer in made[0]}
            upkeep.merge(folder, corpus, layers, dict.fromkeys(result.key for result in results))
        return list(held.values())

    return hold


@pytest.fixture
def scored(stored):
    """The scorecard of the given results alone: scored(results, paper)."""
    from attn_book.scorecard import scorecard

    def score(results, paper=None):
        stored(results)
        return scorecard(paper=paper)

    return score


@pytest.fixture
def displayed(monkeypatch) -> list:
    """What is displayed, as objects."""
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    return shown


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests of this process, its page as the test before left it."""
    import devtools

    if devtools.CHROMIUM is None:
        pytest.skip("no Chromium installed")
    with devtools.browser() as page:
        yield page


@pytest.fixture
def own_tables():
    """What a test registers is gone after it: corpora, encoders, attentions, files of ATTN_PLUGINS."""
    from attn_core.models import attention, classifier, encoders

    networks = (encoders.ENCODERS, attention.ATTENTIONS, attention.PAIRED_ATTENTIONS, classifier.TIMES_HIDDEN)
    tables = (catalogue.CATALOGUE, encoding.PREPARE, *networks, *foreign.VERSIONS.values())
    with ExitStack() as kept:
        for table in tables:
            kept.enter_context(mock.patch.dict(table))
        yield
    for path in foreign.plugin_files():
        sys.modules.pop(str(path), None)


@pytest.fixture
def no_data_at_hand(monkeypatch):
    monkeypatch.delenv("ATTN_DATA", raising=False)


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Writes splits of a data set into a folder under $ATTN_DATA, tables("sst", train=…, test=…), and names it."""

    def write(name: str, **splits) -> Path:
        monkeypatch.setenv("ATTN_DATA", str(tmp_path / "data"))
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True, exist_ok=True)
        for split, documents in splits.items():
            pd.DataFrame(documents).to_parquet(folder / f"{split}.parquet")
        return folder

    return write


@pytest.fixture
def offer(monkeypatch):
    """Puts bytes where a download of a source would lie, with a checksum that fits; nothing answers at its address."""

    def put(name: str, data: bytes) -> Path:
        checksum = "sha256:" + hashlib.sha256(data).hexdigest()
        source = catalogue.Source(catalogue.SOURCES[name].file, "http://127.0.0.1:9/", checksum)
        monkeypatch.setitem(catalogue.SOURCES, name, source)
        path = files.cache_folder() / "downloads" / source.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    return put


TOKENS = ("score", "contribution", "gradient", "leave_one_out")


def alike(found: Traces, expected: Traces, atol: float, names=TOKENS, **others: float) -> None:
    """Arrays of traces are the same to within atol; others: name -> its own."""
    for name, near in (dict.fromkeys(names, atol) | others).items():
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=0, atol=near, err_msg=name
        )


def toy_traces(lengths=(1, 2, 3, 5, 5, 8), seed=0, classes=1, doc_ids=None) -> Traces:
    """Random traces with the given document lengths."""
    rng = np.random.default_rng(seed)
    lengths = np.asarray(lengths, int)
    offsets = np.append(0, np.cumsum(lengths))
    score = rng.normal(size=offsets[-1]) * 2
    score -= np.repeat(np.maximum.reduceat(score, offsets[:-1]), lengths)
    leave_one_out = rng.normal(size=offsets[-1]) * 0.1
    leave_one_out[np.repeat(lengths == 1, lengths)] = np.nan
    return Traces(
        doc_id=np.arange(len(lengths)) if doc_ids is None else np.asarray(doc_ids),
        label=rng.integers(0, 2, len(lengths)),
        offsets=offsets,
        score=score.astype(np.float32),
        contribution=rng.normal(size=(offsets[-1], classes)).astype(np.float32) * 3,
        bias=rng.normal(size=classes).astype(np.float32),
        gradient=rng.normal(size=offsets[-1]).astype(np.float32),
        leave_one_out=leave_one_out.astype(np.float32),
    )


def one(attention, contribution, bias=0.0, **more) -> Traces:
    """Traces of one text under these weights. contribution: a number an item, or one a class."""
    with np.errstate(divide="ignore"):
        score = np.maximum(np.log(np.asarray(attention, float) / np.max(attention)), -1e4)
    contribution = np.asarray(contribution, np.float32).reshape(len(score), -1)
    bias = np.full(contribution.shape[1], bias, np.float32)
    offsets = np.array([0, len(score)])
    return Traces(
        np.zeros(1, int), np.zeros(1, int), offsets, score.astype(np.float32), contribution, bias, **more
    )


def toy_pairs(lengths=(1, 2, 3, 5, 5, 8), seed=0, outputs=4, hidden=6, allowed=None, doc_ids=None) -> Traces:
    """Random traces of text pairs: the outputs are a readout of a hidden tanh layer. allowed: answers per document."""
    rng = np.random.default_rng(seed + 1000)
    traces = toy_traces(lengths, seed, outputs, doc_ids)
    possible = None
    if allowed is not None:
        possible = rng.random((len(traces), outputs)).argsort(axis=1) < allowed
    return replace(
        traces,
        label=rng.integers(0, outputs, len(traces)),
        contribution=rng.normal(size=(traces.offsets[-1], hidden)).astype(np.float32),
        leave_one_out=np.abs(traces.leave_one_out),
        query=rng.normal(size=(len(traces), hidden)).astype(np.float32),
        readout=rng.normal(size=(outputs, hidden)).astype(np.float32),
        allowed=possible,
    )


KINDS = {
    "one logit": toy_traces,
    "three classes": partial(toy_traces, classes=3),
    "pairs": toy_pairs,
    "cloze": partial(toy_pairs, outputs=9, allowed=3),
}
kinds = pytest.mark.parametrize("kind", KINDS)
