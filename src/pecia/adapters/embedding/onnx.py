"""A sentence model in an ONNX file, run on the processor. It never opens a connection.

Nothing of it is imported or read before the first text. Nor is anyio: the process that runs models
has no event loop.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pecia.adapters.embedding.model_files import ModelFiles, unusable_file_error
from pecia.kernel.corpus.vectors.embedder import Vectors, normalize

if TYPE_CHECKING:
    import anyio

BATCH_TOKENS = 2048
# A query waits for one part at most, and a cancelled call stops there.
TEXTS_PER_PART = 32


def batch_by_length(lengths: Sequence[int], most: int = BATCH_TOKENS) -> Iterator[list[int]]:
    """The numbers of all texts, in batches of like length that pad to `most` tokens or fewer.

    A text that is longer alone is a batch alone.
    """
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda it: (lengths[it], it)):
        # Sorted, the newest is the longest, to which all of the batch is padded.
        if batch and (len(batch) + 1) * lengths[number] > most:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


class ModelTokenizer:
    """Texts as token ids, cut to what the model reads. Imported at the first use."""

    def __init__(self, files: ModelFiles, *, special: bool) -> None:
        """`special`: with the signs that a model expects around a text."""
        # Its stubs are incomplete.
        kind: Any = import_module("tokenizers").Tokenizer
        try:
            self._tokenizer = kind.from_file(str(files.tokenizer))
        # It raises plain exceptions for a bad file.
        except Exception as error:
            raise unusable_file_error(files.tokenizer, type(error).__name__) from error
        self._tokenizer.enable_truncation(files.max_tokens)
        self._tokenizer.no_padding()
        self._special = special
        self._max_chars = files.max_chars

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        # A lone surrogate is no character, and the tokenizer takes none.
        cut = [text[: self._max_chars].encode(errors="replace").decode() for text in texts]
        found = self._tokenizer.encode_batch(cut, add_special_tokens=self._special)
        return [it.ids for it in found]


class ModelEmbedder(ABC):
    """Embeds with the model in some files, a part of the texts at a time."""

    def __init__(self, files: ModelFiles, threads: int) -> None:
        self.name = files.name
        self.language = files.language
        self._files = files
        self._threads = threads
        self._dimension = 0

    async def dimension(self) -> int:
        if not self._dimension:
            self._dimension = int((await self.embed([""])).shape[1])
        return self._dimension

    async def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not texts:
            return np.zeros((0, await self.dimension()), np.float32)
        parts = [texts[at : at + TEXTS_PER_PART] for at in range(0, len(texts), TEXTS_PER_PART)]
        found = [await self._embed_part(it) for it in parts]
        return found[0] if len(found) == 1 else np.concatenate(found)

    @abstractmethod
    async def _embed_part(self, texts: Sequence[str]) -> Vectors: ...


class OnnxEmbedder(ModelEmbedder):
    """Embeds with one model. Vectors are means over tokens where the model gives tokens."""

    def __init__(self, files: ModelFiles, *, threads: int = 2) -> None:
        super().__init__(files, threads)
        self._loading: anyio.Lock | None = None
        self._loaded: OnnxModel | None = None

    async def _embed_part(self, texts: Sequence[str]) -> Vectors:
        from anyio.to_thread import run_sync

        return await run_sync((await self._model()).embed, texts)

    async def _model(self) -> "OnnxModel":
        from anyio import Lock
        from anyio.to_thread import run_sync

        self._loading = self._loading or Lock()
        async with self._loading:
            if self._loaded is None:
                self._loaded = await run_sync(OnnxModel, self._files, self._threads)
            return self._loaded


class OnnxModel:
    """One loaded model. Its calls take a while and belong into threads."""

    def __init__(self, files: ModelFiles, threads: int) -> None:
        self.tokens = ModelTokenizer(files, special=True)
        self.alone = files.alone
        self.session = _session(files, threads)
        self.inputs: set[str] = {it.name for it in self.session.get_inputs()}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order."""
        import numpy as np

        ids = self.tokens.encode(texts)
        rows: list[Vectors] = [np.empty(0, np.float32)] * len(texts)
        for batch in batch_by_length([len(it) for it in ids]):
            for number, vector in zip(batch, self.vectors([ids[it] for it in batch]), strict=True):
                rows[number] = vector
        return np.stack(rows)

    def vectors(self, ids: Sequence[Sequence[int]]) -> Vectors:
        import numpy as np

        if self.alone:
            return np.concatenate([self._run([it]) for it in ids])
        return self._run(ids)

    def _run(self, ids: Sequence[Sequence[int]]) -> Vectors:
        import numpy as np

        shape = (len(ids), max(1, *(len(it) for it in ids)))
        padded, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, one in enumerate(ids):
            padded[row, : len(one)] = one
            mask[row, : len(one)] = 1
        every = {
            "input_ids": padded,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(padded),
        }
        fed = {name: value for name, value in every.items() if name in self.inputs}
        found = np.asarray(self.session.run(None, fed)[0], np.float32)
        return normalize(mean_pool(found, mask) if found.ndim == 3 else found)


def mean_pool(tokens: Vectors, mask: Any) -> Vectors:
    """One vector a text from one a token, over the tokens that the mask counts."""
    weights = mask[:, :, None].astype(tokens.dtype)
    return (tokens * weights).sum(1) / weights.sum(1).clip(min=1)


def _session(files: ModelFiles, threads: int) -> Any:
    # The runtime has no types.
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads take the processor from everybody else between two batches.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Both keep what the longest text once needed: 14 MB, and no time is lost without them.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(
            str(files.model), options, providers=["CPUExecutionProvider"]
        )
    # It raises exceptions of its own, without a common root, for a bad file.
    except Exception as error:
        raise unusable_file_error(files.model, type(error).__name__) from error
