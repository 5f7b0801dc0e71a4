"""Is the attention of a model of yours an explanation? The tests that need none of its inner states: `check`.

What a deletion changes is read from the shortened text. Where weights can be given, all of them on one word show what
this word says; if the logits under any weights are the mean of these, as in the three papers, the rest is arithmetic.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy import ndarray
from torch import nn
from tqdm import tqdm

from attn_core.errors import AttnError
from attn_core.experiments import draws
from attn_core.experiments.correlation import kendall_ragged
from attn_core.experiments.permutation import permutation
from attn_core.experiments.removal import removals
from attn_core.experiments.tables import table
from attn_core.measures import seed_interval, tvd
from attn_core.traces import Traces, attending_only, decisions, maxima, output_change, probabilities, totals, with_ties
from attn_core.tracing.arguments import evaluating
from attn_lab.more.compared import agreement, included
from attn_lab.more.echo import echo
from attn_lab.more.erasure import derived
from attn_lab.more.known import names_the_word
from attn_lab.study.adapters import PROMPT, Adapter, Words, adapter_of
from attn_lab.study.numbers import mean_interval, share_interval

TOKENS = 4096
"""Words read at once: a transformer keeps every layer's weights of them."""

DEALS = 100
"""Times that the weights of a text are dealt anew, as in Jain & Wallace 2019."""

NEAR = 0.1
"""A change of output that is called small there."""

FEW = 10
"""Of fewer texts no side is told: the interval of a handful is too narrow."""

CLOSE = 1e-3
"""Two logits are equal up to this, beside the largest."""

HALF = 5e-3
"""What bfloat16 may make of a sum of 1."""

SAME = 1e-5
"""What two readings of one text may differ by, beside the largest logit: rounding, no dropout."""

SINK = 0.9
"""Share of texts whose first word is the most attended, from which on it may be a sink."""

QUESTIONS = {
    "top word": ("top", "chance"),
    "behind the first": ("top_behind", "chance_behind"),
    "moved": ("moved", "moved_chance"),
    "ranks": ("tau", "tau_chance"),
    "dealt anew": ("stays", None),
    "locked": ("locked", None),
    "equal weights": ("flat_flips", None),
    "order": ("fraction_attention", "fraction_random"),
}
"""Test -> its column of the documents, and that of chance."""

MORE = ("more than chance", "less than chance")
SIDES = {"order": ("later", "sooner")}
"""What lies above chance and below it, where this is not MORE."""

SENTENCES = {
    "top word": "Deletion. In {value:.1%} ({low:.1%} to {high:.1%}) of {texts:.0f} texts the most attended word is the "
    "word whose deletion moves the output most; a word drawn at random is in {chance:.1%}: {side}.",
    "behind the first": "A sink? In nearly all texts the first word is the most attended. Of the words behind it the "
    "most attended moves the output most in {value:.1%} ({low:.1%} to {high:.1%}) of {texts:.0f} texts; one drawn at "
    "random in {chance:.1%}: {side}.",
    "moved": "Without its most attended word the output moves by {value:.3f} ({low:.3f} to {high:.3f}), without a word "
    "drawn at random by {chance:.3f}: {side}.",
    "ranks": "Over all words, attention and deletion agree with a Kendall's tau of {value:.3f} ({low:.3f} to "
    "{high:.3f}); 1 is the same order, 0 is chance: {side}.",
    "dealt anew": "Dealt anew over the words of its text, attention moves the output by typically less than 0.1 in "
    "{value:.0%} ({low:.0%} to {high:.0%}) of the texts.",
    "locked": "In {value:.0%} ({low:.0%} to {high:.0%}) no attention at all can change the decision, as every word, "
    "given all the weight, gives it: there, moving weights tells nothing.",
    "equal weights": "Equal weights change {value:.0%} ({low:.0%} to {high:.0%}) of the decisions.",
    "order": "Order. Where erasing weights flips the decision with a word left ({texts:.0f} texts), attention's order "
    "needs {value:.1%} ({low:.1%} to {high:.1%}) of the words, a random order {chance:.1%}: {side}.",
}
"""Test -> what its numbers say."""

