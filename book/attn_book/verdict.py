"""The claims of the three papers and what decides them; how well tests tell attention of known quality from bad."""

from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import yaml
from IPython.display import HTML
from matplotlib.figure import Figure

from attn_book import adversaries, derived, figures, page
from attn_book.corrected import holm, p_of
from attn_book.derived import measured
from attn_book.fasttext import in_pairs
from attn_book.scorecard import FEWEST, scorecard
from attn_book.words import ENCODERS, NAMES, SETS, number
from attn_core.experiments.distance import against
from attn_core.measures import LEVEL, crossed_interval
from attn_lab import Run, obtain, over_seeds
from attn_lab.more.known import GOOD, better
from attn_lab.runs import index, store
from attn_lab.runs.run import SEEDS

PAPERS = NAMES["papers"]

_FILE = yaml.safe_load(store.read_data("reported/claims.yml"))
TESTS = _FILE["tests"]
CLAIMS = _FILE["claims"]

CORPORA = ("sst", "agnews", "20news", "imdb")
"""Data sets of two classes with deletions, of which five seeds keep the same documents."""

OWN = {
    "corpus": list(CORPORA),
    "encoder": "lstm",
    "attention": "tanh",
    "seed": SEEDS[:5],
    "source": "archive",
}
"""The models of the verdict."""

TASKS = ("babi_1", "babi_2")
"""Questions about a story: judged by accuracy where the controls are by F1."""

PLANTED = {
    "evidence": 1,
    "longest": 60,
    "n_dev": 100,
    "n_test": 200,
    "n_train": 600,
    "shortest": 30,
}
"""Options of the generated texts, data/sweeps/testing-the-tests.yml: one word decides, and each word is read alone."""

ASKED = {"1a": "outdone", "3a": "top item", "4b": "order"}
"""Serrano & Smith's statements, as the scorecard judges them."""


def planted(
    seed: int,
    encoder: str = "average",
    n_train: int = 600,
    **fields: Any,
) -> Run:
    """A run on texts in which one word decides, see `made`."""
    return made("planted", PLANTED | {"n_train": n_train}, seed, encoder, **fields)


def made(
    corpus: str,
    options: dict,
    seed: int,
    encoder: str = "average",
    **fields: Any,
) -> Run:
    """A run on texts whose deciding word is known; with a guide or a divergence its base is the run of `base(seed)`, by
    default the trained one."""
    if fields.keys() & {"guide", "divergence"}:
        fields["base"] = fields.get("base", partial(made, corpus, options))(seed)
    fields.setdefault("attention", "given" if "guide" in fields else "tanh")
    return Run(
        corpus,
        encoder,
        seed=seed,
        options=tuple(options.items()),
        **fields,
    )


# ---- what is counted of single texts ---------------------------------------------------------------------------------


def of_kinds(oracle: str = "", **kinds: str) -> dict[str, str]:
    """What is counted under each kind of weights; {} in that of oracle attention is its definition."""
    return kinds | {kind: oracle.format(kind) for kind in GOOD if oracle}


COUNTS = {test: of_kinds(**counted) for test, counted in _FILE["counted"].items()}
"""Test -> kind of weights -> what is counted of a text, in columns of attn_lab/runs/controls.py, as `DataFrame.eval`
reads it."""


@cache
def tables_of(corpus: str, encoder: str, layer: str) -> list[pd.DataFrame]:
    """A table of the archive for each seed that has the controls, of the texts that all of them keep."""
    keys = index.runs(corpus=corpus, encoder=encoder, attention="tanh", source="archive")["key"]
    read = [store.rows_of(store.archive_folder(), layer, key) for key in keys]
    tables = [table.set_index("doc_id") for table in read if table is not None and "permuted_jsd" in table]
    shared = set.intersection(*(set(table.index) for table in tables)) if tables else ()
    return [table.loc[sorted(shared)] for table in tables]


