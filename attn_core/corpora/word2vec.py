"""The word vectors of a data set cut into sentences: word2vec on its own training and dev texts (specification 2.2).

gensim's CBOW, 200 wide, one training sentence a sentence, rare words already the one unknown word, which so gets a
vector of its own; every row of length one. Deviations from the authors: one thread and a fixed seed, so that the same
data give the same vectors; training texts that the length filter leaves out are not read, so words found nowhere else
keep a zero row; the number of passes of the other sets is not known and is gensim's own.
"""

import sys
import time

import numpy as np

from attn_core.corpora import catalogue
from attn_core.corpora.batches import Documents, Encoded
from attn_core.errors import AttnError

WIDTH = 200
RECIPES = {f"{name}-{WIDTH}": name for name, entry in catalogue.CATALOGUE.items() if entry.cut}
"""Recipe -> the data set whose texts it is trained on."""

PARAMETERS = {
    "algorithm": "word2vec CBOW, rows of length one",
    "vector_size": WIDTH,
    "window": 5,
    "negative": 5,
    "min_count": 0,
    "seed": 1,
    "workers": 1,
}
PASSES = {"amazon": 30, "yelp": 30}
USUAL_PASSES = 5  # gensim's default


def parameters(data: Encoded) -> dict:
    """Everything the vectors of a data set depend on, gensim's version apart."""
    return {**PARAMETERS, "epochs": PASSES.get(data.name, USUAL_PASSES), "data": data.fingerprint}


def sentences(documents: Documents):
    """The sentences of a split one by one, (n,) ids, START and END left out."""
    inner = np.ones(len(documents.ids), dtype=bool)
    inner[documents.offsets[:-1]] = inner[documents.offsets[1:] - 1] = False
    words = documents.ids[inner]
    ends = np.cumsum(documents.sentence_lengths)
    for start, end in zip(ends - documents.sentence_lengths, ends, strict=True):
        yield words[start:end]


def train(data: Encoded, options: dict | None = None) -> tuple[list[str], np.ndarray, str, float]:
    """(words, (W, 200) float32 of length one, gensim's version, seconds) from the arrays of a data set.

    options: ``parameters(data)`` or others in their form. Errors: AttnError where gensim is not installed.
    """
    try:
        import gensim
        from gensim.models import Word2Vec
    except ImportError as error:
        raise AttnError(
            f"gensim is needed to train the vectors '{data.name}-{WIDTH}' and is not installed; install it, or copy "
            "the folder 'vectors' of another machine's cache"
        ) from error
    from tqdm import tqdm

    options = parameters(data) if options is None else options
    chosen = {name: value for name, value in options.items() if name not in ("algorithm", "data")}
    parts = [data.splits[split] for split in ("train", "dev")]
    words = np.array(data.vocabulary, dtype=object)
    total = sum(len(part.sentence_lengths) for part in parts) * (options["epochs"] + 1)  # one pass counts the words
    begun = time.monotonic()
    with tqdm(total=total, unit="sentence", desc="word vectors", file=sys.stderr, mininterval=5) as bar:

        class Passes:
            def __iter__(self):
                for part in parts:
                    for ids in sentences(part):
                        bar.update()
                        yield words[ids].tolist()

        model = Word2Vec(sentences=Passes(), sg=0, **chosen)
    rows = model.wv.vectors.astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return list(model.wv.index_to_key), rows.astype(np.float32), gensim.__version__, time.monotonic() - begun
