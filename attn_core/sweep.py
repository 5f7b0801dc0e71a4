"""Many runs: a YAML grid, worked off run by run; what is stored is skipped, so an interrupted sweep resumes."""

import statistics
from collections import Counter
from itertools import product
from pathlib import Path

import yaml
from tqdm import tqdm

from attn_core import compute, store
from attn_core.errors import AttnError
from attn_core.obtain import obtain
from attn_core.packing import pack_run
from attn_core.run import SEEDS, Run, bases, from_dict, weights_key


def read_grid(path: Path) -> list[Run]:
    """The runs of a grid file: a list of blocks, each a product of its fields; `seed: N seeds` is the book's first N.

    `base:` is a mapping of the base's fields, see `with_base`, or a list of such.
    """
    try:
        blocks = yaml.safe_load(path.read_text())
    except OSError as error:
        raise AttnError(f"no grid file {path}; the book's own lie in data/sweeps") from error
    except yaml.YAMLError as error:
        raise AttnError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise AttnError(f"{path} must hold a list of blocks of run fields, such as '- corpus: sst'")
    return list(dict.fromkeys(run for block in blocks for run in expand(block, path)))


def expand(block: dict, path: Path) -> list[Run]:
    """All runs of one block, in the order written."""
    choices = {name: value if isinstance(value, list) else [value] for name, value in block.items()}
    if isinstance(block.get("seed"), str):
        count, _, word = block["seed"].partition(" ")
        if not count.isdigit() or word not in ("seed", "seeds") or not 1 <= int(count) <= len(SEEDS):
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
    """Whether nothing is left to do for a run: it lies in data/archive or, without pack, in the local cache."""
    stores = [store.archive_folder()] if pack else [store.archive_folder(required=False), store.cache_store()]
    return any(folder is not None and store.has(folder, run.key) for folder in stores)


def remains(runs: list[Run], pack: bool = False) -> str:
    """What is left of a sweep, in one line, with the minutes that one process takes.

    The minutes are those of stored runs of the same corpus, options and encoder (and attention, where there are any),
    whatever device those ran on: the median time per epoch and share of the training set, and of the tracing.
    """
    todo = [run for run in runs if not stored(run, pack)]
    line = f"{len(runs) - len(todo)} of {len(runs)} runs stored"
    if not todo:
        return line
    kinds = Counter(f"{run.corpus} {run.encoder} {run.attention}" for run in todo)
    line += f"; remaining: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}"
    known, unknown = expected_seconds(todo)
    if len(unknown) == len(todo):
        return f"{line}; no stored run is like them, so their time is not known"
    line += f"; about {known / 60:.0f} minutes by the seconds of stored runs like them"
    return f"{line}, without {len(unknown)} that no stored run is like" if unknown else line


def expected_seconds(todo: list[Run]) -> tuple[float, list[Run]]:
    """Seconds that runs will take in one process, and the runs of which no stored one says anything."""
    cache = store.cache_store()
    rates: dict[tuple, list[tuple[float, float]]] = {}
    wanted = {run.corpus for run in todo}
    for folder in (store.archive_folder(required=False), cache):
        for key in store.keys(folder) if folder else ():
            if key.split("-")[0] in wanted:
                try:
                    record = store.read_record(folder, key)
                except AttnError:  # its own run will say so; an estimate can do without
                    continue
                done, seconds = record["run"], record["seconds"]
                size = max(done["epochs"], 1) * done.get("fraction", 1.0)
                kind = (done["corpus"], tuple(map(tuple, done["options"])), done["encoder"])
                for name in (kind, (*kind, done["attention"])):
                    rates.setdefault(name, []).append((seconds["train"] / size, seconds["trace"]))
    total, unknown, trained = 0.0, [], set()
    for run in todo:
        kind = (run.corpus, run.options, run.encoder)
        like = rates.get((*kind, run.attention)) or rates.get(kind)
        if store.has(cache, run.key):
            continue  # only its tables are left to compute
        if like is None:
            unknown.append(run)
            continue
        train, trace = (statistics.median(column) for column in zip(*like, strict=True))
        weights = weights_key(run)
        if weights not in trained and not has_weights(run):
            total += train * run.epochs * run.fraction
        trained.add(weights)
        total += trace
    return total, unknown


def has_weights(run: Run) -> bool:
    """Whether a training's checkpoints lie in the local cache; the archive holds none."""
    return (store.cache_store().parent / "weights" / f"{weights_key(run)}.safetensors").is_file()


def with_bases(runs: list[Run], pack: bool = False) -> dict[Run, bool]:
    """The runs in their order, each after the bases it needs -> whether another run waits for its weights.

    Only weights that are not cached are waited for; bases that lack them are added where the list has them not.
    """
    found: dict[Run, bool] = {}

    def add(run: Run, weights: bool) -> None:
        if weights or not (stored(run, pack) or store.has(store.cache_store(), run.key)):
            for base in bases(run):
                if not has_weights(base) and not found.get(base):
                    add(base, True)
        if weights:
            found.pop(run, None)  # its place is behind its own bases
        found.setdefault(run, weights)

    for run in runs:
        add(run, False)
    return found


def make(run: Run, weights: bool, listed: bool = True, progress: bool = False) -> None:
    """Store a run that is absent; of one that others wait for the weights, alone where the sweep does not list it."""
    if weights and not has_weights(run):
        compute.weights_of(run, progress)
    if listed:
        obtain(run, train="auto", progress=progress, traces=False)


def lost_base(run: Run, failures: dict[str, str]) -> None:
    """AttnError that names the base where one that the run needs has failed."""
    for base in bases(run):
        if base.key in failures and not has_weights(base):
            raise AttnError(f"its base {base.key} failed ({failures[base.key]})")


def sweep(runs: list[Run], pack: bool = False, progress: bool = True) -> dict[str, str]:
    """Obtain every run, training what is absent; returns key -> error line of those that failed.

    Bases that runs need and whose weights are not cached are trained before them. pack: also put each run into
    data/archive, with the tables at default parameters.
    """
    store.sweep_away(store.cache_store())
    if pack:
        store.sweep_away(store.archive_folder())
    failures, listed = {}, set(runs)
    with tqdm(with_bases(runs, pack).items(), desc="sweep", unit="run", disable=not progress) as bar:
        for run, weights in bar:
            bar.set_postfix_str(run.key)
            try:
                packed = pack and store.has(store.archive_folder(), run.key)
                if packed and not weights:
                    continue
                lost_base(run, failures)
                make(run, weights, run in listed, progress)
                if pack and run in listed and not packed:
                    pack_run(run)
            except Exception as error:  # one failed run must not end a night's sweep; it is named at the end
                note(failures, run, one_line(error))
    return failures


def one_line(error: Exception) -> str:
    """An error as its run is reported failed."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def note(failures: dict[str, str], run: Run, reason: str) -> None:
    """Keep and print why a run failed."""
    failures[run.key] = reason
    tqdm.write(f"{run.key} failed: {failures[run.key]}")
