"""What the archive holds is what the code computes, and the results obey their own mathematics."""

import os
from functools import cache, partial

import numpy as np
import pyarrow as pa
import pytest
from conftest import python

from attn_core.experiments.correlation import correlation
from attn_core.experiments.optimum import exact
from attn_core.experiments.permutation import permutation
from attn_core.measures import classification
from attn_core.traces import has_one_logit
from attn_lab.data import catalogue
from attn_lab.more.erasure import document_table as erasure_table
from attn_lab.more.single_state import MEASURES, single_state_agreement
from attn_lab.more.tables import derived, summary_table
from attn_lab.runs import packing, rows, store
from attn_lab.runs.index import with_parameters
from attn_lab.runs.run import PRETRAINED, from_dict

STORE = store.archive_folder()


RUNS = pa.concat_tables(
    [store.table(STORE, "runs", stem) for stem in store.stems(STORE)], promote_options="default"
).to_pandas()
TABLES = {  # key -> run, of those of which documents are archived
    key: from_dict(store.read_record(STORE, key)["run"])
    for stem in store.stems(STORE)
    for key in sorted(set(store.table(STORE, "documents", stem, ("key",))["key"].to_pylist()))
}
OF_WORDS = [key for key, run in TABLES.items() if run.family != "cls"]  # a [CLS] model has no traces
ERASURE = [key for key in OF_WORDS if TABLES[key].family == "hierarchical"]
SECOND = [
    key for key in OF_WORDS if TABLES[key].vectors == "ppmi-300" and packing.keeps_few_columns(TABLES[key])
]
FIRST = [key for key in OF_WORDS if key not in ERASURE + SECOND]
read = cache(partial(store.read, STORE))


def is_whole(key: str) -> bool:
    """Whether the document layer is no sample."""
    return store.read_record(STORE, key)["n_test"] == len(read(key).documents)


@pytest.mark.parametrize("key", FIRST)
def test_the_optimum_bounds_everything_on_every_archived_document(key):
    documents = read(key).documents
    assert documents["doc_id"].is_unique
    assert len(derived(documents)) == len(documents)
    best = (
        "exact" if "jsd_exact epsilon=0.05" in documents else "lower"
    )  # of pairs: the lower end of a bracket
    for epsilon in (0.01, 0.05):
        jsd, tvd = (documents[f"{name}_{best} epsilon={epsilon:g}"] for name in ("jsd", "tvd"))
        assert (jsd >= documents[f"jsd_search epsilon={epsilon:g}"] - 1e-6).all()
        assert best != "exact" or (jsd >= documents[f"jsd_permutation epsilon={epsilon:g}"] - 1e-6).all()
        assert (jsd <= documents["ceiling"] + 1e-6).all()
        assert (tvd <= epsilon + 1e-6).all()
        assert (documents[f"tvd_search epsilon={epsilon:g}"] <= epsilon + 1e-6).all()
    assert (documents[f"jsd_{best} epsilon=0.05"] >= documents[f"jsd_{best} epsilon=0.01"] - 1e-6).all()
    assert documents["ceiling"].max() <= np.log(2) + 1e-6


FRESH = (
    lambda traces: correlation(traces).drop(columns="p_attention_random"),
    lambda traces: single_state_agreement(traces)[list(MEASURES)],
    lambda traces: permutation(traces)[["median_change"]],
    lambda traces: exact(traces, 0.05).add_suffix(" epsilon=0.05")[["jsd_exact epsilon=0.05"]],
)


