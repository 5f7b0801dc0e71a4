"""Is the attention of a model of yours an explanation? The tests that need none of its inner states: `check`.

What a deletion changes is read from the shortened text. Where weights can be given, so is what other weights change;
if the logits under any are the mean of what each word alone gives, as in the three papers, no attention can change the
decision of a text whose words all give it. Models in NumPy are read without torch.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.sparse import csr_array
from sklearn.naive_bayes import MultinomialNB
from tqdm import tqdm

from attn_core.errors import AttnError
from attn_core.experiments import draws
from attn_core.experiments.correlation import kendall_ragged
from attn_core.experiments.tables import joined, table
from attn_core.measures import tvd
from attn_core.traces import Traces, decisions, maxima, output_change, probabilities, totals, with_ties
from attn_lab.more.compared import agreement, included
from attn_lab.more.single_state import single_state_agreement
from attn_lab.studies.numbers import CHANCE, FEWEST, hits, summary
from attn_lab.studies.protocol import PROMPT, Adapter, Words
from attn_lab.studies.report import shown

TOKENS = 4096
"""Words read at once: a transformer keeps every layer's weights of them."""

ORDERS = 100
"""Times that the weights of a text are permuted, as in Jain & Wallace 2019."""

NEAR = 0.1
"""A change of output that is called small there."""

FEW = 10
"""Texts by which probabilities, or a sink, are told."""

CLOSE = 1e-3
"""Two logits are equal up to this, beside the largest."""

HALF = 5e-3
"""What bfloat16 may make of a sum of 1."""

SAME = 1e-5
"""What two readings of one text may differ by, beside the largest logit: rounding, no dropout."""

SINK = 0.9
"""Share of texts whose first word is the most attended, from which on it may be a sink."""

MEANS = {
    "top word": "share of texts whose most attended word is the most important one, by deletion",
    "top word behind the first": "the same without each text's first word: nearly all attend to it most, as to a sink",
    "word list": "the same of a naive Bayes list, counted on the other texts",
    "attention minus list": "the difference of these shares",
    "change": "change of the output without the most attended word",
    "ranks": "Kendall's tau of attention and deletion, over all words",
    "permuted weights": "share of texts whose output moves by less than 0.1 when the weights are permuted",
    "attention-invariant": "share of texts whose decision no attention can change",
    "uniform weights": "decision flip rate under uniform attention",
    "order": "share of words erased, most attended first, until the decision flips; by chance: in a random order",
}
"""Test -> what its number is."""

FEW_NOTE = f"Intervals: over texts of one model. Of fewer than {FEWEST} texts everything is undecided."

GIVEN = ("permuted weights", "attention-invariant", "uniform weights", "order")
"""Those for which weights are given."""


@dataclass(frozen=True)
class Check:
    """What `check` gives; print it first.

    table: one row a test (MEANS): its mean over texts (value) with a 95 % interval (low, high), what chance gives, side
    (1 where the interval lies above it, -1 below, else 0; of fewer than 50 texts 0), texts. The interval is
    `numbers.share_interval` of top words, else Student's t. documents: one row a text, whose doc_id is its place in the
    list. traces: attention, deletions and outputs; where the model is a mean over words also what each contributes.
    not_run: test -> why it cannot be run. outside: token that is none of the text -> mean share of the attention that
    is on it. layers: of layers="all", the share of the top word for each layer (row) and head.
    """

    table: pd.DataFrame
    documents: pd.DataFrame
    traces: Traces
    not_run: dict[str, str]
    outside: pd.Series
    layers: pd.DataFrame | None = None

    @property
    def notes(self) -> list[str]:
        """What the numbers of the table are, what else is attended to, and what was not run."""
        lines = [FEW_NOTE, *(f"{name}: {MEANS[name]}" for name in self.table.index)]
        lines += [
            f"on {token!r}, no word of the text: {share:.0%}" for token, share in self.outside.nlargest(3).items()
        ]
        return lines + [f"not run: {name}. {reason}" for name, reason in self.not_run.items()]

    def report(self) -> str:
        """The table in words."""
        return "\n".join([shown(self.table).to_string(), "", *self.notes])

    __repr__ = report

    def _repr_html_(self) -> str:
        return shown(self.table).to_html(border=0) + "<br>".join(map(escape, self.notes))

    def plot(self):
        """The table of `layers`, shaded, for a notebook."""
        assert self.layers is not None
        return self.layers.style.background_gradient("cividis", axis=None, vmin=0, vmax=1).format("{:.2f}")


