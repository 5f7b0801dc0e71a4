"""`python -m attn_core`: the command line. It is the package `attn_cli`, which may import attn_book as well."""

import sys
from importlib import import_module


def main() -> None:
    """Call the command line; one line where it is not installed."""
    try:
        command_line = import_module("attn_cli")
    except ModuleNotFoundError as error:
        if error.name != "attn_cli":
            raise
        sys.exit("attn_core: the command line, attn_cli, is not installed; it lies in book/, `make install` brings it")
    command_line.main()


if __name__ == "__main__":
    main()
