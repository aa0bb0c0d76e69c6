"""Token vectors averaged into text vectors: thousands of texts a second, coarse. No connection.

The file holds one table with a row a token, as safetensors or npz, and beside it maybe one weight
a token. Nothing is imported or read before the first text.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import run_sync

from pecia.adapters.embedding.model_files import ModelFiles, unusable_file_error
from pecia.adapters.embedding.onnx import ModelTokenizer
from pecia.kernel.corpus.vectors.embedder import Vectors, normalize


class StaticEmbedder:
    """Embeds with one table. A text without a known token is a row of zeros."""

    def __init__(self, files: ModelFiles) -> None:
        self.name = files.name
        self.language = files.language
        self._files = files
        self._loading = anyio.Lock()
        self._loaded: _Table | None = None

    async def dimension(self) -> int:
        return (await self._table()).vectors.shape[1]

    async def embed(self, texts: Sequence[str]) -> Vectors:
        table = await self._table()
        return await run_sync(table.embed, texts)

    async def _table(self) -> "_Table":
        async with self._loading:
            if self._loaded is None:
                self._loaded = await run_sync(_Table, self._files)
            return self._loaded


class _Table:
    def __init__(self, files: ModelFiles) -> None:
        found = load_tensors(files.model)
        self.tokens = ModelTokenizer(files, special=False)
        self.vectors = _only(files.model, found, dimensions=2)
        self.weights = _only(files.model, found, dimensions=1) if _has_weights(found) else None

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        rows = np.zeros((len(texts), self.vectors.shape[1]), np.float32)
        for number, ids in enumerate(self.tokens.encode(texts)):
            known = np.asarray([it for it in ids if it < len(self.vectors)], np.int64)
            if len(known):
                vectors = self.vectors[known].astype(np.float32)
                weights = (
                    1 if self.weights is None else self.weights[known].astype(np.float32)[:, None]
                )
                rows[number] = (vectors * weights).mean(0)
        return normalize(rows)


def load_tensors(path: Path) -> Mapping[str, Any]:
    """The arrays in a file, by name."""
    import numpy as np

    if path.suffix != ".npz":
        return _safetensors(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError) as error:
        raise unusable_file_error(path, "not an npz file") from error


def _safetensors(path: Path) -> dict[str, Any]:
    """The format is a length, a JSON header, and the numbers."""
    import numpy as np

    kinds = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header: dict[str, Any] = json.loads(file.read(min(size, MAX_HEADER_BYTES)))
        header.pop("__metadata__", None)
        numbers = np.memmap(path, np.uint8, mode="r", offset=8 + size)
        return {
            name: numbers[slice(*about["data_offsets"])]
            .view(kinds[about["dtype"]])
            .reshape(about["shape"])
            for name, about in header.items()
            if about["dtype"] in kinds
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise unusable_file_error(path, "not a safetensors file") from error


MAX_HEADER_BYTES = 1_000_000


def _has_weights(found: Mapping[str, Any]) -> bool:
    return any(it.ndim == 1 for it in found.values())


def _only(path: Path, found: Mapping[str, Any], *, dimensions: int) -> Any:
    fitting = {name: it for name, it in found.items() if it.ndim == dimensions}
    if len(fitting) != 1:
        named = ", ".join(sorted(fitting)) or "none"
        raise unusable_file_error(
            path, f"one table of {dimensions} dimensions is expected, found: {named}"
        )
    return next(iter(fitting.values()))