VERDICTS = {
    1: "the most attended word is the one that matters more often than chance has it",
    -1: "the most attended word is the one that matters less often than chance has it",
    0: "whether the most attended word is the one that matters more often than chance has it is undecided",
}
"""By the side of chance on which the top word lies."""


@dataclass(frozen=True)
class Check:
    """What `check` gives.

    table: one row a test, its mean over texts (value) with a 95 % interval (low, high), what chance gives, side (1
    where the interval lies above it, -1 below, else 0; of fewer than FEW texts 0), texts. The interval is
    `numbers.share_interval` of top words, Student's t of each text's difference from its own chance where there is
    another, else a bootstrap.
    documents: one row a text, whose doc_id is its place in the list. traces: attention, deletions and outputs; where
    the model is a mean over words also what each contributes. not_run: test -> why it cannot be run. outside: token
    that is none of the text -> mean share of the attention that is on it.
    """

    table: pd.DataFrame
    documents: pd.DataFrame
    traces: Traces
    not_run: dict[str, str]
    outside: pd.Series

    def report(self) -> str:
        """The verdict in words, a sentence a test, and which tests were not run."""
        top = self.table.loc["top word"]
        verdict = VERDICTS[top.side]
        if top.side == 1 and top.high < 0.5:
            verdict += ", though in fewer than half of the texts"
        lines = [f"Verdict: {verdict}."]
        for name, row in self.table.iterrows():
            above, below = SIDES.get(str(name), MORE)
            side = {1: above, -1: below, 0: "undecided"}[row.side]
            sentence = SENTENCES[str(name)].format(**row.drop("side"), side=side)
            lines.append(re.sub(r" \(nan.*?\)", "", sentence))
        if len(self.outside):
            shares = ", ".join(f"{token!r} {share:.0%}" for token, share in self.outside.nlargest(3).items())
            lines.append(f"Apart. Of the attention {shares} is on no word of the text; the rest is scaled to 1.")
        lines += [f"Not run: {name}. {reason}" for name, reason in self.not_run.items()]
        lines.append(
            "Intervals: 95 %, over texts of one model; another training may differ. Under ten texts nothing is decided."
        )
        return "\n\n".join(lines)

    __repr__ = report


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
) -> Check:
    """The book's tests that need no inner states, on any torch model with attention.

    Parameters
    ----------
    model : object with three functions, Classifier, or a classifier or language model of Hugging Face
        The functions are those of `adapters.Adapter`: tokens(text), the words that the attention is over;
        read(texts), attention (B, n) and logits (B, K) of B texts with n words each; and, where weights can be given,
        give(texts, attention), the logits under these. The networks that it holds are put into evaluation mode.
    texts : iterable of str, or of lists of words
        Equal ones count once. A text of n words is read n times, n + 1 words more for weights that are given.
    labels : iterable of int, optional
        True classes, 0 to K - 1, for `heat_map`.
    vocabulary : list of str, or mapping to ids, optional
        Of a classifier of this package.
    tokenizer : optional
        Of a Hugging Face model; its attention is the last layer's in the row of the place that is classified, see
        `attn_lab.study.adapters.HuggingFace`.
    seed : int
        Of the random orders.
    progress : bool
        A bar with the time left.
    answers, prompt : list of str, str
        Of a language model: answers=(" positive", " negative"), prompt="Review: {text} Sentiment:". The classes are
        the answers, as the next token.

    Returns
    -------
    Check
        Its `report()`, which it prints as; `.table`, `.documents`, `.traces`, `.not_run`, `.outside`.

    Raises
    ------
    AttnError
        A model without the functions; a text without words; an answer of another shape, probabilities in place of
        logits, or what is no weights; attention all on the first word; two answers to one text.

    Notes
    -----
    deletion: |p(text without the word) - p(text)|, p of class 1 for one logit, of the predicted class for more.
    top word, moved: as `experiments.compared`; ranks: Kendall's tau-b. dealt anew: share of texts whose output changes
    by a median of less than 0.1 (total variation) over 100 permutations, Jain & Wallace 2019, section 4.2.1. order:
    share of words erased until the decision flips, the other weights scaled up, Serrano & Smith 2019, section 5; flips
    when no word is left do not count. Deletions test attention as Jain & Wallace 2019, section 4.1, do; equal weights
    stand in for it in Wiegreffe & Pinter 2019, section 3.2, there in training. That states alike leave attention little
    to change is Mohankumar et al. 2020 and Tutek & Snajder 2020; that a weight says little without the size of what it
    weighs, Kobayashi et al. 2020. Where logits are a mean over words, dealt anew, locked, equal weights and order are
    arithmetic on what each word says alone: they tell what the mean allows, and only deletions read the model anew.

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
    [0.78, 0.31] ['dealt anew', 'locked', 'equal weights', 'order']
    """
    texts = listed(texts, "text")
    adapter = adapter_of(model, vocabulary, tokenizer, answers, prompt)
    networks = [part for part in (adapter, *getattr(adapter, "__dict__", {}).values()) if isinstance(part, nn.Module)]
    with torch.inference_mode(), evaluating(nn.ModuleList(networks)):
        words, doc_id = tokenised(adapter, texts)
        label = classes_of(labels, len(texts), read_twice(adapter, max(words, key=len)))
        traces = deletions(adapter, words, doc_id, label[doc_id], progress)
        outside = [adapter.outside(text) for text in words] if hasattr(adapter, "outside") else []
        columns = of_deletions(traces) | behind_the_first(traces)
        reason = why_not_given(adapter, words, traces)
        if not reason:
            alone = np.concatenate(
                [given(adapter, text, np.eye(len(text))) for text in shown(words, "giving", progress)]
            )
            flat = np.concatenate([given(adapter, text, np.full((1, len(text)), 1 / len(text))) for text in words])
            mean = replace(traces, contribution=alone)
            linear = close(mean.logits, traces.logits) and close(mean.logits_under(1 / mean.lengths[mean.owner]), flat)
            if linear:
                traces = mean
                columns |= of_weights(traces, seed)
            else:
                columns |= of_given(adapter, words, traces, flat, seed, progress)
    documents = table(traces, **columns)
    reason = reason or "This model's logits are no mean over its words, for which alone it can be told."
    not_run = {name: reason for name, (column, _) in QUESTIONS.items() if column not in documents}
    not_run.pop("behind the first", None)
    return Check(tested(documents), documents, traces, not_run, pd.DataFrame(outside).fillna(0.0).mean())


