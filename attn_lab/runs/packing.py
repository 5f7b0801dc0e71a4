"""What of a run goes into the archive, and how much: budgets by role, tables from the whole test set's traces."""

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from tqdm import tqdm

from attn_core.errors import AttnError
from attn_core.experiments.distance import against
from attn_core.experiments.tables import IDENTITY, joined
from attn_core.measures import HEADLINE_SEEDS, classification, jsd_ragged
from attn_core.traces import Traces, has_one_logit, round_mantissa
from attn_lab.data import catalogue
from attn_lab.data.order import fixed_order
from attn_lab.more import erasure, tables
from attn_lab.more.known import GOOD
from attn_lab.more.single_state import MEASURES, elsewhere, single_state_agreement
from attn_lab.runs import rows, store, upkeep
from attn_lab.runs.compute import compute, inputs_of, trained, weights_of
from attn_lab.runs.controls import beside_first, controls
from attn_lab.runs.families import attended
from attn_lab.runs.results import fits
from attn_lab.runs.run import SEEDS, Run, standard

BUDGETS = {
    "main": {"text": 24_000, "question": 2_000, "inference": 1_000, "han": 6_000, "flan": 6_000, "documents": 3_000},
    "judged": {"text": 6_000, "documents": 3_000},
    "additive": {"text": 1_000, "documents": 3_000},
    "dot": {"text": 1_000, "documents": 1_000},
    "first seed": {"question": 500, "inference": 300, "han": 6_000, "flan": 6_000, "documents": 1_000},
    "further": {"han": 500},
    "summary": {},
}
"""Role -> what is kept: items of the traces by what the model reads (tokens of a text, question or inference, sentences
of a HAN, words of a FLAN), rows of the document table. Roles: 'main', the paper's main model (BiLSTM, additive
attention, seed 10); of single texts 'judged', whose numbers and controls the verdict reads (its further seeds, and no
context), 'additive' and 'dot', the others; of questions, pairs and Serrano & Smith's models 'first seed' and 'further';
'summary': seeds beyond the fifth and variants, of which no page reads single documents."""

CLASSES_KEPT = 10
"""Classes up to which a HAN keeps that many sentences; with more, proportionally fewer."""

NOT_PASSED_ON = ("yelp", "yahoo")
"""Data sets of whose documents nothing is archived, by licence: runs keep record and numbers."""

COLUMNS_KEPT = (
    "doc_id",
    "label",
    "predicted",
    "n",
    "p",
    "max_attention",
    "tau_attention_gradient",
    "tau_attention_loo",
    "tau_gradient_loo",
    "median_change",
    "jsd_search epsilon=0.05",
    "jsd_exact epsilon=0.05",
    *MEASURES,
)
"""Columns of the per-document table of single texts, besides those of `controls`, which begin with words of COARSE."""

COARSE = {"permuted": 9, "shuffle": 9, "uniform": 9, "erasure": 9, "adversary": 9, "top1": 9, "change": 9}
COARSE |= dict.fromkeys(GOOD, 12)
"""Bits of mantissa of a text's controls, by the first word of their names; 18 would cost a fifth of the archive."""

SAME = 0.01
"""Mean JSD between the attentions of two trainings of one key up to which they count as the same model."""

AGAINST_KEPT = 1_000
"""Rows of the table beside another run; means over the whole test set are in the record."""


# ---- what is kept ----------------------------------------------------------------------------------------------------


def prepare(run: Run) -> None:
    """Compute what is archived of a cached run, of the traces of its whole test set, into `packed_store`, for `adopt`:
    its record and numbers; a sample of its traces and the document table as BUDGETS says; the table beside another run.
    AttnError as `same_as_archived`."""
    result = store.read(store.cache_store(), run.key)
    if run.family == "cls":
        store.write(packed_store(), run.key, without_traces(run, result))
        return
    traces = whole(result)
    if run.family == "guided" and run.base is not None:  # its attention is another run's; what counts are its scores
        same_as_archived(run.base)
    compared, notes = beside(run, traces)
    record = result.record | notes
    documents = summary = sampled = None
    # Without gradients, or of equal weights, only what lies beside the base is of interest.
    if traces.gradient is not None and run.attention != "uniform":
        documents, summary = described(run, traces)
        record |= elsewhere_and_shuffled(run, traces)
        sampled = sample(run, traces)
    documents = kept_documents(run, documents) if sampled is not None else None
    if compared is not None:  # of test-chosen models and adversaries the record's means are read
        compared = None if run.selection == "test" or run.divergence is not None else first_rows(run, compared)
    if run.corpus in NOT_PASSED_ON:
        documents = compared = sampled = None
    # Of equal weights and frozen layers of a pretrained encoder a page shows what one piece decides.
    numbers = rows.number_rows(record, summary, traces if run.family == "pretrained" else None)
    store.write(packed_store(), run.key, rows.tables(record, numbers, documents, compared), sampled)


