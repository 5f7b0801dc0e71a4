"""Command line: python -m attn_core COMMAND. Every command has --help."""

import errno
import sys
from pathlib import Path

from attn_core.errors import AttnError, one_line
from attn_lab.cli import archive, pages, runs
from attn_lab.cli.app import app
from attn_lab.data import files
from attn_lab.runs import foreign

__all__ = ["app", "archive", "join_pairs", "main", "pages", "runs"]


NAMES = {"attn-core": "attn-core", "__main__": "python -m attn_core"}
"""How the program was called -> what it calls itself; a shell completes the first."""

EXTRAS = {"torch": "train", "spacy": "train", "distributed": "train", "gensim": "vectors", "tokenizers": "minilm"}
"""Module -> extra that brings it; `book` all others."""


def join_pairs(words: list[str]) -> list[str]:
    """`-p NAME VALUE`, papermill's form, as `-p NAME=VALUE`."""
    joined: list[str] = []
    for word in words:
        if joined[-2:-1] in (["-p"], ["--parameter"]) and "=" not in joined[-1]:
            joined[-1] = f"{joined[-1]}={word}"
        else:
            joined.append(word)
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
        app(args=[word for word in words if word != "--debug"], prog_name=NAMES.get(Path(sys.argv[0]).stem))
    except SystemExit as end:
        if end.code == 130:  # Ctrl-C
            print("stopped; what is done stays, the same command goes on from there", file=sys.stderr)
        raise
    except AttnError as error:
        if "--debug" in words:
            raise
        print(f"attn_core: {error}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        if "--debug" in words:
            raise
        print(f"attn_core: {one_line(error)}; {hint(error)}", file=sys.stderr)
        sys.exit(1)


def hint(error: Exception) -> str:
    """What may help against an error that nobody foresaw."""
    if getattr(error, "errno", None) == errno.ENOSPC:
        return "make room there, or set ATTN_CACHE to another folder"
    if isinstance(error, ModuleNotFoundError):
        extra = EXTRAS.get(str(error.name).split(".")[0], "book")
        return f"""pip install "attn-core[{extra}]" brings it, in a clone pip install ".[{extra}]" """.strip()
    return "add --debug to see where it arose"
