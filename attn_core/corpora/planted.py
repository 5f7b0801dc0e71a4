"""Documents made by this package, the same on every machine for the same seed, of which the evidence is known."""

from numbers import Integral, Real

import numpy as np

from attn_core.corpora.prepare import Prepared, Texts
from attn_core.errors import AttnError

POSITIVE = tuple("good great fine lovely superb bright sweet brilliant charming perfect warm witty".split())
NEGATIVE = tuple("bad awful poor dull dreadful bleak sour stupid boring broken cold clumsy".split())
_SYLLABLES = tuple(c + v for c in "bdfgklmnprstvz" for v in "aeiou")
FILLERS = np.random.default_rng(0).permutation([a + b for a in _SYLLABLES for b in _SYLLABLES]).tolist()
SPLIT_ROWS = 1_000_000  # doc_ids of dev and test start here and at twice as much, so they do not depend on n_train


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
    check(knobs)
    weight, documents = 1 / np.arange(1, fillers + 1), {}
    for stream, (split, n) in enumerate((("train", n_train), ("dev", n_dev), ("test", n_test))):
        rng = np.random.default_rng([seed, stream])
        labels = rng.permutation(np.arange(n) < round(positive * n)).astype(np.int64)
        lists, sentences = [_document(rng, label, knobs, weight / weight.sum()) for label in labels], None
        if longest_sentence:
            rng = np.random.default_rng([seed, stream, 1])
            sentences = [_cut(rng, len(tokens), shortest_sentence, longest_sentence) for tokens in lists]
        documents[split] = Texts(lists, labels, SPLIT_ROWS * stream + np.arange(n), sentences=sentences)
    return Prepared(documents)


def deciding(vocabulary: tuple[str, ...]) -> np.ndarray:
    """Which words of a vocabulary decide a planted text: (V,) bool."""
    return np.isin(vocabulary, POSITIVE + NEGATIVE)


def _cut(rng, words: int, shortest: int, longest: int) -> list[int]:
    """Lengths of a document's sentences, shortest to longest tokens, uniform; the last takes what is left."""
    ends = np.cumsum(rng.integers(shortest, longest + 1, size=-(-words // shortest)))
    return np.diff(np.unique(np.minimum(ends, words)), prepend=0).tolist()


def _document(rng, label, knobs, weight) -> list[str]:
    """Tokens of one document. weight: probability of each filler."""
    length, tokens = int(rng.integers(knobs["shortest"], knobs["longest"] + 1)), []
    for i in range(0 if knobs["silent"] and label == 0 else knobs["evidence"] + knobs["distractors"]):
        rng.random()  # of a knob that is no more; without it all documents would be others
        side = label if i < knobs["evidence"] else 1 - label
        tokens.append((NEGATIVE, POSITIVE)[side][rng.integers(knobs["cues"])])
    tokens += [FILLERS[i] for i in rng.choice(len(weight), size=length - len(tokens), p=weight)]
    return [tokens[i] for i in rng.permutation(len(tokens))]


def check(knobs: dict) -> None:
    """AttnError for a knob of the wrong type, or of a size that the others do not allow."""
    for name, value in knobs.items():
        kind, wanted = (Real, "a number") if name == "positive" else (Integral, "a whole number")
        if isinstance(value, bool) or not isinstance(value, kind):
            raise AttnError(f"planted: {name} is {value!r}, expected {wanted}")
    limits = dict.fromkeys(knobs, (0, np.inf)) | dict.fromkeys(("n_train", "n_dev", "n_test"), (1, SPLIT_ROWS))
    limits |= {"positive": (0, 1), "silent": (0, 1), "cues": (1, len(POSITIVE)), "fillers": (1, len(FILLERS))}
    limits |= {"evidence": (1, np.inf), "distractors": (0, knobs["evidence"] - 1)}
    limits["shortest"] = (knobs["evidence"] + knobs["distractors"], knobs["longest"])
    limits["shortest_sentence"] = (min(1, knobs["longest_sentence"]), knobs["longest_sentence"])
    for name, (least, most) in limits.items():
        if not least <= knobs[name] <= most:
            raise AttnError(f"planted: {name} is {knobs[name]}, expected from {least} to {most}")
