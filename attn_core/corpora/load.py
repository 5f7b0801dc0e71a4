"""The old name of ``files``, until nothing imports it."""

from attn_core.corpora.files import *  # noqa: F403
