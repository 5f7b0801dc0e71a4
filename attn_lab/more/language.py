"""A language model under the papers' tests: SmolLM2-135M, frozen, with a head on its states or asked by a prompt; and
MiniLM and bge-small, frozen, with the same heads.

Not in the three papers.

Written before the runs, 28 November 2026, after a pilot of one prompt and 40 texts of SST. We expect:

- (a) Single-state agreement rises with the place in the text, at each of the depths 10 to 30, and crosses 80 % in the
  second half of the text at one of them.
- (b) Among the rankings, with a prompt, attention x gradient is nearest to deletion of whole words, by the share of
  texts whose first words are the same; the last layer's attention is not above a lexicon.
- (c) No head is as accurate on SST as fine-tuned MiniLM, and a prompt, mean of six, is less accurate than a bag of
  words. From depth 10 on fewer than one decision in ten flips under uniform weights.
- (d) Two prompts give the same decision in fewer than 80 % of texts.

Written on the same day with the outcome on SST known, before SmolLM2 read AG News or 20 Newsgroups (there texts of at
most 60 words, 465 to train on and 144 to test) and before bge-small was read at all. We expect:

- (e) On both sets agreement rises with the place from layer 15 on: its mean over the sixth to ninth tenths is above
  that over the first two by .05 or more; in the embedding by less than .03. It crosses 80 % in the second half at one
  of the layers on AG News, at none on 20 Newsgroups.
- (f) On both the best head is more accurate than a bag of words trained on the same texts.
- (g) On AG News fewer than one decision in ten flips under uniform weights at each layer from 5 on; on 20 Newsgroups
  more than one in ten at each.
- (h) On both the most attended word is that of deletion less often after layer 30 than after layer 0.
- (i) bge-small, frozen, on SST: agreement is highest after its last layer, and there above that of SmolLM2's and
  MiniLM's last layers, by .05 or more, with heads trained alike.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec

import numpy as np
import pandas as pd
import torch
from numpy import ndarray
from torch import Tensor, nn

from attn_core.errors import AttnError
from attn_core.traces import cut
from attn_lab.data import pieces
from attn_lab.more.cls import product, relevance, rollout
from attn_lab.more.minilm import MiniLM

SINK = -2
PROMPT = -1
"""Owners of pieces that belong to no word: the first token of all (of BERT also the last), and the prompt."""

ANSWERS = (" negative", " positive")
CHAT = "user\nIs this film review positive or negative?\n{text}<|im_end|>\n<|im_start|>assistant\nThe review is"
PROMPTS = (
    ("Review:{text}\nSentiment (positive or negative):", *ANSWERS),
    ("{text}\nQuestion: Is this film review positive or negative?\nAnswer:", *ANSWERS),
    ("{text}\nThe review above is", *ANSWERS),
    ("{text}\nAll in all, the film was", " bad", " good"),
    ("{text}\nDid the critic like the film? Answer yes or no:", " no", " yes"),
    (CHAT, *ANSWERS),
)
"""Six ways to ask, none tried before: where the text stands, the answer that says class 0, that of class 1."""


def depths(name: str) -> range:
    """Seven layers of a model of `pieces.MODELS` after which states are read; 0 is the embedding, and of SmolLM2 those
    of 30 are normalised as for the output."""
    depth = pieces.MODELS[name]["depth"]
    return range(0, depth + 1, depth // 6)


@lru_cache
def loaded(name: str = "smollm2") -> tuple:
    """A model of `pieces.MODELS` and its tokenizer. AttnError where a library or the model's files are not at hand."""
    file, _ = pieces.weights(name)
    for library in ("transformers", "gguf", "accelerate"):
        if find_spec(library) is None:
            raise AttnError(f'{library} is missing, which reads {file}; `pip install "attn-core[pretrained]"`')
    from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

    directory = pieces.folder(name)
    if name == "smollm2":
        tokenizer = AutoTokenizer.from_pretrained(directory, gguf_file=file)
        model = AutoModelForCausalLM.from_pretrained(
            directory, gguf_file=file, attn_implementation="eager", dtype=torch.float32
        )
    else:
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_file=str(directory / "tokenizer.json"), bos_token="[CLS]", sep_token="[SEP]"
        )
        model = MiniLM(depth=pieces.MODELS[name]["depth"])
        model.load(directory / file)
    return model.eval().requires_grad_(False), tokenizer


