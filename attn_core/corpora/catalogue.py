"""All data sets of the three papers, one entry each, plus the generated set ``planted``.

An entry says what a data set is, how the papers prepare it, where it is looked for, what counts to expect and under
which licence it stands. The facts come from the papers, from the statistics files of Jain & Wallace's repository
and from the data sets' own pages.
"""

import difflib
from dataclasses import dataclass, field

from attn_core.corpora.sources import SOURCES, Source
from attn_core.errors import AttnError

PLAIN = "spaCy tokens, lower case, tokens with a digit to qqq"
NEWS = PLAIN + "; then each run of non-word characters to its last one, set between blanks"


@dataclass(frozen=True)
class Corpus:
    """One data set.

    task: 'text' (one text, one label), 'question' (story, question, answer) or 'inference' (premise, hypothesis,
    label). classes: names in the order of the label ids; empty where answers are words of the text. folder: name
    under $ATTN_DATA; columns: what its Parquet files must hold; files: splits stored there. split: how train, dev
    and test come about. cleaning: what becomes of the raw text, in words. longer_than,
    shorter_than: the length filter in tokens,
    strict; None = the split's own extreme; filtered False = no filter. min_df: smallest number of training
    documents a vocabulary word occurs in. cut: documents are cut into sentences and follow Serrano & Smith's rules:
    min_count, the smallest number of times a vocabulary word is met in train and dev; most_sentences and
    longest_sentence (tokens), the length filter of the splits in bounded, None = no bound. sample: name under
    $ATTN_DATA of a sample that is taken where folder is not there. epochs, batch: of Jain & Wallace's training;
    hidden: width by encoder where it is not the encoder's own. expected: counts to meet, (class 0, class 1, …) per
    split after the filter, 'vocabulary' including the four special ids. reported: (paper, name) as in data/reported.
    vectors: recipe used when a run names none. whole_train:
    documents of the official training files before any filter, where a copy may hold fewer. generated: made by this
    package, never downloaded. private: only the user's own copy is ever read.
    """

    name: str
    title: str
    task: str
    classes: tuple[str, ...]
    split: str
    licence: str
    cite: str
    folder: str | None = None
    files: tuple[str, ...] = ("train", "test")
    columns: tuple[str, ...] = ("text", "label")
    cleaning: str = PLAIN
    filtered: bool = True
    longer_than: int | None = None
    shorter_than: int | None = None
    min_df: int = 1
    cut: bool = False
    min_count: int = 5
    most_sentences: int | None = None
    longest_sentence: int | None = None
    bounded: tuple[str, ...] = ("train",)
    sample: str | None = None
    epochs: int = 8
    batch: int = 32
    hidden: dict[str, int] = field(default_factory=dict)
    expected: dict = field(default_factory=dict)
    reported: tuple[tuple[str, str], ...] = ()
    sources: tuple[Source, ...] = ()
    vectors: str = "indomain-300"
    whole_train: int | None = None
    generated: bool = False
    private: bool = False
    note: str = ""


JAIN, WIEGREFFE, SERRANO = "jain_wallace_2019", "wiegreffe_pinter_2019", "serrano-smith-2019"
_NEGATIVE_POSITIVE = ("negative", "positive")
_STARS = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")
_NEWS = ("World", "Sports", "Business", "Sci/Tech")
_GROUPS = (
    "alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale", "rec.autos", "rec.motorcycles", "rec.sport.baseball", "rec.sport.hockey", "sci.crypt",
    "sci.electronics", "sci.med",
    "sci.space", "soc.religion.christian", "talk.politics.guns", "talk.politics.mideast", "talk.politics.misc",
    "talk.religion.misc",
)  # fmt: skip
_BABI = dict(
    task="question", classes=(), licence="CC BY 3.0", cite="weston2015", filtered=False,
    cleaning="sentences joined by a lone full stop, case kept",
    vectors="random-50", epochs=100, batch=50, hidden={"lstm": 32, "cnn": 8, "average": 32},
    columns=("passage", "question", "answer", "support"), sources=(SOURCES["babi"],),
    whole_train=10_000,
    split="official 10,000 / 1,000 questions (en-10k); dev: 15 % of train at random (J&W: random_state 16377)",
)  # fmt: skip
_MIMIC = dict(
    task="text", cite="johnson2016", licence="PhysioNet credentialed use only", private=True,
    cleaning="spaCy tokens, lower case, brackets of names to <DE>, tokens with a digit to qqq",
    sources=(SOURCES["mimic"],), min_df=5, files=(), folder="mimic",
    note="results of this set are the authors' own, not rerun; with your own files the word vectors are not theirs, "
    "which were trained on all discharge summaries",
)  # fmt: skip
_CUT = dict(
    task="text", filtered=False, cut=True, cleaning="spaCy tokens, lower case, cut by the sentencizer",
)  # fmt: skip
_ZHANG = dict(
    cite="zhang2015", split="official test; dev: a tenth of train at random (seed 0)",
    **(_CUT | {"cleaning": "escapes undone; " + _CUT["cleaning"]}),
)  # fmt: skip

