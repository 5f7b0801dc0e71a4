"""A GPU beside the processor: are the numbers the same, in how many seconds, in how much memory.

python -m benchmarks --device cuda [--to FILE.csv]

Generated texts of SST's sizes. Every family of models is read on both: the same weights, random and twice as large as
torch's own start, and the largest absolute difference of all numbers; beside it what single precision itself costs,
the processor's numbers against its own in double precision.
"""

import argparse
import copy
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
from torch import nn

import attn_lab.more.transformer  # noqa: F401  (registers its encoder)
from attn_core.device import compute_device
from attn_core.documents import Documents, batches
from attn_core.experiments.search import search
from attn_core.measures import jsd_ragged
from attn_core.models import classifier, hierarchical, paired
from attn_core.traces import Traces
from attn_core.tracing import forward, trace
from attn_core.training import descend, jain, keep_memory
from attn_lab.runs.run import HIERARCHICAL
from benchmarks import speed
from benchmarks.measured import stamped

WORDS = 400
"""Words of the vocabulary of the small texts that are read for parity."""

ARRAYS = ("attention", "contribution", "gradient", "leave_one_out", "outputs")
ENCODERS = ("lstm", "cnn", "average", "none", "transformer")

PARITY = 60
"""Texts read for parity."""

STEPS = 40
"""Of an epoch's training."""

SEARCH_STEPS = 500


def main(*words: str) -> None:
    """Measure, print row by row, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks --device", description=__doc__)
    parser.add_argument("device", nargs="?", default="cuda", help="cuda, cuda:1; or cpu")
    parser.add_argument("--to", type=Path, help="file of the table")
    options = parser.parse_args(words)
    keep_memory()
    rows = []
    for row in measure(options.device):
        rows.append(row)
        print(row, flush=True)
    card = torch.cuda.get_device_name(options.device) if torch.cuda.is_available() else "no GPU"
    table = stamped(pd.DataFrame(rows)).assign(card=card, threads=torch.get_num_threads())
    if options.to is not None:
        table.to_csv(options.to, index=False, float_format="%.4g")
    print(f"{card}, torch {torch.__version__}")


def measure(device: str) -> Iterator[dict]:
    """Rows of the table: what, model, cpu and gpu (seconds), difference (largest absolute), peak_mb of the GPU, and of
    parity rounding (largest absolute difference of single from double precision, on the processor)."""
    yield from parity(device)
    test = speed.texts(speed.TEST, speed.VOCABULARY, seed=1)
    for encoder in ENCODERS:
        yield epoch(device, encoder)
    for encoder in ("lstm", "transformer"):
        yield from readings(device, encoder, test)
    yield from searches(device, test)


def beside(
    device: str,
    what: str,
    name: str,
    work: Callable[[Any], object],
    model: Any,
    on_cpu: bool = True,
    apart: Callable[[Any, Any], float] | None = None,
    times: float = 1.0,
) -> dict:
    """A row: so many times the seconds of work(model) on the device and, unless that takes too long, on the processor;
    apart: of both results. model: a network, which is moved there, or what else the work takes."""
    cpu = difference = np.nan
    expected = None
    if on_cpu:
        cpu, expected, _ = timed("cpu", partial(work, model))
    there = copy.deepcopy(model).to(device) if isinstance(model, nn.Module) else model
    gpu, reached, peak = timed(device, partial(work, there))
    if apart:
        difference = apart(expected, reached)
    named = {"what": what, "model": name, "cpu": times * cpu, "gpu": times * gpu}
    return named | {"difference": difference, "peak_mb": peak}


def timed(machine: str, work: Callable[[], Any]) -> tuple[float, Any, float]:
    """Seconds of the faster of two calls there, the last result, the peak of the GPU's memory in MB."""
    cuda = machine.startswith("cuda")
    peak = np.nan
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(machine)
    seconds = []
    with patch.dict(os.environ, ATTN_DEVICE=machine):
        compute_device()
        for _ in range(2):
            began = perf_counter()
            result = work()
            if cuda:
                torch.cuda.synchronize(machine)
            seconds.append(perf_counter() - began)
    if cuda:
        peak = torch.cuda.max_memory_allocated(machine) / 2**20
    return min(seconds), result, peak


