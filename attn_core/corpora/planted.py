"""Documents made by this package, the same on every machine for the same seed, of which the evidence is known."""

from numbers import Integral, Real

import numpy as np

from attn_core.corpora.prepare import Prepared, Texts
from attn_core.errors import AttnError

POSITIVE = tuple("good great fine lovely superb bright sweet brilliant charming perfect warm witty".split())
NEGATIVE = tuple("bad awful poor dull dreadful bleak sour stupid boring broken cold clumsy".split())
_SYLLABLES = tuple(c + v for c in "bdfgklmnprstvz" for v in "aeiou")
SPLIT_ROWS = 1_000_000  # doc_ids of dev and test start here and at twice as much, so they do not depend on n_train
MOST_FILLERS = len(_SYLLABLES) ** 2
LIMITS = {
    **dict.fromkeys(("n_train", "n_dev", "n_test"), (1, SPLIT_ROWS)),
    **dict.fromkeys(("positive", "silent"), (0, 1)),
    **{"evidence": (1, np.inf), "cues": (1, len(POSITIVE)), "fillers": (1, MOST_FILLERS)},
}
"""Knob -> least and most; of the others 0 and no bound."""


def planted(
    n_train: int = 1500, n_dev: int = 300, n_test: int = 500, shortest: int = 10, longest: int = 30, evidence: int = 2,
    distractors: int = 0, positive: float = 0.5, cues: int = 12, fillers: int = 200, seed: int = 0,
    shortest_sentence: int = 0, longest_sentence: int = 0, silent: int = 0,
) -> Prepared:  # fmt: skip
    """Filler words with a few cue words in between; the majority of the cues is the label.

    evidence: cues that speak for the label (more than one = redundant, any of them suffices). distractors: cues
    that speak against it, fewer than ``evidence``. positive: share of label 1, met exactly up to rounding. cues:
    different cue words per class (at most 12). fillers: different filler words; the r-th is drawn with probability
    proportional to 1 / r. shortest, longest: tokens per document, uniform. Each split has its own random stream, so a
    larger n_train leaves dev and test as they are. shortest_sentence, longest_sentence: the same documents cut into
    sentences of so many tokens, uniform; a document's last sentence may be shorter; 0 = not cut. silent: 1 leaves
    documents of class 0 without any cue, so that only class 1 has decisive tokens.
    """
    knobs = dict(locals())
    _check(knobs)
    words = [a + b for a in _SYLLABLES for b in _SYLLABLES]
    words = [words[i] for i in np.random.default_rng(0).permutation(MOST_FILLERS)[:fillers]]  # the same for every seed
    weight, documents = 1 / np.arange(1, fillers + 1), {}
    for stream, (split, n) in enumerate((("train", n_train), ("dev", n_dev), ("test", n_test))):
        rng = np.random.default_rng([seed, stream])
        labels = rng.permutation(np.arange(n) < round(positive * n)).astype(np.int64)
        lists = [_document(rng, label, knobs, words, weight / weight.sum()) for label in labels]
        sentences = None
        if longest_sentence:
            rng = np.random.default_rng([seed, stream, 1])
            sentences = [_cut(rng, len(tokens), shortest_sentence, longest_sentence) for tokens in lists]
        documents[split] = Texts(lists, labels, SPLIT_ROWS * stream + np.arange(n), sentences=sentences)
    return Prepared(documents, notes={"knobs": knobs})


def deciding(vocabulary: tuple[str, ...]) -> np.ndarray:
    """Which words of a vocabulary decide a planted text: (V,) bool."""
    return np.isin(vocabulary, POSITIVE + NEGATIVE)


def _cut(rng, words: int, shortest: int, longest: int) -> list[int]:
    """Lengths of a document's sentences, shortest to longest tokens, uniform; the last takes what is left."""
    ends = np.minimum(np.cumsum(rng.integers(shortest, longest + 1, size=-(-words // shortest))), words)
    return np.diff(ends[: np.searchsorted(ends, words) + 1], prepend=0).tolist()


def _document(rng, label, knobs, words, weight) -> list[str]:
    """Tokens of one document."""
    length = int(rng.integers(knobs["shortest"], knobs["longest"] + 1))
    tokens = []
    for i in range(0 if knobs["silent"] and label == 0 else knobs["evidence"] + knobs["distractors"]):
        rng.random()  # of a knob that is no more; without it all documents would be others
        side = label if i < knobs["evidence"] else 1 - label
        tokens.append((NEGATIVE, POSITIVE)[side][rng.integers(knobs["cues"])])
    tokens += [words[i] for i in rng.choice(len(words), size=length - len(tokens), p=weight)]
    return [tokens[i] for i in rng.permutation(len(tokens))]


def _check(k: dict) -> None:
    """AttnError for a knob of the wrong type or size, or a combination that cannot be met."""
    for name, value in k.items():
        kind, wanted = (Real, "a number") if name == "positive" else (Integral, "a whole number")
        low, high = LIMITS.get(name, (0, np.inf))
        if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
            raise AttnError(f"planted: {name} is {value!r}, expected {wanted} from {low} to {high}")
    least, most = k["shortest_sentence"], k["longest_sentence"]
    broken = {
        "distractors must be fewer than evidence": k["distractors"] >= k["evidence"],
        "shortest must not exceed longest": k["shortest"] > k["longest"],
        "shortest must leave room for all cues": k["shortest"] < k["evidence"] + k["distractors"],
        "shortest_sentence must be at least 1 and not exceed longest_sentence (both 0: not cut)":
            not 0 < least <= most and (least, most) != (0, 0),
    }  # fmt: skip
    if any(broken.values()):
        raise AttnError(f"planted: {next(rule for rule, found in broken.items() if found)}")
