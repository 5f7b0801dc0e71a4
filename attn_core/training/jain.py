"""Jain & Wallace's models, single texts and pairs: the training loop and the choice of checkpoint.

Their final code (specification, section 3.5). What of it is Wiegreffe & Pinter's is the `imposed` attention.
"""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.corpora import catalogue
from attn_core.corpora.documents import Documents, Encoded, batches
from attn_core.corpora.planted import deciding
from attn_core.corpora.text import UNKNOWN
from attn_core.models import classifier, paired
from attn_core.models.classifier import Classifier, to_arrays, weighted_sum
from attn_core.models.encoders import Average
from attn_core.models.paired import Paired
from attn_core.run import Run
from attn_core.traces import Traces, sigmoid
from attn_core.tracing import inputs, trace
from attn_core.training import (
    Arrays,
    BatchLoss,
    Trained,
    accuracy,
    compute_device,
    descend,
    outputs_of,
    progress_bar,
    train_epoch,
)
from attn_core.training.penalties import Hide, Tie

LONGEST_DELETED = 500
"""Words of a generated document up to which leave-one-out is traced: of one of 2,000 words it takes half a minute."""

LONGEST_SLOW = 100
"""Mean words of a test set up to which leave-one-out is traced for transformers: they read each shortened text anew."""


def fit(run: Run, data: Encoded, matrix: np.ndarray, progress: bool, *bases: Arrays) -> Trained:
    """One training, both checkpoints; see `train`."""
    family = paired if run.family == "pair" else classifier
    model = family.build(run.encoder, run.attention, matrix, outputs_of(run, data), run.hidden)
    set_context(model, run)
    if run.rounding:
        nudge(model, run.rounding)
    return train(model.to(compute_device()), data, run, progress)


def read(run: Run, arrays: Arrays, data: Encoded, progress: bool, *bases: Arrays) -> Traces:
    """Traces of the test set with gradient and leave-one-out.

    Without the latter, the dearest part, where no test reads it: uniform weights rank no words, untrained models and
    long generated documents. Of a training that differs by rounding only attention and outputs are compared: it is
    traced for these.
    """
    test = data.splits["test"]
    if run.rounding:
        return attended(run, arrays, test, progress)
    long = catalogue.corpus(run.corpus).generated and int(test.lengths.max()) - 2 > LONGEST_DELETED
    slow = run.encoder == "transformer" and float(test.lengths.mean()) > LONGEST_SLOW
    deletions_read = run.attention != "uniform" and run.epochs > 0 and not long and not slow
    return trace(trained_model(run, arrays), test, leave_one_out=deletions_read, progress=progress)


def attended(run: Run, arrays: Arrays, documents: Documents, progress: bool) -> Traces:
    """One forward pass: attention and outputs, without gradient and leave-one-out."""
    return trace(trained_model(run, arrays), documents, gradient=False, leave_one_out=False, progress=progress)


def trained_model(run: Run, arrays: Arrays) -> Classifier | Paired:
    """A run's model with trained weights."""
    family = paired if run.family == "pair" else classifier
    model = family.from_arrays(run.encoder, run.attention, arrays, run.hidden).to(compute_device())
    set_context(model, run)
    return model


def set_context(model: Classifier | Paired, run: Run) -> None:
    """Set the dial of an average encoder, which is no weight, to the run's context, in place."""
    if isinstance(model.encoder, Average):
        model.encoder.context = run.context
        model.encoder.mixes = run.mixes


def nudge(model: nn.Module, draw: int) -> None:
    """Move each weight that is not 0 to the next float32 above or below it, by the coins of a draw, in place.

    A change of the size of one rounding (2^-24 to 2^-23 of the weight), as it would come of sums in another order:
    another number of threads, processor or library. Seed, batches and all else stay. Zeros stay so that pads do.
    """
    coins = torch.Generator().manual_seed(draw)
    with torch.no_grad():
        for weight in model.parameters():
            up = torch.randint(2, weight.shape, generator=coins).bool()
            neighbour = torch.nextafter(weight, torch.where(up, torch.inf, -torch.inf))
            weight.copy_(torch.where(weight == 0, weight, neighbour))


