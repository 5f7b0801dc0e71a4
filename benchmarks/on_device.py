"""A GPU beside the processor: are the numbers the same, in how many seconds, in how much memory.

python -m benchmarks --device cuda [--to FILE.csv]

Generated texts of SST's sizes. Every family of models is read on both: the same weights, random and twice as large as
torch's own start, and the largest absolute difference of all numbers; beside it what single precision itself costs,
the processor's numbers against its own in double precision.
"""

import argparse
import copy
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
from torch import nn

from attn_core.device import compute_device
from attn_core.documents import Documents, batches
from attn_core.experiments.search import search
from attn_core.measures import jsd_ragged
from attn_core.models import classifier, hierarchical, paired
from attn_core.traces import Traces
from attn_core.tracing import forward, trace
from attn_core.training import descend, jain, keep_memory
from attn_lab.data import encode
from attn_lab.runs.families import fit
from attn_lab.runs.run import HIERARCHICAL, Run
from benchmarks import speed
from benchmarks.measured import stamped

WORDS = 400
"""Words of the vocabulary of the small texts that are read for parity."""

ARRAYS = ("attention", "contribution", "gradient", "leave_one_out", "outputs")
ENCODERS = ("lstm", "cnn", "average", "none", "transformer")
PLANTED = (
    ("n_dev", 40),
    ("n_test", 40),
    ("n_train", 200),
    ("shortest_sentence", 3),
    ("longest_sentence", 8),
)
BASE = Run("planted", epochs=1, options=PLANTED)
TRAINED = (
    BASE,
    replace(BASE, encoder="han_rnn"),
    replace(BASE, encoder="flan_rnn"),
    replace(BASE, base=BASE, divergence=0.001),
    replace(BASE, encoder="average", attention="given", base=BASE, guide="own"),
)


@dataclass(frozen=True)
class Sizes:
    """How much is read, trained and searched."""

    parity: int = 60  # texts read for parity
    steps: int = 40  # of an epoch's training
    test: int = speed.TEST  # texts whose reading is timed
    long: int = 100  # long texts whose reading is timed
    search_steps: int = 500
    long_searched: int = 4356  # long texts that are searched


SIZES = Sizes()


