"""Names and numbers as pages write them: models, data sets, measures (words.yml), and signs."""

from collections.abc import Mapping
from pathlib import Path

import yaml

from attn_lab.data import catalogue

NAMES = yaml.safe_load(Path(__file__).with_name("words.yml").read_text(encoding="utf-8"))
ENCODERS = NAMES["encoders"]
SETS = NAMES["sets"]
ATTENTION_NAMES = NAMES["attentions"]
"""Encoders, data sets and attentions as people call them."""

HANS = {"han_rnn": "lstm", "han_conv": "cnn", "han_none": "average"}
"""Serrano & Smith's models -> the encoder that they are built of."""

WITH_ARTICLE = NAMES["with_article"]
"""Nouns of encoders whose names take no article."""

YOURS = "yours, 1 seed"
"""How tables and figures mark the run that a reader chose."""

DATA = NAMES["data"]
PART = NAMES["part"]
"""A kind of data in words; what stands behind a data set's name where it is not the paper's own."""


def number(value: float, form: str) -> str:
    """A formatted number with a minus sign that is one, and without the sign of a zero."""
    text = f"{value:{form}}".replace("-", "−")
    return text if any(digit in text for digit in "123456789") else text.lstrip("−")


def listed(values: Mapping[str, float], form: str = ".2f") -> str:
    """Numbers by name, as an alternative text gives them: of the book's runs, without the reader's own."""
    return ", ".join(f"{name} {number(value, form)}" for name, value in values.items() if YOURS not in name)


def class_names(corpus: str) -> dict[str, str]:
    """Predicted class as summaries write it -> its name; answers of questions are not told apart."""
    entry = catalogue.corpus(corpus)
    return {"all": "all questions"} if entry.task == "question" else dict(zip("0123", entry.classes, strict=False))


def in_words(name: str) -> str:
    """A measure or statistic of the rules in words."""
    return NAMES["measures"].get(name, name.replace("_", " "))