def of_texts() -> pd.DataFrame:
    """Rows of `cells`, counted of single texts: intervals over these and seeds. Of BiLSTMs; gradients, but for the own:
    of the models without context."""
    asked = [(claim, kind) for claim, kinds in COUNTS.items() for kind in kinds]
    rows = []
    for (claim, kind), corpus in product(asked, CORPORA):
        alone = claim == "gradients" and kind != "own"
        stable = claim == "stable"  # each seed beside the first
        tables = tables_of(corpus, "average" if alone else "lstm", "against" if stable else "documents")
        if stable and kind == "own":
            tables = derived.seed_tables(corpus)  # of all nine seeds
        if not tables:
            continue
        values = np.array([table.eval(COUNTS[claim][kind]) for table in tables], float)
        n_seeds, documents = values.shape
        of = f"over {documents:,} texts and {n_seeds} seeds" + ", no context" * alone
        rows.append((claim, kind, corpus, values.mean(), *crossed_interval(values), n_seeds + stable, documents, of))
    names = [
        "claim",
        "kind",
        "corpus",
        "mean",
        "low",
        "high",
        "n_seeds",
        "documents",
        "of",
    ]
    return pd.DataFrame(rows, columns=names)


# ---- the claims ------------------------------------------------------------------------------------------------------


@cache
def cells() -> pd.DataFrame:
    """What the verdict counts, a row each: columns claim, kind (own, permuted, leverage, decision, deletion, planted),
    column (own, permuted, oracle), corpus, mean, low, high, n_seeds, documents, of (these in words)."""
    counted = [
        *of_own(),
        of_cost(),
        *of_serrano(),
        of_texts(),
        *of_planted(),
    ]
    collected = pd.concat(counted, ignore_index=True)
    collected["column"] = collected["kind"].where(collected["kind"].isin(["own", "permuted"]), "oracle")
    return collected.sort_values("corpus", kind="stable", key=lambda names: names.map(list(SETS).index))


@cache
def test_sizes() -> pd.Series:
    """Texts of each test set, the least of several."""
    return index.runs(attention="tanh", source="archive").groupby("corpus")["n_test"].min()


def sized(rows: pd.DataFrame, texts: pd.Series) -> pd.DataFrame:
    """Rows with documents, and in words how many texts and seeds these are. texts: by data set."""
    documents = rows["corpus"].map(texts)
    of = documents.map("{:,} texts, over ".format) + rows["n_seeds"].astype(str) + " seeds"
    return rows.assign(documents=documents, of=of)


def of_claim(claim: str, rows: pd.DataFrame, kind: str = "own") -> pd.DataFrame:
    """Rows of `cells`: means over seeds by data set. rows: corpus, seed, value and, where these are not the whole test
    set, texts."""
    texts = rows.groupby("corpus")["texts"].min() if "texts" in rows else test_sizes()
    return sized(over_seeds(rows, "corpus").assign(claim=claim, kind=kind), texts)


def of_score(
    claim: str,
    difference: Callable[[str], pd.DataFrame],
    kind: str = "own",
) -> pd.DataFrame:
    """The same of a difference in F1, which never stands without that in AUC. difference: score -> rows."""
    rows = of_claim(claim, difference("f1"), kind).set_index("corpus")
    by_auc = over_seeds(difference("auc"), "corpus").set_index("corpus")
    for corpus, mean, low, high in by_auc[["mean", "low", "high"]].itertuples():
        rows.loc[corpus, "of"] += page.minus(f", AUC {mean:+.3f} ({low:+.3f} to {high:+.3f})")
    return rows.reset_index()


def valued(series: pd.Series) -> pd.DataFrame:
    return series.dropna().rename("value").reset_index()


def gaps(score: str) -> pd.DataFrame:
    """A score with attention minus that with uniform weights, trained so, of all seeds: corpus, seed, value."""
    sets = {"corpus": [*CORPORA, *TASKS], "attention": ["tanh", "uniform"], "seed": SEEDS}
    runs = in_pairs(index.runs, **OWN | sets)
    runs["f1"] = runs["f1_1"].where(~runs["corpus"].isin(TASKS), runs["accuracy"])
    wide = runs.pivot(index=["corpus", "seed"], columns="attention", values=score)
    return valued(wide["tanh"] - wide["uniform"])


