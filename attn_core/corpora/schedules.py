"""The old place of ``catalogue.schedule``, until nothing imports it."""

from attn_core.corpora.catalogue import SCHEDULES, schedule  # noqa: F401
