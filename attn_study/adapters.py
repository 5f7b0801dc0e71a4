"""What `check` asks of a model: three functions. Ready ones for the package's classifiers and for Hugging Face's."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from attn_core.corpora.text import SPECIALS
from attn_core.errors import AttnError
from attn_core.models.classifier import weighted_sum
from attn_data.arrays import to_ids
from attn_data.cleaning import cleaner_of

Words = list[str]
"""What a model attends to in a text: its words, or pieces of words."""


class Adapter(Protocol):
    """A model as `check` reads it. A call gets B texts with the same number n of words: nothing has to be padded.

    `give` may be None, or absent, where weights cannot be given.
    """

    def tokens(self, text: str) -> Words:
        """The words of a text that the attention is over."""

    def read(self, texts: list[Words]) -> tuple[Any, Any]:
        """Attention (B, n), each row summing to 1, and logits (B, K); K = 1 is one sigmoid logit, of class 1."""

    @property
    def give(self) -> Callable[[list[Words], Tensor], Any] | None:
        """Logits (B, K) of the same texts under given attention (B, n), float32."""


class OwnClassifier:
    """A classifier of this package. vocabulary: of the corpus that it reads; clean: how a text becomes its words."""

    def __init__(self, model: Any, vocabulary: Sequence[str], clean: Callable[[str], Words] | None = None) -> None:
        if tuple(vocabulary[: len(SPECIALS)]) != SPECIALS:
            raise AttnError(
                f"a vocabulary begins with {' '.join(SPECIALS)}; give that of `encode`, such as data.vocabulary"
            )
        self.model = model
        self.vocabulary = vocabulary
        self.tokens = clean or cleaner_of(vocabulary)

    def read(self, texts: list[Words]) -> tuple[Tensor, Tensor]:
        arguments = self.arguments(texts)
        h, scores = self.model.states_and_scores(**arguments)
        attention = scores.softmax(-1)
        return attention[:, 1:-1], self.model.decoder(weighted_sum(attention, h))

    def give(self, texts: list[Words], attention: Tensor) -> Tensor:
        return self.model(**self.arguments(texts), imposed=torch.nn.functional.pad(attention, (1, 1)))

    def arguments(self, texts: list[Words]) -> dict[str, Tensor]:
        """ids (B, n + 2), start and end included, and lengths (B,)."""
        ids, offsets = to_ids(texts, self.vocabulary)
        shape = (len(texts), len(texts[0]) + 2)
        device = next(self.model.parameters()).device
        return {
            "ids": torch.as_tensor(ids.reshape(shape), dtype=torch.long, device=device),
            "lengths": torch.as_tensor(np.diff(offsets), device=device),
        }


class HuggingFace:
    """A sequence classifier of the library transformers, with its tokenizer.

    Attention is that of the last layer in the row of the place that is classified (place: 0, [CLS]; -1 where a model
    classifies its last token), the mean over heads, on the text's pieces alone: what goes to [CLS], [SEP] and the like
    is left out, the rest scaled to 1. Weights cannot be given: each head has its own, and the layers below mix the
    pieces.
    """

    give = None

    def __init__(self, model: Any, tokenizer: Any, place: int = 0) -> None:
        if hasattr(model, "set_attn_implementation"):
            model.set_attn_implementation("eager")  # the others keep no weights
        self.model = model
        self.tokenizer = tokenizer
        self.place = place
        most = getattr(model.config, "max_position_embeddings", None) or tokenizer.model_max_length
        self.encoded = partial(tokenizer, truncation=True, max_length=min(most, tokenizer.model_max_length))
        probe = self.encoded("a", return_special_tokens_mask=True)
        text = np.flatnonzero(np.equal(probe["special_tokens_mask"], 0))
        self.before = probe["input_ids"][: text[0]]
        self.after = probe["input_ids"][text[-1] + 1 :]

    def tokens(self, text: str) -> Words:
        ids = self.encoded(text)["input_ids"]
        return self.tokenizer.convert_ids_to_tokens(ids[len(self.before) : len(ids) - len(self.after)])

    def read(self, texts: list[Words]) -> tuple[Tensor, Tensor]:
        rows = [self.before + self.tokenizer.convert_tokens_to_ids(words) + self.after for words in texts]
        ids = torch.tensor(rows, device=self.model.device)
        answer = self.model(input_ids=ids, attention_mask=torch.ones_like(ids), output_attentions=True)
        if not answer.attentions or answer.attentions[-1] is None:
            raise AttnError("this model gives no attention; load it with attn_implementation='eager'")
        row = answer.attentions[-1][:, :, self.place].mean(1)  # (B, heads, L, L) -> (B, L)
        attention = row[:, len(self.before) : len(self.before) + len(texts[0])]
        return attention / attention.sum(1, keepdim=True), answer.logits


def adapter_of(model: Any, vocabulary: Sequence[str] | None, tokenizer: Any) -> Adapter:
    """The adapter of a model: itself where it has the functions. AttnError where neither it nor the arguments help."""
    if vocabulary is not None:
        return OwnClassifier(model, vocabulary)
    if tokenizer is not None:
        return HuggingFace(model, tokenizer)
    missing = [name for name in ("tokens", "read") if not callable(getattr(model, name, None))]
    if missing:
        raise AttnError(
            f"{type(model).__name__} has no {' and no '.join(missing)}; give it these functions (`attn_study.adapters."
            "Adapter`), or vocabulary= of a model of this package, or tokenizer= of a Hugging Face classifier"
        )
    return model
