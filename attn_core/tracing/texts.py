"""Texts read by a model as it stands: the definition of every number that is traced. Any encoder and attention will do.

It asks for the calling form of `models.encoders`, and that the encoder reads the ids through its `embedding` alone.
Where a deletion changes only the states near it (`reach_of`), the others are taken from the whole text.
"""

import copy

import numpy as np
import torch
from torch import Tensor, nn

from attn_core import fast
from attn_core.device import fitting
from attn_core.documents import Documents, pad
from attn_core.errors import AttnError
from attn_core.models.attention import Additive, PairedAdditive, PairedDot, ScaledDot, Uniform
from attn_core.models.classifier import Classifier, Tensors, real_tokens, weighted_sum
from attn_core.models.encoders import Encoder
from attn_core.models.paired import Paired

DELETION_TOKENS = {"cpu": 16_384, "cuda": 131_072}
"""Tokens of shortened texts that are read side by side, where memory allows."""


class TextBatch:
    """B texts of like length, start and end included, L positions.

    mask (B, L): True on words; score (B, L), minus infinity elsewhere; contribution (B, L, K), with K the width of the
    decoder's hidden layer for pairs.
    """

    def __init__(self, model: Classifier | Paired, documents: Documents, rows: np.ndarray, q: Tensor | None) -> None:
        device = model.encoder.embedding.weight.device
        self.model = model
        self.q = () if q is None else (q,)
        self.value = model.decoder.context.weight if isinstance(model, Paired) else model.decoder.weight  # (K, H)
        self.ids, self.lengths = (torch.as_tensor(array, device=device) for array in pad(documents, rows))
        self.mask = real_tokens(self.ids, self.lengths)  # (B, L)
        self.h, self.score, self.contribution = self.encode(self.ids, self.lengths, self.mask, *self.q)

    def encode(self, ids: Tensor, lengths: Tensor, mask: Tensor, *q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """States (R, l, H), scores (R, l) and contributions (R, l, K) of texts (R, l)."""
        h, scores = self.model.read(ids, lengths, mask, *q)
        return h, scores, h @ self.value.t()

    def importances(self, attention: Tensor, slope: Tensor) -> Tensors:
        """gradient <e_t, dp/de_t>, (B, L), by autograd, with the attention (B, L) held constant; of an encoder that
        normalises its input also gradient_norm |dp/de_t|.

        slope (B, K) = dp / d(attended contribution), so dp/dh_t = attention_t * slope @ value.
        """
        h_slope = attention[..., None] * (slope @ self.value)[:, None]  # (B, L, H)
        try:
            with torch.inference_mode(False), torch.enable_grad():
                # Tensors of inference mode are barred from autograd: it gets copies.
                encoder, rows = with_row_per_token(self.model.encoder, self.ids.clone())
                e = encoder.embedding.weight  # (B L + 1, E)
                h = encoder(rows, self.lengths.clone(), self.mask.clone())
                e_slope = torch.autograd.grad(h, e, h_slope, allow_unused=True)[0]
            same = e_slope is not None and torch.allclose(h[self.mask], self.h[self.mask], rtol=1e-3, atol=1e-4)
        except IndexError:  # the encoder has another table, of fewer rows
            same = False
        if not same:
            raise AttnError(
                f"{type(self.model.encoder).__name__}: it reads the words otherwise than by its `embedding`, where the "
                "gradients are taken; without them: trace(..., gradient=False)"
            )
        importances = {"gradient": (e_slope * e.detach()).sum(-1)[rows]}
        if getattr(self.model.encoder, "NORMALISED", False):
            importances["gradient_norm"] = e_slope.norm(dim=-1)[rows]
        return importances

    def contexts_without(self) -> Tensor:
        """Attended contributions without each word in turn, (B, L, K) float64; NaN where no word is left."""
        contexts = self.contribution.new_full(self.contribution.shape, torch.nan, dtype=torch.float64)
        deleted = self.mask & (self.lengths > 3)[:, None]  # (B, L) the words of texts with several
        tokens = DELETION_TOKENS[contexts.device.type] // getattr(self.model.encoder, "MEMORY", 1)
        tokens = fitting(contexts.device, tokens)
        texts_at_once = max(1, tokens // self.ids.shape[1])
        for deletions in deleted.nonzero().split(texts_at_once):
            text, position = deletions.t()
            contexts[text, position] = self.context_without(text, position)
        return contexts

    def context_without(self, text: Tensor, deleted: Tensor) -> Tensor:
        """Attended contributions (R, K) of the texts (R,) without their words at positions `deleted` (R,), one each.

        Their sums are taken in double precision: words that occur twice, or in equal windows, make equal differences,
        and Kendall's tau is to see them as the ties they are, not as the order of rounding errors.
        """
        position = torch.arange(self.ids.shape[1] - 1, device=deleted.device)
        source = position + (position >= deleted[:, None])  # (R, L - 1) where each was in the whole text
        row = text[:, None]
        ids = self.ids[row, source]
        lengths = self.lengths[text] - 1
        q = [summary[text] for summary in self.q]
        reach = reach_of(self.model)
        if reach is None:
            _, score, contribution = self.encode(ids, lengths, real_tokens(ids, lengths), *q)
        else:
            score = self.score[row, source]
            contribution = self.contribution[row, source]
        if reach:
            self.encode_near(deleted, reach, ids, lengths, q, score, contribution)
        return weighted_sum(score.double().softmax(-1), contribution.double())

    def encode_near(
        self,
        deleted: Tensor,
        reach: int,
        ids: Tensor,
        lengths: Tensor,
        q: list[Tensor],
        score: Tensor,
        contribution: Tensor,
    ) -> None:
        """Put in place what a deletion changes in scores (R, L - 1) and contributions (R, L - 1, K): what is near the
        gap.

        States change whose windows hold the gap, `reach` to either side of it; they read as many words beyond these.
        """
        step = torch.arange(-2 * reach, 2 * reach, device=deleted.device)
        near = deleted[:, None] + step  # (R, 4 reach) positions in the shortened texts ids (R, L - 1)
        padded = nn.functional.pad(ids, (2 * reach, 2 * reach))
        near_ids = padded.gather(1, near + 2 * reach)
        mask = (near > 0) & (near < lengths[:, None] - 1)
        _, near_score, near_contribution = self.encode(near_ids, mask.sum(1), mask, *q)

        middle = slice(reach, -reach)  # those that change
        changed = near[:, middle].clamp(0, ids.shape[1] - 1)  # (R, 2 reach); start and end have no weight
        score.scatter_(1, changed, near_score[:, middle])
        index = changed[..., None].expand(-1, -1, contribution.shape[-1])
        contribution.scatter_(1, index, near_contribution[:, middle])


def with_row_per_token(encoder: Encoder, ids: Tensor) -> tuple[Encoder, Tensor]:
    """A copy of the encoder in whose table (B L + 1, E) each token has a row of its own, and these rows (B, L).

    So a word that stands twice has two vectors, each with its own gradient, whichever way an encoder looks them up.
    Row 0 stays that of the pad; all else is shared with the encoder.
    """
    shared = {id(tensor): tensor for tensor in encoder.state_dict(keep_vars=True).values()}
    twin = copy.deepcopy(encoder, shared)
    words = encoder.embedding.weight
    table = torch.cat([words[:1], words[ids.flatten()]])
    twin.embedding.weight = nn.Parameter(table.detach())
    twin.embedding.num_embeddings = len(table)
    rows = torch.arange(1, len(table), device=ids.device).view_as(ids)
    return twin, rows * (ids > 0)


def reach_of(model: Classifier | Paired) -> int | None:
    """Words to either side that a token's state and score depend on, None where they may depend on all.

    So for encoders and attentions that are not ours, subclasses too. A deletion changes no state further away.
    """
    scored_alone = type(model.attention) in (Additive, ScaledDot, Uniform, PairedAdditive, PairedDot)
    return vars(type(model.encoder)).get("REACH") if scored_alone and fast.enabled() else None
