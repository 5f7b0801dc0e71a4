"""A run as the command line that makes it, and the fields that such a line sets."""

import shlex

import yaml

from attn_core.corpora import catalogue
from attn_core.errors import AttnError
from attn_core.runs import Run, changed

NAMED = ("corpus", "encoder", "attention", "seed", "vectors", "selection", "epochs", "fraction")
"""Fields with an option of their own; all others go by --set."""


def command(run: Run) -> str:
    """The command line that makes a run. Those with a base have none: the book's sweep of their kind is named."""
    if run.family in ("guided", "adversary"):
        grid = "guides" if run.family == "guided" else "adversaries"
        return f"python -m attn_core sweep data/sweeps/wiegreffe-{grid}.yml"
    given = {name: getattr(run, name) for name in NAMED[:4]} | changed(run)
    if run.vectors == catalogue.corpus(run.corpus).vectors:
        del given["vectors"]
    given |= {f"options.{name}": value for name, value in given.pop("options", ())}
    words = []
    for name, value in given.items():
        words += [f"--{name}", str(value)] if name in NAMED else ["--set", f"{name}={yaml_word(value)}"]
    return shlex.join(["python", "-m", "attn_core", "run", *words])


def yaml_word(value: object) -> str:
    """A value as YAML reads it back: 0.001, true, generated train."""
    return yaml.safe_dump(value, default_flow_style=True, width=1 << 20).removesuffix("\n").removesuffix("\n...")


def set_fields(words: list[str]) -> dict:
    """Run fields of NAME=VALUE words, `options.NAME=VALUE` for a knob of the corpus; values are read as YAML."""
    found: dict = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not (name and equals and text):
            raise AttnError(f"--set takes NAME=VALUE, such as hidden=64 or options.source=files; got {word!r}")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            raise AttnError(f"--set {name}: {text!r} is not a value that YAML reads; put quotes around text") from None
        if name in NAMED:
            raise AttnError(f"--set {name}: it has an option of its own, --{name}")
        if name.startswith("options."):
            found.setdefault("options", {})[name.removeprefix("options.")] = value
        else:
            found[name] = value
    return found
