"""Command line: python -m attn_core COMMAND. Every command has --help."""

import errno
import json
import os
import signal
import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
import typer
from typer import Argument, Option

from attn_core import foreign, index, store
from attn_core.corpora import files
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.errors import AttnError, one_line
from attn_core.experiments import asked
from attn_core.run import NAMED, from_dict, set_fields

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Re-run three papers on whether attention explains a model. --debug, anywhere, shows what an error hides.",
)
archive_app = typer.Typer(no_args_is_help=True, help="What lies in data/archive.")
app.add_typer(archive_app, name="archive")

ASKED = {
    "echo": "of words, each alone, give the text's decision",
    "locked": "of texts: every word alone gives it, so any attention does",
    "tau": "mean tau of attention and gradients (Jain & Wallace 4.1)",
    "shuffled": "of texts: p moves by less than 0.1 under shuffled weights (4.2.1)",
    "far twin": "of texts: another attention, JSD over 0.4, leaves p within 0.05 (4.2.2, exact)",
    "erased": "p moved, the most attended word erased (after Serrano & Smith 4)",
    "flat": "of decisions turn under equal weights, not retrained (after Wiegreffe & Pinter 3.2)",
}
"""What the numbers of `experiments.asked` mean."""

Json = Annotated[bool, Option("--json", help="Print JSON for programs.")]


def show(rows, as_json: bool, digits: int = 4) -> None:
    """Print a table, for people or as JSON for programs."""
    if as_json:
        print(rows.to_json(orient="records", indent=1, force_ascii=False))
    else:
        print(rows.to_string(index=False, float_format=f"{{:.{digits}f}}".format, na_rep="–", max_colwidth=90))


@app.command()
def corpora(as_json: Json = False) -> None:
    """List all data sets of the three papers: name, task, title, licence."""
    show(pd.DataFrame(CATALOGUE.values())[["name", "task", "title", "licence"]], as_json)


@app.command()
def run(
    context: typer.Context,
    corpus: Annotated[str, Option(help="Data set; `corpora` lists them.")],
    encoder: Annotated[str, Option(help="lstm, cnn, transformer, average, none; han_rnn to flan_none.")] = "lstm",
    attention: Annotated[str, Option(help="tanh (additive), dot (scaled) or uniform.")] = "tanh",
    seed: Annotated[int, Option(help="Seeds the weights and the batches.")] = 10,
    selection: Annotated[str, Option(help="Split that chooses the checkpoint: dev or test.")] = "dev",
    vectors: Annotated[str, Option(help="Word vectors: ppmi-300, indomain-300, random, or a text file.")] = "",
    epochs: Annotated[int | None, Option(help="Epochs of training; by default the paper's for the corpus.")] = None,
    fraction: Annotated[float, Option(help="Share of the training documents to use.")] = 1.0,
    other: Annotated[list[str], Option("--set", help="Any other field: hidden=64, options.cues=6.")] = [],
    fresh: Annotated[bool, Option("--fresh", help="Train anew, whatever is stored.")] = False,
    as_json: Json = False,
) -> None:
    """Train one model (or take it from the archive) and print its test metrics.

    Word vectors are counted (ppmi-300, a minute) unless named; the archive's first models start from learned ones.
    """
    from attn_core.results import obtain

    wanted = from_dict({name: context.params[name] for name in NAMED} | set_fields(other))
    result = obtain(wanted, train="fresh" if fresh else "auto", progress=not as_json, traces=False)
    record = {**result.record, "source": result.source}
    if as_json:
        print(json.dumps(record, indent=1))
        return
    lines = {"run": f"{record['key']}  ({result.source})", "vectors": record["run"]["vectors"]}
    lines["documents"] = ", ".join(f"{split} {record[f'n_{split}']}" for split in ("train", "dev", "test"))
    scores = ("accuracy", "f1_0", "f1_1", "f1_2", "macro_f1", "auc")
    lines |= {name: f"{record[name]:.4f}" for name in scores if name in record}
    train, trace = (record["seconds"][name] for name in ("train", "trace"))
    lines["seconds"] = f"train {train:.1f}, trace {trace:.1f}  ({record['device']})"
    print("\n".join(f"{name:10} {told}" for name, told in lines.items()))
    if wanted.family == "text" and result.traces is not None and result.traces.gradient is not None:
        few = result.traces.take(range(min(200, len(result.traces))))
        print(f"of {len(few)} documents:")
        print("\n".join(f"{answer:10.4f} {ASKED[name]}" for name, answer in asked(few).items()))


