"""Every model of Jain & Wallace's grid as small pictures and one table: ours over all seeds, the authors' two runs.

Pictures are SVG written as text, about two kilobytes each. Without JavaScript they are a list of folds; `gallery.html`
holds their style and the script that picks among them.
"""

import html
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import HTML

from attn_book import tables
from attn_book.page import minus
from attn_book.reported import APRIL_RUN, FINAL_RUN, reported
from attn_book.words import ATTENTION_NAMES, ENCODERS, SETS, bounds, number, seeds_in_words
from attn_core.corpora import catalogue
from attn_core.errors import AttnError
from attn_core.experiments import ATTENTION_BINS, edges
from attn_core.index import HEADLINE_SEEDS, has, numbers, over_seeds, runs

RUN = ("sst", "imdb", "agnews", "20news", "babi_1", "babi_2", "babi_3", "snli")
UNRUN = ("diabetes", "anemia", "adr", "cnn")
"""Data sets of the paper that this archive holds runs of, and those it does not."""

ENCODER, ATTENTION = ("lstm", "cnn", "average"), ("tanh", "dot")
MODELS = tuple((encoder, attention) for encoder in ENCODER for attention in ATTENTION)
MODEL = ["corpus", "encoder", "attention"]

MEANS = {
    ("tau_attention_gradient", "mean"): "τ attention, gradient", ("tau_attention_loo", "mean"): "τ attention, LOO",
    ("tau_gradient_loo", "mean"): "τ gradient, LOO", ("median_change", "median"): "permuting: median change",
    ("median_change", "share_below_0.1"): "permuting: share < 0.1", ("jsd_search", "mean"): "JSD searched",
    ("jsd_search", "share_above_0.4"): "JSD searched: share > 0.4", ("jsd_exact", "mean"): "JSD optimum",
    ("jsd_lower", "mean"): "JSD best found", ("ceiling", "mean"): "JSD ceiling",
    ("jsd_shuffled", "mean"): "JSD shuffled", ("jsd_permutation", "mean"): "JSD permuted",
    ("ratio_search", "mean"): "searched / ceiling", ("ratio_exact", "mean"): "optimum / ceiling",
    ("ratio_lower", "mean"): "best found / ceiling",
}  # fmt: skip
"""(Measure, statistic) -> its name in the table."""

BEYOND = {"jsd_exact": "optimum", "jsd_lower": "best found", "ceiling": "ceiling", "jsd_shuffled": "shuffled",
          "jsd_permutation": "permuted"}  # fmt: skip
"""What a searched JSD is held against; a model has the optimum or the best found."""

EXPERIMENTS = {
    "gradient": ("tau_attention_gradient", "τ with gradients", "Kendall’s τ", (-1, 1)),
    "loo": ("tau_attention_loo", "τ with leave-one-out", "Kendall’s τ", (-1, 1)),
    "permutation": ("median_change", "permutation by largest weight", "median change of the output", (0, 1)),
    "farthest": ("jsd_search", "farthest attention", "JSD to the model’s own attention", (0, 0.7)),
    "farthest_bins": ("jsd_search", "farthest by largest weight", "JSD to the model’s own attention", (0, 0.7)),
}
"""Name of an experiment -> measure, name, axis and its ends."""

AUTHORS = {"tau_gradient": "tau_attention_gradient", "tau_loo": "tau_attention_loo", "eps_max_jsd": "jsd_search",
           "tau(gradient,LOO)": "tau_gradient_loo", "median_output_change": "median_change"}  # fmt: skip
"""Measure of the authors' files -> ours."""

HEADS = {"data set": True, "encoder": True, "attention": True, "class": False, "measure": True, "here": False,
         "95 % interval": False, "April": False, "final": False, "seeds": False, "accuracy": False}  # fmt: skip
STYLES, LEFT, RIGHT = {APRIL_RUN: "a", FINAL_RUN: "z"}, 116, 456


def groups(corpus: str) -> dict[str, str]:
    """Predicted class as summaries write it -> its name; answers of questions are not told apart."""
    entry = catalogue.corpus(corpus)
    return {"all": "all questions"} if entry.task == "question" else dict(zip("0123", entry.classes, strict=False))


