"""From raw text to tokens: one cleaner a data set.

The rules are those of Jain & Wallace (2019) as their final code applies them. spaCy is used for tokenizing only (a
blank English pipeline), so no language model has to be installed. Newer spaCy versions split a handful of words
differently than that of 2019: the SST vocabulary comes out the same, the 20 Newsgroups one two words larger.
"""

import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from unicodedata import normalize

_MARKS = r"\u0300-\u036f"  # accents that no letter is composed with: they stay in the word
_NON_WORD = re.compile(rf"[^\w{_MARKS}]+")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(rf"_|[^\W_](?:[\w{_MARKS}]*(?:[^\W_]|[{_MARKS}]))?")
_UNIT = re.compile(
    r"(?<=[0-9])((?:[kdcm]?m[²³]?)|ha|µm|nm|yd|in|ft|k?g|[mµ]g|t|lb|oz|kmh|mph|hPa|Pa|mbar|[mkgt]b|[MKGT]B?)$"
)
_KERAS_FILTER = str.maketrans(dict.fromkeys('!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n', " "))


composed = partial(normalize, "NFC")
"""A text in Unicode's composed form: é as one character, however it was typed."""


@cache
def english():
    """spaCy's English tokenizer and its rule-based sentencizer."""
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    return pipeline


def mask_digits(tokens) -> list[str]:
    """Every token that holds a digit becomes ``qqq``."""
    return ["qqq" if _DIGIT.search(token) else token for token in tokens]


def clean_lower(text: str) -> list[str]:
    """spaCy English tokens in lower case, blanks squeezed first; digits are kept (J&W's rule for the tweets)."""
    squeezed = " ".join(composed(text).split())
    return [token.text.lower() for token in english().tokenizer(squeezed)]


def clean_sst(text: str) -> list[str]:
    """SST leaves joined by blanks -> tokens (J&W): bracket marks away, non-word characters to blanks, ``clean_lower``.

    ``n't`` becomes the two tokens ``n t``. Digits are kept: the authors' code does not apply ``qqq`` to SST.
    """
    unmarked = composed(text).replace("-LRB-", "").replace("-RRB-", " ")
    return clean_lower(_NON_WORD.sub(" ", unmarked))


@cache
def contractions() -> dict[str, list[str]]:
    """Word without an apostrophe -> its tokens in spaCy's English table: dont -> do, nt."""
    return json.loads(Path(__file__).with_name("contractions.json").read_text(encoding="utf-8"))


def clean_typed(text: str) -> list[str]:
    """The tokens of `clean_sst` where spaCy need not be installed; Cyrillic and Arabic units stay at their digits."""
    tokens = []
    for word in _WORD.findall(composed(text).replace("-LRB-", "").replace("-RRB-", " ")):
        tokens += contractions().get(word) or _UNIT.sub(r" \1", word).split(" ")
    return [token.lower() for token in tokens]


def clean_plain(text: str) -> list[str]:
    """J&W's general cleaner: ``clean_lower``, tokens with a digit -> ``qqq``."""
    return mask_digits(clean_lower(text))


def cleaner_of(vocabulary: Sequence[str]) -> Callable[[str], list[str]]:
    """How typed texts become tokens of a vocabulary: `clean_plain` where it masks digits, else `clean_lower`."""
    return clean_plain if "qqq" in vocabulary else clean_lower


def clean_news(text: str) -> list[str]:
    """A newsgroup post without header, footer and quotes -> tokens (J&W's 20 Newsgroups rule).

    After ``clean_plain`` each run of non-word characters becomes its LAST character, set between blanks. Of most runs
    this is a blank: free-standing punctuation disappears; inside a token it is one of its own (``n't`` -> ``n ' t``).
    """
    joined = " ".join(clean_plain(text))
    return _NON_WORD.sub(lambda run: f" {run.group()[-1]} ", joined).split()


def clean_keras(text: str) -> list[str]:
    """The rule of Keras' tokenizer, by which the IMDB files were made that the authors took: lower case, punctuation
    (not the apostrophe), tabs and line ends to blanks, split at blanks; other white space stays inside a word."""
    return [word for word in composed(text).lower().translate(_KERAS_FILTER).split(" ") if word]


def simple_tokens(text: str) -> list[str]:
    """For training word vectors: lower case, non-word characters to blanks, split, tokens with a digit -> ``qqq``."""
    return mask_digits(_NON_WORD.sub(" ", composed(text).lower()).split())


def strip_post(text: str) -> str:
    """A Usenet post without header, footer and quoted lines, by the public rules of scikit-learn's loader."""
    from sklearn.datasets import _twenty_newsgroups as rules

    text = rules.strip_newsgroup_header(text)
    text = rules.strip_newsgroup_footer(text)
    return rules.strip_newsgroup_quoting(text)


def cut(text: str) -> list[list[str]]:
    """A text as sentences of lower-case tokens (Serrano & Smith); blanks are no tokens, and none is empty.

    Two deviations from the authors, who use a trained pipeline: their boundaries come from the dependency parse, ours
    from spaCy's rule-based sentencizer; and they tokenize each sentence on its own for models with sentences and the
    whole text for models without, here both read the same tokens, those of the whole text.
    """
    sentencizer = english().get_pipe("sentencizer")
    document = sentencizer(english().tokenizer(composed(text)))  # english() itself refuses long texts
    sentences = []
    for sentence in document.sents:
        # Equal words share one string, or the lists of a large set would fill the memory.
        tokens = [sys.intern(token.lower_) for token in sentence if not token.is_space]
        if tokens:
            sentences.append(tokens)
    return sentences
