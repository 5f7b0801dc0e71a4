"""Store anew the outputs of the page whose cells train: `python -m attn_build.train`; `archive seal` follows."""

import json

from attn_build.running import execute
from attn_build.sources import convert, declaration, pages, read_notebook, read_source, repository
from attn_build.trained import NAME, PAGE, cells_of
from attn_lab.data.files import digest


def main() -> None:
    root = repository()
    values = declaration(read_source(pages(root)[PAGE]), PAGE).defaults
    written = cells_of(read_notebook(execute(PAGE, root=root, force=True)))
    keys = [digest([cell.source, values]) for cell in cells_of(convert(PAGE, root))]
    kept = {key: cell.outputs for key, cell in zip(keys, written, strict=True)}
    (root / "data" / NAME).write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