def of_own() -> list[pd.DataFrame]:
    """What five trainings score on whole test sets."""
    scores = derived.guided_scores(list(CORPORA))
    led = scores.pivot(index=["corpus", "seed"], columns="source", values=["f1", "auc"])
    flat = derived.uniform_beside(scores[scores["source"] == "adversary"])
    away = of_score("adversary guides", lambda score: valued(led[score, "adversary"] - flat[score]))
    return [
        of_score("necessary", gaps),
        of_score("guide", lambda score: valued(led[score, "own"] - led[score, "uniform"])),
        of_score("guide", lambda score: valued(led[score, "permuted"] - led[score, "uniform"]), "permuted"),
        # What is drawn is the adversary.
        away.assign(of="five networks, one adversary" + away["of"].str.partition(" seeds")[2], n_seeds=1),
    ]


def of_cost() -> pd.DataFrame:
    """Adversaries beside the baseline (lambda 0) of the same base: how many times its change of the output."""
    moved = adversaries.controlled(derived.adversaries(list(CORPORA)))
    led = moved[moved["largest"] & moved["base_seed"].isin(OWN["seed"])]
    rows = of_claim("hard to move", led.assign(value=np.log(led["tvd"] / led["baseline"])))
    ends = ["mean", "low", "high"]
    return rows.assign(**np.exp(rows[ends]))


@cache
def of_han() -> pd.DataFrame:
    """The scorecard's rows of HANs with GRU that are judged."""
    return scorecard(paper="serrano").query("encoder_ours == 'han_rnn' and verdict != 'unjudged'")


def of_serrano() -> list[pd.DataFrame]:
    """These rows, and of one training its controls."""
    card = of_han()
    claim = card["item"].str.split().str[1].map(ASKED)
    card = card.assign(
        claim=claim,
        kind="own",
        mean=card["ours"],
    ).dropna(subset="claim")
    controls = derived.of_permuted(list(ASKED))
    controls = controls.melt(["corpus", "number"], ["permuted", "leverage"], "kind", "mean")
    several = {name: len(derived.of_several(Run(name, "han_rnn"))) for name in controls["corpus"].unique()}
    controls = controls.assign(
        claim=controls["number"].map(ASKED),
        low=controls["mean"],
        high=controls["mean"],
        n_seeds=1,
        of=controls["corpus"].map(several).map("{:,} stored texts of several sentences, seed 10".format),
    )
    return [sized(card, test_sizes()), controls]


def of_planted() -> list[pd.DataFrame]:
    """F1 on planted texts, minus that with uniform weights."""

    def gain(score: str, **fields) -> pd.DataFrame:
        values = scores_of(planted, score, **fields) - scores_of(planted, score, attention="uniform")
        return pd.DataFrame({"corpus": "planted", "seed": SEEDS[:5], "value": values, "texts": PLANTED["n_test"]})

    learned = of_score("necessary", gain, "planted")
    permuted = of_score("necessary", partial(gain, guide="permuted"), "permuted")
    return [learned, permuted, learned.assign(claim="guide")]


# ---- the rules -------------------------------------------------------------------------------------------------------

RULES = {"texts": FEWEST, "seeds": 5, "margin": 0.01, "corrected": True}
"""Of a claim: how many texts and trainings decide, by how much two scores may differ and count as the same, and
whether its data sets are corrected together by Holm's method."""


def answers(
    rows: pd.DataFrame,
    claim: dict,
    texts: int,
    seeds: int,
    margin: float,
    corrected: bool,
) -> pd.Series:
    """By data set: yes, no, undecided, 'too few', or 'depends' where definitions of oracle attention differ.

    rows: of `cells`, of one claim and one column; claim: of CLAIMS. Under RULES an answer is what the whole interval
    says, of several data sets after Holm's correction.
    """
    line = margin if claim.get("margin") else claim["line"]
    too_few = (rows["documents"] < texts) | (rows["n_seeds"] < seeds)
    p = p_of(rows, line)
    if corrected:
        p.update(p[~too_few].groupby(rows["kind"]).transform(holm))
    claimed = (rows["mean"] > line) == (claim["side"] == "above")
    words = claimed.map({True: "yes", False: "no"}).mask(p >= LEVEL, "undecided").mask(too_few, "too few")
    return words.groupby(rows["corpus"], sort=False).agg(agreed)


