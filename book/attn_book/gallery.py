"""Every model of Jain & Wallace's grid as small pictures and one table: ours over all seeds, the authors' two runs.

Pictures are SVG written as text, two to six kilobytes each, so that some 360 of them make one page. Without JavaScript
they are a list of folds; `gallery.js` puts a picker over it and makes the table sortable.
"""

import html
import json
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import HTML

from attn_book import tables
from attn_book.jain import grids
from attn_book.reported import APRIL_RUN, FINAL_RUN
from attn_book.words import ATTENTION_NAMES, ENCODERS, SETS, number
from attn_core.errors import AttnError
from attn_core.experiments import ATTENTION_BINS, edges
from attn_core.index import HEADLINE_SEEDS, numbers, over_seeds, runs
from attn_core.measures import LN2

EXPERIMENTS = {
    "gradient": ("tau_attention_gradient", "rank correlation with gradients", "Kendall’s τ"),
    "loo": ("tau_attention_loo", "rank correlation with leave-one-out", "Kendall’s τ"),
    "permutation": ("median_change", "permutation, by largest weight", "median change of the output"),
    "farthest": ("jsd_search", "farthest attention", "JSD of attention and its adversary"),
    "farthest_bins": ("jsd_search", "farthest attention, by largest weight", "JSD of attention and its adversary"),
}
"""Name of an experiment -> measure, what its pictures are called, their axis."""

BEYOND = {"jsd_exact": "optimum", "jsd_lower": "best found", "ceiling": "ceiling", "jsd_shuffled": "shuffled",
          "jsd_permutation": "permuted"}  # fmt: skip
"""What a searched JSD is held against; a model has the optimum or the best found."""

MEANS = {
    ("tau_attention_gradient", "mean"): "τ attention, gradient", ("tau_attention_loo", "mean"): "τ attention, LOO",
    ("tau_gradient_loo", "mean"): "τ gradient, LOO", ("median_change", "median"): "permutation: median change",
    ("median_change", "share_below_0.1"): "permutation: share below 0.1", ("jsd_search", "mean"): "JSD searched",
    ("jsd_search", "share_above_0.4"): "JSD searched: share above 0.4", ("jsd_exact", "mean"): "JSD optimum",
    ("jsd_lower", "mean"): "JSD best found", ("ceiling", "mean"): "JSD ceiling",
    ("jsd_shuffled", "mean"): "JSD shuffled", ("jsd_permutation", "mean"): "JSD permuted",
    ("ratio_search", "mean"): "searched / ceiling", ("ratio_exact", "mean"): "optimum / ceiling",
    ("ratio_lower", "mean"): "best found / ceiling",
}  # fmt: skip
"""(Measure, statistic) -> its name in the table."""

ENCODER, ATTENTION = ("lstm", "cnn", "average"), ("tanh", "dot")
MODEL = ["corpus", "encoder", "attention"]
RUNS = {APRIL_RUN: "a", FINAL_RUN: "z"}
LEFT, RIGHT = 116, 466


