"""Documents made by this package, the same on every machine for the same seed, of which the evidence is known."""

from numbers import Integral, Real

import numpy as np

from attn_core.errors import AttnError
from attn_lab.data.prepared import Prepared, Texts

POSITIVE = (
    "good",
    "great",
    "fine",
    "lovely",
    "superb",
    "bright",
    "sweet",
    "brilliant",
    "charming",
    "perfect",
    "warm",
    "witty",
)
NEGATIVE = ("bad", "awful", "poor", "dull", "dreadful", "bleak", "sour", "stupid", "boring", "broken", "cold", "clumsy")
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_WORDS = [first + second for first in _SYLLABLES for second in _SYLLABLES]
FILLERS = np.random.default_rng(0).permutation(_WORDS).tolist()
SPLIT_ROWS = 1_000_000  # doc_ids of dev and test start here and at twice as much, so they do not depend on n_train


def planted(
    n_train: int = 1500,
    n_dev: int = 300,
    n_test: int = 500,
    shortest: int = 10,
    longest: int = 30,
    evidence: int = 2,
    distractors: int = 0,
    positive: float = 0.5,
    cues: int = 12,
    fillers: int = 200,
    seed: int = 0,
    shortest_sentence: int = 0,
    longest_sentence: int = 0,
    silent: int = 0,
) -> Prepared:
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
    check(knobs)
    weights = 1 / np.arange(1, fillers + 1)
    weights /= weights.sum()  # (fillers,) probability of each

    splits = {}
    for stream, (split, size) in enumerate({"train": n_train, "dev": n_dev, "test": n_test}.items()):
        rng = np.random.default_rng([seed, stream])
        labels = rng.permutation(np.arange(size) < round(positive * size)).astype(np.int64)
        lists = [_document(rng, label, knobs, weights) for label in labels]
        sentences = None
        if longest_sentence:
            rng = np.random.default_rng([seed, stream, 1])  # of its own: the words stay those of whole texts
            sentences = [_cut(rng, len(tokens), shortest_sentence, longest_sentence) for tokens in lists]
        splits[split] = Texts(lists, labels, SPLIT_ROWS * stream + np.arange(size), sentences=sentences)
    return Prepared(splits)


def deciding(vocabulary: tuple[str, ...]) -> np.ndarray:
    """Which words of a vocabulary decide a planted text: (V,) bool."""
    return np.isin(vocabulary, POSITIVE + NEGATIVE)


def _cut(rng, words: int, shortest: int, longest: int) -> list[int]:
    """Lengths of a document's sentences, shortest to longest tokens, uniform; the last takes what is left."""
    most = -(-words // shortest)  # sentences, if all were as short as they may be
    ends = np.cumsum(rng.integers(shortest, longest + 1, size=most))
    ends = np.unique(np.minimum(ends, words))
    return np.diff(ends, prepend=0).tolist()


def _document(rng, label, knobs, weights) -> list[str]:
    """Tokens of one document. weights: probability of each filler."""
    length = int(rng.integers(knobs["shortest"], knobs["longest"] + 1))
    cues = 0 if knobs["silent"] and label == 0 else knobs["evidence"] + knobs["distractors"]
    tokens = []
    for i in range(cues):
        rng.random()  # of a knob that is no more; without it all documents would be others
        side = label if i < knobs["evidence"] else 1 - label
        words = POSITIVE if side else NEGATIVE
        tokens.append(words[rng.integers(knobs["cues"])])
    fillers = rng.choice(len(weights), size=length - len(tokens), p=weights)
    tokens += [FILLERS[i] for i in fillers]
    return [tokens[i] for i in rng.permutation(len(tokens))]


def check(knobs: dict) -> None:
    """AttnError for a knob of the wrong type, or of a size that the others do not allow."""
    for name, value in knobs.items():
        kind, wanted = (Real, "a number") if name == "positive" else (Integral, "a whole number")
        if isinstance(value, bool) or not isinstance(value, kind):
            raise AttnError(f"planted: {name} is {value!r}, expected {wanted}")
    limits = dict.fromkeys(knobs, (0, np.inf)) | dict.fromkeys(("n_train", "n_dev", "n_test"), (1, SPLIT_ROWS))
    limits |= {
        "shortest": (knobs["evidence"] + knobs["distractors"], knobs["longest"]),
        "evidence": (1, np.inf),
        "distractors": (0, knobs["evidence"] - 1),
        "positive": (0, 1),
        "cues": (1, len(POSITIVE)),
        "fillers": (1, len(FILLERS)),
        "shortest_sentence": (min(1, knobs["longest_sentence"]), knobs["longest_sentence"]),
        "silent": (0, 1),
    }
    for name, (least, most) in limits.items():
        if not least <= knobs[name] <= most:
            raise AttnError(f"planted: {name} is {knobs[name]}, expected from {least} to {most}")
