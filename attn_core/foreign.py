"""What of a run is the user's: corpora and classes registered beside the package's own, or in the place of one."""

import sys

from attn_core import user_code
from attn_core.corpora import catalogue, encoding

CLASSES = (
    ("encoder", "attn_core.models.encoders", "ENCODERS"),
    ("encoder", "attn_core.models.hierarchical", "ENCODERS"),
    ("attention", "attn_core.models.attention", "ATTENTIONS"),
    ("attention", "attn_core.models.attention", "PAIRED_ATTENTIONS"),
)
"""Field of a run, module and table in which its name stands for a class."""


def parts(run) -> dict[str, object]:
    """What the names in a run do not tell where they are the user's: a corpus by its entry and its data, a class by its
    code; {} where all is the package's own.

    Nothing of it is remembered: a cell that runs again puts something else under the same name.
    """
    found: dict[str, object] = {}
    if encoding.is_foreign(run.corpus):
        data = encoding.encode(run.corpus, **dict(run.options))
        found["data"] = [repr(catalogue.corpus(run.corpus)), repr(data.statistics["classes"]), data.fingerprint]
    for field, module, table in CLASSES:
        name = getattr(run, field)
        known = getattr(sys.modules.get(module), table, {})  # a module not imported holds the package's own alone
        kind = known.get(name, known.get(name.partition("_")[2]))  # han_rnn: the encoder is rnn
        if kind is not None and not user_code.is_ours(kind):
            found[f"{module}.{table}"] = user_code.digest(kind)
    return found
