"""Corpora, encoders and attentions of the user's: kept under their version, and without one not at all."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import python, refused
from test_extending import ROOT, examples
from tiny_runs import pack_run

from attn_book import derived
from attn_core.models import attention, classifier, encoders
from attn_lab.data import arrays, catalogue, encode, encoding
from attn_lab.data.prepared import Prepared, Texts
from attn_lab.data.tables import read
from attn_lab.runs import foreign, index, store, sweep
from attn_lab.runs.results import obtain
from attn_lab.runs.run import Run, from_dict

AUTO = ('train="fresh"', 'train="auto"')
SECOND = ('version="1"', 'version="2"')
NONE = ('version="1"', 'version=""')

pytestmark = pytest.mark.usefixtures("own_tables")


def ran(cell: str, *changes: tuple[str, str]) -> dict:
    """The names of a cell of the page after it has run, as in a notebook."""
    code = examples()[cell]
    for old, new in changes:
        assert old in code
        code = code.replace(old, new)
    names = {"__name__": "__main__", "seed": 10, "epochs": 2}
    exec(code, names)
    return names


# ---- corpora ---------------------------------------------------------------------------------------------------------


def register(function, name="mine", files=(), version="", **fields):
    entry = catalogue.Corpus(
        name, "", "text", ("no", "yes"), "", "", "", files=files, filtered=False, vectors="random", **fields
    )
    foreign.register_corpus(entry, function, version)


def of_table(table) -> Prepared:
    """Every split the whole table."""
    lists = [text.split() for text in table["text"]]
    texts = Texts(lists, table["label"].to_numpy(), np.arange(len(table)))
    return Prepared(dict.fromkeys(("train", "dev", "test"), texts))


def words(yes: str) -> pd.DataFrame:
    texts = ["it was bad , he said", f"so {yes} it was , they all said"]
    return pd.DataFrame({"text": texts * 20, "label": [0, 1] * 20})


def test_without_a_version_nothing_is_kept_and_a_line_says_so(tmp_path, capsys):
    path = tmp_path / "mine.csv"
    register(lambda: of_table(pd.read_csv(path)))
    run = Run("mine", "average", epochs=1)
    for word in ("good", "fine"):
        words(word).to_csv(path, index=False)
        assert obtain(run, "auto").source == "trained"
        assert word in encode("mine").vocabulary
        told = "the corpus 'mine' is registered without version=, so its runs are not kept"
        assert told in capsys.readouterr().err
    assert not [*(tmp_path / "cache").glob("arrays/*"), *(tmp_path / "cache").glob("weights/*")]
    assert not store.keys(store.cache_store())
    guided = replace(run, attention="given", guide="own", base=run)
    assert obtain(guided, "auto").source == "trained", "nor of what builds on it"
    with refused("corpus 'mine' is registered without version=.*a sweep keeps its runs"):
        sweep.sweep([guided])


@pytest.fixture
def built(monkeypatch) -> list[str]:
    """The corpora that are encoded, as often as they are."""
    names, build = [], arrays.build
    monkeypatch.setattr(arrays, "build", lambda entry, *rest: names.append(entry.name) or build(entry, *rest))
    return names


def test_named_files_are_encoded_once_until_they_or_the_version_change(tmp_path, monkeypatch, built):
    monkeypatch.setenv("ATTN_DATA", str(tmp_path))
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "train.parquet"
    mine = partial(register, files=("train",), folder="mine")

    def plain():
        return of_table(read("mine", "train"))

    def shouted():
        return of_table(read("mine", "train").assign(text=lambda table: table["text"].str.upper()))

    def check(word: str, times: int) -> None:
        for _ in range(2):
            assert word in encode("mine").vocabulary
            assert len(built) == times

    words("good").to_parquet(file)
    mine(plain, version="1")
    check("good", 1)
    words("fine").to_parquet(file)
    check("fine", 2)
    mine(shouted, version="2")
    check("FINE", 3)
    mine(shouted, version="2", min_df=30)
    check("IT", 4)
    assert "FINE" not in encode("mine").vocabulary
    file.unlink()
    with refused("mine/train.parquet is missing: corpus 'mine' needs train.parquet; add it"):
        encode("mine")
    file.parent.rmdir()
    with refused("no data for corpus 'mine': set ATTN_DATA to a folder with mine/train.parquet"):
        encode("mine")


def test_a_corpus_is_encoded_once_for_a_training_and_not_for_a_key_or_a_stored_run(built):
    register(lambda: of_table(words("good")), version="1")
    run = Run("mine", "average", epochs=1)
    key = run.key
    assert built == []
    obtain(run, "auto")
    assert obtain(run, "auto").source == "cache"
    assert built == ["mine"]
    register(lambda: of_table(words("good")), version="2")
    assert run.key != key


def test_names_of_the_package_are_refused():
    with refused("^the corpus 'sst' is the package's own"):
        register(lambda: of_table(words("good")), name="sst")
    with refused("^the encoder 'average' is the package's own"):
        foreign.register_encoder("average", encoders.Average)
    for name in ("tanh", "given"):
        with refused(f"^the attention '{name}' is the package's own"):
            foreign.register_attention(name, attention.Additive)


# ---- classes ---------------------------------------------------------------------------------------------------------


def test_an_encoder_that_knows_nothing_scores_nothing():
    nothing = ("return self.here(e)", "return 0 * self.here(e)")
    first = ran("encoder", AUTO)["gated"]
    assert first.record["accuracy"] > 0.9
    again, unversioned = (ran("encoder", AUTO, version, nothing)["gated"] for version in (SECOND, NONE))
    for other in (again, unversioned):
        assert other.source == "trained"
        assert other.record["accuracy"] < 0.6
    assert store.keys(store.cache_store()) == sorted({first.key, again.key})


def test_an_attention_of_ones_own():
    class Sharp(attention.Additive):
        def forward(self, h):
            return 5 * self.v(self.project(h).tanh()).squeeze(-1)

    foreign.register_attention("sharp", Sharp, version="1")
    run = Run("planted", "average", "sharp", epochs=1, options=(("n_train", 100), ("n_test", 20)))
    assert obtain(run).record["accuracy"] > 0
    assert obtain(run).source == "cache"
    assert "sharp" not in Run("planted", "average").key
    with refused("unknown attention 'blunt'; known: tanh, dot, uniform, given, cls, sharp"):
        Run("planted", "average", "blunt")


def test_load_weights_reads_off_the_width_of_a_registered_encoder():
    ran("encoder")
    model = classifier.build("gated", "tanh", np.zeros((5, 4), np.float32), hidden=6)
    again = foreign.load_weights(classifier.to_arrays(model), encoder="gated")
    assert again.encoder.width == 6


def test_a_registered_corpus_is_the_same_run_in_another_process():
    cell = examples()["corpus"].partition("report = ")[0]
    here = {"__name__": "__main__", "seed": 10, "epochs": 2}
    exec(cell, here)
    code = f"seed, epochs = 10, 2\n{cell}\nprint(own.key)"
    assert python("-c", code, folder=ROOT, PYTHONPATH=str(ROOT)).split() == [here["own"].key]


# ---- records ---------------------------------------------------------------------------------------------------------


def test_a_stored_run_of_a_class_that_is_not_at_hand_breaks_nothing(called, stored):
    """Archived by one process, met by another that knows neither its encoder nor its corpus."""
    (known,) = stored([store.read(store.archive_folder(), Run("20news", "average").key)])
    own = [ran("corpus")["report"], ran("encoder")["gated"]]
    for result in own:
        run = from_dict(result.record["run"])
        pack_run(run)
        assert obtain(run, traces=False).source == "archive"
    del catalogue.CATALOGUE["weather"], encoding.PREPARE["weather"]
    for versions in foreign.VERSIONS.values():
        versions.clear()
    assert index.runs(source="archive", variant="any")["key"].tolist() == [known.key]
    assert len(derived.classifiers(["planted", "weather"])) == 0
    for command in (["archive", "verify"], ["scorecard"], ["archive", "list"]):
        status, out, _ = called(*command)
        assert status == 0
    assert all(result.key in out for result in own)
