"""The six models of Serrano & Smith one document at a time, by torch's own kernels, autograd, naive deletion and
erasure; and small random documents and models to hold the package's forms against them."""

from dataclasses import replace

import numpy as np
import plain_network
import torch
from plain_network import random_documents

from attn_core.documents import Documents
from attn_core.models.hierarchical import Hierarchical, build

SIX = ("han_rnn", "han_conv", "han_none", "flan_rnn", "flan_conv", "flan_none")


def documents(sentence_lengths, vocabulary=30) -> Documents:
    """Random documents; sentence_lengths: one list of sentence lengths per document."""
    return replace(
        random_documents([sum(lengths) for lengths in sentence_lengths], vocabulary),
        sentence_lengths=np.concatenate(sentence_lengths).astype(np.int64),
        sentence_offsets=np.cumsum([0, *map(len, sentence_lengths)]),
    )


def random_model(name, dropout=(0.0, 0.0, 0.0)) -> Hierarchical:
    """A small model of three classes with weights large enough to matter, in evaluation mode."""

    def make(name, _, vectors, outputs):
        return build(name, vectors, outputs, 4, dropout)

    return plain_network.random_model(name, None, 30, 3, width=6, make=make)


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
