"""Tables that several pages show: ours beside the paper's, every number in a fold, the record of a page."""

from collections.abc import Collection, Iterable, Mapping

import pandas as pd
from IPython.display import HTML

from attn_book.fasttext import newest
from attn_book.page import PARTS, YOURS
from attn_book.words import DATA, ENCODERS, NAMES, PART, SETS, number
from attn_lab.runs import index


def beside(
    rows: pd.DataFrame, columns: Collection[str] = ("lstm", "average"), by: str = "encoder", classes: bool = False
) -> HTML:
    """One line a data set, for each encoder the printed number and ours, coloured by whether all rules are met.

    rows: of the scorecard, averaged over classes; those without a verdict are left out. by: the column whose values
    stand side by side. classes: one line a class; * in place of the words of PART. ▲ ▼: a number of the cell lies
    outside its tolerance. Sets of the paper's own texts come first."""
    rows = judged(rows)
    if not classes:
        rows = rows.assign(group="")
    lines: dict[tuple, tuple] = {}
    for (corpus, group), rules in rows.groupby(["corpus", "group"], sort=False):
        kind = rules["data"].iloc[0]
        name = SETS[corpus]
        word = group.removeprefix("all")
        if classes and kind in PART:
            name += "*"
        elif not classes:
            word = PART.get(kind, "")
        cells = []
        for value in columns:
            cells += pair_of_cells(rules[rules[by] == value])
        rank = kind != "same", list(SETS).index(corpus), len(lines)
        lines[rank] = PARTS.titled(name, word), cells, *side_of(rules["verdict"])
    heads = {ENCODERS.get(value, value): ("paper", "here") for value in columns}
    return coloured(heads, [lines[rank] for rank in sorted(lines)])


def judged(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["verdict"] != "unjudged"]


def pair_of_cells(rules: pd.DataFrame) -> list[str]:
    """The printed number and ours, marked where a rule is not met."""
    if rules.empty:
        return ["–", "–"]
    off = rules[rules["verdict"] == "differs"]
    above = (off["ours"] > off["reported"]).all()
    sign = (" ▲" if above else " ▼") if len(off) else ""
    printed = number(rules["reported"].mean(), ".2f")
    ours = number(rules["ours"].mean(), ".2f")
    return [printed, ours + sign]


def side_of(verdicts: pd.Series) -> tuple[str, str]:
    """The colour of a line and its word."""
    holds = verdicts == "holds"
    if holds.all():
        return "yes", "as printed"
    if (verdicts == "differs").all():
        return "no", "differs"
    if (verdicts == "undecided").all():
        return "part", "undecided"
    return "part", f"{holds.sum()} of {len(holds)} as printed"


def claims(rows: pd.DataFrame, permuted: pd.DataFrame) -> HTML:
    """One line a claim of the scorecard: what it asks, whether it holds, ours, and that of permuted weights in one
    training (`derived.of_permuted`), which decides nothing."""
    rows = judged(rows)
    ours = rows.pivot(
        index="item",
        columns="corpus",
        values="ours",
    )[rows["corpus"].unique()]
    control = permuted.pivot(
        index="number",
        columns="corpus",
        values="permuted",
    )[permuted["corpus"].unique()]
    lines = []
    for item, rules in rows.groupby("item", sort=False):
        name, _, asks = item.removeprefix("claim: ").replace(" x ", " × ").partition(" ")
        verdicts = [*rules["verdict"]]
        held, undecided = verdicts.count("holds"), verdicts.count("undecided")
        whole = {held: "yes", undecided: "quiet"}.get(len(rules))
        colour = whole or ("part" if held else "no")
        values = [*ours.loc[item], *control.reindex([name]).loc[name]]
        cells = ["–" if pd.isna(value) else number(value, ".2f") for value in values]
        asks = NAMES["asked"].get(name, asks)
        lines.append((PARTS.claim(asks, rules.iloc[0], held, len(rules), undecided), cells, colour, ""))
    heads = {"here": ours.rename(columns=SETS), "permuted, 1 seed": control.rename(columns=SETS)}
    return coloured(heads, lines)


def fold(title: str, body: str) -> HTML:
    """A line that opens; body: HTML."""
    return HTML(PARTS.fold(title, body))


