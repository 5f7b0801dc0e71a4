"""Every reported number beside ours, judged by the rules of data/reported/tolerances.csv (committed before the runs)."""

import numpy as np
import pandas as pd

from attn_core import archive
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.errors import AttnError
from attn_core.reported import class_label, reported
from attn_core.runs import SEEDS, AbsentRun, Run, from_dict
from attn_core.seeds import HEADLINE_SEEDS, over_seeds, paired_difference, summaries

COLUMNS = (
    "paper", "item", "corpus", "group", "encoder", "attention", "measure", "statistic", "reported", "ours", "low", "high", "n_seeds",
    "data", "n_train", "tolerance", "verdict", "page",
)  # fmt: skip

STATISTIC = {
    "tau_gradient": "tau_attention_gradient",
    "tau_loo": "tau_attention_loo",
    "tau(gradient,LOO)-tau(attention,LOO)": "difference_loo",
    "tau(gradient,LOO)-tau(attention,gradient)": "difference_gradient",
    "tau(attention,LOO): average minus lstm": "tau_attention_loo",
    "tau(attention,gradient): average minus lstm": "tau_attention_gradient",
    "median_output_change": "median_change",
    "eps_max_jsd": "jsd_search@0.05",
    "test_performance": "macro_f1",
}
MEASURE = {"sig_frac": "share_significant", "mean_binned": "mean", "mean difference": "mean", "F1": "value", "accuracy": "value",
           "micro-F1": "value"}  # fmt: skip
CLAIM = {
    "claim: average above BiLSTM": ("mean", "above"),
    "claim: gradient and leave-one-out agree better": ("mean", "above"),
    "claim: permutation often changes little": ("share_below_0.1", "above"),
    "claim: adversaries are easy to find": ("share_above_0.4", "above"),
    "claim: attention correlates only weakly with gradient": ("mean", "below"),
    "claim: average above BiLSTM (leave-one-out)": ("mean", "above"),
    "claim: gradient and leave-one-out agree worse here": ("mean", "below"),
    "claim: permutation changes much here": ("share_below_0.1", "below"),
    "claim: permutation changes much here [0.50,0.75)": ("share_below_0.1", "below"),
    "claim: adversaries are weaker here": ("mean", "below"),
}


FEWEST_IN_BIN = 20
"""Documents of a bin of Figure 6 below which its median is not judged (the rule in tolerances.csv)."""

SUBSET_IF_BELOW = {"agnews": 50_000, "snli": 500_000, "babi_3": 8_000}
"""Training documents below which our copy of a data set is a subset of the paper's."""


def scorecard(results: list[archive.Result] | None = None) -> pd.DataFrame:
    """One row per scored number or claim; verdict 'reproduced', 'differs' or 'not rerun'.

    results: the runs to judge by; None takes the whole archive.
    """
    rules = reported("tolerances")
    if results is None:
        store = archive.archive_folder()
        results = [archive.read(store, key) for key in archive.keys(store)]
    results = [result for result in results if standard(result)]
    table = summaries(results) if results else None
    records = {result.record["run"]["corpus"]: result.record for result in results}
    rows = [judge(rule, table, records.get(rule.corpus)) for rule in rules.itertuples()]
    return pd.DataFrame(rows)[list(COLUMNS)]


def standard(result: archive.Result) -> bool:
    """Whether a run has the default pipeline and a seed of the book's list; variants are shown on pages, not scored."""
    run = from_dict(result.record["run"])
    return run.seed in SEEDS and run == Run(run.corpus, run.encoder, run.attention, run.seed)


def judge(rule, table: pd.DataFrame | None, record: dict | None) -> dict:
    """Our value for one rule of the tolerance table, and the verdict."""
    row = {name: getattr(rule, name) for name in NAMES}
    row |= {"reported": rule.reference, "tolerance": rule.tolerance, "page": page_of(rule.item)}
    row |= {"ours": np.nan, "low": np.nan, "high": np.nan, "n_seeds": 0, "n_train": None}
    row |= {"data": "absent", "verdict": "not rerun"}
    if record is None:
        return row
    ours = (
        counted(rule, record)
        if rule.measure in COUNTED
        else measured(rule, table)
    )
    if ours is None or not np.isfinite(ours["mean"]):
        return row
    row |= {"ours": ours["mean"], "low": ours["low"], "high": ours["high"], "n_seeds": ours["n_seeds"]}
    row |= {"data": data_of(rule.corpus, record["n_train"]), "n_train": record["n_train"]}
    if rule.item.startswith("claim"):
        if ours["n_seeds"] < HEADLINE_SEEDS:
            return row
        side = CLAIM[rule.item][1]
        holds = ours["low"] > rule.reference if side == "above" else ours["high"] < rule.reference
    else:
        holds = abs(ours["mean"] - rule.reference) <= rule.tolerance + 1e-9
    return row | {"verdict": "reproduced" if holds else "differs"}


