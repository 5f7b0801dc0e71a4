"""Word vectors: a recipe by name, or a text file of the user.

Jain & Wallace start from fastText vectors of the Simple English Wikipedia. ``indomain-300`` stands in for them
where no file can be had: trained on a fixed list of training texts, the same on every machine. Words without a vector
get the zero row, and so do <pad>, <unk>, <s> and </s>: the authors' path for every text set. Data sets cut into
sentences have each their own, on their training and dev texts (Serrano & Smith, specification 2.2). The recipes'
parameters stand in catalogue.yml.
"""

import codecs
import hashlib
import re
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np
import pandas

from attn_core.documents import PAD, Encoded
from attn_core.errors import AttnError, say
from attn_lab.data import catalogue, cleaning, files, tables
from attn_lab.data.arrays import word_ids
from attn_lab.data.encoding import encode
from attn_lab.data.prepared import TokenLists

RANDOM_SEED = 0
WIDEST = 10_000
"""Numbers a word at most in a file: more is no vector file."""


def vectors(recipe: str, vocabulary) -> tuple[np.ndarray, str]:
    """Start vectors for a vocabulary: ((V, 300) float32, (V, 50) for 'random-50', a file's own width; fingerprint).

    recipe: 'random' (every row but <pad> standard normal; row i depends on i alone, never on the run's seed),
    'random-50' (the same 50 wide, the authors' choice for bAbI), 'indomain-300' (see ``train``), 'ppmi-300' (see
    ``count``; '-small': a control), 'imdb_stars-200' and the like for each set cut into sentences (see ``sentences``)
    or the path of a text file (see ``read_text``). fingerprint: of texts and parameters, or of the file. One line on
    stderr says how many of the vocabulary's words a file covers, and where a recipe covers none; AttnError where a file
    covers none: a training from zeros alone is not what was asked for.
    """
    vocabulary = tuple(vocabulary)
    if recipe in catalogue.RANDOM:
        width = catalogue.RANDOM[recipe]
        rng = np.random.default_rng(RANDOM_SEED)
        rows = rng.standard_normal((len(vocabulary), width), dtype=np.float32)
        rows[PAD] = 0
        return rows, files.digest(["random", "standard normal", RANDOM_SEED, width])
    if recipe in catalogue.VECTORS:
        about, arrays = of_recipe(recipe)
        table = pandas.DataFrame(arrays["rows"], about["words"])
        rows = table.reindex(list(vocabulary), fill_value=0).to_numpy(np.float32)
        if not rows.any():
            say(f"the vectors '{recipe}' hold none of the vocabulary's words: all start from zeros")
        return rows, about["fingerprint"]
    path = Path(recipe)
    if not path.is_file():
        raise AttnError(f"unknown vectors '{recipe}': no file, and no recipe ({', '.join(catalogue.RECIPES)})")
    return read_text(path, vocabulary), files.sha256(path)


def read_text(path: Path, vocabulary) -> np.ndarray:
    """Rows of a fastText or GloVe text file, plain or .gz, for a vocabulary: (V, width) float32; the first of repeated
    words counts, and how many words are covered is said on stderr.

    The width is the first line's: its count and width (fastText), else its numbers (GloVe). A word may hold blanks
    (GloVe 840B has a few such) or be one. AttnError names file and line for a wrong number of columns anywhere, and for
    numbers that are none or not finite in the rows of vocabulary words (other rows are not parsed); the file alone
    where it is damaged or covers no word.
    """
    index = word_ids(vocabulary)
    words = len(index)
    with tables.reading(path), tables.unpacked(path, "rb") as file:
        first = file.readline().removeprefix(codecs.BOM_UTF8)
        fields = first.split()
        has_heading = len(fields) == 2 and fields[1].isdigit()  # count and width
        columns = len(fields) - (not first[:1].isspace())  # without the word, unless it is a blank
        width = int(fields[1]) if has_heading else columns
        if not 1 <= width <= WIDEST:
            raise AttnError(
                f"{path}, line 1: {width} numbers a word; expected a word and its vector, or count and width, "
                f"with 1 to {WIDEST} numbers"
            )
        rows = np.zeros((len(vocabulary), width), dtype=np.float32)
        for number, line in enumerate(file if has_heading else chain([first], file), 1 + has_heading):
            try:
                word, numbers = parted(line, width)
                row = index.pop(word.decode(), None)
                if row is not None:
                    rows[row] = np.array(numbers, dtype=np.float64)
                    if not np.isfinite(rows[row]).all():
                        raise ValueError(f"the vector of '{vocabulary[row]}' holds NaN or infinity")
            except ValueError as error:  # bytes that are not UTF-8 among them
                raise AttnError(f"{path}, line {number}: {error}") from error
    if words and len(index) == words:
        raise AttnError(
            f"{path} holds no vector of the vocabulary's {words} words; are they of another language, or in capitals? "
            f"Take another file, or a recipe ({', '.join(catalogue.RECIPES)})"
        )
    print(f"{path}: vectors of {words - len(index)} of {words} words, the others start from zeros", file=sys.stderr)
    return rows


