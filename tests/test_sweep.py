"""What a sweep says is left, bases before the runs that need them, several runs at once."""

import json
import shutil
import threading
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest
from conftest import ROOT, refused
from test_plugins import plugins  # noqa: F401  (a fixture)
from tiny_runs import TINY, grid, pack_run, tiny, whole_store

from attn_lab.runs import index, packing, store, sweep
from attn_lab.runs.results import AbsentRun, obtain
from attn_lab.runs.run import Run


def test_a_dry_run_lists_and_counts_and_trains_nothing(tmp_path, called):
    path = grid(tmp_path, "[0, 1, 2]")
    obtain(tiny(1))
    status, out, _ = called("sweep", path, "--dry-run")
    assert status == 0
    assert out.splitlines()[:4] == [
        f"to do   {tiny(0).key}",
        f"stored  {tiny(1).key}",
        f"to do   {tiny(2).key}",
        "1 of 3 runs stored",
    ]
    assert store.keys(store.cache_store()) == [tiny(1).key]
    status, out, _ = called("sweep", path)
    assert status == 0
    assert "3 runs, 0 failed" in out
    assert called("sweep", path)[1].startswith("3 of 3 runs stored\n")


def guided(seed=10, **fields) -> Run:
    return Run("planted", "average", "given", seed=seed, epochs=1, options=TINY, guide="own", **fields)


def test_bases_come_first_and_only_where_their_weights_are_missing(archive):
    base, further = tiny(10), tiny(50)
    adversary = Run("planted", encoder="average", epochs=1, options=TINY, base=base, divergence=1e-3)
    own, deep = guided(base=base), guided(base=adversary)
    swapped, untrained = (replace(own, guide=guide) for guide in ("swapped", "untrained"))
    assert sweep.plan([own]) == {base: False, own: True}
    assert sweep.plan([untrained]) == {replace(base, epochs=0): False, untrained: True}
    assert list(sweep.plan([swapped, base])) == [base, further, swapped]
    assert sweep.plan([deep]) == {base: False, adversary: False, deep: True}
    assert sweep.sweep([deep, own]) == {}
    assert set(store.keys(store.cache_store())) == {deep.key, own.key}, "bases lend their weights"
    assert sweep.has_weights(base) and sweep.has_weights(adversary)
    assert sweep.plan([swapped, own]) == {further: False, swapped: True}, "the other is stored"
    # A base in the archive alone has no weights: it is trained again for those who need them, and not packed anew.
    obtain(base)
    pack_run(base)
    packed = store.rows_of(archive, "runs", base.key)
    store.weights_file(base.key).unlink()
    again = replace(own, words="rank")
    assert sweep.plan([base, again], pack=True) == {base: False, again: True}
    assert sweep.sweep([base, again], pack=True) == {}
    assert sweep.has_weights(base)
    pd.testing.assert_frame_equal(store.rows_of(archive, "runs", base.key), packed)
    assert store.keys(archive) == sorted([base.key, again.key])


def test_a_failed_base_is_named_and_not_tried_again():
    wrong = (("shortest", 0),)
    base = tiny(10, wrong)
    run = Run("planted", "average", "given", epochs=1, options=wrong, guide="own", base=base)
    failures = sweep.sweep([run, tiny(50)], progress=False)
    assert [*failures] == [base.key, run.key]
    assert failures[run.key] == f"AttnError: its base {base.key} failed ({failures[base.key]})"


def test_a_packed_run_is_waited_for_as_long_as_a_file_system_may_take(archive, tmp_path, monkeypatch):
    """It appears after the worker has said so; one that never does is named."""
    run = tiny(10)
    obtain(run)
    packing.prepare(run)
    hidden = packing.packed_store().rename(tmp_path / "hidden")
    appears = threading.Timer(0.5, lambda: hidden.rename(packing.packed_store()))
    appears.start()
    packing.adopt(run.key)
    appears.join()
    assert store.keys(archive) == [run.key]
    monkeypatch.setattr(packing, "VISIBLE_SECONDS", 0.3)
    with refused(f"{tiny(50).key}.*repeat the sweep"):
        packing.adopt(tiny(50).key)


@pytest.mark.thorough
@pytest.mark.usefixtures("own_tables", "plugins")
def test_jobs_share_a_sweep(tmp_path, monkeypatch, called):
    """Both selections of a seed are trained once; a failed base is named; plugins are known."""
    path = tmp_path / "grid.yml"
    options = json.dumps([list(pair) for pair in TINY])
    wrong = json.dumps([["shortest", 0]])
    plain = "- corpus: planted\n  encoder: average\n  epochs: 1\n"
    block = f"{plain}  attention: given\n  guide: own\n  base: {{encoder: average, epochs: 1}}\n"
    path.write_text(
        f"{block}  seed: 3 seeds\n  options: [{options}]\n"
        f"{plain}  seed: 2\n  selection: [dev, test]\n  options: [{options}]\n"
        "- {corpus: weather, encoder: gated, epochs: 1}\n"
        f"{block}  seed: 10\n  options: [{wrong}]\n"
    )
    command = "sweep", str(path), "--jobs", "2"
    status, out, _ = called(*command)
    *runs, bad = sweep.read_grid(path)
    assert [run.base and run.base.seed for run in runs[:5]] == [10, 50, 257, None, None]
    assert status == 1 and "7 runs, 2 failed" in out, "the base and the run that needed it"
    assert f"failed  {bad.base.key}: AttnError: " in out
    assert f"failed  {bad.key}: AttnError: its base {bad.base.key} failed (AttnError: " in out
    assert whole_store() == {run.key for run in runs}
    assert all(sweep.has_weights(run.base) for run in runs[:3])
    seconds = [store.read_record(store.cache_store(), run.key)["seconds"]["train"] for run in runs]
    assert seconds[3] == seconds[4], "both selections are of one training, not of two side by side"
    monkeypatch.setattr(sweep, "side_by_side", None)  # nothing left to do: no process is started
    assert sweep.sweep(runs, jobs=2) == {}


