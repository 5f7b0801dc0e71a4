"""The closing page's answers to the debate's open questions, computed from the stored runs."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attn_book.debate.matrix import data_marks
from attn_book.weak import accuracies, below_the_best
from attn_book.wiegreffe import leakage, tables
from attn_book.wiegreffe.runs import guided_scores, planned_pairs
from attn_book.words import ENCODER_NAMES, listed, told
from attn_core.archive import Result
from attn_core.experiments import guides
from attn_core.index import HEADLINE_SEEDS, difference
from attn_core.measures import seed_interval
from attn_core.runs import Run, from_dict
from attn_core.seeds import summary_of

QUESTIONS = {
    "tasks": "Which tasks need attention?",
    "encoders": "What do encoders do to attention?",
    "transfer": "Do weights that are handed to another model carry information on words?",
    "capacity": "Does capacity ease adversaries?",
}


def statistic_by_seed(
    results: Iterable[Result], corpus: str, encoder: str, statistic: str, measure: str, hidden: int | None = None
) -> pd.Series:
    """seed -> one number of the summaries, of a model with additive attention and standard settings but its width."""
    found = {}
    for result in results:
        run = from_dict(result.record["run"])
        other = {name for name, _ in difference(run)} - {"hidden"}
        if (
            result.summary is None
            or other
            or (run.corpus, run.encoder, run.attention, run.hidden)
            != (corpus, encoder, "tanh", hidden if hidden else Run(corpus, encoder).hidden)
        ):
            continue
        rows = summary_of(result)
        rows = rows[
            (rows["statistic"] == statistic)
            & (rows["measure"] == measure)
            & (rows["predicted"] == "all")
            & (rows["bin"] == "all")
        ]
        if len(rows):
            found[run.seed] = float(rows["value"].iloc[0])
    return pd.Series(found, dtype=float)


def side(values: pd.Series) -> str:
    """Where the differences' interval over seeds lies: 'above', 'below' or 'contains' zero, '' with fewer than five."""
    if len(values) < HEADLINE_SEEDS:
        return ""
    low, high = seed_interval(values.to_numpy(float))
    return "above" if low > 0 else "below" if high < 0 else "contains"


@dataclass(frozen=True)
class Answer:
    """What the runs say to an open question; state: DECIDED, UNDECIDED or WAITING.

    words: in a line. items: below it, one a data set; the first text of each, and those that stand below it.
    """

    state: str
    words: str
    items: tuple[tuple[str, ...], ...] = ()


DECIDED, UNDECIDED, WAITING = "decided", "undecided", "waiting"
"""Whether the runs decide a question: for some data set at least; not, though there are enough; there are too few."""

STATES = {
    DECIDED: "Decided on some data set at least.", UNDECIDED: "Not decided by the runs.", WAITING: "Waits for runs.",
}  # fmt: skip


def open_questions(results: list[Result], runs: pd.DataFrame, corpora: Iterable[str]) -> dict[str, Answer]:
    """Key of QUESTIONS -> the computed answer.

    results: stored summaries; runs: of `wiegreffe.runs.gather`; corpora: Wiegreffe & Pinter's that can be rerun.
    """
    corpora, marks = list(corpora), data_marks([*results, *runs["result"]])
    scores = guided_scores(runs, corpora)
    return {
        "tasks": tasks(tables.gaps(runs, corpora, planned_pairs()), marks),
        "encoders": encoders(results, marks),
        "transfer": transfer(guides.differences(scores), corpora, marks, guides.by_auc(scores)),
        "capacity": capacity(results),
    }


def shown(key: str, answer: Answer) -> str:
    """A question (key of QUESTIONS) in Markdown: a line with its answer, and a list below it."""
    lines = [f"**{QUESTIONS[key]}** {STATES[answer.state]} {answer.words}".strip(), ""]
    for text, *below in answer.items:
        lines += [f"- {text}", *(f"    - {line}" for line in below)]
    return "\n".join(lines).strip()


def marked(corpus: str, marks: dict[str, str]) -> str:
    """A data set's name, with what its data are where they are not the papers' own: 'agnews (subset)'."""
    return f"{corpus} ({marks[corpus]})" if marks.get(corpus, "same") != "same" else corpus


def own(corpora: Iterable[str], marks: dict[str, str]) -> list[str]:
    """The data sets on which a question can be decided: on the papers' own data."""
    return [corpus for corpus in corpora if marks.get(corpus, "same") == "same"]


def tasks(rows: pd.DataFrame, marks: dict[str, str]) -> Answer:
    """From rows of `wiegreffe.tables.gaps`: checkpoints chosen on development data, and as the authors choose them.

    The former decide; the latter are told beside them. marks: of `matrix.data_marks`, here as below.
    """
    judged = rows[rows["answer"].isin(tables.ANSWERS) & (rows["chosen"] == "dev")]
    if judged.empty:
        return Answer(WAITING, "No data set has five seeds of both models.")
    named = rows.assign(corpus=[marked(corpus, marks) for corpus in rows["corpus"]])
    told_of = {
        way: {row.corpus: tables.told_need(row) for row in part.itertuples()} for way, part in named.groupby("chosen")
    }
    items = []
    for corpus, text in told_of["dev"].items():
        beside = told_of.get("test", {}).get(corpus, "").removeprefix(f"{corpus}: ")
        items.append((text, f"*on the test set:* {beside}") if beside else (text,))
    words = "Checkpoints chosen on development data; below each, on the test set, as the authors chose them."
    decided = judged[judged["answer"] != "undecided"]["corpus"]
    return Answer(DECIDED if own(decided, marks) else UNDECIDED, words, tuple(items))


