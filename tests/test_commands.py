"""A run's command line makes that run."""

import re
import shlex
import sys

import pytest
from conftest import ROOT, python
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from attn_lab.cli import app
from attn_lab.runs import index, store
from attn_lab.runs.results import AbsentRun
from attn_lab.runs.run import SEEDS, Run, command, from_dict
from attn_lab.runs.sweep import read_grid

ARCHIVE = store.archive_folder()
STORED = store.keys(ARCHIVE)
GRIDS = sorted((ROOT / "data" / "sweeps").glob("*.yml"))
PRINTED = re.compile(r"^python -m attn_core (numbers (?:.*\\\n)*.*)$", re.MULTILINE)
ASKS = [
    ask
    for page in (ROOT / "notebooks").rglob("*.md")
    for ask in PRINTED.findall(page.read_text(encoding="utf-8"))
]


@pytest.fixture(scope="module")
def asked():
    """The run that a command line asks for, which is not made."""
    runs = []

    def note(run, **_):
        runs.append(run)
        raise AbsentRun("noted")

    def asked(line: str) -> Run:
        told = CliRunner().invoke(app, shlex.split(line)[3:])
        assert runs, told.output + str(told.exception)
        return runs.pop()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys.modules["attn_lab.runs.results"], "obtain", note)
        yield asked


@pytest.mark.parametrize("path", GRIDS, ids=lambda path: path.stem)
def test_the_command_of_every_run_of_the_book_makes_it(path, asked):
    for run in {run.key: run for run in read_grid(path) if run.seed == SEEDS[0]}.values():
        assert asked(command(run)) == run


@given(st.sampled_from(STORED))
def test_the_command_of_a_stored_run_makes_it(asked, key):
    run = from_dict(store.read_record(ARCHIVE, key)["run"])
    assert asked(command(run)).key == key


def test_the_command_and_the_class_mean_one_model(asked):
    line = "python -m attn_core run --corpus sst --seed"
    for seed, more in ((10, ""), (10, " --fresh"), (0, ""), (0, " --fresh"), (0, " --vectors ppmi-300")):
        assert (
            asked(f"{line} {seed}{more}")
            == Run("sst", seed=seed)
            == Run("sst", seed=seed, vectors="ppmi-300")
        )
    assert asked(f"{line} 0 --vectors indomain-300") == Run("sst", seed=0, vectors="indomain-300")
    assert asked("python -m attn_core run --corpus babi_1 --seed 0") == Run("babi_1", seed=0)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "learning_rate": st.floats(1e-6, 1.0),
            "class_weights": st.booleans(),
            "hidden": st.integers(1, 512),
            "batch": st.integers(1, 64),
            "options": st.dictionaries(
                st.sampled_from(("source", "cues")),
                st.integers() | st.sampled_from(("files", "generated train", "a'b", "1.0", "true")),
            ),
        },
    )
)
def test_rare_fields_survive_the_command_line(asked, fields):
    run = from_dict({"corpus": "babi_1", **fields})
    assert asked(command(run)) == run


def test_every_stored_measure_has_a_meaning_that_fits_a_line():
    listed = index.measures()
    assert listed["meaning"].str.len().between(5, 90).all()
    assert listed.set_index("measure")["meaning"]["jsd_exact"].str.startswith("JSD of the optimal").all()


@pytest.mark.parametrize("ask", ASKS)
def test_what_a_page_asks_the_archive_is_answered(ask):
    told = CliRunner().invoke(app, shlex.split(ask.replace("\\\n", " ")))
    assert told.exit_code == 0, told.output + str(told.exception)


def test_a_shell_completes_the_installed_command():
    asked = {"_ATTN_CORE_COMPLETE": "complete_bash", "COMP_WORDS": "attn-core exe", "COMP_CWORD": "1"}
    code = "import sys; sys.argv = ['bin/attn-core']; from attn_lab.cli import main; main()"
    assert python("-c", code, **asked).split() == ["execute"]
