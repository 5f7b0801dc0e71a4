"""Traces: all that an attention test needs to know of a document, without the network.

In every single-text classifier of the three papers the decoder is affine, so under ANY attention a the logits are
bias + sum_t a_t * contribution_t with contribution_t = decoder matrix times the value vector of token t. Permuting,
searching adversaries and erasing are therefore array work on these few numbers per token.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy  # its parts are loaded when first used
from numpy import ndarray
from numpy.typing import ArrayLike

from attn_core import checks
from attn_core.documents import ragged
from attn_core.errors import AttnError
from attn_core.measures import variation

Arrays = dict[str, ndarray]
"""Arrays by name: columns, what is kept of a text, the weights of a model (`models.classifier.to_arrays`)."""

NUMBERS = 1 << 22
"""Contributions held at once."""


@dataclass(frozen=True)
class Traces:
    """What is kept of D documents with T tokens in all; only real tokens (no start, end, pad).

    Every test of attention is arithmetic on these arrays: the logits under attention a are bias + sum_t a_t
    contribution_t.

    Parameters
    ----------
    doc_id : (D,) array
        The row of each document in its source.
    label : (D,) array
        Its class.
    offsets : (D + 1,) array of int
        Document d owns tokens offsets[d]:offsets[d + 1].
    score : (T,) array
        Attention score, from which the document's maximum is taken, so the largest is 0; minus infinity has no weight.
    contribution : (T, K) array
        Decoder matrix times value vector; K = 1 is one sigmoid logit.
    bias : (K,) array
        Of the decoder.
    gradient : (T,) array, optional
        Signed <e_t, dp/de_t>, p the probability of class 1 (K = 1) or of the predicted class, with the attention held
        constant.
    gradient_norm : (T,) array, optional
        |dp/de_t|, of encoders that normalise their input, where the other says nothing.
    leave_one_out : (T,) array, optional
        Signed p(text without t) - p(text); NaN where the text is one token, or is not tested.
    query : (D, M) array, optional
        Question answering and inference (Jain & Wallace) have no affine decoder. Contribution is then (T, M), the
        token's share in the decoder's hidden layer, and the logits are bias + readout @ tanh(query + sum_t a_t
        contribution_t).
    readout : (K, M) array, optional
        See `query`.
    allowed : (D, K) array of bool, optional
        Possible answers, None where all are; the others have logit minus infinity.
    spell : callable, optional
        The words of the document with a doc_id, see `words`; not stored.

    Raises
    ------
    AttnError
        Other shapes, an empty document, and what is not finite. Tests trust traces.
    """

    doc_id: ndarray
    label: ndarray
    offsets: ndarray
    score: ndarray
    contribution: ndarray
    bias: ndarray
    gradient: ndarray | None = None
    leave_one_out: ndarray | None = None
    query: ndarray | None = None
    readout: ndarray | None = None
    allowed: ndarray | None = None
    gradient_norm: ndarray | None = None
    spell: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if (self.query is None) != (self.readout is None):
            raise AttnError("query and readout of traces go together, as text pairs have them; give both or neither")
        sizes = {} if self.readout is not None else {"M": np.size(self.bias)}
        for name, values in self.present(*AXES).items():
            asked = (sizes.get(axis) for axis in AXES[name])
            array = checks.numbers(f"{name} of traces", values, *asked, finite=name not in ("score", "leave_one_out"))
            sizes |= zip(AXES[name], array.shape, strict=True)
            object.__setattr__(self, name, array)
        checks.numbers("offsets of traces", checks.bounds(self.offsets, sizes["T"]), sizes["D"] + 1)
        largest = checks.numbers("each text's largest score", maxima(self.score, self.offsets), sizes["D"])
        if largest.any():
            object.__setattr__(self, "score", self.score - np.repeat(largest, self.lengths))

    def __len__(self) -> int:
        return len(self.doc_id)

    def __repr__(self) -> str:
        return f"Traces({len(self):,} documents, {len(self.score):,} tokens, {self.classes} logits)"

    @cached_property
    def lengths(self) -> ndarray:
        """Tokens per document, (D,)."""
        return np.diff(self.offsets)

    @cached_property
    def owner(self) -> ndarray:
        """The document of each token, (T,), as its row."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def attention(self) -> ndarray:
        """Softmax of the scores within each document, (T,) float64, summing to 1 per document."""
        return softmax(self.score, self.offsets)

    @cached_property
    def logits(self) -> ndarray:
        """bias + sum_t attention_t contribution_t, (D, K) float64."""
        return self.logits_under(self.attention)

    @property
    def classes(self) -> int:
        """Number of logits K."""
        return len(self.bias)

    def logits_under(self, attention: ArrayLike) -> ndarray:
        """Logits under another attention (T,) over the same tokens, (D, K) float64."""
        attention = checks.numbers("attention", attention, len(self.score))
        return self.decoded(self.contexts_under(attention), np.arange(len(self)))

    def contexts_under(self, attention: ndarray) -> ndarray:
        """sum_t a_t contribution_t under attention a (T,), (D, K or M) float64: all the decoder sees of the tokens."""
        columns = [totals(attention * column, self.offsets) for column in self.contribution.T]
        return np.stack(columns, axis=1)

    def decoded(self, context: ndarray, rows: ndarray) -> ndarray:
        """Logits (..., K) float64 of contexts sum_t a_t contribution_t (..., K or M) of documents `rows`."""
        if self.readout is None:
            return self.bias.astype(float) + context
        hidden = np.tanh(self.query[rows].astype(float) + context)  # type: ignore[index]
        logits = hidden @ self.readout.T.astype(float) + self.bias
        if self.allowed is None:
            return logits
        return np.where(self.allowed[rows], logits, -np.inf)

    @cached_property
    def outputs(self) -> ndarray:
        """Output probabilities, (D, K) float64; one sigmoid for one logit."""
        return probabilities(self.logits)

    @cached_property
    def p(self) -> ndarray:
        """(D,) float64: probability of class 1 for one or two logits, of the predicted class for more."""
        if self.classes <= 2:
            return self.outputs[:, -1]
        return self.outputs.max(axis=1)

    @cached_property
    def predicted(self) -> ndarray:
        """Predicted class, (D,)."""
        return decisions(self.logits)

    @cached_property
    def max_attention(self) -> ndarray:
        """Largest attention weight of each document, (D,)."""
        return maxima(self.attention, self.offsets)

    @cached_property
    def most_attended(self) -> ndarray:
        """The token (of all T) with each document's largest weight, the first of several, (D,)."""
        return self.first_largest(self.attention)

    def first_largest(self, values: ndarray) -> ndarray:
        """The token (of all T) with each document's largest value (T,), the first of several, (D,)."""
        return first_largest(values, self.offsets)

    def words(self, row: int) -> list[str]:
        """The words of one document (its row, from 0), as the model read them; of rare ones the <unk> that it read.

        Known where the texts are at hand: of runs by `obtain`, of `check`, and of trace(..., vocabulary=…). AttnError
        where they are not, and where what is attended to are sentences.

        >>> from attn_lab import trace
        >>> from attn_lab.data import encode
        >>> from attn_core.models.classifier import build
        >>> texts = encode(["a quiet film"], ["<pad>", "<unk>", "<s>", "</s>", "a", "film"])
        >>> model = build("average", "tanh", np.ones((6, 4)))
        >>> trace(model, texts, vocabulary=["<pad>", "<unk>", "<s>", "</s>", "a", "film"]).words(0)
        ['a', '<unk>', 'film']
        """
        if self.spell is None:
            raise AttnError("these traces do not know their words; trace(model, documents, vocabulary=…) keeps them")
        words = list(self.spell(self.doc_id[row]))
        if len(words) != self.lengths[row]:
            raise AttnError(
                f"document {self.doc_id[row]} has {len(words)} words and {self.lengths[row]} attended items"
            )
        return words

    def take(self, rows: ArrayLike) -> "Traces":
        """The same traces for some documents, in the order asked for."""
        rows = np.atleast_1d(checks.places(rows, len(self)))
        tokens, offsets = ragged(self.offsets, rows)
        index = {"T": tokens, "D": rows}
        arrays = {name: array for name, array in self.present(*AXES).items() if AXES[name][0] in index}
        chosen = {name: array[index[AXES[name][0]]] for name, array in arrays.items()}
        return replace(self, offsets=offsets, **chosen)

    def equal_lengths(self, limit: int) -> Iterator[tuple[ndarray, ndarray]]:
        """(rows (B,), index (B, n)) of documents of n tokens; index gathers a token array into (B, n). See `chunks`."""
        for rows, n in chunks(self.lengths, limit):
            yield rows, self.offsets[rows, None] + np.arange(n)

    def rounded(self) -> "Traces":
        """The same with 12-bit mantissas, as the archive stores them; every reported number is computed after this."""
        arrays = self.present(*TOKEN_ARRAYS, "bias", "query", "readout")
        rounded = {name: round_mantissa(array) for name, array in arrays.items()}
        return replace(self, **rounded)

    def present(self, *names: str) -> Arrays:
        """Those of the named arrays that these traces have."""
        arrays = {name: getattr(self, name) for name in names}
        return {name: array for name, array in arrays.items() if array is not None}


