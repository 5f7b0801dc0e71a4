"""Runs as trainings and readings, family by family: the one place that knows both; `training`, `tracing` and `models`
know no run.

A family has a task, what is trained and how, and a reading, what is kept of its test set.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

import attn_lab.more.transformer  # noqa: F401  (registers its encoder)
from attn_core.device import compute_device
from attn_core.documents import Documents, Encoded
from attn_core.models import classifier, hierarchical, paired
from attn_core.models.classifier import Classifier, Named, filled
from attn_core.models.paired import Paired
from attn_core.traces import Arrays, Traces, softmax
from attn_core.tracing import forward, trace, trace_items
from attn_core.training import Trained, imitate, jain, serrano
from attn_lab.data import catalogue, pieces
from attn_lab.data.order import fixed_order
from attn_lab.data.planted import deciding
from attn_lab.more import cls, guide, piecewise, pretrained
from attn_lab.more.interventions import Hide, Mixed, Tie, masked, nudge
from attn_lab.more.minilm import MiniLM
from attn_lab.runs.run import Run, bases

LONGEST_DELETED = 500
"""Words of a generated document up to which leave-one-out is traced: of one of 2,000 words it takes half a minute."""

LONGEST_SLOW = 100
"""Mean words of a test set up to which leave-one-out is traced for transformers: they read each shortened text anew."""

ITEMS_DELETED = 300
"""Test documents, the first of the corpus's fixed order, of which HAN and FLAN leave out the items one by one."""

DELETED = 320
DELETED_PIECES = 20_000
"""Likewise of pretrained encoders, and the pieces that they hold at most: every deletion is a text to be read."""

SHAPE: dict[str, int] = {}
"""Arguments of `MiniLM`; tests take fewer and smaller layers."""


@dataclass(frozen=True)
class Task:
    """A training, `recipe.train(model, splits, seed, **hooks)`: a fresh model on its device, documents by split, one of
    the recipes in `training`, and what this one takes besides."""

    model: nn.Module
    splits: Mapping[str, Documents]
    recipe: Any
    seed: int
    hooks: dict[str, Any]


class Family(NamedTuple):
    """How the runs of a family are trained and read.

    task(run, data, matrix, progress, *bases), called with torch seeded: matrix (V, width) are the start vectors, bases
    the trained weights of `run.bases(run)`. read(run, arrays, data, progress, *bases): traces of the test set from
    trained weights; of a model without such, a table of its documents.
    """

    task: Callable[..., Task]
    read: Callable[..., Traces | pd.DataFrame]


def fit(run: Run, data: Encoded, matrix: np.ndarray | None, progress: bool, *bases: Arrays) -> Trained:
    """Train a run's model, with torch seeded by the caller."""
    task = FAMILIES[run.family].task(run, data, matrix, progress, *bases)
    return task.recipe.train(task.model, task.splits, task.seed, progress=progress, **task.hooks)


def recipe(kind: type, run: Run, **further) -> Any:
    """A recipe of a run's fields, and further ones, of the same names."""
    values = further | vars(run)
    return kind(**{each.name: values[each.name] for each in fields(kind)})


def outputs_of(run: Run, data: Encoded) -> int:
    """Logits of a run's model: one for two classes of single texts, else one a class."""
    classes = len(data.statistics["classes"])
    return 1 if classes == 2 and run.family not in ("pair", "hierarchical") else classes


def trained_model(run: Run, arrays: Arrays, *bases: Arrays) -> nn.Module:
    """A run's model with trained weights, on the device; torch's generator stays as it was."""
    if run.family == "pretrained":
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(run.seed)  # of a drawn encoder that is frozen: as `tuned_task` has drawn it
            model = pretrained.build(minilm(run, *bases), run.attention, len(arrays["decoder.bias"]), run.layer)
        weights = {name: torch.tensor(array) for name, array in arrays.items()}
        model.load_state_dict(model.state_dict() | weights)  # RuntimeError where a name is left over or misshapen
        model.eval()
    elif run.family == "hierarchical":
        model = hierarchical.from_arrays(run.encoder, arrays)
    else:
        attention = "uniform" if run.guide else run.attention
        model = kind_of(run).from_arrays(encoder_of(run), attention, arrays, run.hidden)
    return model.to(compute_device())


def attended(run: Run, arrays: Arrays, documents: Documents, progress: bool) -> Traces:
    """One forward pass: attention and outputs, without gradient and leave-one-out."""
    return forward(trained_model(run, arrays), documents, progress)


# ---- Jain & Wallace's, of texts and of pairs -------------------------------------------------------------------------


def kind_of(run: Run) -> ModuleType:
    """What builds its model."""
    return paired if run.family == "pair" else classifier


