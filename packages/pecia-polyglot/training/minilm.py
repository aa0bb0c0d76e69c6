"""MiniLM in PyTorch: the teacher, read from the shipped int8 file, and the body of the student."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

HIDDEN, HEADS, LAYERS, INNER, POSITIONS = 384, 12, 6, 1536, 512


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.out = nn.Linear(HIDDEN, HIDDEN)
        self.norm1 = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.up = nn.Linear(HIDDEN, INNER)
        self.down = nn.Linear(INNER, HIDDEN)
        self.norm2 = nn.LayerNorm(HIDDEN, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        rows, tokens, _ = x.shape
        parts = self.qkv(x).view(rows, tokens, 3, HEADS, HIDDEN // HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(
            parts[0], parts[1], parts[2], attn_mask=mask
        )
        x = self.norm1(x + self.out(mixed.transpose(1, 2).reshape(rows, tokens, HIDDEN)))
        return self.norm2(x + self.down(functional.gelu(self.up(x))))


class Body(nn.Module):
    """Everything of the model but the vectors of its pieces. Gives sentence vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(POSITIONS, HIDDEN))
        self.norm = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, pieces: Tensor, mask: Tensor) -> Tensor:
        """`mask` is true where a token counts."""
        x = self.norm(pieces + self.positions[: pieces.shape[1]])
        seen = mask[:, None, None, :]
        for layer in self.layers:
            x = layer(x, seen)
        weight = mask[:, :, None].float()
        mean = (x.float() * weight).sum(1) / weight.sum(1).clamp(min=1)
        return functional.normalize(mean, dim=-1)


def weight_of(arrays: dict[str, Any], name: str) -> Any:
    """A weight of a graph, whether it was rounded to eight bits or not."""
    if name in arrays:
        return numpy_helper.to_array(arrays[name]).astype(np.float32)
    numbers, zero, scale = (
        numpy_helper.to_array(arrays[f"{name}_{it}"]).astype(np.float32)
        for it in ("quantized", "zero_point", "scale")
    )
    return (numbers - zero) * scale


def load_body(arrays: dict[str, Any], norm_name: str, positions: Tensor) -> Body:
    def weight(name: str) -> Any:
        return weight_of(arrays, name)

    def dense(name: str) -> dict[str, Tensor]:
        return {
            "weight": torch.from_numpy(weight(f"{name}.turned").T.copy()),
            "bias": torch.from_numpy(weight(f"{name}.bias")),
        }

    def norm(name: str) -> dict[str, Tensor]:
        return {it: torch.from_numpy(weight(f"{name}.{it}").copy()) for it in ("weight", "bias")}

    body = Body()
    body.positions.data = positions
    body.norm.load_state_dict(norm(norm_name))
    for number, layer in enumerate(body.layers):
        name = f"encoder.layer.{number}"
        parts = [dense(f"{name}.attention.self.{it}") for it in ("query", "key", "value")]
        layer.qkv.load_state_dict(
            {it: torch.cat([part[it] for part in parts]) for it in ("weight", "bias")}
        )
        layer.out.load_state_dict(dense(f"{name}.attention.output.dense"))
        layer.norm1.load_state_dict(norm(f"{name}.attention.output.LayerNorm"))
        layer.up.load_state_dict(dense(f"{name}.intermediate.dense"))
        layer.down.load_state_dict(dense(f"{name}.output.dense"))
        layer.norm2.load_state_dict(norm(f"{name}.output.LayerNorm"))
    return body


def load(path: Path) -> tuple[Tensor, Body]:
    """Piece vectors and body. The one token type is added to the positions."""
    arrays = {it.name: it for it in onnx.load(str(path)).graph.initializer}
    positions = weight_of(arrays, "embeddings.position_embeddings.weight")
    kind = numpy_helper.to_array(arrays["kind"])
    body = load_body(arrays, "embeddings.LayerNorm", torch.from_numpy(positions + kind))
    return torch.from_numpy(weight_of(arrays, "embeddings.word_embeddings.weight").copy()), body
