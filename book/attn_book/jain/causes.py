"""What was tried where a number differs: variants of the standard runs, the seeds themselves, the authors' other run.

Which variant speaks to which rows, and why, is declared in data/reported/causes.csv; what a variant shows is computed
from the archived runs, so no sentence here can outlive its numbers.
"""

from dataclasses import replace
from fnmatch import fnmatch
from functools import cache

import numpy as np
import pandas as pd

from attn_book.data_counts import COUNTED, printed_sizes
from attn_book.jain import table1
from attn_book.jain.causes_words import capital, named, runs, signed, words
from attn_book.page import minus
from attn_book.reported import APRIL_RUN, FINAL_RUN, reported
from attn_book.scorecard import (  # fmt: skip
    NAMES,
    Cells,
    bin_of,
    cells,
    difference,
    encoders_of,
    holds,
    over_seeds_of,
    scorecard,
    seed_values,
)
from attn_core.archive import Result
from attn_core.measures import INTERVAL_SEEDS
from attn_core.runs import SEEDS, from_dict
from attn_core.seeds import same_training, stored_summaries

Variant = tuple[tuple[str, object], ...]
"""The (field, value) pairs in which a run differs from the standard one; () is the standard run itself."""

CONTROLS = ("premise",)
"""Options that make a control of a data set, not a cause of anything; nor is `rounding` one."""

COLUMNS = (
    *NAMES, "cause", "in_words", "why", "key", "n_seeds", "value", "shift", "low", "high", "within",
    "already", "phrase", "sentence",
)  # fmt: skip


def causes(rows: pd.DataFrame | None = None, results: list[Result] | None = None) -> pd.DataFrame:
    """One row per differing number or claim and cause tried.

    rows: of `scorecard`, None takes those of `results`; rows of other verdicts are passed over. results: runs, standard
    ones and variants; None takes the whole archive. key: of the first run that tested the cause, '' where no run did.
    value, shift, low, high: what the variant gives, and by how much it moves the number: mean over the seeds that both
    have, 95 % Student t interval. within: whether the row would hold with the variant, and does not with the standard
    runs of those seeds. already: whether it holds with these, so that the variant explains nothing. why: the declared
    reason. cause: of a variant "field=value", in_words the same for readers. sentence: all of it in words; phrase: as
    little of it as a cell of a table needs.
    """
    results = stored_summaries() if results is None else results
    rows = scorecard(results, "jain") if rows is None else rows
    tables, keys = by_variant(results)
    told_of = []
    for row in rows[rows["verdict"] == "differs"].itertuples():
        place = {name: getattr(row, name) for name in NAMES}
        told_of += [place | found for found in tried(row, tables, keys) or [told("Nothing was tried yet.")]]
    return pd.DataFrame(told_of, columns=list(COLUMNS))


def by_variant(results: list[Result]) -> tuple[dict[Variant, Cells], dict[tuple, str]]:
    """Cells of the standard runs and of each variant in one field; also (variant, place, seed) -> key.

    Variants that are the standard run over again (the same checkpoint, so nothing was varied) have no key.
    """
    groups: dict[Variant, list[Result]] = {(): []}
    keys, standard = {}, {}
    for result in results:
        run = from_dict(result.record["run"])
        if run.seed in SEEDS and not difference(run):
            standard[run.corpus, run.encoder, run.attention, run.seed] = result
    for result in results:
        run = from_dict(result.record["run"])
        variant = difference(replace(run, seed=SEEDS[0]))
        place = (run.corpus, run.encoder, run.attention, run.seed)
        if run.selection != "dev" and place in standard and not same_training(result, standard[place]):
            continue  # the other checkpoint of another training: more than the choice differs
        control = run.rounding or any(name in CONTROLS for name, _ in run.options)
        if len(variant) <= 1 and run.seed in SEEDS and not control:
            groups.setdefault(variant, []).append(result)
            if not variant or not same_checkpoint(result, standard.get(place)):
                keys[variant, *place] = result.key
    return {variant: cells(group) for variant, group in groups.items()}, keys


def same_checkpoint(result: Result, other: Result | None) -> bool:
    """Whether two runs ended with one and the same network: equal accuracy and equal summaries, to the last digit.

    Summaries are compared in the numbers that both hold, since a variant may store fewer than a standard run.
    """
    if other is None or result.summary is None or other.summary is None:
        return False
    if result.record["accuracy"] != other.record["accuracy"]:
        return False
    names = ["statistic", "predicted", "bin", "measure"]
    both = result.summary.merge(other.summary, on=names, suffixes=("", "_other"))
    values = (both[name].to_numpy(float) for name in ("value", "value_other"))
    return len(both) > 0 and np.array_equal(*values, equal_nan=True)


