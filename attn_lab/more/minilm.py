"""A pretrained transformer of BERT's form as an encoder, in torch's own layers: MiniLM-L6, or bge-small with twelve.

Not in the three papers. MiniLM's states equal those of the reference implementation (`transformers`) to 5e-6;
`attn_lab.data.pieces` makes the ids of both.
"""

from contextlib import ContextDecorator
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from attn_core.errors import AttnError
from attn_core.models.encoders import Encoder

NAMES = {
    "self_attn.out_proj": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}
"""Part of torch's layer -> its name in the file; query, key and value are three there, one matrix here."""


class Unfused(ContextDecorator):
    """While any thread is inside, torch reads layers as gradients go through them.

    Without gradients it takes a fused form, whose states on a GPU differ by more than gradients are checked to.
    """

    lock = Lock()
    inside = 0

    def __enter__(self) -> None:
        with self.lock:
            Unfused.inside += 1
            torch.backends.mha.set_fastpath_enabled(False)

    def __exit__(self, *error: object) -> None:
        with self.lock:
            Unfused.inside -= 1
            torch.backends.mha.set_fastpath_enabled(not Unfused.inside)


class MiniLM(Encoder):
    """Word, position and type vectors, added and normalised, and layers of self-attention; normalisation last.

    Parameters
    ----------
    words : int
        Rows of the table; row 0 is that of pads, which are never read, and stays zero.
    width : int
        Of every state.
    heads, depth : int
        Heads of a layer, and layers.
    positions : int
        START and END included.
    dropout : float
        As in the checkpoint's training.
    """

    NORMALISED = True
    """A LayerNorm follows the embedding: gradient times input is 0 for the whole input, see `tracing`."""

    MEMORY = 8
    """Memory that a token takes, in that of the other encoders."""

    def __init__(
        self,
        words: int = 30_522,
        width: int = 384,
        heads: int = 12,
        depth: int = 6,
        positions: int = 512,
        dropout: float = 0.1,
    ) -> None:
        super().__init__(nn.Embedding(words, width, padding_idx=0), width)
        self.positions = nn.Embedding(positions, width)
        self.kind = nn.Parameter(torch.zeros(width))  # of first texts; there are no second ones
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.drop = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, heads, 4 * width, dropout, activation="gelu", layer_norm_eps=1e-12, batch_first=True
            )
            for _ in range(depth)
        )

    @Unfused()
    def levels(self, ids: Tensor, lengths: Tensor) -> list[Tensor]:
        """States (B, L, width) after the embedding and after each layer; those of pads mean nothing."""
        beyond = torch.arange(ids.shape[1], device=ids.device) >= lengths[:, None]  # (B, L)
        total = self.embedding(ids) + self.positions.weight[: ids.shape[1]] + self.kind
        states = [self.drop(self.norm(total))]
        for layer in self.layers:
            states.append(layer(states[-1], src_key_padding_mask=beyond))
        return states

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        return self.levels(ids, lengths)[-1]

    def draw(self) -> None:
        """Draw all weights anew, in place, as BERT was started: normal with deviation 0.02, offsets 0, scales 1."""
        for name, weight in self.named_parameters():
            if weight.ndim > 1:
                nn.init.normal_(weight, std=0.02)
            elif "norm" not in name or name.endswith("bias"):
                nn.init.zeros_(weight)
        with torch.no_grad():
            self.embedding.weight[0] = 0

    def load(self, file: Path) -> None:
        """Take the weights of a file of this form, in place, model.safetensors or ONNX of bytes; the last layers and
        the pooler may be left over."""
        stored = dequantised(file) if file.suffix == ".onnx" else load_file(file)
        table = stored["embeddings.word_embeddings.weight"]
        table[0] = 0
        weights = {
            "embedding.weight": table,
            "positions.weight": stored["embeddings.position_embeddings.weight"],
            "kind": stored["embeddings.token_type_embeddings.weight"][0],
        }
        for end in ("weight", "bias"):
            weights[f"norm.{end}"] = stored[f"embeddings.LayerNorm.{end}"]
            for number in range(len(self.layers)):
                here = f"layers.{number}."
                there = f"encoder.layer.{number}."
                projections = [f"{there}attention.self.{name}.{end}" for name in ("query", "key", "value")]
                weights[f"{here}self_attn.in_proj_{end}"] = torch.cat([stored[name] for name in projections])
                for name, stored_name in NAMES.items():
                    weights[f"{here}{name}.{end}"] = stored[f"{there}{stored_name}.{end}"]
        self.load_state_dict(weights)


def dequantised(file: Path) -> dict[str, Tensor]:
    """Weights of an ONNX file by their names in the checkpoint; those kept as bytes are (byte - zero point) x scale.

    AttnError where the library onnx is missing.
    """
    if find_spec("onnx") is None:
        raise AttnError(f'onnx is missing, which reads {file.name}; `pip install "attn-core[pretrained]"`')
    import onnx

    graph = onnx.load(file).graph
    arrays = {array.name: onnx.numpy_helper.to_array(array) for array in graph.initializer}
    stored = {name: array for name, array in arrays.items() if array.dtype == np.float32}
    for name, array in arrays.items():
        whole = name.removesuffix("_quantized")
        if whole != name:
            steps = array.astype(np.float32) - arrays[f"{whole}_zero_point"]
            stored[whole] = steps * arrays[f"{whole}_scale"]
    for node in graph.node:
        if node.op_type == "MatMulInteger":  # its matrix (in, out) has a number for a name
            layer = node.name.strip("/").removesuffix("/MatMul_quant").replace("/", ".")
            stored[f"{layer}.weight"] = stored[node.input[1].removesuffix("_quantized")].T
    return {name: torch.tensor(array) for name, array in stored.items()}
