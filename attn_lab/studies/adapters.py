"""Adapters of this package's classifiers and of Hugging Face's models, see `attn_lab.studies.protocol`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attn_core.documents import SPECIALS, Documents
from attn_core.errors import AttnError, one_line
from attn_core.models.classifier import Classifier, weighted_sum
from attn_core.tracing.arguments import evaluating, inputs
from attn_lab.data.arrays import to_ids
from attn_lab.data.cleaning import cleaner_of
from attn_lab.studies.protocol import PROMPT, Words

ROUNDED = 0.02
"""What half precision may add to a sum of 1."""

CLOSE = 1e-3
"""Up to which logits are equal, beside the largest."""

TAKEN = "check reads classifiers and language models that are encoders (BERT) or decoders (GPT-2)"


class OwnClassifier:
    """A classifier of this package. vocabulary: of the corpus that it reads."""

    def __init__(self, model: Any, vocabulary: Sequence[str] | Mapping[str, int]) -> None:
        if not isinstance(model, Classifier):
            raise AttnError(
                f"vocabulary= goes with a classifier of this package, not with {type(model).__name__}; of a Hugging "
                "Face model give tokenizer="
            )
        rows = model.encoder.embedding.num_embeddings
        if isinstance(vocabulary, Mapping):
            vocabulary = sorted(vocabulary, key=vocabulary.__getitem__)
        words = tuple(vocabulary) if isinstance(vocabulary, Iterable) else ()
        if words[: len(SPECIALS)] != SPECIALS or len(words) != rows:
            raise AttnError(
                f"vocabulary= holds the model's {rows:,} words by their ids, {' '.join(SPECIALS)} first; got "
                f"{len(words):,}, give that of `encode`, such as data.vocabulary"
            )
        self.model = model
        self.vocabulary = words
        self.tokens = cleaner_of(words)

    def read(self, texts: list[Words]) -> tuple[Tensor, Tensor]:
        h, scores = self.model.states_and_scores(**self.arguments(texts))
        attention = scores.softmax(-1)
        return attention[:, 1:-1], self.model.decoder(weighted_sum(attention, h))

    def give(self, texts: list[Words], attention: Tensor) -> Tensor:
        return self.model(**self.arguments(texts, attention.numpy().ravel()))

    def arguments(self, texts: list[Words], imposed: np.ndarray | None = None) -> dict[str, Tensor]:
        """The texts, and weights (T,) of their words, as arguments of the model."""
        ids, offsets = to_ids(texts, self.vocabulary)
        rows = np.arange(len(texts))
        return inputs(self.model, Documents(ids, offsets, rows, rows), rows, imposed)


class HuggingFace:
    """A classifier or a language model of the library transformers, with its tokenizer.

    Attention is that of the last layer, the mean over heads, on the text's pieces alone, in the row of the place that
    the model's head reads, found by its gradient: 0 of BERT ([CLS]), -1 of GPT-2 or XLNet (the last token), the mean
    over all rows where it reads all. What goes elsewhere ([CLS], a BOS, the prompt) is told by `outside`, the rest is
    scaled to 1. Weights cannot be given: each head has its own, and the layers below mix the pieces.

    Parameters
    ----------
    model : PreTrainedModel
        With a logit a class, or a language model.
    tokenizer : PreTrainedTokenizer
        The model's own.
    answers : list of str
        Of a language model that goes on with a text: two or more, the classes. Each is one piece behind the
        prompt, with its blank. Their logits are those of the next token.
    prompt : str
        What is read, {text} where the text stands.

    Raises
    ------
    AttnError
        A model without attention or classes, answers or a prompt that will not do.
    """

    give = None

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        answers: Sequence[str] = (),
        prompt: str = PROMPT,
    ) -> None:
        refuse(model, tokenizer, answers, prompt)
        if hasattr(model, "set_attn_implementation"):
            model.set_attn_implementation("eager")  # the others keep no weights
        self.model = model
        self.tokenizer = tokenizer
        self.prompt = prompt
        encoded = self.encoded("a", return_offsets_mapping=True)
        ids = encoded["input_ids"]
        at = prompt.index(PROMPT)
        inside = [place for place, (start, end) in enumerate(encoded["offset_mapping"]) if start <= at < end]
        if not inside:
            raise AttnError("tokenizer= reads nothing of the text 'a'; give the one that the model was trained with")
        first, last = inside[0], inside[-1]
        self.before = ids[:first]
        self.after = ids[last + 1 :]
        types = encoded.get("token_type_ids", [0] * len(ids))
        self.types = (types[:first], types[first], types[last + 1 :])
        self.most = max(0, longest(model, tokenizer) - len(self.before) - len(self.after))
        self.ids = tokenizer.get_vocab()
        self.answers: Any = answers
        plain = [piece for piece in sorted(self.ids, key=self.ids.get) if piece not in tokenizer.all_special_tokens]
        self.place = self.found(plain[:5])  # different ones, or the weights would not matter
        self.answers = self.ids_of(answers)

    def encoded(self, text: str, **options: bool) -> Any:
        """What the tokenizer makes of the prompt with a text in it."""
        return self.tokenizer(self.prompt.replace(PROMPT, text), verbose=False, **options)

    def tokens(self, text: str) -> Words:
        if not text.strip():
            return []
        ids = self.encoded(text)["input_ids"]
        end = len(ids) - len(self.after)
        if ids[: len(self.before)] != self.before or ids[end:] != self.after:
            raise AttnError(f"'{text[:40]}' melts into the signs of prompt=; put blanks or line ends around {PROMPT}")
        return self.tokenizer.convert_ids_to_tokens(ids[len(self.before) : end][: self.most])

    def read(self, texts: list[Words]) -> tuple[Tensor, Tensor]:
        rows, logits = self.whole(texts)
        return self.scaled(rows[:, -1].mean(1), len(texts[0])), logits

    def outside(self, words: Words) -> pd.Series:
        """What of a text's attention is on none of its pieces: token -> share."""
        row = self.whole([words])[0][0, -1].mean(0).cpu().numpy()
        names = self.tokenizer.convert_ids_to_tokens(self.before + self.after)
        start = len(self.before)
        shares = np.delete(row, range(start, start + len(words)))
        return pd.Series(shares, names, float).groupby(level=0).sum()

    def heads(self, words: Words) -> np.ndarray:
        """The attention (layers, heads, n) of a text's pieces, scaled to 1, in the row of every layer and head."""
        return self.scaled(self.whole([words])[0][0], len(words)).cpu().numpy()

    def scaled(self, rows: Tensor, n: int) -> Tensor:
        """Of rows (..., L) what is on the text's n pieces, scaled to 1."""
        on_pieces = rows[..., len(self.before) :][..., :n]
        return on_pieces / on_pieces.sum(-1, keepdim=True)

    def whole(self, texts: list[Words]) -> tuple[Tensor, Tensor]:
        """Rows (B, layers, heads, L) of B texts of one length, all tokens included, and logits (B, K), in single
        precision."""
        padded = getattr(self.model.config, "pad_token_id", None) is not None
        step = len(texts) if padded or self.answers else 1  # without one, the library classifies single texts
        each = [self.answer(texts[at : at + step]) for at in range(0, len(texts), step)]
        logits = torch.cat([answer.logits for answer in each])
        if self.answers:
            logits = logits[:, self.place, self.answers]
        return torch.cat([rows_of(answer, self.place) for answer in each]), logits.float()

    def answer(self, texts: list[Words], **options: Any) -> Any:
        """What the model gives back for texts of one length."""
        try:
            pieces = [[self.ids[word] for word in words] for words in texts]
        except KeyError as error:
            raise AttnError(
                f"{str(error)[:40]} is no piece of tokenizer=; give texts in place of lists of words"
            ) from None
        ids = torch.tensor([self.before + text + self.after for text in pieces], device=self.model.device)
        before, text, after = self.types
        types = [*before, *[text] * len(texts[0]), *after]
        if any(types):
            options["token_type_ids"] = torch.tensor(types, device=ids.device).expand_as(ids)
        options = {"output_attentions": True, **options}
        return self.model(input_ids=ids, attention_mask=torch.ones_like(ids), **options)

    def ids_of(self, answers: Sequence[str]) -> list[int]:
        """The piece of each answer, as it follows the prompt."""
        text = self.prompt.replace(PROMPT, "a")
        ids = self.tokenizer(text)["input_ids"]
        found: list[int] = []
        for answer in answers:
            longer = self.tokenizer(text + answer)["input_ids"]
            last = longer[-1]
            if longer != [*ids, last] or last in (self.tokenizer.unk_token_id, *found):
                raise AttnError(
                    f"answers=: '{answer[:40]}' is not one piece of its own behind prompt=; take one that is, with its "
                    "blank; the prompt ends in no blank, and the tokenizer adds no end token"
                )
            found.append(last)
        return found

    def found(self, text: Words) -> int | None:
        """The place whose row is read, None of all. AttnError for a model that cannot be read."""
        name = type(self.model).__name__
        try:
            hook = self.model.get_input_embeddings().register_forward_hook(
                lambda *call: call[-1].detach().requires_grad_()  # also where no weight has a gradient
            )
            with torch.enable_grad(), evaluating(self.model), hook:
                answer = self.answer([text], output_hidden_states=True)
                plain = self.answer([text], output_attentions=False)
        except (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            raise AttnError(f"{name} cannot be read ({one_line(error)[:50]}); {TAKEN}") from error
        length = len(self.before) + len(text) + len(self.after)
        last = (getattr(answer, "attentions", None) or [torch.empty(0)])[-1].float()
        weights = last.shape[-2:] == (length, length) and last.min() >= 0 and last.sum(-1).max() < 1 + ROUNDED
        logits = getattr(answer, "logits", torch.empty(0))
        if logits.ndim != (3 if self.answers else 2) or self.answers and weights and last.triu(1).any():
            raise AttnError(
                f"{name} is no classifier, as of AutoModelForSequenceClassification, and no language model like GPT-2 "
                "with answers=(' positive', ' negative')"
            )
        if not weights:
            raise AttnError(f"{name} gives no attention of each token to each other; {TAKEN}")
        if (logits - plain.logits).abs().max() > CLOSE * (1 + logits.abs().max()):
            raise AttnError(f"{name} answers otherwise with output_attentions=True: it does not use what it gives")
        return -1 if self.answers else self.of_head(answer)

    def of_head(self, answer: Any) -> int | None:
        """The place that a classifier's head reads, by the gradient of its logits, else that of [CLS] or the last;
        None where it reads several."""
        states = answer.hidden_states[-1]  # (1, L, width)
        (gradient,) = torch.autograd.grad(answer.logits.square().sum(), states, allow_unused=True)
        if gradient is None or not gradient.any():  # XLNet gives copies of its states, a pooler may be saturated
            cls = self.tokenizer.cls_token_id
            return self.before.index(cls) if cls in self.before else -1
        places = gradient[0].any(1).nonzero()[:, 0].tolist()
        if len(places) > 1:
            return None
        return places[0] if places[0] <= len(self.before) else places[0] - states.shape[1]


def rows_of(answer: Any, place: int | None) -> Tensor:
    """The row of a place, or the mean of all, in every layer and head, (B, layers, heads, L)."""
    layers = (layer.float() for layer in answer.attentions)  # (B, heads, L, L)
    return torch.stack([layer.mean(2) if place is None else layer[:, :, place] for layer in layers], 1)


def longest(model: Any, tokenizer: Any) -> int:
    """Tokens that a text has at most, by the model's places and by the tokenizer; 10 ** 30 where neither knows."""
    places = getattr(model.config, "max_position_embeddings", None) or 0
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            places -= module.padding_idx + 1  # RoBERTa counts from there
    return min(most for most in (places, tokenizer.model_max_length) if most > 0)


def refuse(model: Any, tokenizer: Any, answers: Sequence[str], prompt: str) -> None:
    """AttnError for what cannot be right before anything is read."""
    name = type(model).__name__
    if not getattr(tokenizer, "is_fast", False) or not hasattr(model, "config"):
        raise AttnError(
            f"tokenizer= is {tokenizer!r:.40}, with {name}; give a model of transformers and its fast tokenizer, as "
            "AutoTokenizer.from_pretrained('…') does"
        )
    kind = "regression" if model.config.num_labels == 1 else model.config.problem_type or ""
    if kind in ("regression", "multi_label_classification") and not answers:
        raise AttnError(
            f"{name} is set up for {kind.replace('_', ' ')}, no choice of one class (num_labels, problem_type); wrap "
            "it so that read() gives one logit: `attn_lab.studies.protocol.Adapter`"
        )
    if isinstance(answers, str) or len(answers) == 1 or prompt.count(PROMPT) != 1:
        raise AttnError(
            f"answers= takes two texts or more, as (' positive', ' negative'), prompt= one with {PROMPT} once"
        )
