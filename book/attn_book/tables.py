"""Tables that several pages show: ours beside the paper's, every number in a fold, the record of a page."""

from collections.abc import Collection, Iterable

import pandas as pd
from IPython.display import HTML

from attn_book.page import PARTS
from attn_book.words import DATA, ENCODERS, PART, SETS, number
from attn_core import index


def beside(
    rows: pd.DataFrame, columns: Collection[str] = ("lstm", "average"), by: str = "encoder", classes: bool = False
) -> HTML:
    """One line a data set, for each encoder the printed number and ours, coloured by whether all rules are met.

    rows: of the scorecard, averaged over classes; those without a verdict are left out. by: the column whose values
    stand side by side. classes: one line a class; * in place of the words of PART. ▲ ▼: a number of the cell lies
    outside its tolerance. Sets of the paper's own texts come first."""
    judged, lines = rows[rows["verdict"] != "unjudged"], []
    for (name, *group), part in judged.groupby(["corpus", "group"][: 1 + classes], sort=False):
        kind, met, cells = part["data"].iloc[0], part["verdict"] == "holds", []
        for each in (part[part[by] == value] for value in columns):
            off = each[each["verdict"] == "differs"]
            sign = "" if off.empty else " ▲" if (off["ours"] > off["reported"]).all() else " ▼"
            theirs, ours = (number(each[column].mean(), ".2f") for column in ("reported", "ours"))
            cells += [theirs, ours + sign] if len(each) else ["–", "–"]
        if met.all():
            side, told = "yes", "as printed"
        elif (part["verdict"] == "differs").all():
            side, told = "no", "differs"
        else:
            side, told = "part", f"{met.sum()} of {len(met)} as printed" if met.any() else "undecided"
        title, word = SETS[name] + "*" * (classes and kind in PART), group[0] if classes else PART.get(kind)
        place = kind != "same", list(SETS).index(name)
        lines.append((place, PARTS.titled(title, "" if word == "all" else word), cells, side, told))
    lines = [line for _, *line in sorted(lines, key=lambda line: line[0])]
    return coloured({ENCODERS.get(name, name): ("paper", "here") for name in columns}, lines)


def claims(rows: pd.DataFrame, dealt: pd.DataFrame) -> HTML:
    """One line a claim of the scorecard: what it asks, whether it holds, ours, and that of weights dealt anew
    (`derived.of_dealt`, label: data set)."""
    judged, lines = rows[rows["verdict"] != "unjudged"], []
    sets, controls = judged["corpus"].unique(), dealt["label"].unique()
    for item, part in judged.groupby("item", sort=False):
        name, _, asks = item.removeprefix("claim: ").replace(" x ", " × ").partition(" ")
        first, held = part.iloc[0], int((part["verdict"] == "holds").sum())
        control = dealt[dealt["number"] == name].set_index("label")["dealt"]
        beyond = control > first.reported if first.side == "above" else control < first.reported
        opened = int((part["verdict"] == "undecided").sum())
        too = bool(held and beyond.size and beyond.all())
        colour = "part" if held else "quiet" if opened == len(part) else "no"
        colour = "yes" if held == len(part) and not too else colour
        numbers = [*part.set_index("corpus")["ours"].reindex(sets), *control.reindex(controls)]
        cells = ["–" if pd.isna(value) else number(value, ".2f") for value in numbers]
        lines.append((PARTS.claim(asks, first, held, len(part), opened, too), cells, colour, ""))
    here, anew = ([SETS[name].removesuffix(" (10 stars)") for name in names] for names in (sets, controls))
    return coloured({"here": here, "dealt anew": anew}, lines)


def fold(title: str, body: str) -> HTML:
    """A line that opens; body: HTML."""
    return HTML(PARTS.fold(title, body))


def every_number(rows: pd.DataFrame, title: str = "Every number") -> HTML:
    """Rows of the scorecard in a fold."""
    return fold(title, PARTS.every_number(list(rows[rows["ours"].notna()].itertuples())))


table = PARTS.table
"""HTML of a plain table of heads and lines, in a window of its own; all cells but those that are HTML are escaped."""


def rows(heads: dict[str, bool], lines: Iterable[Iterable[object]]) -> HTML:
    """A long table in a window; book/_static/rows.js lets it be sorted, and filtered by the heads that are True."""
    body = PARTS.table(heads, lines, [name for name, chosen in heads.items() if chosen])
    return HTML(f'<div class="attn-rows attn-plain">{body}</div>')


def record(rows: pd.DataFrame | list[tuple[str, str]], evidence: Iterable[str], here: str = "") -> HTML:
    """The record of a page, folded: data, vectors, seeds, rules and their dates, what else was trained, evidence. rows:
    of the scorecard, all that the page is judged by, or what to say of one that judges nothing. evidence: numbers of
    the statements it rests on."""
    facts = None if isinstance(rows, list) else _facts(rows)
    return fold("Record of this page", PARTS.record([] if facts else rows, facts, evidence, here))


def _facts(rows: pd.DataFrame) -> dict:
    there = rows[rows["ours"].notna()]
    runs = index.runs(corpus=list(there["corpus"].unique()), selection="any", variant="any",
                      family=["text", "pair", "hierarchical"])  # fmt: skip
    plain, judged = (
        runs[(runs["variant"] == "") & (runs["generation"] == "first")],
        there[there["verdict"] != "unjudged"],
    )
    kinds = there.groupby("data", sort=False)["corpus"].unique()
    return {
        "kinds": {DATA[kind]: list(sets) for kind, sets in kinds.items()},
        "seeds": list(plain.groupby(["corpus", "encoder", "attention"])["seed"].nunique()),
        "vectors": sorted(set(plain["vectors"])), "others": len(runs) - len(plain), "rules": len(rows),
        "dates": sorted(set(rows["date"])), "late": int((rows["late"] == "yes").sum()), "judged": len(judged),
        "held": int((judged["verdict"] == "holds").sum()),
    }  # fmt: skip


def coloured(groups: dict[str, Iterable[str]], lines: Iterable[tuple]) -> HTML:
    """The table of `beside` from ready cells. groups: head -> its columns, grey where neither is 'here'. lines: (name,
    cells, side, word), name: HTML, side: yes, part, no or quiet. A cell that ends in ▲ or ▼ is marked as off."""
    keys = {name: key for key, name in ENCODERS.items()}
    heads = [(head, keys.get(head, ""), [(name, "here" in (head, name)) for name in columns])
             for head, columns in groups.items()]  # fmt: skip
    return HTML(PARTS.coloured(heads, lines))