class Gallery:
    """What pictures and table are made of. models: stored runs by (data set, encoder, attention)."""

    def __init__(self, corpora: list[str], epsilon: float = 0.05) -> None:
        self.corpora = corpora or [*grids.CORPORA, *grids.UNRUN]
        for name in self.corpora:
            if name not in (*grids.CORPORA, *grids.UNRUN):
                raise AttnError(f"the gallery has no data set '{name}'; there are: {', '.join(SETS)}")
        at = lambda kind: grids.stored_at(kind, epsilon) if kind.startswith(("jsd_", "ratio_")) else kind
        where = {"corpus": self.corpora, "encoder": ENCODER, "attention": ATTENTION}
        found = runs(**where)
        self.models = {model: part for model, part in found.groupby(MODEL, sort=False)}
        self.at, by = {measure: at(measure) for measure, _ in MEANS}, [*MODEL, "measure", "statistic", "predicted"]
        rows = numbers(list(self.at.values()), "any", "any", "any", **where)
        rows = rows.assign(measure=rows["measure"].str.partition("@")[0])
        shown = {(name, group) for name in self.corpora for group in (*grids.groups(name), "all")}
        rows = rows[[pair in shown for pair in zip(rows["corpus"], rows["predicted"], strict=True)]]
        bars = rows["statistic"].str.startswith("hist:") & (rows["bin"] == "all")
        bars = rows[bars].assign(k=lambda table: table["statistic"].str[5:].astype(int))
        bars = bars.pivot_table(index=[*MODEL, "measure", "predicted", "seed"], columns="k", values="value",
                                fill_value=0.0).reindex(columns=range(40), fill_value=0.0)  # fmt: skip
        bars = bars.div(bars.sum(axis=1), axis=0).groupby(level=[*MODEL, "measure", "predicted"]).mean()
        self.shares = {place: row[: len(edges(place[3])) - 1]
                       for place, row in zip(bars.index, bars.to_numpy(), strict=True)}  # fmt: skip
        kept = [pair in {*MEANS, ("jsd_search", "median")} or pair[1] == "n" and pair[0] in ("median_change", "jsd_search")
                for pair in zip(rows["measure"], rows["statistic"], strict=True)]  # fmt: skip
        means = over_seeds(rows[kept], *by, "bin").set_index([*by, "bin"])
        self.means = dict(zip(means.index, means.itertuples(index=False), strict=True))

    def mean(self, model: tuple, measure: str, statistic: str = "mean", group: str = "all", bin: str = "all"):
        """mean, low, high, n_seeds, std; None where no seed has it."""
        return self.means.get((*model, measure, statistic, group, bin))


# ---- pictures --------------------------------------------------------------------------------------------------------


def steps(shares: np.ndarray, ends: np.ndarray, base: float, tall: float) -> str:
    """A histogram as a path of horizontal and vertical strokes; bars of equal height are one stroke."""
    heights, at = [round(base - tall * share) for share in shares], [round(x) for x in ends]
    path = f"M{at[0]} {base}"
    for i, height in enumerate(heights):
        last = i + 1 == len(heights) or heights[i + 1] != height
        path += ("" if i and heights[i - 1] == height else f"V{height}") + (f"H{at[i + 1]}" if last else "")
    return path + f"V{base}"


def point(row, x, y: float, bounds: tuple[float, float]) -> str:
    """Our mean on its interval, cut at what is possible; open for fewer than HEADLINE_SEEDS seeds."""
    if row is None or not np.isfinite(row.mean):
        return ""
    bar = "" if pd.isna(row.low) else f'<path class="i" d="M{x(max(row.low, bounds[0]))} {y}H{x(min(row.high, bounds[1]))}"/>'
    return f'{bar}<circle class="{"f" if row.n_seeds >= HEADLINE_SEEDS else "o"}" cx="{x(row.mean)}" cy="{y}" r="5"/>'


def mark(value: float, snapshot: str, x, y: float) -> str:
    """The authors' value: an open square (April) or diamond (final)."""
    if not np.isfinite(value):
        return ""
    shape = "h9v9h-9z" if snapshot == APRIL_RUN else "l6 6-6 6-6-6z"
    left, top = (x(value) - 4.5, y - 4.5) if snapshot == APRIL_RUN else (x(value), y - 6)
    return f'<path class="m" d="M{left:g} {top:g}{shape}"/>'


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """A label; kind: 'e' ends at x, 'c' is centred there, 'q' is quiet."""
    return f'<text x="{x}" y="{y}"{f" class={kind!r}" if kind else ""}>{html.escape(words)}</text>'.replace("'", '"')


