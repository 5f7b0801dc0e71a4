"""Tables that several pages show: ours beside the paper's, every number in a fold, the record of a page."""

import html
import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from IPython.display import HTML

from attn_book.page import minus
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
    """One line a claim of the scorecard: what it asks, ours, whether it holds, and whether weights dealt anew meet it.

    dealt: of `dealt.of_models`, label: data set.
    """
    judged = rows[rows["verdict"] != "not rerun"]
    sets, controls = list(dict.fromkeys(judged["corpus"])), list(dict.fromkeys(dealt["label"]))
    lines = [_claim_line(part, item, dealt, sets, controls) for item, part in judged.groupby("item", sort=False)]
    names = "".join(f"<th>{SETS[name].removesuffix(' (10 stars)')}</th>" for name in [*sets, *controls])
    head = f'<tr><th colspan="{len(sets)}">here</th><th colspan="{len(controls)}">dealt anew</th></tr><tr>{names}</tr>'
    return HTML(f'<div class="attn-beside"><table><thead>{head}</thead><tbody>{"".join(lines)}</tbody></table></div>')


def _claim_line(rows: pd.DataFrame, item: str, dealt: pd.DataFrame, sets: list[str], controls: list[str]) -> str:
    name, _, words = item.removeprefix("claim: ").replace(" x ", " × ").partition(" ")
    first, held = rows.iloc[0], rows["verdict"] == "reproduced"
    control = dealt[dealt["number"] == name].set_index("label")["dealt"]
    beyond = control > first.reported if first.side == "above" else control < first.reported
    open_ = ((rows["low"] <= first.reported) & (first.reported <= rows["high"])).sum()
    where = "holds" if held.all() else f"{held.sum()} of {len(held)} hold" if held.any() else (
        "undecided" if open_ == len(rows) else f"fails; {open_} open")  # fmt: skip
    too = held.any() and len(beyond) and beyond.all()
    colour = "yes" if held.all() and not too else "part" if held.any() else "quiet" if where == "undecided" else "no"
    ours = [number(value, ".2f") for value in rows.set_index("corpus")["ours"].reindex(sets)]
    theirs = [number(control[one], ".2f") if one in control else "–" for one in controls]
    told = f"{words[:1].upper()}{words[1:]} ({first.side} {first.reported:g}):"
    cells = "".join(f"<td{' class=theirs' * (i >= len(ours))}>{value}</td>" for i, value in enumerate(ours + theirs))
    side = f"--side: var(--attn-{colour})"
    cells = cells.replace("<td", '<td style="border-left: 6px solid var(--side)"', 1)
    return (f'<tr style="{side}"><th scope="row" colspan="{len(ours + theirs)}" style="white-space: normal">'
            f'{html.escape(told)} <b style="color: var(--side)">{where}{", dealt too" * bool(too)}</b></th></tr>'
            f'<tr style="{side}; border-top: 0">{cells}</tr>')  # fmt: skip


def fold(title: str, body: str) -> HTML:
    """A line that opens."""
    return HTML(
        f'<details class="sd-sphinx-override sd-dropdown sd-card attn-record"><summary class="sd-card-header">'
        f'{html.escape(title)}</summary><div class="sd-card-body">{body}</div></details>'
    )


def picker(parts: dict[str, str], names: dict[str, dict[str, str]]) -> HTML:
    """Figures in folds (title -> figures), which the script in picker.html replaces by a picker.

    names: row of the picker -> key -> word. A figure's id is 'gallery' and its key of each row, joined by hyphens.
    """
    folds = "\n".join(f"<details><summary>{title}</summary>\n{part}\n</details>" for title, part in parts.items())
    code, keys = Path(__file__).with_name("picker.html").read_text(encoding="utf-8"), html.escape(json.dumps(names))
    return HTML(f'{code}<div class="attn-gallery" data-names="{keys}">\n{folds}</div>')


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
    text = lambda cell: cell.data if isinstance(cell, HTML) else html.escape(str(cell))
    row = lambda tag, cells: "<tr>" + "".join(f"<{tag}>{text(cell)}</{tag}>" for cell in cells) + "</tr>"
    body = "".join(row("td", line) for line in lines)
    return f'<div class="attn-window"><table><thead>{row("th", heads)}</thead><tbody>{body}</tbody></table></div>'


def rows(heads: dict[str, bool], lines: Iterable[Iterable[object]]) -> HTML:
    """A long table in a window; book/_static/rows.js lets it be sorted, and filtered by the heads that are True."""
    body = table(heads, lines).replace(">", ' tabindex="0">', 1)
    for name in (name for name, chosen in heads.items() if chosen):
        body = body.replace(f"<th>{html.escape(name)}</th>", f"<th data-filter>{html.escape(name)}</th>", 1)
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
    """The table of `beside` from ready cells. groups: head -> its columns, all but 'here' grey.

    lines: (name, cells, side, word), side: yes, part or no. A cell that ends in ▲ or ▼ is marked as off.
    """
    columns = [name for part in groups.values() for name in part]
    keys = {name: key for key, name in ENCODERS.items()}
    over = "".join(f'<th colspan="{len(list(part))}" class="{keys.get(name, "")}">{name}</th>'
                   for name, part in groups.items())  # fmt: skip
    head = "".join(f"<th>{name}</th>" for name in columns)
    head = f'<tr><td></td>{over}<td class="word"></td></tr><tr><td></td>{head}<td class="word"></td></tr>'
    body = ""
    for name, cells, side, word in lines:
        marked = [f'<b class="off">{cell}</b>' if cell[-1:] in "▲▼" else cell for cell in cells]
        kinds = ["" if column == "here" else ' class="theirs"' for column in columns]
        cells = "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, marked, strict=True))
        body += f'<tr class="side-{side}"><th scope="row">{name}</th>{cells}<td class="word">{word}</td></tr>'
    return HTML(f'<div class="attn-beside"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>')
