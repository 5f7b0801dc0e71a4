"""Who may import whom: the contracts of pyproject.toml, looked at by import-linter."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_contracts_on_imports_are_kept():
    """On this tree's packages, whether they are installed or not."""
    places = [str(ROOT), str(ROOT / "book"), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    done = subprocess.run(
        [*command, "--config", "pyproject.toml", "--no-cache"],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places), "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Contracts: 4 kept, 0 broken" in done.stdout, done.stdout