def without_traces(run: Run, result: store.Result) -> dict[str, pa.Table]:
    """The tables of a [CLS] model, whose numbers are made when it is read: of documents those whose pieces are
    ranked."""
    documents = result.documents
    if documents is not None:
        documents = documents.dropna(subset="whole_input") if run.epochs else None
    return rows.tables(result.record, result.numbers, documents)


def whole(result: store.Result) -> Traces:
    """The traces of a cached run; AttnError where there are none."""
    if result.traces is None:
        raise AttnError(f"the traces of {result.key} are gone from the cache; run it again with --fresh")
    return result.traces


def described(run: Run, traces: Traces) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A run's document table and what is summed up of it, with the controls where the verdict reads them."""
    documents = document_table(run, traces)
    summary = kept_summary(run, documents, traces.classes)
    if not is_judged(run, traces):
        return documents, summary
    splits = inputs_of(run)[0].splits
    beside_own = controls(traces, splits["train"], splits["test"], run.encoder == "average")
    return joined(documents, beside_own), pd.concat([summary, means_of(beside_own)], ignore_index=True)


def document_table(run: Run, traces: Traces) -> pd.DataFrame:
    """Every per-document statistic of a run."""
    return (erasure if run.family == "hierarchical" else tables).document_table(traces)


def kept_summary(run: Run, documents: pd.DataFrame, classes: int) -> pd.DataFrame:
    """A run's document table by class and bin; of variants without what no figure shows."""
    if run.family == "hierarchical":
        return rows.rounded(erasure.summary_table(documents))
    summary = tables.summary_table(documents, classes)
    if is_variant(run):  # no figure of distributions shows a variant
        summary = summary[~summary["measure"].str.startswith("hist:")]
        if run.context or run.tie or not run.epochs:  # one number a run
            summary = summary[(summary["predicted"] == "all") & (summary["bin"] == "all")]
    return rows.rounded(summary)


def is_judged(run: Run, traces: Traces) -> bool:
    """Whether the verdict reads a run's controls."""
    plain = run.family == "text" and not catalogue.corpus(run.corpus).generated
    return plain and role_of(run) in ("main", "judged") and has_one_logit(traces)


def means_of(documents: pd.DataFrame) -> pd.DataFrame:
    """Means over documents as rows of a summary, those without a value left out."""
    means = documents.drop(columns=list(IDENTITY)).mean().rename_axis("statistic").reset_index(name="value")
    return rows.rounded(means.assign(measure="mean", predicted="all", bin="all"))


def elsewhere_and_shuffled(run: Run, traces: Traces) -> dict:
    """For the record, of models of single texts: what other documents' tokens and shuffled texts give."""
    if run.family != "text" or catalogue.corpus(run.corpus).generated:
        return {}
    return {"elsewhere": float(elsewhere(traces).mean()), "shuffled": shuffled(run)}


def budget(run: Run, classes: int) -> int:
    """Items of the traces that are kept."""
    task = run.encoder.partition("_")[0] if run.family == "hierarchical" else catalogue.corpus(run.corpus).task
    items = BUDGETS[role_of(run)].get(task, 0)
    return items * CLASSES_KEPT // max(CLASSES_KEPT, classes) if task == "han" else items


def sample(run: Run, traces: Traces) -> Traces | None:
    """The first documents of the corpus's fixed order, within the budget; one at least, where there is any."""
    items = budget(run, traces.classes)
    if not items:
        return None
    order = fixed_order(traces.doc_id, run.corpus)
    count = int((traces.lengths[order].cumsum() <= items).sum())
    return traces.take(np.sort(order[: max(1, count)]))


