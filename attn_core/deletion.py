"""Logits of a text without each of its words in turn (leave-one-out; Jain & Wallace 2019, Algorithm 1).

Start and end tokens stay, the neighbours of the deleted word meet, scores and softmax are taken over the n - 1 words
left. Nothing that a deletion leaves unchanged is computed again:

* BiLSTM: forward states before the deleted word and backward states after it are those of the whole text. Row j of a
  staircase (word j deleted) starts from the whole text's state at j - 1 and joins at step j + 1, so one pass per
  direction does all deletions. Each pair (deleted word, other word) has one new and one old half-state; the old half
  of the attention layer's product is shared too.
* CNN: only windows within three words of the gap change.
* Average, none: no state changes.

Scores and contributions, (n, n) numbers per text, are kept; states are not. Result (n + 1, B, K), n the longest
text's words: [j] = logits without word j. Meaningless at j = 0 (the start token), beyond a text, and for one word.
"""

import torch
from torch import Tensor

from attn_core.states import Chunk, Convolutional, Direction, Network, Pass, Recurrent, States, cell, read, windows


def logits_without(network: Network, chunk: Chunk, states: States) -> Tensor:
    """Logits without each word, (n + 1, B, K); see the module."""
    if isinstance(network, Recurrent):
        return recurrent(network, chunk, states)
    score, contribution = unchanged(*read(network, chunk, states))
    if isinstance(network, Convolutional):
        convolutional(network, chunk, score, contribution)
    return network.bias + attend(score, contribution, chunk)[1]


def recurrent(network: Recurrent, chunk: Chunk, states: tuple[Pass, Pass]) -> Tensor:
    """BiLSTM, by two staircases."""
    halves = []
    for side, this, other in zip(network.directions, states, states[::-1], strict=True):
        old_projected = chunk.mirrored(other.projected) + network.scorer.bias
        halves.append(attend(*staircase(network, side, this, old_projected, chunk.mirrored(other.value)), chunk))
    (mass, logits), back = halves
    # Deletion j is deletion length - 1 - j of the reversed text; the two halves of the softmax meet by their masses.
    back_mass, back_logits = (
        chunk.mirrored(torch.cat([part, torch.zeros_like(part[:1])]))[: len(mass)] for part in back
    )
    share = torch.exp(mass - torch.logaddexp(mass, back_mass))[..., None]
    return network.bias + share * logits + (1 - share) * back_logits


def staircase(
    network: Recurrent, side: Direction, whole: Pass, old_projected: Tensor, old_value: Tensor
) -> tuple[Tensor, Tensor]:
    """Scores (u, j, B) and contributions (u, j, B, K) at word u after the deletion of an earlier word j < u.

    Everything in the direction's own time; `whole` is the whole text's pass, old_projected (L, B, A) and old_value
    (L, B, K) come from the other direction's. Rows are ordered (j, b): those alive at step u are the first (u - 1) B.
    """
    h, c = whole.half_h, whole.twice_c
    steps, texts, width = h.shape
    n = steps - 2
    classes = old_value.shape[-1]
    score = h.new_full((n + 1, n + 1, texts), -torch.inf)
    contribution = h.new_zeros(n + 1, n + 1, texts, classes)
    gates = h.new_empty(n * texts, 4 * width)
    new_h, new_c, tau = (h.new_empty(n * texts, width) for _ in range(3))
    projected = h.new_empty(n * texts, side.score_weight.shape[1])
    for u in range(2, n + 1):
        joins, alive = (u - 2) * texts, (u - 1) * texts
        new_h[joins:alive], new_c[joins:alive] = h[u - 2], c[u - 2]
        g, state = gates[:alive], new_h[:alive]
        g.view(u - 1, texts, -1).copy_(side.table.index_select(0, whole.words[u]))
        g.addmm_(state, side.recurrent)
        cell(g, new_c[:alive], new_c[:alive], tau[:alive], state)
        p = projected[:alive].view(u - 1, texts, -1)
        p.copy_(old_projected[u]).flatten(0, 1).addmm_(state, side.score_weight)
        score[u, 1:u] = network.scorer.read(p)
        torch.mm(state, side.value, out=contribution[u, 1:u].view(-1, classes))
    return score, contribution.add_(old_value[: n + 1, None])


def convolutional(network: Convolutional, chunk: Chunk, score: Tensor, contribution: Tensor) -> None:
    """CNN: overwrites the six diagonals of score (u, j, B) and contribution (u, j, B, K) that lie next to the gap."""
    for distance in range(1, network.reach + 1):
        # Word u = j - distance: the words from the gap on move one nearer; u = j + distance: those up to the gap do.
        before = windows(network, chunk, lambda o, k=distance: o + (o >= k))
        after = windows(network, chunk, lambda o, k=distance: o - (o <= -k))
        for h, place in ((before, distance), (after, -distance)):
            new_score, new_value = read(network, chunk, h)
            score.diagonal(place).copy_(_along(new_score, place, len(score)))
            contribution.diagonal(place).copy_(_along(new_value, place, len(score)))


def _along(values: Tensor, place: int, size: int) -> Tensor:
    """Entries u of values (u, B, ...) on the diagonal (u, u + place) of a (size, size) matrix, as (B, ..., u)."""
    return values[max(0, -place) : max(0, size - max(0, place))].movedim(0, -1)


def unchanged(score: Tensor, contribution: Tensor) -> tuple[Tensor, Tensor]:
    """Scores (u, j, B), minus infinity at u = j, and contributions (u, j, B, K), as if no other word changed."""
    n = len(score) - 2
    matrix = score[: n + 1, None].repeat(1, n + 1, 1)
    matrix.diagonal().fill_(-torch.inf)
    return matrix, contribution[: n + 1, None].repeat(1, n + 1, 1, 1)


def attend(score: Tensor, contribution: Tensor, chunk: Chunk) -> tuple[Tensor, Tensor]:
    """Softmax over u: (log of the summed exponentials (j, B), mean contribution (j, B, K)); inputs are overwritten.

    Where no word is left, as on one side of a first or last word, they are minus infinity and 0.
    """
    score.masked_fill_(~chunk.real[: len(score), None], -torch.inf)
    top = score.amax(0)
    top.masked_fill_(top.isinf(), 0.0)
    weight = score.sub_(top).exp_()
    total = weight.sum(0)
    mean = contribution.mul_(weight[..., None]).sum(0) / total.clamp(min=torch.finfo(total.dtype).tiny)[..., None]
    return top + total.log(), mean
