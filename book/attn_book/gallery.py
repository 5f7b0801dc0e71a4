"""Every model of Jain & Wallace's grid as small pictures and one table: ours over all seeds, the authors' two runs.

Pictures are SVG written as text, about two kilobytes each. Without JavaScript they are a list of folds; `gallery.html`
holds their style and the script that picks among them and sorts the table.
"""

import html
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import HTML

from attn_book import tables
from attn_book.jain import grids
from attn_book.page import minus
from attn_book.reported import APRIL_RUN, FINAL_RUN
from attn_book.words import ATTENTION_NAMES, ENCODERS, SETS, bounds, number, seeds_in_words, told
from attn_core.experiments import ATTENTION_BINS, edges
from attn_core.index import HEADLINE_SEEDS

EXPERIMENTS = {
    "gradient": ("tau_attention_gradient", "τ with gradients", "Kendall’s τ", (-1, 1)),
    "loo": ("tau_attention_loo", "τ with leave-one-out", "Kendall’s τ", (-1, 1)),
    "permutation": ("median_change", "permutation by largest weight", "median change of the output", (0, 1)),
    "farthest": ("jsd_search", "farthest attention", "JSD to the model’s own attention", (0, 0.7)),
    "farthest_bins": ("jsd_search", "farthest by largest weight", "JSD to the model’s own attention", (0, 0.7)),
}
"""Name of an experiment -> measure, name, axis and its ends."""

HEADS = "data set,encoder,attention,class,measure,here (95 %),April,final,seeds,accuracy".split(",")
STYLES, LEFT, RIGHT = {APRIL_RUN: "a", FINAL_RUN: "z"}, 116, 456


def picture(grid: grids.Grid, model: tuple[str, str, str], experiment: str) -> str:
    """One model (data set, encoder, attention) in one experiment: title, drawing, caption."""
    measure, title, axis, ends = EXPERIMENTS[experiment]
    x = lambda value: round(LEFT + (value - ends[0]) / (ends[1] - ends[0]) * (RIGHT - LEFT), 1)
    drawn, low = (medians if "largest" in title else histograms)(grid, model, measure, x)
    ticks = np.linspace(*ends, 5) if ends[1] == 1 else (0, 0.2, 0.4, 0.6)
    names = "".join(text(x(tick), low + 18, minus(f"{tick:.2g}"), "c") for tick in ticks)
    what = f"{SETS[model[0]]}, {ENCODERS[model[1]]}, {ATTENTION_NAMES[model[2]]} attention: {title}"
    caption, mine = "No run of ours: the authors’ numbers alone.", grid.models.get(model)
    if mine is not None:
        caption = f"{seeds_in_words(len(mine))}, {mine['n_test'].iloc[0]:,} test texts, trained on "
        caption += f"{tables.DATA[mine['data'].iloc[0]]}. Accuracy {mine['accuracy'].mean():.2f}."
    return (f'<figure class="attn-fig {model[1]}" id="gallery-{"-".join(model)}-{experiment}">'
            f'<p class="attn-fig-title">{what}</p><svg role="img" aria-label="{what}" viewBox="0 0 500 {low + 44}">'
            f'<path class="g" d="{"".join(f"M{x(tick)} 6V{low}" for tick in ticks)}"/>{drawn}{names}'
            f'{text((LEFT + RIGHT) / 2, low + 38, axis, "c q")}</svg><figcaption>{caption}</figcaption></figure>')


def histograms(grid: grids.Grid, model: tuple, measure: str, x) -> tuple[str, int]:
    """A histogram for each predicted class, its means below; for JSDs what they are held against. And where it ends."""
    (corpus, *kind), named, parts, y = model, grids.groups(model[0]), [], 0
    bars = {(group, "h"): grid.shares.get((*model, measure, group)) for group in named}
    bars |= {(group, STYLES[run]): grids.bars(corpus, kind, group, measure, run) for group in named for run in STYLES}
    top = max((max(shares) for shares in bars.values() if shares is not None), default=1.0)
    rule = max(nice for nice in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if nice <= top)
    for group, word in named.items():
        y += 78
        level = round(y - 64 * rule / top)
        parts.append(f'<path class="g" d="M{LEFT} {level}H{RIGHT}"/><path class="b" d="M{LEFT} {y}H{RIGHT}"/>')
        parts += [text(RIGHT + 4, level + 4, f"{rule:.0%}", "q s"), text(LEFT - 10, y - 20, word, "e n")]
        there = {style: bars[group, style] for style in "haz" if bars[group, style] is not None}
        drawn = {style: steps(shares, map(x, edges(measure)), y, 64 / top) for style, shares in there.items()}
        parts += [f'<path class="{style}" d="{path}"/>' for style, path in drawn.items()]
        parts.append(point(grid.mean(model, measure, group=group), x, y + 11))
        parts += [mark(grids.authors_mean(corpus, kind, group, measure, run), run, x, y + 26) for run in STYLES]
        y += 36
    for held, word in grids.BEYOND.items() if measure == "jsd_search" else ():
        if (row := grid.mean(model, held)) is not None:
            y += 20
            parts.append(text(LEFT - 10, y + 5, word, "e q") + f'<g class="y">{point(row, x, y)}</g>')
    return "".join(parts), y + 12


