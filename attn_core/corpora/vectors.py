"""Word vectors: a recipe by name, or a text file of the user.

Jain & Wallace start from fastText vectors of the Simple English Wikipedia. ``indomain-300`` stands in for them
where no file can be had: fastText vectors trained on a fixed list of training texts, the same on every machine.
Words without a vector get the zero row, and so do <pad>, <unk>, <s> and </s>: that is the authors' path for every
text set.
"""

import hashlib
import io
import json
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from attn_core.corpora import load, text, word2vec
from attn_core.errors import AttnError

WIDTH = 300
RECIPES = {"random": WIDTH, "random-50": 50, "indomain-300": WIDTH, "ppmi-300": WIDTH, "ppmi-300-small": WIDTH}
"""Name -> numbers per word."""
RANDOM_SEED = 0
KNOWN_FILES = {
    "sha256:16f94f4d3fd892d9cc90f50f90d01f8be79ccbdf11bcb9aa7cb7614a3b11744e": "GloVe word vectors (6B, 100 numbers, "
    "the 2,604 most frequent words)",
}
"""Vector files that archived runs start from, by content (`runs.vectors_identity`)."""

PARAMETERS = {
    "algorithm": "fastText skip-gram",
    "vector_size": WIDTH,
    "window": 5,
    "negative": 5,
    "min_count": 2,
    "min_n": 3,
    "max_n": 6,
    "bucket": 200_000,
    "epochs": 8,
    "sample": 1e-4,
    "seed": 1,
    "workers": 1,
}

COUNTED = {
    "algorithm": "positive pointwise mutual information, randomised singular value decomposition",
    "vector_size": WIDTH,
    "window": 5,
    "min_count": 2,
    "smoothing": 0.75,
    "singular_power": 0.5,
    "rms": 0.3,
    "passes": 2,
    "seed": 0,
}
"""Parameters of 'ppmi-300', see ``count``. rms: the size of a number, which a training starts from."""

SHARED = {"indomain-300": PARAMETERS, "ppmi-300": COUNTED, "ppmi-300-small": COUNTED | {"rms": 0.19}}
"""Recipes over the fixed list of training texts. 'ppmi-300-small' is a control: 'ppmi-300' at the size of the numbers
of 'indomain-300'."""


def vectors(recipe: str, vocabulary) -> tuple[np.ndarray, str]:
    """Start vectors for a vocabulary: ((V, 300) float32, (V, 50) for 'random-50', a file's own width; fingerprint).

    recipe: 'random' (every row but <pad> standard normal, the default of an embedding layer; row i depends on i alone,
    never on the run's seed), 'random-50' (the same 50 wide, the authors' choice for bAbI), 'indomain-300' (see
    ``train``), 'ppmi-300' (see ``count``: the same texts in half a minute; '-small': see SHARED), 'imdb_stars-200' and
    the like for each set cut into sentences (see ``word2vec``) or the path of a text file, one word and its numbers a
    line, blanks between, an optional first line with count and width (fastText, GloVe). Trained vectors are made once,
    then cached. fingerprint: of the recipe's texts and parameters, or the SHA-256 of the file. Errors: AttnError.
    """
    vocabulary = tuple(vocabulary)
    if recipe in ("random", "random-50"):
        width = RECIPES[recipe]
        rows = np.random.default_rng(RANDOM_SEED).standard_normal((len(vocabulary), width), dtype=np.float32)
        rows[text.PAD] = 0
        return rows, _digest(["random", "standard normal", RANDOM_SEED, width])
    if recipe in SHARED or recipe in word2vec.RECIPES:
        words, matrix, fingerprint = _shared(recipe) if recipe in SHARED else _own(recipe)
        index = {word: i for i, word in enumerate(words)}
        rows = np.zeros((len(vocabulary), matrix.shape[1]), dtype=np.float32)
        known = [row for row, word in enumerate(vocabulary) if word in index]  # no text of 'indomain-300' holds <unk>
        rows[known] = matrix[[index[vocabulary[row]] for row in known]]
        return rows, fingerprint
    path = Path(recipe)
    if not path.is_file():
        known = ", ".join(RECIPES)
        own = ", ".join(word2vec.RECIPES)
        raise AttnError(f"unknown vectors '{recipe}': neither a recipe ({known}) nor a file, nor one of {own}")
    return read_text(path, vocabulary), load.sha256(path)


