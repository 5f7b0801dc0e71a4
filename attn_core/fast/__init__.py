"""Fast forms of what `tracing` and `experiments` define; skip them at first reading.

Each gives the numbers of its plain form to rounding, as the tests show by comparing the two, and is left out where
ATTN_FAST=0 stands in the environment.

    bilstm    scores, gradients and leave-one-out of many texts at once, without autograd
    search    Jain & Wallace's search with its gradient written out
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH = "ATTN_FAST"


def enabled() -> bool:
    """Whether fast forms are used; ATTN_FAST=0 switches them off. The one place where this is decided."""
    return os.environ.get(SWITCH) != "0"


@contextmanager
def off() -> Iterator[None]:
    """Within it everything is computed by the plain forms."""
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = "0"
    try:
        yield
    finally:
        del os.environ[SWITCH]
        if before is not None:
            os.environ[SWITCH] = before