def encoders(results: list[Result], marks: dict[str, str]) -> Answer:
    """Agreement of attention with gradients, average minus BiLSTM, paired by seed, of data sets with five seeds."""
    places = {"above": "above zero", "below": "below zero", "contains": "around zero"}
    items, decided = [], []
    for corpus, models in accuracies(results).items():
        average, lstm = (
            statistic_by_seed(results, corpus, encoder, "tau_attention_gradient", "mean")
            for encoder in ("average", "lstm")
        )
        gap = (average - lstm).dropna()
        if not (lies := side(gap)):
            continue
        text = f"{places[lies]}, {told(gap.mean(), *seed_interval(gap.to_numpy()), '+.2f')}"
        if weak := [ENCODER_NAMES[name] for name in ("average", "lstm") if name in below_the_best(models)]:
            text = f"left out, a model does its task badly ({listed(weak)})"
        elif lies != "contains":
            decided.append(corpus)
        items.append((f"{marked(corpus, marks)}: {text}",))
    if not items:
        return Answer(WAITING, "No data set has five seeds of both encoders.")
    words = "τ between attention and gradients, encoder without context minus BiLSTM:"
    return Answer(DECIDED if own(decided, marks) else UNDECIDED, words, tuple(items))


def transfer(
    gaps: pd.DataFrame, corpora: list[str], marks: dict[str, str], areas: pd.DataFrame | None = None
) -> Answer:
    """From `guides.differences`, which decide; areas: of `guides.by_auc`, told beside them."""
    found, decided = [], []
    for corpus in (corpus for corpus in corpora if corpus in set(gaps["corpus"])):
        verdict, _, sentence = leakage.judged(gaps, corpus, numbers=False)
        if verdict == "open":
            continue
        rows = gaps[gaps["corpus"] == corpus].set_index("contrast")
        known = [name for name in leakage.NEEDED if name in rows.index and np.isfinite(rows.loc[name, "low"])]
        numbers = [f"{name} {leakage.told_gap(rows.loc[name])}" for name in known]
        if areas is not None:
            beside = areas[areas["corpus"] == corpus].set_index("contrast")
            asked = [f"{name} {leakage.told_gap(beside.loc[name])}" for name in leakage.ORDER if name in beside.index]
            numbers.append(f"*asked post hoc, in no verdict:* {'; '.join(asked) or 'no run'}")
        found.append((marked(corpus, marks) + sentence.removeprefix(corpus), *numbers))
        decided += [corpus] if verdict != "undecided" else []
    if not found:
        return Answer(WAITING, "No data set has five seeds of the guided networks and their controls.")
    words = "By F1, as the paper measures it, with Holm's correction over all contrasts of all data sets."
    if areas is not None:
        words += f" By AUC, asked after the results had been seen: {told_areas(areas, marks)}"
    return Answer(DECIDED if own(decided, marks) else UNDECIDED, words, tuple(found))


def told_areas(areas: pd.DataFrame, marks: dict[str, str]) -> str:
    """'the base's weights lie above uniform ones on imdb; not shown on sst, agnews (subset); below them on none.'"""
    mine = areas[areas["contrast"] == "own − uniform"]
    on = {
        side: listed(marked(corpus, marks) for corpus in mine.loc[mine["lies"] == side, "corpus"])
        for side in ("above", "contains", "below")
    }
    return (
        f"the base's weights lie above uniform ones on {on['above']}; not shown on {on['contains']}; "
        f"below them on {on['below']}."
    )


def capacity(results: list[Result], corpus: str = "sst") -> Answer:
    """The exact optimum's distance at ε = 0.01, widest minus narrowest BiLSTM of one data set, paired by seed."""
    widths = {}
    for result in results:
        run = from_dict(result.record["run"])
        if (run.corpus, run.encoder, run.attention) == (corpus, "lstm", "tanh") and {
            name for name, _ in difference(run)
        } <= {"hidden"}:
            widths[run.hidden or 128] = run.hidden
    if len(widths) < 2:
        make = "python -m attn_core sweep data/sweeps/capacity.yml --pack makes them"
        return Answer(WAITING, f"On {corpus} no run of another width is stored; {make}.")
    low, high = min(widths), max(widths)
    values = {
        width: statistic_by_seed(results, corpus, "lstm", "jsd_exact@0.01", "mean", widths[width])
        for width in (low, high)
    }
    gap = (values[high] - values[low]).dropna()
    if not (lies := side(gap)):
        return Answer(WAITING, f"On {corpus} {low} and {high} units have {len(gap)} shared seeds; five decide.")
    words = {
        "above": "a wider encoder eases adversaries",
        "below": "a wider encoder hampers adversaries",
        "contains": "no effect of width is shown",
    }[lies]
    words = (
        f"On {corpus} {words}: exact JSD at ε 0.01, {high} minus {low} units per direction, "
        f"{told(gap.mean(), *seed_interval(gap.to_numpy()), '+.3f')}, {len(gap)} seeds."
    )
    return Answer(UNDECIDED if lies == "contains" else DECIDED, words)
