"""What of a run goes into the archive, and how much: budgets by layer, tables from the whole test set's traces."""

import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from attn_core import experiments, store
from attn_core.compute import inputs_of, trained, weights_of
from attn_core.corpora import catalogue
from attn_core.errors import AttnError
from attn_core.experiments import erasure
from attn_core.experiments.distance import against
from attn_core.experiments.echo import MEASURES, echo, elsewhere
from attn_core.index import HEADLINE_SEEDS
from attn_core.measures import classification, jsd_ragged
from attn_core.results import fits
from attn_core.run import COUNTED, SEEDS, Run, first_vectors
from attn_core.traces import Traces
from attn_core.training.jain import attended

KINDS = ("text", "question", "inference", "han", "flan", "documents")
KEPT = {
    "main": (24_000, 2_000, 1_000, 6_000, 6_000, 3_000),
    "first seed": (6_000, 500, 300, 6_000, 6_000, 1_000),
    "further": (1_000, 0, 0, 500, 0, 0),
    "summary": (0, 0, 0, 0, 0, 0),
    "second": (1_000, 0, 0, 0, 0, 3_000),
}
"""How much of a run is kept, by layer and KINDS: tokens of the traces by task, sentences of HANs, words of FLANs, rows
of the per-document table.

Layers: the paper's main model, other models' first seeds, their further seeds; 'summary': seeds beyond the fifth and
variants, of which no page reads single documents; 'second': every seed of the standard models of COUNTED vectors."""

CLASSES_KEPT = 10
"""Classes up to which a HAN keeps that many sentences; with more, proportionally fewer."""

NOT_PASSED_ON = ("yelp", "yahoo")
"""Data sets of whose documents nothing is archived, by licence: runs keep record and summary."""

COLUMNS_KEPT = (
    "doc_id", "label", "predicted", "n", "p", "max_attention", "tau_attention_gradient", "tau_attention_loo",
    "tau_gradient_loo", "median_change", "jsd_search@0.05", "jsd_exact@0.05",
)  # fmt: skip
"""Columns of the per-document table in layer 'second', besides those of `experiments.echo`."""

SAME = 0.01
"""Mean JSD between the attentions of two trainings of one key up to which they count as the same model."""

AGAINST_KEPT = 1_000
"""Rows of the table beside another run; means over the whole test set are in the record."""


def prepare(run: Run) -> None:
    """Compute what is archived of a cached run, of the traces of its whole test set, into `packed_store`, for `adopt`:
    its record; a sample of its traces, the document table and the summary as KEPT says; the table beside another run.
    AttnError as `same_as_archived`."""
    result, files = store.read(store.cache_store(), run.key), {}
    record, traces = {name: value for name, value in result.record.items() if name != "files"}, result.traces
    first = lambda doc_ids, count: np.sort(store.sample(doc_ids, run.corpus)[:count])
    if run.family == "guided" and run.base is not None:  # its attention is another run's; what counts are its scores
        same_as_archived(run.base)
    against, notes = beside(run, traces)
    record |= notes
    if traces.gradient is not None and run.attention != "uniform":  # else only what lies beside the base is of interest
        layer, hierarchical = layer_of(run), run.family == "hierarchical"
        documents = (erasure if hierarchical else experiments).document_table(traces)
        if hierarchical:
            summary, kind = erasure.summary_table(documents), run.encoder.partition("_")[0]
        else:
            summary, kind = experiments.summary_table(documents, traces.classes), catalogue.corpus(run.corpus).task
            if run.vectors == COUNTED:
                record |= {"elsewhere": float(elsewhere(traces).mean()), "shuffled": shuffled(run)}
        if is_variant(run):  # no figure of distributions shows a variant
            summary = summary[~summary["measure"].str.startswith("hist:")]
            if run.vectors == COUNTED and layer == "summary":  # the dial, ties and untrained models: one number a run
                summary = summary[(summary["predicted"] == "all") & (summary["bin"] == "all")]
        if layer == "second":
            documents = documents[[name for name in documents if name in (*COLUMNS_KEPT, *MEASURES)]]
        files["summary.parquet"] = summary
        items, rows = KEPT[layer][KINDS.index(kind)], KEPT[layer][-1]
        if kind == "han":
            items = items * CLASSES_KEPT // max(CLASSES_KEPT, traces.classes)
        if items:
            within = (traces.lengths[store.sample(traces.doc_id, run.corpus)].cumsum() <= items).sum()
            files["traces.parquet"] = traces.take(first(traces.doc_id, max(1, within)))
            if rows:
                files["documents.parquet"] = documents.iloc[first(traces.doc_id, rows)]
    if against is not None and run.selection != "test" and run.divergence is None:  # else the record's means are read
        files["against.parquet"] = against.iloc[first(against["doc_id"], AGAINST_KEPT)]
    if run.corpus in NOT_PASSED_ON:
        files = {name: table for name, table in files.items() if name == "summary.parquet"}
    store.write(packed_store(), run.key, record, files)


