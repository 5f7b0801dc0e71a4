"""The closing page's answers: open questions, and Jain & Wallace's explanation of Diabetes on generated documents."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from attn_core import archive
from attn_core import wiegreffe_tables as tables
from attn_core.across import listed, seeds_in_words, told
from attn_core.archive import ENCODER_NAMES, Result
from attn_core.experiments import guides
from attn_core.matrix import accuracies, below_the_best
from attn_core.measures import seed_interval
from attn_core.reported import FINAL_RUN, reported
from attn_core.runs import Run, as_dict, from_dict
from attn_core.scorecard import difference
from attn_core.seeds import HEADLINE_SEEDS, summary_of
from attn_core.wiegreffe_runs import guided_scores, seed_tables, table

QUESTIONS = {
    "tasks": "Which tasks need attention?",
    "encoders": "What do encoders do to attention?",
    "transfer": "Do weights that are handed to another model carry information on words?",
    "capacity": "Does capacity ease adversaries?",
}

LONG = {"shortest": 1000, "silent": 1}
"""Knobs by which the runs of data/sweeps/planted-diabetes.yml are known."""


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
    """What the runs say to an open question, in words; state: DECIDED, UNDECIDED or WAITING."""

    state: str
    words: str


DECIDED, UNDECIDED, WAITING = "decided", "undecided", "waiting"
"""Whether the runs decide a question: for some data set at least; not, though there are enough; there are too few."""


def open_questions(results: list[Result], runs: pd.DataFrame, corpora: Iterable[str]) -> dict[str, Answer]:
    """Key of QUESTIONS -> the computed answer.

    results: stored summaries; runs: of `wiegreffe_runs.gather`; corpora: Wiegreffe & Pinter's that can be rerun.
    """
    corpora = list(corpora)
    return {
        "tasks": tasks(tables.gaps(runs, corpora)),
        "encoders": encoders(results),
        "transfer": transfer(guides.differences(guided_scores(runs, corpora)), corpora),
        "capacity": capacity(results),
    }


def tasks(rows: pd.DataFrame) -> Answer:
    """From rows of `wiegreffe_tables.gaps`: checkpoints chosen on development data, and as the authors choose them."""
    judged = rows[rows["answer"].isin(tables.ANSWERS)]
    if judged.empty:
        return Answer(WAITING, "No data set has five seeds of both models.")
    ways = {"dev": "Checkpoints chosen on development data.", "test": "On the test set, as the authors chose them."}
    words = " ".join(
        f"*{title}* {tables.told_needs(rows, way)}" for way, title in ways.items() if way in set(rows["chosen"])
    )
    return Answer(DECIDED if judged["answer"].ne("undecided").any() else UNDECIDED, words)


def encoders(results: list[Result]) -> Answer:
    """Agreement of attention with gradients, average minus BiLSTM, paired by seed, of data sets with five seeds."""
    where: dict[str, list[str]] = {"above": [], "below": [], "contains": [], "weak": []}
    for corpus, models in accuracies(results).items():
        average, lstm = (
            statistic_by_seed(results, corpus, encoder, "tau_attention_gradient", "mean")
            for encoder in ("average", "lstm")
        )
        gap = (average - lstm).dropna()
        if where_it_lies := side(gap):
            if weak := {"average", "lstm"} & set(below_the_best(models)):
                where["weak"] += [f"{corpus} {ENCODER_NAMES[encoder]}" for encoder in weak]
                continue
            where[where_it_lies].append(f"{corpus} {told(gap.mean(), *seed_interval(gap.to_numpy()), '+.2f')}")
    if not any(where.values()):
        return Answer(WAITING, "No data set has five seeds of both encoders.")
    words = (
        "τ between attention and gradients, encoder without context minus BiLSTM. "
        f"Above zero: {listed(where['above'])}. Below: {listed(where['below'])}. Around: {listed(where['contains'])}."
        + (f" Left out, for they do their task badly: {listed(where['weak'])}." if where["weak"] else "")
    )
    return Answer(DECIDED if where["above"] or where["below"] else UNDECIDED, words)


def transfer(gaps: pd.DataFrame, corpora: list[str]) -> Answer:
    """From `guides.differences`."""
    verdicts = [guides.leakage(gaps, corpus) for corpus in corpora if corpus in set(gaps["corpus"])]
    told_of = [sentence for verdict, sentence in verdicts if verdict != "open"]
    if not told_of:
        return Answer(WAITING, "No data set has five seeds of the guided networks and their controls.")
    undecided = {verdict for verdict, _ in verdicts} <= {"open", "undecided"}
    return Answer(UNDECIDED if undecided else DECIDED, " ".join(told_of))


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


# ---- Jain & Wallace's explanation of Diabetes ------------------------------------------------------------------------


def is_long(run: Run) -> bool:
    """Whether a run belongs to the long generated documents with few decisive words."""
    return run.corpus == "planted" and LONG.items() <= dict(run.options).items()


def is_long_result(result: Result) -> bool:
    """The same of a stored result."""
    return is_long(from_dict(result.record["run"]))


def plain(result: Result) -> Result:
    """The result as if its run had standard settings, so that tables take it; only for the long generated documents."""
    run = result.record["run"]
    own = as_dict(Run(run["corpus"], run["encoder"], run["attention"], run["seed"]))
    return replace(result, record={**result.record, "run": own if run["base"] is None and not run["guide"] else run})


def long_runs() -> pd.DataFrame:
    """The `wiegreffe_runs.table` of those archived runs, guided and adversarial ones too, under the name 'planted'."""
    store = archive.archive_folder()
    records = [archive.read_record(store, key) for key in archive.keys(store) if key.startswith("planted-")]
    chosen = [Result(record, None, None, None, "archive") for record in records if is_long(from_dict(record["run"]))]
    return table(chosen).assign(corpus="planted")


def explanation(results: list[Result], runs: pd.DataFrame) -> pd.DataFrame:
    """What should differ between the classes if few decisive words made Diabetes special: one row per statistic.

    Columns statistic; positive, negative (mean over seeds with interval, in words); lies ('above', 'below', 'contains',
    '': positive minus negative, paired by seed); expected (the side that the explanation expects); reported_positive,
    reported_negative: of Diabetes.
    """
    own = [
        r
        for r in results
        if is_long(from_dict(r.record["run"]))
        and r.summary is not None
        and (r.record["run"]["encoder"], r.record["run"]["attention"]) == ("lstm", "tanh")
    ]
    where = {
        "median change under permutation": ("median_change", "mean", "above"),
        "searched ε-max JSD (ε 0.05)": ("jsd_search@0.05", "mean", "below"),
        "largest weight": ("max_attention", "mean", "above"),
    }
    rows = []
    for name, (statistic, measure, expected) in where.items():
        values = {"0": {}, "1": {}}
        for result in own:
            part = result.summary
            part = part[
                (part["statistic"] == statistic) & (part["measure"] == measure) & (part["bin"] == "all")
            ].set_index("predicted")["value"]
            for group in values:
                if group in part.index:
                    values[group][result.record["run"]["seed"]] = float(part[group])
        rows.append((name, expected, pd.Series(values["1"], dtype=float), pd.Series(values["0"], dtype=float)))
    apart = {"0": {}, "1": {}}
    for seed, beside in seed_tables(runs, "planted").items():
        for group in apart:
            part = beside.loc[beside["predicted"] == int(group), "jsd"]
            if len(part):
                apart[group][seed] = float(part.median())
    rows.append(
        ("median JSD between seeds", "below", pd.Series(apart["1"], dtype=float), pd.Series(apart["0"], dtype=float))
    )
    theirs = diabetes()
    return pd.DataFrame([
        {"statistic": name, "positive": in_words(positive), "negative": in_words(negative),
         "n_seeds": len((positive - negative).dropna()), "lies": side((positive - negative).dropna()),
         "expected": expected, "reported_positive": theirs[name][0], "reported_negative": theirs[name][1]}
        for name, expected, positive, negative in rows
    ])  # fmt: skip


def in_words(values: pd.Series) -> str:
    """Mean over seeds with interval; '–' for none."""
    return told(values.mean(), *seed_interval(values.to_numpy(float)), ".3f", (0, 1)) if len(values) else "–"


def with_seeds(values: pd.Series) -> str:
    """The same with the number of seeds."""
    return f"{in_words(values)}, {seeds_in_words(len(values))}" if len(values) else "no run"


def diabetes() -> dict[str, tuple[float, float]]:
    """What was reported of Diabetes, (positive, negative).

    Means over the bins of Figures 6 and 7 of Jain & Wallace and of Figure 3 of Wiegreffe & Pinter.
    """
    found = {"largest weight": (np.nan, np.nan)}
    for name, measure in (
        ("median change under permutation", "median_output_change"),
        ("searched ε-max JSD (ε 0.05)", "eps_max_jsd"),
    ):
        rows = reported(
            "jain_repo_svg_summaries",
            corpus="diabetes",
            encoder="lstm",
            attention="tanh",
            measure=measure,
            snapshot=FINAL_RUN,
        )
        wanted = rows[rows["statistic"] == ("mean_binned" if measure == "eps_max_jsd" else "median")]
        by_class = wanted.groupby("class_name")["value"].mean()
        found[name] = float(by_class.get("diabetes", np.nan)), float(by_class.get("no diabetes", np.nan))
    seeds = reported("wiegreffe_figure3_digitised", corpus="diabetes", model="random_seeds", statistic="median")
    positive = seeds["measure"].str.endswith("pos")
    found["median JSD between seeds"] = float(seeds[positive]["value"].mean()), float(seeds[~positive]["value"].mean())
    return found


def explanation_sentence(rows: pd.DataFrame) -> str:
    """Whether the generated documents behave as the explanation expects, from rows of `explanation`."""
    met = rows[(rows["lies"] != "") & (rows["lies"] == rows["expected"])]["statistic"]
    missed = rows[(rows["lies"] != "") & (rows["lies"] != rows["expected"])]["statistic"]
    waiting = rows[rows["lies"] == ""]["statistic"]
    if not len(met) and not len(missed):
        return "The generated documents do not decide it: fewer than five seeds are stored."
    words = (
        f"On generated documents the classes differ as the explanation expects in: {listed(met)}. "
        f"They do not in: {listed(missed)}."
    )
    return words + (f" Too few seeds: {listed(waiting)}." if len(waiting) else "")
