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
from attn_core.corpora import encoding, files
from attn_core.errors import AttnError, one_line
from attn_core.obtain import fits, obtain, other_data
from attn_core.packing import adopt, packed_store, prepare, same_data
from attn_core.run import SEEDS, Run, as_dict, bases, from_dict, weights_key

MOST_RUNS = 100_000
"""Of one block of a grid."""

CONNECT_SECONDS = 5
"""How long an unreachable scheduler is tried."""

VISIBLE_SECONDS = 60
"""How long a file system may take to show one machine what another has written (attribute caches of NFS)."""

ONE_AT_A_TIME = threading.Lock()


# ---- which runs ------------------------------------------------------------------------------------------------------


def read_grid(path: Path) -> list[Run]:
    """The runs of a grid file: a list of blocks, each a product of its fields; `seed: N seeds` is the book's first N.

    `base:` is a mapping of the base's fields, see `with_base`, or a list of such.
    """
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
    if isinstance(block.get("seed"), str):
        count, _, word = block["seed"].partition(" ")
        if not count.isdecimal() or word not in ("seed", "seeds") or not 1 <= int(count) <= len(SEEDS):
            raise AttnError(
                f"{path}: seed must be a number, a list or 'N seeds' with N up to {len(SEEDS)}, got {block['seed']!r}"
            )
        choices["seed"] = list(SEEDS[: int(count)])
    combinations = (dict(zip(choices, values, strict=True)) for values in product(*choices.values()))
    return [from_dict(with_base(fields, path)) for fields in combinations]


def with_base(fields: dict, path: Path) -> dict:
    """The fields of one run, its `base:` filled up: corpus, options, seed and selection are the run's own by default.

    So `base: {}` in a block of several seeds pairs each run with the base of its seed; a base may have a base.
    """
    base = fields.get("base")
    if base is None:
        return fields
    if not isinstance(base, dict):
        raise AttnError(f"{path}: base must be a mapping such as {{seed: 10}}, {{}} for the run's own, got {base!r}")
    inherited = {name: fields[name] for name in ("corpus", "options", "seed", "selection") if name in fields}
    return {**fields, "base": with_base(inherited | base, path)}


def stored(run: Run, pack: bool) -> bool:
    """Whether nothing is left to do for a run: it lies in data/archive or, without pack, in the local cache, trained on
    the data at hand."""
    return any(fits(run, folder) for folder in ([store.archive_folder()] if pack else store.stores()))


def remains(runs: list[Run], pack: bool = False) -> str:
    """What is left of a sweep, in one line."""
    todo = [run for run in runs if not stored(run, pack)]
    kinds = Counter(f"{run.corpus} {run.encoder} {run.attention}" for run in todo)
    left = f"; remaining: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}" if todo else ""
    if other := [run.key for run in todo if any(other_data(run, folder) for folder in store.stores())]:
        left += f"; of these, stored with other data than those at hand: {', '.join(other)}"
    return f"{len(runs) - len(todo)} of {len(runs)} runs stored{left}"


def has_weights(run: Run) -> bool:
    """Whether a training's checkpoints lie in the local cache; the archive holds none."""
    return store.weights_file(weights_key(run)).is_file()


def with_bases(runs: list[Run], pack: bool = False) -> dict[Run, bool]:
    """The runs in their order, each after the bases it needs -> whether another run waits for its weights.

    Only weights that are not cached are waited for; bases that lack them are added where the list has them not.
    """
    found: dict[Run, bool] = {}

    def add(run: Run, weights: bool) -> None:
        if weights or not (stored(run, pack) or fits(run, store.cache_store())):
            for base in bases(run):
                if not has_weights(base) and not found.get(base):
                    add(base, True)
        if weights:
            found.pop(run, None)  # its place is behind its own bases
        found.setdefault(run, weights)

    for run in runs:
        add(run, False)
    return found


