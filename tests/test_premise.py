"""The control with shuffled premises."""

import numpy as np
import pandas as pd
from test_panels import store_run

from attn_core.jain import premise
from attn_core.runs import Run

COLUMNS = ["encoder", "own", "shuffled", "difference", "low", "high", "n_seeds", "majority"]


def test_pairs_of_runs_by_seed(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "archive"
    folder.mkdir(parents=True)
    monkeypatch.setenv("ATTN_ARCHIVE", str(folder))
    assert premise.control().empty and "not tested" in premise.told(premise.control())
    for number, seed in enumerate((10, 50, 257)):
        store_run(folder, Run("snli", seed=seed), number + 5, False)  # accuracy higher by 0.05
        if seed != 257:
            store_run(folder, Run("snli", seed=seed, options=premise.SHUFFLED), number, False)
    (row,) = premise.control().itertuples()
    assert (row.encoder, row.n_seeds) == ("lstm", 2) and np.isclose(row.difference, 0.05) and np.isclose(row.own, 0.555)


def test_the_sentence_follows_the_numbers():
    used = pd.DataFrame([["lstm", 0.7, 0.6, 0.1, 0.05, 0.15, 3, 0.34]], columns=COLUMNS)
    assert "the premise is used" in premise.told(used)
    assert "no use of the premise is shown" in premise.told(used.assign(low=-0.05, difference=0.05))
    assert "one seed decides nothing" in premise.told(used.assign(low=float("nan"), high=float("nan"), n_seeds=1))
