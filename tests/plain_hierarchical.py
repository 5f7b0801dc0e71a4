"""The six models of Serrano & Smith one document at a time, by torch's own kernels, autograd, naive deletion and
erasure; and small random documents and models to hold the package's forms against them."""

import numpy as np
import torch

from attn_core.documents import Documents
from attn_core.models.hierarchical import build

SIX = ("han_rnn", "han_conv", "han_none", "flan_rnn", "flan_conv", "flan_none")


def documents(sentence_lengths, vocabulary=30, seed=0, labels=None) -> Documents:
    """Random documents; sentence_lengths: one list of sentence lengths per document. Words are 4 and above."""
    rng = np.random.default_rng(seed)
    texts = [[2, *rng.integers(4, vocabulary, sum(lengths)), 3] for lengths in sentence_lengths]
    count = len(sentence_lengths)
    return Documents(
        ids=np.concatenate(texts).astype(np.int32),
        offsets=np.concatenate([[0], np.cumsum([len(text) for text in texts])]),
        labels=rng.integers(0, 3, count) if labels is None else np.asarray(labels),
        doc_ids=100 + np.arange(count),
        sentence_lengths=np.concatenate(sentence_lengths).astype(np.int64),
        sentence_offsets=np.concatenate([[0], np.cumsum([len(lengths) for lengths in sentence_lengths])]),
    )


def random_model(name, vocabulary=30, width=6, outputs=3, hidden=4, seed=0, dropout=(0.0, 0.0, 0.0)):
    """A model with weights large enough to matter, in evaluation mode."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        vectors = torch.randn(vocabulary, width).numpy()
        vectors[0] = 0
        model = build(name, vectors, outputs, hidden, dropout).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter is not model.embedding.weight:
                    parameter.normal_(std=0.7)
    return model


def items(model, made, row):
    """A document as the list of what its model attends to: for a HAN word ids per sentence, for a FLAN single ids."""
    words = made.ids[made.offsets[row] + 1 : made.offsets[row + 1] - 1]
    lengths = made.sentence_lengths[made.sentence_offsets[row] : made.sentence_offsets[row + 1]]
    ends = np.arange(1, len(words)) if model.sentence is None else np.cumsum(lengths)[:-1]
    return np.split(words, ends)


def states(layer, x):
    """(n, width) of vectors x (n, E) of one text alone, by torch's own modules."""
    encoder = layer.encoder
    if hasattr(encoder, "gru"):
        return encoder.gru(x)[0]
    if hasattr(encoder, "convolutions"):
        return torch.cat([convolution(x.T[None])[0] for convolution in encoder.convolutions]).relu().T
    return x


def weights(layer, h):
    """Attention weights (n,) of states (n, width), by the formula."""
    u = torch.tanh(h @ layer.attention.project.weight.T + layer.attention.project.bias)
    return torch.softmax(u @ layer.attention.c.weight[0], 0)


def document_states(model, embedded):
    """(items, width) from word vectors, one (words, E) tensor per item."""
    if model.sentence is None:
        return states(model.document, torch.cat(embedded))
    vectors = []
    for e in embedded:
        h = states(model.sentence, e)
        vectors.append(weights(model.sentence, h) @ h)
    return states(model.document, torch.stack(vectors))


def embed(model, document):
    """Word vectors of each item, (words, E), detached."""
    return [model.embedding.weight[item].detach() for item in document]


def logits(model, document, gone=()):
    """(K,) of one document, with the weights of the items `gone` set to zero and the rest renormalised; of none left
    the bias."""
    h = document_states(model, embed(model, document))
    a = weights(model.document, h)
    a = a * torch.tensor([item not in gone for item in range(len(a))])
    return model.decoder(a / a.sum().clamp(min=1e-30) @ h)


def gradient(model, document):
    """(items,) <e, dp/de> of the predicted class summed over each item's words, the items' attention constant."""
    embedded = [e.requires_grad_() for e in embed(model, document)]
    h = document_states(model, embedded)
    p = torch.softmax(model.decoder(weights(model.document, h).detach() @ h), 0)
    slopes = torch.autograd.grad(p.max(), embedded)
    return np.array([float((e.detach() * slope).sum()) for e, slope in zip(embedded, slopes, strict=True)])


def leave_one_out(model, document):
    """(items,) change of the predicted class's p when an item is deleted and all is run again; NaN for one item."""
    if len(document) == 1:
        return np.array([np.nan])
    shorter = [document[:i] + document[i + 1 :] for i in range(len(document))]
    with torch.no_grad():
        whole, *without = (torch.softmax(logits(model, text), 0) for text in (document, *shorter))
    return np.array([float((p - whole)[whole.argmax()]) for p in without])
