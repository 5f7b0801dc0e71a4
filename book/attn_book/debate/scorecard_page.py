"""The scorecard page's tables, counts, sentences and figure, from the rows of scorecard.py."""

import html

import numpy as np
import pandas as pd

from attn_book.derived import COUNTED
from attn_book.jain.claims import LATER, PATTERNS
from attn_book.jain.tables import closed
from attn_book.scorecard import clipped, scorecard
from attn_book.words import in_words, model_of
from attn_core.archive import Result
from attn_core.index import HEADLINE_SEEDS
from attn_core.runs import AbsentRun

LINES = (
    "Table 1, scores",
    "Table 2, means",
    "Table 2, std, shares",
    "Figures 3–5",
    "Figure 6",
    "Figure 7",
    "Figure 8",
    "web appendix",
)
"""Lines of a data set in the figure of distances."""

SIDES = {"clears": "✓", "opposite": "✗", "contains": "–", "no interval": "·"}
"""Marks of the matrix of claims."""

ASKED_ANEW = tuple(claim.item for claim in LATER.values())

F1_MEANS = {"F1": "macro F1"}
"""What the rules on Table 1 mean by a statistic."""

FARTHEST = 5.0
"""Distances beyond are drawn at the edge of the figure, in tolerances."""


def folded(title: str, body: str) -> str:
    """A box that opens on a click."""
    return f"<details><summary>{html.escape(title)}</summary>{body}</details>"


# ---- rows ------------------------------------------------------------------------------------------------------------


