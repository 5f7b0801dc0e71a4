"""Gradient importance <e_t, dp/de_t> with the attention weights held constant (Jain & Wallace 2019, Algorithm 1).

No autograd: with the attention constant, dp/dh_t = attention_t * direction, one vector per text, and every encoder's
first layer is a fixed matrix W, so <e_t, dp/de_t> = <W e_t, delta_t> with delta the gradient at W e_t. The products
W e_t are the tables of `fast.states`; the input-sized backward product is never formed. Results are signed (the paper
takes the absolute value). Shapes: attention (L, B), slope (B, K) = dp / dlogits, result (L, B).
"""

import torch
from torch import Tensor

from attn_core.fast.states import Chunk, Convolutional, Direction, Network, Pass, Recurrent, States


def importance(network: Network, chunk: Chunk, states: States, attention: Tensor, slope: Tensor) -> Tensor:
    """<e_t, dp/de_t>, (L, B); meaningless on start, end and pad."""
    if isinstance(network, Recurrent):
        (ahead, back), (pass_ahead, pass_back) = network.directions, states
        result = through_time(ahead, pass_ahead, attention, slope @ ahead.value.t())
        return result + chunk.mirrored(through_time(back, pass_back, chunk.mirrored(attention), slope @ back.value.t()))
    return convolutional(network, chunk, states, attention, slope)


def through_time(side: Direction, done: Pass, attention: Tensor, direction: Tensor) -> Tensor:
    """BiLSTM, one direction: <W e_t, delta_t>, (L, B) in its own time; direction (B, H) = dp / d(attended half_h).

    dh and dc are the gradients at h = half_h and c = twice_c. With c = f c_before + i (4s - 2), tau = sigmoid(c),
    h = o (tau - 1/2), each delta is a product of known factors.
    """
    words, h, c, gates = done.words, done.half_h, done.twice_c, done.gates
    result = torch.zeros_like(attention)
    dh, dc = torch.zeros_like(h[0]), torch.zeros_like(h[0])
    buffer, delta, products = torch.empty_like(h[0]), torch.empty_like(gates[0]), torch.empty_like(gates[0])
    to_h = side.recurrent.t().contiguous()
    for t in range(len(words) - 2, 0, -1):  # the first and last positions are start and end: no attention, no result
        i, f, s, o = gates[t].chunk(4, dim=-1)
        dh.addcmul_(attention[t][:, None], direction)
        tau = torch.sigmoid(c[t], out=buffer)
        dc.addcmul_(tau.addcmul_(tau, tau, value=-1.0).mul_(o), dh)
        torch.addcmul(gates[t], gates[t], gates[t], value=-1.0, out=delta)  # x (1 - x) for all four gates
        delta_i, delta_f, delta_s, delta_o = delta.chunk(4, dim=-1)
        delta_i.mul_(torch.sub(s, 0.5, out=buffer))
        delta_s.mul_(i)
        delta_f.mul_(c[t - 1])
        torch.addcmul(h[t], h[t], o, value=-1.0, out=delta_o)  # (tau - 1/2) o (1 - o)
        torch.mul(dc, 4.0, out=buffer)
        delta_i.mul_(buffer)
        delta_s.mul_(buffer)
        delta_f.mul_(dc)
        delta_o.mul_(dh)
        dc.mul_(f)
        torch.mm(delta, to_h, out=dh)
        torch.index_select(side.table, 0, words[t], out=products)
        torch.sum(products.sub_(side.bias).mul_(delta), dim=1, out=result[t])
    return result


def convolutional(network: Convolutional, chunk: Chunk, h: Tensor, attention: Tensor, slope: Tensor) -> Tensor:
    """Others; a word acts through every window that holds it. h (L, B, H), after the activation."""
    steps, texts, _ = h.shape
    delta = attention[..., None] * (slope @ network.value.t())  # (L, B, H), at the states, then before the activation
    if network.activation != "none":
        delta = delta * ((h > 0) if network.activation == "relu" else 1 - h * h)
    delta = delta.view(steps, texts, -1, network.table.shape[-1])
    result = torch.zeros_like(attention)
    for table, (index, offset) in zip(network.table, network.taps, strict=True):
        first, last = max(0, offset), steps + min(0, offset)  # the words whose window centre t - offset exists
        products = table[chunk.words[first:last]]
        result[first:last] += (products * delta[first - offset : last - offset, :, index]).sum(-1)
    return result
