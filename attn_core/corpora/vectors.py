"""Word vectors: a recipe by name, or a text file of the user.

Jain & Wallace start from fastText vectors of the Simple English Wikipedia. ``indomain-300`` stands in for them
where no file can be had: trained on a fixed list of training texts, the same on every machine. Words without a vector
get the zero row, and so do <pad>, <unk>, <s> and </s>: the authors' path for every text set. Data sets cut into
sentences have each their own, on their training and dev texts (Serrano & Smith, specification 2.2). The recipes'
parameters stand in catalogue.yml.
"""

import hashlib
import re
import sys
from collections import Counter
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pandas

from attn_core.corpora import catalogue, files, text
from attn_core.corpora.documents import Encoded
from attn_core.corpora.encoding import encode
from attn_core.errors import AttnError

RANDOM_SEED = 0


def vectors(recipe: str, vocabulary) -> tuple[np.ndarray, str]:
    """Start vectors for a vocabulary: ((V, 300) float32, (V, 50) for 'random-50', a file's own width; fingerprint).

    recipe: 'random' (every row but <pad> standard normal; row i depends on i alone, never on the run's seed),
    'random-50' (the same 50 wide, the authors' choice for bAbI), 'indomain-300' (see ``train``), 'ppmi-300' (see
    ``count``; '-small': a control), 'imdb_stars-200' and the like for each set cut into sentences (see ``sentences``)
    or the path of a text file (see ``read_text``). fingerprint: of texts and parameters, or of the file.
    """
    vocabulary = tuple(vocabulary)
    if recipe in catalogue.RANDOM:
        width = catalogue.RANDOM[recipe]
        rows = np.random.default_rng(RANDOM_SEED).standard_normal((len(vocabulary), width), dtype=np.float32)
        rows[text.PAD] = 0
        return rows, files.digest(["random", "standard normal", RANDOM_SEED, width])
    if recipe in catalogue.VECTORS:
        about, arrays = _made(recipe)
        rows = pandas.DataFrame(arrays["rows"], about["words"]).reindex(list(vocabulary), fill_value=0)
        return rows.to_numpy(np.float32), about["fingerprint"]
    path = Path(recipe)
    if not path.is_file():
        raise AttnError(f"unknown vectors '{recipe}': no file, and no recipe ({', '.join(catalogue.RECIPES)})")
    return read_text(path, vocabulary), files.sha256(path)


def read_text(path: Path, vocabulary) -> np.ndarray:
    """Rows of a fastText or GloVe text file for a vocabulary, (V, width) float32; the first of repeated words counts.

    The width is the first line's: its count and width (fastText), else its numbers (GloVe). A word may hold blanks
    (GloVe 840B has a few such). Errors: AttnError naming file and line for a wrong number of columns anywhere, and for
    numbers that are none or not finite in the rows of vocabulary words (other rows are not parsed).
    """
    index = {word: i for i, word in enumerate(vocabulary) if i >= len(text.SPECIALS)}
    with open(path, "rb") as file:
        first = file.readline().split()
        heads = len(first) == 2 and first[1].isdigit()  # count and width
        width = int(first[1]) if heads else len(first) - 1
        if width < 1:
            raise AttnError(f"{path}, line 1: no numbers; expected a word and its vector, or count and width")
        rows = np.zeros((len(vocabulary), width), dtype=np.float32)
        file.seek(0)
        for number, line in islice(enumerate(file, 1), int(heads), None):
            word, *numbers = line.rsplit(maxsplit=width) or [b""]
            try:
                if len(numbers) < width or re.search(rb" [-+]?[\d.]*\d$", word):
                    raise ValueError(f"{max(len(line.split()) - 1, 0)} numbers, expected {width}")
                if (row := index.pop(word.decode(), None)) is not None:
                    rows[row] = np.array(numbers, dtype=np.float64)
                    if not np.isfinite(rows[row]).all():
                        raise ValueError(f"the vector of '{vocabulary[row]}' holds NaN or infinity")
            except ValueError as error:  # bytes that are not UTF-8 among them
                raise AttnError(f"{path}, line {number}: {error}") from error
    return rows


def _made(recipe: str) -> tuple[dict, dict[str, np.ndarray]]:
    """Words and fingerprint of a recipe, and rows (W, width) float32, from the cache or trained or counted now."""
    parameters, own = catalogue.VECTORS[recipe], recipe.removesuffix("-200")
    if own in catalogue.CATALOGUE:
        data = encode(own)
        parameters = parameters | {"data": data.fingerprint}
        texts, source = partial(sentences, data), list
    else:
        texts = training_texts
        source = lambda: [files.sha256(path) for path in files.own_tables("sst", "imdb", "agnews", "20news")]

    def make() -> tuple[dict, dict[str, np.ndarray]]:
        lists = texts()
        words, rows, version = (count if "rms" in parameters else train)(lists, parameters)
        written = "".join(f"{' '.join(tokens)}\n" for tokens in lists).encode()
        read = [] if "data" in parameters else [hashlib.sha256(written).hexdigest()]
        return {"fingerprint": files.digest([*read, parameters, version]), "words": words}, {"rows": rows}

    return files.cached(files.cache_folder() / "vectors" / recipe, parameters, source, make)


