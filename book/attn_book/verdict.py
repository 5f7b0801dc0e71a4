"""The claims of the three papers and what decides them; how well tests tell attention of known quality from bad."""

from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import yaml
from IPython.display import HTML

from attn_book import derived, figures, page
from attn_book.corrected import holm
from attn_book.derived import measured
from attn_book.fasttext import in_pairs
from attn_book.scorecard import FEWEST, p_of, scorecard
from attn_book.words import SETS, number
from attn_core.experiments.distance import against
from attn_core.measures import LEVEL, crossed_interval
from attn_lab import Run, obtain, over_seeds
from attn_lab.more.known import GOOD, better
from attn_lab.runs import index, store
from attn_lab.runs.run import SEEDS

PAPERS = {
    "jain": "Jain & Wallace",
    "serrano": "Serrano & Smith",
    "wiegreffe": "Wiegreffe & Pinter",
    "ours": "This book",
}

_FILE = yaml.safe_load(store.read_data("reported/claims.yml"))
TESTS = _FILE["tests"]
CLAIMS = _FILE["claims"]

CORPORA = ("sst", "agnews", "20news", "imdb")
"""Data sets of two classes with deletions, of which five seeds keep the same documents."""

PLANTED = {
    "evidence": 1,
    "longest": 60,
    "n_dev": 100,
    "n_test": 200,
    "n_train": 600,
    "shortest": 30,
}
"""Options of the generated texts, data/sweeps/testing-the-tests.yml: one word decides, and each word is read alone."""


def planted(seed: int, encoder: str = "average", n_train: int = 600, **fields: Any) -> Run:
    """A run on texts in which one word decides, see `made`."""
    return made("planted", PLANTED | {"n_train": n_train}, seed, encoder, **fields)


def made(corpus: str, options: dict, seed: int, encoder: str = "average", **fields: Any) -> Run:
    """A run on texts whose deciding word is known; with a guide or a divergence its base is the run of `base(seed)`, by
    default the trained one."""
    if fields.keys() & {"guide", "divergence"}:
        fields["base"] = fields.get("base", partial(made, corpus, options))(seed)
    fields.setdefault("attention", "given" if "guide" in fields else "tanh")
    return Run(corpus, encoder, seed=seed, options=tuple(options.items()), **fields)


# ---- how well a test tells good attention from bad, data/measured ----------------------------------------------------


def areas() -> pd.DataFrame:
    """Areas under the curve of tests of texts, see benchmarks/bench_tests.py."""
    return measured("tests.csv")


def book_areas() -> pd.DataFrame:
    """Those that the book tells: of five seeds and FEWEST texts at least."""
    rows = areas()
    return rows[rows["documents"] >= FEWEST]


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


def survivors() -> set[tuple[str, str]]:
    """Tests and data sets where with every definition, alone and beside, the interval lies above one half."""
    least = book_areas().groupby(["measure", "corpus"])["low"].min()
    return set(least.index[least > 0.5])


def neighbours() -> pd.DataFrame:
    """What the verdict counts of texts, under the model's own weights, the same permuted, and each oracle attention.

    Columns corpus, test, kind (own, permuted, leverage, decision, deletion), value, low, high (over seeds and texts),
    documents, n_seeds. Of BiLSTMs; gradients, but for the own: of the models without context.
    """
    rows = []
    asked = [(test, kind) for test, columns in COUNTS.items() for kind in columns]
    for (test, kind), corpus in product(asked, CORPORA):
        encoder = "average" if test == "gradients" and kind != "own" else "lstm"
        layer = "against" if test == "stable" else "documents"
        tables = tables_of(corpus, encoder, layer)
        if (test, kind) == ("stable", "own"):
            tables = derived.seed_tables(corpus)  # of all nine seeds
        values = np.array([COUNTS[test][kind](table) for table in tables])
        if len(values):
            n_seeds, documents = values.shape
            low, high = crossed_interval(values)
            rows.append((corpus, test, kind, values.mean(), low, high, documents, n_seeds))
    names = [
        "corpus",
        "test",
        "kind",
        "value",
        "low",
        "high",
        "documents",
        "n_seeds",
    ]
    return pd.DataFrame(rows, columns=names)


