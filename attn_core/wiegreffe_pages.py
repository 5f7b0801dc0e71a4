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
            lacking[run.corpus][kind] += 1
    for name, counts in lacking.items():
        if counts:
            commands = " and ".join(f"python -m attn_core sweep data/sweeps/wiegreffe-{GRIDS[kind]}.yml --pack" for kind in kinds if kind in counts)
            told = ", ".join(f"{kind} {count}" for kind, count in counts.items())
            lines.append(f"{name}: {sum(counts.values())} planned runs are absent ({told}); make them: {commands}")
    return lines


def sentence_under(run: Run, text: str):
    """Traces of one sentence under a run whose weights lie in the local cache: (tokens, Traces); None without weights or data.

    The archive holds the weights of one model alone (attn_core/reader.py); others are at hand where they were trained.
    """
    import numpy as np

    from attn_core import weights
    from attn_core.corpora import encode
    from attn_core.corpora.batches import Documents
    from attn_core.corpora.text import END, START, UNKNOWN, clean_sst
    from attn_core.errors import AttnError
    from attn_core.models.classifier import from_arrays
    from attn_core.runs import weights_key
    from attn_core.tracing import trace

    cached = weights.read_weights(archive.cache_store(), weights_key(run))
    if cached is None:
        return None
    try:
        vocabulary = encode(run.corpus, **dict(run.options)).vocabulary
    except AttnError:
        return None
    index, tokens = {word: i for i, word in enumerate(vocabulary)}, clean_sst(text)
    ids = np.array([START, *(index.get(token, UNKNOWN) for token in tokens), END], dtype=np.int32)
    document = Documents(ids, np.array([0, len(ids)]), np.zeros(1, np.int64), np.zeros(1, np.int64))
    model = from_arrays(run.encoder, run.attention, cached[0][run.selection])
    return tokens, trace(model, document, gradient=False, leave_one_out=False, progress=False)
