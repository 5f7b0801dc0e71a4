"""Tables that several pages show: ours beside the paper's, every number in a fold, the record of a page."""

import html
import json
from collections.abc import Iterable

import pandas as pd
from IPython.display import HTML

from attn_book.page import PARTS, minus
from attn_book.words import ENCODERS, SETS, in_words, number
from attn_core import index
from attn_core.measures import LEVEL

DATA = {"same": "same texts, other vectors", "subset": "a part of the paper's texts",
        "generated": "made anew by a generator", "other classes": "other classes than the paper's",
        "other data": "a set that is not the paper's"}  # fmt: skip

PART = {"subset": "part", "generated": "remade", "other classes": "other classes", "other data": "other data"}
"""What stands behind a data set's name where it is not the paper's own."""


def beside(
    rows: pd.DataFrame, columns: Iterable[str] = ("lstm", "average"), by: str = "encoder", classes: bool = False
) -> HTML:
    """One line a data set, for each encoder the printed number and ours, coloured by whether all rules are met.

    rows: of the scorecard, several (classes) a data set and encoder are averaged; those without a verdict are left out.
    by: the column whose values stand side by side. classes: one line a class; * in place of the words of PART.
    ▲ ▼: a number of the cell lies outside its tolerance, to that side. Sets of the paper's own texts come first.
    """
    judged, columns, lines = rows[rows["verdict"] != "not rerun"], list(columns), []
    kinds = judged.groupby("corpus", sort=False)["data"].first()
    for name in sorted(kinds.index, key=lambda name: (kinds[name] != "same", list(SETS).index(name))):
        mine, small = judged[judged["corpus"] == name], PART.get(kinds[name], "")
        title, parts = SETS[name] + "*" * (classes and bool(small)), [(small, mine)]
        if classes:
            parts = [("" if group == "all" else group, part) for group, part in mine.groupby("group", sort=False)]
        lines += [_beside_line(part, f"{title} <small>{html.escape(word)}</small>" if word else title, columns, by)
                  for word, part in parts]  # fmt: skip
    return coloured({ENCODERS.get(name, name): ("paper", "here") for name in columns}, lines)


def _beside_line(rows: pd.DataFrame, name: str, columns: list[str], by: str) -> tuple[str, list[str], str, str]:
    cells, met = [], (rows["verdict"] == "reproduced")
    for mine in (rows[rows[by] == value] for value in columns):
        off = mine[mine["verdict"] == "differs"]
        sign = "" if off.empty else " ▲" if (off["ours"] > off["reported"]).all() else " ▼"
        theirs, ours = (number(mine[column].mean(), ".2f") for column in ("reported", "ours"))
        cells += [theirs, ours + sign] if len(mine) else ["–", "–"]
    side, word = ("yes", "as printed") if met.all() else ("no", "differs") if not met.any() else (
        "part", f"{met.sum()} of {len(met)} as printed")  # fmt: skip
    return name, cells, side, word


def claims(rows: pd.DataFrame, dealt: pd.DataFrame) -> HTML:
    """One line a claim of the scorecard: what it asks, whether it holds, ours, and that of weights dealt anew.

    dealt: of `derived.of_dealt`, label: data set.
    """
    judged = rows[rows["verdict"] != "not rerun"]
    sets, controls = list(judged["corpus"].unique()), list(dealt["label"].unique())
    lines = [_claim_line(part, item, dealt, sets, controls) for item, part in judged.groupby("item", sort=False)]
    here, anew = ([SETS[name].removesuffix(" (10 stars)") for name in names] for names in (sets, controls))
    return coloured({"here": here, "dealt anew": anew}, lines)


def _claim_line(rows: pd.DataFrame, item: str, dealt: pd.DataFrame, sets: list[str], controls: list[str]) -> tuple:
    name, _, words = item.removeprefix("claim: ").replace(" x ", " × ").partition(" ")
    first, held = rows.iloc[0], rows["verdict"] == "reproduced"
    control = dealt[dealt["number"] == name].set_index("label")["dealt"]
    beyond = control > first.reported if first.side == "above" else control < first.reported
    open_ = ((rows["low"] <= first.reported) & (first.reported <= rows["high"])).sum()
    where = "holds" if held.all() else f"{held.sum()} of {len(held)} hold" if held.any() else (
        "undecided" if open_ == len(rows) else f"fails; {open_} open")  # fmt: skip
    too = held.any() and len(beyond) and beyond.all()
    colour = "yes" if held.all() and not too else "part" if held.any() else "quiet" if where == "undecided" else "no"
    numbers = [*rows.set_index("corpus")["ours"].reindex(sets), *control.reindex(controls)]
    told = html.escape(f"{words[:1].upper()}{words[1:]} ({first.side} {first.reported:g}):")
    cells = ["–" if pd.isna(value) else number(value, ".2f") for value in numbers]
    return f"{told} <b>{where}{', dealt too' * bool(too)}</b>", cells, colour, ""