_ENTRIES = (
    Corpus(
        "planted", "Generated documents with known evidence tokens", "text", _NEGATIVE_POSITIVE,
        "generated: 1,500 / 300 / 500 documents by default", "made by this package", "", files=(),
        cleaning="none: made as tokens",
        filtered=False,
        vectors="random", generated=True,
    ),
    Corpus(
        "sst", "Stanford Sentiment Treebank, neutral sentences left out", "text", _NEGATIVE_POSITIVE,
        "official 6,920 / 872 / 1,821 sentences", "none stated; sentences from Rotten Tomatoes (Pang & Lee 2005)",
        "socher2013",
        folder="sst", files=("train", "dev", "test"),
        cleaning="bracket marks away, non-word characters to blanks, spaCy tokens, lower case", longer_than=5,
        expected={"train": (3034, 3321), "dev": (397, 424), "test": (863, 862), "vocabulary": 13826,
        "vocabulary_all_splits": 16175},
        reported=((JAIN, "sst"), (WIEGREFFE, "SST")), sources=(SOURCES["sst"],),
    ),
    Corpus(
        "imdb", "IMDB reviews, two classes", "text", _NEGATIVE_POSITIVE,
        "official parts below 400 tokens; train: 80/20 train/dev, test: a random fifth (J&W: random_state 1378)",
        "none stated; the authors ask to be cited", "maas2011", folder="imdb", columns=("text", "label", "doc_id"),
        cleaning="lower case, punctuation to blanks, split at blanks (Keras)", longer_than=6, min_df=10,
        reported=((JAIN, "imdb"), (WIEGREFFE, "IMDb")),
        expected={"test": (2184, 2172), "vocabulary": 12487}, sources=(SOURCES["imdb"],),
        note="with the column jw_split train, dev and test are the authors' own selection, else the same rule draws "
        "other reviews; Table 1 counts 13,916 words with min_df 20 over the unused test reviews too",
    ),
    Corpus(
        "agnews", "AG News descriptions, World against Business", "text", ("World", "Business"),
        "official test; dev: 15 % of train at random (J&W: random_state 16377)",
        "research and other non-commercial use", "zhang2015",
        folder="ag_news", columns=("title", "description", "label", "part"), min_df=5,
        whole_train=60_000,
        expected={"test": (1900, 1898), "vocabulary": 13715, "vocabulary_all_splits": 14752},
        note="vocabulary 13,715 needs the whole official train.csv (60,000 rows of the two classes); where fewer rows "
        "have the description apart there are fewer documents and words, see train_share in the statistics",
        reported=((JAIN, "agnews"), (WIEGREFFE, "AgNews")), sources=(SOURCES["ag_news_train"], SOURCES["ag_news_test"]),
    ),
    Corpus(
        "20news", "20 Newsgroups, baseball against hockey", "text", ("baseball", "hockey"),
        "stratified 80/20 twice (J&W: random_state 13478) over all posts in the order of scikit-learn's loader",
        "none stated; public Usenet posts", "lang1995", folder="20newsgroups", columns=("text", "label", "group",
        "doc_id"),
        cleaning=NEWS, longer_than=6, shorter_than=500, min_df=2,
        expected={"test": (179, 178), "vocabulary": 6515, "vocabulary_all_splits": 8853},
        reported=((JAIN, "20News_sports"), (WIEGREFFE, "20News")), sources=(SOURCES["20newsgroups"],),
        note="spaCy 3.8 gives a vocabulary of 6,517 (6,515 with the authors' version of 2019)",
    ),
    Corpus("babi_1", "bAbI task 1, one supporting fact", folder="babi_1", reported=((JAIN, "babi_1"),),
    expected={"vocabulary": 24}, **_BABI),
    Corpus("babi_2", "bAbI task 2, two supporting facts", folder="babi_2", reported=((JAIN, "babi_2"),),
    expected={"vocabulary": 38}, **_BABI),
    Corpus("babi_3", "bAbI task 3, three supporting facts", folder="babi_3", reported=((JAIN, "babi_3"),),
    expected={"vocabulary": 39}, note="where only the 1,000-question training file is at hand, the 10,000 training "
    "questions are generated and the test questions stay official; train_source in the statistics says which", **_BABI),
    Corpus(
        "snli", "Stanford Natural Language Inference", "inference", ("neutral", "contradiction", "entailment"),
        "official, pairs without a gold label left out", "CC BY-SA 4.0", "bowman2015", folder="snli", files=("train",
        "dev", "test"),
        columns=("premise", "hypothesis", "label"), filtered=False, min_df=3, epochs=25, batch=128,
        reported=((JAIN, "snli"),),
        expected={"test": (3219, 3237, 3368), "vocabulary": 20981}, sources=(SOURCES["snli"],),
        whole_train=549_367,
        note="vocabulary 20,981 needs the whole official training file",
    ),
    Corpus(
        "cnn", "CNN cloze questions, entities made anonymous", "question", (),
        "official 380,298 / 3,924 / 3,198 questions",
        "none stated; text of CNN", "hermann2015", folder="cnn", files=("train", "dev", "test"),
        columns=("passage", "question", "answer"), cleaning="split at blanks", filtered=False, min_df=8,
        epochs=25, batch=90,
        reported=((JAIN, "cnn"),),
        expected={"vocabulary": 70187}, sources=(SOURCES["cnn"],), whole_train=380_298,
        note="results of this set are the authors' own, not rerun; entities of training passages too rare for the "
        "vocabulary (3 in the authors' run) come on top of it",
    ),
    Corpus(
        "diabetes", "MIMIC-III discharge summaries, diabetes", classes=("no diabetes", "diabetes"), longer_than=6,
        shorter_than=4000,
        split="the authors' lists of admissions, 8,066 / 1,573 / 1,729", reported=((JAIN, "diab"), (WIEGREFFE,
        "Diabetes")),
        expected={"test": (1296, 319), "vocabulary": 18888, "vocabulary_all_splits": 22316}, **_MIMIC,
    ),
    Corpus(
        "anemia", "MIMIC-III discharge summaries, anemia", classes=("chronic", "acute"), shorter_than=4000,
        split="stratified 80/20 (random_state 12939), dev: 15 % of train, stratified (13448); admissions in ascending "
        "order, as the authors' order is not known",
        reported=((JAIN, "anemia"), (WIEGREFFE, "Anemia")),
        expected={"test": (460, 802), "vocabulary": 16274, "vocabulary_all_splits": 19743}, **_MIMIC,
    ),
    Corpus(
        "adr", "Tweets, adverse drug reaction mentioned or not", "text", ("no ADR", "ADR"),
        "stratified 80/20 (random_state 13020), dev: 15 % of train at random (16377)",
        "no right to pass the text on; ask the authors",
        "jain2019attention", files=(), cleaning="spaCy tokens, lower case", longer_than=5, shorter_than=100, min_df=2,
        folder="adr", private=True,
        expected={"test": (3636, 487), "vocabulary": 6845, "vocabulary_all_splits": 8686}, reported=((JAIN, "tweet"),),
        note="results of this set are the authors' own, not rerun",
    ),
    Corpus(
        "imdb_stars", "IMDB reviews, eight ratings",
        classes=tuple(f"{n} of 10" for n in (1, 2, 3, 4, 7, 8, 9, 10)),
        split="official 25,000 / 25,000; dev: a tenth of train at random (seed 0)",
        licence="none stated; the authors ask to be cited", cite="maas2011", folder="imdb", columns=("text", "stars"),
        vectors="imdb_stars-200", whole_train=25_000,
        expected={"test": (5022, 2302, 2541, 2635, 2307, 2850, 2344, 4999)},
        note="stands in for the ten ratings of Diao et al. (2014), which could not be had: smaller, and without "
        "reviews of 5 and 6 stars",
        reported=((SERRANO, "imdb"),), sources=(SOURCES["imdb"],), **_CUT,
    ),
    Corpus(
        "amazon", "Amazon reviews, five ratings", classes=_STARS, licence="none stated",
        folder="amazon_review_full", sample="amazon_review_full_sample", reported=((SERRANO, "amazon"),),
        vectors="amazon-200", whole_train=3_000_000, most_sentences=15, longest_sentence=130,
        note="title and text; the official file lies where a browser has to confirm the download",
        sources=(SOURCES["amazon"],), **_ZHANG,
    ),
    Corpus(
        "yelp", "Yelp reviews, five ratings", classes=_STARS,
        licence="Yelp dataset agreement: academic use, no redistribution",
        folder="yelp_review_full", sample="yelp_review_full_sample", reported=((SERRANO, "yelp"),),
        vectors="yelp-200", whole_train=650_000, most_sentences=43, longest_sentence=200,
        note="both parts of the sample come from the official training file", sources=(SOURCES["yelp"],), **_ZHANG,
    ),
    Corpus(
        "yahoo", "Yahoo Answers, ten topics",
        classes=(
            "Society & Culture", "Science & Mathematics", "Health", "Education & Reference", "Computers & Internet",
            "Sports",
            "Business & Finance", "Entertainment & Music", "Family & Relationships", "Politics & Government",
        ),
        licence="research only, no redistribution",
        folder="yahoo_answers", sample="yahoo_answers_2class_sample", reported=((SERRANO, "yahoo"),),
        vectors="yahoo-200", whole_train=1_400_000, most_sentences=50, longest_sentence=350, bounded=("train", "dev"),
        note="question, its details and best answer; the sample holds two of the ten topics",
        sources=(SOURCES["yahoo"],), **_ZHANG,
    ),
    Corpus(
        "agnews_all", "AG News, all four classes", classes=_NEWS,
        split="official test; dev: a tenth of train at random (seed 0)",
        licence="research and other non-commercial use", cite="zhang2015", folder="ag_news",
        vectors="agnews_all-200", whole_train=120_000,
        note="not in the papers; title and description, mostly one sentence, for models without sentences",
        sources=(SOURCES["ag_news_train"], SOURCES["ag_news_test"]), **_CUT,
    ),
    Corpus(
        "20news_all", "20 Newsgroups, all groups", classes=_GROUPS,
        split="by date, official 11,314 / 7,532; dev: a tenth of each group of train (seed 0)",
        licence="none stated; public Usenet posts", cite="lang1995", folder="20newsgroups",
        vectors="20news_all-200", whole_train=11_314, most_sentences=50, longest_sentence=350,
        note="not in the papers; bounds of training texts as for Yahoo, the papers' own set of topics",
        sources=(SOURCES["20newsgroups"],),
        **(_CUT | {"cleaning": "headers, footers and quotes away; " + _CUT["cleaning"]}),
    ),
)  # fmt: skip