def every_number(rows: pd.DataFrame, title: str = "Every number") -> HTML:
    """Rows of the scorecard in a fold."""
    ours = rows[rows["ours"].notna()]
    return fold(title, PARTS.every_number(list(ours.itertuples())))


table = PARTS.table
"""HTML of a plain table of heads and lines, in a window of its own; all cells but those that are HTML are escaped."""


def means(rows: pd.DataFrame) -> HTML:
    """Rows of `index.over_seeds` by corpus, and of `page.chosen` below them, for a reader: names for keys, no index."""
    keys = rows.columns.intersection(["corpus", "encoder", "score"])
    lines = []
    for label, row in rows.replace(SETS | ENCODERS).iterrows():
        mean, low, high = [number(row[name], ".2f") for name in ("mean", "low", "high")]
        cells = [mean, YOURS] if label == YOURS else [f"{mean} ({low} to {high})", int(row["n_seeds"])]
        lines.append([*row[keys], *cells])
    return HTML(PARTS.table([*keys, "mean (95 %)", "seeds"], lines))


def frame(data: pd.DataFrame, digits: int = 2) -> HTML:
    """A small table as it stands, its index first: names for keys, numbers to so many digits, empty where none is."""
    heads = [", ".join(head) if isinstance(head, tuple) else head for head in data.rename(columns=ENCODERS)]
    lines = []
    for label, *values in data.rename(SETS | ENCODERS).itertuples():
        cells = ["" if pd.isna(value) else number(value, f".{digits}f") for value in values]
        lines.append([label, *cells])
    return HTML(PARTS.table(["", *heads], lines))


def rows(heads: dict[str, bool], lines: Iterable[Iterable[object]]) -> HTML:
    """A long table in a window; book/_static/rows.js lets it be sorted, and filtered by the heads that are True."""
    body = PARTS.table(heads, lines, [name for name, chosen in heads.items() if chosen])
    return HTML(f'<div class="attn-rows attn-plain">{body}</div>')


def record(
    rows: pd.DataFrame | list[tuple[str, str]],
    evidence: Iterable[str],
    here: str = "",
) -> HTML:
    """The record of a page, folded: data, vectors, seeds, rules and their dates, what else was trained, evidence. rows:
    of the scorecard, all that the page is judged by, or what to say of one that judges nothing. evidence: numbers of
    the statements it rests on."""
    facts = None if isinstance(rows, list) else _facts(rows)
    return fold("Record of this page", PARTS.record([] if facts else rows, facts, evidence, here))


def _facts(rows: pd.DataFrame) -> dict:
    """What the record says of a page's rules and of the runs behind them."""
    ours = rows[rows["ours"].notna()]
    asked = {"corpus": list(ours["corpus"].unique()), "family": ["text", "pair", "hierarchical"]}
    every = index.runs(selection="any", variant="any", **asked)
    plain = newest(index.runs, **asked)
    kinds = ours.groupby("data", sort=False)["corpus"].unique()
    return {
        "kinds": {DATA[kind]: list(sets) for kind, sets in kinds.items()},
        "seeds": list(plain.groupby(["corpus", "encoder", "attention"])["seed"].nunique()),
        "vectors": sorted(set(plain["vectors"])),
        "others": len(every) - len(plain),
        "rules": len(rows),
        "dates": sorted(set(rows["date"])),
        "late": int((rows["late"] == "yes").sum()),
        "judged": len(judged(ours)),
        "held": int((ours["verdict"] == "holds").sum()),
    }


def coloured(groups: Mapping[str, Iterable[str]], lines: Iterable[tuple]) -> HTML:
    """The table of `beside` from ready cells. groups: head -> its columns, grey where neither is 'here'. lines: (name,
    cells, side, word), name: HTML, side: yes, part, no or quiet. A cell that ends in ▲ or ▼ is marked as off."""
    keys = {name: key for key, name in ENCODERS.items()}
    heads = []
    for head, columns in groups.items():
        of_ours = [(name, "here" in (head, name)) for name in columns]
        heads.append((head, keys.get(head, ""), of_ours))
    return HTML(PARTS.coloured(heads, lines))