def laid_out(tokenizer, text: str, prompt: str = "{text}") -> tuple[ndarray, ndarray]:
    """Ids (L,) of a text in a prompt, and whose each is, (L,): SINK, PROMPT, or the number of its word.

    A word is cut together with the blank before it; the pieces are those of the text as a whole, which are never of two
    words.
    """
    before, after = prompt.split("{text}")
    words = [f" {word}" for word in text.split()]
    cuts = [tokenizer(part, add_special_tokens=False)["input_ids"] for part in (before, *words, after)]
    owners = [SINK, PROMPT, *range(len(words)), PROMPT, SINK]
    last = [] if tokenizer.sep_token_id is None else [tokenizer.sep_token_id]
    cuts = [[tokenizer.bos_token_id], *cuts, last]
    return np.concatenate(cuts).astype(int), np.repeat(owners, [*map(len, cuts)])


def without_each(text: str) -> list[str]:
    """The text without each of its words in turn, and without the blank before it."""
    words = text.split()
    return [" ".join(words[:place] + words[place + 1 :]) for place in range(len(words))]


@torch.inference_mode()
def states(model, texts: Sequence[ndarray], depths: Sequence[int]) -> Iterator[tuple[int, ndarray]]:
    """(row, states (depths, L, H) float32) of each text of ids, long ones first; no state reads what pads the right."""
    for rows in cut(np.array([*map(len, texts)]), 64, 1024):
        ids = nn.utils.rnn.pad_sequence([torch.as_tensor(texts[row]) for row in rows], batch_first=True)
        if isinstance(model, MiniLM):
            read = model.levels(ids, torch.tensor([len(texts[row]) for row in rows]))
        else:
            read = model.model(input_ids=ids, output_hidden_states=True, use_cache=False).hidden_states
        for number, row in enumerate(rows):
            yield row, torch.stack([read[depth][number, : len(texts[row])] for depth in depths]).numpy()


def answer_ids(tokenizer, prompt: Sequence[str]) -> list[int]:
    """Ids of what a prompt's two answers begin with."""
    return [tokenizer(answer, add_special_tokens=False)["input_ids"][0] for answer in prompt[1:]]


def answered(model, tokenizer, prompt: Sequence[str], texts: Sequence[str]) -> ndarray:
    """Logit (D,) of a prompt's second answer minus that of its first, after each text."""
    no, yes = model.lm_head.weight[answer_ids(tokenizer, prompt)].numpy()
    laid = [laid_out(tokenizer, text, prompt[0])[0] for text in texts]
    logits = np.empty(len(laid))
    for row, state in states(model, laid, [-1]):
        logits[row] = state[0, -1] @ (yes - no)
    return logits


def ranked(model, tokenizer, prompt: Sequence[str], text: str) -> pd.DataFrame:
    """Eleven rankings of a text's words in a prompt, one row for SINK, PROMPT and each word, the sum over its pieces.

    Of the last token's rows of attention, z being the logit of `answered`; the formulas are those of `cls.ranked`, with
    these differences: attention_mean and attention_x_gradient go over the heads of all layers, and …_rescaled is
    without the sink, each row's rest scaled to 1.
    """
    ids, owner = laid_out(tokenizer, text, prompt[0])
    no, yes = answer_ids(tokenizer, prompt)
    vectors = model.get_input_embeddings().weight
    x = vectors[ids][None].detach().requires_grad_()
    read = model(inputs_embeds=x, output_attentions=True, use_cache=False, logits_to_keep=1)
    z = read.logits[0, -1, yes] - read.logits[0, -1, no]
    by_input, *slopes = torch.autograd.grad(z, [x, *read.attentions])
    weights = [layer.detach() for layer in read.attentions]
    rows = torch.stack(weights)[:, 0, :, -1]  # (layers, heads, L)
    moved = rows * torch.stack(slopes)[:, 0, :, -1]
    rescaled = rows / rows[..., 1:].sum(-1, keepdim=True)
    values = {
        "attention": rows[-1].mean(0),
        "attention_rescaled": rescaled[-1].mean(0),
        "attention_mean": rows.mean((0, 1)),
        "attention_mean_rescaled": rescaled.mean((0, 1)),
        "rollout": rollout(weights)[0, -1],
        "attention_x_gradient": moved.sum((0, 1)).abs(),
        "attention_x_gradient_last": moved[-1].sum(0).abs(),
        "relevance": relevance(weights, [slope * z.detach().sign() for slope in slopes])[0, -1],
        "gradient_norm": by_input[0].norm(dim=-1),
        "gradient_x_input": product(x.detach(), by_input)[0],
        "direction_x_gradient": product(random_vectors(*vectors.shape)[ids], by_input[0]),
    }
    return pd.DataFrame({name: value.numpy() for name, value in values.items()}).groupby(owner).sum()


@lru_cache
def random_vectors(pieces: int, width: int) -> Tensor:
    """One for each piece, the same in all texts."""
    return torch.randn((pieces, width), generator=torch.Generator().manual_seed(0))
