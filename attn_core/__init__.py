"""Three 2019 papers on whether attention explains a model, re-run in one code base.

Data flow one way: corpus -> run -> traces -> numbers -> page.

    Run, obtain                     one training, and the one way to get its result
    load_weights, trace, Traces     a model that was trained elsewhere, and the traces of any model
    numbers, over_seeds, side       every stored number in one table, means over seeds, the one judge
    Corpus.from_frame               a table of texts as a data set that runs can name
    register_corpus, …              your own data, encoder (register_encoder) or attention (register_attention)
    permutation, adversarial        two tests of Jain & Wallace; all others are in attn_core.experiments
    study                           every test of the book on your own texts
    check, heat_map                 the tests that any model with attention can be put to; a text with its attention
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING

from attn_core.corpora.catalogue import Corpus
from attn_core.foreign import load_weights, register_attention, register_corpus, register_encoder
from attn_core.index import numbers, over_seeds, side
from attn_core.results import obtain
from attn_core.run import Run
from attn_core.traces import Traces
from attn_core.version import __version__ as __version__

if TYPE_CHECKING:
    from attn_core.experiments.adversarial import adversarial
    from attn_core.experiments.permutation import permutation
    from attn_core.tracing import trace
    from attn_study.check import check
    from attn_study.heat_map import heat_map
    from attn_study.study import study

__all__ = [
    "Corpus",
    "Run",
    "Traces",
    "adversarial",
    "check",
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

# A thread that waits for another looks 3,000 times before it sleeps. GNU's 300,000 make a training
# beside other programs over twice as slow; none, half as slow again on an idle machine. No number changes. The
# setting is read when torch is loaded, which none of the imports above does.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")

LAZY = {
    "adversarial": "attn_core.experiments.adversarial",
    "check": "attn_study.check",
    "heat_map": "attn_study.heat_map",
    "permutation": "attn_core.experiments.permutation",
    "study": "attn_study.study",
    "trace": "attn_core.tracing",
}
"""Name -> module that it is imported from when first asked for: torch takes seconds, the other names do without."""


def __getattr__(name: str):
    if name in LAZY:
        return getattr(import_module(LAZY[name]), name)
    raise AttributeError(f"module 'attn_core' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
