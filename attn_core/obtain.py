"""`obtain`, the one way to a run's result: from data/archive, else the local cache, else trained and traced now."""

import os
import sys

from attn_core import store
from attn_core.corpora import catalogue, encode, encoding
from attn_core.errors import AttnError
from attn_core.run import Run, command
from attn_core.store import Result


class AbsentRun(AttnError):
    """A run that is neither archived nor cached and was not to be trained."""


@encoding.held()
def obtain(run: Run, train: str = "never", progress: bool = True, traces: bool = True) -> Result:
    """The stored result of a run: from the archive, else the local cache, else computed.

    traces False: record and summary are enough, all that the archive has of many runs (see packing.py).

    train: 'never' (an absent run raises AbsentRun, except on generated corpora, which are trained live),
    'auto' (train what is absent) or 'fresh' (train anew, whatever is stored).
    """
    if train not in ("never", "auto", "fresh"):
        raise AttnError(f"unknown train mode '{train}'; known: never, auto, fresh")
    kept = False
    for folder in store.stores() if train != "fresh" else ():
        if store.has(folder, run.key):
            result = store.read(folder, run.key)
            if result.traces is not None or not traces:
                return result
            kept = True
    if train == "never" and not catalogue.corpus(run.corpus).generated:
        if kept:
            raise AbsentRun(
                f"the archive keeps no single documents of run {run.key}; make them with: {command(run)} --fresh"
            )
        raise AbsentRun(f"run {run.key} is not in the archive; make it with: {command(run)}")
    from attn_core.compute import compute  # torch: a stored run does without

    return compute(run, progress, fresh=train == "fresh")


def warn_if_data_differ(result: Result) -> None:
    """One warning line where the data at hand are not the data a stored run was trained on."""
    if result.source == "trained" or not os.environ.get("ATTN_DATA"):
        return
    run = result.record["run"]
    if not encoding.at_hand(run["corpus"]):  # a stored run needs no data
        return
    found = encode(run["corpus"], **dict(run["options"])).fingerprint
    if found != (stored := result.record["fingerprints"]["data"]):
        print(
            f"warning: {result.key} was trained on data {stored[:12]}, {run['corpus']} here is {found[:12]}; "
            "--fresh trains anew",
            file=sys.stderr,
        )
