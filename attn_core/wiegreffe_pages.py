"""What the pages on Wiegreffe & Pinter share: which planned runs are absent, in one line a data set."""

from collections import Counter
from collections.abc import Iterable

from attn_core import archive
from attn_core.runs import Run
from attn_core.wiegreffe_runs import GATED, planned, role

GRIDS = {"base": "seeds", "uniform": "uniform", "guide": "guides", "adversary": "adversaries"}
"""First word of a role -> the grid that holds its runs, data/sweeps/wiegreffe-<grid>.yml."""


def absent_runs(corpora: Iterable[str], kinds: Iterable[str], wanted: list[Run] | None = None) -> list[str]:
    """One line for each data set that lacks planned runs of some kinds (first words of roles, keys of GRIDS), with what makes them.

    wanted: the planned runs; None reads them from data/sweeps. Sets that need credentials have a line of their own.
    """
    corpora, kinds, store = list(corpora), tuple(kinds), archive.archive_folder()
    lines = [f"{name}: not rerun, for its texts need personal credentials; only the paper's numbers are shown" for name in corpora if name in GATED]
    lacking = {name: Counter() for name in corpora}
    for run in planned() if wanted is None else wanted:
        kind = role(run).split(":")[0].split(" ")[0]
        if run.corpus in lacking and kind in kinds and not archive.has(store, run.key):
            lacking[run.corpus][role(run).removeprefix("guide: ")] += 1
    for name, counts in lacking.items():
        if counts:
            grids = " and ".join(f"data/sweeps/wiegreffe-{GRIDS[kind]}.yml" for kind in kinds)
            told = ", ".join(f"{count} of '{kind}'" for kind, count in counts.items())
            lines.append(f"{name}: {sum(counts.values())} planned runs are absent ({told}); make them: python -m attn_core sweep --pack {grids}")
    return lines