def parted(line: bytes, width: int) -> tuple[bytes, list[bytes]]:
    """Word (empty where it is a blank) and numbers of a line; ValueError for another number of these."""
    word, *numbers = line.rsplit(maxsplit=width) or [b""]
    if len(numbers) == width - 1 and line[:1].isspace():
        return b"", [word, *numbers]
    if len(numbers) < width or re.search(rb" [-+]?[\d.]*\d$", word):
        raise ValueError(f"{max(len(line.split()) - 1, 0)} numbers, expected {width}")
    return word, numbers


def of_recipe(recipe: str) -> files.Kept:
    """Words and fingerprint of a recipe, and rows (W, width) float32, from the cache or trained or counted now."""
    parameters = catalogue.VECTORS[recipe]
    corpus = recipe.removesuffix("-200")
    of_corpus = corpus in catalogue.CATALOGUE
    if of_corpus:
        data = encode(corpus)
        parameters = parameters | {"data": data.fingerprint}

    learn = count if "rms" in parameters else train

    def make() -> files.Kept:
        if learn is train:
            try:
                import gensim  # noqa: F401
            except ModuleNotFoundError as error:
                raise AttnError(
                    f"word vectors '{recipe}' need gensim; install it with: pip install \"attn-core[vectors]\""
                ) from error
        lists = sentences(data) if of_corpus else training_texts()
        words, rows, version = learn(lists, parameters)
        identity = [parameters, version]
        if not of_corpus:
            written = "".join(f"{' '.join(tokens)}\n" for tokens in lists)
            identity = [hashlib.sha256(written.encode()).hexdigest(), *identity]
        return {"fingerprint": files.digest(identity), "words": words}, {"rows": rows}

    def source() -> list[str]:
        read = () if of_corpus else ("sst", "imdb", "agnews", "20news")
        return [files.sha256(path) for path in files.own_tables(*read)]

    return files.cached(files.cache_folder() / "vectors" / recipe, parameters, source, make)


def training_texts() -> TokenLists:
    """Token lists of the fixed training texts of 'indomain-300', sorted by their SHA-256.

    SST train; IMDB train, line breaks removed; the first 10,429 rows of AG News train, title and description; 20
    Newsgroups by-date train without baseball and hockey, headers, footers and quotes removed; the training split of
    corpus '20news'. Tokens: ``cleaning.simple_tokens``. No test text is in it; development texts of 'imdb' and 'agnews'
    are, so that their words always have a vector and these scores flatter a little.
    """
    sst = tables.read("sst", "train")["text"]
    sst = sst.str.replace("-LRB-", "").str.replace("-RRB-", " ")
    imdb = tables.read("imdb", "train")["text"].str.replace("<br />", " ")
    news = tables.read("agnews", "train")[:10_429]
    posts = tables.read("20news", "train")
    elsewhere = posts["text"][~posts["group"].isin(["rec.sport.baseball", "rec.sport.hockey"])]
    all_posts = pandas.concat([posts["text"], tables.read("20news", "test")["text"]])
    sports = all_posts.iloc[encode("20news").splits["train"].doc_ids]
    newsgroups = pandas.concat([elsewhere, sports]).map(cleaning.strip_post)

    described = news["title"] + " " + news["description"]
    raw = pandas.concat([sst, imdb, described, newsgroups])
    lists = filter(None, map(cleaning.simple_tokens, raw))
    return sorted(lists, key=lambda tokens: hashlib.sha256(" ".join(tokens).encode()).digest())


def sentences(data: Encoded) -> TokenLists:
    """Training and dev sentences of a set that is cut into them, rare words already the one unknown word, which so gets
    a vector of its own. Deviation: training texts that the length filter leaves out are not read."""
    vocabulary = np.array(data.vocabulary, dtype=object)
    lists = []
    for split in ("train", "dev"):
        documents = data.splits[split]
        assert documents.sentence_lengths is not None
        words = vocabulary[documents.ids[documents.inner]]
        lists += [sentence.tolist() for sentence in np.split(words, np.cumsum(documents.sentence_lengths[:-1]))]
    return lists


