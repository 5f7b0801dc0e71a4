"""A bidirectional GRU over texts of any length laid end to end: no position is padded, no step reads a pad.

torch's own kernel (PackedSequence) does the same; on a CPU it takes one direction after the other, in many small
operations, and a training step takes three times as long. Here both directions share each step, whatever does not wait
for the step before is done for all steps at once, and the gradient is written out. The arithmetic is torch's to
rounding.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """B texts of N positions in all, cut into steps: the first position of every text (longest text first) and so on.

    ahead (N,): flat place of each packed position. back (N,): the same of texts reversed within their own length.
    sizes: texts that reach each step.
    """

    ahead: Tensor
    back: Tensor
    sizes: list[int]


def packing(lengths: Tensor) -> Packing:
    """The packing of texts of these lengths (B,), each at least 1."""
    lasting, order = torch.sort(lengths, descending=True, stable=True)
    starts = (lengths.cumsum(0) - lengths)[order]
    step = torch.arange(int(lasting[0]), device=lengths.device)[:, None]  # (L, 1)
    reached = step < lasting  # (L, B)
    return Packing((starts + step)[reached], (starts + lasting - 1 - step)[reached], reached.sum(1).tolist())


class Steps(torch.autograd.Function):
    """States (N, 2H) from products (N, 2, 3H), W x + b of each position for both directions.

    Gates reset r, update z, candidate c: c = tanh(product + r q) with q = U_c h_before + u_c, h = c + z (h_before - c).
    weight U (2, 3H, H) and bias u (2, 3H) are the recurrent ones. Inside, arrays are (2, N, ...), packed, each
    direction in its own time.
    """

    @staticmethod
    def forward(ctx, products: Tensor, weight: Tensor, bias: Tensor, packed: Packing) -> Tensor:
        n, _, width = products.shape
        hidden = width // 3
        gates = torch.stack([products[:, 0].index_select(0, packed.ahead), products[:, 1].index_select(0, packed.back)])
        q, h = products.new_empty(2, n, hidden), products.new_empty(2, n, hidden)
        turned, bias = weight.transpose(1, 2).contiguous(), bias[:, None]
        before = products.new_zeros(2, packed.sizes[0], hidden)
        start = 0
        for size in packed.sizes:
            own = slice(start, start + size)
            start += size
            both, c = gates[:, own, : 2 * hidden], gates[:, own, 2 * hidden :]
            from_h = torch.baddbmm(bias, before[:, :size], turned)
            both.add_(from_h[..., : 2 * hidden]).sigmoid_()
            q[:, own] = from_h[..., 2 * hidden :]
            c.addcmul_(both[..., :hidden], q[:, own])
            c.mul_(2).sigmoid_().mul_(2).sub_(1)  # tanh, which is ten times as slow as the logistic function here
            before = torch.lerp(c, before[:, :size], both[..., hidden:], out=h[:, own])
        ctx.save_for_backward(gates, q, h, weight)
        ctx.packed = packed
        return unpacked(h, packed)

    @staticmethod
    def backward(ctx, slope: Tensor):
        gates, q, h, weight = ctx.saved_tensors
        sizes, hidden = ctx.packed.sizes, h.shape[-1]
        slope = slope.view(-1, 2, hidden)
        slope = torch.stack(
            [slope[:, 0].index_select(0, ctx.packed.ahead), slope[:, 1].index_select(0, ctx.packed.back)]
        )
        r, z, c = gates.chunk(3, dim=-1)
        before = torch.zeros_like(h)  # of the first step
        before[:, sizes[0] :] = h.index_select(1, step_before(sizes, h.device))
        to_z = (before - c).mul_(z).mul_(1 - z)
        to_c = (1 - z).mul_(1 - c * c)
        to_r = (q * r).mul_(1 - r)
        delta, delta_c = torch.empty_like(gates), torch.empty_like(h)  # at U h_before + u; at the candidate's product
        carry = h.new_zeros(2, sizes[0], hidden)
        end = h.shape[1]
        for size in reversed(sizes):
            own = slice(end - size, end)
            end -= size
            d = carry[:, :size].add_(slope[:, own])  # at h of this step, then at h_before
            delta_r, delta_z, delta_q = delta[:, own].chunk(3, dim=-1)
            candidate = torch.mul(d, to_c[:, own], out=delta_c[:, own])
            torch.mul(candidate, to_r[:, own], out=delta_r)
            torch.mul(candidate, r[:, own], out=delta_q)
            torch.mul(d, to_z[:, own], out=delta_z)
            d.mul_(z[:, own]).baddbmm_(delta[:, own], weight)
        found = [None, None, None, None]
        if ctx.needs_input_grad[1]:
            found[1:3] = delta.transpose(1, 2) @ before, delta.sum(1)
        delta[..., 2 * hidden :] = delta_c
        found[0] = unpacked(delta, ctx.packed).view(-1, 2, 3 * hidden)
        return tuple(found)


def unpacked(values: Tensor, packed: Packing) -> Tensor:
    """(2, N, W) in each direction's own packed time -> (N, 2W), texts end to end."""
    flat = values.new_empty(values.shape[1], 2, values.shape[2])
    flat[packed.ahead, 0] = values[0]
    flat[packed.back, 1] = values[1]
    return flat.flatten(1)


def step_before(sizes: list[int], device: torch.device) -> Tensor:
    """Packed place, one step earlier in the same text, of every packed position after the first step."""
    back, of = torch.tensor(sizes[:-1], dtype=torch.int64), torch.tensor(sizes[1:], dtype=torch.int64)
    own = torch.repeat_interleave(back, of)  # a step back is as many places as that step has texts
    return (torch.arange(sizes[0], sizes[0] + len(own)) - own).to(device)
