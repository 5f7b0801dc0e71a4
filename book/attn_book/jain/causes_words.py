"""The words of the causes tried: variants, measures and differences as sentences tell them."""

import numpy as np

from attn_core.corpora.vectors import KNOWN_FILES

OPTIONS = {
    ("vocabulary_from", "all"): "vocabulary from all splits",
    ("source", "files"): "questions from the official files",
    ("source", "generated train"): "training questions of our own generator",
}
"""Options of data sets in words."""

WORDS = {
    "tau_gradient": "τ of attention and gradient", "tau_loo": "τ of attention and leave-one-out",
    "sig_frac": "share significant",
    "tau(gradient,LOO)-tau(attention,LOO)": "τ of gradient and leave-one-out minus τ of attention and leave-one-out",
    "tau(gradient,LOO)-tau(attention,gradient)": "τ of gradient and leave-one-out minus τ of attention and gradient",
    "tau(attention,LOO): average minus lstm": "τ of attention and leave-one-out, Average minus BiLSTM",
    "tau(attention,gradient): average minus lstm": "τ of attention and gradient, Average minus BiLSTM",
    "eps_max_jsd": "ε-max JSD", "mean_binned": "mean", "std": "standard deviation",
    "q25": "lower quartile", "q75": "upper quartile",
}  # fmt: skip
"""Measures and statistics of the rules in words, where underscores to spaces do not do."""


def words(field: str, value) -> str:
    """A variant in words."""
    known = {
        "selection": f"checkpoint chosen on the {value} set",
        "vectors": KNOWN_FILES.get(value, f"{value} word vectors"),
        "fraction": f"{value:.0%} of the training set" if field == "fraction" else "",
        "hidden": f"width {value}",
        "class_weights": "with class weights" if value else "without class weights",
    }
    if field == "options":
        return ", ".join(OPTIONS.get((name, setting), f"{name.replace('_', ' ')} {setting}") for name, setting in value)
    return known.get(field, f"{field.replace('_', ' ')} {named(value)}")


def named(value) -> str:
    """A field's value as causes.csv writes it; options as name=value."""
    return ", ".join(f"{name}={setting}" for name, setting in value) if isinstance(value, tuple) else str(value)


def runs(key: str, count: int) -> str:
    """The first run and how many more."""
    return f"`{key}`" + (f" and {count - 1} more seed{'s' if count > 2 else ''}" if count > 1 else "")


def signed(shift: dict) -> str:
    """A difference with its interval, where it has one and enough seeds for it."""
    known = np.isfinite(shift["low"])
    return f"{shift['ours']:+.2f}" + (f" ({shift['low']:+.2f} to {shift['high']:+.2f})" if known else "")


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def in_words(name: str) -> str:
    """A measure or statistic of the rules in words."""
    return WORDS.get(name, name.replace("_", " "))
