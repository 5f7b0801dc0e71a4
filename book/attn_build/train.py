"""Store anew the outputs of the page whose cells train: `python -m attn_build.train`; `archive seal` follows."""

import json

from attn_build import write
from attn_build.running import execute
from attn_build.sources import codes, declaration, read_notebook, repository
from attn_build.trained import NAME, PAGE, key


def main() -> None:
    values = declaration(PAGE).defaults
    written = codes(read_notebook(execute(PAGE, force=True)).cells, "torch")
    kept = {key(cell, values): cell.outputs for cell in written}
    write(repository() / "data" / NAME, json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
