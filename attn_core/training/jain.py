"""Jain & Wallace's models, single texts and pairs: the training loop and the choice of checkpoint.

Their final code (specification, section 3.5). What of it is Wiegreffe & Pinter's is the `given` attention.
"""

from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import Tensor, nn

from attn_core import training
from attn_core.corpora import catalogue
from attn_core.corpora.documents import Documents, Encoded, batches
from attn_core.corpora.planted import deciding
from attn_core.models import classifier, paired
from attn_core.models.classifier import Classifier, to_arrays
from attn_core.models.paired import Paired
from attn_core.run import Run
from attn_core.traces import Traces, sigmoid
from attn_core.tracing import inputs, probabilities, trace
from attn_core.training import Trained, accuracy, compute_device, outputs_of

LONGEST_DELETED = 500
"""Words of a generated document up to which leave-one-out is traced: of one of 2,000 words it takes half a minute."""

LONGEST_SLOW = 100
"""Mean words of a test set up to which leave-one-out is traced for transformers: they read each shortened text anew."""


def fit(run: Run, data: Encoded, matrix: np.ndarray, progress: bool) -> Trained:
    """One training, both checkpoints; see `train`."""
    kind = paired if run.family == "pair" else classifier
    model = kind.build(run.encoder, run.attention, matrix, outputs_of(run, data), run.hidden)
    turn(model, run)
    if run.rounding:
        nudge(model, run.rounding)
    return train(model.to(compute_device()), data, run, progress)


def read(run: Run, arrays: dict[str, np.ndarray], data: Encoded, progress: bool) -> Traces:
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
    delete = not long and not slow and run.attention != "uniform" and run.epochs > 0
    return trace(loaded(run, arrays), test, leave_one_out=delete, progress=progress)


def attended(run: Run, arrays: dict[str, np.ndarray], documents: Documents, progress: bool) -> Traces:
    """One forward pass: attention and outputs, without gradient and leave-one-out."""
    return trace(loaded(run, arrays), documents, gradient=False, leave_one_out=False, progress=progress)


def loaded(run: Run, arrays: dict[str, np.ndarray]) -> Classifier | Paired:
    """A run's model with trained weights."""
    kind = paired if run.family == "pair" else classifier
    model = kind.from_arrays(run.encoder, run.attention, arrays, run.hidden).to(compute_device())
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
            up = torch.randint(2, weight.shape, generator=coins).bool()
            moved = torch.nextafter(weight, torch.where(up, torch.inf, -torch.inf))
            weight.copy_(torch.where(weight == 0, weight, moved))


def train(
    model: Classifier | Paired, data: Encoded, run: Run, progress: bool, given: dict[str, np.ndarray] | None = None
) -> Trained:
    """Train a model as the run says and keep the dev-chosen and the test-chosen checkpoint of the same training.

    Adam with amsgrad and coupled L2 decay, the fused kernel, which changes no arithmetic. One logit (text
    classification): no decay on attention; binary cross-entropy, positives weighted by N_neg / N_pos of the training
    set (`class_weights`), summed over the batch; checkpoints by ROC AUC. Several logits (questions, inference): decay
    on everything, cross-entropy, mean over the batch, no class weights; checkpoints by accuracy. A checkpoint is kept
    when its value is strictly above the best so far, never from the first epoch unless it is the only one; the last
    weights where none is. All epochs are run, unless both values are at 1, which nothing exceeds (the authors go on;
    what is kept is the same). 'dev' is the authors' final code, 'test' what they did for the paper's Table 2.

    given: split -> attention weights (T,) over its documents' words (start and end not counted), which take the place
    of the model's own in training and in the choice of checkpoints (Wiegreffe & Pinter 2019, section 3.4).

    Two penalties may be added to a document's loss, `run.tie` times `tie` or `run.hide` times `hide`.
    """
    device, documents, given = next(model.parameters()).device, data.splits["train"], given or {}
    weight = positive_weight(documents) if run.class_weights else 1.0
    penalty, word = None, None
    if run.tie:
        word = nn.Linear(model.encoder.embedding.embedding_dim, model.encoder.width).to(device)
        penalty = lambda ids, h, weights, real: run.tie * len(ids) * tie(word, model.encoder.embedding(ids), h, real)
    if run.hide:
        secret = torch.as_tensor(deciding(data.vocabulary), device=device)  # (V,)
        penalty = lambda ids, h, weights, real: run.hide * hide(weights, secret[ids])
    optimiser = adam(model, run, word.parameters() if word else ())
    rng = np.random.default_rng(run.seed)
    rows = lambda: batches(documents, run.batch, rng)
    summed = lambda rows: losses(model, documents, rows, weight, given.get("train"), penalty)
    measure, name = (roc_auc, "auc") if model.outputs == 1 else (accuracy, "accuracy")
    best, weights, history = {"dev": 0.0, "test": 0.0}, {}, []
    for epoch, loss in training.trained(model, optimiser, run.epochs, len(documents), rows, summed, progress):
        found = {split: measure(model, data.splits[split], given.get(split)) for split in best}
        history.append({"epoch": epoch, "loss": loss} | {f"{split}_{name}": found[split] for split in best})
        for split, value in found.items():
            if (epoch > 0 and value > best[split]) or run.epochs == 1:
                best[split], weights[split] = value, to_arrays(model)
        if min(best.values()) >= 1.0:
            break
    return Trained({split: weights.get(split) or to_arrays(model) for split in best}, history)