def agreed(words: pd.Series) -> str:
    """One answer for several definitions of good."""
    if words.nunique() == 1:
        return str(words.iloc[0])
    return "depends" if {"yes", "no"} <= set(words) else "undecided"


@cache
def every_answer(**rules) -> pd.DataFrame:
    """Columns claim, column (own, permuted, oracle), corpus, word; of `cells`, without what is said beforehand."""
    by_claim = cells().groupby(["claim", "column"], sort=False)
    said = {
        (name, column): answers(rows, CLAIMS[name], **rules)
        for (name, column), rows in by_claim
        if column not in CLAIMS[name]
    }
    return pd.concat(said, names=["claim", "column", "corpus"]).rename("word").reset_index()


def changed(rules: dict) -> pd.DataFrame:
    """Which answers are others than under RULES: columns claim, column, corpus, before, after."""
    both = every_answer(**RULES).assign(after=every_answer(**rules)["word"]).rename(columns={"word": "before"})
    return both[both["before"] != both["after"]]


def table(rules: dict) -> HTML:
    """Each claim with three answers, and its numbers folded."""
    said = every_answer(**rules).replace({"corpus": SETS})
    lines = []
    for name, claim in CLAIMS.items():
        three = {}
        for column in GROUPS:
            words = said[(said["claim"] == name) & (said["column"] == column)]
            three[column] = words.groupby("word", sort=False)["corpus"].agg(list).to_dict()
            if column in claim:  # said beforehand
                three[column] = {claim[column][0]: [claim[column][1]]}
        lines.append((claim, three, list(cells()[cells()["claim"] == name].itertuples())))
    return HTML(page.PARTS.claims(lines, PAPERS))


# ---- its figures -----------------------------------------------------------------------------------------------------

FAINT = {word: (figures.COLOURS[word], 0.25) for word in ("yes", "no", "part")}
LOOKS = {
    "yes": ("yes", FAINT["yes"]),
    "no": ("no", FAINT["no"]),
    "undecided": ("open", FAINT["part"]),
    "depends": ("varies", FAINT["part"]),
    "too few": ("few", "none"),
}
"""An answer -> how a figure says it, and the colour of its cell."""

GROUPS = {"own": "own weights", "permuted": "permuted", "oracle": "oracle attention"}


def grid(
    cells: list[tuple],
    lines: dict[str, str],
    heads: dict[float, str],
    height: float,
) -> Figure:
    """A figure of cells below the lines that name them. cells: row, place, text, colour ("none": hatched); lines: text
    -> its colour; heads: place -> text."""
    sheet, axes = figures.sheet(height=height)
    y, x, texts, colours = zip(*cells, strict=True)
    hatch = ["////" if colour == "none" else "" for colour in colours]
    bars = axes.barh(
        y, 0.94, 0.6, np.subtract(x, 0.47), color=colours, hatch=hatch, edgecolor=figures.RULE, linewidth=0
    )
    axes.bar_label(bars, texts, label_type="center", fontsize=8.6)
    for row, (line, colour) in enumerate(lines.items()):
        axes.text(
            -0.47,
            row - 0.4,
            line,
            fontsize=9.2,
            color=colour,
            in_layout=False,
        )
    for place, head in heads.items():
        axes.text(place, -0.8, head, fontsize=7.8, in_layout=False)
    axes.set(xlim=(-0.5, max(x) + 0.5), ylim=(len(lines) - 0.65, -1.3))
    axes.set_axis_off()
    return sheet


