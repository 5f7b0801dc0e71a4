"""A GPU beside the processor: are the numbers the same, in how many seconds, in how much memory.

python -m benchmarks --device cuda [--to FILE.csv]

Generated texts of SST's sizes. Every family of models is read on both:
the same weights, random and twice as large as torch's own start, and the largest absolute difference of all numbers;
beside it what single precision itself costs, the processor's numbers against its own in double precision.
"""

import argparse
import copy
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
import torch
from torch import nn

from attn_core.device import compute_device
from attn_core.documents import END, START, Documents, batches
from attn_core.experiments.search import search
from attn_core.measures import jsd_ragged
from attn_core.models import classifier, hierarchical, paired
from attn_core.traces import Traces
from attn_core.tracing import forward, trace
from attn_core.training import descend, jain, keep_memory
from attn_lab.data import encode
from attn_lab.runs.families import fit
from attn_lab.runs.run import HIERARCHICAL, Run
from benchmarks import cost, speed

BATCH = 32
WORDS = 400
"""Words of the vocabulary of the small texts that are read for parity."""

ARRAYS = ("attention", "contribution", "gradient", "leave_one_out", "outputs")
ENCODERS = ("lstm", "cnn", "average", "none", "transformer")
PLANTED = (("n_dev", 40), ("n_test", 40), ("n_train", 200), ("shortest_sentence", 3), ("longest_sentence", 8))
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

    parity: int  # texts read for parity
    steps: int  # of an epoch's training
    test: int  # texts whose reading is timed
    long: int  # long texts whose reading is timed
    search_steps: int
    long_searched: int  # long texts that are searched


SIZES = Sizes(parity=60, steps=40, test=1725, long=100, search_steps=500, long_searched=4356)


def main(words: list[str]) -> None:
    """Measure, print row by row, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1; cpu tries the script alone")
    parser.add_argument("--to", type=Path, help="file of the table")
    options = parser.parse_args(words)
    keep_memory()
    rows = []
    began = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("ATTN_CACHE", folder)
        for row in measure(options.device, SIZES):
            rows.append(row)
            print("  ".join(f"{name} {shown(value)}" for name, value in row.items()), flush=True)
    card = torch.cuda.get_device_name(options.device) if torch.cuda.is_available() else "no GPU"
    table = cost.stamped(pd.DataFrame(rows)).assign(card=card, threads=torch.get_num_threads())
    if options.to is not None:
        table.to_csv(options.to, index=False, float_format="%.4g")
    print(f"{card}, {perf_counter() - began:.0f} s in all; {table['torch'].iloc[0]}")


def shown(value: object) -> str:
    """A value on a line."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def measure(device: str, sizes: Sizes) -> Iterator[dict]:
    """Rows of the table: what, model, cpu and gpu (seconds), difference (largest absolute), peak_mb of the GPU, and of
    parity rounding (largest absolute difference of single from double precision, on the processor)."""
    yield from parity(device, sizes)
    yield from trainings(device)
    train, test, words = speed.texts(speed.TRAIN), speed.texts(sizes.test, seed=1), speed.VOCABULARY
    for encoder in ENCODERS:
        yield epoch(device, encoder, train, words, sizes)
    for encoder in ("lstm", "transformer"):
        yield from readings(device, encoder, test, words)
    for encoder in ("lstm", "cnn", "average"):
        yield long_reading(device, encoder, sizes.long)
    yield from searches(device, test, words, sizes)


@contextmanager
def on(device: str) -> Iterator[None]:
    """What is computed in here is computed there."""
    before = os.environ.get("ATTN_DEVICE")
    os.environ["ATTN_DEVICE"] = device
    compute_device()
    try:
        yield
    finally:
        del os.environ["ATTN_DEVICE"]
        if before is not None:
            os.environ["ATTN_DEVICE"] = before


def timed(device: str, work: Callable[[], object], repeats: int = 2) -> tuple[float, float, object]:
    """Seconds of the fastest of some calls, the peak of the GPU's memory in MB, and the last result."""
    cuda = device.startswith("cuda")
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    seconds = []
    with on(device):
        for _ in range(repeats):
            began = perf_counter()
            result = work()
            if cuda:
                torch.cuda.synchronize(device)
            seconds.append(perf_counter() - began)
    peak = torch.cuda.max_memory_allocated(device) / 2**20 if cuda else np.nan
    return min(seconds), peak, result


