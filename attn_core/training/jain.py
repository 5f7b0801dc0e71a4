"""Jain & Wallace's models, single texts and pairs: the training loop and the choice of checkpoint.

Their final code (specification, section 3.5). What of it is Wiegreffe & Pinter's is the `given` attention.
"""

import time

import numpy as np
import torch
from torch import Tensor, nn

from attn_core import training
from attn_core.corpora import catalogue
from attn_core.corpora.documents import Documents, Encoded, batches
from attn_core.corpora.planted import deciding
from attn_core.models import classifier, paired
from attn_core.models.classifier import Classifier, real_tokens, to_arrays
from attn_core.models.encoders import WordTie
from attn_core.models.paired import Paired
from attn_core.run import Run
from attn_core.traces import Traces, sigmoid
from attn_core.tracing import inputs, probabilities, trace
from attn_core.training import Trained, outputs_of

LONGEST_DELETED = 500
"""Words of a generated document up to which leave-one-out is traced: of one of 2,000 words it takes half a minute."""

LONGEST_SLOW = 100
"""Mean words of a test set up to which leave-one-out is traced for transformers, which read each shortened text anew."""


def fit(run: Run, data: Encoded, matrix: np.ndarray, device: str, progress: bool, weights_of=None) -> Trained:
    """One training, both checkpoints; see `train`."""
    model = fresh(run, data, matrix).to(device)
    return train(model, data, run, progress)


def fresh(run: Run, data: Encoded, matrix: np.ndarray) -> nn.Module:
    """The model of a run as its training starts; its weights are drawn from torch's generator as it stands."""
    kind = paired if run.family == "pair" else classifier
    model = kind.build(run.encoder, run.attention, matrix, outputs_of(run, data), run.hidden)
    turn(model, run)
    if run.rounding:
        nudge(model, run.rounding)
    return model


def read(
    run: Run, arrays: dict[str, np.ndarray], data: Encoded, device: str, progress: bool, weights_of=None
) -> Traces:
    """Traces of the test set with gradient and leave-one-out.

    Without the latter, the dearest part, where no test reads it: uniform weights rank no words, untrained models and
    long generated documents. Of a training that differs by rounding only attention and outputs are compared: it is
    traced for these.
    """
    test = data.splits["test"]
    if run.rounding:
        return attended(run, arrays, test, device, progress)
    long = catalogue.corpus(run.corpus).generated and int(test.lengths.max()) - 2 > LONGEST_DELETED
    slow = run.encoder == "transformer" and float(test.lengths.mean()) > LONGEST_SLOW
    delete = not long and not slow and run.attention != "uniform" and run.epochs > 0
    return trace(loaded(run, arrays, device), test, leave_one_out=delete, progress=progress)


def attended(run: Run, arrays: dict[str, np.ndarray], documents: Documents, device: str, progress: bool) -> Traces:
    """One forward pass: attention and outputs, without gradient and leave-one-out."""
    return trace(loaded(run, arrays, device), documents, gradient=False, leave_one_out=False, progress=progress)


def loaded(run: Run, arrays: dict[str, np.ndarray], device: str) -> Classifier | Paired:
    """A run's model with trained weights."""
    kind = paired if run.family == "pair" else classifier
    model = kind.from_arrays(run.encoder, run.attention, arrays).to(device)
    turn(model, run)
    return model


def turn(model: nn.Module, run: Run) -> None:
    """Set the dial of an average encoder, which is no weight, to the run's context, in place."""
    if run.context:
        model.encoder.context = run.context


def nudge(model: nn.Module, draw: int) -> None:
    """Move each weight that is not 0 to the next float32 above or below it, by the coins of a draw, in place.

    A change of the size of one rounding (2^-24 to 2^-23 of the weight), as it would come of sums in another order:
    another number of threads, processor or library. Seed, batches and all else stay. Zeros stay so that pads do.
    """
    coins = torch.Generator().manual_seed(draw)
    with torch.no_grad():
        for weight in model.parameters():
            up = torch.randint(2, weight.shape, generator=coins).bool().to(weight.device)
            moved = torch.nextafter(weight, torch.where(up, torch.inf, -torch.inf))
            weight.copy_(torch.where(weight == 0, weight, moved))


