"""From a run to its stored result: data, training, tracing, record. One trainer and one reader for each family."""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import scipy
import torch

from attn_core import store
from attn_core.corpora import encode
from attn_core.corpora.vectors import vectors
from attn_core.errors import AttnError, one_line
from attn_core.measures import classification
from attn_core.run import RECIPE, Run, as_dict, weights_key
from attn_core.store import Result
from attn_core.training import guide, imitate, jain, serrano

FAMILIES = {"text": jain, "pair": jain, "hierarchical": serrano, "guided": guide, "adversary": imitate}
"""Run.family -> recipe: see `attn_core.training`."""


def compute(run: Run, progress: bool = True, fresh: bool = False) -> Result:
    """Train a run, trace its whole test set, store both in the local cache (atomically) and return the result."""
    device = compute_device()
    made = data, _, inputs = inputs_of(run)
    folder = store.cache_store()
    store.staging(folder, run.key).rmdir()  # a store that cannot be written is better known before the training
    arrays, training = trained(run, made, progress, fresh)
    start = time.perf_counter()
    weights = partial(weights_of, progress=progress)
    traces = FAMILIES[run.family].read(run, arrays[run.selection], data, device, progress, weights).rounded()
    record = {
        "key": run.key,
        "run": as_dict(run),
        "recipe": RECIPE,
        **classification(traces.label, traces.outputs),
        **{f"n_{split}": len(data.splits[split]) for split in ("train", "dev", "test")},
        "seconds": {"train": training["seconds"], "trace": time.perf_counter() - start},
        "history": training["history"],
        "statistics": data.statistics,
        "fingerprints": inputs,
        **environment(device),
    }
    store.write(folder, run.key, record, {"traces.parquet": traces})
    return Result(record, traces)


def trained(run: Run, made: tuple, progress: bool = True, fresh: bool = False) -> tuple[dict, dict]:
    """Weights by selection and {"history", "seconds"} of a run's training: from the cache, else trained and cached.
    made: `inputs_of(run)`."""
    data, matrix, inputs = made
    if not fresh and (cached := store.read_weights(weights_key(run), inputs)):
        return cached
    with own_randomness() as device:
        torch.manual_seed(run.seed)
        weights = partial(weights_of, progress=progress)
        found = FAMILIES[run.family].fit(run, data, matrix, device, progress, weights)
    training = {"history": found.history, "seconds": found.seconds}
    store.write_weights(weights_key(run), found.weights, training, inputs)
    return found.weights, training


@contextmanager
def own_randomness() -> Iterator[str]:
    """The device to train on; torch's generators are afterwards as they were before."""
    device = compute_device()
    on_gpu = torch.device(device).type == "cuda"
    if on_gpu:  # TF32 would choose checkpoints in another arithmetic than they are traced in
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if on_gpu else []):
        yield device


def has_weights(run: Run) -> bool:
    """Whether a training's checkpoints lie in the local cache; the archive holds none."""
    return store.weights_file(weights_key(run)).is_file()


def weights_of(run: Run, progress: bool = True) -> dict[str, np.ndarray]:
    """The trained weights of a run at its selection, from the cache, else trained now: the archive holds none."""
    if progress and not has_weights(run):
        print(f"the weights of {run.key} are not cached; training it", file=sys.stderr)
    return trained(run, inputs_of(run), progress)[0][run.selection]


def inputs_of(run: Run):
    """What a run is trained on: (Encoded, start vectors (V, width), fingerprints of both)."""
    data = reduced(encode(run.corpus, **dict(run.options)), run.fraction)
    matrix, fingerprint = vectors(run.vectors, data.vocabulary)
    return data, matrix, {"data": data.fingerprint, "vectors": fingerprint}


def reduced(data, fraction: float):
    """An Encoded with a share of its training documents, the first of the corpus's fixed order, so that smaller shares
    lie within larger ones. Vocabulary, word vectors, dev and test stay those of the whole."""
    if fraction == 1.0:
        return data
    training = data.splits["train"]
    kept = np.sort(store.sample(training.doc_ids, data.name)[: max(1, round(fraction * len(training)))])
    return replace(data, splits={**data.splits, "train": training.take(kept)})


def compute_device() -> str:
    """'cuda' where a GPU is at hand, else 'cpu'; $ATTN_DEVICE overrides ('cuda:1' names the second GPU)."""
    device = os.environ.get("ATTN_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    if device.partition(":")[0] not in ("cpu", "cuda"):
        raise AttnError(f"ATTN_DEVICE is {device!r}; known: cpu, cuda, cuda:0 and so on")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise AttnError(f"torch has no device {device!r} here ({one_line(error)}); unset ATTN_DEVICE") from error
    return device


def environment(device: str) -> dict:
    """Device, threads, versions and commit: what stands in a record beside the numbers, never in the key."""
    ask = ["git", "rev-parse", "--short", "HEAD"]
    try:
        commit = subprocess.check_output(ask, cwd=Path(__file__).parent, stderr=subprocess.DEVNULL, text=True).strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"
    on_gpu = torch.device(device).type == "cuda"
    name = torch.cuda.get_device_name(device) if on_gpu else f"cpu ({platform.machine()})"
    versions = {"python": platform.python_version()} | {one.__name__: one.__version__ for one in (torch, np, scipy)}
    return {"device": name, "threads": torch.get_num_threads(), "versions": versions, "commit": commit}
