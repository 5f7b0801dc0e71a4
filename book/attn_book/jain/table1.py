"""Table 1 of Jain & Wallace beside ours: counts, test scores, and the slips that the authors' statistics files show."""

import numpy as np
import pandas as pd

from attn_book import across
from attn_book import words as wording
from attn_book.across import NOT_RERUN, ordered
from attn_book.data_counts import other_data
from attn_book.reported import reported
from attn_core.archive import Result
from attn_core.corpora import catalogue
from attn_core.index import data_kind, documents
from attn_core.measures import seed_interval

COUNTS = {
    "vocabulary_size": "words",
    "average_length_tokens": "mean length",
    "train_size": "train",
    "test_size": "test",
}
SIZES = ("train_size", "test_size")


def is_slip(measure: pd.Series, printed: pd.Series, files: pd.Series) -> np.ndarray:
    """Whether a printed count is a slip: a size off by one, a length off by a token or more (some are cut to whole
    tokens, others rounded)."""
    return ((printed - files).abs() >= np.where(measure.isin(SIZES), 0.5, 1)).to_numpy(bool)


def slips_of(counts: pd.DataFrame) -> pd.DataFrame:
    """Of scored counts, the corrections of slips: rows 'Table 1 (corrected)' that differ from the printed count."""
    keys = ["corpus", "group", "measure"]
    printed = counts[counts["item"] == "Table 1"].set_index(keys)["reported"]
    files = counts[counts["item"] == "Table 1 (corrected)"]
    beside = pd.Series([printed.get(place, np.nan) for place in files[keys].itertuples(index=False)], files.index)
    return files[is_slip(files["measure"], beside.astype(float), files["reported"].astype(float))]


def table_1(scored: pd.DataFrame) -> pd.DataFrame:
    """Counts of Table 1, 2 or 3 lines a data set: the paper's, its corrected slips, ours; slashes between classes."""
    rows = ordered(scored[scored["item"].isin(["Table 1", "Table 1 (corrected)"]) & scored["measure"].isin(COUNTS)])
    lines = []
    for corpus, part in rows.groupby("corpus", sort=False):
        printed, files = part[part["item"] == "Table 1"], slips_of(part)
        for whose, column, chosen in (
            ("paper", "reported", printed),
            ("corrected", "reported", files),
            ("ours", "ours", printed),
        ):
            if len(chosen) and chosen[column].notna().any():
                cells = {
                    name: cell(printed, chosen, measure, column)
                    for measure, name in COUNTS.items()
                    if measure in set(chosen["measure"])
                }
                lines.append({"data": corpus, "whose": whose, **cells})
        if part["ours"].isna().all():
            lines.append({"data": corpus, "whose": NOT_RERUN})
    return pd.DataFrame(lines, columns=["data", "whose", *COUNTS.values()])


def cell(printed: pd.DataFrame, chosen: pd.DataFrame, measure: str, column: str) -> str:
    """One count by class; where only some classes are corrected, the others keep the printed value."""
    values = printed[printed["measure"] == measure].set_index("group")["reported"].astype(float)
    values.update(chosen[chosen["measure"] == measure].set_index("group")[column])
    form = ",.1f" if measure == "average_length_tokens" else ",.0f"
    return " / ".join(f"{value:{form}}" for value in values)


