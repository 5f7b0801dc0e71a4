"""The small runs that sweeps are tested with, and calling the command."""

import json

from attn_lab.runs import packing, store, upkeep
from attn_lab.runs.run import Run

TINY = (("n_dev", 40), ("n_test", 40), ("n_train", 80))


def tiny(seed=10, options=TINY, **fields) -> Run:
    return Run("planted", encoder="average", seed=seed, epochs=1, options=options, **fields)


def pack_run(run: Run) -> None:
    """Put a cached run into the archive."""
    packing.prepare(run)
    packing.adopt(run.key)


def grid(tmp_path, seeds="[0, 1]"):
    path = tmp_path / "grid.yml"
    options = json.dumps([[list(pair) for pair in TINY]])
    path.write_text(
        f"- corpus: planted\n  encoder: average\n  epochs: 1\n  seed: {seeds}\n  options: {options}\n"
    )
    return str(path)


def whole_store() -> set[str]:
    """The keys of the cache, every run read and checked; nothing half-written is left once the dead are swept away."""
    folder = store.cache_store()
    for key in store.keys(folder):
        upkeep.verify(folder, key)
    store.sweep_away(folder)
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    assert {path.name for path in (folder / "runs").iterdir()} == {f"{key}.zip" for key in store.keys(folder)}
    return set(store.keys(folder))