@cache
def tables_of(corpus: str, encoder: str, layer: str) -> list[pd.DataFrame]:
    """A table of the archive for each seed that has the controls, of the texts that all of them keep."""
    keys = index.runs(
        corpus=corpus,
        encoder=encoder,
        attention="tanh",
        source="archive",
    )["key"]
    read = [store.rows_of(store.archive_folder(), layer, key) for key in keys]
    tables = [table.set_index("doc_id") for table in read if table is not None and "permuted_jsd" in table]
    if not tables:
        return []
    shared = sorted(set.intersection(*(set(table.index) for table in tables)))
    return [table.loc[shared] for table in tables]


Count = Callable[[pd.DataFrame], np.ndarray]
"""A document table -> a number of each text."""


def below(name: str, line: float) -> Count:
    return lambda table: (table[name] < line).to_numpy(float)


def above(name: str, line: float) -> Count:
    return lambda table: (table[name] > line).to_numpy(float)


def column(name: str) -> Count:
    return lambda table: table[name].to_numpy(float)


def of_kinds(own: Count, permuted: Count, oracle: Callable[[str], Count]) -> dict[str, Count]:
    """What is counted under each kind of weights."""
    counts = {
        "own": own,
        "permuted": permuted,
    }
    return counts | {kind: oracle(kind) for kind in GOOD}


COUNTS = {
    "permutation": of_kinds(
        below("median_change", 0.1),
        column("permuted_little"),
        lambda kind: below(f"{kind}_shuffle", 0.1),
    ),
    "adversaries": of_kinds(
        above("jsd_exact epsilon=0.05", 0.4),
        column("permuted_adversarial"),
        lambda kind: above(f"{kind}_jsd", 0.4),
    ),
    "names": of_kinds(
        column("top1_attention"),
        lambda table: 1 / table["n"].to_numpy(float),
        lambda kind: column(f"{kind}_top1"),
    ),
    "stable": of_kinds(
        column("jsd"),
        column("permuted_jsd"),
        lambda kind: column(f"{kind}_jsd"),
    ),
    "gradients": of_kinds(
        column("tau_attention_gradient"),
        column("permuted_tau"),
        lambda kind: column(f"{kind}_tau"),
    ),
    "single_state_agreement": {"own": column("single_state_agreement")},
}
"""Test -> kind of weights -> what is counted of a text (columns of attn_lab/runs/controls.py)."""


# ---- the claims ------------------------------------------------------------------------------------------------------

ASKED = {"1a": "outdone", "3a": "top item", "4b": "order"}
"""Serrano & Smith's statements, as the scorecard judges them."""
KINDS = {"own": "own", "permuted": "permuted"}
"""Kind of weights -> column of the verdict; all else is oracle attention."""


@cache
def cells() -> pd.DataFrame:
    """What the verdict counts, a row each: columns claim, kind (own, permuted, leverage, decision, deletion, planted),
    column (own, permuted, oracle), corpus, mean, low, high, n_seeds, documents, of (these in words)."""
    collected = pd.concat(
        [
            *of_own(),
            of_cost(),
            *of_serrano(),
            of_neighbours(),
            *of_planted(),
        ],
        ignore_index=True,
    )
    collected["column"] = collected["kind"].map(KINDS).fillna("oracle")
    return collected.sort_values(
        "corpus",
        kind="stable",
        key=lambda names: names.map(list(SETS).index),
    )


def of_claim(claim: str, rows: pd.DataFrame, kind: str = "own") -> pd.DataFrame:
    """Rows of `cells`: means over seeds by data set. rows: corpus, seed, value and, where these are not the whole test
    set, texts."""
    means = over_seeds(rows, "corpus")
    texts = rows.groupby("corpus")["texts"].min() if "texts" in rows else test_sizes()
    documents = means["corpus"].map(texts)
    of = documents.map("{:,} texts, over ".format) + means["n_seeds"].astype(str) + " seeds"
    return means.assign(claim=claim, kind=kind, documents=documents, of=of)