def doubled(model: nn.Module) -> nn.Module:
    """The model ready to be read, its weights twice as large, so that scores and outputs differ clearly."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embedding" not in name:
                parameter.mul_(2.0)
    return model.eval()


def families(count: int) -> Iterator[tuple[str, nn.Module, Documents]]:
    """Every family: name, model with the papers' widths, documents."""
    documents = speed.texts(count, WORDS)
    vectors = speed.vectors(WORDS)
    torch.manual_seed(0)
    for encoder, attention in product(ENCODERS, ("tanh", "dot")):
        model = classifier.build(encoder, attention, vectors)
        yield f"{encoder} {attention}", model, documents
    second = speed.texts(count, WORDS, seed=2)
    pairs = replace(documents, query_ids=second.ids, query_offsets=second.offsets)
    for encoder in ENCODERS[:3]:
        yield f"pairs {encoder}", paired.build(encoder, "tanh", vectors, 3), pairs
    halves = documents.lengths - 2
    sentences = np.stack([halves // 2, halves - halves // 2], axis=1).ravel()
    offsets = np.arange(0, 2 * count + 1, 2)
    cut = replace(documents, sentence_lengths=sentences, sentence_offsets=offsets)
    for name in HIERARCHICAL:
        yield name, hierarchical.build(name, speed.vectors(WORDS, 200), 5), cut


def parity(device: str) -> Iterator[dict]:
    """The same weights read on both: the largest difference of all numbers, infinite where one has none."""
    for name, model, documents in families(PARITY):
        read = partial(trace, documents=documents, progress=False)
        row = beside(device, "parity", name, read, doubled(model), apart=apart)
        single = read(model)
        yield row | {"rounding": apart(read(model.double()), single)}


def apart(expected: Traces, reached: Traces) -> float:
    """The largest absolute difference of ARRAYS, infinite where one is NaN and the other is not."""
    each = [(getattr(expected, name), getattr(reached, name)) for name in ARRAYS]
    if any((np.isnan(x) != np.isnan(y)).any() for x, y in each):
        return np.inf
    return max(float(np.nan_to_num(np.abs(x - y)).max(initial=0.0)) for x, y in each)


def epoch(device: str, encoder: str) -> dict:
    """Seconds of an epoch, from those of its first steps."""
    documents = speed.texts(speed.TRAIN, speed.VOCABULARY)
    chosen = batches(documents, 32, np.random.default_rng(0))
    steps = chosen[:STEPS]

    def train(model: nn.Module) -> None:
        optimiser = jain.adam(model)
        for rows in steps:
            descend(optimiser, jain.losses(model, documents, rows))

    what = f"an epoch, {len(chosen)} steps"
    model = speed.classifier(encoder).train()
    return beside(device, what, encoder, train, model, times=len(chosen) / len(steps))


READINGS = {
    "forward": {"gradient": False, "leave_one_out": False},
    "gradients": {"leave_one_out": False},
    "leave-one-out": {"gradient": False},
}


def readings(device: str, encoder: str, documents: Documents) -> Iterator[dict]:
    """Seconds of what is read of a test set; of a transformer's deletions on the GPU alone."""
    model = speed.classifier(encoder).eval()
    for name, asked in READINGS.items():
        read = partial(trace, documents=documents, progress=False, **asked)
        slow = encoder == "transformer" and name == "leave-one-out"
        what = f"{name}, {len(documents):,} texts"
        yield beside(device, what, encoder, read, model, on_cpu=not slow)


def searches(device: str, documents: Documents) -> Iterator[dict]:
    """The search for adversarial attention (k = 5): difference of the JSD that it ends at."""
    first = documents.take(np.arange(min(200, len(documents))))
    work = partial(search, steps=SEARCH_STEPS, progress=False)
    for name, outputs, read in (("one logit", 1, documents), ("four classes", 4, first)):
        with patch.dict(os.environ, ATTN_DEVICE="cpu"):
            traces = forward(doubled(speed.classifier(outputs=outputs)), read)
        what = f"search, {len(read):,} texts, {SEARCH_STEPS} steps"
        yield beside(device, what, name, work, traces, apart=partial(jsd_apart, traces))


def jsd_apart(traces: Traces, expected: np.ndarray, reached: np.ndarray) -> float:
    """The largest difference of two searches' JSD to the model's attention."""
    both = np.concatenate([expected, reached])  # (2 k, T)
    first, second = np.split(jsd_ragged(both, traces.attention, traces.offsets), 2)
    return float(np.abs(first - second).max())
