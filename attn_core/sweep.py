"""Many runs: a YAML grid, worked off run by run; what is stored is skipped, so an interrupted sweep resumes."""

from itertools import product
from pathlib import Path

import yaml
from tqdm import tqdm

from attn_core import archive
from attn_core.errors import AttnError
from attn_core.runs import SEEDS, Run, from_dict, obtain


def read_grid(path: Path) -> list[Run]:
    """The runs of a grid file: a list of blocks, each a product of its fields; `seed: N seeds` is the book's first N."""
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
    return [from_dict(dict(zip(choices, values, strict=True))) for values in product(*choices.values())]


def sweep(runs: list[Run], pack: bool = False, progress: bool = True) -> dict[str, str]:
    """Obtain every run, training what is absent; returns key -> error line of those that failed.

    pack: also put each into data/archive, with the tables at default parameters.
    """
    archive.sweep_away(archive.cache_store())
    if pack:
        archive.sweep_away(archive.archive_folder())
    failures = {}
    with tqdm(runs, desc="sweep", unit="run", disable=not progress) as bar:
        for run in bar:
            bar.set_postfix_str(run.key)
            try:
                if pack and archive.has(archive.archive_folder(), run.key):
                    continue
                obtain(run, train="auto", progress=progress)
                if pack:
                    pack_run(run)
            except Exception as error:  # one failed run must not end a night's sweep; it is named at the end
                failures[run.key] = f"{type(error).__name__}: {error}"
                tqdm.write(f"{run.key} failed: {failures[run.key]}")
    return failures


def pack_run(run: Run) -> None:
    """Compute a cached run's tables from the traces of the whole test set and put it into the archive.

    The first seed of the book's list keeps the per-document table too.
    """
    from attn_core.experiments import document_table, summary_table

    store = archive.cache_store()
    if not archive.has(store, run.key):
        raise AttnError(f"run {run.key} is not in the local cache, only its archived sample is; train it: --fresh")
    traces = archive.read(store, run.key).traces
    documents = document_table(traces)
    tables = documents, summary_table(documents, traces.classes)
    archive.pack(run.key, tables, first_seed=run.seed == SEEDS[0])