def slips() -> pd.DataFrame:
    """Printed counts of Table 1 that differ from the authors' statistics files of November 2018, and their source.

    Columns corpus, class, count, printed, files, taken_from (the smallest or largest length of another row), and a
    note. Lengths are printed without decimals, so a difference below one is none. The attribute `compared` of the
    result counts all printed counts that the files have; `cut` names the sets whose length is cut, not rounded.
    """
    files = reported("jain_repo_datastats", snapshot="2018-11-18")
    files = files.assign(
        measure=files["measure"].replace({"vocab_size": "vocabulary_size", "mean_length": "average_length_tokens"})
    )
    keys = ["corpus", "class_name", "measure"]
    both = [
        rows.assign(class_name=rows["class_name"].fillna("all")) for rows in (reported("jain_table1_datasets"), files)
    ]
    rows = both[0].merge(both[1][[*keys, "value"]], on=keys, suffixes=("", "_files"))
    ends = files[files["measure"].isin(["min_length", "max_length"])]
    ends = {
        value: f"{measure.split('_')[0]}imum of {corpus}"
        for corpus, measure, value in zip(ends["corpus"], ends["measure"], ends["value"], strict=True)
    }
    found = rows[is_slip(rows["measure"], rows["value"], rows["value_files"])]
    lengths = found["measure"] == "average_length_tokens"
    found = found.assign(
        count=found["measure"].map(COUNTS), taken_from=found["value"].map(ends).where(lengths, "").fillna("")
    )
    found = ordered(
        found.rename(columns={"class_name": "class", "value": "printed", "value_files": "files"}).loc[
            :, lambda t: ~t.columns.duplicated(keep="last")
        ]
    )
    found = (
        found[["corpus", "class", "count", "printed", "files", "taken_from", "note"]]
        .fillna({"note": ""})
        .reset_index(drop=True)
    )
    lengths = rows[rows["measure"] == "average_length_tokens"]
    cut = (lengths["value"] == np.floor(lengths["value_files"])) & (lengths["value_files"] % 1 >= 0.5)
    found.attrs |= {"compared": len(rows), "cut": list(ordered(lengths[cut])["corpus"])}
    return found


def length_of_sample(corpus: str, documents: int) -> tuple[float, float]:
    """The authors' mean length of a training text and the standard error of that mean in so many random ones."""
    files = reported("jain_repo_datastats", snapshot="2018-11-18", corpus=corpus).set_index("measure")["value"]
    return float(files["mean_length"]), float(files["std_length"]) / documents**0.5


def told_lengths(results: list[Result]) -> list[str]:
    """Whether the training texts of each subset are as long as those of a random sample would be, an item each."""
    told = {}
    for result in results:
        record, corpus = result.record, result.record["run"]["corpus"]
        if corpus in told or data_kind(record) != "subset":
            continue
        (size, mean), (_, test) = documents(record, "train"), documents(record, "test")
        theirs, error = length_of_sample(corpus, size)
        away = abs(mean - theirs) / error
        told[corpus] = (
            f"{corpus}: {mean:.1f} tokens over {size:,} training documents, {theirs:.1f} in the authors' files. A "
            f"random sample of that size has a standard error of {error:.2f}, so ours lies {away:.0f} of these off"
            + (f" and is no random part of the file in this respect (our test set: {test:.1f})" if away > FAR else "")
        )
    return list(told.values())


def times_as_much(corpus: str, other: str) -> float:
    """How many times as many training tokens one data set has as another, by the authors' files."""
    files = reported("jain_repo_datastats", snapshot="2018-11-18")
    tokens = [
        files.loc[(files["corpus"] == name) & (files["measure"] == "train_size"), "value"].sum()
        * length_of_sample(name, 1)[0]
        for name in (corpus, other)
    ]
    return tokens[0] / tokens[1]


FAR = 3
"""Standard errors from which a mean length is no accident of sampling."""


def main_metric(corpus: str) -> tuple[str, str, str, str]:
    """Our score of a data set, its name, and class and statistic of the authors' files: F1 of class 1, or accuracy."""
    text = catalogue.corpus(corpus).task == "text"
    return ("f1_1", "F1 of class 1", "1", "f1") if text else ("accuracy", "accuracy", "all", "accuracy")


def authors_scores() -> dict[tuple, float]:
    """Test scores in the authors' files: (april or final, corpus, encoder, attention, class, statistic) -> value."""
    rows = reported("jain_repo_test_performance")
    rows = rows[rows["snapshot"].isin(across.RUNS_OF_THE_AUTHORS)]
    columns = (rows[name] for name in ("corpus", "encoder", "attention", "class", "statistic", "value"))
    runs = rows["snapshot"].map(across.RUNS_OF_THE_AUTHORS)
    return {(run, *place): value for run, *place, value in zip(runs, *columns, strict=True)}