@cache
def test_sizes() -> pd.Series:
    """Texts of each test set, the least of several."""
    return index.runs(attention="tanh", source="archive").groupby("corpus")["n_test"].min()


def of_score(claim: str, difference: Callable[[str], pd.DataFrame], kind: str = "own") -> pd.DataFrame:
    """The same of a difference in F1, which never stands without that in AUC. difference: score -> rows."""
    rows = of_claim(claim, difference("f1"), kind).set_index("corpus")
    by_auc = over_seeds(difference("auc"), "corpus").set_index("corpus")
    for corpus, mean, low, high in by_auc[["mean", "low", "high"]].itertuples():
        rows.loc[corpus, "of"] += page.minus(f", AUC {mean:+.3f} ({low:+.3f} to {high:+.3f})")
    return rows.reset_index()


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


def valued(series: pd.Series) -> pd.DataFrame:
    return series.dropna().rename("value").reset_index()


def gaps(score: str) -> pd.DataFrame:
    """A score with attention minus that with uniform weights, trained so, of all seeds: corpus, seed, value."""
    runs = in_pairs(
        index.runs,
        **OWN
        | {
            "corpus": [*CORPORA, *TASKS],
            "attention": ["tanh", "uniform"],
            "seed": SEEDS,
        },
    )
    runs["f1"] = runs["f1_1"].where(~runs["corpus"].isin(TASKS), runs["accuracy"])
    wide = runs.pivot(index=["corpus", "seed"], columns="attention", values=score)
    return valued(wide["tanh"] - wide["uniform"])


def of_cost() -> pd.DataFrame:
    """Adversaries beside the baseline (lambda 0) of the same base: how many times its change of the output."""
    kind = OWN | {"attention": "any"}
    bases = index.runs(**OWN, rounding=1)["key"]
    moved = index.runs(divergence="any", **kind)
    moved = moved[moved["base"].isin(bases)]
    alone = moved[moved["divergence"] == 0].set_index("base")["tvd"]
    most = moved.groupby("corpus")["divergence"].transform("max")
    led = moved[moved["divergence"] == most]
    rows = of_claim(
        "hard to move",
        led.assign(value=np.log(led["tvd"] / led["base"].map(alone))),
    )
    ends = ["mean", "low", "high"]
    rows[ends] = np.exp(rows[ends])
    return rows


def of_serrano() -> list[pd.DataFrame]:
    card = scorecard(paper="serrano").query("encoder_ours == 'han_rnn' and verdict != 'unjudged'")
    judged = card.assign(claim=card["item"].str.split().str[1].map(ASKED)).dropna(subset="claim")
    judged = judged.rename(columns={"ours": "mean"}).assign(kind="own", documents=judged["corpus"].map(test_sizes()))
    judged["of"] = judged["documents"].map("{:,} texts, over ".format) + judged["n_seeds"].astype(str) + " seeds"
    controls = derived.of_permuted(list(ASKED)).rename(columns={"label": "corpus"})
    controls = controls.melt(["corpus", "number"], ["permuted", "leverage"], "kind", "mean")
    controls = controls.assign(
        claim=controls["number"].map(ASKED),
        low=controls["mean"],
        high=controls["mean"],
    )
    several = {
        name: (store.read_traces(store.archive_folder(), Run(name, "han_rnn").key).lengths > 1).sum()
        for name in controls["corpus"].unique()
    }
    of = controls["corpus"].map(several).map("{:,} stored texts of several sentences, seed 10".format)
    return [judged, controls.assign(n_seeds=1, of=of)]


def of_neighbours() -> pd.DataFrame:
    """What is counted of single texts: intervals over these and seeds."""
    rows = neighbours().rename(columns={"test": "claim", "value": "mean"})
    context = np.where((rows["claim"] == "gradients") & (rows["kind"] != "own"), ", no context", "")
    rows["of"] = (
        "over " + rows["documents"].map("{:,} texts and ".format) + rows["n_seeds"].astype(str) + " seeds" + context
    )
    rows.loc[rows["claim"] == "stable", "n_seeds"] += 1  # each seed beside the first
    return rows


