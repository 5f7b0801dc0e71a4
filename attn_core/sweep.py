"""Many runs: a YAML grid, worked off here or by the workers of a Dask cluster, all into one shared store.

What is stored is skipped, so an interrupted sweep resumes where it stopped.
"""

import logging
import math
import platform
import re
import threading
import time
import traceback
from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import product
from pathlib import Path

import yaml
from tqdm import tqdm

from attn_core import compute, foreign, store
from attn_core.compute import has_weights
from attn_core.corpora import encoding, files
from attn_core.errors import AttnError, one_line
from attn_core.packing import adopt, packed_store, prepare, same_data
from attn_core.results import fits, obtain, stored
from attn_core.run import SEEDS, Run, as_dict, bases, from_dict, weights_key

MOST_RUNS = 100_000
"""Of one block of a grid."""

CONNECT_SECONDS = 5
"""How long an unreachable scheduler is tried."""

ONE_AT_A_TIME = threading.Lock()
"""However many threads a worker has: the random state of a training is the process's."""


# ---- which runs ------------------------------------------------------------------------------------------------------


def read_grid(path: Path) -> list[Run]:
    """The runs of a grid file: a list of blocks, each a product of its fields; `seed: N seeds` is the book's first N,
    `base:` a mapping of the base's fields, see `with_base`, or a list of such."""
    try:
        blocks = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AttnError(f"no grid file {path}; the book's own lie in data/sweeps") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise AttnError(f"{path} is no YAML in UTF-8: {one_line(error)}") from error
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise AttnError(f"{path} must hold a list of blocks of run fields, such as '- corpus: sst'")
    try:
        return list(dict.fromkeys(run for block in blocks for run in expand(block)))
    except RecursionError:
        raise AttnError(f"{path}: a base that is its own base; write out the fields of each") from None


def expand(block: dict) -> list[Run]:
    """All runs of one block, in the order written."""
    choices = {name: value if isinstance(value, list) else [value] for name, value in block.items()}
    if first := re.fullmatch("([1-9]) seeds", str(block.get("seed"))):
        choices["seed"] = SEEDS[: int(first[1])]
    if (count := math.prod(map(len, choices.values()))) > MOST_RUNS:
        raise AttnError(f"a block of {count:,} runs; at most {MOST_RUNS:,}")
    combinations = (dict(zip(choices, values, strict=True)) for values in product(*choices.values()))
    return [from_dict(with_base(fields)) for fields in combinations]


def with_base(fields: dict) -> dict:
    """The fields of one run, its `base:` filled up: corpus, options, seed and selection are the run's own by default.
    So `base: {}` in a block of several seeds pairs each run with the base of its seed; a base may have a base."""
    if not isinstance(base := fields.get("base"), dict):
        return fields
    inherited = {name: fields[name] for name in ("corpus", "options", "seed", "selection") if name in fields}
    return {**fields, "base": with_base(inherited | base)}


def plan(runs: list[Run], pack: bool = False) -> dict[Run, bool]:
    """What is left to do: run -> whether its result is wanted, else its weights alone. In the runs' order, each after
    the bases whose weights it needs and the cache lacks; these are added where the list has them not."""
    todo, found = {run for run in runs if not stored(run, pack)}, {}

    def add(run: Run) -> None:
        for base in () if fits(run, store.cache_store()) else bases(run):
            if not has_weights(base):
                add(base)
        found.setdefault(run, run in todo)

    for run in filter(todo.__contains__, runs):
        add(run)
    return found


def make(run: Run, result: bool, pack: bool = False, progress: bool = False) -> None:
    """What is absent of a run: its result, and with pack what `packing.adopt` takes; else its weights alone, for those
    who wait for them. AttnError before any training where the archive's data are others."""
    if not result:
        compute.weights_of(run, progress)
        return
    if pack:
        same_data(as_dict(run), encoding.identity(run.corpus, run.options))
    obtain(run, train="auto", progress=progress, traces=False)
    if pack:
        prepare(run)


# ---- here and on a cluster -------------------------------------------------------------------------------------------


def sweep(
    runs: list[Run],
    pack: bool = False,
    progress: bool = True,
    jobs: int = 1,
    scheduler: str = "",
    no_workers_timeout: float = 40.0,
) -> dict[str, str]:
    """Obtain every run, training what is absent; returns key -> error line of those that failed.

    Bases that runs need and whose weights are not cached are trained before them. pack: also put each run into
    data/archive, with the tables at default parameters; this process alone writes there.
    jobs: processes of this machine. scheduler: address of a Dask cluster whose $ATTN_CACHE is this process's folder.
    AttnError for an unreachable or lost scheduler, or one that is no_workers_timeout seconds without any worker.
    """
    if jobs < 1:
        raise AttnError(f"jobs must be at least 1, got {jobs}")
    for folder in [store.cache_store(), *([packed_store(), store.archive_folder()] if pack else [])]:
        store.sweep_away(folder)
    for run in runs:
        if reason := foreign.unversioned(run):
            raise AttnError(f"{reason}, and a sweep keeps its runs; give it a version")
    tasks, failures = plan(runs, pack), {}
    if not tasks:
        return {}
    here = jobs == 1 and not scheduler
    bar = tqdm(total=len(tasks), desc="sweep", unit="run", disable=not progress, delay=0.1)
    with bar, nullcontext() if here else cluster(scheduler, jobs) as client:
        if here:
            done = ((run, work(run, failures, result, pack, progress)) for run, result in tasks.items())
        else:
            done = on_cluster(client, tasks, pack, no_workers_timeout)
        for run, reason in done:
            bar.set_postfix_str(run.key)
            try:
                if pack and tasks[run] and not reason:
                    adopt(run.key)
            except Exception as error:
                reason = one_line(error)
            if reason:
                failures[run.key] = reason
                tqdm.write(f"{run.key} failed: {reason}")
            bar.update()
    return failures