CATALOGUE: dict[str, Corpus] = {entry.name: entry for entry in _ENTRIES}

NOT_A_CORPUS = {
    "all": "a figure over all data sets",
    "mean of 12": "a mean over the twelve data sets of Jain & Wallace",
    "HipSurgery": "side study on MIMIC-III in the authors' repository",
    "KneeSurgery": "side study on MIMIC-III in the authors' repository",
    "Phenotyping": "side study on MIMIC-III in the authors' repository",
    "mortality": "side study on MIMIC-III in the authors' repository",
    "readmission": "side study on MIMIC-III in the authors' repository",
}
"""Values of the column ``dataset`` in data/reported that name no data set of the catalogue, and what they are."""


def corpus(name: str) -> Corpus:
    """The entry of a data set; an unknown name is an AttnError with the nearest name and the list."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(str(name).lower(), CATALOGUE, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else ";"
    raise AttnError(f"unknown corpus '{name}'{hint} known: {', '.join(CATALOGUE)}")


def from_reported(name: str, paper: str) -> Corpus | None:
    """The data set that a table in data/reported calls ``name``; None for the values in NOT_A_CORPUS.

    The paper matters: 'imdb' is the two-class set for Jain & Wallace and the ten-star set for Serrano & Smith.
    Tables from other hands (the authors' repository, replications) use the names of the first two papers.
    """
    if name in NOT_A_CORPUS:
        return None
    papers = (SERRANO,) if paper == SERRANO else (JAIN, WIEGREFFE)
    for entry in CATALOGUE.values():
        if any((of, name) in entry.reported for of in papers):
            return entry
    raise AttnError(f"'{name}' of '{paper}' in data/reported belongs to no data set of the catalogue")