def of_planted() -> list[pd.DataFrame]:
    """F1 on planted texts, minus that with uniform weights."""

    def gain(score: str, **fields) -> pd.DataFrame:
        values = scores_of(planted, score, **fields) - scores_of(planted, score, attention="uniform")
        texts = PLANTED["n_test"]
        return pd.DataFrame(
            {
                "corpus": "planted",
                "seed": SEEDS[:5],
                "value": values,
                "texts": texts,
            }
        )

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
    p = p_of(rows["mean"], rows["low"], rows["high"], rows["n_seeds"], line)
    if corrected:
        for _, kind in p[~too_few].groupby(rows["kind"]):
            p[kind.index] = holm(kind.to_numpy())
    side = np.where(rows["mean"] > line, "above", "below")
    words = pd.Series(np.where(side == claim["side"], "yes", "no"), rows.index)
    words = words.mask(~(p < LEVEL), "undecided").mask(too_few, "too few")
    return words.groupby(rows["corpus"], sort=False).agg(agreed)


def agreed(words: pd.Series) -> str:
    """One answer for several definitions of good."""
    if words.nunique() == 1:
        return str(words.iloc[0])
    return "depends" if {"yes", "no"} <= set(words) else "undecided"


def every_answer(rules: dict) -> pd.DataFrame:
    """Columns claim, column (own, permuted, oracle), corpus, word; of `cells`."""
    return _every_answer(**rules)


@cache
def _every_answer(**rules) -> pd.DataFrame:
    said = []
    for (name, kind), rows in cells().groupby(["claim", "column"], sort=False):
        words = answers(rows, CLAIMS[name], **rules)
        said += [(name, kind, corpus, word) for corpus, word in words.items()]
    return pd.DataFrame(said, columns=["claim", "column", "corpus", "word"])


def table(rules: dict) -> HTML:
    """Each claim with three answers, and its numbers folded."""
    said = every_answer(rules).set_index(["claim", "column"])
    lines = []
    for name, claim in CLAIMS.items():
        three: dict[str, dict] = {}
        for kind in ("own", "permuted", "oracle"):
            if kind in claim:  # said beforehand
                three[kind] = {claim[kind][0]: [claim[kind][1]]}
                continue
            words = said.loc[[(name, kind)]]
            three[kind] = {word: list(part["corpus"].map(SETS)) for word, part in words.groupby("word", sort=False)}
        lines.append(
            (
                claim,
                three,
                list(cells()[cells()["claim"] == name].itertuples()),
            )
        )
    return HTML(page.PARTS.claims(lines, PAPERS))


def changed(rules: dict) -> pd.DataFrame:
    """Which answers are others than under RULES: columns claim, column, corpus, before, after."""
    both = every_answer(RULES).assign(after=every_answer(rules)["word"]).rename(columns={"word": "before"})
    return both[both["before"] != both["after"]]


# ---- its figures -----------------------------------------------------------------------------------------------------

SHADES = {
    word: figures.COLOURS[name]
    for word, name in {
        "yes": "yes",
        "no": "no",
        "undecided": "part",
        "depends": "part",
    }.items()
}
SIGNS = {
    "yes": "yes",
    "no": "no",
    "undecided": "open",
    "depends": "varies",
    "too few": "few",
}
GROUPS = {
    "own": "own weights",
    "permuted": "permuted",
    "oracle": "oracle attention",
}

Cell = tuple[float, float, str, str, str, float]
"""Of a figure of cells: row, place, a number, a word below it, a colour ('': hatched) and how much of it."""


