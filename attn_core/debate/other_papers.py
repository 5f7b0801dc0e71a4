"""Serrano & Smith's and Wiegreffe & Pinter's rows, as the scorecard page shows them below those of Jain & Wallace."""

import pandas as pd

from attn_core.archive import Result
from attn_core.debate.scorecard_counts import counts_by_part, verdicts
from attn_core.debate.scorecard_page import paper_rows, rows_html, scrolled
from attn_core.jain.causes_page import folded
from attn_core.reported import reported
from attn_core.runs import AbsentRun

TITLES = {"serrano": "Serrano & Smith", "wiegreffe": "Wiegreffe & Pinter"}


def shown(paper: str, results: list[Result]) -> tuple[str, str]:
    """One paper in a sentence and as boxes to open: counts by part and data set, then every row that has a verdict.

    Data sets come in the order of the rules. Without any run the sentence says so and there are no boxes.
    """
    corpora = list(dict.fromkeys(reported("tolerances", paper=paper)["corpus"]))
    try:
        rows, rerun = paper_rows(paper, corpora, results)
    except AbsentRun:
        return f"{TITLES[paper]}: no scored row has a run yet.", ""
    table = counts_by_part(rows, corpora).rename_axis("part").reset_index()
    boxes = folded("Reproduced of judged rows, by part and data set", scrolled(table)) + rows_html(rerun)
    return sentence(paper, rows), boxes


def sentence(paper: str, rows: pd.DataFrame) -> str:
    """Counts of one paper's rows: verdicts on its own data and on other data, and why the rest has none."""
    same = rows["data"] == "same"
    own, others = verdicts(rows[same]), verdicts(rows[~same])
    parts = ["none on the paper's own data"]
    if same.any():
        parts = [f"on the paper's own data {counted(own['reproduced'], 'is', 'are')} reproduced"]
        parts[0] += f" and {counted(own['differs'], 'differs', 'differ')}"
        bands = verdicts(rows[same & rows["item"].str.startswith("band")])
        if held := bands["reproduced"] + bands["differs"]:
            parts[0] += (
                f" ({held} of these {'is a band' if held == 1 else 'are bands'}, read off one to three trained curves)"
            )
    if others["reproduced"] + others["differs"]:
        held, failed = counted(others["reproduced"], "holds", "hold"), counted(others["differs"], "does not", "do not")
        parts.append(f"on other data {held} and {failed}")
    lacks = {name: int((rows["unjudged"] == name).sum()) for name in rows["unjudged"].unique() if name}
    parts += [f"no verdict for {count} ({name})" for name, count in sorted(lacks.items())]
    return f"{TITLES[paper]}, {len(rows)} rows: {'; '.join(parts)}."


def counted(count: int, one: str, more: str) -> str:
    """'1 holds', '2 hold', 'none holds'."""
    return f"{count or 'none'} {more if count > 1 else one}"