@pytest.mark.parametrize("key", FIRST + SECOND)
def test_the_document_layer_is_what_the_traces_give(key):
    """Rounded to four digits where few columns are kept."""
    result = read(key)
    few = result.traces.take(np.arange(0, len(result.traces), max(1, len(result.traces) // 60)))
    stored = result.documents.set_index("doc_id").loc[few.doc_id]
    assert result.documents["doc_id"].is_unique
    for test in FRESH[: 3 + has_one_logit(few)]:
        fresh = test(few)
        for column in set(fresh) & set(stored):
            np.testing.assert_allclose(
                fresh[column], stored[column], atol=2e-4 if key in SECOND else 2e-6, err_msg=column
            )


@pytest.mark.parametrize("key", [key for key in FIRST + SECOND if is_whole(key)])
def test_the_record_says_how_the_documents_are_classified(key):
    result = read(key)
    labels, p = (result.documents[name].to_numpy() for name in ("label", "p"))
    scores = {"accuracy": (labels == result.documents["predicted"]).mean()}
    if result.traces.classes <= 2:
        scores |= classification(labels, p)
    assert {name: result.record[name] for name in scores} == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize("key", [key for key in FIRST if is_whole(key)])
def test_the_summary_follows_from_the_documents(key):
    result = read(key)
    fresh = rows.number_rows(result.record, summary_table(result.documents, result.traces.classes))
    again, kept = (table.set_index([*store.NAMES])["value"] for table in (fresh, result.numbers))
    means = again.index[again.index.get_level_values("statistic") == "mean"]
    np.testing.assert_allclose(again[means], kept[means], atol=2e-5)


@pytest.mark.parametrize("key", SECOND)
def test_the_short_table_of_single_texts_is_what_summary_and_budget_say(key):
    stored = read(key).documents
    budget = packing.BUDGETS["dot" if TABLES[key].attention == "dot" else "judged"]
    assert len(stored) == min(read(key).record["n_test"], budget["documents"])
    if is_whole(key):
        of_all = "predicted == 'all' and bin == 'all' and statistic == 'mean'"
        mean = with_parameters(read(key).numbers).query(of_all).set_index("measure")["value"]
        for column in {"tau_attention_gradient", "median_change", "jsd_exact epsilon=0.05", *MEASURES} & {
            *stored
        }:
            assert stored[column].mean() == pytest.approx(mean[column], abs=2e-5)
    if "jsd_exact epsilon=0.05" in stored:
        assert (stored["jsd_exact epsilon=0.05"] >= stored["jsd_search epsilon=0.05"] - 1e-6).all()


@pytest.mark.parametrize("key", ERASURE)
def test_erasure_tables_are_what_the_traces_give_and_keep_to_the_optimum(key):
    result = read(key)
    stored = result.documents.set_index("doc_id")
    few = result.traces.take(np.flatnonzero(np.isin(result.traces.doc_id, stored.index))[:60])
    fresh, kept = erasure_table(few).set_index("doc_id"), stored.loc[few.doc_id]
    removed = list(fresh.filter(like="removed_"))
    np.testing.assert_allclose(fresh[removed], kept[removed], rtol=4e-6)
    np.testing.assert_allclose(fresh["delta_js rule=coded"], kept["delta_js rule=coded"], atol=2e-6)
    for name in ("random", "attention", "gradient", "product", "first_order"):
        flips = stored[(stored[f"removed_{name}"] > 0) & ~stored[f"zero_{name}"].astype(bool)]
        assert (flips["removed_optimum"] <= flips[f"removed_{name}"]).all()
        assert (flips["removed_optimum"] > 0).all()


def test_runs_of_a_corpus_saw_the_same_data():
    kinds = {digest: name in catalogue.RECIPES for digest, name in catalogue.FINGERPRINTS.items()}
    seen = RUNS.groupby(["corpus", "options"])[["fingerprint", "n_test"]].nunique()
    assert (seen == 1).all(axis=None), seen
    shared = RUNS["vectors"].str.contains("-300") & ~RUNS["encoder"].isin(PRETRAINED)  # which have their own
    vectors = {store.read_record(STORE, key)["fingerprints"]["vectors"] for key in RUNS["key"][shared]}
    data = set(RUNS["fingerprint"][RUNS["corpus"] != "planted"])
    assert dict.fromkeys(data, False) | dict.fromkeys(vectors, True) == kinds, (
        "what is taken without its texts"
    )


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_reading_the_archive_leaves_no_thread_of_arrow():
    """Arrow's may outlive Python, which then ends by "terminate called without an active exception" (arrow#34314)."""
    code = (
        "import os, pyarrow.parquet, scipy.special; before = os.listdir('/proc/self/task');"
        "from attn_lab.runs import index; index.numbers(measure='jsd_exact', corpus='sst');"
        "print(len(os.listdir('/proc/self/task')) - len(before))"
    )
    assert python("-c", code, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="4") == "0\n"