@app.command()
def sweep(
    grid: Annotated[Path, Argument(help="YAML grid; the book's own lie in data/sweeps.")],
    pack: Annotated[bool, Option("--pack", help="Put each run into data/archive.")] = False,
    dry: Annotated[bool, Option("--dry-run", help="List the runs and what remains.")] = False,
    jobs: Annotated[int, Option(help="Processes of this machine that share the runs, one thread each.")] = 1,
    scheduler: Annotated[str, Option(help="Address of a Dask scheduler whose workers share them; see README.")] = "",
    no_workers_timeout: Annotated[float, Option(help="Seconds to wait for a cluster's worker.")] = 40.0,
) -> None:
    """Work off a grid of runs; stored ones are skipped, so an interrupted sweep resumes."""
    from attn_core import sweep as sweeps
    from attn_core.results import stored

    if scheduler and jobs != 1:
        raise AttnError("--jobs starts processes here, --scheduler uses those of a cluster; give one of them")
    runs = sweeps.read_grid(grid)
    todo = {wanted for wanted in runs if not stored(wanted, pack)}
    if dry:
        print("\n".join(f"{'to do  ' if wanted in todo else 'stored '} {wanted.key}" for wanted in runs))
    print(f"{len(runs) - len(todo)} of {len(runs)} runs stored", flush=True)
    if dry:
        return
    failures = sweeps.sweep(runs, pack, True, jobs, scheduler, no_workers_timeout)
    print(f"{len(runs)} runs, {len(failures)} failed")
    for key, reason in failures.items():
        print(f"failed  {key}: {reason}")
    raise typer.Exit(1 if failures else 0)


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
    faults = store.faults(folder)
    for key in store.keys(folder) if not faults else ():
        try:
            store.verify(folder, key)
        except AttnError as error:
            faults.append(str(error))
    print("\n".join(faults) or f"{len(store.keys(folder))} runs are whole")
    raise typer.Exit(1 if faults else 0)


@archive_app.command("seal")
def archive_seal() -> None:
    """Write MANIFEST anew over what lies in data/archive and data/reported now; every change is printed."""
    changes, refused = store.seal(store.archive_folder())
    told = f"sealed {store.archive_folder()}: {len(changes)} files new, changed or gone; {len(refused)} runs refused"
    print("\n".join([*changes, *refused, told]))
    raise typer.Exit(1 if refused else 0)


@app.command()
def numbers(
    measure: Annotated[str, Argument(help="Such as tau_attention_gradient; --list names all.")] = "",
    statistic: Annotated[str, Argument(help="Such as mean; left out: all there are.")] = "any",
    where: Annotated[
        list[str], Option("--where", help="FIELD=VALUE: a run's field, predicted or bin; 'any' frees it.")
    ] = [],
    by: Annotated[list[str], Option("--by", help="Columns: one row each, mean and interval over seeds.")] = [],
    listed: Annotated[bool, Option("--list", help="What can be asked for.")] = False,
    as_json: Json = False,
) -> None:
    """Stored numbers of runs, one row a seed, or with --by means over seeds with their 95 % intervals."""
    if listed or not measure:
        rows = index.measures()
    else:
        pairs = dict(item.split("=", 1) for item in where if "=" in item)
        if len(pairs) != len(where):
            raise AttnError(f"--where takes FIELD=VALUE, each field once; got {' '.join(where)}")
        rows = index.numbers(measure, statistic, **pairs)
        if rows.empty:
            free = "--where generation=first asks for the archive's first models, `python -m attn_core archive list`"
            raise AttnError(f"no stored run fits {' '.join(where)}; {free} names all runs")
        if by:
            rows = index.over_seeds(rows, *dict.fromkeys([*by, "measure", "statistic"]))
        else:
            shown = ["corpus", "encoder", "attention", "vectors", "selection", "variant", "seed", *index.NAMES, "value"]
            rows = rows[[*shown, "data", "n_test", "key"]]
    show(rows, as_json)