def tried(row, tables: dict[Variant, Cells], keys: dict[tuple, str]) -> list[dict]:
    """What was tried for one differing row: declared causes, other variants, the authors' other run, the seeds."""
    declared = [cause for cause in declared_causes() if speaks_to(cause, row)]
    found = [told(f"{capital(cause.cause)}.") for cause in declared if not cause.field]
    differs = {"subset": "", "generated": "we train on questions of our own generator"}
    if row.data == "subset" and row.corpus in printed_sizes():
        differs["subset"] = f"we train on {row.n_train:,} documents; the paper counts {printed_train(row):,.0f}"
    if row.data in differs and row.measure not in ("test_size", "train_size") and not size_varied(row, tables):
        found.append(told(f"Suspected, not tested on this data set: {differs[row.data]}."))
    elif row.data in differs and row.measure != "test_size":
        found.append(told(f"{capital(differs[row.data])}."))  # what is counted, or tested below
        if row.measure == "average_length_tokens" and row.data == "subset" and not of_sample(row):
            found.append(told("Size does not explain it: a random sample of that size would lie nearer."))
    # the variants of one field are runs of Jain & Wallace's models; other papers' pages look further
    if row.paper != "jain":
        return [cause for cause in found if cause["sentence"] != "Suspected, not tested on this data set: ."]
    if row.measure in COUNTED:
        return found + corrected(row)
    varied = []
    for variant in sorted((v for v in tables if v), key=str):
        (field, value), *_ = variant
        reasons = [c for c in declared if c.field == field and fnmatch(named(value), c.value)]
        places = {} if field == "fraction" else {row.corpus: ""}  # less data explain only what had less to begin with
        places |= {c.tested_on or row.corpus: c.cause for c in reasons}
        for corpus, why in places.items():
            varied += moved(row, corpus, variant, why, tables, keys)
    if not varied:
        found.append(told("No run that varies one thing is stored."))
    return found + varied + other_run(row) + over_the_seeds(row, tables[()], keys)


def of_sample(row) -> bool:
    """Whether a subset's mean length is what a random sample of its size may have."""
    theirs, error = table1.length_of_sample(row.corpus, row.n_train)
    return abs(row.ours - theirs) <= table1.FAR * error


def size_varied(row, tables: dict[Variant, Cells]) -> bool:
    """Whether a subset's size was varied further on the row's own data set."""
    fractions = [table for variant, table in tables.items() if variant and variant[0][0] == "fraction"]
    return row.data == "subset" and any(place[0] == row.corpus for table in fractions for place in table)


@cache
def declared_causes() -> list:
    """The rows of causes.csv."""
    return list(reported("causes").fillna("").itertuples())


def told(sentence: str, **numbers) -> dict:
    """One cause: its sentence, and numbers where a run gave them."""
    numbers = dict.fromkeys(("value", "shift", "low", "high"), np.nan) | numbers
    texts = dict.fromkeys(("cause", "in_words", "why", "key"), "") | {"phrase": sentence}
    return texts | {"n_seeds": 0, "within": False, "already": False} | numbers | {"sentence": sentence}


def speaks_to(cause, row) -> bool:
    """Whether a declared cause is about a row: its corpus, item and measure are patterns with *."""
    return all(fnmatch(str(getattr(row, name)), getattr(cause, name)) for name in ("corpus", "item", "measure"))


def moved(
    row, corpus: str, variant: Variant, why: str, tables: dict[Variant, Cells], keys: dict[tuple, str]
) -> list[dict]:
    """By how much a variant moves a number, over the seeds that it shares with the standard runs.

    corpus: where it was run; on another data set than the row's the move alone is told, over all classes. The standard
    runs have more seeds, so the row is judged on the shared ones both with and without the variant. Nothing where no
    shared seed ended with another checkpoint.
    """
    elsewhere = corpus != row.corpus
    place = row._replace(corpus=corpus, group="all") if elsewhere else row
    there, plain = seed_values(place, tables[variant]), seed_values(place, tables[()])
    shared = sorted(there.keys() & plain.keys(), key=SEEDS.index)
    places = [(variant, corpus, encoder, row.attention, seed) for seed in shared for encoder in encoders_of(row)]
    varied = [keys[place] for place in places if place in keys]
    if not varied or (elsewhere and len(shared) < INTERVAL_SEEDS):
        return []
    shift = over_seeds_of({seed: there[seed] - plain[seed] for seed in shared})
    value = over_seeds_of({seed: there[seed] for seed in shared})
    before, key = over_seeds_of({seed: plain[seed] for seed in shared}), varied[0]
    (field, setting), *_ = variant
    start = f"{capital(words(field, setting))} ({runs(key, len(shared))}): {signed(shift)}"
    already = not elsewhere and holds(row, before)
    within = not elsewhere and not already and holds(row, value)
    if len(shared) < INTERVAL_SEEDS:
        chance = f"; {'one seed does' if len(shared) == 1 else 'two seeds do'} not tell the shift from chance"
    else:
        chance = "; the shift itself is within chance" if shift["low"] <= 0 <= shift["high"] else ""
    if elsewhere:
        sentence = (
            f"{start} on the same number of {corpus}; "
            f"ours is {row.ours - row.reported:+.2f} from the reported one{chance}."
        )
    else:
        verdict = "which holds" if within else "where it holds without the variant too" if already else "still differs"
        sentence = f"{start}, from {before['ours']:.2f} to {value['ours']:.2f} on the same seeds, {verdict}{chance}."
    numbers = {"value": value["ours"], "shift": shift["ours"], "low": shift["low"], "high": shift["high"]}
    mark = f"on {corpus}" if elsewhere else "✓" if within else "○" if already else "✗"
    variant_told = {"cause": f"{field}={named(setting)}", "in_words": words(field, setting), "why": why, "key": key}
    variant_told["phrase"] = minus(f"{signed(shift)} {mark}")
    return [told(minus(sentence), within=within, already=already, n_seeds=len(shared), **variant_told, **numbers)]


