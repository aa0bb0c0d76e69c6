"""The two students, how their piece vectors become four bits a number, and how a shipped model is
read back to be trained further."""

from pathlib import Path

import numpy as np
import onnx
import torch
from minilm import HIDDEN, Body, load_body, weight_of
from torch import Tensor, nn
from torch.nn import functional

GROUP = 64
LEVELS = 7


def quantise(table: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers from -7 to 7 and one scale for each group of 64."""
    groups = table.reshape(len(table), -1, GROUP)
    # A little under the largest: clipping a few costs less than coarser steps for all.
    scale = (groups.abs().amax(-1, keepdim=True) * 0.85 / LEVELS).clamp(min=1e-8).half().float()
    return (groups / scale).round().clamp(-LEVELS, LEVELS), scale


def rounded(table: Tensor) -> Tensor:
    """The table as it will be shipped; gradients pass as if it were not rounded."""
    with torch.no_grad():
        numbers, scale = quantise(table)
        away = (numbers * scale).reshape(table.shape) - table
    return table + away


class Contextual(nn.Module):
    """MiniLM's body over pieces of its own, and beside it a short path from the pieces to the
    vector: rare words, which the body has hardly seen, count by themselves."""

    def __init__(self, table: Tensor, body: Body) -> None:
        super().__init__()
        self.table = nn.Parameter(table)
        self.weights = nn.Parameter(torch.zeros(len(table)))
        self.straight = nn.Linear(HIDDEN, HIDDEN)
        self.up = nn.Linear(HIDDEN, 2 * HIDDEN)
        self.down = nn.Linear(2 * HIDDEN, HIDDEN)
        for layer in (self.straight, self.down):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.body = body
        self.is_rounded = False

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        table = rounded(self.table) if self.is_rounded else self.table
        pieces = functional.embedding(ids, table)
        share = functional.softplus(self.weights)[ids] * mask
        x = functional.normalize(torch.einsum("bl,blh->bh", share, pieces).float(), dim=-1)
        x = self.straight(x) + self.down(functional.gelu(self.up(x)))
        return functional.normalize(self.body(pieces, mask) + x.float(), dim=-1)


class Static(nn.Module):
    """Weighted piece vectors, summed, and a small residual layer."""

    def __init__(self, pieces: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(pieces, HIDDEN) * 0.02)
        self.weights = nn.Parameter(torch.zeros(pieces))
        self.up = nn.Linear(HIDDEN, 2 * HIDDEN)
        self.down = nn.Linear(2 * HIDDEN, HIDDEN)
        nn.init.zeros_(self.down.weight)
        nn.init.zeros_(self.down.bias)
        self.is_rounded = False

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        table = rounded(self.table) if self.is_rounded else self.table
        share = functional.softplus(self.weights)[ids] * mask
        x = torch.einsum("bl,blh->bh", share, functional.embedding(ids, table))
        x = functional.normalize(x.float(), dim=-1)
        return functional.normalize(x + self.down(functional.gelu(self.up(x))).float(), dim=-1)


def shipped(path: Path) -> Contextual:
    """The student that `export.py` wrote."""
    graph = onnx.load(str(path)).graph
    arrays = {it.name: it for it in graph.initializer}

    def weight(name: str) -> Tensor:
        return torch.from_numpy(weight_of(arrays, name).copy())

    packed = arrays["pieces"]
    pieces = np.frombuffer(packed.raw_data, np.uint8).reshape(packed.dims[0], -1)
    # Two's complement in each half byte.
    halves = np.stack([pieces & 15, pieces >> 4], -1).reshape(packed.dims[0], -1)
    numbers = torch.from_numpy(((halves ^ 8).astype(np.int8) - 8).astype(np.float32))
    scales = weight("piece_scales")
    table = (numbers.reshape(len(numbers), -1, GROUP) * scales[:, :, None]).flatten(1)
    body = load_body(arrays, "norm", weight("positions"))
    model = Contextual(table, body)
    model.weights.data = torch.log(torch.expm1(weight("share").clamp(min=1e-6)))
    for name in ("straight", "up", "down"):
        layer = getattr(model, name)
        layer.weight.data = weight(f"short.{name}.turned").T.contiguous()
        layer.bias.data = weight(f"short.{name}.bias")
    return model
