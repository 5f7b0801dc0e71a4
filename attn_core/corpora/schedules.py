"""How Serrano & Smith train on each data set (specification section 3.2; their configuration files)."""

from dataclasses import dataclass

from attn_core.errors import AttnError


@dataclass(frozen=True)
class Schedule:
    """Training of the six models on one data set.

    dropout_words, dropout_sentences, dropout_logits: of HAN and FLAN, FLAN has none on sentences.
    """

    learning_rate: float

    def fields(self, encoder: str) -> dict:
        """The run fields this schedule sets for one of the six models."""
        return {"epochs": 15, "batch": 64, "hidden": 50, "learning_rate": self.learning_rate, "decay": 0.0}


SCHEDULES = {"planted": Schedule(0.0004), "imdb_stars": Schedule(0.0004)}
"""Corpus -> schedule."""


def schedule(corpus: str) -> Schedule:
    """The schedule of a data set; AttnError where the six models are not trained on it."""
    if corpus not in SCHEDULES:
        raise AttnError(f"corpus '{corpus}' is not cut into sentences; HAN and FLAN models take {', '.join(SCHEDULES)}")
    return SCHEDULES[corpus]
