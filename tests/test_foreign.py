"""Corpora, encoders and attentions of the user's: what is changed under its name is never answered by an older run."""

import os
import shutil
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_extending import ROOT, examples
from tiny_runs import called, first_run, pack_run

from attn_book import derived
from attn_core import index, store
from attn_core import run as run_fields
from attn_core.corpora import catalogue, encode, encoding, user_code
from attn_core.errors import AttnError
from attn_core.models import attention, encoders
from attn_core.results import obtain
from attn_core.run import Run, from_dict

THIRD = ('(("rain", "clouds"), ("sun", "warmth"))', '(("rain", "clouds", "storm"), ("sun", "warmth", "glow"))')
DRAWN = ("rng.choice(words[label])", "rng.choice(words[label], p=(0.45, 0.45, 0.1))")
TINY = (("n_dev", 40), ("n_test", 40), ("n_train", 200))


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


def test_a_third_word_is_learned_after_the_page_has_run_and_a_changed_entry_is_another_run():
    first = ran("corpus")["report"]
    again = ran("corpus", THIRD, DRAWN, ('train="fresh"', 'train="auto"'))["report"]
    assert again.source == "trained" and again.key != first.key
    assert {"storm", "glow"} <= set(encode("weather").vocabulary)
    assert again.record["fingerprints"]["data"] == encode("weather").fingerprint != first.record["fingerprints"]["data"]
    back = ran("corpus", ('train="fresh"', 'train="auto"'))["report"]
    assert back.key == first.key and back.source == "cache", "what was there before is known again"
    for fields in ({"epochs": 3}, {"classes": ("rainy", "sunny", "other")}, {"min_df": 30}):
        catalogue.CATALOGUE["weather"] = replace(catalogue.CATALOGUE["weather"], **fields)
        assert Run("weather", "average", epochs=2).key != first.key


def register(function, name="mine", files=(), **fields):
    entry = catalogue.Corpus(name, "", "text", ("no", "yes"), "", "", "", files=files, filtered=False, vectors="random",
                             **fields)  # fmt: skip
    catalogue.CATALOGUE[name], encoding.PREPARE[name] = entry, function


def of_table(table) -> encoding.prepare.Prepared:
    """Every split the whole table."""
    lists = [text.split() for text in table["text"]]
    texts = encoding.prepare.Texts(lists, table["label"].to_numpy(), np.arange(len(table)))
    return encoding.prepare.Prepared(dict.fromkeys(("train", "dev", "test"), texts))


def words(yes: str) -> pd.DataFrame:
    texts = ["it was bad , he said", f"it was {yes} indeed , he said", "it was bad", f"so {yes} it was , they all said"]
    return pd.DataFrame({"text": texts * 10, "label": [0, 1] * 20})


def test_a_file_that_the_function_reads_by_itself_is_read_anew(tmp_path, built):
    path = tmp_path / "mine.csv"
    register(lambda: of_table(pd.read_csv(path)))
    run, keys = Run("mine", "average", epochs=1), set()
    for word, train in (("good", "fresh"), ("fine", "fresh"), ("fair", "auto")):
        words(word).to_csv(path, index=False)
        result = obtain(run, train, progress=False)
        keys.add(result.key)
        assert result.source == "trained" and word in encode("mine").vocabulary
    assert len(keys) == 3 and obtain(run, "auto", progress=False).source == "cache"
    assert len(built) == 3 + 3 + 1, "once for the key of a run and its training"
    assert not list((tmp_path / "cache").glob("arrays/*"))


@pytest.fixture
def built(monkeypatch) -> list[str]:
    """The corpora that are encoded, as often as they are."""
    names, build = [], encoding.build
    monkeypatch.setattr(encoding, "build", lambda entry, *rest: names.append(entry.name) or build(entry, *rest))
    return names


def test_named_files_are_encoded_once_until_they_or_the_code_change(tmp_path, monkeypatch, built):
    monkeypatch.setenv("ATTN_DATA", str(tmp_path))
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "train.parquet"

    def plain():
        return of_table(encoding.files.read("mine", "train"))

    def shouted():
        return of_table(encoding.files.read("mine", "train").assign(text=lambda table: table["text"].str.upper()))

    def check(word: str, times: int) -> None:
        for _ in range(2):
            assert word in encode("mine").vocabulary and len(built) == times

    words("good").to_parquet(file)
    register(plain, files=("train",), folder="mine")
    check("good", 1)
    words("fine").to_parquet(file)
    check("fine", 2)
    register(shouted, files=("train",), folder="mine")
    check("FINE", 3)
    register(shouted, files=("train",), folder="mine", min_df=30)
    check("IT", 4)
    assert "FINE" not in encode("mine").vocabulary
    file.unlink()
    with pytest.raises(AttnError, match="mine/train.parquet is missing: corpus 'mine' needs train.parquet; add it"):
        encode("mine")
    file.parent.rmdir()
    with pytest.raises(AttnError, match="no data for corpus 'mine': set ATTN_DATA to a folder with mine/train.parquet"):
        encode("mine")


def test_an_own_function_under_a_known_name_is_foreign():
    key = Run("sst", "average").key
    encoding.PREPARE["sst"] = lambda: of_table(words("good"))
    assert encoding.is_foreign("sst") and Run("sst", "average").key != key
    assert "good" in encode("sst").vocabulary and len(encode("sst").vocabulary) < 20


# ---- classes ---------------------------------------------------------------------------------------------------------