def train(
    model: Classifier | Paired,
    data: Encoded,
    run: Run,
    progress: bool,
    imposed: Arrays | None = None,
) -> Trained:
    """Train a model as the run says and keep the dev-chosen and the test-chosen checkpoint of the same training.

    Adam with amsgrad and coupled L2 decay, the fused kernel, which changes no arithmetic. One logit (text
    classification): no decay on attention; binary cross-entropy, positives weighted by N_neg / N_pos of the training
    set (`class_weights`), summed over the batch; checkpoints by ROC AUC. Several logits (questions, inference): decay
    on everything, cross-entropy, mean over the batch, no class weights; checkpoints by accuracy. A checkpoint is kept
    when its value is strictly above the best so far, never from the first epoch unless it is the only one; the last
    weights where none is. All epochs are run, unless both values are at 1, which nothing exceeds (the authors go on;
    what is kept is the same). 'dev' is the authors' final code, 'test' what they did for the paper's Table 2.

    imposed: split -> attention weights (T,) over its documents' words (start and end not counted), which take the place
    of the model's own in training and in the choice of checkpoints (Wiegreffe & Pinter 2019, section 3.4).

    Two penalties may be added to a document's loss, see `penalties`; and texts may be masked, see `masked`.
    """
    documents = data.splits["train"]
    imposed = imposed or {}
    weight = positive_weight(documents) if run.class_weights else 1.0
    penalty = penalty_of(run, model, data)
    optimiser = adam(model, run, penalty)
    rng = np.random.default_rng(run.seed)
    quality_of, name = (roc_auc, "auc") if model.outputs == 1 else (accuracy, "accuracy")
    best = {"dev": 0.0, "test": 0.0}
    weights: dict[str, Arrays] = {}
    history = []
    masks = np.random.default_rng([run.seed, 1])  # its own, so that the batches are those of the training without
    texts = documents

    def step(rows: np.ndarray) -> Tensor:
        return descend(optimiser, losses(model, texts, rows, weight, imposed.get("train"), penalty))

    with progress_bar(run.epochs, len(documents), progress) as bar:
        for epoch in range(run.epochs):
            texts = masked(documents, run.mask, masks)
            in_order = batches(documents, run.batch, rng)
            row = {"epoch": epoch, "loss": train_epoch(model, epoch, in_order, step, bar)}
            better = []
            for split, best_quality in best.items():
                quality = quality_of(model, data.splits[split], imposed.get(split))
                row[f"{split}_{name}"] = quality
                if (epoch > 0 and quality > best_quality) or run.epochs == 1:
                    best[split] = quality
                    better.append(split)
            if better:
                weights |= dict.fromkeys(better, to_arrays(model))  # one copy, of both where both are better
            history.append(row)
            if min(best.values()) >= 1.0:
                break
    return Trained(dict.fromkeys(best, to_arrays(model)) | weights, history)


def masked(documents: Documents, share: float, rng: np.random.Generator) -> Documents:
    """The documents with words hidden as UNKNOWN: each text with the chance `share`, of its words a share that is drawn
    evenly between none and all. Drawn anew for each epoch, it makes texts with erased words ordinary ones.

    Madsen, Reddy & Chandar 2024 (masked fine-tuning, share 0.5; the abstract was read, share and rate are told at
    second hand). Deviations: they fine-tune a pretrained model, whose mask is a word of its own; only training is
    masked here.
    """
    if not share:
        return documents
    rate = rng.uniform(size=len(documents)) * (rng.uniform(size=len(documents)) < share)  # (D,)
    drawn = rng.uniform(size=len(documents.ids)) < np.repeat(rate, documents.lengths)  # (T,)
    hidden = drawn & documents.inner
    return replace(documents, ids=np.where(hidden, np.int32(UNKNOWN), documents.ids))