def _digest(parts) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def read_text(path: Path, vocabulary) -> np.ndarray:
    """Rows of a fastText or GloVe text file for a vocabulary, (V, width) float32; the first of repeated words counts.

    The width is the first line's: its count and width (fastText), else its numbers (GloVe). A word may hold blanks
    (GloVe 840B has a few such). Errors: AttnError naming file and line for a wrong number of columns anywhere, and for
    numbers that cannot be read or are not finite in the rows of vocabulary words (other rows are not parsed).
    """
    index = {word: i for i, word in enumerate(vocabulary) if i >= len(text.SPECIALS)}
    with open(path, "rb") as file:
        first = file.readline().split()
        width = int(first[1]) if len(first) == 2 and first[1].isdigit() else len(first) - 1
        if width < 1:
            raise AttnError(f"{path}, line 1: no numbers; expected a word and its vector, or count and width")
        rows = np.zeros((len(vocabulary), width), dtype=np.float32)
        file.seek(0)
        for number, line in enumerate(file, start=1):
            columns = line.split()
            if number == 1 and len(columns) == 2:  # count and width
                continue
            extra = columns[1:-width]  # further parts of a word with blanks
            if len(columns) < width + 1 or (extra and all(map(_is_number, extra))):
                raise AttnError(f"{path}, line {number}: {max(len(columns) - 1, 0)} numbers, expected {width}")
            try:
                word = b" ".join(columns[:-width]).decode()
            except UnicodeDecodeError as error:
                raise AttnError(f"{path}, line {number}: the word is not UTF-8") from error
            row = index.pop(word, None)
            if row is None:
                continue
            try:
                values = np.array(columns[-width:], dtype=np.float64)
            except ValueError as error:
                raise AttnError(f"{path}, line {number}: '{word}' is not followed by {width} numbers") from error
            if not np.isfinite(values).all():
                raise AttnError(f"{path}, line {number}: the vector of '{word}' holds NaN or infinity")
            rows[row] = values
    return rows


def _is_number(column: bytes) -> bool:
    try:
        float(column)
    except ValueError:
        return False
    return True


def _shared(recipe: str) -> tuple[list[str], np.ndarray, str]:
    """Words, (W, 300) float32 and fingerprint of the vectors that come of the fixed list of training texts."""
    parameters = SHARED[recipe]
    return _kept(recipe, parameters, train if parameters is PARAMETERS else lambda: count(parameters=parameters))


def _own(recipe: str) -> tuple[list[str], np.ndarray, str]:
    """Words, (W, 200) float32 and fingerprint of the vectors a data set gets from its own texts."""
    from attn_core.corpora.encoding import encode

    data = encode(word2vec.RECIPES[recipe])
    parameters = word2vec.parameters(data)

    def trained():
        words, rows, version, seconds = word2vec.train(data, parameters)
        return words, rows, _digest([parameters, version]), seconds

    return _kept(recipe, parameters, trained)


def _kept(name: str, parameters: dict, make) -> tuple[list[str], np.ndarray, str]:
    """Words, rows and fingerprint from the cache, made first if they are not there, damaged or of other parameters."""
    stem = load.cache_folder() / "vectors" / name
    notes, matrix = stem.with_suffix(".json"), stem.with_suffix(".npy")
    if notes.is_file() and matrix.is_file():
        try:
            about = json.loads(notes.read_text(encoding="utf-8"))
            if about["parameters"] == parameters:
                if load.sha256(matrix) != about["sha256"]:
                    raise ValueError("checksum differs")
                return about["words"], np.load(matrix, mmap_mode="r"), about["fingerprint"]
        except (ValueError, KeyError, OSError) as error:
            load.say(f"the cached vectors {matrix} are damaged ({type(error).__name__}); they are trained anew")
    words, rows, fingerprint, seconds = make()
    try:
        write(stem, words, rows, fingerprint, seconds, parameters)
    except OSError as error:
        raise AttnError(
            f"the trained vectors cannot be kept in {stem.parent} ({error.strerror}); set ATTN_CACHE to another folder"
        ) from error
    return words, rows, fingerprint


