"""How Serrano & Smith train on each data set (specification section 3.2; their configuration files)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from attn_core.errors import AttnError

NORM, VALUE = ("norm", 10.0), ("value", 50.0)
"""Clipping: all gradients rescaled together to a norm of 10 where it is larger, or each kept within +-50."""

TEN = {"rnn": NORM, "conv": NORM, "none": NORM}
FIFTY = {"rnn": VALUE, "conv": NORM, "none": VALUE}


@dataclass(frozen=True)
class Schedule:
    """Training of the six models on one data set.

    han: dropout on words, sentence vectors and logits of a HAN; flan: on words and logits of a FLAN. epochs: at most,
    by kind of encoder; patience: epochs without a better dev accuracy before training stops; clip: by kind. cap: a
    batch's longest sentence (HAN) or text (FLAN) times its documents, in words. note: whose schedule it is where not
    the data set's own.
    """

    learning_rate: float
    han: tuple[float, float, float] | None
    flan: tuple[float, float]
    cap: Mapping[str, int]
    epochs: Mapping[str, int]
    clip: Mapping[str, tuple[str, float]] = field(default_factory=TEN.copy)
    patience: Mapping[str, int] = field(default_factory={"rnn": 5, "conv": 5, "none": 10}.copy)
    note: str = ""

    def fields(self, encoder: str) -> dict:
        """The run fields this schedule sets for one of the six models; AttnError where it has none for HANs."""
        shape, kind = encoder.split("_")
        if shape == "han" and self.han is None:
            raise AttnError(f"no {encoder} here: {self.note}; flan_rnn, flan_conv and flan_none are trained")
        hidden = None if kind == "none" else 50
        rate = {"learning_rate": self.learning_rate, "decay": 0.0}
        return {"epochs": self.epochs[kind], "batch": 64, "hidden": hidden} | rate

    def dropout(self, encoder: str) -> tuple[float, float, float]:
        """Rates on words, sentence vectors and logits; a FLAN has no sentence vectors."""
        return self.han if encoder.startswith("han") else (self.flan[0], 0.0, self.flan[1])


SHORT = {"rnn": 15, "conv": 15, "none": 60}
LONG = {"rnn": 60, "conv": 60, "none": 60}
WORDS, SENTENCES = 0.44446746096594764, 0.22016423400055152  # the best draw of the authors' search
YAHOO = Schedule(
    0.0004, (WORDS, SENTENCES, 0.3748675587736766), (WORDS, 0.4457355626352195), {"han": 1_000, "flan": 15_000}, SHORT,
)  # fmt: skip

SCHEDULES = {
    "yahoo": YAHOO,
    "imdb_stars": Schedule(
        0.0004, (WORDS, SENTENCES, 0.2457355626352195), (WORDS, 0.3457355626352195),
        {"han": 2_000, "flan": 20_000}, SHORT,
    ),
    "amazon": Schedule(0.0002, (0.6, 0.2, 0.4), (0.6, 0.4), {"han": 9_000, "flan": 135_000}, LONG, FIFTY),
    "yelp": Schedule(0.0001, (0.7, 0.1, 0.7), (0.7, 0.7), {"han": 6_000, "flan": 90_000}, LONG, FIFTY),
    "20news_all": replace(YAHOO, note="not in the paper; Yahoo's schedule, the paper's other set of topics"),
    "agnews_all": replace(YAHOO, han=None, note="most AG News texts are one sentence, so a HAN has nothing to weigh"),
    "planted": Schedule(
        0.002, (0.2, 0.1, 0.1), (0.2, 0.1), {"han": 9_000, "flan": 20_000}, {"rnn": 10, "conv": 10, "none": 10},
        note="generated; a schedule of this book that trains in seconds",
    ),
}  # fmt: skip
"""Corpus -> schedule."""


def schedule(corpus: str) -> Schedule:
    """The schedule of a data set; AttnError where the six models are not trained on it."""
    if corpus not in SCHEDULES:
        known = ", ".join(SCHEDULES)
        raise AttnError(f"no schedule of the HAN and FLAN models for '{corpus}'; they are trained on {known}")
    return SCHEDULES[corpus]