def same_data(run: dict, now: str | None) -> None:
    """AttnError where the archive's runs of a data set were trained on other data. run: as in a record. now: the data's
    fingerprint, None where it is not known."""
    folder = store.archive_folder()
    records = (store.read_record(folder, key) for key in store.keys(folder) if key.startswith(f"{run['corpus']}-"))
    first = next((record for record in records if record["run"]["options"] == run["options"]), {})
    stored = first.get("fingerprints", {}).get("data", now)
    if now and stored != now:
        raise AttnError(
            f"the runs of '{run['corpus']}' in {folder} were trained on data {stored[:12]}, here are {now[:12]}: unset "
            "ATTN_DATA, or pack into an archive of your own (ATTN_ARCHIVE)"
        )


def compared_with(run: Run) -> Run | None:
    """The run beside whose attention and outputs this one is stored, or None: an adversary's base; the same training
    without `rounding`; of further seeds of the main model (BiLSTM, additive) and of its uniform twin the first seed."""
    if run.family in ("adversary", "guided"):
        return run.base if run.family == "adversary" else None
    if run.rounding:
        return replace(run, rounding=0)
    first = Run(run.corpus, vectors=first_vectors(run.corpus), selection=run.selection) if run.family == "text" else run
    if catalogue.corpus(run.corpus).generated and (run.family, run.encoder) == ("text", "lstm"):
        first = replace(run, seed=SEEDS[0], attention="tanh")  # with the same knobs, and the training that fits them
    alike = run.attention in ("tanh", "uniform") and replace(run, seed=first.seed, attention="tanh") == first
    return first if alike and run != first else None


def beside(run: Run, traces: Traces) -> tuple[pd.DataFrame | None, dict]:
    """`against` the run it is compared with, on the whole test set, and its means for the record."""
    if (other := compared_with(run)) is None:
        return None, {}
    # Of trainings that differ by rounding, the archive's documents: trained again here, the twin would be one more.
    if not run.rounding or (base := archived(other)) is None:
        base = at_hand(other)
        same_as_archived(other, base)
    table = against(base, traces)
    return table, {"against": {"base": other.key} | {name: float(table[name].mean()) for name in ("jsd", "tvd")}}


def at_hand(run: Run) -> Traces:
    """Attention and outputs of a run on the whole test set: from the local cache, else read again, with one line."""
    if fits(run, store.cache_store()):
        return store.read(store.cache_store(), run.key).traces
    tqdm.write(f"what is packed is compared with {run.key}, which is not cached; reading its attention again, or "
               "training it where its weights are absent too", file=sys.stderr)  # fmt: skip
    documents = inputs_of(run)[0].splits["test"]
    return attended(run, weights_of(run, progress=False), documents, progress=True).rounded()