def authors(table: str, corpora: list[str], **where: object) -> pd.DataFrame:
    """Rows of the authors' own runs with our measure, predicted, bin ('all' for none) and the snapshot's style.

    Classes go by name, since SNLI's numbers change between their runs; rows of other classes are left out.
    """
    rows = reported(table, **where)
    rows = rows[rows["corpus"].isin(corpora) & rows["measure"].isin(list(AUTHORS))].reset_index(drop=True)
    label = {(name, word): key for name in corpora for key, word in groups(name).items()}
    named = [label.get(pair) for pair in zip(rows["corpus"], rows["class_name"], strict=True)]
    bins = {name[:5]: name for name in ATTENTION_BINS}
    return rows.assign(
        measure=rows["measure"].map(AUTHORS), predicted=pd.Series(named).where(rows["class"] != "Overall", "all"),
        bin=rows["max_attention_bin"].str[:5].map(bins).fillna("all") if "max_attention_bin" in rows else "all",
        run=rows["snapshot"].map(STYLES) if "snapshot" in rows else STYLES[FINAL_RUN],
    ).dropna(subset=["predicted", "run"])  # fmt: skip


class Grid:
    """What is stored of the grid's models over all their seeds, and what the authors' two runs say.

    models: (data set, encoder, attention) -> stored runs. means: (*model, measure, statistic, class, bin) -> a row of
    `over_seeds`; theirs: the same with the run's style -> their number. shares: (*model, measure, class, style) -> the
    share of texts in each bin of `edges`, style 'h' for ours. corpora: none means all. AttnError for a data set
    that the grid has not, or an epsilon that is not stored.
    """

    def __init__(self, corpora: list[str], epsilon: float = 0.05) -> None:
        self.corpora = list(corpora) or [*RUN, *UNRUN]
        for name in self.corpora:
            if name not in (*RUN, *UNRUN):
                raise AttnError(f"the grid has no data set '{name}'; there are: {', '.join((*RUN, *UNRUN))}")
        if epsilon not in (0.05, 0.01):
            raise AttnError(f"epsilon must be one of 0.05, 0.01, which are stored; got {epsilon}")
        where = {"corpus": self.corpora, "encoder": list(ENCODER), "attention": list(ATTENTION)}
        self.models = dict(list(runs(**where).groupby(MODEL, sort=False)))
        stored = {f"{kind}@{epsilon:g}" if kind.startswith(("jsd_", "ratio_")) else kind for kind, _ in MEANS}
        rows = numbers(stored & has("measure"), "any", "any", "any", **where)
        rows = rows.assign(measure=rows["measure"].str.partition("@")[0])
        shown = {(name, group) for name in self.corpora for group in (*groups(name), "all")}
        rows = rows[[pair in shown for pair in zip(rows["corpus"], rows["predicted"], strict=True)]]
        place = [*MODEL, "measure", "predicted"]
        bars = rows[rows["statistic"].str.startswith("hist:") & (rows["bin"] == "all")]
        bars = bars.assign(k=bars["statistic"].str[5:].astype(int))
        bars = bars.pivot_table(index=[*place, "seed"], columns="k", values="value")
        bars = bars.reindex(columns=range(40)).fillna(0.0)
        bars = bars.div(bars.sum(axis=1), axis=0).groupby(level=place).mean()
        self.shares = {(*at, "h"): row[: len(edges(at[3])) - 1] for at, row in zip(bars.index, bars.to_numpy())}
        theirs = authors("jain_repo_svg_histogram_bins", self.corpora).sort_values("bin_left")
        self.shares |= {at: part["share"].to_numpy() for at, part in theirs.groupby([*place, "run"])}
        wanted = {*MEANS, ("jsd_search", "median"), ("jsd_search", "n"), ("median_change", "n")}
        rows = rows[[pair in wanted for pair in zip(rows["measure"], rows["statistic"], strict=True)]]
        by = [*MODEL, "measure", "statistic", "predicted", "bin"]
        self.means = {row[: len(by)]: row for row in over_seeds(rows, *by).itertuples(index=False)}
        three = authors("jain_repo_threeway_correlations", self.corpora, measure="tau(gradient,LOO)")
        found = [authors(f"jain_repo_{name}", self.corpora) for name in ("correlations", "svg_summaries")]
        found = pd.concat([*found, three]).replace({"statistic": {"mean_binned": "mean"}})
        self.theirs = dict(zip(found[[*by, "run"]].itertuples(index=False, name=None), found["value"], strict=True))

    def mean(self, model: tuple, measure: str, statistic: str = "mean", group: str = "all", bin: str = "all"):
        """A row of `over_seeds`: mean, low, high, n_seeds; None where no seed has the number."""
        return self.means.get((*model, measure, statistic, group, bin))

    def two(self, model: tuple, measure: str, statistic: str = "mean", group: str = "all", bin: str = "all") -> dict:
        """Style of each of the authors' runs -> their number, NaN where their files have none."""
        return {run: self.theirs.get((*model, measure, statistic, group, bin, run), np.nan) for run in STYLES.values()}


def picture(grid: Grid, model: tuple[str, str, str], experiment: str) -> str:
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


