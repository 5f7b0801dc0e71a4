"""Serrano & Smith's Table 1 and accuracies as far as can be rebuilt; theirs were not at hand, so ours stand alone."""

import numpy as np
import pandas as pd

from attn_book.derived import weakness
from attn_book.serrano.pages import by_model
from attn_book.words import ENCODER_NAMES, told
from attn_core import baselines
from attn_core.archive import Result
from attn_core.index import data_kind, side
from attn_core.measures import seed_interval

SPLITS = ("train", "dev", "test")

ODDITIES = {
    "one_sentence": "documents of one sentence",
    "max_length": "longest document, words", "longest_sentence": "longest sentence, words",
    "dropped_empty": "documents without words, left out",
    "dropped_length": "documents over the length limit, left out",
    "dropped_sentences": "sentences without words, left out", "absent_classes": "classes without documents",
}  # fmt: skip
"""What a set may hold that a model could stumble over: key of the statistics -> name."""


def records(found: list[Result]) -> dict[str, dict]:
    """One record of each data set, in the order of the runs: its statistics are those of all its runs."""
    first: dict[str, dict] = {}
    for (corpus, _), runs in by_model(found).items():
        first.setdefault(corpus, next(iter(runs.values())).record)
    return first


def own_data(found: list[Result]) -> str:
    """Which of the data sets are the paper's own, in words."""
    kinds = {corpus: data_kind(record) for corpus, record in records(found).items()}
    if own := [corpus for corpus, kind in kinds.items() if kind == "same"]:
        return f"The paper's own sets among them: {', '.join(own)}"
    return "None of the data is the paper's own" if kinds else "No run is stored"


def pooled(splits: dict, mean: str, spread: str) -> tuple[float, float]:
    """Mean and population standard deviation over all splits from those of each."""
    parts = [splits[name] for name in SPLITS if name in splits]
    if not all(mean in part and spread in part for part in parts):
        return np.nan, np.nan
    n = np.array([part["documents"] for part in parts], float)
    means, spreads = (np.array([part[key] for part in parts]) for key in (mean, spread))
    middle = (n * means).sum() / n.sum()
    return float(middle), float(np.sqrt((n * (spreads**2 + (means - middle) ** 2)).sum() / n.sum()))


def table_1(found: list[Result]) -> pd.DataFrame:
    """Our Table 1, one line a data set: documents of train and dev and of test, words and sentences a document (mean
    and population standard deviation over all splits), words in the vocabulary (four of them special), classes, and
    what the data are."""
    lines = []
    for corpus, record in records(found).items():
        statistics, cells = record["statistics"], {}
        for name, mean, spread in (
            ("words", "mean_length", "sd_length"),
            ("sentences", "mean_sentences", "sd_sentences"),
        ):
            middle, sd = pooled(statistics["splits"], mean, spread)
            cells[name] = f"{middle:.1f} ({sd:.1f})" if np.isfinite(middle) else "–"
        lines.append({
            "data set": corpus, "train + dev": record["n_train"] + record["n_dev"], "test": record["n_test"], **cells,
            "vocabulary": statistics["vocabulary"], "classes": len(statistics["classes"]), "data": data_kind(record),
        })  # fmt: skip
    return pd.DataFrame(
        lines, columns=["data set", "train + dev", "test", "words", "sentences", "vocabulary", "classes", "data"]
    )


def oddities(found: list[Result]) -> pd.DataFrame:
    """What was met, how often: a line a data set and kind of ODDITIES met anywhere, a column a split."""
    lines = []
    for corpus, record in records(found).items():
        splits = record["statistics"]["splits"]
        for key, name in ODDITIES.items():
            cells = {split: splits[split].get(key, 0) for split in SPLITS}
            cells = {
                split: ", ".join(map(str, value)) if isinstance(value, list) else value
                for split, value in cells.items()
            }
            if any(cells.values()):
                lines.append({"data set": corpus, "what": name,
                              **{split: f"{value:,}" if value and not isinstance(value, str) else str(value or "–")
                                 for split, value in cells.items()}})  # fmt: skip
    return pd.DataFrame(lines, columns=["data set", "what", *SPLITS])