def work(
    run: Run, before: dict[str, str], result: bool, pack: bool, progress: bool = False, expected: str = ""
) -> str:
    """`make` a run; returns why it failed, in one line, or '': one failed run must not end a night's sweep.

    before: key -> the same of runs before it, its bases among them. expected: to a worker, what the sweep takes the run
    for, see `named`; its log has the traceback, for an error that cannot be pickled would never reach the client.
    """
    with ONE_AT_A_TIME:
        try:
            foreign.load_plugins()  # a run that was sent here was not made here
            if expected and named(run) != expected:
                raise AttnError(
                    f"the worker on {platform.node()} takes this run for {named(run)}, the sweep for {expected}; "
                    "set ATTN_CACHE to one shared folder for both, set ATTN_DATA to one shared folder or nowhere, and "
                    "install the same version and word vectors"
                )
            for base in bases(run):
                if before.get(base.key) and not has_weights(base):
                    raise AttnError(f"its base {base.key} failed ({before[base.key]})")
            make(run, result, pack, progress)
        except Exception as error:
            if expected:
                traceback.print_exc()
            return one_line(error)
    return ""


def named(run: Run) -> str:
    """A run's key, a hash of the user's own tables that it is trained on, and where it is stored."""
    own = [files.sha256(path) for path in files.own_tables(run.corpus)]
    return f"{run.key} on data {files.digest(own)[:8] if own else 'of the official files'} in {store.cache_store()}"


def on_cluster(client, tasks: dict[Run, bool], pack: bool, patience: float) -> Iterator[tuple[Run, str]]:
    """Let the workers of a Dask cluster `work`; yields each run that is done and why it failed. tasks: of `plan`.

    Each run is a task of its own key, so two sweeps that share a run train it once. In Dask's graph a task depends on
    those of its bases, and on one that shares its training (the other selection). Two tasks a worker are handed out:
    the scheduler blames its loss on all tasks assigned to it (allowed-failures).
    """
    waiting, flying, futures, seen = list(tasks), [], {}, time.monotonic()
    training, address = {run: weights_key(run) for run in tasks}, client.scheduler.address
    while waiting or flying:
        done = [run for run in flying if futures[run].done()]
        try:
            if client.status in ("closing", "closed"):
                raise ConnectionError("lost")
            workers = len(client.nthreads())
        except (Exception, CancelledError) as error:  # as the client's state is; all futures are cancelled
            lost = f"the Dask scheduler at {address} no longer answers ({type(error).__name__}); start it again"
            raise AttnError(f"{lost} and repeat the sweep, which goes on with what is not stored") from error
        for run in done:
            flying.remove(run)
            try:
                yield run, futures[run].result()  # what `work` returned
            except Exception as error:  # a worker lost too often, a task that was cancelled
                yield run, one_line(error)
        seen = time.monotonic() if workers else seen
        if time.monotonic() - seen > patience:
            lost = f"no worker at {address} for {patience:g} s; start one with 'dask worker {address}'"
            raise AttnError(f"{lost} and repeat the sweep, which goes on with what is not stored")
        while waiting and len(flying) < 2 * workers:
            flying.append(run := waiting.pop(0))
            before = {other.key: future for other, future in futures.items()
                      if other in bases(run) or training[other] == training[run]}  # fmt: skip
            key = f"{run.key}-packed" if pack and tasks[run] else run.key
            futures[run] = client.submit(work, run, before, tasks[run], pack, expected=named(run), key=key)
        time.sleep(0.1)


@contextmanager
def cluster(scheduler: str, jobs: int):
    """A client of the Dask scheduler at an address; without one, of `jobs` processes of one thread each, which last as
    the block. AttnError where none answers."""
    from distributed import Client

    own = {
        "n_workers": jobs, "threads_per_worker": 1, "memory_limit": None, "host": "127.0.0.1", "protocol": "tcp://",
        "dashboard_address": None, "silence_logs": logging.ERROR,
        "env": dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    }  # fmt: skip
    try:
        client = Client(scheduler or None, timeout=CONNECT_SECONDS, set_as_default=False, **({} if scheduler else own))
    except (OSError, ValueError) as error:
        raise AttnError(
            f"no Dask scheduler answers at {scheduler!r} ({type(error).__name__}); start one with 'dask scheduler "
            "--host 127.0.0.1' (other machines: README) and give the address it prints, such as tcp://127.0.0.1:8786"
        ) from error
    with client:
        yield client