def penalty_of(run: Run, model: Classifier | Paired, data: Encoded) -> Tie | Hide | None:
    """The run's penalty, if it has one."""
    if run.tie:
        return Tie(model.encoder, run.tie)
    if run.hide:
        return Hide(deciding(data.vocabulary), run.hide, model.encoder.embedding.weight.device)
    return None


def adam(model: Classifier | Paired, run: Run, penalty: Tie | Hide | None = None) -> torch.optim.Adam:
    """The optimiser of `train`, for the penalty's parameters, too, which do not decay."""
    decayed: list[Tensor] = []
    undecayed: list[Tensor] = []
    for name, parameter in model.named_parameters():
        free = model.outputs == 1 and name.startswith("attention.")
        (undecayed if free else decayed).append(parameter)
    if penalty is not None:
        undecayed += penalty.parameters
    groups = [{"params": decayed, "weight_decay": run.decay}, {"params": undecayed, "weight_decay": 0.0}]
    return torch.optim.Adam(groups, lr=run.learning_rate, amsgrad=True, fused=True)


def positive_weight(documents: Documents) -> float:
    """N_neg / N_pos, what a positive document counts in the loss."""
    positives = int(documents.labels.sum())
    return (len(documents) - positives) / max(positives, 1)


def losses(
    model: Classifier | Paired,
    documents: Documents,
    rows: np.ndarray,
    weight: float = 1.0,
    imposed: np.ndarray | None = None,
    penalty: Tie | Hide | None = None,
) -> BatchLoss:
    """The loss of the documents in `rows`. weight: of positive documents. imposed (T,): see `train`."""
    arguments = inputs(model, documents, rows, imposed)
    if penalty is None:
        logits = model(**arguments)
        addition = 0.0
    else:
        logits, h, scores = with_states(model, **arguments)
        addition = penalty(arguments["ids"], h, scores.softmax(-1), scores.isfinite())
    labels = torch.as_tensor(documents.labels[rows], device=logits.device)
    if model.outputs == 1:
        loss_of = nn.BCEWithLogitsLoss(reduction="sum", pos_weight=torch.tensor([weight], device=logits.device))
        loss = loss_of(logits, labels[:, None].float())
        return BatchLoss(loss + addition, loss.detach().double())
    loss = nn.functional.cross_entropy(logits, labels)  # a mean over the batch, so the penalty is one, too
    return BatchLoss(loss + addition / len(rows), loss.detach().double() * len(rows))


def with_states(
    model: Classifier | Paired,
    ids: Tensor,
    lengths: Tensor,
    query_ids: Tensor | None = None,
    query_lengths: Tensor | None = None,
    allowed: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """What a model gives, logits (B, K), with states (B, L, H) and scores (B, L): the penalties need all three."""
    q = (model.summary(query_ids, query_lengths),) if isinstance(model, Paired) else ()
    h, scores = model.states_and_scores(ids, lengths, *q)
    logits = model.decoder(weighted_sum(scores.softmax(-1), h), *q)
    return logits if allowed is None else logits.masked_fill(~allowed, -torch.inf), h, scores


def roc_auc(model: Classifier | Paired, documents: Documents, imposed: np.ndarray | None = None) -> float:
    """ROC AUC of a one-logit model on a split; NaN where only one class occurs. imposed (T,): see `train`."""
    from sklearn.metrics import roc_auc_score

    if len(np.unique(documents.labels)) < 2:
        return float("nan")
    traces = trace(model, documents, gradient=False, leave_one_out=False, progress=False)
    p = traces.p if imposed is None else sigmoid(traces.logits_under(imposed)[:, 0])
    return float(roc_auc_score(documents.labels, p))