def check(
    model: Any,
    texts: Iterable[str] | Iterable[Words],
    labels: Iterable[int] | None = None,
    vocabulary: Sequence[str] | Mapping[str, int] | None = None,
    tokenizer: Any = None,
    seed: int = 0,
    progress: bool = True,
    answers: Sequence[str] = (),
    prompt: str = PROMPT,
    layers: str = "",
) -> Check:
    """The book's tests that need no inner states, on any model with attention.

    Parameters
    ----------
    model : object with three functions, Classifier, or a classifier or language model of Hugging Face
        The functions are those of `protocol.Adapter`: tokens(text), the words that the attention is over;
        read(texts), attention (B, n) and logits (B, K) of B texts with n words each; and, where weights can be given,
        give(texts, attention), the logits under these. The networks that it holds are put into evaluation mode.
    texts : iterable of str, or of lists of words
        Equal ones count once. A text of n words is read n + 2 times, and 3 n + 100 times under weights that are given.
    labels : iterable of int, optional
        True classes, 0 to K - 1: for `heat_map`, and to set a word list (naive Bayes) beside attention.
    vocabulary : list of str, or mapping to ids, optional
        Of a classifier of this package.
    tokenizer : optional
        Of a Hugging Face model; its attention is the last layer's in the row of the place that is classified, see
        `attn_lab.studies.adapters.HuggingFace`.
    seed : int
        Of the random orders.
    progress : bool
        A bar with the time left.
    answers, prompt : list of str, str
        Of a language model: answers=(" positive", " negative"), prompt="Review: {text} Sentiment:". The classes are
        the answers, as the next token.
    layers : {'', 'all'}
        'all', of a Hugging Face model: the top word of every layer and head as well, in `.layers` and `.plot()`.

    Returns
    -------
    Check
        Its `report()`, which it prints as; `.table`, `.documents`, `.traces`, `.not_run`, `.outside`, `.layers`.

    Raises
    ------
    AttnError
        A model without the functions; a text without words; an answer of another shape, probabilities in place of
        logits, or what is no weights; attention all on the first word; two answers to one text.

    Notes
    -----
    deletion: |p(text without the word) - p(text)|, p of class 1 for one logit, of the predicted class for more.
    top word, change: as `experiments.compared`; ranks: Kendall's tau-b. word list: the word of the largest log ratio of
    its shares within a class and outside, counts plus one, over the labels of the other texts. permuted weights: share
    of texts whose output changes by a median of less than 0.1 (total variation) over 100 permutations, Jain & Wallace
    2019, section 4.2.1. order: share of words erased until the decision flips, the other weights scaled up, Serrano &
    Smith 2019, section 5; flips when no word is left do not count. Deletions test attention as Jain & Wallace 2019,
    section 4.1, do; uniform weights stand in for it in Wiegreffe & Pinter 2019, section 3.2, there in training. That
    states alike leave attention little to change is Mohankumar et al. 2020 and Tutek & Snajder 2020; that a weight says
    little without the size of what it weighs, Kobayashi et al. 2020. Only deletions change what the model reads.

    Examples
    --------
    >>> import torch
    >>> from attn_lab import check
    >>> class Counts:
    ...     def tokens(self, text):
    ...         return text.split()
    ...     def read(self, texts):
    ...         good = torch.tensor([[1.0 * (word == "good") for word in text] for text in texts])
    ...         return good.softmax(1), good.sum(1, keepdim=True) - 0.5
    >>> checked = check(Counts(), ["a good film", "not good at all", "a dull film"], progress=False)
    >>> print(checked.table.loc["top word", ["value", "chance"]].round(2).tolist(), list(checked.not_run))
    [0.78, 0.31] ['permuted weights', 'attention-invariant', 'uniform weights', 'order']
    """
    texts = listed(texts, "text")
    adapter = adapter_of(model, vocabulary, tokenizer, answers, prompt)
    if layers not in ("", "all") or layers and not hasattr(adapter, "heads"):
        raise AttnError("layers= takes 'all', of a model of Hugging Face (tokenizer=) or one with heads()")
    outside = []
    grid = None
    with still(adapter):
        words, doc_id = tokenised(adapter, texts)
        whole = read_twice(adapter, words)
        label = classes_of(labels, len(texts), whole[0][1].size)
        traces = deletions(adapter, words, whole, doc_id, label[doc_id], progress)
        documents = table(traces, **of_deletions(traces, words, labels is not None))
        if hasattr(adapter, "outside"):
            outside = [adapter.outside(text) for text in words]
        if layers:
            rows = [adapter.heads(text) for text in words]  # type: ignore[attr-defined]
            grid = each_head(np.concatenate(rows, axis=2), traces)
        reason = "Weights cannot be given to this model."
        if getattr(adapter, "give", None) is not None:
            columns, traces, reason = under_weights(adapter, words, traces, seed, progress)
            documents = joined(documents, columns)
    return Check(
        summary([documents], [name for name in MEANS if name in documents]).rename_axis("test"),
        documents,
        traces,
        {name: reason for name in GIVEN if name not in documents},
        pd.DataFrame(outside).fillna(0.0).mean(),
        grid,
    )