def matrix(rules: dict) -> tuple[Figure, str]:
    """Claims by data sets and columns, a number in each cell, its colour the answer; and what it shows in words."""
    means = cells().groupby(["claim", "column", "corpus"], as_index=False)["mean"].mean()
    said = every_answer(**rules).merge(means)
    said = said[~said["corpus"].isin([*TASKS, "planted"])]
    columns_of = said["corpus"].map({name: i for i, name in enumerate(CORPORA)})
    columns_of = columns_of.fillna(said.groupby(["claim", "column"]).cumcount())  # Serrano & Smith's sets
    drawn = []
    alt = []
    for row, x in zip(said.itertuples(), columns_of, strict=True):
        sign, colour = LOOKS[row.word]
        text = number(row.mean, ".2f").replace("0.", ".") + f"\n{sign}"
        drawn.append((list(CLAIMS).index(row.claim), x + 4.3 * list(GROUPS).index(row.column), text, colour))
        alt.append(f"{CLAIMS[row.claim]['says']} {row.column}, {SETS[row.corpus]}: {row.word}")
    lines = {
        f"{i} {claim['says'].rstrip('.')}": figures.COLOURS.get(claim["paper"], figures.INK)
        for i, claim in enumerate(CLAIMS.values(), 1)
    }
    heads = {4.3 * i - 0.45: f"{head}\nSST, AG, 20N, IMDB" for i, head in enumerate(GROUPS.values())}
    return grid(drawn, lines, heads, 9.6), "; ".join(alt)


# ---- how well a test tells good attention from bad, data/measured ----------------------------------------------------

KNOWN = NAMES["known"]
"""What the good attention is of which a test is tried: three definitions, a word planted in SST, made-up texts."""

BAD = ("permuted", "untrained")
"""Guides whose weights are known to be bad."""


def areas() -> pd.DataFrame:
    """Areas under the curve of tests of texts, see benchmarks/bench_tests.py, of FEWEST texts at least."""
    return measured("tests.csv").query(f"documents >= {FEWEST}")


def survivors(rows: pd.DataFrame) -> set[tuple[str, str]]:
    """Tests and data sets where with every definition, alone and beside, the interval lies above one half. rows: of
    `areas`."""
    least = rows.query(f"documents >= {FEWEST}").groupby(["measure", "corpus"])["low"].min()
    return set(least.index[least > 0.5])


def told() -> pd.DataFrame:
    """How well each test tells good attention from the same weights permuted: columns measure, good (of KNOWN), value,
    least and most (over data sets, or the interval)."""
    rows = areas().query("statistic == 'beside'").rename(columns={"definition": "good"})
    collected = rows.groupby(["measure", "good"], as_index=False).agg(
        value=("value", "mean"),
        least=("value", "min"),
        most=("value", "max"),
    )
    words = measured("label_words.csv").query("weights == 'planted word' and statistic == 'beside'")
    words = words.query("encoder in ['lstm', 'average']")
    words = words.rename(columns={"strength": "good", "low": "least", "high": "most"})
    made_up = pd.DataFrame(pairs_won().items(), columns=["measure", "value"]).assign(good="made")
    return pd.concat([collected, words, made_up], ignore_index=True)


@cache
def pairs_won() -> dict[str, float]:
    """Three tests of scores on made-up texts, see `won`; bad are weights permuted, frozen at random, and of a BiLSTM
    trained to hide the word that it reads."""
    more: dict[str, Any] = {"n_train": 3000}
    hides = more | {"encoder": "lstm", "hide": 1.0}
    f1 = partial(scores_of, planted)
    flat, flat_more = f1(attention="uniform"), f1(attention="uniform", **more)
    good = f1() - flat
    bad = [f1(guide=kind) - flat for kind in BAD]
    hidden = f1(**hides) - f1(**hides | {"hide": 0.0, "attention": "uniform"})
    by_hiding = f1(guide="own", base=partial(planted, **hides), **more) - flat_more
    pairs: dict[str, list] = {
        "necessary": [(good, other) for other in (*bad, hidden)],
        "guide": [(good, other) for other in (*bad, by_hiding)],
        "hard to move": [prices(planted)],
    }
    return won(pairs)


def won(pairs: dict[str, list]) -> dict[str, float]:
    """In how many pairs of trainings the good attention has the larger number, the least of several kinds of bad."""
    return {name: min(better(one[:, None], two).mean() for one, two in both) for name, both in pairs.items()}


def scores_of(
    run: Callable[..., Run],
    score: str = "f1",
    **fields: Any,
) -> np.ndarray:
    """F1 of class 1, or AUC, of five trainings of `run(seed, …)`."""
    name = {"f1": "f1_1"}.get(score, score)
    return np.array(
        [
            obtain(
                run(seed, **fields),
                "auto",
                traces=False,
            ).record[name]
            for seed in SEEDS[:5]
        ]
    )


