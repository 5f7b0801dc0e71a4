"""Commands on what lies in data/archive."""

import pandas as pd
import typer

from attn_core.errors import AttnError
from attn_lab.cli.app import Json, archive_app, show
from attn_lab.runs import store, upkeep


@archive_app.command("list")
def archive_list(as_json: Json = False) -> None:
    """Every archived run with its accuracy and macro F1."""
    folder = store.archive_folder()
    rows = [store.read_record(folder, key) for key in store.keys(folder)]
    show(pd.DataFrame(rows, columns=["key", "accuracy", "macro_f1"]), as_json)
    if not as_json:
        print(f"{len(rows)} runs")


@archive_app.command("verify")
def archive_verify() -> None:
    """Check every file against MANIFEST, and every archived run's metrics against its traces."""
    folder = store.archive_folder()
    faults = upkeep.faults(folder)
    for key in store.keys(folder) if not faults else ():
        try:
            upkeep.verify(folder, key)
        except AttnError as error:
            faults.append(str(error))
    print("\n".join(faults) or f"{len(store.keys(folder))} runs are whole")
    raise typer.Exit(1 if faults else 0)


@archive_app.command("seal")
def archive_seal() -> None:
    """Write MANIFEST anew over what lies in data/archive and beside it now; every change is printed."""
    folder = store.archive_folder()
    if not store.stems(folder):
        raise AttnError(f"{folder} holds no runs/*.parquet, so it is no archive of runs; nothing is written there")
    changes = upkeep.seal(folder)
    print("\n".join([*changes, f"sealed {folder}: {len(changes)} files new, changed or gone"]))