@contextmanager
def still(adapter: Adapter) -> Iterator[None]:
    """The networks that an adapter holds, or calls from wherever, evaluated and without gradients; nothing where torch
    is not loaded."""
    with ExitStack() as stack:
        if torch := sys.modules.get("torch"):
            from attn_core.tracing.arguments import evaluating

            def evaluate(network: Any, *_) -> None:
                if isinstance(network, torch.nn.Module) and network.training:
                    stack.enter_context(evaluating(network))

            for part in (adapter, *getattr(adapter, "__dict__", {}).values()):
                evaluate(part)
            stack.enter_context(torch.inference_mode())
            stack.enter_context(torch.nn.modules.module.register_module_forward_pre_hook(evaluate))
        yield


# ---- reading ---------------------------------------------------------------------------------------------------------


def timed(
    items: Sequence,
    doing: str,
    progress: bool,
) -> tqdm:
    """The items under a bar with the time left, for work of more than two seconds."""
    return tqdm(items, desc=doing, unit="text", delay=2, disable=not progress)


def listed(items: Any, what: str) -> list:
    """The texts, or labels, as a list; AttnError for what is none of these."""
    single = not isinstance(items, Iterable) or isinstance(items, str | bytes | Mapping | pd.DataFrame)
    values = [] if single else list(items)
    if not values:
        raise AttnError(f"there is no list of {what}s but {type(items).__name__}; give one, of a table frame['{what}']")
    return values


def classes_of(
    labels: Iterable[int] | None,
    texts: int,
    classes: int,
) -> ndarray:
    """The true classes (D,), -1 where none is known; AttnError for what is no class of each text."""
    if labels is None:
        return np.full(texts, -1)
    label = np.array(listed(labels, "label"))
    known = range(max(2, classes))
    if label.shape != (texts,) or label.dtype.kind not in "biuf" or not np.isin(label, known).all():
        raise AttnError(
            f"labels= takes whole numbers from 0 to {known[-1]}, one for each of {texts} texts; names become such by "
            "classes.index(name)"
        )
    return label.astype(int)


def tokenised(adapter: Adapter, texts: list) -> tuple[list[Words], ndarray]:
    """The words of the different texts, and the places (D,) of these; AttnError for a text that is none or empty."""
    place_of: dict[tuple[str, ...], int] = {}
    for place, text in enumerate(texts):
        items = adapter.tokens(text) if isinstance(text, str) else text
        words = tuple(items) if isinstance(items, Iterable) else ()
        if not words or not all(isinstance(word, str) for word in words):
            raise AttnError(f"text {place} has no words, it is {text!r:.40}; leave it out")
        place_of.setdefault(words, place)
    return [list(words) for words in place_of], np.array(list(place_of.values()))


