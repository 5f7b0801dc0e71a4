"""From a run to its stored result: data, training, tracing, record."""

import platform
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import scipy
import torch

from attn_core.device import compute_device, threads
from attn_core.errors import AttnError
from attn_core.measures import classification
from attn_core.traces import Arrays, Traces
from attn_core.training import keep_memory
from attn_core.version import __version__
from attn_lab.data import pieces
from attn_lab.data.encoding import encode
from attn_lab.data.order import fixed_order
from attn_lab.data.vectors import vectors
from attn_lab.runs import foreign, rows, store
from attn_lab.runs.families import FAMILIES, fit, notes, trained_model
from attn_lab.runs.run import PRETRAINED, RECIPE, Run, as_dict, bases, command, weights_key
from attn_lab.runs.store import Result

FEW = 50_000
"""Words to train on up to which one thread does it: two are a fifth faster on an idle machine, but half as slow again
beside other programs, where they wait for each other. The number of threads follows the data and never the load of the
machine, for the last digits depend on it."""


def compute(run: Run, progress: bool = True, fresh: bool = False) -> Result:
    """Train a run, trace its whole test set, store both in the local cache (atomically) and return the result.

    Nothing is stored of what the user registered without a version, see `foreign.unversioned`.
    """
    device = compute_device()
    made = data, _, inputs = inputs_of(run)
    folder = store.cache_store()
    store.sweep_away(folder)
    store.staging(folder, run.key).rmdir()  # a store that cannot be written is better known before the training
    arrays, training = trained(run, made, progress, fresh)
    start = time.perf_counter()
    weights = [weights_of(base, progress) for base in bases(run) if run.divergence is None]  # adversaries: read alone
    reading = FAMILIES[run.family].read(run, arrays[run.selection], data, progress, *weights)
    if isinstance(reading, Traces):
        reading = reading.rounded()
        labels = reading.label
        outputs = reading.outputs
    else:
        labels = reading["label"].to_numpy()
        outputs = reading[["p"]].to_numpy()
    record = {
        "key": run.key,
        "run": as_dict(run),
        "recipe": RECIPE,
        **classification(labels, outputs),
        **{f"n_{split}": len(data.splits[split]) for split in ("train", "dev", "test")},
        "seconds": {"train": training["seconds"], "trace": time.perf_counter() - start},
        "history": training["history"],
        "statistics": data.statistics,
        "fingerprints": inputs,
        **notes(run, arrays[run.selection], data, reading, *weights),
        **environment(device),
        "threads": training.get("threads"),  # unknown of weights that an older version has cached
    }
    if not foreign.unversioned(run):
        rows.save(folder, record, reading)
    return Result(record, reading) if isinstance(reading, Traces) else Result(record, documents=reading)


def model_of(run: Run) -> torch.nn.Module:
    """A run's trained network, of the weights in the cache; AttnError, see `Result.model`."""
    if not has_weights(run):
        hint = foreign.unversioned(run) or f"train it: {command(run)} --fresh"
        raise AttnError(f"the weights of {run.key} are not in the cache; {hint}")
    frozen = map(weights_of, bases(run)) if run.family == "pretrained" else ()
    return trained_model(run, weights_of(run), *frozen)


def trained(run: Run, made: tuple, progress: bool = True, fresh: bool = False, few: int = FEW) -> tuple[dict, dict]:
    """Weights by selection and {"history", "seconds", "threads"} of a run's training: from the cache, else trained and
    cached. made: `inputs_of(run)`. few: words to train on up to which one thread does it."""
    data, matrix, inputs = made
    kept = not foreign.unversioned(run)
    from_cache = partial(store.read_weights, weights_key(run), inputs) if kept and not fresh else lambda: None
    if cached := from_cache():  # without a lock: a cache may be shared and not be ours to write
        return cached
    with store.only_trainer(weights_key(run)) if kept else nullcontext():
        if cached := from_cache():
            return cached
        weights = [weights_of(base, progress) for base in bases(run)]
        start = time.perf_counter()
        alone = len(data.splits["train"].ids) <= few and run.encoder not in PRETRAINED
        count = 1 if alone else torch.get_num_threads()
        devices = range(torch.cuda.device_count())
        with torch.random.fork_rng(devices), threads(count):  # afterwards as before
            torch.manual_seed(run.seed)
            result = fit(run, data, matrix, progress, *weights)
        keep_memory()  # the optimiser's is free now
        training = {"history": result.history, "seconds": time.perf_counter() - start, "threads": count}
        if kept:
            store.write_weights(weights_key(run), result.weights, training, inputs)
        return result.weights, training


def has_weights(run: Run) -> bool:
    """Whether a training's checkpoints lie in the local cache; the archive holds none."""
    return store.weights_file(weights_key(run)).is_file()


def weights_of(run: Run, progress: bool = True) -> Arrays:
    """The trained weights of a run at its selection, from the cache, else trained now: the archive holds none."""
    if progress and not has_weights(run):
        print(f"the weights of {run.key} are not cached; training it", file=sys.stderr)
    return trained(run, inputs_of(run), progress)[0][run.selection]


def inputs_of(run: Run):
    """What a run is trained on: (Encoded, start vectors (V, width), fingerprints of both)."""
    data = encode(run.corpus, **dict(run.options))
    if run.encoder in PRETRAINED:
        fingerprints = {"data": data.fingerprint, "vectors": pieces.weights(run.encoder.removesuffix("_random"))[1]}
        data = pieces.as_pieces(data)
        fingerprints["pieces"] = data.fingerprint
        return reduced(data, run.fraction), None, fingerprints
    data = reduced(data, run.fraction)
    matrix, fingerprint = vectors(run.vectors, data.vocabulary)
    return data, matrix, {"data": data.fingerprint, "vectors": fingerprint}


def reduced(data, fraction: float):
    """An Encoded with a share of its training documents, the first of the corpus's fixed order, so that smaller shares
    lie within larger ones. Vocabulary, word vectors, dev and test stay those of the whole."""
    if fraction == 1.0:
        return data
    training = data.splits["train"]
    count = max(1, round(fraction * len(training)))
    first = np.sort(fixed_order(training.doc_ids, data.name)[:count])
    return replace(data, splits={**data.splits, "train": training.take(first)})


def environment(device: str) -> dict:
    """Device, versions and commit: what stands in a record beside the numbers, never in the key."""
    versions = {"python": platform.python_version()}
    versions |= {module.__name__: module.__version__ for module in (torch, np, scipy)}
    return {
        "device": f"cpu ({platform.machine()})" if device == "cpu" else torch.cuda.get_device_name(device),
        "versions": versions,
        "commit": commit(),
    }


def commit() -> str:
    """The commit of the package's own repository, else its version: another repository that lies around an installed
    package says nothing of it."""
    root = Path(__file__).parents[2]
    if (root / ".git").exists() and (root / "book" / "attn_book").is_dir():
        ask = ["git", "rev-parse", "--short", "HEAD"]
        try:
            return subprocess.check_output(ask, cwd=root, stderr=subprocess.DEVNULL, text=True).strip()
        except (OSError, subprocess.CalledProcessError):
            return f"unknown, version {__version__}"
    return f"version {__version__}"