def encoder_of(run: Run) -> Named:
    """An encoder's name, or, with context, the one that reads it."""
    return partial(Mixed, context=run.context, mixes=run.mixes) if run.context else run.encoder


def network(run: Run, data: Encoded, matrix: np.ndarray) -> Classifier | Paired:
    """A run's model as it starts, from vectors (V, width)."""
    attention = "uniform" if run.guide else run.attention  # a network whose weights are given has none of its own
    model = kind_of(run).build(encoder_of(run), attention, matrix, outputs_of(run, data), run.hidden)
    return model.to(compute_device())


def jain_task(run: Run, data: Encoded, matrix: np.ndarray, progress: bool) -> Task:
    """Our own knobs are an encoder and hooks."""
    model = network(run, data, matrix)
    return Task(model, data.splits, recipe(jain.JainWallace, run), run.seed, hooks_of(run, model, data))


def hooks_of(run: Run, model: Classifier | Paired, data: Encoded) -> dict[str, Any]:
    """What our own knobs change in a training, see `interventions`."""
    hooks: dict[str, Any] = {}
    if run.mask:
        hooks["transform"] = partial(masked, share=run.mask)
    if run.rounding:
        hooks["start"] = partial(nudge, draw=run.rounding)
    if run.tie:
        hooks["penalty"] = Tie(model.encoder, run.tie)
    if run.hide:
        hooks["penalty"] = Hide(deciding(data.vocabulary), run.hide, model.encoder.embedding.weight.device)
    return hooks


def read_jain(run: Run, arrays: Arrays, data: Encoded, progress: bool, *bases: Arrays) -> Traces:
    """With gradient and leave-one-out.

    Without the latter, the dearest part, where no test reads it: uniform weights rank no words, untrained models and
    long generated documents. Of adversaries and of a training that differs by rounding only attention and outputs are
    compared: they are traced for these.
    """
    test = data.splits["test"]
    if run.rounding or run.family == "adversary":
        return attended(run, arrays, test, progress)
    long = catalogue.corpus(run.corpus).generated and int(test.lengths.max()) - 2 > LONGEST_DELETED
    slow = run.encoder == "transformer" and float(test.lengths.mean()) > LONGEST_SLOW
    deletions_read = run.attention != "uniform" and run.epochs > 0 and not long and not slow
    return trace(trained_model(run, arrays), test, leave_one_out=deletions_read, progress=progress)


# ---- Serrano & Smith's -----------------------------------------------------------------------------------------------


def serrano_task(run: Run, data: Encoded, matrix: np.ndarray, progress: bool) -> Task:
    """With the schedule of the run's corpus."""
    plan = catalogue.schedule(run.corpus, run.encoder)
    model = hierarchical.build(run.encoder, matrix, outputs_of(run, data), run.hidden or 50, plan["dropout"])
    return Task(model.to(compute_device()), data.splits, recipe(serrano.SerranoSmith, run, **plan), run.seed, {})


def read_serrano(run: Run, arrays: Arrays, data: Encoded, progress: bool) -> Traces:
    """Leave-one-out of the first ITEMS_DELETED documents, else NaN."""
    documents = data.splits["test"]
    deleted = fixed_order(documents.doc_ids, data.name)[:ITEMS_DELETED]
    return trace_items(trained_model(run, arrays), documents, deleted, data.name, progress)


# ---- Wiegreffe & Pinter's --------------------------------------------------------------------------------------------


def guided_task(run: Run, data: Encoded, matrix: np.ndarray, progress: bool, *bases: Arrays) -> Task:
    """The network starts from the same numbers as the uniform one of the same seed and sees the same batches. Vectors
    of positions and ranks are not trained: they are to carry no words' worth of freedom."""
    splits = {}
    imposed = {}
    for split, documents in data.splits.items():
        scores = guide_scores(run, documents, split, progress, *bases)
        splits[split] = guide.as_read(documents, scores, run.words, data.splits)
        imposed[split] = softmax(scores, documents.word_offsets)
    if run.words != "text":
        matrix = guide.position_vectors(data.splits, matrix.shape[1])
    model = network(run, data, matrix)
    model.encoder.embedding.weight.requires_grad_(run.words == "text")
    return Task(model, splits, recipe(jain.JainWallace, run), run.seed, {"imposed": imposed})


def guide_scores(run: Run, documents: Documents, split: str, progress: bool, *weights: Arrays) -> np.ndarray:
    """Scores (T,) float32 of a split's words by `Run.guide`: their softmax within a document is the weights given.

    weights: of `run.bases(run)`, of which there are two for 'swapped': the second is read in the test set alone.
    """
    if not run.guide:
        return np.zeros(documents.word_offsets[-1], np.float32)
    index = -1 if split == "test" else 0
    traces = attended(bases(run)[index], weights[index], documents, progress)
    if run.guide == "permuted":
        return guide.permuted(traces)
    if run.guide == "searched":
        return guide.searched(traces)
    return traces.score