def answers(
    adapter: Adapter,
    texts: list[Words],
) -> tuple[ndarray, ndarray]:
    """Attention (B, n) and logits (B, K), float64, of B texts of n words; AttnError where these are no such."""
    n = len(texts[0])
    pairs = [adapter.read(texts[piece]) for piece in batches(len(texts), n)]
    attention, logits = (np.concatenate(list(map(numbers, parts))) for parts in zip(*pairs, strict=True))
    if attention.shape != (len(texts), n) or logits.ndim != 2 or len(logits) != len(texts):
        raise AttnError(
            f"read() gave attention {attention.shape} and logits {logits.shape} of {len(texts)} texts with {n} words; "
            f"({len(texts)}, {n}) and ({len(texts)}, K) are needed"
        )
    if not np.isfinite(logits).all() or not (attention >= 0).all() or np.abs(attention.sum(1) - 1).max() > HALF:
        raise AttnError("read() gave attention that does not sum to 1 in each text, or logits that are not finite")
    return attention, logits


def batches(texts: int, n: int) -> list[slice]:
    """Of so many texts of n words those that are read at once."""
    step = max(1, TOKENS // n)
    return [slice(at, at + step) for at in range(0, texts, step)]


def read_twice(adapter: Adapter, words: list[Words]) -> list[tuple[ndarray, ndarray]]:
    """Attention (1, n) and logits (1, K) of each text; AttnError where one is answered otherwise a second time."""
    first, second = ([answers(adapter, [text]) for text in words] for _ in range(2))
    for text, once, again in zip(words, map(np.hstack, first), map(np.hstack, second), strict=True):
        if not np.allclose(once, again, rtol=0, atol=SAME * (1 + np.abs(once).max())):
            raise AttnError(
                f"{' '.join(text)[:40]!r}, read twice, gave two answers: something is drawn anew, as by dropout; put "
                "the network into evaluation mode, .eval()"
            )
    return first


def given(
    adapter: Adapter,
    words: Words,
    attention: ndarray,
) -> ndarray:
    """Logits (B, K), float64, of one text of n words under each of the weights (B, n)."""
    assert adapter.give is not None
    torch = sys.modules.get("torch")
    weights: Any = torch.tensor(attention.astype(np.float32)) if torch else attention.astype(np.float32)
    each = [weights[piece] for piece in batches(len(weights), len(words))]
    return np.concatenate([numbers(adapter.give([words] * len(piece), piece)) for piece in each])


def numbers(values: Any) -> ndarray:
    """What a model gives, as float64."""
    return values.detach().cpu().double().numpy() if hasattr(values, "detach") else np.asarray(values, float)


def deletions(
    adapter: Adapter,
    words: list[Words],
    whole: list[tuple[ndarray, ndarray]],
    doc_id: ndarray,
    label: ndarray,
    progress: bool,
) -> Traces:
    """Traces with attention, outputs and deletions; each word contributes its text's logits, whatever the weights.

    whole: attention and logits of each text.
    """
    without = []
    ends = []  # weights of the first and the last word, in texts without one of their words
    for text, (_, output) in zip(timed(words, "deleting", progress), whole, strict=True):
        changed = output * np.nan
        if len(text) > 1:
            weights, changed = answers(adapter, [text[:at] + text[at + 1 :] for at in range(len(text))])
            ends += [weights[:, [0, -1]]] * (len(text) > 2)
        without.append(changed)
    if ends and (np.concatenate(ends) > 1 - SAME).all(axis=0).any():
        raise AttnError(
            "in every text all attention is on the first word, or the last, also where that is deleted: such is row 0 "
            "of a causal model; give the row that is classified, mostly the last"
        )
    attention = np.concatenate([weights[0] for weights, _ in whole])
    outputs = np.concatenate([output for _, output in whole])
    refuse_probabilities(np.concatenate([outputs, *without]))
    lengths = np.array(list(map(len, words)))
    offsets = np.cumsum([0, *lengths])
    score = np.log(np.maximum(attention, np.finfo(float).tiny))
    traces = Traces(
        doc_id,
        label,
        offsets,
        score=score - np.repeat(maxima(score, offsets), lengths),
        contribution=np.repeat(outputs, lengths, axis=0),
        bias=np.zeros(outputs.shape[1]),
        spell=dict(zip(doc_id, words, strict=True)).__getitem__,
    )
    change = output_change(traces, np.concatenate(without))
    return with_ties(replace(traces, leave_one_out=change), kinds_of(words))


def kinds_of(words: list[Words]) -> ndarray:
    """A number (T,) for each word, the same for equal ones."""
    return np.unique(np.concatenate(words), return_inverse=True)[1]


def refuse_probabilities(outputs: ndarray) -> None:
    """AttnError where outputs (R, K) of all readings are no logits, it seems, but probabilities: they add up to 1, or
    are one each, within 0 and 1 and on both sides of a half."""
    outputs = outputs[~np.isnan(outputs).any(axis=1)]
    sums = outputs.sum(axis=1)
    if outputs.shape[1] == 1:
        seem = len(outputs) >= FEW and sums.min() < 0.5 < sums.max() <= 1
    else:
        seem = np.abs(sums - 1).max() < HALF
    if seem and (outputs >= 0).all():
        raise AttnError(
            "read() gave probabilities, it seems, as all lie in 0 to 1; give logits, or the logarithms of the "
            "probabilities of each class (B, K)"
        )


def close(logits: ndarray, others: ndarray) -> bool:
    """Whether logits are equal up to rounding."""
    return np.allclose(logits, others, rtol=0, atol=CLOSE * (1 + np.abs(others).max()))


# ---- tests -----------------------------------------------------------------------------------------------------------


def of_deletions(
    traces: Traces,
    words: list[Words],
    labelled: bool,
) -> dict[str, ndarray]:
    """Columns of the tests by deletion, with what chance gives; NaN for texts of one word."""
    assert traces.leave_one_out is not None
    moved = np.abs(traces.leave_one_out)
    n = np.where(traces.lengths > 1, traces.lengths, np.nan)
    columns = hits("top word", traces, traces.score, moved, n) | behind_the_first(traces, moved)
    if labelled:
        columns |= hits("word list", traces, word_list(traces, words), moved, n)
        columns["attention minus list"] = columns["top word"] - columns["word list"]
    columns["change"] = totals(included(traces.attention, traces.offsets, 1) * moved, traces.offsets)
    columns[f"change{CHANCE}"] = totals(moved, traces.offsets) / n
    columns["ranks"] = kendall_ragged(traces.attention, moved, traces.offsets)[0]
    return columns | {f"{name}{CHANCE}": 0 * n for name in ("ranks", "attention minus list") if name in columns}


def behind_the_first(traces: Traces, moved: ndarray) -> dict[str, ndarray]:
    """Column top word behind the first: of each text without its first word, which may be a sink; none where fewer than
    SINK of the texts have it for their top word. moved: without each word."""
    first = traces.offsets[:-1]
    long = traces.lengths > 2
    if long.sum() < FEW or included(traces.attention, traces.offsets, 1)[first[long]].mean() < SINK:
        return {}
    attention, moved = traces.attention.copy(), moved.copy()
    attention[first] = moved[first] = -1.0
    return hits("top word behind the first", traces, attention, moved, np.where(long, traces.lengths - 1, np.nan))


def word_list(
    traces: Traces,
    words: list[Words],
) -> ndarray:
    """What naive Bayes, counted on the other texts, has to say of each word (T,): how far the logarithms of its chances
    in the classes lie apart."""
    kinds = kinds_of(words)
    counts = csr_array((np.ones(len(kinds)), (traces.owner, kinds)))
    scores = []
    for row, kinds_here in enumerate(np.split(kinds, traces.offsets[1:-1])):
        without = np.delete(np.arange(len(traces)), row)
        model = MultinomialNB().fit(counts[without], traces.label[without])
        scores.append(np.ptp(model.feature_log_prob_[:, kinds_here], axis=0))
    return np.concatenate(scores)


def each_head(attention: ndarray, traces: Traces) -> pd.DataFrame:
    """The share of the top word for every layer (row) and head, from 1. attention: (layers, heads, T)."""
    assert traces.leave_one_out is not None
    moved = np.abs(traces.leave_one_out)
    named = [[agreement(head, moved, traces.offsets, 1) for head in layer] for layer in attention]
    shares = np.mean(named, axis=2, where=traces.lengths > 1)
    return pd.DataFrame(shares, *(range(1, size + 1) for size in shares.shape))


def under_weights(
    adapter: Adapter, words: list[Words], traces: Traces, seed: int, progress: bool
) -> tuple[pd.DataFrame, Traces, str]:
    """The columns of GIVEN, the traces with what each word contributes where the model is a mean over words, and why
    some are not there."""
    random = np.split(draws.uniforms(seed, "removal", traces.doc_id, traces.offsets)[0], traces.offsets[1:-1])
    rows = []
    each = []
    for row, text in enumerate(timed(words, "giving", progress)):
        document = traces.take([row])
        learned = document.attention
        n = len(text)
        orders = draws.permutations(seed, "permutation", document.doc_id, n, ORDERS)[0]  # (ORDERS, n)
        left = [erased(learned, values) for values in (learned, random[row])]
        weights = [np.eye(n), [learned], np.full((1, n), 1 / n), learned[orders], *left]
        logits = given(adapter, text, np.vstack(weights))
        alone, again, flat, permuted, *flipped = np.split(logits, np.cumsum(list(map(len, weights)))[:-1])
        each.append((alone, again, flat))
        flips = [decisions(piece) != document.predicted for piece in flipped]
        first, by_chance = ((1 + piece.argmax()) / n if piece.any() else np.nan for piece in flips)
        rows.append(
            {
                "permuted weights": 1.0 * (np.median(tvd(probabilities(permuted), document.outputs)) < NEAR),
                "uniform weights": 1.0 * (decisions(flat) != document.predicted)[0],
                "order": first,
                f"order{CHANCE}": by_chance,
            }
        )
    alone, again, flat = map(np.concatenate, zip(*each, strict=True))
    if not close(again, traces.logits):
        away = np.abs(again - traces.logits).max()
        return (
            pd.DataFrame(),
            traces,
            f"Given its own attention the model answers otherwise (logits differ by up to {away:.2g}).",
        )
    columns = pd.DataFrame(rows)
    mean = replace(traces, contribution=alone)
    if close(mean.logits, traces.logits) and close(mean.logits_under(1 / mean.lengths[mean.owner]), flat):
        columns["attention-invariant"] = single_state_agreement(mean)["attention_invariant"]
        return columns, mean, ""
    return columns, traces, "This model's logits are no mean over its words, for which alone it can be told."


def erased(learned: ndarray, values: ndarray) -> ndarray:
    """Weights (k, n) without the words of the 1 to k largest values (n,), scaled up, as long as any weight is left."""
    rank = np.argsort(np.argsort(-values, kind="stable"))
    left = learned * (rank >= np.arange(1, len(learned))[:, None])
    left = left[left.sum(axis=1) > 0]
    return left / left.sum(axis=1, keepdims=True)


def adapter_of(
    model: Any,
    vocabulary: Sequence[str] | Mapping[str, int] | None = None,
    tokenizer: Any = None,
    answers: Sequence[str] = (),
    prompt: str = PROMPT,
) -> Adapter:
    """The adapter of a model: itself where it has the functions. AttnError where neither it nor the arguments help."""
    if vocabulary is not None or tokenizer is not None:
        from attn_lab.studies.adapters import HuggingFace, OwnClassifier

        if vocabulary is not None:
            return OwnClassifier(model, vocabulary)
        return HuggingFace(model, tokenizer, answers, prompt)
    missing = [name for name in ("tokens", "read") if not callable(getattr(model, name, None))]
    if missing:
        raise AttnError(
            f"{type(model).__name__} has no {' and no '.join(missing)}; give it these functions "
            "(`attn_lab.studies.protocol.Adapter`), or vocabulary= of a model of this package, or tokenizer= of a "
            "Hugging Face model"
        )
    if answers or prompt != PROMPT:
        raise AttnError("answers= and prompt= go with tokenizer= of a language model; give that, or leave them out")
    return model