def training_texts() -> list[list[str]]:
    """Token lists of the fixed training texts of 'indomain-300', sorted by their SHA-256.

    SST train; IMDB train, line breaks removed; the first 10,429 rows of AG News train, title and description; 20
    Newsgroups by-date train without baseball and hockey, headers, footers and quotes removed; the training split of
    corpus '20news'. Tokens: ``text.simple_tokens``. No test text is in it; development texts of 'imdb' and 'agnews'
    are, so that their words always have a vector and these scores flatter a little.
    """
    sst = [t.replace("-LRB-", "").replace("-RRB-", " ") for t in files.read("sst", "train")["text"]]
    imdb = [t.replace("<br />", " ") for t in files.read("imdb", "train")["text"]]
    news = files.read("agnews", "train")[:10_429]
    posts, test = files.read("20news", "train"), files.read("20news", "test")
    others = posts["text"][~posts["group"].isin(["rec.sport.baseball", "rec.sport.hockey"])]
    sports = pandas.concat([posts["text"], test["text"]]).iloc[encode("20news").splits["train"].doc_ids]
    newsgroups = [text.strip_post(t) for t in [*others, *sports]]
    lists = [text.simple_tokens(t) for t in [*sst, *imdb, *news["title"] + " " + news["description"], *newsgroups]]
    return sorted(filter(None, lists), key=lambda tokens: hashlib.sha256(" ".join(tokens).encode()).digest())


def sentences(data: Encoded) -> list[list[str]]:
    """Training and dev sentences of a set that is cut into them, rare words already the one unknown word, which so gets
    a vector of its own. Deviation: training texts that the length filter leaves out are not read."""
    words, lists = np.array(data.vocabulary, dtype=object), []
    for part in (data.splits["train"], data.splits["dev"]):
        cut = np.split(words[part.ids[part.inner]], np.cumsum(part.sentence_lengths)[:-1])
        lists += [sentence.tolist() for sentence in cut]
    return lists


def train(texts: list[list[str]], parameters: dict) -> tuple[list[str], np.ndarray, str]:
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
            known = kind(sentences=Passes(), sg=int(subwords), **options).wv
        except RuntimeError as error:  # no word left after min_count
            raise AttnError(f"the word vectors cannot be trained on these {len(texts)} texts: {error}") from error
    rows = known.vectors.astype(np.float64)
    if not subwords:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return list(known.index_to_key), rows.astype(np.float32), gensim.__version__


def count(texts: list[list[str]], parameters: dict) -> tuple[list[str], np.ndarray, str]:
    """Word vectors by counting: (words, (W, width) float32, scikit-learn's version).

    How often words stand within `window` of each other, nearer counting more (5/5 to 1/5), contexts to the power
    `smoothing`; positive pointwise mutual information; a randomised singular value decomposition, singular values to
    the power `singular_power`; the whole scaled to a root mean square of `rms` (Levy, Goldberg & Dagan 2015). A word
    seen less than min_count times has no vector. Signs and digits of a decomposition may differ by version.
    """
    import scipy.sparse
    import sklearn
    from sklearn.utils.extmath import randomized_svd

    seen = Counter(word for tokens in texts for word in tokens)
    words = [word for word, times in seen.most_common() if times >= parameters["min_count"]]
    if len(words) <= (width := parameters["vector_size"]):
        raise AttnError(
            f"vectors by counting need more than {width} words seen {parameters['min_count']} times, "
            f"these {len(texts)} texts have {len(words)}; take 'random', or more texts"
        )
    place = {word: i for i, word in enumerate(words)}
    ids = np.fromiter((place.get(word, -1) for tokens in texts for word in tokens), np.int32)
    text_of = np.repeat(np.arange(len(texts)), [len(tokens) for tokens in texts])
    together = scipy.sparse.csr_matrix((len(words), len(words)), dtype=np.float32)
    for apart in range(1, parameters["window"] + 1):
        first, second = ids[:-apart], ids[apart:]
        pairs = (text_of[:-apart] == text_of[apart:]) & (first >= 0) & (second >= 0)
        weight = np.full(pairs.sum(), (parameters["window"] + 1 - apart) / parameters["window"], np.float32)
        together += scipy.sparse.coo_matrix((weight, (first[pairs], second[pairs])), together.shape).tocsr()
    pairs = (together + together.T).tocoo()
    times = np.bincount(pairs.row, pairs.data, len(words))
    context = times ** parameters["smoothing"]
    information = np.log(pairs.data.astype(np.float64) * context.sum() / (times[pairs.row] * context[pairs.col]))
    positive = information > 0
    held = (information[positive].astype(np.float32), (pairs.row[positive], pairs.col[positive]))
    table = scipy.sparse.csr_matrix(held, together.shape)
    left, size, _ = randomized_svd(table, width, n_iter=parameters["passes"], random_state=parameters["seed"])
    rows = left * size ** parameters["singular_power"]
    rows *= parameters["rms"] / np.sqrt(np.mean(np.square(rows)))
    return words, rows.astype(np.float32), sklearn.__version__
