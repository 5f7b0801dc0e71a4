"""Every test of the book on texts of your own: `study`."""

from pathlib import Path

import pandas as pd

from attn_core.errors import AttnError


def study(
    frame: pd.DataFrame | str | Path, text: str = "text", label: str = "label", encoder: str = "lstm", seeds: int = 3
):
    """The tests of the book on the texts of a table, or of a file of texts and labels."""
    raise AttnError("attn_core.study is being written")