def histograms(grid: Grid, model: tuple, measure: str, x) -> tuple[str, int]:
    """A histogram for each predicted class, its means below; for JSDs what they are held against. And where it ends."""
    named, parts, y = groups(model[0]), [], 0
    bars = {(group, style): grid.shares.get((*model, measure, group, style)) for group in named for style in "haz"}
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
        parts += [mark(value, run, x, y + 26) for run, value in grid.two(model, measure, group=group).items()]
        y += 36
    for held, word in BEYOND.items() if measure == "jsd_search" else ():
        if (row := grid.mean(model, held)) is not None:
            y += 20
            parts.append(text(LEFT - 10, y + 5, word, "e q") + f'<g class="y">{point(row, x, y)}</g>')
    return "".join(parts), y + 12


def medians(grid: Grid, model: tuple, measure: str, x) -> tuple[str, int]:
    """Medians in the bins of the largest weight, a block for each predicted class; and where the drawing ends."""
    parts, y = [], 0
    for group, word in groups(model[0]).items():
        y += 28
        parts.append(text(LEFT - 10, y, word, "e n"))
        for bin in ATTENTION_BINS:
            y += 30
            where = text(LEFT - 10, y + 5, bin[1:-1].replace(",", "–"), "e q")
            parts.append(f'<path class="g" d="M{LEFT} {y}H{RIGHT}"/>{where}')
            theirs = grid.two(model, measure, "median", group, bin)
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
    shape = f"M{x(value) - 4.5:g} {y - 4.5}h9v9h-9z" if run == "a" else f"M{x(value):g} {y - 6}l6 6-6 6-6-6z"
    return "" if pd.isna(value) else f'<path class="m" d="{shape}"/>'


def text(x: float, y: float, words: str, kind: str) -> str:
    """A label; kind: 'e' ends at x, 'c' has its middle there, 'q' is quiet, 's' small, 'n' strong."""
    return f'<text x="{x:g}" y="{y}" class="{kind}">{html.escape(words)}</text>'


def picker(grid: Grid) -> HTML:
    """All pictures in folds, one a data set."""
    all_of = lambda one: "\n".join(picture(grid, (one, *kind), name) for kind in MODELS for name in EXPERIMENTS)
    names = {name: words for name, (_, words, *_) in EXPERIMENTS.items()}
    rows = {"Data": (grid.corpora, SETS), "Encoder": (ENCODER, ENCODERS), "Attention": (ATTENTION, ATTENTION_NAMES),
            "Experiment": (names, names)}  # fmt: skip
    rows = {row: {key: words[key] for key in keys} for row, (keys, words) in rows.items()}
    return folded({SETS[one]: all_of(one) for one in grid.corpora}, rows)


def folded(parts: dict[str, str], names: dict[str, dict[str, str]]) -> HTML:
    """Figures in folds (title -> figures), which the script replaces by a picker.

    names: row of the picker -> key -> word. A figure's id is 'gallery' and its key of each row, joined by hyphens.
    """
    folds = "\n".join(f"<details><summary>{title}</summary>\n{part}\n</details>" for title, part in parts.items())
    code, names = Path(__file__).with_suffix(".html").read_text(encoding="utf-8"), html.escape(json.dumps(names))
    return HTML(f'{code}<div class="attn-gallery" data-names="{names}">\n{folds}</div>')


def table(grid: Grid) -> HTML:
    """Every mean over seeds, all classes and each one, the authors' means beside it."""
    lines, form = [], lambda value: "" if pd.isna(value) else number(value, ".2f")
    for corpus, *kind in ((corpus, *kind) for corpus in grid.corpora for kind in MODELS):
        named, model = groups(corpus) | {"all": "all"}, (corpus, *kind)
        accuracy = form(grid.models[model]["accuracy"].mean()) if model in grid.models else ""
        for group, (measure, statistic) in ((group, pair) for group in named for pair in MEANS):
            theirs = grid.two(model, measure, statistic, group).values()
            row = grid.mean(model, measure, statistic, group)
            if row or not np.isnan([*theirs]).all():
                low, high = np.clip([row.low, row.high], *bounds(measure, statistic)) if row else (np.nan, np.nan)
                between = f"{form(low)} to {form(high)}" if low == low else ""
                ours = (form(row.mean), between) if row else ("", "")
                where = SETS[corpus], ENCODERS[kind[0]], ATTENTION_NAMES[kind[1]], named[group]
                seeds = (row.n_seeds, accuracy) if row else ("", "")
                lines.append((*where, MEANS[measure, statistic], *ours, *map(form, theirs), *seeds))
    return tables.rows(HEADS, lines)