def vectors(words: int, width: int = 300) -> np.ndarray:
    """Random word vectors (V, width); the pad's is zero."""
    table = np.random.default_rng(1).normal(0, 0.3, (words, width)).astype(np.float32)
    table[0] = 0.0
    return table


def doubled(model: nn.Module) -> nn.Module:
    """The model ready to be read, its weights twice as large, so that scores and outputs differ clearly."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embedding" not in name:
                parameter.mul_(2.0)
    return model.eval()


def families(count: int) -> Iterator[tuple[str, nn.Module, Documents]]:
    """Every family: name, model with the papers' widths, documents."""
    documents = small_texts(count)
    torch.manual_seed(0)
    for encoder in ENCODERS:
        for attention in ("tanh", "dot"):
            yield f"{encoder} {attention}", classifier.build(encoder, attention, vectors(WORDS)), documents
    second = small_texts(count, seed=2)
    pairs = replace(documents, query_ids=second.ids, query_offsets=second.offsets)
    for encoder in ENCODERS[:3]:
        yield f"pairs {encoder}", paired.build(encoder, "tanh", vectors(WORDS), 3), pairs
    halves = documents.lengths - 2
    sentences = np.stack([halves // 2, halves - halves // 2], axis=1).ravel()
    cut = replace(documents, sentence_lengths=sentences, sentence_offsets=np.arange(0, 2 * count + 1, 2))
    for name in HIERARCHICAL:
        yield name, hierarchical.build(name, vectors(WORDS, 200), 5), cut


def small_texts(count: int, seed: int = 0) -> Documents:
    """Texts of SST's lengths over few words."""
    documents = speed.texts(count, seed)
    inner = np.where(documents.ids > 3, 4 + documents.ids % (WORDS - 4), documents.ids)
    return replace(documents, ids=inner.astype(np.int32))


def parity(device: str, sizes: Sizes) -> Iterator[dict]:
    """The same weights read on both: the largest difference of all numbers, infinite where one has none."""
    for name, model, documents in families(sizes.parity):
        model = doubled(model)
        there = copy.deepcopy(model).to(device)
        cpu, _, expected = timed("cpu", partial(trace, model, documents, progress=False), 1)
        gpu, peak, found = timed(device, partial(trace, there, documents, progress=False), 1)
        _, _, exact = timed("cpu", partial(trace, model.double(), documents, progress=False), 1)
        rounding = apart(exact, expected)
        yield row("parity", name, cpu, gpu, apart(expected, found), peak) | {"rounding": rounding}


def row(what: str, model: str, cpu: float, gpu: float, difference: float, peak: float) -> dict:
    """A row of the table."""
    return {"what": what, "model": model, "cpu": cpu, "gpu": gpu, "difference": difference, "peak_mb": peak}


def apart(expected: Traces, found: Traces) -> float:
    """The largest absolute difference of ARRAYS, infinite where one is NaN and the other is not."""
    largest = 0.0
    for name in ARRAYS:
        one_side = np.isnan(getattr(expected, name)) != np.isnan(getattr(found, name))
        difference = np.abs(np.nan_to_num(getattr(expected, name)) - np.nan_to_num(getattr(found, name)))
        largest = max(largest, float(difference.max(initial=0.0)), np.inf if one_side.any() else 0.0)
    return largest


def trainings(device: str) -> Iterator[dict]:
    """An epoch of each kind of training on planted texts; the first one again: are its weights equal to the bit?"""
    data = encode("planted", **dict(PLANTED))
    start = vectors(len(data.vocabulary))

    def weights_of(run: Run, *bases: dict) -> dict:
        torch.manual_seed(run.seed)
        return fit(run, data, start, False, *bases).weights["dev"]

    _, _, base = timed(device, partial(weights_of, BASE), 1)
    for run in TRAINED:
        bases = [base] if run.base is not None else []
        gpu, peak, weights = timed(device, partial(weights_of, run, *bases), 1)
        difference = np.nan
        if run is BASE:
            difference = max(float(np.abs(base[name] - weights[name]).max()) for name in base)
        yield row("a training; the first repeated", f"{run.family} {run.encoder}", np.nan, gpu, difference, peak)


def epoch(device: str, encoder: str, documents: Documents, words: int, sizes: Sizes) -> dict:
    """Seconds of an epoch, from those of its first steps, after one that warms up."""
    chosen = batches(documents, BATCH, np.random.default_rng(0))

    def second_a_step(place: str, steps: int) -> tuple[float, float]:
        torch.manual_seed(0)
        model = classifier.build(encoder, "tanh", vectors(words)).to(place).train()
        optimiser = jain.adam(model)
        descend(optimiser, jain.losses(model, documents, chosen[0]))

        def train() -> None:
            for rows in chosen[1 : 1 + steps]:
                descend(optimiser, jain.losses(model, documents, rows))

        seconds, peak, _ = timed(place, train, 1)
        return seconds / steps, peak

    cpu, _ = second_a_step("cpu", max(1, sizes.steps // 10))
    gpu, peak = second_a_step(device, sizes.steps - 1)
    return row(f"an epoch, {len(chosen)} steps", encoder, cpu * len(chosen), gpu * len(chosen), np.nan, peak)


READINGS = {
    "forward": {"gradient": False, "leave_one_out": False},
    "gradients": {"leave_one_out": False},
    "leave-one-out": {"gradient": False},
}


def readings(device: str, encoder: str, documents: Documents, words: int) -> Iterator[dict]:
    """Seconds of what is read of a test set; of a transformer's deletions on the GPU alone."""
    torch.manual_seed(0)
    model = classifier.build(encoder, "tanh", vectors(words)).eval()
    there = copy.deepcopy(model).to(device)
    for name, asked in READINGS.items():
        cpu = np.nan
        if encoder != "transformer" or name != "leave-one-out":
            cpu, _, _ = timed("cpu", partial(trace, model, documents, progress=False, **asked))
        gpu, peak, _ = timed(device, partial(trace, there, documents, progress=False, **asked))
        yield row(f"{name}, {len(documents):,} texts", encoder, cpu, gpu, np.nan, peak)


def long_reading(device: str, encoder: str, count: int) -> dict:
    """Seconds of all that is read of texts as long as IMDB's, on the GPU alone."""
    torch.manual_seed(0)
    model = classifier.build(encoder, "tanh", vectors(speed.VOCABULARY)).eval().to(device)
    documents = long_texts(count)
    gpu, peak, _ = timed(device, partial(trace, model, documents, progress=False), 1)
    return row(f"all of {count} texts of 180 words", encoder, np.nan, gpu, np.nan, peak)


def long_texts(count: int) -> Documents:
    """Random texts with IMDB's lengths: mean 180, 20 to 400."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.gamma(4.0, 45.0, count).astype(int), 20, 400) + 2
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = rng.integers(4, speed.VOCABULARY, offsets[-1]).astype(np.int32)
    ids[offsets[:-1]] = START
    ids[offsets[1:] - 1] = END
    return Documents(ids, offsets, rng.integers(0, 2, count), np.arange(count))


def searches(device: str, documents: Documents, words: int, sizes: Sizes) -> Iterator[dict]:
    """The search for adversarial attention (k = 5), on one thread of the CPU: difference of the JSD that it ends at."""
    torch.manual_seed(0)
    single = doubled(classifier.build("lstm", "tanh", vectors(words)))
    several = doubled(classifier.build("lstm", "tanh", vectors(words), 4))
    steps = sizes.search_steps
    for name, model, read in (
        ("one logit", single, documents),
        ("four classes", several, documents.take(np.arange(min(200, len(documents))))),
    ):
        traces = forward(model, read)
        searched = partial(search, traces, steps=steps, progress=False)
        cpu, _, expected = timed("cpu", searched, 1)
        gpu, peak, found = timed(device, searched)
        jsd = [jsd_ragged(weights, traces.attention, traces.offsets) for weights in (expected, found)]
        difference = float(np.abs(jsd[0] - jsd[1]).max())
        yield row(f"search, {len(read):,} texts, {steps} steps", name, cpu, gpu, difference, peak)
    yield long_search(device, sizes)


def long_search(device: str, sizes: Sizes) -> dict:
    """Seconds of the search in as many texts as IMDB's test set has, as long as they are, on the GPU alone."""
    torch.manual_seed(0)
    model = doubled(classifier.build("average", "tanh", vectors(speed.VOCABULARY)))
    read = long_texts(sizes.long_searched)
    with on(device):
        traces = forward(model.to(device), read)
    gpu, peak, _ = timed(device, partial(search, traces, steps=sizes.search_steps, progress=False))
    what = f"search, {len(read):,} texts of 180 words, {sizes.search_steps} steps"
    return row(what, "one logit", np.nan, gpu, np.nan, peak)
