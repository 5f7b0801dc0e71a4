"""Fast forms of what `tracing` and `experiments` define; skip them at first reading.

Each gives the numbers of its plain form to rounding, as the tests show by comparing the two, and is left out where
ATTN_FAST=0 stands in the environment.

    search    Jain & Wallace's search with its gradient written out

`tracing.texts` takes states that a deletion does not change from the whole text.
"""

import os


def enabled() -> bool:
    """Whether fast forms are used; ATTN_FAST=0 switches them off. The one place where this is decided."""
    return os.environ.get("ATTN_FAST") != "0"
