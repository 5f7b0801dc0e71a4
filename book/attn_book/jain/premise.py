"""Does a model of two texts use the one that it attends over, the premise or the story? Two controls, not in the paper.

`swaps`: a trained model is given another document's premise. `control`: a model trained and tested on shuffled
premises, which can only use the hypothesis, beside the standard runs, seed by seed.
"""

import numpy as np
import pandas as pd

from attn_book.jain.variants import stored
from attn_book.reported import reported
from attn_book.words import ENCODER_NAMES, seeds_in_words
from attn_core import archive
from attn_core.corpora import catalogue
from attn_core.experiments.permutation import change, permutation
from attn_core.index import side
from attn_core.measures import bootstrap_interval, seed_interval
from attn_core.runs import SEEDS, Run
from attn_core.traces import Traces

DRAWS = 20
"""Donors drawn for each document."""

SMALL = 0.1
"""Change of the output that claim 6 calls small."""

HALF = 0.5
"""A premise is called hardly used where its replacement changes the output by less than SMALL in more than this share
of the documents: what claim 6 asks of permuted weights, asked of the whole text."""


def replaced(traces: Traces, draws: int = DRAWS, seed: int = 0) -> pd.DataFrame:
    """Every document with the attended context of another one's premise and its own query; one row per document.

    The donors of a draw are a random cycle through all documents, so nobody keeps its own context; another document may
    hold the same premise, though. The context is the donor's own, under the weights that its own query gives it.
    Columns: doc_id; correct (with the own premise); correct_replaced and unchanged: shares of draws with a right and
    with the same decision; median_change: median over draws of the TVD to the own output.
    """
    context, rows = traces.contexts_under(traces.attention), np.arange(len(traces))
    rng = np.random.default_rng(seed)
    moved, decided = np.empty((2, draws, len(rows)))
    for draw in range(draws):
        order = rng.permutation(len(rows))
        donor = np.empty_like(rows)
        donor[order] = np.roll(order, 1)
        logits = traces.decoded(context[donor], rows)
        moved[draw], decided[draw] = change(logits, traces.logits), logits.argmax(axis=1)
    return pd.DataFrame({
        "doc_id": traces.doc_id, "correct": traces.predicted == traces.label,
        "correct_replaced": (decided == traces.label).mean(axis=0),
        "unchanged": (decided == traces.predicted).mean(axis=0), "median_change": np.median(moved, axis=0),
    })  # fmt: skip


def swaps(
    corpora: list[str], encoders: tuple[str, ...] = ("lstm", "cnn", "average"), seed: int = SEEDS[0]
) -> pd.DataFrame:
    """`replaced` for the archived models of text pairs with traces, additive attention; one row per model.

    Columns corpus, encoder, seed, n (traced documents), own and swapped (accuracy), unchanged (share of decisions that
    stay), permuted (share of the same documents whose median change under permuted weights is below SMALL), small (the
    same under a replaced premise), low, high (95 % bootstrap interval of small over documents), hardly (small is above
    HALF).
    """
    store, rows = archive.archive_folder(required=False), []
    for corpus in (name for name in corpora if catalogue.corpus(name).task != "text"):
        for encoder in encoders:
            key = Run(corpus, encoder, seed=seed).key
            traces = archive.read(store, key).traces if store is not None and archive.has(store, key) else None
            if traces is None or len(traces) < 2:
                continue
            found = replaced(traces)
            small = (found["median_change"] < SMALL).to_numpy(float)
            means = (found[name].mean() for name in ("correct", "correct_replaced", "unchanged"))
            permuted = (permutation(traces)["median_change"] < SMALL).mean()
            ends = bootstrap_interval(small)
            rows.append([corpus, encoder, seed, len(found), *means, permuted, small.mean(), *ends, small.mean() > HALF])
    names = ("corpus encoder seed n own swapped unchanged permuted small low high hardly").split()
    return pd.DataFrame(rows, columns=names)


def hardly_used(table: pd.DataFrame, encoder: str = "lstm") -> list[str]:
    """Data sets whose model with this encoder hardly uses the text that it attends over; table: of `swaps`."""
    return [row.corpus for row in table.itertuples() if row.hardly and row.encoder == encoder]


