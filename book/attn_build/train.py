"""Store anew the outputs of the page whose cells train: `python -m attn_build.train`; `archive seal` follows."""

import json

from attn_build.running import execute
from attn_build.sources import codes, convert, declaration, read_notebook, repository
from attn_build.trained import NAME, PAGE
from attn_lab.data.files import digest


def main() -> None:
    root = repository()
    values = declaration(PAGE, root).defaults
    written = codes(read_notebook(execute(PAGE, root=root, force=True)).cells, "torch")
    keys = [digest([cell.source, values]) for cell in codes(convert(PAGE, root).cells, "torch")]
    kept = {key: cell.outputs for key, cell in zip(keys, written, strict=True)}
    (root / "data" / NAME).write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
