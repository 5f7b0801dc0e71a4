"""What `check` asks of a model: three functions. Ready ones are in `adapters`, whose import loads torch."""

from collections.abc import Callable
from typing import Any, Protocol

Words = list[str]
"""What a model attends to in a text: its words, or pieces of words."""

PROMPT = "{text}"


class Adapter(Protocol):
    """A model as `check` reads it. A call gets B texts with the same number n of words: nothing has to be padded.

    Arrays are those of NumPy or of torch. `give` may be None, or absent, where weights cannot be given. Two further
    methods may be there: `outside(words)`, what else a text's attention is on (a Series, token -> share of the weight),
    and `heads(words)`, the attention (layers, heads, n) of one text.
    """

    def tokens(self, text: str) -> Words:
        """The words of a text that the attention is over."""

    def read(self, texts: list[Words]) -> tuple[Any, Any]:
        """Attention (B, n), each row summing to 1, and logits (B, K); K = 1 is one sigmoid logit, of class 1."""

    @property
    def give(self) -> Callable[[list[Words], Any], Any] | None:
        """Logits (B, K) of the same texts under given attention (B, n), float32, a tensor where torch is loaded."""
