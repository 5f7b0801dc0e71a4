"""What lies beside the papers' method: data sets by name, runs and their store, our own measures, `study` and `check`.

Data flow one way: corpus -> run -> traces -> numbers -> page.

    Run, obtain                     one training, and the one way to get its result
    load_weights, trace, Traces     a model that was trained elsewhere, and the traces of any model
    numbers, over_seeds, side       every stored number in one table, means over seeds, the one judge
    corpus_of                       a table of texts as a data set that runs can name
    register_corpus, …              your own data, encoder (register_encoder) or attention (register_attention)
    permutation, adversarial        two tests of Jain & Wallace; all others are in attn_core.experiments
    study                           every test of the book on your own texts
    check, heat_map                 the tests that any model with attention can be put to; a text with its attention
"""

from typing import TYPE_CHECKING

from attn_core.experiments.adversarial import adversarial
from attn_core.experiments.permutation import permutation
from attn_core.traces import Traces
from attn_core.version import __version__ as __version__
from attn_lab.data.catalogue import Corpus
from attn_lab.runs.foreign import load_weights, register_attention, register_corpus, register_encoder
from attn_lab.runs.index import numbers, over_seeds, side
from attn_lab.runs.results import obtain
from attn_lab.runs.run import Run

if TYPE_CHECKING:
    from attn_core.tracing import trace
    from attn_lab.studies.check import check
    from attn_lab.studies.heat_map import heat_map
    from attn_lab.studies.study import corpus_of, study

__all__ = [
    "Corpus",
    "Run",
    "Traces",
    "adversarial",
    "check",
    "corpus_of",
    "heat_map",
    "load_weights",
    "numbers",
    "obtain",
    "over_seeds",
    "permutation",
    "register_attention",
    "register_corpus",
    "register_encoder",
    "side",
    "study",
    "trace",
]


def __getattr__(name: str):
    """Names that need torch, imported when they are first asked for: the others do without."""
    if name == "trace":
        from attn_core.tracing import trace

        return trace
    if name in ("study", "corpus_of"):
        from attn_lab.studies import study

        return getattr(study, name)
    if name == "check":
        from attn_lab.studies.check import check

        return check
    if name == "heat_map":
        from attn_lab.studies.heat_map import heat_map

        return heat_map
    raise AttributeError(f"module 'attn_lab' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