def test_an_encoder_that_knows_nothing_scores_nothing():
    auto = ('train="fresh"', 'train="auto"')
    first = ran("encoder", auto)["gated"]
    again = ran("encoder", auto, ("return self.here(e)", "return 0 * self.here(e)"))["gated"]
    assert first.record["accuracy"] > 0.9 and again.record["accuracy"] < 0.6 and again.key != first.key


def test_an_attention_and_what_stands_in_the_place_of_the_packages_own():
    key, dot = Run("planted", "average").key, Run("planted", "average", "dot").key
    attention.ATTENTIONS["tanh"] = type("Sharp", (attention.Additive,), {"forward": lambda self, h: 5 * self.v(h)})
    sharp = Run("planted", "average").key
    assert sharp != key and Run("planted", "average", "dot").key == dot
    attention.ATTENTIONS["tanh"] = type("Sharp", (attention.Additive,), {"forward": lambda self, h: 6 * self.v(h)})
    assert Run("planted", "average").key not in (sharp, key)
    encoders.ENCODERS["average"] = type("Mine", (encoders.Average,), {})
    assert Run("planted", "average", "dot").key != dot


CODE = """
    import functools
    import numpy as np
    import torch
    from torch import nn

    PLACES = torch.arange(5)
    SCALE, TABLE, KNOWN = 0.5, np.arange(3), {"a", "b", "c", "d"}

    class Base(nn.Module):
        width = 4
        def forward(self, ids):
            return helped(ids) * self.width + PLACES

    def helped(ids, power=2):
        return [SCALE * TABLE[i] ** power for i in ids if i in KNOWN]

    class Mine(Base):
        @staticmethod
        def other(ids):
            return Mine, np.tanh(ids)

        @property
        def kind(self):
            return lambda: enclosed()

    def enclosing(value):
        return lambda: value
    enclosed = enclosing(7)
    made = functools.partial(Mine, hidden=3)
"""


def hashed(*change: str, name: str = "__main__") -> str:
    names = {"__name__": name}
    exec(textwrap.dedent(CODE).replace(*change or ("", "")), names)
    return user_code.digest(names["made"])


def test_the_hash_sees_what_code_names_and_nothing_else():
    same = [("", ""), ("import functools", "import functools\n\n\n"), ("width = 4", 'width = 4\n    "Told."'),
            ("def helped", "def unused(): pass\n\ndef helped")]  # fmt: skip
    other = [
        ("0.5", "0.6"), ("arange(3)", "arange(4)"), ("arange(5)", "arange(6)"), ('"d"', '"e"'), ("(7)", "(8)"),
        ("power=2", "power=3"), ("[i] **", "[i] *"), ("np.tanh", "np.sinh"), ("lambda: enc", "lambda: 1 + enc"),
        ("width = 4", "width = 5"), ("hidden=3", "hidden=4"), ("Mine(Base)", "Mine(nn.Module)"),
        ("@staticmethod", "@classmethod"),
    ]  # fmt: skip
    assert len({hashed(*change) for change in same}) == 1
    assert len({hashed(), *(hashed(*change) for change in other)}) == 1 + len(other)
    assert hashed("0.5", "0.5", name="builtins") != hashed("0.5", "0.6", name="builtins")  # run without a name


def test_unchanged_code_is_the_same_run_in_another_process():
    """A comment or a blank line is no change, and sets have another order in every process."""
    cells = [examples()[name].partition("report = ")[0].partition("gated = ")[0] for name in ("corpus", "encoder")]
    code = "\n".join(["seed, epochs = 10, 2", cells[0], "report = own.key", cells[1], "keys = report, own.key"])
    here = {"__name__": "__main__"}
    exec(code, here)
    moved = "# moved\n\n" + code.replace("def forward", "# the same\n\n    def forward")
    moved += f"\nfrom attn_core.corpora import user_code\n{textwrap.dedent(CODE)}print(*keys, user_code.digest(made))"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", moved], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == [*here["keys"], hashed()], done.stderr[-1500:]


# ---- records ---------------------------------------------------------------------------------------------------------


def test_no_archived_run_has_another_key():
    folder = store.archive_folder()
    keys = store.keys(folder)
    assert [from_dict(store.read_record(folder, key)["run"]).key for key in keys] == keys


def test_a_stored_run_of_a_class_that_is_not_at_hand_breaks_nothing(tmp_path, monkeypatch, capsys):
    """Archived by one process, met by another that knows neither its encoder nor its corpus."""
    folder = tmp_path / "archive"
    known = first_run("20news", "average")
    shutil.copytree(store.archive_folder() / known.key, folder / known.key)
    store.seal(folder)
    monkeypatch.setenv("ATTN_ARCHIVE", str(folder))
    foreign = [ran("corpus")["report"], ran("encoder")["gated"]]
    for result in foreign:
        pack_run(from_dict(result.record["run"]))
        assert obtain(from_dict(result.record["run"]), traces=False).source == "archive"
    assert len(index.runs(source="archive", variant="any")) == 3
    del catalogue.CATALOGUE["weather"], encoding.PREPARE["weather"]
    run_fields.ENCODERS = run_fields.ENCODERS[:-1]
    assert index.runs(source="archive", variant="any")["key"].tolist() == [known.key]
    assert len(derived.classifiers(["planted", "weather"])) == 0
    for command in (["archive", "verify"], ["scorecard"], ["archive", "list"]):
        status, out, _ = called(monkeypatch, capsys, *command)
        assert status == 0
    assert all(result.key in out for result in foreign)