def write(stem: Path, words: list[str], rows: np.ndarray, fingerprint: str, seconds=0.0, parameters=PARAMETERS) -> None:
    """Vectors as <stem>.npy and <stem>.json (words, parameters, fingerprint, checksum), each replaced in one step."""
    packed = io.BytesIO()
    np.save(packed, np.ascontiguousarray(rows, dtype=np.float32))
    data = packed.getvalue()
    about = {
        "fingerprint": fingerprint,
        "parameters": parameters,
        "sha256": hashlib.sha256(data).hexdigest(),
        "seconds": round(seconds, 1),
        "words": list(words),
    }
    with load.replacing(stem.with_suffix(".npy")) as file:
        file.write(data)
    with load.replacing(stem.with_suffix(".json")) as file:
        file.write(json.dumps(about).encode())


def excerpt(vocabularies, folder: Path) -> None:
    """The rows of 'indomain-300' for some vocabularies only, as a small cache in ``folder`` for machines that just
    train.

    The fingerprint stays that of the whole; a word outside the vocabularies has no vector there.
    """
    words, matrix, fingerprint = _shared("indomain-300")
    wanted = {word for vocabulary in vocabularies for word in vocabulary}
    kept = [i for i, word in enumerate(words) if word in wanted]
    write(Path(folder) / "vectors" / "indomain-300", [words[i] for i in kept], matrix[kept], fingerprint)


def training_texts() -> list[list[str]]:
    """Token lists of the fixed training texts of 'indomain-300', in an order that depends on the texts alone
    (sorted by SHA-256).

    SST train; IMDB train, line breaks removed; the first 10,429 rows of AG News train, title and description; 20
    Newsgroups by-date train without baseball and hockey, headers, footers and quotes removed; the training split of
    corpus '20news'. No text of any test split is in it. Development texts of 'imdb' and 'agnews', which are cut from
    the training files, are: a development word has always a vector, so these scores flatter a little. One tokenization
    for all: ``text.simple_tokens``.
    """
    from attn_core.corpora.encoding import encode

    sst = [t.replace("-LRB-", "").replace("-RRB-", " ") for t in load.read("sst", "train")["text"]]
    imdb = [t.replace("<br />", " ") for t in load.read("imdb", "train")["text"]]
    news = load.read("agnews", "train")
    news = news[news["part"] == "first_rows"]
    agnews = [f"{title} {description}" for title, description in zip(news["title"], news["description"], strict=True)]
    posts = {split: load.read("20news", split) for split in ("train", "test")}
    others = posts["train"][~posts["train"]["group"].isin(["rec.sport.baseball", "rec.sport.hockey"])]["text"]
    both = [*posts["train"]["text"], *posts["test"]["text"]]
    sports = [both[row] for row in encode("20news").splits["train"].doc_ids]
    newsgroups = [text.strip_post(t) for t in [*others, *sports]]
    lists = [text.simple_tokens(t) for t in [*sst, *imdb, *agnews, *newsgroups]]
    return sorted(filter(None, lists), key=lambda tokens: hashlib.sha256(" ".join(tokens).encode()).digest())