def train(
    model: Classifier | Paired, data: Encoded, run: Run, progress: bool, given: dict[str, np.ndarray] | None = None
) -> Trained:
    """Train a model as the run says and keep the dev-chosen and the test-chosen checkpoint of the same training.

    Adam with amsgrad and coupled L2 decay. One logit (text classification): decay on encoder (embedding included) and
    decoder, none on attention; binary cross-entropy, positives weighted by N_neg / N_pos of the training set
    (`class_weights`), summed over the batch; checkpoints by ROC AUC. Several logits (questions, inference): decay on
    everything, cross-entropy, mean over the batch, no class weights; checkpoints by accuracy. A checkpoint is kept when
    its value is strictly above the best so far, never from the first epoch; all epochs are run, unless both are at 1,
    which nothing exceeds (the authors go on; what is kept is the same).

    given: split -> attention weights (T,) over its documents' words (start and end not counted), which take the place
    of the model's own in training and in the choice of checkpoints (Wiegreffe & Pinter 2019, section 3.4).

    Two penalties may be added to a document's loss. `tie`: strength of `encoders.WordTie`; its map is not part of the
    result. `hide`: strength of -log(1 - attention on the words that decide a planted text), with which attention is
    trained to deceive (Pruthi et al. 2020, section 3).

    'dev' is the authors' final code, 'test' what they did for the paper's Table 2. The fused optimiser and the two
    unidirectional LSTM kernels change speed, not arithmetic.
    """
    device = next(model.parameters()).device
    documents = data.splits["train"]
    single = model.outputs == 1
    if single:
        weight = positive_weight(documents) if run.class_weights else 1.0
        loss_of = nn.BCEWithLogitsLoss(reduction="sum", pos_weight=torch.tensor([weight], device=device))
    else:
        loss_of = nn.CrossEntropyLoss()
    penalty = WordTie(model.encoder.embedding, model.encoder.width).to(device) if run.tie else None
    optimiser = adam(dict(model.named_parameters()), single, run, penalty)
    extra = None
    if run.tie:
        extra = lambda h, weights, ids, mask: run.tie * len(ids) * penalty(model.encoder.embedding, h, ids, mask)
    if run.hide:
        secret = torch.as_tensor(deciding(data.vocabulary), device=device)  # (V,)
        extra = lambda h, weights, ids, mask: run.hide * seen(weights, secret[ids])
    kept = Checkpoints(model, data, run, given)
    rng = np.random.default_rng(run.seed)

    def summed(rows: np.ndarray) -> Tensor:
        loss = step(model, documents, rows, loss_of, optimiser, device, (given or {}).get("train"), extra)
        return loss if single else loss * len(rows)

    rows = lambda: batches(documents, run.batch, rng)
    for epoch, loss in training.trained(model, run.epochs, len(documents), rows, summed, progress):
        if kept.see(epoch, float(loss)):
            break
    return kept.trained()


class Checkpoints:
    """The dev-chosen and the test-chosen checkpoint of a training and its history; `train` says how they are chosen."""

    def __init__(
        self, model: Classifier | Paired, data: Encoded, run: Run, given: dict[str, np.ndarray] | None = None
    ) -> None:
        self.model, self.data, self.run, self.given = model, data, run, given or {}
        self.measure, self.name = (roc_auc, "auc") if model.outputs == 1 else (accuracy, "accuracy")
        self.best, self.weights, self.history = {"dev": 0.0, "test": 0.0}, {}, []
        self.start = time.perf_counter()

    def see(self, epoch: int, loss: float) -> bool:
        """Look at the model after an epoch; whether no later one can be kept."""
        data, run = self.data.splits, self.run
        found = {split: self.measure(self.model, data[split], self.given.get(split)) for split in self.best}
        scores = {f"{split}_{self.name}": value for split, value in found.items()}
        self.history.append({"epoch": epoch, "loss": loss, **scores})
        for selection, value in found.items():
            if (epoch > 0 and value > self.best[selection]) or run.epochs == 1:
                self.best[selection], self.weights[selection] = value, to_arrays(self.model)
        return min(self.best.values()) >= 1.0

    def trained(self) -> Trained:
        """What the training leaves. Where no later epoch was above 0 or had a defined AUC, its last weights stand."""
        for selection in self.best:
            self.weights.setdefault(selection, to_arrays(self.model))
        return Trained(self.weights, self.history, time.perf_counter() - self.start)