def data_of(corpus: str, n_train: int) -> str:
    """'same', 'subset' or 'generated': only 'same' counts as replication."""
    if CATALOGUE[corpus].generated:
        return "generated"
    return "subset" if n_train < SUBSET_IF_BELOW.get(corpus, 0) else "same"


def measured(rule, table: pd.DataFrame) -> dict | None:
    """Mean over seeds with Student t interval of what the rule asks for; None where no run has it."""
    rows = table[(table.corpus == rule.corpus) & (table.attention == rule.attention)]
    statistic = "accuracy" if rule.statistic in ("accuracy", "micro-F1") else STATISTIC[rule.measure]
    rows = rows[rows.statistic == statistic]
    bin_name = rule.item.split(" ")[-1] if rule.item.endswith(")") and "[" in rule.item else "all"
    rows = rows[rows["bin"].str[:5] == bin_name[:5]]
    rows = rows[rows.predicted == ("all" if rule.group == "all" else str(class_label(rule.corpus, rule.group)))]
    measure = CLAIM[rule.item][0] if rule.item.startswith("claim") else MEASURE.get(rule.statistic, rule.statistic)
    in_bin, rows = rows[rows.measure == "n"], rows[rows.measure == measure]
    if rule.encoder == "average-lstm" or rule.item.startswith("claim: average above BiLSTM"):
        pair = [rows[rows.encoder == encoder] for encoder in ("average", "lstm")]
        return paired_difference(*pair) if all(len(part) for part in pair) else None
    rows = rows[rows.encoder == rule.encoder]
    if bin_name != "all" and in_bin[in_bin.encoder == rule.encoder]["value"].min() < FEWEST_IN_BIN:
        return None
    if rows.empty:
        return None
    return over_seeds(rows, "statistic").iloc[0].to_dict()


def counted(rule, record: dict) -> dict | None:
    """A count of Table 1 from the run's data statistics."""
    statistics = record["statistics"]
    label = None if rule.group == "all" else class_label(rule.corpus, rule.group)
    found = {
        "vocabulary_size": lambda: statistics["vocabulary_all_splits"],
        "average_length_tokens": lambda: statistics["splits"]["train"]["mean_length"],
        "train_size": lambda: (
            statistics["splits"]["train"]["per_class"][label] if label is not None else record["n_train"]
        ),
        "test_size": lambda: (
            statistics["splits"]["test"]["per_class"][label] if label is not None else record["n_test"]
        ),
    }[rule.measure]()
    return {"mean": float(found), "low": np.nan, "high": np.nan, "n_seeds": 1}


def page_of(item: str) -> str:
    """The page that shows an item of Jain & Wallace."""
    if item.startswith("Table 1"):
        return "jain/03-datasets"
    if item.startswith("Figure 6") or "permutation" in item:
        return "jain/04-2-1-permutation"
    if item.startswith(("Figure 7", "Figure 8")) or "adversaries" in item:
        return "jain/04-2-2-adversarial"
    return "jain/04-1-correlation"


# ---- for the scorecard page ------------------------------------------------------------------------------------------

COUNTED = ("vocabulary_size", "average_length_tokens", "train_size", "test_size")
"""Measures of Table 1 that describe the data and depend on no seed."""

RANGES = {
    "sig_frac": (0, 1), "share_above_0.4": (0, 1), "median": (0, 1), "F1": (0, 1), "mean": (-1, 1), "std": (0, 1),
    "mean_binned": (0, np.log(2)), "mean difference": (-2, 2),
}  # fmt: skip
"""Values that a statistic can take at all (those of the data have no intervals)."""

NAMES = ["paper", "item", "corpus", "group", "encoder", "attention", "measure", "statistic"]
"""The columns that name a row."""

CLAIM_RANGES = {"share_below_0.1": (0, 1), "share_above_0.4": (0, 1), "mean": (-2, 2)}


