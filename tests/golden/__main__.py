"""Write the golden files from the present build: `make book`, then `python -m tests.golden`."""

import json
import subprocess
import sys

from attn_core.run import from_dict
from tests import golden

golden.write("pages.json.xz", {page: golden.printed(path) for page, path in golden.executed().items()})
rows = subprocess.run(
    [sys.executable, "-m", "attn_core", "scorecard", "--json"], cwd=golden.ROOT, capture_output=True, check=True
)
golden.write("scorecard.json.xz", json.loads(rows.stdout))
golden.write("tables.json.xz", {key: golden.stored_tables(key) for key in golden.table_keys()})
records = sorted((golden.ROOT / "data" / "archive").glob("*/record.json"))
chosen = [json.loads(path.read_text())["run"] for path in records[:: len(records) // 20][:20]]
golden.write("archive.json.xz", golden.digests())
golden.write("runs.json", [{"run": run, "key": from_dict(run).key} for run in chosen])