def adam(
    parameters: dict[str, Tensor], single: bool, run: Run, penalty: WordTie | None = None
) -> torch.optim.Adam:
    """Adam with amsgrad and coupled L2 decay; with one logit none on the attention layer, and none on a penalty's."""
    free = [name for name in parameters if single and name.startswith("attention.")]
    groups = [
        {"params": [value for name, value in parameters.items() if name not in free], "weight_decay": run.decay},
        {"params": [parameters[name] for name in free], "weight_decay": 0.0},
    ]
    if penalty is not None:
        groups.append({"params": list(penalty.parameters()), "weight_decay": 0.0})
    return torch.optim.Adam(groups, lr=run.learning_rate, amsgrad=True, fused=True)


def positive_weight(documents: Documents) -> float:
    """N_neg / N_pos, what a positive document counts in the loss."""
    positives = int(documents.labels.sum())
    return (len(documents) - positives) / max(positives, 1)


def step(
    model: Classifier | Paired, documents: Documents, rows: np.ndarray, loss_of, optimiser, device, given=None,
    extra=None,
) -> Tensor:  # fmt: skip
    """One optimiser step on the documents in `rows`; returns the batch's loss, the penalty's share left out.

    given (T,): see `train`. extra: h (B, L, H), attention (B, L), ids, mask -> the batch's sum of a penalty.
    """
    labels = torch.as_tensor(documents.labels[rows], device=device)
    arguments = inputs(model, documents, rows, given)
    if extra is None:
        logits, apart = model(**arguments), 0.0
    else:  # states and attention are needed twice
        ids, mask = arguments["ids"], real_tokens(arguments["ids"], arguments["lengths"])
        h = model.encoder(ids, arguments["lengths"], mask)
        weights = model.scores(h, mask).softmax(-1)
        logits = model.decoder((weights[:, None] @ h).squeeze(1))
        apart = extra(h, weights, ids, mask)
    loss = loss_of(logits, labels[:, None].float() if logits.shape[1] == 1 else labels)
    optimiser.zero_grad(set_to_none=True)
    (loss + apart).backward()
    optimiser.step()
    return loss.detach().double()


def seen(weights: Tensor, secret: Tensor) -> Tensor:
    """-log(1 - attention on secret words), summed over a batch: weights (B, L), secret (B, L) bool.

    Attention within a rounding of 1 counts as that far from it, so the penalty stays finite.
    """
    return -torch.log1p(-(weights * secret).sum(-1).clamp(max=1 - 1e-6)).sum()


def roc_auc(model: Classifier, documents: Documents, given: np.ndarray | None = None) -> float:
    """ROC AUC of a one-logit model on a split; NaN where only one class occurs. given (T,): see `train`."""
    from sklearn.metrics import roc_auc_score

    if len(np.unique(documents.labels)) < 2:
        return float("nan")
    if given is None:
        p = probabilities(model, documents)
    else:
        traces = trace(model, documents, gradient=False, leave_one_out=False, progress=False)
        p = sigmoid(traces.logits_under(given)[:, 0])
    return float(roc_auc_score(documents.labels, p))


def accuracy(model: Classifier | Paired, documents: Documents, given: np.ndarray | None = None) -> float:
    """Share of documents whose largest logit is their label's. given (T,): see `train`."""
    arguments = lambda rows: inputs(model, documents, rows, given)
    return training.accuracy(model, documents.labels, documents.lengths, arguments)
