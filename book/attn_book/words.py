"""Names and numbers as pages write them: models, intervals, seeds, lists."""

from attn_core.corpora import catalogue

ENCODERS = {
    "lstm": "BiLSTM", "cnn": "CNN", "average": "no context", "transformer": "transformer", "none": "no encoder",
    "han_rnn": "HAN with GRU", "han_conv": "HAN with convolutions", "han_none": "HAN without encoder",
    "flan_rnn": "FLAN with GRU", "flan_conv": "FLAN with convolutions", "flan_none": "FLAN without encoder",
}  # fmt: skip
"""The encoders as people call them."""

SETS = {
    "sst": "SST", "imdb": "IMDB", "agnews": "AG News", "20news": "20 News", "babi_1": "bAbI 1", "babi_2": "bAbI 2",
    "babi_3": "bAbI 3", "snli": "SNLI", "cnn": "CNN-QA", "diabetes": "Diabetes", "anemia": "Anemia",
    "adr": "ADR tweets",
    "imdb_stars": "IMDB (10 stars)", "amazon": "Amazon", "yelp": "Yelp", "yahoo": "Yahoo", "planted": "planted texts",
    "agnews_all": "AG News (4 classes)", "20news_all": "20 News (20 classes)",
}  # fmt: skip
"""The data sets as people call them."""

ATTENTION_NAMES = {"tanh": "additive", "dot": "scaled dot", "uniform": "uniform", "given": "given"}


def number(value: float, form: str) -> str:
    """A formatted number with a minus sign that is one, and without the sign of a zero."""
    text = f"{value:{form}}".replace("-", "−")
    return text if any(digit in text for digit in "123456789") else text.lstrip("−")


def class_names(corpus: str) -> dict[str, str]:
    """Predicted class as summaries write it -> its name; answers of questions are not told apart."""
    entry = catalogue.corpus(corpus)
    return {"all": "all questions"} if entry.task == "question" else dict(zip("0123", entry.classes, strict=False))


WORDS = {
    "tau_gradient": "τ of attention and gradient", "tau_loo": "τ of attention and leave-one-out",
    "sig_frac": "share significant",
    "tau(gradient,LOO)-tau(attention,LOO)": "τ of gradient and leave-one-out minus τ of attention and leave-one-out",
    "tau(gradient,LOO)-tau(attention,gradient)": "τ of gradient and leave-one-out minus τ of attention and gradient",
    "tau(attention,LOO): average minus lstm": "τ of attention and leave-one-out, no context minus BiLSTM",
    "tau(attention,gradient): average minus lstm": "τ of attention and gradient, no context minus BiLSTM",
    "eps_max_jsd": "ε-max JSD", "mean_binned": "mean", "std": "standard deviation",
    "q25": "lower quartile", "q75": "upper quartile",
}  # fmt: skip
"""Measures and statistics of the rules in words, where underscores to spaces do not do."""


def in_words(name: str) -> str:
    """A measure or statistic of the rules in words."""
    return WORDS.get(name, name.replace("_", " "))
