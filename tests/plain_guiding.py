"""Plain twins of guided networks and trained adversaries: one document, one token at a time, in double precision."""

import math
from itertools import pairwise

import numpy as np

from attn_core.documents import Documents
from attn_core.models.classifier import Classifier, to_arrays


def words(documents: Documents) -> list[np.ndarray]:
    """The ids of each document's words, without start and end."""
    ends = zip(documents.offsets[:-1], documents.offsets[1:], strict=True)
    return [documents.ids[start + 1 : end - 1] for start, end in ends]


def guided_logits(arrays: dict[str, np.ndarray], documents: Documents, weights: list[np.ndarray]) -> np.ndarray:
    """b + w . sum_t weights_t tanh(W e_t + c), (D,)."""
    names = (
        "encoder.embedding.weight",
        "encoder.project.weight",
        "encoder.project.bias",
        "decoder.weight",
        "decoder.bias",
    )
    table, project, shift, w, b = (arrays[name].astype(float) for name in names)
    logits = []
    for ids, own in zip(words(documents), weights, strict=True):
        context = np.zeros(len(shift))
        for word, weight in zip(ids, own, strict=True):
            context += weight * np.tanh(project @ table[word] + shift)
        logits.append(float(b[0] + w[0] @ context))
    return np.array(logits)


def attention(scores: np.ndarray, offsets: np.ndarray) -> list[np.ndarray]:
    """Softmax of each document's scores."""
    found = []
    for start, end in pairwise(offsets):
        weights = [math.exp(score - max(scores[start:end])) for score in scores[start:end]]
        found.append(np.array(weights) / sum(weights))
    return found


def average_model(model: Classifier, documents: Documents) -> tuple[list[float], list[np.ndarray]]:
    """Probability and attention of an average encoder with additive attention, document by document."""
    arrays = {name: array.astype(float) for name, array in to_arrays(model).items()}

    def layer(name, x):
        return np.tanh(arrays[f"{name}.project.weight"] @ x + arrays[f"{name}.project.bias"])

    probabilities, weights = [], []
    for ids in words(documents):
        h = [layer("encoder", arrays["encoder.embedding.weight"][word]) for word in ids]
        scores = [arrays["attention.v.weight"][0] @ layer("attention", x) for x in h]
        own = attention(np.array(scores), np.array([0, len(scores)]))[0]
        context = sum(a * x for a, x in zip(own, h, strict=True))
        logit = arrays["decoder.bias"][0] + arrays["decoder.weight"][0] @ context
        probabilities.append(1 / (1 + math.exp(-logit)))
        weights.append(own)
    return probabilities, weights


def adversary_loss(p, weights, base_p, base_weights, gold, positive_weight: float, divergence: float) -> float:
    """(sum over documents of |p - base_p| / 2 - divergence KL(weights || base)) times the sum of the class weights."""
    total, factor = 0.0, 0.0
    for i in range(len(p)):
        kl = 0.0
        for own, theirs in zip(weights[i], base_weights[i], strict=True):
            if own > 0:
                kl += own * (math.log(own) - math.log(theirs))
        total += abs(p[i] - base_p[i]) / 2 - divergence * kl
        factor += positive_weight if gold[i] == 1 else 1.0
    return total * factor