def grid(
    rows: list[tuple[str, str]],
    cells: list[Cell],
    heads: list[tuple[float, str, str]],
    height: float,
) -> Any:
    """A figure of cells below the lines that name them. rows: line and its colour; heads: place, text, text below."""
    sheet, axes = figures.sheet(height=height)
    for row, (line, colour) in enumerate(rows):
        axes.text(-0.45, row - 0.44, line, fontsize=9.2, color=colour).set_in_layout(False)
    for y, x, value, word, colour, much in cells:
        look = {"facecolor": colour, "alpha": much} if colour else {"facecolor": "none", "hatch": "////"}
        axes.add_patch(
            mpl.patches.Rectangle(
                (x - 0.47, y - 0.37),
                0.94,
                0.55,
                edgecolor=figures.RULE,
                lw=0,
                **look,
            )
        )
        axes.text(x, y - 0.16, value, ha="center", va="center", fontsize=9.2)
        axes.text(x, y + 0.07, word, ha="center", va="center", fontsize=8.2)
    for x, head, below in heads:
        axes.text(x, -1.15, head, weight="bold", fontsize=9.2).set_in_layout(False)
        axes.text(x, -0.85, below, fontsize=7.8, color=figures.QUIET).set_in_layout(False)
    right = max(x for _, x, *_ in cells) + 0.5
    axes.set(xlim=(-0.5, right), ylim=(len(rows) - 0.75, -1.5))
    axes.set_axis_off()
    return sheet


def matrix(rules: dict) -> tuple[Any, str]:
    """Claims by data sets and columns, a number in each cell, its colour the answer; and what it shows in words."""
    said = every_answer(rules)
    said = said.merge(cells().groupby(["claim", "column", "corpus"], as_index=False)["mean"].mean())
    said = said[~said["corpus"].isin([*TASKS, "planted"])]
    claims, columns = list(CLAIMS), list(GROUPS)
    drawn: list[Cell] = []
    told: list[str] = []
    for (name, column), part in said.groupby(["claim", "column"], sort=False):
        if column in CLAIMS[name]:  # said beforehand
            continue
        for i, row in enumerate(part.itertuples()):
            column_of = CORPORA.index(row.corpus) if row.corpus in CORPORA else i  # Serrano & Smith's sets
            value = number(row.mean, ".2f").replace("0.", ".")
            x = column_of + 4.3 * columns.index(column)
            drawn.append(
                (
                    claims.index(name),
                    x,
                    value,
                    SIGNS[row.word],
                    SHADES.get(row.word, ""),
                    0.25,
                )
            )
            told.append(f"{CLAIMS[name]['says']} {column}, {SETS[row.corpus]}: {row.word}")
    lines = [
        (
            f"{i} {claim['says'].rstrip('.')}",
            figures.COLOURS.get(claim["paper"], figures.INK),
        )
        for i, claim in enumerate(CLAIMS.values(), 1)
    ]
    heads = [(4.3 * i - 0.45, head, "SST, AG, 20N, IMDB") for i, head in enumerate(GROUPS.values())]
    return grid(lines, drawn, heads, 9.6), "; ".join(told)


KNOWN = {
    "leverage": ("leverage", "SST, AG, 20N"),
    "decision": ("decision", "SST, AG, 20N"),
    "deletion": ("deletion", "SST, AG, 20N"),
    1.0: ("label word", "SST, always"),
    0.8: ("label word", "SST, 80 %"),
    "made": ("made-up", "texts"),
}
"""What the good attention is of which a test is tried: three definitions, a word planted in SST, made-up texts."""


def told() -> pd.DataFrame:
    """How well each test tells good attention from the same weights permuted: columns measure, good (of KNOWN), value,
    least and most (over data sets, or the interval), documents."""
    rows = book_areas().query("statistic == 'beside'")
    collected = rows.groupby(["measure", "definition"], as_index=False).agg(
        value=("value", "mean"),
        least=("value", "min"),
        most=("value", "max"),
        documents=("documents", "min"),
    )
    words = measured("label_words.csv").query("weights == 'planted word' and statistic == 'beside'")
    words = words.query("encoder in ['lstm', 'average']").rename(
        columns={"strength": "good", "low": "least", "high": "most"}
    )
    made_up = pd.Series(pairs_won(), name="value").rename_axis("measure")
    made_up = made_up.reset_index().assign(good="made")
    collected = collected.rename(columns={"definition": "good"})
    return pd.concat(
        [
            collected,
            words,
            made_up,
        ],
        ignore_index=True,
    )


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


BAD = ("permuted", "untrained")
"""Guides whose weights are known to be bad."""


def won(pairs: dict[str, list]) -> dict[str, float]:
    """In how many pairs of trainings the good attention has the larger number, the least of several kinds of bad."""
    return {name: min(better(one[:, None], two).mean() for one, two in both) for name, both in pairs.items()}


