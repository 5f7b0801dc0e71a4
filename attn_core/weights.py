"""Both checkpoints of a training in the local cache, <cache>/weights/<key>.safetensors; never in the archive."""

import json
import os
from pathlib import Path

import numpy as np

from attn_core.errors import AttnError


def write_weights(store: Path, key: str, weights: dict[str, dict[str, np.ndarray]], training: dict) -> None:
    """Keep both checkpoints of a training in the cache (safetensors), with its history in the header."""
    from safetensors.numpy import save_file

    folder = store.parent / "weights"
    folder.mkdir(parents=True, exist_ok=True)
    flat = {f"{selection}/{name}": array for selection, arrays in weights.items() for name, array in arrays.items()}
    partial = folder / f".{key}.{os.getpid()}"
    save_file(flat, partial, metadata={"training": json.dumps(training)})
    os.replace(partial, folder / f"{key}.safetensors")


def read_weights(store: Path, key: str) -> tuple[dict[str, dict[str, np.ndarray]], dict] | None:
    """(weights by selection, training) of `write_weights`, or None where the training is not cached."""
    from safetensors import SafetensorError, safe_open

    path = store.parent / "weights" / f"{key}.safetensors"
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            training = json.loads(file.metadata()["training"])
            weights: dict[str, dict[str, np.ndarray]] = {}
            for flat in file.keys():
                selection, name = flat.split("/", 1)
                weights.setdefault(selection, {})[name] = file.get_tensor(flat)
    except (SafetensorError, ValueError) as error:
        raise AttnError(f"{path} is damaged ({error}); delete it and run again") from error
    return weights, training
