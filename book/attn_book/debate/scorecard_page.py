"""The scorecard page: counts by paper and kind, the table of all rows, and what a guess without a model would score."""

import html

import numpy as np
import pandas as pd
from IPython.display import HTML

from attn_book import tables, words
from attn_book.debate.matrix import PAPERS
from attn_book.derived import COUNTED
from attn_book.scorecard import CLAIMS, clipped
from attn_book.words import SETS
from attn_core import index

KINDS = ("numbers", "claims", "claims asked anew", "patterns", "bands")
"""Kinds of rules. Claims asked anew ask one a second time; some patterns ask the opposite of a claim, see `claims`."""

VERDICTS = ("reproduced", "differs", "not rerun")
SIDES = {"reproduced": "yes", "differs": "no"}


def kind_of(row) -> str:
    """One of KINDS."""
    if (row.paper, row.kind) != ("jain", "claim"):
        return f"{row.kind}s"
    name = CLAIMS.get((row.item, row.measure)) or CLAIMS.get((row.item, ""))
    return "claims" + " asked anew" * name.endswith("b") if name else "patterns"


def standing(rows: pd.DataFrame) -> pd.Series:
    """'reproduced', 'differs', or why neither: as the scorecard has it, but for claims whose interval contains their
    threshold ('undecided') and bands on fewer than HEADLINE_SEEDS curves, for such cells decide nothing in the book."""
    told = rows["verdict"].mask(rows["unjudged"] != "", rows["unjudged"])
    around = (rows["kind"] == "claim") & (index.side(rows, rows["reported"]) == "around")
    few = (rows["kind"] == "band") & (rows["n_seeds"] < index.HEADLINE_SEEDS)
    judged = rows["unjudged"] == ""
    return told.mask(judged & around, "undecided").mask(judged & few, "few curves")


def counts(rows: pd.DataFrame) -> HTML:
    """Rows by paper and kind: how they stand on the paper's own texts and on other data, and how many were not run."""
    rows = rows.assign(verdict=standing(rows).where(lambda told: told.isin(list(SIDES)), "not rerun"))
    data = rows["data"].where(rows["data"].isin(["same", "absent"]), "other")
    kinds = [kind_of(row) for row in rows.itertuples()]
    found = rows.assign(sort=kinds, where=data).groupby(["paper", "sort", "where", "verdict"]).size()
    places = [(where, verdict) for where in ("same", "other") for verdict in VERDICTS] + [("absent", "not rerun")]
    lines = []
    for paper, part in found.groupby("paper"):
        lines.append(f'<tr class="line"><th colspan="8">{html.escape(PAPERS[paper])}</th></tr>')
        for kind in (name for name in KINDS if name in part.index.unique("sort")):
            numbers = [(SIDES.get(place[1], "void"), part.get((paper, kind, *place))) for place in places]
            body = "".join(f'<td class="side-{side}">{n}</td>' if n else "<td></td>" for side, n in numbers)
            lines.append(f'<tr><th scope="row">{kind}</th>{body}</tr>')
    above = '<tr><td></td><th colspan="3">own texts</th><th colspan="3">other data</th><th></th></tr>'
    heads = "".join(f"<th>{name}</th>" for name in ("", *("holds", "differs", "open") * 2, "not run"))
    table = f"<table><thead>{above}<tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return HTML(f'<div class="attn-matrix attn-counts">{table}</div>')


def guesses(rows: pd.DataFrame) -> pd.Series:
    """Of Jain & Wallace's judged numbers, counts of the data apart: whether the mean of the same number over all other
    data sets lies within the tolerance. What no model knows should score as low as this."""
    numbers = rows[(rows["paper"] == "jain") & (rows["kind"] == "number") & ~rows["measure"].isin(COUNTED)]
    place = ["item", "encoder", "attention", "measure", "statistic"]
    total, mine = (numbers.groupby(by, dropna=False)["reported"] for by in (place, [*place, "corpus"]))
    others = total.transform("size") - mine.transform("size")
    mean = (total.transform("sum") - mine.transform("sum")) / others.where(others > 0)
    judged = numbers["verdict"] != "not rerun"
    return ((mean - numbers["reported"]).abs() <= numbers["tolerance"] + 1e-9)[judged]


def all_rows(rows: pd.DataFrame) -> HTML:
    """Every row of the scorecard as a plain table in a window; book/_static/rows.js lets it be sorted and filtered."""
    heads = {"paper": True, "data set": True, "number": False, "paper’s": False, "here": False, "verdict": True,
             "off by": False, "where": False, "model": False, "95 % interval": False, "±": False,
             "seeds": False}
    rows = clipped(rows.assign(standing=standing(rows)))
    lines = "".join(f'<tr class="side-{SIDES.get(r.standing, "void")}">{cells(r)}</tr>\n' for r in rows.itertuples())
    head = "".join(f"<th{' data-filter' * chosen}>{name}</th>" for name, chosen in heads.items())
    table = f"<table><thead><tr>{head}</tr></thead><tbody>\n{lines}</tbody></table>"
    return HTML(f'<div class="attn-rows"><div class="attn-window" tabindex="0">{table}</div></div>')


def cells(row) -> str:
    """The cells of a row with its standing; 'off by' counts tolerances."""
    claim, digits = row.kind != "number", 0 if row.statistic == "count" else 2
    form = lambda value, digits=digits: "" if pd.isna(value) else words.number(value, f",.{digits}f").replace("-", "−")
    number = words.in_words(row.measure) + ("" if claim else f", {words.in_words(row.statistic)}")
    sign = {"above": "> ", "below": "< "}.get(row.side, "") if claim else ""
    off = (row.ours - row.reported) / row.tolerance if row.tolerance > 0 else np.nan
    item = html.escape(row.item.partition(": ")[2] or row.item)
    found = [
        PAPERS[row.paper], f"{SETS[row.corpus]} {tables.PART.get(row.data, '')}".strip(),
        number + ("" if row.group == "all" else f" ({row.group})"), sign + form(row.reported), form(row.ours),
        row.standing, form(off, 1), "", words.model_of(row),
        "" if pd.isna(row.low) else f"{form(row.low)} to {form(row.high)}",
        "" if claim or pd.isna(row.tolerance) else f"{row.tolerance:g}", row.n_seeds or "",
    ]  # fmt: skip
    texts = [html.escape(str(text)) for text in found]
    texts[7] = f'<a href="{row.page}.html">{item}</a>'
    return "".join(f"<td>{text}</td>" for text in texts)
