"""Serrano & Smith's and Wiegreffe & Pinter's rows, as the scorecard page shows them below those of Jain & Wallace."""

import pandas as pd

from attn_book.debate.scorecard_counts import counts_by_part, verdicts
from attn_book.debate.scorecard_page import folded, paper_rows, rows_html, scrolled, threshold_side
from attn_book.reported import reported
from attn_core.archive import Result
from attn_core.index import HEADLINE_SEEDS
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
    """Counts of one paper's rows: verdicts on its own data and on other data, and why the rest has none.

    Of those that differ the claims apart whose interval holds the threshold (undecided); of all the verdicts by rules
    added after runs were stored. Bands read off fewer than HEADLINE_SEEDS curves are in no count: such cells decide
    nothing elsewhere in the book.
    """
    band = rows["item"].str.startswith("band")
    few = band & (rows["n_seeds"] < HEADLINE_SEEDS) & (rows["verdict"] != "not rerun")
    own, others = verdicts(rows[~few & (rows["data"] == "same")]), rows[~few & (rows["data"] != "same")]
    parts = ["none on the paper's own data"]
    if own["reproduced"] + own["differs"]:
        mine = rows[~few & (rows["data"] == "same")]
        parts = [
            f"on the paper's own data {counted(own['reproduced'], 'is', 'are')} reproduced and "
            f"{counted(own['differs'], 'differs', 'differ')}{told_undecided(undecided(mine))}"
        ]
        late = verdicts(mine[mine["late"] == "yes"])
        if late["reproduced"] + late["differs"]:
            parts[0] += (
                f", of all these {counted(late['reproduced'], 'is', 'are')} reproduced and "
                f"{counted(late['differs'], 'differs', 'differ')} by rules added after runs were stored"
            )
    if few.any():
        held = verdicts(rows[few])
        curves = rows[few].groupby("corpus", sort=False)["n_seeds"]
        seeds = ", ".join(f"{name} {told_range(part)}" for name, part in curves)
        parts.append(
            f"in no count {counted(int(few.sum()), 'band', 'bands')} read off fewer than {HEADLINE_SEEDS} trained "
            f"curves ({seeds}): {counted(held['reproduced'], 'holds', 'hold')} and "
            f"{counted(held['differs'], 'does not', 'do not')}"
        )
    beside = verdicts(others)
    if beside["reproduced"] + beside["differs"]:
        parts.append(
            f"on other data {counted(beside['reproduced'], 'holds', 'hold')} and "
            f"{counted(beside['differs'], 'does not', 'do not')}{told_undecided(undecided(others))}"
        )
    if thin := int((~few & (rows["n_seeds"] < HEADLINE_SEEDS) & (rows["verdict"] != "not rerun")).sum()):
        parts.append(f"{counted(thin, 'number', 'numbers')} counted with fewer than {HEADLINE_SEEDS} seeds")
    judged = rows[rows["verdict"] != "not rerun"]
    if len(judged) and not (judged["late"] == "yes").any():
        parts.append("all these rules are older than the runs that they judge")
    lacks = {name: int((rows["unjudged"] == name).sum()) for name in rows["unjudged"].unique() if name}
    parts += [f"no verdict for {count} ({name})" for name, count in sorted(lacks.items())]
    return f"{TITLES[paper]}, {len(rows)} rows: {'; '.join(parts)}."


def undecided(rows: pd.DataFrame) -> int:
    """Claims that differ by their rule although their interval holds the threshold."""
    claims = rows[rows["item"].str.startswith("claim") & (rows["verdict"] == "differs")]
    return sum(threshold_side(row) == "contains" for row in claims.itertuples())


def told_undecided(count: int) -> str:
    """' (3 of the latter undecided: the interval of a claim holds its threshold)', '' for none."""
    return f" ({count} of the latter undecided: the interval of a claim holds its threshold)" if count else ""


def told_range(values: pd.Series) -> str:
    """'1', '2 or 3': the smallest and the largest of some counts."""
    low, high = values.min(), values.max()
    return f"{low}" if low == high else f"{low} {'or' if high == low + 1 else 'to'} {high}"


def counted(count: int, one: str, more: str) -> str:
    """'1 holds', '2 hold', 'none holds'."""
    return f"{count or 'none'} {more if count > 1 else one}"