def kept_documents(run: Run, documents: pd.DataFrame | None) -> pd.DataFrame | None:
    """The rows and columns of the document table that are kept."""
    count = BUDGETS[role_of(run)].get("documents", 0)
    if documents is None or not count:
        return None
    if keeps_few_columns(run):
        kept = {}
        for name in documents:
            if bits := COARSE.get(name.partition("_")[0]):
                kept[name] = round_mantissa(documents[name], bits)
            elif name in COLUMNS_KEPT:
                kept[name] = documents[name]
        documents = pd.DataFrame(kept)
    return first_rows(run, documents, count)


def keeps_few_columns(run: Run) -> bool:
    """Whether of a run's document table COLUMNS_KEPT and the controls are kept alone."""
    return run.family == "text" or role_of(run) == "additive"


def first_rows(run: Run, table: pd.DataFrame, count: int = AGAINST_KEPT) -> pd.DataFrame:
    """The rows of the first documents of the corpus's fixed order, in the order of the table."""
    return table.iloc[np.sort(fixed_order(table["doc_id"].to_numpy(), run.corpus)[:count])]


def is_variant(run: Run) -> bool:
    """Whether a run departs from its model's standard; of generated corpora the pages' knobs are the standard."""
    return run != standard(run) and not catalogue.corpus(run.corpus).generated


def role_of(run: Run) -> str:
    """How much of a run is archived, a key of BUDGETS."""
    if run.seed not in SEEDS[:HEADLINE_SEEDS]:
        return "summary"
    if run.family == "pretrained" and run == Run(run.corpus, run.encoder):
        return "main"
    if is_variant(run):
        return "summary"
    if (run.encoder, run.attention, run.seed) == ("lstm", "tanh", SEEDS[0]):
        return "main"
    if run.family in ("text", "pretrained") and run.attention == "tanh":
        return "judged" if run.encoder in ("lstm", "average") else "additive"
    if run.family == "text" and run.attention == "dot":
        return "dot"
    return "first seed" if run.seed == SEEDS[0] else "further"


def shuffled(run: Run) -> dict[str, float]:
    """A control, for the record: means of `single_state_agreement` and, with two classes, ROC AUC of the same model
    that reads its test texts with their words in a random order (start and end stay)."""
    inputs = inputs_of(run)
    test = inputs[0].splits["test"]
    rng = np.random.default_rng(run.seed)
    ids = test.ids.copy()
    for start, end in zip(test.offsets, test.offsets[1:], strict=False):
        ids[start + 1 : end - 1] = rng.permutation(ids[start + 1 : end - 1])
    weights, _ = trained(run, inputs, progress=False)
    traces = attended(run, weights[run.selection], replace(test, ids=ids), progress=False)
    numbers = single_state_agreement(traces)[list(MEASURES)].mean().to_dict()
    scores = classification(traces.label, traces.outputs)
    if "auc" in scores:
        numbers["auc"] = scores["auc"]
    return numbers


# ---- beside another run ----------------------------------------------------------------------------------------------


def compared_with(run: Run) -> Run | None:
    """The run beside whose attention and outputs this one is stored, or None: an adversary's base; the same training
    without `rounding`; of further seeds of the main model (BiLSTM, additive) and of its uniform twin the first seed."""
    if run.family == "adversary":
        return run.base
    if run.family == "guided":
        return None
    if run.rounding:
        return replace(run, rounding=0)
    first = run
    if run.family == "text":
        first = Run(run.corpus, selection=run.selection)
    if run.family == "pretrained":
        first = Run(run.corpus, run.encoder)
    if catalogue.corpus(run.corpus).generated and (run.family, run.encoder) == ("text", "lstm"):
        first = replace(run, seed=SEEDS[0], attention="tanh")  # with the same knobs, and the training that fits them
    alike = run.attention in ("tanh", "uniform") and replace(run, seed=first.seed, attention="tanh") == first
    return first if alike and run != first else None


