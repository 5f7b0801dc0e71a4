"""Commands on the book: its pages, the scorecard, the whole of it."""

import os
import signal
import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from attn_core.errors import AttnError
from attn_lab.cli.app import Json, app, show
from attn_lab.data.files import digest, replacing


@app.command()
def scorecard(as_json: Json = False) -> None:
    """Every reported number beside ours, with interval, tolerance and verdict."""
    from attn_book.scorecard import scorecard as rows_of

    names = "item corpus group encoder attention measure statistic reported ours low high n_seeds data verdict"
    show(rows_of() if as_json else rows_of()[names.split()], as_json, digits=3)


@app.command()
def execute(
    page: Annotated[str, Argument(help="Page, such as jain/04-1-correlation.")],
    parameters: Annotated[list[str] | None, Option("-p", "--parameter", help="NAME VALUE, or NAME=VALUE.")] = None,
    output: Annotated[Path | None, Option(help="Where the executed notebook goes.")] = None,
    compare: Annotated[str, Option(help="NAME=a,b,…: a run for each value, side by side, as HTML.")] = "",
    html: Annotated[bool, Option("--html", help="Make a page like the book's of it, too.")] = False,
    opened: Annotated[bool, Option("--open", help="And open it in a browser.")] = False,
    force: Annotated[bool, Option("--force", help="Replace what stands there, edited or another's.")] = False,
) -> None:
    """Re-run one page of the book with other parameters."""
    from attn_build.rendering import rerun

    pairs = {}
    for item in parameters or []:
        name, separator, value = item.partition("=")
        if not separator or name in pairs:
            raise AttnError(f"-p {item}: it takes NAME=VALUE or NAME VALUE, each name once, such as -p epsilon 0.1")
        pairs[name] = value
    path = rerun(page, pairs, output, compare, html or opened, force)
    print(f"executed {page} -> {path}")
    if opened:
        webbrowser.open(path.resolve().as_uri())


@app.command()
def study(
    context: typer.Context,
    file: Annotated[Path, Argument(help="CSV, TSV, JSON, JSONL, Parquet or Feather of texts and labels, or .gz.")],
    text: Annotated[str, Option(help="Column of the texts.")] = "text",
    label: Annotated[str, Option(help="Column of the labels.")] = "label",
    encoder: Annotated[str, Option(help="lstm, cnn, average, none, transformer, minilm, or your own.")] = "lstm",
    seeds: Annotated[int, Option(help="Trainings of each model, 3 to 9.")] = 3,
    epochs: Annotated[int, Option(help="0: as many as the number of texts asks for.")] = 0,
    split: Annotated[str, Option(help="Column with train, dev, test; without one they are drawn.")] = "split",
    fold: Annotated[int, Option(help="For few texts: 3 to 10 parts, each tested once.")] = 0,
    strict: Annotated[bool, Option("--strict", help="Refuse a table with rows that would be left out.")] = False,
    header: Annotated[bool, Option("--header/--no-header", help="Without: columns are numbered, --text 1.")] = True,
    tokens: Annotated[bool, Option("--tokens", help="The texts are cut already, by blanks.")] = False,
    encoding: Annotated[str, Option(help="Of a file of text, such as cp1250; else it is found out.")] = "",
    output: Annotated[Path, Option(help="Folder for the page and its numbers.")] = Path("_build/study"),
) -> None:
    """Is the attention of a model of your own texts an explanation? One page, and its numbers as CSV."""
    from attn_build.rendering import rerun
    from attn_build.sources import repository
    from attn_lab import study as put_to_the_tests

    repository()  # without the page's source nothing need be trained
    page, csv = outputs(file.resolve(), output.resolve())
    options = {name: value for name, value in context.params.items() if name not in ("file", "output")}
    asked = options | {"epochs": epochs or None, "tokenizer": str.split if options["tokens"] else None}
    del asked["tokens"]
    studied = put_to_the_tests(file, **asked)  # the page reads the cache
    os.environ["ATTN_STUDY"] = str(file.resolve().parent)  # not a parameter: a page that is handed on names no place
    path = rerun("_study", options | {"file": file.name}, page, force=True)
    with replacing(csv) as numbers:
        studied.table.to_csv(numbers, index=False)
    print(f"studied {file} -> {path}, {csv}")


def outputs(file: Path, folder: Path) -> tuple[Path, Path]:
    """The page and the numbers of a file that is studied, named by it and by a sum of its place. AttnError where the
    page was edited."""
    from attn_build.sources import edited

    page = folder / f"{file.stem}-{digest(str(file))[:6]}.ipynb"
    if folder.is_file() or edited(page):
        raise AttnError(f"{page} was edited, or lies in a file; name another folder with --output")
    return page, page.with_name(f"{page.stem}-numbers.csv")


@app.command()
def notebooks() -> None:
    """Write every page as a Jupyter notebook beside its source, for Jupyter or papermill; edited ones stay."""
    from attn_build.sources import convert_all

    print("\n".join(map(str, convert_all())))


@app.command()
def book(
    edition: Annotated[Literal["teacher", "student"], Option(help="student: without solutions.")] = "teacher",
) -> None:
    """Execute all pages and build the book into _build/html; the students' edition into _build/student.

    Stopped, it goes on with the pages that are not done.
    """
    from attn_build.build import build

    signals = (signal.SIGINT, signal.SIGTERM)

    def stop(*_) -> None:
        for name in signals:
            signal.signal(name, signal.SIG_IGN)  # once is enough
        raise KeyboardInterrupt

    for name in signals:
        signal.signal(name, stop)
    try:
        raise typer.Exit(build(edition=edition))
    except KeyboardInterrupt:
        print("stopped; what is done so far stays, the same command goes on from there", file=sys.stderr, flush=True)
        os._exit(130)  # at once: nobody waits for the pages that run, and their kernels end with this process


@app.command()
def clean() -> None:
    """Remove the notebooks that were written here; what was edited stays."""
    from attn_build.sources import edited, repository

    for folder in ("notebooks", "book", "_build/executed"):
        for path in sorted((repository() / folder).rglob("*.ipynb")):
            if edited(path):
                print(f"{path} was edited and stays")
            else:
                path.unlink()


@app.command()
def pdf() -> None:
    """Print the built book's chain of pages into one PDF in _build/html, by a headless Chromium."""
    from attn_build.pdf import write_pdf

    path = write_pdf()
    print(f"printed {path}" if path else "no Chromium was found, so no PDF was printed")