def train(texts: TokenLists, parameters: dict) -> tuple[list[str], np.ndarray, str]:
    """gensim's vectors of token lists: (words, (W, width) float32, gensim's version); progress goes to stderr.

    fastText's skip-gram, with subwords, or word2vec's CBOW, rows of length one (Serrano & Smith). Deviations from the
    latter: one thread and a fixed seed, so that the same texts give the same vectors; the number of passes of the sets
    but Amazon and Yelp is not known and is gensim's own. AttnError where no word is left.
    """
    import gensim
    from tqdm import tqdm

    class Passes:
        def __iter__(self):
            for tokens in texts:
                bar.update()
                yield tokens

    subwords = "bucket" in parameters
    kind = gensim.models.FastText if subwords else gensim.models.Word2Vec
    options = {name: value for name, value in parameters.items() if name not in ("algorithm", "data")}
    total = len(texts) * (options["epochs"] + 1)  # the first pass counts the words
    with tqdm(total=total, unit="text", desc="word vectors", file=sys.stderr, mininterval=5) as bar:
        try:
            trained = kind(sentences=Passes(), sg=int(subwords), **options).wv
        except RuntimeError as error:  # no word left after min_count
            raise AttnError(f"the word vectors cannot be trained on these {len(texts)} texts: {error}") from error
    rows = trained.vectors.astype(np.float64)
    if not subwords:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return trained.index_to_key, rows.astype(np.float32), gensim.__version__


def count(texts: TokenLists, parameters: dict) -> tuple[list[str], np.ndarray, str]:
    """Word vectors by counting: (words, (W, width) float32, scikit-learn's version).

    How often words stand within `window` of each other, nearer counting more (5/5 to 1/5), contexts to the power
    `smoothing`; positive pointwise mutual information; a randomised singular value decomposition, singular values to
    the power `singular_power`; the whole scaled to a root mean square of `rms` (Levy, Goldberg & Dagan 2015). A word
    seen less than min_count times has no vector. Signs and digits of a decomposition may differ by version.
    """
    import scipy.sparse
    import sklearn
    from sklearn.utils.extmath import randomized_svd

    width = parameters["vector_size"]
    times_seen = Counter(chain.from_iterable(texts))
    words = [word for word, times in times_seen.most_common() if times >= parameters["min_count"]]
    if len(words) <= width:
        raise AttnError(
            f"vectors by counting need more than {width} words seen {parameters['min_count']} times, "
            f"these {len(texts)} texts have {len(words)}; take 'random', or more texts"
        )
    index = {word: i for i, word in enumerate(words)}
    pairs = together(texts, index, parameters["window"]).tocoo()
    times = np.bincount(pairs.row, pairs.data, len(words))  # (W,) of a word in all pairs
    contexts = times ** parameters["smoothing"]

    # Of a pair: log p(word, context) / (p(word) p(context)), contexts smoothed.
    expected = times[pairs.row] * contexts[pairs.col]
    information = np.log(pairs.data.astype(np.float64) * contexts.sum() / expected)
    positive = information > 0
    places = (pairs.row[positive], pairs.col[positive])
    table = scipy.sparse.csr_matrix((information[positive].astype(np.float32), places), pairs.shape)

    left, size, _ = randomized_svd(table, width, n_iter=parameters["passes"], random_state=parameters["seed"])
    rows = left * size ** parameters["singular_power"]
    rows *= parameters["rms"] / np.sqrt(np.mean(np.square(rows)))
    return words, rows.astype(np.float32), sklearn.__version__


def together(texts: TokenLists, index: dict[str, int], window: int):
    """(W, W) sparse, symmetric: how often two words of an index stand within a window, nearer counting more."""
    import scipy.sparse

    gap = [-1] * window  # between texts, so that no pair is of two
    numbers: list[int] = []
    for tokens in texts:
        numbers += [index.get(word, -1) for word in tokens]
        numbers += gap
    ids = np.array(numbers, np.int32)
    pairs = scipy.sparse.csr_matrix((len(index), len(index)), dtype=np.float32)
    for distance in range(1, window + 1):
        both = (ids[:-distance] >= 0) & (ids[distance:] >= 0)
        places = (ids[:-distance][both], ids[distance:][both])
        weights = np.full(both.sum(), (window + 1 - distance) / window, np.float32)
        pairs += scipy.sparse.coo_matrix((weights, places), pairs.shape).tocsr()
    return pairs + pairs.T