def paper_rows(paper: str, corpora: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of one paper: all of them, and those of `corpora` that were rerun, with the rule in words and clipped intervals.

    AbsentRun where none of them was rerun, for there is nothing to show then.
    """
    rows = scorecard().merge(rules_in_words(), on=NAMES, how="left", validate="one_to_one")
    if paper not in set(rows["paper"]):
        raise AttnError(f"no scored rows for paper '{paper}'; paper takes: {', '.join(rows['paper'].unique())}")
    rows = rows[rows["paper"] == paper].assign(part=rows["item"].map(part_of))
    rerun = rows[rows["corpus"].isin(corpora) & (rows["verdict"] != "not rerun")]
    if rerun.empty:
        raise AbsentRun(
            f"no archived run of {', '.join(corpora)}; `python -m attn_core archive list` shows what is stored"
        )
    return rows, clipped(rerun)


def rules_in_words() -> pd.DataFrame:
    """The decision rule of every scored row, and the reason of a later change, by the columns that name a row."""
    rules = reported("tolerances")
    rules["rule"] = rules["rule"].str.replace(r" \(specification[^)]*\)", "", regex=True)
    return rules[[*NAMES, "rule", "date", "reason"]]


def part_of(item: str) -> str:
    """Where in the paper an item stands, without bins and without the wording of claims: 'Figure 6', 'claims'."""
    return "claims" if item.startswith("claim") else item.split(" [")[0]


def source_of(item: str) -> str:
    """Where the reported value comes from; only the two tables are printed numbers."""
    if item.startswith("claim"):
        return "threshold of the rule"
    return "printed" if item.startswith("Table") else "read off the authors' figures or files"


def clipped(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with their intervals cut at the values that the statistic can take, and a column `cut` that says where.

    Student's t knows no bounds: the interval of a share near 1 may reach beyond 1.
    """
    measure = {item: name for item, (name, _) in CLAIM.items()}
    bounds = [
        CLAIM_RANGES[measure[row.item]] if row.item in measure else RANGES.get(row.statistic, (-np.inf, np.inf))
        for row in rows.itertuples()
    ]
    bottom, top = (np.array(ends, float) for ends in zip(*bounds, strict=True))
    cut = (rows["low"] < bottom) | (rows["high"] > top)
    return rows.assign(low=rows["low"].clip(bottom, top), high=rows["high"].clip(bottom, top), cut=cut)


def counts_by_verdict(rows: pd.DataFrame, corpora: list[str]) -> pd.DataFrame:
    """Rows of each part of the paper by verdict on `corpora`; only the paper's own data count as replication."""
    here, same = rows["corpus"].isin(corpora), rows["data"] == "same"
    column = np.select(
        [~here, rows["verdict"] == "not rerun", same], ["other data sets", "not judged", rows["verdict"]], "other data"
    )
    table = pd.crosstab(rows["part"], column).reindex(rows["part"].unique())
    wanted = ["reproduced", "differs", "not judged", "other data", "other data sets"]
    return table.reindex(columns=[name for name in wanted if name in table or name in wanted[:3]], fill_value=0)


def in_tolerances(rows: pd.DataFrame) -> pd.DataFrame:
    """Ours minus reported, and the interval, in units of the tolerance (|mean| <= 1: reproduced); numbered for drawing.

    Left out: claims (they have a threshold), counts and lengths of the data (they have no seeds). `part` splits Table 2 and
    Figure 7 by statistic; `y` counts lines from the top with a gap between parts.
    """
    rows = rows[(rows["tolerance"] > 0) & ~rows["measure"].isin(COUNTED)].reset_index(drop=True)
    kinds = {
        "mean": "means",
        "std": "std",
        "sig_frac": "shares p ≤ 0.05",
        "mean_binned": "means",
        "share_above_0.4": "shares > 0.4",
    }
    split = rows["part"].isin(["Table 2", "Figure 7"])
    part = rows["part"].where(~split, rows["part"] + ", " + rows["statistic"].map(kinds))
    values = {name: (rows[name] - rows["reported"]) / rows["tolerance"] for name in ("low", "high")}
    rows = rows.assign(mean=(rows["ours"] - rows["reported"]) / rows["tolerance"], part=part, **values)
    order = {name: i for column in ("part", "corpus") for i, name in enumerate(rows[column].unique())}
    rows = rows.sort_values(["part", "corpus"], key=lambda names: names.map(order), kind="stable")
    return rows.assign(y=np.arange(len(rows)) + 1.5 * rows["part"].map(order).to_numpy())


def threshold_side(row) -> str:
    """Where the interval of a claim lies: it 'clears' the threshold, 'contains' it, or lies 'opposite'."""
    if not (np.isfinite(row.low) and np.isfinite(row.high)):
        return "no interval"
    above, below = row.low > row.reported, row.high < row.reported
    if not above and not below:
        return "contains"
    return "clears" if above == (CLAIM[row.item][1] == "above") else "opposite"


def seeds_in_words(row) -> str:
    """Number of seeds of a row, marked where they are too few to decide; counts of documents need none."""
    if row.measure in COUNTED:
        return "–"
    return f"{row.n_seeds}" if row.n_seeds >= HEADLINE_SEEDS else f"{row.n_seeds} (few)"