AXES = {
    "doc_id": "D",
    "label": "D",
    "offsets": "E",
    "score": "T",
    "contribution": "TM",
    "bias": "K",
    "gradient": "T",
    "leave_one_out": "T",
    "query": "DM",
    "readout": "KM",
    "allowed": "DK",
    "gradient_norm": "T",
}
"""Array of traces -> a letter an axis, of one length in all of them; without readout M is K."""

TOKEN_ARRAYS = ("score", "contribution", "gradient", "leave_one_out", "gradient_norm")
PER_DOCUMENT = ("query", "allowed")


def softmax(score: ndarray, offsets: ndarray) -> ndarray:
    """Weights (T,) float64 of scores whose largest is 0 in each document, summing to 1 there."""
    weight = np.exp(score.astype(float))
    return weight / np.repeat(totals(weight, offsets), np.diff(offsets))


def probabilities(logits: ndarray) -> ndarray:
    """Sigmoid of one logit (..., 1), softmax of several (..., K); logits of minus infinity give 0."""
    if logits.shape[-1] == 1:
        return sigmoid(logits)
    return scipy.special.softmax(logits, axis=-1)


def decisions(logits: ndarray) -> ndarray:
    """Class of logits (..., K): the first largest; of one logit its sign, 0 being class 0."""
    if logits.shape[-1] == 1:
        return (logits[..., 0] > 0).astype(int)
    return logits.argmax(axis=-1)