def adam(model: Classifier | Paired, run: Run, undecayed: Iterable[Tensor] = ()) -> torch.optim.Adam:
    """The optimiser of `train`. undecayed: parameters of a penalty."""
    free = lambda name: model.outputs == 1 and name.startswith("attention.")
    named = list(model.named_parameters())
    groups = [
        {"params": [value for name, value in named if not free(name)], "weight_decay": run.decay},
        {"params": [*(value for name, value in named if free(name)), *undecayed], "weight_decay": 0.0},
    ]
    return torch.optim.Adam(groups, lr=run.learning_rate, amsgrad=True, fused=True)


def positive_weight(documents: Documents) -> float:
    """N_neg / N_pos, what a positive document counts in the loss."""
    positives = int(documents.labels.sum())
    return (len(documents) - positives) / max(positives, 1)


def losses(
    model: Classifier | Paired, documents: Documents, rows: np.ndarray, weight: float = 1.0,
    given: np.ndarray | None = None, penalty: Callable | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """What one step descends on the documents in `rows`, and their sum of losses, the penalty's share left out.

    weight: of positive documents. given (T,): see `train`. penalty(ids (B, L), states (B, L, H), attention (B, L),
    where words are (B, L)): the batch's sum of a penalty.
    """
    arguments = inputs(model, documents, rows, given)
    if penalty is None:
        logits, apart = model(**arguments), 0.0
    else:  # states and attention are needed twice
        h, scores = model.read(**arguments)
        weights = scores.softmax(-1)
        logits = model.decoder((weights[:, None] @ h).squeeze(1))
        apart = penalty(arguments["ids"], h, weights, scores.isfinite())
    labels = torch.as_tensor(documents.labels[rows], device=logits.device)
    if model.outputs == 1:
        loss_of = nn.BCEWithLogitsLoss(reduction="sum", pos_weight=torch.tensor([weight], device=logits.device))
        loss, count = loss_of(logits, labels[:, None].float()), 1
    else:
        loss, count = nn.functional.cross_entropy(logits, labels), len(rows)
    return loss + apart, loss.detach().double() * count


def tie(word: nn.Linear, e: Tensor, h: Tensor, real: Tensor) -> Tensor:
    """A penalty that keeps states h near their own words e: the mean over tokens of |h_t - tanh(W e_t)|^2 / width.

    W is learned with the model and thrown away. After Tutek & Šnajder 2020, who tie states to embeddings of their own
    width; here a learned map bridges 300 and 256. real (B, L): where words are.
    """
    return ((h - word(e).tanh()).square().mean(-1) * real).sum() / real.sum()


def hide(weights: Tensor, secret: Tensor) -> Tensor:
    """-log(1 - attention on secret words), summed over a batch: weights (B, L), secret (B, L) bool. With it attention
    is trained to deceive (Pruthi et al. 2020, section 3): the words that decide a planted text are the secret ones.

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