def make(run: Run, weights: bool, listed: bool = True, packs: bool = False, progress: bool = False) -> None:
    """Store a run that is absent; of one that others wait for the weights, alone where the sweep does not list it.

    packs: also what `packing.adopt` takes; AttnError, before it is trained, where the archive's are of other data.
    """
    if packs:
        same_data(as_dict(run), encoding.identity(run.corpus, run.options))
    if weights and not has_weights(run):
        compute.trained(run, compute.inputs_of(run), progress)
    if listed:
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

    jobs: processes of this machine. scheduler: address of a Dask cluster, whose cache must be the folder of this
    process's $ATTN_CACHE. resources: amounts that each run takes of what its workers were started with, such as
    {"GPU": 1}. no_workers_timeout: seconds without any worker that offers them, after which the sweep is refused or,
    once begun, what is left fails.

    Errors: AttnError for an unreachable or lost scheduler, or one without fitting workers; dask not installed.
    """
    if jobs < 1:
        raise AttnError(f"jobs must be at least 1, got {jobs}")
    for folder in [store.cache_store(), *([packed_store(), store.archive_folder()] if pack else [])]:
        store.sweep_away(folder)
    failures, listed = {}, set(runs)
    tasks = {
        run: {"weights": lends, "listed": run in listed, "packs": pack and run in listed and not stored(run, pack)}
        for run, lends in with_bases(runs, pack).items()
        if lends or not stored(run, pack)
    }
    if not tasks:
        return {}
    with ExitStack() as stack:
        bar = tqdm(total=len(tasks), desc="sweep", unit="run", disable=not progress, delay=0.1)  # refusals alone
        stack.enter_context(bar)
        if jobs == 1 and not scheduler:
            done = ((run, work(run, failures, progress=progress, **task)) for run, task in tasks.items())
        else:
            client, scheduler = stack.enter_context(cluster(scheduler, jobs))
            done = on_cluster(client, scheduler, tasks, resources, no_workers_timeout)
        for run, reason in done:
            bar.set_postfix_str(run.key)
            if reason := reason or settle(run, **tasks[run]):
                failures[run.key] = reason
                tqdm.write(f"{run.key} failed: {reason}")
            bar.update()
    return failures


def work(run: Run, before: dict[str, str], expected: tuple[str, str] | None = None, **how: bool) -> str:
    """`make` a run; returns why it failed, in one line: one failed run must not end a night's sweep. '' if it did not.

    before: key -> the same of runs before it, its bases among them. expected: name and store that the sweep has for
    the run (`check`), of a worker, whose log has the traceback. How a run failed is returned as text because an error
    or a traceback that cannot be pickled (too deep, say) would never reach the client, which would wait for ever.

    One at a time in a process, however many threads a worker has: the random state of a training is the process's.
    """
    with ONE_AT_A_TIME:
        try:
            foreign.load_plugins()  # a run that was sent here was not made here
            if expected:
                check(run, *expected)
            for base in bases(run):
                if before.get(base.key) and not has_weights(base):
                    raise AttnError(f"its base {base.key} failed ({before[base.key]})")
            make(run, **how)
        except Exception as error:
            if expected:
                traceback.print_exc()
            return one_line(error)
    return ""


def settle(run: Run, weights: bool, listed: bool, packs: bool) -> str:
    """Make sure that what was made of a run is at hand, and archive what is packed; returns what hinders, as `work`."""
    folder, end = store.cache_store(), time.monotonic() + VISIBLE_SECONDS
    packed = lambda: packs and store.has(packed_store(), run.key)
    try:
        while not (packed() or stored(run, packs) if listed else has_weights(run)):
            if time.monotonic() > end:
                raise AttnError(f"a worker says it is stored, but {folder} does not show it; repeat the sweep")
            time.sleep(0.2)
            list(folder.iterdir())  # makes a network file system look again
        if packed():
            adopt(run.key)
    except Exception as error:
        return one_line(error)
    return ""


def on_cluster(
    client, scheduler: str, tasks: dict[Run, dict], resources: dict[str, float] | None, patience: float
) -> Iterator[tuple[Run, str]]:
    """Let the workers of a Dask cluster `work`; yields each run that is done and why it failed. Arguments: see `sweep`.

    Each run is a task of its own key, so two sweeps that share a run train it once. In Dask's graph a task depends on
    those of its bases, and on one that shares its training (the other selection). At most two tasks per worker are
    handed out: the scheduler blames the loss of a worker on all tasks assigned to it (allowed-failures), and only one
    of them runs.
    """
    folder, training = str(store.cache_store()), {run: weights_key(run) for run in tasks}
    waiting, flying, futures, lost = list(tasks), [], {}, None
    while waiting or flying:
        done = [run for run in flying if futures[run].status != "pending"]
        workers = offering(client, scheduler, resources)  # raises where the scheduler is lost, and all cancelled
        for run in done:
            flying.remove(run)
            yield run, outcome(futures[run])
        lost = None if workers else lost or time.monotonic()
        if lost is not None and time.monotonic() - lost > patience:
            error = AttnError(refusal(client, scheduler, resources, patience))
            if not futures:
                raise error
            yield from ((run, one_line(error)) for run in [*flying, *waiting])
            return
        if workers and not futures:
            store.staging(store.cache_store(), "sweep").rmdir()  # one that cannot be written is better known before
        while waiting and len(flying) < 2 * workers:
            run, needed = waiting[0], bases(waiting[0])
            before = {other.key: future for other, future in futures.items()
                      if other in needed or training[other] == training[run]}  # fmt: skip
            futures[run] = client.submit(
                work, run, before, expected=(named(run), folder), **tasks[run],
                key=run.key + "-packed" * tasks[run]["packs"], resources=resources,
            )  # fmt: skip
            flying.append(waiting.pop(0))
        time.sleep(0.1)


def outcome(future) -> str:
    """What `work` returned, or why it came to no end."""
    if future.status == "cancelled":
        return "its task was cancelled; repeat the sweep"
    return one_line(future.exception()) if future.status == "error" else future.result()


@contextmanager
def cluster(scheduler: str, jobs: int):
    """A client of a Dask scheduler and its address; of none, those of `jobs` processes here, which last as the block.

    These have one thread each: small models gain little from a second one and lose much where threads wait for each
    other. AttnError where there is no dask, or no scheduler at the address.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise AttnError(
            "a sweep on a cluster or in several processes needs dask, which is not installed; install it here and on "
            "the workers: pip install 'dask[distributed]' (requirements.lock names the version)"
        ) from error
    with ExitStack() as stack:
        if not scheduler:
            threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
            own = LocalCluster(
                n_workers=jobs, threads_per_worker=1, memory_limit=None, host="127.0.0.1", protocol="tcp://",
                dashboard_address=None, silence_logs=logging.ERROR, env=threads,
            )  # fmt: skip
            scheduler = stack.enter_context(own).scheduler_address
        try:
            client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise AttnError(
                f"no Dask scheduler answers at {scheduler!r} ({type(error).__name__}); start one with 'dask scheduler "
                "--host 127.0.0.1' (other machines: README) and give the address it prints, such as "
                "tcp://127.0.0.1:8786"
            ) from error
        yield stack.enter_context(client), scheduler