@app.command()
def scorecard(as_json: Json = False) -> None:
    """Every reported number beside ours, with interval, tolerance and verdict."""
    from attn_book.scorecard import scorecard as rows_of

    columns = ["item", "corpus", "group", "encoder", "attention", "measure", "statistic"]
    columns += ["reported", "ours", "low", "high", "n_seeds", "data", "verdict"]
    show(rows_of() if as_json else rows_of()[columns], as_json, digits=3)


@app.command()
def read(
    text: Annotated[str, Argument(help="A sentence of your own, in English.")],
    epsilon: Annotated[float, Option(help="How far the other attention may move p, above 0 and below 1.")] = 0.05,
    key: Annotated[str, Option("--run", help="Read by the run of this key that was trained here.")] = "",
    as_json: Json = False,
) -> None:
    """What the archived SST model does with your sentence: attention, gradient, leave-one-out, exact adversary."""
    from attn_core.reader import MOST_DELETED, read_sentence, trained_here

    table, summary = read_sentence(text, epsilon, trained_here(key) if key else None)
    if as_json:
        tokens = json.loads(table.to_json(orient="records"))  # which knows no NaN
        print(json.dumps({**summary, "tokens": tokens}, indent=1))
        return
    print(summary["line"])
    if unknown := len(table) - int(table["known"].sum()):
        print(f"{unknown:,} of {len(table):,} words are unknown to the model, which reads all of them alike.")
    if len(table) > MOST_DELETED:
        print(f"Of more than {MOST_DELETED} words none is left out: that takes the square of their number.")
    show(table, as_json=False, digits=3)


@app.command()
def execute(
    page: Annotated[str, Argument(help="Page, such as jain/04-1-correlation.")],
    parameter: Annotated[list[str], Option("-p", "--parameter", help="NAME VALUE, or NAME=VALUE.")] = [],
    output: Annotated[Path | None, Option(help="Where the executed notebook goes.")] = None,
    compare: Annotated[str, Option(help="NAME=a,b: two runs side by side, as HTML.")] = "",
    html: Annotated[bool, Option("--html", help="Make a page like the book's of it, too.")] = False,
    show: Annotated[bool, Option("--open", help="And open it in a browser.")] = False,
    force: Annotated[bool, Option("--force", help="Replace what stands there, edited or another's.")] = False,
) -> None:
    """Re-run one page of the book with other parameters."""
    from attn_book.build import rerun

    if bare := [item for item in parameter if "=" not in item]:
        raise AttnError(f"-p {bare[0]}: it takes NAME=VALUE or NAME VALUE, such as -p epsilon 0.1")
    pairs = dict(item.split("=", 1) for item in parameter)
    path = rerun(page, pairs, output, compare, html or show, force)
    print(f"executed {page} -> {path}")
    if show:
        webbrowser.open(path.resolve().as_uri())


