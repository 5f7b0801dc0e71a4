"""The one way to a run's result, `obtain`: from data/archive, else the local cache, else trained and traced now."""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from attn_core.errors import AttnError, say
from attn_lab.data import catalogue, encoding, files
from attn_lab.runs import foreign, store
from attn_lab.runs.run import Run, command, from_dict
from attn_lab.runs.sentence import words_of
from attn_lab.runs.store import Result


class AbsentRun(AttnError):
    """A run that is neither archived nor cached and was not to be trained."""


def obtain(
    run: Run | str | Mapping[str, Any] = "",
    train: str = "never",
    progress: bool = True,
    traces: bool = True,
    key: str = "",
) -> Result:
    """The stored result of a run: from the archive, else the local cache, else computed.

    What was trained on other data than those at hand is passed over, with one line; so is that nothing is kept of what
    the user registered without a version.

    Parameters
    ----------
    run : Run, str or row
        Which training; of what is stored its key is enough, or a row of `numbers`.
    train : {'never', 'auto', 'fresh'}
        'never': an absent run is an error, except on generated corpora, which are trained live; 'auto': what is
        absent is trained; 'fresh': trained anew, whatever is stored.
    progress : bool
        Bars with the time left.
    traces : bool
        False: record and numbers are enough, all that the archive has of many runs (see attn_lab/runs/packing.py).
    key : str
        In place of `run`.

    Returns
    -------
    Result
        Its record, traces and, where the archive has them, numbers, documents and a table beside the run that it is
        compared with.

    Raises
    ------
    AbsentRun
        Nothing is stored and `train` is 'never'; the message has the command that trains it.
    """
    if train not in ("never", "auto", "fresh"):
        raise AttnError(f"unknown train mode '{train}'; known: never, auto, fresh")
    run = run_of(key or run)
    notice = foreign.unversioned(run)
    absent = f"run {run.key} is not in the archive; make it with: {command(run)}"
    for folder in [] if notice or train == "fresh" else holders(run):
        if other := other_data(run, folder):
            notice = f"{other}; not taken"
            absent = f"{other}; unset ATTN_DATA to read what is archived, or train it: {command(run)}"
            continue
        result = store.read(folder, run.key)
        if result.traces is not None or not traces or run.family == "cls":
            return attached(run, result)
        absent = f"the archive keeps no single documents of run {run.key}; make them with: {command(run)} --fresh"
    if train == "never" and not catalogue.corpus(run.corpus).generated:
        raise AbsentRun(absent)
    from attn_lab.runs.compute import compute  # torch: a stored run does without

    if notice:
        say(notice)
    return attached(run, compute(run, progress, fresh=train == "fresh"))


def run_of(named: Run | str | Mapping[str, Any]) -> Run:
    """A run; the stored one of a key, or of a row that has one. AttnError with near keys for none."""
    if isinstance(named, Run):
        return named
    key = named if isinstance(named, str) else named["key"]
    folders = store.stores()
    for folder in folders:
        if store.has(folder, key):
            return from_dict(store.read_record(folder, key)["run"])
    keys = sorted({known for folder in folders for known in store.keys(folder)})
    near = ", ".join(get_close_matches(key, keys, 3, 0.5)) or "`python -m attn_core archive list` names all"
    where = "" if keys else "; no archive is at hand: set ATTN_ARCHIVE to a clone's data/archive"
    raise AttnError(f"no stored run has the key '{key[:60]}'; near: {near}{where}")


def attached(run: Run, result: Result) -> Result:
    """A result whose model is loaded, and whose traces know their words, when they are asked for."""
    result = replace(result, load=partial(model_of, run))
    if result.traces is None:
        return result
    spell = partial(words_of, run, result.record.get("fingerprints", {}))
    return replace(result, traces=replace(result.traces, spell=spell))


def model_of(run: Run):
    """A run's trained network, see `Result.model`."""
    from attn_lab.runs import compute  # torch takes seconds

    return compute.model_of(run)


def holders(run: Run) -> list[Path]:
    """The stores that hold a run: archive, cache."""
    return [folder for folder in store.stores() if store.has(folder, run.key)]


def fits(run: Run, folder: Path) -> bool:
    """Whether a store holds a run, and of the data at hand."""
    return store.has(folder, run.key) and not foreign.unversioned(run) and not other_data(run, folder)


def stored(run: Run, packed: bool = False) -> bool:
    """Whether a run of the data at hand lies in data/archive or, unless it is to be packed, in the local cache."""
    folders = [store.archive_folder()] if packed else store.stores()
    return any(fits(run, folder) for folder in folders)


def other_data(run: Run, folder: Path) -> str:
    """That a stored run was trained on other data than those at hand, in words; '' where it was not.

    An archived run needs no data: only the user's own tables tell against it. Of data that are made of no files its key
    tells.
    """
    entry = catalogue.corpus(run.corpus)
    own = files.own_tables(run.corpus)
    if entry.generated or not entry.files or (folder != store.cache_store() and not own):
        return ""
    stored = store.read_record(folder, run.key).get("fingerprints", {}).get("data")
    now = encoding.identity(run.corpus, run.options)
    taken_without_texts = now is None and stored in catalogue.FINGERPRINTS
    if stored in (None, now) or taken_without_texts:
        return ""
    here = f"'{run.corpus}' here is {now[:12]}" if now else f"'{run.corpus}' is not here"
    return f"{folder / run.key} was trained on data {stored[:12]}, {here}{' by ATTN_DATA' if own else ''}"