def fold(title: str, body: str) -> HTML:
    """A line that opens; body: HTML."""
    return HTML(PARTS.fold(title, body))


def picker(parts: dict[str, str], names: dict[str, dict[str, str]]) -> HTML:
    """Figures in folds (title -> figures), which the script in picker.html replaces by a picker.

    names: row of the picker -> key -> word. A figure's id is 'gallery' and its key of each row, joined by hyphens.
    """
    return HTML(PARTS.picker(parts, json.dumps(names)))


def every_number(rows: pd.DataFrame, title: str = "Every number") -> HTML:
    """Rows of the scorecard in a fold."""
    there = rows[rows["ours"].notna()]
    heads = ("item", "data set", "class", "encoder", "number", "paper", "here", "95 % interval", "±", "seeds",
             "verdict")  # fmt: skip
    lines = [
        (row.item, SETS[row.corpus], "" if row.group == "all" else row.group, ENCODERS.get(row.encoder_ours, ""),
         f"{in_words(row.measure)}, {in_words(row.statistic)}", number(row.reported, ".2f"), number(row.ours, ".2f"),
         "" if pd.isna(row.low) else f"{number(row.low, '.2f')} to {number(row.high, '.2f')}",
         "" if pd.isna(row.tolerance) else f"{row.tolerance:g}", row.n_seeds, row.unjudged or row.verdict)
        for row in there.itertuples()
    ]  # fmt: skip
    return fold(title, table(heads, lines))


def table(heads: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    """A plain HTML table in a window of its own; all cells but those that are HTML are escaped."""
    return PARTS.table(heads, lines)


def rows(heads: dict[str, bool], lines: Iterable[Iterable[object]]) -> HTML:
    """A long table in a window; book/_static/rows.js lets it be sorted, and filtered by the heads that are True."""
    body = PARTS.table(heads, lines, [name for name, chosen in heads.items() if chosen])
    return HTML(f'<div class="attn-rows attn-plain">{minus(body)}</div>')


def record(rows: pd.DataFrame | list[tuple[str, str]], evidence: Iterable[str], here: str = "") -> HTML:
    """The record of a page, folded: data, vectors, seeds, rules with their dates, what else was trained, evidence.

    rows: of the scorecard, all that the page is judged by, or what to say of a page that judges nothing. evidence:
    numbers of the statements it rests on.
    """
    body = table((), rows if isinstance(rows, list) else _record_lines(rows))
    links = " ".join(f'<a href="{here}sources-and-limits.html#evidence-{name}">{name}</a>' for name in evidence)
    return fold("Record of this page", f"{body}<p>Evidence: {links}</p>")


def _record_lines(rows: pd.DataFrame) -> list[tuple[str, str]]:
    there = rows[rows["ours"].notna()]
    corpora = list(dict.fromkeys(there["corpus"]))
    runs = index.runs(corpus=corpora, selection="any", variant="any", family=["text", "pair", "hierarchical"])
    plain = runs[runs["variant"] == ""]
    lines = [("Data", f"{DATA[kind]}: {', '.join(SETS[name] for name in part)}")
             for kind, part in there.groupby("data", sort=False)["corpus"].unique().items()]  # fmt: skip
    seeds = plain.groupby(["corpus", "encoder", "attention"])["seed"].nunique()
    return lines + [
        ("Vectors", ", ".join(sorted(set(plain["vectors"]))) + ": ours, in place of the papers'"),
        ("Seeds", f"{seeds.min()} to {seeds.max()} of a model" if len(seeds) else "none"),
        ("Rules", f"{len(rows)}, dated {', '.join(sorted(set(rows['date'])))}; {(rows['late'] == 'yes').sum()} of them "
                  "added when runs of their model were stored"),
        ("Holds", f"{(there['verdict'] == 'reproduced').sum()} of {(there['verdict'] != 'not rerun').sum()} judged; "
                  f"a claim by its {1 - LEVEL:.0%} interval, a number by its tolerance"),
        ("Also trained", f"{(runs['variant'] != '').sum()} runs that vary something: see robustness, in the record"),
    ]  # fmt: skip


def coloured(groups: dict[str, Iterable[str]], lines: Iterable[tuple]) -> HTML:
    """The table of `beside` from ready cells. groups: head -> its columns, grey where neither is 'here'.

    lines: (name, cells, side, word), name: HTML, side: yes, part, no or quiet. A cell that ends in ▲ or ▼ is marked
    as off.
    """
    keys = {name: key for key, name in ENCODERS.items()}
    heads = [(head, keys.get(head, ""), [(name, "here" in (head, name)) for name in columns])
             for head, columns in groups.items()]  # fmt: skip
    return HTML(PARTS.coloured(heads, lines))
