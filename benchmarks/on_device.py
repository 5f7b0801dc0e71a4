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
from itertools import product
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
        for row in measure(options.device):
            rows.append(row)
            print(pd.DataFrame([row]).to_string(header=False, index=False, float_format="%.3g"))
    card = torch.cuda.get_device_name(options.device) if torch.cuda.is_available() else "no GPU"
    table = stamped(pd.DataFrame(rows)).assign(card=card, threads=torch.get_num_threads())
    if options.to is not None:
        table.to_csv(options.to, index=False, float_format="%.4g")
    print(f"{card}, torch {torch.__version__}")


def measure(device: str) -> Iterator[dict]:
    """Rows of the table: what, model, cpu and gpu (seconds), difference (largest absolute), peak_mb of the GPU, and of
    parity rounding (largest absolute difference of single from double precision, on the processor)."""
    yield from parity(device)
    yield from trainings(device)
    test = speed.texts(SIZES.test, speed.VOCABULARY, seed=1)
    long = speed.texts(SIZES.long, speed.VOCABULARY, long=True)
    for encoder in ENCODERS:
        yield epoch(device, encoder)
    for encoder in ("lstm", "transformer"):
        for name, asked in READINGS.items():
            what = f"{name}, {len(test):,} texts"
            slow = encoder == "transformer" and name == "leave-one-out"
            model = speed.classifier(encoder).eval()
            yield beside(device, what, encoder, reading(test, **asked), model, cpu=not slow)
    for encoder in ("lstm", "cnn", "average"):
        what = f"all of {len(long)} texts of 180 words"
        model = speed.classifier(encoder).eval()
        yield beside(device, what, encoder, reading(long), model, cpu=False)
    yield from searches(device, test)


def beside(
    device: str,
    what: str,
    name: str,
    work: Callable,
    model: nn.Module | None = None,
    cpu: bool = True,
    apart: Callable | None = None,
    times: float = 1.0,
) -> dict:
    """A row: so many times the seconds of a work, see `timed`, on the device and, with cpu, on the processor; apart: of
    both results."""
    seconds, expected, _ = timed("cpu", work, model) if cpu else (np.nan, None, 0)
    gpu, reached, peak = timed(device, work, model)
    return {
        "what": what,
        "model": name,
        "cpu": times * seconds,
        "gpu": times * gpu,
        "difference": apart(expected, reached) if apart else np.nan,
        "peak_mb": peak,
    }


def timed(machine: str, work: Callable, model: nn.Module | None = None) -> tuple:
    """Seconds of the faster of two calls there, of a copy of the model if there is one; the last result; the peak of
    the GPU's memory in MB."""
    cuda = machine.startswith("cuda")
    seconds = []
    with patch.dict(os.environ, ATTN_DEVICE=machine):
        compute_device()
        if model is not None:
            work = partial(work, copy.deepcopy(model).to(machine))
        if cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(machine)
        for _ in range(2):
            began = perf_counter()
            result = work()
            if cuda:
                torch.cuda.synchronize(machine)
            seconds.append(perf_counter() - began)
    peak = torch.cuda.max_memory_allocated(machine) / 2**20 if cuda else np.nan
    return min(seconds), result, peak


def reading(documents: Documents, **asked: bool) -> Callable[[nn.Module], Traces]:
    """The work of a model that reads documents, see `trace`."""
    return partial(trace, documents=documents, progress=False, **asked)


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
    cut = replace(
        documents, sentence_lengths=sentences, sentence_offsets=np.arange(0, 2 * count + 1, 2)
    )
    for name in HIERARCHICAL:
        yield name, hierarchical.build(name, speed.vectors(WORDS, 200), 5), cut


def parity(device: str) -> Iterator[dict]:
    """The same weights read on both: the largest difference of all numbers, infinite where one has none."""
    for name, model, documents in families(SIZES.parity):
        read = reading(documents)
        row = beside(device, "parity", name, read, doubled(model), apart=apart)
        single = read(model)
        yield row | {"rounding": apart(read(model.double()), single)}


def apart(expected: Traces, reached: Traces) -> float:
    """The largest absolute difference of ARRAYS, infinite where one is NaN and the other is not."""
    largest = []
    for name in ARRAYS:
        here, there = getattr(expected, name), getattr(reached, name)
        if (np.isnan(here) != np.isnan(there)).any():
            return np.inf
        largest.append(np.nanmax(np.abs(here - there)))
    return float(np.nanmax(largest))


def trainings(device: str) -> Iterator[dict]:
    """An epoch of each kind of training on planted texts; the first one again: are its weights equal to the bit?"""
    data = encode("planted", **dict(PLANTED))
    start = speed.vectors(len(data.vocabulary))

    def weights_of(run: Run, *bases: dict) -> dict:
        torch.manual_seed(run.seed)
        return fit(run, data, start, False, *bases).weights["dev"]

    def changed(_: None, weights: dict) -> float:
        return max(float(np.abs(base[name] - weights[name]).max()) for name in base)

    _, base, _ = timed(device, partial(weights_of, BASE))
    for run in TRAINED:
        bases = [] if run.base is None else [base]
        yield beside(
            device,
            "a training; the first repeated",
            f"{run.family} {run.encoder}",
            partial(weights_of, run, *bases),
            cpu=False,
            apart=changed if run is BASE else None,
        )


def epoch(device: str, encoder: str) -> dict:
    """Seconds of an epoch, from those of its first steps."""
    documents = speed.texts(speed.TRAIN, speed.VOCABULARY)
    chosen = batches(documents, 32, np.random.default_rng(0))
    steps = chosen[: SIZES.steps]

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


def searches(device: str, documents: Documents) -> Iterator[dict]:
    """The search for adversarial attention (k = 5): difference of the JSD that it ends at; as many texts as IMDB's test
    set has, as long as they are, on the GPU alone."""
    first = documents.take(np.arange(min(200, len(documents))))
    long = speed.texts(SIZES.long_searched, speed.VOCABULARY, long=True)
    ways = (
        ("", "one logit", speed.classifier(), documents),
        ("", "four classes", speed.classifier(outputs=4), first),
        (" of 180 words", "one logit", speed.classifier("average"), long),
    )
    for of, name, model, read in ways:
        traces = forward(doubled(model), read)
        work = partial(search, traces, steps=SIZES.search_steps, progress=False)
        what = f"search, {len(read):,} texts{of}, {SIZES.search_steps} steps"
        jsd = None if of else partial(jsd_apart, traces)
        yield beside(device, what, name, work, cpu=not of, apart=jsd)


def jsd_apart(traces: Traces, *searched: np.ndarray) -> float:
    """The largest difference of two searches' JSD to the model's attention."""
    expected, reached = (jsd_ragged(one, traces.attention, traces.offsets) for one in searched)
    return float(np.abs(expected - reached).max())