def offering(client, scheduler: str, resources: dict[str, float] | None) -> int:
    """How many workers of the cluster have what one run demands."""
    return sum(
        all(worker["resources"].get(name, 0) >= amount for name, amount in (resources or {}).items())
        for worker in workers_of(client, scheduler)
    )


def workers_of(client, scheduler: str) -> list[dict]:
    """What the scheduler knows of each worker; AttnError where it no longer answers."""
    try:
        if client.status in ("closing", "closed"):
            raise ConnectionError("lost")
        return list(client.scheduler_info(n_workers=-1)["workers"].values())
    except (Exception, CancelledError) as error:  # as the client's state is; a closed client's answer is empty
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


def check(run: Run, name: str, folder: str) -> None:
    """Make sure that this worker and the sweep mean the same store, the same run and the same data."""
    if str(store.cache_store()) != folder:
        raise AttnError(
            f"the worker on {platform.node()} stores runs in {store.cache_store()}, the sweep in {folder}; "
            "set ATTN_CACHE to one shared folder for both"
        )
    if named(run) != name:
        raise AttnError(
            f"the worker on {platform.node()} takes this run for {named(run)}, the sweep for {name}; install the same "
            "version and the same word vectors on both, and set ATTN_DATA to one shared folder or nowhere"
        )


def named(run: Run) -> str:
    """A run's key, and a hash of the user's own tables that it is trained on."""
    own = [files.sha256(path) for path in files.own_tables(run.corpus)]
    return f"{run.key} on data {files.digest(own)[:8] if own else 'of the official files'}"
