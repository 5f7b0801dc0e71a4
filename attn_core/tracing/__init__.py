"""From a trained model to traces: attention, contributions, gradient importance, leave-one-out.

Jain & Wallace 2019, Algorithm 1, for texts and pairs of texts; Serrano & Smith 2019 for the items of their networks.
Scores and contributions come from forward passes, gradients from autograd with the attention held constant, and what a
deletion changes from the shortened text, encoded anew.

    arguments  documents as arguments of a model, checked       decoder   from what is attended to, to the output
    texts      the definition, for any encoder and attention    items     the same for Serrano & Smith's networks
    chunks     texts of like length side by side, in threads
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from attn_core.device import fitting
from attn_core.documents import Documents, flat
from attn_core.errors import AttnError, say
from attn_core.models.classifier import Classifier, Tensors, weighted_sum
from attn_core.models.hierarchical import Hierarchical
from attn_core.models.paired import Paired
from attn_core.traces import Traces, cut, output_change, with_ties
from attn_core.tracing.arguments import at_positions, check, evaluating, inputs
from attn_core.tracing.chunks import over_chunks
from attn_core.tracing.decoder import Decoder, decoder_of
from attn_core.tracing.items import trace_items
from attn_core.tracing.texts import TextBatch

__all__ = ["at_positions", "forward", "inputs", "trace", "trace_items"]


MOST_DELETED = 20_000
"""Words of a text up to which each is left out: that takes the square of their number."""

BUDGETS = {"cpu": (200, 16_384, 1024), "cuda": (8192, 131_072, 16_384)}
"""Kind of device -> texts, tokens, and tokens that are left out in turn, of a chunk, where memory allows: texts make
the products large, states are to stay in cache."""


def trace(
    model: Classifier | Paired | Hierarchical,
    documents: Documents,
    gradient: bool = True,
    leave_one_out: bool = True,
    progress: bool = True,
    vocabulary: Sequence[str] = (),
) -> Traces:
    """Traces of the documents in their order, unrounded; computed on the model's device, in evaluation mode.

    Parameters
    ----------
    model : Classifier, Paired or Hierarchical
        As trained here, or from `load_weights`.
    documents : Documents
        What it reads; of pairs only the first text's words are traced.
    gradient : bool
        Whether to trace signed <e_t, dp/de_t>, attention held constant; of an encoder that normalises its input also
        |dp/de_t|, and one line says that the former is empty there.
    leave_one_out : bool
        Whether to re-encode and re-attend the text without word t: signed p(without t) - p, for pairs the total
        variation distance over all outputs; NaN where t is the only word.
    progress : bool
        A bar with the time left, for work of more than two seconds.
    vocabulary : list of str, optional
        Words by their id, such as `Encoded.vocabulary`: the traces then know their words (`Traces.words`).

    Returns
    -------
    Traces
        Of Serrano & Smith's networks those of the items, always with their gradients.

    Raises
    ------
    AttnError
        As in `arguments.check` and `flat`, for an encoder that reads the words otherwise than by its embedding, and
        for leave_one_out in texts of more than MOST_DELETED words.

    Notes
    -----
    p is the probability of class 1, or with more than one logit that of the predicted class. Jain & Wallace 2019,
    Algorithm 1, take absolute values of both importances. Deviation: p (1 - p) is formed without cancellation, so the
    gradients of a saturated output do not vanish as in the authors' single precision.

    Where a LayerNorm follows the embedding, LN(s x) = LN(x) for every s > 0, so d/ds f(s x) = <x, df/dx> = 0 at s = 1:
    the product of the whole input x with its gradient is 0 whatever the text, and what is left of the word vector's is
    minus the position's share (up to the LayerNorm's epsilon).

    Examples
    --------
    >>> from attn_lab import trace
    >>> from attn_lab.data import encode
    >>> from attn_core.models.classifier import build
    >>> data = encode("planted", n_test=3, shortest=4, longest=4)
    >>> model = build("average", "tanh", np.ones((len(data.vocabulary), 8), np.float32))
    >>> traces = trace(model, data.splits["test"], vocabulary=data.vocabulary)
    >>> traces.attention.shape, len(traces.words(0)), traces.leave_one_out.shape
    ((12,), 4, (12,))
    """
    model = getattr(model, "module", model)  # type: ignore[assignment]  # of torch's DataParallel
    spell = partial(documents.words, vocabulary=vocabulary) if vocabulary else None
    if isinstance(model, Hierarchical):
        deleted = np.arange(len(documents) if leave_one_out else 0)
        return replace(trace_items(model, documents, deleted, progress=progress), spell=spell)
    check(model, documents)
    words = flat(documents, False, "these texts").ids
    lengths = documents.lengths - 2
    longest = lengths.argmax()
    if leave_one_out and lengths[longest] > MOST_DELETED:
        raise AttnError(
            f"document {documents.doc_ids[longest]} has {lengths[longest]:,} words, and leaving out each "
            f"takes the square of their number; at most {MOST_DELETED:,}: cut it, or trace with leave_one_out=False"
        )
    if gradient and progress and getattr(model.encoder, "NORMALISED", False):
        say("gradient times input is empty where a LayerNorm follows the embedding; take gradient_norm")
    with evaluating(model):
        with torch.inference_mode():
            decoder = decoder_of(model, documents)

        def work(rows: np.ndarray) -> Tensors:
            of_rows = decoder.take(rows)
            q = getattr(of_rows.queries, "summary", None)
            return read_chunk(TextBatch(model, documents, rows, q), of_rows, gradient, leave_one_out)

        device = decoder.bias.device
        texts, tokens, fewer = BUDGETS[device.type]
        tokens = fitting(device, (fewer if leave_one_out else tokens) // getattr(model.encoder, "MEMORY", 1))
        chunks = cut(documents.lengths, texts, tokens)
        costs = documents.lengths.astype(np.float64) ** (2 if leave_one_out else 1)
        arrays = over_chunks(work, chunks, costs, lengths, device, progress)
    without = arrays.pop("without", None)
    traces = replace(decoder.traces(documents, documents.word_offsets, arrays), spell=spell)
    if without is None:
        return traces
    change = without if decoder.queries is not None else output_change(traces, without)
    return with_ties(replace(traces, leave_one_out=change.astype(np.float32)), words)


def forward(model: Classifier | Paired | Hierarchical, documents: Documents, progress: bool = False) -> Traces:
    """One forward pass: attention and outputs, without gradient and leave-one-out."""
    return trace(model, documents, gradient=False, leave_one_out=False, progress=progress)


def read_chunk(text: TextBatch, decoder: Decoder, gradient: bool, leave_one_out: bool) -> Tensors:
    """Arrays of the words of B documents of like length, one document after the other.

    score (N,), contribution (N, K), gradient (N,), of some encoders gradient_norm (N,), and without: logits (N, K)
    without each word; of pairs how far the output then lies from the whole text's, (N,).
    """
    attention = text.score.softmax(-1)  # (B, L)
    context = weighted_sum(attention, text.contribution)  # (B, K)

    arrays = {"score": text.score, "contribution": text.contribution}
    if gradient:
        arrays |= text.importances(attention, decoder.slope(context))
    if leave_one_out:
        contexts = text.contexts_without().transpose(0, 1)  # (L, B, K)
        logits = decoder.logits(contexts).transpose(0, 1)
        if decoder.queries is None:
            arrays["without"] = logits
        else:
            difference = logits.softmax(-1) - decoder.logits(context).softmax(-1)[:, None]
            arrays["without"] = 0.5 * difference.abs().sum(-1)  # total variation distance
    return {name: values[text.mask] for name, values in arrays.items()}
