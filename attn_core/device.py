"""Where a model is trained and read, and how much fits there side by side."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from attn_core.errors import AttnError, one_line

PLENTY = 16 << 30
"""Free bytes of a GPU from which chunks are as large as they get; below, they shrink in proportion."""


def compute_device() -> str:
    """'cuda' where a GPU is at hand, else 'cpu'; $ATTN_DEVICE overrides ('cuda:1' names the second GPU)."""
    device = os.environ.get("ATTN_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    if device.partition(":")[0] not in ("cpu", "cuda"):
        raise AttnError(f"ATTN_DEVICE is {device!r}; known: cpu, cuda, cuda:0 and so on")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise AttnError(f"torch has no device {device!r} here ({one_line(error)}); unset ATTN_DEVICE") from error
    if device != "cpu":  # TF32 is no single precision
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
    return device


@contextmanager
def threads(count: int) -> Iterator[None]:
    """So many threads of torch on a CPU in here, as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def fitting(device: torch.device, at_most: int) -> int:
    """How many of `at_most` tokens or texts are read side by side: on a GPU by its free memory, see `PLENTY`."""
    if device.type == "cuda":
        at_most = min(at_most, at_most * torch.cuda.mem_get_info(device)[0] // PLENTY)  # of free and of all bytes
    return max(1, at_most)