def read_guided(run: Run, arrays: Arrays, data: Encoded, progress: bool, *bases: Arrays) -> Traces:
    """Under the given weights; no gradient or leave-one-out, which would move these."""
    documents = data.splits["test"]
    scores = guide_scores(run, documents, "test", progress, *bases)
    documents = guide.as_read(documents, scores, run.words, data.splits)
    return replace(attended(run, arrays, documents, progress), score=scores)


def adversary_task(run: Run, data: Encoded, matrix: np.ndarray, progress: bool, *bases: Arrays) -> Task:
    """It imitates the base's outputs and moves away from its attention."""
    assert run.base is not None  # so in this family
    target = {split: attended(run.base, bases[0], documents, progress) for split, documents in data.splits.items()}
    return Task(network(run, data, matrix), data.splits, recipe(imitate.Adversary, run), run.seed, {"target": target})


# ---- MiniLM ----------------------------------------------------------------------------------------------------------


def minilm(run: Run, *bases: Arrays) -> MiniLM:
    """The encoder that a run starts from: as it is in the base, drawn, or downloaded."""
    name = run.encoder.removesuffix("_random")
    encoder = MiniLM(**{"depth": pieces.MODELS[name]["depth"]} | SHAPE)
    if bases:
        weights = {name.removeprefix("encoder."): torch.tensor(array) for name, array in bases[0].items()}
        encoder.load_state_dict({name: weights[name] for name in encoder.state_dict()})
    elif name != run.encoder:
        encoder.draw()
    else:
        encoder.load(pieces.folder(name) / pieces.weights(name)[0])
    return encoder


def tuned_task(run: Run, data: Encoded, matrix: None, progress: bool, *bases: Arrays) -> Task:
    """Fine-tuned end to end, or a head on a layer; judged by an attention, or by [CLS]."""
    encoder = minilm(run, *bases)
    hooks: dict[str, Any] = {}
    if run.family == "cls":
        model: nn.Module = cls.FirstState(encoder)
        hooks["quality"] = cls.roc_auc
    else:
        model = pretrained.build(encoder, run.attention, outputs_of(run, data), run.layer)
    return Task(model.to(compute_device()), data.splits, recipe(pretrained.FineTuning, run), run.seed, hooks)


def read_tuned(run: Run, arrays: Arrays, data: Encoded, progress: bool, *bases: Arrays) -> Traces:
    """With both gradients, and with leave-one-out of `deleted`; of equal weights and of a frozen layer scores and
    contributions alone."""
    model = trained_model(run, arrays, *bases)
    test = data.splits["test"]
    ranks = run.layer < 0 and run.attention != "uniform"
    traces = trace(model, test, gradient=ranks, leave_one_out=False, progress=progress)
    if not ranks:
        return traces
    rows = deleted(test, run.corpus)
    changes = trace(model, test.take(rows), gradient=False, progress=progress)
    return piecewise.with_changes(traces, rows, changes)


def deleted(documents: Documents, corpus: str) -> np.ndarray:
    """The documents whose pieces are deleted one by one, the first of the fixed order, in the documents' order."""
    order = fixed_order(documents.doc_ids, corpus)
    within = (documents.lengths[order] - 2).cumsum() <= DELETED_PIECES
    return np.sort(order[within][:DELETED])


def notes(run: Run, arrays: Arrays, data: Encoded, traces: Traces, *bases: Arrays) -> dict:
    """For the record of a pretrained encoder: numbers that need the model or the pieces, see `piecewise`."""
    if run.family != "pretrained":
        return {}
    model = trained_model(run, arrays, *bases)
    numbers = piecewise.kinds(traces, data.splits["test"], data.vocabulary)
    sentence = piecewise.sentence(model, data.vocabulary) if run.corpus == "sst" else {}
    return {"numbers": numbers, **sentence}


def read_cls(run: Run, arrays: Arrays, data: Encoded, progress: bool) -> pd.DataFrame:
    """See `cls.read_documents`; of a model that is not trained without the rankings."""
    model = filled(lambda: cls.FirstState(MiniLM(**SHAPE)), "[CLS] model", arrays)
    reader = cls.Reader(model.to(compute_device()), data.vocabulary, progress)
    return cls.read_documents(reader, data.splits["test"], run.corpus, ranks=run.epochs > 0)


FAMILIES = {
    "text": Family(jain_task, read_jain),
    "pair": Family(jain_task, read_jain),
    "hierarchical": Family(serrano_task, read_serrano),
    "guided": Family(guided_task, read_guided),
    "adversary": Family(adversary_task, read_jain),
    "pretrained": Family(tuned_task, read_tuned),
    "cls": Family(tuned_task, read_cls),
}
"""`Run.family` -> how it is trained and read."""
