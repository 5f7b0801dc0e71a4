"""The one way to a run's result, `obtain`: from data/archive, else the local cache, else trained and traced now."""

from pathlib import Path

from attn_core import store
from attn_core.corpora import catalogue, encoding, files
from attn_core.errors import AttnError
from attn_core.run import Run, command, first_vectors
from attn_core.store import Result


class AbsentRun(AttnError):
    """A run that is neither archived nor cached and was not to be trained."""


@encoding.held()
def obtain(run: Run, train: str = "never", progress: bool = True, traces: bool = True) -> Result:
    """The stored result of a run: from the archive, else the local cache, else computed. What was trained on other data
    than those at hand is passed over, with one line.

    train: 'never' (an absent run raises AbsentRun, except on generated corpora, which are trained live),
    'auto' (train what is absent) or 'fresh' (train anew, whatever is stored). traces False: record and summary are
    enough, all that the archive has of many runs (see packing.py).
    """
    if train not in ("never", "auto", "fresh"):
        raise AttnError(f"unknown train mode '{train}'; known: never, auto, fresh")
    kept, other, folders = False, "", []
    if train != "fresh":
        beside = store.archive_folder(required=False)  # whole runs that pages ask for lie in data/measured
        folders = store.stores() + ([beside.with_name("measured") / "runs"] if beside else [])
    for folder in [folder for folder in folders if store.has(folder, run.key)]:
        if reason := other_data(run, folder):
            other = reason
        else:
            result, kept = store.read(folder, run.key), True
            if result.traces is not None or not traces:
                return result
    if train == "never" and not catalogue.corpus(run.corpus).generated:
        absent = f"run {run.key} is not in the archive; make it with: {command(run)}"
        if other:
            absent = f"{other}; unset ATTN_DATA to read what is archived, or train it: {command(run)}"
        elif kept:
            absent = f"the archive keeps no single documents of run {run.key}; make them with: {command(run)} --fresh"
        raise AbsentRun(absent)
    from attn_core.compute import compute  # torch: a stored run does without

    if other:
        files.say(f"{other}; not taken")
    return compute(run, progress, fresh=train == "fresh")


def fits(run: Run, folder: Path) -> bool:
    """Whether a store holds a run, and of the data at hand."""
    return store.has(folder, run.key) and not other_data(run, folder)


def stored(run: Run, packed: bool = False) -> bool:
    """Whether a run of the data at hand lies in data/archive or, unless it is to be packed, in the local cache."""
    return any(fits(run, folder) for folder in ([store.archive_folder()] if packed else store.stores()))


def stored_vectors(default: str, corpus: str, **fields: object) -> str:
    """The word vectors under which a model is stored: `default`, else those of the archive's first generation, else
    those of `Run`, which it would also be trained with. fields: of `Run` (encoder, attention, seed, …)."""
    for vectors in (default, first_vectors(corpus)):
        if stored(Run(corpus, vectors=vectors, **fields)):
            return vectors
    return catalogue.corpus(corpus).vectors


def other_data(run: Run, folder: Path) -> str:
    """That a stored run was trained on other data than those at hand, in words; '' where it was not. An archived run
    needs no data: only the user's own tables tell against it. Of generated and foreign data a run's key tells."""
    entry, own = catalogue.corpus(run.corpus), files.own_tables(run.corpus)
    if entry.generated or encoding.is_foreign(run.corpus) or (folder != store.cache_store() and not own):
        return ""
    stored = store.read_record(folder, run.key).get("fingerprints", {}).get("data")
    now = encoding.identity(run.corpus, run.options)
    if stored in (None, now) or (now is None and (entry.own or stored in catalogue.FINGERPRINTS)):
        return ""
    here = f"'{run.corpus}' here is {now[:12]}" if now else f"'{run.corpus}' is not here"
    return f"{folder / run.key} was trained on data {stored[:12]}, {here}{' by ATTN_DATA' if own else ''}"