def archived(run: Run) -> Traces | None:
    """The documents that the archive keeps of a run, or None."""
    folder = store.archive_folder(required=False)
    return store.read(folder, run.key).traces if folder is not None and store.has(folder, run.key) else None


def same_as_archived(base: Run, found: Traces | None = None) -> None:
    """AttnError where a base, as trained here, is not the model that the archive holds under its key: sums in another
    order can carry a training as far as another seed, and nobody could look the model up. found: the base's traces
    here, else `at_hand`. Nothing is said of bases of which the archive keeps no documents."""
    kept = archived(base)
    if kept is None or catalogue.corpus(base.corpus).generated:
        return
    found = found or at_hand(base)
    both = np.intersect1d(kept.doc_id, found.doc_id)
    ours, theirs = (part.take(pd.Index(part.doc_id).get_indexer(both)) for part in (found, kept))
    moved = float(jsd_ragged(ours.attention, theirs.attention, theirs.offsets).mean())
    if moved > SAME:
        raise AttnError(
            f"the base {base.key} became another model here than the archived one (mean JSD of their attentions "
            f"{moved:.3f}, expected at most {SAME}): archive this one too (run --fresh), and all that builds on it"
        )


def shuffled(run: Run) -> dict[str, float]:
    """A control, for the record: means of `experiments.echo` and ROC AUC of the same model that reads its test texts
    with their words in a random order (start and end stay)."""
    made = data, _, _ = inputs_of(run)
    test, rng = data.splits["test"], np.random.default_rng(run.seed)
    ids = test.ids.copy()
    for start, end in zip(test.offsets, test.offsets[1:], strict=False):
        ids[start + 1 : end - 1] = rng.permutation(ids[start + 1 : end - 1])
    arrays = trained(run, made, progress=False)[0][run.selection]
    traces = attended(run, arrays, replace(test, ids=ids), progress=False)
    auc = classification(traces.label, traces.outputs)["auc"]
    return {**echo(traces)[list(MEASURES)].mean().to_dict(), "auc": auc}


def is_variant(run: Run) -> bool:
    """Whether a run departs from its model's standard in the archive's first generation; of generated corpora the
    pages' knobs are the standard."""
    first = Run(run.corpus, run.encoder, run.attention, run.seed, vectors=first_vectors(run.corpus))
    return run != first and not catalogue.corpus(run.corpus).generated


def layer_of(run: Run) -> str:
    """How much of a run is archived, a key of KEPT."""
    if run.seed not in SEEDS[:HEADLINE_SEEDS]:
        return "summary"
    if run == Run(run.corpus, run.encoder, run.attention, run.seed, vectors=COUNTED) and run.attention != "uniform":
        return "second"
    if is_variant(run):
        return "summary"
    if run.seed != SEEDS[0]:
        return "further"
    return "main" if run.encoder == "lstm" and run.attention == "tanh" else "first seed"


VISIBLE_SECONDS = 60
"""How long a file system may take to show one machine what another has written (attribute caches of NFS)."""


def packed_store() -> Path:
    """Where what is packed waits for the one process that writes the archive."""
    return store.cache_store().with_name("packed")


def adopt(key: str) -> None:
    """Move a packed run into the archive; AttnError as `same_data`, or where no worker's result appears."""
    packed, folder = packed_store(), store.archive_folder()
    end = time.monotonic() + VISIBLE_SECONDS
    while not store.has(packed, key):
        if time.monotonic() > end:
            raise AttnError(f"a worker says that {key} is packed, but {packed} does not show it; repeat the sweep")
        time.sleep(0.2)
        list(packed.parent.glob("packed/*"))  # makes a network file system look again
    record = store.read(packed, key).record
    same_data(record["run"], record["fingerprints"]["data"])
    if not store.keys(folder):  # the first run of an archive
        store.seal(folder)
    store.write(folder, key, record, {name: packed / key / name for name in record.pop("files")})
    shutil.rmtree(packed / key)
