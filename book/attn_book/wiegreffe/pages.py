"""What the pages on Wiegreffe & Pinter share: which planned runs are absent, in one line a data set."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from attn_book.data_counts import other_data
from attn_book.wiegreffe.runs import GATED, planned, role
from attn_book.words import seeds_in_words
from attn_core import archive
from attn_core.index import HEADLINE_SEEDS
from attn_core.runs import Run, compared_with

GRIDS = {"base": "seeds", "uniform": "uniform", "guide": "guides", "adversary": "adversaries"}
"""First word of a role -> the grid that holds its runs, data/sweeps/wiegreffe-<grid>.yml."""


def not_rerun(corpora: Iterable[str]) -> list[str]:
    """The gap line of the data sets that need credentials; no line without one."""
    gated = ", ".join(name for name in corpora if name in GATED)
    if not gated:
        return []
    return [f"{gated}: not rerun; only the paper's numbers are shown\ntheir texts need personal credentials"]


def absent_runs(corpora: Iterable[str], kinds: Iterable[str], wanted: list[Run] | None = None) -> list[str]:
    """One line for each data set that lacks planned runs of some kinds (first words of roles, keys of GRIDS).

    What is lacking in detail, and what makes it, follows in the same text behind a line break, which gap boxes fold
    away. wanted: the planned runs; None reads them from data/sweeps. Sets that need credentials share a line of their
    own, and stored base runs without their documents beside seed 10 (`against`) have one for each data set.
    """
    corpora, kinds, store = list(corpora), tuple(kinds), archive.archive_folder()
    lines = not_rerun(corpora)
    lacking, unread, count = {name: Counter() for name in corpora}, defaultdict(list), Counter()
    for run in planned() if wanted is None else wanted:
        kind = role(run).split(":")[0].split(" ")[0]
        if run.corpus not in lacking or kind not in kinds:
            continue
        count[run.corpus] += 1
        if not archive.has(store, run.key):
            lacking[run.corpus][kind] += 1
        elif (
            kind == "base"
            and run.selection == "dev"
            and compared_with(run)
            and "against.parquet" not in archive.read_record(store, run.key).get("files", ())
        ):
            unread[run.corpus].append(run.seed)
    for name, counts in lacking.items():
        if counts:
            commands = " and ".join(
                f"python -m attn_core sweep data/sweeps/wiegreffe-{GRIDS[kind]}.yml --pack"
                for kind in kinds
                if kind in counts
            )
            told = ", ".join(f"{kind} {absent}" for kind, absent in counts.items())
            lines.append(
                f"{name}: {sum(counts.values())} of {count[name]} planned runs absent\n{told}; make them: {commands}"
            )
        if seeds := unread[name]:
            lines.append(
                f"{name}: {seeds_in_words(len(seeds))} of the base without documents beside seed 10, "
                f"so in no figure by document\nstored without against.parquet: {', '.join(map(str, seeds))}; "
                "trained again and packed they have it"
            )
    return lines


def counted(seeds: int) -> str:
    """'9 seeds'; '3 seeds, not decided' where a finding has fewer than decide one."""
    return seeds_in_words(seeds) + (", not decided" if seeds < HEADLINE_SEEDS else "")


def told_tests(records: Iterable[dict]) -> str:
    """Test documents of each data set, for captions, with what its models were trained on if not the paper's data."""
    first = {record["run"]["corpus"]: record for record in reversed(list(records))}
    return (
        "; ".join(f"{name} {record['n_test']:,}{other_data(record)}" for name, record in sorted(first.items()))
        or "no run"
    )


def sentence_under(run: Run, text: str):
    """(tokens, Traces) of one sentence under a run whose weights lie in the local cache; None without weights or data.

    The archive holds the weights of one model alone (attn_book/sentence.py); others are at hand where trained.
    """
    import numpy as np

    from attn_core import weights
    from attn_core.computing import inputs_of
    from attn_core.corpora.batches import Documents
    from attn_core.corpora.text import END, START, UNKNOWN, clean_sst
    from attn_core.errors import AttnError
    from attn_core.models.classifier import from_arrays
    from attn_core.runs import weights_key
    from attn_core.tracing import trace

    store, key = archive.cache_store(), weights_key(run)
    if not weights.cached(store, key):
        return None
    try:
        data, _, inputs = inputs_of(run)
    except AttnError:
        return None
    found = weights.read_weights(store, key, inputs)  # none where they were trained on another vocabulary
    if found is None:
        return None
    index, tokens = {word: i for i, word in enumerate(data.vocabulary)}, clean_sst(text)
    ids = np.array([START, *(index.get(token, UNKNOWN) for token in tokens), END], dtype=np.int32)
    document = Documents(ids, np.array([0, len(ids)]), np.zeros(1, np.int64), np.zeros(1, np.int64))
    model = from_arrays(run.encoder, run.attention, found[0][run.selection])
    return tokens, trace(model, document, gradient=False, leave_one_out=False, progress=False)
