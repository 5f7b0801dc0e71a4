"""Many runs: a YAML grid, worked off here or by the workers of a Dask cluster, all into one shared store.

What is stored is skipped, so an interrupted sweep resumes where it stopped.
"""

import logging
import math
import platform
import threading
import time
import traceback
from asyncio import CancelledError
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path

import yaml
from tqdm import tqdm

from attn_core import compute, foreign, store
from attn_core.compute import has_weights
from attn_core.corpora import encoding, files
from attn_core.errors import AttnError, one_line
from attn_core.obtain import fits, obtain, other_data, stored
from attn_core.packing import adopt, packed_store, prepare, same_data
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
        return list(dict.fromkeys(run for block in blocks for run in expand(block, path)))
    except RecursionError:
        raise AttnError(f"{path}: a base that is its own base; write out the fields of each") from None


def expand(block: dict, path: Path) -> list[Run]:
    """All runs of one block, in the order written."""
    choices = {name: value if isinstance(value, list) else [value] for name, value in block.items()}
    if (count := math.prod(map(len, choices.values()))) > MOST_RUNS:
        raise AttnError(f"{path}: a block of {count:,} runs; at most {MOST_RUNS:,}")
    if isinstance(seed := block.get("seed"), str):
        count, _, word = seed.partition(" ")
        if not count.isdecimal() or word not in ("seed", "seeds") or not 1 <= int(count) <= len(SEEDS):
            most = len(SEEDS)
            raise AttnError(f"{path}: seed must be a number, a list or 'N seeds' with N up to {most}, got {seed!r}")
        choices["seed"] = list(SEEDS[: int(count)])
    combinations = (dict(zip(choices, values, strict=True)) for values in product(*choices.values()))
    return [from_dict(with_base(fields, path)) for fields in combinations]


def with_base(fields: dict, path: Path) -> dict:
    """The fields of one run, its `base:` filled up: corpus, options, seed and selection are the run's own by default.
    So `base: {}` in a block of several seeds pairs each run with the base of its seed; a base may have a base."""
    base = fields.get("base")
    if base is None:
        return fields
    if not isinstance(base, dict):
        raise AttnError(f"{path}: base must be a mapping such as {{seed: 10}}, {{}} for the run's own, got {base!r}")
    inherited = {name: fields[name] for name in ("corpus", "options", "seed", "selection") if name in fields}
    return {**fields, "base": with_base(inherited | base, path)}


def remains(runs: list[Run], pack: bool = False) -> str:
    """What is left of a sweep, in one line."""
    todo = [run for run in runs if not stored(run, pack)]
    kinds = Counter(f"{run.corpus} {run.encoder} {run.attention}" for run in todo)
    left = f"; remaining: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}" if todo else ""
    if other := [run.key for run in todo if any(other_data(run, folder) for folder in store.stores())]:
        left += f"; of these, stored with other data than those at hand: {', '.join(other)}"
    return f"{len(runs) - len(todo)} of {len(runs)} runs stored{left}"


def plan(runs: list[Run], pack: bool = False) -> dict[Run, dict[str, bool]]:
    """What is left to do, the arguments of `make` by run: in the runs' order, each after the bases whose weights it
    needs and the cache lacks; these are added where the list has them not."""
    found: dict[Run, dict[str, bool]] = {}
    todo = {run for run in runs if not stored(run, pack)}

    def add(run: Run, weights: bool) -> None:
        for base in bases(run) if weights or not fits(run, store.cache_store()) else ():
            if not has_weights(base) and not found.get(base, {}).get("weights"):
                add(base, weights=True)
        if weights:
            found.pop(run, None)  # its place is behind its own bases
        found.setdefault(run, {"weights": weights, "result": run in todo, "packs": pack and run in todo})

    for run in filter(todo.__contains__, runs):
        add(run, weights=False)
    return found


def make(run: Run, weights: bool, result: bool, packs: bool = False, progress: bool = False) -> None:
    """What is absent of a run: its weights, for those who wait for them; its result; what `packing.adopt` takes.
    AttnError before any training where the archive's data are others."""
    if packs:
        same_data(as_dict(run), encoding.identity(run.corpus, run.options))
    if weights and not has_weights(run):
        compute.trained(run, compute.inputs_of(run), progress)
    if result:
        obtain(run, train="auto", progress=progress, traces=False)
    if packs:
        prepare(run)


# ---- here and on a cluster -------------------------------------------------------------------------------------------


def sweep(
    runs: list[Run],
    pack: bool = False,
    progress: bool = True,
    jobs: int = 1,
    scheduler: str = "",
    resources: dict[str, float] | None = None,
    no_workers_timeout: float = 40.0,
) -> dict[str, str]:
    """Obtain every run, training what is absent; returns key -> error line of those that failed.

    Bases that runs need and whose weights are not cached are trained before them. pack: also put each run into
    data/archive, with the tables at default parameters; this process alone writes there.
    jobs: processes of this machine. scheduler: address of a Dask cluster whose $ATTN_CACHE is this process's folder.
    resources: what each run takes of what its workers were started with, such as {"GPU": 1}. no_workers_timeout:
    seconds without any worker that offers them, after which the sweep is refused or, once begun, what is left fails.
    AttnError for an unreachable or lost scheduler, or one without fitting workers; dask not installed.
    """
    if jobs < 1:
        raise AttnError(f"jobs must be at least 1, got {jobs}")
    for folder in [store.cache_store(), *([packed_store(), store.archive_folder()] if pack else [])]:
        store.sweep_away(folder)
    tasks, failures = plan(runs, pack), {}
    if not tasks:
        return {}
    with ExitStack() as stack:
        bar = stack.enter_context(tqdm(total=len(tasks), desc="sweep", unit="run", disable=not progress, delay=0.1))
        if jobs == 1 and not scheduler:
            done = ((run, work(run, failures, progress=progress, **task)) for run, task in tasks.items())
        else:
            client = stack.enter_context(cluster(scheduler, jobs))
            done = on_cluster(client, tasks, resources or {}, no_workers_timeout)
        for run, reason in done:
            bar.set_postfix_str(run.key)
            try:
                if tasks[run]["packs"] and not reason:
                    adopt(run.key)
            except Exception as error:
                reason = one_line(error)
            if reason:
                failures[run.key] = reason
                tqdm.write(f"{run.key} failed: {reason}")
            bar.update()
    return failures