def picture(made: Gallery, model: tuple, experiment: str) -> str:
    """One model in one experiment as a figure with a caption."""
    measure, title, axis = EXPERIMENTS[experiment]
    tau, bins = measure.startswith("tau_"), experiment in ("permutation", "farthest_bins")
    limits = (-1, 1) if tau else (0, 1) if measure == "median_change" else (0, 0.7)
    x = lambda value: round(LEFT + (value - limits[0]) / (limits[1] - limits[0]) * (RIGHT - LEFT), 1)
    possible = limits if tau or measure == "median_change" else (0, LN2)
    draw = medians if bins else histograms
    parts, low = draw(made, model, measure, x, possible)
    ticks = np.linspace(*limits, 5) if limits != (0, 0.7) else np.arange(0, 0.8, 0.1)[::2]
    grid = "".join(f"M{x(tick)} 6V{low}" for tick in ticks)
    names = "".join(text(x(tick), low + 18, f"{tick:.2g}".replace("-", "−"), "c") for tick in ticks)
    names += text((LEFT + RIGHT) / 2, low + 38, axis, "c q")
    what = f"{SETS[model[0]]}, {ENCODERS[model[1]]}, {ATTENTION_NAMES[model[2]]} attention: {title}"
    mine = made.models.get(model)
    caption = "No run of ours; the authors’ numbers alone."
    if mine is not None:
        first = mine.iloc[0]
        kind = f" Trained on {tables.DATA[first['data']]}." if first["data"] != "same" else ""
        caption = f"{len(mine)} seeds, {first['n_test']:,} test texts, accuracy {mine['accuracy'].mean():.2f}.{kind}"
    drawn = f'<svg role="img" aria-label="{html.escape(what)}" viewBox="0 0 500 {low + 44}"><path class="g" d="{grid}"/>'
    return (f'<figure class="attn-fig {model[1]}" id="gallery-{"-".join(model)}-{experiment}">'
            f'<p class="attn-fig-title">{html.escape(what)}</p>{drawn}{parts}{names}</svg>'
            f"<figcaption>{caption}</figcaption></figure>")  # fmt: skip


def histograms(made: Gallery, model: tuple, measure: str, x, possible: tuple) -> tuple[str, int]:
    """A histogram for each predicted class, means below it; for JSD what they are held against. Returns the end too."""
    corpus, named = model[0], grids.groups(model[0])
    ends = [x(edge) for edge in edges(measure)]
    theirs = {(group, run): grids.bars(corpus, model[1:], group, measure, run) for group in named for run in RUNS}
    ours = {group: made.shares.get((*model, measure, group)) for group in named}
    found = [shares for shares in (*ours.values(), *theirs.values()) if shares is not None]
    top, parts, y = max((max(shares) for shares in found), default=1.0), [], 0
    rule = max((nice for nice in (0.05, 0.1, 0.2, 0.5) if nice <= top), default=top)
    for group, word in named.items():
        y, tall = y + 78, 64 / top
        parts += [text(LEFT - 10, y - 20, word, "e"), f'<path class="b" d="M{LEFT} {y}H{RIGHT}"/>']
        if found:
            high = round(y - rule * tall)
            parts += [f'<path class="g" d="M{LEFT} {high}H{RIGHT}"/>', text(RIGHT + 4, high + 4, f"{rule:.0%}", "q")]
        if ours[group] is not None:
            parts.append(f'<path class="h" d="{steps(ours[group], ends, y, tall)}"/>')
        for run, style in RUNS.items():
            if theirs[group, run] is not None:
                parts.append(f'<path class="{style}" d="{steps(theirs[group, run], ends, y, tall)}"/>')
        parts.append(point(made.mean(model, measure, group=group), x, y + 11, possible))
        parts += [mark(grids.authors_mean(corpus, model[1:], group, measure, run), run, x, y + 26) for run in RUNS]
        y += 36
    for kind, word in BEYOND.items() if measure == "jsd_search" else ():
        row = made.mean(model, kind)
        if row is not None:
            y += 20
            parts += [text(LEFT - 10, y + 5, word, "e q"), f'<g class="y">{point(row, x, y, possible)}</g>']
    return "".join(parts), y + 12