def prices(run: Callable[..., Run]) -> list[np.ndarray]:
    """Change of the output for each nat that learned attention, and uniform, is led away, of five trainings."""
    return [np.array([price(run, seed, name) for seed in SEEDS[:5]]) for name in ("tanh", "uniform")]


def price(run: Callable[..., Run], seed: int, attention: str) -> float:
    kept = partial(run, attention=attention)
    first, second = (obtain(each, "auto").traces for each in (kept(seed), run(seed, divergence=0.002, base=kept)))
    if first is None or second is None:  # generated texts have theirs
        return np.nan
    far = against(first, second)
    return far["tvd"].mean() / far["jsd"].mean()


def tests() -> tuple[Figure, str]:
    """Ten tests by what the good attention is, an AUC in each cell."""
    rows = told()
    order = list(rows.groupby("measure")["value"].mean().sort_values(ascending=False).index)
    areas_of = rows.set_index(["measure", "good"])[["value", "least", "most"]]
    drawn = []
    for (y, test), (x, good) in product(enumerate(order), enumerate(KNOWN)):
        text: str = ""
        colour: Any = "none"
        if (test, good) in areas_of.index:
            value, least, most = areas_of.loc[test, good]
            text = f"{value:.2f}" + ("" if np.isnan(least) else f"\n{least:.2f}–{most:.2f}")
            colour = figures.QUIET, 0.8 * max(0.0, 2 * value - 1)
        drawn.append((y, x, text, colour))
    lines = {f"Does attention {TESTS[test]}?": figures.INK for test in order}
    heads = {x - 0.47: "\n".join(words) for x, words in enumerate(KNOWN.values())}
    said = [f"{TESTS[row.measure]}, {' of '.join(KNOWN[row.good])}: {row.value:.2f}" for row in rows.itertuples()]
    return grid(drawn, lines, heads, 7.6), "; ".join(said)


STRATA = NAMES["strata"]
STRATUM_TESTS = NAMES["stratum tests"]


def strata() -> tuple[Figure, str]:
    """How often the model's own weights do more than the same permuted, by single-state agreement."""
    import seaborn as sns

    rows = measured("strata.csv").query("stratum != 'all' and encoder in ['lstm', 'average']")
    turned = rows["test"] == "adversary"
    rows.loc[turned, ["value", "low", "high"]] = 1 - rows.loc[turned, ["value", "high", "low"]].to_numpy()
    rows = rows.assign(stratum=[STRATA[int(stratum)] for stratum in rows["stratum"]], corpus=rows["corpus"].map(SETS))
    sheet, panels = figures.sheet(
        4,
        8.6,
        ncols=2,
        sharex=True,
        sharey=True,
    )
    by_panel = rows.melt(["test", "encoder", "stratum", "corpus"], ["low", "value", "high"], value_name="share")
    by_panel = by_panel.groupby(["test", "encoder"])
    for axes, panel in zip(panels.flat, product(STRATUM_TESTS, ("lstm", "average")), strict=True):
        axes.axhline(0.5, color=figures.INK, lw=1)
        sns.pointplot(
            by_panel.get_group(panel),
            x="stratum",
            y="share",
            hue="corpus",
            order=STRATA,
            hue_order=map(SETS.get, CORPORA),
            estimator="median",  # of the three
            errorbar=("pi", 100),
            palette=4 * [figures.COLOURS[panel[1]]],
            markers=[*"osD^"],
            dodge=0.36,
            markersize=5,
            linewidth=1,
            ax=axes,
        )
        axes.legend_.remove()
        axes.set(xlabel=ENCODERS[panel[1]], ylabel="", ylim=(0, 1))
        axes.tick_params(axis="x", labelsize=8)
    for axes, title in zip(panels[:, 0], STRATUM_TESTS.values(), strict=True):
        axes.set_title(title, loc="left")
    sheet.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    said = [f"{row.test}, {row.encoder}, {row.corpus}, {row.stratum}: {row.value:.2f}" for row in rows.itertuples()]
    return sheet, "; ".join(said)
