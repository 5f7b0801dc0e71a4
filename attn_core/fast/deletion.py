"""What a text attends to without each of its words in turn (leave-one-out; Jain & Wallace 2019, Algorithm 1).

Start and end tokens stay, the neighbours of the deleted word meet, scores and softmax are taken over the n - 1 words
left; a question or hypothesis stays whole. Nothing that a deletion leaves unchanged is computed again:

* BiLSTM: forward states before the deleted word and backward states after it are those of the whole text. Row j of a
  staircase (word j deleted) starts from the whole text's state at j - 1 and joins at step j + 1, so one pass per
  direction does all deletions. Each pair (deleted word, other word) has one new and one old half-state; the old half
  of the attention layer's product is shared too. Scores and contributions go into the softmax's sums as the staircase
  passes: n rows of numbers are kept per text, not n times n.
* CNN: only windows within three words of the gap change.
* Average, none: no state changes. For these and the CNN the (n, n) scores of a text are kept, contributions are not.
  Their sums are taken in double precision: words that occur twice, or in equal windows, make equal differences, and
  Kendall's tau is to see them as the ties they are, not as the order of rounding errors.

Result (n + 1, B, K), n the longest text's words: [j] = sum of attention times contribution without word j.
Meaningless at j = 0 (the start token), beyond a text, and for one word.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from attn_core.fast.states import (
    Chunk,
    Convolutional,
    Direction,
    Network,
    Pass,
    Recurrent,
    States,
    cell,
    project,
    read_states,
    windows,
)

SAFE = 60.0
"""Largest distance of a softmax's maximum from the number subtracted beforehand: exp(60) and exp(-60) are far from
single precision's ends."""


def contexts_without(network: Network, chunk: Chunk, states: States, score: Tensor, contribution: Tensor) -> Tensor:
    """Attended contributions without each word, (n + 1, B, K), from the whole text's score (L, B) and contribution."""
    score = score.masked_fill(~chunk.real, -torch.inf)
    if isinstance(network, Recurrent):
        return recurrent(network, chunk, states, score)
    return unrecurrent(network, chunk, score, contribution)


def recurrent(network: Recurrent, chunk: Chunk, states: tuple[Pass, Pass], score: Tensor) -> Tensor:
    """BiLSTM, by two staircases."""
    halves = []
    for side, this, other, own_score in zip(
        network.directions, states, states[::-1], (score, chunk.mirrored(score)), strict=True
    ):
        old_projected = chunk.mirrored(other.projected) + network.scorer.bias
        old_value = chunk.mirrored(other.value)
        # The largest score after word j as the whole text has it: near the largest without word j, as a rule.
        after = own_score.flip(0).cummax(0).values.flip(0)[1:]  # (n + 1, B)
        reference = after.masked_fill(after.isinf(), 0.0)
        halves.append(staircase(network, side, this, old_projected, old_value, chunk.real, reference))
    (mass, context), back = halves
    # Deletion j is deletion length - 1 - j of the reversed text; the two halves of the softmax meet by their masses.
    back_mass, back_context = (
        chunk.mirrored(torch.cat([part, torch.zeros_like(part[:1])]))[: len(mass)] for part in back
    )
    share = torch.exp(mass - torch.logaddexp(mass, back_mass))[..., None]
    return share * context + (1 - share) * back_context


