"""Attention: states to one score per token; the classifier masks and normalises them.

h is (B, L, H); q (B, H) the summary of the question or hypothesis, where there is one; scores are (B, L).
"""

import math

import torch
from torch import Tensor, nn


class Additive(nn.Module):
    """s_t = v . tanh(W h_t + b) with W: H -> H/2 and v without bias ("tanh" in Jain & Wallace 2019)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, width // 2)
        self.v = nn.Linear(width // 2, 1, bias=False)

    def forward(self, h: Tensor) -> Tensor:
        return self.v(self.project(h).tanh()).squeeze(-1)


class ScaledDot(nn.Module):
    """s_t = w . h_t / sqrt(H) with a learned vector w in the place of a query ("dot" in Jain & Wallace 2019)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.w = nn.Linear(width, 1, bias=False)
        self.scale = 1.0 / math.sqrt(width)

    def forward(self, h: Tensor) -> Tensor:
        return self.w(h).squeeze(-1) * self.scale


class Uniform(nn.Module):
    """The same score everywhere, so every real token gets 1/n (Wiegreffe & Pinter 2019, section 3.1)."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, h: Tensor, q: Tensor | None = None) -> Tensor:
        return torch.zeros(h.shape[:2], dtype=h.dtype, device=h.device)


class PairedAdditive(nn.Module):
    """s_t = v . tanh(W_p h_t + b_p + W_q q + b_q), both W: H -> H/2 (Jain & Wallace 2019, questions and inference)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, width // 2)
        self.project_query = nn.Linear(width, width // 2)
        self.v = nn.Linear(width // 2, 1, bias=False)

    def forward(self, h: Tensor, q: Tensor) -> Tensor:
        return self.v((self.project(h) + self.project_query(q)[:, None]).tanh()).squeeze(-1)


class PairedDot(nn.Module):
    """s_t = h_t . q / sqrt(H), without parameters (Jain & Wallace 2019, QA and NLI)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = 1.0 / math.sqrt(width)

    def forward(self, h: Tensor, q: Tensor) -> Tensor:
        return (h @ q[..., None]).squeeze(-1) * self.scale


ATTENTIONS: dict[str, type] = {"tanh": Additive, "dot": ScaledDot, "uniform": Uniform}
"""Name -> class for single texts."""

PAIRED_ATTENTIONS: dict[str, type] = {"tanh": PairedAdditive, "dot": PairedDot, "uniform": Uniform}
"""Name -> class for pairs of texts."""