def train(texts=None, parameters=None) -> tuple[list[str], np.ndarray, str, float]:
    """fastText vectors with subwords: (words, (W, 300) float32, fingerprint, seconds), one thread, fixed seed.

    texts: token lists, by default ``training_texts``. The fingerprint covers texts, parameters and gensim's
    version. Progress with the time that remains goes to stderr. Deviation from the papers: they use vectors trained
    on the Simple English Wikipedia.
    """
    try:
        import gensim
        from gensim.models import FastText
    except ImportError as error:
        raise AttnError(
            "gensim is needed to train the vectors 'indomain-300' and is not installed; install it or name a file"
        ) from error
    from tqdm import tqdm

    texts = training_texts() if texts is None else texts
    parameters = PARAMETERS if parameters is None else parameters
    digest = hashlib.sha256()
    for tokens in texts:
        digest.update(" ".join(tokens).encode() + b"\n")
    fingerprint = _digest([digest.hexdigest(), parameters, gensim.__version__])
    options = {name: value for name, value in parameters.items() if name != "algorithm"}
    begun = time.monotonic()
    passes = options["epochs"] + 1  # the first counts the words
    with tqdm(total=passes * len(texts), unit="text", desc="word vectors", file=sys.stderr, mininterval=5) as bar:

        class Passes:
            def __iter__(self):
                for tokens in texts:
                    bar.update()
                    yield tokens

        try:
            model = FastText(sentences=Passes(), sg=1, **options)
        except RuntimeError as error:  # no word left after min_count
            raise AttnError(f"the word vectors cannot be trained on these {len(texts)} texts: {error}") from error
    return list(model.wv.index_to_key), model.wv.vectors.astype(np.float32), fingerprint, time.monotonic() - begun


def count(texts=None, parameters=None) -> tuple[list[str], np.ndarray, str, float]:
    """Word vectors by counting: (words, (W, 300) float32, fingerprint, seconds), the same form as ``train``.

    How often words stand within `window` of each other, nearer counting more (5/5 to 1/5), contexts to the power
    `smoothing`; positive pointwise mutual information; a randomised singular value decomposition, singular values to
    the power `singular_power`; the whole scaled to a root mean square of `rms` (Levy, Goldberg & Dagan 2015). A word
    seen less than min_count times has no vector. The signs and digits of a decomposition may differ by library, hence
    scikit-learn's version in the fingerprint.
    """
    import scipy.sparse
    import sklearn
    from sklearn.utils.extmath import randomized_svd

    texts = training_texts() if texts is None else texts
    own = COUNTED if parameters is None else parameters
    begun = time.monotonic()
    digest, seen = hashlib.sha256(), Counter()
    for tokens in texts:
        digest.update(" ".join(tokens).encode() + b"\n")
        seen.update(tokens)
    words = [word for word, times in seen.most_common() if times >= own["min_count"]]
    if len(words) <= own["vector_size"]:
        raise AttnError(
            f"vectors by counting need more than {own['vector_size']} words seen {own['min_count']} times, "
            f"these {len(texts)} texts have {len(words)}; take 'random', or more texts"
        )
    place = {word: i for i, word in enumerate(words)}
    ids = np.fromiter((place.get(word, -1) for tokens in texts for word in tokens), np.int32)
    text_of = np.repeat(np.arange(len(texts)), [len(tokens) for tokens in texts])
    together = scipy.sparse.csr_matrix((len(words), len(words)), dtype=np.float32)
    for apart in range(1, own["window"] + 1):
        first, second = ids[:-apart], ids[apart:]
        pairs = (text_of[:-apart] == text_of[apart:]) & (first >= 0) & (second >= 0)
        weight = np.full(pairs.sum(), (own["window"] + 1 - apart) / own["window"], np.float32)
        together += scipy.sparse.coo_matrix((weight, (first[pairs], second[pairs])), together.shape).tocsr()
    pairs = (together + together.T).tocoo()
    times = np.bincount(pairs.row, pairs.data, len(words))
    context = times ** own["smoothing"]
    information = np.log(pairs.data.astype(np.float64) * context.sum() / (times[pairs.row] * context[pairs.col]))
    positive = information > 0
    held = (information[positive].astype(np.float32), (pairs.row[positive], pairs.col[positive]))
    left, size, _ = randomized_svd(
        scipy.sparse.csr_matrix(held, together.shape), own["vector_size"], n_iter=own["passes"],
        random_state=own["seed"],
    )  # fmt: skip
    rows = left * size ** own["singular_power"]
    rows *= own["rms"] / np.sqrt(np.mean(np.square(rows)))
    fingerprint = _digest([digest.hexdigest(), own, sklearn.__version__])
    return words, rows.astype(np.float32), fingerprint, time.monotonic() - begun
