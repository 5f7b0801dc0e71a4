"""A sweep on the workers of a Dask cluster: the same runs into one shared folder, whatever becomes of the workers."""

import logging
import platform
import threading
import time
import traceback
from collections import Counter, deque
from queue import Empty, SimpleQueue

from tqdm import tqdm

from attn_core import store
from attn_core.errors import AttnError
from attn_core.packing import pack_run
from attn_core.run import Run, bases, weights_key
from attn_core.sweep import has_weights, lost_base, make, note, one_line, stored, with_bases

CONNECT_SECONDS = 5
"""How long an unreachable scheduler is tried."""

VISIBLE_SECONDS = 60
"""How long a file system may take to show one machine what another has written (attribute caches of NFS)."""

RETRIES = 2
"""How often a run that raised is tried again on a cluster; lost workers are counted apart, by the scheduler."""

NO_DASK = (
    "a sweep on a cluster or in several processes needs dask, which is not installed; install it here and on the "
    "workers: pip install 'dask[distributed]' (requirements.lock names the version)"
)

ONE_AT_A_TIME = threading.Lock()


class RunFailed(AttnError):
    """A run failed on a worker; the message is the line that `sweep.one_line` makes of the error there."""


def sweep_cluster(
    runs: list[Run],
    scheduler: str,
    pack: bool = False,
    resources: dict[str, float] | None = None,
    no_workers_timeout: float = 40.0,
    progress: bool = True,
) -> dict[str, str]:
    """`sweep` on the workers of a Dask cluster, whose cache must be the folder of this process's $ATTN_CACHE.

    A worker stores its run itself, staged and renamed; this process packs as runs arrive. Each run is a task of its
    own key, so two sweeps that share a run train it once. A run waits for its bases, and for another that shares its
    training (the other selection). At most two tasks per worker are under way: the scheduler
    blames the loss of a worker on all tasks assigned to it (allowed-failures), and only one of them runs.
    resources: amounts that each run takes of what workers were started with, such as {"GPU": 1}. no_workers_timeout:
    seconds without any worker that offers them, after which the sweep is refused, or, once begun, what is left fails.
    Errors: AttnError for an unreachable or lost scheduler, or one without fitting workers; dask not installed.
    """
    cache = store.cache_store()
    awaited = with_bases(runs, pack)
    todo = [run for run, weights in awaited.items() if weights or not stored(run, pack)]
    if not todo:
        return {}
    waiting = deque(run for run in todo if awaited[run] or not store.has(cache, run.key))
    done, listed = SimpleQueue(), set(runs)
    for run in todo:
        if run not in waiting:
            done.put(run)  # only packing is left
    failures: dict[str, str] = {}
    flying: dict = {}
    with connect(scheduler) as client:
        start, lost = time.monotonic(), None
        while waiting and not offering(client, scheduler, resources):
            if time.monotonic() - start > no_workers_timeout:
                raise AttnError(refusal(client, scheduler, resources, no_workers_timeout))
            time.sleep(0.2)
        store.sweep_away(cache)
        beacon = store.staging(cache, "sweep")  # a worker that sees it has the same store
        try:
            with tqdm(total=len(todo), desc="sweep", unit="run", disable=not progress) as bar:
                while waiting or flying or not done.empty():
                    workers = offering(client, scheduler, resources) if waiting or flying else 0
                    if workers or not (waiting or flying):
                        lost = None
                    elif lost is None:
                        lost = time.monotonic()
                    elif time.monotonic() - lost > no_workers_timeout:
                        reason = refusal(client, scheduler, resources, no_workers_timeout)
                        for run in [*(run for run, _ in flying.values()), *waiting]:
                            note(failures, run, one_line(AttnError(reason)))
                        break
                    while len(flying) < 2 * workers and (run := next_ready(waiting, flying)):
                        try:
                            lost_base(run, failures)
                        except AttnError as error:
                            note(failures, run, one_line(error))
                            bar.update()
                            continue
                        future = client.submit(
                            work, run, run.key, beacon.name, awaited[run], run in listed,
                            key=run.key, resources=resources, retries=RETRIES,
                        )  # fmt: skip
                        flying[run.key] = run, future
                        future.add_done_callback(lambda _, run=run: done.put(run))
                    try:
                        run = done.get(timeout=1)
                    except Empty:
                        continue
                    bar.set_postfix_str(run.key)
                    packs = pack and run in listed and not stored(run, pack)
                    try:
                        collect(run, flying.pop(run.key, (run, None))[1], scheduler, run in listed, packs)
                    except RunFailed as error:
                        note(failures, run, str(error))
                    except Exception as error:  # as in `sweep`
                        note(failures, run, one_line(error))
                    bar.update()
        finally:
            beacon.rmdir()
    return failures


def sweep_jobs(runs: list[Run], jobs: int, pack: bool = False, progress: bool = True) -> dict[str, str]:
    """`sweep` on `jobs` processes of this machine with one thread each: a cluster that lasts as long as the sweep.

    Small models gain little from a second thread and lose much where threads wait for each other; two runs side by side
    keep two cores busy.
    """
    if jobs < 1:
        raise AttnError(f"jobs must be at least 1, got {jobs}")
    if not any(weights or not stored(run, pack) for run, weights in with_bases(runs, pack).items()):
        return {}
    try:
        from distributed import LocalCluster
    except ImportError as error:
        raise AttnError(NO_DASK) from error
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    with LocalCluster(
        n_workers=jobs, threads_per_worker=1, memory_limit=None, host="127.0.0.1", protocol="tcp://",
        dashboard_address=None, silence_logs=logging.ERROR, env=threads,
    ) as cluster:  # fmt: skip
        return sweep_cluster(runs, cluster.scheduler_address, pack, progress=progress)