def beside(run: Run, traces: Traces) -> tuple[pd.DataFrame | None, dict]:
    """`against` the run it is compared with, on the whole test set, and its means for the record."""
    other = compared_with(run)
    if other is None:
        return None, {}
    # Of trainings that differ by rounding, the archive's documents: trained again here, the twin would be one more.
    base = archived(other) if run.rounding else None
    judged = is_judged(run, traces)
    if base is None:
        base = at_hand(other, deletions=judged)  # by which `beside_first` weighs
        same_as_archived(other, base)
    table = against(base, traces)
    if judged and np.array_equal(base.doc_id, traces.doc_id):
        table = table.assign(**beside_first(base, traces))
    means = table.drop(columns=["doc_id", "predicted", "max_attention"]).mean()
    return table, {"against": {"base": other.key} | means.to_dict()}


def at_hand(run: Run, deletions: bool = False) -> Traces:
    """Attention and outputs of a run on the whole test set, if asked with deletions: from the local cache, else read
    again, with one line."""
    if fits(run, store.cache_store()):
        return whole(store.read(store.cache_store(), run.key))
    tqdm.write(
        f"what is packed is compared with {run.key}, which is not cached; reading its attention again, or training it "
        "where its weights are absent too",
        file=sys.stderr,
    )
    if deletions:
        return whole(compute(run))
    documents = inputs_of(run)[0].splits["test"]
    return attended(run, weights_of(run, progress=False), documents, progress=True).rounded()


def archived(run: Run) -> Traces | None:
    """The documents that the archive keeps of a run, or None."""
    folder = store.find_archive()
    return store.read(folder, run.key).traces if folder is not None and store.has(folder, run.key) else None


def same_as_archived(base: Run, traces: Traces | None = None) -> None:
    """AttnError where a base, as trained here, is not the model that the archive holds under its key: sums in another
    order can carry a training as far as another seed, and nobody could look the model up. traces: the base's here, else
    `at_hand`. Nothing is said of bases of which the archive keeps no documents."""
    stored = archived(base)
    if stored is None or catalogue.corpus(base.corpus).generated:
        return
    traces = traces or at_hand(base)
    shared = np.intersect1d(stored.doc_id, traces.doc_id)
    here, there = (each.take(pd.Index(each.doc_id).get_indexer(shared)) for each in (traces, stored))
    moved = float(jsd_ragged(here.attention, there.attention, there.offsets).mean())
    if moved > SAME:
        raise AttnError(
            f"the base {base.key} became another model here than the archived one (mean JSD of their attentions "
            f"{moved:.3f}, expected at most {SAME}): archive this one too (run --fresh), and all that builds on it"
        )


# ---- into the archive ------------------------------------------------------------------------------------------------

VISIBLE_SECONDS = 60
"""How long a file system may take to show one machine what another has written (attribute caches of NFS)."""


def packed_store() -> Path:
    """Where what is packed waits for the one process that writes the archive."""
    return store.cache_store() / "packed"


def same_data(run: dict, fingerprint: str | None) -> None:
    """AttnError where the archive's runs of a data set were trained on other data. run: as in a record. fingerprint: of
    the data, None where it is not known."""
    stored = store.archived_data(run["corpus"], run["options"])
    if stored and fingerprint and stored != fingerprint:
        raise AttnError(
            f"the runs of '{run['corpus']}' in {store.archive_folder()} were trained on data {stored[:12]}, here are "
            f"{fingerprint[:12]}: unset ATTN_DATA, or pack into an archive of your own (ATTN_ARCHIVE)"
        )


def adopt(key: str) -> None:
    """Move a packed run into the archive; AttnError as `same_data`, or where no worker's result appears."""
    packed = packed_store()
    end = time.monotonic() + VISIBLE_SECONDS
    while not store.has(packed, key):
        if time.monotonic() > end:
            raise AttnError(f"a worker says that {key} is packed, but {packed} does not show it; repeat the sweep")
        time.sleep(0.2)
        list(packed.parent.glob("packed/runs/*"))  # makes a network file system look again
    record = store.read_record(packed, key)
    same_data(record["run"], record["fingerprints"]["data"])
    tables, traces = upkeep.files_of_run(packed, key)
    upkeep.merge(store.archive_folder(), record["run"]["corpus"], tables, {key: traces})
    upkeep.remove(packed, key)