def staircase(
    network: Recurrent,
    side: Direction,
    whole: Pass,
    old_projected: Tensor,
    old_value: Tensor,
    real: Tensor,
    reference: Tensor,
) -> tuple[Tensor, Tensor]:
    """Softmax over the words u after each deleted word j: (log of the summed exponentials (n + 1, B), mean
    contribution (n + 1, B, K)); minus infinity and 0 where no word comes after.

    Everything in the direction's own time; `whole` is the whole text's pass, old_projected (L, B, A) and old_value
    (L, B, K) come from the other direction's. reference (n + 1, B) is subtracted from the scores; were it further than
    SAFE from their maximum, the pass is made again with that maximum. Rows are ordered (j, b): those alive at step u
    are the first (u - 1) B.
    """
    h, c = whole.half_h, whole.twice_c
    steps, texts, width = h.shape
    n = steps - 2
    classes = old_value.shape[-1]
    gates = h.new_empty(n * texts, 4 * width)
    new_h, new_c, tau = (h.new_empty(n * texts, width) for _ in range(3))
    projected = h.new_empty(n * texts, old_projected.shape[-1])
    contribution = h.new_empty(n * texts, classes)
    top = torch.full_like(reference, -torch.inf)
    total, mean = torch.zeros_like(reference), h.new_zeros(n + 1, texts, classes)
    per_text = side.score_weight.dim() == 3
    for u in range(2, n + 1):
        joins, alive = (u - 2) * texts, (u - 1) * texts
        new_h[joins:alive], new_c[joins:alive] = h[u - 2], c[u - 2]
        g, state = gates[:alive], new_h[:alive]
        g.view(u - 1, texts, -1).copy_(side.table.index_select(0, whole.words[u]))
        g.addmm_(state, side.recurrent)
        cell(g, new_c[:alive], new_c[:alive], tau[:alive], state)
        p, value = projected[:alive].view(u - 1, texts, -1), contribution[:alive].view(u - 1, texts, -1)
        p.copy_(old_projected[u])
        if per_text:
            p.add_(project(state.view(u - 1, texts, -1), side.score_weight))
        else:
            p.flatten(0, 1).addmm_(state, side.score_weight)
        value.copy_(old_value[u]).flatten(0, 1).addmm_(state, side.value)
        score = network.scorer.read(p).masked_fill_(~real[u], -torch.inf)
        torch.maximum(top[1:u], score, out=top[1:u])
        weight = score.sub_(reference[1:u]).exp_()
        total[1:u].add_(weight)
        mean[1:u].addcmul_(weight[..., None], value)
    if ((top - reference).abs().masked_fill(top.isinf(), 0.0) > SAFE).any():
        reference = top.masked_fill(top.isinf(), 0.0)
        return staircase(network, side, whole, old_projected, old_value, real, reference)
    return reference + total.log(), mean.div_(total.clamp(min=torch.finfo(total.dtype).tiny)[..., None])


def unrecurrent(network: Convolutional, chunk: Chunk, score: Tensor, contribution: Tensor) -> Tensor:
    """CNN, average, none: the unchanged scores in a matrix (B, j, u), those next to the gap overwritten."""
    size = len(score) - 1  # n + 1
    score, contribution = score.double(), contribution.double()
    matrix = score[:size].t()[:, None].repeat(1, size, 1)
    matrix.diagonal(0, 1, 2).fill_(-torch.inf)
    changed = list(near_the_gap(network, chunk, size))
    for place, new_score, _ in changed:
        matrix.diagonal(place, 1, 2).copy_(new_score)
    top = matrix.amax(-1, keepdim=True)
    weight = matrix.sub_(top.masked_fill_(top.isinf(), 0.0)).exp_()
    total = weight.sum(-1).clamp_(min=torch.finfo(weight.dtype).tiny)
    terms = [(place, weight.diagonal(place, 1, 2)[..., None] * value) for place, _, value in changed]
    for place, _ in terms:
        weight.diagonal(place, 1, 2).fill_(0.0)
    context = weight @ contribution[:size].transpose(0, 1)  # (B, j, K)
    for place, term in terms:
        context[:, max(0, -place) : max(0, size - max(0, place))] += term
    return context.div_(total[..., None]).transpose(0, 1)


def near_the_gap(network: Convolutional, chunk: Chunk, size: int) -> Iterator[tuple[int, Tensor, Tensor]]:
    """(place, scores (B, U), contributions (B, U, K)) of the words u = j + place next to a deleted word j, by u."""
    for distance in range(1, network.reach + 1):
        # Word u = j - distance: the words from the gap on move one nearer; u = j + distance: those up to the gap do.
        before = windows(network, chunk, lambda o, k=distance: o + (o >= k))
        after = windows(network, chunk, lambda o, k=distance: o - (o <= -k))
        for h, place in ((before, -distance), (after, distance)):
            score, value = read_states(network, h)
            own = slice(max(0, place), max(0, size + min(0, place)))
            score = score.masked_fill_(~chunk.real, -torch.inf)[own].t()
            yield place, score.double(), value[own].transpose(0, 1).double()
