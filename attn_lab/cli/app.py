"""What all commands share: the application, its groups, and how tables are printed."""

from typing import Annotated

import pandas as pd
import typer
from typer import Option

from attn_core.version import __version__

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Re-run three papers on whether attention explains a model. --debug, anywhere, shows what an error hides.",
)
archive_app = typer.Typer(no_args_is_help=True, help="What lies in data/archive.")
app.add_typer(archive_app, name="archive")


def version(asked: bool) -> None:
    if asked:
        print(__version__)
        raise typer.Exit


@app.callback()
def options(
    asked: Annotated[bool, Option("--version", callback=version, is_eager=True, help="Print the version.")] = False,
) -> None:
    pass


Json = Annotated[bool, Option("--json", help="Print JSON for programs.")]


def show(rows: pd.DataFrame, as_json: bool, digits: int = 4) -> None:
    """Print a table, for people or as JSON for programs."""
    if as_json:
        print(rows.to_json(orient="records", indent=1, force_ascii=False))
    else:
        print(rows.to_string(index=False, float_format=f"{{:.{digits}f}}".format, na_rep="–", max_colwidth=90))
