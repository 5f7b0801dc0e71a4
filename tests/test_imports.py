"""Who may import whom: the contracts of pyproject.toml, looked at by import-linter; and what is set before torch is."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT, python


def test_contracts_on_imports_are_kept():
    """On this tree's packages, whether they are installed or not."""
    places = [str(ROOT), str(ROOT / "book"), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", "--no-cache"
    told = python(
        *command, "--config", "pyproject.toml", folder=ROOT, PYTHONPATH=os.pathsep.join(places), NO_COLOR="1"
    )
    assert "Contracts: 4 kept, 0 broken" in told


@pytest.mark.parametrize(
    ("wishes", "turns"),
    [({}, "3000"), ({"OMP_WAIT_POLICY": "PASSIVE"}, "0"), ({"GOMP_SPINCOUNT": "77"}, "77")],
)
def test_threads_that_wait_soon_sleep_unless_the_user_wishes_otherwise(wishes, turns):
    """How often the OpenMP library of torch looks before it sleeps, as it says itself when it is loaded."""
    settings = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    environment = {name: value for name, value in os.environ.items() if name not in settings}
    code = "import sys, attn_core; print('torch' in sys.modules); import torch"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**environment, "OMP_DISPLAY_ENV": "verbose", "PYTHONPATH": str(ROOT), **wishes},
    )
    assert done.stdout == "False\n", done.stderr
    if sys.platform == "linux":  # GNU's library
        assert set(re.findall(r"GOMP_SPINCOUNT = '(\d+)'", done.stderr)) == {turns}, done.stderr