OWN = {"corpus": "sst", "encoder": "average", "vectors": "random", "epochs": 1}


def labelled(first: int) -> dict:
    """Splits of texts of which every second has the other label, from the first on."""
    texts = [f"a fine film {'so ' * (3 + n % 9)}" for n in range(40)]
    table = {"text": texts, "label": [(n + first) % 2 for n in range(40)]}
    return dict.fromkeys(("train", "dev", "test"), table)


def test_what_is_stored_is_held_against_the_data_at_hand(
    archive, tables, tmp_path, monkeypatch, capsys, called
):
    """All labels swapped, the set named no more, and packing beside runs of other data: redone or refused, by name."""
    run = Run(**OWN, seed=3)
    for scheme in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(scheme, "http://127.0.0.1:9")  # no test downloads anything
    path = tmp_path / "grid.yml"
    path.write_text(json.dumps([OWN | {"seed": 3}]))
    alone = ["run", *(f"--{name}={value}" for name, value in OWN.items()), "--seed=3"]
    pack = ("sweep", str(path), "--pack")

    def data() -> str:
        return store.read_record(store.cache_store(), run.key)["fingerprints"]["data"]

    tables("sst", **labelled(0))
    assert not called(*alone)[0]
    first, weights = data(), store.weights_file(run.key)
    assert oct(weights.stat().st_mode)[-3:] == "644", "a cache may be shared"
    tables("sst", **labelled(1))
    status, out, errors = called(*pack)
    assert not status
    assert out.startswith("0 of 1 runs stored\n")
    second, sealed = data(), store.manifest(archive)
    told = f"{run.key} was trained on data {first[:12]}, 'sst' here is {second[:12]} by ATTN_DATA"
    assert any(told in line for line in errors)
    assert second != first
    tables("sst", **labelled(0))  # the archive is of the others now
    status, out, _ = called(*pack)
    assert status == 1
    assert f"the runs of 'sst' in {archive} were trained on data {second[:12]}" in out
    assert data() == second, "refused before it was trained"
    with pytest.raises(AbsentRun, match="was trained on data .*unset ATTN_DATA"):
        obtain(run)
    assert not called(*alone)[0]
    other = Run(**OWN, seed=4)
    obtain(other, train="auto")
    assert index.runs(key="any", vectors="any", epochs="any", seed="any")["key"].tolist() == [run.key]
    assert f"other data than the archive's: {other.key}\n" in capsys.readouterr().err
    monkeypatch.delenv("ATTN_DATA")
    assert obtain(run, traces=False).source == "archive", "an archived run needs no data"
    shutil.rmtree(archive / "runs")
    for more in ([], ["--fresh"]):
        status, _, errors = called(*alone, *more)
        assert status == 2
        assert "no data for corpus 'sst'" in errors[-1]
    assert data() == first
    assert store.manifest(archive) == sealed


def test_the_runs_of_a_grid(tmp_path):
    """A run of two blocks is one; a base has the fields of its run that it does not name, and may have a base."""
    path = tmp_path / "grid.yml"
    path.write_text(
        "- corpus: sst\n  encoder: [lstm, cnn]\n  seed: 2 seeds\n- corpus: sst\n"
        "- corpus: sst\n  encoder: average\n  attention: given\n  guide: [own, permuted]\n  base: {}\n  seed: 2 seeds\n"
        "  selection: test\n"
        "- corpus: sst\n  divergence: [0.0, 1.0e-3]\n  base: {seed: 10, hidden: 64}\n  seed: [50]\n"
        "- corpus: sst\n  encoder: average\n  attention: given\n  guide: own\n"
        "  base: [{seed: 257, divergence: 0.1, base: {}}]\n"
    )
    led = partial(Run, "sst", "average", "given")
    chosen = [Run("sst", seed=seed, selection="test") for seed in (10, 50)]
    assert sweep.read_grid(path) == [
        *(Run("sst", encoder, seed=seed) for encoder in ("lstm", "cnn") for seed in (10, 50)),
        *(
            led(seed=base.seed, selection="test", guide=guide, base=base)
            for guide in ("own", "permuted")
            for base in chosen
        ),
        *(Run("sst", divergence=d, seed=50, base=Run("sst", seed=10, hidden=64)) for d in (0.0, 1e-3)),
        led(guide="own", base=Run("sst", seed=257, divergence=0.1, base=Run("sst", seed=257))),
    ]


def test_guides_of_the_books_grids_have_bases_of_the_books_grids():
    seeds, guides = (
        sweep.read_grid(ROOT / "data/sweeps" / f"wiegreffe-{name}.yml") for name in ("seeds", "guides")
    )
    assert {base for run in guides for base in sweep.bases(run) if base.epochs} <= {*seeds}
    led = [run for run in guides if run.base is not None and run.base.family == "text"]
    assert [run.base.seed for run in led] == [run.seed for run in led] != []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- {corpus: sst, seed: 010}", "010 is no decimal number"),
        ("- {corpus: sst, seed: [0x10]}", "0x10 is no decimal number"),
        ("- corpus: sst\n  seed: 1\n  seed: 2\n", "'seed' stands twice"),
        ("- {corpus: sst, divergence: 0.1, base: {seed: 1, seed: 2}}", "'seed' stands twice"),
    ],
)
def test_what_yaml_would_read_otherwise_than_it_looks_is_refused(tmp_path, text, told):
    (tmp_path / "grid.yml").write_text(text)
    with refused(told):
        sweep.read_grid(tmp_path / "grid.yml")
