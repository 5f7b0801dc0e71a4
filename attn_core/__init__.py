"""Three 2019 papers on whether attention explains a model, re-run in one code base.

Data flow one way: corpus -> run -> traces -> numbers -> page.

    Run, obtain                     one training, and the one way to get its result
    load_weights, trace, Traces     a model that was trained elsewhere, and the traces of any model
    numbers, over_seeds, side       every stored number in one table, means over seeds, the one judge
    register_corpus, …              your own data, encoder (register_encoder) or attention (register_attention)
"""

from attn_core.foreign import load_weights, register_attention, register_corpus, register_encoder
from attn_core.index import numbers, over_seeds, side
from attn_core.results import obtain
from attn_core.run import Run
from attn_core.traces import Traces
from attn_core.version import __version__ as __version__

__all__ = [
    "Run",
    "Traces",
    "load_weights",
    "numbers",
    "obtain",
    "over_seeds",
    "register_attention",
    "register_corpus",
    "register_encoder",
    "side",
    "trace",
]


def __getattr__(name: str):
    """`trace`, imported when it is first asked for: torch takes seconds to load, and the other names do without."""
    if name == "trace":
        from attn_core.tracing import trace

        return trace
    raise AttributeError(f"module 'attn_core' has no attribute '{name}'")