def told_hardly(table: pd.DataFrame, encoder: str = "lstm") -> str:
    """What `swaps` says of those models, in words."""
    sentences = [
        f"{row.corpus} ({ENCODER_NAMES[encoder]}, one run, seed {row.seed}, {row.n} documents): with another "
        f"document's premise the output changes by less than {SMALL:g} in {row.small:.0%} of them ({row.low:.0%} to "
        f"{row.high:.0%}), {row.unchanged:.0%} of the decisions stay, and accuracy is {row.swapped:.2f} in place of "
        f"{row.own:.2f}"
        for row in table.itertuples()
        if row.hardly and row.encoder == encoder
    ]
    return "; ".join(sentences) or "none"


SHUFFLED = (("premise", "shuffled"),)


def control(corpus: str = "snli", encoders: tuple[str, ...] = ("lstm", "average"), seeds: int = 3) -> pd.DataFrame:
    """One row per encoder with stored pairs of runs: encoder, own and shuffled (mean accuracy over the shared seeds),
    difference, low, high (Student t on the pairs' differences), n_seeds, majority (share of the largest test class),
    n_train (training documents, the development part not counted), printed and printed_train (accuracy and training
    documents in Table 1; NaN where it has none of this encoder)."""
    table1 = reported("jain_table1_datasets", corpus=corpus)
    scores = table1[(table1["measure"] == "test_performance") & (table1["attention"] == "tanh")]
    printed = scores.set_index("encoder")["value"]
    printed_train = table1.loc[table1["measure"] == "train_size", "value"].sum()
    rows = []
    for encoder in encoders:
        found = {}
        for name, options in (("own", ()), ("shuffled", SHUFFLED)):
            results, _ = stored(Run(corpus, encoder, seed=seed, options=options) for seed in SEEDS[:seeds])
            found[name] = {result.record["run"]["seed"]: result.record for result in results}
        shared = sorted(found["own"].keys() & found["shuffled"].keys(), key=SEEDS.index)
        if not shared:
            continue
        own, other = (np.array([found[name][seed]["accuracy"] for seed in shared]) for name in ("own", "shuffled"))
        low, high = seed_interval(own - other)
        counts = found["own"][shared[0]]["statistics"]["splits"]["test"]["per_class"]
        rows.append(
            [encoder, own.mean(), other.mean(), (own - other).mean(), low, high, len(shared), max(counts) / sum(counts),
             found["own"][shared[0]]["n_train"], printed.get(encoder, np.nan), printed_train]
        )  # fmt: skip
    names = ("encoder own shuffled difference low high n_seeds majority n_train printed printed_train").split()
    return pd.DataFrame(rows, columns=names)


def told(table: pd.DataFrame) -> str:
    """What the control says, one sentence for each encoder."""
    if table.empty:
        return "No model trained on shuffled premises is stored."
    sentences = []
    for row in table.itertuples():
        known = np.isfinite(row.low)
        interval = f" ({row.low:.3f} to {row.high:.3f})" if known else ""
        verdict = "one seed decides nothing"
        if known:
            used = side(row, 0, fewest=0) == "above"
            verdict = "the premise is used" if used else "no use of the premise is shown"
        sentences.append(
            f"{ENCODER_NAMES[row.encoder]}: accuracy {row.own:.3f} with the own premise, {row.shuffled:.3f} with "
            f"another pair's (always the most frequent answer: {row.majority:.3f}), "
            f"difference {row.difference:+.3f}{interval} over {seeds_in_words(row.n_seeds)}: {verdict}."
        )
    return " ".join(sentences + [told_printed(row) for row in table.itertuples() if row.printed > row.shuffled][:1])


def told_printed(row) -> str:
    """The paper's own model beside the control, where it scores higher; row: of `control`."""
    return (
        f"The paper's {ENCODER_NAMES[row.encoder]}, trained on {row.printed_train:,.0f} documents where ours had "
        f"{row.n_train:,}, scores {row.printed:.2f}: it may use its premise more than ours does."
    )