def main(*words: str) -> None:
    """Measure, print row by row, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks --device", description=__doc__)
    parser.add_argument(
        "device", nargs="?", default="cuda", help="cuda, cuda:1; cpu tries the script alone"
    )
    parser.add_argument("--to", type=Path, help="file of the table")
    options = parser.parse_args(words)
    keep_memory()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("ATTN_CACHE", folder)
        for row in measure(options.device, SIZES):
            rows.append(row)
            print(
                "  ".join(
                    f"{name} {value if isinstance(value, str) else f'{value:.3g}'}"
                    for name, value in row.items()
                )
            )
    card = torch.cuda.get_device_name(options.device) if torch.cuda.is_available() else "no GPU"
    table = stamped(pd.DataFrame(rows)).assign(card=card, threads=torch.get_num_threads())
    if options.to is not None:
        table.to_csv(options.to, index=False, float_format="%.4g")
    print(f"{card}, torch {torch.__version__}")


def measure(device: str, sizes: Sizes) -> Iterator[dict]:
    """Rows of the table: what, model, cpu and gpu (seconds), difference (largest absolute), peak_mb of the GPU, and of
    parity rounding (largest absolute difference of single from double precision, on the processor)."""
    yield from parity(device, sizes)
    yield from trainings(device)
    test = speed.texts(sizes.test, speed.VOCABULARY, seed=1)
    for encoder in ENCODERS:
        yield epoch(device, encoder, sizes)
    for encoder in ("lstm", "transformer"):
        yield from readings(device, encoder, test)
    for encoder in ("lstm", "cnn", "average"):
        model = speed.classifier(encoder).eval().to(device)
        read = partial(
            trace, model, speed.texts(sizes.long, speed.VOCABULARY, long=True), progress=False
        )
        yield beside(device, f"all of {sizes.long} texts of 180 words", encoder, read)
    yield from searches(device, test, sizes)


def beside(
    device: str,
    what: str,
    model: str,
    work: Callable[[], object],
    on_cpu: Callable[[], object] | None = None,
    apart: Callable[[object, object], float] | None = None,
    times: float = 1.0,
) -> dict:
    """A row: so many times the seconds of work on the device and, unless that takes too long, of the same on the
    processor; apart: of both results."""
    cpu = difference = np.nan
    expected = None
    if on_cpu:
        cpu, expected, _ = timed("cpu", on_cpu)
    gpu, reached, peak = timed(device, work)
    if apart:
        difference = apart(expected, reached)
    named = {"what": what, "model": model, "cpu": times * cpu, "gpu": times * gpu}
    return named | {"difference": difference, "peak_mb": peak}


def timed(machine: str, work: Callable[[], object]) -> tuple[float, object, float]:
    """Seconds of the faster of two calls there, the last result, the peak of the GPU's memory in MB."""
    cuda = machine.startswith("cuda")
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
    return (
        min(seconds),
        result,
        torch.cuda.max_memory_allocated(machine) / 2**20 if cuda else np.nan,
    )


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
    for encoder in ENCODERS:
        for attention in ("tanh", "dot"):
            yield (
                f"{encoder} {attention}",
                classifier.build(encoder, attention, vectors),
                documents,
            )
    second = speed.texts(count, WORDS, seed=2)
    pairs = replace(documents, query_ids=second.ids, query_offsets=second.offsets)
    for encoder in ENCODERS[:3]:
        yield f"pairs {encoder}", paired.build(encoder, "tanh", vectors, 3), pairs
    halves = documents.lengths - 2
    sentences = np.stack([halves // 2, halves - halves // 2], axis=1).ravel()
    cut = replace(
        documents, sentence_lengths=sentences, sentence_offsets=np.arange(0, 2 * count + 1, 2)
    )
    for name in HIERARCHICAL:
        yield name, hierarchical.build(name, speed.vectors(WORDS, 200), 5), cut


def parity(device: str, sizes: Sizes) -> Iterator[dict]:
    """The same weights read on both: the largest difference of all numbers, infinite where one has none."""
    for name, model, documents in families(sizes.parity):
        there = copy.deepcopy(doubled(model)).to(device)
        read = partial(trace, documents=documents, progress=False)
        row = beside(device, "parity", name, partial(read, there), partial(read, model), apart)
        single = read(model)
        yield row | {"rounding": apart(read(model.double()), single)}


def apart(expected: Traces, reached: Traces) -> float:
    """The largest absolute difference of ARRAYS, infinite where one is NaN and the other is not."""
    largest = 0.0
    for name in ARRAYS:
        one_side = np.isnan(getattr(expected, name)) != np.isnan(getattr(reached, name))
        difference = np.abs(
            np.nan_to_num(getattr(expected, name)) - np.nan_to_num(getattr(reached, name))
        )
        largest = max(
            largest, float(difference.max(initial=0.0)), np.inf if one_side.any() else 0.0
        )
    return largest


def trainings(device: str) -> Iterator[dict]:
    """An epoch of each kind of training on planted texts; the first one again: are its weights equal to the bit?"""
    data = encode("planted", **dict(PLANTED))
    start = speed.vectors(len(data.vocabulary))

    def weights_of(run: Run, *bases: dict) -> dict:
        torch.manual_seed(run.seed)
        return fit(run, data, start, False, *bases).weights["dev"]

    _, base, _ = timed(device, partial(weights_of, BASE))

    def changed(_: None, weights: dict) -> float:
        return max(float(np.abs(base[name] - weights[name]).max()) for name in base)

    for run in TRAINED:
        bases = [] if run.base is None else [base]
        work = partial(weights_of, run, *bases)
        apart = changed if run is BASE else None
        yield beside(
            device,
            "a training; the first repeated",
            f"{run.family} {run.encoder}",
            work,
            apart=apart,
        )


def epoch(device: str, encoder: str, sizes: Sizes) -> dict:
    """Seconds of an epoch, from those of its first steps."""
    documents = speed.texts(speed.TRAIN, speed.VOCABULARY)
    chosen = batches(documents, 32, np.random.default_rng(0))
    steps = chosen[: sizes.steps]
    model = speed.classifier(encoder).train()

    def train(model: nn.Module) -> None:
        optimiser = jain.adam(model)
        for rows in steps:
            descend(optimiser, jain.losses(model, documents, rows))

    there = copy.deepcopy(model).to(device)
    what = f"an epoch, {len(chosen)} steps"
    return beside(
        device,
        what,
        encoder,
        partial(train, there),
        partial(train, model),
        times=len(chosen) / len(steps),
    )


READINGS = {
    "forward": {"gradient": False, "leave_one_out": False},
    "gradients": {"leave_one_out": False},
    "leave-one-out": {"gradient": False},
}


def readings(device: str, encoder: str, documents: Documents) -> Iterator[dict]:
    """Seconds of what is read of a test set; of a transformer's deletions on the GPU alone."""
    model = speed.classifier(encoder).eval()
    there = copy.deepcopy(model).to(device)
    for name, asked in READINGS.items():
        read = partial(trace, documents=documents, progress=False, **asked)
        slow = encoder == "transformer" and name == "leave-one-out"
        on_cpu = None if slow else partial(read, model)
        yield beside(
            device, f"{name}, {len(documents):,} texts", encoder, partial(read, there), on_cpu
        )


def searches(device: str, documents: Documents, sizes: Sizes) -> Iterator[dict]:
    """The search for adversarial attention (k = 5): difference of the JSD that it ends at; as many texts as IMDB's test
    set has, as long as they are, on the GPU alone."""
    first = documents.take(np.arange(min(200, len(documents))))
    long = speed.texts(sizes.long_searched, speed.VOCABULARY, long=True)
    ways = (
        ("", "one logit", speed.classifier(), documents),
        ("", "four classes", speed.classifier(outputs=4), first),
        (" of 180 words", "one logit", speed.classifier("average"), long),
    )
    for of, name, model, read in ways:
        with patch.dict(os.environ, ATTN_DEVICE=device if of else "cpu"):
            traces = forward(doubled(model).to(compute_device()), read)
        work = partial(search, traces, steps=sizes.search_steps, progress=False)
        jsd = partial(jsd_apart, traces)
        what = f"search, {len(read):,} texts{of}, {sizes.search_steps} steps"
        yield (
            beside(device, what, name, work)
            if of
            else beside(device, what, name, work, work, jsd)
        )


def jsd_apart(traces: Traces, expected: np.ndarray, reached: np.ndarray) -> float:
    """The largest difference of two searches' JSD to the model's attention."""
    jsd = [
        jsd_ragged(weights, traces.attention, traces.offsets) for weights in (expected, reached)
    ]
    return float(np.abs(jsd[0] - jsd[1]).max())