def work(run: Run, before: dict[str, str], expected: str = "", **how: bool) -> str:
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
            make(run, **how)
        except Exception as error:
            if expected:
                traceback.print_exc()
            return one_line(error)
    return ""


def named(run: Run) -> str:
    """A run's key, a hash of the user's own tables that it is trained on, and where it is stored."""
    own = [files.sha256(path) for path in files.own_tables(run.corpus)]
    return f"{run.key} on data {files.digest(own)[:8] if own else 'of the official files'} in {store.cache_store()}"


def on_cluster(
    client, tasks: dict[Run, dict[str, bool]], resources: dict[str, float], patience: float
) -> Iterator[tuple[Run, str]]:
    """Let the workers of a Dask cluster `work`; yields each run that is done and why it failed. Arguments: see `sweep`.

    Each run is a task of its own key, so two sweeps that share a run train it once. In Dask's graph a task depends on
    those of its bases, and on one that shares its training (the other selection). Two tasks a worker are handed out: the scheduler blames its loss on all tasks assigned to it (allowed-failures).
    """
    address, training = client.scheduler.address, {run: weights_key(run) for run in tasks}
    waiting, flying, futures, able_at = list(tasks), [], {}, time.monotonic()
    while waiting or flying:
        done = [run for run in flying if futures[run].status != "pending"]
        there = offers(client, address)  # raises where the scheduler is lost, and all cancelled
        for run in done:
            flying.remove(run)
            try:
                yield run, futures[run].result()  # what `work` returned
            except (Exception, CancelledError) as error:  # a worker lost too often, a task that was cancelled
                yield run, one_line(error)
        able = sum(all(offer.get(name, 0) >= amount for name, amount in resources.items()) for offer in there)
        able_at = time.monotonic() if able else able_at
        if time.monotonic() - able_at > patience:
            error = refusal(address, there, resources, patience)
            if not futures:
                raise error
            yield from ((run, one_line(error)) for run in [*flying, *waiting])
            return
        if able and not futures:
            store.staging(store.cache_store(), "sweep").rmdir()  # one that cannot be written is better known before
        while waiting and len(flying) < 2 * able:
            flying.append(run := waiting.pop(0))
            before = {other.key: future for other, future in futures.items()
                      if other in bases(run) or training[other] == training[run]}  # fmt: skip
            key = run.key + "-packed" * tasks[run]["packs"]
            how = {**tasks[run], "expected": named(run)}
            futures[run] = client.submit(work, run, before, **how, key=key, resources=resources)
        time.sleep(0.1)


@contextmanager
def cluster(scheduler: str, jobs: int):
    """A client of the Dask scheduler at an address; without one, of `jobs` processes of one thread each, which last as
    the block. AttnError without dask or scheduler."""
    try:
        from distributed import Client
    except ImportError as error:
        told = "several processes need dask, here and on the workers: pip install 'dask[distributed]'"
        raise AttnError(f"{told} (requirements.lock names the version)") from error
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


def offers(client, address: str) -> list[dict[str, float]]:
    """The resources of each worker; AttnError where the scheduler no longer answers."""
    try:
        if client.status in ("closing", "closed"):
            raise ConnectionError("lost")
        return [worker["resources"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()]
    except (Exception, CancelledError) as error:  # as the client's state is; a closed client's answer is empty
        raise AttnError(
            f"the Dask scheduler at {address} no longer answers ({type(error).__name__}); start it again and repeat "
            "the sweep, which goes on with what is not stored"
        ) from error


def refusal(address: str, there: list[dict], resources: dict[str, float], seconds: float) -> AttnError:
    """What was demanded, what there is, and what to do."""
    words = lambda offer: " ".join(f"{name}={amount:g}" for name, amount in offer.items())  # as `dask worker` takes it
    kinds = Counter(words(offer) or "no resources" for offer in there)
    demand = f"no worker that offers {words(resources)}" if resources else "no worker"
    found = ", ".join(f"{count} with {offer}" for offer, count in kinds.items()) or "none"
    start = f"dask worker {address}" + (f" --resources '{words(resources)}'" if resources else "")
    return AttnError(f"{demand} for {seconds:g} s at {address} (workers there: {found}); start one with: {start}")


def demanded(text: str) -> dict[str, float]:
    """The resources of 'GPU=1' or 'GPU=1 MEMORY=8'."""
    try:
        pairs = (item.split("=") for item in text.replace(",", " ").split())
        found = {name: float(amount) for name, amount in pairs}
    except ValueError:
        found = {"": 0}
    if not all(name and 0 < amount < math.inf for name, amount in found.items()):
        raise AttnError(f"resources must be NAME=AMOUNT with an amount above 0, such as GPU=1, got {text!r}")
    return found
