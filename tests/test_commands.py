"""A run's command line makes that run."""

import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from attn_core.__main__ import app
from attn_core.obtain import AbsentRun
from attn_core.run import SEEDS, Run, command, from_dict, set_fields
from attn_core.sweep import read_grid

GRIDS = sorted((Path(__file__).parents[1] / "data" / "sweeps").glob("*.yml"))


@pytest.fixture(scope="module")
def asked():
    """The run that a command line asks for, which is not made."""

    def asked(line: str) -> Run:
        found = []

        def note(run, **_):
            found.append(run)
            raise AbsentRun("noted")

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(sys.modules["attn_core.obtain"], "obtain", note)
            told = CliRunner().invoke(app, shlex.split(line)[3:])
        assert found, told.output + str(told.exception)
        return found[0]

    return asked


@pytest.mark.parametrize("path", GRIDS, ids=lambda path: path.stem)
def test_the_command_of_every_run_of_the_book_makes_it(path, asked):
    own = [run for run in read_grid(path) if run.family not in ("guided", "adversary")]
    for run in {run.key: run for run in own if run.seed == SEEDS[0]}.values():
        assert asked(command(run)) == run


def test_a_run_that_is_not_stored_counts_its_vectors(asked):
    line = "python -m attn_core run --corpus sst --seed"
    assert asked(f"{line} 10") == Run("sst") and asked(f"{line} 10 --fresh") == Run("sst")
    assert asked(f"{line} 0") == Run("sst", seed=0, vectors="ppmi-300")
    assert asked(f"{line} 0 --vectors indomain-300") == Run("sst", seed=0)
    assert asked("python -m attn_core run --corpus babi_1 --seed 0") == Run("babi_1", seed=0)


def test_runs_with_a_base_name_a_sweep_that_holds_them():
    for name in ("guides", "adversaries"):
        (path,) = [path for path in GRIDS if path.stem == f"wiegreffe-{name}"]
        based = [run for run in read_grid(path) if run.base is not None]
        assert based and {command(run) for run in based} == {f"python -m attn_core sweep data/sweeps/{path.name}"}


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
def test_rare_fields_survive_the_command_line(fields):
    run = from_dict({"corpus": "babi_1", **fields})
    words = shlex.split(command(run))
    rare = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
    assert from_dict({"corpus": "babi_1", **set_fields(rare)}) == run