def over_the_seeds(row, table: Cells, keys: dict[tuple, str]) -> list[dict]:
    """Whether the accident of a training may be the cause: the single seeds beside the reported value."""
    values = seed_values(row, table)
    if len(values) < 2:
        return []
    claim = row.item.startswith("claim")
    alone = sum(holds(row, {"ours": v, "low": v, "high": v}) for v in values.values())
    nearest = min(values, key=lambda seed: abs(values[seed] - row.reported))
    key = keys[(), row.corpus, encoders_of(row)[0], row.attention, nearest]
    span = f"{min(values.values()):.2f} to {max(values.values()):.2f}"
    side = "on the side of the claim, nearest to the threshold" if claim else "within the tolerance, nearest"
    sentence = f"Seeds: {len(values)} runs give {span}, {alone} of them {side} `{key}`."
    phrase = minus(f"{span}; {alone} of {len(values)}")
    nearest_one = {"key": key, "n_seeds": len(values), "value": values[nearest], "within": alone > 0}
    return [told(minus(sentence), cause="seed", phrase=phrase, **nearest_one)]


def other_run(row) -> list[dict]:
    """The same number in the authors' other run: final beside Table 2, April beside Figures 6 to 8."""
    place = (row.corpus, row.group, row.encoder, row.attention, row.measure, row.statistic, bin_of(row))
    name, value = other_values().get((row.item.split(" [")[0], *place), ("", np.nan))
    if not np.isfinite(value):
        return []
    within = abs(row.ours - value) <= row.tolerance + 1e-9
    sentence = (
        f"The authors' {name} run has {value:.2f}; ours lies {'within' if within else 'outside'} the tolerance of that."
    )
    numbers = {"value": value, "shift": value - row.reported, "within": within}
    phrase = minus(f"{value:.2f} {'✓' if within else '✗'}")
    return [told(minus(sentence), cause=f"{name} run", phrase=phrase, **numbers)]


@cache
def other_values() -> dict[tuple, tuple[str, float]]:
    """(item without bin, corpus, group, encoder, attention, measure, statistic, bin) -> run and value."""
    final = reported("jain_repo_correlations", snapshot=FINAL_RUN)
    april = reported("jain_repo_svg_summaries", snapshot=APRIL_RUN)
    items = {
        "repo svg Permutation_MAvDY": "Figure 6",
        "repo svg eMaxJDS_Hist": "Figure 7",
        "repo svg eMaxJDS_Scatter": "Figure 8",
    }
    tables = (
        final.assign(item="Table 2", bin="all", run="final"),
        april.assign(item=april["table"].map(items), bin=april["max_attention_bin"].fillna("all"), run="April"),
    )
    found = {}
    for table in tables:
        group = table["class_name"].mask(table["class"] == "Overall", "all")
        places = (
            table[name] for name in ("corpus", "encoder", "attention", "measure", "statistic", "bin", "run", "value")
        )
        for item, label, corpus, *place, run, value in zip(table["item"], group, *places, strict=True):
            found[item, corpus, label, *place] = (run, float(value))
    return found


def corrected(row) -> list[dict]:
    """The corrected value of a slip of Table 1, where there is one and it is not the row itself."""
    if row.item != "Table 1":
        return []
    same = reported("tolerances", item="Table 1 (corrected)", corpus=row.corpus, group=row.group, measure=row.measure)
    if same.empty:
        return []
    rule = next(same.itertuples())
    within = holds(rule, {"ours": row.ours})
    digits = ".0f" if row.statistic == "count" else ".1f"
    told_as = "which holds" if within else "which still differs"
    sentence = f"Corrected: {rule.reference:{digits}}, ours {row.ours:{digits}}, {told_as}."
    phrase = f"{rule.reference:{digits}} {'✓' if within else '✗'}"
    return [told(sentence, cause="corrected", phrase=phrase, value=rule.reference, within=within)]


def printed_train(row) -> float:
    """Training documents that the paper counts."""
    return printed_sizes()[row.corpus]["train"]
