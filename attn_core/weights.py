"""Both checkpoints of a training in the local cache, <cache>/weights/<key>.safetensors; never in the archive."""

import json
import os
import sys
from pathlib import Path

import numpy as np

from attn_core.errors import AttnError


def write_weights(
    store: Path, key: str, weights: dict[str, dict[str, np.ndarray]], training: dict, inputs: dict[str, str]
) -> None:
    """Keep both checkpoints of a training in the cache (safetensors), with its history in the header.

    inputs: fingerprints of the data and vectors it was trained on, which the key does not hold.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    folder = store.parent / "weights"
    folder.mkdir(parents=True, exist_ok=True)
    flat = {f"{selection}/{name}": array for selection, arrays in weights.items() for name, array in arrays.items()}
    partial = folder / f".{key}.{os.getpid()}"
    try:
        save_file(flat, partial, metadata={"training": json.dumps(training), "inputs": json.dumps(inputs)})
        os.replace(partial, folder / f"{key}.safetensors")
    except (OSError, SafetensorError) as error:
        raise AttnError(f"cannot write to {folder} ({error}); make room there or set ATTN_CACHE") from error
    finally:
        partial.unlink(missing_ok=True)


def cached(store: Path, key: str) -> bool:
    """Whether the weights of a training lie in the cache, on whatever data it was trained."""
    return (store.parent / "weights" / f"{key}.safetensors").is_file()


def read_weights(
    store: Path, key: str, inputs: dict[str, str] | None = None
) -> tuple[dict[str, dict[str, np.ndarray]], dict] | None:
    """(weights by selection, training) of `write_weights`, or None where the training is not cached.

    inputs: the fingerprints it must have been trained on; other weights are passed over, with a line on standard error.
    """
    from safetensors import SafetensorError, safe_open

    if not cached(store, key):
        return None
    path = store.parent / "weights" / f"{key}.safetensors"
    try:
        with safe_open(path, framework="numpy") as file:
            about = file.metadata()
            training = json.loads(about["training"])
            if inputs is not None and json.loads(about.get("inputs", "{}")) != inputs:
                print(f"the cached weights of {key} were trained on other data or vectors; not used", file=sys.stderr)
                return None
            weights: dict[str, dict[str, np.ndarray]] = {}
            for flat in file.keys():
                selection, name = flat.split("/", 1)
                weights.setdefault(selection, {})[name] = file.get_tensor(flat)
    except (SafetensorError, ValueError) as error:
        raise AttnError(f"{path} is damaged ({error}); delete it and run again") from error
    return weights, training
