"""The old name of ``documents``, until nothing imports it."""

from attn_core.corpora.documents import *  # noqa: F403