def medians(made: Gallery, model: tuple, measure: str, x, possible: tuple) -> tuple[str, int]:
    """Medians in the bins of the largest weight, a block for each predicted class. Returns the end too."""
    parts, y = [], 0
    for group, word in grids.groups(model[0]).items():
        y += 22
        parts.append(text(LEFT - 10, y, word, "e"))
        for bin in ATTENTION_BINS:
            y += 30
            count = made.mean(model, measure, "n", group, bin)
            parts += [text(LEFT - 10, y + 5, bin[1:-1].replace(",", "–"), "e q"), f'<path class="g" d="M{LEFT} {y}H{RIGHT}"/>',
                      "" if count is None else text(RIGHT + 4, y + 5, f"{count.mean:,.0f}", "q")]  # fmt: skip
            parts += [mark(grids.authors_median(model[0], model[1:], group, measure, bin, run), run, x, y - 7)
                      for run in RUNS]  # fmt: skip
            parts.append(point(made.mean(model, measure, "median", group, bin), x, y + 6, possible))
        y += 8
    return "".join(parts), y + 12


# ---- what the page shows ---------------------------------------------------------------------------------------------


def picker(made: Gallery) -> HTML:
    """All pictures in folds, one a data set; the script moves the one that is picked above them."""
    folds = []
    for corpus in made.corpora:
        drawn = "\n".join(picture(made, (corpus, *model), name) for model in grids.MODELS for name in EXPERIMENTS)
        folds.append(f'<details name="gallery"><summary>{SETS[corpus]}</summary>\n{drawn}\n</details>')
    names = {"Data": {name: SETS[name] for name in made.corpora}, "Encoder": {name: ENCODERS[name] for name in ENCODER},
             "Attention": {"tanh": "additive", "dot": "scaled dot"},
             "Experiment": {name: words for name, (_, words, _) in EXPERIMENTS.items()}}  # fmt: skip
    code = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    box = f'<div class="attn-gallery" data-names="{html.escape(json.dumps(names, ensure_ascii=False))}">'
    return HTML(f'{code}{box}{LEGEND}\n{"".join(folds)}</div>')


def table(made: Gallery) -> HTML:
    """Every mean: data set, encoder, attention, measure, class, ours, interval, seeds, the authors' runs, accuracy."""
    heads = ("data set", "encoder", "attention", "class", "measure", "here", "95 % interval", "seeds", "April", "final",
             "accuracy")  # fmt: skip
    lines = []
    for model in ((corpus, *model) for corpus in made.corpora for model in grids.MODELS):
        mine, named = made.models.get(model), grids.groups(model[0])
        accuracy = "" if mine is None else f"{mine['accuracy'].mean():.2f}"
        for group, (measure, statistic) in ((g, m) for g in dict.fromkeys((*named, "all")) for m in MEANS):
            row = made.mean(model, measure, statistic, group)
            authors = [grids.authors_mean(model[0], model[1:], group, measure, run) if statistic == "mean" else np.nan
                       for run in RUNS]  # fmt: skip
            if row is None and not np.isfinite(authors).any():
                continue
            span = "" if row is None or pd.isna(row.low) else f"{number(row.low, '.2f')} to {number(row.high, '.2f')}"
            ours = ("", "", "") if row is None else (number(row.mean, ".2f"), span, row.n_seeds)
            printed = ["" if np.isnan(value) else number(value, ".2f") for value in authors]
            lines.append((SETS[model[0]], ENCODERS[model[1]], ATTENTION_NAMES[model[2]], named.get(group, "all"),
                          MEANS[measure, statistic], *ours, *printed, accuracy))  # fmt: skip
    made.rows = lines
    return HTML(tables.table(heads, lines).replace("<table>", '<table class="attn-sort">', 1).replace("-0.", "−0."))


LEGEND = """<p class="attn-note">Filled, ●: ours, mean over seeds with 95 % interval (○: fewer than five seeds, which decide
nothing). Dotted, □: the authors’ April run; dashed, ◇: their final run.</p>"""