def scores_of(run: Callable[..., Run], score: str = "f1", **fields: Any) -> np.ndarray:
    """F1 of class 1, or AUC, of five trainings of `run(seed, …)`."""
    name = {"f1": "f1_1"}.get(score, score)
    return np.array([obtain(run(seed, **fields), "auto", traces=False).record[name] for seed in SEEDS[:5]])


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


def tests() -> tuple[Any, str]:
    """Ten tests by what the good attention is, an AUC in each cell."""
    rows = told().set_index(["measure", "good"])
    order = rows["value"].groupby("measure").mean().sort_values(ascending=False).index
    drawn: list[Cell] = []
    for y, test in enumerate(order):
        for x, good in enumerate(KNOWN):
            row = rows.loc[(test, good)] if (test, good) in rows.index else None
            if row is None:
                drawn.append((y, x, "", "", "", 0))
                continue
            ends = "" if np.isnan(row["least"]) else f"{row['least']:.2f}–{row['most']:.2f}"
            much = 0.8 * max(0.0, 2 * row["value"] - 1)
            drawn.append((y, x, f"{row['value']:.2f}", ends, figures.QUIET, much))
    lines = [(f"Does attention {TESTS[test]}?", figures.INK) for test in order]
    heads = [(x - 0.47, *words) for x, words in enumerate(KNOWN.values())]
    said = [f"{TESTS[test]}, {' of '.join(KNOWN[good])}: {row['value']:.2f}" for (test, good), row in rows.iterrows()]
    return grid(lines, drawn, heads, 7.6), "; ".join(said)


STRATA = ("<.6", ".6–.75", ".75–.9", ".9–1", "all")
STRATUM_TESTS = {
    "shuffle": "Permuting changes p more",
    "uniform": "Uniform weights change p more",
    "erasure": "Erasing the top word changes p more",
    "adversary": "The optimal adversary is nearer",
}


def strata() -> tuple[Any, str]:
    """How often the model's own weights do more than the same permuted, by single-state agreement."""
    rows = measured("strata.csv").query("stratum != 'all' and encoder in ['lstm', 'average']")
    rows = rows.assign(x=rows["stratum"].astype(int))
    turned = rows["test"] == "adversary"
    rows.loc[turned, ["value", "low", "high"]] = 1 - rows.loc[turned, ["value", "high", "low"]].to_numpy()
    sheet, panels = figures.sheet(4, 8.6, ncols=2, sharex=True, sharey=True)
    for (test, encoder), axes in zip(product(STRATUM_TESTS, ("lstm", "average")), panels.flat, strict=True):
        axes.axhline(0.5, color=figures.INK, lw=1)
        for i, (corpus, mark) in enumerate(zip(CORPORA, "osD^", strict=True)):
            part = rows[(rows[["test", "encoder", "corpus"]] == [test, encoder, corpus]).all(axis=1)]
            error = part["value"] - part["low"], part["high"] - part["value"]
            axes.errorbar(
                part["x"] + 0.12 * (i - 1),
                part["value"],
                error,
                fmt=mark + "-",
                color=figures.COLOURS[encoder],
                ms=5,
                lw=1,
            )
    for axes, title in zip(panels[:, 0], STRATUM_TESTS.values(), strict=True):
        axes.set_title(title, loc="left")
    for mark, corpus in zip("osD^", CORPORA, strict=True):
        panels[0, 0].plot([], [], mark, color=figures.QUIET, label=SETS[corpus])
    sheet.legend(loc="outside upper center", ncols=4)
    for axes, encoder in zip(panels[-1], ("BiLSTM", "no context"), strict=True):
        axes.set(
            xticks=range(5),
            xticklabels=STRATA,
            ylim=(0, 1),
            xlabel=encoder,
        )
        axes.tick_params(axis="x", labelsize=8)
    said = [
        f"{row.test}, {row.encoder}, {SETS[row.corpus]}, {STRATA[row.x]}: {row.value:.2f}" for row in rows.itertuples()
    ]
    return sheet, "; ".join(said)