def scores(
    every: pd.DataFrame, models: tuple[tuple[str, str], ...] = (("lstm", "tanh"),), macro: bool = True
) -> pd.DataFrame:
    """Test scores of some models: Table 1 (BiLSTM, additive), the authors' two runs, ours; a row a data set and metric.

    Texts: F1 of class 1 and, where `macro`, macro F1; questions and inference: accuracy (for one label a document also
    the micro F1). Columns corpus, encoder, attention, metric, printed, april, final, mean, low, high, n_seeds.
    """
    files, lines = authors_scores(), []
    printed = reported("jain_table1_datasets", measure="test_performance").set_index("corpus")["value"]
    ours = {
        metric: across.over_models(every, metric, "value").set_index(["corpus", "encoder", "attention"])
        for metric in ("f1_1", "macro_f1", "accuracy")
    }
    nothing = pd.Series({"mean": np.nan, "low": np.nan, "high": np.nan, "n_seeds": 0})
    for corpus in across.paper_sets():
        metrics = [main_metric(corpus)]
        if macro and metrics[0][0] == "f1_1":
            metrics.append(("macro_f1", "macro F1", "all", "macro_f1"))
        for model in models:
            for metric, name, group, statistic in metrics:
                found = ours[metric].loc[(corpus, *model)] if (corpus, *model) in ours[metric].index else nothing
                theirs = {run: files.get((run, corpus, *model, group, statistic), np.nan) for run in ("april", "final")}
                lines.append({
                    "corpus": corpus, "encoder": model[0], "attention": model[1], "metric": name,
                    "printed": printed[corpus], **theirs,
                    **{key: found[key] for key in ("mean", "low", "high")}, "n_seeds": int(found["n_seeds"]),
                })  # fmt: skip
    return pd.DataFrame(lines)


def shared_stories(results: list[Result]) -> str:
    """Accuracy of the kept epoch on bAbI's development and on its test questions, over the results' seeds, in words.

    The authors set 15 % of the training questions aside one by one, five being asked of a story, so development
    questions share their stories with training ones.
    """
    rows = []
    for result in results:
        run, history = result.record["run"], result.record.get("history", ())[1:]  # the first epoch is never kept
        if run["corpus"].startswith("babi") and history:
            kept = max(history, key=lambda row: row["dev_accuracy"])
            name = run["corpus"] + other_data(result.record)
            rows.append({"corpus": name, "dev": kept["dev_accuracy"], "test": kept["test_accuracy"]})
    if not rows:
        return "no run of bAbI"
    told = []
    for corpus, part in pd.DataFrame(rows).groupby("corpus"):
        gap = part["dev"] - part["test"]
        words = wording.told(gap.mean(), *seed_interval(gap), ".3f", (-1.0, 1.0))
        seeds = wording.seeds_in_words(len(part))
        told.append(f"{corpus} {part['dev'].mean():.3f} and {part['test'].mean():.3f}, apart by {words}, {seeds}")
    return "; ".join(told)


TELLING = 0.05
"""Distance of two F1s of one model from which they can tell which of them is printed; balanced sets cannot."""


def told_nearer(rows: pd.DataFrame) -> str:
    """Which F1 of the authors' own two later runs lies nearer to the printed score, over single texts, in words.

    rows: of `scores` with both F1s. The printed models are neither of these runs, so this is a hint at what is printed.
    """
    wide = rows[rows["metric"].isin(("F1 of class 1", "macro F1"))].set_index(["corpus", "metric"])
    cells = pd.concat([wide[run].unstack().assign(printed=wide["printed"].unstack().iloc[:, 0])
                       for run in ("april", "final")]).dropna()  # fmt: skip
    cells = cells[(cells["F1 of class 1"] - cells["macro F1"]).abs() > TELLING]
    if cells.empty:
        return f"nowhere do the two F1s of the authors' later runs lie more than {TELLING:g} apart, so they do not tell"
    one, macro = ((cells[name] - cells["printed"]).abs() for name in ("F1 of class 1", "macro F1"))
    where = wording.listed(dict.fromkeys(cells.index))
    told = (
        f"where the two F1s of the authors' later runs lie more than {TELLING:g} apart ({where}), the printed score is "
        f"nearer to F1 of class 1 in {(one < macro).sum()} of {len(cells)}"
    )
    return told + (
        ", so this page puts F1 of class 1 first" if (one < macro).mean() > 0.5 else ", which speaks for macro F1"
    )
