"""Bidirectional LSTMs of many models step by step at once: a few large operations a step in place of many small ones.

torch's own kernel takes one direction of one model after the other. Here all share each step, whatever does not wait
for the step before is done for all steps at once, a distinct word of a batch is multiplied once, and a step holds no
text and no model whose texts have all ended. The gradient is written out. The arithmetic is torch's to rounding.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """Places (N,) of all steps laid end to end; step t is a block of G_t LSTMs x B_t texts, both longest first.

    blocks: (first place, G_t, B_t) of each step. source (N,): what a place reads, as an index into the flattened
    (S, B, L, 2) of positions and directions (pads where its text has ended). ahead, back (S, B, L): the place of each
    position's state in either direction. own: for each of the 2 S LSTMs the places of its second and later steps, and
    those one step before them. order (S,): models by their longest text.
    """

    blocks: list[tuple[int, int, int]]
    source: Tensor
    ahead: Tensor
    back: Tensor
    own: list[tuple[Tensor, Tensor]]
    order: Tensor


def packing(lengths: Tensor) -> Packing:
    """The packing of S batches of B texts of these lengths (S, B), each at least 1; LSTM 2 s + d is direction d."""
    models, texts = lengths.shape
    count = lambda size: torch.arange(size, device=lengths.device)
    order = lengths.max(1).values.argsort(descending=True, stable=True)
    lasting, text = torch.sort(lengths[order], dim=1, descending=True, stable=True)  # (S, B), by rank
    step = count(int(lasting.max()))
    active = step < lasting[..., None]  # (S, B, L)
    groups, rows = 2 * active.any(1).sum(0), active.sum(1).max(0).values  # (L,)
    firsts = (groups * rows).cumsum(0) - groups * rows
    lstm, row = count(2 * models).view(models, 2, 1, 1), count(texts)[:, None]
    place = firsts + lstm * rows + row  # (S, 2, B, L)
    start = (order[:, None] * texts + text)[..., None] * len(step)
    turned = (lasting[..., None] - 1 - step).clamp(min=0)  # what the backward direction reads
    reads = torch.stack([2 * (start + step), 2 * (start + turned) + 1], 1)  # (S, 2, B, L)
    held = (lstm < groups) & (row < rows)
    source = reads.new_empty(int((groups * rows).sum()))
    source[place[held]] = reads[held]
    found = reads.new_zeros(2, models * texts * len(step))
    for side in range(2):
        found[side, reads[:, side][active] // 2] = place[:, side][active]
    later = active[:, None, :, 1:].expand(-1, 2, -1, -1).flatten(0, 1)
    pairs = zip(place.flatten(0, 1), later, strict=True)
    own = [(places[:, 1:][mask], places[:, :-1][mask]) for places, mask in pairs]
    blocks = list(zip(firsts.tolist(), groups.tolist(), rows.tolist(), strict=True))
    return Packing(blocks, source, *found.view(2, models, texts, len(step)), own, order)


class Steps(torch.autograd.Function):
    """States (N, H) from gates (N, 4H), the sums W x + b of each place, which are overwritten; see `Packing`.

    Gates input i, forget f, candidate g, output o: c = f c_before + i g, h = o tanh(c), as `nn.LSTM`. weight U
    (2 S, 4H, H): the recurrent ones, in the order of the packing.
    """

    @staticmethod
    def forward(ctx, gates: Tensor, weight: Tensor, packed: Packing) -> Tensor:
        hidden = weight.shape[-1]
        double = weight.new_ones(4, hidden)
        double[2] = 2  # tanh(x) = 2 sigmoid(2x) - 1; torch's logistic function takes a fraction of its tanh's time
        double = double.view(-1)
        turned = (weight * double[:, None]).transpose(1, 2).contiguous()
        gates = gates.mul_(double)
        c, h = gates.new_empty(len(gates), hidden), gates.new_empty(len(gates), hidden)
        before = None
        for first, groups, rows in packed.blocks:
            own = slice(first, first + groups * rows)
            now, cell, state = (x[own].view(groups, rows, -1) for x in (gates, c, h))
            if before is not None:
                c_before, h_before = (x[:groups, :rows] for x in before)
                now.baddbmm_(h_before, turned[:groups])
            i, f, g, o = now.sigmoid_().chunk(4, -1)
            g.mul_(2).sub_(1)
            torch.mul(i, g, out=cell)
            if before is not None:
                cell.addcmul_(f, c_before)
            torch.mul(cell, 2, out=state).sigmoid_().mul_(2).sub_(1).mul_(o)
            before = cell, state
        ctx.save_for_backward(gates, c, h, weight)
        ctx.packed = packed
        return h

    @staticmethod
    def backward(ctx, slope: Tensor):
        gates, c, h, weight = ctx.saved_tensors
        packed, hidden = ctx.packed, h.shape[-1]
        i, f, g, o = gates.chunk(4, -1)
        squashed = (2 * c).sigmoid_().mul_(2).sub_(1)  # tanh(c)
        to_c = (1 - squashed * squashed).mul_(o)
        # what a change of c (of h, for the output gate) is at each gate's sum; f's lacks the cell of the step before
        delta = torch.cat([(i - i * i) * g, f - f * f, i - i * g * g, (o - o * o) * squashed], -1)
        _, most, texts = packed.blocks[0]
        carry_h, carry_c = slope.new_zeros(most, texts, hidden), slope.new_zeros(most, texts, hidden)
        for at in range(len(packed.blocks) - 1, -1, -1):
            first, groups, rows = packed.blocks[at]
            own = slice(first, first + groups * rows)
            d_h, d_c = carry_h[:groups, :rows], carry_c[:groups, :rows]
            d_h.add_(slope[own].view(groups, rows, -1))
            d_c.addcmul_(d_h, to_c[own].view(groups, rows, -1))
            now = delta[own].view(groups, rows, 4, hidden)
            now[:, :, :3].mul_(d_c[:, :, None])
            now[:, :, 3].mul_(d_h)
            if at == 0:
                now[:, :, 1] = 0
                break
            first, wide, high = packed.blocks[at - 1]
            now[:, :, 1].mul_(c[first : first + wide * high].view(wide, high, -1)[:groups, :rows])
            d_c.mul_(gates[own].view(groups, rows, 4, hidden)[:, :, 1])
            torch.bmm(now.flatten(2), weight[:groups], out=d_h)
        to_weight = torch.stack([delta[place].T @ h[earlier] for place, earlier in packed.own])
        return delta, to_weight, None
