"""Three 2019 papers on whether attention explains a model, re-run in one code base.

Data flow one way: corpus -> run -> traces -> numbers -> page.

    Run, obtain                     one training, and the one way to get its result
    load_weights, trace             a model that was trained elsewhere, and the traces of any model
    numbers, over_seeds, side       every stored number in one table, means over seeds, the one judge
"""

from importlib import import_module

__version__ = "0.1.0"

NAMES = {
    "Run": "runs", "obtain": "runs", "load_weights": "foreign", "trace": "tracing", "Traces": "traces",
    "numbers": "index", "over_seeds": "index", "side": "index",
}  # fmt: skip
"""Name -> module that holds it, imported when it is first asked for: `import attn_core` itself is quick."""


def __getattr__(name: str):
    if name not in NAMES:
        raise AttributeError(f"module 'attn_core' has no attribute '{name}'")
    return getattr(import_module(f"attn_core.{NAMES[name]}"), name)
