"""Processes of a sweep on the GPUs of this machine: so many as fit into their memory, each on the card of its turn.

A step of the book's models leaves a card idle for most of its time, so many processes share one well (book/rerun.md).
"""

import sys

import torch

from attn_core.device import compute_device
from attn_core.errors import AttnError

PROCESS_MEMORY = 3 << 30
"""Bytes of a card that one process may need. The largest seen was 2.3 GB, but for leave-one-out, whose chunks follow
what is free."""


def free_memory() -> list[int]:
    """Free bytes of each card that runs here may use, see `device.compute_device`; none on a processor."""
    kind, _, number = compute_device().partition(":")
    if kind != "cuda":
        return []
    numbers = [int(number)] if number else range(torch.cuda.device_count())
    return [torch.cuda.mem_get_info(card)[0] for card in numbers]


def fitting(jobs: int, free: list[int]) -> int:
    """How many of `jobs` processes the cards take, dealt out in turn; fewer is said. AttnError for none."""
    most = len(free) * (min(free) // PROCESS_MEMORY)
    if not most:
        raise AttnError(
            f"a GPU has {min(free) / 1e9:.1f} GB left and one process takes up to {PROCESS_MEMORY / 1e9:.1f}; end what "
            "else runs there, or set ATTN_DEVICE=cpu"
        )
    if most < jobs:
        print(f"the GPU's free memory takes {most} of {jobs} processes; going on with {most}", file=sys.stderr)
    return min(jobs, most)


def devices(jobs: int) -> list[str]:
    """ATTN_DEVICE of each of so many processes of this machine, or of those that fit: the cards in turn, where there
    are several; '' where nothing is to be chosen."""
    free = free_memory()
    if free:
        jobs = fitting(jobs, free)
    names = [f"cuda:{number}" for number in range(len(free))] if len(free) > 1 else [""]
    return [names[process % len(names)] for process in range(jobs)]