def next_ready(waiting: deque, flying: dict) -> Run | None:
    """Take the first waiting run off whose bases are done and whose training no run under way shares; else None."""
    under_way = [run for run, _ in flying.values()]
    unfinished, trained = {*waiting, *under_way}, {weights_key(run) for run in under_way}
    for run in waiting:
        if weights_key(run) not in trained and not any(base in unfinished for base in bases(run)):
            waiting.remove(run)
            return run
    return None


def connect(scheduler: str):
    """A Dask client; AttnError where there is no dask, or no scheduler at the address."""
    try:
        from distributed import Client
    except ImportError as error:
        raise AttnError(NO_DASK) from error
    try:
        return Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise AttnError(
            f"no Dask scheduler answers at {scheduler!r} ({type(error).__name__}); start one with 'dask scheduler' "
            "and give the address it prints, such as tcp://10.0.0.1:8786"
        ) from error


def offering(client, scheduler: str, resources: dict[str, float] | None) -> int:
    """How many workers of the cluster have what one run demands."""
    return sum(
        all(worker["resources"].get(name, 0) >= amount for name, amount in (resources or {}).items())
        for worker in workers_of(client, scheduler)
    )


def workers_of(client, scheduler: str) -> list[dict]:
    """What the scheduler knows of each worker; AttnError where it no longer answers."""
    try:
        return list(client.scheduler_info()["workers"].values())
    except (OSError, RuntimeError, ValueError, KeyError) as error:  # a closed client's answer is empty
        raise AttnError(
            f"the Dask scheduler at {scheduler} no longer answers ({type(error).__name__}); "
            "start it again and repeat the sweep, which goes on with what is not stored"
        ) from error


def refusal(client, scheduler: str, resources: dict[str, float] | None, seconds: float) -> str:
    """What was demanded, what there is, and what to do."""
    there = Counter(words(worker["resources"]) or "no resources" for worker in workers_of(client, scheduler))
    demand = f"no worker that offers {words(resources)}" if resources else "no worker"
    found = ", ".join(f"{count} with {offer}" for offer, count in there.items()) or "none"
    start = f"dask worker {scheduler}" + (f" --resources '{words(resources)}'" if resources else "")
    return f"{demand} for {seconds:g} s at {scheduler} (workers there: {found}); start one with: {start}"


def words(resources: dict[str, float]) -> str:
    """Resources as `dask worker --resources` takes them."""
    return " ".join(f"{name}={amount:g}" for name, amount in resources.items())


def demanded(text: str) -> dict[str, float] | None:
    """The resources of 'GPU=1' or 'GPU=1 MEMORY=8'; None for none."""
    found = {}
    for item in text.replace(",", " ").split():
        name, _, amount = item.partition("=")
        try:
            found[name] = float(amount)
        except ValueError:
            found[name] = 0.0
        if not name or not 0 < found[name] < float("inf"):
            raise AttnError(f"resources must be NAME=AMOUNT with an amount above 0, such as GPU=1, got {item!r}")
    return found or None


def work(run: Run, key: str, beacon: str, weights: bool = False, listed: bool = True) -> None:
    """What a worker does with a run: `sweep.make`.

    One at a time in a process, however many threads the worker has: the random state of a training is the process's.
    Raises RunFailed alone, outside of the handler: an error or a traceback that cannot be pickled (too deep, say) would
    never reach the client, which would wait for ever. The worker's log has the traceback.
    """
    reason = ""
    with ONE_AT_A_TIME:
        try:
            check(run, key, beacon)
            make(run, weights, listed)
        except Exception as error:
            traceback.print_exc()
            reason = one_line(error)
    if reason:
        raise RunFailed(reason)


def check(run: Run, key: str, beacon: str) -> None:
    """Make sure that this worker and the sweep mean the same folder and the same run."""
    folder = store.cache_store()
    if not (folder / beacon).is_dir():
        raise AttnError(
            f"the worker on {platform.node()} stores runs in {folder}, the sweep in another folder; "
            "set ATTN_CACHE to one shared folder for both"
        )
    if run.key != key:
        raise AttnError(
            f"the worker on {platform.node()} gives this run the key {run.key}, the sweep {key}; "
            "install the same version and the same word vectors on both"
        )


def collect(run: Run, future, scheduler: str, listed: bool, pack: bool) -> None:
    """Raise what a finished task raised, else make sure that its run is stored, and pack it. future: None if cached.

    listed: False of a base that only lends its weights.
    """
    if future is not None and future.status == "cancelled":
        raise AttnError(f"its task was cancelled at {scheduler}; repeat the sweep")
    if future is not None and future.status == "error":
        raise future.exception()
    folder, end = store.cache_store(), time.monotonic() + VISIBLE_SECONDS
    while not (store.has(folder, run.key) or stored(run, pack) if listed else has_weights(run)):
        if time.monotonic() > end:
            raise AttnError(f"a worker says it is stored, but {folder} does not show it; repeat the sweep")
        time.sleep(0.2)
        list(folder.iterdir())  # makes a network file system look again
    if pack:
        pack_run(run)
