"""What is the user's: corpora and classes that are registered, files that do so, weights that were trained elsewhere.

    register_corpus(entry, prepare, version="1")
    register_encoder("gated", Gated, version="1")
    register_attention("sharp", Sharp, version="1")

Nothing but `version` tells that somebody's code has changed: it is part of the key of every run. Runs of what carries
none are trained anew each time and kept nowhere.
"""

import math
import os
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
from safetensors.numpy import load_file

from attn_core.errors import AttnError, one_line
from attn_core.traces import Arrays
from attn_lab.data import catalogue, encoding
from attn_lab.data.official import limited

VERSIONS: dict[str, dict[str, str]] = {
    "corpus": encoding.VERSIONS,
    "encoder": {},
    "attention": {},
}
"""Field of a run -> name -> version, of all that is registered."""


def register_corpus(entry: catalogue.Corpus, prepare: Callable, version: str = "") -> None:
    """A data set: its entry of the catalogue, and the function that makes its `corpora.prepare.Prepared`.

    The function's arguments are the options of a run. AttnError for a name of the package's own.
    """
    _claim("corpus", entry.name, version, catalogue.CATALOGUE)
    catalogue.CATALOGUE[entry.name] = entry
    encoding.PREPARE[entry.name] = prepare


def register_encoder(name: str, kind: type, version: str = "", times_hidden: int = 0) -> None:
    """An encoder: kind(embedding, hidden=…) is a module with `embedding` (V, E) and `width` H.

    It is called with ids (B, L), lengths (B,) and mask (B, L), and gives states (B, L, H); for pairs of texts it also
    has `summary`, and it may have `scored`, see `models.encoders`. times_hidden: how many times `hidden` its states are
    wide, for `load_weights`; 0 takes the class's default width. AttnError for a name of the package's own.
    """
    import attn_lab.more.transformer  # noqa: F401  (one of the package's own names)
    from attn_core.models import classifier, encoders

    _claim("encoder", name, version, encoders.ENCODERS)
    encoders.ENCODERS[name] = kind
    classifier.TIMES_HIDDEN[name] = times_hidden


def register_attention(name: str, kind: type, version: str = "", pairs: type | None = None) -> None:
    """An attention: kind(width) is a module that gives scores (B, L) of states (B, L, H).

    pairs: the same for pairs of texts, called with the states and the second text's summary (B, H). AttnError for a
    name of the package's own.
    """
    from attn_core.models import attention

    _claim("attention", name, version, {**attention.ATTENTIONS, "given": None})
    attention.ATTENTIONS[name] = kind
    if pairs is not None:
        attention.PAIRED_ATTENTIONS[name] = pairs


def _claim(field: str, name: str, version: str, taken: dict) -> None:
    """Note a name and its version; AttnError where the package has it, or where it cannot stand in a file's name."""
    if not re.fullmatch(r"\w[\w.+-]{0,79}", name) or ".." in name:
        raise AttnError(
            f"{name[:40]!r} cannot name a file; call the {field} by letters, digits, '_', '-', at most 80 of them"
        )
    if name in taken and name not in VERSIONS[field]:
        raise AttnError(f"the {field} '{name}' is the package's own; register yours under another name")
    VERSIONS[field][name] = str(version)


def registered(field: str) -> tuple[str, ...]:
    """The names that the user registered for a field of a run."""
    return tuple(VERSIONS.get(field, ()))


def versions(run) -> dict[str, str]:
    """Field -> version, of the names in a run that are the user's: what its key holds of them."""
    registered_as = {field: names.get(getattr(run, field)) for field, names in VERSIONS.items()}
    return {f"version of {field}": version for field, version in registered_as.items() if version is not None}


def unversioned(run) -> str:
    """Why nothing of a run is kept, in words: what it, or its base, has without version; '' where all is kept."""
    for field, names in VERSIONS.items():
        if names.get(name := getattr(run, field)) == "":
            return f"the {field} '{name}' is registered without version=, so its runs are not kept"
    return unversioned(run.base) if run.base else ""


