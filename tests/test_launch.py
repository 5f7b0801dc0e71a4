"""What other people's machines start from: Binder and conda, a devcontainer, Codespaces."""

import json
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_an_environment_installs_the_lock_the_package_and_jupyterlab():
    (pip,) = [part["pip"] for part in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
              if isinstance(part, dict)]  # fmt: skip
    assert {"-r requirements.lock", "-e .", "jupyterlab"} <= set(pip)


def test_a_devcontainer_installs_as_make_does():
    told = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    command = told["postCreateCommand"]
    assert command.startswith("make install") and "jupyterlab" in command
    assert told["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"].endswith(".venv/bin/python")