def paper_rows(
    paper: str, corpora: list[str], results: list[Result] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of one paper: all of them, and those of `corpora` with a verdict, with intervals cut to possible values.

    A column `part` says where in the paper a row stands. results: the runs to judge by; None takes the whole archive.
    AbsentRun where none of them was rerun, for there is nothing to show then.
    """
    rows = scorecard(results, paper)
    rows["rule"] = rows["rule"].str.replace(r" \(specification[^)]*\)", "", regex=True)
    rows = rows.assign(part=rows["item"].map(part_of))
    rerun = rows[rows["corpus"].isin(corpora) & (rows["verdict"] != "not rerun")]
    if rerun.empty:
        raise AbsentRun(
            f"no archived run of {', '.join(corpora)}; `python -m attn_core archive list` shows what is stored"
        )
    return rows, clipped(rerun)


def part_of(item: str) -> str:
    """Where in the paper an item stands, without bins and without the wording of claims: 'Figure 6', 'claims'.

    'patterns': rules about single data sets, read off the authors' own figures; no claims of the paper. 'claims asked
    anew': by rules made after the runs were seen.
    """
    if item in PATTERNS:
        return "patterns"
    if item in ASKED_ANEW:
        return "claims asked anew"
    return "claims" if item.startswith("claim") else "bands" if item.startswith("band") else item.split(" [")[0]


def source_of(item: str) -> str:
    """Where the reported value comes from; only the two tables are printed numbers."""
    if item.startswith(("claim", "band")):
        return "threshold of the rule"
    return "printed" if item in ("Table 1", "Table 2", "Table 3") else "read off the authors' figures or files"


def threshold_side(row) -> str:
    """Where the interval of a claim lies: it 'clears' the threshold, 'contains' it, or lies 'opposite'."""
    if not (np.isfinite(row.low) and np.isfinite(row.high)):
        return "no interval"
    above, below = row.low > row.reported, row.high < row.reported
    if not above and not below:
        return "contains"
    asked = row.side
    return "clears" if above == (asked == "above") else "opposite"


def seeds_in_words(row) -> str:
    """Number of seeds of a row, marked where they are too few to decide; counts of documents need none."""
    if row.measure in COUNTED:
        return "–"
    return f"{row.n_seeds}" if row.n_seeds >= HEADLINE_SEEDS else f"{row.n_seeds} (few)"


# ---- counts ----------------------------------------------------------------------------------------------------------


def claim_matrix(claims: pd.DataFrame, corpora: list[str]) -> pd.DataFrame:
    """One line per claim, one column per data set: SIDES, in brackets where too few seeds decide; '' where not claimed.

    claims: rows of claims that have a value of ours.
    """
    told = claims.assign(
        line=[f"{closed(row.item.removeprefix('claim: '))}{of_measure(row)}" for row in claims.itertuples()]
    )
    table = pd.DataFrame(
        "", index=told["line"].unique(), columns=[name for name in corpora if name in set(told["corpus"])]
    )
    for row in told.itertuples():
        mark = SIDES[threshold_side(row)]
        table.loc[row.line, row.corpus] = f"({mark})" if row.unjudged else mark
    return table


def of_measure(row) -> str:
    """What tells two rows of one claim apart."""
    told = {
        "tau(gradient,LOO)-tau(attention,LOO)": " than attention and leave-one-out",
        "tau(gradient,LOO)-tau(attention,gradient)": " than attention and gradient",
    }
    return told.get(row.measure, "")


# ---- the figure ------------------------------------------------------------------------------------------------------


def distances(rows: pd.DataFrame) -> pd.DataFrame:
    """Ours minus reported, and the interval, in units of the tolerance (|mean| <= 1: reproduced).

    Left out: claims (they have a threshold), counts and lengths of the data (they have no seeds). `line`: one of LINES;
    rows are in the order of the data sets, then of LINES, then of the distance.
    """
    rows = rows[(rows["tolerance"] > 0) & ~rows["measure"].isin(COUNTED)].reset_index(drop=True)
    line = (
        rows["part"]
        .str.replace(r"^Figure [345].*", "Figures 3–5", regex=True)
        .str.replace(r"^Table 1.*", "Table 1, scores", regex=True)
    )
    second = np.where(rows["statistic"] == "mean", "Table 2, means", "Table 2, std, shares")
    rows = rows.assign(line=line.where(line != "Table 2", second))
    values = {name: (rows[name] - rows["reported"]) / rows["tolerance"] for name in ("low", "high")}
    rows = rows.assign(mean=(rows["ours"] - rows["reported"]) / rows["tolerance"], **values)
    order = {name: i for i, name in enumerate([*rows["corpus"].unique(), *LINES])}
    rows = rows.sort_values("mean", kind="stable").sort_values("line", key=lambda n: n.map(order), kind="stable")
    return rows.sort_values("corpus", key=lambda n: n.map(order), kind="stable").reset_index(drop=True)


def draw_distances(ax, rows: pd.DataFrame) -> None:
    """`distances` as points with intervals, spread a little within their line; at the right, how many lie in the band.

    Open points: fewer than five seeds. Gold: not the paper's own data. Beyond FARTHEST a triangle at the edge.
    """
    from attn_book.figures import CONTROL, OURS

    ax.axvspan(-1, 1, color="#e3efe3", linewidth=0)
    ax.axvline(0, color="black", linewidth=0.6)
    ticks, y = {}, 0.0
    for corpus, mine in rows.groupby("corpus", sort=False):
        same = (mine["data"] == "same").all()
        colour = OURS if same else CONTROL
        name = corpus if same else f"{corpus} ({mine['data'].iloc[0]})"
        beside(ax, name, 0.0, y - 0.85, fontsize=11, fontweight="bold")
        for line, part in mine.groupby("line", sort=False):
            places = y + (np.linspace(-0.36, 0.36, len(part)) if len(part) > 1 else np.zeros(1))
            shown = part["mean"].clip(-FARTHEST, FARTHEST).to_numpy()
            few, beyond = (part["n_seeds"] < HEADLINE_SEEDS).to_numpy(), (part["mean"].abs() > FARTHEST).to_numpy()
            ends = part[["low", "high"]].clip(-FARTHEST, FARTHEST).to_numpy()
            ax.hlines(places[~few], ends[~few, 0], ends[~few, 1], color=colour, linewidth=0.7, alpha=0.45)
            for chosen, face in ((few & ~beyond, "white"), (~few & ~beyond, colour)):
                ax.plot(
                    shown[chosen],
                    places[chosen],
                    "o",
                    color=colour,
                    markerfacecolor=face,
                    markersize=3.2,
                    markeredgewidth=0.6,
                )
            for edge, marker in ((-FARTHEST, "<"), (FARTHEST, ">")):
                at = beyond & (shown == edge)
                ax.plot(shown[at], places[at], marker, color=colour, markersize=3.5)
            within = int((part["mean"].abs() <= 1 + 1e-9).sum())
            beside(ax, f"{within}/{len(part)}", 1.0, y, fontsize=9.5)
            ticks[y], y = line, y + 1
        y += 1.3
    ax.set_yticks(list(ticks), list(ticks.values()), fontsize=9.5)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(y - 1.6, -1.6)
    ax.set_xlim(-FARTHEST - 0.2, FARTHEST + 0.2)


def beside(ax, text: str, x: float, y: float, **style) -> None:
    """Text a little to the right of x (0: the left edge, 1: the right one) on the height of y."""
    place = {"xycoords": ("axes fraction", "data"), "xytext": (4, 0), "textcoords": "offset points", "va": "center"}
    ax.annotate(text, (x, y), **place, **style)


# ---- long lists ------------------------------------------------------------------------------------------------------


def rows_html(rows: pd.DataFrame) -> str:
    """Rows as tables to open, one for each data set; in plain HTML, for styled cells weigh five times as much."""
    boxes = []
    for corpus, part in rows.groupby("corpus", sort=False):
        table = pd.DataFrame([cells_of(row) for row in part.itertuples()])
        boxes.append(folded(f"{corpus}: {len(part)} rows", scrolled(table)))
    return "".join(boxes)


def cells_of(row) -> dict[str, str]:
    """A row of the long tables, as HTML."""
    digits = 0 if row.statistic == "count" else 3
    interval = f"{row.low:.3f} to {row.high:.3f}{' †' if row.cut else ''}" if np.isfinite(row.low) else "–"
    claim = row.item.startswith(("claim", "band"))
    words = {
        "item": closed(row.item.removeprefix("claim: ").removeprefix("band: ")), "group": row.group,
        "model": model_of(row) or "–",
        "measure": in_words(row.measure),
        "statistic": "–" if claim else in_words(F1_MEANS.get(row.statistic, row.statistic)),
        "reported": f"{row.reported:.{digits}f}", "ours": f"{row.ours:.{digits}f}", "95 % interval": interval,
        "seeds": seeds_in_words(row), "tolerance": "–" if claim else f"{row.tolerance:g}", "verdict": row.verdict,
        "data": row.data, "reported value is": source_of(row.item),
    }  # fmt: skip
    page = f'<a href="{row.page}.html">{row.page.rsplit("/", 1)[-1]}</a>'
    return {name: html.escape(text) for name, text in words.items()} | {"page": page}


def scrolled(table: pd.DataFrame) -> str:
    """A table of HTML cells in a box that scrolls sideways."""
    head = "".join(f"<th>{name}</th>" for name in table.columns)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in table.itertuples(index=False))
    style = "overflow-x: auto; white-space: nowrap"
    return f'<div style="{style}"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