# ---- reading ---------------------------------------------------------------------------------------------------------


def shown(items: Sequence, doing: str, progress: bool) -> tqdm:
    """The items under a bar with the time left, for work of more than two seconds."""
    return tqdm(items, desc=doing, unit="text", delay=2, disable=not progress)


def listed(items: Any, what: str) -> list:
    """The texts, or labels, as a list; AttnError for what is none of these."""
    single = not isinstance(items, Iterable) or isinstance(items, str | bytes | Mapping | pd.DataFrame)
    values = [] if single else list(items)
    if not values:
        raise AttnError(f"there is no list of {what}s but {type(items).__name__}; give one, of a table frame['{what}']")
    return values


def classes_of(labels: Iterable[int] | None, texts: int, classes: int) -> ndarray:
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


def answers(adapter: Adapter, texts: list[Words]) -> tuple[ndarray, ndarray]:
    """Attention (B, n) and logits (B, K), float64, of B texts of n words; AttnError where these are no such."""
    n = len(texts[0])
    step = max(1, TOKENS // n)
    pairs = [adapter.read(texts[at : at + step]) for at in range(0, len(texts), step)]
    attention, logits = (np.concatenate(list(map(numbers, parts))) for parts in zip(*pairs, strict=True))
    if attention.shape != (len(texts), n) or logits.ndim != 2 or len(logits) != len(texts):
        raise AttnError(
            f"read() gave attention {attention.shape} and logits {logits.shape} of {len(texts)} texts with {n} words; "
            f"({len(texts)}, {n}) and ({len(texts)}, K) are needed"
        )
    if not np.isfinite(logits).all() or not (attention >= 0).all() or np.abs(attention.sum(1) - 1).max() > HALF:
        raise AttnError("read() gave attention that does not sum to 1 in each text, or logits that are not finite")
    return attention, logits


def read_twice(adapter: Adapter, text: Words) -> int:
    """How many logits K a model gives; AttnError where it answers otherwise when it reads a text again."""
    first, second = (np.hstack(answers(adapter, [text])) for _ in range(2))
    if not np.allclose(first, second, rtol=0, atol=SAME * (1 + np.abs(first).max())):
        raise AttnError(
            "the same text read twice gave two answers: something is drawn anew, as by dropout; put the network into "
            "evaluation mode, .eval()"
        )
    return first.shape[1] - len(text)


def given(adapter: Adapter, words: Words, attention: ndarray) -> ndarray:
    """Logits (B, K), float64, of one text of n words under each of the weights (B, n)."""
    assert adapter.give is not None
    step = max(1, TOKENS // len(words))
    logits = []
    for at in range(0, len(attention), step):
        weights = torch.as_tensor(attention[at : at + step], dtype=torch.float32)
        logits.append(numbers(adapter.give([words] * len(weights), weights)))
    return np.concatenate(logits)


def numbers(values: Any) -> ndarray:
    """What a model gives, as float64."""
    return values.detach().cpu().double().numpy() if isinstance(values, torch.Tensor) else np.asarray(values, float)


def deletions(adapter: Adapter, words: list[Words], doc_id: ndarray, label: ndarray, progress: bool) -> Traces:
    """Traces with attention, outputs and deletions; each word contributes its text's logits, whatever the weights."""
    attention = []
    logits = []
    without = []
    ends = []  # weights of the first and the last word, in texts without one of their words
    for text in shown(words, "deleting", progress):
        weights, output = answers(adapter, [text])
        attention.append(weights[0])
        logits.append(output)
        if len(text) > 1:
            weights, output = answers(adapter, [text[:at] + text[at + 1 :] for at in range(len(text))])
            without.append(output)
            if len(text) > 2:
                ends.append(weights[:, [0, -1]])
        else:
            without.append(np.full_like(output, np.nan))
    if ends and (np.concatenate(ends) > 1 - SAME).all(axis=0).any():
        raise AttnError(
            "in every text all attention is on the first word, or the last, also where that is deleted: such is row 0 "
            "of a causal model; give the row that is classified, mostly the last"
        )
    refuse_probabilities(np.concatenate([*logits, *without]))
    lengths = np.array([len(text) for text in words])
    score = np.log(np.maximum(np.concatenate(attention), np.finfo(float).tiny))
    offsets = np.cumsum([0, *lengths])
    outputs = np.concatenate(logits)
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
    _, kinds = np.unique(np.concatenate(words), return_inverse=True)
    return with_ties(replace(traces, leave_one_out=change), kinds)


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


def why_not_given(adapter: Adapter, words: list[Words], traces: Traces) -> str:
    """Why weights cannot be given to a model, in words; '' where they can."""
    if getattr(adapter, "give", None) is None:
        return "Weights cannot be given to this model."
    weights = np.split(traces.attention[None], traces.offsets[1:-1], axis=1)
    again = np.concatenate([given(adapter, text, row) for text, row in zip(words, weights, strict=True)])
    if close(again, traces.logits):
        return ""
    return (
        f"Given its own attention the model answers otherwise (logits differ by up to "
        f"{np.abs(again - traces.logits).max():.2g}): what read() gives is not all that decides."
    )


def close(logits: ndarray, others: ndarray) -> bool:
    """Whether logits are equal up to rounding."""
    return np.allclose(logits, others, rtol=0, atol=CLOSE * (1 + np.abs(others).max()))


# ---- tests -----------------------------------------------------------------------------------------------------------


def of_deletions(traces: Traces) -> dict[str, ndarray]:
    """Columns top, chance, moved, moved_chance, tau, tau_chance; NaN for texts of one word."""
    assert traces.leave_one_out is not None
    size = np.abs(traces.leave_one_out)
    several = np.where(traces.lengths > 1, 1.0, np.nan)
    top = included(traces.attention, traces.offsets, 1)
    return {
        "top": several * names_the_word(traces, traces),
        "chance": several / traces.lengths,
        "moved": totals(top * size, traces.offsets),
        "moved_chance": totals(size, traces.offsets) / traces.lengths,
        "tau": kendall_ragged(traces.attention, size, traces.offsets)[0],
        "tau_chance": 0.0 * several,
    }


def behind_the_first(traces: Traces) -> dict[str, ndarray]:
    """Columns top_behind, chance_behind: the top word of each text without its first, which may be a sink; none where
    fewer than SINK of the texts have it for their top word."""
    long = traces.lengths > 2
    several = traces.take(np.flatnonzero(long))
    first = several.offsets[:-1]
    if len(several) < FEW or included(several.attention, several.offsets, 1)[first].mean() < SINK:
        return {}
    assert several.leave_one_out is not None
    attention, moved = (np.delete(values, first) for values in (several.attention, np.abs(several.leave_one_out)))
    columns = np.full((2, len(traces)), np.nan)
    columns[0, long] = agreement(attention, moved, several.offsets - np.arange(len(several) + 1), 1)
    columns[1, long] = 1 / (several.lengths - 1)
    return {"top_behind": columns[0], "chance_behind": columns[1]}


def of_weights(traces: Traces, seed: int) -> dict[str, ndarray]:
    """Columns stays, locked, flat_flips, fraction_attention, fraction_random of a model that is a mean over words."""
    echoes = echo(traces)
    erased = derived(removals(traces, seed), item_left=True)
    change = permutation(traces, DEALS, seed)["median_change"]
    columns = {name: erased[name].to_numpy() for name in ("fraction_attention", "fraction_random")}
    columns |= {name: echoes[name].to_numpy() for name in ("locked", "flat_flips")}
    return columns | {"stays": (change < NEAR).to_numpy(float)}


def of_given(
    adapter: Adapter, words: list[Words], traces: Traces, flat: ndarray, seed: int, progress: bool
) -> dict[str, ndarray]:
    """The same without locked, of any model that weights can be given to: each weighting is read."""
    scores = {"attention": traces.attention}
    scores["random"] = draws.uniforms(seed, "removal", traces.doc_id, traces.offsets)[0]
    stays = []
    fractions: dict[str, list[float]] = {name: [] for name in scores}
    for row, text in enumerate(shown(words, "giving", progress)):
        document = traces.take([row])
        orders = draws.permutations(seed, "permutation", document.doc_id, len(text), DEALS)[0]  # (DEALS, n)
        outputs = probabilities(given(adapter, text, document.attention[orders]))
        stays.append(np.median(tvd(outputs, document.outputs)) < NEAR)
        for name, values in scores.items():
            values_here = values[traces.offsets[row] : traces.offsets[row + 1]]
            fractions[name].append(erased_until_flip(adapter, text, document, values_here))
    columns = {f"fraction_{name}": np.array(shares) for name, shares in fractions.items()}
    columns["flat_flips"] = (decisions(flat) != traces.predicted).astype(float)
    return columns | {"stays": np.array(stays, float)}


def erased_until_flip(adapter: Adapter, text: Words, document: Traces, values: ndarray) -> float:
    """Share of one text's n words, those of the largest values (n,) first, whose weights are erased until the decision
    flips; NaN where it does not while a word of positive weight is left."""
    order = np.argsort(-values, kind="stable")
    kept = np.argsort(order) >= np.arange(1, len(text))[:, None]  # (n - 1, n) what 1 to n - 1 erasures leave
    weights = [attending_only(document, items) for items in kept]
    weights = [weight for weight in weights if weight.any()]
    if not weights:
        return np.nan
    flips = decisions(given(adapter, text, np.array(weights))) != document.predicted
    return (1 + flips.argmax()) / len(text) if flips.any() else np.nan


def tested(documents: pd.DataFrame) -> pd.DataFrame:
    """The table of `Check`: a row for each test that was run."""
    rows = {}
    for name, (column, chance) in QUESTIONS.items():
        if column not in documents:
            continue
        values = documents[[column, chance] if chance else [column]].dropna()
        own = values[column].to_numpy()
        value, low, high, counted = mean_interval(own[None])
        line = np.nan
        if chance and counted:
            by_chance = values[chance].to_numpy()
            line = by_chance.mean()
            low, high = np.clip(line + np.array(seed_interval(own - by_chance)), -1.0 if column == "tau" else 0.0, 1.0)
            if column.startswith("top"):
                _, low, high, _ = share_interval(own[None], by_chance)
        side = int(low > line) - int(high < line) if counted >= FEW else 0
        rows[name] = {"value": value, "low": low, "high": high, "chance": line, "side": side, "texts": counted}
    return pd.DataFrame.from_dict(rows, "index").rename_axis("test")