@app.command()
def study(
    file: Annotated[Path, Argument(help="CSV, TSV, JSONL or Parquet of texts and labels.")],
    text: Annotated[str, Option(help="Column of the texts.")] = "text",
    label: Annotated[str, Option(help="Column of the labels.")] = "label",
    encoder: Annotated[str, Option(help="lstm, cnn or average.")] = "lstm",
    seeds: Annotated[int, Option(help="Trainings of each model, 2 to 9.")] = 3,
    output: Annotated[Path, Option(help="Folder for the page and its numbers.")] = Path("_build/study"),
) -> None:
    """Every test of the three papers on your own texts: one page, and its numbers as CSV."""
    from attn_book.build import rerun

    target, csv = (output.resolve() / f"{file.stem}{ending}" for ending in (".ipynb", "-numbers.csv"))
    values = {"file": str(file.resolve()), "text": text, "label": label, "encoder": encoder, "seeds": seeds}
    path = rerun("_study", values | {"csv": str(csv)}, target, force=True)
    print(f"studied {file} -> {path}, {csv}")


@app.command()
def notebooks() -> None:
    """Write every page as a Jupyter notebook beside its source, for Jupyter or papermill; edited ones stay."""
    from attn_book.build import convert_all

    print("\n".join(map(str, convert_all())))


@app.command()
def book(
    edition: Annotated[Literal["teacher", "student"], Option(help="student: without solutions.")] = "teacher",
) -> None:
    """Execute all pages and build the book into _build/html; the students' edition into _build/student.

    Stopped, it goes on with the pages that are not done.
    """
    from attn_book.build import build

    def stop(*_) -> None:
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, signal.SIG_IGN)  # once is enough
        raise KeyboardInterrupt

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, stop)
    try:
        raise typer.Exit(build(edition=edition))
    except KeyboardInterrupt:
        print("stopped; what is done so far stays, the same command goes on from there", file=sys.stderr, flush=True)
        os._exit(130)  # at once: nobody waits for the pages that run, and their kernels end with this process


@app.command()
def clean() -> None:
    """Remove the notebooks that were written here; what was edited stays."""
    from attn_book.build import edited, repository

    folders = ("notebooks", "book", "_build/executed")
    for path in sorted(path for folder in folders for path in (repository() / folder).rglob("*.ipynb")):
        if edited(path):
            print(f"{path} was edited and stays")
        else:
            path.unlink()


@app.command()
def pdf() -> None:
    """Print the built book's chain of pages into one PDF in _build/html, by a headless Chromium."""
    from attn_book.build import write_pdf

    path = write_pdf()
    print(f"printed {path}" if path else "no Chromium was found, so no PDF was printed")


def join_pairs(words: list[str]) -> list[str]:
    """`-p NAME VALUE`, papermill's form, as `-p NAME=VALUE`."""
    joined = list(words)
    for place, word in enumerate(joined):  # grows shorter as it goes
        if word in ("-p", "--parameter") and not any("=" in name for name in joined[place + 1 : place + 2]):
            joined[place + 1 : place + 3] = ["=".join(joined[place + 1 : place + 3])]
    return joined


def main() -> None:
    """Run the command line. A user's mistake is one line and exit status 2; whatever nobody foresaw is one line and 1,
    with --debug among the words a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not Jupyter's
            stream.reconfigure(errors="backslashreplace")  # a console that knows ASCII alone shows a dash as \u2013
    words = join_pairs(sys.argv[1:])
    try:
        for variable in ("ATTN_CACHE", "ATTN_DATA"):
            files.folder_of(variable)  # an address is refused and a relative path settled before anything runs
        foreign.load_plugins()
        app(args=[word for word in words if word != "--debug"], prog_name="python -m attn_core")
    except Exception as error:
        if "--debug" in words:
            raise
        mine, full = isinstance(error, AttnError), getattr(error, "errno", None) == errno.ENOSPC
        hint = "make room there, or set ATTN_CACHE to another folder" if full else "add --debug to see where it arose"
        if isinstance(error, ModuleNotFoundError):
            hint = "`make install` brings all that trains a network"
        print(f"attn_core: {error if mine else f'{one_line(error)}; {hint}'}", file=sys.stderr)
        sys.exit(2 if mine else 1)


if __name__ == "__main__":
    main()
