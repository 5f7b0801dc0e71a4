"""What the archive holds is what the code computes, and the results obey their own mathematics."""

import os
from functools import cache, partial

import numpy as np
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


def spans_of(corpus: str) -> set[str]:
    """Keys of the runs of a corpus of which documents are archived."""
    return set(store.table(STORE, "documents", corpus, ("key",))["key"].to_pylist())


KEYS = store.keys(STORE)
TABLES = sorted(key for stem in store.stems(STORE) for key in spans_of(stem))
RUNS = {key: from_dict(store.read_record(STORE, key)["run"]) for key in TABLES}
OF_WORDS = [
    key for key in TABLES if RUNS[key].family != "cls"
]  # a [CLS] model has a table of its own, and no traces
ERASURE = [key for key in OF_WORDS if RUNS[key].family == "hierarchical"]
SECOND = [key for key in OF_WORDS if RUNS[key].vectors == "ppmi-300" and packing.keeps_few_columns(RUNS[key])]
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
    )  # text pairs: the lower end of a bracket
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


@pytest.mark.parametrize("key", [key for key in FIRST if is_whole(key)])
def test_summary_and_record_follow_from_the_documents(key):
    result = read(key)
    assert len(result.documents) == result.record["n_test"]
    fresh = rows.number_rows(result.record, summary_table(result.documents, result.traces.classes))
    again, kept = (table.set_index([*store.NAMES])["value"] for table in (fresh, result.numbers))
    means = again.index[again.index.get_level_values("statistic") == "mean"]
    np.testing.assert_allclose(again[means], kept[means], atol=2e-5)
    accuracy = (result.documents["label"] == result.documents["predicted"]).mean()
    assert accuracy == pytest.approx(result.record["accuracy"], abs=1e-4)
    if result.traces.classes > 2:
        return
    scores = classification(result.documents["label"].to_numpy(), result.documents["p"].to_numpy())
    for name, value in scores.items():
        assert value == pytest.approx(result.record[name], abs=1e-4)


@pytest.mark.parametrize("key", SECOND)
def test_the_short_table_of_single_texts_is_what_record_and_summary_say(key):
    result = read(key)
    stored = result.documents
    budget = packing.BUDGETS["dot" if RUNS[key].attention == "dot" else "judged"]
    assert len(stored) == min(result.record["n_test"], budget["documents"])
    if is_whole(key):
        of_all = with_parameters(result.numbers).query(
            "predicted == 'all' and bin == 'all' and statistic == 'mean'"
        )
        mean = of_all.set_index("measure").value
        for column in {"tau_attention_gradient", "median_change", "jsd_exact epsilon=0.05", *MEASURES} & set(
            stored
        ):
            assert stored[column].mean() == pytest.approx(mean[column], abs=2e-5)
        if result.traces.classes <= 2:
            scores = classification(stored["label"].to_numpy(), stored["p"].to_numpy())
            assert {name: result.record[name] for name in scores} == pytest.approx(scores, abs=1e-4)
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
    seen: dict[str, set] = {}
    for key in KEYS:
        record = store.read_record(STORE, key)
        seen.setdefault((record["run"]["corpus"], str(record["run"]["options"])), set()).add(
            (record["fingerprints"]["data"], record["n_test"])
        )
    assert all(len(kinds) == 1 for kinds in seen.values()), seen
    data = {digest for (corpus, _), kinds in seen.items() for digest, _ in kinds if corpus != "planted"}
    known = {name: set() for name in ("data", "vectors")}
    for digest, name in catalogue.FINGERPRINTS.items():
        known["vectors" if name in catalogue.RECIPES else "data"].add(digest)
    assert data == known["data"], "what is taken without its texts"
    records = [store.read_record(STORE, key) for key in KEYS]
    records = [
        record for record in records if record["run"]["encoder"] not in PRETRAINED
    ]  # they have their own
    shared = {record["fingerprints"]["vectors"] for record in records if "-300" in record["run"]["vectors"]}
    assert shared == known["vectors"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_reading_the_archive_leaves_no_thread_of_arrow():
    """Arrow's may outlive Python, which then ends by "terminate called without an active exception" (arrow#34314)."""
    code = (
        "import os, pyarrow.parquet, scipy.special; before = os.listdir('/proc/self/task');"
        "from attn_lab.runs import index; index.numbers(measure='jsd_exact', corpus='sst');"
        "print(len(os.listdir('/proc/self/task')) - len(before))"
    )
    assert python("-c", code, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="4") == "0\n"