def each_alone(traces: Traces) -> tuple[ndarray, ndarray]:
    """With all the attention on one token: the decision (T,), and how far the output lies from the model's (T,)."""
    decision = np.empty(len(traces.score), int)
    moved = np.empty(len(traces.score))
    width = max(traces.contribution.shape[1], traces.classes)
    step = max(1, NUMBERS // width)
    for start in range(0, len(traces.score), step):
        tokens = slice(start, start + step)
        document = traces.owner[tokens]
        logits = traces.decoded(traces.contribution[tokens].astype(float), document)
        decision[tokens] = decisions(logits)
        moved[tokens] = variation(probabilities(logits), traces.outputs[document])
    return decision, moved


def output_change(traces: Traces, logits: ndarray) -> ndarray:
    """p(without t) - p, (T,) float64, from the logits (T, K) without each token; p of class 1 or of the predicted."""
    owner = traces.owner
    chosen = traces.predicted[owner] if traces.classes > 1 else 0
    outputs = probabilities(logits.astype(float))
    p_without = outputs[np.arange(len(owner)), chosen]
    return p_without - traces.outputs[owner, chosen]


def with_ties(traces: Traces, words: ndarray) -> Traces:
    """Deleting either of two equal neighbours among words (T,) leaves the same text: both get the first's number."""
    repeats = np.concatenate([[False], words[1:] == words[:-1]])
    repeats[traces.offsets[:-1]] = False  # a text's first word
    first = np.maximum.accumulate(np.where(repeats, 0, np.arange(len(words))))  # of the row of equal words
    return replace(traces, leave_one_out=traces.leave_one_out[first])  # type: ignore[index]


def round_mantissa(values: ArrayLike, bits: int = 12) -> ndarray:
    """Nearest float32 whose mantissa has at most `bits` explicit bits (ties to even); NaN and infinities stay."""
    values = np.asarray(values, np.float32)
    unit = np.maximum(np.frexp(values)[1], -125) - bits - 1  # exponent of the last bit kept; subnormals share one
    return np.ldexp(np.rint(np.ldexp(values, -unit)), unit)


# One logit


def has_one_logit(traces: Traces) -> bool:
    """Whether the output is the sigmoid of one number that is affine in the weights: one or two logits, no readout."""
    return traces.readout is None and traces.classes <= 2


def centred(traces: Traces) -> ndarray:
    """Contributions (T, K) float64; of several logits less each token's mean over them, which no softmax sees."""
    value = traces.contribution.astype(float)
    if traces.classes > 1:
        value = value - value.mean(axis=1, keepdims=True)
    return value


def each_without(traces: Traces, value: ndarray) -> ndarray:
    """What is attended to of values (T, ...) without each token in turn, the other weights scaled up; 0 if none is."""
    weight = traces.attention.reshape(-1, *[1] * (value.ndim - 1))
    weighted = weight * value
    left = 1.0 - weight
    whole = np.add.reduceat(weighted, traces.offsets[:-1])
    sum_left = whole[traces.owner] - weighted
    return np.divide(sum_left, left, out=np.zeros_like(sum_left), where=left > 0)


def attending_only(traces: Traces, kept: ndarray) -> ndarray:
    """Attention (T,) on the items `kept` (T,) alone, scaled up to one; 0 throughout where these have no weight."""
    weight = traces.attention * kept
    left = totals(weight, traces.offsets)
    left[left == 0] = 1.0
    return weight / left[traces.owner]


def one_logit(traces: Traces) -> tuple[ndarray, float]:
    """Contributions (T,) and bias of the one logit whose sigmoid is the probability of class 1, float64; of two logits
    their difference. Other traces are an AttnError, see `has_one_logit`."""
    if not has_one_logit(traces):
        raise AttnError(f"one logit is had by classifiers of one or two, not by text pairs or {traces.classes} logits")
    contribution = traces.contribution.astype(float)
    bias = traces.bias.astype(float)
    if traces.classes == 2:
        contribution = np.diff(contribution, axis=1)
        bias = np.diff(bias)
    return contribution[:, 0], float(bias[0])


def sigmoid(logit: ndarray) -> ndarray:
    """Probability of class 1 from one logit."""
    return 0.5 * (1.0 + np.tanh(0.5 * logit))  # no overflow at large |logit|


def totals(values: ndarray, offsets: ndarray) -> ndarray:
    """Sums within documents, (..., T) -> (..., D)."""
    return np.add.reduceat(values, offsets[:-1], axis=-1)


def maxima(values: ndarray, offsets: ndarray) -> ndarray:
    """The largest within documents, (T,) -> (D,)."""
    return np.maximum.reduceat(values, offsets[:-1])


def first_largest(values: ndarray, offsets: ndarray) -> ndarray:
    """Where (of all T) each document's largest value stands, the first of several, (D,); of NaN alone the first."""
    largest = maxima(values, offsets)
    tokens = np.flatnonzero(~(values < np.repeat(largest, np.diff(offsets))))
    return tokens[np.searchsorted(tokens, offsets[:-1])]


# Documents side by side


def chunks(lengths: ndarray, limit: int, least: int = 1) -> Iterator[tuple[ndarray, int]]:
    """(rows (B,), length) of documents of one length, at most `limit` tokens (or `least` documents) at a time."""
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        step = max(least, limit // int(length))
        for start in range(0, len(rows), step):
            yield rows[start : start + step], int(length)


def cut(lengths: ndarray, texts: int, tokens: int) -> list[ndarray]:
    """Documents from long to short, cut into chunks of at most `texts` texts and `tokens` tokens (or one long text)."""
    order = np.argsort(-lengths, kind="stable")
    pieces = []
    while len(order):
        longest = int(lengths[order[0]])
        size = min(texts, max(1, tokens // longest))
        pieces.append(order[:size])
        order = order[size:]
    return pieces