def load_weights(
    source: str | Path | dict,
    names: dict[str, str | None] | None = None,
    encoder: str = "lstm",
    attention: str = "tanh",
):
    r"""A model with weights that were trained elsewhere, ready for `trace`.

    Parameters
    ----------
    source : str, Path or dict
        Name -> array or tensor, or a file of these: .safetensors, .npz, else what torch.save wrote (pickled code in
        it is not run).
    names : dict, optional
        Regular expression that fits their whole name -> our name, in which \1 is the first group. The first that fits
        counts, None leaves a weight out, what none fits keeps its name (`classifier.to_arrays` shows ours).
    encoder : str
        As in `Run`.
    attention : str
        As in `Run`.

    Returns
    -------
    Classifier, Paired or Hierarchical
        As `trace` takes it.

    Raises
    ------
    AttnError
        A file that cannot be read, two weights of one name, and as in `classifier.filled`.
    """
    import attn_lab.more.transformer  # noqa: F401  (one of the encoders)
    from attn_core.models import classifier, hierarchical, paired

    arrays = renamed(source if isinstance(source, dict) else read_file(Path(source)), names or {})
    if encoder.startswith(("han_", "flan_")):
        return hierarchical.from_arrays(encoder, arrays)
    kind = paired if "decoder.context.weight" in arrays else classifier
    return kind.from_arrays(encoder, attention, arrays)


def renamed(source: dict, names: dict[str, str | None]) -> Arrays:
    """Our name -> array, see `load_weights`; AttnError for two of one name and for what are no numbers."""
    arrays: Arrays = {}
    for theirs, value in source.items():
        fits = ((re.fullmatch(pattern, theirs), name) for pattern, name in names.items())
        ours = next((name and match.expand(name) for match, name in fits if match), theirs)
        if ours is None:
            continue
        if hasattr(value, "detach"):  # a tensor, perhaps of a width that NumPy does not have
            value = value.detach().cpu().to_dense()
            value = value.float() if value.is_floating_point() else value
        array = np.asarray(value)
        if array.dtype.kind not in "fiu" or np.ma.isMaskedArray(value):
            masked = "masked " if np.ma.isMaskedArray(value) else ""
            raise AttnError(f"{theirs} holds {masked}{array.dtype}, not numbers; give weights alone, as float32")
        if ours in arrays:
            raise AttnError(f"two weights are called {ours} after renaming, the second is {theirs}; name them apart")
        arrays[ours] = array
    return arrays


def read_file(path: Path) -> dict:
    """name -> array or tensor of a file; see `load_weights`."""
    if not path.is_file():
        raise AttnError(f"{path} is no file; weights are a .safetensors, .npz or torch.save file, or a dict")
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                limited(path).count(sum(member.file_size for member in packed.infolist()))
        if path.suffix == ".npz":
            return dict(np.load(path))
        import torch

        weights = dict(torch.load(path, map_location="cpu", weights_only=True))
        limited(path).count(sum(math.prod(np.shape(value)) for value in weights.values()))  # one stored may be many
        return weights
    except Exception as error:  # each library has its own
        reason = f"cannot read weights from {path}: {one_line(error)}"
        raise AttnError(f"{reason}; save model.state_dict() as .safetensors") from error


PLUGINS = "ATTN_PLUGINS"
"""Names Python files that register a user's own corpora, encoders and attentions, as the page *Extend* does."""


def plugin_files() -> list[Path]:
    """What $ATTN_PLUGINS names, several as in PATH."""
    names = os.environ.get(PLUGINS, "").split(os.pathsep)
    return [Path(name).absolute() for name in names if name]


def load_plugins() -> None:
    """Load the files of $ATTN_PLUGINS, each once in a process; AttnError for one that fails."""
    for path in plugin_files():
        if str(path) in sys.modules:  # perhaps being loaded: it makes runs itself
            continue
        if path.suffix != ".py" or not path.is_file():
            raise AttnError(f"{PLUGINS} names {path}, no Python file; name a file that ends in .py, or unset it")
        module = ModuleType(str(path))
        module.__file__ = str(path)
        sys.modules[str(path)] = module
        try:
            exec(compile(path.read_bytes(), path, "exec"), vars(module))  # noqa: S102  (the user's own file)
        except Exception as error:
            del sys.modules[str(path)]
            raise AttnError(f"{PLUGINS}: {path} could not be loaded: {one_line(error)}") from error
