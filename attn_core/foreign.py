"""What is the user's: corpora and classes under the names of a run, files that hold such, weights trained elsewhere."""

import os
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from attn_core.corpora import catalogue, encoding, user_code
from attn_core.errors import AttnError, one_line

CLASSES = (
    ("encoder", "attn_core.models.encoders", "ENCODERS"),
    ("encoder", "attn_core.models.hierarchical", "ENCODERS"),
    ("attention", "attn_core.models.attention", "ATTENTIONS"),
    ("attention", "attn_core.models.attention", "PAIRED_ATTENTIONS"),
)
"""Field of a run, module and table in which its name stands for a class."""


def parts(run) -> dict[str, object]:
    """What the names in a run do not tell where they are the user's: a corpus by its entry and its data, a class by its
    code. Nothing of it is remembered: a cell that runs again puts something else under the same name."""
    found = {}
    if encoding.is_foreign(run.corpus):
        data = encoding.encode(run.corpus, **dict(run.options))
        found["data"] = [repr(catalogue.corpus(run.corpus)), repr(data.statistics["classes"]), data.fingerprint]
    for field, module, table in CLASSES:
        name = getattr(run, field)
        known = getattr(sys.modules.get(module), table, {})  # a module not imported holds the package's own alone
        kind = known.get(name, known.get(name.partition("_")[2]))  # han_rnn: the encoder is rnn
        if kind is not None and kind.__module__.partition(".")[0] != "attn_core":
            found[f"{module}.{table}"] = user_code.digest(kind)
    return found


def load_weights(
    source: str | Path | dict, names: dict[str, str | None] | None = None, encoder: str = "lstm",
    attention: str = "tanh",
):  # fmt: skip
    """A model with weights that were trained elsewhere, ready for `trace`: a Classifier, Paired or Hierarchical.

    source: name -> array or tensor, or a file of these: .safetensors, .npz, else what torch.save wrote (pickled code in
    it is not run). names: regular expression that fits their whole name -> our name, in which \\1 is the first group;
    the first that fits counts, None leaves a weight out, and what none fits keeps its name (`classifier.to_arrays`
    shows ours). encoder, attention: as in `Run`. AttnError: a file that cannot be read, two weights of one name, and as
    in `classifier.loaded`.
    """
    from attn_core.models import classifier, hierarchical, paired

    arrays: dict[str, np.ndarray] = {}
    for theirs, value in (source if isinstance(source, dict) else read_file(Path(source))).items():
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
        if array.dtype.kind not in "fiu":
            raise AttnError(f"{theirs} holds {array.dtype}, not numbers; give weights alone, as float32")
        ours = theirs
        for pattern, name in (names or {}).items():
            if match := re.fullmatch(pattern, theirs):
                ours = name and match.expand(name)
                break
        if ours in arrays:
            raise AttnError(f"two weights are called {ours} after renaming, the second is {theirs}; name them apart")
        if ours is not None:
            arrays[ours] = array
    if encoder.startswith(("han_", "flan_")):
        return hierarchical.from_arrays(encoder, arrays)
    kind = paired if "decoder.context.weight" in arrays else classifier
    return kind.from_arrays(encoder, attention, arrays)


def read_file(path: Path) -> dict:
    """name -> array or tensor of a file; see `load_weights`."""
    if not path.is_file():
        raise AttnError(f"{path} is no file; weights are a .safetensors, .npz or torch.save file, or a dict")
    try:
        if path.suffix == ".npz":
            return dict(np.load(path))
        if path.suffix == ".safetensors":
            return load_file(path)
        import torch

        return dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # each library has its own
        told = f"cannot read weights from {path}: {one_line(error)}"
        raise AttnError(f"{told}; save model.state_dict() as .safetensors") from error


PLUGINS = "ATTN_PLUGINS"
"""Names Python files that register a user's own corpora, encoders and attentions, as the page *Extend* does."""


def plugin_files() -> list[Path]:
    """What $ATTN_PLUGINS names, several as in PATH."""
    return [Path(name).absolute() for name in os.environ.get(PLUGINS, "").split(os.pathsep) if name]


def load_plugins() -> None:
    """Load the files of $ATTN_PLUGINS, each once in a process; AttnError for one that fails."""
    for path in plugin_files():
        if str(path) in sys.modules:  # perhaps being loaded: it makes runs itself
            continue
        if path.suffix != ".py" or not path.is_file():
            raise AttnError(f"{PLUGINS} names {path}, no Python file; name a file that ends in .py, or unset it")
        spec = spec_from_file_location(str(path), path)
        sys.modules[str(path)] = module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[str(path)]
            raise AttnError(f"{PLUGINS}: {path} could not be loaded: {one_line(error)}") from error