def medians(grid: grids.Grid, model: tuple, measure: str, x) -> tuple[str, int]:
    """Medians in the bins of the largest weight, a block for each predicted class; and where the drawing ends."""
    (corpus, *kind), parts, y = model, [], 0
    for group, word in grids.groups(corpus).items():
        y += 28
        parts.append(text(LEFT - 10, y, word, "e n"))
        for bin in ATTENTION_BINS:
            y += 30
            where = text(LEFT - 10, y + 5, bin[1:-1].replace(",", "–"), "e q")
            parts.append(f'<path class="g" d="M{LEFT} {y}H{RIGHT}"/>{where}')
            theirs = {run: grids.authors_median(corpus, kind, group, measure, bin, run) for run in STYLES}
            parts += [mark(value, run, x, y - 7) for run, value in theirs.items()]
            if (count := grid.mean(model, measure, "n", group, bin)) is not None:
                parts.append(point(grid.mean(model, measure, "median", group, bin), x, y + 7))
                parts.append(text(RIGHT + 4, y + 5, f"{count.mean:,.0f}", "q s"))
        y += 8
    return "".join(parts), y + 12


def steps(shares: np.ndarray, ends: Iterable[float], base: int, tall: float) -> str:
    """A histogram as a path of strokes up, right and down; neighbours of equal height share one."""
    (left, *ends), heights = map(round, ends), [round(base - tall * share) for share in shares]
    strokes = zip(heights, ends, [*heights[1:], None], strict=True)
    return f"M{left} {base}" + "".join(f"V{y}H{end}" for y, end, other in strokes if y != other) + f"V{base}"


def point(row, x, y: int) -> str:
    """Our mean on its interval, cut at what is possible; open for fewer than HEADLINE_SEEDS seeds, nothing for none."""
    if row is None:
        return ""
    low, high = np.clip([row.low, row.high], *bounds(row.measure))
    bar = "" if pd.isna(low) else f'<path class="i" d="M{x(low)} {y}H{x(high)}"/>'
    return f'{bar}<circle{"" if row.n_seeds >= HEADLINE_SEEDS else " class=o"} cx="{x(row.mean)}" cy="{y}" r="5"/>'


def mark(value: float, run: str, x, y: int) -> str:
    """The authors' value: an open square (April) or diamond (final); nothing for none."""
    shape = f"M{x(value) - 4.5:g} {y - 4.5}h9v9h-9z" if run == APRIL_RUN else f"M{x(value):g} {y - 6}l6 6-6 6-6-6z"
    return "" if pd.isna(value) else f'<path class="m" d="{shape}"/>'


def text(x: float, y: float, words: str, kind: str) -> str:
    """A label; kind: 'e' ends at x, 'c' has its middle there, 'q' is quiet, 's' small, 'n' strong."""
    return f'<text x="{x:g}" y="{y}" class="{kind}">{html.escape(words)}</text>'


def picker(grid: grids.Grid) -> HTML:
    """All pictures in folds, one a data set. The script replaces the folds by a picker."""
    all_of = lambda one: "\n".join(picture(grid, (one, *kind), name) for kind in grids.MODELS for name in EXPERIMENTS)
    folds = "\n".join(f"<details><summary>{SETS[one]}</summary>\n{all_of(one)}\n</details>" for one in grid.corpora)
    names = {name: words for name, (_, words, *_) in EXPERIMENTS.items()}
    rows = {"Data": (grid.corpora, SETS), "Encoder": (grids.ENCODER, ENCODERS),
            "Attention": (grids.ATTENTION, ATTENTION_NAMES), "Experiment": (names, names)}  # fmt: skip
    names = json.dumps({row: {key: words[key] for key in keys} for row, (keys, words) in rows.items()})
    code = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    return HTML(f'{code}<div class="attn-gallery" data-names="{html.escape(names)}">\n{folds}</div>')


def table(grid: grids.Grid) -> HTML:
    """Every mean over seeds, all classes and each one; the authors' means beside it; sorted by the script."""
    lines, two = [], lambda value: "" if pd.isna(value) else minus(number(value, ".2f"))
    for corpus, *kind in ((corpus, *kind) for corpus in grid.corpora for kind in grids.MODELS):
        named, mine = grids.groups(corpus) | {"all": "all"}, grid.models.get((corpus, *kind))
        for group, (measure, statistic) in ((group, pair) for group in named for pair in grids.MEANS):
            theirs = [grids.authors_mean(corpus, kind, group, measure, run, statistic) for run in STYLES]
            if (row := grid.mean((corpus, *kind), measure, statistic, group)) or not np.isnan(theirs).all():
                ours = minus(told(*row[7:10], bounds=bounds(measure, statistic))) if row else ""
                where = SETS[corpus], ENCODERS[kind[0]], ATTENTION_NAMES[kind[1]], named[group]
                words = ours, *map(two, theirs), *((row.n_seeds, two(mine["accuracy"].mean())) if row else ("", ""))
                lines.append((*where, grids.MEANS[measure, statistic], *words))
    return HTML(tables.table(HEADS, lines).replace("<table>", '<table class="attn-sort">', 1))