def accuracies(found: list[Result]) -> pd.DataFrame:
    """Test accuracy of every model beside its yardsticks: corpus, encoder, mean, low, high (Student t over seeds),
    n_seeds, n_train, majority, regression (NaN where no baseline was measured), why ('' where the model enters
    claims)."""
    stored, lines = baselines.stored().set_index("corpus"), []
    for (corpus, encoder), runs in by_model(found).items():
        values = np.array([run.record["accuracy"] for run in runs.values()])
        low, high = seed_interval(values)
        bars = {
            name: float(stored.loc[corpus, name]) if corpus in stored.index else np.nan
            for name in ("majority", "regression")
        }
        record = next(iter(runs.values())).record
        lines.append({"corpus": corpus, "encoder": encoder, "mean": values.mean(), "low": low, "high": high,
                      "n_seeds": len(values), "n_train": record["n_train"], **bars,
                      "why": weakness(corpus, [run.record["accuracy"] for run in runs.values()])})  # fmt: skip
    return pd.DataFrame(
        lines,
        columns=["corpus", "encoder", "mean", "low", "high", "n_seeds", "n_train", "majority", "regression", "why"],
    )


def trainings(found: list[Result]) -> pd.DataFrame:
    """How long each model was trained, one line a model, means over seeds: data set, model, training documents, epochs
    until the kept checkpoint, epochs made, of at most, documents read by then, rate halved (times, by then), the share
    of seeds whose kept epoch is the last that the schedule allows, and why it enters no claim ('' where it does)."""
    names = ("training documents", "kept epoch", "epochs", "of at most", "documents read", "rate halved", "at the last")
    lines = []
    for (corpus, encoder), runs in by_model(found).items():
        each = []
        for run in runs.values():
            history, n_train = run.record["history"], run.record["n_train"]
            kept = int(np.argmax([epoch["dev_accuracy"] for epoch in history]))  # the first of equals is kept
            halved = np.log2(history[0]["learning_rate"] / history[kept]["learning_rate"])
            most = run.record["run"]["epochs"]
            each.append((n_train, kept + 1, len(history), most, (kept + 1) * n_train, halved, kept + 1 == most))
        means = dict(zip(names, np.mean(each, axis=0), strict=True))
        why = weakness(corpus, [run.record["accuracy"] for run in runs.values()])
        lines.append({"data set": corpus, "model": ENCODER_NAMES[encoder], **means, "enters no claim": why})
    return pd.DataFrame(lines, columns=["data set", "model", *names, "enters no claim"])


def rate_told(row, regression: float) -> str:
    """What a higher learning rate does to a model's accuracy, in words; row: of `jain.variants.paired`.

    The rate raises accuracy where the interval of the differences per seed lies above 0, and enough where the mean then
    comes within `baselines.BELOW` of the regression.
    """
    values = f"{row.standard:.3f} and {row.variant:.3f}, difference {told(row.difference, row.low, row.high, '+.3f')}"
    seeds = f"{row.n_seeds} seed{'s' * (row.n_seeds != 1)}"
    if side(row, 0, fewest=0) != "above":
        verdict = "a gain is not shown" if np.isfinite(row.low) else "too few seeds"
    elif row.variant >= regression - baselines.BELOW:
        verdict = "the rate is enough to bring the mean within the rule"
    else:
        verdict = "the rate raises it, not enough"
    return f"{row.corpus} {ENCODER_NAMES[row.encoder]} {values}, {seeds} (regression {regression:.3f}): {verdict}"


def accuracy_table(rows: pd.DataFrame):
    """`accuracies` to show, a line a data set, a column a model; models that enter no claim: grey, with an asterisk."""
    lines, grey = {}, set()
    for row in rows.itertuples():
        line = lines.setdefault(
            row.corpus,
            {
                "data set": row.corpus,
                "trained on": f"{row.n_train:,}",
                "majority": row.majority,
                "regression": row.regression,
            },
        )
        name = ENCODER_NAMES[row.encoder]
        line[name] = (
            told(row.mean, row.low, row.high, ".3f", (0, 1)).replace(" (no interval)", "")
            + f", {row.n_seeds} s."
            + " *" * bool(row.why)
        )
        if row.why:
            grey.add((row.corpus, name))
    first = ["data set", "trained on", "majority", "regression"]
    table = pd.DataFrame(list(lines.values()), columns=None if lines else first)
    for name in ("majority", "regression"):
        table[name] = [f"{value:.3f}" if np.isfinite(value) else "–" for value in table[name]]
    table = table.fillna("–")

    def tint(column: pd.Series) -> list[str]:
        return ["color: #767676" if (corpus, column.name) in grey else "" for corpus in table["data set"]]

    return table.style.apply(tint, axis=0).hide(axis="index")
