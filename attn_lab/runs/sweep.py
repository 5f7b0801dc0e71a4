"""Many runs: a YAML grid, worked off here or by the workers of a Dask cluster, all into one shared store.

What is stored is skipped, so an interrupted sweep resumes where it stopped.
"""

import math
import platform
import re
import threading
import traceback
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import product
from pathlib import Path

import yaml
from tqdm import tqdm

from attn_core.errors import AttnError, one_line
from attn_lab.data import encoding, files
from attn_lab.runs import cards, compute, foreign, store
from attn_lab.runs.compute import has_weights
from attn_lab.runs.packing import adopt, prepare, same_data
from attn_lab.runs.processes import side_by_side
from attn_lab.runs.results import fits, obtain, stored
from attn_lab.runs.run import SEEDS, Run, as_dict, bases, from_dict, weights_key

MOST_RUNS = 100_000
"""Of one block of a grid."""

LARGEST_GRID = 10**7
"""Bytes."""

CONNECT_SECONDS = 5
"""How long an unreachable scheduler is tried."""

ONE_AT_A_TIME = threading.Lock()
"""However many threads a worker has: the random state of a training is the process's."""


# ---- which runs ------------------------------------------------------------------------------------------------------


class GridLoader(yaml.SafeLoader):
    """YAML whose whole numbers are decimal (in YAML 1.1, 010 is 8) and whose mappings hold each key once."""

    def construct_decimal(self, node: yaml.ScalarNode) -> int:
        """The number; an error of YAML's for other than decimal ones."""
        if not re.fullmatch(r"[-+]?(0|[1-9][0-9_]*)", node.value):
            raise yaml.constructor.ConstructorError(
                problem=f"{node.value} is no decimal number", problem_mark=node.start_mark
            )
        return int(node.value.replace("_", ""))

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        """The mapping; an error of YAML's for a key that stands twice."""
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(problem=f"'{key}' stands twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


GridLoader.add_constructor("tag:yaml.org,2002:int", GridLoader.construct_decimal)


def read_grid(path: Path) -> list[Run]:
    """The runs of a grid file: a list of blocks, each a product of its fields; `seed: N seeds` is the book's first N,
    `base:` a mapping of the base's fields, see `with_base`, or a list of such."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_GRID:
            raise OSError("no file of a grid's size")
        blocks = yaml.load(path.read_text(encoding="utf-8"), GridLoader)
    except OSError as error:
        raise AttnError(
            f"no grid file {path} of at most {LARGEST_GRID:,} bytes; the book's own lie in data/sweeps"
        ) from error
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
        choices["seed"] = list(SEEDS[: int(first[1])])
    if (count := math.prod(map(len, choices.values()))) > MOST_RUNS:
        raise AttnError(f"a block of {count:,} runs; at most {MOST_RUNS:,}")
    combinations = (dict(zip(choices, values, strict=True)) for values in product(*choices.values()))
    return [from_dict(with_base(fields)) for fields in combinations]


def with_base(fields: dict) -> dict:
    """The fields of one run, its `base:` filled up: corpus, options, seed and selection are the run's own by default.
    So `base: {}` in a block of several seeds pairs each run with the base of its seed; a base may have a base."""
    base = fields.get("base")
    if not isinstance(base, dict):
        return fields
    inherited = {name: fields[name] for name in ("corpus", "options", "seed", "selection") if name in fields}
    return {**fields, "base": with_base(inherited | base)}


def plan(runs: list[Run], pack: bool = False) -> dict[Run, bool]:
    """What is left to do: run -> whether its result is wanted, else its weights alone. In the runs' order, each after
    the bases whose weights it needs and the cache lacks; these are added where the list has them not."""
    todo = {run for run in runs if not stored(run, pack)}
    tasks: dict[Run, bool] = {}

    def add(run: Run) -> None:
        for base in () if fits(run, store.cache_store()) else bases(run):
            if not has_weights(base):
                add(base)
        tasks.setdefault(run, run in todo)

    for run in runs:
        if run in todo:
            add(run)
    return tasks


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
    jobs: processes of this machine, which open no port. scheduler: address of a Dask cluster whose $ATTN_CACHE is
    this process's folder.
    AttnError for an unreachable or lost scheduler, one that is no_workers_timeout seconds without any worker, and runs
    of what the user registered without a version, which are kept nowhere.
    """
    check(runs, jobs)
    sweep_away(pack)
    tasks = plan(runs, pack)
    if not tasks:
        return {}
    failures: dict[str, str] = {}
    bar = tqdm(total=len(tasks), desc="sweep", unit="run", disable=not progress, delay=0.1)
    with bar, cluster(scheduler) if scheduler else nullcontext() as client:
        if scheduler:
            done = on_cluster(client, tasks, pack, no_workers_timeout)
        elif jobs > 1:
            done = on_processes(tasks, failures, pack, jobs)
        else:
            done = ((run, work(run, failures, result, pack, progress)) for run, result in tasks.items())
        for run, failure in done:
            bar.set_postfix_str(run.key)
            reason = failure or (reason_of(adopt, run.key) if pack and tasks[run] else "")
            if reason:
                failures[run.key] = reason
                tqdm.write(f"{run.key} failed: {reason}")
            bar.update()
    return failures


def check(runs: list[Run], jobs: int) -> None:
    """AttnError for what `sweep` does not take."""
    if jobs < 1:
        raise AttnError(f"jobs must be at least 1, got {jobs}")
    for run in runs:
        if reason := foreign.unversioned(run):
            raise AttnError(f"{reason}, and a sweep keeps its runs; give it a version")


def sweep_away(pack: bool) -> None:
    """Remove what killed processes have left half-written in the stores that a sweep writes."""
    store.sweep_away(store.cache_store())
    if pack:
        store.sweep_away(store.archive_folder())


def reason_of(call: Callable, *arguments) -> str:
    """What a call returns or, in one line, why it failed: one failed run must not end a night's sweep. '' for None."""
    try:
        return call(*arguments) or ""
    except Exception as error:  # noqa: BLE001  (of many kinds)
        return one_line(error)


def on_processes(tasks: dict[Run, bool], failures: dict[str, str], pack: bool, jobs: int) -> Iterator[tuple[Run, str]]:
    """`work` in processes of this machine, on its GPUs where it has any; yields each run that is done and why it
    failed."""

    def start(process, run: Run):
        return process.submit(work, run, dict(failures), tasks[run], pack)

    for run, future in side_by_side(cards.devices(jobs), needed_before(tasks), start):
        yield run, reason_of(future.result)


def needed_before(tasks: Iterable[Run]) -> dict[Run, list[Run]]:
    """What is done before each run: its bases, and one of its own training (the other selection)."""
    training: dict[str, Run] = {}
    needed = {}
    for run in tasks:
        needed[run] = [*bases(run), *filter(None, [training.get(weights_key(run))])]
        training[weights_key(run)] = run
    return needed


def work(run: Run, before: dict[str, str], result: bool, pack: bool, progress: bool = False, expected: str = "") -> str:
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
        except Exception as error:  # noqa: BLE001
            if expected:
                traceback.print_exc()
            return one_line(error)
    return ""


def named(run: Run) -> str:
    """A run's key, a hash of the user's own tables that it is trained on, and where it is stored."""
    own = [files.sha256(path) for path in files.own_tables(run.corpus)]
    return f"{run.key} on data {files.digest(own)[:8] if own else 'of the official files'} in {store.cache_store()}"


def on_cluster(client, tasks: dict[Run, bool], pack: bool, patience: float) -> Iterator[tuple[Run, str]]:
    """Let the workers of a Dask cluster `work`; yields each run that is done and why it failed. tasks: of `plan`."""
    from distributed import as_completed

    runs = submit(client, tasks, pack)
    while runs:
        await_workers(client, patience)
        try:
            for future in as_completed(list(runs), client.loop, timeout=patience):
                if future.cancelled():
                    raise AttnError(lost_scheduler(client))
                # What `work` returned or, of a task whose worker was lost too often, what Dask says of it.
                yield runs.pop(future), reason_of(future.result)
        except TimeoutError:
            continue  # nothing was done for a while: are there workers?


def submit(client, tasks: dict[Run, bool], pack: bool) -> dict:
    """Future -> run, of all tasks.

    Each run is a task of its own key, so two sweeps that share a run train it once. In Dask's graph a task depends on
    those of its bases, and on one that shares its training (the other selection). Keys of one group let the scheduler
    hold back what no worker has begun: it blames a lost worker on all tasks that it was given (allowed-failures).
    """
    futures: dict[Run, object] = {}
    for run, needed in needed_before(tasks).items():
        result = tasks[run]
        before = {other.key: futures[other] for other in needed if other in futures}
        key = ("attn_core", f"{run.key}-packed" if pack and result else run.key)
        futures[run] = client.submit(work, run, before, result, pack, expected=named(run), key=key)
    return {future: run for run, future in futures.items()}


def await_workers(client, patience: float) -> None:
    """Go on once there is a worker; AttnError where none appears, or where the scheduler is lost."""
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError as error:
        address = client.scheduler.address
        lost = f"no worker at {address} for {patience:g} s; start one with 'dask worker {address}'"
        raise AttnError(f"{lost} and repeat the sweep, which goes on with what is not stored") from error
    except Exception as error:  # as the client's state is
        raise AttnError(lost_scheduler(client)) from error


def lost_scheduler(client) -> str:
    """That the scheduler is gone, and what to do."""
    lost = f"the Dask scheduler at {client.scheduler.address} no longer answers; start it again"
    return f"{lost} and repeat the sweep, which goes on with what is not stored"


@contextmanager
def cluster(scheduler: str):
    """A client of the Dask scheduler at an address. AttnError where none answers."""
    from distributed import Client

    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise AttnError(
            f"no Dask scheduler answers at {scheduler!r} ({type(error).__name__}); start one with 'dask scheduler "
            "--host 127.0.0.1' (other machines: book/rerun.md) and give the address it prints, such as "
            "tcp://127.0.0.1:8786"
        ) from error
    with client:
        yield client
