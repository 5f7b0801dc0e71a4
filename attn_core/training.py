"""The training loop and the choice of checkpoint (Jain & Wallace 2019, final code; specification section 3.5)."""

import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from attn_core.corpora.batches import Documents, Encoded, batches, pad
from attn_core.models.classifier import Classifier, to_arrays
from attn_core.tracing import probabilities


@dataclass(frozen=True)
class Trained:
    """What one training leaves: weights by selection ('dev', 'test') as named arrays, one history row per epoch."""

    weights: dict[str, dict[str, np.ndarray]]
    history: list[dict[str, float]]
    seconds: float


def train(
    model: Classifier,
    data: Encoded,
    *,
    seed: int,
    epochs: int = 8,
    batch: int = 32,
    learning_rate: float = 1e-3,
    decay: float = 1e-5,
    class_weights: bool = True,
    progress: bool = True,
) -> Trained:
    """Train a one-logit classifier and keep the dev-chosen and the test-chosen checkpoint of the same training.

    Adam with amsgrad; coupled L2 decay on encoder (embedding included) and decoder, none on attention. Binary
    cross-entropy, positives weighted by N_neg / N_pos of the training set, summed over the batch. A checkpoint is kept
    when its ROC AUC is strictly above the best so far, never from the first epoch; all epochs are run.

    'dev' is the authors' final code, 'test' what they did for the paper's Table 2. The fused optimiser and the two
    unidirectional LSTM kernels change speed, not arithmetic.
    """
    device = next(model.parameters()).device
    training = data.splits["train"]
    positives = int(training.labels.sum())
    weight = (len(training) - positives) / max(positives, 1) if class_weights else 1.0
    loss_of = nn.BCEWithLogitsLoss(reduction="sum", pos_weight=torch.tensor([weight], device=device))
    optimiser = torch.optim.Adam(
        [
            {"params": [*model.encoder.parameters(), *model.decoder.parameters()], "weight_decay": decay},
            {"params": list(model.attention.parameters()), "weight_decay": 0.0},
        ],
        lr=learning_rate,
        amsgrad=True,
        fused=True,
    )
    rng = np.random.default_rng(seed)
    best = {selection: 0.0 for selection in ("dev", "test")}
    weights = {}
    history = []
    start = time.perf_counter()
    with tqdm(total=epochs * -(-len(training) // batch), desc="training", unit="batch", disable=not progress) as bar:
        for epoch in range(epochs):
            model.train()
            total = 0.0
            for rows in batches(training, batch, rng):
                loss = step(model, training, rows, loss_of, optimiser, device)
                total += loss
                bar.update()
            model.eval()
            auc = {selection: roc_auc(model, data.splits[selection]) for selection in best}
            history.append({"epoch": epoch, "loss": total / len(training), **{f"{k}_auc": v for k, v in auc.items()}})
            bar.set_postfix(loss=f"{total / len(training):.3f}", dev_auc=f"{auc['dev']:.3f}")
            for selection, value in auc.items():
                if (epoch > 0 and value > best[selection]) or epochs == 1:
                    best[selection] = value
                    weights[selection] = {name: array.copy() for name, array in to_arrays(model).items()}
    for selection in best:  # no later epoch had a defined AUC (a split of one class): the last one stands
        weights.setdefault(selection, to_arrays(model))
    return Trained(weights, history, time.perf_counter() - start)


def step(model: Classifier, documents: Documents, rows: np.ndarray, loss_of, optimiser, device) -> float:
    """One optimiser step on the documents in `rows`; returns the batch's summed loss."""
    ids, lengths = pad(documents, rows)
    labels = torch.as_tensor(documents.labels[rows], dtype=torch.float32, device=device)[:, None]
    logits = model(torch.as_tensor(ids, device=device), torch.as_tensor(lengths, device=device))
    loss = loss_of(logits, labels)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()
    return loss.item()


def roc_auc(model: Classifier, documents: Documents) -> float:
    """ROC AUC of the model on a split; NaN where only one class occurs."""
    from sklearn.metrics import roc_auc_score

    if len(np.unique(documents.labels)) < 2:
        return float("nan")
    return float(roc_auc_score(documents.labels, probabilities(model, documents)))
